# /// script
# requires-python = ">=3.10"
# dependencies = ["torch"]
# ///
"""
Only tensors created by the user support deepcopy
=================================================

You will be able to find the tensor that keeps ``copy.deepcopy`` from copying your model, and to copy what you need.

How it shows:

- "Only Tensors created explicitly by the user (graph leaves) support the deepcopy protocol at the moment."
- ``copy.deepcopy(model)`` works before training and fails after the first forward pass, when the best model (early stopping), a moving average (EMA) or a target network in reinforcement learning is to be stored.
- A model that keeps its hidden state, an attention map or features on ``self`` cannot be duplicated or cloned.
- A model with ``weight_norm``, ``spectral_norm`` or pruned layers fails, as a GAN or a vocoder.
- After ``backward(create_graph=True)``, as in meta-learning, the parameters themselves cannot be copied.
- ``deepcopy`` of a list, a dict or a replay buffer of results of the model fails.

Know first: ``leaf_or_not``, ``detach_is_a_constant``.
"""

import copy
import warnings

import torch
from torch.nn.utils import parametrizations, prune

# %%
# The shortest program that shows it
# ----------------------------------

x = torch.tensor([1.0, 2.0], requires_grad=True)
copy.deepcopy(x)
y = 2 * x
try:
    copy.deepcopy(y)
except RuntimeError as error:
    print(str(error).partition("  If")[0])
else:
    raise AssertionError("a result was deep-copied")

# %%
# Why
# ---
#
# "Created explicitly by the user" means a leaf. ``y`` is a result, and its ``grad_fn`` leads
# into the graph. A *deep* copy would need a copy of that graph, and PyTorch copies no
# graphs. A leaf has no ``grad_fn``. Its gradient is copied with it.

x.sum().backward()
twin = copy.deepcopy(x)
assert twin is not x and twin.is_leaf and y.grad_fn is not None
torch.testing.assert_close(twin.grad, x.grad)

# %%
# A model is refused as soon as it holds one such result. This one keeps its last output:


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(1, 1)
        self.last = None

    def forward(self, x):
        self.last = self.layer(x)
        return self.last


# %%
# Before the first forward there is nothing to refuse.

model = Model()
copy.deepcopy(model)
model(torch.ones(1, 1))
try:
    copy.deepcopy(model)
except RuntimeError:
    print("refused after the first forward")
else:
    raise AssertionError("the model holds no result")

# %%
# The fix
# -------
#
# Keep the numbers and not the graph: in ``forward`` write ``self.last = out.detach()``. For a
# model that you cannot change, do it before the copy:

model.last = model.last.detach()
twin = copy.deepcopy(model)
torch.testing.assert_close(twin.layer.weight, model.layer.weight)
assert twin.layer.weight is not model.layer.weight

# %%
# If you need the gradient through the value, return it from ``forward``; do not
# store it. A result is copied with ``clone``: with the graph, or without it.

kept, cut = y.clone(), y.detach().clone()
# Predict first: do they require a gradient? Two answers: True or False
print(kept.requires_grad, cut.requires_grad)
assert kept.requires_grad and not cut.requires_grad

# %%
# To store the best weights, you need no copy of the model. The ``state_dict`` holds
# detached parameters, and no ``last``:

model(torch.ones(1, 1))
best = copy.deepcopy(model.state_dict())
assert list(best) == ["layer.weight", "layer.bias"]
with torch.no_grad():
    model.layer.weight.add_(1)
model.load_state_dict(best)
torch.testing.assert_close(model.layer.weight.detach(), best["layer.weight"])

# %%
# With weight_norm, spectral_norm or pruning
# ------------------------------------------
#
# The old ``weight_norm`` of ``nn.utils`` computes the attribute ``weight`` from two other
# parameters. So ``weight`` is a result, kept on the layer, before any forward.

with warnings.catch_warnings():
    warnings.simplefilter("ignore", FutureWarning)
    old = torch.nn.utils.weight_norm(torch.nn.Linear(1, 1))
