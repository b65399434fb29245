# /// script
# requires-python = ">=3.10"
# dependencies = ["torch"]
# ///
"""
The gradient is NaN or infinite
===============================

You will be able to find the operation that made the NaN or the infinity, and to write it with a finite slope.

How it shows:

- The loss is an ordinary number, and after one ``optimizer.step()`` all weights are ``nan``; then the loss is ``nan`` too.
- A triplet, contrastive or Siamese loss, or an RMSE loss written with ``sqrt``, explodes when a distance or an error is exactly zero.
- ``acos`` (arccos) of a cosine similarity gives ``inf`` or ``nan`` when two vectors are equal: angles, rotations, geodesic loss.
- The slope of a ``norm`` at the zero vector, or of the standard deviation ``std`` of equal values (a dead or constant channel), is NaN.
- ``detect_anomaly`` says that a function "returned nan values" and shows a line that looks harmless, or it reports nothing at all.
- A gradient penalty (WGAN-GP) or a Hessian is NaN, while the first derivative is fine.

Know first: ``slopes_from_both_sides``. ``nan_hunt`` searches for a NaN step by step.
"""

import warnings

import torch

# %%
# The shortest program that shows it
# ----------------------------------
#
# The length of a vector, or the distance of two equal points:

x = torch.zeros(2, requires_grad=True)
length = (x**2).sum().sqrt()
length.backward()
print("length:", length.item(), " gradient:", x.grad)
assert length.isfinite() and x.grad.isnan().all()

# %%
# Why
# ---
#
# Look at the square root alone. Its slope is :math:`1/(2\sqrt{s})`.

s = torch.tensor(0.0, requires_grad=True)
s.sqrt().backward()
# Predict first: what is the gradient of the square root at 0?
print(s.grad.item())
assert s.grad.isinf()

# %%
# Backward goes on to the square. Its slope at 0 is 0, and the chain rule multiplies
# the two: infinity times 0 is NaN.

assert (torch.tensor(torch.inf) * 0).isnan()

# %%
# One step of the optimizer then writes NaN into the weight.

w = torch.nn.Parameter(torch.zeros(2))
(w**2).sum().sqrt().backward()
torch.optim.SGD([w], lr=0.1).step()
assert w.isnan().all()

# %%
# The fix
# -------
#
# Use a function that has a rule for 0: ``torch.linalg.vector_norm``, ``norm`` and
# ``abs`` give the gradient 0 there. ``torch.hypot`` has no such rule.


def gradient(f, *values):
    x = torch.tensor(values, requires_grad=True)
    f(x).sum().backward()
    return x.grad


for f in (torch.linalg.vector_norm, torch.norm, torch.abs):
    torch.testing.assert_close(gradient(f, 0.0, 0.0), torch.zeros(2))
assert gradient(lambda x: torch.hypot(x[0], x[1]), 0.0, 0.0).isnan().all()

# %%
# Or add a small number *inside* the root. Far from 0 the gradient is the same as
# without it: (3, 4) has the length 5 and the gradient (0.6, 0.8).


def safe_length(x):
    return ((x**2).sum() + 1e-12).sqrt()


torch.testing.assert_close(gradient(safe_length, 0.0, 0.0), torch.zeros(2))
expected = torch.tensor([0.6, 0.8])
torch.testing.assert_close(gradient(safe_length, 3.0, 4.0), expected)

# %%
# An RMSE loss, the root of a mean squared error, needs the small number too. Without
# it, a perfect prediction makes NaN:

target = torch.tensor([1.0, 2.0])
mse = torch.nn.functional.mse_loss
plain = gradient(lambda x: mse(x, target).sqrt(), 1.0, 2.0)
assert plain.isnan().all()
safe = gradient(lambda x: (mse(x, target) + 1e-12).sqrt(), 1.0, 2.0)
torch.testing.assert_close(safe, torch.zeros(2))

# %%
# The standard deviation of equal values
# --------------------------------------
#
# In PyTorch 1.13 and later, ``torch.std`` gives the gradient 0 here; in 1.4 and 1.6 it
# gave NaN. The root of ``torch.var`` gives NaN. With a small number inside the root
# you get 0 in all recorded releases.

equal = (1.0, 1.0, 1.0, 1.0)
torch.testing.assert_close(gradient(torch.std, *equal), torch.zeros(4))
assert gradient(lambda x: x.var().sqrt(), *equal).isnan().all()
safe = gradient(lambda x: (x.var() + 1e-8).sqrt(), *equal)
torch.testing.assert_close(safe, torch.zeros(4))

# %%
# acos of a cosine similarity
# ---------------------------
#
# ``torch.acos`` is infinitely steep at 1 and at -1. Equal vectors have the cosine 1.

slope = gradient(torch.acos, 1.0, 0.5)
print(slope)
assert slope[0].isinf() and slope[1].isfinite()

