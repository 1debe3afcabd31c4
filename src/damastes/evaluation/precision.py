"""Precision at k of translations, against a lexicon: the measure of the paper's tables."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import sqrt
from typing import Any

import numpy as np

from damastes.alignment import Alignment
from damastes.errors import InputError
from damastes.retrieval import CSLS, Retriever

__all__ = ["Evaluation", "evaluate"]


@dataclass(frozen=True, slots=True)
class Evaluation:
    """How often a right translation is among the k best.

    `precision[k]` is a share of the `n_queries` words that could be asked, `ci95[k]` its 95 % interval (Wilson), `coverage`
    the share of the lexicon's words that could be asked because both vocabularies know them and a translation.
    """

    retrieval: str
    direction: str
    n_queries: int
    coverage: float
    precision: dict[int, float]
    ci95: dict[int, tuple[float, float]]

    def to_json(self) -> dict[str, Any]:
        """The same as plain JSON values."""
        return {
            "retrieval": self.retrieval,
            "direction": self.direction,
            "n_queries": self.n_queries,
            "coverage": self.coverage,
            "precision": {str(k): share for k, share in self.precision.items()},
            "ci95": {str(k): list(interval) for k, interval in self.ci95.items()},
        }


def evaluate(
    alignment: Alignment,
    lexicon: Iterable[tuple[str, str]],
    *,
    retriever: Retriever | None = None,
    ks: Sequence[int] = (1, 5, 10),
    backward: bool = False,
) -> Evaluation:
    """Measure a finished alignment on a lexicon of (source word, target word) pairs.

    Parameters
    ----------
    alignment : between labelled vectors
    lexicon : pairs; a word with several translations is answered by any of them
    retriever : CSLS() unless given
    ks : numbers of answers that count
    backward : translate the target's words to the source

    Examples
    --------
    >>> import damastes
    >>> alignment = damastes.align(damastes.samples.load("en"), damastes.samples.load("es"))
    >>> damastes.evaluate(alignment, damastes.samples.lexicon()).precision[1] > 0.85
    True
    """
    if not ks or min(ks) < 1:
        raise InputError(f"ks must be numbers of answers from 1 up, got {list(ks)}")
    asked, answering = (alignment.target, alignment.source) if backward else (alignment.source, alignment.target)
    if asked.labels is None or answering.labels is None:
        raise InputError("evaluation needs labelled vectors on both sides: pass Vectors with labels to align")
    words: set[str] = set()
    answers: dict[int, set[int]] = {}
    for pair in lexicon:
        word, translation = pair[::-1] if backward else pair
        words.add(word)
        if word in asked and translation in answering:
            answers.setdefault(asked.row(word), set()).add(answering.row(translation))
    if not answers:
        raise InputError(
            f"no pair of the lexicon has both words in the vocabularies ({len(words)} words looked up). "
            "Check the direction of the lexicon, and the casing."
        )
    queries = np.asarray(sorted(answers))
    retriever = retriever or CSLS()
    found = alignment.neighbours(max(ks), retriever=retriever, queries=queries, backward=backward).indices
    right = np.array([[j in answers[q] for j in row] for q, row in zip(queries.tolist(), found.tolist(), strict=True)])
    hits = {k: int(right[:, :k].any(axis=1).sum()) for k in ks}
    return Evaluation(
        retrieval=type(retriever).__name__.lower().replace("nearest", "nn"),
        direction="backward" if backward else "forward",
        n_queries=len(queries),
        coverage=len(queries) / len(words),
        precision={k: n / len(queries) for k, n in hits.items()},
        ci95={k: wilson_interval(n, len(queries)) for k, n in hits.items()},
    )


def wilson_interval(hits: int, n: int, z: float = 1.96) -> tuple[float, float]:
    """The Wilson score interval of a share."""
    share = hits / n
    centre = (share + z * z / (2 * n)) / (1 + z * z / n)
    half = z / (1 + z * z / n) * sqrt(share * (1 - share) / n + z * z / (4 * n * n))
    return max(centre - half, 0.0), min(centre + half, 1.0)
