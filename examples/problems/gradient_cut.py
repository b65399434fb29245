# /// script
# requires-python = ">=3.10"
# dependencies = ["torch"]
# ///
"""
The gradient is zero, or does not reach the weights
===================================================

You will be able to find the operation where the gradient stops, and to choose a way around it.

How it shows:

- All gradients are exactly 0, the loss stays constant and the network does not learn, without an error.
- A model with ``torch.round``, ``floor``, ``sign``, a threshold or ``argmax`` inside (quantisation, binary network) does not train.
- A sampled value (VAE latent, ``torch.normal``, ``Normal.sample()``, an action of a policy) blocks the gradient to its mean and standard deviation.
- The generator of a GAN gets no gradient, or gets one from the discriminator's step; it is unclear where ``fake.detach()`` belongs.
- The parameters before some layer keep ``.grad`` ``None`` or zeros; those after it are fine.

Know first: ``detach_is_a_constant``. ``five_ways_to_stop`` compares what cuts a graph.
"""

import torch

# %%
# The shortest program that shows it
# ----------------------------------

x = torch.tensor([1.25, 2.75], requires_grad=True)
(3 * torch.round(x)).sum().backward()
print(x.grad)
torch.testing.assert_close(x.grad, torch.zeros(2))

# %%
# Why
# ---
#
# The graph of ``round`` is a staircase. Between its jumps it is flat: the slope is 0.
# Backward multiplies by this 0, so ``x`` gets 0. These functions do the same:

for stairs in (torch.round, torch.floor, torch.ceil, torch.trunc, torch.sign):
    y = stairs(x)
    (slope,) = torch.autograd.grad(y.sum(), x)
    assert y.requires_grad
    torch.testing.assert_close(slope, torch.zeros(2))

# %%
# Other results are not in the graph at all and do not require a gradient: a
# comparison, an index, a detached tensor, a tensor made from a Python number.

for value in (x > 2, x.argmax(), x.detach(), torch.tensor(x[0].item())):
    assert not value.requires_grad

# %%
# An operation with slope 0 gives zeros. A result outside the graph gives ``None``,
# or an error if the loss has no other path (``nothing_requires_grad``).

w = torch.tensor(1.0, requires_grad=True)
v = torch.tensor(1.0, requires_grad=True)
(w.detach() * v).backward()
assert w.grad is None

# %%
# The fix
# -------
#
# Choose what flows back in place of the 0. The usual choice is called
# *straight-through*: the value of ``round(x)``, and the slope of ``x``. Add the
# difference as a constant:


def straight_through(x):
    return x + (torch.round(x) - x).detach()


x.grad = None
y = straight_through(x)
(3 * y).sum().backward()
torch.testing.assert_close(y, torch.round(x))
# Predict first: which two numbers are in x.grad now?
print(x.grad.tolist())
torch.testing.assert_close(x.grad, torch.full((2,), 3.0))

# %%
# This is not the derivative of ``round``. It is a substitute that lets the weights
# move. For quantisation with a lowest and a highest level see
# ``changed_after_upgrade``.
#
# After a random draw
# -------------------
#
# Draw a number with the mean ``mu``. It is ``mu`` plus noise, so the slope with respect
# to ``mu`` should be 1. There are three ways to draw it:

torch.manual_seed(0)
mu = torch.tensor(0.5, requires_grad=True)
normal = torch.distributions.Normal(mu, torch.tensor(1.0))
print("sample:", normal.sample().requires_grad)
print("rsample:", normal.rsample().requires_grad)
print("torch.normal:", torch.normal(mu, torch.tensor(1.0)).requires_grad)
assert not normal.sample().requires_grad
assert normal.rsample().requires_grad

# %%
# ``sample`` is cut off. The result of ``torch.normal`` requires a gradient. Is it the
# right one?

drawn = torch.normal(mu, torch.tensor(1.0))
assert drawn.requires_grad
(slope,) = torch.autograd.grad(drawn, mu)
print("slope through torch.normal:", slope.item())
torch.testing.assert_close(slope, torch.tensor(0.0))

