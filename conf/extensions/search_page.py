"""The search page, and the key that leads to the search from every page.

Sphinx's index and its script find the pages with a word. ``search-rank.js`` puts them in order and
finds the place to show; ``search-page.js`` shows it. Both work from a file:// address, with the
text that ``search_text`` writes.
"""


def _configure(app, config) -> None:
    # Sphinx would fetch each page that it found, to show an excerpt.
    config.html_show_search_summary = False
    # Ours can be turned off by the reader, and opens the drawer that holds the field on a phone.
    config.html_theme_options["enable_search_shortcuts"] = False


def _add_files(app, pagename, templatename, context, doctree) -> None:
    if pagename == "search":
        app.add_css_file("search-page.css")
        app.add_js_file("search-rank.js", loading_method="defer", priority=800)
        app.add_js_file("search-page.js", loading_method="defer", priority=801)


def setup(app):
    app.setup_extension("search_text")
    # Right after Sphinx's own scripts, so that `lean_pages` can join it with them.
    app.add_js_file("search-key.js", priority=200)
    app.connect("config-inited", _configure)
    app.connect("html-page-context", _add_files)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
