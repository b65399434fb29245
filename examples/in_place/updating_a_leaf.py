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
# Minimise :math:`(w - 3)^2`. At :math:`w = 0` the gradient is -6, so a step
# with a learning rate of 0.25 should lead to
# :math:`0 - 0.25 \cdot (-6) = 1.5`.

w = torch.tensor(0.0, requires_grad=True)
((w - 3) ** 2).backward()
try:
    w -= 0.25 * w.grad
except RuntimeError as error:
    print(error)
else:
    raise AssertionError("the leaf was changed")

# %%
# Why? Each operation on ``w`` is recorded. If one wrote into ``w`` itself,
# then ``w`` would be the result of that operation, and would no longer be a
# leaf. Nothing would be left to hold the gradient of the old number.
#
# The form that forgets
# ---------------------
#
# This form makes a new tensor. There is no error in the first step.

old = w = torch.tensor(0.0, requires_grad=True)
((w - 3) ** 2).backward()
w = w - 0.25 * w.grad
print(w.item())
torch.testing.assert_close(w.item(), 1.5)
assert w is not old

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
# The leaf in the picture is not ``w`` but the *old* weight. The gradient of
# the new loss, :math:`2 \cdot (1.5 - 3) = -3`, goes there and is added to -6.

loss.backward()
print(old.grad.item())
torch.testing.assert_close(old.grad.item(), -9.0)

# %%
# ``w.grad`` is ``None``, and the second step fails. (The warning that comes
# with reading ``.grad`` of a non-leaf is left out here.)

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    gradient = w.grad
assert gradient is None
try:
    w = w - 0.25 * gradient
except TypeError as error:
    print(error)
else:
    raise AssertionError("a second step worked")

# %%
# The form that works
# -------------------
#
# Under ``torch.no_grad`` nothing is recorded, so you may write to a leaf.
# ``w`` is a leaf before and after.

w = torch.tensor(0.0, requires_grad=True)
same = w
for _ in range(3):
    w.grad = None
    ((w - 3) ** 2).backward()
    with torch.no_grad():
        w -= 0.25 * w.grad
    print(w.item())

# %%
# Each step halves the distance to 3, and ``w`` is the same tensor as at the
# start.

assert w is same
assert w.is_leaf
torch.testing.assert_close(w.item(), 3 - 3 / 8)

# %%
# Now ``torch.optim.SGD`` takes three steps, from 0 and with the same learning
# rate.

v = torch.tensor(0.0, requires_grad=True)
optimizer = torch.optim.SGD([v], lr=0.25)
for _ in range(3):
    optimizer.zero_grad()
    ((v - 3) ** 2).backward()
    optimizer.step()
# Predict first: which number is v after three steps?
print(v.item())
torch.testing.assert_close(v.item(), w.item())

# %%
# The optimizer does what you did by hand.
#
# Does the update count as a change?
# ----------------------------------
#
# ``no_grad`` stops the recording. Does it stop the version counter too?

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
# It does not: an update under ``no_grad`` is counted. Below, the loss saves
# ``w``. Then ``w`` changes, and backward notices.

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
# Run backward first, then update. If you write through ``w.data`` and not
# under ``no_grad``, the change is *not* counted. There is no error, and the
# gradient is wrong:

w = torch.tensor(2.0, requires_grad=True)
loss = w * w
w.data -= 1.0
loss.backward()
# Predict first: the slope at 2 is 4; which number is w.grad?
print(w.grad.item())
torch.testing.assert_close(w.grad.item(), 2.0)

# %%
# It is the slope at the new number, 1. Use ``no_grad``: then backward tells
# you.
#
# What you can do now
# -------------------
#
# - You can write an update rule of your own: under ``no_grad``, in place.
# - You can explain why ``w -= ...`` is refused, and why ``w.grad`` is ``None``
#   after ``w = w - ...``.
#
# Exercises
# ---------
#
# 1. Start at :math:`w = 4`, and take one step on :math:`w^2` with a learning
#    rate of 0.5.

w = torch.tensor(4.0, requires_grad=True)
(w**2).backward()
with torch.no_grad():
    w -= 0.5 * w.grad
# Predict first: which number is w after the step?
print(w.item())
torch.testing.assert_close(w.item(), 0.0)

# %%
# 2. A weight must not be negative. After the step, ``clamp_`` sets a negative
#    weight to 0 in place, also under ``no_grad``.

w = torch.tensor(-0.5, requires_grad=True)
with torch.no_grad():
    w.clamp_(min=0)
# Predict first: is w still a leaf? True or False
print(w.is_leaf)
assert w.is_leaf
torch.testing.assert_close(w.item(), 0.0)
