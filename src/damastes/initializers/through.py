"""A start by way of a third space: where the source lands when two maps are applied one after the other."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from damastes._arrays import Array, Progress, head_rows, no_progress
from damastes.initializers.start import Start
from damastes.pairs import Pairs
from damastes.procrustes import polar
from damastes.transport import Sinkhorn

__all__ = ["Through"]


@dataclass(frozen=True, slots=True)
class Through:
    """Couple the source, where it has landed in the target's space, with the target; Q₀ = polar(XᵀPY).

    Parameters
    ----------
    land : returns the framed source points (n, d_y), rows as in X, in the framed target space; called only when needed
    n_points : couple the first so many points
    """

    land: Callable[[Progress], Array] = field(repr=False)
    n_points: int = 3000

    def __call__(
        self, X: Array, Y: Array, *, pairs: Pairs, rng: np.random.Generator, progress: Progress = no_progress
    ) -> Start:
        """Return Q₀; known pairs are left to the solvers. Allocates n_points × n_points."""
        landed = head_rows(self.land(progress), self.n_points)
        coupled = Sinkhorn(reg=0.04, tol=1e-2, max_iter=50)(landed @ head_rows(Y, self.n_points).T)
        return Start(polar(coupled.cross(head_rows(X, self.n_points), head_rows(Y, self.n_points))))
