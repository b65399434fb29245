"""Points where a function has no single slope, an infinite one, or none at all."""

from __future__ import annotations

import math
from functools import partial

import torch

from probes.kink import declare
from probes.registry import probe

kink = partial(declare, "kinks")
inf = math.inf

# -- relu and its family ---------------------------------------------------------------------
kink("relu_at_0", "torch.relu(x)", 0.0)
kink("relu_inplace_at_0", "torch.relu_(x * 1)", 0.0)
kink("relu6_at_0", "F.relu6(x)", 0.0)
kink("relu6_at_6", "F.relu6(x)", 6.0)
kink("leaky_relu_at_0", "F.leaky_relu(x, 0.1)", 0.0)
kink("prelu_at_0", "F.prelu(x, torch.tensor([0.25]))", 0.0)
kink("rrelu_at_0", "F.rrelu(x, 0.25, 0.5, training=False)", 0.0)
kink("elu_at_0", "F.elu(x)", 0.0)
kink("elu_alpha_2_at_0", "F.elu(x, alpha=2.0)", 0.0)
kink("selu_at_0", "F.selu(x)", 0.0)
kink("celu_alpha_2_at_0", "F.celu(x, alpha=2.0)", 0.0)
kink("threshold_at_0", "F.threshold(x, 0.0, 0.0)", 0.0)
kink("threshold_jump_at_1", "F.threshold(x, 1.0, 0.0)", 1.0)
kink("relu_difference_at_0", "torch.relu(x) - torch.relu(-x)", 0.0)
kink("relu_squared_at_0", "torch.relu(x) ** 2", 0.0)

# -- activations made of straight pieces -------------------------------------------------------
kink("hardtanh_at_minus_1", "F.hardtanh(x)", -1.0)
kink("hardtanh_at_1", "F.hardtanh(x)", 1.0)
kink("hardsigmoid_at_minus_3", "F.hardsigmoid(x)", -3.0)
kink("hardsigmoid_at_3", "F.hardsigmoid(x)", 3.0)
kink("hardswish_at_minus_3", "F.hardswish(x)", -3.0)
kink("hardswish_at_3", "F.hardswish(x)", 3.0)
kink("hardshrink_at_half", "F.hardshrink(x, 0.5)", 0.5)
kink("hardshrink_at_minus_half", "F.hardshrink(x, 0.5)", -0.5)
kink("softshrink_at_minus_half", "F.softshrink(x, 0.5)", -0.5)
kink("softshrink_at_half", "F.softshrink(x, 0.5)", 0.5)
kink("softsign_at_0", "F.softsign(x)", 0.0)
kink("logsigmoid_at_0", "F.logsigmoid(x)", 0.0)
kink("softplus_at_its_threshold", "F.softplus(x, beta=1.0, threshold=2.0)", 2.0)

# -- smooth activations, to compare ----------------------------------------------------------
kink("sigmoid_at_0", "torch.sigmoid(x)", 0.0)
kink("tanh_at_0", "torch.tanh(x)", 0.0)
kink("tanhshrink_at_0", "F.tanhshrink(x)", 0.0)
kink("gelu_at_0", "F.gelu(x)", 0.0)
kink("gelu_tanh_at_0", "F.gelu(x, approximate='tanh')", 0.0)
kink("silu_at_0", "F.silu(x)", 0.0)
kink("mish_at_0", "F.mish(x)", 0.0)
kink("glu_at_0", "F.glu(x, 0).sum()", [0.0, 0.0])
kink("softmin_of_equal", "F.softmin(x, 0)[0]", [1.0, 1.0])

