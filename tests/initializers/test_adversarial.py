from __future__ import annotations

import sys

import numpy as np
import pytest

from damastes import Frame, Recipe, align
from damastes.errors import MissingExtraError
from damastes.initializers import Adversarial
from damastes.pairs import Pairs
from damastes.solvers import Refinement
from planted import assert_same_kind, planted

torch = pytest.importorskip("torch")

NONE = Pairs.none()
QUICK = {"n_restarts": 6, "n_epochs": 3, "epoch_size": 8000, "hidden": 64}
TINY = {"n_restarts": 2, "n_epochs": 2, "epoch_size": 320, "hidden": 8}


def start(X, Y, *, seed=0, **options):
    return Adversarial(**options)(X, Y, pairs=NONE, rng=np.random.default_rng(seed))


def problem(d=4, d_target=None, n=500):
    """Clusters and a rotation of them: (X, Y, partner), framed, rows shuffled."""
    instance = planted(n, d, d_target=d_target, components=6)
    X, Y = (Frame().fit(Z)(Z) for Z in (instance.X, instance.Y))
    return X, Y, instance.permutation


def near(X, Y, Q, partner):
    """Mean cosine of mapped points to their true partners."""
    return float(np.mean(np.sum((X @ Q) * Y[partner], axis=1)))


def test_a_planted_rotation_is_found_and_the_criterion_tells_it_from_a_failure():
    X, Y, partner = problem()
    found = start(X, Y, **QUICK)
    assert near(X, Y, found.Q, partner) > 0.98
    np.testing.assert_allclose(found.Q.T @ found.Q, np.eye(4), atol=1e-8)
    assert found.evidence["criterion"] > 0.99


@pytest.mark.parametrize(("d", "d_target"), [(3, 5), (5, 3)])
def test_unequal_sizes_and_dimensions_give_an_orthonormal_map(d, d_target):
    X, Y, _ = problem(d, d_target)
    Q = start(X[:300], Y, **TINY).Q
    assert Q.shape == (d, d_target)
    np.testing.assert_allclose(Q @ Q.T if d < d_target else Q.T @ Q, np.eye(3), atol=1e-8)


def test_it_stays_in_the_library_of_the_caller(asarray, dtype):
    X, Y, _ = problem()
    arrays = asarray(X, dtype), asarray(Y, dtype)
    result = start(*arrays, **TINY)
    assert_same_kind(result.Q, arrays[0])
    np.testing.assert_allclose(np.from_dlpack(result.Q), start(X, Y, **TINY).Q, atol=1e-4)


def test_seeds_decide_and_nothing_of_the_caller_changes():
    X, Y, _ = problem()
    before, state, threads = (X.copy(), Y.copy()), torch.get_rng_state(), torch.get_num_threads()
    first = start(X, Y, **TINY).Q
    assert np.array_equal(first, start(X, Y, **TINY).Q)
    assert not np.array_equal(first, start(X, Y, seed=1, **TINY).Q)
    assert torch.equal(state, torch.get_rng_state())
    assert threads == torch.get_num_threads()
    assert np.array_equal(X, before[0])
    assert np.array_equal(Y, before[1])


def test_points_beyond_the_first_never_matter(rng):
    X, Y, _ = problem()
    longer = [np.concatenate([Z, rng.standard_normal((20, 4))]) for Z in (X, Y)]
    assert np.array_equal(start(X, Y, **TINY, n_points=500).Q, start(*longer, **TINY, n_points=500).Q)


def test_evidence_and_progress_tell_what_happened():
    X, Y, _ = problem()
    calls = []
    result = Adversarial(**TINY)(
        X, Y, pairs=NONE, rng=np.random.default_rng(0), progress=lambda *call: calls.append(call)
    )
    assert np.shape(result.evidence["criteria"]) == np.shape(result.evidence["losses"]) == (2, 2)
    assert result.evidence["criterion"] == np.max(result.evidence["criteria"])
    assert [call[:3] for call in calls] == [("adversarial", 20, 40), ("adversarial", 40, 40)]


def test_it_is_a_part_of_a_recipe():
    X, Y, _ = problem()
    recipe = Recipe("adversarial", Frame(), Adversarial(**TINY), Refinement(n_epochs=0), Refinement(n_epochs=1))
    assert np.shape(align(X, Y, recipe=recipe).history["start"]["criteria"]) == (2, 2)


@pytest.mark.parametrize(
    ("options", "message"),
    [({name: 0}, f"{name} of 1 or more, got 0") for name in ("n_epochs", "epoch_size", "batch_size", "hidden")]
    + [
        ({name: 0}, f"{name} of 1 or more, got 0")
        for name in ("n_points", "n_criterion", "n_steps", "n_directions", "n_restarts")
    ]
    + [({"learning_rate": 0.0}, "learning_rate"), ({"map_rate": -1.0}, "map_rate"), ({"decay": 1.5}, "decay")]
    + [({"beta": 0.5}, "beta"), ({"dropout": 1.0}, "dropout"), ({"smoothing": 0.5}, "smoothing")],
)
def test_bad_settings_are_refused(options, message):
    with pytest.raises(ValueError, match=f"Adversarial needs .*{message}"):
        start(np.eye(4), np.eye(4), **options)


def test_without_torch_it_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(MissingExtraError, match=r"Adversarial\(\) needs torch: pip install 'damastes\[torch\]'"):
        start(np.eye(4), np.eye(4))
