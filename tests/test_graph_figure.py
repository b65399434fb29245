"""Graph figures: what the scraper takes, and what the page shows."""

import re
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import graph_figure
import graphviz
import pytest
import torch
from bs4 import BeautifulSoup
from sphinx.errors import ExtensionError
from torchviz import make_dot

STATIC = Path(__file__).parent.parent / "conf" / "static"


@pytest.fixture
def graph():
    x = torch.ones(2, requires_grad=True)
    return make_dot(x.sum(), params={"x": x})


def scrape(tmp_path, code, value):
    images = (tmp_path / f"sphx_glr_lesson_{number:03}.png" for number in range(1, 9))
    block_vars = {
        "example_globals": {"___": value},
        "image_path_iterator": images,
        "src_file": "lesson.py",
    }
    block = SimpleNamespace(content=code, lineno=7)
    return graph_figure.scrape(block, block_vars, {"src_dir": str(tmp_path)})


class TestScraper:
    def test_takes_a_graph_that_a_block_ends_with(self, tmp_path, graph):
        rst = scrape(tmp_path, "make_dot(y)", graph)
        assert ".. graph-figure:: /sphx_glr_lesson_001.svg" in rst
        assert (tmp_path / "sphx_glr_lesson_001.svg").exists()
        assert (tmp_path / "sphx_glr_lesson_001.json").exists()

    def test_ignores_a_value_of_an_earlier_block(self, tmp_path, graph):
        assert scrape(tmp_path, "x = 1", graph) == ""
        assert scrape(tmp_path, "# only a comment", graph) == ""

    def test_takes_a_graph_written_in_dot(self, tmp_path):
        # Its text repr is hidden, as that of all graphviz objects.
        rst = scrape(tmp_path, "graph", graphviz.Source("digraph { a -> b }"))
        assert ".. graph-figure:: /sphx_glr_lesson_001.svg" in rst

    def test_a_broken_graph_names_the_lesson_and_the_line(self, tmp_path):
        with pytest.raises(ExtensionError, match=r"lesson\.py:7: .* syntax error"):
            scrape(tmp_path, "graph", graphviz.Source("digraph { a -> ; }"))

    def test_ignores_other_values(self, tmp_path):
        assert scrape(tmp_path, "x + 1", 2) == ""

    def test_tells_others_the_names_of_the_nodes(self, tmp_path, graph, monkeypatch):
        told = []
        monkeypatch.setattr(graph_figure, "on_scraped", [lambda *args: told.append(args)])
        scrape(tmp_path, "graph", graph)
        ((told_graph, file, names),) = told
        assert told_graph is graph
        assert file.name == "sphx_glr_lesson_001.svg"
        assert sorted(names.values()) == [f"n{i}" for i in range(1, len(names) + 1)]

    def test_a_missing_renderer_names_the_lesson_and_the_line(self, tmp_path, graph, monkeypatch):
        monkeypatch.setenv("GRAPHVIZ_DOT", "no-such-dot")
        with pytest.raises(ExtensionError, match=r"lesson\.py:7: GRAPHVIZ_DOT"):
            scrape(tmp_path, "graph", graph)


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    """A small site with an ordinary graph and two very large ones; HTML and plain text."""
    folder = tmp_path_factory.mktemp("figures")
    x = torch.ones(2, requires_grad=True)
    small = make_dot(x.sum(), params={"x": x})
    chain = x
    for _ in range(400):
        chain = chain * 2
    own = graphviz.Digraph()
    for number in range(400):
        own.edge(f"node {number}", f"node {number + 1}")
    graphs = {"small": small, "large": make_dot(chain.sum()), "own": own}
    for name, graph in graphs.items():
        (tmp := folder / name).mkdir()
        scrape(tmp, "graph", graph)
    (folder / "conf.py").write_text(
        'extensions = ["graph_figure"]\nproject = "Figures"\nhtml_theme = "furo"\n'
        f"html_static_path = [{str(STATIC)!r}]\n"
    )
    directive = ".. graph-figure:: /{}/sphx_glr_lesson_001.svg\n\n"
    (folder / "index.rst").write_text(
        "Figures\n=======\n\n" + "".join(directive.format(name) for name in graphs)
    )
    for builder in ("html", "text"):
        command = [
            sys.executable,
            "-m",
            "sphinx",
            "-W",
            "-q",
            "-b",
            builder,
            folder,
            folder / builder,
        ]
        path = {"PYTHONPATH": ":".join(sys.path), "PATH": ""}
        done = subprocess.run(command, capture_output=True, text=True, env=path, check=False)
        assert done.returncode == 0, done.stderr
    return folder


