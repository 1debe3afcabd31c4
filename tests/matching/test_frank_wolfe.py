from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

from damastes.matching import (
    Agreement,
    DenseDiscrepancy,
    FactoredDiscrepancy,
    FrankWolfe,
    line_search,
    open_loop,
    row_quantiles,
    signature_cost,
)
from damastes.transport import Assignment, Sinkhorn
from planted import assert_same_kind, hungarian, planted

ENTROPIC = Sinkhorn(reg=0.02, tol=1e-2, relative=True)


def rooted(problem):
    """The clouds with their spectrum square-rooted, as the relaxation is used."""
    clouds = []
    for Z in (problem.X, problem.Y):
        U, S, Vt = np.linalg.svd(Z, full_matrices=False)
        clouds.append((U * np.sqrt(S)) @ Vt)
    return clouds


def plan_of(objective_class, X, Y, **options):
    """The dense form of a problem, whose state is the plan itself."""
    return objective_class(X @ X.T, Y @ Y.T, **options)


@pytest.fixture
def noisy():
    return FactoredDiscrepancy(*rooted(planted(25, 3, noise=0.5)))


@pytest.fixture
def optimum(noisy):
    """A long run with the exact oracle: value and a bound that is close to it."""
    found = FrankWolfe(max_iter=1500, oracle=Assignment(), tol=1e-7)(noisy)
    assert found.gap < 1e-3 * noisy.scale()
    return found


class TestGap:
    @pytest.mark.parametrize("step", [line_search, open_loop])
    @pytest.mark.parametrize("oracle", [Assignment(), ENTROPIC, Sinkhorn(reg=0.2, tol=0.1, relative=True)])
    def test_is_never_negative_and_bounds_the_distance_to_the_optimum(self, noisy, optimum, oracle, step):
        found = FrankWolfe(max_iter=30, oracle=oracle, step=step)(noisy)
        for record in found.history:
            assert record["gap"] >= 0
            # The best value known is above the minimum, so this is implied by the bound.
            assert record["value"] - record["gap"] <= optimum.value + 1e-12
            assert record["gap"] >= record["value"] - optimum.value - 1e-12
        assert found.gap >= 0
        assert found.lower_bound <= optimum.value + 1e-12
        assert found.value - found.gap == pytest.approx(found.lower_bound)
        assert optimum.lower_bound <= found.value + 1e-12

    def test_shrinks_with_more_steps(self, noisy):
        gaps = [FrankWolfe(max_iter=t, oracle=Assignment())(noisy).gap for t in (1, 10, 100)]
        assert gaps == sorted(gaps, reverse=True)
        assert gaps[2] < gaps[0] / 5

    def test_convergence_is_reported_honestly(self, noisy):
        short, loose = FrankWolfe(max_iter=2)(noisy), FrankWolfe(max_iter=200, tol=0.05, oracle=Assignment())(noisy)
        assert not short.converged
        assert short.n_iter == len(short.history) == 2
        assert loose.converged
        assert loose.n_iter < 200
        assert loose.gap <= 0.05 * noisy.scale()

    def test_a_stalled_loop_stops_without_being_called_converged(self, noisy):
        loop = FrankWolfe(max_iter=400, oracle=ENTROPIC, step=open_loop)
        patient, stalled = loop(noisy), replace(loop, stall=1e-3)(noisy)
        assert stalled.n_iter < patient.n_iter == 400
        assert stalled.value == pytest.approx(patient.value, rel=1e-2)
        assert not stalled.converged
        with pytest.raises(ValueError, match="stall must be at least 0, got -1"):
            replace(loop, stall=-1)(noisy)

    def test_a_non_convex_objective_has_no_bound(self, rng):
        K = rng.standard_normal((6, 6))
        found = FrankWolfe(max_iter=5, oracle=Assignment())(Agreement(K + K.T, K + K.T))
        assert found.gap == np.inf
        assert found.lower_bound == -np.inf


class TestSteps:
    def test_line_search_and_open_loop_reach_the_same_optimum(self, noisy, optimum):
        for step in (line_search, open_loop):
            found = FrankWolfe(max_iter=300, oracle=Assignment(), step=step)(noisy)
            assert found.value == pytest.approx(optimum.value, abs=3e-3 * noisy.scale())

    @pytest.mark.parametrize("oracle", [Assignment(), ENTROPIC])
    def test_line_search_never_climbs(self, noisy, oracle):
        values = [record["value"] for record in FrankWolfe(max_iter=30, oracle=oracle)(noisy).history]
        assert all(after <= before + 1e-12 for before, after in pairwise(values))

    @pytest.mark.parametrize(("slope", "curvature"), [(-1.0, 0.3), (-1.0, 2.0), (1.0, 2.0), (-1.0, -1.0), (2.0, -1.0)])
    def test_line_search_minimises_the_parabola(self, slope, curvature):
        alphas = np.linspace(0, 1, 1001)
        found = line_search(1, slope, curvature)
        assert 0 <= found <= 1
        assert found * slope + found**2 * curvature == pytest.approx(
            (alphas * slope + alphas**2 * curvature).min(), abs=1e-6
        )

    def test_open_loop_is_two_over_t_plus_two(self):
        assert [open_loop(t, -1, 1) for t in (1, 2, 8)] == [2 / 3, 1 / 2, 1 / 5]


