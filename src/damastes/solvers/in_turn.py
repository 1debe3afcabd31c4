"""Several solvers, one after the other."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from damastes._arrays import Array, Progress, no_progress
from damastes.errors import InputError
from damastes.pairs import Pairs
from damastes.solvers.solution import Solution, Solver

__all__ = ["InTurn"]


@dataclass(frozen=True, slots=True)
class InTurn:
    """Run solvers in turn, each from the map of the one before; the result has the last one's metric and all records."""

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
            raise InputError("InTurn needs at least one solver")
        history: list[dict[str, float]] = []
        for solver in self.solvers:
            solution = solver(X, Y, Q, pairs=pairs, rng=rng, progress=progress)
            Q = solution.Q
            history += solution.history
        return Solution(Q, history, solution.metric)
