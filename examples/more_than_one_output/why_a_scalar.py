# /// script
# requires-python = ">=3.10"
# dependencies = ["torch", "torchviz", "setuptools"]
# ///
# Pictures show in a notebook or in an editor's cells, where Graphviz's `dot` is installed; all else runs without.
"""
Say why backward wants a single number
======================================

You will be able to explain the error for a vector result, and to choose what you mean: a sum, weights, or the whole Jacobian.

"grad can be implicitly created only for scalar outputs" sounds technical.
Behind it stands a simple question: the slope of *what*?

Know first: ``first_gradient``, ``why_it_adds``.
"""

import torch
from torchviz import make_dot

# %%
# Three results, three inputs
# ---------------------------
#
# Square each of three numbers. Which slopes could you ask for now? The slope
# of the first result, of the second, of the third: each with respect to each
# of three inputs. That makes nine numbers, and ``x.grad`` has room for three.

x = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
y = x * x
try:
    y.backward()
except RuntimeError as error:
    print(error)
    assert "created only for scalar outputs" in str(error)
else:
    raise AssertionError("a vector result must be refused")

# %%
# PyTorch does not guess. The nine numbers are the *Jacobian*: row :math:`i`
# holds the slopes of result :math:`i`.
#
# .. math::
#
#    J_{ij} = \frac{\partial y_i}{\partial x_j}
#
# Here result :math:`i` depends on input :math:`i` alone, with slope
# :math:`2\,x_i`. ``torch.autograd.functional.jacobian`` computes all of it.

jacobian = torch.autograd.functional.jacobian(lambda x: x * x, x.detach())
print(jacobian)
torch.testing.assert_close(jacobian, torch.diag(2 * x.detach()))

# %%
# ``torch.func.jacrev`` gives the same, as a function that you can reuse.

same = torch.func.jacrev(lambda x: x * x)(x.detach())
torch.testing.assert_close(same, jacobian)

# %%
# Why not always the whole Jacobian?
# ----------------------------------
#
# A layer with 1000 inputs and 1000 results for a batch of 100 samples has
# 100 000 inputs and as many results.

numbers = (100 * 1000) ** 2
# Predict first: how many numbers has its Jacobian? (100 000 times 100 000)
print(numbers)
assert numbers == 10**10

# %%
# Each number takes four bytes:

print(numbers * 4 / 1e9, "gigabytes")

# %%
# Backward never makes this table. It carries one vector back through the
# graph, and each node multiplies it by its own Jacobian: a *vector-Jacobian
# product*. What you need to give is the vector at the start. For a single
# number it is 1, so you need not write it.
#
# Say what you mean
# -----------------
#
# **A sum.** The slope of :math:`y_0 + y_1 + y_2` is one number for each input.

y = x * x
total = y.sum()
make_dot(total, params={"x": x, "total": total})

# %%
# Add up the columns of the Jacobian above in your head.

total.backward()
# Predict first: the three numbers in x.grad
print(x.grad)
torch.testing.assert_close(x.grad, jacobian.sum(dim=0))

# %%
# **Weights.** ``gradient=`` is the vector at the start: one weight for each
# result. Here all weights are 1.

x.grad = None
(x * x).backward(gradient=torch.ones(3))
# Predict first: the three numbers in x.grad this time
print(x.grad)
torch.testing.assert_close(x.grad, jacobian.sum(dim=0))

# %%
# A batch of losses
# -----------------
#
# In training, the vector is often one loss for each sample. What you want is
# not the Jacobian: you want the sum (or the mean) over the batch of each
# sample's gradient. A small batch shows it: :math:`(w\,x_i)^2` for two
# samples.

w = torch.tensor(1.0, requires_grad=True)
samples = torch.tensor([1.0, 3.0])
each = []
for sample in samples:
    (grad,) = torch.autograd.grad((w * sample) ** 2, w)
    each.append(grad.item())
print("each sample:", each)

# %%
# What does one backward over the sum of the two losses give?

((w * samples) ** 2).sum().backward()
# Predict first: which number is w.grad?
print(w.grad.item())
torch.testing.assert_close(w.grad.item(), sum(each))

# %%
# What goes wrong with a loss that is a vector by accident
# --------------------------------------------------------
#
# Loss functions add or average for you, unless you say ``reduction="none"``.

prediction = torch.tensor([1.0, 2.0], requires_grad=True)
target = torch.zeros(2)
losses = torch.nn.functional.mse_loss(prediction, target, reduction="none")
try:
    losses.backward()
except RuntimeError as error:
    print(error)
else:
    raise AssertionError("two losses must be refused")

# %%
# Choose ``losses.mean()`` or ``losses.sum()``. They differ by the number of
# losses, so the learning rate that works with one does not fit the other.
#
# What counts is the number of elements, not the shape. A vector with one
# element is accepted:

v = torch.tensor([5.0], requires_grad=True)
one_number = 3 * v
print(one_number.shape)
one_number.backward()
torch.testing.assert_close(v.grad, torch.tensor([3.0]))

# %%
# What you can do now
# -------------------
#
# - You can read the error as the question "the slope of what?".
# - You can answer it: with a sum, with weights, or with the whole Jacobian.
#
# Exercises
# ---------
#
# 1. The results are :math:`3\,a_0` and :math:`a_0 a_1` at
#    :math:`\mathbf{a} = (2, 5)`. What is the gradient of their sum?

a = torch.tensor([2.0, 5.0], requires_grad=True)
torch.stack([3 * a[0], a[0] * a[1]]).sum().backward()
# Predict first: the two numbers in a.grad
print(a.grad)
torch.testing.assert_close(a.grad, torch.tensor([8.0, 2.0]))

# %%
# 2. How many rows and columns has the Jacobian of a function from 4 inputs to
#    2 results?

rows, columns = torch.autograd.functional.jacobian(
    lambda x: x[:2] * x[2:], torch.ones(4)
).shape
# Predict first: the number of rows and the number of columns
print(rows, columns)
assert (rows, columns) == (2, 4)
