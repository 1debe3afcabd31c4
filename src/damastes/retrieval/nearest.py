"""Nearest neighbour by cosine."""

from __future__ import annotations

from dataclasses import dataclass

from damastes._arrays import Array, NumpyArray
from damastes.retrieval.cosines import Cosines
from damastes.retrieval.search import Biases, Neighbours, search

__all__ = ["Nearest"]


@dataclass(frozen=True, slots=True)
class Nearest:
    """Choose the target of largest cosine."""

    def __call__(
        self,
        source: Array,
        target: Array,
        k: int = 1,
        *,
        queries: NumpyArray | None = None,
        biases: Biases | None = None,
    ) -> Neighbours:
        """Return the k best targets of the queried source rows."""
        return search(source, target, k, queries, biases or self.biases(Cosines(source, target)))

    def biases(self, cosines: Cosines) -> Biases:
        """No bias."""
        return Biases(1.0, 0.0, 0.0)
