# /// script
# requires-python = ">=3.10"
# dependencies = ["torch", "torchviz", "setuptools"]
# ///
# Pictures show in a notebook or in an editor's cells, where Graphviz's `dot` is installed; all else runs without.
"""
Update a parameter in place
===========================

You will be able to change a leaf by your own update rule, and to say why a plain in-place operation on it is refused.

A step of training writes new numbers into the weights. Three ways to write it
look alike. One is refused, one forgets the weight, and one works.

Know first: ``clearing_gradients``, ``leaf_or_not``, ``version_counter``.
"""

import warnings

import torch
from torchviz import make_dot

# %%
# The plain form is refused
# -------------------------
#
# Minimise :math:`(w - 3)^2`. From :math:`w = 0` the gradient is -6, and a step
# with a learning rate of 0.5 would lead to 3.

w = torch.tensor(0.0, requires_grad=True)
((w - 3) ** 2).backward()
try:
    w -= 0.5 * w.grad
except RuntimeError as error:
    print(error)
else:
    raise AssertionError("the leaf was changed")

# %%
# Why? An operation on ``w`` is recorded. If it wrote into ``w`` itself, then
# ``w`` would be the result of that operation, and no leaf any more: there would
# be no place left for the gradient of the number that was there before.
#
# The form that forgets
# ---------------------
#
# Without writing in place, there is no error in the first step.

w = torch.tensor(0.0, requires_grad=True)
((w - 3) ** 2).backward()
w = w - 0.5 * w.grad
print(w.item())
torch.testing.assert_close(w.item(), 3.0)

# %%
# The number is right. But the name ``w`` now stands for another tensor.

# Predict first: is this w a leaf? True or False
print(w.is_leaf)
assert not w.is_leaf

# %%
# Look at what the next loss depends on.

loss = (w - 3) ** 2
make_dot(loss, params={"w": w, "loss": loss})

# %%
# The leaf of the picture is not called ``w``: it is the *old* weight. The
# gradient goes there, ``w.grad`` stays ``None``, and the second step fails.
# (Reading ``.grad`` of a non-leaf gives a warning, left out here.)

loss.backward()
with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    gradient = w.grad
try:
    w = w - 0.5 * gradient
except TypeError as error:
    print(error)
else:
    raise AssertionError("a second step worked")

# %%
# The form that works
# -------------------
#
# Under ``torch.no_grad`` nothing is recorded, so a leaf may be written to. It
# is a leaf before and after.

w = torch.tensor(0.0, requires_grad=True)
same = w
for _ in range(3):
    w.grad = None
    ((w - 3) ** 2).backward()
    with torch.no_grad():
        w -= 0.25 * w.grad
    print(w.item())

# %%
# Each step halves the distance to 3.

assert w is same
assert w.is_leaf
torch.testing.assert_close(w.item(), 3 - 3 / 8)

# %%
# An optimizer does the same. Three steps of ``torch.optim.SGD``:

v = torch.tensor(0.0, requires_grad=True)
optimizer = torch.optim.SGD([v], lr=0.25)
for _ in range(3):
    optimizer.zero_grad()
    ((v - 3) ** 2).backward()
    optimizer.step()
# Predict first: which number is v?
print(v.item())
torch.testing.assert_close(v.item(), w.item())

# %%
# The update counts as a change
# -----------------------------
#
# ``no_grad`` stops the recording. It does not stop the version counter: each
# update is noted.

before = w._version
with torch.no_grad():
    w -= 1.0
# Predict first: by how much did the version rise?
print(w._version - before)
assert w._version - before == 1

# %%
# What goes wrong: an update between forward and backward
# -------------------------------------------------------
#
# The loss below saved ``w``. Then ``w`` changes, and backward notices.

w = torch.tensor(2.0, requires_grad=True)
loss = w * w
with torch.no_grad():
    w -= 1.0
try:
    loss.backward()
except RuntimeError as error:
    print(error)
else:
    raise AssertionError("the change was not noticed")

# %%
# Finish backward first, then update. If you write through ``w.data`` in place of
# ``no_grad``, the change is *not* noted, and the gradient is wrong without an
# error:

w = torch.tensor(2.0, requires_grad=True)
loss = w * w
w.data -= 1.0
loss.backward()
# Predict first: the slope of w * w at 2 would be 4; which number is w.grad?
print(w.grad.item())
torch.testing.assert_close(w.grad.item(), 2.0)

# %%
# It is the slope at the new number, 1. Use ``no_grad``, which tells you.
#
# What you can do now
# -------------------
#
# - You can write an update rule of your own: under ``no_grad``, in place.
# - You can explain the refusal, and the ``None`` after ``w = w - ...``.
#
# Exercises
# ---------
#
# 1. From :math:`w = 4`, one step on :math:`w^2` with a learning rate of 0.5.

w = torch.tensor(4.0, requires_grad=True)
(w**2).backward()
with torch.no_grad():
    w -= 0.5 * w.grad
# Predict first: which number is w?
print(w.item())
torch.testing.assert_close(w.item(), 0.0)

# %%
# 2. The weights are to stay at or above 0. After the step, ``clamp_`` cuts
#    them off, also under ``no_grad``. Is the weight still a leaf?

w = torch.tensor(-0.5, requires_grad=True)
with torch.no_grad():
    w.clamp_(min=0)
# Predict first: True or False
print(w.is_leaf)
assert w.is_leaf
torch.testing.assert_close(w.item(), 0.0)
