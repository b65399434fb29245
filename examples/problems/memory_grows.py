# /// script
# requires-python = ">=3.10"
# dependencies = ["torch"]
# ///
"""
Memory grows with every step, until it is used up
=================================================

You will be able to find the variable that keeps the graphs of all earlier steps, and to keep only its number.

How it shows:

- ``CUDA out of memory`` comes after hundreds of iterations, although the first ones ran with the same batch size.
- RAM or the GPU memory in ``nvidia-smi`` climbs from step to step and from epoch to epoch, like a memory leak.
- You add up a running loss with ``total_loss += loss``, to print the average of the epoch.
- Losses, outputs or log-probabilities go into a list: for a plot, for metrics, for the rewards of an RL episode.
- Training runs, but the validation loop uses up the memory and the process is killed.
- ``del loss``, ``gc.collect()`` and ``cuda.empty_cache()`` change nothing.

Know first: ``before_and_after_backward``, ``detach_is_a_constant``.
"""

import gc
import warnings
import weakref

import torch

# %%
# The shortest program that shows it
# ----------------------------------
#
# A training loop adds up its losses. Count the nodes of the graph behind the sum.


def nodes_behind(value):
    seen, waiting = set(), [value.grad_fn]
    while waiting:
        node = waiting.pop()
        if node is not None and node not in seen:
            seen.add(node)
            waiting.extend(following for following, _ in node.next_functions)
    return len(seen)


# %%
# Each loss has a graph of two nodes: one of the product, one of the leaf ``w``.

w = torch.tensor(1.0, requires_grad=True)
total = 0
for step in (1, 2, 3):
    loss = w * step
    loss.backward()
    total = total + loss
    print("step", step, "-", nodes_behind(total), "nodes")
assert nodes_behind(loss) == 2

# %%
# Go on to step 100.

for step in range(4, 101):
    loss = w * step
    loss.backward()
    total = total + loss
# Predict first: how many nodes are behind total now?
print(nodes_behind(total))
assert nodes_behind(total) == 1 + 2 * 100

# %%
# Why
# ---
#
# ``total`` is a result of ``loss``, and ``loss`` requires a gradient. So the
# addition is recorded too. As long as you keep ``total``, it keeps the graphs of all
# steps, back to the first one.
#
# A node is small. What costs memory are the tensors that nodes save. This step saves
# two: the product saves ``x``, and relu its result. Count those that are alive after
# ten steps. A hook puts each one into a box. ``alive`` counts the boxes, and does
# not keep them alive.


class Box:
    def __init__(self, tensor):
        self.tensor = tensor


def pack(tensor):
    box = Box(tensor)
    alive.add(box)
    return box


def measure():
    return (w * x).relu().sum()


# %%
# ``backward`` frees them, and only the nodes stay. Without ``backward``, as in a loop
# that only measures, all of them stay as long as you keep the losses.

x = torch.ones(3)
for name in ("training", "measuring"):
    alive = weakref.WeakSet()
    with torch.autograd.graph.saved_tensors_hooks(pack, lambda b: b.tensor):
        losses = [measure() for _ in range(10)]
    if name == "training":
        for loss in losses:
            loss.backward()
    print(name, len(alive))
    assert len(alive) == (0 if name == "training" else 10 * 2)

# %%
# In a real network these are the activations of every layer, for every batch.
#
# The fix
# -------
#
# Keep the number and not the tensor: ``item()`` gives a Python number, ``detach()`` a
# tensor without a graph.

number, tensor = 0.0, torch.tensor(0.0)
for step in range(1, 101):
    loss = w * step
    loss.backward()
    number += loss.item()
    tensor += loss.detach()
assert isinstance(number, float) and nodes_behind(tensor) == 0
torch.testing.assert_close(tensor.item(), number)
torch.testing.assert_close(total.item(), number)

# %%
# In a validation loop
# --------------------
#
# Run it under ``torch.no_grad()``. Nothing is recorded, and nothing is saved.

alive = weakref.WeakSet()
hooks = torch.autograd.graph.saved_tensors_hooks(pack, lambda b: b.tensor)
with torch.no_grad(), hooks:
    losses = [measure() for _ in range(10)]
assert len(alive) == 0 and losses[0].grad_fn is None

# %%
# In a list
# ---------
#
# A list keeps each tensor, and each tensor keeps its graph. Append ``y.detach()`` in
# place of ``y``.

outputs = [measure() for _ in range(10)]
numbers = [measure().detach() for _ in range(10)]
assert nodes_behind(outputs[0]) > 0 and nodes_behind(numbers[0]) == 0

# %%
# With create_graph
# -----------------
#
# ``backward(create_graph=True)`` stores a gradient that has a graph, and this graph
# leads back to the leaf. Of the releases that we ran, 1.13 and all later ones warn.

leaf = torch.tensor(3.0, requires_grad=True)
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    (leaf**2).backward(create_graph=True)
for warning in caught:
    print(f"UserWarning: {str(warning.message).partition('. ')[0]}")
assert leaf.grad.grad_fn is not None

# %%
# The leaf holds its gradient, and the gradient holds the leaf. Neither ``del`` nor
# Python's garbage collector frees them, until you set ``.grad`` to ``None``.

seen = weakref.ref(leaf)
del leaf
gc.collect()
assert seen() is not None
seen().grad = None
assert seen() is None

# %%
# The popular fix that does not work
# ----------------------------------
#
# People try ``del loss``, the garbage collector, and to empty the cache. None of
# them can free what ``total`` of the first program still holds.

del loss
gc.collect()
torch.cuda.empty_cache()
print(nodes_behind(total), "nodes")
assert nodes_behind(total) == 201

# %%
# Find the line in your own code
# ------------------------------
#
# Call this at the end of each step, with ``vars()``, or with ``vars(self)`` in a
# trainer class. It names the variables whose tensors have a graph, and counts the
# nodes. Look for the variable whose count grows from step to step.


def graphs_kept(names):
    kept = {}
    for name, value in names.items():
        for tensor in value if isinstance(value, list) else [value]:
            if torch.is_tensor(tensor) and tensor.grad_fn is not None:
                kept[name] = kept.get(name, 0) + nodes_behind(tensor)
    return kept


outputs, numbers = [], []
for _ in range(2):
    outputs.append(measure())
    numbers.append(measure().detach())
    print(graphs_kept({"outputs": outputs, "numbers": numbers}))
assert "outputs" in graphs_kept(vars())
assert "numbers" not in graphs_kept(vars())
