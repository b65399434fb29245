"""The pages Kinks and Releases, and the lessons' section "In other releases"."""

import shutil
import tomllib
from itertools import pairwise

import pytest
import tiny
import torch
import torch.nn.functional as F  # noqa: N812
from answer_words import changing_keys, chosen, kink_lines, lines, runs, short
from kink_plot import draw, straightened
from kink_table import anchor, valid
from other_releases import read_mapping
from pages import WIDTHS, page, violations
from probe_facts import families_of
from probes import compare, records
from release_changes import kind_of_change, only_forward_mode_came, read_advice, types_of
from sphinx.errors import ExtensionError

ADVICE = tomllib.loads((records.FOLDER / "advice.toml").read_text(encoding="utf-8"))["advice"]
RECORDS = [records.read(release) for release in records.releases()]
KINK = {
    "value": 0.0,
    "gradient": 1.0,
    "forward": 1.0,
    "left": 0.0,
    "right": 1.0,
    "limits": [0.0, 1.0],
    "inside": True,
    "gradcheck": "fails",
}


class TestWords:
    def test_an_answer_on_one_line(self):
        assert short([0.0, 0.5, "nan", None, True]) == "[0, 0.5, nan, None, True]"
        assert short({"real": 0.6, "imag": -0.8}) == "0.6-0.8i"

    def test_answers_that_are_no_values(self):
        assert lines({"missing": "AttributeError: no"}) == ["This release does not have it."]
        assert lines({"raises": "ValueError: no"}) == ["raises ValueError: no"]
        assert lines({"crash": "SIGSEGV"}) == ["The process crashed (SIGSEGV)."]
        assert lines({"timeout": 60.0}) == ["No answer within 60 seconds."]

    def test_names_stand_in_one_line_and_messages_in_their_own(self):
        assert lines({"value": ["AddBackward0", "ExpBackward0"]}) == ["AddBackward0, ExpBackward0"]
        assert lines({"value": ["A: one", "B: two"]}) == ["A: one", "B: two"]

    def test_only_the_keys_that_differ_are_shown(self):
        old, new = {"value": {"a": 1, "b": 2}}, {"value": {"a": 1, "b": 3}}
        assert changing_keys([old, new]) == {"b"}
        assert lines(new, changing_keys([old, new])) == ["b: 3"]
        assert kink_lines({"value": KINK}, {"gradient", "inside"}) == ["gradient 1; valid: True"]

    def test_releases_that_agree_are_one_run(self):
        history = [
            {"release": release, "answer": answer}
            for release, answer in [("1.13.1", 1), ("2.0.1", 2), ("2.9.1", 2), ("2.14.1", 3)]
        ]
        found = runs(history, lambda record: record["answer"])
        assert [(run.content, run.when) for run in found] == [
            (3, "from 2.14.1 on"),
            (2, "2.0.1 to 2.9.1"),
            (1, "up to 1.13.1"),
        ]
        assert runs(history, lambda record: 0)[0].when == "in all 4 releases"

    def test_patterns_name_ids(self):
        assert chosen(["b.*", "a.x"], ["a.x", "b.y", "b.z"]) == (["b.y", "b.z", "a.x"], [])
        assert chosen(["c.*", "a.x"], ["a.x"]) == (["a.x"], ["c.*"])

    @pytest.mark.parametrize(
        ("limits", "words"),
        [
            (None, "none"),
            ([0.5], "0.5 only"),
            ([0.0, "inf"], "0 to inf"),
            ([[0.0, 1.0], [1.0, 0.0]], "averages of [0, 1] and [1, 0]"),
            ("many", "a set with a curved edge"),
        ],
    )
    def test_the_set_of_valid_values(self, limits, words):
        assert valid(limits) == words


