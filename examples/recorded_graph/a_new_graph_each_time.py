# /// script
# requires-python = ">=3.10"
# dependencies = ["torch", "torchviz", "setuptools"]
# ///
# Pictures show in a notebook or in an editor's cells, where Graphviz's `dot` is installed; all else runs without.
"""
See a new graph for each input
==============================

You will be able to use ``if`` and ``while`` in a function and to draw the graphs that it makes for different inputs.

The graph is not a property of your function. Each forward run records what
really happened in it: which branch was taken, how often the loop ran.

Know first: ``read_the_picture``.
"""

import torch
from torchviz import make_dot

# %%
# A function with a loop and a branch
# -----------------------------------
#
# It doubles its input until the norm (here: the absolute value) reaches 1000.
# A positive result is returned as it is, a negative one is multiplied by 100.


def f(a):
    b = a * 2
    while b.norm() < 1000:
        b = b * 2
    return b if b.sum() > 0 else 100 * b


# %%
# From 300 it takes two doublings to reach 1000: 600, 1200.

a = torch.tensor(300.0, requires_grad=True)
large = f(a)
make_dot(large, params={"a": a, "f(a)": large})

# %%
# The picture has two multiplications. The loop and the comparison are not in
# it: they decided what was recorded, but they are no operation on the way from
# ``a`` to the result.

large.backward()
# Predict first: which number is a.grad?
print(a.grad.item())
torch.testing.assert_close(a.grad.item(), 4.0)

# %%
# Two doublings multiply by 4. Near 300, ``f`` is the line :math:`4\,a`.
#
# A smaller input
# ---------------
#
# How many doublings does 150 need?

b = torch.tensor(150.0, requires_grad=True)
small = f(b)
make_dot(small, params={"a": b, "f(a)": small})

# %%
# 300, 600, 1200: one box more.

small.backward()
# Predict first: which number is the gradient at 150?
print(b.grad.item())
torch.testing.assert_close(b.grad.item(), 8.0)

# %%
# A negative input takes the other branch
# ---------------------------------------
#
# The norm of -600 is 600, so one doubling and the factor 100 follow.

c = torch.tensor(-600.0, requires_grad=True)
negative = f(c)
make_dot(negative, params={"a": c, "f(a)": negative})

# %%
# One multiplication by 2, one by 100.

negative.backward()
# Predict first: which number is the gradient at -600?
print(c.grad.item())
torch.testing.assert_close(c.grad.item(), 200.0)

# %%
# A check for every input
# -----------------------
#
# Whatever the loop does, the result is a number times ``a``. So the slope must
# be :math:`f(a) / a`. Try it on many random inputs.

torch.manual_seed(0)
inputs = torch.randn(1000)
slopes, quotients = [], []
for value in inputs:
    a = value.clone().requires_grad_()
    d = f(a)
    d.backward()
    slopes.append(a.grad)
    quotients.append(d.detach() / value)
slopes, quotients = torch.stack(slopes), torch.stack(quotients)
torch.testing.assert_close(slopes, quotients)

# %%
# The check allowed small differences. With ``==`` in its place, would it hold
# for all 1000 inputs?

equal = slopes == quotients
# Predict first: are all 1000 pairs equal with ==? True or False
print(equal.all().item())
assert not equal.all()

# %%
# So many are equal to the last bit:

print(equal.sum().item(), "of 1000")
assert equal[inputs > 0].all()

# %%
# All positive inputs are among them: doubling is exact in binary numbers. The
# factor 100 of the negative ones is not: the product is rounded, and dividing
# again does not always bring the same bits back. So compare gradients with
# ``torch.testing.assert_close`` or ``torch.allclose``, not with ``==``.
#
# What goes wrong at zero
# -----------------------
#
# Twice zero is zero: the norm never reaches 1000, and ``f(0)`` never ends. A
# loop whose end depends on data needs a limit. This form gives up:


def f_with_limit(a, limit=100):
    b = a * 2
    for _ in range(limit):
        if b.norm() >= 1000:
            return b if b.sum() > 0 else 100 * b
        b = b * 2
    raise ValueError(f"the norm did not reach 1000 in {limit} doublings")


try:
    f_with_limit(torch.tensor(0.0, requires_grad=True))
except ValueError as error:
    print(error)
else:
    raise AssertionError("zero must be refused")

# %%
# What the gradient cannot see
# ----------------------------
#
# Just below 250 the function takes one more doubling than just above. The
# value jumps there. Each side has its own slope, and backward tells you
# nothing of the jump:

for value, slope in ((249.0, 8.0), (251.0, 4.0)):
    a = torch.tensor(value, requires_grad=True)
    d = f(a)
    d.backward()
    print(value, "->", d.item(), "slope", a.grad.item())
    torch.testing.assert_close(a.grad.item(), slope)

# %%
# What you can do now
# -------------------
#
# - You can write plain Python control flow and differentiate it.
# - You know that the graph belongs to one run, not to the function.
# - You know that branches themselves have no gradient.
#
# Exercises
# ---------
#
# 1. How many doublings does the input 1 need, and what is its slope?

a = torch.tensor(1.0, requires_grad=True)
f(a).backward()
# Predict first: which number is the slope at 1?
print(a.grad.item())
torch.testing.assert_close(a.grad.item(), 1024.0)

# %%
# 2. And the input -1?

a = torch.tensor(-1.0, requires_grad=True)
f(a).backward()
# Predict first: which number is the slope at -1?
print(a.grad.item())
torch.testing.assert_close(a.grad.item(), 102400.0)
