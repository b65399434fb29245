# /// script
# requires-python = ">=3.10"
# dependencies = ["torch", "torchviz", "setuptools"]
# ///
# Pictures show in a notebook or in an editor's cells, where Graphviz's `dot` is installed; all else runs without.
"""
Edit a view in place
====================

You will be able to say which edits of a view work, which are refused, and how to write the refused ones.

A view has no numbers of its own: ``t[0]``, ``t.T`` and ``t.reshape(2, 2)`` look
at the memory of ``t``. Write to the view, and ``t`` changes. Autograd has to
keep up with that, and mostly does.

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
# The picture has a ``CopySlices``: the new history of ``y`` says "a part of me
# was written to".

total.backward()
# Predict first: what is x.grad?
print(x.grad)
torch.testing.assert_close(x.grad, torch.tensor([[30.0, 30], [3, 3]]))

# %%
# View and base share one version counter.

t = torch.zeros(4)
first = t[:2]
first.add_(1)
t.add_(1)
# Predict first: what is the version of the view?
print(first._version)
assert first._version == t._version == 2

# %%
# Refused: a view of a leaf
# -------------------------
#
# A leaf may not be written to, and so may no part of it.

w = torch.zeros(3, requires_grad=True)
try:
    w[0] = 5.0
except RuntimeError as error:
    print(error)
else:
    raise AssertionError("a part of a leaf was changed")

# %%
# To set a start value, write under ``no_grad``. To use a changed copy in a
# formula, ``clone`` first: the copy is no leaf.

with torch.no_grad():
    w[0] = 5.0
copy = w.clone()
copy[1] = 7.0
copy.sum().backward()
# Predict first: what is w.grad?
print(w.grad)
torch.testing.assert_close(w.grad, torch.tensor([1.0, 0.0, 1.0]))

# %%
# The second number of ``copy`` was written over by a constant. It does not
# depend on ``w``.
#
# Refused: one of several views made at once
# ------------------------------------------
#
# ``unbind``, ``split`` and a loop over the rows make all views in one operation.

y = 3 * torch.ones(2, 2, requires_grad=True)
try:
    for row in y:
        row.mul_(10)
except RuntimeError as error:
    print(error)
else:
    raise AssertionError("one of several views was changed")

# %%
# The node that made them has several outputs, and cannot be rewritten for one of
# them. An index makes one view at a time, and works:

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
# The view was made without being recorded. An edit that is recorded would not
# know where it belongs.

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
# Make the view where you edit it: both inside of ``no_grad``, or both outside.
#
# Refused: several elements in one place
# --------------------------------------
#
# ``expand`` shows one number several times. To write to it would write to one
# place more than once. This has nothing to do with autograd.

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
# The edit is allowed, but somebody saved the numbers: ``exp`` keeps its result
# for backward, and a view of that result is written to.

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
# The shared version counter noticed it. ``clone`` before the edit is the remedy.
#
# What you can do now
# -------------------
#
# - You can edit a part of a result, and get the right gradient.
# - You can tell the refused edits, and write each of them in another way:
#   ``clone``, an index, or ``no_grad`` around view and edit.
#
# Exercises
# ---------
#
# 1. A column is set to 0 in place.

x = torch.ones(2, 2, requires_grad=True)
y = 4 * x
y[:, 1] = 0.0
y.sum().backward()
# Predict first: what is x.grad?
print(x.grad)
torch.testing.assert_close(x.grad, torch.tensor([[4.0, 0.0], [4.0, 0.0]]))

# %%
# 2. ``detach`` gives a tensor that looks at the same memory. It is written to.

y = 3 * torch.ones(2, requires_grad=True)
y.detach().zero_()
# Predict first: which number is the sum of y?
print(y.sum().item())
torch.testing.assert_close(y.sum().item(), 0.0)
