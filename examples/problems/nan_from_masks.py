# /// script
# requires-python = ">=3.10"
# dependencies = ["torch"]
# ///
"""
NaN gradients after a mask, softmax, where or prod
==================================================

You will be able to mask, choose and multiply numbers so that those you left out send no NaN back.

How it shows:

- Attention with a padding mask gives ``nan`` after ``softmax``, but only in some batches: those with an empty or fully padded sentence.
- ``masked_fill`` with ``-inf`` works until a row is masked completely; then ``softmax`` or ``log_softmax`` is NaN, or the gradient of ``logsumexp``.
- The masked loss is finite, and ``backward()`` fills the weights with NaN anyway.
- ``torch.where`` guards a ``log``, a ``sqrt`` or a division by zero, the output is right, and ``.grad`` is NaN.
- A product of probabilities, computed as ``exp`` of the sum of ``log``, has a NaN gradient as soon as one factor is 0.
- ``torch.prod`` or ``cumprod`` of numbers with a zero in them: is that gradient right?

Know first: ``nan_hunt``, which repairs a ``where`` step by step.
"""

import warnings

import torch

# %%
# The shortest program that shows it
# ----------------------------------
#
# Two rows of attention. All of the second row is hidden, and the loss does not
# even use it.

hidden = torch.tensor([[False, True], [True, True]])
scores = torch.ones(2, 2)
values = torch.tensor([3.0, 5.0], requires_grad=True)
weights = scores.masked_fill(hidden, -torch.inf).softmax(dim=1)
output = (weights * values).sum(dim=1)
loss = output[0]
loss.backward()
print("loss:", loss.item(), " gradient:", values.grad)
assert loss.isfinite() and values.grad.isnan().all()

# %%
# Why
# ---
#
# ``softmax`` subtracts the largest number of the row from each. If all are minus
# infinity, this is minus infinity minus minus infinity, and that is NaN.

largest = torch.tensor(-torch.inf)
assert (largest - largest).isnan()
print(weights)
assert weights[1].isnan().all() and weights[0].isfinite().all()

# %%
# The loss sends 0 to the second row. Backward multiplies this 0 by the weights of
# the row, and 0 times NaN is NaN.

assert (0 * weights[1]).isnan().all()

# %%
# One number that is not masked is enough. Then ``softmax``, ``log_softmax`` and
# ``logsumexp`` have finite gradients:


def first_softmax(x):
    return torch.softmax(x, 0)[0]


def first_log_softmax(x):
    return torch.log_softmax(x, 0)[0]


def sum_of_exp(x):
    return torch.logsumexp(x, 0)


def gradient(f, *numbers):
    x = torch.tensor(numbers, requires_grad=True)
    f(x).sum().backward()
    return x.grad


for f in (first_softmax, first_log_softmax, sum_of_exp):
    print(f.__name__, gradient(f, 0.0, -torch.inf))
    assert gradient(f, 0.0, -torch.inf).isfinite().all()
    assert gradient(f, -torch.inf, -torch.inf).isnan().all()

# %%
# The *value* of ``logsumexp`` is right for an empty row: the logarithm of 0 is minus
# infinity. Only its gradient is NaN.

assert torch.logsumexp(torch.full((2,), -torch.inf), 0).isneginf()

# %%
# The fix
# -------
#
# Find the empty rows. Do not mask them before the ``softmax``, and set their weights to
# 0 after it.


def masked_softmax(scores, hidden):
    empty = hidden.all(dim=1, keepdim=True)
    filled = scores.masked_fill(hidden & ~empty, -torch.inf)
    return filled.softmax(dim=1).masked_fill(empty, 0.0)


values.grad = None
weights = masked_softmax(scores, hidden)
(weights * values).sum(dim=1)[0].backward()
print(weights, values.grad)
torch.testing.assert_close(weights, torch.tensor([[1.0, 0.0], [0.0, 0.0]]))
torch.testing.assert_close(values.grad, torch.tensor([1.0, 0.0]))

# %%
# A large negative number in place of minus infinity gives no NaN either. But an
# empty row then has equal weights, not zeros: leave it out of the loss.

soft = scores.masked_fill(hidden, -1e9).softmax(dim=1)
torch.testing.assert_close(soft, torch.tensor([[1.0, 0.0], [0.5, 0.5]]))

# %%
# In half precision (float16) -1e9 is out of range. Ask ``finfo`` for the lowest
# number:

try:
    scores.half().masked_fill(hidden, -1e9)
