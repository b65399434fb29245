# /// script
# requires-python = ">=3.10"
# dependencies = ["torch"]
# ///
"""
A view is being modified inplace, and this is forbidden
=======================================================

You will be able to say which view the message means, and to make your change where autograd can follow it.

How it shows:

- A slice taken inside ``with torch.no_grad()`` is changed later: a view was created in no_grad mode and is being modified inplace with grad mode enabled.
- The message says that the use case is ambiguous and error-prone, and speaks of moving both the view and the inplace.
- A helper decorated with ``@torch.no_grad()`` returns ``x[:n]``, ``x.view(...)`` or ``x.T``, and writing into it fails.
- ``for row in y:`` with ``row *= 2``, or a change of a piece from ``chunk``, ``split`` or ``unbind``, stops: output 0 is a view and is being modified inplace.
- After ``register_full_backward_hook`` a model with ``ReLU(inplace=True)`` (a ResNet for Grad-CAM, say) no longer runs.

Know first: ``views_and_in_place``.
"""

import torch

# %%
# The shortest program that shows it
# ----------------------------------

x = torch.tensor([1.0, 1.0, 1.0], requires_grad=True)
y = 3 * x
with torch.no_grad():
    part = y[:2]
try:
    part.mul_(10)
except RuntimeError as error:
    print(error)
else:
    raise AssertionError("an unrecorded view was changed")

# %%
# Why
# ---
#
# A view has no numbers of its own: ``part`` uses the memory of ``y``. To change
# ``part`` is to change ``y``. Under ``no_grad`` the view was not recorded; the change
# would be recorded. Should the gradient of ``x`` contain the factor 10 or not? Both
# would make sense, so PyTorch does not guess. Nothing was changed:

assert part.data_ptr() == y.data_ptr()
torch.testing.assert_close(y.detach(), torch.tensor([3.0, 3.0, 3.0]))

# %%
# The fix
# -------
#
# Make the view at the place where you change it. If the change is part of your
# function, do both outside of ``no_grad``:

y = 3 * x
part = y[:2]
part.mul_(10)
y.sum().backward()
# Predict first: which three numbers are in x.grad?
print(x.grad.tolist())

# %%
# The factor 10 counts for the first two. If the change is an update, which the gradient
# should not contain, do both inside. For a weight this is the right place:

torch.testing.assert_close(x.grad, torch.tensor([30.0, 30.0, 3.0]))

w = torch.tensor([1.0, 1.0, 1.0], requires_grad=True)
with torch.no_grad():
    part = w[:2]
    part.mul_(10)
assert w.is_leaf
(3 * w).sum().backward()
torch.testing.assert_close(w.tolist(), [10.0, 10.0, 1.0])
torch.testing.assert_close(w.grad, torch.tensor([3.0, 3.0, 3.0]))

# %%
# If ``y`` itself must stay as it is, change a copy: ``clone`` has memory of its own.

y = 3 * x
with torch.no_grad():
    part = y[:2].clone()
part.mul_(10)
torch.testing.assert_close(part, torch.tensor([30.0, 30.0]))
torch.testing.assert_close(y.detach(), torch.tensor([3.0, 3.0, 3.0]))

# %%
# One of several views
# --------------------
#
# ``unbind``, ``split`` and ``chunk`` make several views in one operation. A loop over a
# tensor calls ``unbind``. None of these views may be changed in place:

y = 3 * torch.ones(2, 2, requires_grad=True)
try:
    for row in y:
        row *= 10
except RuntimeError as error:
    print(error)
else:
    raise AssertionError("one of several views was changed")

# %%
# The same for each function:

for pieces in (y.split(1), y.chunk(2), y.unbind()):
    try:
        pieces[0].mul_(10)
    except RuntimeError as error:
        assert "a function that returns multiple views" in str(error)
    else:
        raise AssertionError("one of several views was changed")

# %%
# Take an index instead: it makes one view at a time. Or make new tensors, and ``stack``
# them. Both give the same numbers.

x = torch.ones(2, 2, requires_grad=True)
y = 3 * x
for i in range(2):
    y[i] *= 10
torch.testing.assert_close(y, torch.stack([10 * row for row in 3 * x]))
y.sum().backward()
torch.testing.assert_close(x.grad, torch.full((2, 2), 30.0))

# %%
# A module with a full backward hook
# ----------------------------------
#
# ``register_full_backward_hook`` puts a function of its own behind the module. The
# output of the module is then a view made by that function, and an activation that
# writes into it fails:

layer = torch.nn.Linear(1, 1)
layer.register_full_backward_hook(lambda module, grad_in, grad_out: None)
model = torch.nn.Sequential(layer, torch.nn.ReLU(inplace=True))
one = torch.ones(1, 1, requires_grad=True)
assert layer(one)._is_view()
try:
    model(one)
except RuntimeError as error:
    print(str(error).partition(" This view")[0])
else:
    raise AssertionError("the output of a hooked module was changed")

# %%
# Switch ``inplace`` off, in all modules that have it:

for module in model.modules():
    if hasattr(module, "inplace"):
        module.inplace = False
model(one).sum().backward()
assert one.grad is not None

# %%
# The popular fix that does not work
# ----------------------------------
#
# People move only the change into ``no_grad``, or write through ``.data``. The message
# is gone. If the change was part of the function, the gradient is now wrong: ``y`` is
# 30 times ``x``, and the gradient says 3.


def value_and_gradient(change):
    x = torch.tensor([1.0], requires_grad=True)
    y = 3 * x
    with torch.no_grad():
        part = y[:1]
    change(part)
    y.backward()
    return y.item(), x.grad.item()


@torch.no_grad()
def change_unrecorded(part):
    part.mul_(10)


for change in (change_unrecorded, lambda part: part.data.mul_(10)):
    torch.testing.assert_close(value_and_gradient(change), (30.0, 3.0))
print(value_and_gradient(change_unrecorded))

# %%
# Find the line in your own code
# ------------------------------
#
# The error comes from the line of the change. The view may have been made far away from
# it, in a function with ``@torch.no_grad()``. Before the change, ask about the view: it
# requires a gradient, because its base does; but if it was not recorded, it has no
# ``grad_fn``.


def made_unrecorded(view):
    return view._is_view() and view.requires_grad and view.grad_fn is None


x = torch.tensor([1.0, 1.0], requires_grad=True)
y = 3 * x
with torch.no_grad():
    hidden = y[:1]
print(made_unrecorded(hidden), made_unrecorded(y[:1]))
assert made_unrecorded(hidden) and hidden.requires_grad
assert not made_unrecorded(y[:1]) and not made_unrecorded(y)

# %%
# ``_base`` is the tensor whose memory the view uses. Its shape tells you which one:

print(list(hidden._base.shape))
assert hidden._base is y
