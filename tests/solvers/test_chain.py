from __future__ import annotations

import numpy as np
import pytest

from damastes.errors import InputError
from damastes.pairs import Pairs
from damastes.solvers import Chain, Refinement, SelfLearning, Solution
from planted import planted

NONE = Pairs.none()


def test_each_solver_goes_on_from_the_one_before(rng):
    scene = planted(300, 10, noise=0.3)
    first, second = Refinement(n_epochs=2), SelfLearning(n_iter=3, batch_size=200, noise=0.1)
    chained = Chain((first, second))(scene.X, scene.Y, scene.Q, pairs=NONE, rng=np.random.default_rng(1))
    rng = np.random.default_rng(1)
    between = first(scene.X, scene.Y, scene.Q, pairs=NONE, rng=rng)
    last = second(scene.X, scene.Y, between.Q, pairs=NONE, rng=rng)
    assert np.array_equal(chained.Q, last.Q)
    assert np.array_equal(chained.metric, last.metric)
    assert chained.history == [*between.history, *last.history]
    assert len(chained.history) == 5


def test_pairs_and_progress_reach_every_solver():
    pairs, seen = Pairs.from_rows([(0, 1)], 5, 5), []

    def watched(X, Y, Q, *, pairs, rng, progress):
        progress("watched", 1, 1, {})
        return Solution(Q, [{"n_pairs": float(len(pairs))}])

    found = Chain((watched, watched))(
        np.eye(5),
        np.eye(5),
        np.eye(5),
        pairs=pairs,
        rng=np.random.default_rng(0),
        progress=lambda *told: seen.append(told),
    )
    assert found.history == [{"n_pairs": 1.0}] * 2
    assert seen == [("watched", 1, 1, {})] * 2


def test_an_empty_chain_says_what_it_needs():
    with pytest.raises(InputError, match="at least one solver"):
        Chain(())(np.eye(5), np.eye(5), np.eye(5), pairs=NONE, rng=np.random.default_rng(0))
