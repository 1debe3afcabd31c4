"""Refinement: mutual CSLS neighbours ↔ Procrustes (section 4 of the paper, after Conneau et al., 2018)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from damastes._arrays import Array, Progress, head_rows, no_progress, take_rows
from damastes.errors import InputError
from damastes.pairs import Pairs
from damastes.procrustes import polar
from damastes.retrieval import CSLS, Cosines, Retriever, mutual_pairs
from damastes.solvers.solution import Solution, with_known

__all__ = ["Refinement"]


@dataclass(frozen=True, slots=True)
class Refinement:
    """Collect the pairs that choose each other under Q, solve Procrustes on them, repeat.

    Parameters
    ----------
    n_epochs : number of rounds
    limit : collect among the first so many points of each cloud
    first : begin with so many, and come to the limit in equal steps: pairs of frequent words are better while the map is
        rough, and pairs of rare ones are more. None begins with the limit
    retriever : who chooses whom
    """

    n_epochs: int = 5
    limit: int = 10_000
    retriever: Retriever = CSLS()
    first: int | None = None

    def __call__(
        self,
        X: Array,
        Y: Array,
        Q: Array,
        *,
        pairs: Pairs,
        rng: np.random.Generator,
        progress: Progress = no_progress,
    ) -> Solution:
        """Improve Q; `rng` is not used. The history has the number of mutual pairs and their mean score."""
        if self.limit < 1 or self.n_epochs < 0:
            raise InputError(f"refinement needs limit ≥ 1 and n_epochs ≥ 0, got {self.limit} and {self.n_epochs}")
        first = self.limit if self.first is None else self.first
        if not 1 <= first <= self.limit:
            raise InputError(f"refinement needs first from 1 to its limit of {self.limit}, got {first}")
        history: list[dict[str, float]] = []
        for epoch, size in enumerate(np.linspace(self.limit, first, self.n_epochs)[::-1].round().astype(int).tolist()):
            head_x, head_y = head_rows(X, size), head_rows(Y, size)
            cosines = Cosines(head_x @ Q, head_y)
            found = mutual_pairs(cosines, self.retriever.biases(cosines))
            history.append({"n_pairs": len(found), "score": float(found.scores.mean()) if len(found) else float("nan")})
            progress("refinement", epoch + 1, self.n_epochs, history[-1])
            if len(found) == 0:
                break
            M = take_rows(head_x, found.source).T @ take_rows(head_y, found.target) / len(found)
            Q = polar(with_known(M, X, Y, pairs))
        return Solution(Q, history)
