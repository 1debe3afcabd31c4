"""`align(source, target) → Alignment`: frames, a start, solvers, and a map that carries all of it."""

from __future__ import annotations

import re
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib.metadata import version
from os import PathLike
from typing import Any

import numpy as np

from damastes._arrays import (
    Array,
    NumpyArray,
    Progress,
    RandomState,
    as_generator,
    check_points,
    check_same_kind,
    head_rows,
    namespace,
    no_progress,
    take_rows,
)
from damastes.errors import InputError
from damastes.frame import Frame
from damastes.initializers import Initializer, Start, Through
from damastes.io.maps import save_map
from damastes.mapping import Map
from damastes.matching import Certificate, certify
from damastes.pairs import Pairs
from damastes.recipes import Recipe, Route, recipe_named
from damastes.retrieval import CSLS, Biases, Cosines, MutualPairs, Neighbours, Retriever, mutual_pairs
from damastes.solvers import Solution, Solver, carry
from damastes.transport import Assignment, Sinkhorn
from damastes.vectors import Vectors, as_vectors
from damastes.verdict import Verdict, judge

__all__ = ["Alignment", "align"]


def align(
    source: Vectors | Array,
    target: Vectors | Array,
    *,
    recipe: str | Recipe = "default",
    initializer: Initializer | None = None,
    solver: Solver | None = None,
    refinement: Solver | None = None,
    pairs: Iterable[Sequence[Any]] | NumpyArray | None = None,
    via: Vectors | Array | None = None,
    random_state: RandomState = 0,
    progress: Progress | None = None,
) -> Alignment:
    """Align two embedding spaces when nobody knows which point corresponds to which.

    Finds an orthogonal Q and a correspondence P that minimise ||XQ − PY||² (eq. 2 of the paper). Only vectors are looked
    at, never labels, unless `pairs` asks for it.

    Parameters
    ----------
    source, target : `Vectors`, or arrays (n, d_x) and (m, d_y) of one library. Rows of arrays are in no order
    recipe : "default", "paper", "authors", or a `Recipe`
    initializer, solver, refinement : replace that part of the recipe. With an initializer or a solver, no other is tried;
        with a refinement, nothing else comes before it
    pairs : known pairs (source, target) or (source, target, weight), by label or by row; none is the unsupervised case
    via : a third space that both sides are more like than each other. If no other route is judged to have worked, both are
        aligned with it, and the two maps one after the other are one more start
    random_state : seed; same seed and thread count, same bits
    progress : called as progress(stage, done, total, info) while the work goes on; raise from it to stop

    Returns
    -------
    Alignment

    Examples
    --------
    >>> import damastes, numpy as np
    >>> cloud = damastes.samples.load("en").matrix[:500]
    >>> rotation = np.linalg.qr(np.random.default_rng(0).standard_normal((100, 100)))[0]
    >>> alignment = damastes.align(cloud, cloud @ rotation)
    >>> bool(abs(alignment.Q - rotation).max() < 1e-2)
    True
    """
    source, target = as_vectors(source, "source"), as_vectors(target, "target")
    xp = check_same_kind(source.matrix, target.matrix)
    source, target = (_in_precision(v, xp.result_type(source.matrix, target.matrix)) for v in (source, target))
    for vectors, name in ((source, "source"), (target, "target")):
        check_points(vectors.matrix, name, min_points=2, labels=vectors.labels, nonzero=True)
    chosen = recipe_named(recipe)
    ordered = source.ordered and target.ordered
    fallbacks = chosen.fallbacks if ordered or chosen.unordered_fallbacks is None else chosen.unordered_fallbacks
    chosen = replace(
        chosen,
        initializer=initializer or chosen.initializer,
        solver=solver or chosen.solver,
        refinement=refinement or chosen.refinement,
        fallbacks=() if initializer or solver else fallbacks,
        climb=None if refinement else chosen.climb,
        unordered_climb=None if refinement else chosen.unordered_climb,
        unordered_fallbacks=None,
    )
    climb = chosen.climb if ordered else chosen.unordered_climb
    rng = as_generator(random_state)
    report = progress or no_progress
    clock = _Clock()

    known = _known_pairs(pairs, source, target)
    # From here on a head of the rows is a fair sample: the frequent points of an ordered cloud, random ones of another.
    orders = [np.arange(len(v)) if v.ordered else rng.permutation(len(v)) for v in (source, target)]
    clouds = [
        v.matrix if v.ordered else take_rows(v.matrix, order) for v, order in zip((source, target), orders, strict=True)
    ]
    known = known.renumbered(np.argsort(orders[0]), np.argsort(orders[1]))
    frames = [chosen.frame.fit(cloud) for cloud in clouds]
    X, Y = (frame(cloud) for frame, cloud in zip(frames, clouds, strict=True))
    clock.lap("frame")

    if via is not None:
        third, target_frame = as_vectors(via, "via"), frames[1]
        check_same_kind(source.matrix, third.matrix)
        third = _in_precision(third, source.matrix.dtype)
        check_points(third.matrix, "via", min_points=2, labels=third.labels, nonzero=True)

        def land(progress: Progress) -> Array:
            there = align(source, third, recipe=recipe, random_state=rng, progress=progress)
            onward = align(third, target, recipe=recipe, random_state=rng, progress=progress)
            return target_frame(onward.transform(there.transform(clouds[0])))

        # Two maps in a row are no weak start: exploring would lose it where the texts differ.
        chosen = replace(chosen, fallbacks=(*chosen.fallbacks, Route(Through(land), climb or chosen.solver)))
    end_frames = frames if chosen.finish is None else [chosen.finish.fit(cloud) for cloud in clouds]
    A, B = (X, Y) if chosen.finish is None else (frame(cloud) for frame, cloud in zip(end_frames, clouds, strict=True))
    best: tuple[Verdict, Solution, dict[str, Any]] | None = None
    for Q, passes, history, record in _promising(chosen, clouds, X, Y, known, rng, report, clock):
        if chosen.finish is not None:
            Q = carry((X @ Q, Y), (A, B), n_points=_CARRIED, pairs=known)
        for _ in range(passes):
            if climb is not None:
                solution = climb(A, B, Q, pairs=known, rng=rng, progress=report)
                Q, history["climb"] = solution.Q, [*history.get("climb", []), *solution.history]
            solution = chosen.refinement(A, B, Q, pairs=known, rng=rng, progress=report)
            Q, history["refinement"] = solution.Q, [*history.get("refinement", []), *solution.history]
        clock.lap("refinement")
        verdict = judge(A, B, solution.Q, rng=_branch(rng), progress=report)
        clock.lap("verdict")
        record["final_verdict"] = verdict.to_json()
        if best is None or verdict.score > best[0].score:
            best = verdict, solution, history
        # A quick look may have been content with a wrong map; then the other routes get their turn.
        if verdict.label == "aligned":
            break
    assert best is not None
    verdict, solution, history = best

    made = {
        "recipe": _written(chosen),
        "damastes": version("damastes"),
        "random_state": int(random_state) if isinstance(random_state, (int, np.integer)) else None,
        "source": {"name": source.name, "n": len(source), "dimension": source.dimension},
        "target": {"name": target.name, "n": len(target), "dimension": target.dimension},
        "n_pairs": len(known),
    }
    mapping = Map(solution.Q, end_frames[0], end_frames[1], made, solution.metric)
    return Alignment(mapping, source, target, history, clock.seconds, verdict)


