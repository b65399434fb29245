# /// script
# requires-python = ">=3.10"
# dependencies = ["torch", "torchviz", "setuptools"]
# ///
# Pictures show in a notebook or in an editor's cells, where Graphviz's `dot` is installed; all else runs without.
"""
Find out why a gradient is None
===============================

You will be able to find the cause of a ``.grad`` that is ``None`` among eight, with a check that you can paste into your code.

No error, no warning, and ``x.grad`` is ``None``. Each cause takes five lines
here. At the end stands a function that tells them apart.

Know first: ``leaf_or_not``, ``clearing_gradients``, ``five_ways_to_stop``.
"""

import warnings

import torch
from torchviz import make_dot

# %%
# 1. Backward has not run
# -----------------------
#
# The forward run computes no gradient.

x = torch.tensor(2.0, requires_grad=True)
y = x**2
assert x.grad is None

# %%
# 2. It was never asked for
# -------------------------
#
# A tensor requires no gradient unless you say so. A result of two such tensors
# has no graph; here another leaf brings one.

x, w = torch.tensor(2.0), torch.tensor(5.0, requires_grad=True)
(x * w).backward()
assert x.grad is None
torch.testing.assert_close(w.grad.item(), 2.0)

# %%
# 3. It is not a leaf
# -------------------
#
# The name ``x`` stands for the *result* of an operation: the leaf is the tensor
# before. ``.to(...)``, ``.cuda()``, ``.double()`` and ``.reshape(...)`` do this.

x = torch.tensor([2.0, 3.0], requires_grad=True).double()
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    x.sum().backward()
    # Predict first: is x a leaf? True or False
    print(x.is_leaf)
    assert x.grad is None
assert not x.is_leaf

# %%
# This cause has a warning. It was given when ``x.grad`` was read:

print(str(caught[0].message).partition(". If you")[0])
assert len(caught) == 1

# %%
# Move first, require after: ``x = torch.tensor(...).double().requires_grad_()``.
#
# 4. It was cut off
# -----------------
#
# ``detach``, and also a new tensor made from its numbers, end the graph.

x = torch.tensor(2.0, requires_grad=True)
w = torch.tensor(5.0, requires_grad=True)
(w * x.detach()).backward()
assert x.grad is None

# %%
# 5. A mode was off
# -----------------
#
# Under ``no_grad`` nothing is recorded.

x = torch.tensor(2.0, requires_grad=True)
with torch.no_grad():
    square = x**2
(w * square).backward()
assert x.grad is None

# %%
# 6. The loss does not use it
# ---------------------------

x = torch.tensor(2.0, requires_grad=True)
w = torch.tensor(5.0, requires_grad=True)
unused = x**2
loss = 3 * w
make_dot(loss, params={"x": x, "w": w, "loss": loss})

# %%
# ``x`` does not stand in the picture. What is not in the picture gets nothing.

loss.backward()
# Predict first: what is x.grad?
print(x.grad)
assert x.grad is None
torch.testing.assert_close(w.grad.item(), 3.0)

# %%
# 7. It was cleared
# -----------------
#
# Since PyTorch 2.0, ``zero_grad()`` sets ``.grad`` to ``None``. Before, it
# filled it with zeros.

w = torch.nn.Parameter(torch.tensor(5.0))
optimizer = torch.optim.SGD([w], lr=0.1)
(w * 2).backward()
optimizer.zero_grad()
assert w.grad is None

# %%
# 8. It was returned
# ------------------
#
# ``torch.autograd.grad`` returns gradients, and stores none.

x = torch.tensor(2.0, requires_grad=True)
(gradient,) = torch.autograd.grad(x**2, x)
print("returned:", gradient.item(), " stored:", x.grad)
assert x.grad is None

# %%
# One check for all
# -----------------
#
# Four of the causes can be read off the tensor, and one off the graph: walk
# from the loss to all of its leaves, and see whether yours is among them.


def leaves_of(loss):
    nodes, seen, leaves = [loss.grad_fn], set(), []
    while nodes:
        node = nodes.pop()
        if node is None or node in seen:
            continue
        seen.add(node)
        if hasattr(node, "variable"):
            leaves.append(node.variable)
        nodes.extend(following for following, _ in node.next_functions)
    return leaves


# %%
# Call it before ``backward``, or after: the nodes stay.


def why_none(x, loss):
    if not x.requires_grad:
        return "x does not require a gradient (2)"
    if not x.is_leaf:
        return "x is not a leaf: retain_grad(), or ask the leaf (3)"
    if not any(leaf is x for leaf in leaves_of(loss)):
        return "no way leads from the loss to x (4, 5, 6)"
    return "backward did not run, or was cleared, or returned (1, 7, 8)"


# %%
# Try it on some of the cases.

x = torch.tensor(2.0, requires_grad=True)
w = torch.tensor(5.0, requires_grad=True)
print(why_none(x, w * x.detach()))
print(why_none(x * 1, x * w))
print(why_none(torch.tensor(2.0), x * w))
print(why_none(x, x * w))
assert "no way" in why_none(x, w * x.detach())
assert "not a leaf" in why_none(x * 1, x * w)

# %%
# What goes wrong: making the message go away
# -------------------------------------------
#
# If *all* ways are cut, backward refuses. A known "fix" is to call
# ``requires_grad_()`` on the loss. The error is gone, and nothing learns:

x = torch.tensor(2.0, requires_grad=True)
loss = (x.detach() ** 2).requires_grad_()
loss.backward()
# Predict first: what is x.grad?
print(x.grad)
assert x.grad is None

# %%
# What you can do now
# -------------------
#
# - You can name eight causes, and ask the tensor and the graph which one it is.
# - You know the two that are easy to overlook: the name now stands for another
#   tensor, and the loss does not use it.
#
# Exercises
# ---------
#
# 1. Read the lines. Which cause is it?

x = torch.ones(4, requires_grad=True).reshape(2, 2)
loss = x.sum()
loss.backward()
# Predict first: the number of the cause
print(why_none(x, loss).rpartition("(")[2].rstrip(")"))
assert "(3)" in why_none(x, loss)

# %%
# 2. The loss uses ``x`` rounded to an integer. Is the gradient ``None``, 0 or
#    another number?

x = torch.tensor(2.4, requires_grad=True)
loss = (x.round() - 1) ** 2
loss.backward()
# Predict first: what is x.grad?
print(x.grad.item())
torch.testing.assert_close(x.grad.item(), 0.0)

# %%
# That is not ``None`` but 0: ``round`` is recorded, and its slope is 0
# everywhere between its jumps. A gradient of 0 and no gradient are two
# different problems.
