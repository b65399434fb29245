# /// script
# requires-python = ">=3.10"
# dependencies = ["torch"]
# ///
"""
The second derivative is refused, missing, zero or nan
======================================================

You will be able to say why a gradient of a gradient fails or is wrong, and to get the right one.

How it shows:

- A gradient penalty (as in WGAN-GP) stops with "does not require grad", or has no effect on the weights.
- "derivative for ... is not implemented", for a loss or a layer that trains well with first gradients.
- MAML or another meta-learning code runs, and it is unclear whether it is first or second order.
- "torch.compile with aot_autograd does not currently support double backward"; it works without ``torch.compile``.
- A Hessian is all zeros, or ``nan``, at a point where a distance or norm is zero (an RBF kernel, two equal points).
- ``retain_graph=True`` removes no error, or the error goes away and the number is wrong.

Know first: ``used_up_graph``, ``detach_is_a_constant``.
"""

import warnings

import torch
import torch.nn.functional as F
from torch.nn.attention import SDPBackend, sdpa_kernel

# %%
# The shortest program that shows it
# ----------------------------------
#
# The slope of ``x**3`` at 3 is 27. The slope of that slope is 18.

x = torch.tensor(3.0, requires_grad=True)
(slope,) = torch.autograd.grad(x**3, x)
torch.testing.assert_close(slope, torch.tensor(27.0))
try:
    torch.autograd.grad(slope, x)
except RuntimeError as error:
    print(error)
else:
    raise AssertionError("the slope has a graph")

# %%
# Why
# ---
#
# By default, a backward pass does not record what it computes. The slope is a plain
# 27: it has no history that leads back to ``x``.

assert not slope.requires_grad and slope.grad_fn is None

# %%
# The fix
# -------
#
# Let autograd record the first backward: ``create_graph=True``.

(slope,) = torch.autograd.grad(x**3, x, create_graph=True)
(second,) = torch.autograd.grad(slope, x)
print(second.item())
torch.testing.assert_close(second, torch.tensor(18.0))

# %%
# Without it, a gradient penalty does not always give an error. Where it is added to a
# loss, it is a constant, silently. The derivative of ``x**3 + slope**2`` is
# :math:`27 + 2 \cdot 27 \cdot 18 = 999`:


def with_penalty(create_graph):
    y = x**3
    (slope,) = torch.autograd.grad(
        y, x, create_graph=create_graph, retain_graph=True
    )
    return torch.autograd.grad(y + slope**2, x)[0]


print(with_penalty(False).item(), with_penalty(True).item())
torch.testing.assert_close(with_penalty(False), torch.tensor(27.0))
torch.testing.assert_close(with_penalty(True), torch.tensor(999.0))

# %%
# MAML: first or second order
# ---------------------------
#
# An inner step of meta-learning moves the weight: ``fast = w - 0.25 * inner``. For
# the inner loss ``w**2`` the inner gradient is ``2 * w``, so ``fast`` is ``w / 2``. The
# outer loss is ``fast**2``, that is ``w**2 / 4``. Its exact slope at 4 is 2.


def meta_gradient(**options):
    w = torch.tensor(4.0, requires_grad=True)
    (inner,) = torch.autograd.grad(w**2, w, **options)
    fast = w - 0.25 * inner
    (fast**2).backward()
    return w.grad


# %%
# Without ``create_graph=True`` the inner gradient is a constant: for autograd, ``fast``
# changes as much as ``w``. This is first-order MAML. Its slope is ``2 * fast``.

first_order = meta_gradient()
# Predict first: which number is it?
print(first_order.item())
torch.testing.assert_close(first_order, torch.tensor(4.0))

# %%
# With it, the gradient goes through the inner step too. This is second-order MAML.

print(meta_gradient(create_graph=True).item())
torch.testing.assert_close(meta_gradient(create_graph=True), torch.tensor(2.0))

# %%
# An operation without a second formula
# -------------------------------------
#
# For a second derivative each operation needs a formula for the derivative of its
# backward. ``binary_cross_entropy`` has one. With target 1 it is ``-log(x)``, and its
# second derivative is ``1 / x**2``:


def second_derivative(loss, x):
    x = x.clone().requires_grad_()
    (first,) = torch.autograd.grad(loss(x), x, create_graph=True)
    return torch.autograd.grad(first.sum(), x)[0]


half, one = torch.tensor([0.5]), torch.tensor([1.0])
second = second_derivative(lambda x: F.binary_cross_entropy(x, one), half)
print(second.item())
torch.testing.assert_close(second, torch.tensor([4.0]))

# %%
# ``ctc_loss`` has none. The first gradient works, the second is refused.

log_probabilities = torch.zeros(1, 1, 2).log_softmax(2)
target, length = torch.tensor([[1]]), torch.tensor([1])
try:
    second_derivative(
        lambda x: F.ctc_loss(x, target, length, length), log_probabilities
    )
except RuntimeError as error:
    print(error)
else:
    raise AssertionError("ctc_loss has a second derivative")

# %%
# The kernel that attention chooses here has none either. (On the CPU, PyTorch 2.0 gave
# a result; 2.5 and later refuse.) Choose the backend ``MATH``, which computes with small
# operations. (One position attends only to itself, so this loss is the sum of squares
# of ``q``.)


