# /// script
# requires-python = ">=3.10"
# dependencies = ["torch", "torchviz", "setuptools"]
# ///
# Pictures show in a notebook or in an editor's cells, where Graphviz's `dot` is installed; all else runs without.
"""
Predict .grad after a second backward
=====================================

You will be able to say what ``.grad`` holds after two or three calls of ``backward()``, and to see when that is a mistake.

``backward()`` adds to ``.grad``; it does not replace it. A training loop that
forgets this learns from a mix of old and new gradients, and no error tells
you.

Know first: ``first_gradient``, ``before_and_after_backward``.
"""

import torch
from torchviz import make_dot

# %%
# The first call
# --------------
#
# As before, the input is :math:`(0, 1, 2, 3)` and the result is
# :math:`2\,\mathbf{x}\cdot\mathbf{x}`. Its gradient is :math:`4\,\mathbf{x}`.

x = torch.arange(4.0, requires_grad=True)
y = 2 * torch.dot(x, x)
y.backward()
print(x.grad)
torch.testing.assert_close(x.grad, 4 * x.detach())

# %%
# The second call, on another result
# ----------------------------------
#
# Now take a new result from the same ``x``: the plain sum. Alone, its gradient
# is 1 for each input.

total = x.sum()
make_dot(total, params={"x": x, "total": total})

# %%
# ``x.grad`` holds ``[0, 4, 8, 12]`` already. What will it hold after the next
# call?

total.backward()
# Predict first: the four numbers in x.grad after both calls
print(x.grad)
torch.testing.assert_close(x.grad, torch.tensor([1.0, 5.0, 9.0, 13.0]))

# %%
# Each entry grew by 1: :math:`4\,\mathbf{x} + 1`. The box ``AccumulateGrad``
# at the leaf in the picture has its name from this: it accumulates.
#
# Clear first, then ask
# ---------------------
#
# ``x.grad.zero_()`` sets the stored numbers to zero. The underscore at the end
# of the name says that the method changes the tensor itself.

x.grad.zero_()
x.sum().backward()
# Predict first: the four numbers in x.grad this time
print(x.grad)
torch.testing.assert_close(x.grad, torch.ones(4))

# %%
# What goes wrong without clearing
# --------------------------------
#
# A loop looks for the :math:`w` that makes :math:`(w - 3)^2` smallest. It
# starts at 0 and takes steps of a tenth of the gradient. The true gradient at
# :math:`w` is :math:`2\,(w - 3)`.


def descend(clear):
    w = torch.tensor(0.0, requires_grad=True)
    path = []
    for _ in range(21):
        path.append(round(w.item(), 1))
        if clear and w.grad is not None:
            w.grad.zero_()
        ((w - 3) ** 2).backward()
        with torch.no_grad():
            w -= 0.1 * w.grad
    return path


# %%
# Here is every fourth point. With clearing they settle at 3. Without it, each
# step uses the sum of all gradients so far: the points run past 3, come back,
# and do not settle.

cleared, not_cleared = descend(clear=True), descend(clear=False)
print("cleared:    ", cleared[::4])
print("not cleared:", not_cleared[::4])
assert abs(cleared[-1] - 3) < 0.1
assert max(not_cleared) > 5
assert min(not_cleared[10:]) < 1

# %%
# No error and no warning came. If your loss goes up and down and does not
# settle, look for a missing clear.
#
# What you can do now
# -------------------
#
# - You can predict ``.grad`` after any number of calls: it is the sum.
# - You can find the mistake of a loop that does not clear.
#
# Exercises
# ---------
#
# 1. Three calls on three results, with nothing cleared. Each result is
#    :math:`a^2` at :math:`a = 5`.

a = torch.tensor(5.0, requires_grad=True)
for _ in range(3):
    (a * a).backward()
# Predict first: which number is a.grad?
print(a.grad.item())
torch.testing.assert_close(a.grad.item(), 30.0)

# %%
# 2. Two results pull in opposite directions: :math:`3\,b` and :math:`-3\,b`.

b = torch.tensor(2.0, requires_grad=True)
(3 * b).backward()
(-3 * b).backward()
# Predict first: which number is b.grad?
print(b.grad.item())
torch.testing.assert_close(b.grad.item(), 0.0)

# %%
# The two contributions cancel. A zero in ``.grad`` can be the sum of numbers
# that are not zero.
