"""Sparse gradients and sparse tensors."""

from __future__ import annotations

import torch
import torch.nn.functional as F  # noqa: N812

from probes.registry import probe
from probes.tools import leaf, outcome


def _embedding(**options):
    layer = torch.nn.Embedding(4, 2, sparse=True, **options)
    with torch.no_grad():
        layer.weight.copy_(torch.ones(4, 2))
    return layer


def _after_backward(**options):
    layer = _embedding(**options)
    layer(torch.tensor([1, 3, 1])).sum().backward()
    return layer


@probe(
    "sparse.embedding_gradient",
    "Which layout, and how many entries, has the gradient of Embedding(sparse=True) for [1, 3, 1]?",
)
def embedding_gradient():
    grad = _after_backward().weight.grad
    return {
        "layout": grad.layout,
        "entries": grad._nnz(),
        "coalesced": grad.is_coalesced(),
        "dense": grad.to_dense(),
    }


@probe("sparse.two_backwards", "How many entries has the gradient after two backwards?")
def two_backwards():
    layer = _after_backward()
    layer(torch.tensor([0])).sum().backward()
    return {"entries": layer.weight.grad._nnz(), "dense": layer.weight.grad.to_dense()}


@probe(
    "sparse.dense_and_sparse",
    "Which layout has the gradient when one use is sparse and one is dense?",
)
def dense_and_sparse():
    layer = _embedding()
    (layer(torch.tensor([1])).sum() + layer.weight.sum()).backward()
    return {"layout": layer.weight.grad.layout, "dense": layer.weight.grad.to_dense()}


@probe(
    "sparse.dense_then_sparse",
    "Which layout has .grad after a dense and then a sparse backward, and the other way round?",
)
def dense_then_sparse():
    first, second = _embedding(), _embedding()
    first.weight.sum().backward()
    first(torch.tensor([1])).sum().backward()
    second(torch.tensor([1])).sum().backward()
    second.weight.sum().backward()
    return [first.weight.grad.layout, second.weight.grad.layout]


@probe("sparse.clip_grad_norm", "Does clip_grad_norm_ work with a sparse gradient?")
def clip_grad_norm():
    layer = _after_backward()
    return outcome(lambda: torch.nn.utils.clip_grad_norm_(layer.parameters(), 1.0))


@probe("sparse.clip_grad_norm_result", "What is the sparse gradient after clip_grad_norm_ to 1?")
def clip_grad_norm_result():
    layer = _embedding()
    layer(torch.tensor([1, 3])).sum().backward()
    return outcome(
        lambda: (
            torch.nn.utils.clip_grad_norm_(layer.parameters(), 1.0),
            layer.weight.grad.to_dense(),
        )[1]
    )


@probe(
    "sparse.clip_grad_norm_foreach_false",
    "Does clip_grad_norm_(foreach=False) work with a sparse gradient?",
)
def clip_grad_norm_foreach_false():
    layer = _after_backward()
    return outcome(lambda: torch.nn.utils.clip_grad_norm_(layer.parameters(), 1.0, foreach=False))


@probe("sparse.clip_grad_value", "Does clip_grad_value_ work with a sparse gradient?")
def clip_grad_value():
    layer = _after_backward()
    return outcome(
        lambda: (
            torch.nn.utils.clip_grad_value_(layer.parameters(), 0.5),
            layer.weight.grad.to_dense(),
        )[1]
    )


@probe("sparse.zero_grad", "What does zero_grad(set_to_none=False) leave of a sparse gradient?")
def zero_grad():
    layer = _after_backward()
    layer.zero_grad(set_to_none=False)
    return {"layout": layer.weight.grad.layout, "dense": layer.weight.grad.to_dense()}


def _step(optimizer_class, **options):
    layer = _after_backward()
    optimizer = optimizer_class(layer.parameters(), lr=0.5, **options)
    return outcome(lambda: (optimizer.step(), layer.weight)[1])


@probe("sparse.sgd", "Does SGD take a sparse gradient?")
def sgd():
    return _step(torch.optim.SGD)


@probe("sparse.sgd_momentum", "Does SGD with momentum take a sparse gradient?")
def sgd_momentum():
    return _step(torch.optim.SGD, momentum=0.5)


@probe("sparse.sgd_weight_decay", "Does SGD with weight_decay take a sparse gradient?")
def sgd_weight_decay():
    return _step(torch.optim.SGD, weight_decay=0.5)


