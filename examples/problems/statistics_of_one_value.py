# /// script
# requires-python = ">=3.10"
# dependencies = ["torch"]
# ///
"""
var or std of one value: NaN, or degrees of freedom <= 0
========================================================

You will be able to find where a variance, a standard deviation or a batch norm sees only one value, and to handle it.

How it shows:

- ``x.var()`` or ``x.std()`` is ``nan`` for one element, and PyTorch warns that the degrees of freedom are <= 0.
- All goes well until the last batch of the epoch, which has only one sample.
- A reinforcement learning agent (REINFORCE, PPO) normalises its returns or advantages, and an episode of one step makes the policy NaN.
- ``BatchNorm1d`` raises an error in training: it expected more than 1 value per channel.
- An old version stops in ``backward()``: ``VarBackward0`` returned an invalid gradient.
- ``std(dim=1)`` of a column tensor of shape (N, 1) is NaN everywhere.

Know first: ``first_gradient``.
"""

import warnings

import torch

# %%
# The shortest program that shows it
# ----------------------------------

x = torch.tensor([5.0], requires_grad=True)
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    y = x.var()
    y.backward()
print("var:", y.item(), " gradient:", x.grad)
for warning in caught:
    print(str(warning.message).partition(" (Triggered")[0])
assert y.isnan() and x.grad.isnan().all()

# %%
# PyTorch 2.5.1 and later print this warning, 2.0.1 and older do not. In 1.13.1,
# ``backward()`` raises a ``RuntimeError`` about an invalid gradient here.
#
# Why
# ---
#
# ``torch.var`` adds the squared distances from the mean and divides by the number of
# values *minus one*. For one value this is 0 / 0. ``torch.std`` is its root.

assert (torch.tensor(0.0) / 0).isnan()
pair = torch.tensor([1.0, 3.0])
# Predict first: what is the variance of 1 and 3?
print(pair.var().item())
torch.testing.assert_close(pair.var().item(), ((-1) ** 2 + 1**2) / (2 - 1))

# %%
# The dimension matters. This column of two numbers has two values along dimension 0,
# and one value along dimension 1:

column = torch.tensor([[1.0], [3.0]])
torch.testing.assert_close(column.var(dim=0), torch.tensor([2.0]))
with warnings.catch_warnings(record=True):
    warnings.simplefilter("always")
    assert column.var(dim=1).isnan().all()

# %%
# The fix
# -------
#
# If you want 0 for one value, divide by the number of values itself, with
# ``unbiased=False``. Then the variance is 0, and so is the gradient.

x = torch.tensor([5.0], requires_grad=True)
y = x.var(unbiased=False)
y.backward()
print("var:", y.item(), " gradient:", x.grad)
torch.testing.assert_close(y.item(), 0.0)
torch.testing.assert_close(x.grad, torch.zeros(1))

# %%
# This changes the result for more values too: for 1 and 3 it is 1, no longer 2.

torch.testing.assert_close(pair.var(unbiased=False).item(), 1.0)

# %%
# To keep the division by n - 1, treat one value as a case of its own. For returns or
# advantages in reinforcement learning:


def normalised(returns):
    centred = returns - returns.mean()
    if returns.numel() < 2:
        return centred
    return centred / (returns.std() + 1e-8)


x = torch.tensor([5.0], requires_grad=True)
normalised(x).sum().backward()
torch.testing.assert_close(x.grad, torch.zeros(1))
assert normalised(pair).isfinite().all()

# %%
# In a batch norm
# ---------------
#
# Batch norm computes the statistics of each channel over the batch. In training it
# refuses a batch of one:

norm = torch.nn.BatchNorm1d(3)
one_sample = torch.ones(1, 3)
try:
    norm(one_sample)
except ValueError as error:
    print("ValueError:", error)
else:
    raise AssertionError("batch norm took one sample")

# %%
# In evaluation it uses the running statistics, and one sample is enough:

assert norm.eval()(one_sample).isfinite().all()

# %%
# In training, leave out a last batch of one. Five samples in batches of two:

data = torch.utils.data.TensorDataset(torch.arange(5.0))
for drop_last in (False, True):
    loader = torch.utils.data.DataLoader(
        data, batch_size=2, drop_last=drop_last
    )
    sizes = [len(batch) for (batch,) in loader]
    print(f"drop_last={drop_last}: {sizes}")
    assert (1 in sizes) == (not drop_last)

# %%
# ``LayerNorm`` computes the statistics of each sample by itself, so it accepts a batch
# of one:

assert torch.nn.LayerNorm(3)(one_sample).isfinite().all()

# %%
# The popular fix that does not work
# ----------------------------------
#
# A small number added to the standard deviation prevents a division by 0, but NaN
# plus a small number is NaN. ``nan_to_num`` repairs the value, and the gradient stays
# NaN.

x = torch.tensor([5.0], requires_grad=True)
with warnings.catch_warnings(record=True):
    warnings.simplefilter("always")
    spread = x.std()
assert (spread + 1e-8).isnan()
repaired = spread.nan_to_num()
repaired.backward()
print("value:", repaired.item(), " gradient:", x.grad)
torch.testing.assert_close(repaired.item(), 0.0)
assert x.grad.isnan().all()

# %%
# Find the line in your own code
# ------------------------------
#
# For a test run, turn the warning into an error. The traceback then shows the line
# that computes the statistics. (This needs a release that warns.)


def stops_at(f, *inputs):
    with warnings.catch_warnings():
        warnings.filterwarnings("error", message=".*degrees of freedom")
        try:
            f(*inputs)
        except UserWarning:
            return True
    return False


if caught:
    assert stops_at(torch.std, torch.ones(1))
assert not stops_at(torch.std, torch.ones(2))

# %%
# In every release you can count how many values go into one result:


def values_per_result(x, result):
    return x.numel() // result.numel()


with warnings.catch_warnings(record=True):
    warnings.simplefilter("always")
    for dim in (0, 1):
        count = values_per_result(column, column.std(dim=dim))
        print(f"dim={dim}: {count}")
        assert (count == 1) == (dim == 1)