# -- clamp and clip ----------------------------------------------------------------------------
kink("clamp_min_at_0", "x.clamp(min=0)", 0.0)
kink("clamp_max_at_1", "x.clamp(max=1)", 1.0)
kink("clamp_range_at_lower", "x.clamp(0, 1)", 0.0)
kink("clamp_range_at_upper", "x.clamp(0, 1)", 1.0)
kink("clamp_between_equal_bounds", "x.clamp(1, 1)", 1.0)
kink("clamp_with_crossed_bounds", "x.clamp(2, 1)", 1.0)
kink("clamp_inplace_at_0", "(x * 1).clamp_(min=0)", 0.0)
kink("clip_at_0", "torch.clip(x, min=0)", 0.0)
kink("clamp_min_function_at_0", "torch.clamp_min(x, 0)", 0.0)
kink("clamp_max_function_at_1", "torch.clamp_max(x, 1)", 1.0)
kink("clamp_min_tensor_at_0", "x.clamp(min=torch.tensor(0.0))", 0.0)
kink("clamp_max_tensor_at_1", "x.clamp(max=torch.tensor(1.0))", 1.0)
kink("clamp_tensors_at_lower", "x.clamp(torch.tensor(0.0), torch.tensor(1.0))", 0.0)
kink("clamp_tensors_at_upper", "x.clamp(torch.tensor(0.0), torch.tensor(1.0))", 1.0)
kink("clamp_equal_tensors", "x.clamp(torch.tensor(1.0), torch.tensor(1.0))", 1.0)
kink("clamp_learned_bound", "x.clamp(min=y)", 1.0, 1.0)
kink("clamp_learned_bounds_meet", "x.clamp(min=y, max=z)", 1.0, 1.0, 1.0)
kink("clamp_of_nan", "x.clamp(0, 1)", math.nan)
kink("clamp_min_tensor_of_nan", "x.clamp(min=torch.tensor(0.0))", math.nan)
kink("clamp_learned_bound_nan", "x.clamp(min=y)", 1.0, math.nan)
kink("clamp_at_infinite_bound", "x.clamp(max=inf)", inf)
kink("clamp_twice_at_0", "x.clamp(min=0).clamp(min=0)", 0.0)
kink("acos_of_clamp_at_1", "torch.acos(x.clamp(-1, 1))", 1.0)
kink(
    "angle_between_equal_vectors",
    "torch.acos(F.cosine_similarity(x, torch.tensor([3.0, 4.0]), dim=0).clamp(-1, 1))",
    [3.0, 4.0],
    measured=False,
)
kink(
    "angle_clamped_away_from_1",
    "torch.acos(F.cosine_similarity(x, torch.tensor([3.0, 4.0]), dim=0).clamp(-0.999, 0.999))",
    [3.0, 4.0],
)
kink("straight_through_on_bound", "torch.clamp(x + (torch.round(x) - x).detach(), -8, 7)", 7.0)
kink("loss_through_relu", "(torch.relu(x) - 1) ** 2", 0.0)
kink("loss_through_clamp", "(x.clamp(min=0) - 1) ** 2", 0.0)

# -- absolute value, sign, rounding --------------------------------------------------------------
kink("abs_at_0", "x.abs()", 0.0)
kink("abs_as_maximum_at_0", "torch.maximum(x, -x)", 0.0)
kink("abs_as_sqrt_of_square_at_0", "torch.sqrt(x * x)", 0.0)
kink("abs_as_relus_at_0", "torch.relu(x) + torch.relu(-x)", 0.0)
kink("sign_at_0", "torch.sign(x)", 0.0)
kink("sgn_at_0", "torch.sgn(x)", 0.0)
kink("heaviside_at_0", "torch.heaviside(x, torch.tensor(0.5))", 0.0)
kink("copysign_at_0", "torch.copysign(x, torch.tensor(1.0))", 0.0)
kink("angle_at_0", "torch.angle(x)", 0.0)
kink("round_at_half", "torch.round(x)", 0.5)
kink("floor_at_1", "torch.floor(x)", 1.0)
kink("ceil_at_1", "torch.ceil(x)", 1.0)
kink("trunc_at_1", "torch.trunc(x)", 1.0)
kink("frac_at_1", "torch.frac(x)", 1.0)
kink("fmod_at_1", "torch.fmod(x, 1.0)", 1.0)
kink("remainder_at_1", "torch.remainder(x, 1.0)", 1.0)
kink("remainder_of_divisor", "torch.remainder(torch.tensor(4.0), x)", 2.0)
kink("floor_division_at_1", "torch.div(x, 1.0, rounding_mode='floor')", 1.0)
kink("nan_to_num_of_nan", "torch.nan_to_num(x)", math.nan)
kink("nan_to_num_of_inf", "torch.nan_to_num(x)", inf)

