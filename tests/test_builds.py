"""The build: reproducible, quick to notice a change, clear when something is wrong."""

import filecmp
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import pytest
from conftest import NO_CHECK, build, copy_sources, run_build
from writable_output import check_writable

ONE_LESSON = '\nSECTIONS = {"first_gradients": ["first_gradient"]}\nLESSONS = ["first_gradient"]\n'


def test_two_clean_builds_are_equal_to_the_byte(builds):
    first, second = (folder / "_build" / "html" for folder in builds)
    assert not differing(first, second)
    assert list(first.rglob("*.zip"))


def differing(first: Path, second: Path) -> list[Path]:
    """The files that only one of two folders has, or that differ."""
    names, others = (
        {path.relative_to(folder) for path in folder.rglob("*") if path.is_file()}
        for folder in (first, second)
    )
    both = names & others
    unequal = [n for n in both if not filecmp.cmp(first / n, second / n, shallow=False)]
    return sorted([*(names ^ others), *unequal])


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    """The sources with one lesson and one page, built once."""
    folder = copy_sources(tmp_path_factory.mktemp("small"))
    keep_one_lesson(folder)
    status, output = run_build(folder)
    assert status == 0, output
    return folder


def keep_one_lesson(folder):
    order = folder / "conf" / "reading_order.py"
    order.write_text(order.read_text().replace("\nLESSONS = ", f"{ONE_LESSON}\n_ALL = "))
    for script in folder.glob("examples/*/*.py"):
        if script.stem != "first_gradient":
            script.unlink()
    for header in folder.glob("examples/*/GALLERY_HEADER.rst"):
        if header.parent.name != "first_gradients":
            header.unlink()
            header.parent.rmdir()
    for page in (folder / "docs").rglob("*.md"):
        if page.name != "index.md" or page.parent.name == "contribute":
            page.unlink()
    (folder / "docs" / "records" / "lessons.toml").write_text("[lessons]\n")
    (folder / "docs" / "index.md").write_text("# Home\n\n```{toctree}\nlessons/index\n```\n")
    text = (folder / "examples" / "first_gradients" / "first_gradient.py").read_text()
    assert "``backward_adds``" not in text


def executed(output: str) -> int:
    return int(re.search(r"successfully executed (\d+) out of", output)[1])


class TestRebuild:
    def test_nothing_changed_runs_nothing(self, small):
        # Python writes what it imports to stderr.
        status, output = run_build(small, PYTHONPROFILEIMPORTTIME="1")
        assert status == 0, output
        assert executed(output) == 0
        assert re.search(r"\| +sphinx$", output, re.MULTILINE)
        assert not re.search(r"\| +torch$", output, re.MULTILINE)

    @pytest.mark.parametrize("module", ["fresh_torch.py", "graph_svg.py"])
    def test_a_module_that_shapes_outputs_runs_lessons_again(self, small, module):
        path = small / "conf" / "extensions" / module
        path.write_text(path.read_text() + "# a change\n")
        status, output = run_build(small)
        assert status == 0, output
        assert f"because of: {module}" in output
        assert executed(output) == 1

    def test_a_module_that_shapes_pages_makes_them_anew_and_runs_nothing(self, small):
        path = small / "conf" / "extensions" / "page_description.py"
        page = small / "_build" / "html" / "lessons" / "first_gradients" / "first_gradient.html"
        original = path.read_text()
        assert '<meta name="description"' in original
        path.write_text(original.replace('<meta name="description"', '<meta name="described"'))
        status, output = run_build(small)
        path.write_text(original)
        assert status == 0, output
        assert executed(output) == 0
        assert '<meta name="described"' in page.read_text()

    def test_a_renamed_lesson_leaves_nothing_behind(self, small):
        section = small / "examples" / "first_gradients"
        order = small / "conf" / "reading_order.py"
        original = order.read_text()
        (section / "first_gradient.py").rename(section / "renamed.py")
        order.write_text(original.replace('["first_gradient"]', '["renamed"]'))
        status, output = run_build(small)
        pages = [p.name for p in (small / "_build/html/lessons/first_gradients").glob("*.html")]
        (section / "renamed.py").rename(section / "first_gradient.py")
        order.write_text(original)
        assert status == 0, output
        assert sorted(pages) == ["index.html", "renamed.html"]