def _branch(rng: np.random.Generator) -> np.random.Generator:
    """A generator of its own, so that a map does not depend on how often somebody looks at it."""
    return np.random.default_rng(rng.integers(2**63))


# A correspondence of so many points is carried from the frame of the starts to that of the refinement.
_CARRIED = 3000


def _promising(
    recipe: Recipe,
    clouds: Sequence[Array],
    X: Array,
    Y: Array,
    pairs: Pairs,
    rng: np.random.Generator,
    progress: Progress,
    clock: _Clock,
) -> Iterator[tuple[Array, int, dict[str, Any], dict[str, Any]]]:
    """Try the recipe's routes in order; yield the maps that a quick look calls "aligned", or at last the best of them.

    X and Y are the framed clouds. Each map comes with the passes through the last stages that it needs, its history, and the
    record of its route there.
    """
    routes = (Route(recipe.initializer, recipe.solver), *recipe.fallbacks)
    tried: list[dict[str, Any]] = []
    best: tuple[float, tuple[Array, int, dict[str, Any], dict[str, Any]]] | None = None
    for route in routes:
        names = {"initializer": _written(route.initializer), "solver": _written(route.solver)}
        if route.head is not None:
            names["head"] = _written(route.head)
        try:
            start, Q = started(route, recipe.frame, clouds, X, Y, pairs, rng, progress)
            clock.lap("start")
            solution = route.solver(X, Y, Q, pairs=pairs, rng=rng, progress=progress)
            clock.lap("solver")
        except InputError as error:
            # Clouds that a fallback can not work on are no mistake of the user's.
            if best is None:
                raise
            tried.append({**names, "error": str(error)})
            continue
        history = {"start": dict(start.evidence), "solver": solution.history}
        if len(routes) == 1:
            yield solution.Q, route.passes, history, {}
            return
        while True:
            verdict = judge(X, Y, solution.Q, rng=_branch(rng), thorough=False, progress=progress)
            clock.lap("verdict")
            tried.append({**names, "verdict": verdict.to_json()})
            found = solution.Q, route.passes, {**history, "routes": tried}, tried[-1]
            if best is None or verdict.score > best[0]:
                best = verdict.score, found
            # Where nothing can be judged, no other route could be preferred.
            if "closeness" not in verdict.evidence:
                yield best[1]
                return
            if verdict.label == "aligned" or route.further is None or "further" in names:
                break
            solution = route.further(X, Y, solution.Q, pairs=pairs, rng=rng, progress=progress)
            names["further"], history["further"] = _written(route.further), solution.history
            clock.lap("solver")
        if verdict.label == "aligned":
            yield found
    if not any(record.get("verdict", {}).get("label") == "aligned" for record in tried):
        assert best is not None
        yield best[1]


