# /// script
# requires-python = ">=3.10"
# dependencies = ["torch"]
# ///
"""
The gradient is doubled, or grows with every step
=================================================

You will be able to say which backward passes and which uses of a weight are added up in ``.grad``, and to clear it at the right place.

How it shows:

- The gradient is too large: twice or three times what you computed by hand, and it grows again when you run the notebook cell again.
- ``weight.grad`` keeps increasing in the training loop; the loss falls at first, then it explodes or oscillates.
- Two losses (multi-task, GAN, actor and critic) with a ``backward()`` each: the second one seems to contain the first one.
- Gradient accumulation over several mini-batches does not match one large batch.
- One weight that two layers share (tied embedding and output layer, Siamese network) gets a larger gradient than each of its uses gives.
- A copy of ``.grad`` that you kept changes its numbers by itself.

Know first: ``backward_adds``. ``why_it_adds`` tells what it is good for.
"""

import torch

# %%
# The shortest program that shows it
# ----------------------------------
#
# The slope of :math:`2\,w` is 2, each time.

w = torch.tensor(1.0, requires_grad=True)
for _ in range(3):
    (2 * w).backward()
# Predict first: which number is w.grad after the loop?
print(w.grad.item())
torch.testing.assert_close(w.grad, torch.tensor(6.0))

# %%
# Why
# ---
#
# ``backward()`` does not overwrite ``.grad``, it adds to it. So two losses, one
# after the other, give the gradient of their sum.

w = torch.tensor(1.0, requires_grad=True)
(2 * w).backward()
(5 * w).backward()
torch.testing.assert_close(w.grad, torch.tensor(7.0))

# %%
# ``torch.autograd.grad`` returns a new tensor for each call, and leaves ``.grad``
# as it is.

w = torch.tensor(1.0, requires_grad=True)
for _ in range(3):
    (slope,) = torch.autograd.grad(2 * w, w)
    torch.testing.assert_close(slope, torch.tensor(2.0))
assert w.grad is None

# %%
# The fix
# -------
#
# Call ``zero_grad()`` once for each step, before ``backward()``. The weight then moves
# by :math:`0.5 \cdot 2 = 1` each time.


def positions(clear, lr=0.5):
    w = torch.nn.Parameter(torch.tensor(10.0))
    optimizer = torch.optim.SGD([w], lr=lr)
    passed = [w.item()]
    for _ in range(3):
        if clear:
            optimizer.zero_grad()
        (2 * w).backward()
        optimizer.step()
        passed.append(w.item())
    return passed


print(positions(clear=True))
torch.testing.assert_close(positions(clear=True), [10.0, 9.0, 8.0, 7.0])

# %%
# ``optimizer.zero_grad()`` clears only the parameters that the optimizer has. Here
# nobody gave it ``bias``:

weight = torch.nn.Parameter(torch.tensor(1.0))
bias = torch.nn.Parameter(torch.tensor(1.0))
optimizer = torch.optim.SGD([weight], lr=0.1)
for _ in range(3):
    optimizer.zero_grad()
    (2 * weight + bias).backward()
torch.testing.assert_close(weight.grad, torch.tensor(2.0))
torch.testing.assert_close(bias.grad, torch.tensor(3.0))

# %%
# With gradient accumulation
# --------------------------
#
# If a batch is too large for the memory, you feed it in pieces and *want* the sum.
# But the sum of the means over two pieces is twice the mean over the batch. Divide
# the loss of each piece by the number of pieces (for pieces of equal size).

batch = torch.tensor([1.0, 3.0, 5.0, 7.0])


def in_pieces(divisor):
    w = torch.tensor(1.0, requires_grad=True)
    for piece in batch.chunk(2):
        ((w * piece).mean() / divisor).backward()
    return w.grad.item()


