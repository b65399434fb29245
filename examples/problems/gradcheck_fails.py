# /// script
# requires-python = ">=3.10"
# dependencies = ["torch"]
# ///
"""
gradcheck fails: Jacobian mismatch
==================================

You will be able to tell a wrong gradient from a measurement that is too coarse.

How it shows:

- ``torch.autograd.gradcheck`` reports a ``Jacobian mismatch`` for a plain ``nn.Linear`` or another layer of PyTorch.
- The numerical and the analytical gradient are close, but not close enough; the numerical one looks noisy.
- A warning says that an input is not a double precision floating point tensor.
- The check of a custom layer passes for some inputs or with a large ``atol``, and fails otherwise (``GradcheckError``).
- It fails for a model in float32, in half precision, or with ``.float()`` somewhere inside.

Know first: ``gradcheck_blind_spot``.
"""

import copy
import warnings

import torch
from torch.autograd import gradcheck

# %%
# The shortest program that shows it
# ----------------------------------
#
# A linear layer with the weights 1 and 2. The gradient of its output by its
# input is ``[1, 2]``.

layer = torch.nn.Linear(2, 1)
with torch.no_grad():
    layer.weight.copy_(torch.tensor([[1.0, 2.0]]))
    layer.bias.zero_()


def warned(function, *arguments, **options):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            function(*arguments, **options)
        except RuntimeError as error:
            return caught, error
    return caught, None


# %%
# gradcheck gives a warning, and an error:

x = torch.tensor([[3.0, 4.0]], requires_grad=True)
caught, error = warned(gradcheck, layer, x)
print("UserWarning:", str(caught[0].message).strip())
print(f"{type(error).__name__}: {error}")
assert "Jacobian mismatch" in str(error)

# %%
# Why
# ---
#
# *Analytical* is autograd's gradient. It is right:

layer(x).backward()
torch.testing.assert_close(x.grad, torch.tensor([[1.0, 2.0]]))

# %%
# *Numerical* is measured: gradcheck changes the input by a step of ``1e-6``, and looks
# how much the output changes. But the output is 11, and two neighbouring float32
# numbers there are nearly one step apart.


def gap(number):
    return (torch.nextafter(number, number + 1) - number).item()


output = layer(x)[0, 0].detach()
print(f"output {output.item()}, gap {gap(output):.2e}, step 1.00e-06")

# %%
# So the output is rounded. The measured slopes above are one and two of these gaps,
# divided by the step. In float64 the gap is far smaller than the step:

assert f"{1 * gap(output) / 1e-6:.4f}" in str(error)
assert f"{2 * gap(output) / 1e-6:.4f}" in str(error)
print(f"gap {gap(output.double()):.2e}, step 1.00e-06")
assert gap(output.double()) < 1e-14

# %%
# The fix
# -------
#
# Check in float64, the input *and* the layer. ``double()`` changes a module itself,
# so take a copy.

double_layer = copy.deepcopy(layer).double()
double_x = x.detach().double().requires_grad_()
print(gradcheck(double_layer, double_x))
assert gradcheck(double_layer, double_x)
assert layer.weight.dtype == torch.float32

# %%
# When a weight gets no gradient
# ------------------------------
#
# This function has an error: its weight gets no gradient.


def cut(x, weight):
    return x @ weight.detach().T


weight = double_layer.weight
# Predict first: does this check pass? True or False
print(gradcheck(lambda x: cut(x, weight), double_x, raise_exception=False))
assert gradcheck(lambda x: cut(x, weight), double_x)

# %%
# ``gradcheck`` looks only at the inputs that you give to it. Give it the weight too:

assert not gradcheck(cut, (double_x, weight), raise_exception=False)

# %%
# With dropout
# ------------
#
# The measurement calls the function several times, and must get the same function
# each time. Switch dropout off with ``eval``:

model = torch.nn.Sequential(double_layer, torch.nn.Dropout())
torch.manual_seed(0)
assert not gradcheck(model, double_x, raise_exception=False)
assert gradcheck(model.eval(), double_x)

# %%
# At a kink
# ---------
#
# ``relu`` has a kink at 0: there is no single slope to measure, and float64 does not
# help (``gradcheck_blind_spot``). Check at another point.

zero = torch.zeros(1, dtype=torch.float64, requires_grad=True)
one = torch.ones(1, dtype=torch.float64, requires_grad=True)
assert not gradcheck(torch.relu, zero, raise_exception=False)
assert gradcheck(torch.relu, one)

# %%
# The popular fix that does not work
# ----------------------------------
#
# A larger tolerance makes the error go away. But then a wrong gradient passes as
# well. This backward is wrong by 5 percent:


class Wrong(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return 2 * x

    @staticmethod
    def backward(ctx, grad):
        return 2.1 * grad


caught, error = warned(gradcheck, layer, x, atol=0.2)
assert error is None
caught, error = warned(gradcheck, Wrong.apply, x, atol=0.2)
print("error:", error)
assert error is None

# %%
# In float64 the usual tolerance is enough to find it:

assert not gradcheck(Wrong.apply, double_x, raise_exception=False)

# %%
# Find the line in your own code
# ------------------------------
#
# If the inputs are float64 and it still fails, something inside may go back to
# float32. Then there is no warning. Here it is ``float()``:


def hidden(x):
    return (x.float() ** 2).sum()


caught, error = warned(gradcheck, hidden, double_x)
assert error is not None and caught == []

# %%
# Autograd records the conversion. List the conversions in the graph of the output:


def conversions(output):
    found, waiting = [], [output.grad_fn]
    while waiting:
        node = waiting.pop()
        if node is not None:
            waiting.extend(following for following, _ in node.next_functions)
            if node.name().startswith("ToCopy"):
                found.append(node.name())
    return found


print(conversions(hidden(double_x)))
assert len(conversions(hidden(double_x))) == 1
assert conversions(double_layer(double_x)) == []