@pytest.fixture
def changed(small):
    """Write a file of the small site for one test; afterwards it is as before."""
    originals = {}

    def change(name: str, text: str) -> None:
        path = small / name
        originals[path] = path.read_text()
        path.write_text(text if "\0" not in text else text.replace("\0", originals[path]))

    yield change
    for path, text in originals.items():
        path.write_text(text)


class TestErrors:
    LESSON = "examples/first_gradients/first_gradient.py"

    def test_a_broken_lesson_is_named_with_its_line(self, small, changed):
        changed(self.LESSON, "\0\n# %%\n# More\n\nraise ValueError('broken on purpose')\n")
        line = (small / self.LESSON).read_text().count("\n")
        status, output = run_build(small)
        assert status != 0
        assert "first_gradient.py" in output
        assert f"line {line}" in output
        assert "broken on purpose" in output

    def test_a_lesson_that_ends_python_is_named(self, small, changed):
        changed(self.LESSON, "\0\n# %%\n# More\n\nimport sys\n\nsys.exit()\n")
        status, output = run_build(small)
        assert status != 0
        assert "first_gradient.py" in output
        assert "the lesson wants to end Python" in output

    def test_a_claim_that_no_longer_holds_stops_the_build(self, small, changed):
        text = (small / self.LESSON).read_text()
        assert "assert_close(y.item(), 28.0)" in text
        changed(
            self.LESSON,
            text.replace("assert_close(y.item(), 28.0)", "assert_close(y.item(), 27.0)"),
        )
        status, output = run_build(small)
        assert status != 0
        assert "Scalars are not close" in output
        assert "first_gradient.py" in output

    def test_a_missing_renderer_names_the_place_and_the_remedy(self, small, changed):
        changed(self.LESSON, "\0\n# a change, so that it runs again\n")
        status, output = run_build(small, GRAPHVIZ_DOT="no-such-program")
        assert status != 0
        assert "GRAPHVIZ_DOT is 'no-such-program'" in output
        assert "pip install graphviz-pure" in output
        assert re.search(r"first_gradient\.py:\d+", output)

    def test_a_malformed_inventory_names_the_line(self, small, changed):
        changed("conf/inventories/torch.txt", "\0torch.dot is a function\n")
        line = (small / "conf/inventories/torch.txt").read_text().count("\n")
        status, output = run_build(small)
        assert status != 0
        assert f"conf/inventories/torch.txt:{line}" in output
        assert "correct the line" in output

    def test_an_unlisted_lesson_names_the_list(self, small):
        stray = small / "examples" / "first_gradients" / "stray.py"
        stray.write_text('"""\nStray\n=====\n\nText.\n"""\n')
        status, output = run_build(small)
        stray.unlink()
        assert status != 0
        assert "examples/first_gradients/stray.py is not in the reading order" in output

    def test_a_misspelt_name_of_pytorch_fails(self, small, changed):
        changed(self.LESSON, "\0\n# %%\n# See ``torch.autogradd.grad``.\n\nprint(1)\n")
        status, output = run_build(small)
        assert status != 0
        assert "torch.autogradd.grad" in output
        # Sphinx alone would say it once, and keep the page.
        status, output = run_build(small)
        assert status != 0
        assert "torch.autogradd.grad" in output

    def test_a_page_that_a_killed_build_left_half_written_is_written_again(self, small):
        page = small / "_build" / "html" / "index.html"
        status, output = run_build(small)
        assert status == 0, output
        whole = page.read_text()
        page.write_text(whole[: len(whole) // 2])
        (small / "_build" / "doctrees" / "unfinished").touch()
        status, output = run_build(small)
        assert status == 0, output
        assert page.read_text() == whole

    def test_a_warning_in_another_process_fails_and_fails_again(self, small, changed):
        text = (small / self.LESSON).read_text()
        picture = '# sphinx_gallery_thumbnail_path = "no_such.png"\nimport torch\n'
        changed(self.LESSON, text.replace("import torch\n", picture, 1))
        for least in ("1", "1000"):
            status, output = run_build(small, "-j", "2", "-D", f"lesson_processes_from={least}")
            assert status != 0
            assert re.search(r"WARNING: .*no_such\.png.*not found.*first_gradient\.py", output)

    def test_a_broken_lesson_leaves_the_last_good_page_to_the_live_session(self, small, changed):
        page = small / "_build" / "html" / "lessons" / "first_gradients" / "first_gradient.html"
        status, output = run_build(small)
        assert status == 0, output
        good = page.read_text()
        changed(self.LESSON, "\0\n# %%\n# More\n\nraise ValueError('broken on purpose')\n")
        noxfile = (Path(__file__).parent.parent / "noxfile.py").read_text()
        option = re.search(r'"(sphinx_gallery_conf\.abort_on_example_error=1)"', noxfile)[1]
        status, output = run_build(small, "-D", option)
        assert status != 0
        assert "broken on purpose" in output
        assert page.read_text() == good

    def test_a_full_disk_is_one_line(self, small):
        status, output = run_build(small, "-q", "-D", f"writable_output_space={10**9}")
        assert status != 0
        assert re.fullmatch(r"error: the build cannot write to .*: \d+ MiB are left.*\n", output)

    @pytest.mark.skipif(not Path("/proc/self").is_dir(), reason="there is no /proc here")
    def test_a_read_only_folder_is_named(self):
        with pytest.raises(SystemExit, match=r"cannot write to /proc/self: .*Make room"):
            check_writable(Path("/proc/self/no/such/folder"), space=0)


class TestBuildSite:
    """``conf/build_site.py``, which ``nox -s docs`` runs."""

    def build(self, small) -> str:
        command = [
            sys.executable,
            "-X",
            "importtime",
            "conf/build_site.py",
            "-D",
            "check_release=0",
        ]
        done = subprocess.run(command, cwd=small, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout + done.stderr

    def test_does_nothing_where_nothing_has_changed(self, small):
        self.build(small)
        output = self.build(small)
        assert "Nothing has changed" in output
        assert not re.search(r"\| +sphinx$", output, re.MULTILINE)

    def test_writes_a_page_that_somebody_deleted(self, small):
        page = small / "_build" / "html" / "index.html"
        page.unlink()
        assert "Nothing has changed" not in self.build(small)
        assert page.exists()


PROBE = "accumulation.grad_before_backward"


class TestManyBuilds:
    """What all the builds above, and those here, leave is what one clean build makes."""

    def test_a_killed_build_is_followed_by_a_correct_one(self, small):
        (small / "docs" / "cells.md").write_text(
            "---\nfile_format: mystnb\nkernelspec:\n  name: python3\n---\n\n# Cells\n\n"
            "```{code-cell}\nprint(6 * 7)\n```\n"
        )
        index = small / "docs" / "index.md"
        index.write_text(index.read_text().replace("lessons/index", "lessons/index\ncells"))
        lesson = small / TestErrors.LESSON
        text = lesson.read_text()
        moments, killed = random.Random(6), []
        for kill in range(10):
            # Another text each time, so that there is something to do.
            lesson.write_text(f"{text}\n# %%\n# This is build {kill}.\n\nprint({kill})\n")
            process = build(small, *NO_CHECK, "-j", "2", alone=True)
            time.sleep(moments.uniform(0, 6))
            process.kill()
            process.stdout.close()
            process.wait()
            killed.append(process.pid)
        self.assert_as_clean(small)
        # What the builds had started may still wait for them.
        for group in killed:
            with suppress(ProcessLookupError):
                os.killpg(group, signal.SIGKILL)

    def test_edits_of_every_kind_add_up(self, small):
        def edit(name: str, old: str, new: str) -> None:
            path = small / name
            text = path.read_text()
            assert old in text, (name, old)
            path.write_text(text.replace(old, new, 1))

        # A lesson links to what changed between releases.
        label = f"change-{PROBE.replace('.', '-').replace('_', '-')}"
        page = f"---\norphan: true\n---\n\n# Releases\n\n({label})=\n## A change\n"
        (small / "docs" / "releases.md").write_text(page)
        (small / "docs" / "gone.md").write_text("---\norphan: true\n---\n\n# Gone\n")
        edit(TestErrors.LESSON, "# Exercises", "# Questions")
        edit("docs/index.md", "# Home", "# The home page")
        run_build(small)
        edit("conf/static/site.css", "}", "  outline-offset: 1px;\n}")
        edit(
            "conf/extensions/page_description.py",
            '"description" content',
            '"description"  content',
        )
        edit("docs/records/lessons.toml", "[lessons]", f"[lessons]\nfirst_gradient = ['{PROBE}']")
        run_build(small)
        edit(
            "docs/records/1.13.1.json",
            f'"{PROBE}": {{"value": null}}',
            f'"{PROBE}": {{"value": 7}}',
        )
        (small / "docs" / "gone.md").unlink()
        edit("docs/records/lessons.toml", "first_gradient", "a_first_one")
        section = small / "examples" / "first_gradients"
        (section / "first_gradient.py").rename(section / "a_first_one.py")
        edit("conf/reading_order.py", '["first_gradient"]', '["a_first_one"]')
        edit("conf/reading_order.py", '["first_gradient"]', '["a_first_one"]')
        self.assert_as_clean(small)

    def assert_as_clean(self, small):
        status, output = run_build(small, "-j", "2")
        assert status == 0, output
        clean = small.with_name("clean")
        shutil.rmtree(clean, ignore_errors=True)
        status, output = run_build(copy_sources_of(small, clean))
        assert status == 0, output
        assert not differing(small / "_build" / "html", clean / "_build" / "html")


def copy_sources_of(site: Path, folder: Path) -> Path:
    """What a clean checkout of this changed site would have."""
    generated = shutil.ignore_patterns("lessons", "_generated", "__pycache__")
    for name in ("conf", "docs", "examples"):
        shutil.copytree(site / name, folder / name, ignore=generated)
    shutil.copy(site / "CHANGELOG.md", folder)
    return folder


class TestHosting:
    def test_addresses_bring_sitemap_canonical_and_edit_links(self, builds):
        folder = builds[1]
        repository = "https://github.com/someone/autograd"
        environment = {
            "SITE_URL": "https://example.org/autograd",
            "REPOSITORY_URL": repository,
            "SITE_BRANCH": "site",
        }
        command = ("-d", "_build/doctrees-hosted")
        status, output = run_build(folder, *command, **environment)
        assert status == 0, output
        site = folder / "_build" / "html"
        sitemap = (site / "sitemap.xml").read_text()
        assert "https://example.org/autograd/lessons/kinks/clamp_against_relu.html" in sitemap
        page = (site / "questions.html").read_text()
        assert 'rel="canonical" href="https://example.org/autograd/questions.html"' in page
        assert "/autograd/_static/" in (site / "404.html").read_text()
        lesson = (site / "lessons" / "kinks" / "ties.html").read_text()
        assert f'href="{repository}/edit/main/examples/kinks/ties.py">Edit this page' in lesson
        assert f'href="{repository}/edit/main/docs/questions.md">Edit this page' in page
        assert re.search(
            r'/someone/autograd/blob/site/_downloads/\w+/ties\.ipynb">Open ties', lesson
        )

    def test_without_one_nothing_refers_to_a_host(self, site):
        assert not (site / "sitemap.xml").exists()
        assert "canonical" not in (site / "questions.html").read_text()
        assert (site / "404.html").exists()