# -- where -------------------------------------------------------------------------------------
kink("where_at_0", "torch.where(x > 0, x, torch.tensor(0.0))", 0.0)
kink("where_or_equal_at_0", "torch.where(x >= 0, x, torch.tensor(0.0))", 0.0)
kink("where_around_sqrt_at_0", "torch.where(x > 0, torch.sqrt(x), torch.tensor(0.0))", 0.0)
kink(
    "where_twice_around_sqrt_at_0",
    "torch.where(x > 0, torch.sqrt(torch.where(x > 0, x, torch.tensor(1.0))), torch.tensor(0.0))",
    0.0,
)
kink("mask_times_log_at_0", "(x > 0) * torch.log(x)", 0.0)
kink("masked_fill_around_log_at_0", "torch.log(x).masked_fill(x <= 0, 0.0)", 0.0)

# -- roots, powers, logarithms ---------------------------------------------------------------
kink("sqrt_at_0", "torch.sqrt(x)", 0.0)
kink("sqrt_of_square_power_at_0", "(x**2) ** 0.5", 0.0)
kink("sqrt_with_epsilon_at_0", "torch.sqrt(x**2 + 1e-12)", 0.0)
kink("rsqrt_at_0", "torch.rsqrt(x)", 0.0)
kink("power_half_at_0", "x**0.5", 0.0)
kink("power_third_at_0", "x ** (1 / 3)", 0.0)
kink("power_0_at_0", "x**0", 0.0)
kink("power_1_at_0", "x**1", 0.0)
kink("power_one_and_a_half_at_0", "x**1.5", 0.0)
kink("power_tensor_1_at_0", "x ** torch.tensor(1.0)", 0.0)
kink("power_of_base_0_at_0", "torch.tensor(0.0) ** x", 0.0)
kink("power_of_base_0_at_2", "torch.tensor(0.0) ** x", 2.0)
kink("power_both_at_0", "x**y", 0.0, 0.0)
kink("float_power_half_at_0", "torch.float_power(x, 0.5)", 0.0)
kink("reciprocal_at_0", "1 / x", 0.0)
kink("zero_over_zero", "x / x", 0.0)
kink("zero_times_infinity", "x * inf", 0.0)
kink("log_at_0", "torch.log(x)", 0.0)
kink("log1p_at_minus_1", "torch.log1p(x)", -1.0)
kink("x_log_x_at_0", "x * torch.log(x)", 0.0)
kink("xlogy_at_0", "torch.xlogy(x, x)", 0.0)
kink("xlogy_first_at_0", "torch.xlogy(x, torch.tensor(0.0))", 0.0)
kink("entr_at_0", "torch.special.entr(x)", 0.0)
kink("logit_at_0", "torch.logit(x)", 0.0)
kink("logit_with_eps_at_eps", "torch.logit(x, eps=0.25)", 0.25)
kink("logaddexp_minus_infinity", "torch.logaddexp(x, y)", -inf, -inf)
kink("sinc_at_0", "torch.sinc(x)", 0.0)

# -- trigonometry --------------------------------------------------------------------------------
kink("acos_at_1", "torch.acos(x)", 1.0)
kink("acos_at_minus_1", "torch.acos(x)", -1.0)
kink("asin_at_minus_1", "torch.asin(x)", -1.0)
kink("asin_at_1", "torch.asin(x)", 1.0)
kink("acosh_at_1", "torch.acosh(x)", 1.0)
kink("atanh_at_1", "torch.atanh(x)", 1.0)
kink("erfinv_at_1", "torch.erfinv(x)", 1.0)
kink("atan2_at_origin", "torch.atan2(x, y)", 0.0, 0.0)
kink("atan2_at_the_cut", "torch.atan2(x, y)", 0.0, -1.0)
kink("hypot_at_origin", "torch.hypot(x, y)", 0.0, 0.0)

