"""Checkpointing: what it recomputes, what it refuses, what it asks for."""

from __future__ import annotations

import torch
import torch.nn.functional as F  # noqa: N812
from torch.utils.checkpoint import checkpoint

from probes.registry import probe
from probes.tools import leaf, outcome


@probe(
    "checkpoint.default_is_reentrant", "Which variant does checkpoint use without use_reentrant?"
)
def default_is_reentrant():
    return type(checkpoint(torch.sin, leaf([1.0])).grad_fn).__name__


@probe("checkpoint.not_reentrant_node", "Which node does checkpoint(use_reentrant=False) record?")
def not_reentrant_node():
    return type(checkpoint(torch.sin, leaf([1.0]), use_reentrant=False).grad_fn).__name__


@probe("checkpoint.forward_runs", "How often does the function run in forward, and in backward?")
def forward_runs():
    def count(**options):
        runs = []

        def function(x):
            runs.append(1)
            return x.exp().sin()

        y = checkpoint(function, leaf([1.0]), **options)
        before = len(runs)
        y.sum().backward()
        return [before, len(runs) - before]

    return {"reentrant": count(use_reentrant=True), "not reentrant": count(use_reentrant=False)}


@probe("checkpoint.gradient", "Is the gradient the same as without checkpoint?")
def gradient():
    def grad(function):
        x = leaf([1.0])
        function(x).sum().backward()
        return x.grad

    def work(x):
        return (x * x).sin()

    return {
        "plain": grad(work),
        "reentrant": grad(lambda x: checkpoint(work, x, use_reentrant=True)),
        "not reentrant": grad(lambda x: checkpoint(work, x, use_reentrant=False)),
    }


@probe(
    "checkpoint.early_stop",
    "How many operations after the last saved tensor does the recomputation run?",
)
def early_stop():
    runs = []

    def function(x):
        y = x.exp()
        runs.append("after exp")
        y = y + 1
        runs.append("after add")
        return y

    y = checkpoint(function, leaf([1.0]), use_reentrant=False)
    runs.clear()
    y.sum().backward()
    return runs


@probe(
    "checkpoint.input_without_grad",
    "Does the weight inside get a gradient when no input requires grad?",
)
def input_without_grad():
    def ask(use_reentrant):
        layer = torch.nn.Linear(1, 1)
        y = checkpoint(layer, torch.ones(1, 1), use_reentrant=use_reentrant)
        if not y.requires_grad:
            return "the output does not require grad"
        y.sum().backward()
        return layer.weight.grad

    return {"reentrant": ask(True), "not reentrant": ask(False)}


@probe("checkpoint.autograd_grad", "Does torch.autograd.grad work through a checkpoint?")
def autograd_grad():
    def ask(use_reentrant):
        x = leaf([1.0])
        y = checkpoint(torch.exp, x, use_reentrant=use_reentrant).sum()
        return outcome(lambda: torch.autograd.grad(y, x)[0])

    return {"reentrant": ask(True), "not reentrant": ask(False)}


@probe(
    "checkpoint.dropout_mask",
    "Does the recomputation use the same dropout mask, with and without preserve_rng_state?",
)
def dropout_mask():
    def agree(preserve):
        torch.manual_seed(0)
        x = torch.ones(1000, requires_grad=True)
        y = checkpoint(
            lambda t: F.dropout(t * t, 0.5) * t,
            x,
            use_reentrant=False,
            preserve_rng_state=preserve,
        )
        mask = y != 0
        y.sum().backward()
        return bool(((x.grad != 0) == mask).all())

    return {"preserve_rng_state=True": agree(True), "preserve_rng_state=False": agree(False)}


@probe(
    "checkpoint.other_shape_on_recomputation",
    "What happens when the recomputation saves a tensor of another shape?",
)
def other_shape_on_recomputation():
    runs = []

    def function(x):
        runs.append(1)
        return x[: 3 if len(runs) == 1 else 2].sin().cos().sum()

    y = checkpoint(function, leaf([1.0, 1.0, 1.0, 1.0]), use_reentrant=False)
    return outcome(lambda: y.backward())


@probe(
    "checkpoint.other_number_of_saved_tensors",
    "What happens when the recomputation saves fewer tensors?",
)
def other_number_of_saved_tensors():
    runs = []

    def function(x):
        runs.append(1)
        return x.sin().cos() if len(runs) == 1 else x.sin()

    y = checkpoint(function, leaf([1.0]), use_reentrant=False)
    return outcome(lambda: y.sum().backward())


@probe("checkpoint.keyword_argument", "May the function take keyword arguments?")
def keyword_argument():
    def ask(use_reentrant):
        return outcome(
            lambda: checkpoint(lambda x, k=1: x * k, leaf([1.0]), use_reentrant=use_reentrant, k=3)
        )

    return {"not reentrant": ask(False), "reentrant": ask(True)}


@probe("checkpoint.second_derivative", "Does create_graph=True work through a checkpoint?")
def second_derivative():
    def ask(use_reentrant):
        x = leaf([2.0])
        y = checkpoint(lambda t: t**3, x, use_reentrant=use_reentrant).sum()

        def differentiate():
            y.backward(create_graph=True)
            return torch.autograd.grad(x.grad.sum(), x)[0]

        return outcome(differentiate)

    return {"reentrant": ask(True), "not reentrant": ask(False)}


@probe(
    "checkpoint.second_backward", "Does a second backward with retain_graph=True recompute again?"
)
def second_backward():
    runs = []

    def function(x):
        runs.append(1)
        return x.exp()

    x = leaf([0.0])
    y = checkpoint(function, x, use_reentrant=False).sum()
    y.backward(retain_graph=True)
    y.backward()
    return {"runs": len(runs), "x.grad": x.grad}


@probe("checkpoint.without_backward", "Does the function run again when backward is never called?")
def without_backward():
    runs = []
    checkpoint(lambda x: runs.append(1) or x.exp(), leaf([0.0]), use_reentrant=False)
    return len(runs)


@probe("checkpoint.nested", "Does a checkpoint inside a checkpoint work?")
def nested():
    x = leaf([1.0])

    def inner(t):
        return checkpoint(torch.sin, t, use_reentrant=False)

    y = checkpoint(lambda t: inner(t).exp(), x, use_reentrant=False)
    return outcome(lambda: (y.sum().backward(), x.grad)[1])


@probe(
    "checkpoint.global_counter",
    "Is a side effect of the function (a counter in batch norm) repeated?",
)
def global_counter():
    norm = torch.nn.BatchNorm1d(1)
    y = checkpoint(norm, torch.tensor([[1.0], [2.0]], requires_grad=True), use_reentrant=False)
    y.sum().backward()
    return int(norm.num_batches_tracked)


@probe(
    "checkpoint.detached_inside", "Does a detach() inside the function still stop the gradient?"
)
def detached_inside():
    x = leaf([2.0])
    checkpoint(lambda t: t * t.detach(), x, use_reentrant=False).sum().backward()
    return x.grad