class TestRecovery:
    @pytest.mark.parametrize("oracle", [Assignment(), ENTROPIC])
    def test_isometric_clouds_off_centre_are_solved(self, asarray, oracle):
        problem = planted(20, 3)
        X, Y = (asarray(Z) for Z in rooted(problem))
        found = FrankWolfe(max_iter=200, oracle=oracle)(plan_of(DenseDiscrepancy, X, Y))
        P = np.from_dlpack(found.state[0])
        assert_same_kind(found.state[0], X)
        np.testing.assert_array_equal(hungarian(P), problem.permutation)

    def test_factored_and_dense_take_the_same_steps(self, asarray):
        X, Y = (asarray(Z) for Z in rooted(planted(20, 3, d_target=4, noise=0.2, target_outliers=3)))
        loop = FrankWolfe(max_iter=10, oracle=Assignment())
        factored, dense = loop(FactoredDiscrepancy(X, Y)), loop(plan_of(DenseDiscrepancy, X, Y))
        for mine, other in zip(factored.history, dense.history, strict=True):
            assert mine == pytest.approx(other, rel=1e-6, abs=1e-12)

    def test_every_library_and_precision_agrees(self, asarray, dtype):
        X, Y = rooted(planted(30, 3, noise=0.2))
        loop = FrankWolfe(max_iter=10)
        found = loop(FactoredDiscrepancy(asarray(X, dtype), asarray(Y, dtype)))
        expected = loop(FactoredDiscrepancy(X, Y))
        assert found.value == pytest.approx(expected.value, rel=1e-2)
        assert found.lower_bound <= expected.value

    def test_a_careless_oracle_does_not_spoil_the_marginals(self, asarray, dtype, rng):
        X, Y = (asarray(Z, dtype) for Z in rooted(planted(15, 3, noise=0.2, target_outliers=5)))
        a, b = rng.dirichlet(np.ones(15)), rng.dirichlet(np.ones(20))
        careless = Sinkhorn(reg=0.01, tol=0.5, max_iter=1, relative=True)
        found = FrankWolfe(max_iter=10, oracle=careless)(plan_of(DenseDiscrepancy, X, Y, a=a, b=b))
        P = np.from_dlpack(found.state[0])
        np.testing.assert_allclose(P.sum(1), a, atol=1e-6)
        np.testing.assert_allclose(P.sum(0), b, atol=1e-6)

    def test_a_run_can_be_continued(self, noisy):
        first = FrankWolfe(max_iter=20, oracle=Assignment())(noisy)
        second = FrankWolfe(max_iter=1, oracle=Assignment())(noisy, start=first.state)
        assert second.history[0]["value"] == pytest.approx(first.value)
        assert second.value <= first.value

    def test_progress_hears_of_every_step(self, noisy):
        calls = []
        FrankWolfe(max_iter=4)(noisy, progress=lambda *call: calls.append(call))
        assert [call[:3] for call in calls] == [("relaxation", t, 4) for t in (1, 2, 3, 4)]
        assert calls[-1][3]["value"] >= 0


class TestCentredClouds:
    """The trap of MATH §3: on centred points the uniform plan is optimal for the plain relaxation."""

    @pytest.fixture
    def problem(self):
        return planted(40, 4, centred=True, components=3)

    def test_the_plain_relaxation_never_moves(self, asarray, problem):
        X, Y = (asarray(Z) for Z in rooted(problem))
        objective = FactoredDiscrepancy(X, Y)
        assert np.abs(np.from_dlpack(objective.gradient(objective.uniform()))).max() < 1e-9
        found = FrankWolfe(max_iter=50, oracle=Assignment())(objective)
        assert found.value == pytest.approx(0, abs=1e-12)
        np.testing.assert_allclose(np.from_dlpack(found.state[2]), 0, atol=1e-9)  # XᵀPY: nothing to take a map from

    def test_a_linear_term_from_signatures_cures_it(self, asarray, problem):
        X, Y = (asarray(Z) for Z in rooted(problem))
        cost = 0.1 * signature_cost(row_quantiles(X @ X.T), row_quantiles(Y @ Y.T))
        found = FrankWolfe(max_iter=50)(plan_of(DenseDiscrepancy, X, Y, cost=cost))
        np.testing.assert_array_equal(hungarian(np.from_dlpack(found.state[0])), problem.permutation)
