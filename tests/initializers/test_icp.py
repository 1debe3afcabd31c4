from __future__ import annotations

import numpy as np
import pytest

from damastes import Frame, Recipe, align, samples
from damastes.initializers import ICP
from damastes.pairs import Pairs
from damastes.solvers import Refinement
from planted import assert_same_kind, orthogonal

NONE = Pairs.none()
QUICK = {"n_restarts": 8, "n_iter": 25, "n_components": 10}


def start(X, Y, *, seed=0, **options):
    return ICP(**{**QUICK, **options})(X, Y, pairs=NONE, rng=np.random.default_rng(seed))


def words(n=300, d=40, *, d_target=None, extra=0):
    """(X, Y, partner): framed sample words, and a rotation of them, shuffled, with others among them."""
    rng = np.random.default_rng(5)
    d_target = d_target or d
    base = samples.load("en").matrix[: n + extra, : min(d, d_target)].astype(np.float64)
    base = Frame().fit(base)(base)
    Q = orthogonal(d, d_target, rng)
    X, Y = (base, base @ Q) if d <= d_target else (base @ Q.T, base)
    order = rng.permutation(len(Y))
    return X[:n], Y[order], np.argsort(order)[:n]


def found(X, Y, Q, partner):
    return np.mean((X @ Q @ Y.T).argmax(axis=1) == partner)


@pytest.mark.parametrize(("d", "d_target", "extra"), [(40, 40, 0), (40, 50, 20), (50, 40, 20)])
def test_a_planted_rotation_is_found_with_unequal_sizes_and_dimensions(d, d_target, extra):
    X, Y, partner = words(d=d, d_target=d_target, extra=extra)
    Q = start(X, Y, n_restarts=24, n_iter=30).Q
    assert Q.shape == (d, d_target)
    shorter = Q @ Q.T if d <= d_target else Q.T @ Q
    np.testing.assert_allclose(shorter, np.eye(40), atol=1e-8)
    assert found(X, Y, Q, partner) > 0.95


def test_the_error_tells_a_right_restart_from_wrong_ones():
    X, Y, _ = words()
    evidence = start(X, Y).evidence
    assert len(evidence["errors"]) == QUICK["n_restarts"]
    assert evidence["error"] == min(evidence["errors"]) < 0.5 * evidence["median_error"]
    assert evidence["n_mutual"][-1] > 0.95 * len(X)


def test_every_library_gives_the_same_answer(asarray, dtype):
    X, Y, partner = words()
    arrays = asarray(X, dtype), asarray(Y, dtype)
    result = start(*arrays)
    assert_same_kind(result.Q, arrays[0])
    assert found(X, Y, np.from_dlpack(result.Q), partner) > 0.95


def test_points_beyond_the_first_never_matter(rng):
    X, Y, _ = words(n=100)
    longer = [np.concatenate([Z, rng.standard_normal((20, 40))]) for Z in (X, Y)]
    few = {"n_points": 100, "n_restarts": 2, "n_iter": 5}
    assert np.array_equal(start(X, Y, **few).Q, start(*longer, **few).Q)


def test_seeds_decide_and_inputs_stay_untouched():
    X, Y, _ = words(n=100)
    before = X.copy(), Y.copy()
    few = {"n_restarts": 2, "n_iter": 5}
    assert np.array_equal(start(X, Y, **few).Q, start(X, Y, **few).Q)
    assert not np.array_equal(start(X, Y, **few).Q, start(X, Y, seed=1, **few).Q)
    assert np.array_equal(X, before[0])
    assert np.array_equal(Y, before[1])


@pytest.mark.parametrize(("n", "m", "d"), [(2, 5, 3), (30, 4, 2), (5, 5, 1)])
def test_small_clouds_give_an_orthogonal_map(rng, n, m, d):
    Q = start(rng.standard_normal((n, d)), rng.standard_normal((m, d)), n_restarts=2).Q
    np.testing.assert_allclose(Q.T @ Q, np.eye(d), atol=1e-8)


def test_progress_counts_restarts_and_rounds():
    X, Y, _ = words(n=60)
    calls = []
    ICP(n_restarts=3, n_iter=2, n_final=2)(
        X, Y, pairs=NONE, rng=np.random.default_rng(0), progress=lambda *call: calls.append(call)
    )
    assert [call[:3] for call in calls[:3]] == [("icp restarts", k, 3) for k in (1, 2, 3)]
    assert [call[:3] for call in calls[3:]] == [("icp reciprocal", k, 2) for k in (1, 2)]


def test_it_is_a_part_of_a_recipe():
    X, Y, partner = words()
    recipe = Recipe("icp", Frame(), ICP(**QUICK), Refinement(n_epochs=0), Refinement())
    alignment = align(X, Y, recipe=recipe)
    assert np.mean(alignment.neighbours(1).indices[:, 0] == partner) > 0.95
    assert alignment.history["start"]["n_components"] == QUICK["n_components"]


@pytest.mark.parametrize(
    "options",
    [
        *({name: 0} for name in ("n_points", "n_restart_points", "n_components", "n_restarts", "n_iter")),
        *({"n_final": -1}, {"cycle": -0.1}, {"cycle": float("nan")}),
    ],
)
def test_bad_settings_are_refused(rng, options):
    with pytest.raises(ValueError, match=r"ICP needs .* cycle ≥ 0, got ICP\("):
        start(rng.standard_normal((20, 3)), rng.standard_normal((20, 3)), **options)
