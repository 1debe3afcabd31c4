"""What tables 2 and 3 of the paper have in common: five methods on pairs of languages, measured before and after refinement.

Both tables come from the same cells, so that no fit is run twice.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np

from damastes._arrays import Array, NumpyArray, Progress, no_progress
from damastes.alignment import Alignment, align
from damastes.errors import MissingExtraError
from damastes.experiments.cells import Cell, Result, Results, Setting
from damastes.experiments.data import Data, Problem
from damastes.experiments.layout import Layout, Row, percent
from damastes.experiments.measure import describe, precision
from damastes.initializers import ICP, Adversarial, Anchors, Initializer
from damastes.mapping import Map
from damastes.pairs import Pairs
from damastes.recipes import DEFAULT, PAPER, Recipe
from damastes.retrieval import CSLS, ISF, Nearest, Retriever
from damastes.solvers import Solution, Solver, Stochastic, paper_schedule

__all__ = ["CRITERIA", "Published", "cells", "layout", "needs"]

CRITERIA = ("nn", "csls", "isf")
# By direction and criterion: the paper's numbers of Procrustes, Adversarial, ICP, and its own method.
Published = Mapping[tuple[str, str], Sequence[str]]

_QUICK_CLOUD = 7000


@dataclass(frozen=True, slots=True)
class _Method:
    """A way to a map, with how many seeds it gets."""

    name: str
    recipe: Recipe
    n_seeds: int = 1
    supervised: bool = False


def _methods(quick: bool) -> list[_Method]:
    adversarial = Adversarial(n_restarts=1, n_epochs=1, epoch_size=30_000) if quick else Adversarial()
    icp = ICP(n_restarts=5, n_points=2000, n_restart_points=1000) if quick else ICP(n_restarts=50)
    paper = PAPER
    if quick:
        convex: Any = PAPER.initializer
        solver: Any = PAPER.solver
        paper = replace(
            PAPER, initializer=replace(convex, n_points=1000), solver=replace(solver, schedule=paper_schedule(90))
        )
    return [
        _Method("Procrustes", _alone("procrustes", Anchors()), supervised=True),
        _Method("Adversarial", _alone("adversarial", adversarial), n_seeds=3),
        _Method("ICP", _alone("icp", icp), n_seeds=3),
        _Method("ours (paper)", paper, n_seeds=3),
        _Method("ours (default)", DEFAULT, n_seeds=3),
    ]


def _alone(name: str, initializer: Initializer) -> Recipe:
    """A start with no solver after it, in the paper's frame and with its refinement."""
    return replace(PAPER, name=name, initializer=initializer, solver=Stochastic(schedule=()))


def cells(setting: Setting) -> list[Cell]:
    """One cell a pair, method and seed."""
    found = []
    for pair in setting.data.pairs:
        problem = _problem(setting.data, pair, setting.quick)
        data = problem.hashes()
        for method in _methods(setting.quick):
            learned = {"supervised": method.supervised}
            if method.supervised and problem.train_backward is not None:
                learned["backward"] = problem.backward_problem().hashes()["lexicons"]
            found += [
                Cell(
                    f"{pair}/{method.name}/seed {seed}",
                    {"data": data, "recipe": repr(method.recipe), **learned, "seed": seed},
                    partial(_run, setting.data, pair, setting.quick, method, seed),
                )
                for seed in range(_n_seeds(setting, method))
            ]
    return found


def layout(
    setting: Setting, results: Results, *, title: str, stage: str, theirs: Published, notes: Sequence[str]
) -> Layout:
    """Methods across, directions and criteria down, the paper's numbers under ours; `stage` is "before" or "after"."""
    methods = _methods(setting.quick)
    pairs = setting.data.pairs

    def ours(pair: str, way: str, criterion: str) -> list[str]:
        keys = [[f"{pair}/{m.name}/seed {seed}" for seed in range(_n_seeds(setting, m))] for m in methods]
        measured = [[results[key][stage][way] for key in of_method] for of_method in keys]
        return [percent([m[criterion] for m in of_method if criterion in m]) for of_method in measured]

    rows: list[Row] = []
    shown: set[tuple[str, str]] = set()
    for pair in pairs:
        for way, direction in zip(("forward", "backward"), _directions(pair), strict=True):
            rows += [Row(f"{direction} {c.upper()}", ours(pair, way, c)) for c in CRITERIA]
            known = [(direction, c) for c in CRITERIA if (direction, c) in theirs]
            rows += [_their_row(key, theirs[key]) for key in known]
            shown |= set(known)
    rows += [_their_row(key, values) for key, values in theirs.items() if key not in shown]
    verdicts = [
        f"{pair} {m.name} seed {seed}: {verdict}"
        for pair in pairs
        for m in methods
        for seed in range(_n_seeds(setting, m))
        if (verdict := results[f"{pair}/{m.name}/seed {seed}"]["verdict"]) != "aligned"
    ]
    seeds = ", ".join(f"{m.name} {_n_seeds(setting, m)}" for m in methods)
    return Layout(
        title=title,
        corner="P@1 in %",
        columns=[method.name for method in methods],
        rows=rows,
        measured=[
            *(describe(pair, results[f"{pair}/{methods[0].name}/seed 0"][stage]) for pair in pairs),
            *(
                f"{pair}: {_problem(setting.data, pair, setting.quick).clouds_in_words()}; "
                f"{results[f'{pair}/{methods[0].name}/seed 0']['about']}"
                for pair in pairs
            ),
            f"seeds: {seeds} (Procrustes has no randomness); mean ± standard deviation; ISF of the first seed alone",
        ],
        notes=[
            *notes,
            "Procrustes is supervised: it alone sees training lexicons, and has a map for each direction, learned from that "
            "direction's own, which holds none of its test words. All methods work on centred unit vectors here; in the paper "
            "Adversarial and ICP had unnormalised ones, and their numbers are from their own articles",
            "Adversarial and ICP get so few epochs and restarts in a quick run that they do not arrive"
            if setting.quick
            else "Adversarial trains for a minute of a CPU, in the 30 leading principal directions and three times over, where "
            "the original trains in all for half a day. Its numbers here say what that brings, not what the method can do",
            "maps that the verdict, which sees no lexicon, does not call aligned after refinement: "
            + ("; ".join(verdicts) or "none"),
        ],
        quick=setting.quick,
    )


