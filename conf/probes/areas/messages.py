"""The text of errors and warnings, as a reader would paste it into a search."""

from __future__ import annotations

import copy

import torch
import torch.nn.functional as F  # noqa: N812
from torch.utils.checkpoint import checkpoint

from probes.registry import probe
from probes.tools import leaf, raised, warned


def _function(forward, backward, **more):
    members = {"forward": staticmethod(forward), "backward": staticmethod(backward), **more}
    return type("Scale", (torch.autograd.Function,), members)


# -- calling backward ------------------------------------------------------------------------


@probe("messages.implicit_scalar", "What is the error of backward() on a vector?")
def implicit_scalar():
    return raised(lambda: (leaf([1.0, 2.0]) * 2).backward())


@probe("messages.implicit_real_scalar", "What is the error of backward() on a complex scalar?")
def implicit_real_scalar():
    return raised(lambda: (leaf(1 + 1j, torch.complex64) * 2).backward())


@probe("messages.no_grad_fn", "What is the error of backward() on a tensor without history?")
def no_grad_fn():
    return raised(lambda: torch.ones(1).sum().backward())


@probe("messages.second_time", "What is the error of a second backward() on one graph?")
def second_time():
    y = (leaf([1.0]) ** 2).sum()
    y.backward()
    return raised(y.backward)


@probe(
    "messages.saved_tensor_freed",
    "What is the error of a second backward() through a shared part of a graph?",
)
def saved_tensor_freed():
    shared = leaf([1.0]).exp()
    (shared * 2).sum().backward()
    return raised(lambda: (shared * 3).sum().backward())


@probe(
    "messages.gradient_shape",
    "What is the error of backward(gradient) with a gradient of the wrong shape?",
)
def gradient_shape():
    return raised(lambda: (leaf([1.0, 2.0]) * 2).backward(torch.ones(3)))


@probe(
    "messages.gradient_dtype", "What is the error of backward(gradient) with an integer gradient?"
)
def gradient_dtype():
    return raised(lambda: (leaf([1.0]) * 2).backward(torch.ones(1, dtype=torch.int64)))


@probe("messages.gradient_not_a_tensor", "What is the error of backward(1.0)?")
def gradient_not_a_tensor():
    return raised(lambda: (leaf(1.0) * 2).backward(1.0))


@probe(
    "messages.unused_input",
    "What is the error of torch.autograd.grad for an input that was not used?",
)
def unused_input():
    a, b = leaf([1.0]), leaf([1.0])
    return raised(lambda: torch.autograd.grad((a * 2).sum(), [a, b]))


@probe(
    "messages.input_does_not_require_grad",
    "What is the error of torch.autograd.grad for an input that needs no gradient?",
)
def input_does_not_require_grad():
    return raised(lambda: torch.autograd.grad(leaf([1.0]).sum(), torch.ones(1)))


@probe("messages.empty_inputs", "What is the error of backward(inputs=[])?")
def empty_inputs():
    return raised(lambda: (leaf(1.0) * 2).backward(inputs=[]))


@probe("messages.create_graph_warning", "What does backward(create_graph=True) warn of?")
def create_graph_warning():
    return warned(lambda: (leaf(1.0) ** 2).backward(create_graph=True))


@probe("messages.non_leaf_grad", "What does reading .grad of a non-leaf warn of?")
def non_leaf_grad():
    y = leaf([1.0]) * 2
    return warned(lambda: y.grad)


@probe(
    "messages.grad_none_arithmetic", "What is the error of w - 0.1 * w.grad when w.grad is None?"
)
def grad_none_arithmetic():
    w = leaf([1.0])
    return raised(lambda: w - 0.1 * w.grad)


# -- flags -------------------------------------------------------------------------------------


@probe("messages.integer_requires_grad", "What is the error of tensor([1], requires_grad=True)?")
def integer_requires_grad():
    return raised(lambda: torch.tensor([1], requires_grad=True))


@probe(
    "messages.integer_requires_grad_method",
    "What is the error of requires_grad_() on an integer tensor?",
)
def integer_requires_grad_method():
    return raised(lambda: torch.tensor([1]).requires_grad_())


