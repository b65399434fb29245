# /// script
# requires-python = ">=3.10"
# dependencies = ["torch"]
# ///
"""
A leaf that requires grad is used in an in-place operation
==========================================================

You will be able to update a weight by hand, and to set or clip a part of it, without losing its gradient.

How it shows:

- A hand-written gradient descent step, ``w -= lr * w.grad`` or ``p.sub_(...)``, stops: a leaf Variable that requires grad is being used in an in-place operation.
- ``param.clamp_()``, ``weight.fill_()``, ``bias.zero_()`` or ``copy_()`` on a layer's parameters is refused.
- Setting one element, a row or a mask of a parameter, as in ``weight[0] = 0``, fails: a view of a leaf Variable.
- A moving average of weights (EMA), a target network in reinforcement learning or weight clipping in a GAN raises a ``RuntimeError``.
- After ``w = w - lr * w.grad`` the first iteration of the loop works, and in the second ``w.grad`` is ``None``.

Know first: ``leaf_or_not``, ``updating_a_leaf``.
"""

import warnings

import torch

# %%
# The shortest program that shows it
# ----------------------------------

w = torch.tensor([1.0, 1.0], requires_grad=True)
(3 * w).sum().backward()
try:
    w -= 0.5 * w.grad
except RuntimeError as error:
    print(error)
else:
    raise AssertionError("the leaf was changed")

# %%
# Why
# ---
#
# "Variable" is an old word for tensor. A leaf is a tensor that no recorded operation
# made. Backward puts the gradient there. If PyTorch recorded the subtraction, ``w``
# would be the result of an operation, and no longer a leaf. So it refuses, and ``w``
# is as before.

assert w.is_leaf and w.grad_fn is None
torch.testing.assert_close(w.detach(), torch.tensor([1.0, 1.0]))

# %%
# A result may be changed in place, and so may a leaf that needs no gradient:

result = w * 1
result -= 1
data = torch.tensor([1.0, 1.0])
data -= 1
assert not result.is_leaf and not data.requires_grad

# %%
# The fix
# -------
#
# An update of a weight is not part of the function that you differentiate, so it must
# not be recorded. Write it under ``torch.no_grad``:

same = w
for _ in range(2):
    w.grad = None
    (3 * w).sum().backward()
    with torch.no_grad():
        w -= 0.5 * w.grad
# Predict first: which two numbers are in w after two steps?
print(w.tolist())

# %%
# ``w`` stays a leaf, and is the same tensor as before. ``torch.optim.SGD`` gives the
# same numbers:

torch.testing.assert_close(w.tolist(), [-2.0, -2.0])
assert w is same and w.is_leaf and w.requires_grad

v = torch.tensor([1.0, 1.0], requires_grad=True)
optimizer = torch.optim.SGD([v], lr=0.5)
for _ in range(2):
    optimizer.zero_grad()
    (3 * v).sum().backward()
    optimizer.step()
torch.testing.assert_close(v, w)

# %%
# Setting or clipping the weights of a layer
# ------------------------------------------
#
# A part of a leaf is a view of it, and is refused with another message:

layer = torch.nn.Linear(2, 1, bias=False)
try:
    layer.weight[0, 0] = 5.0
except RuntimeError as error:
    print(error)
else:
    raise AssertionError("a part of a leaf was changed")

# %%
# The same ``no_grad`` helps, for an element, for ``fill_``, ``clamp_`` and ``copy_``,
# and for an average of weights:

with torch.no_grad():
    layer.weight.copy_(torch.zeros(1, 2))
    layer.weight.fill_(1.0)
    layer.weight[0, 0] = 5.0
    layer.weight.clamp_(max=2.0)
    layer.weight.mul_(0.5).add_(torch.ones(1, 2))
assert layer.weight.is_leaf
torch.testing.assert_close(layer.weight.tolist(), [[2.0, 1.5]])

# %%
# An input that you edit
# ----------------------
#
# If the edited tensor is an input, and you want its gradient, then edit first and ask
# for the gradient last:

x = torch.zeros(3)
x[1] = 5.0
x.requires_grad_()
(x**2).sum().backward()
torch.testing.assert_close(x.grad, torch.tensor([0.0, 10.0, 0.0]))

# %%
# If the edit *is* part of your function, ``clone`` first: a copy is a result and no
# leaf. The element that was overwritten gets the gradient 0.

x = torch.ones(3, requires_grad=True)
masked = x.clone()
masked[1] = 0.0
masked.sum().backward()
torch.testing.assert_close(x.grad, torch.tensor([1.0, 0.0, 1.0]))

# %%
# The popular fix that does not work
# ----------------------------------
#
# "Write ``w = w - lr * w.grad``." There is no error in the first iteration. But the new
# ``w`` is a result of the old one, and backward puts no gradient into the ``.grad`` of
# a result.

w = torch.tensor([1.0, 1.0], requires_grad=True)
messages = []
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    for _ in range(2):
        (3 * w).sum().backward()
        leaf, gradient = w.is_leaf, w.grad
        try:
            w = w - 0.5 * w.grad
        except TypeError as error:
            messages.append(f"TypeError: {error}")

# %%
# What the second iteration had, and how it ended:

print(f"leaf: {leaf}, gradient: {gradient}")
print(messages[0])
print(str(caught[0].message).partition(". ")[0])
assert not leaf and gradient is None and len(messages) == 1

# %%
# The same line under ``no_grad`` makes a tensor that requires no gradient at all. The
# error then comes from the next ``backward()``:

w = torch.tensor([1.0, 1.0], requires_grad=True)
(3 * w).sum().backward()
with torch.no_grad():
    w = w - 0.5 * w.grad
try:
    (3 * w).sum().backward()
except RuntimeError as error:
    print(error)
else:
    raise AssertionError("w still requires a gradient")

# %%
# A new leaf made with ``detach().requires_grad_()`` does work in a loop of your own.
# But it is another tensor. An optimizer that you gave the old one never changes the
# new one:

old = w = torch.tensor([1.0, 1.0], requires_grad=True)
optimizer = torch.optim.SGD([w], lr=0.5)
(3 * w).sum().backward()
w = (w - 0.5 * w.grad).detach().requires_grad_()
optimizer.zero_grad()
(3 * w).sum().backward()
torch.testing.assert_close(w.grad, torch.tensor([3.0, 3.0]))
optimizer.step()
torch.testing.assert_close(w.tolist(), [-0.5, -0.5])
assert optimizer.param_groups[0]["params"][0] is old

# %%
# Find the line in your own code
# ------------------------------
#
# The traceback of this error ends in the line itself. The line that turns a leaf into a
# result is harder to find, because no error comes there. Put this check at the start of
# each iteration:


def no_leaves(**tensors):
    return [
        f"{name} was made by {tensor.grad_fn.name()}"
        for name, tensor in tensors.items()
        if not tensor.is_leaf
    ]


w = torch.tensor([1.0, 1.0], requires_grad=True)
b = torch.tensor(0.0, requires_grad=True)
assert no_leaves(w=w, b=b) == []
w = w - 0.5
print(no_leaves(w=w, b=b))
assert len(no_leaves(w=w, b=b)) == 1
