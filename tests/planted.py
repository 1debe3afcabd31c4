"""Problems with a known answer, and what it means for an answer to stay in the caller's array library."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import permutations
from typing import Any

import numpy as np
from scipy.optimize import linear_sum_assignment

Matrix = np.ndarray[Any, Any]


@dataclass(frozen=True)
class Planted:
    """X[i] @ Q ≈ Y[permutation[i]] where permutation[i] ≥ 0; the other points of both sides have no partner."""

    X: Matrix
    Y: Matrix
    Q: Matrix
    permutation: Matrix

    @property
    def P(self) -> Matrix:
        """The planted plan, of mass 1."""
        P = np.zeros((len(self.X), len(self.Y)))
        matched = np.flatnonzero(self.permutation >= 0)
        P[matched, self.permutation[matched]] = 1 / len(matched)
        return P


def planted(
    n: int = 40,
    d: int = 4,
    *,
    d_target: int | None = None,
    noise: float = 0.0,
    source_outliers: int = 0,
    target_outliers: int = 0,
    components: int = 0,
    centred: bool = False,
    seed: int = 0,
) -> Planted:
    """n pairs of points, and outliers on top; `components` > 0 draws the cloud from that many clusters."""
    rng = np.random.default_rng([seed, 1])  # apart from what a test draws with the same seed
    d_target = d if d_target is None else d_target
    Q = orthogonal(d, d_target, rng)
    # Drawn in the smaller space, which the larger one contains isometrically.
    small = cloud(n, min(d, d_target), rng, components=components)
    if centred:
        small = small - small.mean(axis=0)
    X, Y = (small, small @ Q) if d <= d_target else (small @ Q.T, small)
    spread = X.std()
    Y = Y + noise * spread * rng.standard_normal(Y.shape)
    X = np.concatenate([X, spread * rng.standard_normal((source_outliers, d))])
    Y = np.concatenate([Y, spread * rng.standard_normal((target_outliers, d_target))])
    order = rng.permutation(len(Y))
    permutation = np.full(len(X), -1)
    permutation[:n] = np.argsort(order)[:n]
    return Planted(X, Y[order], Q, permutation)


def cloud(n: int, d: int, rng: np.random.Generator, *, components: int = 0) -> Matrix:
    """A cloud with a different spread and a skew along every axis, so that no rotation maps it to itself."""
    if components:
        centres = 3 * rng.standard_normal((components, d))
        return centres[rng.integers(components, size=n)] + rng.standard_normal((n, d)) * rng.uniform(0.2, 1, d)
    return (rng.standard_exponential((n, d)) - 0.7) * np.geomspace(1, 0.4, d)


def orthogonal(d: int, d_target: int, rng: np.random.Generator) -> Matrix:
    """A random matrix whose shorter side is orthonormal."""
    U, _, Vt = np.linalg.svd(rng.standard_normal((d, d_target)), full_matrices=False)
    return U @ Vt


def isomorphic_graphs(
    n: int = 20, *, density: float = 0.4, flips: int = 0, seed: int = 0
) -> tuple[Matrix, Matrix, Matrix]:
    """(A, B, permutation) with A_ij = B_permutation[i],permutation[j], up to `flips` edges of B."""
    rng = np.random.default_rng(seed)
    A = np.triu(rng.random((n, n)) < density, 1).astype(float)
    A = A + A.T
    permutation = rng.permutation(n)
    inverse = np.argsort(permutation)
    B = A[np.ix_(inverse, inverse)]
    upper = np.argwhere(np.triu(np.ones((n, n)), 1))
    for i, j in rng.permutation(upper)[:flips]:
        B[i, j] = B[j, i] = 1 - B[i, j]
    return A, B, permutation


def best_transport_cost(X: Matrix, Y: Matrix) -> float:
    """min over permutations P and orthogonal Q of ||XQ − PY||²/n, by trying every P. The smaller space is zero-padded."""
    d = max(X.shape[1], Y.shape[1])
    X, Y = (np.pad(Z, ((0, 0), (0, d - Z.shape[1]))) for Z in (X, Y))
    squares = np.sum(X**2) + np.sum(Y**2)
    norms = (np.linalg.svd(X.T @ Y[list(p)], compute_uv=False).sum() for p in permutations(range(len(X))))
    return float(squares - 2 * max(norms)) / len(X)


def hungarian(scores: Matrix) -> Matrix:
    """The column of each row in the best assignment."""
    return linear_sum_assignment(scores, maximize=True)[1]


def assert_same_kind(result: Any, like: Any) -> None:
    """The array stayed in the library, precision and device of `like`."""
    assert type(result) is type(like)
    assert result.dtype == like.dtype
    assert result.device == like.device
