"""Claim of section 2: alternating the exact solutions for P and Q quickly ends in bad local minima, even on small problems."""

from __future__ import annotations

from functools import partial
from statistics import mean
from typing import TypeAlias

import numpy as np

from damastes._arrays import Progress
from damastes.experiments.cells import Cell, Result, Results, Setting
from damastes.experiments.claims.clouds import SHORT, SUCCESS, Clouds, paper_start, real_pair
from damastes.experiments.data import Problem
from damastes.experiments.layout import Layout, Row, percent, spread
from damastes.initializers import Initializer, Random
from damastes.pairs import Pairs
from damastes.solvers import Alternating, Solver

__all__ = ["cells", "layout"]

_NOISE = 0.5
_FULL, _QUICK = 2000, 600
_SOLVERS: dict[str, Solver] = {"alternating": Alternating(), "Algorithm 1": SHORT}
# By problem and start: which runs ended in a bad minimum, and where each ended.
_Ends: TypeAlias = dict[tuple[str, str], tuple[list[bool], list[Result]]]


def cells(setting: Setting) -> list[Cell]:
    """One cell a problem, start and seed: both solvers from there."""
    found = []
    for kind, problem in _problems(setting).items():
        for start in ("random", "convex"):
            for seed in range(_n_seeds(setting, kind, start)):
                inputs = {"data": problem.hashes(), "n": _n(setting), "noise": _NOISE, "solvers": repr(_SOLVERS)}
                inputs["start"] = repr(_start(start, _n(setting)))
                run = partial(_run, kind, problem, _n(setting), start, seed)
                found.append(Cell(_key(kind, start, seed), {**inputs, "seed": seed}, run))
    return found


def layout(setting: Setting, results: Results) -> Layout:
    """Objective and accuracy of both solvers, from random starts and from the convex one."""
    rows, measured = [], []
    bad: _Ends = {}
    good: _Ends = {}
    for kind in _problems(setting):
        first = results[_key(kind, "convex", 0)]
        rows.append(Row(f"{kind}: supervised", [f"{first['objective']:.3f}", percent([first["accuracy"]]), "", ""]))
        measured.append(
            f"{kind}: {first['words']:,} words asked (CSLS), coverage {100 * first['coverage']:.0f} %; "
            f"{_n_seeds(setting, kind, 'random')} random starts, 1 convex"
        )
        for start in ("random", "convex"):
            of = [results[_key(kind, start, seed)] for seed in range(_n_seeds(setting, kind, start))]
            for name in _SOLVERS:
                ends = [result[name] for result in of]
                stuck = [end["accuracy"] < SUCCESS * first["accuracy"] for end in ends]
                (bad if name == "alternating" else good)[kind, start] = stuck, ends
                values = [
                    spread([end["objective"] for end in ends], digits=3),
                    percent([end["accuracy"] for end in ends]),
                    f"{sum(stuck)} of {len(stuck)}",
                    f"{mean(end['steps'] for end in ends):.0f}",
                ]
                rows.append(Row(f"{kind}: {name}, {start}", values))
    return Layout(
        title="Naive alternation",
        corner="problem: solver, start",
        columns=["objective", "accuracy (%)", "bad minima", "steps"],
        rows=rows,
        measured=[
            *measured,
            "mean ± standard deviation over random starts, the same for both solvers; the convex start is the paper's relaxation",
        ],
        notes=[
            f"the first {_n(setting):,} points; objective: W₂²(XQ, Y) a point, exact; supervised: Procrustes on the right pairs; "
            f"bad: less than {100 * SUCCESS:.0f} % of the supervised accuracy",
            f"planted: words of the shipped sample, and their rotated, shuffled copy with noise of length {_NOISE}",
        ],
        quick=setting.quick,
        claim="solving for P and Q in turn, each exactly, quickly converges to bad local minima even on small problems "
        "(section 2).",
        answer=_answer(bad, good),
    )


def _answer(bad: _Ends, good: _Ends) -> str:
    random = [stuck for (_, start), (stuck, _) in bad.items() if start == "random"]
    parts = []
    for (kind, start), (stuck, ends) in bad.items():
        other, reached = good[kind, start]
        if start == "random":
            parts.append(
                f"{kind}, alternation ends in a bad minimum from {sum(stuck)} of {len(stuck)} random starts, after "
                f"{mean(end['steps'] for end in ends):.0f} rounds, Algorithm 1 from {sum(other)} of them"
            )
        else:
            accuracies = [100 * float(found[0]["accuracy"]) for found in (ends, reached)]
            parts[-1] += f"; from the convex start they reach {accuracies[0]:.1f} and {accuracies[1]:.1f} %"
    verdict = "holds" if all(2 * sum(stuck) > len(stuck) for stuck in random) else "does not hold everywhere"
    return f"{verdict}. {'. '.join(f'On {part}' for part in parts)}."


def _key(kind: str, start: str, seed: int) -> str:
    return f"alternation/{kind}/{start} {seed}"


def _n_seeds(setting: Setting, kind: str, start: str) -> int:
    return setting.n_seeds(10 if kind == "planted" else 5, quick=3) if start == "random" else 1


def _n(setting: Setting) -> int:
    return _QUICK if setting.quick else _FULL


def _problems(setting: Setting) -> dict[str, Problem]:
    pair = real_pair(setting)
    return {"planted": setting.data.load("sample"), pair.name: pair}


def _start(name: str, n: int) -> Initializer:
    return Random() if name == "random" else paper_start(n)


def _run(kind: str, problem: Problem, n: int, start: str, seed: int, progress: Progress) -> Result:
    lexicon = [*problem.train, *problem.forward]
    clouds = Clouds.planted(problem, n, _NOISE, seed) if kind == "planted" else Clouds.of(problem, lexicon, n)
    Q = _start(start, n)(clouds.X, clouds.Y, pairs=Pairs.none(), rng=np.random.default_rng(seed), progress=progress).Q
    truth = clouds.procrustes()
    ends = {}
    for name, solver in _SOLVERS.items():
        rng = np.random.default_rng(seed)
        solution = solver(clouds.X, clouds.Y, Q, pairs=Pairs.none(), rng=rng, progress=progress)
        ends[name] = {
            "objective": clouds.objective(solution.Q),
            "accuracy": clouds.accuracy(solution.Q),
            "steps": len(solution.history),
        }
    return {"objective": clouds.objective(truth), "accuracy": clouds.accuracy(truth), **clouds.asks(), **ends}
