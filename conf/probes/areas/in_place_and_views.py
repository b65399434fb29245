"""Changes in place, views, and the version counter."""

from __future__ import annotations

import torch

from probes.registry import probe
from probes.tools import leaf, names, outcome


def _base():
    return leaf([1.0, 2.0, 3.0]) * 1


@probe(
    "in_place_and_views.version_counter",
    "How does x._version go with mul_, a view's mul_, .data's mul_ and detach()'s mul_?",
)
def version_counter():
    x = torch.ones(2)
    seen = {"new": x._version}
    x.mul_(2)
    seen["x.mul_"] = x._version
    x[:1].mul_(2)
    seen["x[:1].mul_"] = x._version
    x.data.mul_(2)
    seen["x.data.mul_"] = x._version
    x.detach().mul_(2)
    seen["x.detach().mul_"] = x._version
    x.numpy()[:] = 5
    seen["x.numpy()[:] ="] = x._version
    return seen


@probe(
    "in_place_and_views.version_after_optimizer_step",
    "By how much does a step of SGD raise the weight's version?",
)
def version_after_optimizer_step():
    p = torch.nn.Parameter(torch.ones(1))
    p.grad = torch.ones(1)
    before = p._version
    torch.optim.SGD([p], lr=0.1).step()
    return p._version - before


@probe(
    "in_place_and_views.leaf_under_no_grad",
    "Is w -= 0.5 allowed on a leaf under no_grad, and does w stay a leaf?",
)
def leaf_under_no_grad():
    w = leaf([1.0])
    with torch.no_grad():
        w -= 0.5
    return {"w": w, "is_leaf": w.is_leaf, "requires_grad": w.requires_grad}


@probe(
    "in_place_and_views.rows_from_iteration",
    "Can rows got by iterating over y be changed in place?",
)
def rows_from_iteration():
    y = torch.ones(2, 2, requires_grad=True) * 1

    def change():
        for row in y:
            row.mul_(2)
        return y

    return outcome(change)


@probe("in_place_and_views.unbind_then_in_place", "Can a result of unbind be changed in place?")
def unbind_then_in_place():
    return outcome(lambda: _base().unbind()[0].mul_(2))


@probe("in_place_and_views.split_then_in_place", "Can a result of split be changed in place?")
def split_then_in_place():
    return outcome(lambda: _base().split(1)[0].mul_(2))


@probe("in_place_and_views.chunk_then_in_place", "Can a result of chunk be changed in place?")
def chunk_then_in_place():
    return outcome(lambda: _base().chunk(3)[0].mul_(2))


@probe("in_place_and_views.index_then_in_place", "Can y[0] be changed in place?")
def index_then_in_place():
    return outcome(lambda: _base()[0].mul_(2))


@probe("in_place_and_views.expand_then_in_place", "Can a result of expand be changed in place?")
def expand_then_in_place():
    return outcome(lambda: (leaf([1.0]) * 1).expand(3).mul_(2))


@probe("in_place_and_views.column_of_parameter", "Can W[:, 0] = 0 be assigned on a Parameter?")
def column_of_parameter():
    weight = torch.nn.Parameter(torch.ones(2, 2))

    def assign():
        weight[:, 0] = 0
        return {"is_leaf": weight.is_leaf}

    return outcome(assign)


@probe(
    "in_place_and_views.two_views_alive",
    "Is the gradient right after mul_ with two views of y alive?",
)
def two_views_alive():
    x = leaf([2.0, 3.0])
    y = x * x
    first, second = y[:1], y[1:]
    first.mul_(9)
    (first.sum() + second.sum()).backward()
    return {
        "x.grad": x.grad,
        "first": type(first.grad_fn).__name__,
        "second": type(second.grad_fn).__name__,
    }


@probe(
    "in_place_and_views.data_mul_is_silent",
    "What gradient does y = exp(x) give after y.data.mul_(0)?",
)
def data_mul_is_silent():
    x = leaf([1.0])
    y = x.exp()
    y.data.mul_(0)
    y.sum().backward()
    return x.grad


@probe(
    "in_place_and_views.numpy_alias_is_silent",
    "What gradient does y = exp(x) give after zeros are written through NumPy?",
)
def numpy_alias_is_silent():
    x = leaf([1.0])
    y = x.exp()
    y.detach().numpy()[:] = 0
    y.sum().backward()
    return x.grad


@probe(
    "in_place_and_views.detach_mul_is_caught",
    "What happens in backward after y.detach().mul_(0) on y = exp(x)?",
)
def detach_mul_is_caught():
    x = leaf([1.0])
    y = x.exp()
    y.detach().mul_(0)
    return outcome(lambda: y.sum().backward())


@probe("in_place_and_views.add_after_exp", "What happens in backward after y = exp(x), y += 1?")
def add_after_exp():
    y = leaf([1.0]).exp()
    y += 1
    return outcome(lambda: y.sum().backward())


@probe(
    "in_place_and_views.relu_after_sigmoid", "What happens in backward after relu_ on a sigmoid?"
)
def relu_after_sigmoid():
    return outcome(lambda: leaf([1.0]).sigmoid().relu_().sum().backward())


@probe("in_place_and_views.add_after_mul_by_number", "Is y += 1 after y = 2 * x harmless?")
def add_after_mul_by_number():
    x = leaf([1.0])
    y = 2 * x
    y += 1
    y.sum().backward()
    return x.grad


@probe(
    "in_place_and_views.optimizer_step_between_backwards",
    "What does an optimizer step between two backwards of one graph do?",
)
def optimizer_step_between_backwards():
    layers = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.Linear(2, 1))
    optimizer = torch.optim.SGD(layers.parameters(), lr=0.1)
    out = layers(torch.ones(1, 2, requires_grad=True))
    out.sum().backward(retain_graph=True)
    optimizer.step()
    return outcome(lambda: out.sum().backward())


