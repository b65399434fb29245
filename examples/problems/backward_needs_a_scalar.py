# /// script
# requires-python = ">=3.10"
# dependencies = ["torch"]
# ///
"""
Grad can be implicitly created only for scalar outputs
======================================================

You will be able to say what backward should do with many outputs, and to give it a ``gradient`` argument of the right shape.

How it shows:

- ``loss.backward()`` stops, and the loss prints as a list of numbers: one for each sample, as with ``reduction="none"`` or per-example weights.
- ``y.backward()`` or ``torch.autograd.grad(y, x)`` fails for a vector or matrix: a network with several outputs, a gradient penalty of a GAN, a PINN.
- A loss gathered from several GPUs (``nn.DataParallel``) has one value for each GPU, and the training loop stops.
- A tutorial passes a tensor of unexplained numbers, ``y.backward(v)`` or ``grad_outputs=v``, and nobody says what this argument means or where the numbers come from.
- "Mismatch in shape: grad_output[0] has a shape of ... and output[0] has a shape of ..."
- The loss is a complex number, and backward wants a *real* scalar.

Know first: ``why_a_scalar``, ``backward_with_weights``.
"""

import torch

# %%
# The shortest program that shows it
# ----------------------------------

x = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
y = x**2
try:
    y.backward()
except RuntimeError as error:
    print(error)
else:
    raise AssertionError("three outputs need weights")

# %%
# Why
# ---
#
# Each of the three outputs has a slope by each of the three inputs: nine numbers.
# ``x.grad`` has room for three. So the slopes of the outputs must be added, and you
# have to say with which weight each one counts. For a single number PyTorch takes
# the weight 1; for more it does not guess.

(implied,) = torch.autograd.grad((x**2).sum(), x)
total = (x**2).sum()
total.backward(gradient=torch.tensor(1.0))
torch.testing.assert_close(x.grad, implied)

# %%
# "Scalar" means one element. The shape may be ``(1, 1)``:

one = torch.tensor([[3.0]], requires_grad=True)
(one**2).backward()
torch.testing.assert_close(one.grad, torch.tensor([[6.0]]))

# %%
# The fix
# -------
#
# Reduce the outputs to one number. The usual choices are the sum and the mean. The mean
# of ``n`` outputs gives gradients that are ``n`` times smaller; here ``n`` is 2.

samples = torch.tensor([4.0, 6.0])
w = torch.tensor(1.0, requires_grad=True)
losses = torch.nn.functional.mse_loss(
    w * torch.ones(2), samples, reduction="none"
)
(by_sum,) = torch.autograd.grad(losses.sum(), w, retain_graph=True)
(by_mean,) = torch.autograd.grad(losses.mean(), w)
print(by_sum.item(), by_mean.item())
torch.testing.assert_close(by_sum, torch.tensor(-6.0 - 10.0))
torch.testing.assert_close(by_mean, by_sum / 2)

# %%
# What the gradient argument means
# --------------------------------
#
# It holds the weights. ``y.backward(v)`` computes the gradient of ``(v * y).sum()``,
# where ``v`` is taken as constant. Take the weights 1, 10 and 100 for the
# outputs :math:`x_i^2` at 1, 2 and 3, whose slopes are 2, 4 and 6.

x = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
v = torch.tensor([1.0, 10.0, 100.0])
(x**2).backward(v)
# Predict first: which three numbers are in x.grad?
print(x.grad.tolist())

# %%
# It is the gradient of that sum:

(of_sum,) = torch.autograd.grad((v * x**2).sum(), x)
torch.testing.assert_close(x.grad, of_sum)

# %%
# In other words: it is ``v`` times the Jacobian, and not the Jacobian itself.

jacobian = torch.autograd.functional.jacobian(lambda x: x**2, x.detach())
print(jacobian)
torch.testing.assert_close(x.grad, v @ jacobian)

# %%
# A tutorial takes any numbers for ``v``. In a program they come from what follows
# ``y``: ``v`` is the derivative, by ``y``, of a later single number. With this ``v``,
# backward from ``y`` gives the same as backward from that number.

y = x**2
later = (5 * y).sum()
(v,) = torch.autograd.grad(later, y, retain_graph=True)
torch.testing.assert_close(v, torch.full((3,), 5.0))
(from_y,) = torch.autograd.grad(y, x, grad_outputs=v, retain_graph=True)
(from_later,) = torch.autograd.grad(later, x)
torch.testing.assert_close(from_y, from_later)

# %%
# Which shape the gradient argument must have
# -------------------------------------------
#
# One weight for each *output*: the shape of the tensor on which you call ``backward``.
# The shape of the input is right only where both are the same.

table = torch.ones(2, 3, requires_grad=True)
rows = table.sum(dim=1)
try:
    rows.backward(torch.ones_like(table))
except RuntimeError as error:
    print(error)
else:
    raise AssertionError("the shape of the input was taken")

# %%
# ``ones_like`` of the output always fits. The gradient has the shape of the input.

rows.backward(torch.ones_like(rows))
assert table.grad.shape == table.shape
torch.testing.assert_close(table.grad, torch.ones(2, 3))

# %%
# A complex loss
# --------------
#
# One complex number is two real ones, so you have to choose here, too. PyTorch 2.0
# still took a complex loss; 2.5 and later refuse it.

z = torch.tensor(3.0 + 4.0j, requires_grad=True)
try:
    (z * z.conj()).backward()
except RuntimeError as error:
    print(error)
else:
    raise AssertionError("a complex loss needs a choice")

# %%
# Take the real number that you mean, as ``.real`` or ``abs()``:

(z * z.conj()).real.backward()
torch.testing.assert_close(z.grad, torch.tensor(6.0 + 8.0j))

# %%
# The popular fix that does not work
# ----------------------------------
#
# ``y.backward(torch.ones_like(y))`` removes the error. It is the same as
# ``y.sum().backward()``, so it is wrong if you wanted the slope of each output.
# The outputs of ``softmax`` always add up to 1, and the slope of their sum is 0:

x = torch.zeros(2, requires_grad=True)
y = torch.softmax(x, dim=0)
y.backward(torch.ones_like(y))
print(x.grad)
torch.testing.assert_close(x.grad, torch.zeros(2))

# %%
# Yet each output does depend on each input. To see this, ask for one output at a time,
# or for the Jacobian.

(slopes,) = torch.autograd.grad(torch.softmax(x, dim=0)[0], x)
print(slopes)
torch.testing.assert_close(slopes, torch.tensor([0.25, -0.25]))

# %%
# Find the line in your own code
# ------------------------------
#
# Print the shape of each part of your loss, and the operation that made it. Reduce
# the part that is not a single number.

target = torch.tensor([1.0, 2.0, 3.0])
w = torch.ones(3, requires_grad=True)
parts = {
    "penalty": (w**2).sum(),
    "fit": torch.nn.functional.mse_loss(w, target, reduction="none"),
}
for name, part in parts.items():
    print(name, tuple(part.shape), part.grad_fn.name())
wrong = [name for name, part in parts.items() if part.numel() != 1]
assert wrong == ["fit"]
