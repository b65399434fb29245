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

import weakref

import torch
from torchviz import make_dot

# %%
# One network
# -----------
#
# A linear layer with 100 outputs, and dropout, which sets about half of them
# to 0 while the network trains.

torch.manual_seed(0)
model = torch.nn.Sequential(torch.nn.Linear(2, 100), torch.nn.Dropout(0.5))
x = torch.tensor([[1.0, 2.0]])

# %%
# Five ways, and a run without any
# --------------------------------
#
# ``plain`` is the run without any of them.


def plain():
    return model(x)


def no_grad():
    with torch.no_grad():
        return model(x)


def inference_mode():
    with torch.inference_mode():
        return model(x)


# %%
# "Frozen" means that the weights themselves require no gradient. ``frozen``
# and ``evaluation`` set the model back at the end.


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
# Is the result recorded? How many bytes did the forward run save for backward?
# Did dropout set some results to 0? And can a later layer use the result to
# train? A hook counts the saved bytes.


def bytes_saved(run):
    sizes = []

    def save(tensor):
        sizes.append(tensor.nbytes)
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(save, lambda saved: saved):
        run()
    return sum(sizes)


# %%
# To answer the last question, multiply the result by a weight, and run
# backward.


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
# ``model.eval()`` is often called before a test run. Does it stop the
# recording?

# Predict first: is the result of eval recorded? True or False
print(evaluation().grad_fn is not None)
assert evaluation().grad_fn is not None

# %%
# The result of ``detach`` has no graph. Does its forward run also need less
# memory?

# Predict first: are fewer bytes saved in detach than in plain? True or False
print(bytes_saved(detach) < bytes_saved(plain))
assert bytes_saved(detach) == bytes_saved(plain)

# %%
# The table
# ---------
#
# Now all ways and all questions. "Recorded" is true exactly where the result
# requires a gradient, so one column is enough for both. The last column says
# whether a later layer can train on the result.

print("way            recorded  bytes  dropout  train on")
table = {}
for way in (plain, no_grad, inference_mode, frozen, detach, evaluation):
    y = way()
    recorded, saved = y.grad_fn is not None, bytes_saved(way)
    assert y.requires_grad == recorded
    dropout, trains = bool((y == 0).any()), can_train_on(y)
    table[way.__name__] = recorded, saved, dropout, trains
    cells = f"{recorded!s:9} {saved:5}  {dropout!s:8} {trains}"
    print(f"{way.__name__:15}{cells}")

# %%
# A float32 number has 4 bytes. The plain run saves the 2 numbers of ``x`` for
# the linear layer, and a mask of 100 numbers for dropout. ``eval`` leaves the
# mask out.

assert table["evaluation"][1] == x.nbytes == 2 * 4
assert table["plain"][1] > x.nbytes

# %%
# ``eval`` stops no gradient
# --------------------------
#
# ``model.eval()`` changes what dropout and batch norm compute. The graph is
# still recorded. Here it is: dropout is gone from it, but the way back to the
# weights is there.

model.eval()
y = model(x).sum()
model.train()
make_dot(y, params=dict(model.named_parameters(prefix="model")))

# %%
# ``eval`` and ``no_grad`` go together in a test run: ``eval`` gives the right
# values, and with ``no_grad`` nothing is saved.
#
# ``detach`` cuts after the run
# -----------------------------
#
# The forward run before the cut was recorded, so it needed the same memory.
# The mask is freed with the last result that is still recorded. (A
# ``weakref`` tells whether an object is alive, and does not keep it alive.)

saved = []


def watch(tensor):
    saved.append(weakref.ref(tensor))
    return tensor


with torch.autograd.graph.saved_tensors_hooks(watch, lambda tensor: tensor):
    y = model(x)
mask = saved[-1]
assert mask() is not None
y = y.detach()
assert mask() is None

# %%
# In the two modes, and with frozen weights, nothing is saved at any time.

for way in ("no_grad", "inference_mode", "frozen"):
    assert table[way][1] == 0

# %%
# Use ``detach`` where one part of a formula must be a constant, and the rest
# must train.
#
# What goes wrong: inference mode, and then training
# --------------------------------------------------
#
# ``inference_mode`` goes one step further than ``no_grad``. It marks its
# results as inference tensors, and these cannot be saved for backward.

y = inference_mode()
assert y.is_inference()
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
# The results of ``no_grad`` have no such limit. If you are not sure, take
# ``no_grad``. If you must train on an inference result, ``clone`` it outside
# of the mode.

(weight * y.clone()).sum().backward()
torch.testing.assert_close(weight.grad, y[0])

# %%
# Frozen weights let the gradient through
# ---------------------------------------
#
# A frozen network is recorded if its *input* requires a gradient. You need
# that when an earlier network trains through it. Under ``no_grad`` there is no
# graph, and the earlier network gets nothing.

frozen_layer = torch.nn.Linear(2, 1).requires_grad_(False)
earlier = torch.tensor([[1.0, 2.0]], requires_grad=True)
frozen_layer(earlier).sum().backward()
torch.testing.assert_close(earlier.grad, frozen_layer.weight)
assert frozen_layer.weight.grad is None
with torch.no_grad():
    assert frozen_layer(earlier).grad_fn is None

# %%
# What you can do now
# -------------------
#
# - For a test run, take ``eval()`` together with ``no_grad`` or
#   ``inference_mode``.
# - For a constant in a formula that trains, take ``detach``.
# - For a part that must not learn, but must pass gradients on, take
#   ``requires_grad_(False)``.
#
# Exercises
# ---------
#
# 1. A tensor is *made* under ``no_grad``, with ``requires_grad=True``.

with torch.no_grad():
    leaf = torch.zeros(2, requires_grad=True)
# Predict first: does leaf require a gradient? True or False
print(leaf.requires_grad)
assert leaf.requires_grad

# %%
# The mode stops the recording of operations. To make a leaf is no operation
# that would be recorded.
#
# 2. A weight *times* an inference result was refused. Now the result is
#    *added* to the weight. Think of what backward needs for a sum.

weight = torch.tensor([1.0, 2.0], requires_grad=True)
with torch.inference_mode():
    constant = torch.tensor([5.0, 7.0])
assert constant.is_inference()
(weight + constant).sum().backward()
# Predict first: what is weight.grad after the sum?
print(weight.grad)
torch.testing.assert_close(weight.grad, torch.ones(2))

# %%
# A sum saves nothing for backward, so nothing is refused.
