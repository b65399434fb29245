"""Names in double backquotes become links."""

import pytest
import tiny

CONF = """
extensions = ["sphinx.ext.intersphinx", "inventories", "literal_links", "settings"]
intersphinx_mapping = {"torch": ("https://host", "_generated/inventories/torch.inv")}
exclude_patterns = ["_generated"]
import sys; sys.path.insert(0, ".")
"""
SETTINGS = """
def setup(app):
    app.add_config_value(
        "sphinx_gallery_conf", {"examples_dirs": "examples", "gallery_dirs": "lessons"}, ""
    )
"""


@pytest.fixture
def build(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "settings.py").write_text(SETTINGS)
    (tmp_path / "examples" / "first").mkdir(parents=True)
    (tmp_path / "examples" / "first" / "a_lesson.py").write_text("")
    (tmp_path / "lessons" / "first").mkdir(parents=True)
    (tmp_path / "lessons" / "first" / "a_lesson.rst").write_text(
        ":orphan:\n\nThe title\n=========\n"
    )

    def build(text):
        status, messages = tiny.build(tmp_path, CONF, index=f"T\n=\n\n{text}\n")
        return status, messages, tiny.soup(tmp_path).select("section p")[0]

    return build


def test_a_lesson_becomes_its_title(build):
    status, _, paragraph = build("See ``a_lesson``.")
    assert status == 0
    assert paragraph.a.get_text() == "The title"
    assert paragraph.a["href"] == "lessons/first/a_lesson.html"


@pytest.mark.parametrize("name", ["torch.dot", "torch.dot()"])
def test_a_name_of_pytorch_links_to_its_reference(build, name):
    status, _, paragraph = build(f"Use ``{name}``.")
    assert status == 0
    assert paragraph.a["href"] == "https://host/generated/torch.dot.html#torch.dot"
    assert paragraph.a.get_text() == name


def test_a_misspelt_name_of_pytorch_fails_with_its_place(build):
    status, messages, _ = build("Use ``torch.dott``.")
    assert status != 0
    assert "index.rst:4" in messages
    assert "torch.dott" in messages


def test_other_literals_stay_as_they_are(build):
    status, _, paragraph = build("A ``grad_fn``, ``x.grad`` and ``torch.dot(x, x)``.")
    assert status == 0
    assert not paragraph.find("a")


def test_a_literal_inside_a_link_is_left_alone(build):
    status, _, paragraph = build("`torch.dot <https://example.org>`_ and ``a_lesson``.")
    assert status == 0
    assert len(paragraph.find_all("a")) == 2
