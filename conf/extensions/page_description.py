"""Give each page a description for search engines and link previews.

A page that sets none (``html_meta`` in Markdown) is described by its first paragraph.
"""

from html import escape

from docutils import nodes


def first_paragraph(doctree: nodes.document) -> str:
    """The text of the first ordinary paragraph of a page, on one line; '' where none is."""
    for paragraph in doctree.findall(nodes.paragraph):
        # A paragraph with a class is furniture, such as a lesson's release line.
        in_prose = isinstance(paragraph.parent, nodes.section | nodes.document)
        if in_prose and not paragraph["classes"]:
            return " ".join(paragraph.astext().split())
    return ""


def _add_description(app, pagename, templatename, context, doctree) -> None:
    if doctree is None or 'name="description"' in context.get("metatags", ""):
        return
    if text := first_paragraph(doctree):
        context["metatags"] += f'<meta name="description" content="{escape(text)}" />\n'


def setup(app):
    app.connect("html-page-context", _add_description)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
