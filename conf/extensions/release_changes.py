"""What changed between the recorded releases: the directive ``release-changes``.

Newest step first; in a step by area. A change comes with the question, both answers, who is
affected and what to write instead: from ``advice.toml`` beside the records, else what can be
said of its kind. ``release-changes.js`` lets the reader choose two releases; without it the
page is the list of all steps.

The entries of ``advice.toml``::

    [[advice]]
    title = "clamp at a number bound"
    probes = ["kinks.clamp_min_at_0", "kinks.clamp_range_*"]
    after = "2.13.0"     # the last release that is known to be without the change
    by = "2.14.1"        # the first that is known to have it
    bites = "Who is affected: one sentence or two. Code in `backquotes`."
    write = "What to write so that it means the same in all releases."
    code = '''  # optional: shown on the page, and a program that a test runs
    '''
"""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass
from html import escape
from itertools import pairwise
from pathlib import Path
from typing import Any

import probe_facts
from answer_words import changing_keys, chosen, kind_of, kink_lines, lines
from docutils import nodes
from kink_table import anchor, note_label, question_link
from probe_facts import question, recorded
from probes import compare, records
from sphinx.errors import ExtensionError
from sphinx.util.docutils import SphinxDirective

FIELDS = {"title", "probes", "after", "by", "bites", "write"}
# Title, who is affected, what to write: for changes without advice of their own. In the order of
# the page.
GENERAL = {
    "other": (
        "Other answers",
        "Code that relies on one of the two answers.",
        "Run the question's program under each release that you support, as a test.",
    ),
    "errors": (
        "An error or a warning in one of the two",
        "Code that expects the error or warning, and code that must run under both releases.",
        "Do not rely on it, or say in your package's requirements which release it needs.",
    ),
    "forward": (
        "Forward mode gives another answer",
        "Code that takes derivatives in forward mode: `torch.func.jvp`, `jacfwd`, `hessian`.",
        "Use reverse mode, `torch.func.vjp` or `jacrev`.",
    ),
    "defaults": (
        "Other defaults and arguments",
        "Callers that leave the argument out, or pass one that {old} does not know.",
        "Pass the arguments that matter to you by name.",
    ),
    "types": (
        "Another type of error or warning",
        "Code that catches, or filters, the type that only one of the two releases uses.",
        "Name both types: `except (TypeError, RuntimeError)`, with the two that you see here.",
    ),
    "text": (
        "Other words",
        "Tests, log filters and `warnings.filterwarnings` that look for the old text.",
        "Look for the type of the error or warning, not for its text.",
    ),
    "names": (
        "Other nodes in the graph",
        "Code that compares `type(node).__name__` or `node.name()`, and stored pictures of graphs.",
        "Do not decide anything by the name of a node.",
    ),
    "came": (
        "What {old} does not have",
        "Code that uses it fails under {old}.",
        "Say in your package's requirements which release it needs, or ask with `hasattr` first.",
    ),
    "went": (
        "What {new} no longer has",
        "Code that uses it fails under {new}.",
        "Say in your package's requirements which releases it works with.",
    ),
}


@dataclass(frozen=True)
class Advice:
    """An entry of ``advice.toml``; ``ids`` are the probes that its patterns name."""

    title: str
    ids: frozenset[str]
    after: str
    by: str
    bites: str
    write: str
    code: str

    def covers(self, id: str, old: str, new: str) -> bool:
        """Whether it is about the change of a probe from release ``old`` to ``new``."""
        order = records.release_order
        between = order(old) < order(self.by) and order(self.after) < order(new)
        return id in self.ids and between


def read_advice(path: Path, ids: list[str]) -> list[Advice]:
    """Read ``advice.toml``; a missing file is an empty one.

    Raises:
        ExtensionError: names the file, the entry, and the remedy.
    """
    if not path.exists():
        return []
    try:
        entries = tomllib.loads(path.read_text(encoding="utf-8")).get("advice", [])
    except ValueError as error:
        raise ExtensionError(f"{path.name} is not valid TOML: {error}") from error
    return [_advice(entry, number, path.name, ids) for number, entry in enumerate(entries, 1)]


