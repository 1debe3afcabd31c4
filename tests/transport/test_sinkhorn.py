from __future__ import annotations

import numpy as np
import ot
import pytest

from damastes.transport import Sinkhorn
from planted import assert_same_kind, hungarian, planted

# Tight enough that two plans of one problem agree to the tolerances below.
EXACT = {"tol": 1e-8, "max_iter": 100_000}


def plan(coupling):
    return np.from_dlpack(coupling.plan())


def hubs(n, m, rng):
    """Cosines with a point close to everything and one far from everything, on both sides."""
    scores = rng.uniform(-0.2, 0.2, (n, m))
    scores[0, :] += 0.7
    scores[1, :] -= 0.7
    scores[:, 0] += 0.7
    scores[:, 1] -= 0.7
    return scores


@pytest.fixture
def scores(rng):
    return rng.uniform(-1, 1, (12, 9))


class TestAgainstPOT:
    @pytest.mark.parametrize("reg", [1.0, 0.1, 0.04])
    def test_weighted_plans_agree(self, asarray, rng, scores, reg):
        a, b = rng.dirichlet(5 * np.ones(12)), rng.dirichlet(5 * np.ones(9))
        coupling = Sinkhorn(reg, **EXACT)(asarray(scores), a=asarray(a), b=asarray(b))
        assert_same_kind(coupling.plan(), asarray(scores))
        expected = ot.sinkhorn(a, b, -scores, reg, method="sinkhorn_log", stopThr=1e-12, numItermax=100_000)
        np.testing.assert_allclose(plan(coupling), expected, atol=1e-8)

    def test_a_small_reg_comes_close_to_the_exact_cost(self, rng, scores):
        a, b = rng.dirichlet(5 * np.ones(12)), rng.dirichlet(5 * np.ones(9))
        exact = np.sum(ot.emd(a, b, -scores) * scores)
        entropic = Sinkhorn(1e-3, **EXACT)(scores, a=a, b=b).inner(scores)
        assert entropic == pytest.approx(exact, abs=5e-3)
        assert entropic <= exact + 1e-8


class TestInvariants:
    @pytest.mark.parametrize("reg", [0.5, 0.05, 0.01])
    def test_constants_of_rows_and_columns_change_nothing(self, asarray, rng, scores, reg):
        shifted = scores + rng.uniform(-3, 3, (12, 1)) + rng.uniform(-3, 3, (1, 9))
        sinkhorn = Sinkhorn(reg, **EXACT)
        np.testing.assert_allclose(plan(sinkhorn(asarray(shifted))), plan(sinkhorn(scores)), atol=1e-8)

    def test_scores_and_reg_scale_together(self, asarray, scores):
        np.testing.assert_allclose(
            plan(Sinkhorn(7 * 0.03, **EXACT)(asarray(7 * scores))), plan(Sinkhorn(0.03, **EXACT)(scores)), atol=1e-8
        )

    @pytest.mark.parametrize("reg", [0.5, 0.03])
    def test_the_transposed_problem_has_the_transposed_plan(self, asarray, rng, scores, reg):
        a, b = rng.dirichlet(5 * np.ones(12)), rng.dirichlet(5 * np.ones(9))
        forward = Sinkhorn(reg, **EXACT)(asarray(scores), a=a, b=b)
        backward = Sinkhorn(reg, **EXACT)(asarray(scores.T), a=b, b=a)
        np.testing.assert_allclose(plan(backward).T, plan(forward), atol=1e-7)

    @pytest.mark.parametrize("seed", range(3))
    def test_at_a_small_reg_the_argmax_is_the_assignment(self, asarray, dtype, seed):
        scores = np.random.default_rng(seed).uniform(-1, 1, (10, 10))
        coupling = Sinkhorn(2e-3, tol=1e-3, max_iter=100_000)(asarray(scores, dtype))
        np.testing.assert_array_equal(plan(coupling).argmax(1), hungarian(scores))

    def test_the_planted_permutation_comes_back(self, asarray, dtype):
        problem = planted(60, 5, noise=0.01)
        coupling = Sinkhorn(0.02, max_iter=10_000)(asarray(problem.X @ problem.Q @ problem.Y.T, dtype))
        np.testing.assert_array_equal(plan(coupling).argmax(1), problem.permutation)

    def test_splitting_a_point_splits_its_row(self, scores):
        a = np.full(12, 1 / 12)
        split = np.concatenate([scores, scores[:1]])
        weights = np.concatenate([a, a[:1] / 2])
        weights[0] /= 2
        P = plan(Sinkhorn(0.1, **EXACT)(split, a=weights))
        P[0] += P[12]
        np.testing.assert_allclose(P[:12], plan(Sinkhorn(0.1, **EXACT)(scores, a=a)), atol=1e-8)

    def test_relative_reg_is_a_share_of_the_range(self, asarray, scores):
        absolute = Sinkhorn(0.05 * np.ptp(scores), **EXACT)(scores)
        np.testing.assert_allclose(
            plan(Sinkhorn(0.05, relative=True, **EXACT)(asarray(scores))), plan(absolute), atol=1e-10
        )

    def test_constant_scores_give_the_independent_plan(self, asarray, dtype):
        coupling = Sinkhorn(0.05, relative=True)(asarray(np.full((3, 4), 2.0), dtype))
        np.testing.assert_allclose(plan(coupling), 1 / 12, rtol=1e-5)
        assert coupling.converged

    def test_a_large_reg_forgets_the_scores(self, scores):
        np.testing.assert_allclose(plan(Sinkhorn(1e6)(scores)), 1 / 108, rtol=1e-4)

    def test_one_point_on_a_side(self, asarray, dtype):
        np.testing.assert_allclose(plan(Sinkhorn(1e-3)(asarray([[0.0, 5.0, -5.0]], dtype))), 1 / 3, rtol=1e-5)


