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
# unique. A change of ``a`` in the fifth digit turns them by 45 degrees, and the
# turned ones are eigenvectors of ``a`` as well.

with torch.no_grad():
    turned = torch.linalg.eigh(a + 1e-5 * torch.ones(2, 2)).eigenvectors
    print(turned.abs())
    torch.testing.assert_close(turned.abs(), torch.full((2, 2), 0.5).sqrt())
    for each in (vectors, turned):
        torch.testing.assert_close(a @ each, each * values)

# %%
# So there is no derivative. In the formula of backward stands 1 divided by the gap
# between two eigenvalues. Here the gap is 0. Close to such a point the gradient is
# large:


def through_a_vector(gap):
    a = torch.diag(torch.tensor([1.0, 1.0 + gap], dtype=torch.float64))
    a.requires_grad_()
    torch.linalg.eigh(a).eigenvectors[:, 0].sum().backward()
    return a.grad.abs().max().item()


# %%
# The gap 1/4 gives 2. The numbers of the gradient grow like 1 / gap.

torch.testing.assert_close(through_a_vector(1 / 4), 2.0)
# Predict first: what does the gap 1/8 give?
print(through_a_vector(1 / 8))
torch.testing.assert_close(through_a_vector(1 / 8), 4.0)

# %%
# The fix
# -------
#
# If you need eigenvalues only, use them only. Here their gradient is finite, also
# where they are equal. ``eigvalsh`` computes nothing else.


def gradient(f, matrix):
    a = matrix.clone().requires_grad_()
    f(a).sum().backward()
    return a.grad


one = torch.eye(2)
by_eigh = gradient(lambda a: torch.linalg.eigh(a).eigenvalues, one)
torch.testing.assert_close(by_eigh, torch.eye(2))
torch.testing.assert_close(gradient(torch.linalg.eigvalsh, one), torch.eye(2))

# %%
# If you take the matrix apart only to put it together again, leave out the
# decomposition. A square, an inverse, an exponential and a determinant of a
# matrix all have functions of their own. Take the square:


def square_by_eigh(a):
    values, vectors = torch.linalg.eigh(a)
    return vectors @ torch.diag(values**2) @ vectors.T


torch.testing.assert_close(square_by_eigh(one), one @ one)
assert gradient(square_by_eigh, one).isnan().all()
direct = gradient(lambda a: a @ a, one)
print(direct)
torch.testing.assert_close(direct, torch.full((2, 2), 2.0))

# %%
# For whitening, a Cholesky factor serves as well as eigenvectors: the result has
# the identity as its covariance, and the gradient is finite.


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
# The same holds for singular values. A matrix of rank 2 with four rows and columns
# has two singular values which are 0, and so they are equal.

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
# A small multiple of the identity is added. It moves all eigenvalues by the same
# amount, so the gap stays 0:


def jittered(a):
    return torch.linalg.eigh(a + 0.5 * torch.eye(2)).eigenvectors


assert gradient(jittered, one).isnan().all()

# %%
# Different small numbers on the diagonal do make a gap, and a finite gradient. But
# you saw it grow like 1 / gap: what you get is made by your noise.

assert through_a_vector(1e-6) > 1e5

# %%
# Another repair is a backward of your own, with 0 in place of 1 / 0:


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
# The NaN is gone, and the gradient of the square is wrong: a part is missing.


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
# training. It gets small before the NaN comes.


def smallest_gap(values):
    return values.detach().sort().values.diff().min().item()


for matrix in (one, low_rank):
    gap = smallest_gap(torch.linalg.svdvals(matrix))
    torch.testing.assert_close(gap, 0.0)
different = torch.diag(torch.tensor([2.0, 5.0, 9.0]))
print(smallest_gap(torch.linalg.eigvalsh(different)))
torch.testing.assert_close(smallest_gap(torch.linalg.eigvalsh(different)), 3.0)
