# /// script
# requires-python = ">=3.10"
# dependencies = ["torch", "torchviz", "setuptools"]
# ///
# Pictures show in a notebook or in an editor's cells, where Graphviz's `dot` is installed; all else runs without.
"""
Tell a leaf from a result
=========================

You will be able to say for any tensor whether backward will fill its ``.grad``, and to get the gradient where it will not.

"Why is my gradient ``None``?" is a frequent question about autograd. A
frequent answer is: the tensor is not a leaf.

Know first: ``first_gradient``, ``read_the_picture``.
"""

import warnings

import torch
from torchviz import make_dot

# %%
# Two conditions
# --------------
#
# Backward keeps a gradient for you where two things hold: the tensor is a
# *leaf*, and it *requires a gradient*. Look at a chain of three tensors.

x = torch.tensor([1.0, 2.0], requires_grad=True)
h = 3 * x
loss = (h * h).sum()
make_dot(loss, params={"x": x, "h": h, "loss": loss})

# %%
# ``x`` was made by you. ``h`` was made by an operation from a tensor that
# requires a gradient, so ``h`` requires one too. Are both of them leaves?

# Predict first: x.is_leaf and h.is_leaf, True or False each
print(x.is_leaf, h.is_leaf)
assert x.is_leaf
assert not h.is_leaf
assert h.requires_grad

# %%
# A result of a recorded operation is no leaf. Which of the two gets a
# ``.grad``?

loss.backward()
print(x.grad)
torch.testing.assert_close(x.grad, torch.tensor([18.0, 36.0]))

# %%
# By hand: :math:`\text{loss} = 9\,(x_0^2 + x_1^2)`, with slope
# :math:`18\,x_i`. Now read ``h.grad``. Reading it gives a warning, which tells
# you what is wrong:

with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    grad_of_h = h.grad
print(grad_of_h)
print(str(caught[0].message).split(" See ")[0])
assert grad_of_h is None

# %%
# The gradient of ``h`` was computed, since backward had to pass through ``h``
# to reach ``x``. It was not kept: a network has many results in between, and
# all their gradients would take much memory.
#
# Three ways to get it
# --------------------
#
# **Ask before backward to keep it**: ``torch.Tensor.retain_grad``. By hand the
# gradient of :math:`h_0^2 + h_1^2` is :math:`2\,\mathbf{h}`.

h = 3 * x
h.retain_grad()
(h * h).sum().backward()
# Predict first: the two numbers in h.grad
print(h.grad)
torch.testing.assert_close(h.grad, torch.tensor([6.0, 12.0]))

# %%
# **Look at it as it passes**, with a hook: ``torch.Tensor.register_hook``.

h = 3 * x
seen = []
h.register_hook(lambda grad: seen.append(grad))
(h * h).sum().backward()
print(seen[0])
torch.testing.assert_close(seen[0], torch.tensor([6.0, 12.0]))

# %%
# **Ask for it by name**: ``torch.autograd.grad`` returns the gradient with
# respect to any tensor of the graph and stores nothing in ``.grad``.

x.grad = None
h = 3 * x
(grad_of_h,) = torch.autograd.grad((h * h).sum(), h)
print(grad_of_h)
torch.testing.assert_close(grad_of_h, torch.tensor([6.0, 12.0]))
assert x.grad is None

# %%
# So the sentence "there is no gradient for a tensor that is no leaf" is false.
# It is not *kept*, unless you ask.
#
# What goes wrong when you scale a parameter
# ------------------------------------------
#
# You want weights of a small size and scale them in the same line:

weights = torch.ones(2, requires_grad=True) * 0.5
# Predict first: is this tensor a leaf? True or False
print(weights.is_leaf)
assert not weights.is_leaf

# %%
# The multiplication made a new tensor. The leaf is the one without a name. An
# optimizer refuses to train ``weights``:

try:
    torch.optim.SGD([weights], lr=0.1)
except ValueError as error:
    print(error)
else:
    raise AssertionError("a tensor that is no leaf must be refused")

# %%
# Scale first, then ask for gradients:

weights = (torch.ones(2) * 0.5).requires_grad_()
(weights**2).sum().backward()
print(weights.is_leaf, weights.grad)
torch.testing.assert_close(weights.grad, torch.ones(2))

# %%
# The same happens with every method that returns a new tensor:

assert not weights.reshape(2, 1).is_leaf
assert not weights.to(torch.float64).is_leaf

# %%
# One more case
# -------------
#
# A tensor that requires no gradient counts as a leaf as well, even if an
# operation made it. So ``is_leaf`` alone does not tell whether ``.grad`` will
# be filled.

plain = torch.ones(2) * 0.5
print(plain.is_leaf, plain.requires_grad)
assert plain.is_leaf
assert not plain.requires_grad

# %%
# What you can do now
# -------------------
#
# - You can predict whether ``.grad`` is filled: ``is_leaf`` and
#   ``requires_grad`` must both be true, and backward must reach the tensor.
# - You can get the gradient of any other tensor of the graph in three ways.
#
# Exercises
# ---------
#
# 1. Is ``a`` a leaf after this line?

a = torch.ones(3, requires_grad=True).double()
# Predict first: is a a leaf? True or False
print(a.is_leaf)
assert not a.is_leaf

# %%
# 2. ``double()`` of a tensor that has the type already returns the tensor
#    itself.

c = torch.ones(3, dtype=torch.float64, requires_grad=True).double()
# Predict first: is c a leaf? True or False
print(c.is_leaf)
assert c.is_leaf

# %%
# 3. Which number is in ``d.grad`` here?

k = torch.tensor(4.0, requires_grad=True)
d = k * k
d.retain_grad()
(10 * d).backward()
# Predict first: which number is d.grad?
print(d.grad.item())
torch.testing.assert_close(d.grad.item(), 10.0)
