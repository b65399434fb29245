"""The table of kinks, made from the records: the directive ``kink-table``.

One row for each function and point that a probe declares, each with an anchor
(``kinks-relu-at-0``) that ``{ref}`` knows too. ``kink-table.js`` adds the filter; without it the
table is complete.
"""

from __future__ import annotations

from typing import Any

import kink_plot
import probe_facts
from answer_words import Run, kind_of, runs, short
from docutils import nodes
from probe_facts import question, recorded
from sphinx import addnodes
from sphinx.util.docutils import SphinxDirective

HEADS = [
    "Function and point",
    "Around the point",
    "Slopes",
    "Valid values",
    "What autograd returns",
    "gradcheck",
]


def anchor(id: str) -> str:
    """The anchor of a probe's row: ``kinks.relu_at_0`` has ``kinks-relu-at-0``."""
    return id.replace(".", "-").replace("_", "-")


def question_link(probe: dict[str, Any], docname: str, label: str) -> addnodes.pending_xref:
    """A probe's question, on the page ``docname``, as a link to what has the label."""
    link = addnodes.pending_xref(
        refdoc=docname,
        refdomain="std",
        reftype="ref",
        reftarget=label,
        refexplicit=True,
        refwarn=True,
    )
    link += question(probe)
    return link


def note_label(env, label: str, id: str, title: str) -> None:
    """Let ``{ref}`` find the anchor ``id`` of the page that is being read."""
    labels = env.get_domain("std")
    labels.labels[label] = (env.docname, id, title)
    labels.anonlabels[label] = (env.docname, id)


class KinkTable(SphinxDirective):
    """``{kink-table}``, without arguments."""

    def run(self) -> list[nodes.Node]:
        material = probe_facts.material(self.env.app)
        probe_facts.uses_records(self.env)
        for file in material.files:
            self.env.note_dependency(str(file))
        kinks = [
            probe
            for probe in material.facts["probes"]
            if "place" in probe and any(probe["id"] in r["probes"] for r in material.records)
        ]
        for kink in kinks:
            name = anchor(kink["id"])
            note_label(self.env, name, name, f"{kink['expression']} at {kink['place']}")
        self.env.metadata[self.env.docname]["has_kinks"] = True
        return [table([row(kink, material.records) for kink in kinks])]


def table(rows: list[nodes.row]) -> nodes.table:
    head = nodes.row()
    for text in HEADS:
        head += nodes.entry("", nodes.paragraph("", text))
    group = nodes.tgroup(cols=len(HEADS))
    group += [nodes.colspec(colwidth=1) for _ in HEADS]
    group += nodes.thead("", head)
    group += nodes.tbody("", *rows)
    return nodes.table("", group, classes=["kink-table", "colwidths-auto"])


def row(kink: dict[str, Any], records: list[dict]) -> nodes.row:
    """One kink's row. ``kink`` is an entry of the facts (see ``probe_facts.describe``)."""
    id = kink["id"]
    known = [record for record in records if id in record["probes"]]
    histories = {
        "slopes": runs(known, lambda r: _values(r, id, "left", "right")),
        "valid": runs(known, lambda r: _values(r, id, "limits")),
        "returned": runs(known, lambda r: _values(r, id, "gradient", "inside")),
        "forward": runs(known, lambda r: _other_forward(r, id)),
        "gradcheck": runs(known, lambda r: _values(r, id, "gradcheck")),
    }
    cells = [
        _function(kink),
        [nodes.raw("", _plot(kink, histories["returned"]), format="html")],
        _history(histories["slopes"], _slopes),
        _history(histories["valid"], lambda content: [nodes.Text(valid(content["limits"]))]),
        [
            *_history(histories["returned"], _returned, every=True),
            *_history([run for run in histories["forward"] if run.content], _forward, every=True),
        ],
        _history(histories["gradcheck"], lambda content: [nodes.Text(content["gradcheck"])]),
    ]
    # What came with a release is no difference in what it does.
    answers = {str(run.content) for run in _present(histories["returned"])}
    classes = ["kink", *(["differs"] if len(answers) > 1 else [])]
    made = nodes.row(ids=[anchor(id)], classes=classes)
    for cell in cells:
        made += nodes.entry("", *cell)
    return made


def _values(record: dict, id: str, *keys: str) -> dict[str, Any]:
    answer = record["probes"][id]
    if kind_of(answer) != "value":
        return {"absent": kind_of(answer)}
    return {key: answer["value"][key] for key in keys}


def _present(history: list[Run]) -> list[Run]:
    return [run for run in history if "absent" not in run.content]


