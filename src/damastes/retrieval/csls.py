"""Cross-domain similarity local scaling (Conneau et al., 2018): 2 cos(x, y) − r_Y(x) − r_X(y)."""

from __future__ import annotations

from dataclasses import dataclass

from damastes._arrays import Array, NumpyArray, namespace
from damastes.errors import InputError
from damastes.retrieval.cosines import Cosines
from damastes.retrieval.search import Biases, Neighbours, search
from damastes.retrieval.topk import largest

__all__ = ["CSLS"]


@dataclass(frozen=True, slots=True)
class CSLS:
    """Choose by cosine, corrected for points that are close to everything.

    r is the mean cosine of a point to its K nearest points of the other side, over all points of that side, so an answer
    does not depend on what else is asked. K larger than a side means the whole side.
    """

    k: int = 10

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
        """Both neighbourhood means, from one sweep."""
        if self.k < 1:
            raise InputError(f"CSLS needs at least 1 neighbour, got k={self.k}")
        xp = namespace(cosines.source)
        row_means = []
        best: Array | None = None
        for _, values in cosines:
            row_means.append(xp.mean(largest(values, self.k, axis=1), axis=1))
            found = largest(values, self.k, axis=0)
            best = found if best is None else largest(xp.concat([best, found], axis=1), self.k, axis=1)
        assert best is not None
        return Biases(2.0, xp.concat(row_means), xp.mean(best, axis=1))
