"""Word similarity: do cosines rank pairs of words as people do?"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any, Literal

import numpy as np
from scipy.stats import spearmanr

from damastes._arrays import to_numpy, unit_rows
from damastes.alignment import Alignment
from damastes.errors import InputError

__all__ = ["Similarity", "word_similarity"]

Side = Literal["source", "target"]


@dataclass(frozen=True, slots=True)
class Similarity:
    """Spearman's rank correlation of cosines with people's scores, over the `n_pairs` pairs whose words are known.

    `coverage` is their share of all pairs; `sides` says in which vocabularies first and second words were looked up.
    """

    sides: tuple[Side, Side]
    n_pairs: int
    coverage: float
    spearman: float

    def to_json(self) -> dict[str, Any]:
        """The same as plain JSON values."""
        return {**asdict(self), "sides": list(self.sides)}


def word_similarity(
    alignment: Alignment,
    judgements: Iterable[tuple[str, str, float]],
    *,
    sides: tuple[Side, Side] | None = None,
) -> Similarity:
    """Compare cosines in the shared frame with people's judgements of how similar two words are.

    Parameters
    ----------
    alignment : between labelled vectors
    judgements : (first word, second word, score); larger scores mean more similar
    sides : the vocabularies of first and second words, ("source", "target") for a cross-lingual list. Unless given, those
        that know most pairs
    """
    listed = list(judgements)
    clouds = {"source": alignment.source, "target": alignment.target}
    choices: list[tuple[Side, Side]] = [
        ("source", "target"),
        ("source", "source"),
        ("target", "target"),
        ("target", "source"),
    ]
    rows: dict[tuple[Side, Side], list[tuple[int, int, float]]] = {
        (a, b): [
            (clouds[a].row(one), clouds[b].row(two), score)
            for one, two, score in listed
            if one in clouds[a] and two in clouds[b]
        ]
        for a, b in (choices if sides is None else [sides])
    }
    sides = max(rows, key=lambda choice: len(rows[choice]))
    known = rows[sides]
    if len(known) < 2:
        raise InputError(
            f"word similarity needs two pairs or more with both words known, got {len(known)} of {len(listed)}. "
            "Check language and casing."
        )
    scores = np.asarray([score for _, _, score in known])
    if (scores == scores[0]).all():
        raise InputError(f"word similarity needs different scores, but all {len(known)} known pairs have {scores[0]:g}")
    embedded = {"source": alignment.embed_source(), "target": alignment.embed_target()}
    first, second = (np.asarray([row[i] for row in known]) for i in (0, 1))
    A, B = (unit_rows(to_numpy(embedded[side])[rows]) for side, rows in zip(sides, (first, second), strict=True))
    cosines = (A * B).sum(axis=1)
    return Similarity(sides, len(known), len(known) / len(listed), float(spearmanr(cosines, scores).statistic))
