from __future__ import annotations

import pickle
from itertools import islice

import numpy as np
import pytest

from damastes.pairs import Pairs
from damastes.retrieval import CSLS, Nearest
from damastes.solvers import SelfLearning, averaging, fading
from damastes.solvers.self_learning import _dealt
from planted import assert_same_kind, planted

NONE = Pairs.none()


def solve(X, Y, Q, *, pairs=NONE, seed=0, **options):
    return SelfLearning(**options)(X, Y, Q, pairs=pairs, rng=np.random.default_rng(seed))


def unit(Z):
    return Z / np.linalg.norm(Z, axis=1, keepdims=True)


def projected(M):
    U, _, Vt = np.linalg.svd(M, full_matrices=False)
    return U @ Vt


def near(Q, rng, amount):
    return projected(Q + amount * rng.standard_normal(Q.shape))


def mutual(cosines):
    there, back = cosines.argmax(axis=1), cosines.argmax(axis=0)
    rows = np.flatnonzero(back[there] == np.arange(len(cosines)))
    return rows, there[rows]


@pytest.fixture
def scene():
    return planted(120, 6, source_outliers=6, target_outliers=11)


class TestPlantedMap:
    @pytest.mark.parametrize("retriever", [CSLS(), Nearest()])
    @pytest.mark.parametrize("noise", [0.0, 0.1])
    def test_is_a_fixed_point(self, retriever, noise):
        scene = planted(80, 6)
        solution = solve(unit(scene.X), unit(scene.Y), scene.Q, n_iter=5, retriever=retriever, noise=noise)
        np.testing.assert_allclose(solution.Q, scene.Q, atol=1e-10)
        assert [record["n_pairs"] for record in solution.history] == [80] * 5

    @pytest.mark.parametrize("noise", [0.0, 0.1])
    @pytest.mark.parametrize("memory", [averaging, fading(0.7)], ids=["averaging", "fading"])
    def test_is_recovered_from_batches_that_share_only_some_pairs(self, asarray, dtype, rng, memory, noise):
        scene = planted(120, 6)
        Q = near(scene.Q, rng, 0.25)
        arrays = [asarray(Z, dtype) for Z in (unit(scene.X), unit(scene.Y), Q)]
        solution = solve(*arrays, n_iter=40, batch_size=70, memory=memory, noise=noise)
        assert_same_kind(solution.Q, arrays[2])
        found = np.from_dlpack(solution.Q)
        nearest = (unit(scene.X) @ found @ unit(scene.Y).T).argmax(axis=1)
        assert np.mean(nearest == scene.permutation) > 0.95
        assert np.linalg.norm(found - scene.Q) < 0.3 * np.linalg.norm(Q - scene.Q)
        assert (solution.metric is None) == (noise == 0)
        if noise:
            assert_same_kind(solution.metric, arrays[2])

    @pytest.mark.parametrize(("d", "d_target"), [(5, 8), (8, 5)])
    @pytest.mark.parametrize("noise", [0.0, 0.1])
    def test_is_recovered_with_unequal_sizes_and_dimensions(self, rng, d, d_target, noise):
        scene = planted(150, d, d_target=d_target, target_outliers=30)
        solution = solve(unit(scene.X), unit(scene.Y), near(scene.Q, rng, 0.1), n_iter=30, batch_size=100, noise=noise)
        assert np.linalg.norm(solution.Q - scene.Q) < 0.1
        shorter = solution.Q @ solution.Q.T if d < d_target else solution.Q.T @ solution.Q
        np.testing.assert_allclose(shorter, np.eye(5), atol=1e-10)


class TestStopping:
    @pytest.mark.parametrize("noise", [0.0, 0.1])
    def test_a_map_that_stands_still_needs_no_more_batches(self, asarray, rng, noise):
        scene = planted(80, 6)
        arrays = [asarray(Z) for Z in (unit(scene.X), unit(scene.Y), near(scene.Q, rng, 0.05))]
        solution = solve(*arrays, n_iter=50, noise=noise, tol=1e-6)
        assert 2 <= len(solution.history) < 10
        np.testing.assert_allclose(np.from_dlpack(solution.Q), scene.Q, atol=1e-8)

    def test_a_map_that_batches_move_goes_on(self):
        scene = planted(120, 6, noise=0.3)
        options = {"n_iter": 12, "batch_size": 40, "memory": fading(0.2)}
        assert len(solve(unit(scene.X), unit(scene.Y), scene.Q, tol=1e-6, **options).history) == 12
        assert len(solve(unit(scene.X), unit(scene.Y), scene.Q, tol=2.0, **options).history) == 1


