"""What backward adds to ``.grad``, and what clears it."""

from __future__ import annotations

import threading

import torch

from probes.registry import probe
from probes.tools import leaf, names, outcome


def _trained():
    """A layer of one weight and one bias after a backward, and its optimizer."""
    layer = torch.nn.Linear(1, 1)
    layer(torch.ones(1, 1)).sum().backward()
    return layer, torch.optim.SGD(layer.parameters(), lr=0.1)


@probe("accumulation.grad_before_backward", "What is x.grad before the first backward?")
def grad_before_backward():
    return leaf([1.0]).grad


@probe(
    "accumulation.three_backwards", "What is w.grad after one, two and three backwards of 2 * w?"
)
def three_backwards():
    w, seen = leaf(1.0), []
    for _ in range(3):
        (2 * w).backward()
        seen.append(w.grad.item())
    return seen


@probe("accumulation.two_losses", "Do two backwards of two losses give the gradient of their sum?")
def two_losses():
    x, y = leaf([1.0, 2.0]), leaf([1.0, 2.0])
    (x**2).sum().backward()
    (3 * x).sum().backward()
    ((y**2).sum() + (3 * y).sum()).backward()
    return {"one after the other": x.grad, "of the sum": y.grad}


@probe("accumulation.autograd_grad_leaves_grad_alone", "Does torch.autograd.grad change x.grad?")
def autograd_grad_leaves_grad_alone():
    x = leaf(3.0)
    found = [torch.autograd.grad(x**2, x)[0].item() for _ in range(2)]
    return {"returned": found, "x.grad": x.grad}


@probe(
    "accumulation.optimizer_zero_grad_leaves", "What does optimizer.zero_grad() leave in .grad?"
)
def optimizer_zero_grad_leaves():
    layer, optimizer = _trained()
    optimizer.zero_grad()
    return layer.weight.grad


@probe("accumulation.module_zero_grad_leaves", "What does module.zero_grad() leave in .grad?")
def module_zero_grad_leaves():
    layer, _ = _trained()
    layer.zero_grad()
    return layer.weight.grad


@probe(
    "accumulation.zero_grad_set_to_none_false",
    "What does zero_grad(set_to_none=False) leave in .grad?",
)
def zero_grad_set_to_none_false():
    layer, optimizer = _trained()
    optimizer.zero_grad(set_to_none=False)
    return layer.weight.grad


@probe(
    "accumulation.index_grad_after_zero_grad",
    "What does weight.grad[0] give after optimizer.zero_grad()?",
)
def index_grad_after_zero_grad():
    layer, optimizer = _trained()
    optimizer.zero_grad()
    return outcome(lambda: layer.weight.grad[0])


@probe(
    "accumulation.same_tensor_after_second",
    "Does a second backward add into the same .grad tensor?",
)
def same_tensor_after_second():
    x = leaf([1.0])
    (x * 2).sum().backward()
    first = x.grad
    (x * 2).sum().backward()
    return {"same tensor": x.grad is first, "the first one now holds": first}


@probe(
    "accumulation.same_tensor_with_create_graph",
    "Does a second backward with create_graph=True add into the same .grad tensor?",
)
def same_tensor_with_create_graph():
    x = leaf([1.0])
    (x * 2).sum().backward()
    first = x.grad
    (x**2).sum().backward(create_graph=True)
    return {"same tensor": x.grad is first, "the first one now holds": first}


@probe(
    "accumulation.grad_requires_grad_with_create_graph",
    "Does .grad require grad after create_graph=True?",
)
def grad_requires_grad_with_create_graph():
    x = leaf([1.0])
    (x**2).sum().backward(create_graph=True)
    return x.grad.requires_grad


@probe("accumulation.backward_inputs", "Which leaves get a .grad from backward(inputs=[w])?")
def backward_inputs():
    w, b = leaf(1.0), leaf(1.0)
    (w * 2 + b).backward(inputs=[w])
    return {"w.grad": w.grad, "b.grad": b.grad}


@probe(
    "accumulation.backward_inputs_non_leaf",
    "Does backward(inputs=[y]) fill the .grad of a non-leaf y?",
)
def backward_inputs_non_leaf():
    x = leaf(1.0)
    y = x * 2
    (y * 3).backward(inputs=[y])
    return {"y.grad": y.grad, "x.grad": x.grad}


@probe(
    "accumulation.stale_grad_of_frozen_parameter",
    "Does a parameter move after requires_grad_(False), by an old .grad?",
)
def stale_grad_of_frozen_parameter():
    layer, optimizer = _trained()
    layer.weight.requires_grad_(False)
    before = layer.weight.detach().clone()
    optimizer.step()
    return not torch.equal(layer.weight, before)


def _after_step(grad, optimizer_class, **options):
    p = torch.nn.Parameter(torch.ones(1))
    optimizer = optimizer_class([p], lr=0.1, **options)
    p.grad = torch.ones(1)
    optimizer.step()
    moved = p.detach().clone()
    p.grad = grad
    optimizer.step()
    return (p.detach() - moved).item()


@probe(
    "accumulation.weight_decay_zero_or_none",
    "How far does weight decay move p when p.grad is zeros, and when it is None?",
)
def weight_decay_zero_or_none():
    def step(grad):
        p = torch.nn.Parameter(torch.ones(1))
        p.grad = grad
        torch.optim.SGD([p], lr=0.1, weight_decay=1.0).step()
        return p.item() - 1

    return {"zeros": round(step(torch.zeros(1)), 4), "None": step(None)}


