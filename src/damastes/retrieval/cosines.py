"""The cosines of two clouds, in the blocks in which all retrieval criteria visit them."""

from __future__ import annotations

from collections.abc import Iterator

from damastes._arrays import Array, check_pair, unit_rows
from damastes.errors import InputError
from damastes.retrieval import topk

__all__ = ["Cosines"]


class Cosines:
    """cos(x, y) of all points of two clouds in one space, a block of rows at a time.

    Never an n×m array, unless that is small: then it is kept, because a criterion visits twice, for biases and for choices,
    and the product is most of a visit.
    """

    def __init__(self, source: Array, target: Array) -> None:
        X, Y = check_pair(source, target)
        if X.shape[1] != Y.shape[1]:
            raise InputError(
                f"source and target must be in one space, got dimensions {X.shape[1]} and {Y.shape[1]}. Map first."
            )
        self.source, self.target = unit_rows(X), unit_rows(Y)
        self.shape = (X.shape[0], Y.shape[0])
        self._kept: list[tuple[slice, Array]] = []

    def __iter__(self) -> Iterator[tuple[slice, Array]]:
        """Rows and their cosines, which are to be read, not written."""
        if self._kept:
            yield from self._kept
            return
        keep = self.shape[0] * self.shape[1] <= topk.BLOCK_ENTRIES
        for rows in topk.row_blocks(*self.shape):
            cosines = self.source[rows, :] @ self.target.T
            if keep:
                self._kept.append((rows, cosines))
            yield rows, cosines
