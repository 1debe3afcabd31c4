from __future__ import annotations

import pickle

import numpy as np
import pytest

from damastes import Vectors
from planted import assert_same_kind


def test_rows_and_labels_find_each_other(asarray, dtype):
    matrix = asarray(np.arange(6.0).reshape(3, 2), dtype)
    vectors = Vectors(["a", "b", "zürich"], matrix, ordered=True, name="three")
    assert (len(vectors), vectors.dimension) == (3, 2)
    assert [vectors.row(label) for label in vectors.labels] == [0, 1, 2]
    assert [vectors.label(row) for row in range(3)] == ["a", "b", "zürich"]
    assert "b" in vectors
    assert "c" not in vectors
    assert_same_kind(vectors.matrix, matrix)


def test_head_and_select_keep_labels_with_their_rows(asarray):
    matrix = np.arange(8.0).reshape(4, 2)
    vectors = Vectors(list("abcd"), asarray(matrix), ordered=True, name="four")
    assert vectors.head(9) is vectors
    for part, rows in ((vectors.head(2), [0, 1]), (vectors.select(np.array([3, 1])), [3, 1])):
        assert part.labels == ["abcd"[row] for row in rows]
        assert np.array_equal(np.from_dlpack(part.matrix), matrix[rows])
        assert [part.row(label) for label in part.labels] == [0, 1]
        assert part.ordered
        assert part.name == "four"


def test_points_without_names_are_called_by_their_row():
    vectors = Vectors(None, [[1.0, 2.0], [3.0, 4.0]])
    assert vectors.label(1) == "1"
    assert vectors.head(1).labels is None
    assert "1" not in vectors


def test_lists_and_integers_become_arrays_and_the_given_array_is_shared():
    assert Vectors(None, [[1, 2]]).matrix.dtype == np.float32
    matrix = np.ones((3, 2))
    assert Vectors(None, matrix).matrix is matrix


def test_pickles():
    vectors = pickle.loads(pickle.dumps(Vectors(["a", "b"], np.eye(2), name="two")))
    assert vectors.row("b") == 1
    assert np.array_equal(vectors.matrix, np.eye(2))


@pytest.mark.parametrize(
    ("labels", "matrix", "message"),
    [
        (["a"], np.eye(2), "one label a row, got 1 labels and 2 rows"),
        (["a", "a"], np.eye(2), "different labels, got 'a' more than once"),
        (["a", "b"], np.ones(2), "must be 2-D"),
        (["a"], 3.0, "must be 2-D"),
        (["a"], None, "2-D array of numbers"),
        ([], np.ones((0, 2)), "at least 1 point"),
        (["a", "b"], [[1.0], [np.inf]], r"row 1 \('b'\) has nan or infinity"),
    ],
)
def test_bad_input_says_what_is_wrong(labels, matrix, message):
    with pytest.raises(ValueError, match=message):
        Vectors(labels, matrix)


def test_a_label_that_is_not_there():
    with pytest.raises(ValueError, match="'c' is not among the 2 labels of two"):
        Vectors(["a", "b"], np.eye(2), name="two").row("c")