@probe("sparse.adam", "Does Adam take a sparse gradient?")
def adam():
    return _step(torch.optim.Adam)


@probe("sparse.adagrad", "Does Adagrad take a sparse gradient?")
def adagrad():
    return _step(torch.optim.Adagrad)


@probe("sparse.sparse_adam", "Does SparseAdam move only the rows that were used?")
def sparse_adam():
    return _step(torch.optim.SparseAdam)


@probe("sparse.padding_index", "What is the gradient of the row at padding_idx?")
def padding_index():
    layer = torch.nn.Embedding(3, 2, padding_idx=0)
    layer(torch.tensor([0, 1])).sum().backward()
    return layer.weight.grad


@probe("sparse.matrix_product", "Which layout has the gradient of a sparse A in sparse.mm(A, B)?")
def matrix_product():
    a = torch.eye(2).to_sparse().requires_grad_()
    b = torch.ones(2, 2, requires_grad=True)
    torch.sparse.mm(a, b).sum().backward()
    return {"A": a.grad.layout, "B": b.grad.layout, "A dense": a.grad.to_dense()}


@probe("sparse.sparse_sum", "Which layout has the gradient of torch.sparse.sum?")
def sparse_sum():
    a = torch.eye(2).to_sparse().requires_grad_()
    torch.sparse.sum(a).backward()
    return {"layout": a.grad.layout, "dense": a.grad.to_dense()}


@probe("sparse.to_sparse", "What is the gradient of a dense x through to_sparse() and to_dense()?")
def to_sparse():
    x = leaf([[1.0, 0.0], [0.0, 2.0]])
    x.to_sparse().to_dense().sum().backward()
    return {"layout": x.grad.layout, "dense": x.grad.to_dense()}


@probe("sparse.to_dense_masked", "Which layout has the gradient of a sparse A through to_dense()?")
def to_dense_masked():
    a = torch.eye(2).to_sparse().requires_grad_()
    (a.to_dense() * 2).sum().backward()
    return {"layout": a.grad.layout, "dense": a.grad.to_dense()}


@probe("sparse.multiply_by_number", "Which layout has the gradient of (A * 2).to_dense().sum()?")
def multiply_by_number():
    a = torch.eye(2).to_sparse().requires_grad_()
    return outcome(lambda: ((a * 2).to_dense().sum().backward(), a.grad.layout)[1])


@probe("sparse.csr_matrix_product", "Does a CSR matrix get a gradient from A @ B?")
def csr_matrix_product():
    a = torch.eye(2).to_sparse_csr().requires_grad_()
    b = torch.ones(2, 2, requires_grad=True)

    def ask():
        (a @ b).sum().backward()
        return {"A": a.grad.layout, "B": b.grad}

    return outcome(ask)


@probe("sparse.gather_sparse_grad", "Which layout has the gradient of gather(sparse_grad=True)?")
def gather_sparse_grad():
    x = leaf([1.0, 2.0])
    torch.gather(x, 0, torch.tensor([1]), sparse_grad=True).sum().backward()
    return {"layout": x.grad.layout, "dense": x.grad.to_dense()}


@probe(
    "sparse.norm_of_sparse_gradient",
    "Can the norm of a sparse gradient be taken, by norm() and by linalg.vector_norm?",
)
def norm_of_sparse_gradient():
    grad = _after_backward().weight.grad.coalesce()
    return {
        "norm": outcome(grad.norm),
        "vector_norm": outcome(lambda: torch.linalg.vector_norm(grad)),
    }


@probe("sparse.hook_sees_sparse", "Which layout does a hook on the sparse weight see?")
def hook_sees_sparse():
    seen, layer = [], _embedding()
    layer.weight.register_hook(lambda g: seen.append(str(g.layout)))
    layer(torch.tensor([1])).sum().backward()
    return seen


@probe("sparse.embedding_bag", "Which layout has the gradient of embedding_bag(sparse=True)?")
def embedding_bag():
    weight = torch.ones(3, 2, requires_grad=True)
    F.embedding_bag(torch.tensor([[0, 1]]), weight, mode="sum", sparse=True).sum().backward()
    return {"layout": weight.grad.layout, "dense": weight.grad.to_dense()}


@probe("sparse.double_backward", "Does create_graph=True work with Embedding(sparse=True)?")
def double_backward():
    layer = _embedding()

    def ask():
        (layer(torch.tensor([1])) ** 2).sum().backward(create_graph=True)
        return layer.weight.grad.requires_grad

    return outcome(ask)
