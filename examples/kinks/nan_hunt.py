# /// script
# requires-python = ">=3.10"
# dependencies = ["torch", "torchviz", "setuptools"]
# ///
# Pictures show in a notebook or in an editor's cells, where Graphviz's `dot` is installed; all else runs without.
"""
Trace a NaN to its operation
============================

You will be able to find the operation that makes the first NaN in a backward pass, and to repair it with a double ``where``.

The loss is a number, and after one step all weights are NaN (not a number).
The NaN that you see is far from its cause. This lesson searches for the cause
in two ways, and repairs it.

Know first: ``slopes_from_both_sides``, ``step_through_backward``.
"""

import warnings

import torch
from torchviz import make_dot

# %%
# A function with a guard
# -----------------------
#
# The square root has no finite slope at 0: close to 0, its slope grows without
# end. So this program takes the root of positive numbers only, and 0 for all
# others.


def guarded_root(x):
    return torch.where(x > 0, x.sqrt(), 0.0)


x = torch.tensor([0.0, 4.0], requires_grad=True)
y = guarded_root(x)
print(y.detach())
torch.testing.assert_close(y.detach(), torch.tensor([0.0, 2.0]))

# %%
# The values are right. For the second element the slope is
# :math:`1/(2\sqrt{4})`. What do you expect for the first one, which the guard
# replaced by a constant 0?

make_dot(y, params={"x": x, "y": y})

# %%
# Predict it, then step through the picture.

y.backward(torch.ones(2))
# Predict first: what is x.grad[0]?
print(x.grad[0].item())
assert x.grad[0].isnan()
torch.testing.assert_close(x.grad[1].item(), 0.25)

# %%
# ``where`` did its part: for the first element, it sends 0 back to the root.
# But the root multiplies what arrives by its own slope, and that is infinite.
# What is :math:`0 \cdot \infty`?

print(torch.tensor(0.0) * torch.inf)
assert (torch.tensor(0.0) * torch.inf).isnan()

# %%
# Search with anomaly mode
# ------------------------
#
# ``torch.autograd.detect_anomaly`` looks at what each node sends. At the first
# NaN it stops, and names the node.

x = torch.tensor([0.0, 4.0], requires_grad=True)
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    try:
        with torch.autograd.detect_anomaly():
            guarded_root(x).sum().backward()
    except RuntimeError as error:
        print(error)
        assert "SqrtBackward0" in str(error)
    else:
        raise AssertionError("the NaN was not noticed")

# %%
# A warning came with it. It shows the traceback of the *forward* operation:
# the line of your program to look at. (It holds paths of this machine, so only
# a part is printed.)

text = next(str(w.message) for w in caught if "Traceback" in str(w.message))
print(text.partition("Traceback")[0])
assert "guarded_root" in text

# %%
# In anomaly mode each operation stores its traceback. That is slow: use the
# mode to search, and not in training.
#
# Search with hooks
# -----------------
#
# ``register_hook`` of a node calls your function with what the node sends and
# what arrived at it. A node that gets no NaN and sends one is a cause.


def has_nan(tensors):
    return any(t is not None and t.isnan().any() for t in tensors)


def watch(output, found):
    nodes, seen = [output.grad_fn], set()
    while nodes:
        node = nodes.pop()
        if node is None or node in seen:
            continue
        seen.add(node)

        def look(sent, arrived, node=node):
            if has_nan(sent) and not has_nan(arrived):
                found.append(node.name())

        node.register_hook(look)
        nodes.extend(following for following, _ in node.next_functions)


# %%
# Backward goes on after the first NaN, so this search can find more than one
# cause. Try it on :math:`x \log x`, with the same kind of guard. At 0,
# ``where`` sends 0 to the product. The product sends :math:`0 \cdot \log 0` to
# ``x``, and :math:`0 \cdot 0` to the logarithm. The logarithm divides by 0
# what arrives.

x = torch.tensor(0.0, requires_grad=True)
y = torch.where(x > 0, x * x.log(), 0.0)
found = []
watch(y, found)
y.backward()
# Predict first: how many nodes get no NaN and send one?
print(len(found))
assert found == ["MulBackward0", "LogBackward0"]

# %%
# :math:`0 \cdot (-\infty)` is NaN, and :math:`0 / 0` is NaN too. Anomaly mode
# would stop at the first of these:

print(found)

# %%
# What anomaly mode does not see
# ------------------------------
#
# It looks at gradients only. It can miss a NaN that the *forward* run makes:
# the logarithm of -1 is NaN, but its backward computes :math:`1/x`, a number.

x = torch.tensor(-1.0, requires_grad=True)
with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    with torch.autograd.detect_anomaly():
        loss = 2 * x.log()
        loss.backward()
print("loss:", loss.item(), " gradient:", x.grad.item())
assert loss.isnan()
torch.testing.assert_close(x.grad.item(), -2.0)

# %%
# There was no error. So check the values as well: put
# ``assert y.isfinite().all()`` after a line that you suspect.
#
# The repair: a double where
# --------------------------
#
# The root must not see the 0 at all. One ``where`` gives it a harmless number,
# 1, in place of each bad one. A second ``where`` replaces the result of that
# 1.


def safe_root(x):
    positive = x > 0
    harmless = torch.where(positive, x, 1.0)
    return torch.where(positive, harmless.sqrt(), 0.0)


x = torch.tensor([0.0, 4.0], requires_grad=True)
y = safe_root(x)
torch.testing.assert_close(y, guarded_root(x))
y.sum().backward()
# Predict first: what is x.grad now?
print(x.grad)
torch.testing.assert_close(x.grad, torch.tensor([0.0, 0.25]))

# %%
# The values are the same. The slope of the root is now taken at 1, where it is
# finite, and 0 times a finite number is 0.
#
# What goes wrong: other repairs
# ------------------------------
#
# ``nan_to_num`` on the result does not help: the result has no NaN, and
# backward still goes through the root at 0. A small number added *after* the
# root does not change the slope.


def gradient(f):
    x = torch.tensor([0.0, 4.0], requires_grad=True)
    f(x).sum().backward()
    return x.grad


for name, f in {
    "nan_to_num": lambda x: guarded_root(x).nan_to_num(),
    "root + eps": lambda x: guarded_root(x) + 1e-8,
}.items():
    print(f"{name:12}", gradient(f))
    assert gradient(f)[0].isnan()

# %%
# A small number *inside* the root makes the gradient finite, but very large:
# :math:`1/(2\sqrt{10^{-8}})` is 5000, and the next step can be far too large.

grad = gradient(lambda x: (x + 1e-8).sqrt())
print(grad)
torch.testing.assert_close(grad[0].item(), 5000.0, rtol=1e-3, atol=0.0)

# %%
# What you can do now
# -------------------
#
# - You can name the operation that makes the first NaN, with anomaly mode or
#   with hooks.
# - You know that a single ``where`` guards values, and not gradients.
# - You can repair it with a double ``where``.
#
# Exercises
# ---------
#
# 1. The function is ``where(x != 0, 1 / x, 0)``, at 0.

x = torch.tensor(0.0, requires_grad=True)
torch.where(x != 0, 1 / x, 0.0).backward()
# Predict first: what is x.grad?
print(x.grad.item())
assert x.grad.isnan()

# %%
# 2. Here it is with a double ``where``.

x = torch.tensor(0.0, requires_grad=True)
harmless = torch.where(x != 0, x, 1.0)
torch.where(x != 0, 1 / harmless, 0.0).backward()
# Predict first: what is x.grad?
print(x.grad.item())
torch.testing.assert_close(x.grad.item(), 0.0)