try:
    copy.deepcopy(old)
except RuntimeError:
    print("weight made by", old.weight.grad_fn.name())
else:
    raise AssertionError("the weight is a leaf")

# %%
# The form in ``nn.utils.parametrizations`` keeps no weight. It computes one each time
# you ask.

new = parametrizations.weight_norm(torch.nn.Linear(1, 1))
assert new.weight is not new.weight
twin = copy.deepcopy(new)
torch.testing.assert_close(twin.weight, new.weight)

# %%
# It is the same with ``spectral_norm``, here after a forward pass:

old = torch.nn.utils.spectral_norm(torch.nn.Linear(2, 2))
new = parametrizations.spectral_norm(torch.nn.Linear(2, 2))
old(torch.ones(1, 2)), new(torch.ones(1, 2))
assert not old.weight.is_leaf
twin = copy.deepcopy(new)

# %%
# A pruned layer keeps a result as well. ``prune.remove`` makes it a parameter again.

pruned = torch.nn.Linear(2, 1)
prune.l1_unstructured(pruned, "weight", amount=1)
assert not pruned.weight.is_leaf
prune.remove(pruned, "weight")
assert pruned.weight.is_leaf
twin = copy.deepcopy(pruned)

# %%
# After create_graph=True
# -----------------------
#
# Then the gradient itself is a result, and ``deepcopy`` copies gradients. It is
# refused, although ``w`` is a leaf.

w = torch.tensor(3.0, requires_grad=True)
with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    (w**2).backward(create_graph=True)
try:
    copy.deepcopy(w)
except RuntimeError:
    print("w is a leaf:", w.is_leaf, "- its gradient:", w.grad.is_leaf)
else:
    raise AssertionError("the gradient has no graph")

# %%
# Clear the gradient, or use ``torch.autograd.grad``, which stores nothing on ``w``:

w.grad = None
(slope,) = torch.autograd.grad(w**2, w, create_graph=True)
torch.testing.assert_close(copy.deepcopy(w), w)
assert slope.requires_grad

# %%
# The popular fix that does not work
# ----------------------------------
#
# ``no_grad`` around the copy does not help: ``y`` keeps its ``grad_fn``.

with torch.no_grad():
    try:
        copy.deepcopy(y)
    except RuntimeError:
        print("refused under no_grad")
    else:
        raise AssertionError("no_grad made a leaf")

# %%
# ``copy.copy(model)`` gives no error, but it is a *shallow* copy: both models have the same
# weights. So has ``model.state_dict()`` alone. Train one, and the "best" weights
# change with it.

shallow = copy.copy(model)
stored = model.state_dict()
before = model.layer.weight.item()
with torch.no_grad():
    model.layer.weight.add_(1)
assert shallow.layer.weight is model.layer.weight
torch.testing.assert_close(shallow.layer.weight.item(), before + 1)
torch.testing.assert_close(stored["layer.weight"].item(), before + 1)

# %%
# Find the line in your own code
# ------------------------------
#
# List the results that the modules keep, and the gradients that have a graph. Lists
# and dicts on a module have to be searched in the same way.


def not_copied(model):
    found = []
    for name, module in model.named_modules():
        for key, value in vars(module).items():
            if torch.is_tensor(value) and not value.is_leaf:
                found.append(f"{name}.{key}: {value.grad_fn.name()}")
    for name, p in model.named_parameters():
        if p.grad is not None and not p.grad.is_leaf:
            found.append(f"{name}.grad: {p.grad.grad_fn.name()}")
    return found


# %%
# The name is the way from the model to the value, and after it stands the operation that
# made it. Without the value, the copy works.

outer = torch.nn.Sequential(model)
outer(torch.ones(1, 1))
print(not_copied(outer))
assert not_copied(outer) == ["0.last: AddmmBackward0"]
model.last = None
assert not_copied(outer) == []
twin = copy.deepcopy(outer)
