"""The blocked search that all retrieval criteria share: who is nearest, and whose choice is mutual.

Every criterion of the paper scores a pair as `scale · cos(x, y) − row_bias(x) − column_bias(y)`; what differs is the biases.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from damastes._arrays import Array, NumpyArray, namespace, take_rows, to_numpy
from damastes.errors import InputError
from damastes.retrieval.cosines import Cosines
from damastes.retrieval.topk import largest, row_blocks, top_k

__all__ = ["Biases", "Choices", "MutualPairs", "Neighbours", "Retriever", "choose", "leads", "mutual_pairs", "search"]


@dataclass(frozen=True, slots=True)
class Neighbours:
    """The k best targets of each queried source point, best first: `indices` and `scores` of shape (q, k)."""

    indices: NumpyArray
    scores: NumpyArray


@dataclass(frozen=True, slots=True)
class Choices:
    """The best target of each source point, its score, and whether the choice is mutual: arrays (n,)."""

    targets: NumpyArray
    scores: NumpyArray
    mutual: NumpyArray


@dataclass(frozen=True, slots=True)
class MutualPairs:
    """Pairs that choose each other: `source[i]` and `target[i]`, with their scores."""

    source: NumpyArray
    target: NumpyArray
    scores: NumpyArray

    def __len__(self) -> int:
        return len(self.source)


@dataclass(frozen=True, slots=True)
class Biases:
    """What a criterion subtracts: `scale · cos − rows[i] − columns[j]`, with arrays (n,) and (m,) or 0."""

    scale: float
    rows: Array | float
    columns: Array | float


class Retriever(Protocol):
    """Finds the k best targets of source points in a common space.

    Biases depend on all points of both sides and on nothing that is asked, so whoever asks often computes them once.
    """

    def biases(self, cosines: Cosines) -> Biases:
        """Compute the biases, over all points of both sides."""

    def __call__(
        self,
        source: Array,
        target: Array,
        k: int = 1,
        *,
        queries: NumpyArray | None = None,
        biases: Biases | None = None,
    ) -> Neighbours:
        """Return the k best targets of the queried source rows (all unless given)."""


def search(source: Array, target: Array, k: int, queries: NumpyArray | None, bias: Biases) -> Neighbours:
    """Answer the queried source rows (all unless given) under the biases; blocked, so never an n×m array."""
    cosines = Cosines(source, target)
    X, Y = cosines.source, cosines.target
    xp = namespace(X)
    if not k >= 1:
        raise InputError(f"k must be at least 1, got {k}")
    _check_biases(bias, X.shape[0], Y.shape[0])
    k = min(k, Y.shape[0])
    rows = np.arange(X.shape[0]) if queries is None else _check_queries(queries, X.shape[0])
    indices = np.empty((len(rows), k), dtype=np.int64)
    scores = np.empty((len(rows), k), dtype=np.float64 if Y.dtype == xp.float64 else np.float32)
    for block in row_blocks(len(rows), Y.shape[0]):
        values = (bias.scale * take_rows(X, rows[block])) @ Y.T
        if not isinstance(bias.columns, int | float):
            values -= bias.columns[None, :]
        best, columns = top_k(values, k)
        scores[block], indices[block] = to_numpy(best), to_numpy(columns)
    if not isinstance(bias.rows, int | float):
        scores -= to_numpy(bias.rows)[rows, None]
    return Neighbours(indices, scores)


def choose(cosines: Cosines, bias: Biases) -> Choices:
    """Find every source point's best target under the biases, and whether it is that target's best source; blocked."""
    xp = namespace(cosines.source)
    n, m = cosines.shape
    targets, scores = np.empty(n, dtype=np.int64), np.empty(n)
    chosen_by, highest = np.full(m, -1, dtype=np.int64), np.full(m, -np.inf)
    for block, values in _scores_over_scale(cosines, bias):
        best, choice = top_k(values, 1)
        targets[block], scores[block] = to_numpy(choice)[:, 0], to_numpy(best)[:, 0]
        # Two passes along the columns, but both along contiguous memory; NumPy's argmax(axis=0) is not.
        peaks = to_numpy(xp.max(values, axis=0))
        better = np.flatnonzero(peaks > highest)
        highest[better] = peaks[better]
        # Only a row that chose column j can be mutual with it, so only such rows need to be known.
        chosen = targets[block]
        reached = scores[block] >= highest[chosen].astype(scores.dtype)
        chosen_by[better] = -1
        chosen_by[chosen[reached]] = np.flatnonzero(reached) + block.start
    return Choices(targets, bias.scale * scores, chosen_by[targets] == np.arange(n))


def mutual_pairs(cosines: Cosines, bias: Biases) -> MutualPairs:
    """Find the pairs (i, j) such that j is i's best target and i is j's best source under the biases; blocked."""
    found = choose(cosines, bias)
    rows = np.flatnonzero(found.mutual)
    return MutualPairs(rows, found.targets[rows], found.scores[rows])


def leads(cosines: Cosines, bias: Biases, found: MutualPairs) -> NumpyArray:
    """How far each mutual pair is ahead of the second best of its row and of its column, whichever is closer; blocked."""
    xp = namespace(cosines.source)
    second_of_row, best_of_column = [], None
    for _, values in _scores_over_scale(cosines, bias):
        second_of_row.append(xp.min(largest(values, 2, axis=1), axis=1))
        two = largest(values, 2, axis=0)
        best_of_column = two if best_of_column is None else largest(xp.concat([best_of_column, two], axis=1), 2, axis=1)
    assert best_of_column is not None
    rivals = np.maximum(
        to_numpy(xp.concat(second_of_row))[found.source], to_numpy(xp.min(best_of_column, axis=1))[found.target]
    )
    ahead: NumpyArray = np.maximum(found.scores - bias.scale * rivals, 0.0)
    return ahead


def _scores_over_scale(cosines: Cosines, bias: Biases) -> Iterator[tuple[slice, Array]]:
    """Rows and their scores divided by the scale: that changes no choice, and a block needs two passes and not three."""
    _check_biases(bias, *cosines.shape)
    columns, rows = bias.columns / bias.scale, bias.rows / bias.scale
    for block, values in cosines:
        values = values - (columns if isinstance(columns, int | float) else columns[None, :])
        if not isinstance(rows, int | float):
            values -= rows[block][:, None]
        yield block, values


def _check_biases(bias: Biases, n: int, m: int) -> None:
    for name, values, size in (("row", bias.rows, n), ("column", bias.columns, m)):
        if not isinstance(values, int | float) and tuple(values.shape) != (size,):
            raise InputError(
                f"biases must come from these clouds: they have {size} {name}s, the biases are for {tuple(values.shape)}"
            )


def _check_queries(queries: NumpyArray, n: int) -> NumpyArray:
    rows = np.asarray(queries, dtype=None if len(queries) else np.int64)
    if rows.ndim != 1 or rows.dtype.kind not in "iu" or (len(rows) and (rows.min() < 0 or rows.max() >= n)):
        raise InputError(f"queries must be row numbers of source, 0 to {n - 1}")
    return rows
