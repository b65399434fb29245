"""The recorded backward passes: the right numbers in the right order, and nothing disturbed."""

import contextlib
import gc
import io
import json
import linecache
import math
import re
import runpy
import sys
import textwrap
import traceback
import warnings
import weakref
from pathlib import Path

import backward_trace
import fresh_torch
import pytest
import record_lessons
import torch
import torchviz
from backward_trace import Recorder
from tensor_summary import snapshot, to_json
from torch.overrides import TorchFunctionMode

LESSONS = sorted((Path(__file__).parents[1] / "examples").glob("*/*.py"))


def leaf(*values, dtype=None):
    return torch.tensor(values, dtype=dtype, requires_grad=True)


class Traced:
    """A trace, with the words that the tests need to read it."""

    def __init__(self, recorder, digraph):
        self.data = recorder.trace(digraph)
        # Only JSON in the strict sense can reach a browser.
        assert json.loads(json.dumps(self.data, allow_nan=False)) == self.data
        self.runs = self.data["runs"]

    def op(self, name):
        return self.data["nodes"][name]["op"]

    def order(self, run=0):
        return [self.op(step["node"]) for step in self.runs[run]["steps"]]

    def step(self, op, run=0):
        [step] = [s for s in self.runs[run]["steps"] if self.op(s["node"]) == op]
        return step

    def parts(self, step, output=0):
        """(operation that sent it, its text) for each part of what arrived."""
        return [
            (part["from"] and self.op(part["from"]), part["value"]["text"])
            for part in step["parts"][output]
        ]

    def sends(self, op, run=0):
        return [sent and text(sent["value"]) for sent in self.step(op, run)["sends"]]

    def ledgers(self, run=0):
        """{leaf: (before, added, after)} of a run."""
        steps = [s for s in self.runs[run]["steps"] if "ledger" in s]
        return {s["ledger"]["leaf"]: change(s["ledger"]) for s in steps}


def text(value):
    return None if value is None else value["text"]


def texts(values):
    return [text(value) for value in values]


def change(entry):
    return text(entry["before"]), text(entry["added"]), text(entry["after"])


def trace_of(graph_of, run):
    """Draw what ``graph_of()`` returns and record ``run(it)``."""
    with Recorder() as recorder:
        outputs = graph_of()
        digraph = torchviz.make_dot(outputs)
        run(outputs)
    return Traced(recorder, digraph)


