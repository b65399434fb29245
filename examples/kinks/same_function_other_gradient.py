# /// script
# requires-python = ">=3.10"
# dependencies = ["torch", "torchviz", "setuptools"]
# ///
# Pictures show in a notebook or in an editor's cells, where Graphviz's `dot` is installed; all else runs without.
"""
Write one function with two gradients
=====================================

You will be able to show that two programs for one function can have different gradients, and to find the point where.

Autograd does not differentiate your function. It differentiates your program:
operation by operation, each with its own rule. At most points that makes no
difference. At a kink it can, and then no error tells you.

Know first: ``slopes_from_both_sides``, ``clamp_against_relu``.
"""

import torch
from torchviz import make_dot


def gradient(f, point):
    x = torch.tensor(point, requires_grad=True)
    f(x).backward()
    return x.grad.item()


# %%
# The identity, in a strange form
# -------------------------------
#
# For every number, :math:`\text{relu}(x) - \text{relu}(-x) = x`. Its slope is 1
# everywhere: there is not even a kink.


def strange_identity(x):
    return torch.relu(x) - torch.relu(-x)


values = torch.linspace(-2, 2, 9)
torch.testing.assert_close(strange_identity(values), values)
print(gradient(strange_identity, 2.0), gradient(strange_identity, -2.0))

# %%
# At 0, each ``relu`` has a kink of its own, and autograd takes the slope 0
# there.

x = torch.tensor(0.0, requires_grad=True)
y = strange_identity(x)
make_dot(y, params={"x": x, "y": y})

# %%
# Two ways lead back to ``x``. What arrives?

y.backward()
# Predict first: which number is x.grad at 0?
print(x.grad.item())
torch.testing.assert_close(x.grad.item(), 0.0)

# %%
# The true slope is 1. So 0 is not "one of the right answers": it is wrong. Each
# rule picked a legal slope of its own operation, and together they do not make
# a legal slope of the whole. This is the same in every release.
#
# The absolute value, three times
# -------------------------------
#
# Three programs for :math:`|x|`:

absolute = {
    "abs": torch.abs,
    "sqrt of the square": lambda x: (x**2).sqrt(),
    "larger of x and -x": lambda x: torch.maximum(x, -x),
}
for form in absolute.values():
    torch.testing.assert_close(form(values), values.abs())
    torch.testing.assert_close(gradient(form, -3.0), -1.0)

# %%
# The same values, the same slope at -3. And at 0?

for name, form in absolute.items():
    print(f"{name:20} {gradient(form, 0.0)}")

# %%
# The square root is infinitely steep at 0, and the square is flat there:
# backward multiplies infinity by 0, which gives NaN, "not a number".

# Predict first: which value is infinity times 0?
print(float("inf") * 0.0)
assert torch.tensor(gradient(absolute["sqrt of the square"], 0.0)).isnan()
torch.testing.assert_close(gradient(torch.abs, 0.0), 0.0)

# %%
# A length has the same problem. ``torch.linalg.vector_norm`` knows the point 0
# and gives 0, a legal subgradient; the formula that you would write by hand
# gives NaN.

zeros = torch.zeros(2, requires_grad=True)
torch.linalg.vector_norm(zeros).backward()
print("vector_norm:", zeros.grad)
torch.testing.assert_close(zeros.grad, torch.zeros(2))

zeros.grad = None
(zeros**2).sum().sqrt().backward()
print("by hand:    ", zeros.grad)
assert zeros.grad.isnan().all()

# %%
# The larger of two, three times
# ------------------------------
#
# At a tie, who gets the gradient? Let both inputs be 1.

pair = torch.ones(2, requires_grad=True)
pair.max().backward()
# Predict first: the two numbers of the gradient of pair.max()
print(pair.grad)
torch.testing.assert_close(pair.grad, torch.tensor([0.5, 0.5]))

# %%
# ``max()`` over all elements shares. ``max(dim=0)`` also tells the index of the
# largest element. It names one index, and that one gets all.

pair.grad = None
pair.max(dim=0).values.backward()
print(pair.grad)
torch.testing.assert_close(pair.grad.sum().item(), 1.0)
assert pair.grad.max().item() == 1.0

# %%
# A third form, with ``relu``: :math:`\max(a, b) = a + \text{relu}(b - a)`.

pair.grad = None
(pair[0] + torch.relu(pair[1] - pair[0])).backward()
# Predict first: the two numbers of the gradient of a + relu(b - a)
print(pair.grad)
torch.testing.assert_close(pair.grad, torch.tensor([1.0, 0.0]))

# %%
# What goes wrong: a zero in a mask
# ---------------------------------
#
# "The bad value is masked out" does not help if it was computed. Here the branch
# with the square root is not chosen at 0, and yet its NaN comes through, since
# both branches were recorded.


def masked(x):
    return torch.where(x > 0, (x**2).sqrt(), torch.zeros_like(x))


print(masked(torch.tensor(0.0)).item(), gradient(masked, 0.0))
assert torch.tensor(gradient(masked, 0.0)).isnan()

# %%
# The repair is to keep the bad *input* away from the operation, with a second
# ``torch.where`` inside:


def masked_twice(x):
    safe = torch.where(x > 0, x, torch.ones_like(x))
    return torch.where(x > 0, (safe**2).sqrt(), torch.zeros_like(x))


# Predict first: which number is the gradient at 0 now?
print(gradient(masked_twice, 0.0))
torch.testing.assert_close(gradient(masked_twice, 0.0), 0.0)
torch.testing.assert_close(gradient(masked_twice, 3.0), 1.0)

# %%
# What you can do now
# -------------------
#
# - You can test two programs for one function at its kinks, not only at random
#   points.
# - You can explain a NaN that comes from a branch you did not take.
# - You can choose an operation that knows the awkward point.
#
# Exercises
# ---------
#
# 1. ``x.abs() + x`` is :math:`2\,\text{relu}(x)`. Which gradient does each form
#    give at 0?

first = gradient(lambda x: x.abs() + x, 0.0)
second = gradient(lambda x: 2 * torch.relu(x), 0.0)
# Predict first: the two numbers, abs form and relu form
print(first, second)
torch.testing.assert_close(first, 1.0)
torch.testing.assert_close(second, 0.0)

# %%
# Both lie between 0 and 2, the slopes from both sides: both are right here.
#
# 2. ``x * torch.sign(x)`` is :math:`|x|` too. ``sign`` has the slope 0.

# Predict first: which number is the gradient of x * sign(x) at 0?
print(gradient(lambda x: x * torch.sign(x), 0.0))
torch.testing.assert_close(gradient(lambda x: x * torch.sign(x), 0.0), 0.0)
