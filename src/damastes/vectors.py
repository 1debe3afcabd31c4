"""`Vectors`: labels and a matrix, and whether the order of the rows means anything."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from damastes._arrays import Array, NumpyArray, check_points, take_rows
from damastes.errors import InputError

__all__ = ["Vectors"]


@dataclass(frozen=True, eq=False)
class Vectors:
    """A labelled cloud of points.

    Parameters
    ----------
    labels : the names of the points, all different; None for points without names
    matrix : array (n, d)
    ordered : rows run from frequent to rare, as in files of word vectors, so their head is the best part to start from
    name : where they come from, for messages and records

    Examples
    --------
    >>> vectors = Vectors(["cat", "dog"], [[1.0, 0.0], [0.8, 0.6]])
    >>> vectors.row("dog"), len(vectors), vectors.dimension
    (1, 2, 2)
    """

    labels: Sequence[str] | None
    matrix: Array
    ordered: bool = False
    name: str = ""
    _rows: dict[str, int] = field(init=False, repr=False, compare=False, default_factory=dict)

    def __post_init__(self) -> None:
        name = self.name or "vectors"
        labels = None if self.labels is None else list(map(str, self.labels))
        shape = getattr(self.matrix, "shape", None) or np.shape(self.matrix)
        matrix = check_points(self.matrix, name, labels=labels if labels and shape[:1] == (len(labels),) else None)
        object.__setattr__(self, "matrix", matrix)
        object.__setattr__(self, "labels", labels)
        if labels is None:
            return
        if len(labels) != matrix.shape[0]:
            raise InputError(f"{name} must have one label a row, got {len(labels)} labels and {matrix.shape[0]} rows")
        self._rows.update((label, row) for row, label in enumerate(labels))
        if len(self._rows) < len(labels):
            twice = next(label for row, label in enumerate(labels) if self._rows[label] != row)
            raise InputError(
                f"{name} must have different labels, got {twice!r} more than once. Keep the first of each."
            )

    def __len__(self) -> int:
        return int(self.matrix.shape[0])

    def __contains__(self, label: str) -> bool:
        return label in self._rows

    @property
    def dimension(self) -> int:
        """The number of coordinates."""
        return int(self.matrix.shape[1])

    def row(self, label: str) -> int:
        """Return the row of a label."""
        try:
            return self._rows[label]
        except KeyError:
            raise InputError(
                f"{label!r} is not among the {len(self)} labels of {self.name or 'these vectors'}"
            ) from None

    def label(self, row: int) -> str:
        """Return the label of a row; its number for points without names."""
        return str(row) if self.labels is None else self.labels[row]

    def head(self, n: int) -> Vectors:
        """Return the first n points."""
        return self if n >= len(self) else self.select(np.arange(n))

    def select(self, rows: NumpyArray) -> Vectors:
        """Return the points of the given rows, in that order."""
        labels = None if self.labels is None else [self.labels[row] for row in rows]
        return Vectors(labels, take_rows(self.matrix, rows), self.ordered, self.name)


def as_vectors(value: Any, name: str) -> Vectors:
    """Return `Vectors` as they are, those of gensim and spaCy with their words, and an array as an unnamed cloud in no order."""
    if isinstance(value, Vectors):
        return value
    # Told by their shape: to import gensim or spaCy for a check would take seconds.
    if hasattr(value, "index_to_key") and hasattr(value, "vectors"):
        return Vectors(value.index_to_key, value.vectors, ordered=True, name=name)
    if hasattr(value, "strings") and hasattr(getattr(value, "vectors", None), "key2row"):
        return _from_spacy(value, name)
    return Vectors(None, value, ordered=False, name=name)


def _from_spacy(vocab: Any, name: str) -> Vectors:
    """Return the vectors of a spaCy vocabulary, in the order of their rows; several words may share one."""
    rows = sorted(vocab.vectors.key2row.items(), key=lambda item: item[1])
    if not rows:
        raise InputError(
            f"{name} must be a vocabulary with vectors, got one without, or with pieces of words only (floret). "
            "Load a pipeline with vectors, such as one ending in _md or _lg."
        )
    labels = [vocab.strings[key] for key, _ in rows]
    matrix = take_rows(vocab.vectors.data, np.array([row for _, row in rows]))
    return Vectors(labels, matrix, ordered=False, name=name)
