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
# Use a function that knows the point 0. ``torch.linalg.vector_norm``, ``norm`` and
# ``abs`` have a rule for it: the gradient is 0. ``torch.hypot`` has none.


def gradient(f, *values):
    x = torch.tensor(values, requires_grad=True)
    f(x).sum().backward()
    return x.grad


for f in (torch.linalg.vector_norm, torch.norm, torch.abs):
    torch.testing.assert_close(gradient(f, 0.0, 0.0), torch.zeros(2))
assert gradient(lambda x: torch.hypot(x[0], x[1]), 0.0, 0.0).isnan().all()

# %%
# Or add a small number *inside* the root. Far from 0 you do not
# see it in the gradient: (3, 4) has the length 5 and the gradient (0.6, 0.8).


def safe_length(x):
    return ((x**2).sum() + 1e-12).sqrt()


print(gradient(safe_length, 0.0, 0.0), gradient(safe_length, 3.0, 4.0))
torch.testing.assert_close(gradient(safe_length, 0.0, 0.0), torch.zeros(2))
expected = torch.tensor([0.6, 0.8])
torch.testing.assert_close(gradient(safe_length, 3.0, 4.0), expected)

# %%
# The root of a mean squared error (RMSE) needs it too, when the prediction is
# perfect:

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
# ``torch.std`` has such a rule from PyTorch 1.13 on; in 1.4 and 1.6 its gradient is
# NaN here. The root of ``torch.var`` has none.

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


def angle(u, limit):
    v = torch.tensor([3.0, 4.0])
    cosine = torch.nn.functional.cosine_similarity(u, v, dim=0)
    return torch.acos(cosine.clamp(-limit, limit))


# %%
# Clamp to a number smaller than 1. Where the clamp is active the gradient is 0.

near_one = gradient(lambda u: angle(u, 1 - 1e-6), 3.0, 4.0)
torch.testing.assert_close(near_one, torch.zeros(2))

# %%
# A clamp to exactly 1 depends on the release: up to PyTorch 2.13 it lets the
# gradient pass at its bound, from 2.14 on it does not.

release = tuple(int(part) for part in torch.__version__.split(".")[:2])
at_one = gradient(lambda u: angle(u, 1.0), 3.0, 4.0)
assert at_one.isnan().all().item() == (release < (2, 14))

# %%
# The second derivative of a norm
# -------------------------------
#
# The rule for 0 holds for the first derivative. From PyTorch 1.13 on, the second
# one is NaN. With a small number inside the root it is a number.


def second(f):
    x = torch.zeros(2, requires_grad=True)
    (first,) = torch.autograd.grad(f(x), x, create_graph=True)
    (result,) = torch.autograd.grad(first.sum(), x)
    return result


print(second(torch.linalg.vector_norm))
assert second(torch.linalg.vector_norm).isnan().all()
assert second(safe_length).isfinite().all()

# %%
# It is a large one, though, about :math:`1/\sqrt{10^{-12}}`. If you square the norm
# anyway, leave out the root: the second derivative of ``(x**2).sum()`` is 2.

torch.testing.assert_close(second(safe_length), torch.full((2,), 1e6))
assert second(lambda x: x.norm() ** 2).isnan().all()
by_squares = second(lambda x: (x**2).sum())
torch.testing.assert_close(by_squares, torch.full((2,), 2.0))

# %%
# Of the other norms, those of order 1, 3 and infinity have the gradient 0 at 0.
# The norm of order 0 counts the numbers that are not 0. From PyTorch 1.13 on it
# has no derivative: ``.grad`` stays ``None``.

for p in (1, 3, torch.inf):
    at_zero = gradient(lambda x, p=p: x.norm(p=p), 0.0, 0.0)
    torch.testing.assert_close(at_zero, torch.zeros(2))
x = torch.zeros(2, requires_grad=True)
x.norm(p=0).backward()
assert x.grad is None

# %%
# What detect_anomaly catches
# ---------------------------
#
# It looks at each gradient that a node of the graph sends, and only for NaN. It
# stops at the first one. In the program above, that is the square, although the
# root made the infinity.


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
# It lets an infinite gradient pass, and it does not look at values: 0 / 0 is NaN in
# the forward run, and the gradient, 1 / 0, is infinite.

assert with_anomaly_mode(torch.sqrt, 0.0).isinf()
assert with_anomaly_mode(lambda x: x / 0, 0.0).isinf()
assert (torch.tensor(0.0) / 0).isnan()

# %%
# The popular fix that does not work
# ----------------------------------
#
# A small number *after* the root does not change the slope, nor does
# ``nan_to_num`` of the loss. A smaller learning rate does not help either: NaN times
# a small number is NaN. (For clipping, see ``clipping_gradients``.)

assert gradient(lambda x: (x**2).sum().sqrt() + 1e-8, 0.0, 0.0).isnan().all()
after = gradient(lambda x: (x**2).sum().sqrt().nan_to_num(), 0.0, 0.0)
assert after.isnan().all()
assert (1e-12 * after).isnan().all()

# %%
# ``nan_to_num`` of the *gradient* makes an infinity the largest number of the type.
# That is a step to nowhere:

repaired = gradient(torch.sqrt, 0.0).nan_to_num()
print(repaired.item())
assert repaired.item() > 1e38

# %%
# Find the line in your own code
# ------------------------------
#
# Give every node of the graph a hook. It notes the nodes which get finite gradients
# and send one that is not: infinities count too.


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
# Call it before ``backward``, and read the list after it. Here it names the root,
# where anomaly mode named the square.

x = torch.zeros(2, requires_grad=True)
loss = 3 * (x**2).sum().sqrt()
found = watch(loss)
loss.backward()
print(found)
assert found == ["SqrtBackward0"]
