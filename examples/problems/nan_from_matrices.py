# /// script
# requires-python = ">=3.10"
# dependencies = ["torch"]
# ///
"""
NaN gradients from eigh, svd and eigenvectors
=============================================

You will be able to say when a matrix decomposition has no gradient, and to compute the same result in a way that has one.

How it shows:

- ``torch.linalg.eigh`` or ``torch.linalg.svd`` works in the forward run; after ``backward()`` the gradient of the matrix is all ``nan``.
- Training with a covariance matrix, PCA or whitening layer runs for hours, then the weights are suddenly NaN.
- A low-rank, singular or rank-deficient matrix, the identity or a multiple of it, gives NaN; a random matrix does not.
- ``detect_anomaly`` names ``LinalgEighBackward0``, ``LinalgSvdBackward0`` or ``SvdBackward``.
- A gradient through eigenvectors or singular vectors is enormous, or differs each time noise is added.

Know first: ``slopes_from_both_sides``.
"""

import warnings

import torch

# %%
# The shortest program that shows it
# ----------------------------------

a = torch.eye(2, requires_grad=True)
values, vectors = torch.linalg.eigh(a)
vectors[:, 0].sum().backward()
print("eigenvalues:", values.detach())
print(a.grad)
assert a.grad.isnan().all()

# %%
# Why
# ---
#
# Both eigenvalues are 1. For a repeated eigenvalue the eigenvectors are not
# unique. A change of 0.00001 in ``a`` turns them by 45 degrees, and the turned ones
# are eigenvectors of ``a`` as well.

with torch.no_grad():
    turned = torch.linalg.eigh(a + 1e-5 * torch.ones(2, 2)).eigenvectors
    print(turned.abs())
    torch.testing.assert_close(turned.abs(), torch.full((2, 2), 0.5).sqrt())
    for each in (vectors, turned):
        torch.testing.assert_close(a @ each, each * values)

# %%
# So there is no derivative. The formula of backward divides by the gap between two
# eigenvalues, and here the gap is 0. Near such a point the gradient is large. This
# function gives its largest number:


def through_a_vector(gap):
    a = torch.diag(torch.tensor([1.0, 1.0 + gap], dtype=torch.float64))
    a.requires_grad_()
    torch.linalg.eigh(a).eigenvectors[:, 0].sum().backward()
    return a.grad.abs().max().item()


# %%
# The gap 1/4 gives 2. Half the gap gives twice the gradient.

torch.testing.assert_close(through_a_vector(1 / 4), 2.0)
torch.testing.assert_close(through_a_vector(1 / 8), 4.0)
# Predict first: what does the gap 1/16 give?
print(f"{through_a_vector(1 / 16):.0f}")
torch.testing.assert_close(through_a_vector(1 / 16), 8.0)

# %%
# The fix
# -------
#
# If eigenvalues are enough, compute the loss from them alone. Their gradients are
# finite, although they are equal. ``eigvalsh`` returns nothing else.


def gradient(f, matrix):
    a = matrix.clone().requires_grad_()
    f(a).sum().backward()
    return a.grad


one = torch.eye(2)
by_eigh = gradient(lambda a: torch.linalg.eigh(a).eigenvalues, one)
torch.testing.assert_close(by_eigh, torch.eye(2))
torch.testing.assert_close(gradient(torch.linalg.eigvalsh, one), torch.eye(2))
for i in (0, 1):
    alone = gradient(lambda a, i=i: torch.linalg.eigvalsh(a)[i], one)
    assert alone.isfinite().all()

# %%
# If you need a function of the matrix, compute it without the decomposition. The
# square of a matrix is ``a @ a``; for others see ``torch.linalg.inv`` and
# ``torch.linalg.det``.


def square_by_eigh(a):
    values, vectors = torch.linalg.eigh(a)
    return vectors @ torch.diag(values**2) @ vectors.T


torch.testing.assert_close(square_by_eigh(one), one @ one)
assert gradient(square_by_eigh, one).isnan().all()
direct = gradient(lambda a: a @ a, one)
torch.testing.assert_close(direct, torch.full((2, 2), 2.0))

