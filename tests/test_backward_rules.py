"""The sentences of a step: each rule is held against what PyTorch's node really sends."""

import math
import re

import backward_rules
import backward_trace
import pytest
import torch
import torchviz
from backward_rules import RULES, rule, sentence, step_sentence

F = torch.nn.functional

a = torch.tensor([0.5, -1.5, 2.0])
b = torch.tensor([1.5, 0.25, -3.0])
positive = torch.tensor([0.5, 1.5, 3.0])
matrix = torch.tensor([[0.5, -1.0, 2.0], [3.0, 0.25, -0.5]])
other = torch.tensor([[1.0, 2.0], [-1.0, 0.5], [0.0, 4.0]])
square = torch.tensor([[1.0, -2.0], [0.5, 3.0]])
picked = torch.tensor([1, 1, 0])
classes = torch.tensor([2, 0])
mask = torch.tensor([True, False, True])


def put_back(source, places, g):
    """0 in the form of ``source``, with ``g`` at ``places``."""
    full = torch.zeros_like(source)
    full[places] = g
    return full


# Operation: what makes the node, its inputs, and what the words of its rules mean, for each
# input. A list that is missing is the formula that the rule itself has.
CASES = {
    "Add": (torch.add, [a, b]),
    "Sub": (torch.sub, [a, b]),
    "Rsub": (lambda x: 1 - x, [a]),
    "Neg": (torch.neg, [a]),
    "Mul": (torch.mul, [a, b]),
    "Div": (torch.div, [a, b]),
    "Reciprocal": (torch.reciprocal, [a]),
    "Pow": (torch.pow, [positive, b]),
    "Sqrt": (torch.sqrt, [positive]),
    "Rsqrt": (torch.rsqrt, [positive]),
    "Abs": (torch.abs, [torch.tensor([-2.0, 0.0, 3.0])]),
    "Lerp": (
        lambda x, y: torch.lerp(x, y, 0.25),
        [a, b],
        [lambda g, *_: g * 0.75, lambda g, *_: g * 0.25],
    ),
    "Exp": (torch.exp, [a]),
    "Exp2": (torch.exp2, [a]),
    "Expm1": (torch.expm1, [a]),
    "Log": (torch.log, [positive]),
    "Log2": (torch.log2, [positive]),
    "Log10": (torch.log10, [positive]),
    "Log1P": (torch.log1p, [positive]),
    "Sin": (torch.sin, [a]),
    "Cos": (torch.cos, [a]),
    "Tan": (torch.tan, [a]),
    "Sinh": (torch.sinh, [a]),
    "Cosh": (torch.cosh, [a]),
    "Atan": (torch.atan, [a]),
    "Tanh": (torch.tanh, [a]),
    "Sigmoid": (torch.sigmoid, [a]),
    "LogSigmoid": (F.logsigmoid, [a]),
    "Softplus": (F.softplus, [a], [lambda g, x, y: g * x.sigmoid()]),
    "Sign": (torch.sign, [a]),
    "Floor": (torch.floor, [a]),
    "Ceil": (torch.ceil, [a]),
    "Round": (torch.round, [a]),
    "Trunc": (torch.trunc, [a]),
    "Relu": (torch.relu, [torch.tensor([-1.0, 0.0, 2.0])]),
    "LeakyRelu": (
        lambda x: F.leaky_relu(x, 0.1),
        [torch.tensor([-1.0, 0.0, 2.0])],
        [lambda g, x, y: torch.where(x > 0, g, g * 0.1)],
    ),
    "Threshold": (
        lambda x: F.threshold(x, 1.0, 9.0),
        [torch.tensor([0.5, 1.0, 2.0])],
        [lambda g, x, y: torch.where(x > 1, g, 0)],
    ),
    "Hardtanh": (
        F.hardtanh,
        [torch.tensor([-1.0, 0.5, 2.0])],
        [lambda g, x, y: torch.where(x.abs() < 1, g, 0)],
    ),
    "Clamp": (
        torch.clamp,
        [a, torch.full((3,), -1.0), torch.full((3,), 1.0)],
        [
            lambda g, x, low, high, y: torch.where((x > low) & (x < high), g, 0),
            lambda g, x, low, high, y: torch.where(x < low, g, 0),
            lambda g, x, low, high, y: torch.where(x > high, g, 0),
        ],
    ),
    "ClampMin": (
        torch.clamp_min,
        [a, torch.zeros(3)],
        [
            lambda g, x, low, y: torch.where(x > low, g, 0),
            lambda g, x, low, y: torch.where(x < low, g, 0),
        ],
    ),
    "ClampMax": (
        torch.clamp_max,
        [a, torch.zeros(3)],
        [
            lambda g, x, high, y: torch.where(x < high, g, 0),
            lambda g, x, high, y: torch.where(x > high, g, 0),
        ],
    ),
    "Where": (
        lambda x, y: torch.where(mask, x, y),
        [a, b],
        [lambda g, *_: torch.where(mask, g, 0), lambda g, *_: torch.where(mask, 0, g)],
    ),
    "MaskedFill": (
        lambda x, value: x.masked_fill(mask, value),
        [a, torch.tensor(7.0)],
        [lambda g, *_: torch.where(mask, 0, g), lambda g, *_: g[mask].sum()],
    ),
    "Sum": (torch.sum, [a]),
    "Mean": (torch.mean, [a], [lambda g, x, y: g.expand(3) / 3]),
    "Prod": (
        torch.prod,
        [a],
        [lambda g, x, y: g * torch.stack([x[1] * x[2], x[0] * x[2], x[0] * x[1]])],
    ),
    "Cumsum": (
        lambda x: x.cumsum(0),
        [a],
        [lambda g, x, y: torch.stack([g.sum(), g[1:].sum(), g[2]])],
    ),
    "Norm": (torch.norm, [a]),
    "LinalgVectorNorm": (torch.linalg.vector_norm, [a]),
    "Var": (torch.var, [a], [lambda g, x, y: g * 2 * (x - x.mean()) / (3 - 1)]),
    "Std": (torch.std, [a], [lambda g, x, y: g * (x - x.mean()) / y / (3 - 1)]),
    "Logsumexp": (lambda x: x.logsumexp(0), [a], [lambda g, x, y: g * x.softmax(0)]),
    "Softmax": (
        lambda x: x.softmax(1),
        [matrix],
        [lambda g, x, y: y * (g - (g * y).sum(1, True))],
    ),
    "LogSoftmax": (
        lambda x: x.log_softmax(1),
        [matrix],
        [lambda g, x, y: g - x.softmax(1) * g.sum(1, keepdim=True)],
    ),
    "Dot": (torch.dot, [a, b]),
    "Mv": (torch.mv, [matrix, b]),
    "Mm": (torch.mm, [matrix, other]),
    "Bmm": (
        torch.bmm,
        [torch.stack([matrix, 2 * matrix]), torch.stack([other, other - 1])],
        [
            lambda g, x, z, y: torch.stack([g[i] @ z[i].T for i in (0, 1)]),
            lambda g, x, z, y: torch.stack([x[i].T @ g[i] for i in (0, 1)]),
        ],
    ),
    "Addmm": (torch.addmm, [square, matrix, other]),
    "MseLoss": (
        F.mse_loss,
        [a, b],
        [lambda g, x, z, y: g * 2 * (x - z) / 3, lambda g, x, z, y: g * 2 * (z - x) / 3],
    ),
    "NllLoss": (
        lambda x: F.nll_loss(x, classes, weight=torch.tensor([1.0, 2.0, 3.0])),
        [matrix],
        [lambda g, x, y: -g * torch.tensor([[0, 0, 3.0], [1.0, 0, 0]]) / 4],
    ),
    "View": (lambda x: x.view(6), [matrix]),
    "UnsafeView": (lambda x: torch.ops.aten._unsafe_view(x, [6]), [matrix]),
    "Unsqueeze": (lambda x: x.unsqueeze(0), [a]),
    "Squeeze": (torch.squeeze, [matrix[:1]]),
    "T": (torch.t, [matrix]),
    "Transpose": (lambda x: x.transpose(0, 1), [matrix], [lambda g, x, y: g.transpose(0, 1)]),
    "Permute": (
        lambda x: x.permute(2, 0, 1),
        [matrix[None]],
        [lambda g, x, y: g.permute(1, 2, 0)],
    ),
    "Flip": (lambda x: x.flip(0), [a], [lambda g, x, y: g.flip(0)]),
    "Roll": (lambda x: x.roll(1), [a], [lambda g, x, y: g.roll(-1)]),
    "Sort": (torch.sort, [a], [lambda g, x, y: g[x.argsort().argsort()]]),
    "Expand": (lambda x: x.expand(2, 3), [a], [lambda g, x, y: g.sum(0)]),
    "Repeat": (lambda x: x.repeat(2), [a], [lambda g, x, y: g[:3] + g[3:]]),
    "Clone": (torch.clone, [a]),
    "Alias": (torch.ops.aten.alias, [a]),
    "ToCopy": (lambda x: x.double(), [a], [lambda g, x, y: g.float()]),
    "Select": (lambda x: x[1], [matrix], [lambda g, x, y: put_back(x, 1, g)]),
    "Slice": (lambda x: x[1:], [a], [lambda g, x, y: put_back(x, slice(1, None), g)]),
    "Diagonal": (torch.diagonal, [square], [lambda g, x, y: torch.diag(g)]),
    "Unbind": (lambda x: x.unbind()[1], [matrix], [lambda g, x, y: put_back(x, 1, g)]),
    "Split": (lambda x: x.split(1)[0], [matrix], [lambda g, x, y: put_back(x, slice(1), g)]),
    "AsStrided": (
        lambda x: x.as_strided((2,), (2,)),
        [a],
        [lambda g, x, y: put_back(x, [0, 2], g)],
    ),
    "MaskedSelect": (
        lambda x: x.masked_select(mask),
        [a],
        [lambda g, x, y: put_back(x, mask, g)],
    ),
    "Topk": (lambda x: x.topk(1)[0], [a], [lambda g, x, y: put_back(x, [2], g)]),
    "Tril": (torch.tril, [square], [lambda g, x, y: g.tril()]),
    "Triu": (torch.triu, [square], [lambda g, x, y: g.triu()]),
    "Trace": (torch.trace, [square], [lambda g, x, y: g * torch.eye(2)]),
    "Index": (
        lambda x: x[picked],
        [a],
        [lambda g, x, y: torch.stack([g[2], g[0] + g[1], 0 * g[0]])],
    ),
    "Gather": (
        lambda x: x.gather(0, picked),
        [a],
        [lambda g, x, y: torch.stack([g[2], g[0] + g[1], 0 * g[0]])],
    ),
    "IndexSelect": (
        lambda x: x.index_select(0, picked),
        [a],
        [lambda g, x, y: torch.stack([g[2], g[0] + g[1], 0 * g[0]])],
    ),
    "Embedding": (
        lambda x: F.embedding(picked, x),
        [matrix],
        [lambda g, x, y: torch.stack([g[2], g[0] + g[1]])],
    ),
    "Cat": (
        lambda x, z: torch.cat([x, z]),
        [a, b],
        [lambda g, *_: g[:3], lambda g, *_: g[3:]],
    ),
    "Stack": (
        lambda x, z: torch.stack([x, z]),
        [a, b],
        [lambda g, *_: g[0], lambda g, *_: g[1]],
    ),
}
for name, function in {"Maximum": torch.maximum, "Fmax": torch.fmax}.items():
    larger = [
        lambda g, x, z, y: torch.where(x > z, g, 0),
        lambda g, x, z, y: torch.where(z > x, g, 0),
    ]
    CASES[name] = (function, [a, b], larger)
