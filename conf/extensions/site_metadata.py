"""Say what a page is, to search engines and to programs that show a link to it.

All of it needs whole addresses, so there is none without ``html_baseurl``. Open Graph tags name
title, description and picture. JSON-LD says that a lesson is something to learn from, and where it
stands in the site. JSON-LD is a block of data: a browser does not run it, so a
Content-Security-Policy that allows no inline script lets it pass.

Uses, where they are there, the description of ``page_description`` and the picture of
``social_card``; writes ``robots.txt``, which names the sitemap.
"""

import json
from html import escape
from pathlib import Path
from typing import Any

import reading_order


def open_graph(tags: dict[str, str]) -> str:
    """The tags as HTML; those without a value are left out."""
    lines = [
        f'<meta property="{name}" content="{escape(value)}">'
        for name, value in tags.items()
        if value
    ]
    return "\n".join(lines) + "\n"


def crumbs(parents: list[tuple[str, str]], here: tuple[str, str]) -> dict[str, Any]:
    """The way to a page, as schema.org has it, from (title, address) of each step."""
    steps = [
        {"@type": "ListItem", "position": place, "name": title, "item": address}
        for place, (title, address) in enumerate([*parents, here], start=1)
    ]
    return {"@type": "BreadcrumbList", "itemListElement": steps}


def lesson_data(page: dict[str, str], site: dict[str, str], *, is_problem: bool) -> dict[str, Any]:
    """What schema.org calls a lesson, or an article about a problem."""
    made = {
        "@type": "TechArticle" if is_problem else "LearningResource",
        "headline" if is_problem else "name": page["title"],
        "description": page["description"],
        "url": page["url"],
        "inLanguage": "en",
        "isAccessibleForFree": True,
        "isPartOf": {"@type": "WebSite", **site},
    }
    if not is_problem:
        made |= {"learningResourceType": "Tutorial", "educationalUse": "self-study"}
    return made


def data_block(*things: dict[str, Any]) -> str:
    text = json.dumps({"@context": "https://schema.org", "@graph": list(things)}, sort_keys=True)
    # "</script>" in a title would end the block.
    safe = text.replace("<", "\\u003c")
    return f'<script type="application/ld+json">{safe}</script>\n'


def kind_of(docname: str) -> str:
    """'lesson', 'problem' or 'page'."""
    folder, _, name = docname.rpartition("/")
    section = folder.rpartition("/")[2]
    if name not in reading_order.SECTIONS.get(section, []):
        return "page"
    return "problem" if section == reading_order.PROBLEMS else "lesson"


def _add(app, pagename, templatename, context, doctree) -> None:
    base = app.config.html_baseurl
    if not base or doctree is None:
        return
    address = base + app.builder.get_target_uri(pagename)
    if pagename == app.config.root_doc:
        # Where a host serves the start page under two addresses, this is the one to name.
        address = context["pageurl"] = base
    title = app.env.titles[pagename].astext()
    description = context.get("page_description", "")
    kind = kind_of(pagename)
    tags = {
        "og:type": "website" if pagename == app.config.root_doc else "article",
        "og:site_name": app.config.project,
        "og:title": title,
        "og:description": description,
        "og:url": address,
    }
    if card := context.get("social_card"):
        tags |= {
            "og:image": base + card["path"],
            "og:image:alt": card["alt"],
            "og:image:width": str(card["width"]),
            "og:image:height": str(card["height"]),
        }
    context["metatags"] = context.get("metatags", "") + open_graph(tags)
    if card:
        context["metatags"] += '<meta name="twitter:card" content="summary_large_image">\n'
    site = {"name": app.config.project, "url": base}
    page = {"title": title, "description": description, "url": address}
    things = []
    if kind != "page":
        things.append(lesson_data(page, site, is_problem=kind == "problem"))
    if pagename != app.config.root_doc:
        things.append(crumbs(_parents(app, pagename, base), (title, address)))
    if things:
        context["metatags"] += data_block(*things)


def _parents(app, pagename: str, base: str) -> list[tuple[str, str]]:
    """Title and address of the start page and of each page above this one."""
    root = app.config.root_doc
    found = []
    relations = app.builder.relations
    above = relations.get(pagename, [None])[0]
    while above and above != root:
        uri = app.builder.get_target_uri(above)
        found.append((app.env.titles[above].astext(), base + uri))
        above = relations.get(above, [None])[0]
    return [(app.config.project, base), *reversed(found)]


def _finish(app, exception) -> None:
    base = app.config.html_baseurl
    if exception is not None or not base or app.builder.name != "html":
        return
    text = f"User-agent: *\nAllow: /\n\nSitemap: {base}sitemap.xml\n"
    (Path(app.outdir) / "robots.txt").write_text(text, encoding="utf-8")
    sitemap = Path(app.outdir) / "sitemap.xml"
    if sitemap.exists():
        # The address that the start page names as its own.
        start = f"<loc>{base}{app.builder.get_target_uri(app.config.root_doc)}</loc>"
        text = sitemap.read_text(encoding="utf-8").replace(start, f"<loc>{base}</loc>")
        sitemap.write_text(text, encoding="utf-8")


def setup(app):
    # After page_description and social_card.
    app.connect("html-page-context", _add, priority=600)
    # After sphinx-sitemap.
    app.connect("build-finished", _finish, priority=900)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
