# /// script
# requires-python = ">=3.10"
# dependencies = ["torch", "torchviz", "setuptools"]
# ///
# Pictures show in a notebook or in an editor's cells, where Graphviz's `dot` is installed; all else runs without.
"""
The graph picture is missing, too big or unclear
================================================

You will be able to get a torchviz picture where ``dot`` is missing, to make it small, and to read its colours.

How it shows:

- In a notebook, on Windows or on a server, Python failed to execute ``dot`` and asks for the Graphviz executables on your ``PATH``.
- ``make_dot`` works, but ``render``, ``view`` or showing the picture raises ``graphviz.ExecutableNotFound``.
- ``pip install graphviz`` and ``pip install torchviz`` both succeeded, and still nothing is drawn.
- The picture of an RNN, LSTM, ConvLSTM, ResNet or other big model has thousands of boxes; nobody can read it, or drawing never ends.
- ``make_dot`` of a deep graph stops with a ``RecursionError``: maximum recursion depth exceeded.
- You do not know what the blue, green, orange and grey boxes mean, or when an orange box appears.

Know first: ``read_the_picture``.
"""

import importlib.util
import os
import re
import sys
import tempfile
from collections import Counter
from pathlib import Path
from unittest import mock

import torch
from torchviz import make_dot

# %%
# The shortest program that shows it
# ----------------------------------
#
# Here ``dot`` is hidden for a moment: ``PATH`` names only an empty folder.

x = torch.tensor(2.0, requires_grad=True)
picture = make_dot(3 * x, params={"x": x})
with (
    tempfile.TemporaryDirectory() as empty,
    mock.patch.dict(os.environ, PATH=empty),
):
    try:
        picture.pipe(format="svg")
    except RuntimeError as error:
        print(f"{type(error).__name__}: {error}")
        assert "failed to execute" in str(error)
    else:
        raise AssertionError("the picture was drawn without dot")

# %%
# Why
# ---
#
# Three things are needed. torchviz walks through the graph. The Python package
# ``graphviz`` writes what torchviz found into a text. The *program* ``dot``, a part of
# Graphviz, draws a picture from the text. Only the program is missing: the text is
# there.

print(picture.source.split()[0])
assert picture.source.startswith("digraph")
assert "MulBackward0" in picture.source

# %%
# The fix
# -------
#
# Install the program with the package manager of your system, or with conda. There it
# is called ``graphviz`` too. Then restart Python or the notebook, so that it sees the
# new ``PATH``. If you may not install programs, save the text, and draw it on another
# computer. Saving needs no ``dot``:

with tempfile.TemporaryDirectory() as folder:
    with mock.patch.dict(os.environ, PATH=folder):
        saved = picture.save("graph.gv", directory=folder)
    assert Path(saved).read_text().split() == picture.source.split()

# %%
# When the picture is too large
# -----------------------------
#
# A graph holds every operation that was run, so a loop appears once for each step.
# Count the arrows for an LSTM cell after 1 and 2 steps.

cell = torch.nn.LSTMCell(2, 2)


def after(steps, batch=1, cut=False):
    h = c = torch.zeros(batch, 2)
    for _ in range(steps):
        if cut:
            h, c = h.detach(), c.detach()
        h, c = cell(torch.ones(batch, 2), (h, c))
    return h.sum()


def arrows(value):
    return make_dot(value).source.count("->")


print(arrows(after(1)), arrows(after(2)))
per_step = arrows(after(2)) - arrows(after(1))

# %%
# Each further step adds as many arrows as the second one.

# Predict first: how many arrows after 10 steps?
print(arrows(after(10)))
assert arrows(after(10)) == arrows(after(1)) + 9 * per_step

# %%
# Draw one step: the others look the same. Or ``detach`` the state for the drawing, and
# only the last step remains.

assert arrows(after(10, cut=True)) == arrows(after(1))

# %%
# Of a network with many blocks, draw one block: start from its output, and give
# it an input that has no graph.

