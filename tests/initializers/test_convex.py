from __future__ import annotations

import numpy as np
import pytest

from damastes.initializers import Convex
from damastes.matching import FrankWolfe
from damastes.pairs import Pairs
from damastes.transport import Sinkhorn
from planted import assert_same_kind, hungarian, planted

NONE = Pairs.none()


def framed(scene, *, centred=True):
    """Both clouds scaled to one size, and exactly centred when asked to: as a solver sees them."""
    X, Y = scene.X, scene.Y
    if centred:
        X, Y = X - X.mean(axis=0), Y - Y.mean(axis=0)
    return X / np.sqrt(np.mean(np.sum(X**2, axis=1))), Y / np.sqrt(np.mean(np.sum(Y**2, axis=1)))


def start(X, Y, *, pairs=NONE, **options):
    return Convex(**options)(X, Y, pairs=pairs, rng=np.random.default_rng(0))


def matched(X, Y, Q, scene):
    """The share of planted pairs that an assignment under Q finds."""
    known = scene.permutation >= 0
    squares = np.sum((X @ Q) ** 2, axis=1)[:, None] + np.sum(Y**2, axis=1)[None, :]
    cost = squares - 2 * (X @ Q) @ Y.T
    return np.mean(hungarian(-cost[known])[: known.sum()] == scene.permutation[known])


class TestPlantedRotation:
    @pytest.mark.parametrize("centred", [True, False])
    @pytest.mark.parametrize("seed", range(3))
    def test_is_found_also_on_exactly_centred_data(self, seed, centred):
        scene = planted(80, 5, components=6, seed=seed)
        X, Y = framed(scene, centred=centred)
        Q = start(X, Y).Q
        assert np.linalg.norm(Q - scene.Q) < 0.2 * np.linalg.norm(scene.Q)
        assert matched(X, Y, Q, scene) > 0.9

    @pytest.mark.parametrize(("d", "d_target"), [(5, 5), (4, 7), (7, 4)])
    def test_is_found_with_unequal_sizes_and_dimensions(self, d, d_target):
        scene = planted(90, d, d_target=d_target, target_outliers=15, components=6, seed=2)
        X, Y = framed(scene)
        Q = start(X, Y).Q
        assert Q.shape == (d, d_target)
        gram = Q @ Q.T if d <= d_target else Q.T @ Q
        np.testing.assert_allclose(gram, np.eye(min(d, d_target)), atol=1e-10)
        assert matched(X, Y, Q, scene) > 0.6

    def test_the_plain_relaxation_learns_nothing_from_exactly_centred_clouds(self):
        """The uniform plan is then optimal; the descriptions of points break the tie."""
        scene = planted(80, 5, components=6)
        X, Y = framed(scene)
        plain, described = start(X, Y, mu=0.0), start(X, Y)
        assert plain.evidence["value"] < 1e-10
        assert matched(X, Y, plain.Q, scene) < 0.5
        assert matched(X, Y, described.Q, scene) > 0.9

    def test_only_the_first_points_count(self, rng):
        scene = planted(60, 4, components=5)
        X, Y = framed(scene)
        garbage = rng.standard_normal((20, 4))
        whole = start(np.concatenate([X, garbage]), np.concatenate([Y, 3 * garbage]), n_points=60)
        assert np.array_equal(whole.Q, start(X, Y).Q)
        assert whole.evidence["n_points"] == [60, 60]


class TestLibraries:
    def test_every_library_gives_the_same_answer(self, asarray, dtype):
        scene = planted(50, 4, components=5)
        X, Y = framed(scene)
        result = start(asarray(X, dtype), asarray(Y, dtype))
        assert_same_kind(result.Q, asarray(X, dtype))
        np.testing.assert_allclose(np.from_dlpack(result.Q), start(X, Y).Q, atol=5e-2 if dtype == "float32" else 1e-6)


