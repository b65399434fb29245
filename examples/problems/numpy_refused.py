# /// script
# requires-python = ">=3.10"
# dependencies = ["torch", "numpy"]
# ///
"""
Can't call numpy() on Tensor that requires grad
===============================================

You will be able to hand a tensor to NumPy, and to say when that ends the gradient or changes it unseen.

How it shows:

- ``output.numpy()`` or ``model(x).cpu().numpy()`` fails: "Use tensor.detach().numpy() instead."
- ``plt.plot(losses)`` (matplotlib), ``np.mean(losses)`` or ``np.array(outputs)`` stops, though the word ``numpy()`` is nowhere in your code.
- A metric of scikit-learn, a pandas table, an optimizer of SciPy or ``env.step(action)`` in reinforcement learning is given a tensor and raises a ``RuntimeError``.
- A loss computed with ``np.exp`` or ``np.log`` cannot be trained; after ``detach()`` there is no error, but ``.grad`` is ``None``.
- An array was changed, and the tensor changed with it: same memory.
- ``float(loss)`` or ``math.sqrt(loss)`` warns: converting a tensor with requires_grad=True to a scalar.

Know first: ``detach_is_a_constant``, ``silently_wrong``.
"""

import math
import warnings

import numpy as np
import torch

# %%
# The shortest program that shows it
# ----------------------------------

x = torch.tensor([1.0, 2.0], requires_grad=True)
try:
    x.numpy()
except RuntimeError as error:
    print(error)
else:
    raise AssertionError("NumPy took a tensor that requires grad")

# %%
# Why
# ---
#
# PyTorch records its own operations. It does not see what NumPy does with an array: the
# graph would end there, and nobody would tell you. So you have to write ``detach``, to
# say that you know it. A NumPy function that you give a tensor asks for the array
# itself, and is refused in the same way:

refused = []
losses = [x[0] * 2, x[1] * 2]
for function, argument in ((np.exp, x), (np.asarray, x), (np.mean, losses)):
    try:
        function(argument)
    except RuntimeError as error:
        assert "Can't call numpy()" in str(error)
        refused.append(function.__name__)
print(refused)
assert refused == ["exp", "asarray", "mean"]

# %%
# The fix
# -------
#
# It depends on what the numbers are for. To print, plot or store them, detach. ``cpu``
# is needed for a tensor on a GPU, and does nothing on the CPU.

array = x.detach().cpu().numpy()
print(array)
assert isinstance(array, np.ndarray) and x.cpu() is x

# %%
# For one number take ``item()``, for a list of numbers ``tolist()``. Take it when you
# collect the losses. A list of tensors would also keep all their graphs
# (``memory_grows``).

history = [loss.item() for loss in losses]
print(history, np.mean(history))
np.testing.assert_allclose(np.mean(history), 3.0)
assert losses[0].grad_fn is not None

# %%
# To predict, switch off recording for the whole call. The results then require no
# gradient, and NumPy takes them.

layer = torch.nn.Linear(2, 1)
with torch.no_grad():
    predicted = layer(x).numpy()
np.testing.assert_allclose(predicted, layer(x).tolist(), rtol=1e-5)

# %%
# ``x.numpy(force=True)``, which old releases do not have, detaches for you:

np.testing.assert_allclose(x.numpy(force=True), array)

# %%
# If the numbers are a part of the loss, stay in PyTorch: write ``torch.exp`` for
# ``np.exp``. What PyTorch computes is recorded.

torch.exp(x).sum().backward()
torch.testing.assert_close(x.grad, torch.exp(x).detach())

# %%
# The array shares the memory
# ---------------------------
#
# ``detach().numpy()`` copies nothing. If you write to the array, you write to the tensor.

x = torch.tensor(3.0, requires_grad=True)
y = x**2
array = x.detach().numpy()
array[...] = 10
y.backward()
# Predict first: y was computed from 3. Which number is in x.grad?
print(x.grad.item())

# %%
# The slope at 3 is 6, but backward used the new value. No error came, since NumPy does
# not raise the version counter.

torch.testing.assert_close(y.detach(), torch.tensor(9.0))
torch.testing.assert_close(x.grad, torch.tensor(20.0))
assert x._version == 0

# %%
# Copy the array if anything may write to it:

x = torch.tensor(3.0, requires_grad=True)
y = x**2
array = x.detach().numpy().copy()
array[...] = 10
y.backward()
torch.testing.assert_close(x.grad, torch.tensor(6.0))

# %%
# A warning from float and math
# -----------------------------
#
# ``float(loss)`` and ``math.sqrt(loss)`` take a tensor with one number, and return a plain
# number without a graph. From PyTorch 2.9 on you get a warning; 2.5 gave none. (It comes
# only once in a program; ``torch.set_warn_always`` shows it here in any case.)

loss = torch.tensor(4.0, requires_grad=True) * 4
always = torch.is_warn_always_enabled()
torch.set_warn_always(True)
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    root, plain = math.sqrt(loss), float(loss)
torch.set_warn_always(always)
print(str(caught[0].message).partition("\n")[0])
assert len(caught) == 2
assert isinstance(root, float) and isinstance(plain, float)

# %%
# ``loss.item()`` says that you want the number, and does not warn. In a loss, use
# ``torch.sqrt``.

with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    number = loss.item()
assert caught == [] and isinstance(number, float)
assert torch.sqrt(loss).requires_grad

# %%
# The popular fix that does not work
# ----------------------------------
#
# Detach, compute with NumPy, and make a new tensor with ``requires_grad=True``. There is
# no error, but ``x`` gets no gradient either: the new tensor is a leaf of its own.

x = torch.tensor([1.0, 2.0], requires_grad=True)
squares = np.square(x.detach().numpy())
loss = torch.tensor(squares, requires_grad=True).sum()
loss.backward()
print(x.grad)
assert x.grad is None

# %%
# With ``torch.square`` the gradient is ``2 * x``:

torch.square(x).sum().backward()
torch.testing.assert_close(x.grad, torch.tensor([2.0, 4.0]))

# %%
# ``.data.numpy()``, as in old answers, shares the memory in the same way.

old_way = x.data.numpy()
old_way[0] = 7
torch.testing.assert_close(x.detach(), torch.tensor([7.0, 2.0]))

# %%
# Find the line in your own code
# ------------------------------
#
# If a list or a table goes to NumPy, ask which of its values still require a
# gradient. That value was stored without ``item()`` or ``detach()``.

record = {"step": 1, "loss": torch.square(x).sum(), "accuracy": 0.5}
culprits = [
    name
    for name, value in record.items()
    if torch.is_tensor(value) and value.requires_grad
]
print(culprits, record["loss"].grad_fn.name())
assert culprits == ["loss"]

# %%
# To ask whether an array of yours shares its memory with a weight:

shared = layer.weight.detach().numpy()
weight = layer.weight.detach().numpy()
assert np.shares_memory(shared, weight)
assert not np.shares_memory(shared.copy(), weight)
