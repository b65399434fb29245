"""Second derivatives: at kinks, of losses, and where they are wrong or missing."""

from __future__ import annotations

import math

import torch
import torch.nn.functional as F  # noqa: N812

from probes.registry import Probe, add, probe
from probes.tools import leaf, outcome


def second(name: str, expression: str, point) -> None:
    """A probe of the second derivative (of the sum of first ones) by two backward passes."""

    def ask():
        x = leaf(point)
        y = eval(expression, {"torch": torch, "F": F, "x": x, "inf": math.inf})

        def differentiate():
            (first,) = torch.autograd.grad(y, x, create_graph=True)
            if not first.requires_grad:
                return {"first": first, "second": "the first has no history"}
            (found,) = torch.autograd.grad(first.sum(), x, allow_unused=True)
            return {"first": first, "second": found}

        return outcome(differentiate)

    question = f"What are the first and second derivative of {expression} at x = {point}?"
    add(Probe(f"higher_order.{name}", question, ask))


# -- at kinks ------------------------------------------------------------------------------------
second("norm_at_0", "x.norm()", [0.0, 0.0])
second("norm_p_1_at_0", "x.norm(p=1)", [0.0, 0.0])
second("norm_squared_at_0", "x.norm() ** 2", [0.0, 0.0])
second("vector_norm_at_0", "torch.linalg.vector_norm(x)", [0.0, 0.0])
second("relu_at_0", "F.relu(x)", 0.0)
second("relu_squared_at_0", "F.relu(x) ** 2", 0.0)
second("relu_at_1", "F.relu(x)", 1.0)
second("relu_cubed_at_0", "F.relu(x) ** 3", 0.0)
second("clamp_squared_at_0", "x.clamp(min=0) ** 2", 0.0)
second("clamp_at_1", "x.clamp(min=0)", 1.0)
second("maximum_squared_at_0", "torch.maximum(x, torch.tensor(0.0)) ** 2", 0.0)
second("abs_at_0", "x.abs()", 0.0)
second("abs_squared_at_0", "x.abs() ** 2", 0.0)
second("sqrt_of_square_at_0", "torch.sqrt(x**2)", 0.0)
second("power_1_at_0", "x**1", 0.0)
second("power_2_at_0", "x**2", 0.0)
second("power_one_and_a_half_at_0", "x**1.5", 0.0)
second("power_three_halves_tensor_at_0", "x ** torch.tensor(1.5)", 0.0)
second("elu_at_0", "F.elu(x)", 0.0)
second("celu_at_0", "F.celu(x)", 0.0)
second("selu_at_0", "F.selu(x)", 0.0)
second("silu_at_0", "F.silu(x)", 0.0)
second("gelu_at_0", "F.gelu(x)", 0.0)
second("softplus_at_0", "F.softplus(x)", 0.0)
second("softplus_above_threshold", "F.softplus(x)", 21.0)
second("hardswish_at_3", "F.hardswish(x)", 3.0)
second("hardswish_at_1", "F.hardswish(x)", 1.0)
second("smooth_l1_at_corner", "F.smooth_l1_loss(x, torch.tensor(0.0))", 1.0)
second("huber_at_corner", "F.huber_loss(x, torch.tensor(0.0))", 1.0)
second("max_pool2d", "(F.max_pool2d(x, 2) ** 2).sum()", [[[1.0, 2.0], [3.0, 4.0]]])
second("prelu_at_0", "F.prelu(x, torch.tensor([0.25]))", 0.0)
second("std_of_constant", "x.std()", [1.0, 1.0])
second("prod_with_two_zeros", "x.prod()", [0.0, 0.0, 3.0])
second("logsumexp_all_minus_inf", "torch.logsumexp(x, 0)", [-math.inf, -math.inf])
second("where_at_0", "torch.where(x > 0, x**2, -(x**2))", 0.0)
second("sinc_at_0", "torch.sinc(x)", 0.0)
second("det_of_singular", "torch.linalg.det(x)", [[1.0, 2.0], [2.0, 4.0]])
second("det_of_zero", "torch.linalg.det(x)", [[0.0, 0.0], [0.0, 0.0]])
second("cdist", "torch.cdist(x, torch.tensor([[0.0, 0.0]])).sum()", [[3.0, 4.0]])
second("pdist", "F.pdist(x).sum()", [[3.0, 4.0], [0.0, 0.0]])
second("cosine_similarity", "F.cosine_similarity(x, torch.tensor([1.0, 0.0]), dim=0)", [3.0, 4.0])

