"""Give each page the part of the navigation that its reader needs: its own section, opened.

Furo asks for the whole tree on every page (https://github.com/pradyunsg/furo/pull/674), so the
time and the size of all pages grow with the square of their number. With ``collapse``, Sphinx
follows only the branch of the page, and names the other sections.
"""

from functools import partial


def _collapse(app, pagename, templatename, context, doctree) -> None:
    if "toctree" in context:
        context["toctree"] = partial(_toctree, context["toctree"])


def _toctree(whole, **options) -> str:
    return whole(**{**options, "collapse": True})


def setup(app):
    # Before the theme asks for it, and before sphinx-notfound-page puts its own in its place.
    app.connect("html-page-context", _collapse, priority=400)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
