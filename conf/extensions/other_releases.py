"""The section "In other releases" of a lesson whose answer depends on the release.

``lessons.toml`` beside the records says which probes belong to which lesson; the lesson's
script says nothing, so that scripts and notebooks stay free of directives::

    [lessons]
    clamp_against_relu = ["kinks.clamp_min_at_0", "kinks.relu_at_0"]

The section has a table with each question and its answers, and stands above the exercises, or at
the end.
"""

from __future__ import annotations

import tomllib
from collections.abc import Container
from pathlib import Path

import probe_facts
from answer_words import changing_keys, chosen, kind_of, kink_lines, lines, runs
from docutils import nodes
from kink_table import anchor, question_link
from literal_links import lesson_pages
from probe_facts import question, recorded
from release_changes import ever_changed, label
from sphinx.errors import ExtensionError

TITLE = "In other releases"
EXERCISES = "Exercises"


def read_mapping(path: Path, ids: list[str], lessons: set[str]) -> dict[str, list[str]]:
    """Read ``lessons.toml``: the probes of each lesson. A missing file is an empty one.

    Raises:
        ExtensionError: names the file, the lesson, and the remedy.
    """
    if not path.exists():
        return {}
    try:
        mapping = tomllib.loads(path.read_text(encoding="utf-8"))["lessons"]
    except (ValueError, KeyError) as error:
        raise ExtensionError(f"{path.name} is not TOML with a table [lessons]: {error}") from error
    found = {}
    for lesson, patterns in mapping.items():
        if lesson not in lessons:
            raise ExtensionError(
                f"{path.name}: there is no lesson {lesson}: correct its name, or remove the line"
            )
        found[lesson], unknown = chosen(patterns, ids)
        if unknown:
            raise ExtensionError(
                f"{path.name}: lesson {lesson} names the probe {unknown[0]}, which does not "
                "exist: correct it, or remove it"
            )
    return found


def section(
    probes: list[dict], records: list[dict], docname: str, extensions: Container[str]
) -> nodes.section:
    """The section for these probes (entries of ``facts["probes"]``).

    Args:
        extensions: a question is a link to the table of kinks, or to the changes, where these
            extensions are there.
    """
    made = nodes.section("", nodes.title("", TITLE), ids=["in-other-releases"])
    made["names"] = ["in other releases"]
    made += nodes.paragraph(
        "",
        "Each question was put to these releases of PyTorch, by running its program: "
        + ", ".join(record["release"] for record in records)
        + ".",
    )
    group = nodes.tgroup(cols=2)
    group += [nodes.colspec(colwidth=1), nodes.colspec(colwidth=1)]
    group += nodes.thead(
        "", _row([nodes.paragraph("", "Question")], [nodes.paragraph("", "Answer")])
    )
    body = nodes.tbody()
    for probe in probes:
        if "place" in probe and "kink_table" in extensions:
            asked = question_link(probe, docname, anchor(probe["id"]))
        elif "release_changes" in extensions and ever_changed(probe["id"], records):
            asked = question_link(probe, docname, label(probe["id"]))
        else:
            asked = question(probe)
        body += _row([nodes.paragraph("", "", asked)], _answers(probe, records))
    group += body
    made += nodes.table("", group, classes=["other-releases", "colwidths-auto"])
    return made


def _row(*cells: list[nodes.Node]) -> nodes.row:
    return nodes.row("", *(nodes.entry("", *cell) for cell in cells))


def _answers(probe: dict, records: list[dict]) -> list[nodes.Node]:
    id = probe["id"]
    known = [record for record in records if id in record["probes"]]
    keys = changing_keys([record["probes"][id] for record in known])
    if "place" in probe:
        keys = {"gradient"}
    elif not keys:
        keys = None

    def shown(record: dict) -> list[str]:
        answer = record["probes"][id]
        return kink_lines(answer, keys) if "place" in probe else lines(answer, keys)

    found = []
    for run in runs(known, shown):
        paragraph = nodes.paragraph()
        for line in run.content:
            missing = kind_of(_answer_of(known, run.first, id)) == "missing"
            text = "not there" if missing else line.removeprefix("gradient ")
            paragraph += nodes.Text(text) if missing else recorded("", text)
            paragraph += nodes.Text(" ")
        paragraph += nodes.inline("", run.when, classes=["when"])
        found.append(paragraph)
    return found


def _answer_of(records: list[dict], release: str, id: str) -> dict:
    return next(record["probes"][id] for record in records if record["release"] == release)


def insert(doctree: nodes.document, made: nodes.section) -> None:
    """Put the section above the exercises, else last, above the downloads."""
    top = next(doctree.findall(nodes.section))
    for part in top.findall(nodes.section):
        if part.parent is top and part[0].astext() == EXERCISES:
            top.insert(top.index(part), made)
            return
    top += made
    for part in list(doctree.findall(lambda node: "sphx-glr-footer" in _classes(node))):
        # Inside "only:: html", and in the section that was last.
        outer = part.parent if part.parent.tagname == "only" else part
        outer.parent.remove(outer)
        made += outer


def _classes(node: nodes.Node) -> list[str]:
    return node.get("classes", []) if isinstance(node, nodes.Element) else []


def _mapping(app) -> dict[str, list[str]]:
    material = probe_facts.material(app)
    file = probe_facts.folder(app) / "lessons.toml"
    return read_mapping(file, list(material.probes), set(lesson_pages(app)))


def _check(app, env, docnames) -> None:
    # Before any page is read: a wrong line is one error, not one for each page.
    app.other_releases = _mapping(app)


def _on_read(app, doctree: nodes.document) -> None:
    env = app.env
    lesson = env.docname.rpartition("/")[2]
    if lesson_pages(app).get(lesson) != env.docname:
        return
    file = probe_facts.folder(app) / "lessons.toml"
    if file.exists():
        env.note_dependency(str(file))
    ids = app.other_releases.get(lesson, [])
    if not ids:
        return
    material = probe_facts.material(app)
    probe_facts.uses_records(env)
    for path in material.files:
        env.note_dependency(str(path))
    probes = [material.probes[id] for id in ids]
    insert(doctree, section(probes, material.records, env.docname, app.extensions))
    env.metadata[env.docname]["has_other_releases"] = True


def _add_style(app, pagename, templatename, context, doctree) -> None:
    if app.env.metadata.get(pagename, {}).get("has_other_releases"):
        app.add_css_file("records.css")


def setup(app):
    app.setup_extension("probe_facts")
    app.connect("env-before-read-docs", _check)
    # Before Sphinx collects the headings of the page.
    app.connect("doctree-read", _on_read, priority=400)
    app.connect("html-page-context", _add_style)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
