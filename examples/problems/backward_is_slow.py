# /// script
# requires-python = ">=3.10"
# dependencies = ["torch"]
# ///
"""
backward() is slow, or slower with every step
=============================================

You will be able to count the nodes that ``backward()`` has to visit, and to make them fewer.

How it shows:

- Each training iteration takes longer than the one before, and the time is spent in ``loss.backward()``.
- A recurrent network (RNN, LSTM) over a long sequence, or a simulation of many time steps, hangs in ``backward``.
- The forward pass has a Python loop over elements, rows or samples, and ``backward`` takes far longer than the forward.
- You fear a stack overflow, a segmentation fault or Python's recursion limit in a very deep graph of thousands of operations.

Know first: ``step_through_backward``, ``used_up_graph``.
"""

import weakref

import torch
from torch.utils.checkpoint import checkpoint

# %%
# The shortest program that shows it
# ----------------------------------
#
# A state goes from step to step, and each step calls ``backward``. Count the nodes
# of its graph.


def graph_of(value):
    seen, waiting = {}, [value.grad_fn]
    while waiting:
        node = waiting.pop()
        if node is not None and node not in seen:
            seen[node] = None
            waiting.extend(following for following, _ in node.next_functions)
    return list(seen)


# %%
# The state is multiplied by the weight in every step.

w = torch.tensor(1.0, requires_grad=True)
state = torch.tensor(1.0)
for step in range(1, 101):
    state = state * w
    state.backward(retain_graph=True)
    if step in (1, 10, 100):
        print("step", step, "has", len(graph_of(state)), "nodes")
assert len(graph_of(state)) == 100 + 1

# %%
# Why
# ---
#
# ``backward`` visits every node behind the value once: here the products of all
# steps so far, and the one node of the leaf ``w``. So step 100 does the work of 100
# steps again. Count the visits:

visits = []
nodes = graph_of(state)
handles = [node.register_prehook(lambda _: visits.append(1)) for node in nodes]
state.backward(retain_graph=True)
for handle in handles:
    handle.remove()
assert len(visits) == len(nodes) == 101

# %%
# The fix
# -------
#
# Decide how far back a gradient has to go, and ``detach`` the state there: in every
# step, or in every tenth one, as here (truncated backpropagation through time).

state = torch.tensor(1.0)
sizes = []
for step in range(100):
    if step % 10 == 0:
        state = state.detach()
    state = state * w
    sizes.append(len(graph_of(state)))
# Predict first: how many nodes does the largest graph have?
print(max(sizes))
assert max(sizes) == 10 + 1

# %%
# This changes the gradient too: you get the slope of :math:`w^{10}` at 1, which is
# 10, and not that of :math:`w^{100}`, which is 100. If you need the gradient through
# all steps, do not detach, and call ``backward`` once, after the last step.

torch.testing.assert_close(torch.autograd.grad(state, w)[0].item(), 10.0)
state = torch.tensor(1.0)
for _ in range(100):
    state = state * w
torch.testing.assert_close(torch.autograd.grad(state, w)[0].item(), 100.0)

# %%
# A Python loop over elements
# ---------------------------
#
# Each element costs nodes of its own: one that picks it, one for the product, one
# for the sum. One operation on the whole tensor gives the same gradient.

x = torch.arange(100.0, requires_grad=True)
by_element = 0
for element in range(100):
    by_element = by_element + 3 * x[element]
at_once = (3 * x).sum()
print(len(graph_of(by_element)), "nodes and", len(graph_of(at_once)))
assert len(graph_of(by_element)) > 50 * len(graph_of(at_once))
(slow,) = torch.autograd.grad(by_element, x)
(fast,) = torch.autograd.grad(at_once, x)
torch.testing.assert_close(slow, fast)

# %%
# A very deep graph
# -----------------
#
# A deep graph takes time, but there is no stack overflow: ``backward`` works with
# 50000 operations in a row. The first one gets a hook. It lives as long as its node,
# so it shows when that node is freed.


def marker(gradient):
    return None


x = torch.tensor(1.0, requires_grad=True)
y = x + 1
y.register_hook(marker)
seen = weakref.ref(marker)
del marker
for _ in range(49_999):
    y = y + 1
y.backward()
print(x.grad.item())
torch.testing.assert_close(x.grad.item(), 1.0)

# %%
# ``del y`` frees all nodes, down to the first one, also without a stack overflow.

assert seen() is not None
del y
assert seen() is None

# %%
# The popular fix that does not work
# ----------------------------------
#
# Checkpointing is often proposed for long sequences. It saves memory, and that costs
# time: ``backward`` has to run the forward function once more.

calls = []


def block(value):
    calls.append("forward")
    return torch.sin(value)


x = torch.tensor(1.0, requires_grad=True)
y = checkpoint(block, x, use_reentrant=False)
assert len(calls) == 1
y.backward()
print(len(calls), "forward runs")
assert len(calls) == 2

# %%
# Another one is ``retain_graph=True`` in place of ``detach``. Without both, the second
# step fails (``backward_twice``). ``retain_graph=True`` ends that error, and the
# graphs grow, as in the first program.

state = torch.tensor(1.0) * w
state.backward()
state = state * w
try:
    state.backward()
except RuntimeError as error:
    assert "a second time" in str(error)
else:
    raise AssertionError("the second step must fail")
assert len(graph_of(state)) == 2 + 1

# %%
# Find the line in your own code
# ------------------------------
#
# Print ``len(graph_of(loss))`` in each step, before ``backward``. If it grows, a value
# of an earlier step takes part. If it is large from the start, the most frequent
# names show which loop made it so.


def most_frequent(loss, count=3):
    names = [node.name() for node in graph_of(loss)]
    names = sorted(set(names), key=lambda name: (-names.count(name), name))
    return names[:count]


print(most_frequent(by_element))
assert "SelectBackward0" in most_frequent(by_element)

# %%
# ``SelectBackward0`` is ``x[element]``. Also check that anomaly mode was not left on
# after a search for an error. It stores a traceback with every operation.

assert not torch.is_anomaly_enabled()
with torch.autograd.set_detect_anomaly(True):
    assert torch.is_anomaly_enabled()
    recorded = torch.sin(x).grad_fn.metadata
assert "traceback_" in recorded
assert "traceback_" not in torch.sin(x).grad_fn.metadata
