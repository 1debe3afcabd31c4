"""Two framed clouds and the right answers: a pair of languages, or words and their own rotated, noisy copy."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from math import sqrt
from typing import Any

import numpy as np

from damastes._arrays import Array, NumpyArray, no_progress, to_numpy, unit_rows
from damastes.experiments.cells import Setting
from damastes.experiments.data import Lexicon, Problem
from damastes.initializers import Convex
from damastes.pairs import Pairs
from damastes.procrustes import orthogonal_procrustes, polar
from damastes.recipes import PAPER
from damastes.retrieval import CSLS, Retriever
from damastes.solvers import Phase, Solver, Stochastic
from damastes.transport import Sinkhorn, wasserstein

__all__ = ["SHORT", "SUCCESS", "Clouds", "margin", "paper_start", "plural", "real_pair", "solved"]

# A map that works has at least this share of the accuracy of the supervised one; those that do not have next to none.
SUCCESS = 0.5

# Algorithm 1 as the claims on starts need it, hundreds of times on small clouds: large steps to get there, small ones to settle.
SHORT = Stochastic(
    schedule=(Phase(200, 300, lr=500.0), Phase(100, 300, lr=100.0)),
    coupling=Sinkhorn(reg=0.05, tol=1e-2, max_iter=50),
)


@dataclass(frozen=True, eq=False)
class Clouds:
    """Framed clouds X and Y; `answers` has the right rows of Y for rows of X, of `n_words` words that the lexicon asks."""

    X: NumpyArray
    Y: NumpyArray
    answers: Mapping[int, frozenset[int]]
    n_words: int

    @classmethod
    def of(cls, problem: Problem, lexicon: Lexicon, n: int) -> Clouds:
        """The first n points of a pair, asked by a lexicon."""
        problem = problem.head(n)
        X, Y = (to_numpy(PAPER.frame.fit(cloud.matrix)(cloud.matrix)) for cloud in (problem.source, problem.target))
        answers: dict[int, frozenset[int]] = {}
        for word, translation in lexicon:
            if word in problem.source and translation in problem.target:
                row = problem.source.row(word)
                answers[row] = answers.get(row, frozenset()) | {problem.target.row(translation)}
        return cls(X, Y, answers, len({word for word, _ in lexicon}))

    @classmethod
    def planted(cls, problem: Problem, n: int, noise: float, seed: int) -> Clouds:
        """The first n words of a cloud, and the same rotated, shuffled, with Gaussian noise of this length."""
        # A stream of its own: from that of a random start the rotation would be that start.
        rng = np.random.default_rng([seed, 1])
        X = to_numpy(PAPER.frame.fit(problem.source.matrix)(problem.source.matrix))[:n]
        rotation = polar(rng.standard_normal((X.shape[1], X.shape[1])))
        moved = (X + noise * rng.standard_normal(X.shape) / np.sqrt(X.shape[1])) @ rotation
        order = rng.permutation(len(X))
        Y = unit_rows(moved[order].astype(X.dtype))
        return cls(X, Y, {int(row): frozenset({place}) for place, row in enumerate(order)}, len(X))

    def asked(self, rows: Iterable[int]) -> Clouds:
        """The same, with these rows alone to be answered."""
        return Clouds(self.X, self.Y, {row: self.answers[row] for row in rows}, self.n_words)

    def known(self) -> NumpyArray:
        """All right pairs, as rows (source, target)."""
        pairs = [(row, answer) for row, answers in sorted(self.answers.items()) for answer in sorted(answers)]
        return np.asarray(pairs, dtype=np.int64).reshape(-1, 2)

    def procrustes(self, pairs: NumpyArray | None = None) -> Array:
        """The supervised map of these pairs, or of all right ones."""
        pairs = self.known() if pairs is None else pairs
        return orthogonal_procrustes(self.X[pairs[:, 0]], self.Y[pairs[:, 1]])

    def objective(self, Q: Array) -> float:
        """W₂²(XQ, Y) a point, by exact assignment."""
        return wasserstein(self.X @ Q, self.Y).value

    def accuracy(self, Q: Array, retriever: Retriever | None = None) -> float:
        """The share of rows whose first answer is right."""
        return float(self.hits(Q, retriever).mean())

    def hits(self, Q: Array, retriever: Retriever | None = None) -> NumpyArray:
        """For each of the `queries`, whether its first answer is right."""
        return self._which((retriever or CSLS())(self.X @ Q, self.Y, queries=self.queries()).indices)

    def queries(self) -> NumpyArray:
        """The rows that are asked."""
        return np.asarray(sorted(self.answers), dtype=np.int64)

    def right(self, found: NumpyArray) -> float:
        """The share of right first answers among those found for `queries`."""
        return float(self._which(found).mean())

    def _which(self, found: NumpyArray) -> NumpyArray:
        rows = self.queries().tolist()
        return np.asarray([int(found[k, 0]) in self.answers[row] for k, row in enumerate(rows)], dtype=np.float64)

    def asks(self) -> dict[str, float]:
        """How many words are asked, and what share of the lexicon's words that is."""
        return {"words": len(self.answers), "coverage": len(self.answers) / self.n_words}


def real_pair(setting: Setting) -> Problem:
    """The pair of languages that claims are measured on."""
    return setting.data.load(setting.data.preferred("en-fr"))


def solved(solver: Solver, clouds: Clouds, Q: Array, seed: int) -> Array:
    """The map that a solver makes of Q."""
    rng = np.random.default_rng(seed)
    return solver(clouds.X, clouds.Y, Q, pairs=Pairs.none(), rng=rng, progress=no_progress).Q


def paper_start(n: int) -> Convex:
    """The paper's relaxation, on the first n points."""
    start: Any = PAPER.initializer
    relaxation: Convex = replace(start, n_points=n)
    return relaxation


def margin(share: float, n: int) -> float:
    """Half the 95 % interval of a share of n words: smaller differences say nothing."""
    return 1.96 * sqrt(share * (1 - share) / n)


def plural(n: int, name: str) -> str:
    """So many of these."""
    return f"{n} {name}{'' if n == 1 else 's'}"