@probe(
    "accumulation.momentum_zero_or_none",
    "How far does momentum move p when p.grad is zeros, and when it is None?",
)
def momentum_zero_or_none():
    return {
        "zeros": _after_step(torch.zeros(1), torch.optim.SGD, momentum=0.5),
        "None": _after_step(None, torch.optim.SGD, momentum=0.5),
    }


@probe(
    "accumulation.adam_zero_or_none",
    "How far does Adam move p when p.grad is zeros, and when it is None?",
)
def adam_zero_or_none():
    return {
        "zeros": _after_step(torch.zeros(1), torch.optim.Adam),
        "None": _after_step(None, torch.optim.Adam),
    }


@probe("accumulation.micro_batches", "Do four micro-batches give the gradient of the whole batch?")
def micro_batches():
    data = torch.arange(8.0).reshape(4, 2)
    whole, pieces = leaf([1.0, 2.0]), leaf([1.0, 2.0])
    ((data @ whole) ** 2).mean().backward()
    for row in data:
        ((row @ pieces) ** 2 / 4).backward()
    return {"whole": whole.grad, "pieces": pieces.grad}


@probe(
    "accumulation.grad_layout_of_transposed_leaf",
    "Which strides does .grad have for a leaf with strides (1, 2)?",
)
def grad_layout_of_transposed_leaf():
    x = torch.ones(3, 2).t().detach().requires_grad_()
    (x * torch.ones(2, 3)).sum().backward()
    return {"leaf": x.stride(), "grad": x.grad.stride()}


@probe(
    "accumulation.grad_of_sum_is_expanded",
    "Which strides does .grad have after x.sum().backward()?",
)
def grad_of_sum_is_expanded():
    x = leaf([1.0, 2.0])
    x.sum().backward()
    return x.grad.stride()


@probe(
    "accumulation.grads_shared_between_leaves",
    "Do a and b share one .grad memory after (a + b).sum().backward()?",
)
def grads_shared_between_leaves():
    a, b = leaf([1.0, 2.0]), leaf([1.0, 2.0])
    (a + b).sum().backward()
    a.grad.mul_(10)
    return {"a.grad times 10": a.grad, "b.grad": b.grad}


@probe("accumulation.shared_weight_twice", "What is w.grad of w * (w * 3) at w = 2?")
def shared_weight_twice():
    w = leaf(2.0)
    (w * (w * 3)).backward()
    return w.grad


@probe(
    "accumulation.threads", "What is w.grad after 4 threads with 100 backwards each on one leaf?"
)
def threads():
    w = torch.zeros(1, requires_grad=True)

    def work():
        for _ in range(100):
            (w * 1.0).sum().backward()

    workers = [threading.Thread(target=work) for _ in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    return w.grad


@probe(
    "accumulation.unused_parameter", "What is the .grad of a parameter that the loss does not use?"
)
def unused_parameter():
    used, unused = leaf(1.0), leaf(1.0)
    (used * 2 + unused.detach()).backward()
    return unused.grad


@probe(
    "accumulation.grad_of_parameter_times_zero",
    "What is the .grad of a parameter that is multiplied by 0?",
)
def grad_of_parameter_times_zero():
    used, zeroed = leaf(1.0), leaf(1.0)
    (used * 2 + zeroed * 0).backward()
    return zeroed.grad


@probe("accumulation.second_backward_saves_nothing", "For which y does y.backward() work twice?")
def second_backward_saves_nothing():
    def twice(function):
        x = leaf([1.0, 2.0])
        y = function(x)
        y.backward()
        try:
            y.backward()
        except RuntimeError:
            return "error"
        return x.grad.tolist()

    return {
        "x.sum()": twice(lambda x: x.sum()),
        "(x + 1).sum()": twice(lambda x: (x + 1).sum()),
        "x.reshape(2, 1).t().sum()": twice(lambda x: x.reshape(2, 1).t().sum()),
        "(x * 2).sum()": twice(lambda x: (x * 2).sum()),
        "(x**2).sum()": twice(lambda x: (x**2).sum()),
        "x.relu().sum()": twice(lambda x: x.relu().sum()),
        "x.exp().sum()": twice(lambda x: x.exp().sum()),
        "x.dot(x)": twice(lambda x: x.dot(x)),
        "x.mean()": twice(lambda x: x.mean()),
    }


@probe(
    "accumulation.graph_behind_total_loss",
    "How many nodes are behind total after 10 times total = total + loss?",
)
def graph_behind_total_loss():
    w, total = leaf([1.0]), 0.0
    for factor in range(10):
        total = total + (w * factor).sum()
    return len(names(total))


@probe("accumulation.deep_graph", "Does backward through 20000 additions work?")
def deep_graph():
    x = leaf([1.0])
    y = x
    for _ in range(20000):
        y = y + 1e-6
    y.backward()
    return x.grad


@probe("accumulation.allow_unused", "What does grad give for an unused input with allow_unused?")
def allow_unused():
    a, b = leaf(1.0), leaf(1.0)
    return torch.autograd.grad(a * 2, [a, b], allow_unused=True)


@probe(
    "accumulation.materialize_grads",
    "What does grad give for an unused input with materialize_grads?",
)
def materialize_grads():
    a, b = leaf(1.0), leaf(1.0)
    return torch.autograd.grad(a * 2, [a, b], materialize_grads=True)
