# /// script
# requires-python = ">=3.10"
# dependencies = ["torch"]
# ///
"""
Inference tensors cannot be saved for backward
==============================================

You will be able to find the tensor that was made in inference mode, and to use its numbers in training.

How it shows:

- Features, embeddings or targets computed under ``torch.inference_mode()`` are used in training, and the forward pass stops.
- Inference tensors cannot be saved for backward, says the message, yet it is raised before ``backward()`` is called.
- Training fails only after a validation or ``predict`` loop ran first: the model has kept something from it, as a cache of positions or masks.
- ``requires_grad_()``: setting requires_grad=True on inference tensor outside InferenceMode is not allowed.
- ``x += 1``: inplace update to inference tensor outside InferenceMode is not allowed.
- A frozen feature extractor (encoder, CLIP, BERT, teacher model) was switched from ``no_grad`` to ``inference_mode`` to save time.

Know first: ``five_ways_to_stop``, ``version_counter``.
"""

from functools import partial

import torch

# %%
# The shortest program that shows it
# ----------------------------------

w = torch.tensor([1.0, 1.0], requires_grad=True)
with torch.inference_mode():
    features = torch.tensor([3.0, 5.0])
try:
    w * features
except RuntimeError as error:
    print(error)
else:
    raise AssertionError("an inference tensor was saved")

# %%
# Why
# ---
#
# The derivative of ``w * features`` by ``w`` is ``features``, so the product must
# save it for backward. Backward checks the version counter of each saved tensor (see
# ``version_counter``). A tensor made in inference mode has none, so it cannot be saved.

try:
    features._version
except RuntimeError as error:
    print(error)
else:
    raise AssertionError("an inference tensor has a version")

# %%
# Why not always
# --------------
#
# An operation that does not have to save the tensor accepts it. The derivative of a sum
# by ``w`` is 1. Where nothing requires a gradient, nothing is saved at all.

(w + features).sum().backward()
torch.testing.assert_close(w.grad, torch.tensor([1.0, 1.0]))
assert not (features * features).requires_grad

# %%
# And what does such an operation give, outside of the mode?

# Predict first: is features + 0 an inference tensor? True or False
print((features + 0).is_inference())

# %%
# It is a normal tensor: a new result, made outside of the mode. But a view of an
# inference tensor is an inference tensor too, since it has the same memory.

assert features.is_inference() and not (features + 0).is_inference()
assert features[:1].is_inference()

# %%
# The fix
# -------
#
# Take a copy, with ``clone``, outside of the mode. The copy is a normal tensor.

w.grad = None
(w * features.clone()).sum().backward()
print(w.grad)
torch.testing.assert_close(w.grad, torch.tensor([3.0, 5.0]))

# %%
# Or compute the features under ``no_grad``. Nothing is recorded there either, and the
# results are normal tensors.

with torch.no_grad():
    features = 2 * torch.tensor([3.0, 5.0])
assert not features.is_inference() and not features.requires_grad
w.grad = None
(w * features).sum().backward()
torch.testing.assert_close(w.grad, torch.tensor([6.0, 10.0]))

# %%
# Two other messages with the same cause
# --------------------------------------
#
# Outside of the mode, you cannot make an inference tensor require a gradient, and you
# cannot change it in place:

with torch.inference_mode():
    features = torch.tensor([3.0, 5.0])
add_one = partial(features.add_, 1)
for change in (features.requires_grad_, add_one):
    try:
        change()
    except RuntimeError as error:
        print(str(error).partition(".")[0])
    else:
        raise AssertionError("an inference tensor was changed")

# %%
# Take care: when the second error comes, the numbers have already been changed, at
# least in PyTorch 2.13.

torch.testing.assert_close(features.tolist(), [4.0, 6.0])

# %%
# The fix is the same, a copy:

x = features.clone().requires_grad_()
(x**2).sum().backward()
torch.testing.assert_close(x.grad, torch.tensor([8.0, 12.0]))

# %%
# A cache filled during validation
# --------------------------------
#
# This module computes a table in its first call and keeps it. If the first call is a
# validation in inference mode, the training fails afterwards.


class Scaled(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.ones(2))
        self.table = None

    def forward(self, x):
        if self.table is None:
            self.table = torch.tensor([1.0, 2.0])
        return x + self.weight * self.table


# %%


def runs_after(mode):
    model = Scaled()
    with mode:
        model(torch.ones(2))
    try:
        model(torch.ones(2)).sum().backward()
    except RuntimeError as error:
        assert "Inference tensors cannot be saved" in str(error)
        return False
    return True


assert not runs_after(torch.inference_mode())
assert runs_after(torch.no_grad())

# %%
# Validate under ``no_grad``. Or make the table before, outside of the mode; in your own
# class do it in ``__init__``.

model = Scaled()
model.table = torch.tensor([1.0, 2.0])
with torch.inference_mode():
    model(torch.ones(2))
model(torch.ones(2)).sum().backward()
torch.testing.assert_close(model.weight.grad, torch.tensor([1.0, 2.0]))

# %%
# Build the model outside of inference mode too: a parameter made there is an inference
# tensor.

with torch.inference_mode():
    layer = torch.nn.Linear(2, 1)
assert layer.weight.is_inference()
assert not torch.nn.Linear(2, 1).weight.is_inference()

# %%
# The popular fix that does not work
# ----------------------------------
#
# ``detach`` does not copy, nor does ``to`` with the type that the tensor already has: you
# still have an inference tensor. ``enable_grad`` does not leave the mode either.

for same in (features.detach(), features.to(torch.float32)):
    assert same.is_inference()
with torch.inference_mode(), torch.enable_grad():
    product = 2 * w
print(product.requires_grad, product.is_inference())
assert not product.requires_grad and product.is_inference()

# %%
# ``inference_mode(False)`` does leave it:

with torch.inference_mode(), torch.inference_mode(False):
    product = 2 * w
assert product.requires_grad and not product.is_inference()

# %%
# Find the line in your own code
# ------------------------------
#
# ``is_inference()`` tells you for one tensor. For a model, ask all that it keeps:
# parameters, buffers, and plain attributes, as the cache above.


def inference_tensors(model):
    return [
        f"{type(module).__name__}.{name}"
        for module in model.modules()
        for kept in (module._parameters, module._buffers, vars(module))
        for name, value in kept.items()
        if torch.is_tensor(value) and value.is_inference()
    ]


model = Scaled()
assert inference_tensors(model) == []
with torch.inference_mode():
    model(torch.ones(2))
print(inference_tensors(model))
assert inference_tensors(model) == ["Scaled.table"]
assert inference_tensors(layer) == ["Linear.weight", "Linear.bias"]
