from __future__ import annotations

import numpy as np
import pytest

from damastes.pairs import Pairs
from planted import assert_same_kind, cloud


class TestFromRows:
    def test_two_columns_have_weight_one(self):
        pairs = Pairs.from_rows([(0, 3), (2, 1)], 3, 4)
        np.testing.assert_array_equal(pairs.source, [0, 2])
        np.testing.assert_array_equal(pairs.target, [3, 1])
        np.testing.assert_array_equal(pairs.weights, [1, 1])
        assert len(pairs) == 2

    def test_a_third_column_holds_weights_and_zero_means_no_pair(self):
        pairs = Pairs.from_rows(np.array([[0, 3, 0.5], [1, 1, 0], [2, 1, 2]]), 3, 4)
        np.testing.assert_array_equal(pairs.source, [0, 2])
        np.testing.assert_array_equal(pairs.weights, [0.5, 2])

    @pytest.mark.parametrize("rows", [[], np.zeros((0, 2)), np.zeros((0, 3))])
    def test_no_rows_are_no_pairs(self, rows):
        assert len(Pairs.from_rows(rows, 3, 4)) == len(Pairs.none()) == 0

    @pytest.mark.parametrize(
        ("rows", "message"),
        [
            ([(0, 4)], r"target has 4 rows \(0 to 3\), the pairs name 4 to 4"),
            ([(3, 0)], r"source has 3 rows \(0 to 2\)"),
            ([(-1, 0)], "must name rows that exist"),
            ([(0.5, 0)], "whole row numbers"),
            ([(0, 0, -1)], "weights of 0 or more"),
            ([(0, 0, np.nan)], "finite row numbers and weights"),
            ([0, 1], r"an array \(k, 2\).*got shape \(2,\)"),
            ([(0, 1, 2, 3)], r"an array \(k, 2\)"),
            ([("dog", "perro")], r"\(source row, target row\)"),
            (None, "pairs must be"),
        ],
    )
    def test_bad_rows_are_named(self, rows, message):
        with pytest.raises(ValueError, match=message):
            Pairs.from_rows(rows, 3, 4)


class TestEvidence:
    def test_trust_is_a_half_at_a_tenth_of_the_points(self):
        pairs = Pairs.from_rows([(i, i) for i in range(10)], 10, 10)
        assert pairs.trust(100) == 0.5
        assert Pairs.none().trust(10) == 0
        assert 0.5 < pairs.trust(50) < 1

    def test_repeating_a_pair_is_doubling_its_weight(self, rng):
        X, Y = cloud(5, 3, rng), cloud(5, 2, rng)
        repeated = Pairs.from_rows([(0, 1), (0, 1), (2, 3)], 5, 5)
        doubled = Pairs.from_rows([(0, 1, 2), (2, 3, 1)], 5, 5)
        np.testing.assert_allclose(repeated.cross(X, Y), doubled.cross(X, Y))
        assert repeated.trust(3) == doubled.trust(3)

    def test_cross_is_the_weighted_mean_of_outer_products(self, asarray, dtype, rng):
        X, Y = asarray(cloud(5, 3, rng), dtype), asarray(cloud(4, 2, rng), dtype)
        cross = Pairs.from_rows([(0, 1, 3), (4, 2, 1)], 5, 4).cross(X, Y)
        assert_same_kind(cross, X)
        x, y = np.from_dlpack(X), np.from_dlpack(Y)
        expected = 0.75 * np.outer(x[0], y[1]) + 0.25 * np.outer(x[4], y[2])
        np.testing.assert_allclose(np.from_dlpack(cross), expected, atol=1e-6)


class TestSelection:
    def test_head_keeps_pairs_of_the_first_rows(self):
        head = Pairs.from_rows([(0, 3, 1), (1, 1, 2), (2, 0, 3)], 3, 4).head(2, 2)
        np.testing.assert_array_equal(np.stack([head.source, head.target, head.weights]), [[1], [1], [2]])

    def test_renumbered_follows_the_rows(self):
        moved = Pairs.from_rows([(0, 3), (2, 1)], 3, 4).renumbered(np.array([2, 0, 1]), np.array([3, 2, 1, 0]))
        np.testing.assert_array_equal(moved.source, [2, 1])
        np.testing.assert_array_equal(moved.target, [0, 2])
