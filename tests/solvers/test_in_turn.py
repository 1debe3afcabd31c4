from __future__ import annotations

import numpy as np
import pytest

from damastes.pairs import Pairs
from damastes.solvers import InTurn, Refinement, SelfLearning, Solution
from planted import planted


def solve(solver, scene, Q, pairs=None, **options):
    pairs = pairs or Pairs.none()
    return solver(scene.X, scene.Y, Q, pairs=pairs, rng=np.random.default_rng(0), **options)


@pytest.fixture
def scene():
    return planted(60, 5)


def step(name, metric=None):
    """A solver that writes down what it was given, and gives a map of its own."""

    def solver(X, Y, Q, *, pairs, rng, progress):
        progress(name, 1, 1, {})
        return Solution(Q + 1, [{"seen": float(Q[0, 0]), "n_pairs": len(pairs), "drawn": rng.random()}], metric)

    return solver


def test_each_solver_starts_from_the_map_before(scene):
    solution = solve(InTurn((step("a"), step("b"), step("c"))), scene, np.zeros((5, 5)))
    assert [record["seen"] for record in solution.history] == [0, 1, 2]
    assert np.array_equal(solution.Q, np.full((5, 5), 3.0))


def test_solvers_share_the_pairs_one_generator_and_the_progress(scene):
    calls = []
    pairs = Pairs.from_rows([(0, 1), (2, 3)], 60, 60)
    solution = solve(
        InTurn((step("a"), step("b"))), scene, scene.Q, pairs, progress=lambda stage, *_: calls.append(stage)
    )
    assert calls == ["a", "b"]
    assert [record["n_pairs"] for record in solution.history] == [2, 2]
    assert [record["drawn"] for record in solution.history] == np.random.default_rng(0).random(2).tolist()


def test_the_metric_is_that_of_the_last(scene):
    metric = np.eye(5)
    assert solve(InTurn((step("a"), step("b", metric))), scene, scene.Q).metric is metric
    # A metric that was found under another map says nothing of the last one.
    assert solve(InTurn((step("a", metric), step("b"))), scene, scene.Q).metric is None


def test_one_solver_in_turn_is_that_solver(scene):
    alone = SelfLearning(n_iter=4, noise=0.1)
    one, other = solve(alone, scene, scene.Q), solve(InTurn((alone,)), scene, scene.Q)
    assert np.array_equal(one.Q, other.Q)
    assert np.array_equal(one.metric, other.metric)
    assert one.history == other.history


def test_two_are_one_run_after_the_other(scene):
    rng = np.random.default_rng(0)
    first, second = SelfLearning(n_iter=3, batch_size=30), Refinement(n_epochs=2)
    by_hand = first(scene.X, scene.Y, scene.Q, pairs=Pairs.none(), rng=rng)
    by_hand = second(scene.X, scene.Y, by_hand.Q, pairs=Pairs.none(), rng=rng)
    together = solve(InTurn((first, second)), scene, scene.Q)
    assert np.array_equal(together.Q, by_hand.Q)
    assert len(together.history) == 5


def test_no_solver_at_all_is_refused(scene):
    with pytest.raises(ValueError, match="at least one solver"):
        solve(InTurn(()), scene, scene.Q)
