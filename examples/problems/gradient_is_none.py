# /// script
# requires-python = ">=3.10"
# dependencies = ["torch"]
# ///
"""
The gradient is None
====================

You will be able to find out why ``.grad`` is ``None`` after backward, and to get the gradient that you wanted.

How it shows:

- ``x.grad`` is ``None`` after ``backward()``, without an error.
- It works on the CPU, and the gradient disappears after ``.cuda()`` or ``.to(device)``.
- ``.grad`` is ``None`` after ``view``, ``reshape`` or another conversion of the input.
- Code that reads ``weight.grad`` after ``zero_grad()`` stops with an error about ``NoneType``.
- The second derivative is missing: ``.grad`` stays ``None`` after the second backward.

Know first: ``leaf_or_not``. ``why_is_it_none`` has all causes in order.
"""

import warnings

import torch

# %%
# The shortest program that shows it
# ----------------------------------
#
# The input is moved to a device, or converted to another type, in the line
# that makes it.

x = torch.ones(3, requires_grad=True).to(torch.float64)
x.sum().backward()
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    gradient = x.grad
print(gradient)
print(str(caught[0].message).partition(" (Triggered")[0])
assert gradient is None and len(caught) == 1

# %%
# Why
# ---
#
# ``to`` is an operation, and ``x`` is its *result*. Backward stores gradients in
# leaves only. The leaf is the tensor that ``torch.ones`` made, and no name is left
# for it.

assert not x.is_leaf and x.grad_fn is not None

# %%
# ``.cuda()`` and ``.to("cuda")`` do the same. On a computer without a GPU,
# ``.to(device)`` has nothing to do. Then it returns the tensor itself, and ``.grad``
# is filled.

x = torch.ones(3, requires_grad=True)
assert x.to("cpu") is x
assert x.to("cpu").is_leaf

# %%
# The result of ``view`` or ``reshape`` is another tensor than its input, so this
# happens on every device.

x = torch.ones(4, requires_grad=True).view(2, 2)
assert not x.is_leaf
x = torch.ones(4, requires_grad=True).reshape(2, 2)
assert not x.is_leaf

# %%
# The fix
# -------
#
# Make the tensor in its final place, type and shape, and ask for its gradient
# last. On a GPU: ``torch.ones(3, device="cuda", requires_grad=True)``.

x = torch.ones(4).view(2, 2).to(torch.float64).requires_grad_()
(3 * x).sum().backward()
print(x.grad)
torch.testing.assert_close(x.grad, torch.full((2, 2), 3.0).double())

# %%
# Or keep a name for the leaf, and read the gradient there:

leaf = torch.ones(4, requires_grad=True)
(3 * leaf.view(2, 2)).sum().backward()
torch.testing.assert_close(leaf.grad, torch.full((4,), 3.0))

# %%
# After zero_grad
# ---------------
#
# From PyTorch 2.0 on, ``zero_grad()`` sets ``.grad`` to ``None``. Before, it filled
# the gradients with zeros. Old code that reads a gradient right after it fails:

layer = torch.nn.Linear(2, 1)
layer(torch.ones(1, 2)).sum().backward()
layer.zero_grad()
try:
    print(layer.weight.grad[0])
except TypeError as error:
    print("TypeError:", error)
else:
    raise AssertionError("there is a gradient after zero_grad")

# %%
# Ask first whether there is a gradient, or ask for zeros:

assert layer.weight.grad is None
layer(torch.ones(1, 2)).sum().backward()
layer.zero_grad(set_to_none=False)
torch.testing.assert_close(layer.weight.grad, torch.zeros(1, 2))

# %%
# In a second backward
# --------------------
#
# The derivative of ``a * b`` with respect to ``a`` is ``b``. The second backward
# starts there. ``a`` is not in its graph, so ``a.grad`` stays ``None``. It does not
# become 0.

a = torch.tensor(2.0, requires_grad=True)
b = torch.tensor(5.0, requires_grad=True)
(slope,) = torch.autograd.grad(a * b, a, create_graph=True)
slope.backward()
assert a.grad is None
# Predict first: which number is b.grad?
print(b.grad.item())
torch.testing.assert_close(b.grad, torch.tensor(1.0))

# %%
# For ``a**3`` the derivative does depend on ``a``: the second derivative is
# :math:`6\,a = 12`.

(slope,) = torch.autograd.grad(a**3, a, create_graph=True)
slope.backward()
torch.testing.assert_close(a.grad, torch.tensor(12.0))

# %%
# If you want 0 in place of ``None``, say so. (PyTorch 2.5 and later have this
# argument, 2.0 does not.)

(slope,) = torch.autograd.grad(a * b, a, create_graph=True)
(second,) = torch.autograd.grad(slope, a, materialize_grads=True)
torch.testing.assert_close(second, torch.tensor(0.0))

# %%
# The popular fix that does not work
# ----------------------------------
#
# ``requires_grad_()`` on the result changes nothing: the result already requires a
# gradient, and it stays a result. An optimizer refuses it.

leaf = torch.ones(3, requires_grad=True)
x = leaf.to(torch.float64)
assert x.requires_grad and not x.requires_grad_().is_leaf
try:
    torch.optim.SGD([x], lr=0.1)
except ValueError as error:
    print(error)
else:
    raise AssertionError("the optimizer took a non-leaf")

# %%
# ``retain_grad()`` keeps the gradient of the converted tensor, and then the optimizer
# takes this tensor. But its step changes ``x`` only. The leaf keeps its numbers, and
# the next conversion starts from them again.

x.retain_grad()
x.sum().backward()
torch.testing.assert_close(x.grad, torch.ones(3).double())
torch.optim.SGD([x], lr=0.5).step()
torch.testing.assert_close(x, torch.full((3,), 0.5).double())
torch.testing.assert_close(leaf, torch.ones(3))

# %%
# Find the line in your own code
# ------------------------------
#
# Put this line after the one that makes the tensor. A ``grad_fn`` names the
# operation that made ``x`` a result; a leaf has none.

for x in (torch.ones(4, requires_grad=True).view(2, 2), torch.ones(4)):
    made_by = x.grad_fn.name() if x.grad_fn else "no operation"
    print(f"leaf: {x.is_leaf}, requires grad: {x.requires_grad}, by {made_by}")
assert x.is_leaf and not x.requires_grad