class TestStability:
    @pytest.mark.parametrize("reg", [1, 1e-1, 1e-2, 1e-3, 1e-4])
    @pytest.mark.parametrize("shape", [(40, 40), (25, 40), (40, 25)])
    def test_hubs_break_nothing(self, dtype, rng, reg, shape):
        tol = 1e-3
        coupling = Sinkhorn(reg, tol=tol, max_iter=50_000)(hubs(*shape, rng).astype(dtype))
        P = plan(coupling)
        assert np.isfinite(P).all()
        assert P.min() >= 0
        assert np.isfinite(coupling.target_potential).all()
        assert coupling.converged
        assert np.abs(P.sum(1) - 1 / shape[0]).sum() <= tol + 1e-5
        np.testing.assert_allclose(P.sum(0), 1 / shape[1], rtol=1e-4)

    @pytest.mark.parametrize("reg", [0.1, 1e-3])
    def test_hubs_in_every_library(self, asarray, dtype, rng, reg):
        scores = hubs(15, 20, rng)
        coupling = Sinkhorn(reg, tol=1e-4, max_iter=50_000)(asarray(scores, dtype))
        expected = Sinkhorn(reg, tol=1e-4, max_iter=50_000)(scores)
        assert_same_kind(coupling.plan(), asarray(scores, dtype))
        assert coupling.converged
        np.testing.assert_allclose(plan(coupling), plan(expected), atol=2e-4)

    def test_range_over_reg_matters_and_not_reg(self, rng):
        scores = 1e4 * hubs(20, 20, rng)
        coupling = Sinkhorn(1.0, max_iter=50_000)(scores.astype(np.float32))
        assert np.isfinite(plan(coupling)).all()
        assert coupling.converged

    def test_stabilised_and_plain_scaling_agree(self, monkeypatch, scores):
        plain = Sinkhorn(0.1, **EXACT)(scores)
        monkeypatch.setattr("damastes.transport.sinkhorn._SAFE_EXPONENT", 2.0)
        np.testing.assert_allclose(plan(Sinkhorn(0.1, **EXACT)(scores)), plan(plain), atol=1e-8)


class TestWarmStart:
    @pytest.mark.parametrize("reg", [0.1, 0.01])
    def test_gives_the_same_plan_in_fewer_iterations(self, asarray, rng, scores, reg):
        sinkhorn = Sinkhorn(reg, tol=1e-8, max_iter=100_000)
        cold = sinkhorn(asarray(scores))
        nearby = asarray(scores + 1e-3 * rng.standard_normal(scores.shape))
        warm, expected = sinkhorn(nearby, warm=cold.target_potential), sinkhorn(nearby)
        assert_same_kind(cold.target_potential, nearby)
        np.testing.assert_allclose(plan(warm), plan(expected), atol=1e-7)
        assert warm.converged
        assert warm.n_iter < expected.n_iter

    def test_its_own_potential_leaves_nothing_to_do(self, scores):
        sinkhorn = Sinkhorn(0.01, tol=1e-8, max_iter=100_000)
        assert sinkhorn(scores, warm=sinkhorn(scores).target_potential).n_iter <= 1

    def test_a_useless_potential_does_no_harm(self, scores, rng):
        sinkhorn = Sinkhorn(0.05, **EXACT)
        warm = sinkhorn(scores, warm=rng.uniform(-50, 50, 9))
        np.testing.assert_allclose(plan(warm), plan(sinkhorn(scores)), atol=1e-8)


class TestHonesty:
    @pytest.mark.parametrize("reg", [0.5, 0.05, 1e-3])
    @pytest.mark.parametrize("max_iter", [1, 2, 5])
    def test_too_few_iterations_are_reported(self, asarray, rng, reg, max_iter):
        scores = hubs(15, 20, rng)
        coupling = Sinkhorn(reg, tol=1e-12, max_iter=max_iter)(asarray(scores))
        P = plan(coupling)
        assert not coupling.converged
        assert coupling.n_iter <= max_iter
        assert coupling.error > 1e-12
        assert coupling.error == pytest.approx(np.abs(P.sum(1) - 1 / 15).sum() + np.abs(P.sum(0) - 1 / 20).sum())

    @pytest.mark.parametrize("reg", [0.5, 0.01])
    def test_the_error_is_that_of_the_plan(self, rng, reg):
        coupling = Sinkhorn(reg, tol=1e-3, max_iter=10_000)(hubs(15, 20, rng))
        P = plan(coupling)
        assert coupling.converged
        assert coupling.error == pytest.approx(np.abs(P.sum(1) - 1 / 15).sum() + np.abs(P.sum(0) - 1 / 20).sum())


