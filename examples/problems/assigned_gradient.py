# /// script
# requires-python = ">=3.10"
# dependencies = ["torch", "numpy"]
# ///
"""
Assigning .grad of a different size or type is refused
======================================================

You will be able to put a gradient of your own into ``.grad``, and to see when its size or its type does not fit.

How it shows:

- ``p.grad = g`` stops: assigned grad has data of a different size, or of a different type.
- A newer version says: attempting to assign a gradient of size ... to a tensor of size ...
- ``param.grad = 0`` or a NumPy array gives a ``TypeError``: assigned grad expected to be a Tensor or None.
- A gradient set by hand, or averaged over several workers or clients (federated learning, meta-learning), is refused before ``optimizer.step()``.
- In mixed precision a ``float32`` gradient does not go into a ``float16`` or ``bfloat16`` weight; the message names ``grad_dtype``.

Know first: ``first_gradient``, ``clearing_gradients``.
"""

import torch

# %%
# The shortest program that shows it
# ----------------------------------

p = torch.nn.Parameter(torch.zeros(4))
try:
    p.grad = torch.ones(1, 4)
except RuntimeError as error:
    print(error)
else:
    raise AssertionError("another size was accepted")

# %%
# Why
# ---
#
# A gradient has one number for each number of its tensor. PyTorch checks the size when
# you assign, and does not broadcast: ``[1, 4]`` is not ``[4]``, and one number is not
# used for all four. It checks the type as well:

for wrong in (torch.tensor(1.0), torch.ones(4, dtype=torch.float64)):
    try:
        p.grad = wrong
    except RuntimeError as error:
        print(str(error).partition(".")[0])
    else:
        raise AssertionError("a wrong gradient was accepted")

# %%
# Neither a number nor a NumPy array is a tensor:

for wrong in (0, torch.ones(4).numpy()):
    try:
        p.grad = wrong
    except TypeError as error:
        print("TypeError:", error)
    else:
        raise AssertionError("no tensor, and it was accepted")
assert p.grad is None

# %%
# The fix
# -------
#
# First ask where the other size comes from. If it is a transposed matrix, or a sum over
# the wrong dimension, repair it there. If the numbers are right and in the right order,
# give them the size, the type and the device of ``p``:


def as_gradient_of(p, numbers):
    return torch.as_tensor(numbers).to(p).reshape_as(p)


for numbers in ([[1.0, 2, 3, 4]], torch.tensor([1, 2, 3, 4]).numpy()):
    p.grad = as_gradient_of(p, numbers)
    assert p.grad.dtype == p.dtype and p.grad.shape == p.shape
torch.testing.assert_close(p.grad, torch.tensor([1.0, 2, 3, 4]))
assert as_gradient_of(torch.empty(4, device="meta"), [1, 2, 3, 4]).is_meta

# %%
# The optimizer takes this gradient as if backward had put it there.

torch.optim.SGD([p], lr=1.0).step()
# Predict first: which number is p[3] now?
print(p[3].item())

# %%
# It was 0, and the optimizer subtracts the gradient. To clear a gradient, assign
# ``None`` and not 0:

torch.testing.assert_close(p[3].item(), -4.0)
p.grad = None
assert p.grad is None

# %%
# The assigned tensor is not copied, and here the next backward adds to it in place. So
# ``clone`` it if you need it again, or if another parameter gets the same one.

g = torch.ones(4)
p.grad = g
p.sum().backward()
assert p.grad is g
torch.testing.assert_close(g, torch.full((4,), 2.0))

# %%
# A gradient of another type, on purpose
# --------------------------------------
#
# In PyTorch 2.13 and later (not in 2.9) the parameter has an attribute ``grad_dtype``.
# It is the type that ``.grad`` must have. Set it before you assign:

p = torch.nn.Parameter(torch.zeros(2, dtype=torch.bfloat16))
assert p.grad_dtype == torch.bfloat16
p.grad_dtype = torch.float32
p.grad = torch.ones(2)
assert p.grad.dtype == torch.float32 and p.dtype == torch.bfloat16

# %%
# Do this only if everything that reads the gradient, as the optimizer, can work with two
# types. Without it, convert the gradient with ``to``:

p = torch.nn.Parameter(torch.zeros(2, dtype=torch.bfloat16))
p.grad = torch.ones(2).to(p)
assert p.grad.dtype == torch.bfloat16

# %%
# The popular fix that does not work
# ----------------------------------
#
# ``p.grad.copy_(g)`` and ``p.grad[:] = g`` take more sizes, since both broadcast. Here are
# the gradients of two samples for two weights. Their sum over the samples is ``[4, 6]``.
# Someone forgot ``dim=0``:

samples = torch.tensor([[1.0, 2.0], [3.0, 4.0]])
p = torch.nn.Parameter(torch.zeros(2))
p.grad = torch.zeros(2)
p.grad.copy_(samples.sum())
print(p.grad)
torch.testing.assert_close(p.grad, torch.tensor([10.0, 10.0]))
p.grad[:] = samples.sum()
torch.testing.assert_close(p.grad, torch.tensor([10.0, 10.0]))

# %%
# No error came, and both weights have a wrong gradient. The assignment finds the
# mistake:

try:
    p.grad = samples.sum()
except RuntimeError:
    p.grad = samples.sum(dim=0)
else:
    raise AssertionError("one number was accepted for two")
torch.testing.assert_close(p.grad, torch.tensor([4.0, 6.0]))

# %%
# ``p.grad.data = g`` skips the check too, and the optimizer broadcasts in its step.

p.grad.data = samples.sum().reshape(1)
torch.optim.SGD([p], lr=1.0).step()
torch.testing.assert_close(p.tolist(), [-10.0, -10.0])

# %%
# ``reshape`` makes each size fit that has as many numbers. For a transposed matrix it puts
# them into the wrong places. Use ``T`` there:

grad = torch.tensor([[1.0, 2, 3], [4, 5, 6]])
matrix = torch.nn.Parameter(torch.zeros(3, 2))
print(grad.reshape(3, 2).tolist(), "but", grad.T.tolist())
matrix.grad = grad.T
assert not torch.equal(matrix.grad, grad.reshape(3, 2))

# %%
# Find the line in your own code
# ------------------------------
#
# List what does not fit, by name, before you assign anything:


def misfits(model, gradients):
    return [
        f"{name}: {list(g.shape)} for {list(p.shape)}"
        for (name, p), g in zip(
            model.named_parameters(), gradients, strict=True
        )
        if g.shape != p.shape or g.dtype != p.dtype
    ]


layer = torch.nn.Linear(2, 1)
print(misfits(layer, [torch.ones(1, 2), torch.tensor(1.0)]))
assert misfits(layer, [torch.ones(1, 2), torch.ones(1)]) == []
assert len(misfits(layer, [torch.ones(1, 2), torch.tensor(1.0)])) == 1
