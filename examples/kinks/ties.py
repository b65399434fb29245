# /// script
# requires-python = ">=3.10"
# dependencies = ["torch", "torchviz", "setuptools"]
# ///
# Pictures show in a notebook or in an editor's cells, where Graphviz's `dot` is installed; all else runs without.
"""
Predict who gets the gradient in a tie
======================================

You will be able to say which elements get the gradient when several of them are equal, and to write the rule that you want.

The largest of three numbers depends on one of them. If two of them are equal
and largest, it depends on both, and the maximum has a kink. PyTorch's
operations do not agree on what to do there: some share the gradient, some give
all of it to one element.

Know first: ``slopes_from_both_sides``.
"""

import torch
import torch.nn.functional as F
from torchviz import make_dot

# %%
# Without a tie
# -------------
#
# The gradient of a maximum is 1 for the element that is largest, and 0 for all
# others.

x = torch.tensor([1.0, 3.0, 2.0], requires_grad=True)
x.max().backward()
print(x.grad)
torch.testing.assert_close(x.grad, torch.tensor([0.0, 1.0, 0.0]))

# %%
# With a tie
# ----------
#
# Now two elements are 3. Push the first one up by a little, and the maximum
# goes up with it. Pull it down, and nothing happens: the other one is still 3.
# So the slope from the right is 1, and the slope from the left is 0.

up = torch.tensor([3.5, 3.0, 2.0]).max().item()
down = torch.tensor([2.5, 3.0, 2.0]).max().item()
print((up - 3.0) / 0.5, (3.0 - down) / 0.5)
torch.testing.assert_close((up, down), (3.5, 3.0))

# %%
# This is the graph of the maximum.

x = torch.tensor([3.0, 3.0, 2.0], requires_grad=True)
largest = x.max()
make_dot(largest, params={"x": x, "max": largest})

# %%
# ``max()`` without a dimension treats both of them alike.

largest.backward()
# Predict first: what is x.grad for [3, 3, 2]?
print(x.grad)
torch.testing.assert_close(x.grad, torch.tensor([0.5, 0.5, 0.0]))

# %%
# It shares the gradient of 1 between them. Now take ``max(dim=0)``. It also
# returns an index: *where* the largest element is.

x = torch.tensor([3.0, 3.0, 2.0], requires_grad=True)
values, index = x.max(dim=0)
values.backward()
# Predict first: how many elements of x.grad are not 0 now?
print(x.grad.count_nonzero().item())
torch.testing.assert_close(x.grad[index].item(), 1.0)
assert x.grad.count_nonzero().item() == 1

# %%
# The index names one place, and only this place gets the gradient. ``amax`` is
# a maximum over dimensions that returns no index. It shares, as ``max()``
# does.

x = torch.tensor([3.0, 3.0, 2.0], requires_grad=True)
x.amax(dim=0).backward()
print(x.grad)
torch.testing.assert_close(x.grad, torch.tensor([0.5, 0.5, 0.0]))

# %%
# The rule
# --------
#
# An operation that returns an index gives the gradient to that place. Many
# operations that return a value only share it. Try some of both kinds on three
# equal numbers. (``values`` and ``[0]`` take the value and leave the index
# out.)

OPERATIONS = {
    "max()": lambda x: x.max(),
    "amax(0)": lambda x: x.amax(0),
    "norm(inf)": lambda x: torch.linalg.vector_norm(x, torch.inf),
    "median()": lambda x: x.median(),
    "max(0)": lambda x: x.max(0).values,
    "median(0)": lambda x: x.median(0).values,
    "topk(1)": lambda x: x.topk(1).values.sum(),
    "sort()[0]": lambda x: x.sort().values[0],
}


def gradient(f, values):
    x = torch.tensor(values, requires_grad=True)
    f(x).backward()
    return x.grad


# %%
# One third for each, or 1 for one of them. Which one it is, PyTorch does not
# promise.

