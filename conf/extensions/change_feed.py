"""A feed of what changed on the site, from the changelog.

Each section whose heading ends in a date, "## New lessons (2026-12-01)", is an entry. What is not
dated yet is none. A feed has absolute addresses, so there is none without ``html_baseurl``; with
it, ``changes.xml`` is written, and each page names it.
"""

import datetime
import re
from html import escape
from pathlib import Path
from typing import NamedTuple
from xml.etree import ElementTree

from docutils.nodes import make_id
from markdown_it import MarkdownIt
from sphinx.errors import ConfigError

FILE = "changes.xml"
PAGE = "changelog"
ATOM = "http://www.w3.org/2005/Atom"
_HEADING = re.compile(r"^## (.+)$", re.MULTILINE)
_DATED = re.compile(r"(.+) \((\d{4}-\d\d-\d\d)\)")


class Entry(NamedTuple):
    title: str
    date: str
    anchor: str
    html: str


def entries(changelog: str) -> list[Entry]:
    """The dated sections of a changelog, newest first as they stand there."""
    parts = _HEADING.split(changelog)[1:]
    found = []
    for heading, text in zip(parts[::2], parts[1::2], strict=True):
        if dated := _DATED.fullmatch(heading.strip()):
            title, date = dated.groups()
            datetime.date.fromisoformat(date)
            html = MarkdownIt().render(text).strip()
            found.append(Entry(title, date, make_id(heading), html))
    dates = [entry.date for entry in found]
    if dates != sorted(dates, reverse=True):
        raise ValueError(f"the dates are not newest first: {', '.join(dates)}")
    return found


def feed(found: list[Entry], title: str, author: str, base: str) -> str:
    """The Atom feed of these entries."""
    ElementTree.register_namespace("", ATOM)
    root = ElementTree.Element(f"{{{ATOM}}}feed", {"xml:lang": "en"})

    def add(parent, name: str, text: str = "", **attributes: str):
        made = ElementTree.SubElement(parent, f"{{{ATOM}}}{name}", attributes)
        made.text = text or None
        return made

    def moment(date: str) -> str:
        return f"{date}T00:00:00Z"

    page = f"{base}{PAGE}.html"
    add(root, "id", base + FILE)
    add(root, "title", f"{title}: changes")
    add(root, "updated", moment(found[0].date))
    add(add(root, "author"), "name", author)
    add(root, "link", rel="self", type="application/atom+xml", href=base + FILE)
    add(root, "link", rel="alternate", type="text/html", href=page)
    for entry in found:
        made = add(root, "entry")
        add(made, "id", f"{page}#{entry.anchor}")
        add(made, "title", entry.title)
        add(made, "updated", moment(entry.date))
        add(made, "link", rel="alternate", type="text/html", href=f"{page}#{entry.anchor}")
        add(made, "content", entry.html, type="html")
    ElementTree.indent(root)
    declaration = '<?xml version="1.0" encoding="utf-8"?>\n'
    return declaration + ElementTree.tostring(root, encoding="unicode") + "\n"


def _read(app) -> None:
    path = Path(app.srcdir) / app.config.change_feed_changelog
    app.change_feed_entries = []
    if app.config.html_baseurl and path.exists():
        try:
            app.change_feed_entries = entries(path.read_text(encoding="utf-8"))
        except ValueError as error:
            raise ConfigError(f"{path.name}: {error}") from error


def _add_link(app, pagename, templatename, context, doctree) -> None:
    if app.change_feed_entries:
        title = escape(f"{app.config.project}: changes")
        context["metatags"] = context.get("metatags", "") + (
            f'<link rel="alternate" type="application/atom+xml" title="{title}" '
            f'href="{app.config.html_baseurl}{FILE}">\n'
        )
        if pagename == PAGE:
            context["body"] += f'<p><a href="{FILE}">These changes as a feed (Atom)</a></p>\n'


def _write(app, exception) -> None:
    if exception is None and app.builder.name == "html" and app.change_feed_entries:
        config = app.config
        text = feed(app.change_feed_entries, config.project, config.author, config.html_baseurl)
        (Path(app.outdir) / FILE).write_text(text, encoding="utf-8")


def setup(app):
    app.add_config_value("change_feed_changelog", "../CHANGELOG.md", "html", str)
    app.connect("builder-inited", _read)
    app.connect("html-page-context", _add_link)
    app.connect("build-finished", _write)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