for name, function in {"Minimum": torch.minimum, "Fmin": torch.fmin}.items():
    smaller = [
        lambda g, x, z, y: torch.where(x < z, g, 0),
        lambda g, x, z, y: torch.where(z < x, g, 0),
    ]
    CASES[name] = (function, [a, b], smaller)
for name, function in {"Max": torch.max, "Amax": torch.amax}.items():
    CASES[name] = (function, [a], [lambda g, x, y: torch.where(x == x.max(), g, 0)])
for name, function in {"Min": torch.min, "Amin": torch.amin}.items():
    CASES[name] = (function, [a], [lambda g, x, y: torch.where(x == x.min(), g, 0)])

# Operations that take inputs of different shapes.
REPEATING = {"Rsub": (torch.rsub, [a, b])} | {
    name: case
    for name, case in CASES.items()
    if len(case[1]) > 1 and all(tensor.shape == (3,) for tensor in case[1])
    if name not in ("Dot", "Cat", "Stack", "MseLoss")
}

# Nodes that other releases make for the same operations.
OTHER_RELEASES = {"Norm", "ReshapeAlias"}


def node_sends(function, inputs):
    """The node of an operation, the gradient that it got, its output, and what it sent."""
    leaves = [tensor.clone().requires_grad_() for tensor in inputs]
    result = function(*leaves)
    output = result[0] if isinstance(result, tuple) else result
    sent = []
    output.grad_fn.register_hook(lambda grads, _: sent.extend(grads))
    torch.manual_seed(0)
    g = torch.randn(output.shape, dtype=output.dtype)
    output.backward(g)
    return output.grad_fn, g, output.detach(), sent


