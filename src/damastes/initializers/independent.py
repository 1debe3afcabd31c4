"""A start for unlike spaces: match the independent axes of the two clouds, then the points that lie along them.

The independent axes of embedding spaces are topics, and they correspond across languages and models (Yamagiwa et al., 2023).
Found on each side alone, they turn the alignment into a small quadratic assignment.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from scipy.stats import norm, rankdata

from damastes._arrays import Array, NumpyArray, Progress, from_numpy, head_rows, no_progress, to_numpy, unit_rows
from damastes.components import independent_components, rank
from damastes.errors import InputError
from damastes.initializers.start import Start
from damastes.matching import Agreement, FrankWolfe
from damastes.pairs import Pairs
from damastes.procrustes import polar
from damastes.transport import Assignment, Sinkhorn

__all__ = ["IndependentComponents"]

_LEVELS = (0.001, 0.005, 0.02, 0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.98, 0.99, 0.995, 0.998, 0.9995)
_LIKENESS_WEIGHT = 0.3
# Of points with so many active axes, the share of an axis is looked at.
_AT_ONCE = (1, 2, 3, 4, 5)


@dataclass(frozen=True, slots=True)
class IndependentComponents:
    """Find independent axes on each side, match them by how they act together, couple the points, Q₀ = polar(Σ XᵀPY).

    Axes are matched by maximising tr(A Π Bᵀ Πᵀ) + 0.3⟨L, Π⟩ over plans Π of mass 1, where A and B say which axes are active
    together and L how alike two axes are by themselves; many noisy starts vote. The sum runs over several numbers of axes,
    and of points to find them on: the average is better than any member.

    Parameters
    ----------
    shares : numbers of axes, as shares of the smaller rank (and of at most 300)
    n_fit : find axes on the first so many points; every number gives members of its own
    n_points : couple the first so many points
    n_starts, n_kept : starts of the quadratic assignment, and how many of the best vote
    ordered : rows run from frequent to rare, so that axes are also alike when they are active among the same ranks; without an
        order they are compared by the company they keep instead
    """

    shares: tuple[float, ...] = (1 / 3, 1 / 2, 2 / 3)
    n_fit: tuple[int, ...] = (20_000,)
    n_points: int = 2500
    n_starts: int = 24
    n_kept: int = 8
    ordered: bool = True

    def __call__(
        self, X: Array, Y: Array, *, pairs: Pairs, rng: np.random.Generator, progress: Progress = no_progress
    ) -> Start:
        """Return Q₀; the evidence has the agreement of the matched axes. Known pairs join the sum. Allocates n_points²."""
        if not (self.shares and all(0 < share <= 1 for share in self.shares) and 0 < self.n_kept <= self.n_starts):
            raise InputError(f"IndependentComponents needs shares in (0, 1] and 0 < n_kept ≤ n_starts, got {self}")
        if not self.n_fit or min(self.n_fit) < 3 or self.n_points < 1:
            raise InputError(f"IndependentComponents needs n_fit ≥ 3 and n_points ≥ 1, got {self}")
        # More points than there are would only be the same members once more.
        n_fit = sorted({min(n, max(X.shape[0], Y.shape[0])) for n in self.n_fit})
        members = [(n, size) for n in n_fit for size in self._sizes(head_rows(X, n), head_rows(Y, n))]
        M, agreements = 0.0, []
        for k, (n, size) in enumerate(members):
            S, T = (independent_components(head_rows(Z, n), size, rng=rng) for Z in (X, Y))
            matched, agreement = self._match_axes(to_numpy(S), to_numpy(T), rng)
            agreements.append(agreement)
            along = unit_rows(head_rows(S, self.n_points)) @ from_numpy(matched, X)
            scores = unit_rows(along) @ unit_rows(head_rows(T, self.n_points)).T
            heads = (head_rows(Z, min(n, self.n_points)) for Z in (X, Y))
            M = M + Sinkhorn(reg=0.1, tol=1e-2, max_iter=30)(scores).cross(*heads)
            progress("independent components", k + 1, len(members), {"agreement": agreement})
        M = M / len(members)
        if len(pairs):
            share = pairs.trust(min(X.shape[0], Y.shape[0], self.n_points))
            M = (1 - share) * M + share * pairs.cross(X, Y)
        return Start(polar(M), {"n_axes": [size for _, size in members], "agreement": agreements})

    def _sizes(self, X: Array, Y: Array) -> list[int]:
        """Numbers of axes for these points."""
        ranks = rank(X), rank(Y)
        largest = min(*ranks, 300)
        if largest < 2:
            raise InputError(
                f"IndependentComponents needs clouds that spread in two directions or more, got {ranks[0]} for the source "
                f"and {ranks[1]} for the target. Use Convex(), or give more points."
            )
        return sorted({max(2, min(round(share * largest), largest)) for share in self.shares})

    def _match_axes(self, S: NumpyArray, T: NumpyArray, rng: np.random.Generator) -> tuple[NumpyArray, float]:
        """Vote on which axis is which: array (k, k) with rows that sum to 1, and the best agreement."""
        k = S.shape[1]
        graphs = [_coactivation(Z) for Z in (S, T)]
        profiles = [
            [_values(Z), *(_along_the_rows(Z) if self.ordered else _company(Z, graph))]
            for Z, graph in zip((S, T), graphs, strict=True)
        ]
        apart = [_square_distances(x, y) for x, y in zip(*profiles, strict=True)]
        likeness = -np.sum(apart, axis=0)
        likeness = (likeness - likeness.mean()) / max(float(likeness.std()), 1e-12)
        objective = Agreement(*graphs, cost=-_LIKENESS_WEIGHT * likeness)
        loop = FrankWolfe(max_iter=40, oracle=Assignment(), tol=1e-9)
        found = []
        for start in range(self.n_starts):
            noise = rng.standard_normal(likeness.shape) if start else 0.0
            begin = Sinkhorn(reg=1.0, tol=1e-2)(likeness + noise).plan()
            plan = loop(objective, start=objective.state_of(begin)).state[0]
            vertex = Assignment()(plan)
            state = objective.state(vertex)
            found.append((-objective.quadratic(state, state) - objective.linear(state), vertex.plan()))
        found.sort(key=lambda item: -item[0])
        return k * sum(plan for _, plan in found[: self.n_kept]) / self.n_kept, float(found[0][0])


def _coactivation(S: NumpyArray) -> NumpyArray:
    """Which axes are active together: correlations of clip(s − 1, 0, 3), as normal scores of their ranks, 0 on the diagonal."""
    active = np.clip(S - 1, 0, 3).astype(np.float64)
    active = (active - active.mean(axis=0)) / np.maximum(active.std(axis=0), 1e-12)
    correlation = active.T @ active / len(active)
    upper = np.triu_indices(len(correlation), 1)
    ranks = rankdata(correlation[upper])
    graph: NumpyArray = np.zeros_like(correlation)
    graph[upper] = norm.ppf((ranks - 0.5) / max(len(ranks), 1))
    return graph + graph.T


def _values(S: NumpyArray) -> NumpyArray:
    """What an axis looks like by itself: its quantiles."""
    return _standardised(np.quantile(S, _LEVELS, axis=0).T)


def _along_the_rows(S: NumpyArray) -> list[NumpyArray]:
    """Where an axis is active: its variance and its share of high values along the rows' order."""
    n = len(S)
    edges = np.r_[0, np.geomspace(min(30, max(n // 4, 1)), n, 11).astype(int)]
    # As many bands whatever the number of rows; those of a small cloud may share a row.
    bands = [S[begin : max(end, begin + 1)] for begin, end in pairwise(edges)]
    variance = np.array([np.log((band**2).mean(axis=0) + 1e-9) for band in bands]).T
    high = np.array([np.sqrt((band > 2).mean(axis=0)) for band in bands]).T
    return [_standardised(variance), _standardised(high)]


def _company(S: NumpyArray, graph: NumpyArray) -> list[NumpyArray]:
    """What an axis is active with: the spread of its row of co-activations; for how many points it is the strongest axis, and
    how many other axes are active where it is.
    """
    n, k = S.shape
    spread = np.sort(graph, axis=1)[:, np.linspace(0, k - 1, len(_LEVELS)).astype(int)]
    strongest = np.log(np.bincount(S.argmax(axis=1), minlength=k) / n + 1 / (5 * n))
    active = S > 2
    at_once = active.sum(axis=1)
    shares = [active[at_once == number].sum(axis=0) for number in _AT_ONCE] / np.maximum(active.sum(axis=0), 1)
    return [_standardised(spread), _standardised(np.column_stack([strongest, np.array(shares).T]))]


def _standardised(F: NumpyArray) -> NumpyArray:
    standardised: NumpyArray = (F - F.mean(axis=0)) / (F.std(axis=0) + 1e-6)
    return standardised


def _square_distances(A: NumpyArray, B: NumpyArray) -> NumpyArray:
    distances: NumpyArray = ((A[:, None, :] - B[None, :, :]) ** 2).mean(axis=2)
    return distances
