from __future__ import annotations

import numpy as np
import pytest

from damastes.initializers import Random
from damastes.pairs import Pairs
from planted import assert_same_kind


def draw(X, Y, rng):
    return Random()(X, Y, pairs=Pairs.none(), rng=rng).Q


@pytest.mark.parametrize(("d", "d_target"), [(3, 3), (2, 4), (4, 2)])
def test_the_shorter_side_is_orthonormal(asarray, dtype, rng, d, d_target):
    X, Y = asarray(np.ones((5, d)), dtype), asarray(np.ones((6, d_target)), dtype)
    Q = draw(X, Y, rng)
    assert_same_kind(Q, X)
    Q = np.from_dlpack(Q)
    gram = Q @ Q.T if d <= d_target else Q.T @ Q
    np.testing.assert_allclose(gram, np.eye(min(d, d_target)), atol=1e-5 if dtype == "float32" else 1e-12)


def test_one_seed_gives_one_map_in_every_library(asarray):
    X = np.ones((5, 3))
    Q = draw(X, X, np.random.default_rng(7))
    again = np.from_dlpack(draw(asarray(X), asarray(X), np.random.default_rng(7)))
    np.testing.assert_allclose(again, Q, atol=1e-12)
    assert not np.allclose(draw(X, X, np.random.default_rng(8)), Q)


def test_the_distribution_is_haar(rng):
    """Every entry of a Haar matrix has mean 0 and mean square 1/d, and half of the maps are reflections."""
    X = np.ones((2, 3))
    Q = np.stack([draw(X, X, rng) for _ in range(3000)])
    np.testing.assert_allclose(Q.mean(axis=0), 0, atol=0.05)
    np.testing.assert_allclose((Q**2).mean(axis=0), 1 / 3, atol=0.03)
    np.testing.assert_allclose((Q**4).mean(axis=0), 3 / 15, atol=0.03)
    assert abs(np.linalg.det(Q).mean()) < 0.08
