"""Claim of section 2: nearest neighbours favour hubs, which CSLS and ISF diminish: the skewness of k-occurrences."""

from __future__ import annotations

from functools import partial
from statistics import mean

import numpy as np

from damastes._arrays import NumpyArray, Progress
from damastes.experiments.cells import Cell, Result, Results, Setting
from damastes.experiments.claims.clouds import Clouds, plural, real_pair
from damastes.experiments.layout import Layout, Row, percent, spread
from damastes.retrieval import CSLS, ISF, Nearest, Retriever

__all__ = ["cells", "layout", "skewness"]

_K = 10
_N = 10_000  # not fewer: the test words are among the rarer ones
_CRITERIA: dict[str, Retriever] = {"NN": Nearest(), "CSLS": CSLS(), "ISF": ISF()}


def cells(setting: Setting) -> list[Cell]:
    """One cell a seed: a map, and all criteria under it."""
    data = real_pair(setting).hashes()
    inputs = {"data": data, "n": _N, "k": _K, "criteria": repr(_CRITERIA)}
    return [
        Cell(_key(seed), {**inputs, "seed": seed}, partial(_run, setting, seed))
        for seed in range(setting.n_seeds(3, quick=3))
    ]


def layout(setting: Setting, results: Results) -> Layout:
    """A row a criterion."""
    n_seeds = setting.n_seeds(3, quick=3)
    of = [results[_key(seed)] for seed in range(n_seeds)]
    rows = [
        Row(
            name,
            [
                spread([result[name]["skewness"] for result in of], digits=2),
                spread([result[name]["largest"] for result in of], digits=0),
                percent([result[name]["never"] for result in of]),
                percent([result[name]["precision"] for result in of]),
            ],
        )
        for name in _CRITERIA
    ]
    skew = {name: mean(result[name]["skewness"] for result in of) for name in _CRITERIA}
    holds = [name for name in ("CSLS", "ISF") if _clearly_less(of, name)]
    pair = real_pair(setting)
    verdict = {2: "holds for both", 1: f"holds for {''.join(holds)} alone", 0: "does not hold"}[len(holds)]
    return Layout(
        title="Hubs",
        corner="criterion",
        columns=[f"skewness of N_{_K}", f"largest N_{_K}", "never found (%)", "P@1 (%)"],
        rows=rows,
        measured=[
            f"{pair.name}: {of[0]['words']:,} words, coverage {100 * of[0]['coverage']:.0f} % (the first {_N:,} points)",
            f"{plural(n_seeds, 'seed')} (which half of the training pairs the map is learned from), mean ± standard deviation",
            pair.about,
        ],
        notes=[
            f"N_{_K} of a target: for how many of the {_N:,} source words it is among the {_K} best; its mean is {_K}. "
            "Skewness: E(N − EN)³ / σ³; the map: supervised Procrustes",
        ],
        quick=setting.quick,
        claim="in many dimensions some points are close to very many others, and nearest neighbours favour these hubs; CSLS "
        "and ISF diminish their effect (section 2).",
        answer=f"{verdict}: the skewness of N_{_K} is {skew['NN']:.2f} under NN, {skew['CSLS']:.2f} under CSLS, "
        f"{skew['ISF']:.2f} under ISF (it holds for a criterion whose skewness is less under every map).",
    )


def _clearly_less(of: list[Result], name: str) -> bool:
    """Whether the skewness is less than that of nearest neighbours under every map."""
    return all(result[name]["skewness"] < result["NN"]["skewness"] for result in of)


def skewness(counts: NumpyArray) -> float:
    """The third standardised moment; 0 when all counts are equal."""
    centred = counts - counts.mean()
    deviation = float(np.sqrt(np.mean(centred**2)))
    return float(np.mean(centred**3)) / deviation**3 if deviation else 0.0


def _key(seed: int) -> str:
    return f"hubs/seed {seed}"


def _run(setting: Setting, seed: int, progress: Progress) -> Result:
    problem = real_pair(setting)
    clouds = Clouds.of(problem, problem.forward, _N)
    pairs = Clouds.of(problem, problem.train, _N).known()
    half = np.random.default_rng(seed).permutation(len(pairs))[: max(len(pairs) // 2, 1)]
    mapped = clouds.X @ clouds.procrustes(pairs[half])
    measured = {}
    for name, retriever in _CRITERIA.items():
        found = retriever(mapped, clouds.Y, _K).indices
        counts = np.bincount(found.ravel(), minlength=len(clouds.Y))
        measured[name] = {
            "skewness": skewness(counts),
            "largest": int(counts.max()),
            "never": float(np.mean(counts == 0)),
            "precision": clouds.right(found[clouds.queries()]),
        }
        progress(name, len(measured), len(_CRITERIA), {})
    return {**measured, **clouds.asks()}