# -- norms and distances -------------------------------------------------------------------------
kink("norm_at_0", "x.norm()", [0.0, 0.0])
kink("norm_of_number_at_0", "x.norm()", 0.0)
kink("norm_p_0_at_0", "x.norm(p=0)", [0.0, 0.0])
kink("norm_p_half_at_0", "x.norm(p=0.5)", [0.0, 0.0])
kink("norm_p_half_with_a_zero", "x.norm(p=0.5)", [0.0, 1.0])
kink("norm_p_1_at_0", "x.norm(p=1)", [0.0, 0.0])
kink("norm_p_1_with_a_zero", "x.norm(p=1)", [0.0, 1.0])
kink("norm_p_3_at_0", "x.norm(p=3)", [0.0, 0.0])
kink("norm_p_inf_at_0", "x.norm(p=inf)", [0.0, 0.0])
kink("norm_p_minus_inf_at_0", "x.norm(p=-inf)", [0.0, 0.0])
kink("vector_norm_at_0", "torch.linalg.vector_norm(x)", [0.0, 0.0])
kink("vector_norm_p_1_at_0", "torch.linalg.vector_norm(x, 1)", [0.0, 0.0])
kink("norm_by_hand_at_0", "(x**2).sum().sqrt()", [0.0, 0.0])
kink("frobenius_norm_at_0", "torch.linalg.matrix_norm(x)", [[0.0, 0.0], [0.0, 0.0]])
kink("nuclear_norm_at_0", "torch.linalg.matrix_norm(x, 'nuc')", [[0.0, 0.0], [0.0, 0.0]])
kink("spectral_norm_tie", "torch.linalg.matrix_norm(x, 2)", [[1.0, 0.0], [0.0, 1.0]])
kink("normalize_at_0", "F.normalize(x, dim=0)[0]", [0.0, 0.0])
kink(
    "cosine_similarity_at_0", "F.cosine_similarity(x, torch.tensor([3.0, 4.0]), dim=0)", [0.0, 0.0]
)
kink(
    "pairwise_distance_at_equal",
    "F.pairwise_distance(x, torch.tensor([[1.0, 2.0]])).sum()",
    [[1.0, 2.0]],
)
kink("dist_at_equal", "torch.dist(x, torch.tensor([1.0, 2.0]))", [1.0, 2.0])
kink("cdist_p_1_at_equal", "torch.cdist(x, torch.tensor([[1.0, 2.0]]), p=1.0).sum()", [[1.0, 2.0]])
kink("cdist_at_equal", "torch.cdist(x, torch.tensor([[1.0, 2.0]])).sum()", [[1.0, 2.0]])
kink(
    "cdist_p_inf_at_equal", "torch.cdist(x, torch.tensor([[1.0, 2.0]]), p=inf).sum()", [[1.0, 2.0]]
)
kink(
    "cdist_p_half_at_equal",
    "torch.cdist(x, torch.tensor([[1.0, 2.0]]), p=0.5).sum()",
    [[1.0, 2.0]],
)
kink("cdist_to_itself", "torch.cdist(x, x).sum()", [[1.0, 2.0], [3.0, 4.0]])
kink("pdist_at_equal", "F.pdist(x).sum()", [[1.0, 2.0], [1.0, 2.0]])
kink("renorm_at_limit", "torch.renorm(x, 2, 0, 5.0)[0, 0]", [[3.0, 4.0]], measured=False)

# -- spread ------------------------------------------------------------------------------------
kink("std_of_constant", "x.std()", [1.0, 1.0, 1.0, 1.0])
kink("var_of_constant", "x.var()", [1.0, 1.0, 1.0, 1.0])
kink("std_with_epsilon_of_constant", "(x.var() + 1e-8).sqrt()", [1.0, 1.0, 1.0, 1.0])
kink("var_of_one_element", "x.var()", [[1.0]])
kink("std_of_one_element", "x.std()", [1.0])
kink("var_of_one_element_uncorrected", "x.var(unbiased=False)", [1.0])
kink("std_of_one_element_uncorrected", "x.std(unbiased=False)", [1.0])
kink("batch_norm_of_constant", "F.batch_norm(x, None, None, training=True)[0, 0]", [[1.0], [1.0]])
kink("layer_norm_of_constant", "F.layer_norm(x, [2])[0]", [1.0, 1.0])
kink("layer_norm_of_constant_eps_0", "F.layer_norm(x, [2], eps=0.0)[0]", [1.0, 1.0])

