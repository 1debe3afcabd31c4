"""Precision at k of translations, against a lexicon: the measure of the paper's tables."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import sqrt
from typing import Any

import numpy as np

from damastes._arrays import NumpyArray
from damastes.alignment import Alignment
from damastes.errors import InputError
from damastes.retrieval import CSLS, Retriever

__all__ = ["Band", "Evaluation", "evaluate", "retrieval_name"]

# Where one frequency band ends and the next begins, by rank in the vocabulary that is asked.
BAND_EDGES = (1_000, 5_000, 20_000, 50_000, 100_000)


@dataclass(frozen=True, slots=True)
class Band:
    """The same for the words of rank `first` to `last` alone, 1 being the most frequent."""

    first: int
    last: int
    n_queries: int
    precision: dict[int, float]
    ci95: dict[int, tuple[float, float]]

    def to_json(self) -> dict[str, Any]:
        """The same as plain JSON values."""
        return {"first": self.first, "last": self.last, "n_queries": self.n_queries, **_shares_to_json(self)}


@dataclass(frozen=True, slots=True)
class Evaluation:
    """How often a right translation is among the k best.

    `precision[k]` is a share of the `n_queries` words that could be asked, `ci95[k]` its 95 % interval (Wilson), `coverage`
    the share of the lexicon's words that could be asked because both vocabularies know them and a translation. `bands` has the
    frequency bands in which words were asked, when the order of the vocabulary means frequency.
    """

    retrieval: str
    direction: str
    n_queries: int
    coverage: float
    precision: dict[int, float]
    ci95: dict[int, tuple[float, float]]
    bands: tuple[Band, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """The same as plain JSON values."""
        return {
            "retrieval": self.retrieval,
            "direction": self.direction,
            "n_queries": self.n_queries,
            "coverage": self.coverage,
            **_shares_to_json(self),
            "bands": [band.to_json() for band in self.bands],
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
    >>> en, es = (damastes.samples.load(language).head(2000) for language in ("en", "es"))
    >>> alignment = damastes.align(en, es)
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
    precision, ci95 = _shares(right, ks)
    return Evaluation(
        retrieval=retrieval_name(retriever),
        direction="backward" if backward else "forward",
        n_queries=len(queries),
        coverage=len(queries) / len(words),
        precision=precision,
        ci95=ci95,
        bands=_bands(queries, right, ks, len(asked)) if asked.ordered else (),
    )


def retrieval_name(retriever: Retriever) -> str:
    """The name of a criterion in results: nn, csls, isf, or the class's own."""
    return type(retriever).__name__.lower().replace("nearest", "nn")


def _shares(right: NumpyArray, ks: Sequence[int]) -> tuple[dict[int, float], dict[int, tuple[float, float]]]:
    n = len(right)
    hits = {k: int(right[:, :k].any(axis=1).sum()) for k in ks}
    return {k: hit / n for k, hit in hits.items()}, {k: wilson_interval(hit, n) for k, hit in hits.items()}


def _bands(queries: NumpyArray, right: NumpyArray, ks: Sequence[int], n_words: int) -> tuple[Band, ...]:
    edges = [0, *(edge for edge in BAND_EDGES if edge < n_words), n_words]
    bands = []
    for begin, end in pairwise(edges):
        inside = (queries >= begin) & (queries < end)
        if inside.any():
            bands.append(Band(begin + 1, end, int(inside.sum()), *_shares(right[inside], ks)))
    return tuple(bands)


def _shares_to_json(result: Evaluation | Band) -> dict[str, Any]:
    return {
        "precision": {str(k): share for k, share in result.precision.items()},
        "ci95": {str(k): list(interval) for k, interval in result.ci95.items()},
    }


def wilson_interval(hits: int, n: int, z: float = 1.96) -> tuple[float, float]:
    """The Wilson score interval of a share."""
    share = hits / n
    centre = (share + z * z / (2 * n)) / (1 + z * z / n)
    half = z / (1 + z * z / n) * sqrt(share * (1 - share) / n + z * z / (4 * n * n))
    # Rounding must not leave the share itself outside: 0 of n and n of n are ends of their intervals.
    return max(min(centre - half, share), 0.0), min(max(centre + half, share), 1.0)
