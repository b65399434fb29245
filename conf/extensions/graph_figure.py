"""Show every graph that a lesson draws with torchviz as a figure of the page.

Two halves. ``scrape`` is a sphinx-gallery image scraper: it writes the SVG (also the gallery's
thumbnail) and a JSON file with the graph's parts. The directive ``graph-figure``, which the
scraper puts into the page, reads both and makes the figure: the SVG inline, so that it follows
the page's colours and its text can be selected; a legend; and the graph in words.

Name the scraper as the string ``"graph_figure.scrape"``: worker processes of a parallel build
import it, and never read conf.py.
"""

import ast
import json
import re
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import graphviz
from docutils import nodes
from dot_program import DotError, draw
from graph_svg import Edge, GraphSvg, Node, depth, describe, draw_graph
from sphinx import addnodes
from sphinx.errors import ExtensionError
from sphinx.util.docutils import SphinxDirective

Graph = graphviz.Digraph | graphviz.Graph | graphviz.Source

# Larger pictures would outweigh the page that shows them.
INLINE_LIMIT = 150_000  # bytes of SVG

LEGEND = {
    "leaf": "leaf: backward fills its .grad",
    "operation": "operation: a node of the recorded graph",
    "output": "output",
    "base": "base of a view",
    "saved": "tensor saved for backward",
}

# Called with (graph, svg file, torchviz's node names -> ids of the figure) for every figure.
on_scraped: list[Callable[[Graph, Path, dict[str, str]], None]] = []


def scrape(block, block_vars: dict, gallery_conf: dict) -> str:
    """sphinx-gallery's scraper: draw the graph that a code block ends with.

    Returns:
        reStructuredText with the directive, or "" where the block shows no graph.

    Raises:
        ExtensionError: no renderer, or it failed; names the script and the line.
    """
    graph = _value_of(block, block_vars)
    if graph is None:
        return ""
    svg_file = Path(next(block_vars["image_path_iterator"])).with_suffix(".svg")
    figure = "graph-" + svg_file.stem.removeprefix("sphx_glr_").replace("_", "-")
    try:
        drawn = draw_graph(graph.source, figure, draw)
    except DotError as error:
        raise ExtensionError(f"{block_vars['src_file']}:{block.lineno}: {error}") from error
    svg_file.write_text(drawn.svg, encoding="utf-8")
    svg_file.with_suffix(".json").write_text(_to_json(drawn), encoding="utf-8")
    for callback in on_scraped:
        callback(graph, svg_file, drawn.torchviz_names)
    page = Path(svg_file).relative_to(gallery_conf["src_dir"]).as_posix()
    return f"\n.. graph-figure:: /{page}\n\n"


def _value_of(block, block_vars: dict) -> Graph | None:
    # sphinx-gallery keeps the last block's value in ___ even where a later block has none.
    statements = ast.parse(block.content).body
    if not statements or not isinstance(statements[-1], ast.Expr):
        return None
    value = block_vars["example_globals"].get("___")
    return value if isinstance(value, Graph) else None


def _to_json(drawn: GraphSvg) -> str:
    parts = {
        "name": drawn.name,
        "nodes": [vars(node) for node in drawn.nodes],
        "edges": drawn.edges,
    }
    return json.dumps(parts, indent=1) + "\n"


class graph_figure(nodes.General, nodes.Element):  # noqa: N801 -- docutils names nodes so
    """The figure. Attributes: ``figure`` (its id), ``name``, ``graph`` (nodes and edges)."""


class graph_words(nodes.General, nodes.Element):  # noqa: N801
    """The graph as a list of sentences, closed at first. Attribute ``summary``."""


