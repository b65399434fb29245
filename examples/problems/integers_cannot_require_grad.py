# /// script
# requires-python = ">=3.10"
# dependencies = ["torch"]
# ///
"""
Only tensors of floating point can require gradients
====================================================

You will be able to see where your program uses integers, and to ask for the gradient of something that has one.

How it shows:

- ``torch.tensor([1, 2, 3], requires_grad=True)``, typed by hand or from a tutorial, fails with a ``RuntimeError`` about floating point and complex dtype; so do ``torch.arange`` and ``torch.randint``.
- ``nn.Parameter`` refuses a table of whole numbers, a mask of booleans (``bool``) or quantized weights (``int8``).
- The gradient of token ids, word indices or labels is wanted, as in a saliency map: ``input_ids.requires_grad_()`` fails.
- An image loaded as ``uint8`` cannot get a gradient, as for an adversarial example (FGSM).
- The index from ``argmax``, ``max`` or ``topk`` should be trained, and ``requires_grad_()`` on it is refused.
- ``torch.func.grad`` or a Jacobian fails for an input of type ``long``.

Know first: ``first_gradient``, ``five_ways_to_stop``.
"""

import torch

# %%
# The shortest program that shows it
# ----------------------------------

try:
    torch.tensor([1, 2, 3], requires_grad=True)
except RuntimeError as error:
    print(error)
else:
    raise AssertionError("integers require a gradient")

# %%
# Why
# ---
#
# A slope says what happens when the input moves by a small amount. An integer cannot
# move by a small amount: after 1 comes 2. The way you write the numbers decides the type
# of the tensor. Here only one has a decimal point:

# Predict first: which dtype does this tensor have?
print(torch.tensor([1, 2.0, 3]).dtype)

# %%
# One decimal point is enough for all three. Without one you get integers.

assert torch.tensor([1, 2.0, 3]).dtype == torch.float32
assert torch.tensor([1, 2, 3]).dtype == torch.int64

# %%
# ``arange`` and ``randint`` make integers from integers, and a comparison makes
# booleans. The method has a message of its own:

refused = []
for whole in (torch.arange(3), torch.randint(9, (3,)), torch.ones(3) > 0):
    try:
        whole.requires_grad_()
    except RuntimeError as error:
        refused.append(str(error))
print(refused[0])
assert len(refused) == 3

# %%
# Complex numbers are allowed as well, although this message does not name them.

z = torch.tensor([1 + 2j]).requires_grad_()
assert z.requires_grad and z.is_complex()

# %%
# The fix
# -------
#
# Write a decimal point or name the type. If you already have the tensor, convert it
# first and ask for the gradient last.

x = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
same = torch.tensor([1, 2, 3], dtype=torch.float32, requires_grad=True)
image = torch.tensor([1, 2, 3], dtype=torch.uint8)
pixels = image.to(torch.float32).requires_grad_()
for leaf in (x, same, pixels):
    (leaf**2).sum().backward()
    torch.testing.assert_close(leaf.grad, torch.tensor([2.0, 4.0, 6.0]))

# %%
# In ``torch.func`` you set no flag, but the argument must be floating point as well:

try:
    torch.func.grad(torch.sum)(torch.tensor([1, 2]))
except RuntimeError as error:
    print(error)
else:
    raise AssertionError("an integer argument was taken")
torch.testing.assert_close(
    torch.func.grad(torch.sum)(torch.tensor([1.0, 2.0])), torch.ones(2)
)

# %%
# A mask or a table in a module
# -----------------------------
#
# ``nn.Parameter`` asks for a gradient, unless you say otherwise. Whole numbers are
# not trained, so keep them as a buffer: they are saved and moved with the module.

module = torch.nn.Module()
try:
    module.order = torch.nn.Parameter(torch.tensor([2, 0, 1]))
except RuntimeError as error:
    print(error)
else:
    raise AssertionError("an integer parameter was trained")
module.register_buffer("order", torch.tensor([2, 0, 1]))
assert "order" in module.state_dict() and list(module.parameters()) == []

# %%
# With ``requires_grad=False`` a parameter may hold integers, too:

fixed = torch.nn.Parameter(torch.tensor([2, 0, 1]), requires_grad=False)
assert fixed.dtype == torch.int64

# %%
# Token ids and other indices
# ---------------------------
#
# An index picks a row, and the row has a gradient. Ask for the gradient of what the
# index picked. Here the loss is twice the sum of the picked rows.

ids = torch.tensor([2, 0])
table = torch.nn.Embedding(3, 2)
rows = table(ids)
rows.retain_grad()
(2 * rows).sum().backward()
print(rows.grad)
torch.testing.assert_close(rows.grad, torch.full((2, 2), 2.0))
torch.testing.assert_close(table.weight.grad[1], torch.zeros(2))

# %%
# The index from ``max`` and ``argmax``
# -------------------------------------
#
# ``max`` with a ``dim`` returns a value and an index. The value has a gradient. The index
# is an integer, and stays the same when an input moves a little.

scores = torch.tensor([1.0, 4.0, 2.0], requires_grad=True)
value, index = scores.max(dim=0)
try:
    index.requires_grad_()
except RuntimeError:
    print(index.dtype, "has no gradient")
else:
    raise AssertionError("an index requires a gradient")
assert value.requires_grad and not index.requires_grad
assert (scores + torch.tensor([0.1, -0.1, 0.1])).argmax() == index

# %%
# If you need a position with a slope, take the mean of the positions 0, 1 and 2, weighted
# by ``softmax`` ("soft argmax"). Here it comes close to the index 1.

position = (torch.softmax(2 * scores, dim=0) * torch.arange(3)).sum()
position.backward()
print(f"{position.item():.2f}")
assert round(position.item()) == 1 and scores.grad.count_nonzero() == 3

# %%
# The popular fix that does not work
# ----------------------------------
#
# ``index.float().requires_grad_()`` gives no error. But the integer was already cut off
# from the graph. The new tensor is a leaf of its own, and the scores get nothing.

scores = torch.tensor([1.0, 4.0, 2.0], requires_grad=True)
answer = scores.argmax().float().requires_grad_()
(answer**2).backward()
print("answer:", answer.grad, "scores:", scores.grad)
torch.testing.assert_close(answer.grad, torch.tensor(2.0))
assert scores.grad is None

# %%
# ``round`` keeps the type, and with it the graph, but its slope is 0 everywhere. No
# error tells you that nothing can learn:

x = torch.tensor(2.4, requires_grad=True)
(5 * x.round()).backward()
torch.testing.assert_close(x.grad, torch.tensor(0.0))

# %%
# Find the line in your own code
# ------------------------------
#
# List the types of what you differentiate by, and of the values in between. Where
# a value is neither floating point nor complex, the graph ends.

x = torch.tensor([0.4, 1.6], requires_grad=True)
scaled = 2 * x
levels = scaled.long()
shown = levels.float() / 2
whole = []
values = {"x": x, "scaled": scaled, "levels": levels, "shown": shown}
for name, value in values.items():
    print(name, value.dtype, value.requires_grad)
    if not (value.is_floating_point() or value.is_complex()):
        whole.append(name)
assert whole == ["levels"] and not shown.requires_grad
