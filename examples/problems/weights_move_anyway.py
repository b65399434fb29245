# /// script
# requires-python = ">=3.10"
# dependencies = ["torch"]
# ///
"""
Weights change although their gradient is zero
==============================================

You will be able to keep weights exactly where they are, whatever the optimizer does besides following the gradient.

How it shows:

- A hook or a mask sets the gradient to zero, and ``optimizer.step()`` with ``weight_decay`` still shrinks the weight.
- Frozen layers (``requires_grad = False``, fine-tuning, transfer learning) drift during training.
- With momentum or Adam, a parameter keeps moving after its loss was switched off.
- Rows of an embedding that occur in no batch do not stay as they were.
- Pruned weights, masked to 0, come back after a few updates.
- The same script leaves these weights alone in a newer PyTorch.

Know first: ``clearing_gradients``. ``five_ways_to_stop`` has other ways to freeze.
"""

import torch

# %%
# The shortest program that shows it
# ----------------------------------

w = torch.nn.Parameter(torch.tensor(8.0))
optimizer = torch.optim.SGD([w], lr=0.5, weight_decay=0.25)
(0 * w).backward()
optimizer.step()
print("gradient", w.grad.item(), "weight", w.item())
torch.testing.assert_close((w.grad.item(), w.item()), (0.0, 7.0))

# %%
# Why
# ---
#
# The optimizer does more than follow the gradient. Weight decay adds a part of
# the weight to the gradient: :math:`0 + 0.25 \cdot 8 = 2`, and the step is
# :math:`0.5 \cdot 2 = 1`. It does so for every parameter whose ``.grad`` is not
# ``None``. For the optimizer, 0 is a gradient like any other. A parameter with ``None``
# is skipped.


def path(gradients, kind=torch.optim.SGD, **settings):
    w = torch.nn.Parameter(torch.tensor(8.0))
    optimizer = kind([w], lr=0.5, **settings)
    places = []
    for gradient in gradients:
        w.grad = None if gradient is None else torch.tensor(gradient)
        optimizer.step()
        places.append(w.item())
    return places


print("None:", path([None], weight_decay=0.25))
print("zero:", path([0.0], weight_decay=0.25))
torch.testing.assert_close(path([None], weight_decay=0.25), [8.0])
torch.testing.assert_close(path([0.0], weight_decay=0.25), [7.0])
torch.testing.assert_close(path([0.0]), [8.0])

# %%
# Momentum also moves a weight: it remembers old gradients. Here the gradient is 8
# once, and then 0. ``Adam`` always remembers them. ``AdamW`` has a weight decay that is
# not 0 if you do not set it.

places = path([8.0, 0.0, 0.0], momentum=0.5)
print(places)
torch.testing.assert_close(places, [4.0, 2.0, 1.0])
torch.testing.assert_close(path([8.0, None], momentum=0.5), [4.0, 4.0])
first, second = path([8.0, 0.0], kind=torch.optim.Adam)
assert second < first
assert path([0.0], kind=torch.optim.AdamW)[0] < 8

# %%
# The fix
# -------
#
# Give the optimizer only the weights that should move. It cannot change the others.

frozen = torch.nn.Parameter(torch.tensor(8.0), requires_grad=False)
free = torch.nn.Parameter(torch.tensor(8.0))
trained = [p for p in (frozen, free) if p.requires_grad]
optimizer = torch.optim.SGD(trained, lr=0.5, weight_decay=0.25)
(0 * free + frozen).backward()
optimizer.step()
torch.testing.assert_close((frozen.item(), free.item()), (8.0, 7.0))

# %%
# A weight that should follow its gradient, but not decay, gets a group of its own:

bias = torch.nn.Parameter(torch.tensor(8.0))
groups = [{"params": [free]}, {"params": [bias], "weight_decay": 0.0}]
optimizer = torch.optim.SGD(groups, lr=0.5, weight_decay=0.25)
(0 * bias).backward()
optimizer.step()
torch.testing.assert_close(bias.item(), 8.0)