class TestPlot:
    def test_straight_parts_need_no_points(self):
        line = [(float(x), 2.0 * abs(x)) for x in range(-5, 6)]
        assert straightened(line) == [(-5.0, 10.0), (0.0, 0.0), (5.0, 10.0)]

    def test_the_two_sides_are_not_joined_and_releases_have_marks(self):
        curve = {
            "steps": [-1.0, -0.1, 0.1, 1.0],
            "values": [0.0, 0.0, 0.1, 1.0],
            "gradients": [0.0, 0.0, 1.0, None],
            "value": 0.0,
        }
        svg = draw(curve, "a <b>", [(0.0, "0 from 2.14.1 on"), (1.0, "1 up to 2.13.0")])
        assert 'aria-label="a &lt;b&gt;"' in svg
        assert svg.count("<title>") == 2
        gradient = svg.split('<path class="g" d="')[1].split('"')[0]
        assert gradient.count("M") == 2


class TestFacts:
    def test_a_kink_stands_under_its_heading(self):
        source = '# -- first ----\nkink("a", "x", 0.0)\n# -- the next ---\nkink("b", "x", 0.0)\n'
        assert families_of(source) == {"a": "first", "b": "the next"}


class TestKindsOfChange:
    @pytest.mark.parametrize(
        ("id", "old", "new", "kind"),
        [
            ("func.a", {"missing": "AttributeError: no"}, {"value": 1}, "came"),
            ("func.a", {"value": 1}, {"missing": "AttributeError: no"}, "went"),
            ("messages.a", {"value": "ValueError: a"}, {"value": "ValueError: b"}, "text"),
            ("messages.a", {"value": "ValueError: a"}, {"value": "TypeError: a"}, "types"),
            ("messages.a", {"value": "no error"}, {"value": "TypeError: a"}, "errors"),
            ("graph_nodes.a", {"value": ["A"]}, {"value": ["B"]}, "names"),
            ("hooks.a", {"value": 1}, {"value": "RuntimeError"}, "errors"),
            ("hooks.a", {"value": 1}, {"value": 2}, "other"),
            ("kinks.a", {"value": KINK}, {"value": KINK | {"forward": 0.0}}, "forward"),
            ("kinks.a", {"value": KINK}, {"value": KINK | {"gradient": 0.0}}, "other"),
        ],
    )
    def test_kind(self, id, old, new, kind):
        assert kind_of_change(compare.Change(id, old, new)) == kind

    def test_types_of_warnings(self):
        assert types_of({"value": ["UserWarning: a", "FutureWarning: b"]}) == [
            "UserWarning",
            "FutureWarning",
        ]


class TestAdvice:
    @pytest.mark.parametrize("entry", ADVICE, ids=[entry["title"] for entry in ADVICE])
    def test_its_code_runs_and_checks_something(self, entry):
        assert "assert" in entry["code"]
        exec(entry["code"], {"torch": torch, "F": F})  # noqa: S102 -- it is our own file

    def test_each_entry_covers_a_recorded_change(self):
        ids = {id for record in RECORDS for id in record["probes"]}
        advice = read_advice(records.FOLDER / "advice.toml", sorted(ids))
        for entry in advice:
            assert any(
                entry.covers(change.id, old["release"], new["release"])
                for old, new in pairwise(RECORDS)
                for change in compare.changes(old, new)
            ), entry.title

    ENTRY = (
        'title = "t"\nprobes = ["a.b"]\nafter = "2.0.0"\nby = "2.1.0"\nbites = "x"\nwrite = "y"\n'
    )

    @pytest.mark.parametrize(
        ("text", "message"),
        [
            ("[[advice]\n", "advice.toml is not valid TOML"),
            ("[[advice]]\ntitle = 't'\n", r"advice 1 \(t\) has no after, .*: add it"),
            ("[[advice]]\nwhy = 'w'\n" + ENTRY, "has why: remove it"),
            ("[[advice]]\n" + ENTRY.replace("a.b", "a.c"), "names the probe a.c, which does not"),
            ("[[advice]]\n" + ENTRY.replace("2.1.0", "2.1"), "'2.1' as its by: write it like"),
        ],
    )
    def test_a_wrong_entry_is_named(self, tmp_path, text, message):
        (tmp_path / "advice.toml").write_text(text)
        with pytest.raises(ExtensionError, match=message):
            read_advice(tmp_path / "advice.toml", ["a.b"])

    def test_it_covers_what_changed_between_its_releases(self, tmp_path):
        (tmp_path / "advice.toml").write_text("[[advice]]\n" + self.ENTRY)
        (entry,) = read_advice(tmp_path / "advice.toml", ["a.b"])
        assert entry.covers("a.b", "1.13.1", "2.9.1")
        assert not entry.covers("a.b", "2.1.0", "2.9.1")
        assert not entry.covers("a.b", "1.13.1", "2.0.0")
        assert not entry.covers("a.c", "1.13.1", "2.9.1")


