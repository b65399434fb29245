"""Outputs that the reader is asked to predict first.

A lesson marks one with an ordinary comment in the block that prints it::

    # Predict first: which number is y?
    print(y.item())

The page then wraps the output in ``<div class="prediction" data-question="...">``, which
``prediction.js`` covers until the reader has answered. The answer is the live output. The lines
that prove it come after the print and would give it away, so they go under the cover too. The
script, the notebook, print and a page without JavaScript show the output at once.
"""

import re
from html import escape

from docutils import nodes
from sphinx.util import logging

logger = logging.getLogger(__name__)

MARK = re.compile(r"^# Predict first: (?P<question>.+)$", re.MULTILINE)
OUTPUT_CLASS = "sphx-glr-script-out"
# The first line of a proof, as lessons write them.
PROOF = re.compile(r"^(?:assert |torch\.testing\.assert_)", re.MULTILINE)


class prediction(nodes.General, nodes.Element):  # noqa: N801 -- docutils names nodes so
    """A covered output. Attribute ``question``: what the reader is asked."""


def _visit_html(self, node: prediction) -> None:
    self.body.append(f'<div class="prediction" data-question="{escape(node["question"])}">\n')


def _depart_html(self, node: prediction) -> None:
    self.body.append("</div>\n")


def _pass(self, node: prediction) -> None:
    """Other builders show the output as it is."""


def wrap_predictions(doctree: nodes.document) -> list[nodes.Node]:
    """Wrap each marked block's output, in place.

    Returns:
        The marked code blocks without an output to predict, and those that ask twice: a block
        has one output, so one question.
    """
    refused = []
    for block in list(doctree.findall(nodes.literal_block)):
        if OUTPUT_CLASS in block["classes"] or not (mark := MARK.search(block.astext())):
            continue
        output = _output_after(block)
        if output is None or MARK.search(block.astext(), mark.end()):
            refused.append(block)
            continue
        wrapper = prediction(question=mark["question"])
        output.replace_self(wrapper)
        wrapper.append(output)
        if proof := _cut_off_proof(block, mark.end()):
            wrapper.append(proof)
    return refused


def _cut_off_proof(block: nodes.literal_block, start: int) -> nodes.literal_block | None:
    """Take the lines from the first proof after ``start`` on out of a block of code."""
    code = block.astext()
    if not (found := PROOF.search(code, start)):
        return None
    proof = block.copy()
    # Sphinx highlights a block only where its raw source is its text.
    for part, text in ((block, code[: found.start()]), (proof, code[found.start() :])):
        part.rawsource = text.rstrip("\n")
        part[:] = [nodes.Text(part.rawsource)]
    return proof


def _output_after(block: nodes.literal_block) -> nodes.Element | None:
    following = block.next_node(descend=False, siblings=True, ascend=False)
    while isinstance(following, nodes.comment):
        following = following.next_node(descend=False, siblings=True, ascend=False)
    if isinstance(following, nodes.Element) and OUTPUT_CLASS in following.get("classes", []):
        return following
    return None


def _on_read(app, doctree: nodes.document) -> None:
    # A page about the mark shows it, and asks nothing.
    if not app.env.docname.startswith(f"{app.config.sphinx_gallery_conf['gallery_dirs']}/"):
        return
    for block in wrap_predictions(doctree):
        logger.warning(
            "a block must print what it asks to predict, and ask once: print the answer, "
            "remove the '# Predict first:' line, or cut the block in two with '# %%'",
            location=block,
            type="prediction",
        )
    app.env.metadata[app.env.docname]["has_predictions"] = any(doctree.findall(prediction))


def _add_script(app, pagename, templatename, context, doctree) -> None:
    if app.env.metadata.get(pagename, {}).get("has_predictions"):
        app.add_css_file("prediction.css")
        # Not deferred: it must run before the first paint.
        app.add_js_file("has-js.js")
        app.add_js_file("answers.js", loading_method="defer")
        app.add_js_file("prediction.js", loading_method="defer")


def setup(app):
    app.add_node(
        prediction,
        html=(_visit_html, _depart_html),
        latex=(_pass, _pass),
        text=(_pass, _pass),
        man=(_pass, _pass),
        texinfo=(_pass, _pass),
    )
    app.connect("doctree-read", _on_read)
    app.connect("html-page-context", _add_script)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