class TestLowerBound:
    @pytest.mark.parametrize("noise", [0.0, 0.3, 1.0])
    @pytest.mark.parametrize(("d", "d_target"), [(4, 4), (3, 5), (5, 3)])
    def test_no_solution_is_cheaper_the_planted_one_included(self, noise, d, d_target):
        scene = planted(40, d, d_target=d_target, noise=noise)
        X, Y = (Z / np.linalg.norm(Z, axis=1, keepdims=True) for Z in (scene.X, scene.Y))
        bound = start(X, Y, mu=0.0).evidence["lower_bound"]
        # The smaller space is padded with zeros, so the lengths of both sides count in full.
        assert 0 <= bound <= 2 - 2 * np.sum(scene.P * (X @ scene.Q @ Y.T)) + 1e-9

    def test_it_says_something_of_clouds_that_differ(self, rng):
        X, Y = (Z / np.linalg.norm(Z, axis=1, keepdims=True) for Z in (rng.random((40, 3)), rng.normal(size=(40, 3))))
        assert start(X, Y, mu=0.0).evidence["lower_bound"] > 0.1

    @pytest.mark.parametrize("options", [{"mu": 0.1}, {"power": 1.0, "mu": 0.0}])
    def test_other_objectives_bound_nothing(self, options):
        X, Y = framed(planted(30, 3))
        assert "lower_bound" not in start(X, Y, **options).evidence

    def test_clouds_of_different_size_are_rescaled_and_then_bound_nothing(self):
        X, Y = framed(planted(30, 3))
        assert "lower_bound" not in start(X, 5 * Y, mu=0.0).evidence
        np.testing.assert_allclose(start(X, 5 * Y).Q, start(X, Y).Q, atol=1e-6)


class TestKnownPairs:
    def test_they_lead_where_shapes_do_not(self, rng):
        X = rng.standard_normal((60, 4))
        X = X - X.mean(axis=0)
        scene = planted(60, 4)
        Y = np.empty_like(X)
        Y[scene.permutation] = X @ scene.Q
        pairs = Pairs.from_rows(np.stack([np.arange(30), scene.permutation[:30]], axis=1), 60, 60)
        lost, led = (np.linalg.norm(start(X, Y, mu=0.0, pairs=p).Q - scene.Q) for p in (NONE, pairs))
        assert led < 0.3 < lost

    def test_pairs_beyond_the_first_points_are_left_out(self):
        X, Y = framed(planted(40, 4))
        pairs = Pairs.from_rows([(35, 2), (3, 39)], 40, 40)
        assert np.array_equal(start(X, Y, n_points=30, pairs=pairs).Q, start(X, Y, n_points=30).Q)


def test_evidence_tells_what_happened():
    X, Y = framed(planted(40, 4))
    calls = []
    solver = FrankWolfe(max_iter=7, oracle=Sinkhorn(reg=0.02, tol=1e-2, relative=True), tol=0.0)
    result = Convex(solver=solver)(
        X, Y, pairs=NONE, rng=np.random.default_rng(0), progress=lambda *call: calls.append(call)
    )
    assert result.evidence["n_iter"] == len(result.evidence["history"]) == len(calls)
    assert result.evidence["gap"] >= 0
    values = [record["value"] for record in result.evidence["history"]]
    assert all(np.diff(values) <= 1e-12)


def test_clouds_without_any_spread_still_give_an_orthogonal_map():
    Q = start(np.zeros((5, 2)), np.zeros((4, 2))).Q
    np.testing.assert_allclose(Q.T @ Q, np.eye(2), atol=1e-12)


@pytest.mark.parametrize("options", [{"n_points": 1}, {"mu": -0.1}, {"power": 0.0}, {"power": 1.5}])
def test_bad_settings_are_refused(options):
    X, Y = framed(planted(10, 2))
    with pytest.raises(ValueError, match="Convex needs n_points ≥ 2, mu ≥ 0 and power"):
        start(X, Y, **options)
