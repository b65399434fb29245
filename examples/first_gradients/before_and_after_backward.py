# /// script
# requires-python = ">=3.10"
# dependencies = ["torch", "torchviz", "setuptools"]
# ///
# Pictures show in a notebook or in an editor's cells, where Graphviz's `dot` is installed; all else runs without.
"""
Know what exists before and after backward
==========================================

You will be able to say what PyTorch has after the forward run, what only ``backward()`` adds, and how often each runs.

Many questions come from a wrong picture of these two steps: "Why is
``.grad`` still ``None``?" and "Must I run forward once more before
backward?" are two of them. Here you count both steps and see.

Know first: ``first_gradient``.
"""

import torch
from torchviz import make_dot

# %%
# After the forward run
# ---------------------
#
# A function with a counter in it tells you how often it really runs.

forward_runs = 0


def square_sum(x):
    global forward_runs
    forward_runs += 1
    return torch.dot(x, x)


x = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
y = square_sum(x)
print(y)

# %%
# The value is there: :math:`1 + 4 + 9`. The recorded graph is there too, in
# ``y.grad_fn``. What about the gradient?

# Predict first: what is x.grad after the forward run?
print(x.grad)
assert x.grad is None

# %%
# The forward run does not compute a gradient, for two reasons. It cannot know
# which result you will ask about: from one ``x`` you can make many results,
# and each has its own slopes. And if you only want the values, the work would
# be for nothing. So PyTorch waits until you ask.
#
# What the forward run keeps
# --------------------------
#
# The slope of :math:`\mathbf{x}\cdot\mathbf{x}` is :math:`2\,\mathbf{x}`: to
# compute it, backward needs the value of ``x``. The forward run therefore
# *saves* tensors in the node.
#
# ``torch.autograd.graph.saved_tensors_hooks`` calls one function of yours each
# time that a tensor is saved, and another each time that a saved tensor is
# read. With them you can count.

saved, fetched = [], []


def save(tensor):
    saved.append(tensor.shape)
    return tensor


def fetch(tensor):
    fetched.append(tensor.shape)
    return tensor


# %%
# The hooks work for what is computed inside ``with``.

with torch.autograd.graph.saved_tensors_hooks(save, fetch):
    z = square_sum(x)
# Predict first: how many tensors does one dot product save?
print(len(saved))
assert len(saved) == 2

# %%
# Both operands: each one is the slope with respect to the other. Here they
# are the same tensor, and it is counted twice. In the picture, a line without
# an arrow joins a saved tensor and the node that saved it.

make_dot(z, params={"x": x, "z": z}, show_saved=True)

# %%
# Backward, counted
# -----------------
#
# Now count the other step. A hook on the node (``grad_fn``) is called each
# time that backward passes through it.

backward_runs = 0


def count(grad_inputs, grad_outputs):
    global backward_runs
    backward_runs += 1


z.grad_fn.register_hook(count)
forward_before = forward_runs
fetched.clear()  # drawing the saved tensors read them too
z.backward()
print("the node was passed", backward_runs, "time")
print("saved tensors read:", len(fetched))
assert (backward_runs, len(fetched)) == (1, 2)

# %%
# And how many more times did the function run while backward worked?

# Predict first: how many forward runs did backward() need?
print(forward_runs - forward_before)
assert forward_runs == forward_before

# %%
# None. Backward reads the recorded nodes and the tensors saved in them; your
# Python function is not called again.
#
# You may read that by hand you need both passes, and with autograd only
# backward. That is half true. You *write* only the forward pass, but both of
# them *run*, once each: without the forward run there is nothing to read.
#
# After backward
# --------------
#
# ``x.grad`` exists now. By hand: :math:`2\,\mathbf{x}`.

# Predict first: the three numbers in x.grad
print(x.grad)
torch.testing.assert_close(x.grad, torch.tensor([2.0, 4.0, 6.0]))

# %%
# Two things did not change: the value of ``z``, and the graph. ``z.grad_fn``
# is still there. What backward took away are the saved tensors: it frees them
# as soon as they are used, to save memory.

torch.testing.assert_close(z.item(), 14.0)
assert z.grad_fn is not None
try:
    z.backward()
except RuntimeError as error:
    print(error)
else:
    raise AssertionError("the saved tensors must be gone")

# %%
# What goes wrong with the wrong picture
# --------------------------------------
#
# Change an input after the forward run. Under ``torch.no_grad`` nothing is
# recorded, so ``w -= 1.0`` changes the number stored in ``w`` itself.

w = torch.tensor(3.0, requires_grad=True)
loss = w * w
with torch.no_grad():
    w -= 1.0
# Predict first: w is 2 now; which number is loss?
print(loss.item())
torch.testing.assert_close(loss.item(), 9.0)

# %%
# Still the square of 3. And backward? It needs the saved 3, which is gone.
# PyTorch notices that, and refuses:

try:
    loss.backward()
except RuntimeError as error:
    print(error)
else:
    raise AssertionError("the saved value was overwritten")

# %%
# The remedy is a new forward run for the new value, then one backward. Each
# step of training does the same.

(w * w).backward()
print(w.grad.item())
torch.testing.assert_close(w.grad.item(), 4.0)

# %%
# What you can do now
# -------------------
#
# - You can say what the forward run leaves: the value, the graph, and the
#   saved tensors.
# - You can say what ``backward()`` does: it reads these, fills ``.grad`` and
#   frees the saved tensors. It does not run forward again.
# - You know why ``.grad`` is ``None`` until you ask.
#
# Exercises
# ---------
#
# 1. The sum :math:`x_0 + x_1 + x_2` has the slopes 1, 1, 1, whatever the
#    values are. How many tensors does it need to save?

saved.clear()
with torch.autograd.graph.saved_tensors_hooks(save, fetch):
    total = x.sum()
# Predict first: how many tensors does a sum save?
print(len(saved))
assert len(saved) == 0

# %%
# 2. Read the loop. How often does the function run in four steps?

forward_runs = 0
for _ in range(4):
    square_sum(x).backward()
# Predict first: how many forward runs are there in four steps?
print(forward_runs)
assert forward_runs == 4
