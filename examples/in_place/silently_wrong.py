# /// script
# requires-python = ">=3.10"
# dependencies = ["torch", "torchviz", "setuptools"]
# ///
# Pictures show in a notebook or in an editor's cells, where Graphviz's `dot` is installed; all else runs without.
"""
Recognise a gradient that is silently wrong
===========================================

You will be able to recognise the two edits that give a wrong gradient without an error, and to catch them with a check of your own.

PyTorch notices most changes of saved numbers, and refuses. There are two doors
through which a change is not noticed. Then backward runs, and its answer is
wrong.

Know first: ``version_counter``, ``views_and_in_place``.
"""

import torch
from torchviz import make_dot

# %%
# What is right
# -------------
#
# The slope of :math:`e^x` at 0 is :math:`e^0 = 1`. The node of ``exp`` saves its
# result, since the result *is* the slope.

x = torch.tensor([0.0], requires_grad=True)
y = x.exp()
y.backward()
print(x.grad.item())
torch.testing.assert_close(x.grad.item(), 1.0)

# %%
# The first door: ``.data``
# -------------------------
#
# ``y.data`` looks at the same numbers, with a version counter of its own. A
# change there is not counted for ``y``.

x = torch.tensor([0.0], requires_grad=True)
y = x.exp()
y.data.mul_(5)
# Predict first: what is the version of y?
print(y._version)
assert y._version == 0

# %%
# Here is the graph. Its saved tensor, ``result``, holds the changed number.

make_dot(y, params={"x": x, "y": y}, show_saved=True)

# %%
# The right slope is 1. Backward multiplies by what it finds.

y.backward()
# Predict first: which number is x.grad?
print(x.grad.item())
torch.testing.assert_close(x.grad.item(), 5.0)

# %%
# No error, no warning, and five times too large.
#
# The second door: the NumPy alias
# --------------------------------
#
# ``y.detach().numpy()`` is an array over the same memory. NumPy knows nothing of
# versions.

x = torch.tensor([0.0], requires_grad=True)
y = x.exp()
array = y.detach().numpy()
array[0] = 0.0
y.backward()
# Predict first: which number is x.grad?
print(x.grad.item())
torch.testing.assert_close(x.grad.item(), 0.0)

# %%
# Doors that are watched
# ----------------------
#
# The same edit in three other ways is noticed: on ``y`` itself, on a detached
# tensor, and under ``no_grad``. All of them count.


def edit_directly(y):
    y.mul_(5)


def edit_detached(y):
    y.detach().mul_(5)


def edit_under_no_grad(y):
    with torch.no_grad():
        y.mul_(5)


# %%
# Each of them leads to the error of the version counter.

for edit in (edit_directly, edit_detached, edit_under_no_grad):
    x = torch.tensor([0.0], requires_grad=True)
    y = x.exp()
    total = y.sum()
    edit(y)
    try:
        total.backward()
    except RuntimeError as error:
        print(edit.__name__, "->", str(error).partition(" has been")[0])
        assert "inplace operation" in str(error)
    else:
        raise AssertionError("the change was not noticed")

# %%
# So the remedy is to use these in place of ``.data``: ``no_grad`` for an update,
# ``detach`` for a constant. They do the same, and they are watched. For NumPy,
# make a copy: ``y.detach().numpy().copy()``.
#
# A watch of your own
# -------------------
#
# In a program that you did not write, you cannot see such an edit. But you can
# check it: keep a copy of each saved tensor, and compare when backward reads it.


def keep_copy(tensor):
    return tensor, tensor.detach().clone()


def compare(kept):
    tensor, copy = kept
    if not torch.equal(tensor, copy):
        raise RuntimeError("a saved tensor was changed without being counted")
    return tensor


# %%
# Run the forward pass inside the hooks, and backward as usual.

x = torch.tensor([0.0], requires_grad=True)
with torch.autograd.graph.saved_tensors_hooks(keep_copy, compare):
    y = x.exp()
y.data.mul_(5)
try:
    y.backward()
except RuntimeError as error:
    print(error)
else:
    raise AssertionError("the watch saw nothing")

# %%
# It needs twice the memory for saved tensors, so use it to search.
#
# What goes wrong when nothing is saved
# -------------------------------------
#
# Nothing! The edit hurts only where backward needs the numbers. For
# :math:`3\,x` the slope is 3, whatever ``x`` is.

x = torch.tensor([1.0], requires_grad=True)
y = 3 * x
x.data.zero_()
y.backward()
# Predict first: which number is x.grad?
print(x.grad.item())
torch.testing.assert_close(x.grad.item(), 3.0)

# %%
# That is why such code can work for years, until somebody changes the formula.
#
# What you can do now
# -------------------
#
# - You can name the two doors: ``.data``, and a NumPy array over the same memory.
# - You can replace them with forms that PyTorch watches.
# - You can find such an edit in a program with two hooks.
#
# Exercises
# ---------
#
# 1. :math:`x^2` saves ``x``. It was 3 in the forward run, and is then set to 10
#    through ``.data``.

x = torch.tensor(3.0, requires_grad=True)
y = x**2
x.data.fill_(10.0)
y.backward()
# Predict first: which number is x.grad?
print(x.grad.item())
torch.testing.assert_close(x.grad.item(), 20.0)

# %%
# The right slope was 6.
#
# 2. The same with ``x + x``.

x = torch.tensor(3.0, requires_grad=True)
y = x + x
x.data.fill_(10.0)
y.backward()
# Predict first: which number is x.grad?
print(x.grad.item())
torch.testing.assert_close(x.grad.item(), 2.0)
