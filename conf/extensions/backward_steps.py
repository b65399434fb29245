"""Show what backward did under the graph that it passed through, step by step.

``backward_trace`` leaves ``<figure>.trace.json`` beside a figure's SVG. This extension reads it
and adds to the figure one ordered list for each call: without JavaScript, in print and in other
builders that is all, and it is complete. ``backward-player.js`` turns the list into a player
that shows one step at a time; the player computes nothing, it shows and hides these items.
"""

import json
import re
from collections import Counter
from html import escape
from pathlib import Path

from backward_rules import grad_of, step_sentence
from docutils import nodes
from graph_figure import graph_figure, graph_words
from sphinx.errors import ExtensionError

# A picture up to this width leaves room for the steps beside it.
WIDEST_BESIDE = 230  # points

_DIFFERENCE = {
    "hook": "A hook of the lesson changed what arrived.",
    "outside": "The rest came from outside of this picture.",
}
_ORDINALS = ("first", "second", "third", "fourth", "fifth", "sixth")


class backward_steps(nodes.General, nodes.Element):  # noqa: N801 -- docutils names nodes so
    """All calls over a figure's graph, and the player's controls."""


class backward_run(nodes.General, nodes.Element):  # noqa: N801
    """One call. Attribute ``steps``: for each step what it lights in the picture."""


class tensor_value(nodes.Inline, nodes.TextElement):  # noqa: N801
    """A value of the run. Attributes, where the player asks: ``wanted`` (its numbers),
    ``question``, and for a matrix ``columns`` (how many)."""


