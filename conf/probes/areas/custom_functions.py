"""What a custom ``autograd.Function`` may do, and what it silently gets wrong."""

from __future__ import annotations

import gc
import weakref

import torch
from torch.autograd.function import once_differentiable

from probes.registry import probe
from probes.tools import leaf, outcome


def _function(forward, backward):
    """A Function from two plain functions."""
    return type(
        "Mine",
        (torch.autograd.Function,),
        {"forward": staticmethod(forward), "backward": staticmethod(backward)},
    )


class _Double(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2

    @staticmethod
    def backward(ctx, g):
        return g * 2


@probe(
    "custom_functions.returns_its_input",
    "Is the output of a Function that returns its input the input itself?",
)
def returns_its_input():
    reverse = _function(lambda ctx, x: x, lambda ctx, g: -g)
    x = leaf([1.0])
    y = reverse.apply(x)
    y.sum().backward()
    return {"y is x": y is x, "y._base is x": y._base is x, "x.grad": x.grad}


@probe(
    "custom_functions.in_place_on_returned_input",
    "Can the output of a Function that returns its input be changed in place?",
)
def in_place_on_returned_input():
    reverse = _function(lambda ctx, x: x, lambda ctx, g: -g)
    return outcome(lambda: reverse.apply(leaf([1.0]) * 1).add_(1))


@probe(
    "custom_functions.gradient_of_wrong_shape",
    "What becomes of a gradient of shape [2] for an input of shape [1]?",
)
def gradient_of_wrong_shape():
    wrong = _function(lambda ctx, x: x * 1, lambda ctx, g: torch.ones(2))
    x = leaf([1.0])
    wrong.apply(x).sum().backward()
    return x.grad


@probe(
    "custom_functions.gradient_that_is_smaller",
    "What becomes of a gradient of shape [1] for an input of shape [3]?",
)
def gradient_that_is_smaller():
    wrong = _function(lambda ctx, x: x * 1, lambda ctx, g: torch.ones(1))
    x = leaf([1.0, 2.0, 3.0])
    return outcome(lambda: (wrong.apply(x).sum().backward(), x.grad)[1])


@probe(
    "custom_functions.gradient_of_other_dtype",
    "What becomes of a float64 gradient for a float32 input?",
)
def gradient_of_other_dtype():
    wrong = _function(lambda ctx, x: x * 1, lambda ctx, g: g.double() * 3)
    x = leaf([1.0])
    wrong.apply(x).sum().backward()
    return {"x.grad": x.grad, "dtype": x.grad.dtype}


@probe(
    "custom_functions.too_many_gradients",
    "Is a backward that returns one value too many an error?",
)
def too_many_gradients():
    def answer(*extra):
        many = _function(lambda ctx, x: x * 1, lambda ctx, g: (g, *extra))
        x = leaf([1.0])
        return outcome(lambda: (many.apply(x).sum().backward(), x.grad)[1])

    return {"extra None": answer(None), "extra tensor": answer(torch.ones(1))}


@probe(
    "custom_functions.gradient_for_integer_argument",
    "Is a gradient that is returned for a number argument an error?",
)
def gradient_for_integer_argument():
    scale = _function(lambda ctx, x, k: x * k, lambda ctx, g: (g, g))
    x = leaf([1.0])
    return outcome(lambda: (scale.apply(x, 3).sum().backward(), x.grad)[1])


@probe(
    "custom_functions.none_for_needed_input", "What is x.grad when backward returns None for x?"
)
def none_for_needed_input():
    nothing = _function(lambda ctx, x: x * 1, lambda ctx, g: None)
    x = leaf([1.0])
    nothing.apply(x).sum().backward()
    return x.grad


@probe(
    "custom_functions.unused_output_gradient",
    "What does backward receive for an output that is not used?",
)
def unused_output_gradient():
    def ask(materialize):
        seen = []

        def forward(ctx, x):
            ctx.set_materialize_grads(materialize)
            return x * 1, x * 2

        def backward(ctx, first, second):
            seen.append(None if second is None else second.tolist())
            return first

        _function(forward, backward).apply(leaf([1.0]))[0].sum().backward()
        return seen[0]

    return {"default": ask(True), "set_materialize_grads(False)": ask(False)}


@probe(
    "custom_functions.needs_input_grad",
    "What is ctx.needs_input_grad for a leaf, a constant and a number?",
)
def needs_input_grad():
    seen = []

    def forward(ctx, x, constant, number):
        seen.append(list(ctx.needs_input_grad))
        return x * constant * number

    _function(forward, lambda ctx, g: (g, None, None)).apply(leaf([1.0]), torch.ones(1), 3)
    return seen[0]


@probe(
    "custom_functions.grad_mode_inside",
    "Is grad mode on inside forward, and inside backward without and with create_graph?",
)
def grad_mode_inside():
    seen = []

    def forward(ctx, x):
        seen.append(torch.is_grad_enabled())
        return x * 2

    def backward(ctx, g):
        seen.append(torch.is_grad_enabled())
        return g * 2

    mine = _function(forward, backward)
    mine.apply(leaf([1.0])).sum().backward()
    mine.apply(leaf([1.0])).sum().backward(create_graph=True)
    return seen


@probe(
    "custom_functions.intermediate_on_ctx",
    "What are first and second derivative of (2x)**2 when the intermediate 2x is kept on ctx?",
)
def intermediate_on_ctx():
    def forward(ctx, x):
        ctx.inner = 2 * x
        return ctx.inner**2

    bad = _function(forward, lambda ctx, g: 4 * ctx.inner * g)
    x = leaf(3.0)
    (first,) = torch.autograd.grad(bad.apply(x), x, create_graph=True)
    return {"first": first, "second": outcome(lambda: torch.autograd.grad(first, x)[0])}


@probe(
    "custom_functions.intermediate_on_ctx_in_chain",
    "What is the second derivative through such a Function of x * x (exact: 432)?",
)
def intermediate_on_ctx_in_chain():
    def forward(ctx, x):
        ctx.inner = 2 * x
        return ctx.inner**2

    bad = _function(forward, lambda ctx, g: 4 * ctx.inner * g)
    x = leaf(3.0)
    (first,) = torch.autograd.grad(bad.apply(x * x), x, create_graph=True)
    return torch.autograd.grad(first, x)[0]


@probe(
    "custom_functions.detached_second_derivative",
    "What is the second derivative of x**4 at 3 through a backward that detaches (exact: 108)?",
)
def detached_second_derivative():
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x**2

    detached = _function(forward, lambda ctx, g: 2 * ctx.saved_tensors[0].detach() * g)
    x = leaf(3.0)
    (first,) = torch.autograd.grad(detached.apply(x * x), x, create_graph=True)
    return torch.autograd.grad(first, x)[0]


@probe(
    "custom_functions.once_differentiable",
    "When does once_differentiable raise in a second derivative?",
)
def once_differentiable_raises():
    def forward(ctx, x):
        ctx.inner = 2 * x
        return ctx.inner**2

    honest = _function(forward, once_differentiable(lambda ctx, g: 4 * ctx.inner * g))

    def second(function, how):
        x = leaf(3.0)
        (first,) = torch.autograd.grad(function(x), x, create_graph=True)
        if how == "backward":
            return outcome(lambda: (first.backward(), x.grad)[1])
        return outcome(lambda: torch.autograd.grad(first, x)[0])

    return {
        "f(x * x), grad": second(lambda x: honest.apply(x * x), "grad"),
        "f(x * x), backward": second(lambda x: honest.apply(x * x), "backward"),
        "f(x * x)**2, grad": second(lambda x: honest.apply(x * x) ** 2, "grad"),
        "f(x * x)**2, backward": second(lambda x: honest.apply(x * x) ** 2, "backward"),
    }


@probe(
    "custom_functions.output_kept_on_ctx_leaks",
    "Is the graph freed when a Function keeps its output on ctx?",
)
def output_kept_on_ctx_leaks():
    class Marker:
        pass

    def freed(keep):
        markers = []

        def forward(ctx, x):
            ctx.marker = Marker()
            markers.append(weakref.ref(ctx.marker))
            result = x * 2
            keep(ctx, result)
            return result

        _function(forward, lambda ctx, g: g * 2).apply(leaf([1.0]))
        gc.collect()
        return markers[0]() is None

    return {
        "ctx.result = result": freed(lambda ctx, result: setattr(ctx, "result", result)),
        "save_for_backward": freed(lambda ctx, result: ctx.save_for_backward(result)),
        "not kept": freed(lambda ctx, result: None),
    }


@probe(
    "custom_functions.mark_dirty",
    "What does a Function that changes its input in place and says mark_dirty give?",
)
def mark_dirty():
    def forward(ctx, x):
        x.mul_(2)
        ctx.mark_dirty(x)
        return x

    double = _function(forward, lambda ctx, g: g * 2)
    x = leaf([1.0])
    y = x * 1
    z = double.apply(y)
    z.sum().backward()
    return {"z is y": z is y, "z": z, "x.grad": x.grad}


@probe("custom_functions.mark_dirty_on_leaf", "Can such a Function be applied to a leaf?")
def mark_dirty_on_leaf():
    def forward(ctx, x):
        x.mul_(2)
        ctx.mark_dirty(x)
        return x

    return outcome(lambda: _function(forward, lambda ctx, g: g * 2).apply(leaf([1.0])))


@probe(
    "custom_functions.mark_non_differentiable",
    "Does an output marked as non-differentiable require grad?",
)
def mark_non_differentiable():
    def forward(ctx, x):
        index = x.argmax().float()
        ctx.mark_non_differentiable(index)
        return x * 1, index

    first, second = _function(forward, lambda ctx, g, _: g).apply(leaf([1.0, 2.0]))
    return [first.requires_grad, second.requires_grad]


@probe("custom_functions.saved_input_changed", "Is a change in place of a saved input caught?")
def saved_input_changed():
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x**2

    square = _function(forward, lambda ctx, g: 2 * ctx.saved_tensors[0] * g)
    x = leaf([1.0]) * 1
    y = square.apply(x)
    x.mul_(2)
    return outcome(lambda: y.sum().backward())


@probe(
    "custom_functions.ctx_attribute_changed",
    "Is a change in place of an input kept as ctx.x caught?",
)
def ctx_attribute_changed():
    def forward(ctx, x):
        ctx.x = x
        return x**2

    square = _function(forward, lambda ctx, g: 2 * ctx.x * g)
    base = leaf([1.0])
    x = base * 1
    y = square.apply(x)
    x.detach().mul_(10)
    return outcome(lambda: (y.sum().backward(), base.grad)[1])


@probe(
    "custom_functions.save_for_backward_twice",
    "What does a second call of save_for_backward keep?",
)
def save_for_backward_twice():
    def forward(ctx, x):
        ctx.save_for_backward(x)
        ctx.save_for_backward(x * 10)
        return x * 1

    def backward(ctx, g):
        return torch.stack(ctx.saved_tensors).sum(0)

    x = leaf([1.0])
    _function(forward, backward).apply(x).sum().backward()
    return x.grad


@probe(
    "custom_functions.tensor_inside_list", "Does a tensor inside a list argument get a gradient?"
)
def tensor_inside_list():
    total = _function(lambda ctx, many: many[0] * 2, lambda ctx, g: None)
    return total.apply([leaf([1.0])]).requires_grad


@probe("custom_functions.keyword_argument", "Can apply take a keyword argument?")
def keyword_argument():
    def forward(ctx, x, k):
        return x * k

    mine = _function(forward, lambda ctx, g: (g, None))
    return outcome(lambda: mine.apply(leaf([1.0]), k=3))


@probe(
    "custom_functions.module_backward_is_never_called",
    "Is a method named backward of an nn.Module called?",
)
def module_backward_is_never_called():
    called = []

    class Reverse(torch.nn.Module):
        def forward(self, x):
            return x

        def backward(self, g):
            called.append(1)
            return -g

    x = leaf([1.0])
    Reverse()(x).sum().backward()
    return {"called": len(called), "x.grad": x.grad}


@probe(
    "custom_functions.without_grad",
    "Does the output of a Function require grad under no_grad, and for an input without grad?",
)
def without_grad():
    with torch.no_grad():
        first = _Double.apply(leaf([1.0])).requires_grad
    return {"under no_grad": first, "constant input": _Double.apply(torch.ones(1)).requires_grad}


@probe(
    "custom_functions.retain_graph_saved_tensors",
    "Can the saved tensors of a Function be used by a second backward?",
)
def retain_graph_saved_tensors():
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x**2

    square = _function(forward, lambda ctx, g: 2 * ctx.saved_tensors[0] * g)
    x = leaf([3.0])
    y = square.apply(x).sum()
    y.backward()
    return outcome(lambda: y.backward())


@probe(
    "custom_functions.ctx_attribute_second_backward",
    "Does a second backward work when the input is kept as ctx.x?",
)
def ctx_attribute_second_backward():
    def forward(ctx, x):
        ctx.x = x
        return x**2

    square = _function(forward, lambda ctx, g: 2 * ctx.x * g)
    x = leaf([3.0])
    y = square.apply(x).sum()
    y.backward()
    y.backward()
    return x.grad


@probe("custom_functions.setup_context", "Does a Function with a separate setup_context work?")
def setup_context():
    _ = torch.autograd.Function.setup_context

    class Square(torch.autograd.Function):
        @staticmethod
        def forward(x):
            return x**2

        @staticmethod
        def setup_context(ctx, inputs, output):
            ctx.save_for_backward(inputs[0])

        @staticmethod
        def backward(ctx, g):
            return 2 * ctx.saved_tensors[0] * g

    x = leaf([3.0])
    return outcome(lambda: (Square.apply(x).sum().backward(), x.grad)[1])


@probe(
    "custom_functions.jvp_missing", "What does forward mode do with a Function that has no jvp?"
)
def jvp_missing():
    from torch.autograd import forward_ad

    def ask():
        with forward_ad.dual_level():
            dual = forward_ad.make_dual(torch.ones(1), torch.ones(1))
            return forward_ad.unpack_dual(_Double.apply(dual)).tangent

    return outcome(ask)


@probe("custom_functions.backward_returns_list", "May backward return a list in place of a tuple?")
def backward_returns_list():
    mine = _function(lambda ctx, x: x * 1, lambda ctx, g: [g])
    x = leaf([1.0])
    return outcome(lambda: (mine.apply(x).sum().backward(), x.grad)[1])


@probe("custom_functions.forward_returns_number", "May forward return a Python number?")
def forward_returns_number():
    mine = _function(lambda ctx, x: 3.0, lambda ctx, g: g)
    return outcome(lambda: mine.apply(leaf([1.0])))


@probe(
    "custom_functions.forward_returns_constant",
    "Does a Function that returns a fresh constant require grad?",
)
def forward_returns_constant():
    mine = _function(lambda ctx, x: torch.ones(1), lambda ctx, g: g)
    return mine.apply(leaf([1.0])).requires_grad