def _function(kink: dict[str, Any]) -> list[nodes.Node]:
    link = nodes.reference("", "", internal=True, refid=anchor(kink["id"]))
    link += recorded("", kink["expression"])
    place = nodes.paragraph("", "at ")
    place += recorded("", kink["place"])
    family = nodes.paragraph("", kink["family"], classes=["kink-family"])
    return [nodes.paragraph("", "", link), place, family]


def _plot(kink: dict[str, Any], returned: list[Run]) -> str:
    curve = kink["curve"]
    if curve is None:
        return '<p class="kink-no-plot">no plot: nothing finite to draw</p>'
    marks = []
    for run in _present(returned):
        gradient = _coordinate(run.content["gradient"], curve["position"])
        if isinstance(gradient, float):
            marks.append((gradient, f"{short(gradient)} {run.when}"))
    along = f" along {curve['along']}" if curve["along"] else ""
    name = f"Plot of {kink['expression']} and its gradient{along}, around {kink['place']}"
    caption = f'<p class="kink-along">along <code>{curve["along"]}</code></p>' if along else ""
    return kink_plot.draw(curve, name, marks) + caption


def _coordinate(gradient: Any, position: int) -> Any:
    flat = _flat(gradient)
    return flat[position] if position < len(flat) else None


def _flat(value: Any) -> list:
    return [x for part in value for x in _flat(part)] if isinstance(value, list) else [value]


def _history(history: list[Run], words, *, every: bool = False) -> list[nodes.paragraph]:
    """A paragraph for each run; what holds in all releases needs no date, unless ``every``."""
    present = _present(history)
    if history and not present:
        return [nodes.paragraph("", "no release has it")]
    paragraphs = []
    for run in history if every else present:
        if "absent" in run.content:
            missing = run.content["absent"] == "missing"
            text = "not there" if missing else "no answer"
            paragraphs.append(nodes.paragraph("", f"{text} {run.when}", classes=["absent"]))
            continue
        paragraph = nodes.paragraph("", "", *words(run.content))
        if every or len(present) > 1:
            paragraph += nodes.inline("", f" {run.when}", classes=["when"])
        paragraphs.append(paragraph)
    return paragraphs


def _slopes(content: dict[str, Any]) -> list[nodes.Node]:
    left, right = content["left"], content["right"]
    if left is None or right is None:
        return [nodes.Text("not measurable: rounding is larger")]
    return [
        nodes.Text("left "),
        recorded("", short(left)),
        nodes.Text(", right "),
        recorded("", short(right)),
    ]


def valid(limits: Any) -> str:
    """The set of valid subgradients in words; ``limits`` as ``probes.kink.facts`` returns it."""
    if limits is None:
        return "none"
    if limits == "many":
        return "a set with a curved edge"
    if isinstance(limits[0], list):
        corners = [short(limit) for limit in limits]
        if len(corners) == 1:
            return f"{corners[0]} only"
        return f"averages of {', '.join(corners[:-1])} and {corners[-1]}"
    numbers = [short(limit) for limit in limits]
    if len(numbers) == 1:
        return f"{numbers[0]} only"
    return f"{numbers[0]} to {numbers[-1]}"


def _returned(content: dict[str, Any]) -> list[nodes.Node]:
    parts: list[nodes.Node] = [recorded("", _or_error(content["gradient"]))]
    if content["inside"] is not None:
        word = "valid" if content["inside"] else "not valid"
        parts += [nodes.Text(", "), nodes.inline("", word, classes=[word.replace(" ", "-")])]
    return parts


def _or_error(value: Any) -> str:
    return f"raises {value}" if _is_error(value) else short(value)


def _is_error(value: Any) -> bool:
    return isinstance(value, str) and value not in ("nan", "inf", "-inf")


def _other_forward(record: dict, id: str) -> dict[str, Any] | None:
    """What forward mode gives, where that is another number than backward gives."""
    content = _values(record, id, "gradient", "forward")
    if "absent" in content or _is_error(content["forward"]) or _is_error(content["gradient"]):
        return None
    one, other = _flat(content["forward"]), _flat(content["gradient"])
    # Nothing arrives: for both that is a gradient of zero.
    one, other = ([part or 0.0 for part in flat] for flat in (one, other))
    return None if one == other else {"forward": content["forward"]}


def _forward(content: dict[str, Any]) -> list[nodes.Node]:
    return [nodes.Text("forward mode: "), recorded("", short(content["forward"]))]


def _add_files(app, pagename, templatename, context, doctree) -> None:
    if app.env.metadata.get(pagename, {}).get("has_kinks"):
        app.add_css_file("records.css")
        for script in ("record-controls.js", "kink-table.js"):
            app.add_js_file(script, loading_method="defer")


def setup(app):
    app.setup_extension("probe_facts")
    app.add_directive("kink-table", KinkTable)
    app.connect("html-page-context", _add_files)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
