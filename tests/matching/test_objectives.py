from __future__ import annotations

import numpy as np
import pytest

from damastes.matching import Agreement, DenseDiscrepancy, FactoredDiscrepancy
from damastes.transport import Assignment, Sinkhorn
from planted import assert_same_kind, cloud, planted


class Plan:
    """A written-out coupling, to ask an objective about any plan."""

    def __init__(self, P):
        self.P = P

    def plan(self):
        return self.P

    def to_source(self, Y):
        return self.P @ Y

    def to_target(self, X):
        return self.P.T @ X

    def inner(self, cost):
        return float(np.sum(np.from_dlpack(self.P) * np.from_dlpack(cost)))


def random_plan(a, b, rng):
    P = rng.random((len(a), len(b)))
    for _ in range(500):
        P *= (a / P.sum(1))[:, None]
        P *= b / P.sum(0)
    return P


def value(objective, plan):
    state = objective.state(Plan(plan))
    return objective.quadratic(state, state) + objective.linear(state)


def problem(rng, n=9, m=7, d_x=4, d_y=3, *, weighted=True, linear=True):
    """Factors, weights, linear term and a plan, as NumPy arrays."""
    X, Y = cloud(n, d_x, rng), cloud(m, d_y, rng)
    a, b = (rng.dirichlet(3 * np.ones(k)) if weighted else np.full(k, 1 / k) for k in (n, m))
    cost = rng.standard_normal((n, m)) if linear else None
    return X, Y, {"a": a, "b": b, "cost": cost}, random_plan(a, b, rng)


OBJECTIVES = [FactoredDiscrepancy, DenseDiscrepancy, Agreement]


def build(kind, X, Y, **options):
    return kind(X, Y, **options) if kind is FactoredDiscrepancy else kind(X @ X.T, Y @ Y.T, **options)


@pytest.mark.parametrize("kind", OBJECTIVES)
class TestEveryObjective:
    def test_the_gradient_is_that_of_finite_differences(self, kind, rng):
        X, Y, options, P = problem(rng)
        objective = build(kind, X, Y, **options)
        gradient = objective.gradient(objective.state(Plan(P)))
        for _ in range(5):
            D = rng.standard_normal(P.shape)
            slope = (value(objective, P + 1e-4 * D) - value(objective, P - 1e-4 * D)) / 2e-4
            assert np.sum(gradient * D) == pytest.approx(slope, rel=1e-6)

    def test_the_quadratic_part_is_bilinear_and_symmetric(self, kind, rng):
        X, Y, options, P = problem(rng)
        objective = build(kind, X, Y, **options)
        s, t = objective.state(Plan(P)), objective.state(Assignment()(-options["cost"], a=options["a"], b=options["b"]))
        half = tuple((u + v) / 2 for u, v in zip(s, t, strict=True))
        assert objective.quadratic(s, t) == pytest.approx(objective.quadratic(t, s))
        assert objective.quadratic(half, half) == pytest.approx(
            (objective.quadratic(s, s) + 2 * objective.quadratic(s, t) + objective.quadratic(t, t)) / 4
        )
        assert objective.linear(half) == pytest.approx((objective.linear(s) + objective.linear(t)) / 2)

    def test_uniform_is_the_state_of_the_independent_plan(self, kind, rng):
        X, Y, options, _ = problem(rng)
        objective = build(kind, X, Y, **options)
        for u, v in zip(objective.uniform(), objective.state(Plan(np.outer(options["a"], options["b"]))), strict=True):
            np.testing.assert_allclose(u, v, atol=1e-12)

    def test_every_library_and_precision_agrees(self, kind, asarray, dtype, rng):
        X, Y, options, _ = problem(rng)
        expected = build(kind, X, Y, **options)
        coupling = Sinkhorn(0.1)(options["cost"], a=options["a"], b=options["b"])
        given = {name: asarray(values, dtype) for name, values in options.items()}
        objective = build(kind, asarray(X, dtype), asarray(Y, dtype), **given)
        state = objective.state(Plan(asarray(coupling.plan(), dtype)))
        gradient = objective.gradient(state)
        assert_same_kind(gradient, given["cost"])
        reference = expected.state(coupling)
        np.testing.assert_allclose(np.from_dlpack(gradient), expected.gradient(reference), atol=1e-4)
        assert objective.quadratic(state, state) == pytest.approx(expected.quadratic(reference, reference), abs=1e-5)
        assert objective.linear(state) == pytest.approx(expected.linear(reference), abs=1e-5)
        assert objective.scale() == pytest.approx(expected.scale(), rel=1e-5)

    def test_the_linear_term_may_come_in_another_precision(self, kind, asarray, rng):
        X, Y, options, _ = problem(rng)
        objective = build(kind, asarray(X, "float32"), asarray(Y, "float32"), cost=options["cost"])
        assert_same_kind(objective.gradient(objective.uniform()), asarray(X, "float32"))

    @pytest.mark.parametrize(
        ("options", "message"),
        [
            ({"a": [1, 2]}, "a must hold one weight a point"),
            ({"b": [1, 1, -1]}, "b must hold finite weights above 0"),
            ({"cost": np.ones((3, 4))}, r"cost must be of shape \(3, 3\)"),
            ({"cost": np.full((3, 3), np.nan)}, "cost must hold finite"),
        ],
    )
    def test_bad_options_are_named(self, kind, options, message):
        with pytest.raises(ValueError, match=message):
            kind(np.eye(3), np.eye(3), **options)

    @pytest.mark.parametrize("bad", [np.full((3, 3), np.inf), np.ones(3), np.ones((0, 3)), [["a"]]])
    def test_bad_points_are_named(self, kind, bad):
        second = "Y" if kind is FactoredDiscrepancy else "K_Y"
        with pytest.raises(ValueError, match=f"^{second} must"):
            kind(np.eye(3), bad)


