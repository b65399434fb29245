"""When hooks are called, with what, and what they can change."""

from __future__ import annotations

import torch

from probes.registry import probe
from probes.tools import leaf, outcome


@probe(
    "hooks.retain_grad_then_hook",
    "What are y.grad and x.grad after y.retain_grad() and then a hook that multiplies by 10?",
)
def retain_grad_then_hook():
    x = leaf(1.0)
    y = x * 2
    y.retain_grad()
    y.register_hook(lambda g: g * 10)
    y.backward()
    return {"y.grad": y.grad, "x.grad": x.grad}


@probe(
    "hooks.hook_then_retain_grad",
    "What are y.grad and x.grad after a hook that multiplies by 10 and then y.retain_grad()?",
)
def hook_then_retain_grad():
    x = leaf(1.0)
    y = x * 2
    y.register_hook(lambda g: g * 10)
    y.retain_grad()
    y.backward()
    return {"y.grad": y.grad, "x.grad": x.grad}


@probe(
    "hooks.node_prehook_and_retain_grad",
    "Does y.grad of retain_grad() see a pre-hook of y.grad_fn that multiplies by 10?",
)
def node_prehook_and_retain_grad():
    x = leaf(1.0)
    y = x * 2
    y.retain_grad()
    y.grad_fn.register_prehook(lambda gs: (gs[0] * 10,))
    (y * 3).backward()
    return {"y.grad": y.grad, "x.grad": x.grad}


@probe(
    "hooks.node_prehook_before_retain_grad",
    "The same with the pre-hook registered before retain_grad()?",
)
def node_prehook_before_retain_grad():
    x = leaf(1.0)
    y = x * 2
    y.grad_fn.register_prehook(lambda gs: (gs[0] * 10,))
    y.retain_grad()
    (y * 3).backward()
    return {"y.grad": y.grad, "x.grad": x.grad}


@probe(
    "hooks.hook_on_inputs_of_grad", "Is a hook on y called by torch.autograd.grad(..., inputs=y)?"
)
def hook_on_inputs_of_grad():
    called = []
    y = leaf(1.0) * 2
    y.register_hook(lambda g: called.append("called"))
    torch.autograd.grad(y * 3, y)
    return called


@probe(
    "hooks.changing_hook_on_inputs_of_grad",
    "Does torch.autograd.grad return what a hook on its input changed?",
)
def changing_hook_on_inputs_of_grad():
    y = leaf(1.0) * 2
    y.register_hook(lambda g: g * 10)
    return torch.autograd.grad(y * 3, y)[0]


@probe(
    "hooks.hook_on_leaf_input_of_grad",
    "Is a hook on a leaf x called by torch.autograd.grad(..., x)?",
)
def hook_on_leaf_input_of_grad():
    x = leaf(1.0)
    x.register_hook(lambda g: g * 10)
    return torch.autograd.grad(x * 3, x)[0]


@probe(
    "hooks.before_and_after_in_place",
    "Which gradients do hooks set before and after a.mul_(5) see, in which order?",
)
def before_and_after_in_place():
    seen = []
    a = leaf(1.0) * 2
    a.register_hook(lambda g: seen.append(["set before", g.item()]))
    a.mul_(5)
    a.register_hook(lambda g: seen.append(["set after", g.item()]))
    a.backward()
    return seen


@probe(
    "hooks.retain_grad_before_in_place",
    "Which gradient does retain_grad() set before a.mul_(5) keep?",
)
def retain_grad_before_in_place():
    a = leaf(1.0) * 2
    a.retain_grad()
    a.mul_(5)
    a.backward()
    return a.grad


@probe("hooks.order_of_two_hooks", "In which order are two hooks on one tensor called?")
def order_of_two_hooks():
    seen = []
    y = leaf(1.0) * 2
    y.register_hook(lambda g: seen.append("first"))
    y.register_hook(lambda g: seen.append("second"))
    y.backward()
    return seen


@probe("hooks.second_hook_sees_first", "Does the second hook see what the first one returned?")
def second_hook_sees_first():
    seen = []
    x = leaf(1.0)
    x.register_hook(lambda g: g * 10)
    x.register_hook(lambda g: seen.append(g.item()))
    (x * 2).backward()
    return {"second saw": seen, "x.grad": x.grad}


