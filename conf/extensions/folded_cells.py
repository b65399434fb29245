"""Fold a cell with the tag ``hide-cell`` behind a heading that says what is there.

myst-nb names each of them "Toggle hidden content" to a screen reader, and writes paragraphs into
``<summary>``, which HTML does not allow. ``code_prompt_show`` is the heading here; that it opens
and closes is what a browser says by itself.
"""

from html import escape

from myst_nb.sphinx_ import HideCodeCellNode


def _visit(translator, node: HideCodeCellNode) -> None:
    classes = " ".join(["folded-cell", *node["classes"]])
    summary = escape(node["prompt_show"])
    translator.body.append(f'<details class="{classes}">\n<summary>{summary}</summary>\n')


def _depart(translator, node: HideCodeCellNode) -> None:
    translator.body.append("</details>\n")


def setup(app):
    app.setup_extension("myst_nb")
    app.add_node(HideCodeCellNode, override=True, html=(_visit, _depart))
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