@probe("messages.integer_parameter", "What is the error of Parameter(tensor([1]))?")
def integer_parameter():
    return raised(lambda: torch.nn.Parameter(torch.tensor([1])))


@probe("messages.flag_of_non_leaf", "What is the error of y.requires_grad = False on a non-leaf?")
def flag_of_non_leaf():
    y = leaf([1.0]) * 2
    return raised(lambda: setattr(y, "requires_grad", False))


@probe(
    "messages.retain_grad_without_grad",
    "What is the error of retain_grad() on a tensor that needs no gradient?",
)
def retain_grad_without_grad():
    return raised(lambda: torch.ones(1).retain_grad())


@probe(
    "messages.hook_without_grad",
    "What is the error of register_hook on a tensor that needs no gradient?",
)
def hook_without_grad():
    return raised(lambda: torch.ones(1).register_hook(lambda g: g))


@probe(
    "messages.post_accumulate_hook_on_non_leaf",
    "What is the error of a post-accumulate hook on a non-leaf?",
)
def post_accumulate_hook_on_non_leaf():
    y = leaf([1.0]) * 2
    return raised(lambda: y.register_post_accumulate_grad_hook(lambda t: None))


# -- conversions and copies ------------------------------------------------------------------


@probe("messages.numpy", "What is the error of numpy() on a tensor that requires grad?")
def numpy():
    return raised(lambda: leaf([1.0]).numpy())


@probe("messages.deepcopy_of_non_leaf", "What is the error of deepcopy of a non-leaf?")
def deepcopy_of_non_leaf():
    y = leaf([1.0]) * 2
    return raised(lambda: copy.deepcopy(y))


@probe("messages.tensor_of_tensor", "What does torch.tensor(y) of a tensor y warn of?")
def tensor_of_tensor():
    y = leaf([1.0]) * 2
    return warned(lambda: torch.tensor(y))


@probe("messages.scalar_conversion", "What does float(y) of a tensor that requires grad warn of?")
def scalar_conversion():
    y = leaf([1.0]) * 2
    return warned(lambda: float(y))


@probe("messages.item_of_vector", "What is the error of item() on a vector?")
def item_of_vector():
    return raised(lambda: leaf([1.0, 2.0]).item())


@probe(
    "messages.tensor_to_parameter",
    "What is the error of assigning a tensor to a module's parameter?",
)
def tensor_to_parameter():
    layer = torch.nn.Linear(1, 1)
    return raised(lambda: setattr(layer, "weight", torch.ones(1, 1)))


@probe("messages.optimizer_of_non_leaf", "What is the error of an optimizer for a non-leaf?")
def optimizer_of_non_leaf():
    return raised(lambda: torch.optim.SGD([leaf([1.0]) * 2], lr=0.1))


@probe("messages.optimizer_of_nothing", "What is the error of an optimizer for an empty list?")
def optimizer_of_nothing():
    return raised(lambda: torch.optim.SGD([], lr=0.1))


# -- in place ------------------------------------------------------------------------------------


@probe("messages.leaf_in_place", "What is the error of w -= 0.1 on a leaf?")
def leaf_in_place():
    return raised(lambda: leaf([1.0]).sub_(0.1))


@probe("messages.view_of_leaf_in_place", "What is the error of w[0] = 0 on a leaf?")
def view_of_leaf_in_place():
    return raised(lambda: leaf([1.0, 2.0]).__setitem__(0, 0.0))


@probe("messages.view_of_leaf_method", "What is the error of w[:1].mul_(2) on a leaf?")
def view_of_leaf_method():
    return raised(lambda: leaf([1.0, 2.0])[:1].mul_(2))


@probe(
    "messages.several_views_in_place",
    "What is the error of an in-place change of one of several views?",
)
def several_views_in_place():
    return raised(lambda: (leaf([1.0, 2.0]) * 1).unbind()[0].mul_(2))


@probe(
    "messages.view_made_in_no_grad",
    "What is the error of an in-place change of a view made under no_grad?",
)
def view_made_in_no_grad():
    y = leaf([1.0, 2.0]) * 1
    with torch.no_grad():
        v = y[:1]
    return raised(lambda: v.mul_(2))


