"""Who gets the gradient when elements are equal."""

from __future__ import annotations

import math
from functools import partial

from probes.kink import declare

tie = partial(declare, "ties")
inf, nan = math.inf, math.nan

# -- two tensors -------------------------------------------------------------------------------
tie("maximum_of_equal", "torch.maximum(x, y)", 1.0, 1.0)
tie("minimum_of_equal", "torch.minimum(x, y)", 1.0, 1.0)
tie("fmax_of_equal", "torch.fmax(x, y)", 1.0, 1.0)
tie("fmin_of_equal", "torch.fmin(x, y)", 1.0, 1.0)
tie("max_of_two_tensors", "torch.max(x, y)", 1.0, 1.0)
tie("maximum_with_constant_0", "torch.maximum(x, torch.tensor(0.0))", 0.0)
tie("minimum_with_constant_0", "torch.minimum(x, torch.tensor(0.0))", 0.0)
tie("fmax_with_constant_0", "torch.fmax(x, torch.tensor(0.0))", 0.0)
tie("fmin_with_constant_0", "torch.fmin(x, torch.tensor(0.0))", 0.0)
tie("maximum_of_itself", "torch.maximum(x, x)", 1.0)
tie("maximum_with_nan", "torch.maximum(x, y)", 1.0, nan)
tie("fmax_with_nan", "torch.fmax(x, y)", 1.0, nan)
tie("fmin_with_nan", "torch.fmin(x, y)", 1.0, nan)
tie("fmax_nan_first", "torch.fmax(x, y)", nan, 1.0)
tie("fmax_of_nans", "torch.fmax(x, y)", nan, nan)
tie("maximum_nested_of_three", "torch.maximum(torch.maximum(x, y), z)", 1.0, 1.0, 1.0)
tie("loss_through_maximum", "(torch.maximum(x, torch.tensor(0.0)) - 1) ** 2", 0.0)
tie("logaddexp_of_equal", "torch.logaddexp(x, y)", 1.0, 1.0)

# -- reductions ------------------------------------------------------------------------------
tie("max_of_all", "x.max()", [1.0, 1.0])
tie("max_of_all_three", "x.max()", [1.0, 1.0, 1.0])
tie("min_of_all", "x.min()", [1.0, 1.0])
tie("max_by_dimension", "x.max(0).values", [1.0, 1.0])
tie("max_by_dimension_late_tie", "x.max(0).values", [0.0, 1.0, 1.0])
tie("min_by_dimension", "x.min(0).values", [1.0, 1.0])
tie("amax", "x.amax()", [1.0, 1.0])
tie("amax_by_dimension", "x.amax(0)", [1.0, 1.0])
tie("amin", "x.amin()", [1.0, 1.0])
tie("aminmax_of_equal", "(lambda pair: pair.max - pair.min)(torch.aminmax(x))", [1.0, 1.0])
tie("max_with_constant_0", "torch.stack([x, torch.tensor(0.0)]).max()", 0.0)
tie("amax_with_constant_0", "torch.stack([x, torch.tensor(0.0)]).amax()", 0.0)
tie("max_by_dimension_with_constant_0", "torch.stack([x, torch.tensor(0.0)]).max(0).values", 0.0)
tie("max_of_nans", "x.max()", [nan, 1.0, nan])
tie("norm_p_inf_tie", "x.norm(p=inf)", [9.0, 2.0, -9.0])
tie("vector_norm_p_inf_tie", "torch.linalg.vector_norm(x, inf)", [9.0, 2.0, -9.0])
tie("matrix_norm_p_1_tie", "torch.linalg.matrix_norm(x, 1)", [[1.0, 2.0], [3.0, 2.0]])
tie("logsumexp_of_equal", "torch.logsumexp(x, 0)", [1.0, 1.0])
tie("softmax_of_equal", "torch.softmax(x, 0)[0]", [1.0, 1.0])
tie("argmax", "torch.argmax(x) * 1.0", [1.0, 1.0])

