"""Mend what sphinx-gallery writes that is not valid HTML.

A card has an attribute ``tooltip``, which HTML does not know, and a title that is not escaped: the
title "degrees of freedom <= 0" opens a tag. Nothing shows the attribute, since a card that only
tells more to a mouse keeps it from everybody else.
"""

import re
from html import escape, unescape

from docutils import nodes

_TOOLTIP = re.compile(r'(<div class="sphx-glr-thumbcontainer") tooltip="[^"]*"')
_TITLE = re.compile(r'(<div class="sphx-glr-thumbnail-title">)(.*?)(</div>)', re.DOTALL)


def mended(html: str) -> str:
    """The HTML of a card, valid."""
    html = _TOOLTIP.sub(r"\1", html)
    return _TITLE.sub(lambda m: m[1] + escape(unescape(m[2]), quote=False) + m[3], html)


def _on_read(app, doctree: nodes.document) -> None:
    for raw in list(doctree.findall(nodes.raw)):
        if "sphx-glr-thumb" in (text := raw.astext()) and (valid := mended(text)) != text:
            raw.rawsource = ""
            raw.children = [nodes.Text(valid)]


def setup(app):
    app.connect("doctree-read", _on_read)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