class Steps:
    """Make the nodes for one trace.

    Args:
        trace: what ``backward_trace`` wrote, under the figure's names of nodes.
        order: those names in the figure's order, which numbers nodes of the same operation.
    """

    def __init__(self, trace: dict, order: list[str]) -> None:
        self.trace = trace
        self.tensors = trace["tensors"]
        self.titles = self._titles(order)

    def all_runs(self) -> list[nodes.Node]:
        """The controls, the calls, and the form of the player's predict mode."""
        runs = self.trace["runs"]
        names = [_call_name(run, number, len(runs)) for number, run in enumerate(runs, 1)]
        parts = [nodes.raw("", _controls(names, len(runs[0]["steps"])), format="html")]
        parts += [self.run(run, name) for run, name in zip(runs, names, strict=True)]
        if left_out := self.trace["runs_left_out"]:
            text = "1 more call is" if left_out == 1 else f"{left_out} more calls are"
            parts.append(nodes.paragraph("", f"{text} not shown."))
        return [*parts, nodes.raw("", _FORM, format="html")]

    def run(self, run: dict, name: str) -> backward_run:
        steps = run["steps"]
        node = backward_run(steps=[self.lit(step) for step in steps])
        node += _paragraph("backward-caption", name)
        if not run["inside"]:
            text = "The call started outside of this picture and came in through its output."
            node += nodes.paragraph("", text)
        if steps:
            items = [nodes.list_item("", *self.step(step)) for step in steps]
            listed = {"enumtype": "arabic", "suffix": ".", "classes": ["backward-list"]}
            node += nodes.enumerated_list("", *items, **listed)
        elif run["error"]:
            node += nodes.paragraph("", "No node ran: the call was refused.")
        else:
            node += nodes.paragraph("", "No node of this picture ran.")
        if run["error"]:
            error = _paragraph(
                "backward-error", "The call raised ", nodes.literal("", run["error"])
            )
            (items[-1] if steps and steps[-1].get("failed") else node).append(error)
        if ledger := _ledger(steps):
            node += nodes.raw("", ledger, format="html")
        return node

    def lit(self, step: dict) -> dict[str, list[str]]:
        """The picture's boxes of a step, and the boxes it receives from and sends to."""
        node = step["node"]
        sources = {part["from"] for parts in step["parts"] for part in parts}
        if None in sources:
            sources |= self._boxes(node, "output")
        leaf = self._boxes(node, "leaf")
        receivers = {sent["to"] for sent in step["sends"] if sent and sent["value"]}
        return {
            "boxes": [node, *sorted(leaf)],
            "from": sorted(sources - {None}),
            "to": sorted(receivers | leaf),
        }

    def step(self, step: dict) -> list[nodes.paragraph]:
        """A sentence, what arrives, what is sent, and what became of any ``.grad``."""
        op, title = self.trace["nodes"][step["node"]]["op"], self.titles[step["node"]]
        text = step_sentence(self.trace, step)
        if text.startswith(op) and "ledger" not in step:
            text = title + text.removeprefix(op)
        paragraphs = [_paragraph("step-sentence", text)]
        paragraphs += self.arrivals(step)
        paragraphs += self.sendings(step)
        if ledger := step.get("ledger"):
            grad = grad_of(ledger["leaf"])
            paragraphs.append(_grad("step-ledger", grad, ledger, asked=True))
        for retained in step.get("retained", ()):
            grad = grad_of(retained["name"], "retained tensor")
            paragraphs.append(_grad("step-retained", grad, retained, asked=False))
        if returned := step.get("returned"):
            label = f"Returned for {returned['name']}: " if returned["name"] else "Returned: "
            paragraphs.append(_labelled("step-returned", label, _value(returned["value"])))
        return paragraphs

    def arrivals(self, step: dict) -> list[nodes.paragraph]:
        made = []
        for output, (value, parts) in enumerate(zip(step["arrives"], step["parts"], strict=True)):
            if value is None and len(step["arrives"]) > 1:
                continue  # another output of the node was used
            which = f" for output {output}" if len(step["arrives"]) > 1 else ""
            pieces = [_value(value), *self._sum(parts, step["difference"])]
            made.append(_labelled("step-arrives", f"Arrives{which}: ", *pieces))
        return made

    def _sum(self, parts: list[dict], difference: str | None) -> list:
        """Where a value comes from, as its parts where there are several."""
        if len(parts) == 1 and difference is None:
            return [f" {self._source(parts[0], parts)}"]
        pieces = []
        for part in parts:
            sign = " + " if pieces else (" = " if difference is None else ", of which ")
            pieces += [sign, _value(part["value"]), f" {self._source(part, parts)}"]
        return pieces if difference is None else [*pieces, ". ", _DIFFERENCE[difference]]

    def _source(self, part: dict, parts: list[dict]) -> str:
        if part["from"] is None:
            return "(the call starts with it)"
        same = sum(other["from"] == part["from"] for other in parts) > 1
        which = f", for its {_input(part['input_index'])}" if same else ""
        return f"(from {self.titles[part['from']]}{which})"

    def sendings(self, step: dict) -> list[nodes.paragraph]:
        sent = [sending for sending in step["sends"] if sending]
        receivers = Counter(sending["to"] for sending in sent)
        made = []
        for sending in sent:
            to = self.titles[sending["to"]]
            if receivers[sending["to"]] > 1:
                to += f", for the {_input(sending['input_index'])}"
            if sending["output"]:
                to += f", for its output {sending['output']}"
            if sending["value"] is None:
                made.append(_labelled("step-sends", f"Sends to {to}: ", "no gradient"))
                continue
            question = f"What does {self.titles[step['node']]} send to {to}?"
            value = _value(sending["value"], question)
            made.append(_labelled("step-sends", f"Sends to {to}: ", value))
        return made

    def _boxes(self, node: str, role: str) -> set[str]:
        return {
            name
            for name, tensor in self.tensors.items()
            if tensor["node"] == node and tensor["role"] == role
        }

    def _titles(self, order: list[str]) -> dict[str, str]:
        """What a sentence calls each node: its operation, numbered where there are several."""
        ops = {name: node["op"] for name, node in self.trace["nodes"].items()}
        leaves = {t["node"]: t["name"] for t in self.tensors.values() if t["role"] == "leaf"}
        total, seen, titles = Counter(ops.values()), Counter(), {}
        for name in sorted(ops, key=lambda name: order.index(name) if name in order else 0):
            op = ops[name]
            seen[op] += 1
            if leaves.get(name):
                titles[name] = f"{op} of {leaves[name]}"
            else:
                titles[name] = f"{op} number {seen[op]}" if total[op] > 1 else op
        return titles


def _call_name(run: dict, number: int, total: int) -> str:
    name = "Backward" if run["call"] == "backward" else "torch.autograd.grad"
    if total == 1:
        return f"{name}, step by step"
    error = f", raises {run['error'].partition(':')[0]}" if run["error"] else ""
    return f"{name}, step by step: call {number} of {total}{error}"


