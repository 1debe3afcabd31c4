"""The exact P-step: linear assignment (Algorithm 1, line 3), or a transport linear program when points have weights."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.optimize import linear_sum_assignment, linprog
from scipy.sparse import eye_array, kron, vstack

from damastes._arrays import Array, NumpyArray, check_points, check_weights, from_numpy, to_numpy
from damastes.errors import InputError
from damastes.transport.coupling import SparseCoupling

__all__ = ["Assignment"]


@dataclass(frozen=True, slots=True)
class Assignment:
    """Solve max_P ⟨P, scores⟩ exactly.

    Without weights every point of the smaller side gets a partner of its own: a permutation for n = m, a partial match
    otherwise. With weights `a` and `b`, P is a coupling of them; unless that is again a permutation it is found by linear
    programming, which suits some hundred points a side. O(n³).

    Examples
    --------
    >>> import numpy as np
    >>> Assignment()(np.array([[0.1, 0.9], [0.8, 0.7]])).columns
    array([1, 0])
    """

    def __call__(
        self, scores: Array, *, a: Array | None = None, b: Array | None = None, warm: Array | None = None
    ) -> SparseCoupling:
        """Couple the rows and columns of `scores` (n, m); `warm` is accepted and not needed."""
        scores = check_points(scores, "scores")
        n, m = scores.shape
        if a is None and b is None:
            return self._assign(scores, min(n, m))
        a, b = check_weights(a, n, "a", scores), check_weights(b, m, "b", scores)
        weights = np.concatenate([to_numpy(a), to_numpy(b)])
        if n == m and np.ptp(weights) <= 1e-6 * weights.max():
            return self._assign(scores, n)
        return self._transport(scores, to_numpy(a).astype(np.float64), to_numpy(b).astype(np.float64))

    def _assign(self, scores: Array, n_pairs: int) -> SparseCoupling:
        rows, columns = linear_sum_assignment(to_numpy(scores), maximize=True)
        return SparseCoupling(rows, columns, from_numpy(np.full(n_pairs, 1 / n_pairs), scores), tuple(scores.shape))

    def _transport(self, scores: Array, a: NumpyArray, b: NumpyArray) -> SparseCoupling:
        n, m = scores.shape
        sums = vstack([kron(eye_array(n), np.ones((1, m))), kron(np.ones((1, n)), eye_array(m))], format="csr")
        a, b = a / a.sum(), b / b.sum()
        # The last constraint follows from the others; leaving it out keeps rounding in a and b from making it infeasible.
        found = linprog(
            -to_numpy(scores).astype(np.float64).ravel(),
            A_eq=sums[:-1],
            b_eq=np.concatenate([a, b])[:-1],
            bounds=(0, None),
            method="highs",
        )
        if not found.success:
            raise InputError(f"the transport program with weights a and b found no solution: {found.message}")
        P = np.maximum(found.x, 0).reshape(n, m)
        rows, columns = np.nonzero(P)
        error = float(np.abs(P.sum(1) - a).sum() + np.abs(P.sum(0) - b).sum())
        mass = from_numpy(P[rows, columns], scores)
        return SparseCoupling(rows, columns, mass, (n, m), error=error, n_iter=int(found.nit))
