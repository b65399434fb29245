"""The names of the nodes that operations record, and what the nodes keep."""

from __future__ import annotations

import torch
import torch.nn.functional as F  # noqa: N812

from probes.registry import Probe, add, probe
from probes.tools import leaf, names, outcome


def node(name: str, expression: str, *shape: int) -> None:
    """A probe of the nodes that an expression in ``x`` records, from the result backwards."""

    def ask() -> list[str]:
        x = torch.arange(1.0, 5.0) if not shape else torch.ones(*shape)
        result = eval(expression, {"torch": torch, "F": F, "x": x.requires_grad_()})
        return [found for found in names(result) if found != "AccumulateGrad"]

    of = list(shape or (4,))
    question = f"Which nodes does {expression} record, for x of shape {of}?"
    add(Probe(f"graph_nodes.{name}", question, ask))


# -- shapes --------------------------------------------------------------------------------------
node("reshape", "x.reshape(4, 1)")
node("reshape_that_copies", "x.t().reshape(4)", 2, 2)
node("view", "x.view(2, 2)")
node("view_same_shape", "x.view(4)")
node("flatten", "x.flatten()", 2, 2)
node("ravel", "x.ravel()", 2, 2)
node("unflatten", "x.unflatten(0, (2, 2))")
node("transpose_t", "x.T", 2, 2)
node("t", "x.t()", 2, 2)
node("transpose", "x.transpose(0, 1)", 2, 2)
node("permute", "x.permute(1, 0)", 2, 2)
node("mt", "x.mT", 2, 2)
node("expand", "x.expand(3, 4)")
node("broadcast_to", "torch.broadcast_to(x, (3, 4))")
node("repeat", "x.repeat(2)")
node("tile", "torch.tile(x, (2,))")
node("unsqueeze", "x.unsqueeze(0)")
node("index_none", "x[None]")
node("squeeze", "x.squeeze()", 1, 2)
node("squeeze_dimension", "x.squeeze(0)", 1, 2)
node("index_integer", "x[0]")
node("index_slice", "x[1:3]")
node("index_all", "x[:]")
node("index_ellipsis", "x[...]")
node("index_list", "x[[0, 2]]")
node("index_mask", "x[x > 2]")
node("index_column", "x[:, 0]", 2, 2)
node("narrow", "x.narrow(0, 0, 2)")
node("diagonal", "x.diagonal()", 2, 2)
node("unbind", "x.unbind()[0]")
node("split", "x.split(2)[0]")
node("chunk", "x.chunk(2)[0]")
node("tensor_split", "x.tensor_split(2)[0]")
node("iterate_rows", "next(iter(x))", 2, 2)
node("cat", "torch.cat([x, x])")
node("stack", "torch.stack([x, x])")
node("clone", "x.clone()")
node("contiguous_copy", "x.t().contiguous()", 2, 2)
node("to_float64", "x.to(torch.float64)")
node("to_same", "x.to(torch.float32)")
node("double", "x.double()")
node("type_as", "x.type_as(torch.ones(1, dtype=torch.float64))")
node("flip", "x.flip(0)")
node("roll", "x.roll(1)")
node("triu", "x.triu()", 2, 2)
node("gather", "x.gather(0, torch.tensor([0]))")
node("scatter", "x.scatter(0, torch.tensor([0]), 1.0)")
node("index_select", "x.index_select(0, torch.tensor([0]))")
node("masked_fill", "x.masked_fill(x > 2, 0.0)")
node("masked_select", "x.masked_select(x > 2)")
node("take", "x.take(torch.tensor([0]))")
node("pad", "F.pad(x, (1, 1))")
node("unfold", "x.unfold(0, 2, 1)")
node("as_strided", "x.as_strided((2,), (1,))")
node("meshgrid", "torch.meshgrid(x, x, indexing='ij')[0]")