@probe(
    "in_place_and_views.view_made_in_no_grad",
    "Can a view made under no_grad be changed in place later?",
)
def view_made_in_no_grad():
    y = _base()
    with torch.no_grad():
        v = y[:2]
    return outcome(lambda: v.mul_(2))


@probe(
    "in_place_and_views.view_of_leaf_made_in_no_grad",
    "Can a view of a leaf made under no_grad be changed in place later?",
)
def view_of_leaf_made_in_no_grad():
    x = leaf([1.0, 2.0])
    with torch.no_grad():
        v = x[:1]
    return outcome(lambda: v.mul_(2))


@probe(
    "in_place_and_views.view_of_detached",
    "Can a view of y.detach() be changed in place, and does y see it?",
)
def view_of_detached():
    y = _base()
    y.detach()[:1].mul_(10)
    return y


@probe("in_place_and_views.detach_in_place_of_view", "Can detach_() be called on a view?")
def detach_in_place_of_view():
    return outcome(lambda: _base()[:1].detach_())


@probe(
    "in_place_and_views.buffer_gets_history",
    "Does m require grad after m = zeros(3) and m[0] = x?",
)
def buffer_gets_history():
    m, x = torch.zeros(3), leaf(1.0)
    m[0] = x
    m.sum().backward()
    return {"requires_grad": m.requires_grad, "is_leaf": m.is_leaf, "x.grad": x.grad}


@probe(
    "in_place_and_views.old_view_of_buffer",
    "Does a view taken before m[0] = x require grad after it?",
)
def old_view_of_buffer():
    m = torch.zeros(3)
    view = m[:1]
    m[0] = leaf(1.0)
    return {
        "requires_grad": view.requires_grad,
        "nodes": names(view) if view.requires_grad else None,
    }


@probe(
    "in_place_and_views.copy_into_leaf",
    "What does w.copy_(v) on a leaf do, without and with no_grad?",
)
def copy_into_leaf():
    w = leaf([1.0])
    without = outcome(lambda: w.copy_(torch.zeros(1)))
    with torch.no_grad():
        w.copy_(torch.zeros(1))
    return {"without": without, "with": w}


@probe(
    "in_place_and_views.result_type", "What does integer mul_ by a float that requires grad do?"
)
def result_type():
    return outcome(lambda: torch.ones(1, dtype=torch.int64).mul_(leaf([2.0])))


@probe("in_place_and_views.broadcast_in_place", "Can y += v make y larger?")
def broadcast_in_place():
    y = leaf([1.0]) * 1

    def add():
        return y.add_(torch.ones(3))

    return outcome(add)


@probe("in_place_and_views.grad_of_masked_assignment", "Which gradient remains after y[mask] = 0?")
def grad_of_masked_assignment():
    x = leaf([1.0, 2.0, 3.0])
    y = x * 1
    y[torch.tensor([True, False, True])] = 0
    y.sum().backward()
    return x.grad


@probe("in_place_and_views.set_data_of_other_shape", "Can w.data be given another shape?")
def set_data_of_other_shape():
    w = leaf([1.0])

    def assign():
        w.data = torch.zeros(3)
        return list(w.shape)

    return outcome(assign)


@probe("in_place_and_views.resize_of_leaf", "Can a leaf that requires grad be resized in place?")
def resize_of_leaf():
    return outcome(lambda: leaf([1.0]).resize_(3).shape)


@probe(
    "in_place_and_views.set_inside_no_grad_after_save",
    "Is a change under no_grad of a saved tensor caught?",
)
def set_inside_no_grad_after_save():
    x = leaf([2.0])
    y = x * x
    with torch.no_grad():
        x.add_(1)
    return outcome(lambda: y.sum().backward())


@probe(
    "in_place_and_views.inference_view_in_place",
    "Can a tensor made in inference mode be changed in place outside?",
)
def inference_view_in_place():
    with torch.inference_mode():
        x = torch.ones(2)
    return outcome(lambda: x.mul_(2))


@probe(
    "in_place_and_views.is_view_and_base",
    "Which of reshape, flatten, contiguous, T and to return views of y?",
)
def is_view_and_base():
    y = torch.ones(2, 2)
    made = {
        "y.reshape(4)": y.reshape(4),
        "y.T.reshape(4)": y.T.reshape(4),
        "y.flatten()": y.flatten(),
        "y.contiguous()": y.contiguous(),
        "y.T": y.T,
        "y.to(torch.float32)": y.to(torch.float32),
        "y.detach()": y.detach(),
        "y.data": y.data,
        "y[[0]]": y[[0]],
        "y.expand(2, 2)": y.expand(2, 2),
    }
    return {name: t._is_view() for name, t in made.items()}


@probe("in_place_and_views.shared_memory_of_detach", "Does a write to x.detach() change x?")
def shared_memory_of_detach():
    x = leaf([1.0, 2.0])
    x.detach()[0] = 5
    return x


@probe(
    "in_place_and_views.backward_twice_by_in_place",
    "Does y.mul_(2) between two backwards with retain_graph matter?",
)
def backward_twice_by_in_place():
    x = leaf([3.0])
    y = x * 1
    z = y.sum()
    z.backward(retain_graph=True)
    y.mul_(2)
    z.backward()
    return x.grad


@probe("in_place_and_views.parameter_data_swap", "Is p = p - lr * p.grad still a leaf?")
def parameter_data_swap():
    w = leaf([1.0])
    (w * 3).sum().backward()
    w = w - 0.1 * w.grad
    return {"is_leaf": w.is_leaf, "grad_fn": type(w.grad_fn).__name__}
