"""The steps of a recorded backward pass as an ordinary list, and what the player needs."""

import gzip
import json
import re
from pathlib import Path

import backward_steps
import pytest
import tiny
import torch
import torchviz
from backward_steps import Steps, add_steps
from backward_trace import Recorder
from docutils import nodes
from graph_figure import graph_figure
from record_lessons import renamed
from torch.autograd import Function

STATIC = Path(__file__).parents[1] / "conf" / "static"


def leaf(*values, dtype=None):
    values = values[0] if len(values) == 1 else values
    return torch.tensor(values, dtype=dtype, requires_grad=True)


def traced(output, *runs, **params) -> dict:
    """Draw a graph, run the functions over it (errors are theirs), and return the trace."""
    with Recorder() as recorder:
        digraph = torchviz.make_dot(output, params=params)
        for run in runs or [output.backward]:
            try:
                run()
            except RuntimeError:
                continue
        return recorder.trace(digraph)


def lists(trace) -> list[list[list[str]]]:
    """For each run, for each step, the texts of its paragraphs."""
    steps = Steps(trace, [*trace["nodes"]])
    return [
        [
            [paragraph.astext() for paragraph in item.findall(nodes.paragraph)]
            for item in steps.run(run, "run").findall(nodes.list_item)
        ]
        for run in trace["runs"]
    ]


def step(trace, start: str, run: int = 0) -> list[str]:
    [found] = [texts for texts in lists(trace)[run] if texts[0].startswith(start)]
    return found


def values(trace) -> list:
    steps = Steps(trace, [*trace["nodes"]])
    found = steps.run(trace["runs"][0], "run").findall(backward_steps.tensor_value)
    return [value for value in found if "wanted" in value]


class TestText:
    def test_each_step_says_what_arrives_and_what_is_sent(self):
        x = leaf(3.0)
        trace = traced((2 * x).exp() * 0, x=x)
        (texts,) = lists(trace)
        assert [text[1] for text in texts] == [
            "Arrives: 1. (the call starts with it)",
            "Arrives: 0. (from MulBackward0 number 1)",
            "Arrives: 0. (from ExpBackward0)",
            "Arrives: 0. (from MulBackward0 number 2)",
        ]
        assert texts[1][2] == "Sends to MulBackward0 number 2: 0."
        assert texts[2][2] == "Sends to AccumulateGrad of x: 0."

    def test_a_sum_is_written_out(self):
        w = leaf(2.0)
        trace = traced(3 * w + w, w=w)
        assert step(trace, "AccumulateGrad")[1] in (
            "Arrives: 4. = 1. (from AddBackward0) + 3. (from MulBackward0)",
            "Arrives: 4. = 3. (from MulBackward0) + 1. (from AddBackward0)",
        )

    def test_two_uses_in_one_operation_are_told_apart(self):
        x = leaf(3.0)
        trace = traced(x * x, x=x)
        multiplication, leaf_step = lists(trace)[0]
        assert multiplication[2:] == [
            "Sends to AccumulateGrad of x, for the first input: 3.",
            "Sends to AccumulateGrad of x, for the second input: 3.",
        ]
        assert leaf_step[1].startswith(
            "Arrives: 6. = 3. (from MulBackward0, for its first input) + 3."
        )

    def test_the_ledger_of_a_leaf(self):
        x = leaf(3.0)
        y = x * 2
        trace = traced(y, lambda: y.backward(retain_graph=True), y.backward, x=x)
        assert step(trace, "AccumulateGrad")[2] == "x.grad: before None + added 2. = after 2."
        assert step(trace, "AccumulateGrad", 1)[2] == "x.grad: before 2. + added 2. = after 4."

    def test_a_tensor_that_retains_its_gradient(self):
        x = leaf(3.0)
        h = x.exp()
        h.retain_grad()
        trace = traced(h * 5, x=x, h=h)
        assert "h.grad: before None + added 5. = after 5." in step(trace, "ExpBackward0")

    def test_tensors_without_a_name(self):
        h = leaf(3.0).exp()
        h.retain_grad()
        trace = traced(h * 5)
        change = "before None + added 5. = after 5."
        assert f"the retained tensor's .grad: {change}" in step(trace, "ExpBackward0")
        assert step(trace, "AccumulateGrad")[2].startswith("the leaf's .grad: before None")
        assert values(trace)[-1]["question"] == "What is the leaf's .grad after this step?"

    def test_a_gradient_that_is_none(self):
        class Deaf(Function):
            @staticmethod
            def forward(ctx, x):
                return x.clone()

            @staticmethod
            def backward(ctx, grad):
                return None

        x = leaf(1.0)
        trace = traced(Deaf.apply(x * 2), x=x)
        assert step(trace, "DeafBackward")[-1] == "Sends to MulBackward0: no gradient"

    def test_a_large_tensor_is_described(self):
        x = torch.arange(20.0, requires_grad=True)
        trace = traced((x * x).sum(), x=x)
        text = step(trace, "AccumulateGrad")[2]
        assert "after shape (20,), from 0 to 38, norm 99.4" in text

    def test_the_error_stands_at_the_step_that_raised(self):
        x = leaf(1.0)
        y = x.exp()
        trace = traced(y * 2, (y * 2).backward, x=x)
        y = (x * 2).exp()
        trace = traced(y, y.backward, y.backward, x=x)
        assert step(trace, "ExpBackward0", 1)[0] == (
            "ExpBackward0 raises the error, and the call ends here."
        )
        assert step(trace, "ExpBackward0", 1)[-1].startswith("The call raised RuntimeError: ")

    def test_a_refused_call_has_no_steps(self):
        x = leaf(1.0, 2.0)
        y = x * 2
        trace = traced(y, y.backward, x=x)
        text = Steps(trace, []).run(trace["runs"][0], "run").astext()
        assert "No node ran: the call was refused." in text
        assert "The call raised RuntimeError: grad can be implicitly created" in text

    def test_what_grad_returns(self):
        x = leaf(3.0)
        y = x * 2
        trace = traced(y, lambda: torch.autograd.grad(y, x), x=x)
        assert step(trace, "torch.autograd.grad returns")[-1] == "Returned for x: 2."

    def test_a_hook_of_the_lesson_explains_a_difference(self):
        x = leaf(3.0)
        y = x.exp()
        y.register_hook(lambda grad: grad * 10)
        trace = traced(y * 2, x=x)
        arrives = step(trace, "ExpBackward0")[1]
        assert arrives == (
            "Arrives: 20., of which 2. (from MulBackward0). A hook of the lesson changed "
            "what arrived."
        )

    def test_calls_that_are_left_out_are_counted(self):
        x = leaf(3.0)
        y = x * 2
        trace = traced(y, *[lambda: y.backward(retain_graph=True)] * 22, x=x)
        paragraphs = Steps(trace, []).all_runs()
        assert "2 more calls are not shown." in [node.astext() for node in paragraphs]


