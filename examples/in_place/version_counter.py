# /// script
# requires-python = ">=3.10"
# dependencies = ["torch", "torchviz", "setuptools"]
# ///
# Pictures show in a notebook or in an editor's cells, where Graphviz's `dot` is installed; all else runs without.
"""
Repair the in-place error
=========================

You will be able to read a tensor's version, to say why an in-place change makes backward refuse, and to repair it in three ways.

"One of the variables needed for gradient computation has been modified by an
inplace operation" protects you from a wrong gradient. The error names a
version number; here you learn to read it.

Know first: ``before_and_after_backward``, ``clearing_gradients``.
"""

import torch
from torchviz import make_dot

# %%
# The underscore
# --------------
#
# A method whose name ends in an underscore works in place: it writes its
# result over the old numbers. ``t.add_(1)`` does so, as do ``t += 1`` and
# ``t[0] = 5``. ``t.add(1)`` and ``t = t + 1`` make a new tensor.

t = torch.zeros(3)
plain = t.add(1)
print(t)
in_place = t.add_(1)
print(t)
assert plain is not t
assert in_place is t

# %%
# Each tensor counts
# ------------------
#
# A *version counter* tells how often a tensor was changed in place.

t = torch.zeros(3)
t.add_(1)
t += 1
t[0] = 5
t = t.mul_(2)
# Predict first: what is the version of t after these four lines?
print(t._version)
assert t._version == 4

# %%
# ``t = t * 2`` would have made a new tensor, with a counter of its own that
# starts at 0.

t = t * 2
print(t._version)
assert t._version == 0

# %%
# What the counter is for
# -----------------------
#
# The slope of ``exp`` is its own result. So the node saves the result, and
# notes its version.

x = torch.tensor([0.0, 1.0], requires_grad=True)
y = x.exp()
total = y.sum()
make_dot(total, params={"x": x, "total": total}, show_saved=True)

# %%
# Now the result is changed before backward. If backward used the new numbers,
# the gradient would be wrong. It compares the versions and refuses:

y.mul_(10)
try:
    total.backward()
except RuntimeError as error:
    print(error)
    assert "is at version 1; expected version 0" in str(error)
    assert "modified by an inplace operation" in str(error)
else:
    raise AssertionError("backward must notice the change")

# %%
# Read the two versions in the middle of the message: the tensor has one, the
# node expected the other. One change in place happened since the tensor was
# saved.

print(y._version)
assert y._version == 1

# %%
# Three repairs
# -------------
#
# The values you want are :math:`10\,e^{x}`, and the gradient of the sum of
# :math:`e^{x}` is :math:`e^{x}`.
#
# **Make a new tensor.** The saved one stays as it was.

expected = x.detach().exp()

y = x.exp()
total = y.sum()
y = y * 10
total.backward()
torch.testing.assert_close(x.grad, expected)

# %%
# **Work on a copy**, where you need the in-place method.

x.grad = None
y = x.exp()
total = y.sum()
copy = y.clone()
copy.mul_(10)
total.backward()
torch.testing.assert_close(x.grad, expected)

# %%
# **Go back first.** After backward nobody needs the saved numbers any more.

x.grad = None
y = x.exp()
y.sum().backward()
y.mul_(10)
torch.testing.assert_close(x.grad, expected)

# %%
# Not every change is refused
# ---------------------------
#
# What counts is whether the changed numbers were saved. The product
# ``x * 3`` saves the factor 3, not its result. Its result may change.

x.grad = None
y = x * 3
y.add_(100)
y.sum().backward()
# Predict first: the two numbers in x.grad
print(x.grad)
torch.testing.assert_close(x.grad, torch.tensor([3.0, 3.0]))

# %%
# ``exp`` saves its result, ``x ** 2`` saves its input. So a change of the
# *input* of a square is refused too:

a = torch.tensor([1.0, 2.0], requires_grad=True)
b = a * 1
c = (b**2).sum()
b.add_(1)
try:
    c.backward()
except RuntimeError as error:
    print(str(error).split(" Hint")[0])
else:
    raise AssertionError("backward must notice the change")

# %%
# What goes wrong when you get around the counter
# -----------------------------------------------
#
# ``.data`` gives the same memory without the counter. So the change from the
# start of this lesson is not noticed. No error comes, and the gradient is
# wrong:

x.grad = None
y = x.exp()
total = y.sum()
y.data.mul_(10)
total.backward()
print("version:", y._version)
print("got:     ", x.grad)
print("expected:", expected)
torch.testing.assert_close(x.grad, 10 * expected)

# %%
# It is ten times too large. ``detach()`` gives the same memory as well. Is the
# change counted there?

y = x.exp()
y.detach().mul_(10)
# Predict first: which number is y._version?
print(y._version)
assert y._version == 1

# %%
# It is: ``detach()`` shares the counter, so backward would find the change.
#
# What you can do now
# -------------------
#
# - You can tell in-place methods by their names.
# - You can read "is at version 1; expected version 0".
# - You can repair the error: a new tensor, a copy, or backward first.
#   ``.data`` is no repair.
#
# Exercises
# ---------
#
# 1. What is the version after ``zero_()`` and two times ``add_``?

s = torch.ones(2)
s.zero_()
s.add_(1).add_(1)
# Predict first: which number is s._version?
print(s._version)
assert s._version == 3

# %%
# 2. A view shares the memory. Does it share the counter?

base = torch.zeros(4)
view = base[:2]
view.fill_(7)
# Predict first: which number is base._version?
print(base._version)
assert base._version == 1

# %%
# It does: a change through the view counts for the base.