@probe(
    "messages.modified_in_place",
    "What is the error of backward after an in-place change of a saved result?",
)
def modified_in_place():
    y = leaf([1.0]).sigmoid()
    y.mul_(2)
    return raised(lambda: y.sum().backward())


@probe(
    "messages.modified_saved_input",
    "What is the error of backward after an in-place change of a saved input?",
)
def modified_saved_input():
    x = leaf([1.0]) * 1
    y = x * x
    x.add_(1)
    return raised(lambda: y.sum().backward())


@probe("messages.weight_changed_by_step", "What is the error of backward after optimizer.step()?")
def weight_changed_by_step():
    layers = torch.nn.Sequential(torch.nn.Linear(1, 1), torch.nn.Linear(1, 1))
    out = layers(torch.ones(1, 1, requires_grad=True)).sum()
    out.backward(retain_graph=True)
    torch.optim.SGD(layers.parameters(), lr=0.1).step()
    return raised(out.backward)


@probe(
    "messages.expanded_in_place", "What is the error of an in-place change of an expanded tensor?"
)
def expanded_in_place():
    return raised(lambda: (leaf([1.0]) * 1).expand(3).mul_(2))


@probe("messages.dtype_in_place", "What is the error of an integer tensor times a float in place?")
def dtype_in_place():
    return raised(lambda: torch.ones(1, dtype=torch.int64).mul_(0.5))


@probe(
    "messages.output_of_custom_function_in_place",
    "What is the error of an in-place change of a Function's returned input?",
)
def output_of_custom_function_in_place():
    reverse = _function(lambda ctx, x: x, lambda ctx, g: -g)
    return raised(lambda: reverse.apply(leaf([1.0]) * 1).add_(1))


@probe("messages.detach_in_place_of_view", "What is the error of detach_() on a view?")
def detach_in_place_of_view():
    return raised(lambda: (leaf([1.0, 2.0]) * 1)[:1].detach_())


# -- inference mode ----------------------------------------------------------------------------


def _inference():
    with torch.inference_mode():
        return torch.ones(2)


@probe(
    "messages.inference_saved",
    "What is the error of an inference tensor that must be saved for backward?",
)
def inference_saved():
    return raised(lambda: leaf([1.0, 2.0]) * _inference())


@probe(
    "messages.inference_requires_grad",
    "What is the error of requires_grad_() on an inference tensor?",
)
def inference_requires_grad():
    return raised(lambda: _inference().requires_grad_())


@probe(
    "messages.inference_in_place",
    "What is the error of an in-place change of an inference tensor outside?",
)
def inference_in_place():
    return raised(lambda: _inference().mul_(2))


# -- assigning .grad -----------------------------------------------------------------------------


@probe("messages.grad_of_wrong_type", "What is the error of p.grad = 1.0?")
def grad_of_wrong_type():
    return raised(lambda: setattr(leaf([1.0]), "grad", 1.0))


@probe("messages.grad_of_wrong_size", "What is the error of assigning a .grad of another size?")
def grad_of_wrong_size():
    return raised(lambda: setattr(leaf([1.0]), "grad", torch.zeros(1, 4)))


@probe(
    "messages.grad_of_wrong_dtype",
    "What is the error of assigning a float64 .grad to a float32 leaf?",
)
def grad_of_wrong_dtype():
    return raised(lambda: setattr(leaf([1.0]), "grad", torch.zeros(1, dtype=torch.float64)))


@probe("messages.grad_is_itself", "What is the error of x.grad = x?")
def grad_is_itself():
    x = leaf([1.0])
    return raised(lambda: setattr(x, "grad", x))


# -- custom functions --------------------------------------------------------------------------


@probe(
    "messages.function_too_few_gradients",
    "What is the error of a Function that returns too few gradients?",
)
def function_too_few_gradients():
    scale = _function(lambda ctx, x, k: x * k, lambda ctx, g: g)
    return raised(lambda: scale.apply(leaf([1.0]), 3.0).backward())


@probe(
    "messages.function_too_many_gradients",
    "What is the error of a Function that returns too many gradients?",
)
def function_too_many_gradients():
    scale = _function(lambda ctx, x: x * 2, lambda ctx, g: (g, g))
    return raised(lambda: scale.apply(leaf([1.0])).backward())


