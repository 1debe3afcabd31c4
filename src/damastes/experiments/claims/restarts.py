"""Claim of section 4.2: ICP needs many random starts to find a good solution, the convex start one run."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from statistics import mean

import numpy as np

from damastes._arrays import Progress
from damastes.experiments.cells import Cell, Result, Results, Setting
from damastes.experiments.claims.clouds import SHORT, SUCCESS, Clouds, paper_start, plural, solved
from damastes.experiments.layout import Layout, Row, percent
from damastes.initializers import ICP
from damastes.pairs import Pairs

__all__ = ["cells", "chance", "layout"]

_N = 2500
_ICP = ICP(n_points=_N, n_restart_points=1000, n_restarts=1, n_iter=60, n_final=5)
_START = paper_start(_N)
_COUNTS, _QUICK_COUNTS = (1, 2, 5, 10, 20, 40), (1, 2, 4)
# Where the chance of success is taken for certain.
_SURE = 0.95
# From so many on, restarts are a lot; after so many nobody waits any longer.
_A_LOT, _MOST = 5, 1000


def cells(setting: Setting) -> list[Cell]:
    """One cell a restart of ICP, and one a seed of Algorithm 1 from the convex start."""
    data = setting.data.load("sample").hashes()
    methods = {"icp": repr((_ICP, "and the price of another restart")), "convex": repr((_START, SHORT))}
    return [
        Cell(
            f"restarts/{name} {seed}",
            {"data": data, "n": _N, "method": methods[name], "seed": seed},
            partial(_run, setting, name, seed),
        )
        for name, n in _n_runs(setting).items()
        for seed in range(n)
    ]


def layout(setting: Setting, results: Results) -> Layout:
    """Numbers of restarts across."""
    runs = _n_runs(setting)
    icp, convex = ([results[f"restarts/{name} {seed}"] for seed in range(n)] for name, n in runs.items())
    counts = _QUICK_COUNTS if setting.quick else _COUNTS
    arrived = [result["success"] for result in icp]
    chances = [chance([result["error"] for result in icp], arrived, r) for r in counts]
    enough = next((r for r in range(1, _MOST + 1) if chance([x["error"] for x in icp], arrived, r) >= _SURE), None)
    won = sum(result["success"] for result in convex)
    blanks = ["–"] * (len(counts) - 1)
    seconds = [mean(result["seconds"] for result in found) for found in (icp, convex)]
    # Principal coordinates and the rounds in all of them are paid once.
    another = max(mean(result["another"] for result in icp), 0.0)
    needs = plural(enough, "restart") if enough else f"more than {_MOST:,} restarts"
    holds = won == len(convex) and (enough is None or enough >= _A_LOT)
    return Layout(
        title="Restarts of ICP",
        corner="restarts",
        columns=[str(r) for r in counts],
        rows=[
            Row("ICP: chance of success (%)", [f"{100 * share:.0f}" for share in chances]),
            Row("ICP: CPU seconds", [f"{seconds[0] + (r - 1) * another:.0f}" for r in counts]),
            Row("convex start: successes", [f"{won} of {len(convex)}", *blanks]),
            Row("convex start: accuracy (%)", [percent([result["accuracy"] for result in convex]), *blanks]),
            Row("convex start: CPU seconds", [f"{seconds[1]:.0f}", *blanks]),
        ],
        measured=[
            f"shipped sample, first {_N:,} points of either side: {icp[0]['words']:,} words asked (CSLS), coverage "
            f"{100 * icp[0]['coverage']:.0f} %; the supervised map has {100 * icp[0]['supervised']:.1f} %",
            f"{plural(len(icp), 'restart')} of ICP, of which {sum(arrived)} arrived; {plural(len(convex), 'seed')} of the batches "
            "of Algorithm 1",
        ],
        notes=[
            f"success: at least {100 * SUCCESS:.0f} % of the supervised accuracy. Chance of r restarts: that the one with the "
            f"lowest error among r draws from those made here, which needs no labels, is a success; a lot: {_A_LOT} or more",
            f"ICP: {_ICP.n_iter} rounds on {_ICP.n_restart_points:,} points in {_ICP.n_components} principal coordinates, then "
            f"mutual neighbours in all; convex: the paper's relaxation, then {sum(p.n_iter for p in SHORT.schedule)} "
            "steps of Algorithm 1",
        ],
        quick=setting.quick,
        claim="ICP needs a lot of random initialisations to converge to a good solution; from the convex relaxation a single "
        "run is enough (section 4.2).",
        answer=f"{'holds' if holds else 'does not hold'}: {sum(arrived)} of {len(arrived)} restarts of ICP arrive, so that it "
        f"takes {needs} for a chance of {100 * _SURE:.0f} %; the convex start succeeds in {won} of {len(convex)} single runs.",
    )


def chance(errors: Sequence[float], successes: Sequence[bool], r: int) -> float:
    """The probability that, of r draws from these runs, the one with the lowest error is a success."""
    ranked = [success for _, success in sorted(zip(errors, successes, strict=True))]
    n = len(ranked)
    # No draw is of lower rank, and not all are of higher.
    return sum((1 - k / n) ** r - (1 - (k + 1) / n) ** r for k, success in enumerate(ranked) if success)


def _n_runs(setting: Setting) -> dict[str, int]:
    """How many restarts and runs; `--seeds` multiplies neither restarts nor their price."""
    return {"icp": 4 if setting.quick else 40, "convex": setting.n_seeds(5)}


def _run(setting: Setting, name: str, seed: int, progress: Progress) -> Result:
    problem = setting.data.load("sample")
    clouds = Clouds.of(problem, [*problem.train, *problem.forward], _N)
    method = _ICP if name == "icp" else _START
    began = time.process_time()
    start = method(clouds.X, clouds.Y, pairs=Pairs.none(), rng=np.random.default_rng(seed), progress=progress)
    Q = start.Q if name == "icp" else solved(SHORT, clouds, start.Q, seed)
    seconds = time.process_time() - began
    another = 0.0
    if name == "icp":
        began = time.process_time()
        replace(_ICP, n_restarts=2)(clouds.X, clouds.Y, pairs=Pairs.none(), rng=np.random.default_rng(seed))
        another = time.process_time() - began - seconds
    accuracy, supervised = clouds.accuracy(Q), clouds.accuracy(clouds.procrustes())
    return {
        "accuracy": accuracy,
        "supervised": supervised,
        "success": accuracy >= SUCCESS * supervised,
        "error": float(start.evidence.get("error", 0.0)),
        "seconds": round(seconds, 3),
        "another": round(another, 3),
        **clouds.asks(),
    }
