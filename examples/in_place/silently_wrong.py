# /// script
# requires-python = ">=3.10"
# dependencies = ["torch", "torchviz", "setuptools"]
# ///
# Pictures show in a notebook or in an editor's cells, where Graphviz's `dot` is installed; all else runs without.
"""
Recognise a gradient that is silently wrong
===========================================

You will be able to recognise two edits that give a wrong gradient without an error, and to catch them with a check of your own.

PyTorch notices most changes of saved numbers, and refuses to run backward. Two
common edits are not noticed. Then backward runs, and its answer is wrong.

Know first: ``version_counter``, ``views_and_in_place``.
"""

import torch
from torchviz import make_dot

# %%
# What is right
# -------------
#
# The slope of :math:`e^x` at 0 is :math:`e^0 = 1`. ``exp`` saves its result
# for backward, since the result *is* the slope.

x = torch.tensor([0.0], requires_grad=True)
y = x.exp()
y.backward()
print(x.grad.item())
torch.testing.assert_close(x.grad.item(), 1.0)

# %%
# The first edit: ``.data``
# -------------------------
#
# ``version_counter`` showed you this one: ``y.data`` uses the same numbers as
# ``y``, and has a version counter of its own. The edit is not counted for
# ``y``.

x = torch.tensor([0.0], requires_grad=True)
y = x.exp()
y.data.mul_(5)
assert y._version == 0
y.backward()
# Predict first: the slope at 0 is 1; which number is x.grad after the edit?
print(x.grad.item())
torch.testing.assert_close(x.grad.item(), 5.0)

# %%
# There was no error, and the gradient is five times too large. To see why, run
# it again, and look at the saved tensor. In the picture it is called
# ``result``.

x.grad = None
y = x.exp()
y.data.mul_(5)
make_dot(y, params={"x": x, "y": y}, show_saved=True)

# %%
# It is not a copy. It uses the memory of ``y``, and so it holds the changed
# number. Backward multiplies by it.

torch.testing.assert_close(y.grad_fn._saved_result.item(), 5.0)
y.backward()
torch.testing.assert_close(x.grad.item(), 5.0)

# %%
# The second edit: a NumPy array
# ------------------------------
#
# ``y.detach().numpy()`` is an array over the same memory. NumPy does not know
# the version counter.

x = torch.tensor([0.0], requires_grad=True)
y = x.exp()
array = y.detach().numpy()
array[0] = 0.0
y.backward()
# Predict first: which number is x.grad after this edit?
print(x.grad.item())
torch.testing.assert_close(x.grad.item(), 0.0)

# %%
# Three edits that are noticed
# ----------------------------
#
# Now make the same change in three other ways: on ``y`` itself, on a detached
# tensor, and under ``no_grad``. The version counter of ``y`` counts all three.


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
# So do not use ``.data``. Take ``no_grad`` for an update, and ``detach`` for a
# constant: then backward notices. For NumPy, make a copy of the numbers:

x = torch.tensor([0.0], requires_grad=True)
y = x.exp()
array = y.detach().numpy().copy()
array[0] = 0.0
y.backward()
torch.testing.assert_close(x.grad.item(), 1.0)

# %%
# What depends on the release
# ---------------------------
#
# The two edits are silent in PyTorch 1.4 and in every later release that was
# tried, up to 2.15. But the step of an optimizer was silent too in PyTorch
# 1.4. From 1.6 on it is counted:

w = torch.nn.Parameter(torch.tensor(2.0))
loss = w * w
loss.backward(retain_graph=True)
torch.optim.SGD([w], lr=0.1).step()
assert w._version == 1
try:
    loss.backward()
except RuntimeError as error:
    assert "inplace operation" in str(error)
else:
    raise AssertionError("the step was not noticed")

# %%
# A check of your own
# -------------------
#
# In a program that you did not write, such an edit is hard to see. But you can
# check for it: keep a copy of each saved tensor, and compare when backward
# reads it.


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
    raise AssertionError("the check saw nothing")

# %%
# The check needs twice the memory for saved tensors, so use it only to search.
#
# What goes wrong in another formula
# ----------------------------------
#
# The edit does harm only where backward needs the numbers. Does it for
# :math:`3\,x`?

x = torch.tensor([1.0], requires_grad=True)
y = 3 * x
x.data.zero_()
y.backward()
# Predict first: which number is x.grad for 3 * x?
print(x.grad.item())
torch.testing.assert_close(x.grad.item(), 3.0)

# %%
# The slope of :math:`3\,x` is 3 for every ``x``, so backward does not need
# ``x``. Such code can work for years, until somebody changes the formula.
#
# What you can do now
# -------------------
#
# - You can name two edits that are not noticed: through ``.data``, and through
#   a NumPy array over the same memory.
# - You can write them in a form that PyTorch notices.
# - You can use two hooks to find such an edit in a program.
#
# Exercises
# ---------
#
# 1. :math:`x^2` saves ``x``. In the forward run ``x`` is 3. Then it is set to
#    10 through ``.data``.

x = torch.tensor(3.0, requires_grad=True)
y = x**2
x.data.fill_(10.0)
y.backward()
# Predict first: which number is x.grad for x squared?
print(x.grad.item())
torch.testing.assert_close(x.grad.item(), 20.0)

# %%
# The right slope is 6, at 3.
#
# 2. The same edit, with ``x + x``.

x = torch.tensor(3.0, requires_grad=True)
y = x + x
x.data.fill_(10.0)
y.backward()
# Predict first: which number is x.grad for x + x?
print(x.grad.item())
torch.testing.assert_close(x.grad.item(), 2.0)
