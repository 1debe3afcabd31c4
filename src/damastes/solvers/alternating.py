"""The full-batch baselines of section 2: naive alternation of P and Q, and full matching with gradient steps in Q."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from damastes._arrays import Array, Progress, head_rows, namespace, no_progress
from damastes.errors import InputError
from damastes.pairs import Pairs
from damastes.procrustes import polar
from damastes.solvers.solution import Solution, with_known
from damastes.transport import Assignment, Coupler

__all__ = ["Alternating"]


@dataclass(frozen=True, slots=True)
class Alternating:
    """Solve for P given Q on all points, then for Q given P (or step towards it), until the cost stands still.

    Parameters
    ----------
    max_iter : number of rounds
    coupling : `Assignment()`, exact, or `Sinkhorn(…)`
    lr : None solves for Q; a number takes the step Q ← Π(Q + lr · XᵀPY) instead, with P of mass 1
    limit : use the first so many points of each cloud. Allocates limit × limit
    tol : stop when the cost falls by less than this
    """

    max_iter: int = 50
    coupling: Coupler = Assignment()
    lr: float | None = None
    limit: int = 5000
    tol: float = 1e-6

    def __call__(
        self,
        X: Array,
        Y: Array,
        Q: Array,
        *,
        pairs: Pairs,
        rng: np.random.Generator,
        progress: Progress = no_progress,
    ) -> Solution:
        """Improve Q; `rng` is not used."""
        xp = namespace(X)
        if self.limit < 1 or self.max_iter < 1:
            raise InputError(f"alternation needs limit ≥ 1 and max_iter ≥ 1, got {self.limit} and {self.max_iter}")
        head_x, head_y = head_rows(X, self.limit), head_rows(Y, self.limit)
        energy = sum(float(xp.mean(xp.sum(Z * Z, axis=1))) for Z in (head_x, head_y))
        history: list[dict[str, float]] = []
        for t in range(self.max_iter):
            M = self.coupling((head_x @ Q) @ head_y.T).cross(head_x, head_y)
            history.append({"cost": energy - 2 * float(xp.sum(Q * M))})
            progress("alternating", t + 1, self.max_iter, history[-1])
            M = with_known(M, X, Y, pairs)
            Q = polar(M if self.lr is None else Q + self.lr * M)
            if t and history[-2]["cost"] - history[-1]["cost"] < self.tol:
                break
        return Solution(Q, history)
