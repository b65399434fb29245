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
print("UserWarning:", caught[0].message)
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
# how much the output changes. But between 2 and 4, two neighbouring numbers of
# float32 are about a quarter of that step apart.

three = torch.tensor(3.0)
gap = torch.nextafter(three, torch.tensor(4.0)) - three
print(f"the gap: {gap.item():.1e}, the step: 1.0e-06")
assert 0.2e-6 < gap.item() < 0.3e-6

# %%
# So ``3 + 1e-6`` is rounded, and the slopes above are 5 per cent too small. In
# float64 the gap is far smaller than the step:

three = three.double()
gap = torch.nextafter(three, three + 1) - three
print(f"the gap: {gap.item():.1e}, the step: 1.0e-06")
assert gap.item() < 1e-15

# %%
# The fix
# -------
#
# Check in float64, the input *and* the layer. ``double()`` changes a module itself,
# so take a copy.

double_layer = copy.deepcopy(layer).double()
double_x = x.detach().double().requires_grad_()
# Predict first: does it pass now? True or False
print(gradcheck(double_layer, double_x))
assert gradcheck(double_layer, double_x)
assert layer.weight.dtype == torch.float32

# %%
# ``gradcheck`` looks only at the inputs that you hand over. This function gives its
# weight no gradient. That is found when the weight is an input too:


def cut(x, weight):
    return x @ weight.detach().T


weight = double_layer.weight
assert gradcheck(lambda x: cut(x, weight), double_x)
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
# At a kink, as ``relu`` at 0, float64 does not help: there is no single slope to
# measure. ``gradcheck_blind_spot`` has the numbers. Check at another point.

zero = torch.zeros(1, dtype=torch.float64, requires_grad=True)
one = torch.ones(1, dtype=torch.float64, requires_grad=True)
assert not gradcheck(torch.relu, zero, raise_exception=False)
assert gradcheck(torch.relu, one)

# %%
# The popular fix that does not work
# ----------------------------------
#
# A larger tolerance makes the error go away. But then a wrong gradient passes as
# well. This backward is wrong by 5 per cent:


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
# Autograd records the conversion. Walk the graph of the output, and list the nodes
# of conversions:


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
