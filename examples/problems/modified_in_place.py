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
# The fix
# -------
#
# Make a new tensor: ``y = y + 1`` in place of ``y += 1``. Then the saved one stays as
# it was. The slope of :math:`e^x` at 0 is 1.

y = x.exp()
y = y + 1
y.sum().backward()
torch.testing.assert_close(x.grad, torch.tensor([1.0, 1.0]))

# %%
# For an activation, leave out ``inplace=True``. ``Sigmoid`` saves its result, and a
# ``ReLU`` behind it must not write over that:

y = torch.nn.ReLU(inplace=True)(torch.sigmoid(x))
try:
    y.sum().backward()
except RuntimeError as error:
    assert "output 0 of Sigmoid" in str(error)
else:
    raise AssertionError("the change was not noticed")
torch.nn.ReLU()(torch.sigmoid(x)).sum().backward()

# %%
# Which operation does the message name
# -------------------------------------
#
# Above it is ``Exp``, an operation of the forward pass: ``y`` was its result. Up to
# PyTorch 2.9 the message gave the name of the node, as in ``ExpBackward0``. From 2.13 on
# it gives the name of the operation. The node itself keeps its name.


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
    named = named_in(str(error))
else:
    raise AssertionError("the change was not noticed")
# Predict first: does it name Add, Pow or Mul?
print(named)

# %%
# For a saved input it names the last operation that was recorded for this tensor. Here
# that is the change itself.

assert named == "Mul"

# %%
# An optimizer step between two backward calls
# --------------------------------------------
#
# ``optimizer.step()`` changes the weights in place. From PyTorch 1.6 on these changes
# are counted; in 1.4 they were not. Here is a GAN of two weights, 1 and 2:


def make_gan():
    generator = torch.nn.Linear(1, 1, bias=False)
    critic = torch.nn.Linear(1, 1, bias=False)
    torch.nn.init.constant_(generator.weight, 1.0)
    torch.nn.init.constant_(critic.weight, 2.0)
    return generator, critic, torch.optim.SGD(critic.parameters(), lr=0.25)


# %%
# The critic makes its step. Then the loss of the generator goes back through the old
# graph:

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
# No line of this program calls the operation named here. ``Linear`` saved a view of its
# weight, the weight transposed, and the view gets another node when the weight changes:

view = critic.weight.t()
assert view.grad_fn.name() == "TBackward0"
critic_step.step()
assert view.grad_fn.name() == "AsStridedBackward0"

# %%
# So look at the shape in the message: which weight of yours has it, or has it transposed?
#
# The fix: run the forward pass again after the step. The critic's step needs no gradient
# of the generator, so ``detach`` the fake data there. ``retain_graph`` is not needed.

generator, critic, critic_step = make_gan()
fake = generator(one)
(critic(fake.detach()) ** 2).sum().backward()
critic_step.step()
(-(critic(fake) ** 2)).sum().backward()

# %%
# The critic's weight went from 2 to :math:`2 - 0.25 \cdot 4 = 1`. The generator's
# gradient is that of :math:`-(1 \cdot g)^2` at :math:`g = 1`, which is -2.

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
# ``w * state[i]`` saves the part ``state[i]``. Then ``state[i + 1] = ...`` writes into the
# same tensor, and the whole tensor has one version counter.

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
# wrong. Below, the critic makes its step in this way. The right gradients were -2 with
# the new critic and -8 with the old one.

generator, critic, critic_step = make_gan()
score = critic(generator(one)) ** 2
score.sum().backward(retain_graph=True)
critic.weight.data -= 0.25 * critic.weight.grad
generator.zero_grad()
(-score).sum().backward()
print(generator.weight.grad.item())
torch.testing.assert_close(generator.weight.grad.item(), -4.0)

# %%
# It is neither: it mixes the score 2 of the old critic with the weight 1 of the new one.
# ``retain_graph=True`` does not help either: the program that failed had it.
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
# The line that *changed* the numbers ran later. To find it, run your code inside this
# mode, and give it the saved tensor. It stops at the first function that raises the
# version.


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