# %%
# For whitening you can take a Cholesky factor in place of eigenvectors. The
# covariance after it is the identity too, and the gradient is finite.


def whiten(covariance):
    return torch.linalg.inv(torch.linalg.cholesky(covariance))


covariance = 4 * torch.eye(2)
w = whiten(covariance)
torch.testing.assert_close(w @ covariance @ w.T, torch.eye(2))
assert gradient(whiten, covariance).isfinite().all()

# %%
# svd of a rank-deficient matrix
# ------------------------------
#
# The same is true of singular vectors. A 4 x 4 matrix of rank 2 has two singular
# values of 0, and these are equal.

low_rank = torch.diag(torch.tensor([3.0, 2.0, 0.0, 0.0]))


def rebuilt(a):
    u, s, vh = torch.linalg.svd(a)
    return u @ torch.diag(s) @ vh


torch.testing.assert_close(rebuilt(low_rank), low_rank)
print(gradient(rebuilt, low_rank)[0])
assert gradient(rebuilt, low_rank).isnan().all()

# %%
# Through ``s`` alone, or with ``svdvals``, the gradient is finite:

through_s = gradient(lambda a: torch.linalg.svd(a).S, low_rank)
torch.testing.assert_close(through_s, torch.eye(4))
by_values = gradient(torch.linalg.svdvals, low_rank)
torch.testing.assert_close(by_values, torch.eye(4))

# %%
# The popular fix that does not work
# ----------------------------------
#
# To add a multiple of the identity ("jitter"). It moves all eigenvalues by the same
# amount, so the gap stays 0:


def jittered(a):
    return torch.linalg.eigh(a + 0.5 * torch.eye(2)).eigenvectors


assert gradient(jittered, one).isnan().all()

# %%
# Different small numbers on the diagonal do make a gap, and a finite gradient. But
# it depends on the size of your noise, and it is huge:

print(f"{through_a_vector(1e-6):.0f}, {through_a_vector(1e-7):.0f}")
assert through_a_vector(1e-6) > 1e5
assert through_a_vector(1e-7) > 1e6

# %%
# Another idea is a backward of your own, with 0 in place of 1 / 0:


class QuietEigh(torch.autograd.Function):
    @staticmethod
    def forward(ctx, a):
        values, vectors = torch.linalg.eigh(a)
        ctx.save_for_backward(values, vectors)
        return values, vectors

    @staticmethod
    def backward(ctx, to_values, to_vectors):
        values, vectors = ctx.saved_tensors
        gap = values[None, :] - values[:, None]
        inverse = torch.where(gap.abs() > 1e-6, 1 / gap, 0.0)
        inner = torch.diag(to_values) + inverse * (vectors.T @ to_vectors)
        return vectors @ inner @ vectors.T


# %%
# The NaN is gone, but the gradient of the square is wrong. Two of its four numbers
# are 0 where 2 is right.


def square_by_quiet_eigh(a):
    values, vectors = QuietEigh.apply(a)
    return vectors @ torch.diag(values**2) @ vectors.T


wrong = gradient(square_by_quiet_eigh, one)
print("quiet:", wrong.tolist())
print("right:", direct.tolist())
torch.testing.assert_close(wrong, 2 * torch.eye(2))

# %%
# Find the line in your own code
# ------------------------------
#
# Anomaly mode names the decomposition:

a = torch.eye(2, requires_grad=True)
with warnings.catch_warnings(record=True):
    warnings.simplefilter("always")
    try:
        with torch.autograd.detect_anomaly():
            torch.linalg.eigh(a).eigenvectors.sum().backward()
    except RuntimeError as error:
        print(error)
        assert "Eigh" in str(error)
    else:
        raise AssertionError("the NaN was not noticed")

# %%
# Then print the smallest gap next to your decomposition, in each step of the
# training. Near 0, gradients through the vectors are huge; at 0 they are NaN.


def smallest_gap(values):
    return values.detach().sort().values.diff().min().item()


for matrix, expected in ((low_rank, 0.0), (low_rank[:2, :2], 1.0)):
    gap = smallest_gap(torch.linalg.svdvals(matrix))
    print(gap)
    torch.testing.assert_close(gap, expected)