class TestMapping:
    @pytest.mark.parametrize(
        ("text", "message"),
        [
            ("[lessons\n", "lessons.toml is not TOML"),
            ("other = 1\n", "lessons.toml is not TOML with a table"),
            ("[lessons]\nb = []\n", "there is no lesson b: correct its name, or remove"),
            ("[lessons]\na = ['x.z']\n", "lesson a names the probe x.z, which does not exist"),
        ],
    )
    def test_a_wrong_line_is_named(self, tmp_path, text, message):
        (tmp_path / "lessons.toml").write_text(text)
        with pytest.raises(ExtensionError, match=message):
            read_mapping(tmp_path / "lessons.toml", ["x.y"], {"a"})


PROBES = '''"""Kinks of a tiny site."""
from functools import partial

from probes.kink import declare
from probes.registry import probe

kink = partial(declare, "kinks")

# -- the only family --------
kink("relu_at_0", "torch.relu(x)", 0.0)
kink("abs_at_0", "x.abs()", 0.0)


@probe("kinks.number", "Which 'number'?")
def number():
    return 1
'''
TINY_CONF = """
import sys
sys.path.insert(0, ".")
project = "tiny"
release = "2.0.0"
extensions = ["kink_table", "release_changes", "other_releases", "settings"]
probe_areas = "tiny_areas"
"""
SETTINGS = """
def setup(app):
    app.add_config_value(
        "sphinx_gallery_conf", {"examples_dirs": "examples", "gallery_dirs": "lessons"}, ""
    )
"""
INDEX = """Kinks
=====

:ref:`go <kinks-relu-at-0>`

.. kink-table::

.. toctree::

   releases
   prose
"""
LESSON = """:orphan:

A lesson
========

Text.

Exercises
---------

1. Do it.
"""


def tiny_record(release: str, number: int, gradient: float) -> dict:
    facts = {"release": release, "build": release, "python": "3.11.0", "numpy": None}
    answers = {
        "kinks.relu_at_0": {"value": KINK | {"gradient": gradient}},
        "kinks.abs_at_0": {"value": KINK | {"limits": [-1.0, 1.0], "left": -1.0}},
        "kinks.number": {"value": number},
    }
    return {**facts, "platform": "Linux x86_64", "date": "2026-01-01", "probes": answers}


@pytest.fixture(scope="module")
def tiny_site(tmp_path_factory):
    """A site with two kinks, two records and a lesson; the tests work on copies of it."""
    folder = tmp_path_factory.mktemp("tiny")
    for path, text in {
        "tiny_areas/__init__.py": "",
        "tiny_areas/kinks.py": PROBES,
        "settings.py": SETTINGS,
        "examples/first/a_lesson.py": "",
        "lessons/first/a_lesson.rst": LESSON,
        "records/lessons.toml": '[lessons]\na_lesson = ["kinks.relu_at_0", "kinks.number"]\n',
        "index.rst": INDEX,
        "releases.rst": "Releases\n========\n\n.. release-changes::\n",
        "prose.rst": "Prose\n=====\n\nNo record.\n",
    }.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text)
    records.write(tiny_record("1.9.0", 1, 1.0), folder / "records")
    records.write(tiny_record("2.0.0", 2, 0.0), folder / "records")
    status, messages = build_tiny(folder)
    assert status == 0, messages
    return folder


def build_tiny(folder):
    # The probes are found by a process of their own, through the path.
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.syspath_prepend(folder)
        return tiny.build(folder, TINY_CONF)