def loss(q):
    return F.scaled_dot_product_attention(q, q, q).square().sum()


q = torch.tensor([[[[1.0, 2.0]]]])
try:
    second_derivative(loss, q)
except RuntimeError as error:
    print(error)
else:
    raise AssertionError("the fused kernel has a second derivative")
with sdpa_kernel(SDPBackend.MATH):
    second = second_derivative(loss, q)
torch.testing.assert_close(second, torch.full_like(q, 2.0))

# %%
# Where there is no such choice, write the operation yourself from small ones, or keep
# it out of the part that is differentiated twice.
#
# Compiled with torch.compile
# ---------------------------
#
# ``torch.compile`` with AOTAutograd compiles the first backward, and no second one. (The
# backend ``aot_eager`` uses AOTAutograd too, and needs no C++ compiler.)


def cubes(x):
    return (x**3).sum()


point = torch.tensor([1.0, 2.0])
compiled = torch.compile(cubes, backend="aot_eager")
try:
    second_derivative(compiled, point)
except RuntimeError as error:
    print(error)
else:
    raise AssertionError("double backward through a compiled function")

# %%
# Do not compile the part that you differentiate twice: call the function itself. The
# backend ``eager`` works too. It does not touch backward.

expected = torch.tensor([6.0, 12.0])
torch.testing.assert_close(second_derivative(cubes, point), expected)
eager = torch.compile(cubes, backend="eager")
torch.testing.assert_close(second_derivative(eager, point), expected)
torch._dynamo.reset()

# %%
# A norm at zero
# --------------
#
# This kernel of two points is smooth: ``exp(-distance**2)``. Its Hessian at two equal
# points is -2 on the diagonal. But the norm inside has a kink there. Its second
# derivative does not exist, and the two ways to compute give zeros and ``nan``:

centre = torch.tensor([1.0, 2.0])


def kernel(point):
    return torch.exp(-(torch.linalg.norm(point - centre) ** 2))


with warnings.catch_warnings(record=True):  # of the first use of forward mode
    warnings.simplefilter("always")
    forward_over_reverse = torch.func.hessian(kernel)(centre)
reverse_over_reverse = torch.autograd.functional.hessian(kernel, centre)
print(forward_over_reverse.tolist(), reverse_over_reverse.tolist())
torch.testing.assert_close(forward_over_reverse, torch.zeros(2, 2))
assert reverse_over_reverse.isnan().all()

# %%
# The zeros are worse, since they look like a result. Do not take the root: add the
# squares, without the norm.


def smooth_kernel(point):
    return torch.exp(-(point - centre).square().sum())


exact = -2 * torch.eye(2)
torch.testing.assert_close(torch.func.hessian(smooth_kernel)(centre), exact)
hessian = torch.autograd.functional.hessian(smooth_kernel, centre)
torch.testing.assert_close(hessian, exact)

# %%
# The popular fix that does not work
# ----------------------------------
#
# ``retain_graph=True`` keeps the values that the first backward used. It does not record
# the backward itself, and MAML stays first order:

print(meta_gradient(retain_graph=True).item())
torch.testing.assert_close(meta_gradient(retain_graph=True), first_order)

# %%
# ``requires_grad_()`` on the slope ends the error. But then the slope is a leaf, and ``x``
# gets no gradient.

(slope,) = torch.autograd.grad(x**3, x)
slope.requires_grad_()
(slope**2).backward()
print(x.grad)
assert x.grad is None and slope.grad is not None

# %%
# Find the line in your own code
# ------------------------------
#
# Look at each result of ``torch.autograd.grad`` that goes into a loss. If it has no
# ``grad_fn``, the call lacks ``create_graph=True``, or the slope does not depend on a
# tensor that requires a gradient.

for create_graph in (False, True):
    (slope,) = torch.autograd.grad(x**3, x, create_graph=create_graph)
    print(slope.grad_fn.name() if slope.grad_fn else "no history")
    assert (slope.grad_fn is not None) == create_graph
(slope,) = torch.autograd.grad(5 * x, x, create_graph=True)
assert slope.grad_fn is None  # 5, whatever x is

# %%
# Are zeros right? Measure how the first gradient changes between two near points. This
# is one column of the Hessian.


def column(function, point, number, step=1e-3):
    gradient = torch.func.grad(function)
    move = step * torch.eye(len(point), dtype=point.dtype)[number]
    change = gradient(point + move) - gradient(point - move)
    return change / (2 * step)


centre = centre.double()
measured = column(kernel, centre, 0)
print([round(entry, 2) for entry in measured.tolist()])
torch.testing.assert_close(measured, exact[0].double(), rtol=0, atol=1e-4)

# %%
# For ``nan``, anomaly mode stops at the operation that made it: here a division in the
# backward of the norm. Its warnings name your function that called the norm.

with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    try:
        with torch.autograd.detect_anomaly():
            torch.autograd.functional.hessian(kernel, centre)
    except RuntimeError as error:
        print(error)
    else:
        raise AssertionError("no nan")
messages = [str(warning.message) for warning in caught]
assert any("VectorNorm" in text and "in kernel" in text for text in messages)
