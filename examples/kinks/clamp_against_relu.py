# /// script
# requires-python = ">=3.10"
# dependencies = ["torch", "torchviz", "setuptools"]
# ///
# Pictures show in a notebook or in an editor's cells, where Graphviz's `dot` is installed; all else runs without.
"""
Settle clamp against relu
=========================

You will be able to find the one number that makes the gradients of ``relu`` and ``clamp(min=0)`` differ, in your release.

``relu(x)`` and ``x.clamp(min=0)`` give the same values for every input. A known
question asks why two networks that differ in nothing else get different
gradients. The answer depends on the release: it changed in PyTorch 2.14.

Know first: ``slopes_from_both_sides``, ``why_it_adds``.
"""

import torch
from torchviz import make_dot

# %%
# This page was run with the following release. All outputs below are its own.

print(torch.__version__.partition("+")[0])
release = tuple(int(part) for part in torch.__version__.split(".")[:2])
clamp_gives_one = release < (2, 14)

# %%
# One number
# ----------
#
# Take :math:`(\text{act}(x) - 1)^2` at exactly :math:`x = 0`, where ``act`` is
# one of the two. The outer slope is :math:`2\,(0 - 1) = -2`. The result is -2
# times the slope that ``act`` has at 0.


def loss_at_zero(act):
    x = torch.tensor(0.0, requires_grad=True)
    return x, (act(x) - 1) ** 2


x, loss = loss_at_zero(torch.relu)
make_dot(loss, params={"x": x, "loss": loss})

# %%
# For ``relu`` the slope at 0 is taken as 0, in every release.

loss.backward()
# Predict first: which number is x.grad with relu?
print(x.grad.item())
torch.testing.assert_close(x.grad.item(), 0.0)

# %%
# Now the same with ``clamp(min=0)``:

x, loss = loss_at_zero(lambda x: x.clamp(min=0))
loss.backward()
print(x.grad.item())
torch.testing.assert_close(x.grad.item(), -2.0 if clamp_gives_one else 0.0)

# %%
# Up to PyTorch 2.13 this is -2: ``clamp`` lets the gradient pass at its bound,
# as if the slope were 1. From 2.14 on it is 0: ``clamp`` with a number as its
# bound stops the gradient there, as ``relu`` does. Both answers lie in the
# interval :math:`[0, 1]` of the slopes from both sides, so both are right.
#
# Two layers
# ----------
#
# The known question has a network with two weight matrices, and integers all
# over.

X = torch.tensor([[3.0, 2, 1], [1, 0, 2], [4, 1, 2], [0, 0, 1]])
W1 = torch.tensor([[1.0, 2], [0, 1], [4, 0]])
W2 = torch.tensor([[-1.0, 1], [-2, 3]])


def gradients(act):
    w1 = W1.clone().requires_grad_()
    w2 = W2.clone().requires_grad_()
    prediction = act(X @ w1) @ w2
    ((prediction - 1) ** 2).sum().backward()
    return w1.grad, w2.grad


relu_1, relu_2 = gradients(torch.relu)
clamp_1, clamp_2 = gradients(lambda h: h.clamp(min=0))

# %%
# The gradients of ``W2`` agree. Those of ``W1``, subtracted:

print(relu_1 - clamp_1)
torch.testing.assert_close(relu_2, clamp_2)

# %%
# With a release up to 2.13, one entry is -38, in row 2 and column 1 (counted
# from 0), and all others are 0. From 2.14 on, all entries are 0. The next lines
# hold in both cases.

expected = torch.zeros(3, 2)
expected[2, 1] = -38.0 if clamp_gives_one else 0.0
torch.testing.assert_close(relu_1 - clamp_1, expected)

# %%
# Why this entry?
# ---------------
#
# The two functions can differ only where their input is exactly 0. Look at the
# input of the activation, ``X @ W1``.

hidden = X @ W1
print(hidden)

# %%
# Find the zero. In which row and column is it, counted from 0?