@probe(
    "hooks.order_of_all_kinds",
    "In which order are tensor, node, post-accumulate and module hooks called?",
)
def order_of_all_kinds():
    seen = []
    layer = torch.nn.Linear(1, 1, bias=False)
    layer.register_full_backward_pre_hook(lambda *_: seen.append("module pre-hook"))
    layer.register_full_backward_hook(lambda *_: seen.append("module hook"))
    layer.weight.register_hook(lambda _: seen.append("weight's tensor hook"))
    layer.weight.register_post_accumulate_grad_hook(
        lambda _: seen.append("weight's post-accumulate hook")
    )
    x = torch.ones(1, 1, requires_grad=True)
    y = layer(x)
    y.register_hook(lambda _: seen.append("output's tensor hook"))
    y.grad_fn.register_prehook(lambda _: seen.append("output node's pre-hook"))
    y.grad_fn.register_hook(lambda *_: seen.append("output node's hook"))
    x.register_hook(lambda _: seen.append("input's tensor hook"))
    y.sum().backward()
    return seen


@probe("hooks.post_accumulate_argument", "What does a post-accumulate hook receive?")
def post_accumulate_argument():
    seen = []
    p = torch.nn.Parameter(torch.tensor([1.0, 2.0]))
    p.register_post_accumulate_grad_hook(
        lambda t: seen.append({"same": t is p, "value": t.tolist(), "grad": t.grad.tolist()})
    )
    (p * torch.tensor([10.0, 20.0])).sum().backward()
    return seen


@probe(
    "hooks.leaf_hook_runs_before_accumulation",
    "What is x.grad inside a hook on x in the second backward?",
)
def leaf_hook_runs_before_accumulation():
    seen = []
    x = leaf(1.0)
    x.register_hook(lambda g: seen.append([g.item(), None if x.grad is None else x.grad.item()]))
    (x * 2).backward()
    (x * 3).backward()
    return seen


@probe(
    "hooks.called_once_for_two_uses",
    "How often is a hook called on a tensor that is used twice, and with what?",
)
def called_once_for_two_uses():
    seen = []
    y = leaf(1.0) * 1
    y.register_hook(lambda g: seen.append(g.item()))
    (y * 2 + y * 3).backward()
    return seen


@probe(
    "hooks.full_backward_hook_first_layer",
    "Which grad_input do full backward hooks get when the input needs no gradient?",
)
def full_backward_hook_first_layer():
    seen = []
    layers = torch.nn.Sequential(torch.nn.Linear(1, 1), torch.nn.Linear(1, 1))
    for number, layer in enumerate(layers):
        layer.register_full_backward_hook(
            lambda m, gi, go, n=number: seen.append([f"layer {n}", [g is not None for g in gi]])
        )
        layer.weight.register_hook(lambda g, n=number: seen.append(f"weight {n}"))
    layers(torch.ones(1, 1)).sum().backward()
    return seen


@probe(
    "hooks.old_module_backward_hook",
    "Which grad_input does register_backward_hook of a Linear layer get?",
)
def old_module_backward_hook():
    seen = []
    layer = torch.nn.Linear(2, 1)
    layer.register_backward_hook(
        lambda m, gi, go: seen.append([None if g is None else list(g.shape) for g in gi])
    )
    layer(torch.ones(1, 2, requires_grad=True)).sum().backward()
    return seen


@probe(
    "hooks.full_backward_hook_changes_input",
    "Does the value that a full backward hook returns reach x.grad?",
)
def full_backward_hook_changes_input():
    layer = torch.nn.Identity()
    layer.register_full_backward_hook(lambda m, gi, go: (gi[0] * 10,))
    x = leaf([1.0])
    layer(x * 1).sum().backward()
    return x.grad


@probe(
    "hooks.in_place_after_module_with_full_hook",
    "Can the output of a module with a full backward hook be changed in place?",
)
def in_place_after_module_with_full_hook():
    layer = torch.nn.Linear(1, 1)
    layer.register_full_backward_hook(lambda *_: None)
    return outcome(lambda: layer(torch.ones(1, 1, requires_grad=True)).mul_(2).shape)


@probe(
    "hooks.hook_of_wrong_shape", "What happens when a hook returns a gradient of another shape?"
)
def hook_of_wrong_shape():
    x = leaf([1.0, 2.0])
    y = x * 1
    y.register_hook(lambda g: torch.ones(3))
    return outcome(lambda: y.sum().backward())


