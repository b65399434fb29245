# /// script
# requires-python = ">=3.10"
# dependencies = ["torch"]
# ///
"""
vmap refuses an if, dropout, in-place or a Function
===================================================

You will be able to rewrite a function so that ``torch.vmap`` and ``torch.func`` can run it for many samples at once.

How it shows:

- ``torch.vmap`` or per-sample gradients stop at an ``if``, ``while`` or ``.item()``: data-dependent control flow.
- Dropout or ``torch.rand`` under vmap: called random operation while in randomness error mode.
- ``vmap: inplace arithmetic is not possible`` when a function fills ``torch.zeros``, but it works for one sample.
- A custom ``torch.autograd.Function`` must override the ``setup_context`` staticmethod, or does not have vmap support.
- The function works in a ``for`` loop over the batch (an ensemble, a simulation), and ``vmap`` (functorch) refuses it.

Know first: ``backward_with_weights``.
"""

import os
import traceback

import torch
import torch.nn.functional as F

# %%
# The shortest program that shows it
# ----------------------------------
#
# A choice by the value of a tensor:

calls = []


def positive(x):
    calls.append(list(x.shape))
    return x if x.sum() > 0 else -x


rows = torch.tensor([[1.0], [2.0], [-3.0]])
try:
    torch.vmap(positive)(rows)
except RuntimeError as error:
    print(error)
    assert "data-dependent control flow" in str(error)
else:
    raise AssertionError("vmap chose a branch for each row")

# %%
# Why
# ---
#
# ``rows`` has three rows. The list ``calls`` has one entry for each call of the
# function.

# Predict first: how often did vmap call the function?
print(len(calls))
assert calls == [[1]]

# %%
# It was called only once. ``x`` has the shape of one row, and stands for all three. For
# two rows ``x.sum() > 0`` is true, and for one it is false. An ``if`` can go one way only.
#
# The fix
# -------
#
# ``torch.where`` computes both branches, and takes the right value for each row.


def positive_by_where(x):
    return torch.where(x.sum() > 0, x, -x)


print(torch.vmap(positive_by_where)(rows).tolist())
expected = torch.stack([positive(row) for row in rows])
torch.testing.assert_close(torch.vmap(positive_by_where)(rows), expected)

# %%
# If the branch that is not taken can be infinite or NaN, see ``nan_from_masks``.
#
# With dropout or other random numbers
# ------------------------------------

ones = torch.ones(2, 100)
try:
    torch.vmap(F.dropout)(ones)
except RuntimeError as error:
    print(error)
    assert "randomness error mode" in str(error)
else:
    raise AssertionError("vmap guessed which random numbers you want")

# %%
# The function is called once for many rows. So ``vmap`` must know whether each row gets
# random numbers of its own, as in an ordinary batch, or all rows get the same ones. Say
# it with ``randomness``.

torch.manual_seed(0)
a, b = torch.vmap(F.dropout, randomness="different")(ones)
c, d = torch.vmap(F.dropout, randomness="same")(ones)
print("equal rows:", torch.equal(a, b), "and", torch.equal(c, d))
assert torch.equal(c, d) and not torch.equal(a, b)
a, b = F.dropout(ones)
assert not torch.equal(a, b)

# %%
# With a change in place
# ----------------------
#
# This function fills a new tensor. It works for one row.


def first_only(x):
    result = torch.zeros(x.shape)
    result[0] = x[0]
    return result


pairs = torch.tensor([[1.0, 2.0], [3.0, 4.0]])
torch.testing.assert_close(first_only(pairs[0]), torch.tensor([1.0, 0.0]))
try:
    torch.vmap(first_only)(pairs)
except RuntimeError as error:
    print(error)
else:
    raise AssertionError("the values of two rows fitted into one")

# %%
# ``torch.zeros`` knows nothing of the rows. It makes one tensor for all of them, and the
# values of two rows do not fit in. ``torch.zeros_like(x)`` makes one for each row.


def by_zeros_like(x):
    result = torch.zeros_like(x)
    result[0] = x[0]
    return result


expected = torch.tensor([[1.0, 0.0], [3.0, 0.0]])
torch.testing.assert_close(torch.vmap(by_zeros_like)(pairs), expected)

# %%
# Or build the result without a change in place:


def by_stack(x):
    return torch.stack([x[0], torch.zeros(())])


torch.testing.assert_close(torch.vmap(by_stack)(pairs), expected)

# %%
# With a Function of your own
# ---------------------------
#
# ``vmap``, ``grad`` and ``jacrev`` refuse a Function that is written in the usual way:


class Square(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x**2

    @staticmethod
    def backward(ctx, grad):
        return 2 * ctx.saved_tensors[0] * grad


# %%
# The message is the same for all three:


def message(call, *arguments):
    try:
        call(*arguments)
    except RuntimeError as error:
        return str(error).partition(" For more")[0]
    raise AssertionError("there was no error")


three = torch.tensor(3.0)
print(message(torch.func.grad(Square.apply), three))
for transform in (torch.func.grad, torch.func.jacrev):
    assert "setup_context" in message(transform(Square.apply), three)
assert "setup_context" in message(torch.vmap(Square.apply), pairs)

# %%
# Split ``forward`` in two (from PyTorch 2.0 on). ``forward(x)`` computes, without
# ``ctx``. ``setup_context`` saves what the backward needs.


class SplitSquare(Square):
    @staticmethod
    def forward(x):
        return x**2

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(inputs[0])


slope = torch.func.grad(SplitSquare.apply)(three)
print(slope.item())
torch.testing.assert_close(slope.item(), 6.0)

# %%
# ``vmap`` needs one thing more:

print(message(torch.vmap(SplitSquare.apply), pairs))
SplitSquare.generate_vmap_rule = True
torch.testing.assert_close(torch.vmap(SplitSquare.apply)(pairs), pairs**2)

# %%
# The popular fix that does not work
# ----------------------------------
#
# ``.item()`` makes a Python number for the ``if``. But three rows have three numbers, and
# you get another message.


def positive_by_item(x):
    return x if x.sum().item() > 0 else -x


print(message(torch.vmap(positive_by_item), rows).partition(". ")[0])
assert ".item()" in message(torch.vmap(positive_by_item), rows)

# %%
# For a Function, ``generate_vmap_rule`` alone is not enough. Without
# ``setup_context`` the first message comes back.


class OnlyTheRule(Square):
    generate_vmap_rule = True


assert "setup_context" in message(torch.vmap(OnlyTheRule.apply), pairs)

# %%
# Find the line in your own code
# ------------------------------
#
# The last line of the traceback may be in PyTorch. You look for the last line that is
# not in PyTorch's folder. This finds it: ``lineno`` is its number, and ``name`` the
# function that it is in.

torch_folder = os.path.dirname(torch.__file__)


def last_own_line(function, *arguments):
    try:
        function(*arguments)
    except RuntimeError as error:
        frames = traceback.extract_tb(error.__traceback__)
        own = [f for f in frames if not f.filename.startswith(torch_folder)]
        return own[-1]


for function, rows_of in ((first_only, pairs), (positive, rows)):
    frame = last_own_line(torch.vmap(function), rows_of)
    print("in", frame.name)
    assert frame.name == function.__name__ and frame.lineno > 0