# -- losses at their corners -------------------------------------------------------------------
kink("l1_loss_at_target", "F.l1_loss(x, torch.tensor(1.0))", 1.0)
kink("smooth_l1_at_its_corner", "F.smooth_l1_loss(x, torch.tensor(0.0))", 1.0)
kink("smooth_l1_beta_0_at_target", "F.smooth_l1_loss(x, torch.tensor(0.0), beta=0.0)", 0.0)
kink("huber_at_its_corner", "F.huber_loss(x, torch.tensor(0.0), delta=2.0)", 2.0)
kink("hinge_embedding_at_margin", "F.hinge_embedding_loss(x, torch.tensor(-1.0))", 1.0)
kink(
    "margin_ranking_at_margin",
    "F.margin_ranking_loss(x, torch.tensor(0.0), torch.tensor(1.0))",
    0.0,
)
kink("multi_margin_at_margin", "F.multi_margin_loss(x, torch.tensor([0]))", [[1.0, 0.0]])
kink(
    "multilabel_margin_at_margin",
    "F.multilabel_margin_loss(x, torch.tensor([[0, -1]]))",
    [[1.0, 0.0]],
)
kink(
    "triplet_margin_anchor_is_positive",
    "F.triplet_margin_loss(x, torch.tensor([[1.0, 2.0]]), torch.tensor([[1.0, 2.5]]))",
    [[1.0, 2.0]],
)
kink(
    "cosine_embedding_at_margin",
    "F.cosine_embedding_loss(x, torch.tensor([[0.0, 1.0]]), torch.tensor([-1.0]))",
    [[1.0, 0.0]],
)
kink("bce_right_at_0", "F.binary_cross_entropy(x, torch.tensor(0.0))", 0.0)
kink("bce_wrong_at_0", "F.binary_cross_entropy(x, torch.tensor(1.0))", 0.0)
kink("bce_wrong_at_1", "F.binary_cross_entropy(x, torch.tensor(0.0))", 1.0)
kink("bce_with_logits_at_0", "F.binary_cross_entropy_with_logits(x, torch.tensor(0.0))", 0.0)
kink("kl_div_target_0", "F.kl_div(x, torch.tensor(0.0), reduction='sum')", -1.0)
kink("cross_entropy_infinite_logit", "F.cross_entropy(x, torch.tensor([0]))", [[inf, 0.0]])
kink("cross_entropy_masked_target", "F.cross_entropy(x, torch.tensor([0]))", [[-inf, 0.0]])
kink("cross_entropy_all_ignored", "F.cross_entropy(x, torch.tensor([-100]))", [[1.0, 0.0]])
kink(
    "gaussian_nll_variance_at_eps",
    "F.gaussian_nll_loss(torch.tensor([1.0]), torch.tensor([1.0]), x, eps=0.5)",
    [0.5],
)
kink("poisson_nll_at_0", "F.poisson_nll_loss(x, torch.tensor(1.0), log_input=False, eps=0.0)", 0.0)

# -- softmax and logsumexp with infinities -------------------------------------------------------
kink("logsumexp_all_minus_inf", "torch.logsumexp(x, 0)", [-inf, -inf])
kink("logsumexp_one_minus_inf", "torch.logsumexp(x, 0)", [0.0, -inf])
kink("logsumexp_one_inf", "torch.logsumexp(x, 0)", [0.0, inf])
kink("softmax_all_minus_inf", "torch.softmax(x, 0)[0]", [-inf, -inf])
kink("softmax_one_minus_inf", "torch.softmax(x, 0)[0]", [0.0, -inf])
kink("log_softmax_all_minus_inf", "torch.log_softmax(x, 0)[0]", [-inf, -inf])
kink("log_softmax_one_minus_inf", "torch.log_softmax(x, 0)[0]", [0.0, -inf])
kink("logcumsumexp_minus_inf", "torch.logcumsumexp(x, 0)[1]", [-inf, -inf])
kink(
    "attention_row_all_masked",
    "F.scaled_dot_product_attention(x, torch.ones(1, 2, 2), torch.ones(1, 2, 2), "
    "attn_mask=torch.zeros(1, 2, dtype=torch.bool)).sum()",
    [[[1.0, 2.0]]],
)

