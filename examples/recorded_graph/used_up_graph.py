# /// script
# requires-python = ">=3.10"
# dependencies = ["torch", "torchviz", "setuptools"]
# ///
# Pictures show in a notebook or in an editor's cells, where Graphviz's `dot` is installed; all else runs without.
"""
Run backward twice, or know why not
===================================

You will be able to predict which second ``backward()`` fails and which one silently adds the gradient again.

"Trying to backward through the graph a second time" is one of the most
frequent errors. But not every graph is used up after one backward, and where
no error comes, a number can be twice what you wanted.

Know first: ``before_and_after_backward``, ``backward_adds``.
"""

import torch
from torchviz import make_dot

# %%
# A graph that is used up
# -----------------------
#
# A product saves its factors for backward. The first backward uses them and
# frees them.

x = torch.tensor([1.0, 2.0], requires_grad=True)
y = (x * x).sum()
make_dot(y, params={"x": x, "y": y})

# %%
# The first call works, the second does not.

y.backward()
print(x.grad)
try:
    y.backward()
except RuntimeError as error:
    print(error)
    assert "backward through the graph a second time" in str(error)
else:
    raise AssertionError("the second backward must fail")
torch.testing.assert_close(x.grad, torch.tensor([2.0, 4.0]))

# %%
# A graph that is not
# -------------------
#
# The sum needs no value of the forward run: its slope is 1 for each input.
# Nothing is saved, so nothing is freed.

x.grad = None
total = x.sum()
total.backward()
total.backward()
# Predict first: the two numbers in x.grad after two calls, or error
print(x.grad)
torch.testing.assert_close(x.grad, torch.tensor([2.0, 2.0]))

# %%
# No error, and the gradient was added twice. This silent case is worse than
# the error: a loop that calls ``backward()`` once too often trains on.
#
# Which operation saves?
# ----------------------
#
# So the question is whether any node on the way has saved something. Try nine
# operations. Before you look: which of them can run twice?


def second_backward(operation):
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    result = operation(x).sum()
    result.backward()
    try:
        result.backward()
    except RuntimeError:
        return "fails"
    return "adds again"


# %%
# The rule: an operation whose slope depends on a value must save it.

constant = torch.tensor([3.0, 3.0])
operations = {
    "x + 1": lambda x: x + 1,
    "-x": lambda x: -x,
    "x.reshape(2, 1)": lambda x: x.reshape(2, 1),
    "x * 2": lambda x: x * 2,
    "x * constant": lambda x: x * constant,
    "x ** 2": lambda x: x**2,
    "x.exp()": lambda x: x.exp(),
    "x.relu()": lambda x: x.relu(),
    "x.dot(x)": lambda x: x.dot(x),
}
for name, operation in operations.items():
    print(f"{name:16} {second_backward(operation)}")

# %%
# ``x + 1`` has the slope 1, whatever ``x`` is: nothing to save. ``x ** 2`` has
# the slope :math:`2\,x`: it must save ``x``. Do you see why ``x * 2`` differs
# from ``x + 1``? Its slope needs the factor, and PyTorch keeps that too.

assert second_backward(lambda x: x + 1) == "adds again"
assert second_backward(lambda x: x * 2) == "fails"
assert second_backward(lambda x: x**2) == "fails"
assert second_backward(lambda x: x.dot(x)) == "fails"

# %%
# Keep the graph
# --------------
#
# With ``retain_graph=True`` the first backward frees nothing, and you can call
# it again. Remember that the gradients add up.

x.grad = None
y = (x * x).sum()
y.backward(retain_graph=True)
y.backward()
# Predict first: the two numbers in x.grad after both calls
print(x.grad)
torch.testing.assert_close(x.grad, torch.tensor([4.0, 8.0]))

# %%
# What is left after backward
# ---------------------------
#
# It is said that backward "destroys the graph". Look: the node and its edges
# are still there. Only what they had saved is gone.

node = y.grad_fn.next_functions[0][0]
print(y.grad_fn.name(), "->", node.name())
assert node.next_functions[0][0] is not None
try:
    node._saved_self
except RuntimeError:
    print("the saved tensor is gone")
else:
    raise AssertionError("it must be freed")

# %%
# What goes wrong with retain_graph as a cure
# -------------------------------------------
#
# A value is carried from step to step, and its graph with it. The second step
# fails:

w = torch.tensor(0.5, requires_grad=True)
state = torch.tensor(1.0)
try:
    for _ in range(4):
        state = state * w
        state.backward()
except RuntimeError as error:
    print(str(error).partition(" (")[0])
else:
    raise AssertionError("the second step must fail")

# %%
# With ``retain_graph=True`` the error goes away. But how far back must
# backward walk in each step? Count the multiplications behind the value.

state = torch.tensor(1.0)
lengths = []
for _ in range(4):
    state = state * w
    state.backward(retain_graph=True)
    node, length = state.grad_fn, 0
    while node is not None:
        node, length = node.next_functions[0][0], length + 1
    lengths.append(length)
# Predict first: how many multiplications lie behind it, in steps 1 to 4?
print(lengths)
assert lengths == [1, 2, 3, 4]

# %%
# The way back grows with each step, and so does the memory. If you want to
# carry the value alone, cut it with ``detach()``. Then each step has its own
# small graph, and plain ``backward()`` works:

w.grad = None
state = torch.tensor(1.0)
for _ in range(4):
    state = state.detach() * w
    state.backward()
print(w.grad.item())
torch.testing.assert_close(w.grad.item(), 1 + 0.5 + 0.25 + 0.125)

# %%
# What you can do now
# -------------------
#
# - You can tell from the operations whether a second backward fails.
# - You know that where it does not fail, it adds the gradient once more.
# - You use ``retain_graph=True`` only where one graph really serves two calls.
#
# Exercises
# ---------
#
# 1. Two losses share a part of the graph. What does the second backward do?

a = torch.tensor(3.0, requires_grad=True)
shared = a * a
first, second = shared + 1, shared + 2
first.backward()
try:
    second.backward()
    answer = "works"
except RuntimeError:
    answer = "fails"
# Predict first: works or fails?
print(answer)
assert answer == "fails"

# %%
# The product is shared, and its saved tensors are gone.
#
# 2. The same with one backward for both losses: ``(first + second)``.

a.grad = None
shared = a * a
((shared + 1) + (shared + 2)).backward()
# Predict first: which number is a.grad?
print(a.grad.item())
torch.testing.assert_close(a.grad.item(), 12.0)