@pytest.fixture
def copy(tiny_site, tmp_path):
    return shutil.copytree(tiny_site, tmp_path / "copy")


class TestTinySite:
    def test_the_table(self, tiny_site):
        soup = tiny.soup(tiny_site)
        rows = soup.select("table.kink-table tbody tr")
        assert [row["id"] for row in rows] == ["kinks-relu-at-0", "kinks-abs-at-0"]
        assert soup.find("a", string="go")["href"] == "#kinks-relu-at-0"
        cells = [" ".join(cell.get_text().split()) for cell in rows[0].select("td")]
        assert cells[0] == "torch.relu(x) at x = 0 the only family"
        assert cells[2] == "left 0, right 1"
        assert cells[3] == "0 to 1"
        assert cells[4] == (
            "0, valid from 2.0.0 on 1, valid up to 1.9.0 forward mode: 1 from 2.0.0 on"
        )
        assert cells[5] == "fails"
        assert "differs" in rows[0]["class"]
        assert "differs" not in rows[1]["class"]
        marks = rows[0].select("circle.g title")
        assert [mark.get_text() for mark in marks] == ["0 from 2.0.0 on", "1 up to 1.9.0"]

    def test_the_changes(self, tiny_site):
        soup = tiny.soup(tiny_site, "releases")
        entries = soup.select(".release-change")
        assert [entry["data-probe"] for entry in entries] == ["kinks.number", "kinks.relu_at_0"]
        assert entries[0].select_one(".release-question").get_text() == "Which 'number'?"
        answers = [part.get_text() for part in entries[1].select(".answer > *")]
        assert answers == ["1.9.0", "gradient 1", "2.0.0", "gradient 0"]
        assert entries[1].a["href"] == "index.html#kinks-relu-at-0"

    def test_the_lesson(self, tiny_site):
        soup = tiny.soup(tiny_site, "lessons/first/a_lesson")
        headings = [
            heading.get_text().rstrip("¶") for heading in soup.select("section > h1, section > h2")
        ]
        assert headings == ["A lesson", "In other releases", "Exercises"]
        rows = soup.select("table.other-releases tbody tr")
        assert rows[0].a["href"] == "../../index.html#kinks-relu-at-0"
        assert rows[1].a["href"] == "../../releases.html#kinks-number-2-0-0"
        answers = [" ".join(row.select("td")[1].get_text().split()) for row in rows]
        assert answers == ["0 from 2.0.0 on 1 up to 1.9.0", "2 from 2.0.0 on 1 up to 1.9.0"]
        toc = tiny.soup(tiny_site, "lessons/first/a_lesson").select('a[href="#in-other-releases"]')
        assert toc

    def test_a_new_record_adds_to_these_pages_and_to_nothing_else(self, copy):
        build_tiny(copy)  # a moved site is read anew
        prose = (copy / "html" / "prose.html").read_bytes()
        before = (copy / "html" / "prose.html").stat().st_mtime_ns
        records.write(tiny_record("2.1.0", 3, 0.0), copy / "records")
        status, messages = build_tiny(copy)
        assert status == 0, messages
        steps = [h.get_text() for h in tiny.soup(copy, "releases").select(".release-step > h2")]
        assert [step.rstrip("¶") for step in steps] == [
            "From 2.0.0 to 2.1.0",
            "From 1.9.0 to 2.0.0",
        ]
        cell = tiny.soup(copy).select("#kinks-abs-at-0 td")[4]
        assert "in all 3 releases" in cell.get_text()
        lesson = tiny.soup(copy, "lessons/first/a_lesson").select_one(".other-releases")
        assert "3 from 2.1.0 on" in " ".join(lesson.get_text().split())
        assert (copy / "html" / "prose.html").read_bytes() == prose
        assert (copy / "html" / "prose.html").stat().st_mtime_ns == before

    def test_a_wrong_lesson_is_one_error_that_names_file_and_remedy(self, copy):
        (copy / "records" / "lessons.toml").write_text('[lessons]\nlost = ["kinks.number"]\n')
        status, messages = build_tiny(copy)
        assert status != 0
        assert messages.count("lost") == 1
        assert "lessons.toml: there is no lesson lost" in messages


