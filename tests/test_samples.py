import numpy as np
import pytest

from damastes import samples


def test_samples_are_ordered_word_vectors():
    en, es = samples.load("en"), samples.load("es")
    assert len(en) == len(es) == 10_000
    assert en.dimension == es.dimension == 100
    assert en.ordered
    assert en.matrix.dtype == np.float32
    assert "parliament" in en
    assert "parlamento" in es


def test_lexicon_is_mostly_covered():
    en, es = samples.load("en"), samples.load("es")
    pairs = samples.lexicon()
    assert np.mean([a in en and b in es for a, b in pairs]) > 0.8


def test_unknown_language_says_what_there_is():
    with pytest.raises(ValueError, match="en and es"):
        samples.load("fr")