@pytest.mark.parametrize("kind", [DenseDiscrepancy, Agreement])
class TestKernels:
    def test_must_be_square(self, kind):
        with pytest.raises(ValueError, match=r"K_X must be square, got shape \(3, 2\)"):
            kind(np.ones((3, 2)), np.eye(3))

    def test_must_be_symmetric(self, kind):
        with pytest.raises(ValueError, match=r"K_Y must be symmetric.*\(K_Y \+ K_Y.T\) / 2"):
            kind(np.eye(3), np.triu(np.ones((3, 3))))


class TestDiscrepancy:
    @pytest.mark.parametrize("weighted", [False, True])
    @pytest.mark.parametrize(("n", "m", "d_x", "d_y"), [(8, 8, 3, 3), (9, 6, 2, 5), (6, 9, 5, 2)])
    def test_factored_and_dense_agree(self, rng, weighted, n, m, d_x, d_y):
        X, Y, options, P = problem(rng, n, m, d_x, d_y, weighted=weighted)
        factored, dense = (build(kind, X, Y, **options) for kind in (FactoredDiscrepancy, DenseDiscrepancy))
        s, t = factored.state(Plan(P)), dense.state(Plan(P))
        assert factored.quadratic(s, s) == pytest.approx(dense.quadratic(t, t), rel=1e-9)
        assert factored.linear(s) == pytest.approx(dense.linear(t), rel=1e-9)
        np.testing.assert_allclose(factored.gradient(s), dense.gradient(t), atol=1e-10)
        assert factored.scale() == pytest.approx(dense.scale())

    def test_is_the_papers_objective_for_permutations(self, rng):
        X, Y = cloud(8, 3, rng), cloud(8, 3, rng)
        P = np.eye(8)[rng.permutation(8)]
        expected = np.sum((X @ X.T @ P - P @ Y @ Y.T) ** 2) / 64
        assert value(FactoredDiscrepancy(X, Y), P / 8) == pytest.approx(expected)

    @pytest.mark.parametrize("kind", [FactoredDiscrepancy, DenseDiscrepancy])
    @pytest.mark.parametrize(("noise", "exact"), [(0.0, True), (0.3, False)])
    def test_is_zero_at_the_planted_plan_of_isometric_clouds_only(self, kind, noise, exact):
        planted_problem = planted(12, 3, d_target=5, noise=noise)
        objective = build(kind, planted_problem.X, planted_problem.Y)
        relative = value(objective, planted_problem.P) / objective.scale()
        assert relative == pytest.approx(0, abs=1e-12) if exact else relative > 1e-4

    @pytest.mark.parametrize("kind", [FactoredDiscrepancy, DenseDiscrepancy])
    def test_splitting_a_point_in_two_of_half_the_weight_changes_nothing(self, kind, rng):
        X, Y, options, P = problem(rng)
        before = value(build(kind, X, Y, **options), P)
        a, cost = options["a"].copy(), options["cost"]
        a[0] /= 2
        halves = P.copy()
        halves[0] /= 2
        split = build(
            kind,
            np.concatenate([X, X[:1]]),
            Y,
            a=np.append(a, a[0]),
            b=options["b"],
            cost=np.concatenate([cost, cost[:1]]),
        )
        assert value(split, np.concatenate([halves, halves[:1]])) == pytest.approx(before, rel=1e-10)

    @pytest.mark.parametrize("kind", [FactoredDiscrepancy, DenseDiscrepancy])
    def test_the_transposed_problem_has_the_same_value(self, kind, rng):
        X, Y, options, P = problem(rng)
        flipped = {"a": options["b"], "b": options["a"], "cost": options["cost"].T}
        assert value(build(kind, Y, X, **flipped), P.T) == pytest.approx(value(build(kind, X, Y, **options), P))

    def test_is_never_negative(self, rng):
        for _ in range(20):
            X, Y, options, P = problem(rng, linear=False)
            assert value(FactoredDiscrepancy(X, Y, **options), P) >= 0

    def test_float32_keeps_the_value_where_it_cancels(self):
        planted_problem = planted(200, 8, components=5)
        X, Y = planted_problem.X.astype(np.float32), planted_problem.Y.astype(np.float32)
        objective = FactoredDiscrepancy(X, Y)
        assert abs(value(objective, planted_problem.P.astype(np.float32))) < 1e-6 * objective.scale()


class TestAgreement:
    def test_differs_from_the_discrepancy_by_a_constant_on_permutations(self, rng):
        X, Y = cloud(7, 3, rng), cloud(7, 3, rng)
        agreement, discrepancy = build(Agreement, X, Y), build(DenseDiscrepancy, X, Y)
        plans = [np.eye(7)[rng.permutation(7)] / 7 for _ in range(10)]
        differences = [value(discrepancy, P) - 2 * value(agreement, P) for P in plans]
        assert np.ptp(differences) == pytest.approx(0, abs=1e-10)
        assert np.ptp([value(discrepancy, P) for P in plans]) > 0.1