shares = []
for name, f in OPERATIONS.items():
    grad = gradient(f, [3.0, 3.0, 3.0])
    shared = grad.count_nonzero().item() == 3
    shares.append(shared)
    print(f"{name:10}", "shared" if shared else "one gets all")
    torch.testing.assert_close(grad.sum().item(), 1.0)
assert shares == [True] * 4 + [False] * 4

# %%
# In each row the gradients add up to 1: if *all* elements rise by the same
# amount, the result rises by that amount too.
#
# The rule has exceptions. A max pool finds an index and keeps it to itself:

grad = gradient(lambda x: F.max_pool1d(x[None], 3).sum(), [3.0, 3.0, 3.0])
print(grad.count_nonzero().item())
assert grad.count_nonzero().item() == 1

# %%
# Two tensors
# -----------
#
# ``torch.maximum`` compares two tensors element by element, and shares a tie.
# ``torch.fmax`` returns the same values, except that it ignores NaN. Their
# gradients at a tie were not always the same.

release = tuple(int(part) for part in torch.__version__.split(".")[:2])
print(torch.__version__.partition("+")[0])
for f in (torch.maximum, torch.fmax):
    a = torch.tensor(3.0, requires_grad=True)
    b = torch.tensor(3.0, requires_grad=True)
    f(a, b).backward()
    print(f.__name__, a.grad.item(), b.grad.item())
    shared = f is torch.maximum or release >= (2, 14)
    torch.testing.assert_close(a.grad.item(), 0.5 if shared else 1.0)
    torch.testing.assert_close(b.grad.item(), 0.5 if shared else 0.0)

# %%
# Up to PyTorch 2.13, ``fmax`` gives all of the gradient to its first input.
# From 2.14 on, it shares as ``maximum`` does.
#
# What goes wrong: two programs for one number
# --------------------------------------------
#
# Both programs compute the largest score, and take one step of gradient
# descent to lower it, with a learning rate of 1. Two scores are in a tie.


def one_step(largest):
    scores = torch.tensor([4.0, 4.0, 0.0], requires_grad=True)
    largest(scores).backward()
    return scores.detach() - scores.grad


by_value = one_step(lambda s: s.max())
by_place = one_step(lambda s: s.max(dim=0).values)
print(by_value)
print(
    "largest score after the step:",
    by_value.max().item(),
    by_place.max().item(),
)
torch.testing.assert_close(by_value, torch.tensor([3.5, 3.5, 0.0]))
torch.testing.assert_close(by_place.max().item(), 4.0)

# %%
# With ``max()`` both scores move by a half. With ``max(dim=0)`` one of them
# moves by 1, and the other one is still 4: the largest score did not change at
# all. Nothing tells you which of the two your program does.
#
# Write what you mean
# -------------------
#
# To share, take ``amax``. To give all to one place, take that place:
# ``argmax`` finds the index of a largest element.

one = gradient(lambda s: s[s.argmax()], [3.0, 3.0, 2.0])
shared = gradient(lambda s: s.amax(), [3.0, 3.0, 2.0])
assert one.count_nonzero().item() == 1
torch.testing.assert_close(shared, torch.tensor([0.5, 0.5, 0.0]))

# %%
# What you can do now
# -------------------
#
# - You can predict who gets the gradient in a tie: one place if the operation
#   returns an index. If it returns a value only, try it on equal numbers.
# - You can choose the rule, in a form that has not changed since PyTorch 2.0.
#
# Exercises
# ---------
#
# 1. Take ``amax`` of five equal numbers.

grad = gradient(lambda x: x.amax(), [7.0, 7.0, 7.0, 7.0, 7.0])
# Predict first: what is the gradient of the first one?
print(round(grad[0].item(), 4))
torch.testing.assert_close(grad, torch.full((5,), 0.2))

# %%
# 2. ``amin`` finds the smallest of ``[1, 1, 4]``. It is multiplied by 6.

grad = gradient(lambda x: 6 * x.amin(), [1.0, 1.0, 4.0])
# Predict first: what is the gradient for [1, 1, 4]?
print(grad)
torch.testing.assert_close(grad, torch.tensor([3.0, 3.0, 0.0]))
