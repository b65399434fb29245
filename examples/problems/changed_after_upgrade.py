# /// script
# requires-python = ">=3.10"
# dependencies = ["torch"]
# ///
"""
Results differ after upgrading PyTorch
======================================

You will be able to find the operation whose gradient another release computes otherwise, and to write it so that all releases agree.

How it shows:

- After an update of torch the loss curve is another one, with the same code, data and seed.
- Quantisation-aware training (QAT, fake quantisation with ``clamp`` and ``round``) diverges or stops learning with the new version.
- Saved reference gradients no longer match: a regression test fails on two machines with different versions.
- The gradient of a maximum norm (``torch.norm`` with ``p=inf``) with ties, several equal maxima, is not that of an old paper's code.
- A NaN, an error or a warning is new, or has gone, since the upgrade or a downgrade.
- Code that worked in an old release reads ``None`` after ``zero_grad()``.

Know first: ``clamp_against_relu``. The page "Releases" lists all recorded changes.
"""

import io

import torch

release = tuple(int(part) for part in torch.__version__.split(".")[:2])
clamp_gives_one = release < (2, 14)
print("PyTorch", torch.__version__.partition("+")[0])

# %%
# The shortest program that shows it
# ----------------------------------
#
# The input is exactly the upper bound of the ``clamp``, 7.


def slope(f, point):
    x = torch.tensor(point, requires_grad=True)
    f(x).backward()
    return x.grad.item()


print(slope(lambda x: x.clamp(-8, 7), 7.0))
torch.testing.assert_close(
    slope(lambda x: x.clamp(-8, 7), 7.0), 1.0 if clamp_gives_one else 0.0
)

# %%
# Up to PyTorch 2.13 this is 1. From 2.14 on it is 0.
#
# Why
# ---
#
# At its bound, ``clamp`` has a corner: the slope is 1 on one side and 0 on the other.
# PyTorch must choose one; both are valid, and PyTorch 2.14 chose the other. Away from
# the corner there is nothing to choose, and the releases agree:

torch.testing.assert_close(slope(lambda x: x.clamp(-8, 7), 6.5), 1.0)
torch.testing.assert_close(slope(lambda x: x.clamp(-8, 7), 7.5), 0.0)

# %%
# The fix
# -------
#
# Write yourself what happens at the corner. ``torch.where`` with a comparison gives
# the same in all recorded releases: with ``>=`` and ``<=`` as ``clamp`` up to 2.13, with
# ``>`` and ``<`` as ``clamp`` from 2.14 on.


def clamp_with_one(x, low, high):
    inside = (x >= low) & (x <= high)
    return torch.where(inside, x, x.detach().clamp(low, high))


def clamp_with_zero(x, low, high):
    inside = (x > low) & (x < high)
    return torch.where(inside, x, x.detach().clamp(low, high))


for clamp, at_the_bound in ((clamp_with_one, 1.0), (clamp_with_zero, 0.0)):
    for point, expected in ((6.0, 1.0), (7.0, at_the_bound), (9.0, 0.0)):
        result = slope(lambda x, clamp=clamp: clamp(x, -8, 7), point)
        torch.testing.assert_close(result, expected)

# %%
# In quantisation-aware training
# ------------------------------
#
# Values are rounded with a straight-through gradient (see ``gradient_cut``), and then
# clamped to the levels from -8 to 7. Here the corner is no rare case: rounding puts
# *every* value near the last level exactly on the bound.


def quantise(x, clamp):
    rounded = x + (torch.round(x) - x).detach()
    return clamp(rounded, -8, 7)


weights = torch.tensor([-9.0, -7.75, 2.25, 6.75, 7.25, 9.0])
bounds = torch.tensor([False, True, False, True, True, False])
levels = quantise(weights, torch.clamp)
print(levels.tolist())
assert levels[bounds].tolist() == [-8, 7, 7]

# %%
# Up to 2.13 all weights that round to one of the levels get a gradient. From 2.14 on,
# those at the first and at the last level get 0, without an error.


def learns(clamp):
    x = weights.clone().requires_grad_()
    quantise(x, clamp).sum().backward()
    return x.grad


print(learns(torch.clamp).tolist())
inside = torch.tensor([0.0, 1, 1, 1, 1, 0])
expected = inside if clamp_gives_one else inside * ~bounds
torch.testing.assert_close(learns(torch.clamp), expected)

# %%
# With ``clamp_with_one`` they get a gradient in all recorded releases:

torch.testing.assert_close(learns(clamp_with_one), inside)
torch.testing.assert_close(quantise(weights, clamp_with_one), levels)

# %%
# In the largest absolute value
# -----------------------------
#
# The norm of order infinity is the largest absolute value, and here two elements
# have it. In PyTorch 1.4 and 1.6 each of them gets the whole gradient, ``[1, 0, -1]``.
# In 1.13 and later they share it equally.

x = torch.tensor([9.0, 2.0, -9.0], requires_grad=True)
largest = torch.norm(x, p=float("inf"))
largest.backward()
# Predict first: which number does x[0] get now?
print(x.grad[0].item())
torch.testing.assert_close(x.grad, torch.tensor([0.5, 0.0, -0.5]))

# %%
# This was a repair: the old gradient was wrong. If 9 becomes 10 and -9 becomes -10,
# the norm grows by 1. The new gradient predicts 1, the old one predicts 2.

outward = torch.tensor([1.0, 0.0, -1.0])
grown = torch.norm(x.detach() + outward, p=float("inf")) - largest.detach()
old = torch.tensor([1.0, 0.0, -1.0])
torch.testing.assert_close(x.grad @ outward, grown)
torch.testing.assert_close(old @ outward, 2 * grown)

# %%
# After zero_grad
# ---------------
#
# From 2.0 on, ``zero_grad()`` leaves ``None`` where older releases left zeros. For
# what changes with it, see ``gradient_is_none`` and ``weights_move_anyway``.

layer = torch.nn.Linear(1, 1)
layer(torch.ones(1, 1)).sum().backward()
layer.zero_grad()
assert layer.weight.grad is None

# %%
# The popular fix that does not work
# ----------------------------------
#
# A fixed seed and float64. The choice is not random, and it is no rounding error:

for seed, dtype in ((0, torch.float32), (1, torch.float64)):
    torch.manual_seed(seed)
    x = torch.tensor(7.0, dtype=dtype, requires_grad=True)
    x.clamp(-8, 7).backward()
    assert bool(x.grad) == clamp_gives_one

# %%
# Find the line in your own code
# ------------------------------
#
# Under the old release, save the gradients of one step. Under the new one, take the
# same weights and the same batch, and compare by name. Here ``io.BytesIO`` stands for
# the file, and another ``clamp`` for the other release.


def gradients(clamp):
    weights = {
        "first": torch.tensor([2.0, 7.0], requires_grad=True),
        "second": torch.tensor([2.0, 3.0], requires_grad=True),
    }
    (clamp(weights["first"], -8, 7) * weights["second"]).sum().backward()
    return {name: w.grad for name, w in weights.items()}


# %%
# Both run here, one after the other:

file = io.BytesIO()
torch.save(gradients(clamp_with_one), file)
file.seek(0)
before, now = torch.load(file), gradients(clamp_with_zero)
changed = [name for name in now if not torch.allclose(before[name], now[name])]
print(changed)
assert changed == ["first"]

# %%
# The operation that changed comes after these parameters in the forward run. Count
# how many inputs of each ``clamp`` there are exactly on a corner:

x = torch.tensor([2.0, 7.0])
on_corner = (x == -8) | (x == 7)
print(on_corner.sum().item())
assert on_corner.tolist() == [False, True]
