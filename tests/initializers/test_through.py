from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest

import damastes
from damastes import Frame
from damastes.initializers import Convex, Random, Through
from damastes.pairs import Pairs
from damastes.recipes import Recipe
from damastes.retrieval import Nearest
from damastes.solvers import Refinement, SelfLearning, Stochastic


@pytest.fixture(scope="module")
def rotation():
    return np.linalg.qr(np.random.default_rng(0).standard_normal((100, 100)))[0].astype(np.float32)


def test_a_landing_near_the_truth_gives_the_map(rotation):
    X = Frame().fit(damastes.samples.load("en").matrix[:400])(damastes.samples.load("en").matrix[:400])
    noise = 0.02 * np.random.default_rng(1).standard_normal(X.shape).astype(np.float32)
    order = np.random.default_rng(2).permutation(400)
    start = Through(lambda progress: X @ rotation + noise)(
        X, (X @ rotation)[order], pairs=Pairs.none(), rng=np.random.default_rng(0)
    )
    assert np.allclose(start.Q.T @ start.Q, np.eye(100), atol=1e-4)
    assert np.trace(start.Q.T @ rotation) / 100 > 0.9


@dataclass(frozen=True)
class OnlyWithTheThird:
    """Knows a good start whenever the third space, which has 420 points, takes part."""

    def __call__(self, X, Y, **options):
        return (Convex() if 420 in (len(X), len(Y)) else Random())(X, Y, **options)


def test_a_third_space_is_a_way_round(rotation):
    words = damastes.samples.load("en").matrix[:420]
    source, target, third = words[:400], words[:400] @ rotation, words @ rotation @ rotation
    recipe = Recipe("picky", Frame(), OnlyWithTheThird(), Stochastic(schedule=()), Refinement(3))
    direct = damastes.align(source, target, recipe=recipe)
    round_about = damastes.align(source, target, recipe=recipe, via=third)

    def right(alignment):
        return np.mean(alignment.neighbours(1, retriever=Nearest()).indices[:, 0] == np.arange(400))

    assert right(direct) < 0.1
    assert right(round_about) == 1
    assert [tried["initializer"] for tried in round_about.history["routes"]][-1].startswith("Through")


def test_behind_a_third_space_comes_the_climb_and_no_exploration(rotation):
    words = damastes.samples.load("en").matrix[:420]
    climb = SelfLearning(n_iter=2, batch_size=200, pool=400)
    recipe = Recipe(
        "picky", Frame(), OnlyWithTheThird(), Stochastic(schedule=()), Refinement(1), climb=climb, unordered_climb=climb
    )
    found = damastes.align(words[:400], words[:400] @ rotation, recipe=recipe, via=words @ rotation @ rotation)
    first, last = (tried["solver"] for tried in found.history["routes"])
    assert first.startswith("Stochastic")
    assert last.startswith("SelfLearning")