# -- arithmetic --------------------------------------------------------------------------------
node("add_number", "x + 1")
node("subtract_from_number", "1 - x")
node("negate", "-x")
node("square_by_mul", "x * x")
node("square_by_pow", "x**2")
node("square", "x.square()")
node("pow_of_number", "2**x")
node("pow_tensor", "x**x")
node("divide", "x / 2")
node("reciprocal", "1 / x")
node("sqrt", "x.sqrt()")
node("exp", "x.exp()")
node("log", "x.log()")
node("abs", "x.abs()")
node("where", "torch.where(x > 2, x, torch.zeros(4))")
node("clamp", "x.clamp(min=0)")
node("clamp_range", "x.clamp(0, 1)")
node("clamp_min", "torch.clamp_min(x, 0)")
node("clamp_tensor", "x.clamp(min=torch.tensor(0.0))")
node("maximum", "torch.maximum(x, torch.zeros(4))")
node("lerp", "torch.lerp(x, torch.zeros(4), 0.5)")
node("addcmul", "torch.addcmul(x, x, x)")

# -- reductions ----------------------------------------------------------------------------------
node("sum", "x.sum()")
node("sum_dimension", "x.sum(0)", 2, 2)
node("mean", "x.mean()")
node("mean_dimension", "x.mean(0)", 2, 2)
node("max_all", "x.max()")
node("max_dimension", "x.max(0).values")
node("amax", "x.amax()")
node("median", "x.median()")
node("sort", "x.sort().values")
node("topk", "x.topk(2).values")
node("prod", "x.prod()")
node("cumsum", "x.cumsum(0)")
node("std", "x.std()")
node("var", "x.var()")
node("norm", "x.norm()")
node("norm_p_1", "x.norm(p=1)")
node("norm_p_inf", "x.norm(p=float('inf'))")
node("linalg_norm", "torch.linalg.norm(x)")
node("frobenius_norm", "torch.linalg.matrix_norm(x)", 2, 2)
node("logsumexp", "x.logsumexp(0)")
node("trace", "x.trace()", 2, 2)

# -- products of matrices --------------------------------------------------------------------
node("dot", "x.dot(x)")
node("matmul_vectors", "x @ x")
node("mm", "x.mm(x)", 2, 2)
node("matmul_matrices", "x @ x", 2, 2)
node("matmul_matrix_vector", "x @ torch.ones(2)", 2, 2)
node("matmul_batch", "x @ torch.ones(2, 2)", 3, 2, 2)
node("matmul_batches", "x @ torch.ones(3, 2, 2)", 3, 2, 2)
node("einsum_matmul", "torch.einsum('ij,jk->ik', x, torch.ones(2, 2))", 2, 2)
node("einsum_inner", "torch.einsum('i,i->', x, x)")
node("outer", "torch.outer(x, x)")
node("kron", "torch.kron(x, x)", 2, 2)
node("det", "torch.linalg.det(x)", 2, 2)
node("inverse", "torch.linalg.inv(x + torch.eye(2))", 2, 2)
node("solve", "torch.linalg.solve(x + torch.eye(2), torch.ones(2))", 2, 2)
node("fft", "torch.fft.fft(x)")

