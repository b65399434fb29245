# /// script
# requires-python = ">=3.10"
# dependencies = ["torch"]
# ///
"""
Trying to backward through the graph a second time
==================================================

You will be able to find the part of the graph that two backward passes share, and to cut it or to keep it.

How it shows:

- The first step of a training loop works, and the second one stops in ``backward()``.
- A recurrent network carries its hidden state from batch to batch and fails.
- Two losses share a part of the model, and the second ``backward()`` fails.

Know first: ``used_up_graph``.
"""

import torch

# %%
# The shortest program that shows it
# ----------------------------------

x = torch.tensor(3.0, requires_grad=True)
y = x**2
y.backward()
try:
    y.backward()
except RuntimeError as error:
    print(error)
else:
    raise AssertionError("the second backward must fail")

# %%
# Why
# ---
#
# ``x**2`` saved ``x`` for its derivative. The first backward used the saved value
# and freed it, to save memory. The second one needs it again.
#
# A program seldom calls ``y.backward()`` twice in a row. More often it uses a value
# from an earlier step again, and the old graph comes with that value. Here it
# is the hidden state of a recurrent network.

cell = torch.nn.RNNCell(1, 1)
optimizer = torch.optim.SGD(cell.parameters(), lr=0.1)


def train(carry, retain_graph=False):
    state = torch.zeros(1, 1)
    for step in range(3):
        try:
            state = cell(torch.ones(1, 1), carry(state))
            optimizer.zero_grad()
            state.sum().backward(retain_graph=retain_graph)
            optimizer.step()
        except RuntimeError as error:
            return step, f"step {step}: {error}"
    return 3, "no error"


# %%
# Step 0 works. In step 1, backward goes through the new step and on into the
# old one, whose saved values are gone.

done, result = train(carry=lambda state: state)
print(result.partition(" (")[0])
assert "step 1: Trying to backward through" in result

# %%
# The fix
# -------
#
# Carry the number and not the graph: ``detach`` the state between two steps.

done, result = train(carry=lambda state: state.detach())
# Predict first: how many of the three steps does it finish now?
print(done)

# %%
# Each step now has a graph of its own, and backward stops at the start of the step.

assert done == 3 and result == "no error"

# %%
# If two losses share a part of one step, add them and call backward once. The
# gradients are the same as those of two calls.

x = torch.tensor(3.0, requires_grad=True)
shared = x**2
(2 * shared + 5 * shared).backward()
torch.testing.assert_close(x.grad, torch.tensor(2 * 6.0 + 5 * 6.0))

# %%
# The popular fix that does not work
# ----------------------------------
#
# The message itself proposes ``retain_graph=True``. Then the old graph is kept,
# but ``optimizer.step()`` has changed the weights that it saved. The first two steps
# still pass, so a test with two steps does not show it:

done, result = train(carry=lambda state: state, retain_graph=True)
print(result)
assert done == 2 and "modified by an inplace operation" in result

# %%
# Without an optimizer step there is no error. But each backward goes through all
# earlier steps again: below, the first state gets a gradient three times.

passes = []
state = first = torch.ones(1, requires_grad=True) ** 2
first.register_hook(lambda gradient: passes.append(gradient))
for _ in range(3):
    state = state**2
    state.sum().backward(retain_graph=True)
assert len(passes) == 3

# %%
# ``retain_graph=True`` is right for two backward passes through one forward run,
# with no update between them:

x = torch.tensor(3.0, requires_grad=True)
shared = x**2
(2 * shared).backward(retain_graph=True)
(5 * shared).backward()
torch.testing.assert_close(x.grad, torch.tensor(42.0))

# %%
# Find the line in your own code
# ------------------------------
#
# Walk the graph of the loss *before* the call that fails, and list the nodes
# whose saved values are gone. An earlier backward has gone through them.


def used_up(loss):
    found, waiting, seen = [], [loss.grad_fn], set()
    while waiting:
        node = waiting.pop(0)
        if node is None or node in seen:
            continue
        seen.add(node)
        waiting.extend(following for following, _ in node.next_functions)
        try:
            for name in dir(node):
                if name.startswith("_saved_"):
                    getattr(node, name)
        except RuntimeError:
            found.append(node.name())
    return found


# %%
# The nearest one comes first. Which value of yours has it as its ``grad_fn``?
# Detach that value, or a later one, where the new step begins.

w = torch.tensor(0.5, requires_grad=True)
state = torch.sigmoid(w)
state.backward()
print(used_up(w * state))
assert used_up(w * state) == [state.grad_fn.name()]
assert used_up(w * state.detach()) == []
