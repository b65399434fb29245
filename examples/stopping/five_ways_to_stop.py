# /// script
# requires-python = ">=3.10"
# dependencies = ["torch", "torchviz", "setuptools"]
# ///
# Pictures show in a notebook or in an editor's cells, where Graphviz's `dot` is installed; all else runs without.
"""
Choose among five ways to stop
==============================

You will be able to choose among ``no_grad``, ``inference_mode``, frozen weights, ``detach`` and ``eval`` from a measured table.

Five things in PyTorch are said to "switch off gradients". They stop different
things, and one of them stops nothing at all. Measure each of them on the same
small network.

Know first: ``before_and_after_backward``, ``detach_is_a_constant``.
"""

import torch
from torchviz import make_dot

# %%
# One network
# -----------
#
# A linear layer with 100 outputs, and dropout, which sets about half of them to
# 0 while the network trains.

torch.manual_seed(0)
model = torch.nn.Sequential(torch.nn.Linear(2, 100), torch.nn.Dropout(0.5))
x = torch.tensor([[1.0, 2.0]])

# %%
# Five ways, and the plain one
# ----------------------------


def plain():
    return model(x)


def no_grad():
    with torch.no_grad():
        return model(x)


def inference_mode():
    with torch.inference_mode():
        return model(x)


# %%
# "Frozen" means that the weights themselves require no gradient.


def frozen():
    model.requires_grad_(False)
    y = model(x)
    model.requires_grad_(True)
    return y


def detach():
    return model(x).detach()


def evaluation():
    model.eval()
    y = model(x)
    model.train()
    return y


# %%
# Four questions
# --------------
#
# Is the result recorded? How many numbers did the forward run save for
# backward? Did dropout set some results to 0? And can a later layer train on
# the result?


def count_saved(run):
    sizes = []

    def save(tensor):
        sizes.append(tensor.numel())
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(save, lambda saved: saved):
        run()
    return sum(sizes)


# %%
# The last question is tried out: a weight is multiplied with the result.


def can_train_on(y):
    weight = torch.ones(100, requires_grad=True)
    try:
        (weight * y).sum().backward()
    except RuntimeError:
        return False
    return weight.grad is not None


# %%
# Two guesses first
# -----------------
#
# ``model.eval()`` is often written before a test run. Does it stop the
# recording?

# Predict first: is the result of eval recorded? True or False
print(evaluation().grad_fn is not None)
assert evaluation().grad_fn is not None

# %%
# And ``detach``: its result has no graph. Does it save memory?

# Predict first: does detach save fewer numbers than plain? True or False
print(count_saved(detach) < count_saved(plain))
assert count_saved(detach) == count_saved(plain)

# %%
# The table
# ---------
#
# Now all ways and all questions.

print("way            recorded  saved  dropout  train on")
table = {}
for way in (plain, no_grad, inference_mode, frozen, detach, evaluation):
    y = way()
    recorded, saved = y.grad_fn is not None, count_saved(way)
    dropout, trains = bool((y == 0).any()), can_train_on(y)
    table[way.__name__] = recorded, saved, dropout, trains
    cells = f"{recorded!s:9} {saved:5}  {dropout!s:8} {trains}"
    print(f"{way.__name__:15}{cells}")

# %%
# In words, row by row:
#
# ``eval`` stops nothing
# ----------------------
#
# ``model.eval()`` changes what dropout and batch norm compute. The graph is
# recorded as before. Here it is: dropout is gone from it, and the way back to
# the weights is not.

model.eval()
y = model(x).sum()
model.train()
make_dot(y, params=dict(model.named_parameters(prefix="model")))

# %%
# The two can be combined, and for a test run you want both: ``eval`` for the
# right values, and ``no_grad`` to save nothing.
#
# ``detach`` comes too late to save memory
# ----------------------------------------
#
# It cuts a result off. The forward run before it was recorded all the same.
# Only the modes, and frozen weights, save nothing.

for way in ("no_grad", "inference_mode", "frozen"):
    assert table[way][1] == 0

# %%
# Use ``detach`` where one part of a formula is to be a constant, and the rest is
# to train.
#
# What goes wrong: inference mode, and then training
# --------------------------------------------------
#
# ``inference_mode`` saves a little more work than ``no_grad``. In return, its
# results may never be saved for backward:

y = inference_mode()
weight = torch.ones(100, requires_grad=True)
try:
    weight * y
except RuntimeError as error:
    print(error)
else:
    raise AssertionError("an inference tensor was saved")
assert not table["inference_mode"][3]
assert table["no_grad"][3]

# %%
# The results of ``no_grad`` have no such limit. If in doubt, take ``no_grad``.
# To use an inference result after all, ``clone`` it outside of the mode.

(weight * y.clone()).sum().backward()
torch.testing.assert_close(weight.grad, y[0])

# %%
# Frozen weights let the gradient through
# ---------------------------------------
#
# A frozen network is recorded as soon as its *input* requires a gradient. That
# is what you want if an earlier network trains through it.

frozen_layer = torch.nn.Linear(2, 1).requires_grad_(False)
earlier = torch.tensor([[1.0, 2.0]], requires_grad=True)
frozen_layer(earlier).sum().backward()
torch.testing.assert_close(earlier.grad, frozen_layer.weight)
assert frozen_layer.weight.grad is None

# %%
# With ``no_grad`` in its place, ``earlier`` would get nothing.
#
# What you can do now
# -------------------
#
# - A test run: ``eval()`` together with ``no_grad`` or ``inference_mode``.
# - A constant inside of a formula that trains: ``detach``.
# - A part that shall not learn, but pass gradients on: ``requires_grad_(False)``.
#
# Exercises
# ---------
#
# 1. A tensor is *made* inside of ``no_grad``, with ``requires_grad=True``.

with torch.no_grad():
    leaf = torch.zeros(2, requires_grad=True)
# Predict first: does it require a gradient? True or False
print(leaf.requires_grad)
assert leaf.requires_grad

# %%
# The mode stops the recording of operations. Making a leaf is not one.
#
# 2. The loss is ``(model(x) - target.detach()) ** 2``, with a network for
#    ``target`` too. Which of the two networks gets gradients?

online, target = torch.nn.Linear(2, 1), torch.nn.Linear(2, 1)
((online(x) - target(x).detach()) ** 2).sum().backward()
# Predict first: online or target
print("online" if online.weight.grad is not None else "target")
assert online.weight.grad is not None
assert target.weight.grad is None
