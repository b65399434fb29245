# /// script
# requires-python = ">=3.10"
# dependencies = ["torch", "torchviz", "setuptools", "matplotlib"]
# ///
# Pictures show in a notebook or in an editor's cells, where Graphviz's `dot` is installed; all else runs without.
"""
Look up any operation at its kink
=================================

You will be able to tabulate, for any operation, the two slopes at its kink and the number that your release picks.

You do not have to remember what each operation does at its kink. Measure both
slopes, run autograd, and compare. This lesson makes the table for operations
that are common in networks.

Know first: ``slopes_from_both_sides``, ``clamp_against_relu``.
"""

import matplotlib.pyplot as plt
import torch
import torch.nn.functional as F
from torchviz import make_dot

print(torch.__version__.partition("+")[0])
release = tuple(int(part) for part in torch.__version__.split(".")[:2])

# %%
# Three numbers for one point
# ---------------------------
#
# The slopes from the left and from the right are measured from values alone.
# The third number is autograd's. float64 has enough digits for a small step.


def three_numbers(f, point, step=1e-6):
    x = torch.tensor(point, dtype=torch.float64, requires_grad=True)
    y = f(x)
    y.backward()
    with torch.no_grad():
        left = (y - f(x - step)) / step
        right = (f(x + step) - y) / step
    return round(left.item(), 3), round(right.item(), 3), x.grad.item()


# %%
# The order is: from the left, from the right, autograd.

print(three_numbers(torch.relu, 0.0))
assert three_numbers(torch.relu, 0.0) == (0.0, 1.0, 0.0)

# %%
# The table
# ---------
#
# Each row is an operation and the point of its kink.

KINKS = {
    "abs(x)": (torch.abs, 0.0),
    "relu(x)": (torch.relu, 0.0),
    "relu6(x)": (F.relu6, 6.0),
    "leaky_relu(x, 0.1)": (lambda x: F.leaky_relu(x, 0.1), 0.0),
    "elu(x, 2)": (lambda x: F.elu(x, 2.0), 0.0),
    "hardtanh(x)": (F.hardtanh, 1.0),
    "hardsigmoid(x)": (F.hardsigmoid, 3.0),
    "hardswish(x)": (F.hardswish, 3.0),
    "softshrink(x)": (F.softshrink, 0.5),
    "clamp(x, min=0)": (lambda x: x.clamp(min=0), 0.0),
    "clamp(x, max=1)": (lambda x: x.clamp(max=1), 1.0),
    "maximum(x, 0)": (lambda x: torch.maximum(x, 0 * x), 0.0),
    "fmax(x, 0)": (lambda x: torch.fmax(x, 0 * x), 0.0),
    "norm([x, 0])": (lambda x: torch.stack((x, 0 * x)).norm(), 0.0),
}

# %%
# Look for rows where autograd takes the left slope, the right slope, or a
# number between them.

print(f"{'operation':20}{'at':>4}{'left':>7}{'right':>7}{'autograd':>10}")
table = {}
for name, (f, point) in KINKS.items():
    left, right, picked = table[name] = three_numbers(f, point)
    print(f"{name:20}{point:4}{left:7}{right:7}{picked:10.3g}")

# %%
# Is autograd's number right in every row, that is, from the smaller slope to
# the larger one?

right_rows = [
    min(left, right) - 1e-3 <= picked <= max(left, right) + 1e-3
    for left, right, picked in table.values()
]
# Predict first: is it right in every row? True or False
print(all(right_rows))
assert all(right_rows)

# %%
# There is no rule
# ----------------
#
# Some operations take the slope from the left, some the slope from the right,
# and some the mean of the two. These are the rows of the last kind:

means = [
    name
    for name, (left, right, picked) in table.items()
    if abs(picked - (left + right) / 2) < 1e-3
]
print(means)
assert {"abs(x)", "maximum(x, 0)", "norm([x, 0])"} <= set(means)
assert "relu(x)" not in means

# %%
# Rows that depend on the release
# -------------------------------
#
# ``clamp`` with a number as its bound gives 1 up to PyTorch 2.13, and 0 from
# 2.14 on. ``fmax`` in a tie gives all to its first input up to 2.13, and one
# half to each from 2.14 on. The lines below check both cases, and print what
# your release does.

for name, older, newer in (
    ("clamp(x, min=0)", 1.0, 0.0),
    ("clamp(x, max=1)", 1.0, 0.0),
    ("fmax(x, 0)", 1.0, 0.5),
):
    picked = table[name][2]
    print(f"{name:20}", picked)
    torch.testing.assert_close(picked, newer if release >= (2, 14) else older)

# %%
# ``hardswish`` at 3 gives 1.5 up to PyTorch 2.5, and 1 from 2.9 on. (The
# releases between were not measured.)

picked = table["hardswish(x)"][2]
print(picked)
if release <= (2, 5) or release >= (2, 9):
    torch.testing.assert_close(picked, 1.0 if release >= (2, 9) else 1.5)

# %%
# In a picture
# ------------
#
# The line is the gradient that autograd gives on both sides; the dot is the
# one number at the kink.

fig, axes = plt.subplots(1, 4, figsize=(8, 2.2), sharey=True)
names = ("abs(x)", "relu(x)", "clamp(x, min=0)", "maximum(x, 0)")
for ax, name in zip(axes, names, strict=True):
    f, point = KINKS[name]
    for side in (torch.linspace(-1, -0.01, 50), torch.linspace(0.01, 1, 50)):
        x = (point + side).requires_grad_()
        f(x).sum().backward()
        ax.plot(x.detach(), x.grad, color="#2f6fed")
    ax.plot(point, table[name][2], "o", color="#c2410c")
    ax.set_title(name, fontsize=9)
fig.supxlabel("x", fontsize=9)
axes[0].set_ylabel("gradient")
fig.tight_layout()

# %%
# What goes wrong: two operations for one
# ---------------------------------------
#
# Each row of the table is one operation, and its answer is right. A *chain* of
# operations can be wrong. :math:`\sqrt{x^2}` has the same values as ``abs``.

x = torch.tensor(0.0, requires_grad=True)
y = (x**2).sqrt()
make_dot(y, params={"x": x, "y": y})

# %%
# The right answers at 0 are the numbers from -1 to 1. Is autograd's one of
# them?

y.backward()
# Predict first: what is x.grad for the root of the square, at 0?
print(x.grad.item())
assert x.grad.isnan()
torch.testing.assert_close(table["abs(x)"], (-1.0, 1.0, 0.0))

# %%
# The root's slope at 0 is infinite, the square's slope is 0, and their product
# is NaN (not a number). ``abs(x)`` in its place gives 0.
#
# What you can do now
# -------------------
#
# - You can make this table for any operation on one number, in your release.
# - You know that each operation has a rule of its own, and that rules change.
#
# Exercises
# ---------
#
# 1. ``threshold(x, 1, 1)`` is 1 up to :math:`x = 1`, and :math:`x` above. Find
#    its two slopes at 1.

left, right, picked = three_numbers(lambda x: F.threshold(x, 1, 1), 1.0)
# Predict first: the slopes from the left and from the right (two numbers)?
print(f"{left:.0f} {right:.0f}")
torch.testing.assert_close((left, right), (0.0, 1.0))

# %%
# 2. At its kink, ``threshold`` takes the same side as ``relu``.

# Predict first: which number does autograd give for threshold at 1?
print(picked)
torch.testing.assert_close(picked, 0.0)
