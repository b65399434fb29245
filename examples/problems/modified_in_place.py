# /// script
# requires-python = ">=3.10"
# dependencies = ["torch"]
# ///
"""
One of the variables was modified by an inplace operation
=========================================================

You will be able to read this message, to find the line that changed the numbers, and to write the line in another way.

How it shows:

- ``loss.backward()`` stops: one of the variables needed for gradient computation has been modified by an inplace operation.
- The message says "is at version 2; expected version 1", and names an ``output 0 of`` something that you never called.
- A GAN or an actor-critic stops at the second ``backward()``, after ``optimizer.step()`` of the first network.
- A loop writes into a preallocated tensor, as in ``out[t] = ...`` or ``hidden[:, t] = ...``.
- A residual connection with ``+=``, or an activation with ``inplace=True``, breaks the training.
- An old training script, made for PyTorch 1.4, raises a ``RuntimeError`` on a newer version.

Know first: ``version_counter``, ``silently_wrong``.
"""

import warnings

import torch
from torch.overrides import TorchFunctionMode

# %%
# The shortest program that shows it
# ----------------------------------

x = torch.zeros(2, requires_grad=True)
y = x.exp()
y += 1
try:
    y.sum().backward()
except RuntimeError as error:
    message = str(error)
    print(message)
else:
    raise AssertionError("the change was not noticed")

# %%
# Why
# ---
#
# The slope of ``exp`` is its own result, so ``exp`` saved ``y`` for backward. Then
# ``y += 1`` wrote over the saved numbers. Each tensor counts such changes; backward
# compares the count with the one at the time of saving, and refuses.

assert "is at version 1; expected version 0" in message
assert y._version == 1

# %%
# ``x * 3`` saves the factor 3 and not its result. The same ``+= 1`` is allowed there:

y = x * 3
y += 1
y.sum().backward()
torch.testing.assert_close(x.grad, torch.tensor([3.0, 3.0]))

# %%
# The fix
# -------
#
# Make a new tensor: ``y = y + 1`` in place of ``y += 1``. Then the saved one stays as
# it was. The slope of :math:`e^x` at 0 is 1.

x.grad = None
y = x.exp()
y = y + 1
y.sum().backward()
torch.testing.assert_close(x.grad, torch.tensor([1.0, 1.0]))

# %%
# The same for an activation: leave out ``inplace=True``. After a ``Sigmoid``, which
# saves its result, it breaks backward.

for inplace in (False, True):
    y = torch.nn.ReLU(inplace=inplace)(torch.nn.Sigmoid()(x))
    try:
        y.sum().backward()
        assert not inplace
    except RuntimeError as error:
        assert inplace and "output 0 of Sigmoid" in str(error)

# %%
# Which operation does the message name
# -------------------------------------
#
# Here it is ``Exp``, the operation of the forward pass whose result was changed. Up to
# PyTorch 2.9 the message had the name of the node, as in ``ExpBackward0``. From 2.13 on
# it has the name of the operation. The node itself keeps its name.


def named_in(message):
    return message.partition("output 0 of ")[2].partition(",")[0]


assert named_in(message) == "Exp"
assert x.exp().grad_fn.name() == "ExpBackward0"

# %%
# ``exp`` saved its *result*. A square saves its *input*:

b = x + 1
loss = (b**2).sum()
b.mul_(3)
try:
    loss.backward()
except RuntimeError as error:
    # Predict first: does it name Add, Pow or Mul?
    print(named_in(str(error)))
    assert named_in(str(error)) == "Mul"
else:
    raise AssertionError("the change was not noticed")

# %%
# For a saved input it names the last operation that was recorded for this tensor. Here
# that is the change itself.
#
# An optimizer step between two backward calls
# --------------------------------------------
#
# The optimizer changes the weights in place, and this counts from PyTorch 1.6 on (in
# 1.4 it did not). Here is a GAN of two weights. The critic makes its step; then the
# loss of the generator goes back through the old graph.


def make_gan():
    generator = torch.nn.Linear(1, 1, bias=False)
    critic = torch.nn.Linear(1, 1, bias=False)
    torch.nn.init.constant_(generator.weight, 1.0)
    torch.nn.init.constant_(critic.weight, 2.0)
    return generator, critic, torch.optim.SGD(critic.parameters(), lr=0.25)


one = torch.ones(1, 1)
generator, critic, critic_step = make_gan()
score = critic(generator(one)) ** 2
score.sum().backward(retain_graph=True)
critic_step.step()
try:
    (-score).sum().backward()
except RuntimeError as error:
    print(str(error).partition(" Hint")[0])
else:
    raise AssertionError("the step was not noticed")