# %%
# Frozen in the middle of training
# --------------------------------
#
# ``requires_grad_(False)`` stops *new* gradients. The last one, here 2, is still there,
# and each step uses it again:

w = torch.nn.Parameter(torch.tensor(8.0))
optimizer = torch.optim.SGD([w], lr=0.5)
(2 * w).backward()
w.requires_grad_(False)
optimizer.step()
optimizer.step()
# Predict first: where is the weight of 8 after these two steps?
print(w.item())
torch.testing.assert_close(w.item(), 6.0)

# %%
# Remove it with ``w.grad = None``, and the optimizer skips this weight.

w.grad = None
optimizer.step()
torch.testing.assert_close(w.item(), 6.0)

# %%
# A part of a tensor
# ------------------
#
# The optimizer skips whole tensors only. If one row of an embedding has a gradient,
# the other rows have a gradient of 0, and they decay.

table = torch.nn.Embedding(2, 1)
torch.nn.init.constant_(table.weight, 8.0)
optimizer = torch.optim.SGD(table.parameters(), lr=0.5, weight_decay=0.25)
table(torch.tensor([1])).sum().backward()
optimizer.step()
print(table.weight.flatten().tolist())
torch.testing.assert_close(table.weight[0].item(), 7.0)

# %%
# Put the fixed part back after each step. For pruned weights, put back 0.

fixed = torch.tensor([[True], [False]])
start = torch.full((2, 1), 8.0)
optimizer.step()
with torch.no_grad():
    table.weight.copy_(torch.where(fixed, start, table.weight))
torch.testing.assert_close(table.weight[0].item(), 8.0)

# %%
# The popular fix that does not work
# ----------------------------------
#
# A hook that multiplies the gradient by 0. The weight decays as in the first program.
# ``zero_grad(set_to_none=False)`` leaves zeros, and the weight decays again.

w = torch.nn.Parameter(torch.tensor(8.0))
w.register_hook(lambda gradient: gradient * 0)
optimizer = torch.optim.SGD([w], lr=0.5, weight_decay=0.25)
(3 * w).backward()
optimizer.step()
torch.testing.assert_close((w.grad.item(), w.item()), (0.0, 7.0))
optimizer.zero_grad(set_to_none=False)
optimizer.step()
torch.testing.assert_close(w.item(), 7.0 - 0.5 * 0.25 * 7.0)

# %%
# Up to PyTorch 1.13, ``zero_grad()`` without an argument leaves zeros too. From 2.0
# on it leaves ``None``. So a weight that the loss no longer reaches stays where it is;
# in older releases it decays.

optimizer.zero_grad()
before = w.item()
optimizer.step()
assert w.grad is None
torch.testing.assert_close(w.item(), before)

# %%
# Find the line in your own code
# ------------------------------
#
# Call this in place of ``optimizer.step()``. For each parameter that moved with a
# gradient of 0, it lists the shape, the weight decay and the momentum.


def moved_anyway(optimizer):
    groups = optimizer.param_groups
    owned = [(p, p.detach().clone(), g) for g in groups for p in g["params"]]
    optimizer.step()
    return [
        (tuple(p.shape), group.get("weight_decay"), group.get("momentum"))
        for p, old, group in owned
        if not torch.equal(p, old) and not p.grad.any()
    ]


# %%
# In this loss the bias is added and subtracted again, so its gradient is 0. It moves
# by weight decay.

model = torch.nn.Linear(2, 1)
torch.nn.init.ones_(model.bias)
optimizer = torch.optim.SGD(model.parameters(), lr=0.5, weight_decay=0.25)
(model(torch.ones(1, 2)) - model.bias).sum().backward()
torch.testing.assert_close(model.bias.grad, torch.zeros(1))
found = moved_anyway(optimizer)
print(found)
assert found == [((1,), 0.25, 0)]
