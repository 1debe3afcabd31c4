"""Claim of section 4.1: a random start works sometimes on easy problems, and its rate of success falls rapidly."""

from __future__ import annotations

from functools import partial
from math import hypot

import numpy as np

from damastes._arrays import Progress
from damastes.experiments.cells import Cell, Result, Results, Setting
from damastes.experiments.claims.clouds import SHORT, SUCCESS, Clouds, margin, paper_start, solved
from damastes.experiments.layout import Layout, Row, percent
from damastes.initializers import Initializer, Random
from damastes.pairs import Pairs

__all__ = ["cells", "layout"]

_LEVELS = (0.0, 0.5, 1.0, 1.5, 2.0)
_QUICK_LEVELS = (0.0, 0.5, 1.0)
_FULL, _QUICK = 2000, 1000


def cells(setting: Setting) -> list[Cell]:
    """One cell a level of noise, start and seed."""
    data = setting.data.load("sample").hashes()
    return [
        Cell(
            _key(noise, start, seed),
            {
                "data": data,
                "n": _n(setting),
                "noise": noise,
                "start": repr(initializer),
                "solver": repr(SHORT),
                "seed": seed,
            },
            partial(_run, setting, noise, initializer, seed),
        )
        for noise in _levels(setting)
        for start, initializer in _starts(setting).items()
        for seed in range(_n_seeds(setting)[start])
    ]


def layout(setting: Setting, results: Results) -> Layout:
    """Levels of noise across; success rates and accuracies of both starts."""
    levels, n_seeds = _levels(setting), _n_seeds(setting)
    of = {
        start: [[results[_key(noise, start, seed)] for seed in range(n)] for noise in levels]
        for start, n in n_seeds.items()
    }
    wins = {start: [sum(result["success"] for result in found) for found in columns] for start, columns in of.items()}
    rows = [
        Row("supervised: accuracy (%)", [percent([r["supervised"] for r in found]) for found in of["random"]]),
        *(
            row
            for start, n in n_seeds.items()
            for row in (
                Row(f"{start} start: successes", [f"{won} of {n}" for won in wins[start]]),
                Row(f"{start} start: accuracy (%)", [percent([r["accuracy"] for r in found]) for found in of[start]]),
            )
        ),
    ]
    rates = [won / n_seeds["random"] for won in wins["random"]]
    # A fall that so few runs do not show by chance.
    holds = rates[0] - rates[-1] > hypot(*(margin(rate, n_seeds["random"]) for rate in (rates[0], rates[-1])))
    missed = [f"{noise:g}" for noise, won in zip(levels, wins["convex"], strict=True) if won < n_seeds["convex"]]
    always = f"does not hold at noise {', '.join(missed)}" if missed else "holds"
    return Layout(
        title="Random starts",
        corner="noise",
        columns=[f"{noise:g}" for noise in levels],
        rows=rows,
        measured=[
            f"planted: {_n(setting):,} words of the shipped sample, all asked (CSLS), coverage 100 %",
            f"{n_seeds['random']} seeds of the random start, {n_seeds['convex']} of the convex one (problem and batches), "
            "mean ± standard deviation",
        ],
        notes=[
            "the other cloud is the same words rotated and shuffled, with Gaussian noise of this length (words have 1); "
            f"success: at least {100 * SUCCESS:.0f} % of the accuracy of Procrustes on the right pairs",
            "both starts go on with the same 300 steps of Algorithm 1, batches of 300; the convex start is the paper's relaxation",
            "a seed has the same rotation, start and batches at every level, so that levels are compared run by run; those at "
            "noise 0.5 are the planted runs of Algorithm 1 under naive alternation",
        ],
        quick=setting.quick,
        claim="a random start sometimes converges on easy problems but its rate of success falls rapidly, while Algorithm 1 "
        "from the convex start always converges (section 4.1).",
        answer=f"the first part {'holds' if holds else 'does not show in so few runs'}: random starts succeed in "
        f"{_percents(rates)} % of runs at "
        f"noise {', '.join(f'{noise:g}' for noise in levels)}. The second part {always}: the convex start succeeds in "
        f"{_percents([won / n_seeds['convex'] for won in wins['convex']])} %.",
    )


def _percents(rates: list[float]) -> str:
    return ", ".join(f"{100 * rate:.0f}" for rate in rates)


def _key(noise: float, start: str, seed: int) -> str:
    return f"random start/noise {noise:g}/{start} {seed}"


def _n(setting: Setting) -> int:
    return _QUICK if setting.quick else _FULL


def _levels(setting: Setting) -> tuple[float, ...]:
    return _QUICK_LEVELS if setting.quick else _LEVELS


def _starts(setting: Setting) -> dict[str, Initializer]:
    return {"random": Random(), "convex": paper_start(_n(setting))}


def _n_seeds(setting: Setting) -> dict[str, int]:
    return {"random": setting.n_seeds(10, quick=4), "convex": setting.n_seeds(3, quick=1)}


def _run(setting: Setting, noise: float, start: Initializer, seed: int, progress: Progress) -> Result:
    clouds = Clouds.planted(setting.data.load("sample"), _n(setting), noise, seed)
    Q = start(clouds.X, clouds.Y, pairs=Pairs.none(), rng=np.random.default_rng(seed), progress=progress).Q
    accuracy = clouds.accuracy(solved(SHORT, clouds, Q, seed))
    supervised = clouds.accuracy(clouds.procrustes())
    return {"accuracy": accuracy, "supervised": supervised, "success": accuracy >= SUCCESS * supervised}
