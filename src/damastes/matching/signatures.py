"""Descriptions of a point that no rotation and no reordering changes, for the linear term of the relaxation."""

from __future__ import annotations

from math import inf

import numpy as np

from damastes._arrays import Array, check_pair, check_points, from_numpy, namespace, take_rows
from damastes.errors import InputError

__all__ = ["row_quantiles", "signature_cost"]

_LEVELS = np.concatenate([[0.002, 0.01, 0.03], np.linspace(0.07, 0.93, 14), [0.97, 0.99, 0.998]])


def row_quantiles(K: Array) -> Array:
    """Quantiles of each row of a similarity matrix (n, n), diagonal included: array (n, 20), standardised by column."""
    K = check_points(K, "K")
    xp = namespace(K)
    n = K.shape[1]
    position = _LEVELS * (n - 1)
    low = np.floor(position).astype(np.int64)
    share = from_numpy(position - low, K)[:, None]
    ordered = xp.sort(K, axis=1, stable=False).T  # stable sorting takes ten times as long
    quantiles = (1 - share) * take_rows(ordered, low) + share * take_rows(ordered, np.minimum(low + 1, n - 1))
    quantiles = quantiles - xp.mean(quantiles, axis=1, keepdims=True)
    spread = xp.sqrt(xp.mean(quantiles * quantiles, axis=1, keepdims=True))
    # In a graph whose nodes are all alike only rounding tells them apart; standardised, it would look like information.
    noise = n * float(xp.finfo(K.dtype).eps) * float(xp.max(xp.abs(K)))
    return (quantiles / xp.where(spread > noise, spread, xp.full_like(spread, inf))).T


def signature_cost(source: Array, target: Array) -> Array:
    """Squared distances between two sets of descriptions, of mean 1: array (n, m)."""
    source, target = check_pair(source, target)
    if source.shape[1] != target.shape[1]:
        raise InputError(
            f"source and target must be described by the same numbers, got {source.shape[1]} and {target.shape[1]} a point"
        )
    xp = namespace(source)
    squares = xp.sum(source * source, axis=1)[:, None] + xp.sum(target * target, axis=1)[None, :]
    cost = xp.maximum(squares - 2 * (source @ target.T), xp.zeros_like(squares))
    mean = float(xp.mean(cost))
    return cost / mean if mean > 0 else cost
