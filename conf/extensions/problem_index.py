"""The finder of the page "Fix a problem": a pasted message leads to the page that answers it.

A problem page is a lesson of the section ``problems``. Its title, headings, prose, code and live
outputs, the list under "How it shows:", and the messages that ``lessons.toml`` (see
``other_releases``) names for it, in the words of every recorded release, go into
``_static/problem-index.js``. ``problem-finder.js`` ranks the pages by it in the browser, on the
page with the directive ``problem-finder`` and on the search page.

The directive ``problem-list`` lists all pages with their symptoms and messages. That list is what
a reader without JavaScript has, and the ordinary search finds it as well.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import probe_facts
import reading_order
from answer_words import runs
from docutils import nodes
from literal_links import lesson_pages
from other_releases import read_mapping
from sphinx.util.docutils import SphinxDirective

SECTION = reading_order.PROBLEMS
SYMPTOMS = "How it shows:"
FILE = "problem-index.js"
OUTPUT_CLASS = "sphx-glr-script-out"
# "RuntimeError: ...", "torch.utils.checkpoint.CheckpointError: ...", "UserWarning: ...".
MESSAGE = re.compile(r"(?:[a-z_]\w*\.)*[A-Z]\w*(?:Error|Exception|Warning|NotFound): ")
_WORD = re.compile(r"[A-Za-z_]{2,}")


class problem_finder(nodes.General, nodes.Element):  # noqa: N801 -- docutils names nodes so
    """Where the script puts its form."""


class problem_listing(nodes.General, nodes.Element):  # noqa: N801
    """Where the list of all problems goes, once all pages are read."""


class problem_messages(nodes.General, nodes.Element):  # noqa: N801
    """Messages that the reader can fold; the script folds them at first."""


# -- What a page says ------------------------------------------------------------------------------


def describe(doctree: nodes.document) -> dict[str, Any]:
    """What the finder knows of a page, as plain data.

    Returns:
        title; symptoms, headings, outputs and prose: lists of texts on one line; code: a list of
        one text with the code's distinct words.
    """
    found: dict[str, Any] = {"title": "", "symptoms": _symptoms(doctree)}
    found |= {"headings": [], "outputs": [], "prose": []}
    code: set[str] = set()
    for node in doctree.findall(nodes.TextElement):
        text = " ".join(node.astext().split())
        if isinstance(node, nodes.title):
            if found["title"]:
                found["headings"].append(text)
            else:
                found["title"] = text
        elif isinstance(node, nodes.literal_block):
            if OUTPUT_CLASS in node["classes"] or OUTPUT_CLASS in node.parent.get("classes", []):
                found["outputs"] += [line for line in node.astext().splitlines() if line.strip()]
            else:
                code.update(_WORD.findall(text))
        elif isinstance(node, nodes.paragraph) and not _is_furniture(node):
            found["prose"].append(text)
    found["prose"] = [text for text in found["prose"] if text not in found["symptoms"]]
    return found | {"code": [" ".join(sorted(code))]}


def _symptoms(doctree: nodes.document) -> list[str]:
    for paragraph in doctree.findall(nodes.paragraph):
        following = paragraph.next_node(descend=False, siblings=True)
        if paragraph.astext() == SYMPTOMS and isinstance(following, nodes.bullet_list):
            return [" ".join(item.astext().split()) for item in following.children]
    return []


def _is_furniture(paragraph: nodes.paragraph) -> bool:
    """The downloads at the end, and what leads to other pages."""
    node: nodes.Node = paragraph
    while (node := node.parent) is not None:
        if isinstance(node, nodes.Element) and "sphx-glr-footer" in node.get("classes", []):
            return True
    return paragraph.astext().startswith(("Know first:", SYMPTOMS))


# -- What the records say --------------------------------------------------------------------------


def texts(answer: Any) -> Iterator[str]:
    """The messages in a recorded answer, at whatever depth."""
    if isinstance(answer, str):
        if MESSAGE.match(answer):
            yield answer
    elif isinstance(answer, list):
        for part in answer:
            yield from texts(part)
    elif isinstance(answer, dict):
        for part in answer.values():
            yield from texts(part)


def messages(ids: list[str], records: list[dict]) -> list[dict[str, str]]:
    """Each wording of the messages of these probes once, the newest of a probe first.

    Returns:
        a list of ``{"text": ..., "when": "up to 1.4.0"}``.
    """
    found: dict[str, str] = {}
    for id in ids:
        known = [record for record in records if id in record["probes"]]
        # What a release does not have is an error of its own, which says nothing here.
        answers = [{**record, "texts": _texts_of(record["probes"][id])} for record in known]
        for run in runs(answers, lambda record: record["texts"]) if answers else []:
            for text in run.content:
                found.setdefault(text, run.when)
    return [{"text": text, "when": when} for text, when in found.items()]


def _texts_of(answer: dict[str, Any]) -> list[str]:
    return [] if "missing" in answer else list(dict.fromkeys(texts(answer)))


# -- The index and the list ------------------------------------------------------------------------


def index(pages: dict[str, dict], said: dict[str, list[dict[str, str]]]) -> dict[str, Any]:
    """The finder's data: the pages (by address without ".html") and the messages of each."""
    # "Why" and "The fix" stand on every page, and say nothing of one.
    usual = Counter(heading for page in pages.values() for heading in set(page["headings"]))
    return {
        "pages": [
            {
                "url": f"{docname}.html",
                **page,
                "headings": [heading for heading in page["headings"] if usual[heading] == 1],
                "messages": said[docname],
            }
            for docname, page in pages.items()
        ]
    }