except RuntimeError as error:
    print(error)
else:
    raise AssertionError("-1e9 went into float16")
lowest = torch.finfo(torch.float16).min
soft = scores.half().masked_fill(hidden, lowest).softmax(dim=1)
assert soft.isfinite().all()

# %%
# After torch.where
# -----------------
#
# ``torch.where`` chooses between two values, and both are computed. In backward it
# sends 0 to the one that was not chosen. ``log`` divides this 0 by 0, its input.


def guarded_log(x):
    return torch.where(x > 0, x.log(), 0.0)


print(gradient(guarded_log, 0.0, 2.0))
assert gradient(guarded_log, 0.0, 2.0)[0].isnan()

# %%
# So give ``log`` a harmless number in these places, with a second ``where``:


def where_twice(x):
    harmless = torch.where(x > 0, x, 1.0)
    return torch.where(x > 0, harmless.log(), 0.0)


expected = torch.tensor([0.0, 0.5])
torch.testing.assert_close(gradient(where_twice, 0.0, 2.0), expected)

# %%
# A product with a factor 0
# -------------------------
#
# ``torch.prod`` has a rule for zeros. The derivative by one factor is the product of
# the others.

gradients = gradient(torch.prod, 2.0, 0.0, 3.0)
# Predict first: what is the gradient of the middle factor of 2 · 0 · 3?
print(gradients[1].item())
torch.testing.assert_close(gradients, torch.tensor([0.0, 6.0, 0.0]))

# %%
# With ``exp`` of a sum of logarithms the middle factor gets 0 times infinity:


def product_by_log(x):
    return x.log().sum().exp()


print(gradient(product_by_log, 2.0, 0.0, 3.0))
assert gradient(product_by_log, 2.0, 0.0, 3.0)[1].isnan()

# %%
# ``torch.cumprod`` has a rule as well. The sum of the running products is
# 2 + 2 · 0 + 2 · 0 · 3, and its derivative by the middle factor is 2 + 6.

by_cumprod = gradient(lambda x: x.cumprod(0), 2.0, 0.0, 3.0)
torch.testing.assert_close(by_cumprod, torch.tensor([1.0, 8.0, 0.0]))

# %%
# PyTorch 1.4 and 1.6 raise an error about an invalid gradient from ``ProdBackward1``
# when ``prod`` gets a dimension and the only element along it is 0. In 1.13 and
# later it works:

one_zero = gradient(lambda x: x.prod(0), 0.0)
torch.testing.assert_close(one_zero, torch.tensor([1.0]))

# %%
# The popular fix that does not work
# ----------------------------------
#
# ``nan_to_num`` after the ``softmax`` makes good values. But many programs *add* the
# mask to the scores. Then the scores of the empty row still get NaN, although
# nothing uses this row.

scores = torch.ones(2, 2, requires_grad=True)
mask = torch.zeros(2, 2).masked_fill(hidden, -torch.inf)
weights = (scores + mask).softmax(dim=1).nan_to_num()
assert weights.isfinite().all()
weights[0, 0].backward()
print(scores.grad)
assert scores.grad[1].isnan().all()

# %%
# To drop the losses that are NaN does not help, nor does a multiplication by a mask
# of 1 and 0.

x = torch.tensor([[0.0, 0.0], [-torch.inf, -torch.inf]], requires_grad=True)
losses = -x.log_softmax(dim=1)[:, 0]
losses[~losses.isnan()].mean().backward()
assert x.grad[1].isnan().all()
assert (losses * torch.tensor([1.0, 0.0])).sum().isnan()

# %%
# Find the line in your own code
# ------------------------------
#
# Call this before each ``softmax`` and ``logsumexp``. It lists the numbers of the
# empty rows of a matrix:


def empty_rows(scores, dim=-1):
    return scores.isneginf().all(dim).nonzero().flatten().tolist()


masked = torch.ones(2, 2).masked_fill(hidden, -torch.inf)
print(empty_rows(masked))
assert empty_rows(masked) == [1]

# %%
# Anomaly mode names the operation, if the NaN reaches a gradient:

scores = torch.ones(2, 2, requires_grad=True)
with warnings.catch_warnings(record=True):
    warnings.simplefilter("always")
    try:
        with torch.autograd.detect_anomaly():
            (scores + mask).softmax(dim=1)[0, 0].backward()
    except RuntimeError as error:
        print(error)
        assert "SoftmaxBackward" in str(error)
    else:
        raise AssertionError("the NaN was not noticed")
