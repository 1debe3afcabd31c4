from __future__ import annotations

import numpy as np
import pytest

from damastes.pairs import Pairs
from damastes.solvers import carry
from damastes.transport import Assignment
from planted import assert_same_kind, orthogonal, planted


def unit(Z):
    return Z / np.linalg.norm(Z, axis=1, keepdims=True)


def carried(here, there, *, n_points=10**6, **options):
    return carry(here, there, n_points=n_points, pairs=Pairs.none(), **options)


@pytest.fixture
def scene():
    return planted(80, 6)


def test_a_correspondence_makes_the_planted_map_elsewhere(asarray, dtype, scene, rng):
    """Compared where both clouds are known to coincide, mapped where they are rotated."""
    base = unit(rng.standard_normal((80, 6)))
    shared = [asarray(Z, dtype) for Z in (base, base[np.argsort(scene.permutation)])]
    X, Y = (asarray(Z, dtype) for Z in (unit(scene.X), unit(scene.Y)))
    Q = carried(shared, (X, Y), coupling=Assignment())
    assert_same_kind(Q, X)
    np.testing.assert_allclose(np.from_dlpack(Q), scene.Q, atol=1e-4 if dtype == "float32" else 1e-10)


@pytest.mark.parametrize(("d", "d_target"), [(4, 7), (7, 4)])
def test_spaces_may_differ_in_dimension(d, d_target):
    scene = planted(90, d, d_target=d_target, target_outliers=20)
    X, Y = scene.X, scene.Y
    Q = carried((unit(X @ scene.Q), unit(Y)), (X, Y))
    assert Q.shape == (d, d_target)
    shorter = Q @ Q.T if d < d_target else Q.T @ Q
    np.testing.assert_allclose(shorter, np.eye(4), atol=1e-10)
    assert np.linalg.norm(Q - scene.Q) < 0.3 * np.linalg.norm(scene.Q)


def test_there_and_back_is_the_same_map(scene, rng):
    X, Y = unit(scene.X), unit(scene.Y)
    turns = orthogonal(6, 6, rng), orthogonal(6, 6, rng)
    x, y = X @ turns[0], Y @ turns[1]
    R = carried((X @ scene.Q, Y), (x, y))
    np.testing.assert_allclose(R, turns[0].T @ carried((X @ scene.Q, Y), (X, Y)) @ turns[1], atol=1e-8)
    assert np.linalg.norm(carried((x @ R, y), (X, Y)) - scene.Q) < 0.15 * np.linalg.norm(scene.Q)


def test_points_beyond_the_first_never_matter(scene, rng):
    X, Y = unit(scene.X), unit(scene.Y)
    other = [np.concatenate([Z[:50], rng.standard_normal((9, 6))]) for Z in (X, Y)]
    same = carried((X @ scene.Q, Y), (X, Y), n_points=50)
    assert np.array_equal(carried((other[0] @ scene.Q, other[1]), other, n_points=50), same)
    assert not np.array_equal(carried((X @ scene.Q, Y), (X, Y)), same)
