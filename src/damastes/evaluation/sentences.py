"""Sentence retrieval: is the translation of a sentence nearest to it, when sentences are idf-weighted means of words?"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from math import log
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from damastes._arrays import Array, NumpyArray, from_numpy, to_numpy
from damastes.alignment import Alignment
from damastes.errors import InputError
from damastes.evaluation.precision import retrieval_name, wilson_interval
from damastes.retrieval import CSLS, Retriever
from damastes.vectors import Vectors

__all__ = ["SentenceRetrieval", "retrieve_sentences"]


@dataclass(frozen=True, slots=True)
class SentenceRetrieval:
    """How often the nearest sentence is the right one, asking from source to target (forward) and back.

    Only pairs in which both sentences have a known word take part; `unknown_source` and `unknown_target` count the sentences
    that have none.
    """

    retrieval: str
    n_sentences: int
    n_asked: int
    unknown_source: int
    unknown_target: int
    forward: float
    backward: float
    forward_ci95: tuple[float, float]
    backward_ci95: tuple[float, float]

    def to_json(self) -> dict[str, Any]:
        """The same as plain JSON values."""
        values = asdict(self)
        return {**values, "forward_ci95": list(self.forward_ci95), "backward_ci95": list(self.backward_ci95)}


def retrieve_sentences(
    alignment: Alignment,
    source: Sequence[str],
    target: Sequence[str],
    *,
    retriever: Retriever | None = None,
) -> SentenceRetrieval:
    """Find the translation of every sentence among all of the other side; line i of one is the translation of line i.

    A sentence is the mean of its words' vectors in the shared frame, each weighted by log((1 + N) / df) for a word that is in
    df of the N asked sentences of its side. A word is looked up as it stands between blanks, then in lower case, then without its
    punctuation. The same sentence twice counts as one answer.

    Memory: one vector a sentence, and blocks.
    """
    if len(source) != len(target):
        raise InputError(
            f"aligned sentences must come in equal numbers, got {len(source)} source and {len(target)} target lines"
        )
    retriever = retriever or CSLS()
    counts = [_count_words(lines, side) for lines, side in ((source, alignment.source), (target, alignment.target))]
    asked = [i for i in range(len(source)) if counts[0][i] and counts[1][i]]
    if len(asked) < 2:
        raise InputError(
            f"sentence retrieval needs two pairs or more with known words on both sides, got {len(asked)} of {len(source)}"
        )
    X = _means([counts[0][i] for i in asked], alignment.embed_source())
    Y = _means([counts[1][i] for i in asked], alignment.embed_target())
    right = [
        _hits(retriever(X, Y, 1).indices[:, 0], [target[i] for i in asked]),
        _hits(retriever(Y, X, 1).indices[:, 0], [source[i] for i in asked]),
    ]
    return SentenceRetrieval(
        retrieval=retrieval_name(retriever),
        n_sentences=len(source),
        n_asked=len(asked),
        unknown_source=sum(not words for words in counts[0]),
        unknown_target=sum(not words for words in counts[1]),
        forward=right[0] / len(asked),
        backward=right[1] / len(asked),
        forward_ci95=wilson_interval(right[0], len(asked)),
        backward_ci95=wilson_interval(right[1], len(asked)),
    )


def _count_words(lines: Sequence[str], vocabulary: Vectors) -> list[Counter[int]]:
    return [Counter(_rows(line, vocabulary)) for line in lines]


def _rows(line: str, vocabulary: Vectors) -> list[int]:
    rows = []
    for token in line.split():
        whole = [form for form in (token, token.lower()) if form in vocabulary][:1]
        for part in whole or re.findall(r"\w+", token):
            rows += [vocabulary.row(form) for form in (part, part.lower()) if form in vocabulary][:1]
    return rows


def _means(sentences: list[Counter[int]], embedded: Array) -> Array:
    """Weighted means as one product with a sparse matrix of sentences × words."""
    frequency = Counter(row for words in sentences for row in words)
    weights = [
        count * log((1 + len(sentences)) / frequency[row]) for words in sentences for row, count in words.items()
    ]
    columns = [row for words in sentences for row in words]
    starts = np.cumsum([0, *map(len, sentences)])
    matrix = to_numpy(embedded)
    plan = csr_array((np.asarray(weights, dtype=matrix.dtype), columns, starts), shape=(len(sentences), len(matrix)))
    return from_numpy(plan @ matrix, embedded)


def _hits(found: NumpyArray, right: list[str]) -> int:
    return sum(right[j] == right[i] for i, j in enumerate(found.tolist()))
