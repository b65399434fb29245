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
# "Created explicitly by the user" means a leaf. ``y`` is a result, and its ``grad_fn``
# leads into the graph. A *deep* copy would need a copy of that graph, and PyTorch does
# not copy graphs. A leaf has no ``grad_fn``. It is copied together with its gradient:

x.sum().backward()
twin = copy.deepcopy(x)
assert twin is not x and twin.grad_fn is None and y.grad_fn is not None
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
# Keep the numbers and not the graph: in ``forward`` store ``self.layer(x).detach()`` on
# ``self``. If you cannot change the model, detach before the copy:

model.last = model.last.detach()
twin = copy.deepcopy(model)
torch.testing.assert_close(twin.layer.weight, model.layer.weight)
assert twin.layer.weight is not model.layer.weight

# %%
# To copy one result, use ``clone``. Here are two ways:

first, second = y.clone(), y.detach().clone()
# Predict first: do they require a gradient? Two words, each True or False
print(first.requires_grad, second.requires_grad)

# %%
# ``clone`` alone keeps the way back to ``x``. After ``detach`` there is none.

assert first.requires_grad and not second.requires_grad

# %%
# To store the best weights, you need no copy of the model. The ``state_dict`` holds
# detached parameters, and not ``last``:

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
# The old ``weight_norm`` and ``spectral_norm`` of ``nn.utils``, and pruning, compute the
# attribute ``weight`` from other tensors. So ``weight`` is a result, kept on the layer.

with warnings.catch_warnings():
    warnings.simplefilter("ignore", FutureWarning)
    normed = torch.nn.utils.weight_norm(torch.nn.Linear(2, 1))
spectral = torch.nn.utils.spectral_norm(torch.nn.Linear(2, 1))
spectral(torch.ones(1, 2))
pruned = torch.nn.Linear(2, 1)
prune.l1_unstructured(pruned, "weight", amount=1)

# %%
# All three are refused:

for layer in (normed, spectral, pruned):
    try:
        copy.deepcopy(layer)
    except RuntimeError:
        print("weight made by", layer.weight.grad_fn.name())
    else:
        raise AssertionError("the weight is a leaf")

# %%
# The forms in ``nn.utils.parametrizations`` keep no weight. They compute one each time
# you ask. After pruning, ``prune.remove`` makes the weight a parameter again.

new_normed = parametrizations.weight_norm(torch.nn.Linear(2, 1))
assert new_normed.weight is not new_normed.weight
new_spectral = parametrizations.spectral_norm(torch.nn.Linear(2, 1))
new_spectral(torch.ones(1, 2))
prune.remove(pruned, "weight")
for layer in (new_normed, new_spectral, pruned):
    assert copy.deepcopy(layer) is not layer

# %%
# After create_graph=True
# -----------------------
#
# Then the gradient itself is a result. ``deepcopy`` would copy it together with ``w``, so
# it refuses, although ``w`` is a leaf.

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
# ``copy.copy(model)`` gives no error, but it is a *shallow* copy: both models share their
# weights. ``model.state_dict()`` without ``deepcopy`` shares them, too. Go on training,
# and the "best" weights change as well.

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
        for key, value in {**vars(module), **module._buffers}.items():
            if torch.is_tensor(value) and not value.is_leaf:
                found.append(f"{name}.{key}: {value.grad_fn.name()}")
    for name, p in model.named_parameters():
        if p.grad is not None and not p.grad.is_leaf:
            found.append(f"{name}.grad: {p.grad.grad_fn.name()}")
    return found


# %%
# It prints the way from the model to the value, and the operation that made it. Without
# the value, the copy works.

outer = torch.nn.Sequential(model)
outer(torch.ones(1, 1))
print(not_copied(outer))
assert not_copied(outer) == ["0.last: AddmmBackward0"]
model.last = None
assert not_copied(outer) == []
twin = copy.deepcopy(outer)
