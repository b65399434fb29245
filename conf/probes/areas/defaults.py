"""Default values of arguments and flags that decide what autograd does."""

from __future__ import annotations

import inspect

import torch
import torch.nn.functional as F  # noqa: N812

from probes.registry import Probe, add, probe


def default(name: str, path: str, *arguments: str) -> None:
    """A probe of the defaults of some arguments of the function at ``path``."""

    def ask():
        function = eval(path, {"torch": torch, "F": F})
        given = inspect.signature(function).parameters
        return {
            argument: _readable(given[argument].default)
            if argument in given
            else "no such argument"
            for argument in arguments
        }

    listed = ", ".join(arguments)
    add(Probe(f"defaults.{name}", f"What are the defaults of {listed} of {path}?", ask))


def _readable(value):
    if value is inspect.Parameter.empty:
        return "required"
    return (
        value
        if value is None or isinstance(value, (bool, int, float, str))
        else str(type(value).__name__)
    )


default("backward", "torch.Tensor.backward", "gradient", "retain_graph", "create_graph", "inputs")
default("autograd_backward", "torch.autograd.backward", "retain_graph", "create_graph", "inputs")
default(
    "autograd_grad",
    "torch.autograd.grad",
    "retain_graph",
    "create_graph",
    "allow_unused",
    "is_grads_batched",
    "materialize_grads",
)
default("optimizer_zero_grad", "torch.optim.Optimizer.zero_grad", "set_to_none")
default("module_zero_grad", "torch.nn.Module.zero_grad", "set_to_none")
default("requires_grad_method", "torch.nn.Module.requires_grad_", "requires_grad")
default("parameter", "torch.nn.Parameter.__new__", "requires_grad")
default(
    "clip_grad_norm",
    "torch.nn.utils.clip_grad_norm_",
    "norm_type",
    "error_if_nonfinite",
    "foreach",
)
default("clip_grad_value", "torch.nn.utils.clip_grad_value_", "foreach")
default(
    "gradcheck",
    "torch.autograd.gradcheck",
    "eps",
    "atol",
    "rtol",
    "raise_exception",
    "nondet_tol",
    "check_undefined_grad",
    "check_grad_dtypes",
    "check_batched_grad",
    "check_forward_ad",
    "check_backward_ad",
    "fast_mode",
    "masked",
)
default(
    "gradgradcheck",
    "torch.autograd.gradgradcheck",
    "eps",
    "atol",
    "rtol",
    "gen_non_contig_grad_outputs",
    "check_fwd_over_rev",
    "check_rev_over_rev",
    "fast_mode",
)
default(
    "functional_jacobian",
    "torch.autograd.functional.jacobian",
    "create_graph",
    "strict",
    "vectorize",
    "strategy",
)
default(
    "functional_hessian",
    "torch.autograd.functional.hessian",
    "create_graph",
    "strict",
    "vectorize",
    "outer_jacobian_strategy",
)
default("detect_anomaly", "torch.autograd.detect_anomaly.__init__", "check_nan")
default("set_detect_anomaly", "torch.autograd.set_detect_anomaly.__init__", "mode", "check_nan")
default(
    "checkpoint",
    "torch.utils.checkpoint.checkpoint",
    "use_reentrant",
    "determinism_check",
    "debug",
    "early_stop",
)
default("save_on_cpu", "torch.autograd.graph.save_on_cpu.__init__", "pin_memory")
default("inference_mode", "torch.inference_mode.__init__", "mode")
default(
    "sgd",
    "torch.optim.SGD.__init__",
    "lr",
    "momentum",
    "weight_decay",
    "nesterov",
    "maximize",
    "foreach",
    "differentiable",
    "fused",
)
default(
    "adam",
    "torch.optim.Adam.__init__",
    "lr",
    "eps",
    "weight_decay",
    "amsgrad",
    "foreach",
    "capturable",
    "differentiable",
    "fused",
    "decoupled_weight_decay",
)
default("adamw", "torch.optim.AdamW.__init__", "lr", "eps", "weight_decay", "foreach", "fused")
default("normalize", "F.normalize", "p", "dim", "eps")
default("cosine_similarity_module", "torch.nn.CosineSimilarity.__init__", "dim", "eps")
default("pairwise_distance_module", "torch.nn.PairwiseDistance.__init__", "p", "eps", "keepdim")
default("layer_norm", "F.layer_norm", "eps")
default(
    "batch_norm_module",
    "torch.nn.BatchNorm1d.__init__",
    "eps",
    "momentum",
    "affine",
    "track_running_stats",
)
default("smooth_l1_loss", "F.smooth_l1_loss", "beta", "reduction")
default("huber_loss", "F.huber_loss", "delta", "reduction")
default("cross_entropy", "F.cross_entropy", "ignore_index", "reduction", "label_smoothing")
default("kl_div", "F.kl_div", "reduction", "log_target")
default("gaussian_nll_loss", "F.gaussian_nll_loss", "full", "eps", "reduction")
default("leaky_relu", "F.leaky_relu", "negative_slope", "inplace")
default("dropout", "F.dropout", "p", "training", "inplace")
default(
    "embedding",
    "torch.nn.Embedding.__init__",
    "padding_idx",
    "max_norm",
    "scale_grad_by_freq",
    "sparse",
)
default("full_backward_hook", "torch.nn.Module.register_full_backward_hook", "prepend")
default("vmap", "torch.func.vmap", "in_dims", "out_dims", "randomness", "chunk_size")
default("func_grad", "torch.func.grad", "argnums", "has_aux")
default("func_jacrev", "torch.func.jacrev", "argnums", "has_aux", "chunk_size")
default("func_jacfwd", "torch.func.jacfwd", "argnums", "has_aux", "randomness")
default("func_functional_call", "torch.func.functional_call", "kwargs", "tie_weights", "strict")
default("compile", "torch.compile", "fullgraph", "dynamic", "backend")
default("load", "torch.load", "weights_only")
default(
    "assert_close",
    "torch.testing.assert_close",
    "rtol",
    "atol",
    "equal_nan",
    "check_dtype",
    "check_stride",
)


