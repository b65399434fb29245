# /// script
# requires-python = ">=3.10"
# dependencies = ["torch"]
# ///
"""
Checkpoint: recomputed values have different metadata
=====================================================

You will be able to find the operation that differs between forward and backward of a checkpoint, and to make it the same.

How it shows:

- Training with gradient checkpointing (activation checkpointing) stops in ``backward()`` with ``CheckpointError``.
- A different number of tensors is saved during the original forward and the recomputation.
- A mixture of experts, random routing, layer drop, DropPath or a cache works, but not inside ``checkpoint(...)``.
- With ``preserve_rng_state=False`` and dropout the gradients are wrong, or the training diverges, without any error.
- The dropout mask, or the random noise, is not the same in forward and backward with ``torch.utils.checkpoint``.
- Batch norm updates its running statistics twice in each step.

Know first: ``used_up_graph``.
"""

import random

import torch
import torch.nn.functional as F
from torch.utils.checkpoint import checkpoint

# %%
# The shortest program that shows it
# ----------------------------------
#
# A function keeps a random number of the values, as random routing does.

dice = random.Random(7)
runs = []


def keep_some(x):
    count = dice.randint(2, 3)
    runs.append(count)
    return x[:count].square().sum()


# %%
# The forward works, the backward fails. The message begins with:

x = torch.ones(4, requires_grad=True)
y = checkpoint(keep_some, x, use_reentrant=False)
assert runs == [3]
try:
    y.backward()
except RuntimeError as error:
    message = f"{type(error).__name__}: {error}"
    print(message.partition("\n.")[0])
    assert "have different metadata" in str(error)
else:
    raise AssertionError("the two runs saved the same")

# %%
# Why
# ---
#
# To save memory, ``checkpoint`` does not keep what the operations in the function
# save for backward. ``backward`` runs the function again to get those values. So the
# second run must repeat the first one. Here it drew another number:

print(runs)
assert runs == [3, 2]

# %%
# In the message, "saved" is the first run and "recomputed" the second one. PyTorch
# compares the shape, dtype and device of each saved tensor, and how many there are:

first_time = iter([True, False])


def one_layer_dropped(x):
    return x.sin().cos() if next(first_time) else x.sin()


try:
    checkpoint(one_layer_dropped, x, use_reentrant=False).sum().backward()
except RuntimeError as error:
    print("\n".join(str(error).split("\n")[:3]))
    assert "A different number of tensors was saved" in str(error)
else:
    raise AssertionError("both runs saved the same number of tensors")

# %%
# The fix
# -------
#
# Take the decision outside, and pass it in. Then both runs get the same number.


def keep(x, count):
    return x[:count].square().sum()


x = torch.ones(4, requires_grad=True)
checkpoint(keep, x, 3, use_reentrant=False).backward()
print(x.grad)
torch.testing.assert_close(x.grad, torch.tensor([2.0, 2.0, 2.0, 0.0]))

# %%
# With dropout
# ------------
#
# Dropout draws a mask. Each value of this input becomes 0 or 2, and its
# gradient is 0 or 2 too. If backward uses the same mask, output and gradient are
# equal.


def mask_is_the_same(run):
    torch.manual_seed(0)
    x = torch.ones(100, requires_grad=True)
    y = run(x)
    y.sum().backward()
    return torch.equal(y, x.grad)


def repeat_the_state(x):
    return checkpoint(F.dropout, x, use_reentrant=False)


assert mask_is_the_same(F.dropout)
# Predict first: is the mask the same with checkpoint? True or False
print(mask_is_the_same(repeat_the_state))
assert mask_is_the_same(repeat_the_state)

# %%
# By default, ``checkpoint`` restores the state of PyTorch's random numbers before the
# second run. It does not restore that of the module ``random``, as you saw above.
# ``preserve_rng_state=False`` switches this off:


def forget_the_state(x):
    return checkpoint(
        F.dropout, x, use_reentrant=False, preserve_rng_state=False
    )


print(mask_is_the_same(forget_the_state))
assert not mask_is_the_same(forget_the_state)

# %%
# There is no error: both masks have the same shape, and values are not compared.
# The gradient belongs to another mask than the output.
#
# With batch norm
# ---------------
#
# What the function changes outside of itself, it changes twice. Here batch norm
# counts two batches, and moves its running mean twice.

norm = torch.nn.BatchNorm1d(1)
x = torch.tensor([[1.0], [3.0]], requires_grad=True)
checkpoint(norm, x, use_reentrant=False).sum().backward()
print(norm.num_batches_tracked.item(), norm.running_mean)
assert norm.num_batches_tracked.item() == 2
torch.testing.assert_close(norm.running_mean, torch.tensor([0.2 + 0.18]))

# %%
# Keep batch norm outside of the checkpointed function:

norm = torch.nn.BatchNorm1d(1)
norm(checkpoint(torch.sin, x, use_reentrant=False)).sum().backward()
assert norm.num_batches_tracked.item() == 1

# %%
# The popular fix that does not work
# ----------------------------------
#
# With ``use_reentrant=True`` the error goes away, since the two runs are not compared.
# You get the value of the first run, and the gradient of the second:

dice = random.Random(7)
x = torch.ones(4, requires_grad=True)
y = checkpoint(keep_some, x, use_reentrant=True)
y.backward()
print("value:", y.item(), "gradient:", x.grad.tolist())
torch.testing.assert_close(y.item(), 3.0)
torch.testing.assert_close(x.grad, torch.tensor([2.0, 2.0, 0.0, 0.0]))

# %%
# Three values were added, and only two got a gradient. The right one is above:
# ``[2, 2, 2, 0]``.
#
# Find the line in your own code
# ------------------------------
#
# With ``debug=True`` the message becomes long. Near its end are two lists: the
# operations of the first run, and those of the second. Look for the first line that
# differs. (Lines with ``detach`` come from ``checkpoint`` itself.)

dice = random.Random(7)
y = checkpoint(keep_some, x, use_reentrant=False, debug=True)
try:
    y.backward()
except RuntimeError as error:
    traces, heading, lists = str(error).partition("Operations executed")
    print(heading + lists.partition("+-")[0].rstrip())
else:
    raise AssertionError("the two runs saved the same")

# %%
# The first run began with a slice of 3 values, the second one with a slice of 2. Above
# the lists, the message has a traceback for each operation. It names the line of your
# function.

first, _, second = lists.partition("Operations executed")
assert "slice.Tensor($0, 0, 0, 3)" in first
assert "slice.Tensor($0, 0, 0, 2)" in second
assert ":keep_some" in traces