# -- losses and layers -----------------------------------------------------------------------
second("bce", "F.binary_cross_entropy(x, torch.tensor([0.0, 1.0]))", [0.25, 0.5])
second(
    "bce_with_logits",
    "F.binary_cross_entropy_with_logits(x, torch.tensor([0.0, 1.0]))",
    [0.25, 0.5],
)
second("cross_entropy", "F.cross_entropy(x, torch.tensor([0]))", [[1.0, 2.0]])
second("mse_loss", "F.mse_loss(x, torch.tensor([0.0, 1.0]))", [1.0, 3.0])
second("l1_loss", "F.l1_loss(x, torch.tensor([0.0, 1.0]))", [1.0, 3.0])
second("kl_div", "F.kl_div(x, torch.tensor([0.5, 0.5]), reduction='sum')", [-1.0, -1.0])
second("layer_norm", "(F.layer_norm(x, [2]) ** 3).sum()", [1.0, 3.0])
second("batch_norm", "(F.batch_norm(x, None, None, training=True) ** 3).sum()", [[1.0], [3.0]])
second("embedding", "(F.embedding(torch.tensor([0, 0]), x) ** 2).sum()", [[1.0, 2.0]])
second("conv1d", "(F.conv1d(x, torch.ones(1, 1, 2)) ** 2).sum()", [[[1.0, 2.0]]])
second(
    "interpolate", "(F.interpolate(x, scale_factor=2, mode='linear') ** 2).sum()", [[[1.0, 2.0]]]
)
second(
    "grid_sample",
    "F.grid_sample(x, torch.zeros(1, 1, 1, 2), align_corners=True).sum() ** 2",
    [[[[1.0, 2.0], [3.0, 4.0]]]],
)
second(
    "attention",
    "(F.scaled_dot_product_attention(x, x, x) ** 2).sum()",
    [[[[1.0, 0.0], [0.0, 1.0]]]],
)
second("softmax", "torch.softmax(x, 0)[0]", [1.0, 1.0])
second("cumprod_with_zero", "x.cumprod(0).sum()", [2.0, 0.0, 3.0])
second("eigvalsh", "torch.linalg.eigvalsh(x)[1]", [[2.0, 0.0], [0.0, 1.0]])
second("svdvals", "torch.linalg.svdvals(x)[0]", [[2.0, 0.0], [0.0, 1.0]])
second("rnn_cell", "torch.nn.RNNCell(1, 1)(x).sum() * 0", [[1.0]])
second("sort", "(x.sort().values ** 2).sum()", [2.0, 1.0])
second("lgamma", "torch.lgamma(x)", 1.0)


@probe("higher_order.ctc_loss", "What is the second derivative of ctc_loss?")
def ctc_loss():
    x = torch.zeros(5, 1, 4).log_softmax(2).requires_grad_()
    loss = F.ctc_loss(x, torch.tensor([[1, 2]]), torch.tensor([5]), torch.tensor([2]))

    def differentiate():
        (first,) = torch.autograd.grad(loss, x, create_graph=True)
        return bool(torch.autograd.grad(first.pow(2).sum(), x)[0].isfinite().all())

    return outcome(differentiate)


# -- how the second derivative is asked for ------------------------------------------------------


def _through_norm(a, b):
    distance = torch.linalg.norm(a - b)
    return torch.exp(-distance * distance)


def _without_norm(a, b):
    return torch.exp(-((a - b) ** 2).sum())


def _hessian(outer, function):
    func = torch.func
    a = torch.tensor([1.0, 2.0])
    return getattr(func, outer)(func.grad(function, argnums=0), argnums=1)(a, a)


@probe(
    "higher_order.hessian_forward_over_reverse_at_norm",
    "What is the mixed Hessian of exp(-norm(a - b)**2) at a = b, forward over reverse?",
)
def hessian_forward_over_reverse_at_norm():
    return _hessian("jacfwd", _through_norm)


@probe(
    "higher_order.hessian_reverse_over_reverse_at_norm",
    "What is the mixed Hessian of exp(-norm(a - b)**2) at a = b, reverse over reverse?",
)
def hessian_reverse_over_reverse_at_norm():
    return _hessian("jacrev", _through_norm)


@probe("higher_order.hessian_without_norm", "What is the same Hessian, written without norm?")
def hessian_without_norm():
    return _hessian("jacfwd", _without_norm)


@probe(
    "higher_order.maml",
    "What is the meta-gradient without and with create_graph=True (exact: 0.56)?",
)
def maml():
    def meta(**options):
        w = leaf(1.0)
        (inner,) = torch.autograd.grad(w**3, w, **options)
        fast = w - 0.1 * inner
        (fast**2).backward()
        return w.grad.item()

    return {
        "create_graph=False": meta(),
        "retain_graph=True": meta(retain_graph=True),
        "create_graph=True": meta(create_graph=True),
    }


