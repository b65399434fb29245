# /// script
# requires-python = ">=3.10"
# dependencies = ["torch"]
# ///
"""
A custom autograd.Function fails, or is wrong
=============================================

You will be able to write a Function with its own backward, and to find out why it fails, is not called, or is wrong.

How it shows:

- A custom ``torch.autograd.Function`` stops in ``backward()``: it returned an incorrect number of gradients.
- "returned an invalid gradient at index 0": what your ``backward`` returns has another shape than the input.
- A gradient reversal layer (GRL, domain adaptation) has no effect: ``backward`` of the ``nn.Module`` is never called.
- The output of a custom layer that returns its input is a view and cannot be modified in place.
- The gradient of a custom activation is right, but a gradient penalty, Hessian or double backward is silently wrong, or refused by ``once_differentiable``.
- ``gradcheck`` passes for a Function that saves intermediate results on ``ctx``, and ``gradgradcheck`` fails.

Know first: ``step_through_backward``.
"""

import torch
from torch.autograd import gradcheck, gradgradcheck
from torch.autograd.function import once_differentiable

# %%
# The shortest program that shows it
# ----------------------------------


class Scale(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, factor):
        ctx.factor = factor
        return x * factor

    @staticmethod
    def backward(ctx, grad):
        return grad * ctx.factor


x = torch.tensor([1.0], requires_grad=True)
try:
    Scale.apply(x, 3).backward()
except RuntimeError as error:
    print(error)
    assert "expected 2, got 1" in str(error)
else:
    raise AssertionError("one gradient was enough for two arguments")

# %%
# Why
# ---
#
# ``forward`` has two arguments after ``ctx``: ``x`` and ``factor``. ``backward`` must
# return one value for each of them, in the same order, also where an
# argument is no tensor.
#
# The fix
# -------
#
# Return ``None`` for an argument that needs no gradient.


class RightScale(Scale):
    @staticmethod
    def backward(ctx, grad):
        return grad * ctx.factor, None


RightScale.apply(x, 3).backward()
print(x.grad)
torch.testing.assert_close(x.grad, torch.tensor([3.0]))

# %%
# When the gradient has another shape
# -----------------------------------
#
# A gradient should have the shape of its argument. This one always has the
# shape ``[2]``.


class TwoValues(Scale):
    @staticmethod
    def backward(ctx, grad):
        return torch.tensor([10.0, 20.0]), None


x = torch.ones(3, requires_grad=True)
try:
    TwoValues.apply(x, 3).sum().backward()
except RuntimeError as error:
    print(error)
else:
    raise AssertionError("[2] was taken for [3]")

# %%
# Now ``x`` has the shape ``[1]``, and there is no error.

x = torch.ones(1, requires_grad=True)
TwoValues.apply(x, 3).backward()
# Predict first: which number is x.grad?
print(x.grad.item())
torch.testing.assert_close(x.grad, torch.tensor([30.0]))

# %%
# Where a sum over the extra values gives the right shape, autograd takes that sum. So
# a wrong shape is not always an error.
#
# When backward is a method of a module
# -------------------------------------
#
# Gradient reversal leaves the value alone and changes the sign of the gradient.
# Here it is written as a module with a ``backward`` method:


class ReverseModule(torch.nn.Module):
    def forward(self, x):
        return x

    def backward(self, grad):
        raise AssertionError("this is never called")


x = torch.ones(1, requires_grad=True)
ReverseModule()(x).backward()
print(x.grad.item())
torch.testing.assert_close(x.grad, torch.tensor([1.0]))

# %%
# The gradient keeps its sign. Autograd does not look for a ``backward`` in modules. It
# records operations and Functions. Write a Function:


