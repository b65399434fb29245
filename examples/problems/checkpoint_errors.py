# /// script
# requires-python = ">=3.10"
# dependencies = ["torch"]
# ///
"""
Checkpoint: recomputed values have different metadata
=====================================================

You will be able to find out what a checkpointed function does differently the second time, and to make both runs equal.

How it shows:

- Training with gradient checkpointing (activation checkpointing) stops in ``backward()`` with ``CheckpointError``.
- A different number of tensors is saved during the original forward and the recomputation.
- A mixture of experts, random routing, layer drop, DropPath or a cache works, but not inside ``checkpoint(...)``.
- Home-made checkpointing with dropout gives other gradients, or the training diverges, without any error.
- The dropout mask, or the random noise, is not the same in forward and backward with ``torch.utils.checkpoint``.
- Batch norm updates its running statistics twice in each step.

Know first: ``used_up_graph``.
"""

import itertools
import random

import torch
import torch.nn.functional as F
from torch.overrides import TorchFunctionMode
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
# Its forward works, its backward fails. These are the first lines of the message:

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
# The list ``runs`` has one entry for each run of the function.

# Predict first: how often did the function run in all?
print(len(runs))
assert len(runs) == 2

# %%
# To save memory, ``checkpoint`` does not keep what the operations in the function
# saved. Backward runs the function again to get those values back. So the second
# run must repeat the first one. Here it drew another number:

print(runs)
assert runs == [3, 2]

# %%
# In the message, "saved" is the first run and "recomputed" the second one. Shape,
# dtype and device of each saved tensor are compared, and how many there are:

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
# gradient is 0 or 2 too. With the same mask, output and gradient are equal.


def mask_is_the_same(run):
    torch.manual_seed(0)
    x = torch.ones(100, requires_grad=True)
    y = run(x)
    y.sum().backward()
    return torch.equal(y, x.grad)


def forget_the_state(x):
    return checkpoint(
        F.dropout, x, use_reentrant=False, preserve_rng_state=False
    )


assert mask_is_the_same(F.dropout)
assert mask_is_the_same(
    lambda x: checkpoint(F.dropout, x, use_reentrant=False)
)

# %%
# By default, ``checkpoint`` restores the state of PyTorch's random numbers before the
# second run. It does not restore that of the module ``random``, as you saw above.
# ``preserve_rng_state=False`` switches this off.

# Predict first: is the mask the same when it is off? True or False
print(mask_is_the_same(forget_the_state))
assert not mask_is_the_same(forget_the_state)

# %%
# There is no error: both masks have the same shape, and values are not compared.
# The gradient belongs to another mask than the output.
# In a home-made checkpoint
# -------------------------
#
# Code that recomputes by itself must keep the state too. Read it before the
# first run, and put it back before the second one.


class Checkpoint(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, restore):
        ctx.save_for_backward(x)
        ctx.state = torch.get_rng_state() if restore else None
        return F.dropout(x)

    @staticmethod
    def backward(ctx, grad):
        x = ctx.saved_tensors[0].detach().requires_grad_()
        with torch.enable_grad(), torch.random.fork_rng():
            if ctx.state is not None:
                torch.set_rng_state(ctx.state)
            return torch.autograd.grad(F.dropout(x), x, grad)[0], None


assert not mask_is_the_same(lambda x: Checkpoint.apply(x, False))
assert mask_is_the_same(lambda x: Checkpoint.apply(x, True))

# %%
# This is the state of the CPU. A GPU has its own state, to be kept as well.
#
# With batch norm
# ---------------
#
# What the function changes elsewhere, it may change twice. Here batch norm counts
# two batches for one, and moves its running mean twice.

norm = torch.nn.BatchNorm1d(1)
x = torch.tensor([[1.0], [3.0]], requires_grad=True)
checkpoint(norm, x, use_reentrant=False).sum().backward()
print(norm.num_batches_tracked.item(), norm.running_mean)
assert norm.num_batches_tracked.item() == 2
torch.testing.assert_close(norm.running_mean, torch.tensor([0.2 + 0.18]))

# %%
# The popular fix that does not work
# ----------------------------------
#
# With ``use_reentrant=True`` the error goes away. This variant does not compare the
# two runs. The value is that of the first run, and the gradient that of the
# second:

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
# Run the function twice without ``checkpoint``, from the same random state. Note
# the operations and their shapes. Where the two lists part, the
# difference begins.


class Operations(TorchFunctionMode):
    def __init__(self):
        super().__init__()
        self.list = []

    def __torch_function__(self, func, types, args=(), kwargs=None):
        result = func(*args, **(kwargs or {}))
        shape = list(getattr(result, "shape", []))
        self.list.append((func.__name__, shape))
        return result


# %%
# Give it the arguments that you gave to ``checkpoint``:


def first_difference(function, *arguments):
    lists = []
    for _ in range(2):
        with torch.random.fork_rng(), Operations() as operations:
            function(*arguments)
        lists.append(operations.list)
    for pair in itertools.zip_longest(*lists):
        if pair[0] != pair[1]:
            return pair


dice = random.Random(7)
print(first_difference(keep_some, torch.ones(4)))
dice = random.Random(7)
assert first_difference(keep_some, torch.ones(4))[0][0] == "__getitem__"
assert first_difference(keep, torch.ones(4), 3) is None