model = torch.nn.Sequential(*[torch.nn.Linear(2, 2) for _ in range(20)])
hidden = model[:-1](torch.ones(1, 2))
whole = arrows(model[-1](hidden).sum())
block = arrows(model[-1](hidden.detach()).sum())
print(whole, "arrows and", block)
assert whole > 15 * block

# %%
# torchviz calls itself for each node. A graph that is about as deep as Python's
# recursion limit stops it.

deep = torch.tensor(1.0, requires_grad=True)
for _ in range(sys.getrecursionlimit()):
    deep = deep + 1
try:
    make_dot(deep)
except RecursionError as error:
    print("RecursionError:", str(error)[:32])
else:
    raise AssertionError("torchviz walked through the whole graph")

# %%
# What the colours mean
# ---------------------
#
# In torchviz, and so in the notebook, colours tell what a box is. (This site draws
# borders instead.) List the colours in the text. A box without a colour of its own is
# an operation. Graphviz fills it with grey.


def colours(value, **options):
    source = make_dot(value, **options).source
    boxes = re.findall(r'\[label=(?:"[^"]*"|\w+)([^\]]*)\]', source)
    return Counter(b.split("=")[1] if "=" in b else "none" for b in boxes)


leaf = torch.tensor([0.0, 1.0], requires_grad=True)
print(dict(colours(leaf.exp())))
assert colours(leaf.exp())["lightblue"] == 1
assert colours(leaf.exp())["darkolivegreen1"] == 1
assert "style=filled" in make_dot(leaf.exp()).source

# %%
# - **Light blue**: a leaf. ``backward`` fills its ``.grad``.
# - **Green**: the tensor that you gave to ``make_dot``.
# - **Dark green**: the base of that tensor, if it is a view of another one.
# - **Grey**: an operation. ``AccumulateGrad``, between a leaf and its first
#   operation, is one too.
#
# Two leaves, a product and a view: there are two light blue boxes.

other = torch.tensor([2.0, 3.0], requires_grad=True)
found = colours((leaf * other).view(2, 1))
assert found["lightblue"] == 2 and found["darkolivegreen3"] == 1
assert found["none"] == 4  # view, product and two times AccumulateGrad

# %%
# **Orange** is a tensor that was saved for backward. You get these boxes with
# ``show_saved=True``: here the result of ``exp``.

assert colours(leaf.exp())["orange"] == 0
assert colours(leaf.exp(), show_saved=True)["orange"] == 1
make_dot(leaf.exp().sum(), params={"leaf": leaf}, show_saved=True)

# %%
# Draw it before you call ``backward``, which frees what is saved.

result = leaf.exp().sum()
result.backward()
try:
    make_dot(result, show_saved=True)
except RuntimeError as error:
    assert "already been freed" in str(error)
else:
    raise AssertionError("the saved tensors are still there")

# %%
# The popular fix that does not work
# ----------------------------------
#
# People install the Python package ``graphviz`` once more. But it was there: it made the
# text. It does not contain the program.

assert type(picture).__module__.startswith("graphviz")
package = Path(importlib.util.find_spec("graphviz").origin).parent
programs = [p for p in package.rglob("dot*") if p.suffix in ("", ".exe")]
print(len(programs), "programs called dot in", package.name)
assert not programs

# %%
# Against a large picture, people try a smaller batch. But the number of arrows depends
# on the operations, and not on the sizes:

print(arrows(after(10)), "arrows and", arrows(after(10, batch=100)))
assert arrows(after(10)) == arrows(after(10, batch=100))

# %%
# Find the line in your own code
# ------------------------------
#
# Before you draw, count the operations, without torchviz. The most frequent one is in
# the loop that makes the picture large.


def operations(value):
    seen, waiting = set(), [value.grad_fn]
    while waiting:
        node = waiting.pop()
        if node is not None and node not in seen:
            seen.add(node)
            waiting.extend(following for following, _ in node.next_functions)
    return Counter(node.name() for node in seen)


[(name, number)] = operations(deep).most_common(1)
print(name)
assert name == "AddBackward0" and number == sys.getrecursionlimit()
