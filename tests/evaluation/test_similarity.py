from __future__ import annotations

import numpy as np
import pytest

from damastes import Alignment, Map, Vectors
from damastes.evaluation import word_similarity
from damastes.frame import FittedFrame
from damastes.io.similarities import read_similarities


def on_a_circle(degrees):
    radians = np.deg2rad(degrees)
    return np.stack([np.cos(radians), np.sin(radians)], axis=1)


@pytest.fixture
def alignment():
    plain = FittedFrame(np.zeros(2), 1.0, None, None)
    source = Vectors(["a", "b", "c", "d"], on_a_circle([0, 10, 40, 100]))
    target = Vectors(["A", "B", "C", "d"], on_a_circle([0, 10, 40, 180]))
    return Alignment(Map(np.eye(2), plain, plain), source, target)


class TestWordSimilarity:
    def test_the_order_of_the_angles_is_the_order_of_the_scores(self, alignment):
        result = word_similarity(alignment, [("a", "B", 9.0), ("a", "C", 5.0), ("d", "C", 2.0), ("d", "A", 1.0)])
        assert result.sides == ("source", "target")
        assert (result.n_pairs, result.coverage) == (4, 1.0)
        assert result.spearman == pytest.approx(1)

    def test_one_swap_by_hand(self, alignment):
        """Ranks 1 2 3 against 2 1 3: 1 − 6·2 / (3·8)."""
        result = word_similarity(alignment, [("a", "b", 5.0), ("a", "c", 9.0), ("a", "d", 1.0)])
        assert result.sides == ("source", "source")
        assert result.spearman == pytest.approx(0.5)

    @pytest.mark.parametrize(
        ("listed", "sides"),
        [
            ([("A", "B", 1), ("A", "C", 2)], ("target", "target")),
            ([("A", "b", 1), ("A", "c", 2)], ("target", "source")),
            ([("d", "d", 1), ("a", "d", 2)], ("source", "target")),
        ],
    )
    def test_the_sides_that_know_most_pairs(self, alignment, listed, sides):
        assert word_similarity(alignment, listed).sides == sides

    def test_sides_can_be_given(self, alignment):
        listed = [("d", "d", 3), ("a", "d", 1), ("a", "b", 2), ("a", "B", 1), ("a", "C", 0)]
        result = word_similarity(alignment, listed, sides=("source", "source"))
        assert (result.n_pairs, result.coverage) == (3, 0.6)

    def test_unknown_words_lower_the_coverage(self, alignment):
        result = word_similarity(alignment, [("a", "B", 2), ("a", "C", 1), ("a", "nowhere", 7), ("x", "y", 7)])
        assert (result.n_pairs, result.coverage) == (2, 0.5)
        assert result.to_json() == {
            "sides": ["source", "target"],
            "n_pairs": 2,
            "coverage": 0.5,
            "spearman": pytest.approx(1),
        }

    def test_too_little_to_rank(self, alignment):
        with pytest.raises(ValueError, match=r"two pairs or more .* got 1 of 2"):
            word_similarity(alignment, [("a", "b", 1), ("x", "y", 1)])
        with pytest.raises(ValueError, match="different scores, but all 2 known pairs have 3"):
            word_similarity(alignment, [("a", "b", 3), ("a", "c", 3)])


class TestFiles:
    @pytest.mark.parametrize(
        "text",
        [
            "tiger\tcat\t7.35\nbook\tpaper\t7\n",
            "tiger cat 7.35\r\nbook paper 7\r\n",
            "Word 1,Word 2,Human (mean)\ntiger,cat,7.35\nbook,paper,7\n",
            "word1\tword2\tPOS\n\ntiger\tcat\t7.35\tN\nbook\tpaper\t7\tN",
            "tiger;cat;7.35\nbook;paper;7",
        ],
    )
    def test_forms(self, tmp_path, text):
        (tmp_path / "list").write_bytes(text.encode())
        assert read_similarities(tmp_path / "list") == [("tiger", "cat", 7.35), ("book", "paper", 7.0)]

    def test_words_of_several_words(self, tmp_path):
        (tmp_path / "list").write_text("New York\tla ciudad\t3\n")
        assert read_similarities(tmp_path / "list") == [("New York", "la ciudad", 3.0)]

    @pytest.mark.parametrize(
        ("content", "words"),
        [
            (b"a b 1\na b\n", "line 2: expected two words and a number, got 'a b'"),
            (b"a b 1\na b nan\n", "line 2"),
            (b"", "got none"),
            (b"a b 1\n\xff\xfe b 1\n", "expected UTF-8"),
        ],
    )
    def test_bad_files(self, tmp_path, content, words):
        (tmp_path / "list").write_bytes(content)
        with pytest.raises(ValueError, match=words):
            read_similarities(tmp_path / "list")
        with pytest.raises(ValueError, match="no such file"):
            read_similarities(tmp_path / "nowhere")