class TestPlayerData:
    def test_what_a_step_lights(self):
        x = leaf(3.0)
        y = 2 * x + x
        digraph_trace = traced(y, x=x, y=y)
        ids = {node["op"]: name for name, node in digraph_trace["nodes"].items()}
        boxes = {tensor["role"]: name for name, tensor in digraph_trace["tensors"].items()}
        run = Steps(digraph_trace, []).run(digraph_trace["runs"][0], "run")
        first, *_, last = run["steps"]
        assert first["boxes"] == [ids["AddBackward0"]]
        assert first["from"] == [boxes["output"]]
        assert set(first["to"]) == {ids["MulBackward0"], ids["AccumulateGrad"]}
        assert last["boxes"] == [ids["AccumulateGrad"], boxes["leaf"]]
        assert set(last["from"]) == {ids["MulBackward0"], ids["AddBackward0"]}
        assert last["to"] == [boxes["leaf"]]

    def test_asks_for_what_leaves_the_node_only(self):
        x = leaf(2.0, 3.0)
        asked = values(traced((x * 4).sum(), x=x))
        assert [(value["wanted"], value["question"]) for value in asked] == [
            ("1.0 1.0", "What does SumBackward0 send to MulBackward0?"),
            ("4.0 4.0", "What does MulBackward0 send to AccumulateGrad of x?"),
            ("4.0 4.0", "What is x.grad after this step?"),
        ]

    @pytest.mark.parametrize(
        ("value", "wanted"),
        [
            (1 - 2j, "1.0 -2.0"),
            (complex("nan"), "nan nan"),
        ],
    )
    def test_a_complex_number_is_two(self, value, wanted):
        x = leaf(1 + 0j)
        y = x * 1
        trace = traced(y, lambda: y.backward(gradient=torch.tensor(value)), x=x)
        assert values(trace)[-1]["wanted"] == wanted
        assert "real part and imaginary part" in values(trace)[-1]["question"]

    def test_the_columns_of_a_matrix_are_counted(self):
        m = leaf([[1.0, 2.0], [3.0, 4.0]])
        first, *_, last = values(traced((m * 2).sum(0).sum(), m=m))
        assert "columns" not in first
        assert last["columns"] == "2"

    def test_infinity_and_nan_are_asked_for(self):
        x = leaf(0.0, 1.0)
        trace = traced((x.sqrt() * torch.tensor([1.0, float("nan")])).sum(), x=x)
        assert values(trace)[-1]["wanted"] == "inf nan"

    def test_a_large_tensor_is_not_asked_for(self):
        x = torch.arange(20.0, requires_grad=True)
        assert [v["wanted"] for v in values(traced((x * x).sum(), x=x))] == []