@probe("defaults.flags", "Which hidden flags of autograd are set from the start?")
def flags():
    def of(name):
        flag = getattr(torch, name, None) or getattr(torch._C, name, None)
        return flag() if flag else "no such flag"

    return {
        "inference mode": of("is_inference_mode_enabled"),
        "anomaly mode checks NaN": of("is_anomaly_check_nan_enabled"),
        "multithreaded backward": of("_is_multithreading_enabled"),
        "view replay": of("_is_view_replay_enabled"),
    }


@probe(
    "defaults.new_tensor", "What are requires_grad, is_leaf, grad and grad_fn of torch.ones(1)?"
)
def new_tensor():
    x = torch.ones(1)
    return {
        "requires_grad": x.requires_grad,
        "is_leaf": x.is_leaf,
        "grad": x.grad,
        "grad_fn": x.grad_fn,
        "retains_grad": x.retains_grad,
    }


@probe("defaults.grad_dtype", "Is there a tensor.grad_dtype, and what is it for a float32 leaf?")
def grad_dtype():
    return torch.ones(1, requires_grad=True).grad_dtype


@probe("defaults.std_of_two", "Does x.std() divide by n - 1?")
def std_of_two():
    return torch.tensor([1.0, 3.0]).std()


@probe("defaults.optimizer_foreach_on_cpu", "Is foreach of SGD on by default on the CPU?")
def optimizer_foreach_on_cpu():
    return torch.optim.SGD([torch.nn.Parameter(torch.ones(1))], lr=0.1).defaults.get(
        "foreach", "no such argument"
    )


@probe("defaults.checkpoint_early_stop", "Is early stopping of checkpoint on by default?")
def checkpoint_early_stop():
    from torch.utils import checkpoint

    flag = checkpoint._enable_checkpoint_early_stop
    if flag is None:  # no override of the argument, which later releases have
        flag = inspect.signature(checkpoint.checkpoint).parameters["early_stop"].default
    return flag


@probe(
    "defaults.in_place_activations",
    "Which of nn.functional's activations work in place by default?",
)
def in_place_activations():
    names = [
        "relu",
        "leaky_relu",
        "elu",
        "selu",
        "celu",
        "hardtanh",
        "relu6",
        "silu",
        "mish",
        "hardswish",
        "threshold",
        "rrelu",
        "hardsigmoid",
    ]
    return {
        name: inspect.signature(getattr(F, name)).parameters["inplace"].default for name in names
    }
