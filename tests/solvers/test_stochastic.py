from __future__ import annotations

import numpy as np
import pytest

from damastes.pairs import Pairs
from damastes.solvers import Phase, Stochastic, authors_schedule, paper_schedule
from damastes.transport import Assignment, Sinkhorn
from planted import assert_same_kind, planted

NONE = Pairs.none()


def unit(Z):
    return Z / np.linalg.norm(Z, axis=1, keepdims=True)


def near(Q, rng, amount=0.25):
    """An orthogonal matrix in the neighbourhood of another one."""
    return projected(Q + amount * rng.standard_normal(Q.shape))


def projected(M):
    U, _, Vt = np.linalg.svd(M, full_matrices=False)
    return U @ Vt


def solve(X, Y, Q, *, pairs=NONE, seed=0, **options):
    return Stochastic(**options)(X, Y, Q, pairs=pairs, rng=np.random.default_rng(seed))


class TestSchedules:
    def test_the_papers_doubles_the_batch_after_one_and_two_thirds(self):
        assert paper_schedule() == (Phase(200, 500, 500.0), Phase(200, 1000, 500.0), Phase(200, 2000, 500.0))
        assert [phase.n_iter for phase in paper_schedule(100)] == [33, 33, 34]
        assert [phase.batch_size for phase in paper_schedule(100, 50)] == [50, 100, 200]

    def test_the_authors_quarters_the_steps_and_doubles_the_batch(self):
        steps = [(phase.n_iter, phase.batch_size) for phase in authors_schedule()]
        assert steps == [(5000, 500), (1250, 1000), (312, 2000), (78, 4000), (19, 8000)]
        assert {phase.lr for phase in authors_schedule(lr=7.0)} == {7.0}
        assert authors_schedule(2, n_epochs=3)[-1].n_iter == 1


class TestPlantedRotation:
    @pytest.mark.parametrize("coupling", [Assignment(), Sinkhorn(reg=0.02, tol=1e-3)], ids=["exact", "entropic"])
    @pytest.mark.parametrize(("d", "d_target"), [(5, 5), (4, 6), (6, 4)])
    def test_is_recovered_from_nearby(self, rng, coupling, d, d_target):
        scene = planted(200, d, d_target=d_target, components=8)
        first = near(scene.Q, rng, 0.1)
        solution = solve(
            unit(scene.X), unit(scene.Y), first, schedule=(Phase(40, 150, 5.0), Phase(10, 200)), coupling=coupling
        )
        assert np.abs(first - scene.Q).max() > 0.05
        assert np.abs(solution.Q - scene.Q).max() < 1e-2
        costs = [record["cost"] for record in solution.history]
        assert np.mean(costs[-10:]) < 0.6 * costs[0]
        assert [record["batch_size"] for record in solution.history] == [150] * 40 + [200] * 10

    def test_every_library_gives_the_same_answer(self, asarray, dtype, rng):
        scene = planted(60, 4, components=5)
        X, Y, Q = unit(scene.X), unit(scene.Y), near(scene.Q, rng)
        options = {"schedule": (Phase(8, 30, 3.0),), "pool": 50}
        solution = solve(asarray(X, dtype), asarray(Y, dtype), asarray(Q, dtype), **options)
        assert_same_kind(solution.Q, asarray(Q, dtype))
        expected = solve(X, Y, Q, **options).Q
        np.testing.assert_allclose(np.from_dlpack(solution.Q), expected, atol=1e-3 if dtype == "float32" else 1e-8)


