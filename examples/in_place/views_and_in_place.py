# /// script
# requires-python = ">=3.10"
# dependencies = ["torch", "torchviz", "setuptools"]
# ///
# Pictures show in a notebook or in an editor's cells, where Graphviz's `dot` is installed; all else runs without.
"""
Edit a view in place
====================

You will be able to say which edits of a view work, which are refused, and how to write the refused ones.

A view has no numbers of its own: ``t[0]``, ``t.T`` and ``t.view(2, 2)`` use
the memory of ``t``. Write to the view, and ``t`` changes. Autograd has to
follow such changes, and refuses some of them.

Know first: ``version_counter``, ``three_gradients_of_one_x``.
"""

import torch
from torchviz import make_dot

# %%
# An edit that works
# ------------------
#
# ``row`` is a view of ``y``. Multiply it by 10 in place.

x = torch.ones(2, 2, requires_grad=True)
y = 3 * x
row = y[0]
row.mul_(10)
print(y.detach())
torch.testing.assert_close(y.detach(), torch.tensor([[30.0, 30], [3, 3]]))

# %%
# ``y`` has changed, although the line did not name it. Does backward know?

total = y.sum()
make_dot(total, params={"x": x, "total": total})

# %%
# The picture has a node ``CopySlices``. It is the new history of ``y``, and
# says that a part of ``y`` was written to.

total.backward()
# Predict first: what is x.grad after the edit?
print(x.grad)
torch.testing.assert_close(x.grad, torch.tensor([[30.0, 30], [3, 3]]))
assert y.grad_fn.name().endswith("CopySlices")

# %%
# Two views at a time
# -------------------
#
# It is sometimes said that a tensor cannot be edited while another tensor uses
# its memory. Here two views of ``y`` are alive, and each of them is edited.

x = torch.ones(2, requires_grad=True)
y = 3 * x
first, both = y[:1], y[:]
first.mul_(10)
both.mul_(2)
y.sum().backward()
# Predict first: what is x.grad after the two edits?
print(x.grad)
torch.testing.assert_close(x.grad, torch.tensor([60.0, 6.0]))

# %%
# Each edit is part of the history of ``y``, in the order in which you wrote
# them.

# %%
# Refused: a view of a leaf
# -------------------------
#
# Autograd does not let you write to a leaf that requires a gradient, or to a
# part of it.

w = torch.zeros(3, requires_grad=True)
try:
    w[0] = 5.0
except RuntimeError as error:
    print(error)
else:
    raise AssertionError("a part of a leaf was changed")

# %%
# To set a start value, write under ``no_grad``. To use a changed copy in a
# formula, ``clone`` first: the copy is not a leaf.

with torch.no_grad():
    w[0] = 5.0
copy = w.clone()
copy[1] = 7.0
copy.sum().backward()
# Predict first: what is w.grad?
print(w.grad)
torch.testing.assert_close(w.grad, torch.tensor([1.0, 0.0, 1.0]))

# %%
# A constant replaced the second number of ``copy``, so this number does not
# depend on ``w``.
#
# Refused: one of several views made at once
# ------------------------------------------
#
# ``unbind`` and ``split`` make several views in one operation. So does a loop
# over the rows: it calls ``unbind``.

y = 3 * torch.ones(2, 2, requires_grad=True)
try:
    for row in y:
        row.mul_(10)
except RuntimeError as error:
    print(error)
else:
    raise AssertionError("one of several views was changed")

# %%
# Autograd cannot write a new history for one of several outputs of a node. An
# index makes one view at a time, and works:

x = torch.ones(2, 2, requires_grad=True)
y = 3 * x
for i in range(2):
    y[i].mul_(10)
y.sum().backward()
torch.testing.assert_close(x.grad, torch.full((2, 2), 30.0))

# %%
# Refused: a view from under ``no_grad``
# --------------------------------------
#
# The view is not recorded, but the edit would be. Autograd does not guess
# which of the two you mean.

y = 3 * torch.ones(4, requires_grad=True)
with torch.no_grad():
    part = y[:2]
try:
    part.mul_(10)
except RuntimeError as error:
    print(error)
else:
    raise AssertionError("an unrecorded view was changed")

# %%
# Make the view where you edit it: both under ``no_grad``, or both outside of
# it.

with torch.no_grad():
    y[:2].mul_(10)
y[2:].mul_(10)
torch.testing.assert_close(y.detach(), torch.full((4,), 30.0))

# %%
# Refused: several elements in one place
# --------------------------------------
#
# ``expand`` shows one number several times: all its elements are one place in
# memory. PyTorch refuses to write there, even where nothing requires a
# gradient.

wide = torch.ones(1).expand(3)
try:
    wide.add_(1)
except RuntimeError as error:
    print(error)
else:
    raise AssertionError("an expanded tensor was changed")
wide = wide.clone().add_(1)
torch.testing.assert_close(wide, torch.full((3,), 2.0))

# %%
# What goes wrong: a saved base
# -----------------------------
#
# The edit is allowed, but an operation saved the numbers: ``exp`` keeps its
# result for backward, and the edit writes to a view of that result.

y = torch.zeros(2, requires_grad=True).exp()
part = y[:1]
part.mul_(10)
try:
    y.sum().backward()
except RuntimeError as error:
    print(error)
else:
    raise AssertionError("the change of a saved tensor was not noticed")

# %%
# A view and its base share one version counter, so backward noticed. To repair
# it, ``clone`` before the edit:

assert part._version == y._version == 1
x = torch.zeros(2, requires_grad=True)
y = x.exp().clone()
y[:1].mul_(10)
y.sum().backward()
torch.testing.assert_close(x.grad, torch.tensor([10.0, 1.0]))

# %%
# What you can do now
# -------------------
#
# - You can edit a part of a result, and get the right gradient.
# - You can say which edits are refused, and write each of them in another way:
#   with ``clone``, with an index, or with view and edit both under
#   ``no_grad``.
#
# Exercises
# ---------
#
# 1. The second column is set to 0 in place.

x = torch.ones(2, 2, requires_grad=True)
y = 4 * x
y[:, 1] = 0.0
y.sum().backward()
# Predict first: what is x.grad for the edited y?
print(x.grad)
torch.testing.assert_close(x.grad, torch.tensor([[4.0, 0.0], [4.0, 0.0]]))

# %%
# 2. ``y[0]`` is a view. An index that is a list, as in ``y[[0]]``, makes a
#    copy.

y = 3 * torch.ones(2, requires_grad=True)
y[[0]].mul_(10)
# Predict first: which number is y[0] after the line with mul_?
print(y[0].item())
torch.testing.assert_close(y[0].item(), 3.0)

# %%
# The copy was multiplied, and then forgotten. An assignment with the same
# index does write to ``y``:

y[[0]] *= 10
torch.testing.assert_close(y.detach(), torch.tensor([30.0, 3.0]))
