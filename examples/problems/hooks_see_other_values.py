# /// script
# requires-python = ">=3.10"
# dependencies = ["torch"]
# ///
"""
A hook gets None or another value than expected
===============================================

You will be able to say what each kind of hook receives, when it is called, and what it must not do.

How it shows:

- ``grad_input`` is ``None`` in a ``register_full_backward_hook`` of the first layer, for saliency maps, Grad-CAM or feature maps.
- A warning says that a full backward hook is firing when gradients are computed with respect to module outputs.
- A hook clips, scales or reverses the gradient, and ``y.grad`` after ``retain_grad()`` is not what the hook printed.
- A hook that was set before ``mul_``, ``add_`` or ``relu_`` prints another gradient than one set after it.
- An optimizer that steps inside ``backward`` (``register_post_accumulate_grad_hook``, to save memory) does not learn.
- A pack hook of ``saved_tensors_hooks`` that compresses, quantises or offloads activations raises an error about modifying its input.

Know first: ``step_through_backward``, ``leaf_or_not``.
"""

import warnings
from functools import partial

import torch

# %%
# The shortest program that shows it
# ----------------------------------
#
# Two layers without bias, with the weights 2 and 3, and the input 5. There is a hook
# on each layer and one on each weight. Each hook notes that it was called.


def on_layer(number, module, grad_input, grad_output):
    calls.append(f"layer {number}")
    grads[number] = grad_input[0]


def on_weight(number, gradient):
    calls.append(f"weight {number}")


def hooked():
    layers = [torch.nn.Linear(1, 1, bias=False) for _ in range(2)]
    for number, layer in enumerate(layers):
        torch.nn.init.constant_(layer.weight, number + 2)
        layer.register_full_backward_hook(partial(on_layer, number))
        layer.weight.register_hook(partial(on_weight, number))
    return torch.nn.Sequential(*layers)


# %%
# Run backward, and ask for ``grad_input`` of the first layer.

calls, grads, model = [], {}, hooked()
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    model(torch.tensor([[5.0]])).sum().backward()
print(grads[0])
for warning in caught:
    print(f"UserWarning: {str(warning.message).partition(' See ')[0]}")
assert grads[0] is None

# %%
# Why
# ---
#
# ``grad_input`` is the gradient of the layer's *input*. The input of the second
# layer is a result of the first one, and has a gradient: the weight 3. The input
# of the first layer is your data. It requires no gradient, so there is none.

torch.testing.assert_close(grads[1].item(), 3.0)

# %%
# For the same reason the hook of the first layer comes early: it cannot wait for
# the gradient of the input. It is called *before* the gradient of its own weight
# is known. (PyTorch 2.9.1 and later warn; 1.13, 2.0 and 2.5 give no warning.)

print(calls)
assert calls == ["weight 1", "layer 1", "layer 0", "weight 0"]

# %%
# The fix
# -------
#
# Let the data require a gradient. Then ``grad_input`` is the product of the weights,
# :math:`2 \cdot 3 = 6`, and the hook of the layer comes after that of its weight.

calls, grads, model = [], {}, hooked()
model(torch.tensor([[5.0]], requires_grad=True)).sum().backward()
print(grads[0].item(), calls)
torch.testing.assert_close(grads[0].item(), 6.0)
assert calls == ["weight 1", "layer 1", "weight 0", "layer 0"]

# %%
# Integers, as the input of an embedding, cannot require a gradient. Put a tensor hook
# on the *output* of the embedding:

seen = []
vectors = torch.nn.Embedding(4, 1)(torch.tensor([2]))
vectors.register_hook(lambda gradient: seen.append(gradient.item()))
(7 * vectors).sum().backward()
torch.testing.assert_close(seen, [7.0])

# %%
# After retain_grad
# -----------------
#
# A tensor hook may return another gradient. Here ``retain_grad`` is called before the
# hook is set.

x = torch.tensor(3.0, requires_grad=True)
y = 2 * x
y.retain_grad()
y.register_hook(lambda gradient: gradient * 10)
y.backward()
# Predict first: which number is y.grad, 1 or 10?
print(y.grad.item())
torch.testing.assert_close(y.grad.item(), 10.0)
torch.testing.assert_close(x.grad.item(), 2 * 10.0)

# %%
# From PyTorch 2.0 on it keeps what *all* hooks have made of the gradient, even of
# those set later. (Up to 1.13 it kept 1 here.)
#
# ``torch.autograd.grad`` with respect to ``y`` returns what the hook on ``y`` has made,
# also from 2.0 on. The slope is 3, and older releases return 3.

