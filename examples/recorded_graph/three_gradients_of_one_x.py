# /// script
# requires-python = ">=3.10"
# dependencies = ["torch", "torchviz", "setuptools"]
# ///
# Pictures show in a notebook or in an editor's cells, where Graphviz's `dot` is installed; all else runs without.
"""
Explain three gradients of one x
================================

You will be able to explain why ``x``, its reshaped form and the transpose of that get different gradients.

The three tensors hold the same four numbers in the same memory, but one of the
three gradients has other numbers. The reason is a rule that you know: a tensor
that is used twice gets two contributions.

Know first: ``why_it_adds``, ``read_the_picture``, ``leaf_or_not``.
"""

import torch
from torchviz import make_dot

# %%
# The chain
# ---------
#
# ``x_1`` is ``x`` as a column, ``x_1_T`` is that column as a row, and row
# times column is the sum of the squares. ``torch.Tensor.retain_grad`` asks
# backward to keep the gradients of the two results in between.

x = torch.arange(4.0, requires_grad=True)
x_1 = x.reshape(4, 1)
x_1_T = x_1.T
x_1.retain_grad()
x_1_T.retain_grad()
y = torch.mm(x_1_T, x_1)
total = y.sum()
assert x.data_ptr() == x_1.data_ptr() == x_1_T.data_ptr()

# %%
# Row times column:
#
# .. math::
#
#    \begin{pmatrix} 0 & 1 & 2 & 3 \end{pmatrix}
#    \begin{pmatrix} 0 \\ 1 \\ 2 \\ 3 \end{pmatrix} = 0 + 1 + 4 + 9

# Predict first: which number is total?
print(total.item())
torch.testing.assert_close(total.item(), 14.0)

# %%
# The graph
# ---------
#
# Find ``MmBackward0`` (the product) in the picture, and count the arrows that
# come into it.

make_dot(total, params={"x": x, "total": total})

# %%
# Two arrows: one straight from the node of the reshape, one through the node
# of the transpose. So ``x_1`` is used **twice**: once as the column of the
# product, once as the source of ``x_1_T``. But ``x_1_T`` is used once.
#
# The gradients
# -------------
#
# The product sends to each factor the other one, in the factor's shape. The
# row gets nothing else.

total.backward()
# Predict first: the four numbers in x_1_T.grad
print(x_1_T.grad)
torch.testing.assert_close(x_1_T.grad, torch.tensor([[0.0, 1.0, 2.0, 3.0]]))

# %%
# ``x_1`` gets this contribution too, turned back into a column. And it gets
# what the product sends to its other factor, the column.

# Predict first: the four numbers in x_1.grad
print(x_1.grad)
torch.testing.assert_close(
    x_1.grad, torch.tensor([[0.0], [2.0], [4.0], [6.0]])
)

# %%
# Twice as much: it is the sum of both ways. And ``x`` is used once only, by
# the reshape. Its gradient is that of ``x_1`` in another shape:

print(x.grad)
torch.testing.assert_close(x.grad, torch.tensor([0.0, 2.0, 4.0, 6.0]))
torch.testing.assert_close(x.grad, x_1.grad.reshape(4))

# %%
# Is it the reshape?
# ------------------
#
# You may suspect the node that the reshape left in the graph. Its name depends
# on the release: PyTorch 1.13 and 2.0 record ``ReshapeAliasBackward0``, 2.5
# and later ones record another node. This run gives:

print(x_1.grad_fn.name())

# %%
# To find out, leave the reshape away: begin with the column as the leaf.

column = torch.arange(4.0).reshape(4, 1).requires_grad_()
row = column.T
row.retain_grad()
torch.mm(row, column).sum().backward()
# Predict first: is column.grad still twice row.grad.T? True or False
print(torch.allclose(column.grad, 2 * row.grad.T))
torch.testing.assert_close(column.grad, 2 * row.grad.T)

# %%
# The difference stays. The reshape has nothing to do with it.
#
# What goes wrong when one use is cut
# -----------------------------------
#
# For the other half of the proof, cut one of the two uses. ``detach()`` gives
# the same numbers without a way back.

column.grad = None
cut = torch.mm(column.T.detach(), column).sum()
cut.backward()
# Predict first: the four numbers in column.grad with one way cut
print(column.grad)
torch.testing.assert_close(column.grad, torch.arange(4.0).reshape(4, 1))
torch.testing.assert_close(cut.item(), 14.0)

# %%
# One way left, half the gradient, and no error. The value is still 14: a
# ``detach`` in the wrong place shows in the gradient only.
#
# What you can do now
# -------------------
#
# - You can count the uses of a tensor in a picture and predict how many
#   contributions its gradient has.
# - You can test a suspicion about a gradient: change one thing and compare.
#
# Exercises
# ---------
#
# 1. In ``a * b`` with ``b = a + 0`` and :math:`a = 3`, how large is the
#    gradient of ``b``, and how large that of ``a``?

a = torch.tensor(3.0, requires_grad=True)
b = a + 0
b.retain_grad()
(a * b).backward()
# Predict first: the two numbers b.grad and a.grad
print(b.grad.item(), a.grad.item())
torch.testing.assert_close(b.grad.item(), 3.0)
torch.testing.assert_close(a.grad.item(), 6.0)

# %%
# 2. Three uses: ``c * c.clone() * c.clone()`` at :math:`c = 2`.

c = torch.tensor(2.0, requires_grad=True)
(c * c.clone() * c.clone()).backward()
# Predict first: which number is c.grad?
print(c.grad.item())
torch.testing.assert_close(c.grad.item(), 12.0)
