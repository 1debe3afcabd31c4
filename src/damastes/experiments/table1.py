"""Table 1 of the paper: the relaxation and Algorithm 1 on toys, where the same words were embedded twice."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache, partial
from itertools import pairwise
from statistics import mean
from typing import Any

import numpy as np

from damastes._arrays import Array, Progress, no_progress, to_numpy
from damastes.alignment import Alignment, align
from damastes.experiments.cells import Cell, Experiment, Result, Results, Setting
from damastes.experiments.corpus import Corpus, need_gensim
from damastes.experiments.data import SPLIT, TOYS, Problem
from damastes.experiments.layout import Layout, Row, spread
from damastes.experiments.measure import describe, precision
from damastes.initializers import Convex, Random
from damastes.mapping import Map
from damastes.pairs import Pairs
from damastes.procrustes import orthogonal_procrustes
from damastes.recipes import DEFAULT, PAPER
from damastes.retrieval import CSLS, Nearest, Retriever
from damastes.solvers import Stochastic, paper_schedule

__all__ = ["EXPERIMENT", "shuffled"]

_THEIRS = {
    "Distance": ("6.090", "7.872", "11.151", "16.008"),
    "Relaxation": ("0.39", "0.23", "0.00", "0.00"),
    "Relaxation*": ("0.99", "0.97", "0.22", "0.00"),
    "Random init": ("0.70", "0.62", "0.39", "0.59"),
    "Convex init": ("1.00", "1.00", "0.987", "0.985"),
}
_N_POINTS = 10_000
_N_RANDOM, _N_OURS = 10, 5
# Heads within which rows are permuted when their order counts: those that the relaxation and the default recipe look at.
_HEAD, _QUICK_HEAD = 2000, 1000
_HEADS = (2000, 5000)
_STEPS, _QUICK_STEPS = 300, 90
# Where even Procrustes knows nothing, nothing is a success.
_SUCCESS = 0.05


def cells(setting: Setting) -> list[Cell]:
    """The trainings, when there is a corpus; then a toy at a time: its distance, and one cell a method and seed."""
    found: list[Cell] = []
    corpus = _corpus(setting)
    if corpus is not None:
        found = [Cell(f"vectors/{n}", corpus.inputs(n), partial(_vectors, corpus, n)) for n in corpus.names]
    relaxation, solver = _relaxation(setting.quick), _solver(setting.quick)
    for toy in _toys(setting):
        load = partial(_load, setting, toy)
        data = corpus.inputs(*TOYS[toy]) if corpus else load(no_progress).hashes()
        first = cache(partial(_first, load, relaxation))

        def cell(
            name: str, run: Callable[[Progress], Result], *parts: object, data: Any = data, toy: str = toy
        ) -> Cell:
            return Cell(f"{toy}/{name}", {"data": data, "parts": [repr(part) for part in parts]}, run)

        found += [
            cell("distance", partial(_distance, load)),
            *(
                cell(f"relaxation/seed {s}", partial(_relax, load, relaxation, s), relaxation, s)
                for s in range(setting.n_seeds(_N_RANDOM, quick=2))
            ),
            cell("relaxation*", partial(_starred, load, first), relaxation),
            *(
                cell(f"random/seed {s}", partial(_solve, load, None, solver, s), solver, s)
                for s in range(setting.n_seeds(_N_RANDOM, quick=2))
            ),
            *(
                cell(f"convex/seed {s}", partial(_solve, load, first, solver, s), relaxation, solver, s)
                for s in range(setting.n_seeds(_N_OURS))
            ),
            *(cell(f"default/seed {s}", partial(_ours, load, s), DEFAULT, s) for s in range(setting.n_seeds(_N_OURS))),
        ]
    return found


def layout(setting: Setting, results: Results) -> Layout:
    """Toys across, as in the paper."""
    toys = _toys(setting)
    # Toys of the paper that are not here still have its numbers.
    columns = [*toys, *(toy for toy in TOYS if toy not in toys)]
    n_random, n_ours = setting.n_seeds(_N_RANDOM, quick=2), setting.n_seeds(_N_OURS)

    def row(name: str, value: Callable[[str], str]) -> Row:
        return Row(name, [value(toy) if toy in toys else "–" for toy in columns])

    def accuracies(toy: str, key: str, n: int, criterion: str) -> list[float]:
        keys = [f"{toy}/{key}/seed {seed}" for seed in range(n)] if n else [f"{toy}/{key}"]
        return [float(results[k]["precision"]["forward"][criterion]) for k in keys]

    def accuracy(key: str, n: int, toy: str, criterion: str = "nn") -> str:
        return spread(accuracies(toy, key, n, criterion), digits=3)

    def with_successes(key: str, n: int, toy: str) -> str:
        found = accuracies(toy, key, n, "nn")
        needed = max(_SUCCESS, accuracies(toy, "distance", 0, "nn")[0] / 2)
        return f"{mean(found):.3f} ({sum(value >= needed for value in found)}/{n})"

    rows = [
        row("Distance", lambda toy: f"{results[f'{toy}/distance']['distance']:.3f}"),
        row("Distance a word", lambda toy: f"{results[f'{toy}/distance']['a_word']:.3f}"),
        row("Procrustes", partial(accuracy, "distance", 0)),
        row("Relaxation", partial(with_successes, "relaxation", n_random)),
        row("Relaxation*", partial(accuracy, "relaxation*", 0)),
        row("Random init", partial(with_successes, "random", n_random)),
        row("Convex init", partial(with_successes, "convex", n_ours)),
        row("ours (default)", partial(with_successes, "default", n_ours)),
        row("Procrustes, CSLS", partial(accuracy, "distance", 0, criterion="csls")),
        row("Convex init, CSLS", partial(accuracy, "convex", n_ours, criterion="csls")),
        row("ours (default), CSLS", partial(accuracy, "default", n_ours, criterion="csls")),
    ]
    theirs = [
        Row(name, [dict(zip(TOYS, values, strict=True)).get(toy, "–") for toy in columns], theirs=True)
        for name, values in _THEIRS.items()
    ]
    n_head = _QUICK_HEAD if setting.quick else _HEAD
    return Layout(
        title="Table 1: toy experiments",
        corner="accuracy",
        columns=["sample en-es" if toy == "sample" else toy.capitalize() for toy in columns],
        rows=[*rows, *theirs],
        measured=[
            *(f"{_asked(setting, toy, results)}; {results[f'{toy}/distance']['about']}" for toy in toys),
            f"seeds: {n_random} of Relaxation and Random init, {n_ours} of Convex init and ours; Procrustes and Relaxation* have "
            f"no randomness. In brackets: successes, runs with half the accuracy of Procrustes or more, and at least {_SUCCESS}",
        ],
        notes=[
            *(
                ["no toys here, so the shipped sample takes their place: two languages, not one"]
                if toys == ("sample",)
                else []
            ),
            "accuracy: share of the test words whose nearest neighbour (NN; below, CSLS) among all targets is right. Vectors are "
            "unit, centred, unit; the paper does not say what it did to those of its toys",
            "Distance: min over orthogonal Q of ||XQ − Y||_F, rows of X and Y being all words with a known partner; a word: "
            "divided by the root of their number. The paper does not define its own, so the two can not be compared. Procrustes: "
            "such a Q from the training words alone",
            f"Relaxation: that of the recipe paper on {n_head:,} points of each side drawn at random, independently, so few of "
            f"them correspond; Relaxation*: on the first {n_head:,} of each side",
            f"Random init, Convex init: Algorithm 1 of the recipe paper from a random Q or from that of Relaxation*, "
            f"{_steps(setting.quick)} steps with batches of 500, 1,000, 2,000; no refinement",
            "row i of one side is often row i of the other, so rows of both sides are permuted at random before every fit; where "
            f"the order counts, only within heads: Relaxation* the first {n_head:,}, ours the first 2,000 and the next 3,000",
        ],
        theirs="measured on their toys, trained on 100 M words of news",
        quick=setting.quick,
    )


def _asked(setting: Setting, toy: str, results: Results) -> str:
    """The clouds, and how many words are asked; of toys, what share of the words of their ranks both sides have."""
    problem, measured = _load(setting, toy, no_progress), results[f"{toy}/distance"]["precision"]
    if toy == "sample":
        return f"{describe(toy, measured)}; {problem.clouds_in_words()}"
    words = measured["forward"]["words"]
    n_words = len(problem.source)
    share = 100 * words / (n_words - min(SPLIT, n_words // 2))
    return f"{toy}: {problem.clouds_in_words()}; {words:,} words asked, {share:.0f} % of those of their ranks"


def shuffled(problem: Problem, rng: np.random.Generator, *, heads: tuple[int, ...] = ()) -> Problem:
    """The same problem with the rows of both sides permuted, independently; heads keep their points, and with them the order."""

    def permuted(n: int) -> np.ndarray[Any, np.dtype[np.int64]]:
        edges = [0, *(head for head in heads if head < n), n]
        return np.concatenate([a + rng.permutation(b - a) for a, b in pairwise(edges)])

    source, target = (
        replace(cloud.select(permuted(len(cloud))), ordered=bool(heads)) for cloud in (problem.source, problem.target)
    )
    return replace(problem, source=source, target=target)


def _corpus(setting: Setting) -> Corpus | None:
    return None if setting.corpus is None else Corpus(setting.corpus, setting.quick)


def _toys(setting: Setting) -> tuple[str, ...]:
    return tuple(TOYS) if setting.corpus else setting.data.toys or ("sample",)


def _load(setting: Setting, toy: str, progress: Progress) -> Problem:
    corpus = _corpus(setting)
    problem = corpus.load(toy, progress) if corpus else setting.data.load("sample" if toy == "sample" else f"toy-{toy}")
    return problem.head(_N_POINTS)


def _relaxation(quick: bool) -> Convex:
    paper: Any = PAPER.initializer
    relaxation: Convex = replace(paper, n_points=_QUICK_HEAD if quick else _HEAD)
    return relaxation


def _steps(quick: bool) -> int:
    return _QUICK_STEPS if quick else _STEPS


def _solver(quick: bool) -> Stochastic:
    paper: Any = PAPER.solver
    solver: Stochastic = replace(paper, schedule=paper_schedule(_steps(quick)))
    return solver


def _framed(problem: Problem) -> tuple[Array, Array, Callable[[Array], Alignment]]:
    """The framed clouds, and what makes an alignment of a Q between them."""
    frames = [PAPER.frame.fit(cloud.matrix) for cloud in (problem.source, problem.target)]
    X, Y = frames[0](problem.source.matrix), frames[1](problem.target.matrix)
    return X, Y, lambda Q: Alignment(Map(Q, frames[0], frames[1]), problem.source, problem.target)


def _measured(alignment: Alignment, problem: Problem, *retrievers: Retriever) -> dict[str, Any]:
    return {"precision": precision(alignment, problem, retrievers=retrievers, both_ways=False)}


def _vectors(corpus: Corpus, name: str, progress: Progress) -> Result:
    vectors = corpus.vectors(name, progress)
    return {"words": len(vectors), "dimension": vectors.dimension}


def _distance(load: Callable[[Progress], Problem], progress: Progress) -> Result:
    problem = load(progress)
    X, Y, aligned = _framed(problem)
    train = problem.known_rows()
    rows = replace(problem, train=[*problem.train, *problem.forward]).known_rows()
    A, B = X[rows[:, 0]], Y[rows[:, 1]]
    distance = float(np.linalg.norm(to_numpy(A @ orthogonal_procrustes(A, B) - B)))
    Q = orthogonal_procrustes(X[train[:, 0]], Y[train[:, 1]])
    return {
        "distance": distance,
        "a_word": distance / len(rows) ** 0.5,
        "words": len(rows),
        "about": problem.about,
        **_measured(aligned(Q), problem, Nearest(), CSLS()),
    }


def _relax(load: Callable[[Progress], Problem], relaxation: Convex, seed: int, progress: Progress) -> Result:
    rng = np.random.default_rng(seed)
    problem = shuffled(load(progress), rng)
    X, Y, aligned = _framed(problem)
    Q = relaxation(X, Y, pairs=Pairs.none(), rng=rng, progress=progress).Q
    return _measured(aligned(Q), problem, Nearest())


def _first(load: Callable[[Progress], Problem], relaxation: Convex) -> Array:
    """Relaxation*: it does not depend on the order within the head, which is permuted all the same."""
    rng = np.random.default_rng(0)
    X, Y, _ = _framed(shuffled(load(no_progress), rng, heads=(relaxation.n_points,)))
    return relaxation(X, Y, pairs=Pairs.none(), rng=rng).Q


def _starred(load: Callable[[Progress], Problem], first: Callable[[], Array], progress: Progress) -> Result:
    problem = load(progress)
    return _measured(_framed(problem)[2](first()), problem, Nearest())


def _solve(
    load: Callable[[Progress], Problem],
    first: Callable[[], Array] | None,
    solver: Stochastic,
    seed: int,
    progress: Progress,
) -> Result:
    rng = np.random.default_rng(seed)
    problem = shuffled(load(progress), rng)
    X, Y, aligned = _framed(problem)
    Q = first() if first else Random()(X, Y, pairs=Pairs.none(), rng=rng).Q
    solution = solver(X, Y, Q, pairs=Pairs.none(), rng=rng, progress=progress)
    criteria: tuple[Retriever, ...] = (Nearest(), CSLS()) if first else (Nearest(),)
    return {**_measured(aligned(solution.Q), problem, *criteria), "cost": solution.history[-1]["cost"]}


def _ours(load: Callable[[Progress], Problem], seed: int, progress: Progress) -> Result:
    problem = shuffled(load(progress), np.random.default_rng(seed), heads=_HEADS)
    alignment = align(problem.source, problem.target, random_state=seed, progress=progress)
    verdict = "none" if alignment.verdict is None else alignment.verdict.label
    return {**_measured(alignment, problem, Nearest(), CSLS()), "verdict": verdict}


def needs(setting: Setting) -> None:
    """Say what training vectors needs."""
    if setting.corpus is not None:
        need_gensim()


EXPERIMENT = Experiment("table1", cells, layout, needs=needs)
