from __future__ import annotations

import numpy as np
import pytest

from damastes import Alignment, Map, Vectors
from damastes.evaluation import retrieve_sentences
from damastes.frame import FittedFrame
from damastes.retrieval import Nearest

WORDS = [f"w{i}" for i in range(40)]


@pytest.fixture
def alignment(rng):
    """Two copies of one cloud, whose words have other names: v7 is the translation of w7."""
    plain = FittedFrame(np.zeros(16), 1.0, None, None)
    matrix = rng.standard_normal((40, 16))
    return Alignment(
        Map(np.eye(16), plain, plain), Vectors(WORDS, matrix), Vectors([w.replace("w", "v") for w in WORDS], matrix)
    )


def translated(lines):
    return [line.replace("w", "v") for line in lines]


def drawn(rng, n):
    return [" ".join(rng.choice(WORDS, 6, replace=False)) for _ in range(n)]


class TestSentences:
    def test_a_word_by_word_translation_is_found_both_ways(self, alignment, rng):
        lines = drawn(rng, 30)
        result = retrieve_sentences(alignment, lines, translated(lines))
        assert (result.forward, result.backward) == (1, 1)
        assert (result.n_sentences, result.n_asked, result.unknown_source, result.unknown_target) == (30, 30, 0, 0)
        assert result.retrieval == "csls"
        assert result.forward_ci95[0] < 1

    def test_shuffled_sentences_are_not(self, alignment, rng):
        lines = drawn(rng, 30)
        result = retrieve_sentences(alignment, lines, translated(lines[1:] + lines[:1]))
        assert (result.forward, result.backward) == (0, 0)

    def test_sentences_without_a_known_word_are_counted_and_left_out(self, alignment, rng):
        lines = drawn(rng, 10)
        result = retrieve_sentences(alignment, [*lines, "w1 w2", "", "what"], [*translated(lines), "who", "v3", "why"])
        assert (result.n_sentences, result.n_asked, result.unknown_source, result.unknown_target) == (13, 10, 2, 2)
        assert result.forward == 1

    def test_case_and_punctuation_do_not_hide_a_word(self, alignment):
        result = retrieve_sentences(alignment, ["(W1), w2!", "W3-w4."], ["v1 v2", "v3 v4"], retriever=Nearest())
        assert (result.n_asked, result.forward) == (2, 1)

    def test_a_repeated_sentence_is_one_answer(self, alignment):
        lines = ["w1 w2", "w1 w2", "w3 w4", "w5"]
        assert retrieve_sentences(alignment, lines, translated(lines), retriever=Nearest()).forward == 1

    def test_frequent_words_count_less(self, alignment):
        """The mean of w0 ×5 and a rare word is that of w0, unless w0, which is everywhere, weighs little."""
        source = [f"w0 w0 w{i}" for i in range(1, 20)]
        target = [f"v0 v{i} v{i}" for i in range(1, 20)]
        assert retrieve_sentences(alignment, source, target, retriever=Nearest()).forward == 1

    def test_bad_input(self, alignment):
        with pytest.raises(ValueError, match="equal numbers, got 2 source and 1 target"):
            retrieve_sentences(alignment, ["w1", "w2"], ["v1"])
        with pytest.raises(ValueError, match="got 1 of 2"):
            retrieve_sentences(alignment, ["w1", "x"], ["v1", "v2"])
        with pytest.raises(ValueError, match="got 0 of 0"):
            retrieve_sentences(alignment, [], [])
