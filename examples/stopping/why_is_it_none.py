# /// script
# requires-python = ">=3.10"
# dependencies = ["torch", "torchviz", "setuptools"]
# ///
# Pictures show in a notebook or in an editor's cells, where Graphviz's `dot` is installed; all else runs without.
"""
Find out why a gradient is None
===============================

You will be able to find the cause of a ``.grad`` that is ``None`` among eight, with a check that you can paste into your code.

There is no error, and ``x.grad`` is ``None``. This lesson shows eight causes,
a few lines each. Then it writes a function that sorts them.

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
# A tensor requires no gradient unless you say so. Here ``w`` requires one, so
# there is a graph, but ``x`` has no part in it.

x, w = torch.tensor(2.0), torch.tensor(5.0, requires_grad=True)
(x * w).backward()
assert x.grad is None
torch.testing.assert_close(w.grad.item(), 2.0)

# %%
# 3. It is not the leaf
# ---------------------
#
# Here ``x`` is converted to float64 in the line that makes it. The name ``x``
# stands for the *result*. The leaf is the tensor before it, which has no name,
# and that tensor gets the gradient. ``.reshape(...)`` and ``.view(...)`` do
# the same, and so do ``.to(...)`` and ``.cuda()`` where they change the type
# or the device. This cause has a warning, when ``x.grad`` is read:

x = torch.tensor([2.0, 3.0], requires_grad=True).double()
assert x.requires_grad and not x.is_leaf
assert not torch.ones(4, requires_grad=True).view(2, 2).is_leaf
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    x.sum().backward()
    assert x.grad is None
print(str(caught[0].message).partition(". If you")[0])
assert len(caught) == 1

# %%
# Convert first, then require the gradient:

x = torch.tensor([2.0, 3.0]).double().requires_grad_()
x.sum().backward()
torch.testing.assert_close(x.grad, torch.ones(2, dtype=torch.float64))

# %%
# 4. It was cut off
# -----------------
#
# ``detach`` ends the graph. So does a new tensor that is made from the numbers
# of ``x``.

x = torch.tensor(2.0, requires_grad=True)
w = torch.tensor(5.0, requires_grad=True)
(w * x.detach()).backward()
(w * torch.tensor(x.item())).backward()
assert x.grad is None

# %%
# Only tensors of a floating-point or complex type can require a gradient. So
# ``argmax`` and ``long`` end the graph too: their results are integers.

x = torch.tensor([1.0, 3.0, 2.0], requires_grad=True)
for integer in (x.argmax(), x.long().sum()):
    assert not integer.requires_grad
    (w * integer).backward()
assert x.grad is None

# %%
# 5. Recording was off
# --------------------
#
# Under ``no_grad`` nothing is recorded.

x = torch.tensor(2.0, requires_grad=True)
with torch.no_grad():
    square = x**2
(w * square).backward()
assert x.grad is None

# %%
# Backward itself is not recorded either, unless you ask with
# ``create_graph=True``. Below, ``slope`` is :math:`3 x^2 = 12`. A second
# derivative would give :math:`w \cdot 6x = 60`.

(slope,) = torch.autograd.grad(x**3, x)
(w * slope).backward()
# Predict first: what is x.grad, 60 or None?
print(x.grad)
assert x.grad is None

# %%
# ``slope`` is a constant like 12. Record it, and the 60 arrives:

(slope,) = torch.autograd.grad(x**3, x, create_graph=True)
(w * slope).backward()
torch.testing.assert_close(x.grad.item(), 60.0)

# %%
# 6. The loss does not use it
# ---------------------------
#
# ``x**2`` is recorded, but the loss is made from ``w`` alone.

x = torch.tensor(2.0, requires_grad=True)
w = torch.tensor(5.0, requires_grad=True)
unused = x**2
loss = 3 * w
make_dot(loss, params={"x": x, "w": w, "loss": loss})

# %%
# Look for ``x`` in the picture.

loss.backward()
# Predict first: what is x.grad, 0 or None?
print(x.grad)
assert x.grad is None
torch.testing.assert_close(w.grad.item(), 3.0)

# %%
# Backward never came to ``x``, so not even a 0 was stored. What is not in the
# picture gets nothing.
#
# 7. It was cleared
# -----------------
#
# Since PyTorch 2.0, ``zero_grad()`` sets ``.grad`` to ``None``. Before 2.0, it
# filled ``.grad`` with zeros.

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
# The tensor itself shows causes 2 and 3. The graph shows causes 4, 5 and 6,
# but not which one of them: walk from the loss to all of its leaves, and see
# whether yours is among them. The other three leave no mark.


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
# You can call the check before ``backward`` or after it: the nodes stay.


def why_none(x, loss):
    if not x.requires_grad:
        return "x does not require a gradient (2)"
    if not x.is_leaf:
        return "x is not a leaf: retain_grad(), or ask the leaf (3)"
    if not any(leaf is x for leaf in leaves_of(loss)):
        return "no way leads from the loss to x (4, 5, 6)"
    return "not run, cleared, or returned (1, 7, 8)"


# %%
# Try it on four cases.

x = torch.tensor(2.0, requires_grad=True)
w = torch.tensor(5.0, requires_grad=True)
print(why_none(x, w * x.detach()))
print(why_none(x * 1, x * w))
print(why_none(torch.tensor(2.0), x * w))
loss = x * w
print(why_none(x, loss))
loss.backward()
assert "not run" in why_none(x, loss)
assert why_none(x, loss) == why_none(x, x * w)
assert "no way" in why_none(x, w * x.detach())
assert "not a leaf" in why_none(x * 1, x * w)

# %%
# What goes wrong: only the message goes away
# -------------------------------------------
#
# If *all* ways are cut, backward refuses:

x = torch.tensor(2.0, requires_grad=True)
loss = x.detach() ** 2
try:
    loss.backward()
except RuntimeError as error:
    print(error)
else:
    raise AssertionError("backward ran without a graph")

# %%
# People then call ``requires_grad_()`` on the loss. The error is gone.

loss.requires_grad_()
loss.backward()
# Predict first: what is x.grad after this backward?
print(x.grad)
assert x.grad is None
assert loss.is_leaf

# %%
# The loss is now a leaf without a graph. Backward has no way to ``x``, and
# nothing learns.
#
# What you can do now
# -------------------
#
# - You can name eight causes, and let the tensor and the graph tell you which
#   of them are possible.
# - You know two that are easy to miss: the name stands for another tensor, and
#   the loss does not use it.
#
# Exercises
# ---------
#
# 1. Read the lines, and find the cause of ``None``.

x = torch.ones(4, requires_grad=True).reshape(2, 2)
loss = x.sum()
loss.backward()
# Predict first: which number from 1 to 8 does the cause have?
print(why_none(x, loss).rpartition("(")[2].rstrip(")"))
assert "(3)" in why_none(x, loss)

# %%
# 2. The loss uses ``x`` rounded to an integer.

x = torch.tensor(2.4, requires_grad=True)
loss = (x.round() - 1) ** 2
loss.backward()
# Predict first: is x.grad None after round? True or False
print(x.grad is None)
torch.testing.assert_close(x.grad.item(), 0.0)

# %%
# It is 0, and not ``None``: the result of ``round`` is still a float, so
# ``round`` is recorded, and its slope is 0 between its jumps. A gradient of 0
# and no gradient are two different problems.
