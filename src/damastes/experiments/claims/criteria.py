"""Claim of sections 2 and 4.2: the temperature of ISF has to vary with the number of points; CSLS's K hardly matters."""

from __future__ import annotations

from functools import partial
from math import sqrt
from statistics import mean, stdev

import numpy as np

from damastes._arrays import Progress
from damastes.experiments.cells import Cell, Result, Results, Setting
from damastes.experiments.claims.clouds import Clouds, margin, plural, real_pair
from damastes.experiments.layout import Layout, Row, percent
from damastes.retrieval import CSLS, ISF, Cosines, Retriever

__all__ = ["cells", "layout"]

_BETAS = (5, 10, 25, 50, 100, 200)
_KS = (2, 5, 10, 25, 50, 100)
_SIZES, _QUICK_SIZES = (1250, 2500, 5000, 10_000), (1250, 5000)
_CRITERIA: dict[str, Retriever] = {
    **{f"ISF, β = {beta}": ISF(beta) for beta in _BETAS},
    **{f"CSLS, K = {k}": CSLS(k) for k in _KS},
}


def cells(setting: Setting) -> list[Cell]:
    """One cell a number of points and seed: all criteria under one map."""
    data = real_pair(setting).hashes()
    return [
        Cell(
            _key(n, seed),
            {"data": data, "n": n, "sizes": _sizes(setting), "criteria": list(_CRITERIA), "seed": seed},
            partial(_run, setting, n, seed),
        )
        for n in _sizes(setting)
        for seed in range(setting.n_seeds(3))
    ]


def layout(setting: Setting, results: Results) -> Layout:
    """Numbers of points across; a row a value of β or K."""
    sizes, n_seeds = _sizes(setting), setting.n_seeds(3)
    of = [[results[_key(n, seed)] for seed in range(n_seeds)] for n in sizes]
    means = {name: [mean(result["precision"][name] for result in found) for found in of] for name in _CRITERIA}
    rows = [Row(name, [percent([result["precision"][name] for result in found]) for found in of]) for name in _CRITERIA]
    best = [[_best(means, column, kind) for column in range(len(sizes))] for kind in ("ISF", "CSLS")]
    rows += [
        Row("best β", [name.split()[-1] for name in best[0]]),
        Row("best K", [name.split()[-1] for name in best[1]]),
    ]
    betas = [int(name.split()[-1]) for name in best[0]]
    # What the temperature that is best for the fewest points loses among the most.
    losses = [found["precision"][best[0][-1]] - found["precision"][best[0][0]] for found in of[-1]]
    loss = mean(losses)
    ranges = [max(_ranges(means, kind, len(sizes))) for kind in ("ISF", "CSLS")]
    pair, first = real_pair(setting), of[0][0]
    # The same words are asked under both, so that their difference varies less than either.
    least = 2 * stdev(losses) / sqrt(n_seeds) if n_seeds > 1 else margin(means[best[0][-1]][-1], first["words"])
    varies = "holds" if loss > least else "does not show here"
    matters = "holds" if ranges[1] < ranges[0] / 2 else "does not hold"
    return Layout(
        title="Temperature of ISF, neighbours of CSLS",
        corner="points a side",
        columns=[f"{n:,}" for n in sizes],
        rows=rows,
        measured=[
            f"{pair.name}: {first['words']:,} words, the same for all numbers of points, coverage "
            f"{100 * first['coverage']:.0f} % of the lexicon; P@1 in %",
            f"{plural(n_seeds, 'seed')} (which words are asked), mean ± standard deviation",
        ],
        notes=[
            f"asked: half of the lexicon's words among the first {sizes[0]:,}; the map: Procrustes on the pairs of all others",
        ],
        quick=setting.quick,
        claim="the temperature of ISF should vary with the number of points and ISF is more sensitive to it than CSLS is to "
        "its number of neighbours (sections 2 and 4.2).",
        answer=f"that β has to vary {varies}: the best β is {', '.join(map(str, betas))} for "
        f"{', '.join(f'{n:,}' for n in sizes)} points, and the first of them loses {100 * loss:.1f} points at the last "
        f"(± {100 * least:.1f} by chance). That K matters little {matters}: over K from {_KS[0]} to {_KS[-1]} P@1 "
        f"differs by at most {100 * ranges[1]:.1f} points, over β from {_BETAS[0]} to {_BETAS[-1]} by {100 * ranges[0]:.1f}.",
    )


def _best(means: dict[str, list[float]], column: int, kind: str) -> str:
    return max((name for name in means if name.startswith(kind)), key=lambda name: means[name][column])


def _ranges(means: dict[str, list[float]], kind: str, n_columns: int) -> list[float]:
    values = [[of[column] for name, of in means.items() if name.startswith(kind)] for column in range(n_columns)]
    return [max(column) - min(column) for column in values]


def _key(n: int, seed: int) -> str:
    return f"criteria/{n} points/seed {seed}"


def _sizes(setting: Setting) -> tuple[int, ...]:
    return _QUICK_SIZES if setting.quick else _SIZES


def _run(setting: Setting, n: int, seed: int, progress: Progress) -> Result:
    problem = real_pair(setting)
    lexicon = [*problem.train, *problem.forward]
    frequent = Clouds.of(problem, lexicon, _sizes(setting)[0]).queries()
    held_out = np.random.default_rng(seed).permutation(frequent)[: len(frequent) // 2]
    everything = Clouds.of(problem, lexicon, _sizes(setting)[-1])
    Q = everything.asked(set(everything.answers) - set(held_out.tolist())).procrustes()
    # One frame and one map for all sizes: what differs is the number of points alone.
    few = [Z[:n] for Z in (everything.X, everything.Y)]
    inside = {row: frozenset(answer for answer in answers if answer < n) for row, answers in everything.answers.items()}
    clouds = Clouds(few[0], few[1], inside, everything.n_words).asked(held_out.tolist())
    mapped = clouds.X @ Q
    cosines = Cosines(mapped, clouds.Y)
    precision = {}
    for name, retriever in _CRITERIA.items():
        biases = retriever.biases(cosines)
        found = retriever(mapped, clouds.Y, queries=clouds.queries(), biases=biases)
        precision[name] = clouds.right(found.indices)
        progress(name, len(precision), len(_CRITERIA), {})
    return {"precision": precision, **clouds.asks()}