def test_a_figure_that_no_call_passed_stays_as_it_is():
    figure = graph_figure(graph={"nodes": []})
    add_steps(figure, {"nodes": {}, "tensors": {}, "runs": [], "runs_left_out": 0})
    assert len(figure) == 0


SVG = """<svg xmlns="http://www.w3.org/2000/svg" width="{width}pt" height="9pt" id="graph-{name}"
 role="img" aria-label="Graph"></svg>"""


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    """A page with steps beside a narrow picture, one under a wide one, and one without."""
    folder = tmp_path_factory.mktemp("steps")
    x = leaf(2.0)
    trace = traced(3 * x * x, x=x)
    trace = renamed(trace, {name: f"n{i}" for i, name in enumerate(_names(trace), 1)})
    graph = {"name": "Graph", "nodes": [], "edges": []}
    for name, width in (("narrow", 90), ("wide", 900), ("plain", 90)):
        (folder / f"{name}.svg").write_text(SVG.format(name=name, width=width))
        (folder / f"{name}.json").write_text(json.dumps(graph))
        if name != "plain":
            (folder / f"{name}.trace.json").write_text(json.dumps(trace))
    conf = (
        f'extensions = ["graph_figure", "backward_steps"]\nhtml_static_path = [{str(STATIC)!r}]\n'
    )
    texts = {
        name: f"Page\n====\n\n.. graph-figure:: /{name}.svg\n"
        for name in ("narrow", "wide", "plain")
    }
    toctree = "Index\n=====\n\n.. toctree::\n\n   narrow\n   wide\n   plain\n"
    status, output = tiny.build(folder, conf, index=toctree, **texts)
    assert status == 0, output
    return folder


def _names(trace) -> list[str]:
    return [*trace["nodes"], *trace["tensors"]]


def scripts(pages, name) -> list[str]:
    tags = tiny.soup(pages, name).select("script[src]")
    return [Path(tag["src"]).name.partition("?")[0] for tag in tags]


def test_the_scripts_are_small(pages):
    """All that a lesson loads of ours, as a server would send it."""
    loaded = {STATIC / name for name in [*scripts(pages, "narrow"), "prediction.js"]}
    sizes = {file.name: len(gzip.compress(file.read_bytes())) for file in loaded if file.exists()}
    assert sizes.keys() >= {"has-js.js", "answers.js", "prediction.js", "backward-player.js"}
    assert sum(sizes.values()) <= 12_000


class TestPage:
    def test_has_the_steps_between_the_picture_and_its_words(self, pages):
        children = tiny.soup(pages, "narrow").select_one("figure").find_all(recursive=False)
        assert [child["class"][0] for child in children][:2] == ["graph-scroll", "backward-steps"]
        items = children[1].select("ol > li")
        assert items[0].p.get_text().startswith("MulBackward0 number 1 sends to its first input")

    def test_only_pages_with_steps_load_the_player(self, pages):
        loaded = scripts(pages, "narrow")
        assert loaded.index("answers.js") < loaded.index("backward-player.js")
        assert "backward-player.js" not in scripts(pages, "plain")

    def test_only_a_narrow_picture_has_its_steps_beside_it(self, pages):
        assert tiny.soup(pages, "narrow").select(".backward-steps.beside")
        assert not tiny.soup(pages, "wide").select(".backward-steps.beside")

    def test_a_damaged_trace_names_the_file_and_the_remedy(self, pages):
        file = pages / "wide.trace.json"
        whole = file.read_text()
        file.write_text(whole[:40])
        status, output = tiny.build(pages, (pages / "conf.py").read_text())
        file.write_text(whole)
        assert status != 0
        assert "wide.trace.json is damaged" in output
        assert "build again" in output

    def test_a_changed_trace_is_shown(self, pages):
        file = pages / "wide.trace.json"
        file.write_text(file.read_text().replace('"text": "12."', '"text": "77."'))
        status, output = tiny.build(pages, (pages / "conf.py").read_text())
        assert status == 0, output
        assert re.search(r"after\s*77\.", tiny.soup(pages, "wide").get_text())
