"""What the finder's index is made from: a page's own words, and recorded messages."""

import json

import pytest
import tiny
from docutils import nodes
from docutils.core import publish_doctree
from probe_facts import recorded
from probes import records
from problem_index import describe, index, listing, messages, script, texts

PAGE = """
It fails the second time
========================

You will be able to repair it.

How it shows:

- The first step works,
  and the second fails.
- ``retain_graph`` helps *once*.

Know first: another lesson.

Why
---

The saved values are gone.

.. code-block:: python

    loss.backward()
    loss.backward()

.. class:: sphx-glr-script-out

::

    Error: a second time
    2.0

.. container:: sphx-glr-footer

    Download it here
"""


@pytest.fixture(scope="module")
def page():
    return describe(publish_doctree(PAGE))


class TestPage:
    def test_its_parts(self, page):
        assert page["title"] == "It fails the second time"
        assert page["headings"] == ["Why"]
        assert page["symptoms"] == [
            "The first step works, and the second fails.",
            "retain_graph helps once.",
        ]

    def test_prose_is_what_the_author_says_of_this_problem(self, page):
        assert "The saved values are gone." in page["prose"]
        assert "You will be able to repair it." in page["prose"]
        text = " ".join(page["prose"])
        for other in ("How it shows", "the second fails", "another lesson", "Download"):
            assert other not in text

    def test_code_and_outputs_are_told_apart(self, page):
        assert page["code"] == ["backward loss"]
        assert page["outputs"] == ["Error: a second time", "2.0"]

    def test_a_page_without_symptoms(self):
        assert describe(publish_doctree("T\n=\n\nHow it shows:\n\ntext\n"))["symptoms"] == []


class TestMessages:
    def test_are_found_in_every_form_of_answer(self):
        answer = {"value": {"a": ["UserWarning: w", 3.0, None], "b": "lib.some.OtherError: o"}}
        assert list(texts(answer)) == ["UserWarning: w", "lib.some.OtherError: o"]

    @pytest.mark.parametrize("value", ["no error", "TypeError", "AddBackward0", "see: this", 0.5])
    def test_other_answers_are_no_messages(self, value):
        assert list(texts({"value": value})) == []

    RECORDS = (
        {"release": "1.4.0", "probes": {"a.x": {"value": "RuntimeError: old"}}},
        {"release": "1.9.0", "probes": {"a.x": {"value": "RuntimeError: new"}}},
        {
            "release": "2.0.0",
            "probes": {"a.x": {"value": "RuntimeError: new"}, "a.y": {"raises": "KeyError: y"}},
        },
    )

    def test_each_wording_once_with_its_releases_newest_first(self):
        assert messages(["a.x", "a.y"], self.RECORDS) == [
            {"text": "RuntimeError: new", "when": "from 1.9.0 on"},
            {"text": "RuntimeError: old", "when": "up to 1.4.0"},
            {"text": "KeyError: y", "when": "in 2.0.0"},
        ]

    def test_what_a_release_does_not_have_is_no_message_of_the_problem(self):
        missing = {"missing": "AttributeError: module 'torch' has no attribute 'func'"}
        newer = {"release": "2.1.0", "probes": {"a.x": missing}}
        assert [m["text"] for m in messages(["a.x"], [*self.RECORDS, newer])] == [
            "RuntimeError: new",
            "RuntimeError: old",
        ]

    def test_no_probes_no_messages(self):
        assert messages([], self.RECORDS) == []


SAID = {"lessons/problems/a": [{"text": "RuntimeError: <x>", "when": "up to 1.4.0"}]}