# %%
# No: ``mu`` would never move, and there is no error. ``rsample`` draws noise that does
# not depend on ``mu``, and then adds ``mu``. You can also write this yourself. Both
# pass the gradient:

noise = torch.randn(())
for drawn in (normal.rsample(), mu + 1.0 * noise):
    (slope,) = torch.autograd.grad(drawn, mu)
    torch.testing.assert_close(slope, torch.tensor(1.0))

# %%
# A choice, such as the action of a policy, cannot be shifted: ``Bernoulli`` and
# ``Categorical`` have no ``rsample``. There the logarithm of the probability carries
# the gradient. At 0.25 its slope is :math:`1 / 0.25 = 4`, times the reward of 2.

p = torch.tensor(0.25, requires_grad=True)
policy = torch.distributions.Bernoulli(p)
assert not policy.has_rsample and not policy.sample().requires_grad
assert not torch.distributions.Categorical.has_rsample
action, reward = torch.tensor(1.0), 2.0
(slope,) = torch.autograd.grad(reward * policy.log_prob(action), p)
torch.testing.assert_close(slope, torch.tensor(8.0))

# %%
# In a GAN
# --------
#
# Let the generator be ``g * z`` and the discriminator ``d * fake``. In the
# discriminator's step, ``fake`` should be a constant. Without ``detach``, the generator
# gets a gradient from the discriminator's loss:

z = torch.tensor(1.0)
g = torch.tensor(2.0, requires_grad=True)
d = torch.tensor(3.0, requires_grad=True)
fake = g * z
(d * fake).backward()
torch.testing.assert_close((d.grad.item(), g.grad.item()), (2.0, 3.0))

# %%
# That backward also frees the graph behind ``fake``, so the generator's own step
# cannot use this ``fake`` again:

try:
    (d * fake).backward()
except RuntimeError as error:
    print(str(error).partition(" (or")[0])
else:
    raise AssertionError("the graph behind fake was used twice")

# %%
# ``detach`` in the discriminator's step solves both. In the generator's step, call the
# discriminator again, with the ``fake`` that is *not* detached. This adds to the
# gradient of ``d`` as well: clear it before the next step of the discriminator.

g.grad = d.grad = None
fake = g * z
(d * fake.detach()).backward()
assert g.grad is None
torch.testing.assert_close(d.grad, torch.tensor(2.0))
(d * fake).backward()
torch.testing.assert_close(g.grad, torch.tensor(3.0))
torch.testing.assert_close(d.grad, torch.tensor(4.0))

# %%
# The popular fix that does not work
# ----------------------------------
#
# Backward from a cut value stops with an error, and ``requires_grad_()`` silences it.
# But this makes a new leaf of the value, and ``mu`` still gets nothing:

value = normal.sample()
try:
    (2 * value).backward()
except RuntimeError as error:
    print(error)
else:
    raise AssertionError("backward from a sample must fail")
value.requires_grad_()
(2 * value).backward()
assert mu.grad is None
torch.testing.assert_close(value.grad, torch.tensor(2.0))

# %%
# Find the line in your own code
# ------------------------------
#
# Give names to some values on the way, and keep their gradients with
# ``retain_grad()``.

w = torch.tensor(1.25, requires_grad=True)
scaled = 2 * w
rounded = torch.round(scaled)
shift = scaled.detach()
loss = 4 * rounded + shift
steps = {"loss": loss, "shift": shift, "rounded": rounded, "scaled": scaled}
for value in steps.values():
    if value.requires_grad:
        value.retain_grad()
loss.backward()

# %%
# Print them from the loss back. Nothing goes through ``shift``. From ``rounded`` to
# ``scaled``, the 4 becomes a 0: the stop is the operation between these two.

for name, value in steps.items():
    print(f"{name:8}", value.grad if value.requires_grad else "cut off")
torch.testing.assert_close(rounded.grad, torch.tensor(4.0))
torch.testing.assert_close(scaled.grad, torch.tensor(0.0))
assert not shift.requires_grad
print(rounded.grad_fn.name())
assert rounded.grad_fn.name().startswith("Round")