@probe(
    "hooks.hook_on_tensor_without_grad",
    "What happens when a hook is set on a tensor that needs no gradient?",
)
def hook_on_tensor_without_grad():
    return outcome(lambda: torch.ones(1).register_hook(lambda g: g))


@probe(
    "hooks.hook_in_place_on_gradient",
    "What reaches x.grad when a hook changes its argument in place?",
)
def hook_in_place_on_gradient():
    x = leaf(1.0)
    y = x * 2
    y.register_hook(lambda g: g.mul_(10) and None)
    y.backward()
    return x.grad


@probe("hooks.removed_hook", "Is a removed hook still called?")
def removed_hook():
    seen = []
    y = leaf(1.0) * 2
    handle = y.register_hook(lambda g: seen.append("called"))
    handle.remove()
    y.backward()
    return seen


@probe(
    "hooks.hook_under_create_graph",
    "Is grad mode on inside a hook, without and with create_graph=True?",
)
def hook_under_create_graph():
    seen = []
    for create_graph in (False, True):
        y = leaf(1.0) ** 2
        y.register_hook(lambda g: seen.append(torch.is_grad_enabled()))
        y.backward(create_graph=create_graph)
    return seen


@probe("hooks.multi_grad_hook", "When is a register_multi_grad_hook hook called, and with what?")
def multi_grad_hook():
    seen = []
    a, b = leaf(1.0), leaf(1.0)
    torch.autograd.graph.register_multi_grad_hook(
        [a, b], lambda grads: seen.append([None if g is None else g.item() for g in grads])
    )
    (a * 2 + b * 3).backward()
    (a * 2).backward()
    return seen


@probe(
    "hooks.accumulate_grad_node_hook",
    "Does a hook on the AccumulateGrad node run after the accumulation?",
)
def accumulate_grad_node_hook():
    seen = []
    x = leaf(1.0)
    y = x * 2
    y.grad_fn.next_functions[0][0].register_hook(
        lambda *_: seen.append(None if x.grad is None else x.grad.item())
    )
    y.backward()
    return seen


@probe(
    "hooks.pack_hook_calls", "What do pack and unpack see for y = a * a, b = y.sum().backward()?"
)
def pack_hook_calls():
    seen = []

    def pack(tensor):
        seen.append("pack")
        return tensor

    def unpack(tensor):
        seen.append("unpack")
        return tensor

    a = leaf([2.0])
    with torch.autograd.graph.saved_tensors_hooks(pack, unpack):
        y = a * a
    y.sum().backward()
    return seen


@probe(
    "hooks.pack_hook_changes_value",
    "What gradient does a * a give when unpack returns ten times the value?",
)
def pack_hook_changes_value():
    a = leaf(2.0)
    with torch.autograd.graph.saved_tensors_hooks(lambda t: t, lambda t: t * 10):
        y = a * a
    y.backward()
    return a.grad


@probe("hooks.save_on_cpu", "Does save_on_cpu change the gradient?")
def save_on_cpu():
    a = leaf(2.0)
    with torch.autograd.graph.save_on_cpu():
        y = a * a
    y.backward()
    return a.grad


@probe(
    "hooks.disable_saved_tensors_hooks",
    "What does disable_saved_tensors_hooks do to a pack hook inside it?",
)
def disable_saved_tensors_hooks():
    def use():
        graph = torch.autograd.graph
        disabled = graph.disable_saved_tensors_hooks("no hooks here")
        with disabled, graph.saved_tensors_hooks(lambda t: t, lambda t: t):
            return (leaf(1.0) ** 2).item()

    return outcome(use)


@probe("hooks.error_in_hook", "What becomes of an error raised in a hook?")
def error_in_hook():
    def fail(gradient):
        raise ValueError("from the hook")

    y = leaf(1.0) * 2
    y.register_hook(fail)
    return outcome(y.backward)


@probe(
    "hooks.hook_on_view_of_leaf", "Which gradient does a hook on x[0] see when x is used whole?"
)
def hook_on_view_of_leaf():
    seen = []
    x = leaf([1.0, 2.0])
    first = x[0]
    first.register_hook(lambda g: seen.append(g.item()))
    x.sum().backward()
    return seen


@probe(
    "hooks.module_forward_hook_result",
    "Does the value that a forward hook returns replace the output?",
)
def module_forward_hook_result():
    layer = torch.nn.Identity()
    layer.register_forward_hook(lambda m, args, output: output * 10)
    return layer(torch.ones(1))