# %%
# No line of this program calls ``AsStrided``. ``Linear`` saved a view of its weight,
# the weight transposed, and the view got this name when the weight was changed.
# Compare the shape in the message with the shapes of your weights.

view = critic.weight.t()
assert view.grad_fn.name() == "TBackward0"
critic_step.step()
assert view.grad_fn.name() == "AsStridedBackward0"

# %%
# Run the forward pass again after the step. The critic's step itself needs no gradient
# of the generator: ``detach`` the fake data there, and no ``retain_graph`` is needed.

generator, critic, critic_step = make_gan()
fake = generator(one)
(critic(fake.detach()) ** 2).sum().backward()
critic_step.step()
(-(critic(fake) ** 2)).sum().backward()
print(critic.weight.item(), generator.weight.grad.item())

# %%
# The critic's weight went from 2 to :math:`2 - 0.25 \cdot 4 = 1`. The generator's
# gradient is that of :math:`-(1 \cdot g)^2` at :math:`g = 1`.

torch.testing.assert_close(critic.weight.item(), 1.0)
torch.testing.assert_close(generator.weight.grad.item(), -2.0)

# %%
# Or do both backward passes first, and step after them. Then both losses see the old
# critic: the gradient is that of :math:`-(2 g)^2`, which is -8.

generator, critic, critic_step = make_gan()
score = critic(generator(one)) ** 2
(gradient,) = torch.autograd.grad(
    (-score).sum(), generator.weight, retain_graph=True
)
score.sum().backward(inputs=[critic.weight])
critic_step.step()
torch.testing.assert_close(gradient.item(), -8.0)
torch.testing.assert_close(critic.weight.item(), 1.0)

# %%
# A loop that fills a tensor
# --------------------------
#
# ``state[i + 1] = ...`` writes into the tensor whose part ``state[i]`` was saved.
# There is one version counter for all of it.

w = torch.tensor(2.0, requires_grad=True)
state = torch.zeros(3)
state[0] = 1.0
for i in range(2):
    state[i + 1] = w * state[i]
try:
    state[2].backward()
except RuntimeError as error:
    assert "modified by an inplace operation" in str(error)
else:
    raise AssertionError("the assignment was not noticed")

# %%
# Collect the values in a list, and ``stack`` them at the end. The last one is
# :math:`w^2`, with slope 4.

values = [torch.tensor(1.0)]
for _ in range(2):
    values.append(w * values[-1])
torch.stack(values)[2].backward()
torch.testing.assert_close(w.grad, torch.tensor(4.0))

# %%
# The popular fix that does not work
# ----------------------------------
#
# A change through ``.data`` is not counted. So there is no error, and the gradient is
# wrong. Below the GAN makes its step in this way, as the optimizers of PyTorch 1.4 did.
# The gradient should be -2 or -8.

generator, critic, critic_step = make_gan()
score = critic(generator(one)) ** 2
score.sum().backward(retain_graph=True)
critic.weight.data -= 0.25 * critic.weight.grad
generator.zero_grad()
(-score).sum().backward()
print(generator.weight.grad.item())
torch.testing.assert_close(generator.weight.grad.item(), -4.0)

# %%
# It is :math:`-2 \cdot 2 \cdot 1`, with 2 from the old pass and the new weight 1. Nor
# does ``retain_graph=True`` help: the program that failed had it.
#
# Find the line in your own code
# ------------------------------
#
# Anomaly mode finds the operation that *saved* the numbers. Its warning holds the
# traceback of that line (not printed here, since it has paths of this machine).

with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    try:
        with torch.autograd.detect_anomaly():
            y = x.exp()
            y += 1
            y.sum().backward()
    except RuntimeError as error:
        print(str(error).partition("Hint: ")[2])
text = str(caught[-1].message)
print(text.partition(":")[0])
assert "Error detected in ExpBackward0" in text

# %%
# The name there is that of the node. The line that *changed* the numbers comes
# later in your program. To find it, run your code inside this mode, and give it the
# saved tensor. It stops at the first function that raises the version.


class StopAtChange(TorchFunctionMode):
    def __init__(self, tensor):
        super().__init__()
        self.tensor = tensor

    def __torch_function__(self, function, types, args=(), kwargs=None):
        before = self.tensor._version
        result = function(*args, **(kwargs or {}))
        if self.tensor._version > before:
            raise RuntimeError(f"changed by {function.__name__}")
        return result


# %%

y = x.exp()
try:
    with StopAtChange(y):
        z = y * 2
        y += 1
except RuntimeError as error:
    print(error)
    assert str(error) == "changed by add_"
else:
    raise AssertionError("the change was not noticed")
