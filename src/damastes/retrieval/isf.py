"""Inverted softmax (Smith et al., 2017): exp(β cos(x, y)) / Σ_x' exp(β cos(x', y))."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from damastes._arrays import Array, NumpyArray, namespace
from damastes.errors import InputError
from damastes.retrieval.cosines import Cosines
from damastes.retrieval.search import Biases, Neighbours, search

__all__ = ["ISF"]


@dataclass(frozen=True, slots=True)
class ISF:
    """Choose the target for which the query is the likeliest of all source points. β should grow with their number."""

    beta: float = 25.0

    def __call__(
        self,
        source: Array,
        target: Array,
        k: int = 1,
        *,
        queries: NumpyArray | None = None,
        biases: Biases | None = None,
    ) -> Neighbours:
        """Return the k best targets of the queried source rows; scores are the shares of the softmax, in [0, 1]."""
        found = search(source, target, k, queries, biases or self.biases(Cosines(source, target)))
        return Neighbours(found.indices, np.exp(found.scores))

    def biases(self, cosines: Cosines) -> Biases:
        """log Σ_x' exp(β cos(x', y)) for every target, over all source points."""
        if not self.beta > 0:
            raise InputError(f"ISF needs beta above 0, got {self.beta}")
        xp = namespace(cosines.target)
        peak = xp.full_like(cosines.target[:, 0], -1.0)
        total = xp.zeros_like(peak)
        for _, values in cosines:
            # Exponents are taken from the largest cosine seen of each column, so no sum over- or underflows.
            before, peak = peak, xp.maximum(peak, xp.max(values, axis=0))
            total = total * xp.exp(self.beta * (before - peak))
            total = total + xp.sum(xp.exp(self.beta * (values - peak[None, :])), axis=0)
        return Biases(self.beta, 0.0, xp.log(total) + self.beta * peak)
