"""The text of all pages, by section, for the excerpts on the search page.

Sphinx's search fetches each page that it found to show where the words stand: many requests, and
a browser refuses them at a file:// address. A script can be loaded there, so the text goes into
``_static/search-text.js``, which only the search page loads. What a reader would not search for
stays out: figures in words, step lists, downloads, and the end of a very long section.
"""

from __future__ import annotations

import json
import re
from pathlib import Path

from docutils import nodes
from sphinx import addnodes

FILE = "search-text.js"
# Of one section, and of one page: the page of releases has more text than all lessons.
SECTION, PAGE = 1_600, 9_000
FURNITURE = {
    "graph-legend",
    "lesson-facts",
    "no-search",
    "other-releases",
    "problem-list",
    "run-bar",
    "toctree-wrapper",
}
_TITLES = (nodes.title, nodes.term)
_SKIPPED = (*_TITLES, nodes.raw, nodes.comment, nodes.meta, nodes.Invisible)
_SKIPPED_NAMES = {"backward_steps", "problem_listing", "toctree"}
# The names of operations in a graph: "MulBackward0".
_OPERATION = re.compile(r"\b[A-Z]\w*Backward\d*\b")


def sections(doctree: nodes.document) -> list[list[str]]:
    """Each part of a page as [anchor, title, text]; the first is the page itself, anchor ''."""
    found = []
    for part in doctree.findall(_is_part):
        title = next((node for node in part.children if isinstance(node, _TITLES)), None)
        ids = part["ids"] or (title["ids"] if title else [])
        text = " ".join(_texts(part))
        anchor = ids[0] if found and ids else ""
        found.append([anchor, title.astext() if title else "", _shortened(text, SECTION)])
    return _fitting(found)


def _is_part(node: nodes.Node) -> bool:
    """A section, or a term of the glossary with its definition."""
    return isinstance(node, nodes.section) or (
        isinstance(node, nodes.definition_list_item)
        and isinstance(node.parent.parent, addnodes.glossary)
    )


def _texts(node: nodes.Element):
    """The text of each block below a node, on one line each."""
    for child in node.children:
        if isinstance(child, nodes.Text):
            continue
        if child.tagname == "graph_words":
            if names := dict.fromkeys(_OPERATION.findall(child.astext())):
                yield f"In the graph: {', '.join(names)}."
            continue
        if isinstance(child, _SKIPPED) or _is_part(child) or child.tagname in _SKIPPED_NAMES:
            continue
        # What sphinx-gallery writes for other formats is still there when a page has been read.
        if isinstance(child, addnodes.only) and child["expr"].strip() == "not html":
            continue
        if FURNITURE & set(child.get("classes", [])):
            continue
        if isinstance(child, nodes.TextElement):
            if text := " ".join(_inline(child).split()):
                yield text
        else:
            yield from _texts(child)


def _inline(node: nodes.Node) -> str:
    if isinstance(node, nodes.math | nodes.math_block):
        return plain_formula(node.astext())
    if isinstance(node, nodes.Text):
        return node.astext()
    return "".join(_inline(child) for child in node.children)


def plain_formula(latex: str) -> str:
    r"""A formula as one line of text: ``2\,\mathbf{x}\cdot\mathbf{x}`` is "2 x·x"."""
    text = re.sub(r"\\(?:begin|end)\{\w+\*?\}", "", latex)
    text = re.sub(r"\\cdot\s*", "·", text).replace("&", " ").replace(r"\\", " ")
    text = re.sub(r"\\[,;:! ]", " ", text)
    return re.sub(r"[{}]|\\(?:mathbf|mathrm|text|operatorname|bar|left|right)\b|\\", "", text)


def _shortened(text: str, most: int) -> str:
    return text if len(text) <= most else text[:most].rsplit(" ", 1)[0]


def _fitting(found: list[list[str]]) -> list[list[str]]:
    """Leave out the text, not the titles, of what goes beyond the limit of a page."""
    length = 0
    for section in found:
        length += len(section[2])
        if length > PAGE:
            section[2] = _shortened(section[2], 200)
    return found


def script(pages: dict[str, list[list[str]]]) -> str:
    text = json.dumps(dict(sorted(pages.items())), ensure_ascii=False, separators=(",", ":"))
    return f"const SEARCH_TEXT = {text};\n"


def _on_read(app, doctree: nodes.document) -> None:
    app.env.metadata[app.env.docname]["search_text"] = sections(doctree)


def _write(app, env) -> None:
    if app.builder.format != "html":
        return
    pages = {name: env.metadata[name].get("search_text", []) for name in env.found_docs}
    path = Path(app.outdir) / "_static" / FILE
    text = script(pages)
    if not path.exists() or path.read_text(encoding="utf-8") != text:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


def _add_script(app, pagename, templatename, context, doctree) -> None:
    if pagename == "search":
        app.add_js_file(FILE, loading_method="defer")


def setup(app):
    # After all extensions that add to a page.
    app.connect("doctree-read", _on_read, priority=900)
    app.connect("env-updated", _write)
    app.connect("html-page-context", _add_script)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
