"""Give each page a description for search engines and link previews.

A page that sets none (``html_meta`` in Markdown) is described by its first paragraph, shortened to
what a search engine shows. Other extensions find the text in the page's context, as
``page_description``.
"""

import re
from html import escape, unescape

from docutils import nodes

MOST = 200
# Pages without a source of their own.
GENERATED = {
    "search": "Search all lessons, problems and pages, in code and in error messages too.",
    "genindex": "All terms of this site with links to where they are explained, from A to Z.",
    "404": "This address has no page. From here you find the lessons, the problems and the search.",
}
_META = re.compile(r"<meta\b[^>]*>")


def first_paragraph(doctree: nodes.document) -> str:
    """The text of the first ordinary paragraph of a page, on one line; '' where none is."""
    for paragraph in doctree.findall(nodes.paragraph):
        # A paragraph with a class is furniture, such as a lesson's release line.
        in_prose = isinstance(paragraph.parent, nodes.section | nodes.document)
        if in_prose and not paragraph["classes"]:
            return " ".join(paragraph.astext().split())
    return ""


def shortened(text: str, most: int = MOST) -> str:
    """As many whole sentences as fit; of a first one that is too long, the words that fit."""
    if len(text) <= most:
        return text
    start = text[: most + 1]
    end = max(start.rfind(f"{mark} ") for mark in ".?!")
    if end >= most // 3:
        return start[: end + 1]
    return start[: most - 1].rsplit(" ", 1)[0].rstrip(",;:") + " …"


def written(metatags: str) -> str:
    """The description that the page's author wrote, from its meta tags; '' where none is."""
    for tag in _META.findall(metatags):
        if 'name="description"' in tag:
            return unescape(re.search(r'content="([^"]*)"', tag)[1])
    return ""


def _add_description(app, pagename, templatename, context, doctree) -> None:
    text = written(context.get("metatags", ""))
    if not text:
        text = GENERATED.get(pagename, "")
        if doctree is not None:
            text = shortened(first_paragraph(doctree))
        if text:
            context["metatags"] = context.get("metatags", "")
            context["metatags"] += f'<meta name="description" content="{escape(text)}" />\n'
    context["page_description"] = text


def setup(app):
    app.connect("html-page-context", _add_description)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