# %%
# Clamp the cosine to a bound smaller than 1. Beyond the bound the gradient is 0.


def angle(u, limit):
    v = torch.tensor([3.0, 4.0])
    cosine = torch.nn.functional.cosine_similarity(u, v, dim=0)
    return torch.acos(cosine.clamp(-limit, limit))


near_one = gradient(lambda u: angle(u, 1 - 1e-6), 3.0, 4.0)
torch.testing.assert_close(near_one, torch.zeros(2))

# %%
# With a bound of exactly 1 the result depends on the release. Up to PyTorch 2.13 the
# clamp passes the gradient at its bound, and you get NaN. From 2.14 on you get 0.

release = tuple(int(part) for part in torch.__version__.split(".")[:2])
at_one = gradient(lambda u: angle(u, 1.0), 3.0, 4.0)
assert at_one.isnan().all().item() == (release < (2, 14))

# %%
# The second derivative of a norm
# -------------------------------
#
# The rule for 0 is about the first derivative. In PyTorch 1.13 and later, the second
# one is NaN, also that of the squared norm. Without a root there is no NaN: the
# second derivative of ``(x**2).sum()`` is 2.


def second(f):
    x = torch.zeros(2, requires_grad=True)
    (first,) = torch.autograd.grad(f(x), x, create_graph=True)
    (result,) = torch.autograd.grad(first.sum(), x)
    return result


print(second(torch.linalg.vector_norm))
assert second(torch.linalg.vector_norm).isnan().all()
assert second(lambda x: x.norm() ** 2).isnan().all()
by_squares = second(lambda x: (x**2).sum())
torch.testing.assert_close(by_squares, torch.full((2,), 2.0))

# %%
# If you need the norm itself, for a gradient penalty, take the root with the small
# number inside. Its second derivative is finite, but large:
# :math:`1/\sqrt{10^{-12}} = 10^6`.

torch.testing.assert_close(second(safe_length), torch.full((2,), 1e6))

# %%
# What detect_anomaly catches
# ---------------------------
#
# Anomaly mode checks the gradients that each node of the graph sends back. It looks
# for NaN only, and stops at the first one. In the first program that is in the
# square, although the infinity came from the root.


def with_anomaly_mode(f, value):
    x = torch.tensor(value, requires_grad=True)
    with warnings.catch_warnings(record=True):
        warnings.simplefilter("always")
        try:
            with torch.autograd.detect_anomaly():
                f(x).backward()
        except RuntimeError as error:
            return str(error)
    return x.grad


message = with_anomaly_mode(lambda x: (x**2).sqrt(), 0.0)
print(message)
assert "PowBackward0" in message

# %%
# An infinite gradient passes. And the values of the forward run are not checked:
# ``x / 0`` is NaN at 0, but its gradient, 1 / 0, is infinite and passes too.

assert with_anomaly_mode(torch.sqrt, 0.0).isinf()
assert with_anomaly_mode(lambda x: x / 0, 0.0).isinf()
assert (torch.tensor(0.0) / 0).isnan()

# %%
# The popular fix that does not work
# ----------------------------------
#
# A small number *after* the root does not change the slope. ``nan_to_num`` of the loss
# does not help, nor does a smaller learning rate: NaN times a small number is NaN.
# (For clipping, see ``clipping_gradients``.)

assert gradient(lambda x: (x**2).sum().sqrt() + 1e-8, 0.0, 0.0).isnan().all()
after = gradient(lambda x: (x**2).sum().sqrt().nan_to_num(), 0.0, 0.0)
assert after.isnan().all()
assert (1e-12 * after).isnan().all()

# %%
# ``nan_to_num`` of the *gradient* turns infinity into the largest number of the type.
# A step with such a gradient destroys the weight.

repaired = gradient(torch.sqrt, 0.0).nan_to_num()
print(repaired.item())
assert repaired.item() > 1e38

# %%
# Find the line in your own code
# ------------------------------
#
# Give every node of the graph a hook. It notes each node that receives only finite
# gradients and sends back one that is NaN or infinite.


def finite(tensors):
    return all(t is None or t.isfinite().all() for t in tensors)


def watch(loss):
    found, waiting, seen = [], [loss.grad_fn], set()
    while waiting:
        node = waiting.pop()
        if node is None or node in seen:
            continue
        seen.add(node)

        def look(sent, arrived, node=node):
            if finite(arrived) and not finite(sent):
                found.append(node.name())

        node.register_hook(look)
        waiting.extend(following for following, _ in node.next_functions)
    return found


# %%
# Call ``watch`` before ``backward``, and read the list afterwards. It names the root,
# where anomaly mode named the square.

x = torch.zeros(2, requires_grad=True)
loss = 3 * (x**2).sum().sqrt()
found = watch(loss)
loss.backward()
print(found)
assert found == ["SqrtBackward0"]
