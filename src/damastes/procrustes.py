"""The Q-step: least-squares Procrustes, orthogonal Procrustes (eq. 1 of the paper) and the projection onto orthogonal matrices."""

from __future__ import annotations

from math import sqrt

from damastes._arrays import Array, check_pair, check_points, check_weights, float64, namespace
from damastes.errors import InputError

__all__ = ["least_squares_procrustes", "orthogonal_procrustes", "polar"]

# Singular values below this share of the largest are left to the SVD: every factor of 2.6 costs the fast path a step.
_ASSUMED_CONDITION = 50.0
_STEPS_FOR_ASSUMED = 7
_MAX_STEPS = 12


def least_squares_procrustes(source: Array, target: Array, *, weights: Array | None = None) -> Array:
    """Find the linear map W that minimises Σ w_i ||x_i W − y_i||², without any constraint.

    Parameters
    ----------
    source, target : arrays (n, d_x) and (n, d_y), row i of one corresponds to row i of the other
    weights : array (n,), optional

    Returns
    -------
    array (d_x, d_y); of all minimisers the one with the smallest norm, so rank-deficient input is fine.

    Notes
    -----
    O(n d²). The first, unnumbered equation of the paper's section 2 (Mikolov et al., 2013).

    Examples
    --------
    >>> import numpy as np
    >>> least_squares_procrustes(np.eye(2), np.array([[0.0, 2.0], [1.0, 0.0]]))
    array([[0., 2.],
           [1., 0.]])
    """
    X, Y = _matched(source, target, weights, power=0.5)
    xp = namespace(X)
    basis, R = xp.linalg.qr(X)
    # R inherits the rounding of n rows, so what counts as zero in it depends on n, not on d.
    rtol = max(X.shape) * float(xp.finfo(X.dtype).eps)
    return xp.linalg.pinv(R, rtol=rtol) @ (basis.T @ Y)


def orthogonal_procrustes(
    source: Array, target: Array, *, weights: Array | None = None, rotation_only: bool = False
) -> Array:
    """Find the orthogonal Q that minimises Σ w_i ||x_i Q − y_i||² (eq. 1; Schönemann, 1966).

    For unequal dimensions the smaller space is embedded isometrically in the larger one: Q maximises ⟨Q, XᵀY⟩ among
    matrices whose shorter side is orthonormal. For d_x ≤ d_y that is also the least-squares solution; for d_x > d_y the
    least-squares problem (unbalanced Procrustes) has no closed form and is not what is solved.

    Parameters
    ----------
    source, target : arrays (n, d_x) and (n, d_y), row i of one corresponds to row i of the other
    weights : array (n,), optional
    rotation_only : allow no reflection, det Q = +1 (needs d_x = d_y)

    Returns
    -------
    array (d_x, d_y)

    Examples
    --------
    >>> import numpy as np
    >>> orthogonal_procrustes(np.eye(2), np.array([[0.0, 2.0], [1.0, 0.0]])).round(6)
    array([[0., 1.],
           [1., 0.]])
    """
    X, Y = _matched(source, target, weights, power=1.0)
    return polar(X.T @ Y, rotation_only=rotation_only)


def polar(M: Array, *, rotation_only: bool = False) -> Array:
    """Project M onto the orthogonal matrices: U Vᵀ for M = U S Vᵀ (Algorithm 1, line 5).

    Well-conditioned matrices take a few matrix products (scaled Newton–Schulz, Chen and Chow 2014), several times faster
    than the SVD; the iteration checks its own result, and what it can not finish goes to the SVD. A rank-deficient M has
    many nearest orthogonal matrices; one of them is returned.

    Parameters
    ----------
    M : array (d_x, d_y); for d_x ≠ d_y the result has orthonormal rows or columns
    rotation_only : allow no reflection, det = +1 (needs d_x = d_y)

    Returns
    -------
    array of the shape and dtype of M
    """
    M = check_points(M, "M")
    if rotation_only and M.shape[0] != M.shape[1]:
        raise InputError(f"rotation_only needs spaces of one dimension, got {M.shape[0]} and {M.shape[1]}")
    xp = namespace(M)
    Q = _newton_schulz(M)
    if Q is None:
        U, _, Vt = xp.linalg.svd(M, full_matrices=False)
        Q = U @ Vt
    if rotation_only and float(xp.linalg.det(float64(Q))) < 0:
        U, _, Vt = xp.linalg.svd(M, full_matrices=False)
        # The cheapest reflection to undo is along the smallest singular value.
        Q = U @ Vt - 2 * (U[:, -1:] @ Vt[-1:, :])
    return Q


def _newton_schulz(M: Array) -> Array | None:
    """Iterate X ← ½ρ X (3 − ρ² XᵀX) on the smaller side; None when it does not converge."""
    xp = namespace(M)
    if M.shape[0] < M.shape[1]:
        Q = _newton_schulz(M.T)
        return None if Q is None else Q.T
    d = M.shape[1]
    identity = xp.eye(d, dtype=M.dtype, device=M.device)
    largest = float(xp.max(xp.abs(M)))
    if largest == 0:
        return None
    M = M / largest  # its fourth powers stay in range
    gram = M.T @ M
    # ||M||₂² = ||MᵀM||₂ ≤ ||(MᵀM)²||_F^½: tighter than the Frobenius norm, at the price of one product.
    square = gram @ gram
    bound = float(xp.sum(float64(square) ** 2)) ** 0.25
    X, gram = M / sqrt(bound), gram / bound
    low = 1 / _ASSUMED_CONDITION
    tolerance = 4 * float(xp.finfo(M.dtype).eps) * sqrt(d)
    for step in range(_MAX_STEPS):
        rho2 = 3 / (1 + low + low * low)
        X = X @ ((1.5 * sqrt(rho2)) * identity - (0.5 * rho2 * sqrt(rho2)) * gram)
        low = 0.5 * sqrt(rho2) * low * (3 - rho2 * low * low)
        gram = X.T @ X
        error = float(xp.sqrt(xp.sum((gram - identity) ** 2)))
        if error <= tolerance:
            return X
        if error < 0.03:
            low = 1.0  # inside the region of quadratic convergence: the plain iteration is the best one
        elif step >= _STEPS_FOR_ASSUMED and error > 0.9:
            return None  # a singular value is still near 0: worse conditioned than assumed
    return None


def _matched(source: Array, target: Array, weights: Array | None, power: float) -> tuple[Array, Array]:
    X, Y = check_pair(source, target)
    if X.shape[0] != Y.shape[0]:
        raise InputError(
            f"source and target must be matched row by row, got {X.shape[0]} and {Y.shape[0]} rows. "
            "Without a known correspondence use damastes.align."
        )
    if weights is None:
        return X, Y
    w = check_weights(weights, X.shape[0], "weights", X)[:, None] ** power
    return w * X, (Y if power == 1 else w * Y)
