"""What a P-step returns: a coupling that can be applied without being written out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from damastes._arrays import Array, NumpyArray, float64, from_numpy, namespace, take_rows, to_numpy

__all__ = ["Coupler", "Coupling", "EntropicCoupling", "SparseCoupling"]


class Coupling(Protocol):
    """A transport plan P of mass 1 between n source and m target points.

    P has row sums a and column sums b up to `error`, the summed absolute deviation of both.
    """

    @property
    def error(self) -> float:
        """The summed absolute deviation of the marginals."""

    @property
    def n_iter(self) -> int:
        """Iterations of the solver."""

    @property
    def converged(self) -> bool:
        """Whether the solver reached its tolerance."""

    @property
    def target_potential(self) -> Array | None:
        """Dual variables of the columns, to warm-start the next solve; None when the solver has none to offer."""

    def plan(self) -> Array:
        """Write out P: allocates n×m."""

    def to_source(self, Y: Array) -> Array:
        """P Y (n, d)."""

    def to_target(self, X: Array) -> Array:
        """Pᵀ X (m, d)."""

    def cross(self, X: Array, Y: Array) -> Array:
        """Xᵀ P Y (d_x, d_y), all that the Q-step needs."""

    def inner(self, cost: Array) -> float:
        """⟨P, cost⟩ for an n×m array."""

    def rounded(self, a: Array, b: Array) -> Coupling:
        """The nearby coupling whose marginals are exactly a and b."""


class Coupler(Protocol):
    """Solves max_P ⟨P, scores⟩, exactly or with an entropy term, over couplings of a and b."""

    def __call__(
        self, scores: Array, *, a: Array | None = None, b: Array | None = None, warm: Array | None = None
    ) -> Coupling:
        """Couple the rows and columns of `scores` (n, m)."""


@dataclass(frozen=True, slots=True)
class SparseCoupling:
    """A coupling with few nonzero entries: `mass[k]` between `rows[k]` and `columns[k]`."""

    rows: NumpyArray
    columns: NumpyArray
    mass: Array
    shape: tuple[int, int]
    error: float = 0.0
    n_iter: int = 1
    converged: bool = True

    @property
    def target_potential(self) -> None:
        """An exact solution needs no warm start."""
        return

    def plan(self) -> Array:
        """Write out P: allocates n×m."""
        mass = to_numpy(self.mass)
        dense = np.zeros(self.shape, dtype=mass.dtype)
        np.add.at(dense, (self.rows, self.columns), mass)
        return from_numpy(dense, self.mass)

    def to_source(self, Y: Array) -> Array:
        """P Y (n, d)."""
        return _scatter(self.mass[:, None] * take_rows(Y, self.columns), self.rows, self.shape[0])

    def to_target(self, X: Array) -> Array:
        """Pᵀ X (m, d)."""
        return _scatter(self.mass[:, None] * take_rows(X, self.rows), self.columns, self.shape[1])

    def cross(self, X: Array, Y: Array) -> Array:
        """Xᵀ P Y (d_x, d_y)."""
        return (self.mass[:, None] * take_rows(X, self.rows)).T @ take_rows(Y, self.columns)

    def inner(self, cost: Array) -> float:
        """⟨P, cost⟩ for an n×m array."""
        return float(np.sum(to_numpy(self.mass).astype(np.float64) * to_numpy(cost)[self.rows, self.columns]))

    def rounded(self, a: Array, b: Array) -> SparseCoupling:
        """An exact solution is feasible already."""
        return self


@dataclass(frozen=True, slots=True)
class EntropicCoupling:
    """P = diag(u) K diag(v) + p qᵀ, where the rank-one part is only there after rounding. Keeps the n×m kernel."""

    kernel: Array
    u: Array
    v: Array
    target_potential: Array
    error: float
    n_iter: int
    converged: bool
    correction: tuple[Array, Array] | None = None

    def plan(self) -> Array:
        """Write out P: allocates n×m."""
        P = self.u[:, None] * self.kernel * self.v[None, :]
        return P if self.correction is None else P + self.correction[0][:, None] * self.correction[1][None, :]

    def to_source(self, Y: Array) -> Array:
        """P Y (n, d)."""
        PY = self.u[:, None] * (self.kernel @ (self.v[:, None] * Y))
        return PY if self.correction is None else PY + self.correction[0][:, None] * (self.correction[1] @ Y)[None, :]

    def to_target(self, X: Array) -> Array:
        """Pᵀ X (m, d)."""
        PX = self.v[:, None] * (self.kernel.T @ (self.u[:, None] * X))
        return PX if self.correction is None else PX + self.correction[1][:, None] * (self.correction[0] @ X)[None, :]

    def cross(self, X: Array, Y: Array) -> Array:
        """Xᵀ P Y (d_x, d_y)."""
        return X.T @ self.to_source(Y)

    def inner(self, cost: Array) -> float:
        """⟨P, cost⟩ for an n×m array."""
        xp = namespace(cost)
        value = float(xp.sum(float64(self.u * ((self.kernel * cost) @ self.v))))
        return value if self.correction is None else value + float(self.correction[0] @ cost @ self.correction[1])

    def rounded(self, a: Array, b: Array) -> EntropicCoupling:
        """Round to exact marginals (Altschuler, Weed and Rigollet, 2017, algorithm 2)."""
        xp = namespace(self.kernel)
        tiny = xp.finfo(self.kernel.dtype).smallest_normal
        ones = xp.ones_like(a)
        row_sums = self.u * (self.kernel @ self.v)
        u = self.u * xp.minimum(a / (row_sums + tiny), ones)
        column_sums = self.v * (u @ self.kernel)
        v = self.v * xp.minimum(b / (column_sums + tiny), xp.ones_like(b))
        row_rest = xp.maximum(a - u * (self.kernel @ v), xp.zeros_like(a))
        column_rest = xp.maximum(b - v * (u @ self.kernel), xp.zeros_like(b))
        rest = xp.sum(row_rest)
        return EntropicCoupling(
            self.kernel,
            u,
            v,
            self.target_potential,
            error=0.0,
            n_iter=self.n_iter,
            converged=self.converged,
            correction=(row_rest, column_rest / (rest + tiny)),
        )


def _scatter(values: Array, rows: NumpyArray, n: int) -> Array:
    """Sum values into n rows, since the array API has no scatter-add."""
    dense = np.zeros((n, values.shape[1]), dtype=np.float64)
    np.add.at(dense, rows, to_numpy(values))
    return from_numpy(dense, values)
