# /// script
# requires-python = ">=3.10"
# dependencies = ["torch"]
# ///
"""
Clipped gradients are NaN, zero or too small, or refused
========================================================

You will be able to clip gradients so that one bad number is noticed, also with sparse gradients and mixed precision.

How it shows:

- You added ``clip_grad_norm_`` against exploding gradients in an RNN, LSTM or transformer, and now all weights are NaN.
- After clipping, all gradients are zero and the model no longer learns.
- "The total norm of order 2.0 for gradients is non-finite, so it cannot be clipped."
- ``clip_grad_norm_`` with ``Embedding(sparse=True)`` could not run on the ``SparseCPU`` or ``SparseCUDA`` backend.
- ``GradScaler``: attempting to unscale FP16 gradients, or no inf checks were recorded for this optimizer, in an AMP (mixed precision) loop.
- With a ``GradScaler`` and clipping, the loss hardly falls.

Know first: ``before_and_after_backward``.
"""

import torch
from torch.nn.utils import clip_grad_norm_, clip_grad_value_

# %%
# The shortest program that shows it
# ----------------------------------
#
# Two parameters with a gradient each, clipped together to the norm 1:


def clipped(*gradients, **options):
    parameters = [torch.nn.Parameter(torch.zeros(1)) for _ in gradients]
    for parameter, gradient in zip(parameters, gradients, strict=True):
        parameter.grad = torch.tensor([gradient])
    norm = clip_grad_norm_(parameters, 1.0, **options)
    return norm, torch.cat([p.grad for p in parameters])


norm, result = clipped(torch.nan, 2.0)
print("norm:", norm.item(), " gradients:", result)
assert result.isnan().all()

# %%
# Why
# ---
#
# ``clip_grad_norm_`` computes *one* norm of all gradients together. If the norm is
# above the limit, every gradient is multiplied by the same factor, limit / norm. The
# norm of 3 and 4 is 5:

norm, result = clipped(3.0, 4.0)
print("norm:", norm.item(), " gradients:", result)
torch.testing.assert_close(result, torch.tensor([0.6, 0.8]))

# %%
# If one gradient is NaN, so are the norm and the factor, and all gradients become NaN.
# (PyTorch 1.4 and 1.6 leave the others as they are.) If one is infinite, the norm is
# infinite, and the factor is 1 / infinity = 0. All others become 0.

_, result = clipped(torch.inf, 2.0)
# Predict first: what does the infinite gradient become?
print(result[0].item())
assert result[0].isnan()
torch.testing.assert_close(result[1].item(), 0.0)

# %%
# A finite gradient can do it too, if its square is too large for float32. The norm is
# infinite again, and everything becomes 0.

norm, result = clipped(1e30, 2.0)
assert norm.isinf()
torch.testing.assert_close(result, torch.zeros(2))

# %%
# The fix
# -------
#
# Ask for an error:

try:
    clipped(torch.nan, 2.0, error_if_nonfinite=True)
except RuntimeError as error:
    print(error)
else:
    raise AssertionError("a norm that is NaN was accepted")

# %%
# Or look at the norm, and leave out the step. Then search for the cause:
# ``gradient_is_nan``.

for gradient, expected in ((torch.nan, 5.0), (torch.inf, 5.0), (8.0, 4.0)):
    p = torch.nn.Parameter(torch.tensor(5.0))
    optimizer = torch.optim.SGD([p], lr=1.0)
    p.grad = torch.tensor(gradient)
    norm = clip_grad_norm_([p], 1.0)
    if norm.isfinite():
        optimizer.step()
    optimizer.zero_grad()
    torch.testing.assert_close(p.item(), expected, rtol=1e-5, atol=0.0)

# %%
# With a sparse gradient
# ----------------------
#
# ``Embedding(sparse=True)`` makes a sparse gradient. Of the recorded releases, PyTorch
# 2.0, 2.5, 2.9 and 2.13 refuse to clip it. The older and the newer ones clip it.

table = torch.nn.Embedding(4, 2, sparse=True)
table(torch.tensor([1, 1, 3])).sum().backward()
release = tuple(int(part) for part in torch.__version__.split(".")[:2])
refused = False
try:
    clip_grad_norm_(table.parameters(), 100.0)
except NotImplementedError as error:
    refused = True
    print("NotImplementedError:", str(error).partition(" This could")[0])
if release in {(2, 0), (2, 5), (2, 9), (2, 13)}:
    assert refused
if release in {(1, 13), (2, 14), (2, 15)}:
    assert not refused

# %%
# Clip by hand where it is refused. Row 1 was used twice; ``coalesce`` adds up its
# entries.


def norm_of_all(parameters):
    parts = []
    for gradient in (p.grad for p in parameters if p.grad is not None):
        if gradient.is_sparse:
            gradient = gradient.coalesce().values()
        parts.append(gradient.norm())
    return torch.stack(parts).norm()


# %%
# The gradients of the table are 2, 2, 1 and 1. With a dense gradient of 6 beside them,
# the sum of the squares is 46.

