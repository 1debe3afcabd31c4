"""The k largest entries of rows and columns, and the blocks in which a large score matrix is visited."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from array_api_compat import is_numpy_array, is_torch_array

from damastes._arrays import Array, NumpyArray, namespace

__all__ = ["largest", "row_blocks", "top_k"]

# Scores are visited in blocks of about this many entries: 128 MB in float32, large enough for products at full speed.
BLOCK_ENTRIES = 32_000_000
# NumPy looks for the k largest among the k groups of this many entries that have the largest maxima: exact, and the
# maxima are one vectorised pass, which a selection over all entries is not.
_GROUP = 16


def row_blocks(n: int, m: int) -> Iterator[slice]:
    """Slices of n rows, each of about BLOCK_ENTRIES entries when there are m columns."""
    step = max(1, min(n, 2048, BLOCK_ENTRIES // max(m, 1)))
    for begin in range(0, n, step):
        yield slice(begin, min(begin + step, n))


def top_k(scores: Array, k: int) -> tuple[Array, Array]:
    """Return values and column indices of the k largest entries of each row, largest first.

    The standard has no top-k: torch has its own, NumPy gets one that reads the matrix about once, others sort.
    """
    xp = namespace(scores)
    if k == 1:
        best = xp.argmax(scores, axis=1)[:, None]
        return xp.take_along_axis(scores, best, axis=1), best
    if is_torch_array(scores):
        values, columns = scores.topk(k, dim=1)
        return values, columns
    if not is_numpy_array(scores):
        columns = xp.argsort(scores, axis=1, descending=True)[:, :k]
        return xp.take_along_axis(scores, columns, axis=1), columns
    n, m = scores.shape
    groups = m // _GROUP
    if groups <= 2 * k:
        return _select(scores, k)
    maxima = scores[:, : groups * _GROUP].reshape(n, _GROUP, groups).max(axis=1)
    leaders = _leaders(maxima, k)
    columns = (leaders[:, :, None] + groups * np.arange(_GROUP)).reshape(n, -1)
    tail = np.broadcast_to(np.arange(groups * _GROUP, m), (n, m - groups * _GROUP))
    columns = np.concatenate([columns, tail], axis=1)
    values, places = _select(np.take_along_axis(scores, columns, axis=1), k)
    return values, np.take_along_axis(columns, places, axis=1)


def largest(scores: Array, k: int, *, axis: int) -> Array:
    """Return the k largest values of each row (axis 1) or column (axis 0), in no order: array (n, k) or (m, k), or all."""
    xp = namespace(scores)
    n, m = scores.shape
    length = (n, m)[axis]
    k = min(k, length)
    if is_torch_array(scores):
        values = scores.topk(k, dim=axis).values
        return values if axis == 1 else values.T
    if not is_numpy_array(scores):
        values = xp.sort(scores, axis=axis, descending=True)
        return values[:, :k] if axis == 1 else values[:k, :].T
    groups = length // _GROUP
    if groups <= 2 * k:
        # Partition works along contiguous memory: a copy of the transpose is faster than going down the columns.
        return np.partition(scores if axis == 1 else np.ascontiguousarray(scores.T), length - k, axis=1)[
            :, length - k :
        ]
    whole = groups * _GROUP
    if axis == 1:
        grouped = scores[:, :whole].reshape(n, _GROUP, groups)
        leaders = _leaders(grouped.max(axis=1), k)
        found, rest = grouped[np.arange(n)[:, None], :, leaders].reshape(n, -1), scores[:, whole:]
    else:
        leaders = _leaders(scores[:whole].reshape(groups, _GROUP, m).max(axis=1).T, k)
        rows = (leaders[:, :, None] * _GROUP + np.arange(_GROUP)).reshape(m, -1)
        found, rest = scores[rows, np.arange(m)[:, None]], scores[whole:].T
    found = np.concatenate([found, rest], axis=1)
    return np.partition(found, found.shape[1] - k, axis=1)[:, -k:]


def _leaders(maxima: NumpyArray, k: int) -> NumpyArray:
    """The k groups of each row that have the largest maxima."""
    return np.argpartition(np.ascontiguousarray(maxima), maxima.shape[1] - k, axis=1)[:, -k:]


def _select(scores: NumpyArray, k: int) -> tuple[NumpyArray, NumpyArray]:
    m = scores.shape[1]
    columns = np.argpartition(scores, m - k, axis=1)[:, m - k :]
    values = np.take_along_axis(scores, columns, axis=1)
    order = np.argsort(-values, axis=1, kind="stable")
    return np.take_along_axis(values, order, axis=1), np.take_along_axis(columns, order, axis=1)