@probe(
    "messages.function_wrong_shape",
    "What is the error of a Function whose gradient has the wrong shape?",
)
def function_wrong_shape():
    scale = _function(lambda ctx, x: x * 2, lambda ctx, g: torch.ones(2))
    return raised(lambda: scale.apply(leaf([1.0, 2.0, 3.0])).sum().backward())


@probe("messages.function_without_backward", "What is the error of a Function without a backward?")
def function_without_backward():
    scale = type(
        "Scale", (torch.autograd.Function,), {"forward": staticmethod(lambda ctx, x: x * 2)}
    )
    return raised(lambda: scale.apply(leaf([1.0])).backward())


@probe(
    "messages.function_not_static",
    "What is the error of a Function whose forward is not a static method?",
)
def function_not_static():
    class Old(torch.autograd.Function):
        def forward(self, x):
            return x

    return raised(lambda: Old()(leaf([1.0])))


@probe("messages.function_saves_number", "What is the error of save_for_backward of a number?")
def function_saves_number():
    def forward(ctx, x):
        ctx.save_for_backward(3.0)
        return x * 2

    return raised(lambda: _function(forward, lambda ctx, g: g).apply(leaf([1.0])).backward())


@probe(
    "messages.function_returns_number", "What is the error of a backward that returns a number?"
)
def function_returns_number():
    scale = _function(lambda ctx, x: x * 2, lambda ctx, g: 2.0)
    return raised(lambda: scale.apply(leaf([1.0])).backward())


@probe(
    "messages.once_differentiable",
    "What is the error of a second derivative through once_differentiable?",
)
def once_differentiable():
    from torch.autograd.function import once_differentiable as once

    scale = _function(lambda ctx, x: x * 2, once(lambda ctx, g: g * 2))
    x = leaf([2.0])
    (first,) = torch.autograd.grad((scale.apply(x) ** 2).sum(), x, create_graph=True)
    return raised(lambda: first.sum().backward())


@probe(
    "messages.pack_hook_in_place",
    "What is the error of a pack hook that changes its input in place?",
)
def pack_hook_in_place():
    def pack(tensor):
        tensor.detach().add_(2)
        return tensor

    def use():
        with torch.autograd.graph.saved_tensors_hooks(pack, lambda t: t):
            a = leaf([1.0])
            return (a * a).sum().backward()

    return raised(use)


# -- checks and modes ------------------------------------------------------------------------


@probe("messages.gradcheck_mismatch", "What is the error of gradcheck at a kink?")
def gradcheck_mismatch():
    x = leaf([0.0], torch.float64)
    return raised(lambda: torch.autograd.gradcheck(torch.relu, (x,)))


@probe("messages.gradcheck_float32", "What does gradcheck warn of for float32 inputs?")
def gradcheck_float32():
    return warned(lambda: torch.autograd.gradcheck(lambda x: x * 2, (leaf([1.0]),), atol=1.0))


@probe(
    "messages.gradcheck_without_grad",
    "What is the error of gradcheck when no input requires grad?",
)
def gradcheck_without_grad():
    return raised(
        lambda: torch.autograd.gradcheck(torch.sin, (torch.ones(1, dtype=torch.float64),))
    )


@probe("messages.anomaly_nan", "What is the error of anomaly mode at a NaN?")
def anomaly_nan():
    def use():
        with torch.autograd.set_detect_anomaly(True):
            (leaf([0.0]) ** 2).sqrt().sum().backward()

    return raised(use)


@probe("messages.anomaly_warning", "What does detect_anomaly() warn of when it is switched on?")
def anomaly_warning():
    return warned(lambda: torch.autograd.detect_anomaly())


@probe(
    "messages.anomaly_traceback",
    "How does the warning begin that shows where the NaN's forward call was?",
)
def anomaly_traceback():
    def use():
        with torch.autograd.set_detect_anomaly(True):
            (leaf([0.0]) ** 2).sqrt().sum().backward()

    return [text.split("\n")[0] for text in warned(use)]