class Reverse(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x

    @staticmethod
    def backward(ctx, grad):
        return -grad


x = torch.ones(1, requires_grad=True)
Reverse.apply(x).backward()
print(x.grad)
torch.testing.assert_close(x.grad, torch.tensor([-1.0]))

# %%
# When forward returns its input
# ------------------------------
#
# ``Reverse`` returns ``x`` itself. What comes out is not ``x`` but a view of it, so
# that the two can have different histories.

x = torch.ones(1, requires_grad=True)
y = Reverse.apply(x)
assert y is not x and y._base is x

# %%
# The gradient is right, as you saw. But after a change in place of this view,
# autograd would not use your ``backward``. So it refuses the change. (PyTorch 1.6
# did not yet.)

try:
    y += 1
except RuntimeError as error:
    print(str(error).partition(". ")[0])
else:
    raise AssertionError("the output was changed in place")

# %%
# Return ``x.clone()``, which is no view, or do not change the output in place.


class ReverseClone(Reverse):
    @staticmethod
    def forward(ctx, x):
        return x.clone()


y = ReverseClone.apply(x)
y += 1
y.backward()
torch.testing.assert_close(x.grad, torch.tensor([-1.0]))

# %%
# When only the second derivative is wrong
# ----------------------------------------
#
# This Function is :math:`f(h) = (2h)^2`. It keeps ``2 * h`` for the backward.


class Keep(torch.autograd.Function):
    @staticmethod
    def forward(ctx, h):
        ctx.double = 2 * h
        return ctx.double**2

    @staticmethod
    def backward(ctx, grad):
        return 4 * ctx.double * grad


# %%
# With :math:`h = x^2` the whole is :math:`4x^4`. At 1, the first derivative is
# :math:`16x^3 = 16` and the second one :math:`48x^2 = 48`.


def first_and_second(function):
    x = torch.tensor(1.0, requires_grad=True)
    y = function.apply(x * x)
    (first,) = torch.autograd.grad(y, x, create_graph=True)
    (second,) = torch.autograd.grad(first, x)
    return first.item(), second.item()


print(first_and_second(Keep))
torch.testing.assert_close(first_and_second(Keep), (16.0, 16.0))

# %%
# The second one is wrong, and there is no error. ``forward`` of a Function runs
# without recording. So ``ctx.double`` has no history, and for the second derivative it
# is a constant. To look at it: ``ctx`` is the ``grad_fn`` of the output.

y = Keep.apply(torch.ones(1, requires_grad=True))
assert not y.grad_fn.double.requires_grad

# %%
# Save the *input*, whose history is known, and compute the rest in ``backward``:


class Save(Keep):
    @staticmethod
    def forward(ctx, h):
        ctx.save_for_backward(h)
        return (2 * h) ** 2

    @staticmethod
    def backward(ctx, grad):
        (h,) = ctx.saved_tensors
        return 4 * (2 * h) * grad


print(first_and_second(Save))
torch.testing.assert_close(first_and_second(Save), (16.0, 48.0))

# %%
# The popular fix that does not work
# ----------------------------------
#
# ``save_for_backward`` for ``2 * h`` does not give it a history.


class SaveBetween(Keep):
    @staticmethod
    def forward(ctx, h):
        double = 2 * h
        ctx.save_for_backward(double)
        return double**2

    @staticmethod
    def backward(ctx, grad):
        return 4 * ctx.saved_tensors[0] * grad


torch.testing.assert_close(first_and_second(SaveBetween), (16.0, 16.0))

# %%
# ``once_differentiable`` should make a second derivative an error. It does not find
# all cases. Here it raises nothing, and you get the wrong number as before.


class Once(Keep):
    @staticmethod
    @once_differentiable
    def backward(ctx, grad):
        return 4 * ctx.double * grad


torch.testing.assert_close(first_and_second(Once), (16.0, 16.0))

# %%
# Find the line in your own code
# ------------------------------
#
# Is your backward in the graph? The ``grad_fn`` of the output has its name.

for layer in (ReverseModule(), ReverseClone.apply):
    y = layer(torch.ones(1, requires_grad=True) * 2)
    print(y.grad_fn.name())
assert y.grad_fn.name() == "ReverseCloneBackward"

# %%
# Are its derivatives right? ``gradcheck`` tests the first one, ``gradgradcheck`` the
# second one. Use inputs in float64.

torch.manual_seed(0)  # gradgradcheck draws random numbers
for function in (Keep, SaveBetween, Once, Save):
    x = torch.tensor(1.0, dtype=torch.float64, requires_grad=True)
    first = gradcheck(function.apply, x)
    second = gradgradcheck(function.apply, x, raise_exception=False)
    print(f"{function.__name__}: first {first}, second {second}")
    assert first and second == (function is Save)
