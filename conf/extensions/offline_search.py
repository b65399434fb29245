"""Let the search page work from a file:// address without an error.

Sphinx's search fetches each page that it found, to show where the words stand. A browser refuses
that for files; a script switches it off there, and only there.
"""


def _add_script(app, pagename, templatename, context, doctree) -> None:
    if pagename == "search":
        app.add_js_file("offline-search.js")


def setup(app):
    app.connect("html-page-context", _add_script)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