def value_of(found, g, inputs, y):
    """What the formula of a rule gives for these tensors."""
    names = dict(zip("abc", inputs, strict=False)) | {"g": g, "y": y}
    return eval(found.formula, {"torch": torch, "math": math}, names)


def described():
    return [name for name in [*RULES, *backward_rules._FOR_EACH] if name not in OTHER_RELEASES]


class TestRules:
    @pytest.mark.parametrize("name", described())
    def test_a_node_sends_what_its_rule_says(self, name):
        function, inputs, *meanings = CASES[name]
        node, g, y, sent = node_sends(function, inputs)
        op = type(node).__name__
        assert backward_rules._operation(op) == name
        assert len(sent) >= len(inputs)
        for index in range(len(inputs)):
            if meanings:
                expected = meanings[0][index](g, *inputs, y)
            else:
                expected = value_of(rule(op, index), g, inputs, y)
            torch.testing.assert_close(sent[index], expected.expand(sent[index].shape))

    @pytest.mark.parametrize("name", [name for name in CASES if len(CASES[name]) == 2])
    def test_a_formula_and_its_words_name_the_same_things(self, name):
        for found in RULES[name]:
            assert ("output" in found.words or "norm" in found.words) == ("y" in found.formula)

    def test_a_number_to_the_power_of_a_tensor_has_a_rule_of_its_own(self):
        node, g, y, sent = node_sends(lambda x: 2**x, [a])
        torch.testing.assert_close(sent[0], value_of(rule(type(node).__name__, 0), g, [a], y))
        node, *_ = node_sends(lambda x: x**2, [a])
        assert "exponent" in rule(type(node).__name__, 0).words

    def test_a_power_has_no_slope_of_nan_where_the_rule_says_0(self):
        zeros, exponents = torch.zeros(2), torch.tensor([0.0, 2.0])
        _, _, _, sent = node_sends(torch.pow, [zeros, exponents])
        assert [grad.tolist() for grad in sent] == [[0.0, 0.0], [0.0, 0.0]]

    def test_a_division_that_rounds_is_not_explained_as_a_division(self):
        node, _, _, [first, _] = node_sends(
            lambda x, y: torch.div(x, y, rounding_mode="floor"), [a, b]
        )
        assert first.tolist() == [0.0, 0.0, 0.0]
        assert rule(type(node).__name__, 0) is None

    @pytest.mark.parametrize(
        ("function", "inputs"),
        [
            (lambda x, z: torch.add(x, z, alpha=3), [a, b]),
            (lambda x, z: torch.sub(x, z, alpha=0.5), [a, b]),
            (lambda x, z: torch.rsub(x, z, alpha=-2), [a, b]),
            (lambda x, z, w: torch.addmm(x, z, w, beta=2, alpha=5), [square, matrix, other]),
        ],
    )
    def test_a_factor_that_the_call_gave_is_named(self, function, inputs):
        """Where all factors were 1, the node would send what the rule without them says."""
        with backward_trace.Recorder() as recorder:
            leaves = [tensor.clone().requires_grad_() for tensor in inputs]
            digraph = torchviz.make_dot(y := function(*leaves))
        op, scalars = type(y.grad_fn).__name__, None
        for node in recorder.trace(digraph)["nodes"].values():
            if node["op"] == op:
                scalars = node["scalars"]
        _, g, y, sent = node_sends(function, inputs)
        for index, gradient in enumerate(sent):
            found = rule(op, index, scalars)
            assert "where the call gave one" not in found.words
            factor = re.search(r" times (-?[\d.]+)$", found.words)
            expected = value_of(found, g, inputs, y) * (float(factor[1]) if factor else 1)
            torch.testing.assert_close(gradient, expected)
            ones = rule(op, index, {"alpha": 1, "beta": 1})
            assert not re.search(r"alpha|beta|times 1", ones.words)
        assert any(re.search(r"times -?\d", rule(op, i, scalars).words) for i in range(len(sent)))

    @pytest.mark.parametrize("exponent", [0, 1, 2, 3, 0.5, -1.0])
    def test_a_power_names_its_exponent(self, exponent):
        _, g, _, sent = node_sends(lambda x: x**exponent, [positive])
        words = rule("PowBackward0", 0, {"exponent": exponent}).words
        meaning = {
            "0, since the exponent is 0": torch.zeros(3),
            "the gradient unchanged": g,
            "the gradient times 2 times the input": g * 2 * positive,
            "the gradient times 3 times the input to the power of 2": g * 3 * positive**2,
            "the gradient times 0.5 times the input to the power of -0.5": g * 0.5 / positive**0.5,
            "the gradient times -1 times the input to the power of -2": -g / positive**2,
        }
        torch.testing.assert_close(sent[0], meaning[words])

    def test_a_change_in_place_sends_its_own_rule_s_gradient_to_the_part(self):
        def changed(x, z):
            y = x.clone()
            y[1].mul_(z)
            return y

        factor = torch.tensor([5.0, 6.0, 7.0])
        node, g, _, sent = node_sends(changed, [matrix, factor])
        op = type(node).__name__
        assert op == "CopySlices"
        assert "except for the part that was changed in place" in rule(op, 0).words
        torch.testing.assert_close(sent[0], torch.stack([g[0], g[1] * factor]))
        assert rule(op, 1).words.startswith("what the operation that changed a part")
        torch.testing.assert_close(sent[1], g[1] * matrix[1])

    def test_a_copy_into_a_tensor_overwrites_what_was_there(self):
        def overwrite(x, y):
            return x.clone().copy_(y)

        node, g, _, sent = node_sends(overwrite, [a, b])
        op = type(node).__name__
        assert rule(op, 0).words.startswith("0")
        assert sent[0].tolist() == [0.0, 0.0, 0.0]
        assert "same numbers" in rule(op, 1).words
        assert torch.equal(sent[1], g)

    def test_complex_factors_are_conjugated_where_the_sentence_says_so(self):
        z, w = torch.tensor([1 + 2j, -1j]), torch.tensor([3 - 1j, 2 + 2j])
        cases = {torch.mul: [z, w], torch.exp: [z], torch.dot: [z, w], torch.div: [z, w]}
        for function, inputs in cases.items():
            node, g, y, sent = node_sends(function, inputs)
            op = type(node).__name__
            assert backward_rules._operation(op) in backward_rules._CONJUGATING
            conjugates = [tensor.conj() for tensor in inputs]
            for index in range(len(inputs)):
                expected = value_of(rule(op, index), g, conjugates, y.conj())
                torch.testing.assert_close(sent[index], expected)