# Predict first: the row and the column of the zero
print((hidden == 0).nonzero())
assert (hidden == 0).nonzero().tolist() == [[3, 1]]

# %%
# So only sample 3 can matter, and only hidden column 1. Column 1 of ``W1`` is
# fed by it, and each of its three weights gets the error times an entry of
# sample 3 of ``X``:

print(X[3])

# %%
# Only the last entry is not 0. That leaves the weight in row 2, column 1: one
# entry, as seen.
#
# Why 38?
# -------
#
# Follow the error back to the zero. The prediction for sample 3 is
# ``relu(hidden[3]) @ W2``, the slope of the loss is twice the difference to 1,
# and row 1 of ``W2`` carries it to hidden column 1.

prediction = torch.relu(hidden[3]) @ W2
print(prediction)
slope = 2 * (prediction - 1)
print(slope)

# %%
# By hand: :math:`-10 \cdot (-2) + 6 \cdot 3`.

at_the_zero = slope @ W2[1]
# Predict first: which number arrives at the zero?
print(at_the_zero.item())
torch.testing.assert_close(at_the_zero.item(), 38.0)

# %%
# ``relu`` multiplies it by 0 in every release. A ``clamp`` that passes it on
# adds 38 to the weight, and the difference is :math:`0 - 38`.
#
# A third form
# ------------
#
# ``torch.maximum(h, 0)`` has the same values once more. At a tie it gives half
# to each of its two inputs, in every release. Which difference to ``relu`` do
# you expect in the one entry?

maximum_1, _ = gradients(lambda h: torch.maximum(h, torch.tensor(0.0)))
# Predict first: which number is relu minus maximum in that entry?
print((relu_1 - maximum_1)[2, 1].item())
torch.testing.assert_close((relu_1 - maximum_1)[2, 1].item(), -19.0)

# %%
# What goes wrong: code that relies on the choice
# -----------------------------------------------
#
# A parameter that starts exactly on the bound of a ``clamp`` learns or does not
# learn, depending on the release:

w = torch.tensor(0.0, requires_grad=True)
((w.clamp(0, 1) - 1) ** 2).backward()
print("moves" if w.grad.item() != 0 else "stays")
torch.testing.assert_close(w.grad.item(), -2.0 if clamp_gives_one else 0.0)

# %%
# Up to 2.13 it moves; from 2.14 on it stays. Write what you mean, and it means
# the same in all releases: ``relu`` for 0 at the bound, or ``torch.where`` with
# the comparison that you want.


def clamp_with_one(x):
    return torch.where(x >= 0, x, torch.zeros_like(x))


def clamp_with_zero(x):
    return torch.where(x > 0, x, torch.zeros_like(x))


for form, slope in ((clamp_with_one, 1.0), (clamp_with_zero, 0.0)):
    x = torch.tensor(0.0, requires_grad=True)
    form(x).backward()
    torch.testing.assert_close(x.grad.item(), slope)
    print(form.__name__, x.grad.item())

# %%
# What you can do now
# -------------------
#
# - You can explain the -38, and why a newer PyTorch prints only zeros.
# - You can trace a difference of gradients to one number in the input.
# - You can write a clamp whose gradient is the same in every release.
#
# Exercises
# ---------
#
# 1. The last row of ``X`` is changed to ``[0, 1, 1]``. How many zeros does
#    ``X @ W1`` have?

Y = X.clone()
Y[3] = torch.tensor([0.0, 1.0, 1.0])
# Predict first: how many entries of Y @ W1 are exactly 0?
print((Y @ W1 == 0).sum().item())
assert (Y @ W1 == 0).sum().item() == 0

# %%
# Without a zero, ``relu`` and ``clamp`` give the same gradients in every
# release.
#
# 2. What is the slope of ``torch.maximum(x, x)`` at any ``x``?

x = torch.tensor(5.0, requires_grad=True)
torch.maximum(x, x).backward()
# Predict first: which number is x.grad?
print(x.grad.item())
torch.testing.assert_close(x.grad.item(), 1.0)

# %%
# Half from each of the two inputs, and both are ``x``.