class TestStep:
    def test_is_the_formula(self, rng):
        """Q ← Π(Q + lr · XᵀPY) with P of mass 1, on batches that are the whole clouds."""
        scene = planted(25, 4)
        X, Y, Q = unit(scene.X), unit(scene.Y), near(scene.Q, rng)
        lr = 1.7
        P = Assignment()((X @ Q) @ Y.T).plan()
        solution = solve(X, Y, Q, schedule=(Phase(1, 25, lr),), coupling=Assignment())
        np.testing.assert_allclose(solution.Q, projected(Q + lr * X.T @ P @ Y), atol=1e-10)
        cost = np.sum(P * ((X @ Q)[:, None, :] - Y[None, :, :]).transpose(2, 0, 1) ** 2)
        assert solution.history[0]["cost"] == pytest.approx(cost)

    def test_known_pairs_enter_by_their_trust(self, rng):
        scene = planted(25, 4)
        X, Y, Q = unit(scene.X), unit(scene.Y), near(scene.Q, rng)
        pairs = Pairs.from_rows([(0, 3, 0.625), (7, 1, 1.875)], 25, 25)
        known = (np.outer(X[0], Y[3]) + 3 * np.outer(X[7], Y[1])) / 4
        M = X.T @ Assignment()((X @ Q) @ Y.T).plan() @ Y
        solution = solve(X, Y, Q, schedule=(Phase(1, 25, 2.0),), coupling=Assignment(), pairs=pairs)
        np.testing.assert_allclose(solution.Q, projected(Q + 2.0 * (0.5 * M + 0.5 * known)), atol=1e-10)

    def test_no_steps_change_nothing(self):
        scene = planted(10, 2)
        solution = solve(scene.X, scene.Y, scene.Q, schedule=())
        assert solution.Q is scene.Q
        assert solution.history == []


class TestSampling:
    @pytest.mark.parametrize(
        ("share", "asked", "size"), [(1.0, 900, 900), (0.75, 900, 750), (0.75, 600, 600), (0.2, 900, 500)]
    )
    def test_batches_are_no_more_than_their_share_of_the_smaller_pool(self, rng, share, asked, size):
        X, Y = rng.standard_normal((2000, 3)), rng.standard_normal((1000, 3))
        solution = solve(X, Y, np.eye(3), schedule=(Phase(1, asked, 5.0),), pool=1500, share=share)
        assert solution.history[0]["batch_size"] == size

    def test_points_outside_the_pool_never_matter(self, rng):
        scene = planted(80, 4)
        X, Y, Q = unit(scene.X), unit(scene.Y), near(scene.Q, rng)
        other = [np.concatenate([Z[:50], 9 * rng.standard_normal((30, 4))]) for Z in (X, Y)]
        options = {"schedule": (Phase(10, 20, 5.0),), "pool": 50}
        assert np.array_equal(solve(*other, Q, **options).Q, solve(X, Y, Q, **options).Q)
        assert not np.array_equal(solve(*other, Q, **(options | {"pool": 60})).Q, solve(X, Y, Q, **options).Q)

    def test_batches_are_cut_to_the_smaller_cloud(self, rng):
        scene = planted(30, 3, target_outliers=12)
        solution = solve(unit(scene.X), unit(scene.Y), scene.Q, schedule=(Phase(3, 1000),))
        assert [record["batch_size"] for record in solution.history] == [30] * 3

    def test_one_seed_gives_the_same_bits(self, rng):
        scene = planted(60, 4)
        X, Y, Q = unit(scene.X), unit(scene.Y), near(scene.Q, rng)
        options = {"schedule": (Phase(5, 20, 2.0),)}
        assert np.array_equal(solve(X, Y, Q, **options).Q, solve(X, Y, Q, **options).Q)
        assert not np.array_equal(solve(X, Y, Q, seed=1, **options).Q, solve(X, Y, Q, **options).Q)


def test_progress_hears_of_every_step():
    scene = planted(20, 3)
    calls = []
    Stochastic(schedule=(Phase(2, 10), Phase(1, 20)))(
        scene.X,
        scene.Y,
        scene.Q,
        pairs=NONE,
        rng=np.random.default_rng(0),
        progress=lambda stage, done, total, info: calls.append((stage, done, total, info["batch_size"])),
    )
    assert calls == [("stochastic", 1, 3, 10), ("stochastic", 2, 3, 10), ("stochastic", 3, 3, 20)]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"pool": 0}, "pool must be at least 1"),
        ({"share": 0.0}, "share must be above 0 and at most 1"),
        ({"share": 1.5}, "share must be above 0 and at most 1"),
        ({"schedule": (Phase(1, 0),)}, "batch_size ≥ 1"),
        ({"schedule": (Phase(-1),)}, "n_iter ≥ 0"),
        ({"schedule": (Phase(1, lr=0.0),)}, "lr > 0"),
        ({"schedule": (Phase(1, lr=float("nan")),)}, "lr > 0"),
    ],
)
def test_bad_settings_are_refused(options, message):
    scene = planted(10, 2)
    with pytest.raises(ValueError, match=message):
        solve(scene.X, scene.Y, scene.Q, **options)