def script(data: dict[str, Any]) -> str:
    """The index as a script, since a page at a file:// address can load nothing else."""
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":"))
    return f"const PROBLEM_INDEX = {text};\n"


def listing(pages: dict[str, dict], said: dict[str, list], relative) -> nodes.bullet_list:
    """All pages with their symptoms, and their messages."""
    made = nodes.bullet_list(classes=["problem-list"])
    for docname, page in pages.items():
        link = nodes.reference("", page["title"], internal=True, refuri=relative(docname))
        item = nodes.list_item("", nodes.paragraph("", "", link))
        inner = nodes.bullet_list()
        inner += [nodes.list_item("", nodes.paragraph("", text)) for text in page["symptoms"]]
        if inner.children:
            item += inner
        if said[docname]:
            folded = problem_messages(count=len(said[docname]))
            words = nodes.bullet_list()
            for message in said[docname]:
                text = probe_facts.recorded("", message["text"])
                when = nodes.inline("", f" {message['when']}", classes=["when"])
                words += nodes.list_item("", nodes.paragraph("", "", text, when))
            item += folded
            folded += words
        made += item
    return made


# -- Sphinx ----------------------------------------------------------------------------------------


class ProblemFinder(SphinxDirective):
    """``problem-finder``: the box to paste into."""

    def run(self) -> list[nodes.Node]:
        self.env.metadata[self.env.docname]["has_problem_finder"] = True
        return [problem_finder()]


class ProblemList(SphinxDirective):
    """``problem-list``: all problems with their symptoms and messages."""

    def run(self) -> list[nodes.Node]:
        probe_facts.uses_records(self.env)
        self.env.metadata[self.env.docname]["has_problem_list"] = True
        return [problem_listing()]


def _docnames(app) -> dict[str, str]:
    lessons = lesson_pages(app)
    listed = reading_order.SECTIONS.get(SECTION, [])
    return {name: lessons[name] for name in listed if name in lessons}


def _on_read(app, doctree: nodes.document) -> None:
    if app.env.docname in _docnames(app).values():
        app.env.metadata[app.env.docname]["problem"] = describe(doctree)


