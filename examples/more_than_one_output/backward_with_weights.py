# /// script
# requires-python = ">=3.10"
# dependencies = ["torch", "torchviz", "setuptools"]
# ///
# Pictures show in a notebook or in an editor's cells, where Graphviz's `dot` is installed; all else runs without.
"""
Weigh the outputs of backward
=============================

You will be able to compute what ``backward(gradient=v)`` gives for any weights ``v``, by eye, from the Jacobian.

The argument ``gradient`` is not a gradient that you have to know. It is a
weight for each output. With it you pick one output, add them all, or give each
its own importance.

Know first: ``used_up_graph``, ``why_a_scalar``.
"""

import torch
from torchviz import make_dot

# %%
# Two outputs, three inputs
# -------------------------
#
# Let :math:`y_0 = x_0 x_1` and :math:`y_1 = x_1 + 2\,x_2` at
# :math:`\mathbf{x} = (2, 3, 5)`. The Jacobian has one row for each output:
#
# .. math::
#
#    J = \begin{pmatrix} x_1 & x_0 & 0 \\ 0 & 1 & 2 \end{pmatrix}
#      = \begin{pmatrix} 3 & 2 & 0 \\ 0 & 1 & 2 \end{pmatrix}


def f(x):
    return torch.stack([x[0] * x[1], x[1] + 2 * x[2]])


x = torch.tensor([2.0, 3.0, 5.0], requires_grad=True)
jacobian = torch.autograd.functional.jacobian(f, x.detach())
print(jacobian)

# %%
# The graph of the two outputs:

y = f(x)
make_dot(y, params={"x": x, "y": y})

# %%
# Pick one output
# ---------------
#
# Weights :math:`\mathbf{v} = (1, 0)` ask for the first output alone. (The
# graph is kept, since you will ask it again.)

y.backward(gradient=torch.tensor([1.0, 0.0]), retain_graph=True)
# Predict first: the three numbers in x.grad
print(x.grad)
torch.testing.assert_close(x.grad, jacobian[0])

# %%
# It is the first row. And :math:`(0, 1)`? Clear first, since calls add up.

x.grad = None
y.backward(gradient=torch.tensor([0.0, 1.0]), retain_graph=True)
# Predict first: the three numbers in x.grad now
print(x.grad)
torch.testing.assert_close(x.grad, jacobian[1])

# %%
# Add them all
# ------------
#
# With :math:`(1, 1)` you get the sum of the rows. ``y.sum().backward()`` is
# the same thing.

x.grad = None
y.backward(gradient=torch.ones(2), retain_graph=True)
# Predict first: the three numbers in x.grad with weights 1 and 1
print(x.grad)
torch.testing.assert_close(x.grad, jacobian.sum(dim=0))
(of_sum,) = torch.autograd.grad(f(x).sum(), x)
torch.testing.assert_close(x.grad, of_sum)

# %%
# Any weights
# -----------
#
# In general the answer is :math:`\mathbf{v}^\top J`, a vector-Jacobian
# product: each row times its weight, added up. Try
# :math:`\mathbf{v} = (10, -1)`.

v = torch.tensor([10.0, -1.0])
x.grad = None
y.backward(gradient=v)
# Predict first: the three numbers in x.grad with weights 10 and -1
print(x.grad)
torch.testing.assert_close(x.grad, v @ jacobian)

# %%
# It is also the gradient of the single number :math:`10\,y_0 - y_1`. Weights
# are a way to make one number out of many.

(of_weighted_sum,) = torch.autograd.grad((v * f(x)).sum(), x)
torch.testing.assert_close(of_weighted_sum, x.grad)

# %%
# Squares, element by element
# ---------------------------
#
# For the squares of :math:`(0, 1, 2, 3)` the Jacobian has :math:`2\,x_i` on
# its diagonal and 0 elsewhere. Ones as weights:

z = torch.arange(4.0, requires_grad=True)
(z * z).backward(gradient=torch.ones(4))
# Predict first: the four numbers in z.grad
print(z.grad)
torch.testing.assert_close(z.grad, 2 * z.detach())

# %%
# What goes wrong: weights of the wrong shape
# -------------------------------------------
#
# The weights have the shape of the *output*, not of the input. Here the output
# has two elements, the input three.

try:
    f(x).backward(gradient=torch.ones(3))
except RuntimeError as error:
    print(error)
else:
    raise AssertionError("three weights for two outputs must be refused")

# %%
# Where input and output have the same shape, PyTorch cannot notice that you
# mixed them up. Ask yourself: one weight for each *result*.
#
# What you can do now
# -------------------
#
# - You can read ``gradient=v`` as "weigh the outputs with v".
# - You can compute the answer row by row: :math:`\mathbf{v}^\top J`.
# - You can get one row of a Jacobian with a one and zeros.
#
# Exercises
# ---------
#
# The Jacobian is still that of ``f`` at :math:`(2, 3, 5)`.
#
# 1. Which gradient do the weights :math:`(0, 0)` give?

x.grad = None
f(x).backward(gradient=torch.zeros(2))
# Predict first: the three numbers in x.grad with weights 0 and 0
print(x.grad)
torch.testing.assert_close(x.grad, torch.zeros(3))

# %%
# 2. And :math:`(2, 3)`?

x.grad = None
f(x).backward(gradient=torch.tensor([2.0, 3.0]))
# Predict first: the three numbers in x.grad with weights 2 and 3
print(x.grad)
torch.testing.assert_close(x.grad, torch.tensor([6.0, 7.0, 6.0]))
