from __future__ import annotations

from itertools import permutations

import numpy as np
import ot
import pytest

from damastes.transport import Assignment, Sinkhorn, transport_cost, wasserstein
from planted import cloud, orthogonal, planted


def squared_distances(X, Y):
    return np.sum((X[:, None] - Y[None]) ** 2, axis=2)


class TestExact:
    def test_agrees_with_trying_every_permutation(self, asarray, rng):
        X, Y = rng.standard_normal((6, 3)), rng.standard_normal((6, 3))
        D = squared_distances(X, Y)
        best = min(D[range(6), p].mean() for p in permutations(range(6)))
        assert wasserstein(asarray(X), asarray(Y)).value == pytest.approx(best, abs=1e-10)

    @pytest.mark.parametrize("weighted", [False, True])
    @pytest.mark.parametrize(("n", "m"), [(7, 11), (11, 7)])
    def test_agrees_with_emd2(self, asarray, dtype, rng, weighted, n, m):
        X, Y = cloud(n, 3, rng), cloud(m, 3, rng)
        a, b = (rng.dirichlet(np.ones(n)), rng.dirichlet(np.ones(m))) if weighted else (None, None)
        found = wasserstein(asarray(X, dtype), asarray(Y, dtype), a=a, b=b)
        uniform = np.full(n, 1 / n), np.full(m, 1 / m)
        expected = ot.emd2(*((a, b) if weighted else uniform), squared_distances(X, Y))
        assert found.value == pytest.approx(expected, abs=1e-5 if dtype == "float32" else 1e-7)

    def test_a_reordered_cloud_is_at_distance_zero(self, asarray, dtype, rng):
        X = 100 + cloud(50, 4, rng)
        found = wasserstein(asarray(X, dtype), asarray(X[rng.permutation(50)], dtype))
        assert 0 <= found.value < (1e-2 if dtype == "float32" else 1e-9)

    def test_a_planted_map_brings_the_clouds_together(self, asarray):
        problem = planted(30, 4, d_target=6)
        found = wasserstein(asarray(problem.X @ problem.Q), asarray(problem.Y))
        assert found.value == pytest.approx(0, abs=1e-12)
        np.testing.assert_array_equal(found.coupling.columns, problem.permutation)

    def test_a_translation_costs_its_squared_length(self, rng):
        X, step = cloud(20, 3, rng), np.array([1.0, 2.0, -2.0])
        assert wasserstein(X, X + step).value == pytest.approx(9)

    def test_symmetric_and_unchanged_by_a_joint_rotation(self, rng):
        X, Y, Q = cloud(15, 3, rng), cloud(15, 3, rng), orthogonal(3, 3, rng)
        value = wasserstein(X, Y).value
        assert wasserstein(Y, X).value == pytest.approx(value)
        assert wasserstein(X @ Q, Y @ Q).value == pytest.approx(value)


class TestEntropic:
    def test_is_never_below_the_exact_distance_and_approaches_it(self, asarray, rng):
        X, Y = asarray(cloud(15, 3, rng)), asarray(cloud(20, 3, rng))
        exact = wasserstein(X, Y).value
        values = [
            wasserstein(X, Y, coupler=Sinkhorn(reg, tol=1e-7, max_iter=100_000)).value for reg in (1.0, 0.2, 0.05)
        ]
        assert values == sorted(values, reverse=True)
        assert values[-1] >= exact - 1e-6
        assert values[-1] == pytest.approx(exact, rel=0.1)


class TestTransportCost:
    @pytest.mark.parametrize("coupler", [Assignment(), Sinkhorn(0.1, max_iter=3)])
    def test_is_the_sum_over_the_plan(self, asarray, dtype, rng, coupler):
        X, Y = cloud(9, 2, rng), cloud(9, 2, rng)
        coupling = coupler(asarray(X @ Y.T, dtype))
        expected = np.sum(np.from_dlpack(coupling.plan()) * squared_distances(X, Y))
        assert transport_cost(asarray(X, dtype), asarray(Y, dtype), coupling) == pytest.approx(expected, abs=1e-5)


@pytest.mark.parametrize(
    ("source", "target", "options", "message"),
    [
        (np.ones((2, 2)), np.ones((2, 3)), {}, "one dimension, got 2 and 3. Align first"),
        (np.array([[np.nan]]), np.ones((1, 1)), {}, "source must hold finite"),
        (np.ones((1, 1)), np.ones(1), {}, "target must be 2-D"),
        (np.ones((0, 1)), np.ones((1, 1)), {}, "source must hold at least"),
        (np.ones((2, 1)), np.ones((2, 1)), {"a": [1, -1]}, "a must hold finite weights above 0"),
        (np.ones((2, 1)), np.ones((2, 1)), {"b": [1]}, "b must hold one weight a point"),
        (np.ones((2, 1)), np.ones((2, 1)), {"coupler": Sinkhorn(0)}, "reg must be above 0"),
    ],
)
def test_bad_input_is_named(source, target, options, message):
    with pytest.raises(ValueError, match=message):
        wasserstein(source, target, **options)


def test_a_cost_needs_points_of_one_space():
    coupling = Assignment()(np.eye(2))
    with pytest.raises(ValueError, match="one dimension, got 3 and 2"):
        transport_cost(np.ones((2, 3)), np.ones((2, 2)), coupling)
