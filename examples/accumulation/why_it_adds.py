# /// script
# requires-python = ">=3.10"
# dependencies = ["torch", "torchviz", "setuptools"]
# ///
# Pictures show in a notebook or in an editor's cells, where Graphviz's `dot` is installed; all else runs without.
"""
Explain why gradients add up
============================

You will be able to show that adding is the rule for a number used twice, and to use it for large batches in small pieces.

Adding may look like an odd default when you have to clear ``.grad`` in each
step. It is the rule of calculus for a value that is used in more than one
place. The other reasons that people give are uses of it.

Know first: ``backward_adds``.
"""

import torch
from torchviz import make_dot

# %%
# One number, used in two places
# ------------------------------
#
# Let :math:`w = 2` be used twice: :math:`p = 3\,w` and :math:`q = 5\,w`, and
# let the loss be :math:`p + q`. If :math:`w` grows by 1, then :math:`p` grows
# by 3 and :math:`q` by 5, so the loss grows by both together:
#
# .. math::
#
#    \frac{d(p + q)}{dw} = \frac{dp}{dw} + \frac{dq}{dw}

w = torch.tensor(2.0, requires_grad=True)
p = 3 * w
q = 5 * w
loss = p + q
make_dot(loss, params={"w": w, "loss": loss})

# %%
# Two arrows leave the leaf's ``AccumulateGrad``: two uses, so two
# contributions come back.

loss.backward()
# Predict first: which number is w.grad?
print(w.grad.item())
torch.testing.assert_close(w.grad.item(), 8.0)

# %%
# Two calls are the same sum
# --------------------------
#
# Now call ``backward()`` on ``p`` and on ``q`` on their own. If the second
# call replaced the first, the contribution of ``p`` would be lost.

w.grad = None
(3 * w).backward()
(5 * w).backward()
# Predict first: which number is w.grad after the two calls?
print(w.grad.item())
torch.testing.assert_close(w.grad.item(), 8.0)

# %%
# It is the same number, by the same rule: the gradient of a sum is the sum of
# the gradients.
#
# One difference is honest to name. Within one call adding is a must, or the
# answer is wrong. From call to call it is a choice of PyTorch, made so that
# several calls fit together. ``torch.autograd.grad`` chooses otherwise: it
# returns the gradient, and leaves ``w.grad`` as it is.

(of_p,) = torch.autograd.grad(3 * w, w)
print("returned:", of_p.item())
# Predict first: which number is w.grad now?
print(w.grad.item())
torch.testing.assert_close(of_p.item(), 3.0)
torch.testing.assert_close(w.grad.item(), 8.0)

# %%
# Three answers that you may hear
# -------------------------------
#
# Why does PyTorch add? **"For shared weights."** Right, and it is the first
# case: one network uses one weight in several places. Without adding, only
# one use would count. Here :math:`h = w \cdot (w \cdot x)`, and
# :math:`dh/dw = 2\,w\,x`.

w = torch.tensor(2.0, requires_grad=True)
x = torch.tensor(5.0)
h = w * (w * x)
h.backward()
print(w.grad.item())
torch.testing.assert_close(w.grad.item(), 20.0)

# %%
# **"For large batches in small pieces."** This is the second case: several
# calls. Take eight samples and the mean of the squared errors.

inputs = torch.tensor([1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0])
targets = 3 * inputs


def mean_squared_error(weight, inputs, targets):
    return ((weight * inputs - targets) ** 2).mean()


weight = torch.tensor(1.0, requires_grad=True)
mean_squared_error(weight, inputs, targets).backward()
big_batch = weight.grad.clone()
print(big_batch.item())

# %%
# By hand: each sample adds :math:`2\,(x - 3x)\,x = -4\,x^2`, and the mean of
# the squares of 1 to 8 is 25.5, so the gradient is -102.
#
# Now four pieces of two samples each. A piece's mean divides by 2, the big
# batch's mean by 8. So each piece must be divided by 4, the number of pieces.

weight.grad = None
pieces = zip(inputs.chunk(4), targets.chunk(4), strict=True)
for some_inputs, some_targets in pieces:
    piece = mean_squared_error(weight, some_inputs, some_targets) / 4
    piece.backward()
# Predict first: which number is weight.grad after the four pieces?
print(weight.grad.item())
torch.testing.assert_close(weight.grad, big_batch)

# %%
# **"To save memory."** This is a gain from the pieces: backward frees what a
# piece saved before the next piece begins. Count the numbers that a forward
# run saves, for the big batch and for one piece.


def count_saved(inputs, targets):
    sizes = []

    def save(tensor):
        sizes.append(tensor.numel())
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(save, lambda saved: saved):
        mean_squared_error(weight, inputs, targets)
    return sum(sizes)


# %%
# The inputs are saved for the product, and the errors for the square.

saved_by_all = count_saved(inputs, targets)
saved_by_piece = count_saved(inputs[:2], targets[:2])
print("big batch:", saved_by_all)
print("one piece:", saved_by_piece)
assert saved_by_all == 4 * saved_by_piece

# %%
# So memory is a use of adding, not its reason: the rule would be the same if
# memory were free. Adding as such does not save any. ``.grad`` has the size
# of the weight, added to or not.
#
# What goes wrong without the factor
# ----------------------------------
#
# Leave out the division by 4:

weight.grad = None
pieces = zip(inputs.chunk(4), targets.chunk(4), strict=True)
for some_inputs, some_targets in pieces:
    mean_squared_error(weight, some_inputs, some_targets).backward()
print(weight.grad.item())
torch.testing.assert_close(weight.grad, 4 * big_batch)

# %%
# The gradient is four times too large, which acts like a learning rate that is
# four times too large. With a *sum* of errors in place of a mean, no factor is
# needed. Where the pieces have different sizes, a piece with :math:`m` of the
# :math:`n` samples takes the factor :math:`m/n`. Here 6 and 2 of 8:

weight.grad = None
(mean_squared_error(weight, inputs[:6], targets[:6]) * 6 / 8).backward()
(mean_squared_error(weight, inputs[6:], targets[6:]) * 2 / 8).backward()
print(weight.grad.item())
torch.testing.assert_close(weight.grad, big_batch)

# %%
# What you can do now
# -------------------
#
# - You can explain the adding: a value that is used twice gets two
#   contributions. You can judge the other reasons that people give.
# - You can split a batch into pieces and get the same gradient.
#
# Exercises
# ---------
#
# 1. The loss is :math:`c + c + c + c` with :math:`c = 10`.

c = torch.tensor(10.0, requires_grad=True)
(c + c + c + c).backward()
# Predict first: which number is c.grad?
print(c.grad.item())
torch.testing.assert_close(c.grad.item(), 4.0)

# %%
# 2. A sum of errors over the same eight samples, in two pieces, with no
#    factor. The gradient of one sample is :math:`-4\,x^2`, and the squares of
#    1 to 8 add up to 204.

weight.grad = None
for some_inputs in inputs.chunk(2):
    ((weight * some_inputs - 3 * some_inputs) ** 2).sum().backward()
# Predict first: which number is weight.grad?
print(weight.grad.item())
torch.testing.assert_close(weight.grad.item(), -816.0)
