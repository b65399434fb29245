# /// script
# requires-python = ">=3.10"
# dependencies = ["torch"]
# ///
"""
A tensor appears to not have been used in the graph
===================================================

You will be able to find which tensor has no way to the output, and whether ``allow_unused=True`` is right or hides a mistake.

How it shows:

- ``torch.autograd.grad`` stops: "One of the differentiated Tensors appears to not have been used in the graph. Set allow_unused=True if this is the desired behavior."
- The gradient by a slice, an element of a batch, a ``view``, a ``clone`` or a copy on the GPU is refused, though the whole tensor went into the model.
- An inner loop (MAML, meta-learning), a physics-informed network (PINN) or a gradient penalty fails for some of its inputs or parameters.
- With ``allow_unused=True`` some gradients are ``None``, and the next line stops with an error about ``NoneType``.
- ``DistributedDataParallel`` (DDP), on several GPUs, does one step and stops in the second: "Expected to have finished reduction in the prior iteration before starting a new one."
- Some layers of a model, as an unused head or branch, never receive a gradient.

Know first: ``read_the_picture``, ``leaf_or_not``.
"""

import os
import pathlib
import socket
import tempfile
import unittest.mock

import torch

# %%
# The shortest program that shows it
# ----------------------------------

a = torch.tensor(1.0, requires_grad=True)
b = torch.tensor(1.0, requires_grad=True)
try:
    torch.autograd.grad(2 * a, [a, b])
except RuntimeError as error:
    message = str(error)
    print(message)
else:
    raise AssertionError("b has no way to the output")

# %%
# From PyTorch 2.13 on the message gives the place of the tensor in your list, counted
# from 0; here it is ``b``. Up to 2.9 it did not say which tensor it meant.

assert message.partition("index ")[2].startswith("1 ")

# %%
# Why
# ---
#
# Backward starts at the output and walks back to what it was computed from. It never
# comes to ``b``. Often you did use the numbers, but not this tensor: it is a copy or a new
# view, made later.

x = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
y = (2 * x).sum()
refused = []
copies = {"x[0]": x[0], "clone": x.clone(), "view": x.view(3)}
for name, later in copies.items():
    try:
        torch.autograd.grad(y, later, retain_graph=True)
    except RuntimeError:
        refused.append(name)
print(refused)
assert refused == ["x[0]", "clone", "view"]

# %%
# Each of them was computed *from* ``x``, as ``y`` was. But ``y`` was not computed from
# them.

# %%
# The fix
# -------
#
# Differentiate by the tensor that went into the computation, and take the part from
# the gradient:

(gradient,) = torch.autograd.grad(y, x)
# Predict first: what is the derivative of y by x[0]?
print(gradient[0].item())

# %%
# Or make the part first, and compute the output from the part. The derivative is the
# same:

torch.testing.assert_close(gradient[0], torch.tensor(2.0))
first = x[0]
y = 2 * first + (2 * x[1:]).sum()
(gradient,) = torch.autograd.grad(y, first)
torch.testing.assert_close(gradient, torch.tensor(2.0))

# %%
# If the output really does not depend on the tensor, the gradient is 0. Then
# ``allow_unused=True`` gives ``None``. With ``materialize_grads=True`` you get zeros
# (PyTorch 2.0 does not have it; 2.5 does). For second derivatives see
# ``second_derivative_missing``.

print(torch.autograd.grad(2 * a, [a, b], allow_unused=True))
(by_b,) = torch.autograd.grad(
    2 * a, b, allow_unused=True, materialize_grads=True
)
torch.testing.assert_close(by_b, torch.tensor(0.0))

# %%
# In DistributedDataParallel (DDP)
# --------------------------------
#
# Here is a model with a layer that ``forward`` forgets. Alone it runs without an error,
# and the forgotten layer gets no gradient.


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.used = torch.nn.Linear(1, 1)
        self.forgotten = torch.nn.Linear(1, 1)

    def forward(self, x):
        return self.used(x)


model = Model()
model(torch.ones(1, 1)).sum().backward()
assert model.forgotten.weight.grad is None