class TestAStep:
    def test_is_procrustes_on_the_mutual_neighbours_of_a_batch(self, scene, rng):
        X, Y, Q = unit(scene.X), unit(scene.Y), near(scene.Q, rng, 0.3)
        rows, columns = mutual(unit(X @ Q) @ Y.T)
        solution = solve(X, Y, Q, n_iter=1, retriever=Nearest())  # a batch of more than there are is all of them
        assert solution.history[0]["n_pairs"] == len(rows) < len(X)
        np.testing.assert_allclose(solution.Q, projected(X[rows].T @ Y[columns]), atol=1e-10)

    @pytest.mark.parametrize("memory", [averaging, fading(0.6)], ids=["averaging", "fading"])
    def test_averages_over_what_came_before(self, scene, rng, memory):
        X, Y, Q = unit(scene.X), unit(scene.Y), near(scene.Q, rng, 0.3)
        M = np.zeros_like(Q)
        R = Q
        for t in range(4):
            rows, columns = mutual(unit(X @ R) @ Y.T)
            alpha = memory(t)
            M = (1 - alpha) * M + alpha * X[rows].T @ Y[columns] / len(rows)
            R = projected(M)
        found = solve(X, Y, Q, n_iter=4, memory=memory, retriever=Nearest()).Q
        np.testing.assert_allclose(found, R, atol=1e-10)
        forgetful = solve(X, Y, Q, n_iter=4, memory=fading(0.0), retriever=Nearest()).Q
        assert not np.allclose(found, forgetful, atol=1e-6)

    def test_pairs_count_by_how_far_they_are_ahead(self, asarray, scene, rng):
        X, Y, Q = unit(scene.X), unit(scene.Y), near(scene.Q, rng, 0.3)
        cosines = unit(X @ Q) @ Y.T
        rows, columns = mutual(cosines)
        ahead = np.array(
            [
                cosines[i, j] - max(np.delete(cosines[i], j).max(), np.delete(cosines[:, j], i).max())
                for i, j in zip(rows, columns, strict=True)
            ]
        )
        enough = float(np.median(ahead))
        weights = np.clip(ahead / enough, 0.1, 1)
        solution = solve(*(asarray(Z) for Z in (X, Y, Q)), n_iter=1, lead=enough, retriever=Nearest())
        expected = projected((weights[:, None] * X[rows]).T @ Y[columns])
        np.testing.assert_allclose(np.from_dlpack(solution.Q), expected, atol=1e-10)
        assert not np.allclose(expected, projected(X[rows].T @ Y[columns]), atol=1e-3)

    @pytest.mark.parametrize("doubled", [40, 39])
    def test_doubles_do_no_harm(self, doubled):
        """Nor when all but one point have them, which is then alone in being ahead."""
        scene = planted(40, 6)
        rows = np.repeat(np.arange(40), [2] * doubled + [1] * (40 - doubled))
        X, Y = unit(scene.X)[rows], unit(scene.Y[scene.permutation])[rows]
        np.testing.assert_allclose(solve(X, Y, scene.Q, n_iter=3, lead=0.1).Q, scene.Q, atol=1e-8)

    def test_points_beyond_the_pool_never_matter(self, scene, rng):
        X, Y, Q = unit(scene.X), unit(scene.Y), near(scene.Q, rng, 0.2)
        other = [np.concatenate([Z[:50], unit(rng.standard_normal((20, 6)))]) for Z in (X, Y)]
        options = {"n_iter": 5, "batch_size": 30, "pool": 50, "noise": 0.1}
        one, same = solve(X, Y, Q, **options), solve(*other, Q, **options)
        assert np.array_equal(one.Q, same.Q)
        assert np.array_equal(one.metric, same.metric)
        assert max(record["n_pairs"] for record in one.history) <= 30

    def test_known_pairs_enter_by_their_trust(self, scene, rng):
        X, Y, Q = unit(scene.X), unit(scene.Y), near(scene.Q, rng, 0.1)
        heavy = Pairs.from_rows([(i, i, 1e9) for i in range(6)], len(X), len(Y))
        np.testing.assert_allclose(solve(X, Y, Q, n_iter=3, pairs=heavy).Q, projected(X[:6].T @ Y[:6]), atol=1e-4)

    def test_seeds_decide_and_inputs_stay_untouched(self, scene, rng):
        arrays = unit(scene.X), unit(scene.Y), near(scene.Q, rng, 0.2)
        before = [Z.copy() for Z in arrays]
        options = {"n_iter": 3, "batch_size": 40, "noise": 0.1}
        assert np.array_equal(solve(*arrays, **options).Q, solve(*arrays, **options).Q)
        assert not np.array_equal(solve(*arrays, **options).Q, solve(*arrays, seed=1, **options).Q)
        assert all(np.array_equal(Z, old) for Z, old in zip(arrays, before, strict=True))


