# /// script
# requires-python = ">=3.10"
# dependencies = ["torch", "torchviz", "setuptools"]
# ///
# Pictures show in a notebook or in an editor's cells, where Graphviz's `dot` is installed; all else runs without.
"""
Use detach as a constant
========================

You will be able to predict the gradient of a formula in which one part is detached, and to avoid the trap of shared memory.

Sometimes a value should be used but not trained: a target, a running average,
the part of another network. ``torch.Tensor.detach`` says "treat this as a
constant".

Know first: ``why_it_adds``, ``leaf_or_not``, ``read_the_picture``.
"""

import torch
from torchviz import make_dot

# %%
# The same formula, with and without
# ----------------------------------
#
# Let :math:`y = x \cdot x` (element by element) and :math:`z = y \cdot x`.
# Without ``detach``, :math:`z = x^3` has the slope :math:`3\,x^2`.

x = torch.arange(4.0, requires_grad=True)
z = (x * x) * x
z.sum().backward()
print(x.grad)
torch.testing.assert_close(x.grad, 3 * x.detach() ** 2)

# %%
# Now detach ``y`` and call the result ``u``. It has the same numbers.

x.grad = None
y = x * x
u = y.detach()
z = u * x
total = z.sum()
make_dot(total, params={"x": x, "total": total})

# %%
# One way leads back to ``x``. The way through the square is not in the
# picture: for backward, ``u`` is a constant like 7. And the slope of
# :math:`7\,x` is 7.

total.backward()
# Predict first: the four numbers in x.grad when u = [0, 1, 4, 9] is a constant
print(x.grad)
torch.testing.assert_close(x.grad, u)

# %%
# So the gradient of ``z`` is ``u`` itself, not :math:`3\,x^2`.
#
# ``y`` is not changed
# --------------------
#
# ``detach()`` returns a new tensor and leaves ``y`` as it is. You can still go
# back through ``y``.

x.grad = None
y.sum().backward()
# Predict first: the four numbers in x.grad, through y
print(x.grad)
torch.testing.assert_close(x.grad, 2 * x.detach())

# %%
# Is it a copy?
# -------------
#
# It is often said that ``detach`` makes a copy. ``u`` holds 0, 1, 4, 9, as
# ``y`` does. Write 100 into ``u`` and look at ``y``.

y = x * x
u = y.detach()
u[0] = 100.0
# Predict first: which number is y[0] now?
print(y[0].item())
torch.testing.assert_close(y[0].item(), 100.0)

# %%
# A new tensor, but not new memory: both share their numbers. If you want a
# copy of your own, add ``clone()``:

y = x * x
u = y.detach().clone()
u[0] = 100.0
print(y[0].item())
torch.testing.assert_close(y[0].item(), 0.0)

# %%
# detach or no_grad?
# ------------------
#
# Both end without a way back, but at different places. ``detach()`` cuts after
# the work: the forward run is recorded first. Under ``torch.no_grad`` nothing
# is recorded at all.

recorded = x * x
cut = recorded.detach()
with torch.no_grad():
    never = x * x
print(recorded.grad_fn is not None, cut.grad_fn, never.grad_fn)
assert recorded.grad_fn is not None
assert cut.grad_fn is None
assert never.grad_fn is None

# %%
# What goes wrong: the wrong part is cut
# --------------------------------------
#
# Let a model :math:`m = w\,x` learn that its value at :math:`x = 1` should
# equal a target: half of its value at :math:`x = 2`, plus 1. The target is
# meant to stay fixed while :math:`w` learns. Take the squared error at
# :math:`w = 0`:

w = torch.tensor(0.0, requires_grad=True)
target = 0.5 * (w * 2) + 1
((w * 1 - target) ** 2).backward()
print("target not detached:", w.grad.item())
torch.testing.assert_close(w.grad.item(), 0.0)

# %%
# The two ways cancel: moving :math:`w` moves the target by the same amount,
# and nothing is learned. With the target as a constant 1, the error is
# :math:`(w - 1)^2`, still at :math:`w = 0`.

w.grad = None
target = (0.5 * (w * 2) + 1).detach()
((w * 1 - target) ** 2).backward()
# Predict first: which number is w.grad now?
print(w.grad.item())
torch.testing.assert_close(w.grad.item(), -2.0)

# %%
# Cut the prediction in place of the target, and there is no gradient to ask
# for:

try:
    (((w * 1).detach() - 1.0) ** 2).backward()
except RuntimeError as error:
    print(error)
else:
    raise AssertionError("nothing is left to differentiate")

# %%
# What you can do now
# -------------------
#
# - You can read ``u = y.detach()`` as "``u`` is a constant with the value of
#   ``y``".
# - You know that the memory is shared, and when to add ``clone()``.
# - You can choose between ``detach`` and ``no_grad``.
#
# Exercises
# ---------
#
# 1. What is the slope of :math:`a \cdot \text{detach}(a)` at :math:`a = 6`?

a = torch.tensor(6.0, requires_grad=True)
(a * a.detach()).backward()
# Predict first: which number is a.grad?
print(a.grad.item())
torch.testing.assert_close(a.grad.item(), 6.0)

# %%
# 2. And of :math:`a - \text{detach}(a)`? Its value is 0.

a.grad = None
(a - a.detach()).backward()
# Predict first: which number is a.grad this time?
print(a.grad.item())
torch.testing.assert_close(a.grad.item(), 1.0)

# %%
# A value of zero says nothing about the slope.