# %%
# DDP waits for the gradient of each trainable parameter, to exchange it with the other
# processes. One process on the CPU is enough to see this. The next lines form a group of
# one process, which talks to itself over the loopback interface of the computer.

folder = tempfile.TemporaryDirectory()
meeting = pathlib.Path(folder.name, "meeting").as_uri()
with unittest.mock.patch.dict(os.environ):
    for _, interface in socket.if_nameindex():
        if interface in ("lo", "lo0"):
            os.environ["GLOO_SOCKET_IFNAME"] = interface
    torch.distributed.init_process_group(
        "gloo", init_method=meeting, rank=0, world_size=1
    )

# %%
# The first step raises no error. The second one notices that the first still waits for
# two parameters.

parallel = torch.nn.parallel.DistributedDataParallel(Model())
parallel(torch.ones(1, 1)).sum().backward()
try:
    parallel(torch.ones(1, 1))
except RuntimeError as error:
    message = str(error)
else:
    raise AssertionError("DDP waited for no parameter")
print(message.partition(". ")[0])
late = message.partition("for rank 0: ")[2].split("\n")[0].split()
print(late)

# %%
# The end of the message has the numbers of these parameters. This gives their names:

names = [name for name, _ in parallel.module.named_parameters()]
late = [names[int(number)] for number in late]
print(late)
assert late == ["forgotten.weight", "forgotten.bias"]

# %%
# The fix: remove the layer, use it, or freeze it, for DDP does not wait for a frozen
# parameter. If each step uses other layers, ``find_unused_parameters=True`` lets DDP
# look in each step for those without a gradient.

frozen = Model()
frozen.forgotten.requires_grad_(False)
for ddp in (
    torch.nn.parallel.DistributedDataParallel(frozen),
    torch.nn.parallel.DistributedDataParallel(
        Model(), find_unused_parameters=True
    ),
):
    for _ in range(2):
        ddp(torch.ones(1, 1)).sum().backward()
    assert ddp.module.used.weight.grad is not None
    assert ddp.module.forgotten.weight.grad is None

# %%
# At the end of the program, leave the group of processes:

torch.distributed.destroy_process_group()
folder.cleanup()

# %%
# The popular fix that does not work
# ----------------------------------
#
# The messages themselves propose ``allow_unused=True`` and ``find_unused_parameters=True``.
# They are right if the tensor is unused on purpose. If not, they only hide the mistake.
# The forgotten layer still does not learn: above, its gradient was ``None``. A new view of
# the right tensor gives ``None`` as well; if you read that as 0, the gradient is wrong:

y = (2 * x).sum()
(by_view,) = torch.autograd.grad(y, x[0], allow_unused=True, retain_graph=True)
(by_x,) = torch.autograd.grad(y, x)
print(by_view, "instead of", by_x[0].item())
assert by_view is None
torch.testing.assert_close(by_x[0], torch.tensor(2.0))

# %%
# Find the line in your own code
# ------------------------------
#
# Walk the graph of the output, and look for the node of your tensor. A leaf has a node
# with the tensor as ``variable``; the node of a result is its ``grad_fn``.


def is_used(tensor, output):
    waiting, seen = [output.grad_fn], set()
    while waiting:
        node = waiting.pop()
        if node is None or node in seen:
            continue
        seen.add(node)
        if node is tensor.grad_fn or getattr(node, "variable", None) is tensor:
            return True
        waiting.extend(following for following, _ in node.next_functions)
    return False


# %%
# ``x`` and a value on the way from ``x`` to ``y`` are used; a new view of ``x`` is not.

doubled = 2 * x
y = doubled.sum()
for name, tensor in {"x": x, "doubled": doubled, "x[0]": x[0], "b": b}.items():
    print(name, is_used(tensor, y))
assert is_used(x, y) and is_used(doubled, y)
assert not is_used(x[0], y) and not is_used(b, y)

# %%
# For a model, list the parameters without a gradient after the first backward:

unused = [name for name, p in model.named_parameters() if p.grad is None]
print(unused)
assert unused == ["forgotten.weight", "forgotten.bias"]