def started(
    route: Route,
    frame: Frame,
    clouds: Sequence[Array],
    X: Array,
    Y: Array,
    pairs: Pairs,
    rng: np.random.Generator,
    progress: Progress = no_progress,
) -> tuple[Start, Array]:
    """Where a route starts, and the map that it goes on with."""
    if route.head is None:
        start = route.initializer(X, Y, pairs=pairs, rng=rng, progress=progress)
        return start, start.Q
    heads = [head_rows(cloud, route.head.n_points) for cloud in clouds]
    x, y = (frame.fit(head)(head) for head in heads)
    pairs = pairs.head(x.shape[0], y.shape[0])
    start = route.initializer(x, y, pairs=pairs, rng=rng, progress=progress)
    # The two frames differ by their centres alone, so that a rotation of one is a rotation of the other.
    return start, route.head.solver(x, y, start.Q, pairs=pairs, rng=rng, progress=progress).Q


@dataclass(frozen=True, eq=False)
class Alignment:
    """A map, the two clouds it was found on, whether it can be trusted, and how it was found.

    `history` has the start's evidence and one record a step of every solver, and under "routes", when there was a choice,
    what was tried, what a quick look said of it ("verdict"; a route that went "further" has a record more), and of those that
    went through the last stages, what was said in the end ("final_verdict"): the best of these won. `seconds` has the time of
    every stage; `verdict` is None when nobody judged it.
    """

    map: Map
    source: Vectors
    target: Vectors
    history: Mapping[str, Any] = field(default_factory=dict, repr=False)
    seconds: Mapping[str, float] = field(default_factory=dict, repr=False)
    verdict: Verdict | None = None
    _cache: dict[Any, Any] = field(default_factory=dict, init=False, repr=False, compare=False)

    @property
    def Q(self) -> Array:
        """The orthogonal matrix, d_source × d_target, between the framed spaces."""
        return self.map.Q

    def transform(self, vectors: Array) -> Array:
        """Map raw source vectors, also unseen ones, to raw target coordinates."""
        return self.map.transform(vectors)

    def inverse_transform(self, vectors: Array) -> Array:
        """Map raw target vectors to raw source coordinates."""
        return self.map.inverse_transform(vectors)

    def embed_source(self, vectors: Array | None = None) -> Array:
        """Bring raw source vectors (the aligned ones unless given) into the shared frame, where cosines are compared."""
        return self._embedded()[0] if vectors is None else self.map.embed_source(vectors)

    def embed_target(self, vectors: Array | None = None) -> Array:
        """Bring raw target vectors (the aligned ones unless given) into the shared frame."""
        return self._embedded()[1] if vectors is None else self.map.embed_target(vectors)

    def neighbours(
        self,
        k: int = 1,
        *,
        retriever: Retriever | None = None,
        queries: NumpyArray | None = None,
        backward: bool = False,
    ) -> Neighbours:
        """Find the k best targets of the queried source rows (all unless given); or, backward, sources of target rows."""
        retriever = retriever or CSLS()
        sides = self._embedded()[::-1] if backward else self._embedded()
        bias = self._biases(retriever, backward)
        return retriever(*sides, k, queries=queries, biases=bias)

    def translate(self, label: str | int, k: int = 5, *, retriever: Retriever | None = None) -> list[tuple[str, float]]:
        """Return the k best targets of one source point, by label or row, as (label, score)."""
        row = self.source.row(label) if isinstance(label, str) else int(label)
        found = self.neighbours(k, retriever=retriever, queries=np.asarray([row]))
        return [
            (self.target.label(int(j)), float(score))
            for j, score in zip(found.indices[0], found.scores[0], strict=True)
        ]

    def mutual_pairs(self, *, retriever: Retriever | None = None) -> MutualPairs:
        """Return the induced lexicon: the pairs of rows that choose each other, with their scores (logarithms for ISF)."""
        return mutual_pairs(Cosines(*self._embedded()), self._biases(retriever or CSLS(), False))

    def certificate(self, n_points: int = 500) -> Certificate:
        """Bound how far Q is from the global optimum of the problem on the first n_points of each framed cloud.

        The bound is tight when the clouds are isometric and loose when they are not. O(n_points²) a step, some seconds.
        """
        X, Y = (
            frame(take_rows(vectors.matrix, np.arange(min(n_points, len(vectors)))))
            for frame, vectors in ((self.map.source_frame, self.source), (self.map.target_frame, self.target))
        )
        return certify(X, Y, self.Q, coupler=Assignment() if X.shape[0] == Y.shape[0] else Sinkhorn(reg=0.01))

    def save(self, path: str | PathLike[str]) -> None:
        """Write the map (not the clouds) to a safetensors file, at once or not at all."""
        save_map(self.map, path)

    def _embedded(self) -> tuple[Array, Array]:
        if "embedded" not in self._cache:
            self._cache["embedded"] = (
                self.map.embed_source(self.source.matrix),
                self.map.embed_target(self.target.matrix),
            )
        embedded: tuple[Array, Array] = self._cache["embedded"]
        return embedded

    def _biases(self, retriever: Retriever, backward: bool) -> Biases:
        key = (retriever, backward)
        if key not in self._cache:
            turned = self._cache.get((retriever, not backward))
            if turned is not None and isinstance(retriever, CSLS):  # the same means serve both directions
                self._cache[key] = Biases(turned.scale, turned.columns, turned.rows)
            else:
                sides = self._embedded()[::-1] if backward else self._embedded()
                self._cache[key] = retriever.biases(Cosines(*sides))
        biases: Biases = self._cache[key]
        return biases


