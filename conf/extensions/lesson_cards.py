"""Show the lessons of a section as a list of cards: picture, title, and what it teaches.

sphinx-gallery writes its cards as raw HTML: the sentence about a lesson shows only under a
mouse, and the title stands beside the link instead of in it. A list in reading order says to a
screen reader how many lessons there are, and which is the third.
"""

import re
from html import unescape

import reading_order
from docutils import nodes
from docutils.utils.smartquotes import smartyPants

_GOAL = re.compile(r'class="sphx-glr-thumbcontainer" tooltip="([^"]*)"')


def make_cards(doctree: nodes.document) -> None:
    """Replace sphinx-gallery's cards, in place."""
    for comment in list(doctree.findall(_opens_cards)):
        parent, start = comment.parent, comment.parent.index(comment)
        end = next(i for i in range(start, len(parent)) if _closes_cards(parent[i]))
        cards = nodes.enumerated_list(classes=["lesson-cards"])
        for raw, only in zip(parent[start:end], parent[start + 1 : end], strict=False):
            if isinstance(raw, nodes.raw) and (goal := _GOAL.search(raw.astext())):
                # As Sphinx sets the same sentence on the lesson's page.
                cards += _card(only, smartyPants(unescape(goal[1]), "qDe"))
        # The raw <div> stands before the comment, and its end after the other.
        parent[start - 1 : end + 2] = [cards] if cards.children else []


def _card(only: nodes.Element, goal: str) -> nodes.list_item:
    picture = next(only.findall(nodes.image))
    title = next(only.findall(nodes.paragraph))
    title["classes"].append("lesson-card-title")
    sentence = nodes.paragraph("", goal, classes=["lesson-card-goal"])
    card = nodes.list_item("", title, sentence, classes=["lesson-card"])
    lesson = re.search(r"sphx_glr_(\w+)_thumb", picture["uri"])[1]
    if number := reading_order.numbered().get(lesson):
        card.insert(0, nodes.paragraph("", str(number), classes=["lesson-card-number"]))
    # A problem page draws seldom: all would show the same picture.
    if f"/{reading_order.PROBLEMS}/" not in picture["uri"]:
        card += picture
    return card


def _opens_cards(node: nodes.Node) -> bool:
    return isinstance(node, nodes.comment) and node.astext() == "thumbnail-parent-div-open"


def _closes_cards(node: nodes.Node) -> bool:
    return isinstance(node, nodes.comment) and node.astext() == "thumbnail-parent-div-close"


def _on_read(app, doctree: nodes.document) -> None:
    gallery = app.config.sphinx_gallery_conf["gallery_dirs"]
    docname = app.env.docname
    if docname.startswith(f"{gallery}/") and docname.endswith("/index"):
        make_cards(doctree)
        app.env.metadata[docname]["has_lesson_cards"] = True


def _add_style(app, pagename, templatename, context, doctree) -> None:
    if "has_lesson_cards" in app.env.metadata.get(pagename, {}):
        app.add_css_file("lesson-cards.css")


def setup(app):
    app.connect("doctree-read", _on_read)
    app.connect("html-page-context", _add_style)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