dense = torch.nn.Parameter(torch.zeros(1))
dense.grad = torch.tensor([6.0])
parameters = [table.weight, dense]
norm = norm_of_all(parameters)
torch.testing.assert_close(norm**2, torch.tensor(46.0))
for p in parameters:
    p.grad = p.grad * (1.0 / norm).clamp(max=1.0)
torch.testing.assert_close(norm_of_all(parameters), torch.tensor(1.0))

# %%
# A model in half precision with a GradScaler
# -------------------------------------------
#
# ``model.half()`` makes float16 parameters, so their gradients are float16 too. The
# scaler refuses these.

model = torch.nn.Linear(2, 1).half()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
scaler = torch.amp.GradScaler("cpu")
scaler.scale(model.weight.float().sum()).backward()
assert model.weight.grad.dtype == torch.float16
try:
    scaler.unscale_(optimizer)
except ValueError as error:
    print("ValueError:", error)
else:
    raise AssertionError("float16 gradients were unscaled")

# %%
# Leave the parameters in float32, and let ``autocast`` choose a smaller type for each
# operation. The output has the smaller type, and the gradients are float32. (On a
# GPU, write "cuda" and ``torch.float16``.)

model = torch.nn.Linear(2, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
with torch.autocast("cpu", dtype=torch.bfloat16):
    output = model(torch.ones(1, 2))
assert output.dtype == torch.bfloat16
scaler.scale(output.float().sum()).backward()
assert model.weight.grad.dtype == torch.float32
scaler.unscale_(optimizer)
torch.testing.assert_close(model.weight.grad, torch.ones(1, 2))
scaler.step(optimizer)
scaler.update()

# %%
# An optimizer without gradients
# ------------------------------
#
# ``scaler.step`` also refuses an optimizer if none of its parameters has a gradient.
# Was it given the parameters of another model, or did ``backward`` not reach them?

unused = torch.nn.Parameter(torch.ones(1))
try:
    scaler.step(torch.optim.SGD([unused], lr=1.0))
except AssertionError as error:
    print("AssertionError:", error)
    assert unused.grad is None
else:
    raise RuntimeError("a step without a gradient was made")

# %%
# The popular fix that does not work
# ----------------------------------
#
# To clip each value, and not the norm. The infinity becomes 1, but the NaN stays:

p = torch.nn.Parameter(torch.zeros(3))
p.grad = torch.tensor([torch.inf, torch.nan, 0.5])
clip_grad_value_([p], 1.0)
print(p.grad)
assert p.grad[0].isfinite() and p.grad[1].isnan()

# %%
# With a scaler: to clip without ``unscale_``. There is no error, but you clip the
# *scaled* gradients, and they are divided by the scale afterwards. Here the gradient
# is 2, the limit is 1 and the scale is 1024:


def scaled_gradient(unscale_first):
    p = torch.nn.Parameter(torch.ones(1))
    optimizer = torch.optim.SGD([p], lr=1.0)
    scaler = torch.amp.GradScaler("cpu", init_scale=1024.0)
    scaler.scale((2 * p).sum()).backward()
    if unscale_first:
        scaler.unscale_(optimizer)
    clip_grad_norm_([p], 1.0)
    if not unscale_first:
        scaler.unscale_(optimizer)
    return p.grad.item()


wrong, right = scaled_gradient(False), scaled_gradient(True)
print(f"clipped first: {wrong:.6f}  unscaled first: {right:.6f}")
torch.testing.assert_close(right, 1.0, rtol=1e-5, atol=0.0)
torch.testing.assert_close(wrong, 1 / 1024, rtol=1e-5, atol=0.0)

# %%
# The order is: ``scale``, ``backward``, ``unscale_``, clip, ``step``, ``update``. A second
# ``unscale_`` before ``update`` is refused:

p = torch.nn.Parameter(torch.ones(1))
optimizer = torch.optim.SGD([p], lr=1.0)
scaler = torch.amp.GradScaler("cpu", init_scale=1024.0)
scaler.scale((2 * p).sum()).backward()
scaler.unscale_(optimizer)
try:
    scaler.unscale_(optimizer)
except RuntimeError as error:
    print(error)
else:
    raise AssertionError("the gradients were unscaled twice")

# %%
# Find the line in your own code
# ------------------------------
#
# List the parameters with a bad gradient after ``backward`` and *before* clipping.
# Clipping spreads one NaN to all of them.


def bad_gradients(model):
    return [
        name
        for name, parameter in model.named_parameters()
        if parameter.grad is not None and not parameter.grad.isfinite().all()
    ]


model = torch.nn.Linear(2, 1)
(model.weight.sum() + (0 * model.bias).sqrt().sum()).backward()
print("before:", bad_gradients(model))
assert bad_gradients(model) == ["bias"]
clip_grad_norm_(model.parameters(), 1.0)
print("after:", bad_gradients(model))
assert bad_gradients(model) == ["weight", "bias"]
