from __future__ import annotations

import numpy as np
import pytest

from damastes.pairs import Pairs
from damastes.solvers import Refinement, Solution, Subspace
from planted import assert_same_kind, cloud, planted

NONE = Pairs.none()


def solve(X, Y, Q, *, pairs=NONE, seed=0, **options):
    return Subspace(**options)(X, Y, Q, pairs=pairs, rng=np.random.default_rng(seed))


def unit(Z):
    return Z / np.linalg.norm(Z, axis=1, keepdims=True)


def projected(M):
    U, _, Vt = np.linalg.svd(M, full_matrices=False)
    return U @ Vt


class Stay:
    """Leave the map as it is, and remember what there was to see."""

    def __call__(self, X, Y, Q, *, pairs, rng, progress):
        self.X, self.Y, self.Q, self.pairs = X, Y, Q, pairs
        return Solution(Q, [{"step": 1.0}], Q)


@pytest.fixture
def scene():
    return planted(200, 8)


class TestThere:
    @pytest.mark.parametrize("power", [1.0, 0.5])
    def test_clouds_are_unit_rows_in_the_leading_directions(self, asarray, dtype, scene, power):
        X, Y, Q = (asarray(Z, dtype) for Z in (unit(scene.X), unit(scene.Y), scene.Q))
        stay = Stay()
        solve(X, Y, Q, solver=stay, dimension=3, power=power)
        for Z, there in ((scene.X, stay.X), (scene.Y, stay.Y)):
            assert_same_kind(there, X)
            there = np.from_dlpack(there).astype(np.float64)
            assert there.shape == (200, 3)
            np.testing.assert_allclose(np.linalg.norm(there, axis=1), 1, atol=1e-5)
            leading = unit(Z) @ np.linalg.eigh(unit(Z).T @ unit(Z))[1][:, -3:]
            if power == 1:
                np.testing.assert_allclose(there @ there.T, unit(leading) @ unit(leading).T, atol=1e-4)
        assert stay.Q.shape == (3, 3)

    def test_a_power_flattens_the_spectrum(self, scene):
        spreads = []
        for power in (1.0, 0.75, 0.25):
            stay = Stay()
            solve(unit(scene.X), unit(scene.Y), scene.Q, solver=stay, power=power)
            values = np.linalg.svd(stay.X, compute_uv=False)
            spreads.append(values[0] / values[-1])
        assert spreads[0] > 1.1 * spreads[1] > 1.1**2 * spreads[2]

    def test_the_right_map_is_right_there_too(self, scene):
        """Both sides are projected alike, so the carried map brings partners together."""
        stay = Stay()
        solve(unit(scene.X), unit(scene.Y), scene.Q, solver=stay, dimension=4)
        nearest = (stay.X @ stay.Q @ stay.Y.T).argmax(axis=1)
        assert np.mean(nearest == scene.permutation) > 0.95

    @pytest.mark.parametrize(("d", "d_target"), [(5, 9), (9, 5)])
    def test_there_are_no_more_directions_than_the_smaller_space_has(self, d, d_target):
        scene = planted(100, d, d_target=d_target)
        stay = Stay()
        solution = solve(unit(scene.X), unit(scene.Y), scene.Q, solver=stay, dimension=150)
        assert stay.X.shape == stay.Y.shape == (100, 5)
        assert solution.Q.shape == (d, d_target)

    def test_pairs_are_the_same_rows(self, scene):
        pairs, stay = Pairs.from_rows([(3, 7)], 200, 200), Stay()
        solve(unit(scene.X), unit(scene.Y), scene.Q, solver=stay, pairs=pairs)
        assert stay.pairs is pairs


class TestBack:
    @pytest.mark.parametrize(("d", "d_target"), [(8, 8), (6, 9), (9, 6)])
    def test_a_planted_map_is_recovered_from_nearby(self, asarray, dtype, d, d_target, rng):
        scene = planted(250, d, d_target=d_target, target_outliers=20)
        start = projected(scene.Q + 0.15 * rng.standard_normal(scene.Q.shape))
        X, Y, Q = (asarray(Z, dtype) for Z in (unit(scene.X), unit(scene.Y), start))
        solution = solve(X, Y, Q, solver=Refinement(n_epochs=4), dimension=6)
        assert_same_kind(solution.Q, X)
        found = np.from_dlpack(solution.Q)
        # Coupled softly on the way back, so close to the planted map rather than equal to it.
        assert np.linalg.norm(found - scene.Q) < 0.6 * np.linalg.norm(start - scene.Q)
        matched = scene.permutation >= 0
        assert (
            np.mean((unit(scene.X) @ found @ unit(scene.Y).T).argmax(axis=1)[matched] == scene.permutation[matched])
            > 0.95
        )

    def test_the_result_is_orthogonal_and_a_metric_of_there_stays_there(self, scene):
        solution = solve(unit(scene.X), unit(scene.Y), scene.Q, solver=Stay(), dimension=3)
        np.testing.assert_allclose(solution.Q.T @ solution.Q, np.eye(8), atol=1e-10)
        assert solution.metric is None
        assert solution.history == [{"step": 1.0}]

    def test_inputs_stay_untouched_and_equal_seeds_give_equal_bits(self, scene):
        arrays = unit(scene.X), unit(scene.Y), scene.Q.copy()
        before = [Z.copy() for Z in arrays]
        one, other = (solve(*arrays, solver=Refinement(n_epochs=1), dimension=4).Q for _ in range(2))
        assert np.array_equal(one, other)
        assert all(np.array_equal(Z, old) for Z, old in zip(arrays, before, strict=True))

    def test_a_flat_cloud_gives_an_orthogonal_map(self, rng):
        flat = unit(cloud(60, 3, rng) @ rng.standard_normal((3, 7)))
        Q = solve(flat, flat, np.eye(7), solver=Refinement(n_epochs=1), dimension=6).Q
        np.testing.assert_allclose(Q.T @ Q, np.eye(7), atol=1e-8)


@pytest.mark.parametrize("options", [{"dimension": 0}, {"n_points": 0}, {"power": 0.0}, {"power": 1.5}])
def test_bad_settings_are_refused(scene, options):
    with pytest.raises(ValueError, match=r"Subspace needs dimension ≥ 1, n_points ≥ 1 and power in \(0, 1\]"):
        solve(scene.X, scene.Y, scene.Q, solver=Refinement(), **options)