class GraphFigure(SphinxDirective):
    """``.. graph-figure:: /lessons/section/images/file.svg`` with a ``.json`` beside it."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        relative, absolute = self.env.relfn2path(self.arguments[0])
        svg_file, json_file = Path(absolute), Path(absolute).with_suffix(".json")
        for file in (svg_file, json_file):
            self.env.note_dependency(str(file))
        try:
            svg = svg_file.read_text(encoding="utf-8")
            graph = json.loads(json_file.read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            raise self.error(f"{relative} or its .json is missing or broken ({error})") from error
        parts = [Node(**node) for node in graph["nodes"]]
        edges = [Edge(*edge) for edge in graph["edges"]]

        figure_id = re.search(r'\bid="(graph-[^"]+)"', svg)[1]
        figure = graph_figure(figure=figure_id, name=graph["name"], graph=graph, file=absolute)
        if len(svg.encode()) > INLINE_LIMIT:
            figure += self.summary(parts, edges, graph["name"])
        else:
            figure += nodes.raw("", self.inline(svg), format="html")
            if roles := legend(parts):
                figure += roles
            words = graph_words(summary="The graph in words")
            items = [nodes.list_item("", nodes.paragraph("", s)) for s in describe(parts, edges)]
            words += nodes.enumerated_list("", *items, enumtype="arabic", suffix=".")
            figure += words
        self.set_source_info(figure)
        return [figure]

    def inline(self, svg: str) -> str:
        """The SVG without its own style: the page's stylesheet takes over."""
        svg = re.sub(r"<style>.*?</style>", "", svg, flags=re.DOTALL)
        name = re.search(r'aria-label="([^"]*)"', svg)[1]
        # Focusable, so that a graph wider than the page can be scrolled with the keyboard.
        return (
            f'<div class="graph-scroll" role="group" tabindex="0" aria-label="{name}">'
            f"\n{svg}</div>\n"
        )

    def summary(self, parts: list[Node], edges: list[Edge], name: str) -> list[nodes.Node]:
        """What stands in for a picture, and for its words, where they are too large for a page."""
        counts = Counter(part.label[0] for part in parts if part.role == "operation")
        sentences = [f"{name}. It is too large to show here."]
        if counts:
            most = ", ".join(f"{count} {operation}" for operation, count in counts.most_common(8))
            sentences += [
                f"Operations on the longest way through it: {depth(parts, edges)}.",
                f"The most frequent operations: {most}.",
            ]
        link = addnodes.download_reference(
            "",
            "Open the whole picture",
            refdoc=self.env.docname,
            reftarget=self.arguments[0],
            reftype="download",
            refdomain="",
            refexplicit=True,
        )
        paragraphs = [nodes.paragraph("", sentence) for sentence in sentences]
        return [*paragraphs, nodes.paragraph("", "", link)]


def legend(parts: list[Node]) -> nodes.bullet_list | None:
    """One line for each role that occurs in the picture; None where there is none to tell."""
    roles = {part.role for part in parts}
    items = [
        nodes.list_item(
            "", nodes.paragraph("", text), classes=["graph-role", f"graph-role-{role}"]
        )
        for role, text in LEGEND.items()
        if role in roles
    ]
    return nodes.bullet_list("", *items, classes=["graph-legend"]) if items else None


def _visit_figure(self, node: graph_figure) -> None:
    classes = " ".join(["graph-figure", *node["classes"]])
    self.body.append(f'<figure class="{classes}" data-graph="{node["figure"]}">\n')


def _depart_figure(self, node: graph_figure) -> None:
    self.body.append("</figure>\n")


def _visit_words(self, node: graph_words) -> None:
    self.body.append(f'<details class="graph-words"><summary>{node["summary"]}</summary>\n')


def _depart_words(self, node: graph_words) -> None:
    self.body.append("</details>\n")


def _pass(self, node: nodes.Element) -> None:
    """Other builders show the words only."""


def _note_figures(app, doctree: nodes.document) -> None:
    app.env.metadata[app.env.docname]["has_graphs"] = any(doctree.findall(graph_figure))


def _add_style(app, pagename, templatename, context, doctree) -> None:
    if app.env.metadata.get(pagename, {}).get("has_graphs"):
        app.add_css_file("graph-figure.css")


def setup(app):
    others = dict.fromkeys(("latex", "text", "man", "texinfo"), (_pass, _pass))
    app.add_node(graph_figure, html=(_visit_figure, _depart_figure), **others)
    app.add_node(graph_words, html=(_visit_words, _depart_words), **others)
    app.add_directive("graph-figure", GraphFigure)
    app.connect("doctree-read", _note_figures)
    app.connect("html-page-context", _add_style)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