class TestIndex:
    def test_is_a_script_that_sets_data(self, page):
        data = index({"lessons/problems/a": page}, SAID)
        text = script(data)
        assert text.startswith("const PROBLEM_INDEX = {")
        assert json.loads(text.partition("= ")[2].rstrip(";\n")) == data
        assert data["pages"][0]["url"] == "lessons/problems/a.html"
        assert data["pages"][0]["messages"] == SAID["lessons/problems/a"]

    def test_a_heading_of_many_pages_says_nothing_of_one(self, page):
        other = page | {"headings": [*page["headings"], "With dropout"]}
        said = {"lessons/problems/a": [], "lessons/problems/b": []}
        data = index({"lessons/problems/a": page, "lessons/problems/b": other}, said)
        assert [page["headings"] for page in data["pages"]] == [[], ["With dropout"]]

    def test_the_list_says_all(self, page):
        made = listing({"lessons/problems/a": page}, SAID, "../{}".format)
        link = next(made.findall(nodes.reference))
        assert (link.astext(), link["refuri"]) == (page["title"], "../lessons/problems/a")
        text = made.astext()
        assert all(symptom in text for symptom in page["symptoms"])
        assert next(made.findall(recorded)).astext() == "RuntimeError: <x>"
        assert "up to 1.4.0" in text


CONF = """
import reading_order
reading_order.SECTIONS = {"problems": ["slow"]}
extensions = ["problem_index"]
records_folder = "records"
probe_areas = "tiny_areas"
html_theme = "basic"
exclude_patterns = ["_generated"]

def setup(app):
    gallery = {"examples_dirs": "examples", "gallery_dirs": "lessons"}
    app.add_config_value("sphinx_gallery_conf", gallery, "")
"""
HOME = """
Home
====

.. problem-finder::

.. problem-list::

.. toctree::
   :hidden:

   lessons/problems/slow
   other
"""
SLOW = """
Backward is slow
================

How it shows:

- It takes <long>.

Why.
"""
PROBE = """
from probes.registry import probe

@probe("messages.slow", "How does it fail?")
def slow():
    return 1
"""
RECORD = {
    "release": "2.0.0",
    "build": "2.0.0",
    "python": "3.11.0",
    "numpy": None,
    "platform": "Linux x86_64",
    "date": "2026-01-01",
    "probes": {"messages.slow": {"value": "RuntimeError: too <slow>"}},
}


@pytest.fixture(scope="module")
def tiny_site(tmp_path_factory):
    """A site with one problem page, and one page that has nothing to do with it."""
    folder = tmp_path_factory.mktemp("problems")
    for path, text in {
        "examples/problems/slow.py": "",
        "lessons/problems/slow.rst": SLOW,
        "tiny_areas/__init__.py": "",
        "tiny_areas/messages.py": PROBE,
        "records/lessons.toml": '[lessons]\nslow = ["messages.slow"]\n',
        "other.rst": "Other\n=====\n\nText.\n",
        "index.rst": HOME,
    }.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text)
    records.write(RECORD, folder / "records")
    build(folder)
    return folder


def build(folder) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(folder)
        status, printed = tiny.build(folder, CONF)
    assert status == 0, printed


class TestSite:
    def test_the_page_has_the_box_the_list_and_the_scripts(self, tiny_site):
        soup = tiny.soup(tiny_site)
        assert soup.select_one(".problem-finder noscript")
        (link,) = soup.select(".problem-list > li > p > a")
        assert link["href"] == "lessons/problems/slow.html"
        code = soup.select_one(".problem-list details code")
        assert code.get_text() == "RuntimeError: too <slow>"
        scripts = [tag["src"].partition("?")[0] for tag in soup.select("script[src*=problem]")]
        wanted = ["problem-index.js", "problem-finder.js", "problem-finder-page.js"]
        assert [script.split("/")[-1] for script in scripts] == wanted

    def test_other_pages_load_none_of_it_and_the_search_page_does(self, tiny_site):
        assert not tiny.soup(tiny_site, "other").select("script[src*=problem]")
        assert tiny.soup(tiny_site, "search").select("script[src*=problem-finder]")

    def test_the_index_follows_the_pages(self, tiny_site):
        (tiny_site / "lessons" / "problems" / "slow.rst").write_text(
            SLOW.replace("takes <long>", "never ends")
        )
        build(tiny_site)
        script = tiny_site / "html" / "_static" / "problem-index.js"
        assert "It never ends." in script.read_text(encoding="utf-8")
        assert "It never ends." in tiny.soup(tiny_site).select_one(".problem-list").get_text()
