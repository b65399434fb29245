"""The extensions of a few lines: state, fingerprints, stale pages, archives, descriptions."""

import os
import random
import warnings
import zipfile

import pytest
import tiny
import torch
from docutils import nodes
from docutils.core import publish_doctree
from fresh_matplotlib import reset_matplotlib
from fresh_torch import reset_torch
from page_description import first_paragraph
from prediction import OUTPUT_CLASS, prediction, wrap_predictions
from reading_order import check
from reproducible_zips import fix_dates
from rerun_lessons import fingerprint
from sphinx.errors import ConfigError
from stale_pages import remove_generated


class TestFreshTorch:
    @pytest.fixture(autouse=True)
    def _undo(self):
        environment = dict(os.environ)
        with warnings.catch_warnings():
            yield
            reset_torch({}, "")
        # pytest keeps the current test's name there, and wants it back.
        os.environ.update(environment)
        torch.set_warn_always(False)

    @pytest.mark.parametrize(
        ("leak", "state"),
        [
            (lambda: torch.set_default_dtype(torch.float64), lambda: torch.tensor(1.0).dtype),
            (lambda: torch.set_grad_enabled(False), torch.is_grad_enabled),
            (lambda: torch.autograd.set_detect_anomaly(True), torch.is_anomaly_enabled),
            (
                lambda: torch.autograd.set_multithreading_enabled(False),
                torch._C._is_multithreading_enabled,
            ),
            (lambda: torch.set_printoptions(precision=2), lambda: str(torch.tensor(1 / 3))),
            (lambda: torch.set_num_threads(2), torch.get_num_threads),
            (lambda: torch.manual_seed(5), lambda: torch.rand(1).item()),
            (lambda: random.seed(5), random.random),
            (lambda: os.environ.update(LEAKED="1"), lambda: "LEAKED" in os.environ),
            (lambda: os.environ.pop("PATH"), lambda: "PATH" in os.environ),
            (lambda: warnings.simplefilter("error"), lambda: warnings.filters[0][0]),
        ],
    )
    def test_puts_back_what_a_lesson_changed(self, leak, state):
        reset_torch({}, "")
        before = state()
        leak()
        reset_torch({}, "")
        assert state() == before

    def test_warnings_name_a_file_without_its_path(self):
        reset_torch({}, "")
        text = warnings.formatwarning("careful", UserWarning, "/a/long/path/lesson.py", 3)
        assert text == "lesson.py:3: UserWarning: careful\n"

    def test_a_warning_is_given_in_every_lesson(self):
        """PyTorch gives many warnings once a process only."""
        reset_torch({}, "")
        assert torch.is_warn_always_enabled()


class TestFreshMatplotlib:
    def test_puts_back_what_a_lesson_changed(self):
        from matplotlib import pyplot, units

        reset_matplotlib({}, "")
        converters, width = dict(units.registry), pyplot.rcParams["lines.linewidth"]
        pyplot.rcParams["lines.linewidth"] = 9
        units.registry[torch.Tensor] = units.ConversionInterface()
        reset_matplotlib({}, "")
        assert units.registry == converters
        assert pyplot.rcParams["lines.linewidth"] == pytest.approx(width)


class TestFingerprint:
    def test_changes_with_a_module_and_with_nothing_else(self, tmp_path):
        module = tmp_path / "scraper.py"
        module.write_text("a = 1\n")
        first = fingerprint(["torch"], [module])
        os.utime(module, (1, 1))
        assert fingerprint(["torch"], [module]) == first
        module.write_text("a = 2\n")
        assert fingerprint(["torch"], [module]) != first

    def test_changes_with_a_release(self, monkeypatch):
        first = fingerprint(["torch"], [])
        monkeypatch.setattr("rerun_lessons.version", lambda name: "99.0")
        assert fingerprint(["torch"], []) == first.replace(
            f"torch {torch.__version__}", "torch 99.0"
        )


def test_pages_of_lessons_that_are_gone_are_removed(tmp_path):
    generated, examples = tmp_path / "lessons", tmp_path / "examples"
    for folder in (generated / "a" / "images", examples / "a"):
        folder.mkdir(parents=True)
    (examples / "a" / "stays.py").touch()
    (examples / "a" / "GALLERY_HEADER.rst").touch()
    for name in (
        "index.rst",
        "stays.rst",
        "gone.rst",
        "gone.py.md5",
        "gone.ipynb",
        "gone_too.rst",
    ):
        (generated / "a" / name).touch()
    (examples / "a" / "gone_to_two.py").touch()
    for name in (
        "sphx_glr_gone_001.svg",
        "sphx_glr_gone_001_2_00x.png",
        "sphx_glr_gone_thumb.svg",
        "sphx_glr_gone_to_two_001.svg",
        "sphx_glr_stays_001.svg",
    ):
        (generated / "a" / "images" / name).touch()
    assert remove_generated(generated, examples) == ["a/gone", "a/gone_too"]
    left = {path.name for path in generated.rglob("*") if path.is_file()}
    pictures = {"sphx_glr_stays_001.svg", "sphx_glr_gone_to_two_001.svg"}
    assert left == {"index.rst", "stays.rst"} | pictures


