from __future__ import annotations

import numpy as np
import pytest

from damastes.pairs import Pairs
from damastes.solvers import Alternating
from damastes.transport import Assignment, Sinkhorn
from planted import assert_same_kind, orthogonal, planted

NONE = Pairs.none()


def solve(X, Y, Q, *, pairs=NONE, **options):
    return Alternating(**options)(X, Y, Q, pairs=pairs, rng=np.random.default_rng(0))


def near(Q, rng, amount=0.1):
    U, _, Vt = np.linalg.svd(Q + amount * rng.standard_normal(Q.shape), full_matrices=False)
    return U @ Vt


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("outliers", [0, 9])
def test_the_cost_never_rises_with_exact_couplings(seed, outliers):
    """Each half-step is solved exactly, wherever Q starts."""
    scene = planted(40, 4, noise=0.3, target_outliers=outliers, seed=seed)
    Q = orthogonal(4, 4, np.random.default_rng(seed))
    costs = [record["cost"] for record in solve(scene.X, scene.Y, Q).history]
    assert len(costs) > 2
    assert all(np.diff(costs) <= 1e-12)


@pytest.mark.parametrize(("d", "d_target"), [(4, 4), (3, 5), (5, 3)])
def test_a_planted_rotation_is_recovered_from_nearby(asarray, dtype, rng, d, d_target):
    scene = planted(60, d, d_target=d_target)
    X = asarray(scene.X, dtype)
    solution = solve(X, asarray(scene.Y, dtype), asarray(near(scene.Q, rng), dtype))
    assert_same_kind(solution.Q, X)
    np.testing.assert_allclose(np.from_dlpack(solution.Q), scene.Q, atol=1e-4 if dtype == "float32" else 1e-8)


def test_a_round_is_procrustes_on_the_assignment(rng):
    scene = planted(30, 4, noise=0.2)
    Q = near(scene.Q, rng, 0.5)
    P = Assignment()((scene.X @ Q) @ scene.Y.T).plan()
    U, _, Vt = np.linalg.svd(scene.X.T @ P @ scene.Y)
    solution = solve(scene.X, scene.Y, Q, max_iter=1)
    np.testing.assert_allclose(solution.Q, U @ Vt, atol=1e-10)
    distances = np.sum(((scene.X @ Q)[:, None, :] - scene.Y[None, :, :]) ** 2, axis=2)
    assert solution.history[0]["cost"] == pytest.approx(np.sum(P * distances))


def test_a_learning_rate_takes_smaller_steps_to_the_same_place(rng):
    scene = planted(60, 4)
    Q = near(scene.Q, rng)
    P = Assignment()((scene.X @ Q) @ scene.Y.T).plan()
    U, _, Vt = np.linalg.svd(Q + 0.5 * scene.X.T @ P @ scene.Y)
    np.testing.assert_allclose(solve(scene.X, scene.Y, Q, lr=0.5, max_iter=1).Q, U @ Vt, atol=1e-10)
    slow = solve(scene.X, scene.Y, Q, lr=0.5, max_iter=300, tol=0.0)
    assert len(slow.history) > len(solve(scene.X, scene.Y, Q, tol=0.0).history)
    assert all(np.diff([record["cost"] for record in slow.history]) <= 1e-12)
    np.testing.assert_allclose(slow.Q, scene.Q, atol=1e-4)


def test_entropic_couplings_work_too(rng):
    scene = planted(60, 4)
    solution = solve(scene.X, scene.Y, near(scene.Q, rng), coupling=Sinkhorn(reg=0.02, tol=1e-4, max_iter=5000))
    np.testing.assert_allclose(solution.Q, scene.Q, atol=2e-2)


def test_points_beyond_the_limit_never_matter(rng):
    scene = planted(40, 3)
    Q = near(scene.Q, rng)
    other = [np.concatenate([Z[:25], rng.standard_normal((15, 3))]) for Z in (scene.X, scene.Y)]
    assert np.array_equal(solve(*other, Q, limit=25).Q, solve(scene.X, scene.Y, Q, limit=25).Q)


def test_known_pairs_enter(rng):
    """They lead out of a start that is wrong everywhere."""
    scene = planted(40, 4)
    pairs = Pairs.from_rows(np.stack([np.arange(20), scene.permutation[:20]], axis=1), 40, 40)
    Q = orthogonal(4, 4, rng)
    lost, led = (np.abs(solve(scene.X, scene.Y, Q, pairs=p).Q - scene.Q).max() for p in (NONE, pairs))
    assert led < 1e-6 < lost


@pytest.mark.parametrize("options", [{"limit": 0}, {"max_iter": 0}])
def test_bad_settings_are_refused(options):
    scene = planted(10, 2)
    with pytest.raises(ValueError, match="limit ≥ 1 and max_iter ≥ 1"):
        solve(scene.X, scene.Y, scene.Q, **options)