def _collect(app) -> tuple[dict[str, dict], dict[str, list]]:
    """The pages in reading order, and the messages of each."""
    material = probe_facts.material(app)
    file = probe_facts.folder(app) / "lessons.toml"
    probes = read_mapping(file, list(material.probes), set(lesson_pages(app)))
    pages, said = {}, {}
    for name, docname in _docnames(app).items():
        if page := app.env.metadata[docname].get("problem"):
            pages[docname] = page
            said[docname] = messages(probes.get(name, []), material.records)
    return pages, said


def _write_index(app, env) -> list[str]:
    """Write the index; return the pages to write anew when it has changed."""
    if app.builder.format != "html":
        return []
    app.problem_index = _collect(app)
    text = script(index(*app.problem_index))
    path = Path(app.outdir) / "_static" / FILE
    if path.exists() and path.read_text(encoding="utf-8") == text:
        return []
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return [name for name in env.found_docs if env.metadata[name].get("has_problem_list")]


def _fill(app, doctree: nodes.document, docname: str) -> None:
    for place in list(doctree.findall(problem_listing)):
        pages, said = getattr(app, "problem_index", None) or _collect(app)

        def relative(target: str) -> str:
            return app.builder.get_relative_uri(docname, target)

        place.replace_self(listing(pages, said, relative))


def _add_scripts(app, pagename, templatename, context, doctree) -> None:
    page = app.env.metadata.get(pagename, {})
    has_finder = "has_problem_finder" in page
    if has_finder or "has_problem_list" in page:
        app.add_css_file("records.css")
        app.add_css_file("problem-finder.css")
    if has_finder or pagename == "search":
        app.add_js_file(FILE, loading_method="defer")
        app.add_js_file("problem-finder.js", loading_method="defer")
    if has_finder:
        app.add_js_file("problem-finder-page.js", loading_method="defer")


# The box is part of the page, and shown where scripts run: nothing moves when they come.
BOX = """\
<div class="problem-finder"><noscript><p>The box to paste a message into needs JavaScript. Without it,
look for your message in the list at the end of this page.</p></noscript>
<form role="search" aria-label="Problems">
<label for="problem-text">Paste a message or a whole traceback, or say in a few words what is wrong</label>
<textarea id="problem-text" rows="5" spellcheck="false" autocomplete="off" autocapitalize="off"
  aria-describedby="problem-privacy"></textarea>
<p id="problem-privacy">It is compared here, in your browser. Nothing is sent, and nothing is kept.</p>
<p class="problem-row"><span role="status"></span>
<a hidden>Link to this search</a> <button type="button" hidden>Clear</button></p>
<ol class="problem-results"></ol>
</form></div>
"""


def _visit_finder(self, node: problem_finder) -> None:
    self.body.append(BOX)
    raise nodes.SkipNode


def _visit_messages(self, node: problem_messages) -> None:
    count = node["count"]
    label = "1 message" if count == 1 else f"{count} messages"
    self.body.append(f"<details open><summary>{label}</summary>\n")


def _depart_messages(self, node: problem_messages) -> None:
    self.body.append("</details>\n")


def _skip(self, node: nodes.Node) -> None:
    raise nodes.SkipNode


def _pass(self, node: nodes.Node) -> None:
    """Other builders show the messages as they are."""


def setup(app):
    app.setup_extension("probe_facts")
    skip = dict.fromkeys(("latex", "text", "man", "texinfo"), (_skip, None))
    show = dict.fromkeys(("latex", "text", "man", "texinfo"), (_pass, _pass))
    app.add_node(problem_finder, html=(_visit_finder, None), **skip)
    app.add_node(problem_listing, html=(_skip, None), **skip)
    app.add_node(problem_messages, html=(_visit_messages, _depart_messages), **show)
    app.add_directive("problem-finder", ProblemFinder)
    app.add_directive("problem-list", ProblemList)
    # Before other extensions add to the page what its author did not write.
    app.connect("doctree-read", _on_read, priority=300)
    app.connect("env-updated", _write_index)
    app.connect("doctree-resolved", _fill)
    app.connect("html-page-context", _add_scripts)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