@pytest.mark.parametrize("sizes", [(60, 60), (40, 60), (40, 80), (20, 90), (20, 20), (61, 45)])
def test_every_two_points_meet_equally_often(sizes, rng):
    """Once in a round, which takes as many batches as there are pairs of parts."""
    parts = [-(-n // 20) for n in sizes]
    meetings = np.zeros(sizes, dtype=int)
    for rows, columns in islice(_dealt(list(sizes), 20, rng), 2 * parts[0] * parts[1]):
        assert max(len(rows), len(columns)) <= 20
        meetings[np.ix_(rows, columns)] += 1
    assert (meetings == 2).all()


def test_the_first_batches_go_through_the_whole_cloud(rng):
    seen = [np.concatenate(side) for side in zip(*islice(_dealt([60, 60], 20, rng), 3), strict=True)]
    assert all(np.array_equal(np.sort(side), np.arange(60)) for side in seen)


class TestMemory:
    def test_averaging_counts_later_batches_more_and_forgets_none(self):
        assert [averaging(t) for t in range(4)] == [1, 4 / 5, 2 / 3, 4 / 7]
        shares = np.zeros(50)
        for t in range(50):
            shares *= 1 - averaging(t)
            shares[t] = averaging(t)
        assert shares.sum() == pytest.approx(1)
        t = np.arange(1, 51)
        rising = t * (t + 1) * (t + 2)
        np.testing.assert_allclose(shares, rising / rising.sum())

    def test_fading_keeps_a_share(self):
        assert [fading(0.7)(t) for t in (0, 1, 9)] == pytest.approx([1, 0.3, 0.3])

    @pytest.mark.parametrize("share", [-0.1, 1.0, 2.0, np.nan])
    def test_a_share_is_below_one(self, share):
        with pytest.raises(ValueError, match="share from 0 to below 1, got"):
            fading(share)

    @pytest.mark.parametrize("memory", [averaging, fading(0.7)], ids=["averaging", "fading"])
    def test_says_what_it_is_wherever_it_is_written_down(self, memory):
        solver = SelfLearning(memory=memory)
        assert pickle.loads(pickle.dumps(solver)) == solver
        assert "0x" not in repr(solver)


class TestMetric:
    """Directions that the clouds do not share fade out of comparisons."""

    @staticmethod
    def shared_and_private(rng, n=300, shared=12, private=4):
        """Clouds that agree along the first directions and have nothing to do with each other along the rest."""
        common = rng.standard_exponential((n, shared)) - 1
        X, Y = (np.hstack([common, rng.standard_normal((n, private))]) for _ in range(2))
        return X, Y

    def test_private_directions_count_less(self, asarray, dtype, rng):
        X, Y = self.shared_and_private(rng)
        solution = solve(*(asarray(Z, dtype) for Z in (X, Y, np.eye(16))), n_iter=15, batch_size=250, noise=0.1)
        metric = np.from_dlpack(solution.metric)
        np.testing.assert_allclose(metric, metric.T, atol=1e-5)
        counts = np.diag(metric)
        assert counts[:12].min() > 0.8
        assert counts[12:].max() < 0.5

    def test_more_noise_fades_more(self, rng):
        X, Y = self.shared_and_private(rng)
        weights = [
            np.linalg.eigvalsh(solve(X, Y, np.eye(16), n_iter=3, noise=noise).metric) for noise in (1e-6, 0.1, 1.0)
        ]
        np.testing.assert_allclose(weights[0][-12:], 1, atol=1e-4)
        assert weights[0].mean() > weights[1].mean() > weights[2].mean()

    def test_partners_are_easier_to_find_with_it(self, rng):
        X, Y = self.shared_and_private(rng)
        solution = solve(X, Y, np.eye(16), n_iter=15, batch_size=250, noise=0.1)
        plain = unit(X @ solution.Q) @ unit(Y).T
        weighed = unit(X @ solution.Q @ solution.metric) @ unit(Y @ solution.metric).T
        hits = [np.mean(cosines.argmax(axis=1) == np.arange(300)) for cosines in (plain, weighed)]
        assert hits[1] > hits[0] + 0.1

    def test_weights_are_rho2_over_rho2_plus_noise(self, rng):
        """By hand, for the pairs of one step: ρ² = σ² / (uᵀS_X u · vᵀS_Y v)."""
        X, Y = self.shared_and_private(rng, n=60)
        rows, columns = mutual(unit(X) @ unit(Y).T)
        U, values, Vt = np.linalg.svd(X[rows].T @ Y[columns] / len(rows))
        spread = [np.einsum("ik,ij,jk->k", W, Z.T @ Z / 60, W) for W, Z in ((U, X), (Vt.T, Y))]
        rho2 = values**2 / (spread[0] * spread[1])
        expected = (Vt.T * (rho2 / (rho2 + 0.2))) @ Vt
        metric = solve(X, Y, np.eye(16), n_iter=1, noise=0.2, retriever=Nearest()).metric
        np.testing.assert_allclose(metric, expected, atol=1e-10)

    @pytest.mark.parametrize("seed", range(4))
    def test_stays_between_0_and_1_with_more_dimensions_than_points(self, asarray, dtype, seed):
        """Variances of directions without any are rounded to just above or below 0."""
        rng = np.random.default_rng(seed)
        clouds = (unit(Z - Z.mean(axis=0)) for Z in rng.standard_normal((2, 10, 100)))
        X, Y, Q = (asarray(Z, dtype) for Z in (*clouds, np.eye(100)))
        solution = solve(X, Y, Q, n_iter=6, noise=0.1)
        weights = np.linalg.eigvalsh(np.from_dlpack(solution.metric).astype(np.float64))
        assert weights.min() > -1e-5
        assert weights.max() < 1 + 1e-5
        np.testing.assert_allclose(np.from_dlpack(solution.Q.T @ solution.Q), np.eye(100), atol=1e-4)


def test_no_batches_change_nothing(scene):
    solution = solve(scene.X, scene.Y, scene.Q, n_iter=0, noise=0.1)
    assert solution.Q is scene.Q
    assert solution.metric is None
    assert solution.history == []


def test_progress_sees_every_batch(scene):
    calls = []
    solver = SelfLearning(n_iter=3, batch_size=50)
    solution = solver(
        scene.X,
        scene.Y,
        scene.Q,
        pairs=NONE,
        rng=np.random.default_rng(0),
        progress=lambda stage, done, total, info: calls.append((stage, done, total, info)),
    )
    assert [call[:3] for call in calls] == [("self-learning", k, 3) for k in (1, 2, 3)]
    assert [call[3] for call in calls] == solution.history


@pytest.mark.parametrize(
    "options", [{"n_iter": -1}, {"batch_size": 0}, {"pool": 0}, {"noise": -0.1}, {"lead": np.nan}, {"tol": -1}]
)
def test_bad_settings_are_refused(scene, options):
    with pytest.raises(ValueError, match="n_iter, noise, lead and tol ≥ 0, batch_size and pool ≥ 1"):
        solve(scene.X, scene.Y, scene.Q, **options)
