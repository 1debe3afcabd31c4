from __future__ import annotations

import numpy as np
import pytest

from damastes.matching import row_quantiles, signature_cost
from planted import assert_same_kind, planted


class TestRowQuantiles:
    def test_agree_with_numpys_quantiles(self, asarray, dtype, rng):
        K = asarray(rng.standard_normal((30, 30)), dtype)
        found = row_quantiles(K)
        assert_same_kind(found, K)
        levels = np.concatenate([[0.002, 0.01, 0.03], np.linspace(0.07, 0.93, 14), [0.97, 0.99, 0.998]])
        expected = np.quantile(np.from_dlpack(K), levels, axis=1).T
        expected = (expected - expected.mean(0)) / expected.std(0)
        np.testing.assert_allclose(np.from_dlpack(found), expected, atol=1e-4)

    def test_no_rotation_and_no_reordering_changes_them(self, asarray):
        problem = planted(25, 3)
        X, Y = asarray(problem.X), asarray(problem.Y)
        described = [np.from_dlpack(row_quantiles(Z @ Z.T)) for Z in (X, Y)]
        np.testing.assert_allclose(described[0], described[1][problem.permutation], atol=1e-8)

    def test_nodes_that_are_all_alike_have_no_signature_even_after_rounding(self, asarray, dtype):
        ring = np.roll(np.eye(12), 1, axis=1) * 0.1 + np.roll(np.eye(12), 2, axis=1) * 0.3
        K = asarray(ring + ring.T, dtype)
        np.testing.assert_array_equal(np.from_dlpack(row_quantiles(K @ K @ K)), 0)

    def test_a_single_point(self):
        np.testing.assert_array_equal(row_quantiles(np.ones((1, 1))), np.zeros((1, 20)))

    @pytest.mark.parametrize(
        ("K", "message"), [(np.ones(3), "K must be 2-D"), (np.array([[np.nan]]), "K must hold finite")]
    )
    def test_bad_input_is_named(self, K, message):
        with pytest.raises(ValueError, match=message):
            row_quantiles(K)


class TestSignatureCost:
    def test_is_the_squared_distance_divided_by_its_mean(self, asarray, dtype, rng):
        s, t = asarray(rng.standard_normal((6, 3)), dtype), asarray(rng.standard_normal((8, 3)), dtype)
        cost = signature_cost(s, t)
        assert_same_kind(cost, s)
        D = np.sum((np.from_dlpack(s)[:, None] - np.from_dlpack(t)[None]) ** 2, axis=2)
        np.testing.assert_allclose(np.from_dlpack(cost), D / D.mean(), atol=1e-5)

    def test_equal_descriptions_cost_nothing(self, asarray):
        np.testing.assert_array_equal(
            np.from_dlpack(signature_cost(asarray(np.ones((2, 3))), asarray(np.ones((4, 3))))), 0
        )

    def test_picks_the_planted_partner(self, asarray):
        problem = planted(25, 3)
        X, Y = asarray(problem.X), asarray(problem.Y)
        cost = np.from_dlpack(signature_cost(row_quantiles(X @ X.T), row_quantiles(Y @ Y.T)))
        np.testing.assert_array_equal(cost.argmin(1), problem.permutation)

    @pytest.mark.parametrize(
        ("target", "message"),
        [(np.ones((2, 4)), "the same numbers, got 3 and 4"), (np.full((2, 3), np.inf), "target must hold finite")],
    )
    def test_bad_input_is_named(self, target, message):
        with pytest.raises(ValueError, match=message):
            signature_cost(np.ones((2, 3)), target)
