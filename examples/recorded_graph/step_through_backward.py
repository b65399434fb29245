# /// script
# requires-python = ">=3.10"
# dependencies = ["torch", "torchviz", "setuptools"]
# ///
# Pictures show in a notebook or in an editor's cells, where Graphviz's `dot` is installed; all else runs without.
"""
Step through a backward pass
============================

You will be able to follow backward node by node, predict each number on the way, and record the same steps in your own code.

When a gradient is wrong, it became wrong at one node. Someone who can follow
the numbers from the loss back to the leaf finds that node.

Know first: ``why_it_adds``, ``read_the_picture``.
"""

from copy import deepcopy

import torch
from torchviz import make_dot

# %%
# A small graph
# -------------
#
# The loss is :math:`(w\,x + w)^2` with :math:`w = 2` and :math:`x = 3`. The
# weight is used twice.

w = torch.tensor(2.0, requires_grad=True)
x = torch.tensor(3.0)
product = w * x
total = product + w
loss = total**2

# %%
# On the site you can play the figure below: it shows the steps of the
# ``loss.backward()`` further down. (The script and the notebook show the
# picture alone.)
#
# - **Move**: press the buttons, or click on a node. Or click on the picture,
#   and use the arrow keys; *Home* and *End* go to the first and last step, and
#   the space bar plays and stops.
# - **Read**: the step's node has a thick frame. On solid edges a gradient
#   arrives, and where several arrive you see their sum. On dashed edges the
#   node sends something on.
# - **Watch the leaf**: the line below the step is ``w.grad``. It is ``None``
#   until the last step, which adds to it.
# - **Predict**: with *Predict* switched on, you are asked for each number
#   before you see it, and told where yours differs.

make_dot(loss, params={"w": w, "loss": loss})

# %%
# The rules that you need:
#
# - The square sends back :math:`2 \cdot \text{total}`, times what arrives.
# - The addition sends what arrives to both inputs, unchanged.
# - The multiplication sends to each factor what arrives, times the other one.
#
# Record the steps yourself
# -------------------------
#
# The player needs no secret: fifteen lines record the same steps. First,
# collect the nodes by walking from the loss along ``next_functions``. The list
# grows while the loop goes through it.

nodes = [loss.grad_fn]
for node in nodes:
    for following, _ in node.next_functions:
        if following is not None and following not in nodes:
            nodes.append(following)
print([type(node).__name__ for node in nodes])

# %%
# Then put a hook on each. PyTorch calls it when the node has run, with what
# was sent and what had arrived. Note copies of both: the very tensor that
# arrives at a leaf may become its ``.grad``, and the next call adds to it.

steps = []


def record(node):
    name = type(node).__name__

    def note(sent, arrived):
        steps.append((name, deepcopy(sent), deepcopy(arrived)))

    return node.register_hook(note)


handles = [record(node) for node in nodes]
loss.backward()
for handle in handles:
    handle.remove()

# %%
# The order
# ---------
#
# The four nodes that you saw above have run. The addition sends to two of
# them.

# Predict first: which node ran last?
print(steps[-1][0])
assert steps[0][0] == "PowBackward0"
assert steps[-1][0] == "AccumulateGrad"

# %%
# The leaf's node must wait: it can add to ``.grad`` only when all that is sent
# to the leaf has arrived. The names in the order of the run:

print([name for name, sent, arrived in steps])
assert len(steps) == 4

# %%
# The numbers
# -----------
#
# The first node gets 1: the slope of the loss with respect to itself.

# Predict first: which number does the square send? total is 8
name, sent, arrived = steps[0]
print(sent[0].item())
torch.testing.assert_close(sent[0].item(), 16.0)
assert arrived[0].item() == 1

# %%
# The addition gets 16.

# Predict first: which two numbers does the addition send?
name, sent, arrived = steps[1]
print([grad.item() for grad in sent])
torch.testing.assert_close([grad.item() for grad in sent], [16.0, 16.0])

# %%
# The multiplication gets one of them. It has two inputs, and ``x`` needs no
# gradient, so nothing is sent there.

# Predict first: which number does the multiplication send to w?
name, sent, arrived = steps[2]
print(sent[0].item())
torch.testing.assert_close(sent[0].item(), 48.0)
assert sent[1] is None

# %%
# Two ways meet at the leaf: 16 straight from the addition, and 48 through the
# multiplication. The engine adds them before it calls the leaf's node.

# Predict first: which number arrives at AccumulateGrad?
name, sent, arrived = steps[3]
print(arrived[0].item())
torch.testing.assert_close(arrived[0].item(), 64.0)
torch.testing.assert_close(w.grad.item(), 64.0)

# %%
# By hand: the loss is :math:`(4\,w)^2 = 16\,w^2`, and its slope at 2 is
# :math:`32 \cdot 2`.
#
# What goes wrong: hooks that stay
# --------------------------------
#
# A hook stays until you remove it, and a leaf's node serves every graph that
# uses the leaf. Without the ``handle.remove()`` above, your recorder would go
# on noting steps of other graphs:

assert type(nodes[-1]).__name__ == "AccumulateGrad"
handle = record(nodes[-1])
count = len(steps)
(w * 5).backward()
print(len(steps) - count, "step from another graph")
assert len(steps) == count + 1
handle.remove()

# %%
# With all hooks removed nothing is noted any more. And the numbers that you
# noted first are as they were, although ``w.grad`` has grown.

(w * 5).backward()
assert len(steps) == count + 1
name, sent, arrived = steps[3]
print(arrived[0].item(), w.grad.item())
torch.testing.assert_close(arrived[0].item(), 64.0)
torch.testing.assert_close(w.grad.item(), 74.0)

# %%
# What you can do now
# -------------------
#
# - You can name what arrives at a node, what it sends, and in which order.
# - You can record it with fifteen lines of your own.
# - You remove hooks when you are done.
#
# Exercises
# ---------
#
# The loss is :math:`a\,b - a` at :math:`a = 3` and :math:`b = 4`.
#
# 1. Which number does the multiplication send to :math:`b`?

a = torch.tensor(3.0, requires_grad=True)
b = torch.tensor(4.0, requires_grad=True)
difference = a * b - a
multiplication = difference.grad_fn.next_functions[0][0]
sent = []
multiplication.register_hook(lambda grads, _: sent.extend(grads))
difference.backward()
# Predict first: which number is sent to b?
print(sent[1].item())
torch.testing.assert_close(sent[1].item(), 3.0)

# %%
# 2. Which number is in ``a.grad``, with both ways added?

# Predict first: which number is a.grad?
print(a.grad.item())
torch.testing.assert_close(a.grad.item(), 3.0)

# %%
# 4 through the multiplication, and -1 from the subtraction.