class TestNumbers:
    def test_steps_follow_the_engine_and_carry_its_numbers(self):
        x = leaf(0.0, 1.0, 2.0, 3.0)
        trace = trace_of(lambda: 2 * torch.dot(x, x), lambda y: y.backward())
        assert trace.order() == ["MulBackward0", "DotBackward0", "AccumulateGrad"]
        run = trace.runs[0]
        assert (run["call"], run["error"], run["inside"]) == ("backward", None, True)
        mul, dot, accumulate = run["steps"]
        assert trace.parts(mul) == [(None, "1.")]
        assert trace.sends("MulBackward0") == ["2.", None]
        assert texts(dot["arrives"]) == ["2."]
        assert trace.sends("DotBackward0") == ["[0., 2., 4., 6.]"] * 2
        assert change(accumulate["ledger"]) == (None, "[0., 4., 8., 12.]", "[0., 4., 8., 12.]")

    def test_a_send_names_the_node_and_the_input_that_it_leaves_from(self):
        a, b = leaf(2.0), leaf(5.0)
        trace = trace_of(lambda: a / b, lambda y: y.backward())
        sends = trace.step("DivBackward0")["sends"]
        assert [sent["input_index"] for sent in sends] == [0, 1]
        received = {s["node"]: text(s["arrives"][0]) for s in trace.runs[0]["steps"]}
        assert [received[sent["to"]] for sent in sends] == ["[0.2000]", "[-0.0800]"]

    def test_numbers_that_the_call_gave_are_kept_where_a_rule_needs_them(self):
        def graph():
            x = leaf(1.0, 2.0)
            return torch.add(x.exp(), x**-1.0, alpha=3) * 5 + x ** float("inf")

        nodes = trace_of(graph, lambda y: None).data["nodes"].values()
        given = [(node["op"], node.get("scalars")) for node in nodes]
        assert ("AddBackward0", {"alpha": 3}) in given
        assert ("PowBackward0", {"exponent": -1.0}) in given
        assert ("PowBackward0", None) in given, "JSON has no infinity"
        assert ("MulBackward0", None) in given

    def test_a_tensor_used_twice_shows_its_sum_as_parts(self):
        x = leaf(3.0)
        trace = trace_of(lambda: x * x + x.exp(), lambda y: y.backward())
        step = trace.step("AccumulateGrad")
        # In the order in which the engine added them, for which it is free.
        assert sorted(trace.parts(step)) == [
            ("ExpBackward0", "[20.0855]"),
            ("MulBackward0", "[3.]"),
            ("MulBackward0", "[3.]"),
        ]
        assert step["difference"] is None
        assert math.isclose(step["arrives"][0]["values"][0], 6 + math.exp(3), rel_tol=1e-6)

    def test_an_inner_tensor_used_twice_shows_its_sum_too(self):
        x = leaf(1.0, 2.0)

        def graph():
            h = x.exp()
            return (3 * h + h.sin()).sum()

        trace = trace_of(graph, lambda y: y.backward())
        step = trace.step("ExpBackward0")
        parts = trace.parts(step)
        assert sorted(op for op, _ in parts) == ["MulBackward0", "SinBackward0"]
        values = [part["value"]["values"] for part in step["parts"][0]]
        total = [sum(column) for column in zip(*values, strict=True)]
        assert total == pytest.approx(step["arrives"][0]["values"])

    def test_two_backward_calls_on_one_graph_are_two_runs(self):
        x = leaf(1.0, 2.0)

        def run(y):
            y.backward(retain_graph=True)
            y.backward()

        trace = trace_of(lambda: (x * x).sum(), run)
        assert len(trace.runs) == 2
        assert list(trace.ledgers(0).values()) == [(None, "[2., 4.]", "[2., 4.]")]
        assert list(trace.ledgers(1).values()) == [("[2., 4.]", "[2., 4.]", "[4., 8.]")]

    def test_gradients_add_up_over_two_graphs_and_each_shows_its_own_run(self):
        x = leaf(1.0, 2.0)
        with Recorder() as recorder:
            first, second = (x * x).sum(), (3 * x).sum()
            pictures = [torchviz.make_dot(y, params={"x": x}) for y in (first, second)]
            first.backward()
            second.backward()
        one, two = (Traced(recorder, picture) for picture in pictures)
        assert [len(one.runs), len(two.runs)] == [1, 1]
        assert one.ledgers() == {"x": (None, "[2., 4.]", "[2., 4.]")}
        assert two.ledgers() == {"x": ("[2., 4.]", "[3., 3.]", "[5., 7.]")}

    def test_a_given_gradient_is_what_arrives_at_a_vector(self):
        x = leaf(1.0, 2.0, 3.0)
        v = torch.tensor([1.0, 0.0, -2.0])
        trace = trace_of(lambda: x * x, lambda y: y.backward(gradient=v))
        assert texts(trace.step("MulBackward0")["arrives"]) == ["[1., 0., -2.]"]
        assert trace.parts(trace.step("MulBackward0")) == [(None, "[1., 0., -2.]")]
        assert x.grad.tolist() == [2.0, 0.0, -12.0]

    def test_inputs_without_gradient_are_told_from_gradients_of_none(self):
        class SecondIsUnused(torch.autograd.Function):
            @staticmethod
            def forward(ctx, a, b):
                return a + b

            @staticmethod
            def backward(ctx, gradient):
                return gradient, None

        a, b = leaf(1.0), leaf(2.0)
        trace = trace_of(lambda: SecondIsUnused.apply(a, b) * 7, lambda y: y.backward())
        assert trace.sends("MulBackward0") == ["[7.]", None]
        assert trace.step("MulBackward0")["sends"][1] is None, "7 needs no gradient"
        second = trace.step("SecondIsUnusedBackward")["sends"][1]
        assert second["value"] is None
        assert second["to"] in trace.data["nodes"]
        assert b.grad is None

    def test_only_some_outputs_of_an_operation_receive_a_gradient(self):
        x = torch.arange(4.0, requires_grad=True)
        trace = trace_of(lambda: x.view(2, 2).unbind()[1].sum(), lambda y: y.backward())
        step = trace.step("UnbindBackward0")
        assert texts(step["arrives"]) == [None, "[1., 1.]"]
        assert [len(parts) for parts in step["parts"]] == [0, 1]
        assert step["difference"] is None

    def test_the_second_output_of_an_operation_is_told_from_the_first(self):
        x = torch.arange(4.0, requires_grad=True)
        v = torch.tensor([5.0, 6.0])
        trace = trace_of(lambda: x.view(2, 2).unbind()[1], lambda y: torch.autograd.grad(y, y, v))
        [step] = trace.runs[0]["steps"]
        assert texts(step["arrives"]) == [None, "[5., 6.]"]
        assert step["returned"]["output"] == 1
        assert trace.parts(step, output=1) == [(None, "[5., 6.]")]
        [output] = [t for t in trace.data["tensors"].values() if t["role"] == "output"]
        assert output["output"] == 1

    def test_what_is_returned_for_one_output_ignores_the_other(self):
        x = torch.arange(4.0, requires_grad=True)
        rows = []

        def graph():
            rows.extend(x.view(2, 2).unbind())
            return (rows[0] * rows[1]).sum()

        trace = trace_of(graph, lambda y: torch.autograd.grad(y, rows[1]))
        step = trace.runs[0]["steps"][-1]
        assert texts(step["arrives"]) == [None, "[0., 1.]"]
        assert [len(parts) for parts in step["parts"]] == [0, 1]
        assert step["difference"] is None

    def test_a_custom_function_sends_to_each_of_its_two_inputs(self):
        class Product(torch.autograd.Function):
            @staticmethod
            def forward(ctx, a, scale, b):
                ctx.save_for_backward(a, b)
                return a * b * scale

            @staticmethod
            def backward(ctx, gradient):
                a, b = ctx.saved_tensors
                return gradient * b * 10, None, gradient * a * 10

        a, b = leaf(2.0), leaf(3.0)
        trace = trace_of(lambda: Product.apply(a, 10, b.exp()), lambda y: y.backward())
        step = trace.step("ProductBackward")
        # The number 10 is no tensor and has no edge.
        assert texts([sent["value"] for sent in step["sends"]]) == ["[200.8554]", "[20.]"]
        assert trace.op(step["sends"][1]["to"]) == "ExpBackward0"

    def test_a_retained_gradient_is_shown_where_its_tensor_was_made(self):
        x = leaf(1.0, 2.0)
        kept = []

        def graph():
            h = x.exp()
            kept.append(h)
            h.retain_grad()
            return (3 * h).sum()

        def run(y):
            y.backward(retain_graph=True)
            y.backward()

        trace = trace_of(graph, run)
        steps = [[s for s in run["steps"] if "retained" in s] for run in trace.runs]
        assert [len(found) for found in steps] == [1, 1]
        assert trace.op(steps[0][0]["node"]) == "ExpBackward0"
        assert [change(found[0]["retained"][0]) for found in steps] == [
            (None, "[3., 3.]", "[3., 3.]"),
            ("[3., 3.]", "[3., 3.]", "[6., 6.]"),
        ]
        assert kept[0].grad.tolist() == [6.0, 6.0]

    def test_tensors_keep_the_names_that_the_reader_sees(self):
        with Recorder() as recorder:
            x = leaf(1.0)
            y = x * 2
            y.retain_grad()
            total = y.sum()
            digraph = torchviz.make_dot(total, params={"weights": x, "twice": y, "loss": total})
            total.backward()
        trace = Traced(recorder, digraph)
        assert trace.ledgers() == {"weights": (None, "[2.]", "[2.]")}
        assert {t["name"] for t in trace.data["tensors"].values()} == {"weights", "loss"}
        assert trace.step("MulBackward0")["retained"][0]["name"] == "twice"

    def test_unnamed_tensors_are_called_as_the_lesson_calls_them(self, tmp_path):
        script = (
            "import torch, torchviz\n"
            "_ = ___ = w = torch.ones(2, requires_grad=True)\n"
            "h = w * 3\n"
            "h.retain_grad()\n"
            "loss = h.sum()\n"
            "picture = torchviz.make_dot(loss)\n"
            "loss.backward()\n"
        )
        file = tmp_path / "lesson.py"
        file.write_text(script)
        with Recorder() as recorder:
            variables = runpy.run_path(str(file))
        trace = Traced(recorder, variables["picture"])
        assert trace.ledgers() == {"w": (None, "[3., 3.]", "[3., 3.]")}
        assert {t["name"] for t in trace.data["tensors"].values()} == {"w", "loss"}
        assert trace.step("MulBackward0")["retained"][0]["name"] == "h"

    def test_views_are_recorded_with_their_base(self):
        x = leaf(0.0, 1.0, 2.0, 3.0)

        def graph():
            square = (x * 2).reshape(2, 2)
            return square.T

        trace = trace_of(graph, lambda y: y.backward(torch.tensor([[1.0, 2.0], [3.0, 4.0]])))
        assert trace.order() == [
            *("PermuteBackward0", "ViewBackward0", "MulBackward0", "AccumulateGrad")
        ]
        roles = {t["role"]: t["node"] for t in trace.data["tensors"].values()}
        assert trace.op(roles["output"]) == "PermuteBackward0"
        assert trace.op(roles["base"]) == "MulBackward0"
        assert trace.sends("ViewBackward0") == ["[1., 3., 2., 4.]"]

    def test_operations_in_place_are_recorded_as_autograd_rewrote_them(self):
        x = leaf(1.0, 2.0, 3.0)

        def graph():
            y = x.clone()
            y[0] = 9.0
            y.mul_(2)
            return y

        trace = trace_of(graph, lambda y: y.sum().backward())
        assert trace.order()[0] == "MulBackward0"
        assert "CopySlices" in trace.order()
        assert list(trace.ledgers().values()) == [(None, "[0., 2., 2.]", "[0., 2., 2.]")]

    def test_a_change_in_place_after_the_drawing_starts_outside_of_the_picture(self):
        x = leaf(1.0, 2.0)

        def run(y):
            y.mul_(5)
            y.sum().backward()

        trace = trace_of(lambda: x * 2, run)
        assert trace.order() == ["MulBackward0", "AccumulateGrad"]
        assert texts(trace.step("MulBackward0")["arrives"]) == ["[5., 5.]"]
        assert trace.runs[0]["inside"] is False

    def test_several_outputs_in_one_picture_each_start_a_run(self):
        x = leaf(2.0)

        def run(outputs):
            square, double = outputs
            square.backward()
            torch.autograd.backward((double,))

        trace = trace_of(lambda: (x * x, x + x), run)
        assert [trace.order(run) for run in (0, 1)] == [
            ["MulBackward0", "AccumulateGrad"],
            ["AddBackward0", "AccumulateGrad"],
        ]
        assert list(trace.ledgers(1).values()) == [("[4.]", "[2.]", "[6.]")]

    def test_one_call_may_start_at_several_outputs(self):
        x = leaf(2.0)
        weights = (torch.tensor([1.0]), torch.tensor([10.0]))
        trace = trace_of(lambda: (x * x, x + x), lambda ys: torch.autograd.backward(ys, weights))
        step = trace.step("AccumulateGrad")
        assert sorted(trace.parts(step)) == [
            *[("AddBackward0", "[10.]")] * 2,
            *[("MulBackward0", "[2.]")] * 2,
        ]
        assert trace.runs[0]["inside"] is True

    def test_only_the_part_of_a_graph_that_is_reached_has_steps(self):
        x, w = leaf(1.0), leaf(2.0)
        middle = []

        def graph():
            middle.append(x.exp())
            return middle[0] * w

        trace = trace_of(graph, lambda y: middle[0].backward())
        assert trace.order() == ["ExpBackward0", "AccumulateGrad"]
        assert w.grad is None

    def test_a_run_that_raises_midway_shows_the_steps_up_to_the_error(self):
        class Refuses(torch.autograd.Function):
            @staticmethod
            def forward(ctx, a):
                return a * 1

            @staticmethod
            def backward(ctx, gradient):
                raise ValueError("no gradient today")

        x = leaf(1.0)

        def run(y):
            with pytest.raises(ValueError, match="no gradient today"):
                y.backward()

        trace = trace_of(lambda: (Refuses.apply(x) * 4).sum(), run)
        assert trace.order() == ["SumBackward0", "MulBackward0", "RefusesBackward"]
        assert trace.runs[0]["error"] == "ValueError: no gradient today"
        last = trace.runs[0]["steps"][-1]
        assert last["failed"] is True
        assert texts(last["arrives"]) == ["[4.]"]
        assert last["sends"] == []
        assert "failed" not in trace.runs[0]["steps"][0]

    def test_a_second_backward_stops_at_the_first_node_without_its_saved_tensors(self):
        x = leaf(1.0)

        def run(y):
            y.backward()
            with pytest.raises(RuntimeError, match="second time"):
                y.backward()

        trace = trace_of(lambda: x.exp().sum(), run)
        assert trace.order(1) == ["SumBackward0", "ExpBackward0"]
        assert "second time" in trace.runs[1]["error"]

    def test_a_call_that_is_refused_at_once_has_an_error_and_no_steps(self):
        x = leaf(1.0, 2.0)

        def run(y):
            with pytest.raises(RuntimeError, match="scalar outputs"):
                y.backward()

        trace = trace_of(lambda: x * 2, run)
        assert trace.order() == []
        assert "grad can be implicitly created only for scalar" in trace.runs[0]["error"]

    def test_double_backward_records_the_graph_of_the_gradient(self):
        x = leaf(2.0)
        with Recorder() as recorder:
            y = x**3
            first_picture = torchviz.make_dot(y)
            (slope,) = torch.autograd.grad(y, x, create_graph=True)
            second_picture = torchviz.make_dot(slope)
            slope.backward()
        first, second = Traced(recorder, first_picture), Traced(recorder, second_picture)
        assert [run["call"] for run in first.runs] == ["grad"]
        assert [run["call"] for run in second.runs] == ["backward"]
        assert list(second.ledgers().values()) == [(None, "[12.]", "[12.]")]

    def test_create_graph_records_the_same_numbers(self):
        x = leaf(2.0)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            trace = trace_of(lambda: x**3, lambda y: y.backward(create_graph=True))
        assert list(trace.ledgers().values()) == [(None, "[12.]", "[12.]")]
        x.grad = None

    def test_grad_returns_its_result_in_a_last_step_and_fills_nothing(self):
        x, w = leaf(2.0), leaf(5.0)

        def run(y):
            torch.autograd.grad(y, [w, x])

        trace = trace_of(lambda: x * w, run)
        assert trace.runs[0]["call"] == "grad"
        assert trace.order() == ["MulBackward0", "AccumulateGrad", "AccumulateGrad"]
        returned = [s["returned"] for s in trace.runs[0]["steps"][1:]]
        assert [text(entry["value"]) for entry in returned] == ["[2.]", "[5.]"]
        assert trace.ledgers() == {}
        assert trace.parts(trace.runs[0]["steps"][1]) == [("MulBackward0", "[2.]")]
        assert x.grad is None

    def test_grad_may_stop_at_an_inner_tensor(self):
        x = leaf(2.0)
        inner = []

        def graph():
            inner.append(x.exp())
            return inner[0] * 3

        trace = trace_of(graph, lambda y: torch.autograd.grad(y, inner[0]))
        assert trace.order() == ["MulBackward0", "ExpBackward0"]
        last = trace.runs[0]["steps"][-1]
        assert text(last["returned"]["value"]) == "[3.]"
        assert last["sends"] == []
        assert "failed" not in last

    def test_backward_towards_an_inner_tensor_shows_what_it_keeps(self):
        x = leaf(2.0)
        inner = []

        def graph():
            inner.append(x.exp())
            return inner[0] * 3

        trace = trace_of(graph, lambda y: y.backward(inputs=inner))
        [entry] = trace.step("ExpBackward0")["retained"]
        assert change(entry) == (None, "[3.]", "[3.]")

    def test_large_tensors_are_told_by_shape_range_and_norm(self):
        x = torch.linspace(-1, 1, 100).requires_grad_()
        trace = trace_of(lambda: (x * x).sum(), lambda y: y.backward())
        [ledger] = [s["ledger"] for s in trace.runs[0]["steps"] if "ledger" in s]
        added = ledger["added"]
        assert "values" not in added
        assert added["shape"] == [100]
        assert added["range"] == [-2.0, 2.0]
        assert added["norm"] == pytest.approx((2 * x).norm().item())
        assert added["text"] == "shape (100,), from -2 to 2, norm 11.66"

    def test_large_tensors_count_what_is_not_finite(self):
        x = torch.ones(20, requires_grad=True)
        factor = torch.ones(20)
        factor[:3] = torch.tensor([math.nan, math.inf, -math.inf])
        trace = trace_of(lambda: x * factor, lambda y: y.backward(torch.ones(20)))
        added = trace.step("AccumulateGrad")["ledger"]["added"]
        assert added["not_finite"] == 3
        assert added["range"] == [1.0, 1.0]
        assert added["norm"] == "nan"

    def test_complex_numbers_survive_json(self):
        z = leaf(3 + 4j)
        trace = trace_of(lambda: (z * z.conj()).real.sum(), lambda y: y.backward())
        [(_, added, _)] = trace.ledgers().values()
        assert added == "[6.+8.j]"
        step = trace.step("AccumulateGrad")
        assert step["arrives"][0]["values"] == ["6.0+8.0j"]
        assert step["difference"] is None

    def test_integers_stay_integers_and_the_largest_stay_exact(self):
        data = to_json(snapshot(torch.tensor([3, 2**53 + 1])))
        assert data["values"] == [3, "9007199254740993"]
        assert data["text"] == "[3, 9007199254740993]"

    def test_sparse_gradients_are_shown_as_the_tensors_that_they_are(self):
        weight = torch.ones(3, 2, requires_grad=True)
        index = torch.tensor([0, 2])
        trace = trace_of(
            lambda: torch.nn.functional.embedding(index, weight, sparse=True).sum(),
            lambda y: y.backward(),
        )
        assert weight.grad.is_sparse
        [(_, added, after)] = trace.ledgers().values()
        assert added == after == "[[1., 1.], [0., 0.], [1., 1.]]"

    def test_numbers_have_the_style_that_print_gives_them(self):
        rows = [[1.0, 2.0], [0.5, -3.25], [1e-5, 1.0], [1e9, 1.0], [0.5, 600.0], [math.inf, 0.0]]
        for row in [*rows, [True, False], [1 + 0.5j, 2j]]:
            tensor = torch.tensor(row)
            printed = str(tensor).removeprefix("tensor(").removesuffix(")")
            expected = re.sub(r"\s+", " ", printed).replace("[ ", "[").replace("+ ", "+")
            assert to_json(snapshot(tensor))["text"] == expected

    def test_sums_beyond_the_largest_number_are_sums(self):
        x = leaf(1.0, 1.0, dtype=torch.float16)
        v = torch.tensor([60000.0, -math.inf], dtype=torch.float16)
        trace = trace_of(lambda: x * 1 + x * 1, lambda y: y.backward(v))
        step = trace.step("AccumulateGrad")
        assert step["arrives"][0]["values"] == ["inf", "-inf"]
        assert step["difference"] is None

    def test_an_integer_input_has_no_edge(self):
        x, index = leaf(1.0, 2.0), torch.tensor([1, 0, 1])
        trace = trace_of(
            lambda: (x[index] * torch.tensor([1, 2, 3])).sum(), lambda y: y.backward()
        )
        assert trace.sends("MulBackward0") == ["[1., 2., 3.]", None]
        assert trace.sends("IndexBackward0") == ["[2., 4.]"]

    def test_nan_infinity_and_negative_zero_survive_json(self):
        x = leaf(0.0, 0.0, 4.0, 1.0)
        weights = torch.tensor([1.0, 0.0, 1.0, -0.0])
        trace = trace_of(lambda: x.sqrt() * weights, lambda y: y.backward(torch.ones(4)))
        step = trace.step("AccumulateGrad")
        assert step["arrives"][0]["values"][:3] == ["inf", "nan", 0.25]
        assert math.copysign(1, step["arrives"][0]["values"][3]) == -1
        assert step["arrives"][0]["text"] == "[inf, nan, 0.2500, -0.0000]"
        assert step["difference"] is None

    def test_a_graph_drawn_after_backward_or_never_run_has_no_runs(self):
        x = leaf(1.0)
        with Recorder() as recorder:
            y = x**2 + x**x
            y.backward()
            late = torchviz.make_dot(y)
            never = torchviz.make_dot(x**2 + x**x)
        for picture in (late, never):
            assert recorder.trace(picture)["runs"] == []
            assert len(recorder.trace(picture)["nodes"]) == 4

    def test_a_picture_of_a_leaf_has_nothing_to_step_through(self):
        x = leaf(1.0)
        with Recorder() as recorder:
            picture = torchviz.make_dot(x)
        assert recorder.trace(picture)["nodes"] == {}


