# /// script
# requires-python = ">=3.10"
# dependencies = ["torch", "torchviz", "setuptools"]
# ///
# Pictures show in a notebook or in an editor's cells, where Graphviz's `dot` is installed; all else runs without.
"""
Clear gradients the right way
=============================

You will be able to choose between ``zero_()``, ``None`` and ``zero_grad()``, and to say what each leaves behind.

The ways look alike and differ in memory, in what the optimizer does next, and
between releases of PyTorch.

Know first: ``backward_adds``, ``why_it_adds``.
"""

import weakref

import torch
from torchviz import make_dot

# %%
# Three ways
# ----------
#
# Start with a gradient to clear.

x = torch.tensor([1.0, 2.0], requires_grad=True)
y = (x * x).sum()
make_dot(y, params={"x": x, "y": y})

# %%
# The gradient is :math:`2\,\mathbf{x}`.

y.backward()
print(x.grad)
torch.testing.assert_close(x.grad, torch.tensor([2.0, 4.0]))

# %%
# **Fill it with zeros.** The method's name ends in an underscore. That is
# PyTorch's sign for a method that works *in place*: it changes this tensor and
# makes no new one. Compare it with a method without the underscore:

before = x.grad
doubled = x.grad.mul(2)  # a new tensor; x.grad is as it was
print(doubled is before, x.grad)
torch.testing.assert_close(x.grad, torch.tensor([2.0, 4.0]))

# %%
# With the underscore, the same tensor holds the new numbers.

zeroed = x.grad.zero_()
# Predict first: is the result of zero_() x.grad itself? True or False
print(zeroed is x.grad)
assert zeroed is x.grad
torch.testing.assert_close(x.grad, torch.zeros(2))

# %%
# **Set it to None.** The tensor is let go, and ``.grad`` is as it was before
# the first backward.

x.grad = None
print(x.grad)
assert x.grad is None

# %%
# **Ask the optimizer.** An optimizer is an object that moves tensors, its
# *parameters*, a step against their gradients.
# ``torch.optim.Optimizer.zero_grad`` clears the gradients of all of them.

optimizer = torch.optim.SGD([x], lr=0.1)
(x * x).sum().backward()
optimizer.zero_grad()
# Predict first: what does x.grad hold after zero_grad(), in PyTorch 2?
print(x.grad)
assert x.grad is None

# %%
# Its name says zero, and up to PyTorch 1.13 it did leave zeros. Since 2.0 it
# leaves ``None``. You get the zeros with ``set_to_none=False``:

(x * x).sum().backward()
optimizer.zero_grad(set_to_none=False)
print(x.grad)
torch.testing.assert_close(x.grad, torch.zeros(2))

# %%
# Is the memory used again?
# -------------------------
#
# After ``zero_()``, the next backward adds into the tensor that is there.
# ``data_ptr()`` is the place of the numbers in memory. Compare the places
# before and after.

place = x.grad.data_ptr()
(x * x).sum().backward()
# Predict first: is the gradient still at the same place? True or False
print(x.grad.data_ptr() == place)
assert x.grad.data_ptr() == place

# %%
# After ``None`` there is nothing to add into, so backward stores a new tensor.
# To be sure that the old memory is not handed out again, keep it.

kept = x.grad
x.grad = None
(x * x).sum().backward()
print(x.grad.data_ptr() == kept.data_ptr())
assert x.grad.data_ptr() != kept.data_ptr()

# %%
# So "the memory of the gradient is used again in each step" is true with
# ``zero_()`` and false with today's default. In exchange, ``None`` gives the
# memory back until the next backward: the old tensor is gone.

old_gradient = weakref.ref(x.grad)  # finds the tensor, does not keep it alive
x.grad = None
assert old_gradient() is None

# %%
# What goes wrong: zero is not None
# ---------------------------------
#
# An optimizer skips a parameter whose ``.grad`` is ``None``. A gradient of
# zeros is a gradient, and the step is made. Part of a step may not come from
# the gradient: here ``weight_decay`` pulls the parameter towards 0.


def move(grad):
    w = torch.tensor([1.0], requires_grad=True)
    w.grad = grad
    torch.optim.SGD([w], lr=0.1, weight_decay=1.0).step()
    return w.item()


print("None: ", move(None))
print(f"zeros: {move(torch.zeros(1)):.1f}")
torch.testing.assert_close(move(None), 1.0)
torch.testing.assert_close(move(torch.zeros(1)), 0.9)

# %%
# This is one way in which a program can change its result from PyTorch 1.13 to
# 2.0. The other is code that reads ``.grad`` after clearing and does not
# expect ``None``.
#
# What you can do now
# -------------------
#
# - You can clear with ``optimizer.zero_grad()`` and know what is left.
# - You can read the underscore in a method's name.
# - You know when zeros and ``None`` lead to different steps.
#
# Exercises
# ---------
#
# 1. ``old`` is another name for the tensor in ``c.grad``. After ``zero_()``,
#    what does ``old`` hold?

c = torch.tensor(3.0, requires_grad=True)
(c * c).backward()
old = c.grad
c.grad.zero_()
# Predict first: which number is in old?
print(old.item())
torch.testing.assert_close(old.item(), 0.0)

# %%
# 2. The same with ``None`` in place of ``zero_()``.

(c * c).backward()
old = c.grad
c.grad = None
# Predict first: which number is in old this time?
print(old.item())
torch.testing.assert_close(old.item(), 6.0)

# %%
# ``c.grad = None`` only takes the name away. The tensor lives on as ``old``.
