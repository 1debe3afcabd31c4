from __future__ import annotations

import numpy as np
import pytest

from damastes.pairs import Pairs
from damastes.retrieval import CSLS, Nearest
from damastes.solvers import Refinement
from planted import assert_same_kind, planted

NONE = Pairs.none()


def solve(X, Y, Q, *, pairs=NONE, **options):
    return Refinement(**options)(X, Y, Q, pairs=pairs, rng=np.random.default_rng(0))


def unit(Z):
    return Z / np.linalg.norm(Z, axis=1, keepdims=True)


def near(Q, rng, amount=0.03):
    return projected(Q + amount * rng.standard_normal(Q.shape))


def projected(M):
    U, _, Vt = np.linalg.svd(M, full_matrices=False)
    return U @ Vt


@pytest.fixture
def scene():
    return planted(80, 6, source_outliers=6, target_outliers=11)


@pytest.mark.parametrize("retriever", [CSLS(), Nearest()])
def test_the_planted_map_is_a_fixed_point(scene, retriever):
    X, Y = unit(scene.X[:80]), unit(scene.Y[scene.permutation[:80]])
    solution = solve(X, Y, scene.Q, retriever=retriever)
    np.testing.assert_allclose(solution.Q, scene.Q, atol=1e-10)
    assert [record["n_pairs"] for record in solution.history] == [80] * 5
    if retriever == Nearest():
        assert solution.history[-1]["score"] == pytest.approx(1)


def test_a_planted_map_is_recovered_from_nearby(asarray, dtype, scene, rng):
    X, Y, Q = unit(scene.X[:80]), unit(scene.Y[scene.permutation[:80]]), near(scene.Q, rng)
    solution = solve(asarray(X, dtype), asarray(Y, dtype), asarray(Q, dtype))
    assert_same_kind(solution.Q, asarray(Q, dtype))
    np.testing.assert_allclose(np.from_dlpack(solution.Q), scene.Q, atol=1e-4 if dtype == "float32" else 1e-10)


def test_an_epoch_is_procrustes_on_mutual_neighbours(scene, rng):
    X, Y, Q = unit(scene.X), unit(scene.Y), near(scene.Q, rng, 0.3)
    cosines = unit(X @ Q) @ Y.T
    there, back = cosines.argmax(axis=1), cosines.argmax(axis=0)
    rows = np.flatnonzero(back[there] == np.arange(len(X)))
    solution = solve(X, Y, Q, n_epochs=1, retriever=Nearest())
    assert solution.history[0]["n_pairs"] == len(rows) < len(X)
    assert solution.history[0]["score"] == pytest.approx(cosines[rows, there[rows]].mean())
    np.testing.assert_allclose(solution.Q, projected(X[rows].T @ Y[there[rows]]), atol=1e-10)


def test_points_beyond_the_limit_never_matter(scene, rng):
    X, Y, Q = unit(scene.X), unit(scene.Y), near(scene.Q, rng, 0.2)
    other = [np.concatenate([Z[:50], unit(rng.standard_normal((20, 6)))]) for Z in (X, Y)]
    assert np.array_equal(solve(*other, Q, limit=50).Q, solve(X, Y, Q, limit=50).Q)
    assert solve(X, Y, Q, limit=50).history[0]["n_pairs"] <= 50


@pytest.mark.parametrize(
    ("options", "sizes"),
    [
        ({"n_epochs": 3, "limit": 80, "first": 40}, [40, 60, 80]),
        ({"n_epochs": 3, "limit": 200, "first": 40}, [40, 80, 80]),  # no more than there are
        ({"n_epochs": 2, "limit": 60}, [60, 60]),
        ({"n_epochs": 1, "limit": 60, "first": 20}, [60]),
    ],
)
def test_the_vocabulary_grows_to_the_limit(options, sizes):
    scene = planted(80, 6)
    solution = solve(unit(scene.X), unit(scene.Y[scene.permutation]), scene.Q, **options)
    assert [record["n_pairs"] for record in solution.history] == sizes


def test_known_pairs_enter_by_their_trust(scene, rng):
    X, Y, Q = unit(scene.X), unit(scene.Y), near(scene.Q, rng)
    heavy = Pairs.from_rows([(i, i, 1e9) for i in range(6)], len(X), len(Y))
    np.testing.assert_allclose(solve(X, Y, Q, pairs=heavy).Q, projected(X[:6].T @ Y[:6]), atol=1e-4)


def test_no_epochs_change_nothing(scene):
    solution = solve(scene.X, scene.Y, scene.Q, n_epochs=0)
    assert solution.Q is scene.Q
    assert solution.history == []


@pytest.mark.parametrize("options", [{"limit": 0}, {"n_epochs": -1}])
def test_bad_settings_are_refused(scene, options):
    with pytest.raises(ValueError, match="limit ≥ 1 and n_epochs ≥ 0"):
        solve(scene.X, scene.Y, scene.Q, **options)


@pytest.mark.parametrize("first", [0, 101])
def test_a_bad_first_vocabulary_is_refused(scene, first):
    with pytest.raises(ValueError, match="first from 1 to its limit of 100"):
        solve(scene.X, scene.Y, scene.Q, limit=100, first=first)