class TestWhoseRun:
    """A leaf's AccumulateGrad belongs to every graph that uses the leaf."""

    def test_runs_over_other_graphs_of_the_same_leaf_are_not_shown(self):
        x = leaf(1.0)
        with Recorder() as recorder:
            drawn = x * 2
            picture = torchviz.make_dot(drawn)
            (x * 5).backward()
            x.backward(torch.ones(1))
            drawn.backward()
        trace = Traced(recorder, picture)
        assert len(trace.runs) == 1
        assert list(trace.ledgers().values()) == [("[6.]", "[2.]", "[8.]")]

    def test_a_run_that_shares_only_inner_nodes_is_not_shown(self):
        x = leaf(1.0, 2.0)
        with Recorder() as recorder:
            h = x.exp()
            drawn, other = h.sum(), h.prod()
            picture = torchviz.make_dot(drawn)
            other.backward()
        assert recorder.trace(picture)["runs"] == []

    def test_a_run_from_a_later_operation_comes_through_the_output(self):
        x = leaf(1.0, 2.0)
        trace = trace_of(lambda: x * 2, lambda y: (y * 10).sum().backward())
        assert trace.order() == ["MulBackward0", "AccumulateGrad"]
        step = trace.step("MulBackward0")
        assert trace.runs[0]["inside"] is False
        assert texts(step["arrives"]) == ["[10., 10.]"]
        assert step["parts"] == [[]]
        assert step["difference"] == "outside"
        assert trace.step("AccumulateGrad")["difference"] is None

    def test_a_sum_with_a_part_from_outside_says_so(self):
        x = leaf(1.0)
        with Recorder() as recorder:
            drawn = x * 2
            picture = torchviz.make_dot(drawn)
            (drawn + x.exp()).backward()
        step = Traced(recorder, picture).step("AccumulateGrad")
        assert len(step["parts"][0]) == 1
        assert step["difference"] == "outside"

    def test_a_sum_that_a_hook_changed_says_so(self):
        x = leaf(1.0)

        def graph():
            h = x * 2
            h.register_hook(lambda gradient: gradient * 10)
            return h.exp()

        trace = trace_of(graph, lambda y: y.backward())
        assert trace.step("MulBackward0")["difference"] == "hook"
        assert trace.step("ExpBackward0")["difference"] is None

    def test_a_hook_added_after_the_drawing_is_seen_too(self):
        x = leaf(1.0)

        def run(y):
            y.grad_fn.register_prehook(lambda gradients: (gradients[0] * 10,))
            y.backward()

        trace = trace_of(lambda: x * 2, run)
        assert texts(trace.step("MulBackward0")["arrives"]) == ["[10.]"]
        assert trace.step("MulBackward0")["difference"] == "hook"

    def test_a_mode_that_calls_torch_again_does_not_double_the_run(self):
        class Listening(TorchFunctionMode):
            def __torch_function__(self, function, types, args=(), kwargs=None):
                return function(*args, **(kwargs or {}))

        x = leaf(1.0)
        with Recorder() as recorder:
            y = x * 2
            picture = torchviz.make_dot(y)
            with Listening():
                torch.autograd.backward(y)
        assert len(Traced(recorder, picture).runs) == 1

    def test_one_graph_drawn_twice_is_recorded_twice(self):
        x = leaf(1.0)
        with Recorder() as recorder:
            y = x * 2
            pictures = [torchviz.make_dot(y), torchviz.make_dot(y)]
            y.backward()
        assert [len(recorder.trace(picture)["runs"]) for picture in pictures] == [1, 1]

    def test_a_backward_inside_a_backward_is_a_run_of_its_own(self):
        x = leaf(2.0)
        with Recorder() as recorder:
            inner = x * 3
            inner_picture = torchviz.make_dot(inner)
            outer = x * 5
            outer.register_hook(lambda gradient: inner.backward())
            outer_picture = torchviz.make_dot(outer)
            outer.backward()
        inner_trace, outer_trace = Traced(recorder, inner_picture), Traced(recorder, outer_picture)
        assert inner_trace.order() == outer_trace.order() == ["MulBackward0", "AccumulateGrad"]
        assert list(inner_trace.ledgers().values()) == [(None, "[3.]", "[3.]")]
        assert list(outer_trace.ledgers().values()) == [("[3.]", "[5.]", "[8.]")]

    def test_runs_beyond_the_limit_are_counted(self, monkeypatch):
        monkeypatch.setattr(backward_trace, "MOST_RUNS", 2)
        x = leaf(1.0)

        def run(y):
            for _ in range(5):
                y.backward(retain_graph=True)

        trace = trace_of(lambda: x * 2, run)
        assert len(trace.runs) == 2
        assert trace.data["runs_left_out"] == 3
        assert x.grad.tolist() == [10.0]


