# /// script
# requires-python = ">=3.10"
# dependencies = ["torch", "torchviz", "setuptools"]
# ///
# Pictures show in a notebook or in an editor's cells, where Graphviz's `dot` is installed; all else runs without.
"""
Read the picture of a graph
===========================

You will be able to read a torchviz picture: what each box is, which way the arrows point, and what is saved for backward.

When a gradient is not what you expect, the picture often shows the reason at
once: a missing arrow, an operation you did not know of, an input that is no
leaf.

Know first: ``first_gradient``, ``before_and_after_backward``.
"""

import torch
from torchviz import make_dot

# %%
# Leaf, operation, output
# -----------------------
#
# Take :math:`y = (w\,x + b)^2` with :math:`w = 2`, :math:`b = 1` and
# :math:`x = 3`. You ask for slopes with respect to :math:`w` and :math:`b`.

w = torch.tensor(2.0, requires_grad=True)
b = torch.tensor(1.0, requires_grad=True)
x = torch.tensor(3.0)
y = (w * x + b) ** 2
make_dot(y, params={"w": w, "b": b, "x": x, "y": y})

# %%
# - A **leaf** is a tensor that you made with ``requires_grad=True``. On the
#   site its border is thick and round; torchviz itself, and so the notebook,
#   paints it light blue. ``params`` gives it a name.
# - An **operation** is a plain box. Its name says which rule backward will
#   use: ``MulBackward0`` is the rule of the multiplication.
# - The **output** has a double border (green in torchviz).
# - The second line in a tensor's box is its shape. ``()`` is a single number.
#
# You gave ``x`` a name too. Look for it in the picture.

source = make_dot(y, params={"w": w, "x": x}).source
# Predict first: does the picture have a box for x? yes or no
print("yes" if "x\n" in source else "no")
assert "x\n" not in source
assert "w\n" in source

# %%
# ``x`` needs no gradient, so nothing leads back to it, and it has no box.

print("w requires a gradient:", w.requires_grad)
print("x requires a gradient:", x.requires_grad)
assert not x.requires_grad

# %%
# Which way do the arrows point?
# ------------------------------
#
# The arrows point from the inputs to the output: this is the way of the
# forward run. Backward walks against the arrows. In code, each node knows only
# where to go back to: ``next_functions``.

node = y.grad_fn
while node is not None:
    print(node.name())
    node = node.next_functions[0][0] if node.next_functions else None

# %%
# This list starts at the output and follows the first input of each node, up
# to ``AccumulateGrad``.
#
# AccumulateGrad
# --------------
#
# Between a leaf and the first operation stands ``AccumulateGrad``. It is the
# node that adds what arrives to the leaf's ``.grad``. It knows its leaf:

accumulate = (w * x).grad_fn.next_functions[0][0]
# Predict first: is the variable of this node w itself? True or False
print(accumulate.variable is w)
assert accumulate.variable is w

# %%
# Run backward and check the picture with numbers. The inner value is
# :math:`2 \cdot 3 + 1 = 7`. The square sends back :math:`2 \cdot 7`, and the
# multiplication sends that times :math:`x` to :math:`w`.

y.backward()
# Predict first: which two numbers are w.grad and b.grad?
print(w.grad.item(), b.grad.item())
torch.testing.assert_close(w.grad.item(), 42.0)
torch.testing.assert_close(b.grad.item(), 14.0)

# %%
# Saved tensors
# -------------
#
# To compute its rule, a node may need values of the forward run. With
# ``show_saved=True`` the picture shows them (dotted border; orange in
# torchviz), joined to their node by a line without an arrow. Here the product
# keeps both factors, :math:`p + 1` and :math:`q`.

p = torch.tensor(4.0, requires_grad=True)
q = torch.tensor(7.0, requires_grad=True)
product = (p + 1) * q
make_dot(product, params={"p": p, "q": q, "out": product}, show_saved=True)

# %%
# The factor :math:`p + 1` has a box of its own, named ``self``. The factor
# ``q`` is a leaf: its box was there already, and got the line.

product.backward()
# Predict first: which two numbers are p.grad and q.grad?
print(p.grad.item(), q.grad.item())
torch.testing.assert_close(p.grad.item(), 7.0)
torch.testing.assert_close(q.grad.item(), 5.0)

# %%
# The base of a view
# ------------------
#
# A *view* shares the memory of another tensor, its *base*. If the output is a
# view, torchviz draws the base as well (dashed border), with a dotted arrow.

v = torch.arange(4.0, requires_grad=True)
doubled = 2 * v
first_two = doubled[:2]
make_dot(first_two, params={"v": v, "first two": first_two})

# %%
# The base here is the result of ``2 * v``, and the view starts at the same
# place in memory.

assert first_two._base is doubled
assert first_two.data_ptr() == doubled.data_ptr()

# %%
# What goes wrong when you draw too late
# --------------------------------------
#
# Backward frees the saved tensors. A picture with ``show_saved=True`` reads
# them, so it must be drawn before.

try:
    make_dot(product, show_saved=True)
except RuntimeError as error:
    print(error)
else:
    raise AssertionError("the saved tensors must be gone")

# %%
# Without ``show_saved`` the picture can still be drawn: the nodes and arrows
# live as long as ``product`` does.

assert "MulBackward0" in make_dot(product).source

# %%
# What you can do now
# -------------------
#
# - You can tell leaf, operation, output, base and saved tensor apart.
# - You can follow the arrows forward and walk back against them.
# - You draw before backward when you want to see what is saved.
#
# Exercises
# ---------
#
# 1. How many leaves does the picture of :math:`a + a \cdot c` show, if both
#    :math:`a` and :math:`c` need a gradient?

a = torch.tensor(1.0, requires_grad=True)
c = torch.tensor(1.0, requires_grad=True)
source = make_dot(a + a * c).source
# Predict first: how many leaves does the picture show?
print(source.count("lightblue"))
assert source.count("lightblue") == 2

# %%
# A tensor that is used twice is still one box. The two arrows leave its
# ``AccumulateGrad``.
#
# 2. How many boxes named ``ExpBackward0`` does the picture of
#    ``a.exp().exp().exp()`` show?

source = make_dot(a.exp().exp().exp()).source
# Predict first: how many boxes named ExpBackward0 are there?
print(source.count("ExpBackward0"))
assert source.count("ExpBackward0") == 3