def test_archives_written_at_different_times_become_equal(tmp_path):
    for name, year, order in (("a.zip", 2020, "xy"), ("b.zip", 2024, "yx")):
        with zipfile.ZipFile(tmp_path / name, "w") as archive:
            for member in order:
                archive.writestr(zipfile.ZipInfo(member, (year, 1, 1, 0, 0, 0)), f"text {member}")
        fix_dates(tmp_path / name)
    assert (tmp_path / "a.zip").read_bytes() == (tmp_path / "b.zip").read_bytes()
    assert zipfile.ZipFile(tmp_path / "a.zip").read("x") == b"text x"


def test_a_page_is_described_by_its_first_paragraph():
    tree = publish_doctree(
        "Title\n=====\n\n.. class:: furniture\n\nRun.\n\n- an item\n\nThe first\nparagraph.\n\nMore.\n"
    )
    assert first_paragraph(tree) == "The first paragraph."
    assert first_paragraph(publish_doctree("Title\n=====\n")) == ""


class TestReadingOrder:
    @pytest.fixture
    def examples(self, tmp_path, monkeypatch):
        monkeypatch.setattr("reading_order.SECTIONS", {"a": ["one"]})
        (tmp_path / "a").mkdir()
        (tmp_path / "a" / "one.py").touch()
        return tmp_path

    def test_accepts_what_is_listed(self, examples):
        check(examples)

    def test_names_a_lesson_that_is_not_listed(self, examples):
        (examples / "a" / "two.py").touch()
        with pytest.raises(
            ConfigError,
            match=r"a/two\.py is not in the reading order: .* into conf/reading_order\.py",
        ):
            check(examples)

    def test_names_a_script_outside_of_the_sections(self, examples):
        (examples / "stray.py").touch()
        with pytest.raises(ConfigError, match=r"examples/stray\.py .* the folder of a section"):
            check(examples)

    def test_names_a_lesson_that_does_not_exist(self, examples):
        (examples / "a" / "one.py").unlink()
        with pytest.raises(ConfigError, match=r"a/one\.py does not exist"):
            check(examples)


class TestPrediction:
    def document(self, code, with_output=True):
        block = nodes.literal_block(code, code)
        section = nodes.section("", block)
        if with_output:
            section += nodes.literal_block("28.0", "28.0", classes=[OUTPUT_CLASS])
        return section

    def test_wraps_the_output_of_a_marked_block(self):
        section = self.document("# Predict first: which number?\nprint(y)")
        assert wrap_predictions(section) == []
        assert section[1]["question"] == "which number?"
        assert section[1].astext() == "28.0"

    def test_the_proof_goes_under_the_cover(self):
        code = "y = 28\n# Predict first: which number?\nprint(y)\nassert y == 28\ny += 1"
        section = self.document(code)
        assert wrap_predictions(section) == []
        assert section[0].astext() == section[0].rawsource == code.partition("\nassert")[0]
        assert [part.astext() for part in section[1]] == ["28.0", "assert y == 28\ny += 1"]

    def test_what_is_proven_before_the_question_stays(self):
        code = "assert x == 2\n# Predict first: which number?\nprint(y)"
        section = self.document(code)
        wrap_predictions(section)
        assert section[0].astext() == code

    def test_leaves_other_outputs_alone(self):
        section = self.document("# predict nothing\nprint(y)")
        wrap_predictions(section)
        assert not list(section.findall(prediction))

    def test_reports_a_marked_block_without_output(self):
        section = self.document("# Predict first: which number?\ny = 1", with_output=False)
        assert wrap_predictions(section) == [section[0]]

    def test_reports_a_block_that_asks_twice(self):
        section = self.document("# Predict first: x?\nprint(x)\n# Predict first: y?\nprint(y)")
        assert wrap_predictions(section) == [section[0]]


class TestEarlyCells:
    CONF = (
        'extensions = ["myst_nb", "early_cells"]\n'
        'nb_execution_mode = "cache"\nnb_execution_show_tb = True\nnb_execution_timeout = 60\n'
        "nb_merge_streams = True\n"
        'exclude_patterns = ["html", ".jupyter_cache", "jupyter_execute"]\n'
    )
    PAGE = "---\nfile_format: mystnb\nkernelspec: {{name: python3}}\n---\n\n# Page\n\n{}"
    CELL = "```{{code-cell}} python\nprint({} + 1)\n```\n"

    def build(self, folder, **cells):
        (folder / "index.rst").write_text("Home\n====\n\n.. toctree::\n   :glob:\n\n   p*\n")
        for name, cell in cells.items():
            (folder / f"{name}.md").write_text(self.PAGE.format(cell))
        status, output = tiny.build(folder, self.CONF, quiet=False)
        assert status == 0, output
        return output

    def test_myst_nb_finds_every_page_of_cells_executed(self, tmp_path):
        number = self.CELL.format
        output = self.build(tmp_path, page=number(41), plain="Text.\n")
        assert "page.md: Using cached notebook" in output
        assert "42" in tiny.soup(tmp_path, "page").find(class_="cell_output").text
        # What the kernel sends in pieces is joined without a new line.
        pieces = self.CELL.format(42).replace(
            "print(42 + 1)", "print(42 + 1, end='', flush=True)\nprint(' pieces')"
        )
        output = self.build(tmp_path, page=pieces)
        assert "page.md: Using cached notebook" in output
        assert "43 pieces" in tiny.soup(tmp_path, "page").find(class_="cell_output").text

    def test_a_cell_that_fails_is_reported_by_myst_nb(self, tmp_path):
        with pytest.raises(AssertionError, match="ZeroDivisionError"):
            self.build(tmp_path, page=self.CELL.format("1 / 0"))