@probe(
    "higher_order.product_has_no_second",
    "What are a.grad and b.grad after d(ab)/da is differentiated once more?",
)
def product_has_no_second():
    a, b = leaf(2.0), leaf(3.0)
    (first,) = torch.autograd.grad(a * b, a, create_graph=True)
    first.backward()
    return {"a.grad": a.grad, "b.grad": b.grad}


@probe("higher_order.linear_function", "What does a second derivative of 3 * x give?")
def linear_function():
    x = leaf(2.0)
    (first,) = torch.autograd.grad(3 * x, x, create_graph=True)
    return {
        "first requires grad": first.requires_grad,
        "second": outcome(lambda: torch.autograd.grad(first, x)[0]),
    }


@probe("higher_order.hessian_vector_product", "Do the ways to a Hessian-vector product agree?")
def hessian_vector_product():
    def f(x):
        return (x**3).sum() + x[0] * x[1]

    x, v = torch.tensor([1.0, 2.0]), torch.tensor([1.0, -1.0])
    y = x.clone().requires_grad_()
    (g,) = torch.autograd.grad(f(y), y, create_graph=True)
    return {
        "double backward": torch.autograd.grad(g @ v, y)[0],
        "functional.hessian": torch.autograd.functional.hessian(f, x) @ v,
        "functional.hvp": torch.autograd.functional.hvp(f, x, v)[1],
        "functional.vhp": torch.autograd.functional.vhp(f, x, v)[1],
    }


@probe(
    "higher_order.vectorized_hessian",
    "Does functional.hessian(vectorize=True) agree with the plain one?",
)
def vectorized_hessian():
    def f(x):
        return (x**3).sum() + x[0] * x[1]

    x = torch.tensor([1.0, 2.0])
    return {
        "plain": torch.autograd.functional.hessian(f, x),
        "vectorize": torch.autograd.functional.hessian(f, x, vectorize=True),
        "forward": torch.autograd.functional.hessian(
            f, x, vectorize=True, outer_jacobian_strategy="forward-mode"
        ),
    }


@probe(
    "higher_order.gradgradcheck_relu_at_0", "What does gradgradcheck say about relu at 0 and at 1?"
)
def gradgradcheck_relu_at_0():
    def check(value):
        x = torch.tensor([value], dtype=torch.float64, requires_grad=True)
        try:
            return torch.autograd.gradgradcheck(torch.relu, (x,))
        except RuntimeError:
            return "fails"

    return {"0": check(0.0), "1": check(1.0)}


@probe(
    "higher_order.in_place_between",
    "What does an in-place change between first and second derivative do?",
)
def in_place_between():
    x = leaf(2.0)
    y = x * 1
    z = y**3
    (first,) = torch.autograd.grad(z, y, create_graph=True)
    y.mul_(2)
    return outcome(lambda: torch.autograd.grad(first, y)[0])


@probe(
    "higher_order.grad_penalty_without_create_graph",
    "Does a gradient penalty without create_graph=True train the weight?",
)
def grad_penalty_without_create_graph():
    def weight_grad(create_graph):
        w, x = leaf(3.0), leaf(2.0)
        (g,) = torch.autograd.grad(w * x**2, x, create_graph=create_graph)
        return outcome(lambda: ((g**2).backward(), w.grad)[1])

    return {"False": weight_grad(False), "True": weight_grad(True)}


@probe(
    "higher_order.compiled",
    "Does a function compiled with torch.compile (aot_eager) have a second derivative?",
    fresh=True,
)
def compiled():
    x = torch.tensor([0.5, 1.5], requires_grad=True)
    try:
        torch.compile(torch.sin)
    except RuntimeError as error:
        # Python's newest version has to wait for it: that is no answer about derivatives.
        raise AttributeError(str(error)) from error

    def differentiate():
        function = torch.compile(lambda t: (t**4).sum(), backend="aot_eager")
        (first,) = torch.autograd.grad(function(x), x, create_graph=True)
        return torch.autograd.grad(first.sum(), x)[0]

    return outcome(differentiate)


@probe(
    "higher_order.gradcheck_of_float32",
    "What does gradcheck say about a Linear layer in float32 and in float64?",
)
def gradcheck_of_float32():
    layer = torch.nn.Linear(2, 1)
    x = torch.tensor([[0.3, 0.7]], requires_grad=True)

    def check(module, value):
        try:
            return torch.autograd.gradcheck(module, (value,))
        except Exception as error:
            return type(error).__name__

    return {
        "float32": check(layer, x),
        "float64": check(layer.double(), x.detach().double().requires_grad_()),
    }