def _written(part: object) -> str:
    """What a record says of a recipe or a part of one; where in memory its functions were is left out."""
    return re.sub(r" at 0x[0-9a-fA-F]+", "", repr(part))


class _Clock:
    """Seconds of each stage."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}
        self._last = time.perf_counter()

    def lap(self, stage: str) -> None:
        now = time.perf_counter()
        self.seconds[stage] = self.seconds.get(stage, 0.0) + now - self._last
        self._last = now


def _in_precision(vectors: Vectors, dtype: Any) -> Vectors:
    if vectors.matrix.dtype == dtype:
        return vectors
    return replace(vectors, matrix=namespace(vectors.matrix).astype(vectors.matrix, dtype))


def _known_pairs(pairs: Iterable[Sequence[Any]] | NumpyArray | None, source: Vectors, target: Vectors) -> Pairs:
    rows: Any = [] if pairs is None else pairs if hasattr(pairs, "__len__") else list(pairs)
    if len(rows) == 0:
        return Pairs.none()
    for pair in rows:
        if isinstance(pair, str) or not hasattr(pair, "__len__") or len(pair) not in (2, 3):
            raise InputError(f"pairs must be (source, target) or (source, target, weight), got {pair!r}")
    if isinstance(rows[0][0], str):
        rows = [(source.row(pair[0]), target.row(pair[1]), *pair[2:]) for pair in rows]
    return Pairs.from_rows(rows, len(source), len(target))