@probe(
    "messages.checkpoint_with_grad",
    "What is the error of torch.autograd.grad through a reentrant checkpoint?",
)
def checkpoint_with_grad():
    x = leaf([1.0])
    y = checkpoint(torch.exp, x, use_reentrant=True).sum()
    return raised(lambda: torch.autograd.grad(y, x))


@probe(
    "messages.not_implemented_derivative",
    "What is the error of a derivative that is not implemented?",
)
def not_implemented_derivative():
    x = torch.zeros(5, 1, 4).log_softmax(2).requires_grad_()
    loss = F.ctc_loss(x, torch.tensor([[1, 2]]), torch.tensor([5]), torch.tensor([2]))
    (first,) = torch.autograd.grad(loss, x, create_graph=True)
    return raised(lambda: first.pow(2).sum().backward())


@probe(
    "messages.not_differentiable",
    "What is the error of backward through multinomial and through argmax?",
)
def not_differentiable():
    x = leaf([0.5, 0.5])
    return {
        "multinomial": raised(lambda: torch.multinomial(x, 1).sum().backward()),
        "argmax": raised(lambda: x.argmax().backward()),
    }


@probe("messages.var_of_one_element", "What does var() of one element warn of?")
def var_of_one_element():
    return warned(lambda: torch.tensor([1.0]).var())


@probe("messages.size_mismatch_in_loss", "What does mse_loss warn of when the shapes differ?")
def size_mismatch_in_loss():
    return warned(lambda: F.mse_loss(torch.ones(2, 1), torch.ones(2)))


@probe(
    "messages.scheduler_before_optimizer",
    "What does a scheduler's step before the optimizer's warn of?",
)
def scheduler_before_optimizer():
    optimizer = torch.optim.SGD([torch.nn.Parameter(torch.ones(1))], lr=0.1)
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 1)
    return warned(scheduler.step)


@probe(
    "messages.full_backward_hook_without_input_grad",
    "What does a full backward hook warn of when no input needs a gradient?",
)
def full_backward_hook_without_input_grad():
    layer = torch.nn.Linear(1, 1)
    layer.register_full_backward_hook(lambda *_: None)
    return warned(lambda: layer(torch.ones(1, 1)).sum().backward())


@probe("messages.old_backward_hook", "What does register_backward_hook of a module warn of?")
def old_backward_hook():
    layer = torch.nn.Sequential(torch.nn.Linear(1, 1), torch.nn.ReLU())
    layer.register_backward_hook(lambda *_: None)
    return warned(lambda: layer(torch.ones(1, 1, requires_grad=True)).sum().backward())


# -- torch.func --------------------------------------------------------------------------------


@probe("messages.vmap_item", "What is the error of item() under vmap?")
def vmap_item():
    vmap = torch.func.vmap
    return raised(lambda: vmap(lambda x: x * x.item())(torch.ones(2)))


@probe("messages.vmap_if", "What is the error of an if on a tensor under vmap?")
def vmap_if():
    vmap = torch.func.vmap
    return raised(lambda: vmap(lambda x: x if x.sum() > 0 else -x)(torch.ones(2, 1)))


@probe("messages.vmap_random", "What is the error of dropout under vmap?")
def vmap_random():
    vmap = torch.func.vmap
    return raised(lambda: vmap(F.dropout)(torch.ones(2, 4)))


@probe("messages.vmap_in_place", "What is the error of writing into zeros under vmap?")
def vmap_in_place():
    vmap = torch.func.vmap

    def fill(x):
        m = torch.zeros(x.shape)
        m[0] = x[0]
        return m

    return raised(lambda: vmap(fill)(torch.ones(2, 3)))


@probe("messages.vmap_dynamic_shape", "What is the error of nonzero() under vmap?")
def vmap_dynamic_shape():
    vmap = torch.func.vmap
    return raised(lambda: vmap(lambda x: x.nonzero())(torch.ones(2, 3)))


@probe("messages.func_grad_non_scalar", "What is the error of torch.func.grad of a vector?")
def func_grad_non_scalar():
    grad = torch.func.grad
    return raised(lambda: grad(lambda x: x * 2)(torch.ones(2)))


