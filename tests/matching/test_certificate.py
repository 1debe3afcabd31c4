from __future__ import annotations

import numpy as np
import pytest

from damastes.matching import Certificate, FrankWolfe, certify
from damastes.transport import Assignment, Sinkhorn, wasserstein
from planted import best_transport_cost, cloud, orthogonal, planted

QUICK = FrankWolfe(max_iter=20, oracle=Assignment())


class TestLowerBound:
    @pytest.mark.parametrize("seed", range(8))
    @pytest.mark.parametrize(("d_x", "d_y"), [(2, 2), (3, 3), (2, 4), (4, 2)])
    @pytest.mark.parametrize("oracle", [Assignment(), Sinkhorn(reg=0.002, tol=1e-2, relative=True)])
    def test_is_below_the_optimum_over_all_permutations(self, seed, d_x, d_y, oracle):
        rng = np.random.default_rng(seed)
        X, Y = cloud(5, d_x, rng), cloud(5, d_y, rng)
        optimum = best_transport_cost(X, Y)
        found = certify(X, Y, orthogonal(d_x, d_y, rng), solver=FrankWolfe(max_iter=60, oracle=oracle))
        assert found.lower_bound <= optimum + 1e-10
        assert found.value >= optimum - 1e-10
        # Not vacuous: the spectra differ, and that alone costs something.
        assert found.lower_bound > 0

    @pytest.mark.parametrize("seed", range(3))
    def test_is_below_the_optimum_for_six_noisy_points(self, seed):
        problem = planted(6, 3, noise=0.3, seed=seed)
        optimum = best_transport_cost(problem.X, problem.Y)
        found = certify(problem.X, problem.Y, problem.Q)
        assert found.lower_bound <= optimum <= found.value + 1e-10
        assert found.lower_bound > 0.05 * optimum

    @pytest.mark.parametrize("max_iter", [1, 2, 5])
    @pytest.mark.parametrize("oracle", [Assignment(), Sinkhorn(reg=0.5, tol=0.1, relative=True)])
    def test_holds_however_early_the_solver_stops(self, max_iter, oracle):
        problem = planted(6, 3, noise=0.05)
        found = certify(problem.X, problem.Y, problem.Q, solver=FrankWolfe(max_iter=max_iter, oracle=oracle))
        assert found.lower_bound <= best_transport_cost(problem.X, problem.Y)

    @pytest.mark.parametrize(("n", "m"), [(6, 9), (9, 6)])
    def test_holds_for_weights_and_unequal_sizes(self, rng, n, m):
        X, Y, a, b = cloud(n, 2, rng), cloud(m, 2, rng), rng.dirichlet(np.ones(n)), rng.dirichlet(np.ones(m))
        found = certify(X, Y, np.eye(2), a=a, b=b)
        angles = np.linspace(0, 2 * np.pi, 60)
        for flip in (1, -1):
            for c, s in zip(np.cos(angles), np.sin(angles), strict=True):
                Q = np.array([[c, s], [-flip * s, flip * c]])
                assert found.lower_bound <= wasserstein(X @ Q, Y, a=a, b=b).value + 1e-10


class TestCertificate:
    @pytest.mark.parametrize("d_target", [2, 3, 5])
    def test_isometric_clouds_have_no_excess(self, asarray, dtype, d_target):
        problem = planted(20, 3, d_target=d_target)
        found = certify(*(asarray(Z, dtype) for Z in (problem.X, problem.Y, problem.Q)), solver=QUICK)
        assert found.excess == pytest.approx(0, abs=1e-5)

    def test_the_relaxation_adds_to_what_the_spectra_tell(self):
        problem = planted(20, 3)
        found = certify(problem.X, 1.5 * problem.Y, problem.Q)
        assert found.value == pytest.approx(0.25 * np.mean(np.sum(problem.X**2, axis=1)))
        # The spectra alone account for half of the cost.
        assert 0.55 * found.value < found.lower_bound < found.value

    def test_a_wrong_map_has_an_excess(self, asarray, rng):
        problem = planted(20, 3)
        X, Y, Q = problem.X, problem.Y, orthogonal(3, 3, rng)
        found = certify(asarray(X), asarray(Y), asarray(Q), solver=QUICK)
        assert found.value == pytest.approx(wasserstein(X @ Q, Y).value)
        assert found.excess > 0.05

    def test_every_library_agrees(self, asarray, dtype):
        problem = planted(20, 3, noise=0.3)
        found = certify(*(asarray(Z, dtype) for Z in (problem.X, problem.Y, problem.Q)), solver=QUICK)
        expected = certify(problem.X, problem.Y, problem.Q, solver=QUICK)
        assert found.value == pytest.approx(expected.value, rel=1e-4)
        assert found.lower_bound == pytest.approx(expected.lower_bound, rel=1e-2)

    def test_dropped_coordinates_are_paid_for(self, rng):
        X, Y = cloud(5, 4, rng), cloud(5, 2, rng)
        Q = orthogonal(4, 2, rng)
        full = np.concatenate([Q, np.linalg.svd(Q)[0][:, 2:]], axis=1)
        padded = np.pad(Y, ((0, 0), (0, 2)))
        assert certify(X, Y, Q).value == pytest.approx(wasserstein(X @ full, padded).value)

    def test_says_what_it_means(self):
        text = str(Certificate(value=0.5, lower_bound=0.2))
        assert "transport cost 0.5" in text
        assert "at most 0.3 from the global optimum" in text
        assert Certificate(value=0.2, lower_bound=0.5).excess == 0


@pytest.mark.parametrize(
    ("X", "Y", "Q", "options", "message"),
    [
        (np.array([[np.nan]]), np.eye(1), np.eye(1), {}, "X must hold finite"),
        (np.ones((2, 2)), np.ones(2), np.eye(2), {}, "Y must be 2-D"),
        (np.eye(2), np.eye(2), np.eye(3), {}, r"Q must be of shape \(2, 2\).*got \(3, 3\)"),
        (np.eye(2), np.eye(2), 2 * np.eye(2), {}, "Q must be orthogonal.*polar"),
        (np.eye(2), np.eye(2), np.eye(2), {"a": [1, 0]}, "a must hold finite weights above 0"),
    ],
)
def test_bad_input_is_named(X, Y, Q, options, message):
    with pytest.raises(ValueError, match=message):
        certify(X, Y, Q, **options)
