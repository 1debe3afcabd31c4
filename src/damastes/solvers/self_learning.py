"""Self-learning on random parts of the vocabulary: mutual CSLS neighbours ↔ Procrustes, with a memory.

Refinement on the whole vocabulary gets stuck where it starts. Leaving whole rows and columns out, other ones each time, is
what lets it climb; averaging over batches is what lets it settle.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import lcm
from typing import Protocol

import numpy as np

from damastes._arrays import Array, NumpyArray, Progress, from_numpy, head_rows, namespace, no_progress, take_rows
from damastes.errors import InputError
from damastes.pairs import Pairs
from damastes.procrustes import polar
from damastes.retrieval import CSLS, Cosines, Retriever, leads, mutual_pairs
from damastes.solvers.solution import Solution, with_known

__all__ = ["Memory", "SelfLearning", "averaging", "fading"]


class Memory(Protocol):
    """How much a batch counts: t → α, for M ← (1 − α) M + α C; t counts from 0, and α(0) is 1."""

    def __call__(self, t: int, /) -> float:
        """Return α."""


# Objects rather than closures: a recipe is written into the maps it makes, and says there what it was.
@dataclass(frozen=True, slots=True)
class _Fading:
    """Keep this share of M at every step: the past fades."""

    share: float

    def __call__(self, t: int, /) -> float:
        return 1.0 if t == 0 else 1 - self.share


@dataclass(frozen=True, slots=True)
class _Averaging:
    """4/(t + 4): all batches stay in the mean, and later ones, found under better maps, count by the cube of their number."""

    def __call__(self, t: int, /) -> float:
        return 4 / (t + 4)


def fading(share: float) -> Memory:
    """Keep this share of M at every step: the past fades."""
    if not 0 <= share < 1:
        raise InputError(f"fading needs a share from 0 to below 1, got {share}")
    return _Fading(share)


averaging = _Averaging()

# What a pair counts at least: points that have doubles are never ahead, and may be most of a cloud.
_LEAST = 0.1


@dataclass(frozen=True, slots=True)
class SelfLearning:
    """Collect the pairs of a random batch that choose each other under Q, average their XᵀPY into M, Q = polar(M); repeat.

    Parameters
    ----------
    n_iter : number of batches
    batch_size : points of each cloud in a batch, at most
    pool : sample among the first so many points of each cloud
    memory : how much a batch counts beside the earlier ones
    noise : in comparisons a direction counts as ρ²/(ρ² + noise), ρ the correlation of the two clouds along it under the
        pairs found so far: directions that the clouds do not share fade out. 0 compares by cosine alone
    lead : a pair counts in full when it is ahead of the second best of its row and of its column by this much, and in
        proportion (but a tenth at least) when by less; 0 counts all alike
    tol : stop when a batch moves the map by less than this share, ||(Q' − Q)W||² / ||Q'W||² in the metric W of comparisons;
        0 never does
    retriever : who chooses whom
    """

    n_iter: int = 200
    batch_size: int = 1500
    pool: int = 5000
    memory: Memory = averaging
    noise: float = 0.0
    lead: float = 0.0
    tol: float = 0.0
    retriever: Retriever = CSLS()

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
        """Improve Q. The history has the number of mutual pairs of each batch and their mean score."""
        if (
            self.n_iter < 0
            or self.batch_size < 1
            or self.pool < 1
            or not all(value >= 0 for value in (self.noise, self.lead, self.tol))
        ):
            raise InputError(f"SelfLearning needs n_iter, noise, lead and tol ≥ 0, batch_size and pool ≥ 1, got {self}")
        pools = [head_rows(Z, self.pool) for Z in (X, Y)]
        moments = [Z.T @ Z / Z.shape[0] for Z in pools]
        M: Array = 0.0
        metric = None
        history: list[dict[str, float]] = []
        batches = _dealt([Z.shape[0] for Z in pools], self.batch_size, rng)
        for t, rows in zip(range(self.n_iter), batches, strict=False):
            Xt, Yt = (take_rows(Z, part) for Z, part in zip(pools, rows, strict=True))
            mapped, met = (Xt @ Q, Yt) if metric is None else (Xt @ (Q @ metric), Yt @ metric)
            cosines = Cosines(mapped, met)
            bias = self.retriever.biases(cosines)
            found = mutual_pairs(cosines, bias)
            history.append({"n_pairs": len(found), "score": float(found.scores.mean()) if len(found) else float("nan")})
            progress("self-learning", t + 1, self.n_iter, history[-1])
            if len(found) == 0:
                continue
            weights = np.ones(len(found))
            if self.lead > 0:
                weights = np.clip(leads(cosines, bias, found) / self.lead, _LEAST, 1.0)
            weights /= weights.sum()
            C = (from_numpy(weights, X)[:, None] * take_rows(Xt, found.source)).T @ take_rows(Yt, found.target)
            alpha = self.memory(t)
            M = (1 - alpha) * M + alpha * C
            before = Q
            Q, metric = _solve(with_known(M, X, Y, pairs), moments, self.noise)
            if self.tol > 0 and _stands_still(before, Q, metric, self.tol):
                break
        return Solution(Q, history, metric)


def _dealt(sizes: list[int], batch_size: int, rng: np.random.Generator) -> Iterator[tuple[NumpyArray, NumpyArray]]:
    """Rows of both clouds for one batch after another.

    Each cloud is dealt into equal parts of at most batch_size at random, and every part of one meets every part of the other
    before they are dealt again: two points that correspond are in one batch neither more nor less often than other two.
    """
    counts = [-(-size // batch_size) for size in sizes]
    while True:
        first, second = (
            [np.sort(part) for part in np.array_split(rng.permutation(size), count)]
            for size, count in zip(sizes, counts, strict=True)
        )
        for t in range(counts[0] * counts[1]):
            # Once through both clouds, then again with the parts of one moved on.
            yield first[t % counts[0]], second[(t + t // lcm(*counts)) % counts[1]]


def _stands_still(before: Array, after: Array, metric: Array | None, tol: float) -> bool:
    """Whether the map has moved by at most this share of its length, in the directions that count."""
    xp = namespace(after)
    moved, length = (Z if metric is None else Z @ metric for Z in (after - before, after))
    return bool(xp.sum(moved * moved) <= tol * xp.sum(length * length))


def _solve(M: Array, moments: list[Array], noise: float) -> tuple[Array, Array | None]:
    """polar(M) = U Vᵀ for M = U σ Vᵀ, and the metric V w Vᵀ with w = ρ²/(ρ² + noise), ρ² = σ² / (uᵀS_X u · vᵀS_Y v)."""
    if noise == 0:
        return polar(M), None
    xp = namespace(M)
    U, values, Vt = xp.linalg.svd(M, full_matrices=False)
    variances = [xp.sum(W * (S @ W), axis=0) for W, S in zip((U, Vt.T), moments, strict=True)]
    # w = σ²/(σ² + noise · variances) needs no division by a variance of 0; rounding may leave one just below.
    none = xp.zeros_like(values)
    room = noise * xp.maximum(variances[0], none) * xp.maximum(variances[1], none)
    weights = values**2 / xp.maximum(values**2 + room, xp.full_like(values, float(xp.finfo(M.dtype).smallest_normal)))
    return U @ Vt, (Vt.T * weights[None, :]) @ Vt