@probe("messages.func_grad_integer", "What is the error of torch.func.grad at an integer tensor?")
def func_grad_integer():
    grad = torch.func.grad
    return raised(lambda: grad(lambda x: (x * 2).sum())(torch.ones(2, dtype=torch.int64)))


@probe(
    "messages.func_custom_function",
    "What is the error of torch.func.grad of a Function without setup_context?",
)
def func_custom_function():
    grad = torch.func.grad
    scale = _function(lambda ctx, x: x * 2, lambda ctx, g: g * 2)
    return raised(lambda: grad(lambda x: scale.apply(x).sum())(torch.ones(2)))


@probe(
    "messages.vmap_custom_function", "What is the error of vmap of a Function without a vmap rule?"
)
def vmap_custom_function():
    vmap = torch.func.vmap

    class Scale(torch.autograd.Function):
        @staticmethod
        def forward(x):
            return x * 2

        @staticmethod
        def setup_context(ctx, inputs, output):
            pass

        @staticmethod
        def backward(ctx, g):
            return g * 2

    return raised(lambda: vmap(Scale.apply)(torch.ones(2)))


@probe("messages.jacfwd_complex", "What is the error of jacfwd at a complex tensor?")
def jacfwd_complex():
    jacfwd = torch.func.jacfwd
    return raised(lambda: jacfwd(torch.sin)(torch.ones(1, dtype=torch.complex64)))


@probe("messages.jacrev_complex", "What is the error of jacrev at a complex tensor?")
def jacrev_complex():
    jacrev = torch.func.jacrev
    return raised(lambda: jacrev(torch.sin)(torch.ones(1, dtype=torch.complex64)))


@probe(
    "messages.forward_ad_not_implemented",
    "What is the error of forward mode where it is not implemented?",
)
def forward_ad_not_implemented():
    from torch.autograd import forward_ad

    def use():
        with forward_ad.dual_level():
            dual = forward_ad.make_dual(torch.ones(1, 2), torch.ones(1, 2))
            torch.cdist(dual, torch.zeros(1, 2))

    return raised(use)


@probe("messages.func_backward_inside", "What is the error of backward() under torch.func.grad?")
def func_backward_inside():
    grad = torch.func.grad

    def function(x):
        y = leaf(2.0)
        (y * 3).backward()
        return x * y.grad

    return raised(lambda: grad(function)(torch.tensor(3.0)))


@probe(
    "messages.func_captured_in_place",
    "What is the error of writing into a captured tensor under torch.func.grad?",
)
def func_captured_in_place():
    grad = torch.func.grad
    captured = torch.zeros(1)
    return raised(lambda: grad(lambda x: captured.copy_(x).sum())(torch.ones(1)))


@probe("messages.forward_ad_of_attention", "What is the error of forward mode through attention?")
def forward_ad_of_attention():
    jvp, attention = torch.func.jvp, F.scaled_dot_product_attention
    q = torch.ones(1, 1, 2, 8)
    return raised(lambda: jvp(lambda q: attention(q, q, q), (q,), (q,)))


@probe("messages.forward_ad_custom_function", "What is the error of forward mode without a jvp?")
def forward_ad_custom_function():
    from torch.autograd import forward_ad

    scale = _function(lambda ctx, x: x * 2, lambda ctx, g: g * 2)

    def use():
        with forward_ad.dual_level():
            scale.apply(forward_ad.make_dual(torch.ones(1), torch.ones(1)))

    return raised(use)


# -- hooks, shapes and sizes -----------------------------------------------------------------


@probe("messages.hook_of_wrong_shape", "What is the error of a hook that returns another shape?")
def hook_of_wrong_shape():
    y = leaf([1.0, 2.0]) * 1

    def hook(gradient):
        return torch.ones(3)

    y.register_hook(hook)
    return raised(lambda: y.sum().backward())


@probe(
    "messages.full_hook_in_place",
    "What is the error of changing in place what a hooked module returns?",
)
def full_hook_in_place():
    layer = torch.nn.Linear(1, 1)
    layer.register_full_backward_hook(lambda *_: None)
    return raised(lambda: layer(torch.ones(1, 1, requires_grad=True)).mul_(2))