def _input(index: int) -> str:
    return f"{_ORDINALS[index]} input" if index < len(_ORDINALS) else f"input number {index + 1}"


def _paragraph(name: str, *pieces: str | nodes.Node) -> nodes.paragraph:
    children = [nodes.Text(piece) if isinstance(piece, str) else piece for piece in pieces]
    return nodes.paragraph("", "", *children, classes=[name])


def _labelled(name: str, label: str, *pieces: str | nodes.Node) -> nodes.paragraph:
    return _paragraph(name, nodes.inline("", label, classes=["step-label"]), *pieces)


def _grad(name: str, grad: str, ledger: dict, asked: bool) -> nodes.paragraph:
    question = f"What is {grad} after this step?" if asked else ""
    before, added = _value(ledger["before"]), _value(ledger["added"])
    after = _value(ledger["after"], question)
    return _labelled(name, f"{grad}: ", "before ", before, " + added ", added, " = after ", after)


def _value(value: dict | None, question: str = "") -> tensor_value:
    """A value as the reader sees it, and as the player compares it."""
    if value is None:
        return tensor_value("", "None")
    node = tensor_value("", value["text"])
    if question and (numbers := _numbers(value.get("values", []))):
        if value["dtype"].startswith("complex"):
            question += " Type each number as real part and imaginary part."
        elif len(value["shape"]) == 2 and value["shape"][0] > 1:
            node["columns"] = str(value["shape"][1])
        node["wanted"], node["question"] = " ".join(numbers), question
    return node


def _numbers(values) -> list[str]:
    """The numbers of nested lists in order, a complex one as its two parts."""
    if isinstance(values, list):
        return [number for item in values for number in _numbers(item)]
    if isinstance(values, str) and values.endswith("j"):
        number = complex(values)
        return [repr(number.real), repr(number.imag)]
    return [str(values)]


def _ledger(steps: list[dict]) -> str:
    """The leaves' .grad as the player fills it in: each value with the step that stores it."""
    leaves: dict[str, tuple[str, list]] = {}
    for number, step in enumerate(steps):
        if ledger := step.get("ledger"):
            grad = grad_of(ledger["leaf"])
            _, values = leaves.setdefault(step["node"], (grad, [(-1, ledger["before"])]))
            values.append((number, ledger["after"]))
    rows = [
        f"<dt>{escape(grad)}</dt><dd>"
        + "".join(
            f'<code data-step="{number}">{escape(value["text"] if value else "None")}</code>'
            for number, value in values
        )
        + "</dd>"
        for grad, values in leaves.values()
    ]
    if not rows:
        return ""
    return f'<dl class="backward-ledger" hidden>{"".join(rows)}</dl>\n'


# -- The controls: in the page from the start, so that nothing moves when the script comes ------

_ICONS = {
    "first": "M3 3h2v10H3zM13 3v10L6 8z",
    "previous": "M11 2 9.5.5 2 8l7.5 7.5L11 14 5 8z",
    "play": "M4 3v10l8-5z",
    "pause": "M4 3h3v10H4zM9 3h3v10H9z",
    "next": "M5 2 6.5.5 14 8l-7.5 7.5L5 14l6-6z",
    "last": "M3 3v10l7-5zM11 3h2v10h-2z",
}

_FORM = """\
<form class="player-form" hidden>
<label><span class="player-question"></span>
<input type="text" autocomplete="off" autocapitalize="off" spellcheck="false"></label>
<button type="submit">Check</button> <button type="button" data-do="reveal">Show it</button>
<p class="player-verdict" role="status"></p>
<p class="player-score"></p>
</form>
"""


def _controls(names: list[str], count: int) -> str:
    """Controls that stand at the first of ``count`` steps."""
    buttons = [
        _button("first", "First step"),
        _button("previous", "Previous step"),
        _button("play", "Play", "pause"),
        _button("next", "Next step"),
        _button("last", "Last step"),
        '<button type="button" data-do="predict" aria-pressed="false">Predict</button>',
    ]
    choice = ""
    if len(names) > 1:
        options = "".join(f"<option>{escape(name.partition(': ')[2])}</option>" for name in names)
        choice = f'<label class="player-runs">Show <select>{options}</select></label>\n'
    return (
        '<div class="player" role="group" aria-label="Step through backward" hidden>\n'
        f"{choice}"
        f'<div class="player-buttons">{"".join(buttons)}</div>\n'
        '<div class="player-progress">'
        f'<progress aria-label="Progress" value="{min(1, count)}" max="{max(1, count)}"></progress>'
        f'<span class="player-count">{f"Step 1 of {count}" if count else "No steps"}</span></div>\n'
        '<p class="player-status" role="status"></p>\n'
        "</div>\n"
    )


