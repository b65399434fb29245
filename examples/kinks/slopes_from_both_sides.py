# /// script
# requires-python = ">=3.10"
# dependencies = ["torch", "torchviz", "setuptools", "matplotlib"]
# ///
# Pictures show in a notebook or in an editor's cells, where Graphviz's `dot` is installed; all else runs without.
"""
Compute slopes from both sides
==============================

You will be able to compute the slope on each side of a kink, and to name every answer that is right there.

The curves of ``relu``, ``abs``, ``clamp`` and ``max`` have a corner. There the
slope from the left and the slope from the right differ, and autograd has to
pick a number. First find out which numbers it may pick.

Know first: ``first_gradient``.
"""

import matplotlib.pyplot as plt
import torch
from torchviz import make_dot

# %%
# One step to the right, one to the left
# --------------------------------------
#
# The slope from the right is the change of the function over a small step to
# the right, divided by the step; the slope from the left is the same for a step
# to the left. Use float64: with small steps, float32 has too few digits.


def slope_right(f, point, step=1e-6):
    point = torch.tensor(point, dtype=torch.float64)
    return ((f(point + step) - f(point)) / step).item()


def slope_left(f, point, step=1e-6):
    point = torch.tensor(point, dtype=torch.float64)
    return ((f(point) - f(point - step)) / step).item()


# %%
# At a smooth point both are the same: :math:`x^2` at 3.

left, right = slope_left(torch.square, 3.0), slope_right(torch.square, 3.0)
print(f"{left:.3f} {right:.3f}")
torch.testing.assert_close(left, right, atol=1e-4, rtol=0)

# %%
# Now ``relu`` at 0. It is 0 on the left and :math:`x` on the right.

left, right = slope_left(torch.relu, 0.0), slope_right(torch.relu, 0.0)
# Predict first: the slope of relu at 0 from the left, and from the right
print(f"{left:.0f} {right:.0f}")
torch.testing.assert_close(left, 0.0)
torch.testing.assert_close(right, 1.0)

# %%
# A picture of the kink
# ---------------------
#
# Left of 0 the slope is 0, right of 0 it is 1. At 0 there is a corner, and many
# straight lines touch the curve from below there without crossing it: all
# those with a slope from 0 to 1.

points = torch.linspace(-1, 1, 201)
fig, ax = plt.subplots(figsize=(5, 3.2))
for slope in (0.0, 0.25, 0.5, 0.75, 1.0):
    ax.plot(points, slope * points, color="#8a8f98", linewidth=1)
ax.plot(points, torch.relu(points), color="#2f6fed", linewidth=3)
ax.set_title("relu, and five lines that touch it at 0")
ax.set_xlabel("x")
fig.tight_layout()

# %%
# Each of these slopes is called a *subgradient* of ``relu`` at 0. The set of all
# of them is the interval from the left slope to the right slope,
# :math:`[0, 1]`. Test the definition: the line stays below the curve.

grid = torch.linspace(-2, 2, 401)
for slope in (0.0, 0.3, 1.0):
    assert (torch.relu(grid) >= slope * grid - 1e-6).all()
for slope in (-0.1, 1.1):
    assert not (torch.relu(grid) >= slope * grid - 1e-6).all()

# %%
# What autograd picks
# -------------------
#
# Any number in :math:`[0, 1]` would be right: zero, and one half as well.

x = torch.tensor(0.0, requires_grad=True)
torch.relu(x).backward()
# Predict first: which number does autograd give for relu at 0?
print(x.grad.item())
torch.testing.assert_close(x.grad.item(), 0.0)
assert 0 <= x.grad.item() <= 1

# %%
# The graph has one operation, which makes that choice. Step through its backward
# pass.

x = torch.tensor(0.0, requires_grad=True)
y = torch.relu(x)
make_dot(y, params={"x": x, "relu(x)": y})

# %%
# ``backward`` hands the same number to ``x`` again.

y.backward()
torch.testing.assert_close(x.grad.item(), 0.0)

# %%
# The interval of ``abs`` at 0 is larger.

left, right = slope_left(torch.abs, 0.0), slope_right(torch.abs, 0.0)
# Predict first: the slope of abs at 0 from the left, and from the right
print(f"{left:.0f} {right:.0f}")
torch.testing.assert_close(left, -1.0)
torch.testing.assert_close(right, 1.0)

# %%
# Autograd's choice lies in it:

x = torch.tensor(0.0, requires_grad=True)
x.abs().backward()
print(x.grad.item())
assert left <= x.grad.item() <= right

# %%
# What goes wrong: a kink that bends down
# ---------------------------------------
#
# For :math:`-|x|` the left slope is 1 and the right slope is -1. No line stays
# below this curve: it has no subgradient at 0. The word for the slopes between
# is then *supergradient*: those lines stay above the curve.

down = -torch.abs(grid)
for slope in (-1.0, 0.0, 1.0):
    assert not (down >= slope * grid - 1e-6).all()
    assert (down <= slope * grid + 1e-6).all()

# %%
# And where the curve *jumps*, or is infinitely steep, no number is right. The
# slope of the square root at 0 from the right grows without end:

for step in (1e-2, 1e-4, 1e-6):
    print(f"step {step:g}: slope {slope_right(torch.sqrt, 0.0, step):.0f}")
x = torch.tensor(0.0, requires_grad=True)
x.sqrt().backward()
print("autograd:", x.grad.item())
assert torch.isinf(x.grad)

# %%
# What you can do now
# -------------------
#
# - You can compute both slopes at any point, with nothing but the function.
# - You can name the set of right answers at a kink that bends up: all numbers
#   from the left slope to the right slope.
#
# Exercises
# ---------
#
# 1. The function is the larger one of :math:`x` and :math:`3\,x`. Give both
#    slopes at 0.


def steeper(x):
    return torch.maximum(x, 3 * x)


left, right = slope_left(steeper, 0.0), slope_right(steeper, 0.0)
# Predict first: the slope from the left and from the right
print(f"{left:.0f} {right:.0f}")
torch.testing.assert_close(left, 1.0)
torch.testing.assert_close(right, 3.0)

# %%
# 2. ``leaky_relu`` with slope 0.1 for negative inputs: is 0.5 a subgradient at
#    0?

leaky = torch.nn.functional.leaky_relu(grid, 0.1)
# Predict first: does a line with slope 0.5 stay below? True or False
print((leaky >= 0.5 * grid - 1e-6).all().item())
assert (leaky >= 0.5 * grid - 1e-6).all()
