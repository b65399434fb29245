# /// script
# requires-python = ">=3.10"
# dependencies = ["torch"]
# ///
"""
Two programs for one function, two different gradients
======================================================

You will be able to say which of two equal-looking programs gets which gradient at a corner, and to write the one you want.

How it shows:

- The outputs and the loss are the same, and ``.grad`` differs in a few entries, by a lot: 0 against 1, or by a half.
- ``relu`` was replaced by ``clamp(min=0)``, ``torch.maximum`` or ``torch.where``, and a test against the old version fails.
- ``F.relu6`` or ``hardtanh`` against ``clamp(0, 6)``: the same curve, another derivative at the ends.
- ``torch.maximum(a, b)`` of two equal tensors gives 0.5, ``fmax`` or ``where`` give 1: who gets the gradient in a tie?
- A port from JAX, TensorFlow or NumPy, or your own derivation by hand, does not match autograd.
- Only inputs that are exactly 0 are affected: padding, weights initialised with zeros, integers, dead units.

Know first: ``slopes_from_both_sides``. ``kink_table`` has many more functions.
"""

import torch
import torch.nn.functional as F

# %%
# The shortest program that shows it
# ----------------------------------
#
# Both are :math:`\max(x, 0)`.


def slope(f, point):
    x = torch.tensor(point, requires_grad=True)
    f(x).backward()
    return x.grad.item()


zero = torch.tensor(0.0)
print("relu:   ", slope(torch.relu, 0.0))
print("maximum:", slope(lambda x: torch.maximum(x, zero), 0.0))
torch.testing.assert_close(slope(torch.relu, 0.0), 0.0)
torch.testing.assert_close(slope(lambda x: torch.maximum(x, zero), 0.0), 0.5)

# %%
# Why
# ---
#
# At 0 the function has a corner, a *kink*: the slope is 0 on the left and 1 on
# the right. At the kink itself there is no derivative. Every number from 0 to 1
# is a valid *subgradient*, and each operation has its own rule. So both programs
# are right. Away from the kink they agree. Here are more forms of
# :math:`\max(x, 0)`:

release = tuple(int(part) for part in torch.__version__.split(".")[:2])
new = release >= (2, 14)
forms = {
    "relu": (F.relu, 0.0),
    "where(x > 0, x, 0)": (lambda x: torch.where(x > 0, x, zero), 0.0),
    "maximum(x, 0)": (lambda x: torch.maximum(x, zero), 0.5),
    "clamp(min=0)": (lambda x: x.clamp(min=0), 0.0 if new else 1.0),
    "clamp(min=tensor)": (lambda x: x.clamp(min=zero), 0.5 if new else 1.0),
    "fmax(x, 0)": (lambda x: torch.fmax(x, zero), 0.5 if new else 1.0),
}

# %%
# Up to PyTorch 2.13, the last three give 1. From 2.14 on, ``clamp`` with a number
# gives 0 as ``relu`` does, and the other two give 0.5 as ``maximum`` does.

print("PyTorch", torch.__version__.partition("+")[0])
inputs = torch.tensor([-2.0, 0.0, 2.0])
for name, (form, expected) in forms.items():
    print(f"{name:18}", slope(form, 0.0))
    torch.testing.assert_close(form(inputs), F.relu(inputs))
    torch.testing.assert_close(slope(form, 0.0), expected)
    torch.testing.assert_close(slope(form, -2.0), 0.0)
    torch.testing.assert_close(slope(form, 2.0), 1.0)

# %%
# With two equal tensors
# ----------------------
#
# In :math:`\max(a, b)` a tie, that is :math:`a = b`, is a kink too. ``maximum`` and
# ``minimum`` give half to each. So does ``torch.max`` of two tensors in 1.13 and later.


def shares(f):
    a = torch.tensor(3.0, requires_grad=True)
    b = torch.tensor(3.0, requires_grad=True)
    return [g.item() for g in torch.autograd.grad(f(a, b), (a, b))]


for f in (torch.maximum, torch.minimum, torch.max):
    torch.testing.assert_close(shares(f), [0.5, 0.5])

