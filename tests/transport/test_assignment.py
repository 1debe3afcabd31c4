from __future__ import annotations

from itertools import permutations

import numpy as np
import ot
import pytest

from damastes.transport import Assignment
from planted import assert_same_kind, hungarian, planted


def marginals(coupling):
    P = np.from_dlpack(coupling.plan())
    return P.sum(1), P.sum(0)


class TestPermutation:
    def test_agrees_with_trying_every_permutation(self, asarray, dtype, rng):
        scores = rng.standard_normal((6, 6))
        coupling = Assignment()(asarray(scores, dtype))
        best = max(permutations(range(6)), key=lambda p: scores[range(6), p].sum())
        np.testing.assert_array_equal(coupling.columns, best)
        np.testing.assert_array_equal(coupling.rows, range(6))

    def test_recovers_the_planted_permutation(self, asarray):
        problem = planted(50, 5, noise=0.01)
        coupling = Assignment()(asarray(problem.X @ problem.Q @ problem.Y.T))
        np.testing.assert_array_equal(coupling.columns, problem.permutation)
        np.testing.assert_allclose(np.from_dlpack(coupling.plan()), problem.P)

    @pytest.mark.parametrize("shape", [(4, 7), (7, 4)])
    def test_without_weights_every_point_of_the_smaller_side_gets_a_partner(self, asarray, rng, shape):
        scores = rng.standard_normal(shape)
        coupling = Assignment()(asarray(scores))
        assert len(set(coupling.rows)) == len(set(coupling.columns)) == 4
        assert np.from_dlpack(coupling.plan()).sum() == pytest.approx(1)
        transposed = Assignment()(asarray(scores.T))
        np.testing.assert_allclose(np.from_dlpack(transposed.plan()), np.from_dlpack(coupling.plan()).T)

    def test_uniform_weights_are_no_weights(self, asarray, dtype, rng):
        scores = asarray(rng.standard_normal((9, 9)), dtype)
        plain, weighted = Assignment()(scores), Assignment()(scores, a=np.full(9, 1 / 9), b=np.ones(9))
        np.testing.assert_array_equal(weighted.columns, plain.columns)

    def test_constants_of_rows_and_columns_change_nothing(self, asarray, rng):
        scores = rng.standard_normal((8, 8))
        shifted = scores + rng.standard_normal((8, 1)) + rng.standard_normal((1, 8))
        np.testing.assert_array_equal(Assignment()(asarray(shifted)).columns, hungarian(scores))


class TestTransport:
    @pytest.mark.parametrize(("n", "m"), [(5, 8), (8, 5), (6, 6)])
    def test_weighted_plans_agree_with_emd(self, asarray, rng, n, m):
        scores, a, b = rng.standard_normal((n, m)), rng.dirichlet(np.ones(n)), rng.dirichlet(np.ones(m))
        coupling = Assignment()(asarray(scores), a=asarray(a), b=asarray(b))
        np.testing.assert_allclose(np.from_dlpack(coupling.plan()), ot.emd(a, b, -scores), atol=1e-7)
        assert coupling.error < 1e-6

    def test_weights_may_be_given_for_one_side_only(self, asarray, rng):
        coupling = Assignment()(asarray(rng.standard_normal((3, 4))), a=[1, 2, 3])
        rows, columns = marginals(coupling)
        np.testing.assert_allclose(rows, np.array([1, 2, 3]) / 6)
        np.testing.assert_allclose(columns, 0.25)

    def test_unequal_sizes_with_weights_are_a_coupling_and_not_a_partial_match(self, asarray, dtype, rng):
        coupling = Assignment()(asarray(rng.standard_normal((3, 4)), dtype), a=np.ones(3), b=np.ones(4))
        rows, columns = marginals(coupling)
        np.testing.assert_allclose(rows, 1 / 3, atol=1e-6)
        np.testing.assert_allclose(columns, 1 / 4, atol=1e-6)


class TestSparseCoupling:
    @pytest.fixture(params=[False, True], ids=["permutation", "weighted"])
    def weights(self, request, rng):
        return (rng.dirichlet(np.ones(5)), rng.dirichlet(np.ones(7))) if request.param else (None, None)

    def test_products_agree_with_the_written_plan(self, asarray, dtype, rng, weights):
        X, Y = asarray(rng.standard_normal((5, 2)), dtype), asarray(rng.standard_normal((7, 3)), dtype)
        cost = asarray(rng.standard_normal((5, 7)), dtype)
        coupling = Assignment()(cost, a=weights[0], b=weights[1])
        P, tolerance = np.from_dlpack(coupling.plan()), 1e-6
        for result, expected in [
            (coupling.plan(), P),
            (coupling.to_source(Y), P @ np.from_dlpack(Y)),
            (coupling.to_target(X), P.T @ np.from_dlpack(X)),
            (coupling.cross(X, Y), np.from_dlpack(X).T @ P @ np.from_dlpack(Y)),
        ]:
            assert_same_kind(result, X)
            np.testing.assert_allclose(np.from_dlpack(result), expected, atol=tolerance)
        assert coupling.inner(cost) == pytest.approx(float(np.sum(P * np.from_dlpack(cost))), abs=tolerance)

    def test_an_exact_coupling_needs_no_rounding_and_offers_no_potential(self, rng):
        coupling = Assignment()(rng.standard_normal((4, 4)))
        assert coupling.rounded(np.full(4, 0.25), np.full(4, 0.25)) is coupling
        assert coupling.target_potential is None
        assert coupling.converged
        assert coupling.error == 0


@pytest.mark.parametrize(
    ("scores", "weights", "message"),
    [
        (np.array([[1.0, np.nan]]), None, "scores must hold finite numbers; row 0"),
        (np.ones(3), None, "scores must be 2-D"),
        (np.ones((0, 3)), None, "scores must hold at least"),
        (np.ones((2, 2)), [1, 2, 3], r"a must hold one weight a point, shape \(2,\), got shape \(3,\)"),
        (np.ones((2, 2)), [1, -1], "a must hold finite weights above 0"),
    ],
)
def test_bad_input_is_named(scores, weights, message):
    with pytest.raises(ValueError, match=message):
        Assignment()(scores, a=weights)
