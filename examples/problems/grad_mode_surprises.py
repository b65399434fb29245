# /// script
# requires-python = ">=3.10"
# dependencies = ["torch"]
# ///
"""
Gradients are on or off where you did not expect it
===================================================

You will be able to say which switch reaches which code: ``eval``, ``no_grad``, a generator, another thread.

How it shows:

- After ``model.eval()`` the outputs still have a ``grad_fn``, and testing takes as much memory as training.
- Under ``torch.no_grad()`` two predictions for the same input differ: dropout and batch norm still act as in training.
- Training fails inside a ``for`` loop over a generator or a data loader that has a ``yield`` in ``with torch.no_grad()``.
- A worker thread, a thread pool or a web server records gradients, although the main program has switched them off.
- Several threads call ``backward()`` on one shared model, and you do not know whether the gradients are right.

Know first: ``five_ways_to_stop``.
"""

import threading

import torch

# %%
# The shortest program that shows it
# ----------------------------------
#
# A model is switched to ``eval``, as for a test.

torch.manual_seed(0)
model = torch.nn.Sequential(torch.nn.Linear(2, 100), torch.nn.Dropout(0.5))
x = torch.tensor([[1.0, 2.0]])
model.eval()
y = model(x)
print("the output requires a gradient:", y.requires_grad)
assert y.requires_grad and y.grad_fn is not None

# %%
# Why
# ---
#
# There are two switches, and neither changes the other. ``eval()`` sets
# ``training`` to ``False`` in every module. Dropout and batch norm look at it; the
# recording of operations does not.

assert not model.training and not model[1].training
assert torch.is_grad_enabled()

# %%
# ``no_grad()`` stops the recording and leaves ``training`` as it is. In training
# mode, dropout still sets some of the 100 outputs to 0.

model.train()
with torch.no_grad():
    y = model(x)
print("zeros:", bool((y == 0).any()))
assert model.training and not y.requires_grad
assert (y == 0).any()

# %%
# Batch norm still updates its running mean under ``no_grad``. The mean starts at 0,
# and each call moves it a tenth of the way to the mean of the batch.

norm = torch.nn.BatchNorm1d(1)
with torch.no_grad():
    norm(torch.tensor([[2.0], [4.0]]))
# Predict first: what is the running mean after this batch?
print(f"{norm.running_mean.item():.1f}")
torch.testing.assert_close(norm.running_mean, torch.tensor([0.3]))

# %%
# The fix
# -------
#
# For a test you want both: ``eval()`` for the right numbers, and ``no_grad()`` to
# record nothing. Afterwards, go back to ``train()``.

model.eval()
with torch.no_grad():
    y = model(x)
    assert not y.requires_grad and not (y == 0).any()
    torch.testing.assert_close(model(x), y)
model.train()

# %%
# When a generator pauses inside no_grad
# --------------------------------------
#
# Grad mode belongs to the *thread*, not to a function. A generator pauses at
# ``yield``, in the middle of the block, and the mode stays off while your loop runs.


def batches():
    with torch.no_grad():
        for number in (1.0, 2.0):
            yield torch.tensor(number)


w = torch.tensor(3.0, requires_grad=True)
for batch in batches():
    try:
        (w * batch).backward()
    except RuntimeError as error:
        print(error)
        assert not torch.is_grad_enabled()
    else:
        raise AssertionError("the product was recorded")
assert torch.is_grad_enabled()

# %%
# Decorate the generator instead. Then the mode is off while it computes, and on
# again at each pause. (In PyTorch 1.4 the decorator does not work on a generator:
# the mode stays on.)


@torch.no_grad()
def decorated():
    yield torch.is_grad_enabled()
    yield torch.is_grad_enabled()


for inside in decorated():
    print("inside:", inside, "- in the loop:", torch.is_grad_enabled())
    assert not inside and torch.is_grad_enabled()

# %%
# In another thread
# -----------------
#
# A new thread starts with gradients on, wherever it was started.


def run(function):
    thread = threading.Thread(target=function, name="worker")
    thread.start()
    thread.join()


seen = []
with torch.no_grad():
    run(lambda: seen.append(torch.is_grad_enabled()))
print("in the thread:", seen[0])
assert seen == [True]

# %%
# Switch it off in the function that the thread runs:


@torch.no_grad()
def predict():
    seen.append((w * 2).requires_grad)


run(predict)
assert seen == [True, False]
assert torch.is_grad_enabled()

# %%
# backward from several threads
# -----------------------------
#
# Here 4 threads share a leaf. Each makes 25 backward passes with the slope 1, and
# no gradient is lost. The recorded releases agree.

w = torch.tensor(3.0, requires_grad=True)


def work():
    for _ in range(25):
        (w * 1.0).backward()


threads = [threading.Thread(target=work) for _ in range(4)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print(w.grad.item())
torch.testing.assert_close(w.grad.item(), 100.0)

# %%
# The manual of PyTorch does not promise this: it calls a shared ``.grad`` not safe.
# Its advice is ``torch.autograd.grad``, which leaves ``.grad`` alone. Add the results
# when the threads have ended.

w.grad, parts = None, []
run(lambda: parts.extend(torch.autograd.grad(2 * w, w)))
run(lambda: parts.extend(torch.autograd.grad(5 * w, w)))
torch.testing.assert_close(sum(parts), torch.tensor(7.0))
assert w.grad is None

# %%
# The popular fix that does not work
# ----------------------------------
#
# ``torch.set_grad_enabled(False)``, once, at the start of the program. It changes only
# the thread that calls it.

torch.set_grad_enabled(False)
run(lambda: seen.append(torch.is_grad_enabled()))
torch.set_grad_enabled(True)
print("in the thread:", seen[-1])
assert seen[-1]

# %%
# ``enable_grad`` around the loop does not help with the generator. The generator
# enters its block *after* that, and switches the mode off again.

with torch.enable_grad():
    assert [torch.is_grad_enabled() for _ in batches()] == [False, False]

# %%
# Find the line in your own code
# ------------------------------
#
# Print this where an operation is recorded and should not be, or the other way
# round. It shows both switches and the name of the thread.


def switches(model):
    thread = threading.current_thread().name
    recording, training = torch.is_grad_enabled(), model.training
    return f"recording {recording}, training {training}, {thread}"


with torch.no_grad():
    lines = [switches(model)]
    run(lambda: lines.append(switches(model)))
print(*lines, sep="\n")
assert lines[0].startswith("recording False, training True")
assert lines[1] == "recording True, training True, worker"
