# /// script
# requires-python = ">=3.10"
# dependencies = ["torch"]
# ///
"""
A Jacobian or Hessian is wanted, backward gives a sum
=====================================================

You will be able to get a whole Jacobian or Hessian, or only its product with a vector.

How it shows:

- "grad can be implicitly created only for scalar outputs": with ``sum()`` one row comes back, not a matrix.
- A Python loop over the outputs, with ``retain_graph=True``, is the only way that works, and it is slow.
- Building the Hessian of a model does not fit into memory, or a second ``grad`` gives one vector and no matrix.
- Newton, conjugate gradients, the largest eigenvalue or influence functions need only Hessian-vector products (``hvp``).
- ``torch.func.grad`` stops, since the function does not return a scalar tensor.
- ``jacobian``, ``jacrev`` or ``jacfwd``: which one, and the Jacobian of a batch has four dimensions and is nearly all zeros.

Know first: ``why_a_scalar``, ``backward_with_weights``.
"""

import warnings

import torch

# %%
# The shortest program that shows it
# ----------------------------------


def f(x):
    return torch.stack([x[0] ** 2, x[0] * x[1], 4 * x[1]])


x = torch.tensor([3.0, 5.0], requires_grad=True)
y = f(x)
try:
    y.backward()
except RuntimeError as error:
    print(error)
else:
    raise AssertionError("backward chose an output by itself")

# %%
# ``torch.func.grad`` says the same in other words:

try:
    torch.func.grad(f)(x)
except RuntimeError as error:
    print(error)
else:
    raise AssertionError("grad of three outputs")

# %%
# Why
# ---
#
# Three outputs and two inputs have six slopes: the Jacobian, with a row for each output
# and a column for each input. One backward pass returns the slopes of *one* number: of
# one output, or of a weighted sum of them. So it gives one row, or a weighted sum of
# the rows.

# Predict first: which row belongs to the output x[0] * x[1]?
(row,) = torch.autograd.grad(y[1], x, retain_graph=True)
print(row.tolist())
torch.testing.assert_close(row, torch.tensor([5.0, 3.0]))

# %%
# All rows, one after another. The graph is used three times, so it must be kept.

rows = torch.stack(
    [torch.autograd.grad(y[i], x, retain_graph=True)[0] for i in range(3)]
)
print(rows)
expected = torch.tensor([[6.0, 0.0], [5.0, 3.0], [0.0, 4.0]])
torch.testing.assert_close(rows, expected)

# %%
# The fix
# -------
#
# From PyTorch 2.0 on, ``torch.func`` gives the whole Jacobian in one call. ``jacrev`` makes
# the rows from backward passes, and ``jacfwd`` the columns from forward ones. (In some
# releases the first use of forward mode gives a warning that concerns only PyTorch
# itself. The ``with`` hides it.)

point = x.detach()
torch.testing.assert_close(torch.func.jacrev(f)(point), expected)
with warnings.catch_warnings(record=True):
    warnings.simplefilter("always")
    torch.testing.assert_close(torch.func.jacfwd(f)(point), expected)

# %%
# Use ``jacrev`` if there are fewer outputs than inputs, and ``jacfwd`` if there are fewer
# inputs: then there are fewer passes. One backward pass, ``vjp``, gives a row, and one
# forward pass, ``jvp``, a column:

weights, direction = torch.tensor([0.0, 1.0, 0.0]), torch.tensor([1.0, 0.0])
_, pull = torch.func.vjp(f, point)
_, column = torch.func.jvp(f, (point,), (direction,))
torch.testing.assert_close(pull(weights)[0], expected[1])
torch.testing.assert_close(column, expected[:, 0])

# %%
# Without ``torch.func`` there are two other ways. The second one needs no function, only
# ``y`` and its graph. It takes the weights of all rows at once:

jacobian = torch.autograd.functional.jacobian(f, point, vectorize=True)
torch.testing.assert_close(jacobian, expected)
(batched,) = torch.autograd.grad(y, x, torch.eye(3), is_grads_batched=True)
torch.testing.assert_close(batched, expected)

# %%
# Of a batch
# ----------
#
# Here the function treats each sample by itself. The Jacobian of the whole batch also
# holds the slopes of each sample's outputs with respect to every other sample, and these
# are zero. ``vmap`` over ``jacrev`` does not compute them.