@probe(
    "messages.saved_tensors_hooks_disabled",
    "What is the error of pack hooks where they are disabled?",
)
def saved_tensors_hooks_disabled():
    graph = torch.autograd.graph
    disabled = graph.disable_saved_tensors_hooks("no hooks here")

    def use():
        with disabled, graph.saved_tensors_hooks(lambda t: t, lambda t: t):
            pass

    return raised(use)


@probe(
    "messages.function_gradient_for_number",
    "What is the error of a gradient for a number argument?",
)
def function_gradient_for_number():
    scale = _function(lambda ctx, x, k: x * k, lambda ctx, g: (g, g))
    return raised(lambda: scale.apply(leaf([1.0]), 3).backward())


@probe(
    "messages.function_dirty_leaf", "What is the error of a Function that changes a leaf in place?"
)
def function_dirty_leaf():
    def forward(ctx, x):
        x.mul_(2)
        ctx.mark_dirty(x)
        return x

    return raised(lambda: _function(forward, lambda ctx, g: g * 2).apply(leaf([1.0])))


@probe("messages.resize_of_leaf", "What is the error of resize_() on a tensor that requires grad?")
def resize_of_leaf():
    return raised(lambda: leaf([1.0]).resize_(3))


@probe("messages.broadcast_in_place", "What is the error of y += v where v is larger than y?")
def broadcast_in_place():
    return raised(lambda: (leaf([1.0]) * 1).add_(torch.ones(3)))


@probe(
    "messages.version_of_inference_tensor", "What is the error of _version of an inference tensor?"
)
def version_of_inference_tensor():
    x = _inference()
    return raised(lambda: x._version)


@probe(
    "messages.load_state_of_other_shape",
    "What is the error of load_state_dict with another shape?",
)
def load_state_of_other_shape():
    layer = torch.nn.Linear(1, 1)
    state = {"weight": torch.ones(2, 2), "bias": torch.ones(1)}
    return raised(lambda: layer.load_state_dict(state))


@probe(
    "messages.matrix_shapes", "What is the error of a matrix product of shapes that do not fit?"
)
def matrix_shapes():
    return raised(lambda: torch.ones(2, 3) @ torch.ones(2, 3))


@probe("messages.bool_of_vector", "What is the error of an if on a vector?")
def bool_of_vector():
    return raised(lambda: bool(leaf([1.0, 2.0]) > 1))


# -- checkpoint ------------------------------------------------------------------------------


def _checkpointed(first, then):
    """The error of a checkpoint whose function does something else when it is run again."""
    runs = []

    def function(x):
        runs.append(1)
        return first(x) if len(runs) == 1 else then(x)

    y = checkpoint(function, leaf([1.0, 1.0, 1.0, 1.0]), use_reentrant=False)
    return raised(lambda: y.sum().backward())


@probe(
    "messages.checkpoint_other_shape", "What is the error of a recomputation with another shape?"
)
def checkpoint_other_shape():
    return _checkpointed(lambda x: x[:3].sin().cos(), lambda x: x[:2].sin().cos())


@probe("messages.checkpoint_fewer_saved", "What is the error of a recomputation that saves less?")
def checkpoint_fewer_saved():
    return _checkpointed(lambda x: x.sin().cos(), lambda x: x.sin())


@probe(
    "messages.checkpoint_without_use_reentrant",
    "What does checkpoint warn of without use_reentrant?",
)
def checkpoint_without_use_reentrant():
    return warned(lambda: checkpoint(torch.sin, leaf([1.0])))


@probe(
    "messages.checkpoint_sequential",
    "What does checkpoint_sequential warn of without use_reentrant?",
)
def checkpoint_sequential():
    from torch.utils.checkpoint import checkpoint_sequential as sequential

    layers = torch.nn.Sequential(torch.nn.Linear(1, 1), torch.nn.Linear(1, 1))
    return warned(lambda: sequential(layers, 2, torch.ones(1, 1, requires_grad=True)))


@probe(
    "messages.checkpoint_input_without_grad",
    "What does a reentrant checkpoint warn of when no input requires grad?",
)
def checkpoint_input_without_grad():
    layer = torch.nn.Linear(1, 1)
    return warned(lambda: checkpoint(layer, torch.ones(1, 1), use_reentrant=True))


