"""One solver after another."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from damastes._arrays import Array, Progress, no_progress
from damastes.errors import InputError
from damastes.pairs import Pairs
from damastes.solvers.solution import Solution, Solver

__all__ = ["Chain"]


@dataclass(frozen=True, slots=True)
class Chain:
    """Let each solver go on from where the one before ended. Histories are joined; the metric is that of the last."""

    solvers: tuple[Solver, ...]

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
        """Improve Q."""
        if not self.solvers:
            raise InputError("Chain needs at least one solver")
        history: list[dict[str, float]] = []
        for solver in self.solvers:
            solution = solver(X, Y, Q, pairs=pairs, rng=rng, progress=progress)
            Q = solution.Q
            history += solution.history
        return Solution(Q, history, solution.metric)
