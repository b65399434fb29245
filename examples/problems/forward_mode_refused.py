# /// script
# requires-python = ">=3.10"
# dependencies = ["torch"]
# ///
"""
Trying to use forward AD with ... that does not support it
==========================================================

You will be able to find the operation that forward mode refuses, and to get the same derivative in another way.

How it shows:

- ``jvp``, ``jacfwd`` or ``hessian`` of ``torch.func`` stops with ``NotImplementedError``: "has not been implemented yet".
- A transformer trains well, but a Jacobian-vector product or a Hessian through its attention layer fails.
- The message names ``_scaled_dot_product_flash_attention`` or another kernel that you never called.
- Dual numbers (``make_dual``) do not get through ``embedding_bag`` or another layer.
- "You must implement the jvp function for custom autograd.Function".
- For a complex function, forward and reverse mode give conjugate results, or ``jacfwd`` and ``jacrev`` refuse the input.

Know first: ``backward_with_weights``.
"""

import warnings

import torch
import torch.nn.functional as F
from torch.autograd import forward_ad
from torch.nn.attention import SDPBackend, sdpa_kernel

# %%
# The shortest program that shows it
# ----------------------------------
#
# A sequence of one position can attend only to itself, so attention returns its
# input. (In some releases the first use of forward mode gives a warning that concerns
# only PyTorch itself. The ``with`` hides it.)


def attend(q):
    return F.scaled_dot_product_attention(q, q, q)


q = torch.tensor([[[[1.0, 2.0]]]])
direction = torch.tensor([[[[3.0, 5.0]]]])
torch.testing.assert_close(attend(q), q)
with warnings.catch_warnings(record=True):
    warnings.simplefilter("always")
    try:
        torch.func.jvp(attend, (q,), (direction,))
    except NotImplementedError as error:
        print(str(error).partition("\n")[0])
    else:
        raise AssertionError("attention has forward mode")

# %%
# Why
# ---
#
# Forward mode computes, beside each value, how fast it changes in one direction.
# For this each operation needs a second formula. Training uses the formula for
# backward, and that one is there:

_, backward = torch.func.vjp(attend, q)
torch.testing.assert_close(backward(direction)[0], direction)

# %%
# ``scaled_dot_product_attention`` chooses between several kernels. The message names the
# one that it chose, flash attention for the CPU. That kernel has no formula for forward
# mode. (On the CPU, PyTorch 2.0 gave a result here; 2.5 and later refuse.)
#
# Other operations lack the formula too. ``backward`` works for ``embedding_bag``, but dual
# numbers do not get through:


def bag(weight):
    return F.embedding_bag(torch.tensor([[0]]), weight, mode="sum")


weight = torch.ones(1, 2, requires_grad=True)
bag(weight).sum().backward()
torch.testing.assert_close(weight.grad, torch.ones(1, 2))
with forward_ad.dual_level():
    dual = forward_ad.make_dual(weight.detach(), torch.ones(1, 2))
    try:
        bag(dual)
    except NotImplementedError as error:
        print(str(error).partition(" that")[0])
    else:
        raise AssertionError("embedding_bag has forward mode")

# %%
# The fix
# -------
#
# Ask for the backend ``MATH``. It computes attention from small operations, and each of
# them has the formula.

with sdpa_kernel(SDPBackend.MATH):
    _, change = torch.func.jvp(attend, (q,), (direction,))
# Predict first: how does the result change when q moves by (3, 5)?
print(change.flatten().tolist())
torch.testing.assert_close(change, direction)

# %%
# ``torch.func.hessian`` runs forward mode over backward, so it needs the same.
# The sum of squares of ``q`` has the Hessian 2 on the diagonal:

with sdpa_kernel(SDPBackend.MATH):
    hessian = torch.func.hessian(lambda q: attend(q).square().sum())(q)
torch.testing.assert_close(hessian.view(2, 2), 2 * torch.eye(2))

# %%
# For a whole Jacobian you need no forward mode: ``torch.autograd.functional.jacobian`` uses
# ``backward``, unless you ask otherwise.

jacobian = torch.autograd.functional.jacobian(attend, q)
torch.testing.assert_close(jacobian.view(2, 2), torch.eye(2))

