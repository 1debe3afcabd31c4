"""What a solver takes and returns."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from damastes._arrays import Array, Progress, take_rows
from damastes.pairs import Pairs

__all__ = ["Solution", "Solver"]


@dataclass(frozen=True, slots=True)
class Solution:
    """An improved map Q (d_x, d_y), and one record a step of what happened on the way.

    `metric` (d_y, d_y), when a solver has one, says how much each direction of the shared space counts in comparisons.
    """

    Q: Array
    history: list[dict[str, float]] = field(default_factory=list, repr=False)
    metric: Array | None = None


class Solver(Protocol):
    """Improves a map between two framed clouds (rows ordered as for an initializer)."""

    def __call__(
        self, X: Array, Y: Array, Q: Array, *, pairs: Pairs, rng: np.random.Generator, progress: Progress
    ) -> Solution:
        """Improve Q."""


def batch(points: Array, size: int, rng: np.random.Generator) -> Array:
    """Draw rows without replacement, at most as many as there are; sorted, so that they are gathered in memory order."""
    n = points.shape[0]
    return take_rows(points, np.sort(rng.choice(n, min(size, n), replace=False, shuffle=False)))


def with_known(M: Array, X: Array, Y: Array, pairs: Pairs) -> Array:
    """Mix XᵀPY of the estimated correspondence with that of the known pairs, by how many of those there are."""
    if len(pairs) == 0:
        return M
    share = pairs.trust(min(X.shape[0], Y.shape[0]))
    return (1 - share) * M + share * pairs.cross(X, Y)