@pytest.fixture(scope="module")
def rows(site) -> dict[str, list[str]]:
    """The texts of the cells of each row of the real page."""
    found = page(site / "kinks.html").select("table.kink-table tbody tr")
    return {row["id"]: [" ".join(td.get_text().split()) for td in row("td")] for row in found}


class TestPages:
    """The real pages hold what the records hold."""

    def test_every_kink_has_a_row_with_the_recorded_gradients(self, rows):
        kinks = [
            id
            for id, answer in RECORDS[-1]["probes"].items()
            if isinstance(answer.get("value"), dict) and "gradcheck" in answer["value"]
        ]
        assert len(kinks) > 150
        for id in kinks:
            cells = rows[anchor(id)]
            assert all(cells[:1] + cells[2:]), id
            for record in RECORDS:
                answer = record["probes"][id]
                if "value" in answer:
                    assert short(answer["value"]["gradient"]) in cells[4], id
                    assert answer["value"]["gradcheck"] in cells[5], id

    def test_every_kink_has_a_family(self, rows):
        assert not [id for id, cells in rows.items() if cells[0].endswith("others")]

    def test_every_change_is_there_with_both_answers(self, site):
        entries = page(site / "releases.html").select(".release-change")
        found = {(entry["data-probe"], entry["data-new"]): entry for entry in entries}
        expected = {}
        for old, new in pairwise(RECORDS):
            for change in compare.changes(old, new):
                asked = change.old is not None and change.new is not None
                if asked and not only_forward_mode_came(change):
                    expected[change.id, new["release"]] = change
        assert set(found) == set(expected)
        for key, change in expected.items():
            for answer, span in zip(
                (change.old, change.new), found[key].select(".answer > span"), strict=True
            ):
                value = answer.get("value")
                if isinstance(value, str):
                    assert span.get_text(" ").split() == value.split()
                elif isinstance(value, dict) and "gradcheck" in value:
                    parts = span.get_text().split("; ")
                    told = [part for part in parts if part.startswith("gradient ")]
                    assert told in ([], [f"gradient {short(value['gradient'])}"])

    def test_clamp_changes_in_2_14(self, rows):
        assert rows["kinks-clamp-min-at-0"][4] == "0, valid from 2.14.1 on 1, valid up to 2.13.0"

    def test_links_of_lessons_lead_to_rows_and_changes(self, site, rows):
        links = page(site / "lessons" / "kinks" / "clamp_against_relu.html").select(
            ".other-releases a"
        )
        assert len(links) > 2
        changes = page(site / "releases.html").select(".release-change")
        anchors = {
            "../../kinks.html": set(rows),
            "../../releases.html": {change["id"] for change in changes},
        }
        for link in links:
            target, _, place = link["href"].partition("#")
            assert place in anchors[target]

    def test_the_pages_are_not_too_heavy(self, site):
        import gzip

        for name in ("kinks", "releases"):
            assert len(gzip.compress((site / f"{name}.html").read_bytes())) < 110_000


