"""Known pairs: what is already known of the correspondence, and how much to trust it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from damastes._arrays import Array, NumpyArray, from_numpy, take_rows
from damastes.errors import InputError

__all__ = ["Pairs"]


@dataclass(frozen=True, slots=True, eq=False)
class Pairs:
    """Row `source[k]` of one cloud corresponds to row `target[k]` of the other, with weight `weights[k]`.

    A weight of 1 counts as one observed pair, so repeating a pair and doubling its weight are the same.
    """

    source: NumpyArray
    target: NumpyArray
    weights: NumpyArray

    def __len__(self) -> int:
        return len(self.source)

    @classmethod
    def none(cls) -> Pairs:
        """No pairs: the unsupervised case."""
        return cls(np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64), np.zeros(0))

    @classmethod
    def from_rows(cls, rows: object, n: int, m: int) -> Pairs:
        """Check pairs of row numbers, an array (k, 2), or (k, 3) with weights in the third column."""
        try:
            table = np.asarray(rows, dtype=np.float64)
        except (TypeError, ValueError):
            raise InputError("pairs must be (source row, target row) or (source row, target row, weight)") from None
        if table.size == 0:
            return cls.none()
        if table.ndim != 2 or table.shape[1] not in (2, 3):
            raise InputError(
                f"pairs must be an array (k, 2) of source and target rows, or (k, 3) with weights, got shape {table.shape}"
            )
        weights = table[:, 2] if table.shape[1] == 3 else np.ones(len(table))
        if not np.isfinite(table).all() or (weights < 0).any():
            raise InputError("pairs must hold finite row numbers and weights of 0 or more")
        source, target = table[:, 0].astype(np.int64), table[:, 1].astype(np.int64)
        if (table[:, :2] != np.stack([source, target], axis=1)).any():
            raise InputError("pairs must hold whole row numbers in their first two columns")
        for name, column, size in (("source", source, n), ("target", target, m)):
            if column.min() < 0 or column.max() >= size:
                raise InputError(
                    f"pairs must name rows that exist: {name} has {size} rows (0 to {size - 1}), "
                    f"the pairs name {column.min()} to {column.max()}"
                )
        keep = weights > 0
        return cls(source[keep], target[keep], weights[keep])

    def trust(self, n_points: int) -> float:
        """The share of the evidence that known pairs get, in [0, 1): one counts as much as ten estimated ones.

        `n_points` is how many points the rest is estimated from. More than that made results on real words worse
        (benchmarks/known_pairs.py): many points whose partners are guessed fix a map better than a few certain ones.
        """
        total = 10 * float(self.weights.sum())
        return total / (total + n_points)

    def cross(self, X: Array, Y: Array) -> Array:
        """Σ w_k x_k y_kᵀ / Σ w_k, of the size of XᵀPY for a plan P of mass 1."""
        w = from_numpy(self.weights / self.weights.sum(), X)[:, None]
        return (w * take_rows(X, self.source)).T @ take_rows(Y, self.target)

    def head(self, n: int, m: int) -> Pairs:
        """Only the pairs among the first n source and m target rows."""
        keep = (self.source < n) & (self.target < m)
        return Pairs(self.source[keep], self.target[keep], self.weights[keep])

    def renumbered(self, source: NumpyArray, target: NumpyArray) -> Pairs:
        """The same pairs after rows moved: old row r is now at source[r] and target[r]."""
        return Pairs(source[self.source], target[self.target], self.weights)