IMPORTS = """
import gc, traceback, weakref
import torch
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode
from torchviz import make_dot
"""

# Programs whose every visible effect must be the same with and without recording.
PROGRAMS = {
    "version_counters_and_shared_memory": """
        x = torch.ones(2, 3, requires_grad=True)
        w = torch.ones(2, 3, requires_grad=True)
        g = torch.ones(2, 3)
        y = x.exp() + x.sin() + w.view(6).view(2, 3)
        make_dot(y)
        y.backward(g, retain_graph=True)
        print(x.grad._version, w.grad._version, g._version, y._version)
        print(x.grad.data_ptr() == g.data_ptr(), w.grad.data_ptr() == g.data_ptr())
        before = x.grad
        y.backward(g)
        print(x.grad is before, x.grad._version, x.grad, w.grad)
        seen = []
        a = torch.ones(2, requires_grad=True)
        b = (a * a).view(2)
        a.register_hook(seen.append)
        make_dot(b)
        b.backward(torch.ones(2))
        print(seen[0] is a.grad, seen[0].data_ptr() == a.grad.data_ptr(), a.grad._version)
        """,
    "warnings_name_the_lessons_line": """
        x = torch.ones(1, requires_grad=True)
        y = x * 2
        make_dot(y)
        torch.autograd.backward(y, grad_variables=torch.ones(1), retain_graph=True)
        torch.autograd.grad(y, x, only_inputs=False, retain_graph=True)
        print(y.grad)
        y.backward(create_graph=True)
        x.grad = None
        """,
    "errors": """
        x = torch.ones(2, requires_grad=True)
        y = x.exp()
        make_dot(y)
        attempts = [
            lambda: y.backward(),
            lambda: y.backward(1.0),
            lambda: y.backward(torch.ones(3)),
            lambda: torch.autograd.backward(y, nonsense=1),
            lambda: torch.autograd.backward("y"),
            lambda: torch.autograd.backward(3),
            lambda: torch.autograd.grad(y.sum(), torch.ones(2, requires_grad=True)),
            lambda: torch.autograd.grad(y.sum(), []),
            lambda: (y.sum().backward(), y.sum().backward()),
            lambda: make_dot([y]),
            lambda: make_dot(),
            lambda: make_dot(y, params={"x": None}),
        ]
        for attempt in attempts:
            try:
                attempt()
            except Exception:
                print(traceback.format_exc().splitlines()[-1])
        """,
    "iterators_as_arguments": """
        layer = torch.nn.Linear(2, 1)
        y = layer(torch.ones(2))
        make_dot(y)
        print(torch.autograd.grad(y, layer.parameters(), retain_graph=True))
        torch.autograd.backward((t for t in [y]), inputs=layer.parameters())
        print([p.grad for p in layer.parameters()])
        """,
    "what_is_freed": """
        x = torch.ones(2, requires_grad=True)
        h = x.exp()
        y = h * h
        alive = weakref.ref(h)
        picture = make_dot(y)
        y.sum().backward(retain_graph=True)
        del h
        gc.collect()
        print(alive() is not None)
        del y
        gc.collect()
        print(alive() is None)
        """,
    "modes_see_only_the_lessons_operations": """
        class Watching(TorchDispatchMode):
            def __torch_dispatch__(self, function, types, args=(), kwargs=None):
                print(function)
                return function(*args, **(kwargs or {}))

        class Listening(TorchFunctionMode):
            def __torch_function__(self, function, types, args=(), kwargs=None):
                print(getattr(function, "__name__", function))
                return function(*args, **(kwargs or {}))

        x = torch.ones(30, requires_grad=True)
        y = (x * x).sum()
        with Watching(), Listening():
            make_dot(y)
            y.backward(retain_graph=True)
            torch.autograd.backward(y, retain_graph=True)
            torch.autograd.grad(y, x)
        print(torch.is_grad_enabled(), x.grad)

        class Loud(torch.Tensor):
            @classmethod
            def __torch_function__(cls, function, types, args=(), kwargs=None):
                print("loud", getattr(function, "__name__", function))
                return super().__torch_function__(function, types, args, kwargs or {})

        x = torch.ones(2).as_subclass(Loud).requires_grad_()
        h = x * 2
        h.retain_grad()
        y = h.sum()
        make_dot(y, params={"x": x})
        y.backward()
        """,
    "anomaly_mode_and_random_numbers": """
        x = torch.zeros(3, requires_grad=True)
        with torch.autograd.detect_anomaly(check_nan=True):
            y = (x.sqrt() * 0).sum()
            make_dot(y)
            try:
                y.backward()
            except RuntimeError as error:
                print(error)
        print(torch.rand(2))
        """,
    "saved_tensor_hooks": """
        def pack(tensor):
            print("pack", tensor.shape)
            return tensor

        x = torch.ones(30, requires_grad=True)
        y = (x**3).sum()
        make_dot(y)
        with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
            y.backward(create_graph=True)
        x.grad = None
        """,
    "saved_tensors_are_not_unpacked": """
        def unpack(tensor):
            print("unpacked")
            return tensor

        with torch.autograd.graph.saved_tensors_hooks(lambda tensor: tensor, unpack):
            x = torch.ones(2, 2, requires_grad=True)
            y = torch.addmm(x, x, x, alpha=2) ** x + x**2 + 2.0**x
        make_dot(y)
        print("drawn")
        y.sum().backward()
        """,
    "batched_gradients": """
        x = torch.ones(3, requires_grad=True)
        y = x * x
        make_dot(y)
        print(torch.autograd.grad(y, x, torch.eye(3), is_grads_batched=True))
        print(torch.autograd.functional.hessian(lambda t: (t * t).sum(), torch.ones(2)))
        """,
    "hooks_of_the_lesson": """
        x = torch.ones(2, requires_grad=True)
        h = x * 3
        h.retain_grad()
        h.register_hook(lambda g: print("tensor hook", g))
        x.register_post_accumulate_grad_hook(lambda t: print("post", t.grad))
        y = h.sum()
        make_dot(y)
        h.grad_fn.register_prehook(lambda g: print("pre", g))
        h.grad_fn.register_hook(lambda i, o: print("node", i, o))
        y.backward()
        print(h.grad, h.retains_grad, x.grad)
        """,
}


