# /// script
# requires-python = ">=3.10"
# dependencies = ["torch"]
# ///
"""
Element 0 of tensors does not require grad
==========================================

You will be able to find the line that cut the graph of your loss, and to repair that line and not the loss.

How it shows:

- ``loss.backward()`` stops: the tensor does not require grad and does not have a ``grad_fn``.
- It appears after layers were frozen for fine-tuning or transfer learning, in a loop that runs under ``torch.no_grad()``, or when the loss counts right predictions with ``argmax``.
- A loss was rebuilt with ``torch.tensor(loss.item())`` or in NumPy, to add up several losses or rewards, and training no longer starts.
- After ``loss.requires_grad = True`` or ``loss.requires_grad_()`` the error is gone, but the model does not learn: loss and accuracy stay the same, all weights keep their values.
- ``y.requires_grad = False`` on a computed tensor: you can only change requires_grad flags of leaf variables.
- ``torch.autograd.grad`` says that one of the differentiated tensors does not require grad.

Know first: ``leaf_or_not``, ``five_ways_to_stop``.
"""

import torch

# %%
# The shortest program that shows it
# ----------------------------------

layer = torch.nn.Linear(1, 1)
with torch.no_grad():
    loss = layer(torch.ones(1, 1)).sum()
try:
    loss.backward()
except RuntimeError as error:
    print(error)
else:
    raise AssertionError("there was no graph to walk")

# %%
# Why
# ---
#
# "Element 0" is the tensor on which you call ``backward``. It has no ``grad_fn``: the
# operation that made it was not recorded, so there is no way back from the loss to the
# weights.

assert loss.grad_fn is None and not loss.requires_grad
assert layer.weight.requires_grad

# %%
# Here recording was off. Other causes are a tensor made anew from plain numbers, a
# ``detach``, and an operation without a derivative:

score = layer(torch.ones(1, 3, 1)).squeeze(2)
cuts = {
    "torch.tensor": torch.tensor(score.sum().item()),
    "detach": score.detach().sum(),
    "argmax": (score.argmax(dim=1) == 0).float().mean(),
    "comparison": (score > 0).float().mean(),
}
for name, result in cuts.items():
    print(name, result.requires_grad)
    assert score.requires_grad and result.grad_fn is None

# %%
# Or nothing that went in requires a gradient, as when all weights are frozen:

frozen = torch.nn.Linear(1, 1).requires_grad_(False)
assert frozen(torch.ones(1, 1)).grad_fn is None

# %%
# The fix
# -------
#
# Repair the line that cut. Move the loss out of ``no_grad``; remove the ``detach``; add
# losses as tensors, and use ``item()`` only for what you print:

losses = [layer(torch.full((1, 1), k)).sum() for k in (1.0, 2.0)]
total = sum(losses)
total.backward()
print(f"{total.grad_fn.name()}, weight.grad: {layer.weight.grad.item():.0f}")
torch.testing.assert_close(layer.weight.grad, torch.tensor([[3.0]]))

# %%
# In a frozen model, leave the last layer trainable. One part that requires a
# gradient is enough for the loss.

head = torch.nn.Linear(1, 1)
torch.nn.Sequential(frozen, head)(torch.ones(1, 1)).sum().backward()
assert head.weight.grad is not None and frozen.weight.grad is None

# %%
# The count of right predictions has no slope. Train with a loss that has one, as
# the cross entropy, and count for the report only.

classes = torch.nn.Linear(1, 3)
scores = classes(torch.ones(2, 1))
target = torch.tensor([0, 2])
torch.nn.functional.cross_entropy(scores, target).backward()
assert classes.weight.grad is not None
right = (scores.argmax(dim=1) == target).sum()
assert right.grad_fn is None

# %%
# In torch.autograd.grad
# ----------------------
#
# Here the fault can also lie at the other end: the *input* by which you differentiate
# does not require grad. The message is a different one.

data = torch.ones(1, 1)
try:
    torch.autograd.grad(layer(data).sum(), data)
except RuntimeError as error:
    print(error)
else:
    raise AssertionError("the input needed no gradient")
data.requires_grad_()
(slope,) = torch.autograd.grad(layer(data).sum(), data)
torch.testing.assert_close(slope, layer.weight)

# %%
# Changing the flag of a computed tensor
# --------------------------------------
#
# The flag of a result is not yours to set: it follows from what the result was
# computed from. ``False`` is refused in both spellings.

y = layer(torch.ones(1, 1)) * 2
refused = []
try:
    y.requires_grad = False
except RuntimeError as error:
    print(error)
    refused.append("attribute")
try:
    y.requires_grad_(False)
except RuntimeError:
    refused.append("method")
assert refused == ["attribute", "method"]

# %%
# ``True`` it has already. As an attribute it is refused all the same; the method takes it
# and changes nothing.

try:
    y.requires_grad = True
except RuntimeError as error:
    print(error)
else:
    raise AssertionError("the attribute of a result was set")
before = y.grad_fn
assert y.requires_grad_() is y and y.grad_fn is before and not y.is_leaf

# %%
# To go on without the graph, make a new tensor with ``detach``:

constant = y.detach()
assert not constant.requires_grad and y.requires_grad

# %%
# The popular fix that does not work
# ----------------------------------
#
# ``loss.requires_grad = True`` makes the error go away. Here one step of training is
# made in this way:

layer = torch.nn.Linear(1, 1)
optimizer = torch.optim.SGD(layer.parameters(), lr=0.1)
old = layer.weight.detach().clone()
loss = layer(torch.ones(1, 1)).detach().sum()
loss.requires_grad = True
loss.backward()
optimizer.step()
# Predict first: what is in layer.weight.grad, a number or None?
print(layer.weight.grad)

# %%
# The loss is now a leaf of its own. Backward gives it the gradient 1 and ends there. There
# is still no way from the loss to the weights, so the step changes none of them.

torch.testing.assert_close(loss.grad, torch.tensor(1.0))
assert layer.weight.grad is None
torch.testing.assert_close(layer.weight.detach(), old)

# %%
# ``loss.requires_grad_()`` does the same:

loss = layer(torch.ones(1, 1)).detach().sum().requires_grad_()
loss.backward()
assert loss.is_leaf and layer.weight.grad is None

# %%
# Find the line in your own code
# ------------------------------
#
# Here the second of three modules cuts, and the third one is frozen.


class Cut(torch.nn.Module):
    def forward(self, x):
        return torch.relu(x).detach()


model = torch.nn.Sequential(torch.nn.Linear(1, 1), Cut(), frozen)

# %%
# Give each module a hook that notes whether its output requires a gradient. The first
# ``False`` after a ``True`` is the cut. If all say ``False``, ask whether recording is on,
# and which weights are frozen.

found = {}
for name, module in model.named_children():
    module.register_forward_hook(
        lambda m, args, out, name=name: found.update({name: out.requires_grad})
    )
model(torch.ones(1, 1))
print(found)
print("recording:", torch.is_grad_enabled())
print(
    "frozen:", [n for n, p in model.named_parameters() if not p.requires_grad]
)
assert found == {"0": True, "1": False, "2": False}

# %%
# Between two lines of your own, print ``grad_fn``. Behind the cut it is ``None``.

before = model[0](torch.ones(1, 1))
behind = model[1](before)
print(before.grad_fn.name(), behind.grad_fn)
assert before.grad_fn is not None and behind.grad_fn is None