class TestFigure:
    @pytest.fixture
    def figures(self, pages):
        soup = BeautifulSoup((pages / "html" / "index.html").read_text(), "html.parser")
        return soup.select("figure.graph-figure")

    def test_shows_the_svg_without_its_own_style(self, figures):
        svg = figures[0].select_one(".graph-scroll svg")
        assert svg["aria-label"] == "Autograd graph with 2 operations, 1 leaf, 1 output"
        assert not svg.select("style")

    def test_legend_has_only_roles_that_occur(self, figures):
        texts = [item.get_text(strip=True) for item in figures[0].select(".graph-legend li")]
        assert [text.split(":")[0] for text in texts] == ["leaf", "operation", "output"]

    def test_has_the_graph_in_words(self, figures):
        words = [item.get_text(strip=True) for item in figures[0].select("details li")]
        assert words[0] == "x (shape (2)): a leaf."

    def test_a_huge_graph_is_summarised_and_linked(self, pages, figures):
        assert not figures[1].select("svg")
        text = figures[1].get_text()
        assert "400 MulBackward0" in text
        assert "1 leaf" in text
        # 400 products, the sum, and AccumulateGrad
        assert "longest way through it: 402" in text
        assert len(text) < 1000
        link = figures[1].select_one("a.download")
        assert link.get_text(strip=True) == "Open the whole picture"
        assert (pages / "html" / link["href"]).exists()

    def test_a_huge_graph_made_by_hand_has_no_operations_to_count(self, figures):
        text = " ".join(figures[2].get_text().split())
        assert text == (
            "Graph with 401 nodes. It is too large to show here. Open the whole picture"
        )

    def test_other_builders_show_the_words(self, pages):
        assert "x (shape (2)): a leaf." in (pages / "text" / "index.txt").read_text()


COLOURS = """() => [
    ...document.querySelectorAll(".graph-figure svg :is(text, .node rect:not(.inner))")
].map(e => getComputedStyle(e).fill.match(/[\\d.]+/g).slice(0, 3).map(Number))"""


@pytest.mark.parametrize("theme", ["auto", "dark"])
def test_prints_dark_text_on_light_boxes_from_a_dark_page(pages, browser, theme):
    with browser.new_context(color_scheme="dark") as context:
        page = context.new_page()
        page.goto((pages / "html" / "index.html").as_uri())
        page.evaluate("theme => document.body.dataset.theme = theme", theme)
        on_screen = page.evaluate(COLOURS)
        page.emulate_media(media="print", color_scheme="dark")
        on_paper = page.evaluate(COLOURS)
    # Four boxes; one of the two tensors has a name, so that there are five lines of text.
    assert sorted(max(colour) < 128 for colour in on_paper) == [False] * 4 + [True] * 5
    assert sorted(max(colour) < 128 for colour in on_screen) == [False] * 5 + [True] * 4


def test_a_damaged_file_is_named(pages, tmp_path):
    (tmp_path / "conf.py").write_text('extensions = ["graph_figure"]\n')
    (tmp_path / "index.rst").write_text("Page\n====\n\n.. graph-figure:: /gone.svg\n")
    command = [sys.executable, "-m", "sphinx", "-W", "-q", tmp_path, tmp_path / "html"]
    path = {"PYTHONPATH": ":".join(sys.path), "PATH": ""}
    done = subprocess.run(command, capture_output=True, text=True, env=path, check=False)
    assert done.returncode != 0
    assert re.search(r"index\.rst:4.*gone\.svg", done.stderr, re.DOTALL)
