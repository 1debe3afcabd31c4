from __future__ import annotations

import numpy as np
import pytest

from damastes.initializers import Anchors
from damastes.pairs import Pairs
from damastes.procrustes import orthogonal_procrustes
from planted import assert_same_kind, planted


def start(X, Y, pairs):
    return Anchors()(X, Y, pairs=pairs, rng=np.random.default_rng(0))


@pytest.mark.parametrize(("d", "d_target"), [(4, 4), (3, 5), (5, 3)])
def test_enough_pairs_give_the_planted_map(asarray, dtype, d, d_target):
    scene = planted(40, d, d_target=d_target, source_outliers=5, target_outliers=9)
    rows = np.arange(0, 40, 4)
    pairs = Pairs.from_rows(np.stack([rows, scene.permutation[rows]], axis=1), 45, 49)
    X = asarray(scene.X, dtype)
    result = start(X, asarray(scene.Y, dtype), pairs)
    assert_same_kind(result.Q, X)
    assert result.evidence["n_pairs"] == 10
    np.testing.assert_allclose(np.from_dlpack(result.Q), scene.Q, atol=1e-4 if dtype == "float32" else 1e-10)


def test_weights_are_those_of_procrustes(rng):
    scene = planted(30, 4, noise=0.5)
    weights = rng.uniform(0.1, 3, 30)
    pairs = Pairs.from_rows(np.column_stack([np.arange(30), scene.permutation, weights]), 30, 30)
    expected = orthogonal_procrustes(scene.X, scene.Y[scene.permutation], weights=weights)
    np.testing.assert_allclose(start(scene.X, scene.Y, pairs).Q, expected, atol=1e-10)


def test_no_pairs_say_what_to_do():
    scene = planted(10, 2)
    with pytest.raises(ValueError, match=r"needs known pairs: pass pairs=, or use Convex"):
        start(scene.X, scene.Y, Pairs.none())
