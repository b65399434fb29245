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
# Predict first: does the output require a gradient? True or False
print(y.requires_grad)
assert y.requires_grad and y.grad_fn is not None

# %%
# Why
# ---
#
# There are two switches, and they do not know of each other. ``eval()`` sets
# ``training`` to ``False`` in every module. Modules such as dropout and batch norm ask
# for it; the recording does not.

assert not model.training and not model[1].training
assert torch.is_grad_enabled()

# %%
# ``no_grad()`` stops the recording and does not touch ``training``. Dropout still
# sets some of the 100 outputs to 0.

model.train()
with torch.no_grad():
    y = model(x)
assert model.training and not y.requires_grad
print("zeros:", bool((y == 0).any()))
assert (y == 0).any()

# %%
# Batch norm goes on learning its mean under ``no_grad``. It started at 0, the batch
# has the mean 3, and each call goes a tenth of the way.

norm = torch.nn.BatchNorm1d(1)
with torch.no_grad():
    norm(torch.tensor([[2.0], [4.0]]))
print(norm.running_mean)
torch.testing.assert_close(norm.running_mean, torch.tensor([0.3]))

# %%
# Grad mode itself belongs to the *thread*, not to a function or to a block of
# code. The two further surprises below come from this.
#
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
# The generator computes its batches without gradients. It pauses at ``yield``, in
# the middle of the block, and the mode stays off while your loop runs.


def batches():
    with torch.no_grad():
        for number in (1.0, 2.0):
            yield torch.tensor(number)


w = torch.tensor(3.0, requires_grad=True)
for batch in batches():
    assert not torch.is_grad_enabled()
    try:
        (w * batch).backward()
    except RuntimeError as error:
        assert "does not require grad" in str(error)
    else:
        raise AssertionError("the product was recorded")
assert torch.is_grad_enabled()

# %%
# Leave the block before you yield:


def small_blocks():
    for number in (1.0, 2.0):
        with torch.no_grad():
            batch = torch.tensor(number)
        yield batch


for batch in small_blocks():
    (w * batch).backward()
torch.testing.assert_close(w.grad, torch.tensor(1.0 + 2.0))

# %%
# Or decorate the generator. Then the mode is off while it computes, and on
# again at each pause (PyTorch 1.4 left it on all the time).


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
# Threads may share a leaf. Each adds its gradient to ``.grad``, and none is lost:
# 4 threads with 25 backward passes each, and a slope of 1.

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
# This is so for the adding. A ``zero_grad()`` in one thread clears what the others
# have added.

run(torch.optim.SGD([w], lr=0.1).zero_grad)
assert w.grad is None

# %%
# The popular fix that does not work
# ----------------------------------
#
# ``torch.set_grad_enabled(False)`` once, at the start of the program. It reaches the
# thread that calls it, and no other.

torch.set_grad_enabled(False)
run(lambda: seen.append(torch.is_grad_enabled()))
torch.set_grad_enabled(True)
print("in the thread:", seen[-1])
assert seen[-1]

# %%
# And ``enable_grad`` around the loop over the generator: each step of the
# generator switches it off again.

with torch.enable_grad():
    modes = [torch.is_grad_enabled() for batch in batches()]
print(modes)
assert modes == [False, False]

# %%
# Find the line in your own code
# ------------------------------
#
# Put this line where something is recorded or missing. It shows both switches
# and the name of the thread.


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
