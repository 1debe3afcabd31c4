"""Solve in the leading principal directions, with their spectrum flattened: the basin of the right map is wider there."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from damastes._arrays import Array, Progress, cast_like, check_weights, no_progress, unit_rows
from damastes.errors import InputError
from damastes.pairs import Pairs
from damastes.solvers.carry import carry
from damastes.solvers.solution import Solution, Solver
from damastes.spectrum import Spectrum

__all__ = ["Subspace"]


@dataclass(frozen=True, slots=True)
class Subspace:
    """Project both clouds on their leading principal directions, raise the spectrum to a power, solve there, come back.

    Parameters
    ----------
    solver : what runs there
    dimension : number of directions, at most those of the smaller space
    power : singular values σ become σ^power
    n_points : the maps are carried there and back by coupling the first so many points
    """

    solver: Solver
    dimension: int = 150
    power: float = 0.75
    n_points: int = 2500

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
        if self.dimension < 1 or self.n_points < 1 or not 0 < self.power <= 1:
            raise InputError(
                f"Subspace needs dimension ≥ 1, n_points ≥ 1 and power in (0, 1], "
                f"got {self.dimension}, {self.n_points} and {self.power}"
            )
        dimension = min(self.dimension, X.shape[1], Y.shape[1])
        x, y = (_leading(Z, dimension, self.power) for Z in (X, Y))
        R = carry((X @ Q, Y), (x, y), n_points=self.n_points, pairs=pairs)
        solution = self.solver(x, y, R, pairs=pairs, rng=rng, progress=progress)
        return Solution(carry((x @ solution.Q, y), (X, Y), n_points=self.n_points, pairs=pairs), solution.history)


def _leading(X: Array, dimension: int, power: float) -> Array:
    """Unit coordinates (n, dimension) along the leading directions, with the spectrum of the result raised to a power."""
    weights = check_weights(None, X.shape[0], "weights", X)
    leading = Spectrum.of(X, weights).vectors[:, -dimension:]
    x = unit_rows(X @ cast_like(leading, X))
    return x if power == 1 else unit_rows(x @ cast_like(Spectrum.of(x, weights).power((power - 1) / 2, floor=1e-4), X))