# %%
# Your own Function
# -----------------
#
# A ``torch.autograd.Function`` has no forward mode until you write ``jvp``.


class Cube(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x**3

    @staticmethod
    def backward(ctx, gradient):
        (x,) = ctx.saved_tensors
        return 3 * x**2 * gradient


# %%
# ``make_dual`` joins a value and a direction:


def push(function, x, direction):
    with forward_ad.dual_level():
        result = function(forward_ad.make_dual(x, direction))
        return forward_ad.unpack_dual(result).tangent


x, one = torch.tensor(2.0), torch.tensor(1.0)
try:
    push(Cube.apply, x, one)
except NotImplementedError as error:
    print(error)
else:
    raise AssertionError("a Function without jvp has forward mode")

# %%
# ``jvp`` gets a direction for each input, and returns one for each output. Save
# what it needs with ``save_for_forward``.


class CubeWithJvp(Cube):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_forward(x)
        return Cube.forward(ctx, x)

    @staticmethod
    def jvp(ctx, direction):
        (x,) = ctx.saved_tensors
        return 3 * x**2 * direction


torch.testing.assert_close(push(CubeWithJvp.apply, x, one), torch.tensor(12.0))

# %%
# Complex numbers
# ---------------
#
# For ``z**2`` the derivative is ``2 * z``. Forward mode multiplies by it. Backward
# multiplies by its conjugate: the sign of the imaginary part differs. Neither is an
# error: the two modes compute different things.

z = torch.tensor(1 + 2j, dtype=torch.complex128)
one = torch.ones_like(z)
_, forward = torch.func.jvp(torch.square, (z,), (one,))
reverse = torch.func.vjp(torch.square, z)[1](one)[0]
print(forward.item(), reverse.item())
torch.testing.assert_close(forward, 2 * z)
torch.testing.assert_close(reverse, (2 * z).conj())

# %%
# So a complex Jacobian would depend on the mode. ``jacfwd`` and ``jacrev`` of ``torch.func``
# both refuse complex inputs:

for transform in (torch.func.jacfwd, torch.func.jacrev):
    try:
        transform(torch.square)(z)
    except RuntimeError as error:
        print(error)
    else:
        raise AssertionError("a complex Jacobian")

# %%
# Write the function with real inputs and outputs. Then both modes agree. The
# first column holds the real and the imaginary part of ``2 * z``.


def square(parts):
    z = torch.view_as_complex(parts)
    return torch.view_as_real(z * z)


parts = torch.view_as_real(z)
jacobian = torch.func.jacfwd(square)(parts)
print(jacobian.tolist())
torch.testing.assert_close(jacobian, torch.func.jacrev(square)(parts))
torch.testing.assert_close(jacobian[:, 0], torch.view_as_real(2 * z))

# %%
# The popular fix that does not work
# ----------------------------------
#
# ``detach`` in front of the operation removes the message. But then its result is a
# constant. Here ``q * attend(q)`` is ``q**2``, and the right answer is
# ``2 * q * direction``, so (6, 20):


def cut(q):
    return q * attend(q.detach())


_, wrong = torch.func.jvp(cut, (q,), (direction,))
with sdpa_kernel(SDPBackend.MATH):
    _, right = torch.func.jvp(lambda q: q * attend(q), (q,), (direction,))
print("detached:", wrong.flatten().tolist())
print("right:   ", right.flatten().tolist())
torch.testing.assert_close(wrong, q * direction)
torch.testing.assert_close(right, 2 * q * direction)

# %%
# Find the line in your own code
# ------------------------------
#
# The message names a kernel, and not your layer. Note the name of each layer when it
# begins. The last name before the error is the layer that you look for.


class Attend(torch.nn.Module):
    def forward(self, q):
        return attend(q)


model = torch.nn.Sequential(torch.nn.Tanh(), Attend(), torch.nn.Tanh())

begun = []
for name, module in model.named_modules():
    module.register_forward_pre_hook(lambda *_, name=name: begun.append(name))
try:
    torch.func.jvp(model, (q,), (direction,))
except NotImplementedError:
    layer = model.get_submodule(begun[-1])
    print("refused in layer", begun[-1], type(layer).__name__)
else:
    raise AssertionError("no layer refused")
assert begun[-1] == "1"