# -- products with zeros -----------------------------------------------------------------------
kink("prod_with_a_zero", "x.prod()", [2.0, 0.0, 3.0])
kink("prod_with_two_zeros", "x.prod()", [0.0, 0.0, 3.0])
kink("prod_of_one_zero", "x.prod()", [0.0])
kink("prod_of_one_zero_by_dimension", "x.prod(0)", [0.0])
kink("cumprod_with_a_zero", "x.cumprod(0).sum()", [2.0, 0.0, 3.0])
kink("product_as_exp_of_log", "torch.exp(torch.log(x).sum())", [2.0, 0.0, 3.0])

# -- matrices -----------------------------------------------------------------------------------
kink("det_of_singular", "torch.linalg.det(x)", [[1.0, 2.0], [2.0, 4.0]])
kink("det_of_zero", "torch.linalg.det(x)", [[0.0, 0.0], [0.0, 0.0]])
kink(
    "det_of_rank_1_of_3",
    "torch.linalg.det(x)",
    [[1.0, 0.0, 0.0], [0.0, 0.0, 0.0], [0.0, 0.0, 0.0]],
)
kink("slogdet_of_singular", "torch.linalg.slogdet(x)[1]", [[1.0, 2.0], [2.0, 4.0]])
kink("inverse_of_singular", "torch.linalg.inv(x).sum()", [[1.0, 2.0], [2.0, 4.0]])
kink("pinv_of_zero", "torch.linalg.pinv(x).sum()", [[0.0, 0.0], [0.0, 0.0]])
kink("cholesky_of_singular", "torch.linalg.cholesky(x).sum()", [[1.0, 1.0], [1.0, 1.0]])
kink("qr_of_singular", "torch.linalg.qr(x)[1].sum()", [[1.0, 2.0], [2.0, 4.0]])
kink("eigvalsh_repeated_sum", "torch.linalg.eigvalsh(x).sum()", [[1.0, 0.0], [0.0, 1.0]])
kink("eigvalsh_repeated_largest", "torch.linalg.eigvalsh(x)[-1]", [[1.0, 0.0], [0.0, 1.0]])
kink("eigh_repeated_values", "torch.linalg.eigh(x)[0].sum()", [[1.0, 0.0], [0.0, 1.0]])
kink("eigh_repeated_vector", "torch.linalg.eigh(x)[1][:, 0].sum()", [[1.0, 0.0], [0.0, 1.0]])
kink("svdvals_with_a_zero", "torch.linalg.svdvals(x).sum()", [[3.0, 0.0], [0.0, 0.0]])
kink("svd_repeated_values", "torch.linalg.svd(x)[1].sum()", [[1.0, 0.0], [0.0, 1.0]])
kink(
    "svd_rank_deficient_rebuilt",
    "(lambda u, s, v: (u @ torch.diag(s) @ v).sum())(*torch.linalg.svd(x))",
    [[3.0, 0.0, 0.0], [0.0, 0.0, 0.0], [0.0, 0.0, 0.0]],
)


# -- a kink inside a network -----------------------------------------------------------------


def _first_weight_gradient(activation):
    """The gradient of the first weight of a net whose hidden value is 0 in one place."""
    data = torch.tensor([[3.0, 2.0, 1.0], [1.0, 0.0, 2.0], [4.0, 1.0, 2.0], [0.0, 0.0, 1.0]])
    first = torch.tensor([[1.0, 2.0], [0.0, 1.0], [4.0, 0.0]], requires_grad=True)
    second = torch.tensor([[-1.0, 1.0], [-2.0, 3.0]])
    ((activation(data @ first) @ second - 1) ** 2).sum().backward()
    return first.grad


@probe(
    "kinks.network_with_clamp_for_relu",
    "By how much do a network's gradients with relu and with clamp(min=0) differ?",
)
def network_with_clamp_for_relu():
    return _first_weight_gradient(torch.relu) - _first_weight_gradient(lambda x: x.clamp(min=0))


@probe(
    "kinks.network_with_maximum_for_relu",
    "By how much do a network's gradients with relu and with maximum(x, 0) differ?",
)
def network_with_maximum_for_relu():
    zero = torch.tensor(0.0)
    other = _first_weight_gradient(lambda x: torch.maximum(x, zero))
    return _first_weight_gradient(torch.relu) - other