class TestCoupling:
    @pytest.mark.parametrize("rounded", [False, True])
    def test_products_agree_with_the_written_plan(self, asarray, dtype, rng, rounded):
        X, Y = asarray(rng.standard_normal((12, 2)), dtype), asarray(rng.standard_normal((9, 3)), dtype)
        cost = asarray(rng.uniform(-1, 1, (12, 9)), dtype)
        coupling = Sinkhorn(0.1, max_iter=3)(cost)
        if rounded:
            coupling = coupling.rounded(asarray(np.full(12, 1 / 12), dtype), asarray(np.full(9, 1 / 9), dtype))
        P = plan(coupling)
        for result, expected in [
            (coupling.plan(), P),
            (coupling.to_source(Y), P @ np.from_dlpack(Y)),
            (coupling.to_target(X), P.T @ np.from_dlpack(X)),
            (coupling.cross(X, Y), np.from_dlpack(X).T @ P @ np.from_dlpack(Y)),
        ]:
            assert_same_kind(result, X)
            np.testing.assert_allclose(np.from_dlpack(result), expected, atol=1e-6)
        assert coupling.inner(cost) == pytest.approx(float(np.sum(P * np.from_dlpack(cost))), abs=1e-6)

    @pytest.mark.parametrize("max_iter", [1, 3, 1000])
    @pytest.mark.parametrize("reg", [0.2, 0.01])
    def test_rounding_gives_the_exact_marginals_and_stays_near(self, asarray, dtype, rng, reg, max_iter):
        scores, a, b = hubs(12, 9, rng), rng.dirichlet(np.ones(12)), rng.dirichlet(np.ones(9))
        coupling = Sinkhorn(reg, max_iter=max_iter)(asarray(scores, dtype), a=a, b=b)
        P = plan(coupling.rounded(asarray(a, dtype), asarray(b, dtype)))
        precision = 1e-6 if dtype == "float32" else 1e-12
        np.testing.assert_allclose(P.sum(1), a, atol=precision)
        np.testing.assert_allclose(P.sum(0), b, atol=precision)
        assert P.min() >= 0
        # Altschuler, Weed and Rigollet, lemma 7.
        assert np.abs(P - plan(coupling)).sum() <= 2 * coupling.error + 1e-5

    def test_rounding_leaves_a_feasible_plan_alone(self, rng, scores):
        coupling = Sinkhorn(0.2, tol=1e-14, max_iter=10_000)(scores)
        rounded = coupling.rounded(np.full(12, 1 / 12), np.full(9, 1 / 9))
        np.testing.assert_allclose(plan(rounded), plan(coupling), atol=1e-12)


class TestInput:
    @pytest.mark.parametrize(
        ("scores", "message"),
        [
            (np.array([[1.0], [np.nan]]), "scores must hold finite numbers; row 1"),
            (np.array([[1.0], [-np.inf]]), "scores must hold finite numbers; row 1"),
            (np.array([[np.inf], [np.inf]]), "scores must hold finite numbers; row 0"),
            (np.ones(3), "scores must be 2-D"),
            (np.ones((0, 3)), "scores must hold at least"),
            (np.ones((3, 0)), "scores must hold at least"),
            ("scores", "array of numbers"),
        ],
    )
    def test_bad_scores_are_named(self, scores, message):
        with pytest.raises(ValueError, match=message):
            Sinkhorn()(scores)

    @pytest.mark.parametrize("reg", [0, -0.1, np.nan])
    def test_reg_must_be_positive(self, reg):
        with pytest.raises(ValueError, match=r"reg must be above 0.*Assignment\(\)"):
            Sinkhorn(reg)(np.eye(2))

    def test_a_generous_tolerance_still_gives_a_plan(self, scores):
        assert plan(Sinkhorn(0.1, tol=3.0)(scores)).sum() == pytest.approx(1)

    def test_there_must_be_an_iteration(self):
        with pytest.raises(ValueError, match="max_iter must be at least 1"):
            Sinkhorn(max_iter=0)(np.eye(2))

    @pytest.mark.parametrize(
        ("argument", "value", "message"),
        [
            ("a", [1, 1], "a must hold one weight a point"),
            ("b", [1, 0], "b must hold finite weights above 0"),
            ("warm", np.zeros(5), r"warm must hold one potential a column, shape \(2,\), got shape \(5,\)"),
        ],
    )
    def test_bad_arguments_are_named(self, argument, value, message):
        with pytest.raises(ValueError, match=message):
            Sinkhorn()(np.ones((3, 2)), **{argument: value})

    def test_whole_numbers_and_lists_are_scores_too(self):
        np.testing.assert_allclose(plan(Sinkhorn(0.01)([[1, 0], [0, 1]])), np.eye(2) / 2, atol=1e-6)