def _advice(entry: dict[str, Any], number: int, file: str, ids: list[str]) -> Advice:
    where = f"{file}: advice {number} ({entry.get('title', 'without a title')})"
    missing, strange = FIELDS - set(entry), set(entry) - FIELDS - {"code"}
    if missing:
        raise ExtensionError(f"{where} has no {', '.join(sorted(missing))}: add it")
    if strange:
        raise ExtensionError(f"{where} has {', '.join(sorted(strange))}: remove it")
    found, unknown = chosen(entry["probes"], ids)
    if unknown:
        raise ExtensionError(
            f"{where} names the probe {unknown[0]}, which does not exist: correct it, or remove it"
        )
    for key in ("after", "by"):
        if not records.RELEASE.fullmatch(str(entry[key])):
            raise ExtensionError(f"{where} has {entry[key]!r} as its {key}: write it like 2.14.1")
    texts = {key: entry.get(key, "").strip() for key in ("title", "bites", "write", "code")}
    return Advice(ids=frozenset(found), after=entry["after"], by=entry["by"], **texts)


class release_change(nodes.General, nodes.Element):  # noqa: N801 -- docutils names nodes so
    """One change. Attributes: ``probe``, ``old`` and ``new`` (releases)."""


class release_answer(nodes.General, nodes.Element):  # noqa: N801
    """An answer, line by line. Attribute: ``release``, which gave it."""


class ReleaseChanges(SphinxDirective):
    """``{release-changes}``, without arguments."""

    def run(self) -> list[nodes.Node]:
        material = probe_facts.material(self.env.app)
        probe_facts.uses_records(self.env)
        advice_file = probe_facts.folder(self.env.app) / "advice.toml"
        for file in [*material.files, *([advice_file] if advice_file.exists() else [])]:
            self.env.note_dependency(str(file))
        advice = read_advice(advice_file, list(material.probes))
        self.env.metadata[self.env.docname]["has_changes"] = True
        steps = [_step(*pair, material, advice, self.env) for pair in pairwise(material.records)]
        # The newest change of a probe has the label.
        for entry in (entry for step in steps for entry in step.findall(release_change)):
            note_label(self.env, label(entry["probe"]), entry["ids"][0], entry.astext())
        return steps[::-1]


def label(id: str) -> str:
    """What ``{ref}`` calls the newest change of a probe: ``change-hooks-retain-grad-then-hook``."""
    return f"change-{anchor(id)}"


def ever_changed(id: str, all_records: list[dict]) -> bool:
    """Whether the page has a change of the probe."""
    return any(
        not only_forward_mode_came(change)
        for old, new in pairwise(all_records)
        for change in changed(old, new, [id])
    )


def changed(old: dict, new: dict, ids) -> list[compare.Change]:
    """What changed between two records; a probe that one of them lacks was not asked."""
    return [
        change
        for change in compare.changes(old, new)
        if change.old is not None and change.new is not None and change.id in ids
    ]


def only_forward_mode_came(change: compare.Change) -> bool:
    """Whether all that changed at a kink is that there is a forward mode now."""
    keys = changing_keys([change.old, change.new])
    return keys == {"forward"} and change.old["value"]["forward"] == "no forward mode"


def _step(old: dict, new: dict, material, advice: list[Advice], env) -> nodes.section:
    names = old["release"], new["release"]
    changes = changed(old, new, material.probes)
    id = f"{names[0]}-to-{names[1]}".replace(".", "-")
    section = _section(f"From {names[0]} to {names[1]}", f"changes-{id}", "release-step")
    if not changes:
        section += nodes.paragraph("", "All probes have the same answers.")
    for area, about in sorted(material.facts["areas"].items()):
        here = [change for change in changes if change.id.partition(".")[0] == area]
        if not here:
            continue
        part = _section(area_title(area), f"changes-{id}-{area}", "release-area")
        part += _prose(about)
        listed = [change for change in here if not only_forward_mode_came(change)]
        if len(listed) < len(here):
            part += _prose(
                f"Not listed: {len(here) - len(listed)} points where nothing is new but forward mode, "
                f"which {names[0]} does not have."
            )
        for title, bites, write, code, covered in _groups(listed, names, advice):
            group = nodes.container(classes=["release-group"])
            group += nodes.paragraph("", title, classes=["release-group-title"])
            group += _prose(bites, "Who is affected: ")
            group += _prose(write, "What to write: ")
            if code:
                group += nodes.literal_block(code, code, language="python")
            group += [_entry(change, names, material, env) for change in covered]
            part += group
        section += part
    return section


def area_title(area: str) -> str:
    """An area's name as a heading."""
    return "torch.func" if area == "func" else area.replace("_", " ").capitalize()


def _section(title: str, id: str, kind: str) -> nodes.section:
    id = id.replace("_", "-")
    return nodes.section("", nodes.title("", title), ids=[id], names=[id], classes=[kind])