class TestSentences:
    def test_a_sentence_names_what_is_sent_and_to_which_input(self):
        assert sentence("MmBackward0", [True, True]) == (
            "MmBackward0 sends to its first input the gradient times the transpose of the second "
            "operand; and to its second input the transpose of the first operand times the gradient."
        )

    def test_an_input_that_needs_no_gradient_is_not_mentioned(self):
        assert sentence("MulBackward0", [False, True]) == (
            "MulBackward0 sends to its second input the gradient times the first factor."
        )
        assert "nothing" in sentence("MulBackward0", [False, False])

    def test_the_only_input_needs_no_number(self):
        assert sentence("ExpBackward0", [True]) == (
            "ExpBackward0 sends to its input the gradient times the output."
        )

    def test_the_kink_of_clamp_is_left_to_the_release(self):
        assert "inside the bounds" in sentence("ClampBackward1", [True])
        assert "At a bound the value depends on the release" in sentence(
            "ClampMinBackward0", [True]
        )

    def test_other_releases_names_have_rules_too(self):
        assert sentence("ReshapeAliasBackward0", [True]) == sentence(
            "ViewBackward0", [True]
        ).replace("View", "ReshapeAlias")
        assert "norm" in sentence("NormBackward1", [True])

    def test_an_unknown_operation_gets_a_sentence_that_claims_little(self):
        assert sentence("ConvolutionBackward0", [True, False, True]) == (
            "ConvolutionBackward0 works out the gradient with respect to its first input and its "
            "third input from the one that arrived, and sends it there."
        )

    def test_a_custom_function_with_the_name_of_an_operation_is_not_taken_for_it(self):
        class Mul(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                return x * 1

            @staticmethod
            def backward(ctx, gradient):
                return gradient * 7

        node, *_ = node_sends(Mul.apply, [a])
        assert "works out" in sentence(type(node).__name__, [True])

    def test_any_number_of_inputs_can_be_joined(self):
        assert sentence("CatBackward0", [True] * 9) == (
            "CatBackward0 sends to each of its inputs the piece of the gradient that belongs to "
            "that input."
        )
        assert "to its second input the piece" in sentence("StackBackward0", [False, True])
        assert "to its first input and its third input the piece" in (
            sentence("StackBackward0", [True, False, True])
        )

    def test_what_differs_at_equal_values_is_said_once_and_last(self):
        assert sentence("MaximumBackward0", [True, True]) == (
            "MaximumBackward0 sends to each of its inputs the gradient where that input is the "
            "larger one, and 0 elsewhere. "
            "How equal values share it depends on the form of the call and on the release."
        )

    def test_every_sentence_starts_with_its_node_and_ends(self):
        for name, rules in RULES.items():
            text = sentence(f"{name}Backward0", [True] * len(rules))
            assert re.match(rf"{name}Backward0 sends to (each of )?its ", text)
            assert text.endswith(".")
            assert ". " not in text or any(found.note for found in rules)


class TestStepSentences:
    """Sentences of recorded steps."""

    @staticmethod
    def sentences(graph, run):
        with backward_trace.Recorder() as recorder:
            result, params = graph()
            digraph = torchviz.make_dot(result, params=params)
            run(result, params)
        trace = recorder.trace(digraph)
        steps = trace["runs"][0]["steps"]
        return {trace["nodes"][step["node"]]["op"]: step_sentence(trace, step) for step in steps}

    def test_a_leaf_is_called_by_its_name(self):
        def graph():
            x = a.clone().requires_grad_()
            return x.sum(), {"weights": x}

        texts = self.sentences(graph, lambda y, _: y.backward())
        assert texts["AccumulateGrad"] == (
            "AccumulateGrad stores the gradient that arrived in weights.grad, which was None."
        )
        assert texts["SumBackward0"] == (
            "SumBackward0 sends to its input the gradient once for each number that was summed."
        )

    def test_a_leaf_without_a_name(self):
        def graph():
            return a.clone().requires_grad_().sum(), {}

        texts = self.sentences(graph, lambda y, _: y.backward())
        assert texts["AccumulateGrad"] == (
            "AccumulateGrad stores the gradient that arrived in the leaf's .grad, which was None."
        )

    def test_numbers_of_the_call_stand_in_the_sentence(self):
        def graph():
            x = a.clone().requires_grad_()
            return (x + x * x).sum() ** 3, {"x": x}

        texts = self.sentences(graph, lambda y, _: y.backward())
        assert texts["AddBackward0"] == (
            "AddBackward0 sends to each of its inputs the gradient unchanged."
        )
        assert texts["PowBackward0"] == (
            "PowBackward0 sends to its input the gradient times 3 times the input to the power "
            "of 2."
        )

    def test_a_gradient_that_is_there_already_is_added_to(self):
        def graph():
            x = a.clone().requires_grad_()
            x.grad = torch.ones(3)
            return x.sum(), {"weights": x}

        texts = self.sentences(graph, lambda y, _: y.backward())
        assert texts["AccumulateGrad"] == (
            "AccumulateGrad adds the gradient that arrived to weights.grad."
        )

    def test_an_input_that_was_repeated_to_fit_gets_a_sum(self):
        def graph():
            x, bias = matrix.clone().requires_grad_(), torch.tensor(2.0, requires_grad=True)
            return x * bias, {"x": x, "bias": bias}

        texts = self.sentences(graph, lambda y, _: y.backward(torch.ones(2, 3)))
        assert texts["MulBackward0"] == (
            "MulBackward0 sends to its first input the gradient times the second factor; and to "
            "its second input the gradient times the first factor, summed to its shape since it "
            "was repeated."
        )

    @pytest.mark.parametrize("name", sorted(REPEATING))
    def test_every_operation_that_repeats_an_input_says_so(self, name):
        """Give the last input as one number."""
        function, inputs, *_ = REPEATING[name]
        leaves = [tensor.clone().requires_grad_() for tensor in [*inputs[:-1], inputs[-1][0]]]
        texts = self.sentences(
            lambda: (function(*leaves), {}), lambda y, _: y.backward(torch.ones(3))
        )
        [text] = [text for op, text in texts.items() if op != "AccumulateGrad"]
        assert text.count("summed to its shape") == 1

    def test_the_bias_of_a_linear_layer_gets_a_sum_and_its_matrices_do_not(self):
        layer = torch.nn.Linear(3, 2)
        texts = self.sentences(
            lambda: (layer(matrix), dict(layer.named_parameters())),
            lambda y, _: y.backward(torch.ones(2, 2)),
        )
        assert texts["AddmmBackward0"].startswith(
            "AddmmBackward0 sends to its first input the gradient, summed to its shape since it "
            "was repeated; and "
        )
        assert texts["AddmmBackward0"].count("summed to its shape") == 1

    def test_grad_and_a_failed_step_say_so(self):
        def graph():
            x = positive.clone().requires_grad_()
            return x.exp().sum(), {"x": x}

        texts = self.sentences(graph, lambda y, params: torch.autograd.grad(y, params["x"]))
        assert texts["AccumulateGrad"] == (
            "torch.autograd.grad returns what arrived here for x; x.grad stays as it is."
        )

        h = a.clone().requires_grad_() * 2
        texts = self.sentences(lambda: (h.sum(), {"h": h}), lambda y, _: torch.autograd.grad(y, h))
        # Not that h.grad stays as it is: with retain_grad() it does not.
        assert texts["MulBackward0"] == "torch.autograd.grad returns what arrived here for h."

        class Refuses(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                return x * 1

            @staticmethod
            def backward(ctx, gradient):
                raise ValueError("no")

        def fail(y, _):
            with pytest.raises(ValueError, match="no"):
                y.backward()

        texts = self.sentences(lambda: (Refuses.apply(graph()[0]), {}), fail)
        assert (
            texts["RefusesBackward"] == "RefusesBackward raises the error, and the call ends here."
        )

    def test_complex_numbers_are_mentioned_where_they_occur(self):
        def graph():
            z = torch.tensor([1 + 2j], requires_grad=True)
            return z * z, {"z": z}

        texts = self.sentences(graph, lambda y, _: y.backward(torch.ones(1, dtype=torch.cfloat)))
        assert "conjugate" in texts["MulBackward0"]