# -- order -------------------------------------------------------------------------------------
tie("median_of_three", "x.median()", [0.0, 0.0, 0.0])
tie("median_of_two", "x.median()", [1.0, 1.0])
tie("median_by_dimension", "x.median(0).values", [0.0, 0.0, 0.0])
tie("nanmedian_of_three", "x.nanmedian()", [0.0, 0.0, 0.0])
tie("mode_by_dimension", "x.mode(0).values", [1.0, 1.0, 2.0])
tie("kthvalue", "x.kthvalue(2).values", [1.0, 1.0, 1.0])
tie("topk_largest", "x.topk(1).values.sum()", [1.0, 1.0, 1.0])
tie("topk_two", "(x.topk(2).values * torch.tensor([1.0, 10.0])).sum()", [1.0, 1.0, 1.0])
tie("sort", "(x.sort().values * torch.tensor([1.0, 10.0, 100.0])).sum()", [1.0, 1.0, 1.0])
tie(
    "sort_descending",
    "(x.sort(descending=True).values * torch.tensor([1.0, 10.0, 100.0])).sum()",
    [1.0, 1.0, 1.0],
)
tie(
    "sort_descending_stable",
    "(x.sort(descending=True, stable=True).values * torch.tensor([1.0, 10.0, 100.0])).sum()",
    [1.0, 1.0, 1.0],
)
tie("msort", "(torch.msort(x) * torch.tensor([1.0, 10.0, 100.0])).sum()", [1.0, 1.0, 1.0])
tie("cummax", "(x.cummax(0).values * torch.tensor([1.0, 10.0, 100.0])).sum()", [1.0, 1.0, 1.0])
tie("cummin", "(x.cummin(0).values * torch.tensor([1.0, 10.0, 100.0])).sum()", [1.0, 1.0, 1.0])
tie("quantile_half_of_equal", "torch.quantile(x, 0.5)", [1.0, 1.0, 1.0])
tie("quantile_between_two", "torch.quantile(x, 0.5)", [1.0, 1.0])
tie("unique_values", "torch.unique(x).sum()", [1.0, 1.0])

# -- pooling and scattering --------------------------------------------------------------------
tie("max_pool1d", "F.max_pool1d(x, 2).sum()", [[[1.0, 1.0]]])
tie("max_pool2d", "F.max_pool2d(x, 2).sum()", [[[1.0, 1.0], [1.0, 1.0]]])
tie(
    "max_pool2d_overlapping",
    "F.max_pool2d(x, 2, stride=1).sum()",
    [[[1.0, 1.0, 1.0], [1.0, 1.0, 1.0]]],
)
tie("adaptive_max_pool1d", "F.adaptive_max_pool1d(x, 1).sum()", [[[1.0, 1.0]]])
tie(
    "scatter_reduce_amax",
    "torch.zeros(1).scatter_reduce(0, torch.tensor([0, 0]), x, 'amax', include_self=False).sum()",
    [1.0, 1.0],
)
tie(
    "scatter_reduce_amax_with_self",
    "torch.ones(1).scatter_reduce(0, torch.tensor([0, 0]), x, 'amax').sum()",
    [1.0, 1.0],
)
tie(
    "scatter_reduce_prod_with_zero",
    "torch.ones(1).scatter_reduce(0, torch.tensor([0, 0]), x, 'prod').sum()",
    [0.0, 3.0],
)
tie(
    "index_reduce_amax",
    "torch.zeros(1).index_reduce(0, torch.tensor([0, 0]), x, 'amax', include_self=False).sum()",
    [1.0, 1.0],
)
tie(
    "segment_reduce_max",
    "torch.segment_reduce(x, 'max', lengths=torch.tensor([2])).sum()",
    [1.0, 1.0],
)
tie(
    "embedding_bag_max",
    "F.embedding_bag(torch.tensor([[0, 1]]), x, mode='max').sum()",
    [[1.0], [1.0]],
)
tie("prod_of_equal_zeros", "x.prod()", [0.0, 0.0])