# -- layers and losses -----------------------------------------------------------------------
node("linear", "F.linear(x, torch.ones(3, 2), torch.ones(3))", 1, 2)
node("linear_without_bias", "F.linear(x, torch.ones(3, 2))", 1, 2)
node("linear_3d", "F.linear(x, torch.ones(3, 2), torch.ones(3))", 1, 1, 2)
node("linear_vector", "F.linear(x, torch.ones(3, 4), torch.ones(3))")
node("conv1d", "F.conv1d(x, torch.ones(1, 1, 2))", 1, 1, 4)
node("conv2d", "F.conv2d(x, torch.ones(1, 1, 2, 2))", 1, 1, 4, 4)
node("max_pool2d", "F.max_pool2d(x, 2)", 1, 1, 4, 4)
node("avg_pool2d", "F.avg_pool2d(x, 2)", 1, 1, 4, 4)
node("adaptive_avg_pool2d", "F.adaptive_avg_pool2d(x, 1)", 1, 1, 4, 4)
node("relu", "F.relu(x)")
node("leaky_relu", "F.leaky_relu(x)")
node("relu6", "F.relu6(x)")
node("gelu", "F.gelu(x)")
node("silu", "F.silu(x)")
node("sigmoid", "x.sigmoid()")
node("tanh", "x.tanh()")
node("softmax", "x.softmax(0)")
node("log_softmax", "x.log_softmax(0)")
node("dropout", "F.dropout(x)")
node("dropout_in_eval", "F.dropout(x, training=False)")
node("embedding", "F.embedding(torch.tensor([0]), x)", 2, 2)
node("layer_norm", "F.layer_norm(x, [4])")
node("batch_norm", "F.batch_norm(x, None, None, training=True)", 2, 2)
node("group_norm", "F.group_norm(x, 1)", 2, 2)
node("rms_norm", "F.rms_norm(x, [4])")
node("normalize", "F.normalize(x, dim=0)")
node("mse_loss", "F.mse_loss(x, torch.zeros(4))")
node("l1_loss", "F.l1_loss(x, torch.zeros(4))")
node("cross_entropy", "F.cross_entropy(x, torch.tensor([0]))", 1, 2)
node("cross_entropy_of_probabilities", "F.cross_entropy(x, torch.ones(1, 2) / 2)", 1, 2)
node("binary_cross_entropy", "F.binary_cross_entropy(x.sigmoid(), torch.ones(4))")
node("bce_with_logits", "F.binary_cross_entropy_with_logits(x, torch.ones(4))")
node("attention_3d", "F.scaled_dot_product_attention(x, x, x)", 1, 2, 8)
node("attention_4d", "F.scaled_dot_product_attention(x, x, x)", 1, 1, 2, 8)
node("rnn_cell", "torch.nn.RNNCell(4, 1)(x)", 1, 4)
node("gru_cell", "torch.nn.GRUCell(4, 1)(x)", 1, 4)
node("lstm_cell", "torch.nn.LSTMCell(4, 1)(x)[0]", 1, 4)
node("weight_norm", "torch.nn.utils.weight_norm(torch.nn.Linear(4, 1))(x)")
node("interpolate", "F.interpolate(x, scale_factor=2)", 1, 1, 2)

# -- views that were changed in place ----------------------------------------------------------


@probe("graph_nodes.base_after_in_place_on_view", "What is y.grad_fn after y[0] *= 2?")
def base_after_in_place_on_view():
    y = leaf([1.0, 2.0]) * 1
    y[0] *= 2
    return names(y)


@probe(
    "graph_nodes.view_after_in_place_on_itself", "What is v.grad_fn after v = y[:1] and v.mul_(2)?"
)
def view_after_in_place_on_itself():
    y = leaf([1.0, 2.0]) * 1
    v = y[:1]
    v.mul_(2)
    return {"view": type(v.grad_fn).__name__, "base": type(y.grad_fn).__name__}


@probe(
    "graph_nodes.view_after_in_place_on_base", "What is v.grad_fn after v = y[:1] and y.mul_(2)?"
)
def view_after_in_place_on_base():
    y = leaf([1.0, 2.0]) * 1
    v = y[:1]
    y.mul_(2)
    return {"view": type(v.grad_fn).__name__, "base": type(y.grad_fn).__name__}


@probe(
    "graph_nodes.assigned_slice", "What are the nodes behind m after m = zeros(3) and m[0] = x?"
)
def assigned_slice():
    m = torch.zeros(3)
    m[0] = leaf(1.0)
    return names(m)


# -- nodes themselves --------------------------------------------------------------------------


@probe("graph_nodes.leaf_grad_fn", "What is the grad_fn of a leaf?")
def leaf_grad_fn():
    return leaf(1.0).grad_fn