class TestBrowser:
    @pytest.fixture
    def open_page(self, browser, site):
        contexts, problems = [], []

        def open_page(name: str, **options):
            contexts.append(browser.new_context(**options))
            tab = contexts[-1].new_page()
            tab.on("pageerror", lambda error: problems.append(str(error)))
            path, mark, rest = name.partition("?" if "?" in name else "#")
            tab.goto((site / path).as_uri() + mark + rest)
            return tab

        yield open_page
        for context in contexts:
            context.close()
        assert problems == []

    def test_the_filter_by_keyboard(self, open_page):
        tab = open_page("kinks.html")
        rows = tab.locator("table.kink-table tbody tr")
        everything = rows.count()
        assert everything > 150
        tab.get_by_label("Text").focus()
        tab.keyboard.type("clamp tensor")
        shown = tab.locator("table.kink-table tbody tr:not([hidden])")
        assert 0 < shown.count() < 20
        assert tab.locator(".record-controls output").inner_text() == (
            f"{shown.count()} of {everything} rows"
        )
        tab.keyboard.press("Tab")
        tab.keyboard.press("Tab")
        tab.keyboard.press("Space")
        assert tab.get_by_label("differs between releases").is_checked()
        assert all("differs" in row.get_attribute("class") for row in shown.all())
        assert "text=clamp+tensor" in tab.url
        tab.reload()
        assert 0 < shown.count() < 20
        tab.get_by_role("button", name="Show all").press("Enter")
        assert shown.count() == everything
        assert "?" not in tab.url

    def test_an_area(self, open_page):
        tab = open_page("kinks.html")
        tab.get_by_label("Area").select_option("trigonometry")
        shown = tab.locator("table.kink-table tbody tr:not([hidden])").all()
        assert shown
        assert all("trigonometry" in row.inner_text() for row in shown)

    def test_a_link_to_a_row_that_the_filter_hides(self, open_page):
        tab = open_page("kinks.html?text=sqrt#kinks-clamp-min-at-0")
        assert tab.locator("#kinks-clamp-min-at-0").is_visible()

    @pytest.mark.parametrize("name", ["kinks.html", "releases.html"])
    def test_without_javascript_everything_is_there_and_no_control(self, open_page, name):
        tab = open_page(name, java_script_enabled=False)
        assert tab.locator(".record-controls").count() == 0
        assert (
            tab.locator("[hidden] .release-change, tr[hidden], .release-change[hidden]").count()
            == 0
        )

    @pytest.mark.parametrize("name", ["kinks.html", "releases.html"])
    @pytest.mark.parametrize("width", [360, 1280])
    def test_no_page_scrolls_sideways(self, open_page, name, width):
        tab = open_page(name, viewport={"width": width, "height": 800})
        needed, given = tab.evaluate(WIDTHS)
        assert needed <= given <= width

    def test_two_releases_that_are_not_neighbours(self, open_page):
        tab = open_page("releases.html")
        tab.locator("select[name=from]").select_option("1.13.1")
        tab.locator("select[name=to]").select_option("2.14.1")
        old, new = (next(r for r in RECORDS if r["release"] == n) for n in ("1.13.1", "2.14.1"))
        expected = {
            change.id
            for change in compare.changes(old, new)
            if change.old is not None and change.new is not None
        }
        visible = tab.locator(".release-change:not([hidden])")
        shown = [entry.get_attribute("data-probe") for entry in visible.all()]
        assert len(shown) == len(set(shown))
        assert set(shown) == expected
        answers = visible.and_(tab.locator('[data-probe="messages.modified_in_place"]'))
        assert answers.locator("b").all_inner_texts() == ["1.13.1", "2.14.1"]
        texts = answers.locator(".answer > span").all_inner_texts()
        for text, record in zip(texts, (old, new), strict=True):
            recorded = record["probes"]["messages.modified_in_place"]["value"]
            assert " ".join(text.split()) == " ".join(recorded.split())
        assert "from=1.13.1&to=2.14.1" in tab.url
        tab.get_by_role("button", name="Show all changes").press("Enter")
        assert tab.locator(".release-change[hidden]").count() == 0
        assert "step by step" in tab.locator(".record-controls output").inner_text()

    @pytest.mark.parametrize("scheme", ["light", "dark"])
    @pytest.mark.parametrize(
        "name",
        ["kinks.html?area=trigonometry", "releases.html?from=2.13.0&to=2.14.1&area=sparse"],
    )
    def test_axe_finds_nothing(self, open_page, scheme, name):
        """On a part of each page: the whole would take axe a minute."""
        width = {"light": 1280, "dark": 360}[scheme]
        tab = open_page(name, color_scheme=scheme, viewport={"width": width, "height": 800})
        tab.evaluate("document.querySelectorAll('[hidden]').forEach((part) => part.remove())")
        assert violations(tab) == []
