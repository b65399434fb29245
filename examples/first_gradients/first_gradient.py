# /// script
# requires-python = ">=3.10"
# dependencies = ["torch", "torchviz", "setuptools"]
# ///
# Pictures show in a notebook or in an editor's cells, where Graphviz's `dot` is installed; all else runs without.
"""
Get a first gradient
====================

You will be able to ask PyTorch for the slope of a result with respect to its input, and to check the answer by hand.

A gradient tells you how much a result changes when you change each input a
little. Training a network, fitting a curve and finding a bug in either all
start from this one number per input.

Know first: nothing but Python and the idea of a slope.
"""

import torch
from torchviz import make_dot

# %%
# Four numbers and one result
# ---------------------------
#
# The input is the vector :math:`\mathbf{x} = (0, 1, 2, 3)`. With
# ``requires_grad=True`` you tell PyTorch that you will ask for slopes with
# respect to it. A tensor that you make yourself in this way is called a
# *leaf*.

x = torch.arange(4.0, requires_grad=True)
print(x)

# %%
# The result is :math:`y = 2\,\mathbf{x}\cdot\mathbf{x}`, two times the sum of
# the squares. Work it out in your head before you look:
# what is :math:`2\,(0^2 + 1^2 + 2^2 + 3^2)`?

y = 2 * torch.dot(x, x)
# Predict first: which number is y?
print(y.item())

# %%
# It is :math:`2 \cdot 14`. Now print ``y`` itself. Besides the value it shows
# a ``grad_fn``: the operation that made ``y``, a multiplication. PyTorch keeps
# it because it will need it to go back from ``y`` to ``x``.

print(y)
torch.testing.assert_close(y.item(), 28.0)
assert y.grad_fn is not None

# %%
# The record of what you did
# --------------------------
#
# Each operation left a node. Read the picture from the bottom up:
# ``y`` was made by a multiplication, which used the result of a dot product,
# which used ``x``, twice.

make_dot(y, params={"x": x, "y": y})

# %%
# Ask for the gradient
# --------------------
#
# So far there is no gradient. ``x.grad`` is the place where it will be stored.

# Predict first: what does x.grad hold before you ask for it?
print(x.grad)

# %%
# One call, ``torch.Tensor.backward``, walks through the record from ``y`` back
# to ``x``. By hand: :math:`y = 2\,(x_0^2 + x_1^2 + x_2^2 + x_3^2)`, and the
# slope of :math:`2\,x_i^2` is :math:`4\,x_i`. So you expect four numbers, one
# for each input. Which ones?

y.backward()
# Predict first: the four numbers in x.grad
print(x.grad)

# %%
# It is :math:`4\,\mathbf{x}`, in the shape of ``x``: one slope for each input.
# The next two lines prove it.

torch.testing.assert_close(x.grad, 4 * x.detach())
assert x.grad.shape == x.shape

# %%
# Check it without calculus
# -------------------------
#
# A slope is a ratio of two small changes. Push the last input up by 0.01 and
# down by 0.01, and divide the change of the result by 0.02.

with torch.no_grad():
    step = torch.tensor([0.0, 0.0, 0.0, 0.01])
    up = 2 * torch.dot(x + step, x + step)
    down = 2 * torch.dot(x - step, x - step)
slope = (up - down) / 0.02
print(slope)
torch.testing.assert_close(slope, x.grad[3], rtol=1e-3, atol=1e-3)

# %%
# The ratio is close to ``x.grad[3]``. It need not agree in the last digits:
# both results were rounded to 32 bits before they were subtracted.
#
# What goes wrong when you forget ``requires_grad``
# -------------------------------------------------
#
# Without it nothing is recorded, so there is nothing to walk back through.
# PyTorch says so:

plain = torch.arange(4.0)
try:
    (2 * torch.dot(plain, plain)).backward()
except RuntimeError as error:
    print(error)
else:
    raise AssertionError("backward() must fail without a recorded graph")

# %%
# The fix is to set ``requires_grad=True`` when you make the tensor, before you
# compute with it.
#
# What you can do now
# -------------------
#
# - You can mark an input, compute a result, and get the slope of the result
#   with respect to each input with one call.
# - You can check a gradient by hand, or by a small step up and down.
# - You know what the error about a missing ``grad_fn`` means.
#
# Exercises
# ---------
#
# 1. The result is now :math:`3\,(a_0^2 + a_1^2)` with
#    :math:`\mathbf{a} = (1, -2)`.

a = torch.tensor([1.0, -2.0], requires_grad=True)
(3 * torch.dot(a, a)).backward()
# Predict first: the two numbers in a.grad
print(a.grad)
torch.testing.assert_close(a.grad, torch.tensor([6.0, -12.0]))

# %%
# 2. Two inputs meet in one product: :math:`p = b\,c` with :math:`b = 5` and
#    :math:`c = 7`. What is the slope with respect to :math:`b`?

b = torch.tensor(5.0, requires_grad=True)
c = torch.tensor(7.0, requires_grad=True)
(b * c).backward()
# Predict first: which number is b.grad?
print(b.grad.item())
torch.testing.assert_close(b.grad, c.detach())

# %%
# When :math:`b` grows by 1, the product grows by :math:`c`.
# So the slope is :math:`c`, whatever :math:`b` is.