@probe("graph_nodes.accumulate_grad", "Which node stands for a leaf, and what does it lead to?")
def accumulate_grad():
    (end, _), *_ = (leaf(1.0) * 2).grad_fn.next_functions
    return {
        "name": end.name(),
        "next": len(end.next_functions),
        "has variable": hasattr(end, "variable"),
    }


@probe(
    "graph_nodes.constant_input", "What stands in next_functions for an input without gradient?"
)
def constant_input():
    return [
        None if found is None else type(found).__name__
        for found, _ in (leaf(1.0) * torch.ones(1)).grad_fn.next_functions
    ]


@probe("graph_nodes.custom_function_name", "What is grad_fn.name() of a custom Function?")
def custom_function_name():
    class Mine(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x.clone()

        @staticmethod
        def backward(ctx, g):
            return g

    result = Mine.apply(leaf(1.0))
    return {
        "type": type(result.grad_fn).__name__,
        "name()": outcome(lambda: result.grad_fn.name()),
    }


@probe("graph_nodes.kept_after_backward", "Do grad_fn and its edges still exist after backward?")
def kept_after_backward():
    y = (leaf([1.0]) ** 2).sum()
    before = names(y)
    y.backward()
    return {"before": before, "after": names(y)}


def _saved(expression: str) -> list[str]:
    x = torch.arange(1.0, 5.0).requires_grad_()
    node = eval(expression, {"torch": torch, "F": F, "x": x}).grad_fn
    tensors = []
    for name in sorted(dir(node)):
        if name.startswith("_saved_") and isinstance(getattr(node, name), torch.Tensor):
            tensors.append(name)
    return tensors


@probe("graph_nodes.saved_by_operation", "Which tensors do common operations keep for backward?")
def saved_by_operation():
    operations = [
        "x + 1",
        "x.sum()",
        "x * 2",
        "x * x",
        "x**2",
        "x.exp()",
        "x.log()",
        "x.sqrt()",
        "x.relu()",
    ]
    operations += [
        "x.sigmoid()",
        "x.tanh()",
        "x.abs()",
        "x.clamp(min=0)",
        "x.prod()",
        "x.softmax(0)",
        "x.mean()",
    ]
    return {operation: _saved(operation) for operation in operations}


@probe("graph_nodes.saved_count_by_hooks", "How many tensors do operations pack for backward?")
def saved_count_by_hooks():
    def count(function):
        packed = []
        with torch.autograd.graph.saved_tensors_hooks(
            lambda t: packed.append(t) or t, lambda t: t
        ):
            function(torch.ones(2, 2).requires_grad_())
        return len(packed)

    return {
        "x + 1": count(lambda x: x + 1),
        "x * x": count(lambda x: x * x),
        "x * 2": count(lambda x: x * 2),
        "x @ x": count(lambda x: x @ x),
        "x.relu()": count(lambda x: x.relu()),
        "F.linear(x, x)": count(lambda x: F.linear(x, x)),
        "F.layer_norm(x, [2])": count(lambda x: F.layer_norm(x, [2])),
        "F.gelu(x)": count(lambda x: F.gelu(x)),
        "F.dropout(x)": count(lambda x: F.dropout(x)),
        "x.log_softmax(0)": count(lambda x: x.log_softmax(0)),
    }


@probe("graph_nodes.sequence_numbers", "Do later nodes have higher sequence numbers?")
def sequence_numbers():
    x = leaf([1.0])
    y = x.exp()
    z = y.sin()
    return z.grad_fn._sequence_nr() - y.grad_fn._sequence_nr()


@probe("graph_nodes.node_metadata", "Is node.metadata a dict that keeps what is put in?")
def node_metadata():
    y = leaf([1.0]) * 2
    y.grad_fn.metadata["seen"] = 1
    return y.grad_fn.metadata


@probe(
    "graph_nodes.saved_tensor_after_backward",
    "What does reading a saved tensor after backward do?",
)
def saved_tensor_after_backward():
    y = leaf([1.0]).exp()
    y.sum().backward()
    return outcome(lambda: y.grad_fn._saved_result)