def run_as_lesson(name, tmp_path):
    """Run a program as sphinx-gallery would; return all that it printed, with its warnings."""
    file = tmp_path / f"{name}.py"
    file.write_text(IMPORTS + textwrap.dedent(PROGRAMS[name]))
    linecache.checkcache()
    printed = io.StringIO()
    torch.manual_seed(0)
    torch.set_warn_always(True)
    with _printing_to(printed), warnings.catch_warnings():
        warnings.simplefilter("always")
        warnings.simplefilter("ignore", DeprecationWarning)
        warnings.showwarning = lambda m, c, f, n, *rest: print(f"{Path(f).name}:{n}: {c}: {m}")
        runpy.run_path(str(file))
    torch.set_warn_always(False)
    return printed.getvalue()


@contextlib.contextmanager
def _printing_to(file):
    with contextlib.redirect_stdout(file), contextlib.redirect_stderr(file):
        yield


class TestNeutrality:
    @pytest.mark.parametrize("name", PROGRAMS)
    def test_a_program_prints_the_same_with_and_without_recording(self, name, tmp_path):
        printed = []
        for recording in (contextlib.nullcontext(), Recorder()):
            with recording:
                printed.append(run_as_lesson(name, tmp_path))
        assert printed[0] == printed[1]
        assert printed[0].strip()

    def test_warnings_are_compared_where_there_are_some(self, tmp_path):
        printed = run_as_lesson("warnings_name_the_lessons_line", tmp_path)
        lines = [line for line in printed.splitlines() if "Warning" in line]
        assert sum(line.startswith("warnings_name_the_lessons_line.py:") for line in lines) >= 3
        assert "grad_variables" in printed
        assert "reference cycle" in printed

    def test_the_picture_is_the_one_that_torchviz_draws(self):
        x = leaf(1.0, 2.0)
        y = (x.exp() * x).view(2, 1)
        # torchviz names nodes by the address of their Python objects: these keep them alive.
        kept = [y.grad_fn]
        for node in kept:
            kept += [following for following, _ in node.next_functions]
        expected = torchviz.make_dot(y, params={"x": x}, show_attrs=True)
        with Recorder() as recorder:
            from_package = torchviz.make_dot(y, params={"x": x}, show_attrs=True)
            from_module = torchviz.dot.make_dot(y, {"x": x}, True)
        assert from_package.source == from_module.source == expected.source
        assert type(from_package) is type(expected)
        assert recorder.trace(from_package)["nodes"] == recorder.trace(from_module)["nodes"]

    def test_the_trace_has_the_names_of_the_picture(self):
        x = leaf(1.0, 2.0)
        with Recorder() as recorder:
            picture = torchviz.make_dot((x.exp() * x).view(2, 1))
        trace = recorder.trace(picture)
        drawn = {line.split()[0] for line in picture.body if "->" not in line and "[" in line}
        assert trace["nodes"].keys() | trace["tensors"].keys() == drawn

    def test_an_error_carries_what_torch_gave_it_and_one_frame_more(self):
        y = leaf(1.0, 2.0) * 2

        def files(error):
            return [
                Path(frame.filename).name for frame in traceback.extract_tb(error.__traceback__)
            ]

        caught = []
        for recording in (contextlib.nullcontext(), Recorder()):
            with recording:
                torchviz.make_dot(y)
                with pytest.raises(RuntimeError) as info:
                    y.backward()
            caught.append(info.value)
        ours = "backward_trace.py (as importlib._bootstrap)"
        assert files(caught[1]).count(ours) == 1
        assert [name for name in files(caught[1]) if name != ours] == files(caught[0])
        assert caught[1].__suppress_context__ is False