def _their_row(key: tuple[str, str], values: Sequence[str]) -> Row:
    return Row(f"{key[0]} {key[1].upper()}", [*values, "–"], theirs=True)


def _directions(pair: str) -> tuple[str, str]:
    if pair == "sample":
        return "sample en-es", "sample es-en"
    return pair, "-".join(reversed(pair.split("-")))


def _n_seeds(setting: Setting, method: _Method) -> int:
    return 1 if method.supervised else setting.n_seeds(method.n_seeds)


def _problem(data: Data, pair: str, quick: bool) -> Problem:
    problem = data.load(pair)
    return problem.head(_QUICK_CLOUD) if quick else problem


def _run(data: Data, pair: str, quick: bool, method: _Method, seed: int, progress: Progress) -> Result:
    problem = _problem(data, pair, quick)
    # ISF takes more than half of the time of measuring, which is that of a fit.
    retrievers = (Nearest(), CSLS(), ISF())[: 2 if seed else 3]
    if not method.supervised:
        return _measured(problem, method.recipe, None, seed, retrievers, progress)
    ways = [
        _measured(learned, method.recipe, learned.known_rows(), seed, retrievers, progress)
        for learned in (problem, problem.backward_problem())
    ]
    return {
        **ways[0],
        **{
            stage: {"forward": ways[0][stage]["forward"], "backward": ways[1][stage]["backward"]}
            for stage in ("before", "after")
        },
    }


def _measured(
    problem: Problem,
    recipe: Recipe,
    known: NumpyArray | None,
    seed: int,
    retrievers: Sequence[Retriever],
    progress: Progress,
) -> dict[str, Any]:
    """One fit, before and after refinement."""
    steps: list[tuple[Array, Array]] = []
    noting = replace(
        recipe, refinement=_Noting(recipe.refinement, steps), climb=recipe.climb and _Noting(recipe.climb, steps)
    )
    after = align(problem.source, problem.target, recipe=noting, pairs=known, random_state=seed, progress=progress)
    Q = _unrefined(after.Q, steps)
    before = Alignment(Map(Q, after.map.source_frame, after.map.target_frame), problem.source, problem.target)
    return {
        "before": precision(before, problem, retrievers=retrievers),
        "after": precision(after, problem, retrievers=retrievers),
        "verdict": "none" if after.verdict is None else after.verdict.label,
        "seconds": {stage: round(seconds, 2) for stage, seconds in after.seconds.items()},
        "about": problem.about,
    }


def _unrefined(Q: Array, steps: Sequence[tuple[Array, Array]]) -> Array:
    """The map that this one was refined from: of several routes, the one that won."""
    for given, returned in reversed(steps):
        if returned is Q:
            Q = given
    return Q


@dataclass(frozen=True, slots=True)
class _Noting:
    """A solver that notes the map it is given and that it returns.

    It keeps known pairs from its solver: refinement is the same for all methods.
    """

    solver: Solver
    steps: list[tuple[Array, Array]] = field(repr=False)

    def __call__(
        self, X: Array, Y: Array, Q: Array, *, pairs: Pairs, rng: np.random.Generator, progress: Progress = no_progress
    ) -> Solution:
        solution = self.solver(X, Y, Q, pairs=Pairs.none(), rng=rng, progress=progress)
        self.steps.append((Q, solution.Q))
        return solution


def needs(setting: Setting) -> None:
    """Say what the adversarial baseline needs."""
    try:
        import torch  # noqa: F401
    except ImportError:
        raise MissingExtraError("the adversarial baseline needs torch: pip install 'damastes[torch]'") from None
