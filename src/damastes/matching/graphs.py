"""Graph matching with the relaxation of eq. 4: which node of one graph is which node of the other?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from damastes._arrays import Array, NumpyArray, Progress, check_points, from_numpy, namespace, no_progress, to_numpy
from damastes.errors import InputError
from damastes.matching.frank_wolfe import FrankWolfe, Relaxation
from damastes.matching.objectives import Agreement, DenseDiscrepancy, check_kernels
from damastes.matching.signatures import row_quantiles, signature_cost
from damastes.transport import Assignment

__all__ = ["GraphMatching", "match_graphs"]


@dataclass(frozen=True, slots=True)
class GraphMatching:
    """`target[i]` is the node of the second graph that node i of the first is, −1 for none.

    `disagreement` is Σ (A_ij − B_target[i],target[j])² over matched nodes; 0 means isomorphic there. `relaxation` is the
    convex program's result, whose plan (padded to a square for unequal sizes) is `relaxation.state[0]`.
    """

    target: NumpyArray
    disagreement: float
    relaxation: Relaxation = field(repr=False)


def match_graphs(
    A: Array,
    B: Array,
    *,
    seeds: Sequence[tuple[int, int]] | NumpyArray | None = None,
    attributes: tuple[Array, Array] | None = None,
    mu: float = 0.1,
    max_iter: int = 60,
    progress: Progress = no_progress,
) -> GraphMatching:
    """Match the nodes of two weighted undirected graphs.

    Minimises ||AP − PB||² + μ⟨C, P⟩ over doubly stochastic P, where C compares descriptions of nodes that do not depend on
    their order; improves the non-convex agreement ⟨APB, P⟩ from there; projects to a permutation. The convex part alone
    can not tell nodes of a regular graph apart; C and the second part can. Where all nodes are alike, as in a cycle, they
    need seeds or attributes.

    Parameters
    ----------
    A, B : symmetric arrays (n, n) and (m, m), adjacency or any similarity. The smaller graph is looked for in the larger
    seeds : known pairs (node of A, node of B), kept
    attributes : one array (n, p) and one (m, p) that describe the nodes, compared by squared distance; same units
    mu : weight of the descriptions, relative to the scale of the quadratic term
    max_iter : Frank–Wolfe steps of each part, one linear assignment each

    Returns
    -------
    GraphMatching. O(max_iter · max(n, m)³).

    Examples
    --------
    >>> import numpy as np
    >>> path = np.array([[0, 1, 0, 0], [1, 0, 1, 0], [0, 1, 0, 5], [0, 0, 5, 0]])
    >>> order = np.array([2, 0, 3, 1])
    >>> match_graphs(path[np.ix_(order, order)], path).target
    array([2, 0, 3, 1])
    """
    A, B = check_kernels(A, B, ("A", "B"))
    if not mu >= 0:
        raise InputError(f"mu must be 0 or more, got {mu}")
    n, m = A.shape[0], B.shape[0]
    pairs = _check_seeds(seeds, n, m)
    size = max(n, m)
    K_X, K_Y = (_normalised(K, other, size) for K, other in ((A, B), (B, A)))
    cost = mu * _description_cost(A, B, attributes, size)
    # A seed costs more to break than all the rest could gain: pairs have mass 1/size, and between two permutations the
    # gradients of both objectives differ by at most 16 for matrices of second moment 1.
    cost = _force(cost, pairs, size * (16 + float(namespace(cost).max(cost))))

    loop = FrankWolfe(max_iter=max_iter, oracle=Assignment(), tol=1e-9)
    relaxation = loop(DenseDiscrepancy(K_X, K_Y, cost=cost), start=(_seeded(pairs, K_X),), progress=progress)
    agreement = Agreement(K_X, K_Y, cost=cost)
    improved = loop(agreement, start=agreement.state_of(relaxation.state[0]), progress=progress)
    candidates = [_project(P, n, m) for P in (relaxation.state[0], improved.state[0])]
    scores = [_disagreement(A, B, target) for target in candidates]
    best = int(np.argmin(scores))
    return GraphMatching(candidates[best], scores[best], relaxation)


def _normalised(K: Array, other: Array, size: int) -> Array:
    """Scale to a second moment of 1; for unequal sizes centre first, so that padding means "nothing known", not "no edge"."""
    values, others = (to_numpy(matrix).astype(np.float64) for matrix in (K, other))
    if values.shape != others.shape:
        off = [v[~np.eye(len(v), dtype=bool)] for v in (values, others)]
        centre = np.mean([o.mean() if o.size else 0.0 for o in off])
        values, others = (v - centre * (1 - np.eye(len(v))) for v in (values, others))
    scale = max(float(np.mean(values**2)), float(np.mean(others**2)), 1e-300) ** 0.5
    padded = np.zeros((size, size))
    padded[: len(values), : len(values)] = values / scale
    return from_numpy(padded, K)


def _description_cost(A: Array, B: Array, attributes: tuple[Array, Array] | None, size: int) -> Array:
    xp = namespace(A)
    signatures = [xp.concat([row_quantiles(K), row_quantiles(K @ K), row_quantiles(K @ K @ K)], axis=1) for K in (A, B)]
    cost = signature_cost(*signatures)
    if attributes is not None:
        if len(attributes) != 2:
            raise InputError(f"attributes must be two arrays, one for each graph, got {len(attributes)}")
        described = [check_points(values, f"attributes[{k}]") for k, values in enumerate(attributes)]
        for values, count, name in zip(described, cost.shape, ("A", "B"), strict=True):
            if values.shape[0] != count:
                raise InputError(f"attributes of {name} must have one row a node, {count}, got {values.shape[0]}")
        if described[0].shape[1] != described[1].shape[1]:
            raise InputError(
                "both graphs need the same attributes, got {} and {}".format(*(v.shape[1] for v in described))
            )
        cost = cost + signature_cost(*(from_numpy(to_numpy(values), A) for values in described))
    padded = np.zeros((size, size))
    padded[: cost.shape[0], : cost.shape[1]] = to_numpy(cost)
    return from_numpy(padded, A)


def _check_seeds(seeds: Sequence[tuple[int, int]] | NumpyArray | None, n: int, m: int) -> NumpyArray:
    pairs = np.zeros((0, 2), dtype=np.int64) if seeds is None or len(seeds) == 0 else np.asarray(seeds)
    if pairs.ndim != 2 or pairs.shape[1] != 2 or pairs.dtype.kind not in "iu":
        raise InputError(f"seeds must be pairs of node numbers, got shape {pairs.shape} of {pairs.dtype}")
    if len(pairs) and (pairs.min() < 0 or pairs[:, 0].max() >= n or pairs[:, 1].max() >= m):
        raise InputError(f"seeds must name nodes below {n} and {m}, got up to {tuple(pairs.max(axis=0).tolist())}")
    if any(len(np.unique(column)) < len(column) for column in pairs.T):
        raise InputError("seeds must name a node once at most")
    return pairs


def _force(cost: Array, pairs: NumpyArray, amount: float) -> Array:
    values = to_numpy(cost).copy()
    values[pairs[:, 0], :] = amount
    values[:, pairs[:, 1]] = amount
    values[pairs[:, 0], pairs[:, 1]] = 0
    return from_numpy(values, cost)


def _seeded(pairs: NumpyArray, like: Array) -> Array:
    """The coupling that knows the seeds and nothing else: all steps from here keep them."""
    size = like.shape[0]
    free = [np.setdiff1d(np.arange(size), column) for column in pairs.T]
    P = np.zeros((size, size))
    P[pairs[:, 0], pairs[:, 1]] = 1 / size
    P[np.ix_(*free)] = 1 / (size * max(len(free[0]), 1))
    return from_numpy(P, like)


def _project(P: Array, n: int, m: int) -> NumpyArray:
    """The permutation nearest to a doubly stochastic matrix; nodes whose partner is padding get −1."""
    found = Assignment()(P)
    target = np.full(n, -1, dtype=np.int64)
    real = (found.rows < n) & (found.columns < m)
    target[found.rows[real]] = found.columns[real]
    return target


def _disagreement(A: Array, B: Array, target: NumpyArray) -> float:
    matched = np.flatnonzero(target >= 0)
    A_part = to_numpy(A).astype(np.float64)[np.ix_(matched, matched)]
    B_part = to_numpy(B).astype(np.float64)[np.ix_(target[matched], target[matched])]
    return float(np.sum((A_part - B_part) ** 2))