@probe(
    "messages.checkpoint_keyword_argument",
    "What is the error of a keyword argument of a reentrant checkpoint?",
)
def checkpoint_keyword_argument():
    return raised(lambda: checkpoint(lambda x, k=1: x * k, leaf([1.0]), use_reentrant=True, k=3))


# -- clipping, scaling, sparse gradients -----------------------------------------------------


def _parameter(gradient):
    p = torch.nn.Parameter(torch.zeros_like(gradient))
    p.grad = gradient
    return p


@probe("messages.clip_nonfinite", "What is the error of clip_grad_norm_(error_if_nonfinite=True)?")
def clip_nonfinite():
    p = _parameter(torch.tensor([float("nan")]))
    clip = torch.nn.utils.clip_grad_norm_
    return raised(lambda: clip([p], 1.0, error_if_nonfinite=True))


@probe("messages.clip_sparse", "What is the error of clip_grad_norm_ of a sparse gradient?")
def clip_sparse():
    layer = torch.nn.Embedding(2, 1, sparse=True)
    layer(torch.tensor([0])).sum().backward()
    return raised(lambda: torch.nn.utils.clip_grad_norm_(layer.parameters(), 1.0))


@probe(
    "messages.clip_empty_generator", "What does clip_grad_norm_ warn of for an empty generator?"
)
def clip_empty_generator():
    return warned(lambda: torch.nn.utils.clip_grad_norm_((p for p in ()), 1.0))


@probe("messages.adam_sparse", "What is the error of Adam with a sparse gradient?")
def adam_sparse():
    layer = torch.nn.Embedding(2, 1, sparse=True)
    layer(torch.tensor([0])).sum().backward()
    return raised(torch.optim.Adam(layer.parameters()).step)


@probe(
    "messages.sgd_sparse_weight_decay",
    "What is the error of SGD with weight decay and a sparse gradient?",
)
def sgd_sparse_weight_decay():
    layer = torch.nn.Embedding(2, 1, sparse=True)
    layer(torch.tensor([0])).sum().backward()
    return raised(torch.optim.SGD(layer.parameters(), lr=0.1, weight_decay=0.1).step)


def _scaler(dtype):
    scaler = torch.amp.GradScaler("cpu")
    p = torch.nn.Parameter(torch.ones(1, dtype=dtype))
    scaler.scale((p * 2).float().sum()).backward()
    return scaler, torch.optim.SGD([p], lr=1.0)


@probe("messages.scaler_float16", "What is the error of unscale_ of float16 gradients?")
def scaler_float16():
    scaler, optimizer = _scaler(torch.float16)
    return raised(lambda: scaler.unscale_(optimizer))


@probe("messages.scaler_no_inf_checks", "What is the error of scaler.step without any gradient?")
def scaler_no_inf_checks():
    scaler, _ = _scaler(torch.float32)
    optimizer = torch.optim.SGD([torch.nn.Parameter(torch.ones(1))], lr=1.0)
    return raised(lambda: scaler.step(optimizer))


@probe("messages.scaler_unscale_twice", "What is the error of a second unscale_ before update?")
def scaler_unscale_twice():
    scaler, optimizer = _scaler(torch.float32)
    scaler.unscale_(optimizer)
    return raised(lambda: scaler.unscale_(optimizer))


@probe(
    "messages.cdist_second_derivative", "What is the error of a second derivative through cdist?"
)
def cdist_second_derivative():
    x = leaf([[3.0, 4.0]])
    (first,) = torch.autograd.grad(torch.cdist(x, torch.zeros(1, 2)).sum(), x, create_graph=True)
    return raised(lambda: first.sum().backward())


@probe(
    "messages.attention_second_derivative",
    "What is the error of a second derivative through attention?",
)
def attention_second_derivative():
    x = torch.eye(2).reshape(1, 1, 2, 2).requires_grad_()
    y = F.scaled_dot_product_attention(x, x, x).pow(2).sum()
    (first,) = torch.autograd.grad(y, x, create_graph=True)
    return raised(lambda: first.sum().backward())