# %%
# ``fmax`` and ``fmin`` give all to the first tensor up to 2.13, and half to each from
# 2.14 on:

for f in (torch.fmax, torch.fmin):
    print(f.__name__, shares(f))
    torch.testing.assert_close(shares(f), [0.5, 0.5] if new else [1.0, 0.0])

# %%
# With three equal tensors, two calls of ``maximum`` do not give a third to each:

a, b, c = (torch.tensor(3.0, requires_grad=True) for _ in range(3))
torch.maximum(torch.maximum(a, b), c).backward()
# Predict first: which number is a.grad?
print(a.grad.item())
torch.testing.assert_close([a.grad.item(), c.grad.item()], [0.25, 0.5])

# %%
# With relu6 and hardtanh
# -----------------------
#
# Each has two kinks, and gives 0 at both. ``clamp`` with the same bounds gives 1 there
# up to 2.13. From 2.14 on it gives 0, and they agree.

pairs = (
    ((0.0, 6.0), F.relu6, lambda x: x.clamp(0, 6)),
    ((-1.0, 1.0), F.hardtanh, lambda x: x.clamp(-1, 1)),
)
for ends, f, by_clamp in pairs:
    for end in ends:
        clamped = slope(by_clamp, end)
        print(f"{f.__name__} at {end}: {slope(f, end)}, clamp: {clamped}")
        torch.testing.assert_close(slope(f, end), 0.0)
        torch.testing.assert_close(clamped, 0.0 if new else 1.0)

# %%
# The fix
# -------
#
# Decide which gradient you want at the kink, and write it with ``torch.where``: ``>=``
# gives 1, and ``>`` gives 0, in all recorded releases. In a tie, ``>=`` gives all to
# the first tensor.

one_at_zero = slope(lambda x: torch.where(x >= 0, x, zero), 0.0)
zero_at_zero = slope(lambda x: torch.where(x > 0, x, zero), 0.0)
torch.testing.assert_close((one_at_zero, zero_at_zero), (1.0, 0.0))
torch.testing.assert_close(
    shares(lambda a, b: torch.where(a >= b, a, b)), [1.0, 0.0]
)

# %%
# In a test that compares two programs, choose inputs that are not on a kink: no 0 and
# no ties. There the gradients are equal.

x = torch.tensor([-2.0, -0.5, 0.5, 2.0], requires_grad=True)
(by_relu,) = torch.autograd.grad(F.relu(x).sum(), x)
(by_clamp,) = torch.autograd.grad(x.clamp(min=0).sum(), x)
torch.testing.assert_close(by_relu, by_clamp, rtol=0, atol=0)

# %%
# The popular fix that does not work
# ----------------------------------
#
# To let ``gradcheck`` decide who is right. It compares with a numerical slope. At this
# kink that is the mean of both sides, 0.5, and ``maximum`` passes:

point = torch.tensor(0.0, dtype=torch.float64, requires_grad=True)
bound = torch.tensor(0.0, dtype=torch.float64)
check = torch.autograd.gradcheck
assert check(lambda x: torch.maximum(x, bound), (point,))
# Predict first: does relu pass gradcheck at 0? True or False
print(check(torch.relu, (point,), raise_exception=False))
assert not check(torch.relu, (point,), raise_exception=False)

# %%
# Yet 0 is as valid as 0.5. ``gradcheck_blind_spot`` has more about this.
#
# Find the line in your own code
# ------------------------------
#
# Count how many inputs of an activation are exactly on its kink, which is 0 for
# ``relu``. If there are none, look for another reason. Here the second row of the
# input is padding.

model = torch.nn.Sequential(
    torch.nn.Linear(2, 2), torch.nn.ReLU(), torch.nn.Linear(2, 1)
)
torch.nn.init.zeros_(model[0].bias)
on_kink = {}


def count(module, inputs, output):
    on_kink[module.__class__.__name__] = (inputs[0] == 0).sum().item()


handle = model[1].register_forward_hook(count)
model(torch.tensor([[1.0, 2.0], [0.0, 0.0]]))
handle.remove()
print(on_kink)
assert on_kink == {"ReLU": 2}