batch = torch.tensor([[3.0, 5.0], [1.0, 2.0], [0.0, 1.0], [2.0, 2.0]])
whole = torch.func.jacrev(torch.func.vmap(f))(batch)
each = torch.func.vmap(torch.func.jacrev(f))(batch)
print(tuple(whole.shape), tuple(each.shape))
assert whole.count_nonzero() == each.count_nonzero()
torch.testing.assert_close(whole[0, :, 0], each[0])
torch.testing.assert_close(each[0], expected)

# %%
# The Hessian
# -----------
#
# For :math:`g = x_0^2 x_1` the gradient is :math:`(2 x_0 x_1,\; x_0^2)`. The Hessian
# is the Jacobian of the gradient.


def g(x):
    return x[0] ** 2 * x[1]


hessian = torch.func.hessian(g)(point)
print(hessian)
torch.testing.assert_close(hessian, torch.tensor([[10.0, 6.0], [6.0, 0.0]]))
other = torch.autograd.functional.hessian(g, point)
torch.testing.assert_close(other, hessian)

# %%
# Only a Hessian-vector product
# -----------------------------
#
# The product :math:`H v` is the derivative of the number :math:`\nabla g \cdot v`.
# One backward records the gradient, a second one gives the product. :math:`H` is
# never built.

v = torch.tensor([1.0, 2.0])
(gradient,) = torch.autograd.grad(g(x), x, create_graph=True)
(product,) = torch.autograd.grad(gradient @ v, x)
print(product.tolist())
torch.testing.assert_close(product, hessian @ v)

# %%
# Forward mode over the gradient gives the same, and so does a ready function:

_, forward_over_reverse = torch.func.jvp(torch.func.grad(g), (point,), (v,))
torch.testing.assert_close(forward_over_reverse, product)
_, ready = torch.autograd.functional.hvp(g, point, v)
torch.testing.assert_close(ready, product)

# %%
# With 100 000 inputs the Hessian would have ten billion entries. The product has
# 100 000:

large = torch.ones(100_000)
_, product = torch.func.jvp(
    torch.func.grad(lambda x: (x**3).sum()), (large,), (large,)
)
torch.testing.assert_close(product, 6 * large)

# %%
# Of a model's weights
# --------------------
#
# ``functional_call`` makes the weights an input of the function. The result has one
# Jacobian for each of them.

model = torch.nn.Linear(2, 3)
weights = {name: p.detach() for name, p in model.named_parameters()}


def output(weights):
    return torch.func.functional_call(model, weights, (point,))


jacobians = torch.func.jacrev(output)(weights)
print({name: tuple(jacobian.shape) for name, jacobian in jacobians.items()})
torch.testing.assert_close(jacobians["bias"], torch.eye(3))

# %%
# The popular fix that does not work
# ----------------------------------
#
# ``y.sum().backward()`` ends the error. It adds the rows of the Jacobian:

f(x).sum().backward()
print(x.grad.tolist())
torch.testing.assert_close(x.grad, expected.sum(0))

# %%
# In the same way, a second derivative of ``gradient.sum()`` adds the rows of the
# Hessian. It is often taken for the diagonal, which is (10, 0):

(gradient,) = torch.autograd.grad(g(x), x, create_graph=True)
(row_sums,) = torch.autograd.grad(gradient.sum(), x)
print("sums:", row_sums.tolist(), "diagonal:", hessian.diag().tolist())
torch.testing.assert_close(row_sums, hessian.sum(0))
assert not torch.allclose(row_sums, hessian.diag())

# %%
# Find the line in your own code
# ------------------------------
#
# First compare shapes: a Jacobian has the shape of the output followed by that of the
# input. Then measure: change one input a little, and see how the outputs change. That
# must be the column of this input. Use float64.


def measured_column(function, point, number, step=1e-4):
    move = torch.zeros_like(point)
    move[number] = step
    change = function(point + move) - function(point - move)
    return change / (2 * step)


point = point.double()
jacobian = torch.func.jacrev(f)(point)
assert jacobian.shape == f(point).shape + point.shape
for number in range(2):
    measured = measured_column(f, point, number)
    print([round(slope, 2) for slope in measured.tolist()])
    torch.testing.assert_close(jacobian[:, number], measured)

# %%
# A Hessian has the shape of the input twice. Its columns are measured with the gradient
# as the function. The sums from above do not have this shape:

gradient = torch.func.grad(g)
measured = torch.stack([measured_column(gradient, point, i) for i in (0, 1)])
torch.testing.assert_close(measured, hessian.double())
assert row_sums.shape != measured.shape