def _button(name: str, label: str, *other_icons: str) -> str:
    icons = "".join(
        f'<svg class="icon-{icon}" viewBox="0 0 16 16" aria-hidden="true"><path d="{_ICONS[icon]}"/></svg>'
        for icon in (name, *other_icons)
    )
    attributes = f'data-do="{name}" aria-label="{label}" title="{label}"'
    return f'<button type="button" {attributes}>{icons}</button>'


# -- Sphinx ---------------------------------------------------------------------------------


def add_steps(figure: graph_figure, trace: dict) -> None:
    """Put the steps of a trace into its figure, after the picture. Without calls: nothing."""
    if not trace["runs"]:
        return
    order = [node["id"] for node in figure["graph"]["nodes"]]
    beside = _width(figure) <= WIDEST_BESIDE
    # On the figure, so that the picture has its place before the steps are there.
    figure["classes"] += ["with-steps", *(["steps-beside"] if beside else [])]
    steps = backward_steps(beside=beside)
    steps += Steps(trace, order).all_runs()
    after_picture = next(
        (
            index
            for index, child in enumerate(figure)
            if isinstance(child, graph_words) or "graph-legend" in child.get("classes", [])
        ),
        len(figure),
    )
    figure.insert(after_picture, steps)


def _width(figure: graph_figure) -> float:
    """The picture's width in points; infinite where the page does not show it."""
    pictures = (
        re.search(r'<svg[^>]* width="([\d.]+)pt"', raw.astext())
        for raw in figure.findall(nodes.raw)
    )
    return next((float(found[1]) for found in pictures if found), float("inf"))


def _on_read(app, doctree: nodes.document) -> None:
    for figure in doctree.findall(graph_figure):
        file = Path(figure["file"]).with_suffix(".trace.json")
        if not file.exists():
            continue  # drawn after backward, or without torchviz
        app.env.note_dependency(str(file))
        try:
            trace = json.loads(file.read_text(encoding="utf-8"))
        except ValueError as error:
            raise ExtensionError(
                f"{file} is damaged ({error}). Remove the folder of its lesson and build again: "
                "the lesson then runs anew."
            ) from error
        add_steps(figure, trace)
    app.env.metadata[app.env.docname]["has_steps"] = any(doctree.findall(backward_steps))


def _add_player(app, pagename, templatename, context, doctree) -> None:
    if app.env.metadata.get(pagename, {}).get("has_steps"):
        app.add_css_file("backward-player.css")
        # Not deferred: it must run before the first paint.
        app.add_js_file("has-js.js")
        app.add_js_file("answers.js", loading_method="defer")
        app.add_js_file("backward-player.js", loading_method="defer")


def _visit_steps(self, node: backward_steps) -> None:
    beside = " beside" if node["beside"] else ""
    self.body.append(f'<div class="backward-steps{beside}">\n')


def _visit_run(self, node: backward_run) -> None:
    steps = escape(json.dumps(node["steps"], separators=(",", ":")))
    self.body.append(f'<div class="backward-run" data-steps="{steps}">\n')


def _depart_div(self, node: nodes.Element) -> None:
    self.body.append("</div>\n")


def _visit_value(self, node: tensor_value) -> None:
    names = ("wanted", "question", "columns")
    data = "".join(f' data-{name}="{escape(node[name])}"' for name in names if name in node)
    self.body.append(f'<code class="tensor-value"{data}>')


def _depart_value(self, node: tensor_value) -> None:
    self.body.append("</code>")


def _pass(self, node: nodes.Element) -> None:
    """Other builders show the list as it is."""


def setup(app):
    others = dict.fromkeys(("latex", "text", "man", "texinfo"), (_pass, _pass))
    app.add_node(backward_steps, html=(_visit_steps, _depart_div), **others)
    app.add_node(backward_run, html=(_visit_run, _depart_div), **others)
    app.add_node(tensor_value, html=(_visit_value, _depart_value), **others)
    app.connect("doctree-read", _on_read)
    app.connect("html-page-context", _add_player)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