y = 2 * x
y.register_hook(lambda gradient: gradient * 10)
torch.testing.assert_close(torch.autograd.grad(3 * y, y)[0].item(), 30.0)

# %%
# After a change in place
# -----------------------
#
# A hook belongs to the value that the tensor has when you set the hook. Before
# ``mul_(5)`` the slope is 5, after it 1. (Up to 1.13 both hooks saw 5.)

seen = {}
y = 2 * x
y.register_hook(lambda gradient: seen.update(before=gradient.item()))
y.mul_(5)
y.register_hook(lambda gradient: seen.update(after=gradient.item()))
y.backward()
print(seen)
torch.testing.assert_close(seen, {"before": 5.0, "after": 1.0})

# %%
# In an optimizer that steps during backward
# ------------------------------------------
#
# A hook of ``register_post_accumulate_grad_hook`` gets the *parameter*. The gradient
# is its ``.grad``, here 10. One step with the rate 0.1 leads from 2 to 1. If you use
# the argument as if it were the gradient, you get 1.8, without an error.


def step_with(hook):
    weight = torch.nn.Parameter(torch.tensor(2.0))
    weight.register_post_accumulate_grad_hook(hook)
    (10 * weight).backward()
    return weight.item()


@torch.no_grad()
def wrong(gradient):
    gradient.sub_(0.1 * gradient)


@torch.no_grad()
def right(parameter):
    parameter.sub_(0.1 * parameter.grad)
    parameter.grad = None


print(f"wrong {step_with(wrong):.1f}, right {step_with(right):.1f}")
torch.testing.assert_close(step_with(wrong), 2 - 0.1 * 2)
torch.testing.assert_close(step_with(right), 2 - 0.1 * 10)

# %%
# A hook of ``register_hook`` gets the gradient of this backward, before it is added to
# ``.grad``. The other hook is called after the addition.

seen = []
weight = torch.nn.Parameter(torch.tensor(2.0))
weight.register_hook(lambda gradient: seen.append(gradient.item()))
weight.register_post_accumulate_grad_hook(lambda p: seen.append(p.grad.item()))
(10 * weight).backward()
(10 * weight).backward()
print(seen)
torch.testing.assert_close(seen, [10.0, 10.0, 10.0, 20.0])

# %%
# In a pack hook
# --------------
#
# This one doubles its input in place. But the input is no copy: it has the same memory
# as your tensor. PyTorch raises an error, but your tensor is changed by then.


def saved_with(pack, unpack, leaf):
    with torch.autograd.graph.saved_tensors_hooks(pack, unpack):
        return leaf * leaf


leaf = torch.tensor(3.0, requires_grad=True)
try:
    saved_with(lambda t: t.mul_(2), lambda t: t / 2, leaf)
except RuntimeError as error:
    print(f"RuntimeError: {str(error).partition('. Tensors')[0]}")
else:
    raise AssertionError("the pack hook may change its input")
torch.testing.assert_close(leaf.item(), 6.0)

# %%
# Make a new tensor, by an operation without ``_`` at the end:

leaf = torch.tensor(3.0, requires_grad=True)
saved_with(lambda t: t.half(), lambda t: t.float(), leaf).backward()
torch.testing.assert_close(leaf.grad.item(), 6.0)

# %%
# The popular fix that does not work
# ----------------------------------
#
# Through ``.data`` autograd does not see the change, and there is no error. The product
# saves ``leaf`` twice, so it is doubled twice: ``leaf`` becomes 12. The result is 144,
# not 9, and the gradient 12, not 6.

leaf = torch.tensor(3.0, requires_grad=True)
y = saved_with(lambda t: t.data.mul_(2), lambda t: t / 2, leaf)
y.backward()
print(y.item(), leaf.item(), leaf.grad.item())
torch.testing.assert_close(y.item(), 12.0 * 12.0)
torch.testing.assert_close(leaf.item(), 12.0)
torch.testing.assert_close(leaf.grad.item(), 12.0)

# %%
# Find the line in your own code
# ------------------------------
#
# This names the layers whose input requires no gradient. A full backward hook on one
# of them gets ``None``.


def without_input_gradient(model, *inputs):
    found, handles = [], []
    for name, module in model.named_modules():

        def look(module, values, name=name):
            if not any(torch.is_tensor(v) and v.requires_grad for v in values):
                found.append(name or "the model itself")

        handles.append(module.register_forward_pre_hook(look))
    model(*inputs)
    for handle in handles:
        handle.remove()
    return found


print(*without_input_gradient(model, torch.tensor([[5.0]])), sep=", ")
data = torch.tensor([[5.0]], requires_grad=True)
assert without_input_gradient(model, data.detach())[1] == "0"
assert without_input_gradient(model, data) == []