w = torch.tensor(1.0, requires_grad=True)
(w * batch).mean().backward()
print(w.grad.item(), in_pieces(divisor=1), in_pieces(divisor=2))
torch.testing.assert_close(in_pieces(divisor=1), 2 * w.grad.item())
torch.testing.assert_close(in_pieces(divisor=2), w.grad.item())

# %%
# With one weight in two places
# -----------------------------
#
# Within one backward, too, all uses of a weight add up. That is no error: it is
# the derivative. :math:`w \cdot (w \cdot x) = w^2 x` has the slope
# :math:`2\,w\,x`, and each of the two uses of ``w`` gives half of it.

w = torch.tensor(2.0, requires_grad=True)
x = torch.tensor(3.0)
(w * (w * x)).backward()
# Predict first: which number is w.grad?
print(w.grad.item())
torch.testing.assert_close(w.grad, 2 * w.detach() * x)
(one_use,) = torch.autograd.grad(w * (w.detach() * x), w)
torch.testing.assert_close(one_use, torch.tensor(6.0))

# %%
# Tied layers share one ``Parameter`` object. ``parameters()`` lists it once, it has one
# ``.grad``, and ``step()`` updates it once. The layers stay tied.

a, b = (torch.nn.Linear(1, 1, bias=False) for _ in range(2))
b.weight = a.weight
model = torch.nn.Sequential(a, b)
assert len(list(model.parameters())) == 1
torch.nn.init.constant_(a.weight, 2.0)
optimizer = torch.optim.SGD(model.parameters(), lr=0.25)
model(torch.full((1, 1), 3.0)).sum().backward()
optimizer.step()
torch.testing.assert_close(a.weight.item(), 2.0 - 0.25 * 12.0)
assert b.weight is a.weight

# %%
# The popular fix that does not work
# ----------------------------------
#
# A smaller learning rate. The sum still grows from step to step: here the weight moves
# by 0.25, then by 0.5, then by 0.75.

passed = positions(clear=False, lr=0.125)
print(passed)
torch.testing.assert_close(passed, [10.0, 9.75, 9.25, 8.5])

# %%
# A ``zero_grad()`` between ``backward()`` and ``step()``. It clears what the step
# needs, and plain SGD does not move the weight.

w = torch.nn.Parameter(torch.tensor(10.0))
optimizer = torch.optim.SGD([w], lr=0.5)
(2 * w).backward()
optimizer.zero_grad()
optimizer.step()
torch.testing.assert_close(w.item(), 10.0)

# %%
# To keep the old gradient under another name, and subtract it. Both names mean the
# same tensor, and the second backward changes it. ``clone()`` keeps the numbers.

w = torch.tensor(1.0, requires_grad=True)
(2 * w).backward()
kept, copied = w.grad, w.grad.clone()
(2 * w).backward()
torch.testing.assert_close(kept, torch.tensor(4.0))
torch.testing.assert_close(copied, torch.tensor(2.0))

# %%
# Find the line in your own code
# ------------------------------
#
# Call this *before* ``backward()``. It lists the parameters that still have a gradient.
# Unless you accumulate on purpose, the list must be empty.


def left_over(model):
    return [
        name
        for name, parameter in model.named_parameters()
        if parameter.grad is not None and parameter.grad.any()
    ]


model = torch.nn.Linear(1, 1)
model(torch.ones(1, 1)).sum().backward()
print(left_over(model))
assert left_over(model) == ["weight", "bias"]
model.zero_grad()
assert left_over(model) == []

# %%
# If the list is empty and the gradient is still too large, look at what arrives. A hook
# on a leaf is called once for each backward, with the sum over all uses in it. Here
# two backward passes arrive: 12, from two uses, and then 5.

arrived = []
w = torch.tensor(2.0, requires_grad=True)
handle = w.register_hook(lambda gradient: arrived.append(gradient.item()))
(w * (w * x)).backward()
(5 * w).backward()
handle.remove()
print(arrived)
torch.testing.assert_close(arrived, [12.0, 5.0])