def _prose(text: str, lead: str = "") -> nodes.paragraph:
    """A paragraph; text in `backquotes` is code."""
    paragraph = nodes.paragraph()
    if lead:
        paragraph += nodes.strong("", lead)
    for number, part in enumerate(text.replace("``", "`").split("`")):
        paragraph += nodes.literal("", part) if number % 2 else nodes.Text(part)
    return paragraph


def _groups(changes, names, advice):
    """Changes with the same advice, as (title, bites, write, code, changes); advice first."""
    left = list(changes)
    for entry in advice:
        covered = [change for change in left if entry.covers(change.id, *names)]
        if covered:
            yield entry.title, entry.bites, entry.write, entry.code, covered
        left = [change for change in left if change not in covered]
    for kind, general in GENERAL.items():
        covered = [change for change in left if kind_of_change(change) == kind]
        if covered:
            old, new = names
            texts = (text.format(old=old, new=new) for text in general)
            yield *texts, "", covered


def kind_of_change(change: compare.Change) -> str:
    """A key of ``GENERAL``."""
    old, new = kind_of(change.old), kind_of(change.new)
    area = change.id.partition(".")[0]
    if "missing" in (old, new):
        return "came" if old == "missing" else "went"
    keys = changing_keys([change.old, change.new])
    if keys == {"forward"}:
        return "forward"
    if area == "messages":
        before, after = types_of(change.old), types_of(change.new)
        if before == after:
            return "text"
        return "types" if before and after else "errors"
    if area == "defaults":
        return area
    if area == "graph_nodes" and all(map(_is_names, (change.old, change.new))):
        return "names"
    return "errors" if _is_error(change.old) or _is_error(change.new) else "other"


def types_of(answer: dict[str, Any]) -> list[str]:
    """The types of the errors and warnings in a message's answer; none for "no error"."""
    content = answer.get("value", answer.get("raises"))
    texts = content if isinstance(content, list) else [content]
    found = [re.match(r"(\w+(?:Error|Warning|Exception)): ", str(text)) for text in texts]
    return [match[1] for match in found if match]


def _is_names(answer: dict[str, Any]) -> bool:
    content = answer.get("value")
    return isinstance(content, list) and all(isinstance(part, str) for part in content)


def _is_error(answer: dict[str, Any]) -> bool:
    content = answer.get("value")
    return kind_of(answer) != "value" or (isinstance(content, str) and content.endswith("Error"))


def _entry(change: compare.Change, names: tuple[str, str], material, env) -> release_change:
    probe = material.probes[change.id]
    entry = release_change(probe=change.id, old=names[0], new=names[1])
    entry["ids"] = [f"{anchor(change.id)}-{names[1].replace('.', '-')}"]
    linked = "place" in probe and "kink_table" in env.app.extensions
    asked = question_link(probe, env.docname, anchor(probe["id"])) if linked else question(probe)
    entry += nodes.paragraph("", "", asked, classes=["release-question"])
    # What differs between any two records is shown in every step: so the answers of two
    # releases that are not neighbours can be put side by side.
    answers = [r["probes"][change.id] for r in material.records if change.id in r["probes"]]
    keys = changing_keys(answers)
    for name, answer in zip(names, (change.old, change.new), strict=True):
        shown = kink_lines(answer, keys) if "place" in probe else lines(answer, keys)
        entry += release_answer("", *(recorded("", line) for line in shown), release=name)
    return entry


def _visit_change(self, node: release_change) -> None:
    data = "".join(f' data-{key}="{escape(node[key])}"' for key in ("probe", "old", "new"))
    self.body.append(f'<div class="release-change" id="{node["ids"][0]}"{data}>\n')


def _visit_answer(self, node: release_answer) -> None:
    self.body.append(f'<div class="answer"><b>{node["release"]}</b> <span>')


def _depart_answer(self, node: release_answer) -> None:
    self.body.append("</span></div>\n")


def _depart_change(self, node: release_change) -> None:
    self.body.append("</div>\n")


def _pass(self, node: nodes.Element) -> None:
    """Other builders show what is inside."""


def _add_files(app, pagename, templatename, context, doctree) -> None:
    if app.env.metadata.get(pagename, {}).get("has_changes"):
        app.add_css_file("records.css")
        for script in ("record-controls.js", "release-changes.js"):
            app.add_js_file(script, loading_method="defer")


def setup(app):
    app.setup_extension("probe_facts")
    others = dict.fromkeys(("latex", "text", "man", "texinfo"), (_pass, _pass))
    app.add_node(release_change, html=(_visit_change, _depart_change), **others)
    app.add_node(release_answer, html=(_visit_answer, _depart_answer), **others)
    app.add_directive("release-changes", ReleaseChanges)
    app.connect("html-page-context", _add_files)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