class TestLessons:
    @pytest.mark.parametrize("lesson", LESSONS, ids=lambda path: path.stem)
    def test_a_lesson_prints_and_leaves_the_same_with_and_without_recording(
        self, lesson, monkeypatch
    ):
        monkeypatch.chdir(lesson.parent)
        monkeypatch.setattr(warnings, "formatwarning", warnings.formatwarning)
        printed, results = [], []
        for recording in (contextlib.nullcontext(), Recorder()):
            output = io.StringIO()
            with warnings.catch_warnings(), recording, _printing_to(output):
                fresh_torch.reset_torch({}, str(lesson))
                variables = runpy.run_path(str(lesson))
            printed.append(output.getvalue())
            results.append(_tensors(variables))
        torch.set_warn_always(False)
        assert printed[0] == printed[1]
        assert printed[0].strip()
        assert results[0] == results[1]
        assert results[0]


def _tensors(variables):
    """Each tensor that a lesson leaves: its numbers, its .grad, and how often it was written."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of reading the .grad of a non-leaf
        return {
            name: (repr(t), str(t.grad_fn and t.grad_fn.name()), repr(t.grad), _version(t))
            for name, t in variables.items()
            if torch.is_tensor(t)
        }


def _version(tensor):
    return None if tensor.is_inference() else tensor._version


class TestAfterwards:
    def test_functions_and_hooks_are_as_before(self):
        functions = [torchviz.make_dot, torchviz.dot.make_dot]
        functions += [torch.autograd.backward, torch.autograd.grad]
        x = leaf(1.0)
        with Recorder() as recorder:
            y = x * 2
            picture = torchviz.make_dot(y)
            y.backward(retain_graph=True)
        assert functions == [
            *(torchviz.make_dot, torchviz.dot.make_dot),
            *(torch.autograd.backward, torch.autograd.grad),
        ]
        for node in (y.grad_fn, y.grad_fn.next_functions[0][0]):
            for register in (node.register_prehook, node.register_hook):
                handle = register(lambda *gradients: None)
                assert len(handle.hooks_dict_ref()) == 1, "only the one of this test"
                handle.remove()
        y.backward()
        assert len(recorder.trace(picture)["runs"]) == 1

    def test_a_lesson_that_raises_leaves_nothing_behind(self):
        original = torch.autograd.backward
        with pytest.raises(ZeroDivisionError), Recorder():
            raise ZeroDivisionError
        assert torch.autograd.backward is original

    def test_graphs_are_not_kept_alive_by_the_recorder(self):
        with Recorder() as recorder:
            x = leaf(1.0)
            h = x.exp()
            y = (h * h).sum()
            alive = [weakref.ref(tensor) for tensor in (x, h, y)]
            picture = torchviz.make_dot(y, params={"x": x})
            y.backward()
            del x, h, y
            gc.collect()
            assert [reference() for reference in alive] == [None] * 3
        assert len(recorder.trace(picture)["runs"]) == 1

    def test_a_gradient_with_a_graph_is_freed_once_its_cycle_is_broken(self):
        with Recorder(), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            x = leaf(2.0)
            h = x**3
            alive = weakref.ref(h)
            y = h * h
            torchviz.make_dot(y)
            y.backward(create_graph=True)
            x.grad = None
            del h, y
            gc.collect()
            assert alive() is None


class TestGallery:
    """``reset``, which sphinx-gallery calls before and after each lesson."""

    @pytest.fixture(autouse=True)
    def _leave_nothing(self):
        yield
        record_lessons.reset({}, "lesson.py", "after")

    def lesson(self, tmp_path, when="after"):
        """Draw, show the picture as the scraper would, then call backward."""
        record_lessons.reset({}, "lesson.py", "before")
        x = leaf(1.0, 2.0)
        y = (x * x).sum()
        picture = torchviz.make_dot(y)
        names = {}
        for line in picture.body:
            name = line.split()[0]
            names.setdefault(name, f"n{len(names) + 1}")
        image = tmp_path / "sphx_glr_lesson_001.svg"
        record_lessons._note_figure(picture, image, names)
        y.backward()
        record_lessons.reset({}, "lesson.py", when)
        return image.with_suffix(".trace.json"), names

    def test_each_figure_gets_a_trace_under_the_names_of_its_picture(self, tmp_path):
        file, names = self.lesson(tmp_path)
        trace = json.loads(file.read_text())
        assert trace["nodes"].keys() | trace["tensors"].keys() == set(names.values())
        steps = trace["runs"][0]["steps"]
        ops = [trace["nodes"][step["node"]]["op"] for step in steps]
        assert ops == ["SumBackward0", "MulBackward0", "AccumulateGrad"]
        sent = steps[0]["sends"][0]["to"]
        assert sent == steps[1]["node"] == steps[2]["parts"][0][0]["from"]
        assert not any(name in file.read_text() for name in names)

    def test_two_builds_write_the_same_bytes(self, tmp_path):
        first = self.lesson(tmp_path)[0].read_bytes()
        file, _ = self.lesson(tmp_path)
        assert file.read_bytes() == first

    def test_recording_can_be_switched_off(self, tmp_path, monkeypatch):
        monkeypatch.setenv("AUTOGRAD_EXAMPLES_TRACE", "0")
        original = torch.autograd.backward
        record_lessons.reset({}, "lesson.py", "before")
        assert torch.autograd.backward is original
        file, _ = self.lesson(tmp_path)
        assert not file.exists()

    def test_a_lesson_without_an_end_does_not_reach_the_next_one(self, tmp_path):
        original = torch.autograd.backward
        file, _ = self.lesson(tmp_path, when="before")
        assert not file.exists()
        record_lessons.reset({}, "lesson.py", "after")
        assert torch.autograd.backward is original

    def test_entering_a_folder_records_nothing(self):
        original = torch.autograd.backward
        record_lessons.reset({}, None, "before")
        assert torch.autograd.backward is original

    def test_the_figure_scraper_reports_its_figures(self):
        import graph_figure

        record_lessons.reset({}, "lesson.py", "before")
        record_lessons.reset({}, "lesson.py", "before")
        assert graph_figure.on_scraped.count(record_lessons._note_figure) == 1

    def test_without_the_figure_scraper_a_lesson_runs_all_the_same(self, tmp_path, monkeypatch):
        monkeypatch.setitem(sys.modules, "graph_figure", None)
        file, _ = self.lesson(tmp_path)
        assert file.exists()
