# /// script
# requires-python = ">=3.10"
# dependencies = ["torch", "torchviz", "setuptools"]
# ///
# Pictures show in a notebook or in an editor's cells, where Graphviz's `dot` is installed; all else runs without.
"""
Read what gradcheck says at a kink
==================================

You will be able to check a gradient with ``gradcheck``, and to explain why it refuses right answers at a kink.

``torch.autograd.gradcheck`` compares autograd's gradient with a slope that is
measured from values alone. It is the usual test of a gradient. It has a blind
spot, and two kinds of input make it refuse a gradient that is right.

Know first: ``slopes_from_both_sides``, ``clamp_against_relu``.
"""

import warnings

import torch
from torch.autograd import gradcheck
from torchviz import make_dot

# %%
# A smooth function passes
# ------------------------
#
# Give it a function, and inputs in float64 that require a gradient. It returns
# True, or raises an error.


def leaf(value):
    return torch.tensor(value, dtype=torch.float64, requires_grad=True)


print(gradcheck(torch.square, leaf(3.0)))
assert gradcheck(torch.square, leaf(3.0))

# %%
# A backward with a mistake
# -------------------------
#
# This function computes the square, but its backward forgets the factor 2.
# With ``raise_exception=False`` gradcheck returns False in place of the error.


class Square(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x**2

    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        return grad * x


def passes(f, *inputs):
    return gradcheck(f, inputs, raise_exception=False)


# Predict first: does Square pass at 3? True or False
print(passes(Square.apply, leaf(3.0)))
assert not passes(Square.apply, leaf(3.0))

# %%
# The error shows both numbers. The measured one is called *numerical*, and
# autograd's *analytical*.

try:
    gradcheck(Square.apply, leaf(3.0))
except RuntimeError as error:
    print(error)
else:
    raise AssertionError("a wrong gradient passed")

# %%
# How it measures
# ---------------
#
# gradcheck takes a small step to *both* sides, and divides the change of the
# value by the whole distance. The result is the mean of the slope from the
# left and the slope from the right.


def measured(f, point, step=1e-6):
    x = torch.tensor(point, dtype=torch.float64)
    return ((f(x + step) - f(x - step)) / (2 * step)).item()


torch.testing.assert_close(measured(torch.square, 3.0), 6.0, rtol=1e-4, atol=0)

# %%
# At a kink
# ---------
#
# Take ``relu`` at 0. The slope from the left is 0, from the right it is 1.

# Predict first: which slope does the measurement give?
print(round(measured(torch.relu, 0.0), 3))
torch.testing.assert_close(measured(torch.relu, 0.0), 0.5)

# %%
# Every number from 0 to 1 is a right answer, and autograd gives 0.

# Predict first: does relu pass at 0? True or False
print(passes(torch.relu, leaf(0.0)))
assert not passes(torch.relu, leaf(0.0))

# %%
# gradcheck compares 0 with one half:

try:
    gradcheck(torch.relu, leaf(0.0))
except RuntimeError as error:
    print(error)
    assert "0.5" in str(error)
else:
    raise AssertionError("relu passed")

# %%
# ``clamp`` fails too. Up to PyTorch 2.13 its gradient at the bound is 1, from
# 2.14 on it is 0, and neither is one half.

x = leaf(0.0)
x.clamp(min=0).backward()
print(torch.__version__.partition("+")[0])
print("gradient:", x.grad.item())
print("passes:", passes(lambda x: x.clamp(min=0), leaf(0.0)))
release = tuple(int(part) for part in torch.__version__.split(".")[:2])
picked = 0.0 if release >= (2, 14) else 1.0
torch.testing.assert_close(x.grad.item(), picked)
assert not passes(lambda x: x.clamp(min=0), leaf(0.0))

# %%
# ``torch.maximum`` shares the gradient in a tie. Does it pass?


def maximum_with_zero(x):
    return torch.maximum(x, torch.zeros_like(x))


x = leaf(0.0)
y = maximum_with_zero(x)
make_dot(y, params={"x": x, "y": y})

# %%
# Half of the gradient goes to ``x``.

y.backward()
print("gradient:", x.grad.item())
torch.testing.assert_close(x.grad.item(), 0.5)

# %%
# Now run the check.

# Predict first: does maximum pass at 0? True or False
print(passes(maximum_with_zero, leaf(0.0)))
assert passes(maximum_with_zero, leaf(0.0))

# %%
# So at a kink, "passes" means one thing only: autograd picked the mean of the
# two slopes. All three gradients are right, and only one of them passes.
#
# A test that is right at kinks
# -----------------------------
#
# Ask whether autograd's number lies between the two slopes.


def between_slopes(f, point, step=1e-6):
    x = leaf(point)
    y = f(x)
    y.backward()
    at = y.detach()
    right = (f(x.detach() + step) - at) / step
    left = (at - f(x.detach() - step)) / step
    low, high = min(left, right), max(left, right)
    return (low - 1e-4 <= x.grad <= high + 1e-4).item()


for f in (torch.relu, lambda x: x.clamp(min=0), maximum_with_zero, torch.abs):
    assert between_slopes(f, 0.0)
assert not between_slopes(Square.apply, 3.0)

# %%
# What goes wrong: the test looks elsewhere
# -----------------------------------------
#
# gradcheck looks at the points that you give it, and nowhere else. This
# function returns its input, and its gradient is wrong for negative numbers:


class Half(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x.clone()

    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        return torch.where(x >= 0, grad, 0.0)


print("positive points:", passes(Half.apply, leaf([0.5, 1.0, 2.0])))
print("a negative one: ", passes(Half.apply, leaf([0.5, 1.0, -2.0])))
assert passes(Half.apply, leaf([0.5, 1.0, 2.0]))
assert not passes(Half.apply, leaf([0.5, 1.0, -2.0]))

# %%
# Choose points from every region of your function, and none exactly on a kink.
#
# Two ways to refuse a right gradient
# -----------------------------------
#
# In float32 the rounding is as large as the change that gradcheck measures. A
# right gradient fails, and a warning says why.

torch.manual_seed(0)
layer = torch.nn.Linear(3, 1)
x = torch.ones(1, 3, requires_grad=True)
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    in_float32 = passes(layer, x)
print(caught[0].message)
assert not in_float32

# %%
# The same layer, with weights and input in float64:

x = x.detach().double().requires_grad_()
# Predict first: does the layer pass in float64? True or False
print(passes(layer.double(), x))
assert passes(layer, x)

# %%
# The second way: a function with random numbers. Its two calls for one
# measurement use different random numbers, so the measured slope means
# nothing.

torch.manual_seed(0)
dropout = torch.nn.Dropout(0.5)
try:
    gradcheck(dropout, leaf([1.0] * 64))
except RuntimeError as error:
    print(str(error).partition(" for ")[0])
else:
    raise AssertionError("the random function passed")

# %%
# Switch the randomness off for the test, here with ``eval``.

assert passes(dropout.eval(), leaf([1.0] * 64))

# %%
# What you can do now
# -------------------
#
# - You can check a gradient, in float64 and at points that you choose.
# - You can explain the answer at a kink: only the mean of the two slopes
#   passes, though all numbers from one slope to the other are right.
#
# Exercises
# ---------
#
# 1. Check ``abs`` at 0. Autograd gives 0 there.

# Predict first: does abs pass at 0? True or False
print(passes(torch.abs, leaf(0.0)))
assert passes(torch.abs, leaf(0.0))

# %%
# It does: the mean of -1 and 1 is 0.
#
# 2. A leaky ``relu`` has the slope 0.2 on the left, and 1 on the right.

leaky = torch.nn.LeakyReLU(0.2)
# Predict first: which gradient at 0 would pass gradcheck?
print(round(measured(leaky, 0.0), 3))
torch.testing.assert_close(measured(leaky, 0.0), 0.6)
assert not passes(leaky, leaf(0.0))
