from __future__ import annotations

import numpy as np
import pytest

import damastes
from damastes import Alignment, Map, Vectors, evaluate
from damastes.evaluation.precision import wilson_interval
from damastes.frame import FittedFrame
from damastes.retrieval import CSLS, ISF, Nearest


def angles(degrees):
    radians = np.deg2rad(degrees)
    return np.stack([np.cos(radians), np.sin(radians)], axis=1)


@pytest.fixture
def alignment():
    """Points on a circle, and a map that changes nothing: who is nearest can be read off the angles.

    red 0° → rojo 2°, azul 35°, verde 62°, sol 180°; green 60° → verde, azul, rojo, sol; blue 45° → azul, verde, rojo, sol.
    """
    plain = FittedFrame(np.zeros(2), 1.0, None, None)
    source = Vectors(["red", "green", "blue", "lonely"], angles([0, 60, 45, 200]))
    target = Vectors(["rojo", "verde", "azul", "sol"], angles([2, 62, 35, 180]))
    return Alignment(Map(np.eye(2), plain, plain), source, target)


def asked(alignment, lexicon, **options):
    return evaluate(alignment, lexicon, retriever=Nearest(), ks=(1, 2, 3), **options)


class TestPrecision:
    def test_by_hand(self, alignment):
        lexicon = [("red", "rojo"), ("green", "azul"), ("blue", "rojo")]  # found at 1, 2 and 3
        result = asked(alignment, lexicon)
        assert result.precision == {1: pytest.approx(1 / 3), 2: pytest.approx(2 / 3), 3: 1.0}
        assert (result.n_queries, result.coverage) == (3, 1.0)
        assert (result.retrieval, result.direction) == ("nn", "forward")

    def test_any_of_several_translations_answers_and_the_word_is_asked_once(self, alignment):
        result = asked(alignment, [("red", "sol"), ("red", "rojo"), ("green", "sol"), ("red", "rojo")])
        assert result.n_queries == 2
        assert result.precision[1] == 0.5

    def test_coverage_counts_words_not_pairs(self, alignment):
        lexicon = [("red", "rojo"), ("red", "granate"), ("blue", "celeste"), ("purple", "azul"), ("black", "negro")]
        result = asked(alignment, lexicon)
        assert (result.n_queries, result.coverage) == (1, 0.25)
        assert result.precision[1] == 1

    def test_backward_asks_the_target(self, alignment):
        """sol is nearest to lonely, azul to blue."""
        result = asked(alignment, [("lonely", "sol"), ("green", "azul"), ("red", "unknown")], backward=True)
        assert result.direction == "backward"
        assert (result.n_queries, result.coverage) == (2, pytest.approx(2 / 3))
        assert result.precision == {1: 0.5, 2: 1.0, 3: 1.0}

    def test_more_answers_than_points(self, alignment):
        assert evaluate(alignment, [("red", "sol")], ks=(1, 10)).precision == {1: 0.0, 10: 1.0}

    def test_the_order_of_the_lexicon_is_no_information(self, alignment):
        lexicon = [("red", "rojo"), ("green", "azul"), ("blue", "rojo"), ("red", "sol")]
        assert asked(alignment, lexicon) == asked(alignment, iter(lexicon[::-1]))

    @pytest.mark.parametrize(
        ("retriever", "name"), [(None, "csls"), (CSLS(), "csls"), (ISF(), "isf"), (Nearest(), "nn")]
    )
    def test_the_result_names_the_retrieval_and_fits_into_json(self, alignment, retriever, name):
        result = evaluate(alignment, [("red", "rojo")], retriever=retriever)
        assert result.retrieval == name
        values = result.to_json()
        assert list(values) == ["retrieval", "direction", "n_queries", "coverage", "precision", "ci95", "bands"]
        assert values["precision"] == {"1": 1.0, "5": 1.0, "10": 1.0}
        assert values["ci95"]["1"] == list(result.ci95[1])


class TestBands:
    @pytest.fixture
    def ordered(self, rng):
        """Every word is its own translation, except those after the first thousand, which are their neighbour's."""
        plain = FittedFrame(np.zeros(8), 1.0, None, None)
        words = [str(i) for i in range(1200)]
        cloud = Vectors(words, rng.standard_normal((1200, 8)), ordered=True)
        return Alignment(Map(np.eye(8), plain, plain), cloud, cloud)

    def test_each_band_has_the_words_of_its_ranks(self, ordered):
        lexicon = [("0", "0"), ("999", "999"), ("1000", "1001"), ("1001", "1001"), ("1199", "0"), ("5", "7")]
        result = evaluate(ordered, lexicon, retriever=Nearest(), ks=(1,))
        assert [(band.first, band.last, band.n_queries) for band in result.bands] == [(1, 1000, 3), (1001, 1200, 3)]
        assert [band.precision[1] for band in result.bands] == [pytest.approx(2 / 3), pytest.approx(1 / 3)]
        assert result.bands[0].ci95[1] == wilson_interval(2, 3)
        assert result.to_json()["bands"][0] == {
            "first": 1,
            "last": 1000,
            "n_queries": 3,
            "precision": {"1": result.bands[0].precision[1]},
            "ci95": {"1": list(wilson_interval(2, 3))},
        }

    def test_a_band_that_nobody_asks_is_left_out(self, ordered):
        assert [band.first for band in evaluate(ordered, [("1100", "1100")]).bands] == [1001]

    def test_points_in_no_order_have_no_bands(self, alignment):
        assert evaluate(alignment, [("red", "rojo")]).bands == ()


class TestWilson:
    @pytest.mark.parametrize(
        ("hits", "n", "low", "high"),
        [(81, 263, 0.2553, 0.3662), (15, 148, 0.0624, 0.1605), (0, 20, 0.0, 0.1611), (1, 29, 0.0061, 0.1718)],
    )
    def test_published_examples(self, hits, n, low, high):
        """Newcombe (1998), table I, method 3."""
        assert wilson_interval(hits, n) == (pytest.approx(low, abs=1e-4), pytest.approx(high, abs=1e-4))

    def test_it_is_symmetric_and_holds_the_share(self):
        for hits in range(11):
            low, high = wilson_interval(hits, 10)
            assert 0 <= low <= hits / 10 <= high <= 1
            mirrored = wilson_interval(10 - hits, 10)
            assert (low, high) == (pytest.approx(1 - mirrored[1]), pytest.approx(1 - mirrored[0]))

    def test_evaluations_carry_it(self, alignment):
        result = asked(alignment, [("red", "rojo"), ("green", "azul")])
        assert result.ci95[1] == wilson_interval(1, 2)


class TestBadInput:
    @pytest.mark.parametrize("lexicon", [[], [("rojo", "red")], [("RED", "ROJO")]])
    def test_no_covered_word(self, alignment, lexicon):
        with pytest.raises(ValueError, match=r"no pair of the lexicon has both words .*direction.*casing"):
            evaluate(alignment, lexicon)

    @pytest.mark.parametrize("ks", [(), (0, 1)])
    def test_numbers_of_answers(self, alignment, ks):
        with pytest.raises(ValueError, match="ks must be numbers of answers from 1 up"):
            evaluate(alignment, [("red", "rojo")], ks=ks)

    def test_points_without_names(self, alignment):
        nameless = Alignment(alignment.map, damastes.Vectors(None, alignment.source.matrix), alignment.target)
        with pytest.raises(ValueError, match="needs labelled vectors on both sides"):
            evaluate(nameless, [("red", "rojo")])
