from __future__ import annotations

import inspect
import pickle

import numpy as np
import pytest
from sklearn.base import clone

from damastes import Vectors, WassersteinProcrustes
from damastes.initializers import Anchors, Convex
from damastes.solvers import Phase, Refinement, Stochastic
from planted import orthogonal, planted

QUICK = {"solver": Stochastic(schedule=(Phase(20, 80),)), "refinement": Refinement(n_epochs=2)}


@pytest.fixture
def scene():
    return planted(100, 5, components=6, seed=1)


@pytest.fixture
def model():
    return WassersteinProcrustes(**QUICK)


class TestContract:
    def test_arguments_are_stored_untouched_and_keyword_only(self):
        given = {
            "recipe": "paper",
            "initializer": Convex(n_points=7),
            "random_state": np.random.default_rng(3),
            **QUICK,
        }
        model = WassersteinProcrustes(**given)
        assert all(getattr(model, name) is value for name, value in given.items())
        assert model.get_params() == given
        assert vars(model) == given
        with pytest.raises(TypeError):
            WassersteinProcrustes("paper")

    def test_bad_arguments_are_only_looked_at_in_fit(self, scene):
        model = WassersteinProcrustes(recipe="best")
        with pytest.raises(ValueError, match="recipe must be"):
            model.fit(scene.X, scene.Y)
        assert not hasattr(model, "alignment_")

    def test_clones_have_the_parameters_and_nothing_learned(self, model, scene):
        model.fit(scene.X, scene.Y)
        copy = clone(model)
        assert copy.get_params() == model.get_params()
        assert not hasattr(copy, "alignment_")
        assert np.array_equal(copy.fit(scene.X, scene.Y).Q_, model.Q_)

    def test_parameters_are_set_by_name(self, model):
        assert model.set_params(recipe="authors", random_state=4) is model
        assert (model.recipe, model.random_state) == ("authors", 4)
        with pytest.raises(ValueError, match="no parameter 'seed'; there are recipe, initializer"):
            model.set_params(seed=1, random_state=9)
        assert model.random_state == 4

    def test_fit_returns_itself_and_learns_only_trailing_underscores(self, model, scene):
        before = dict(vars(model))
        assert model.fit(scene.X, scene.Y) is model
        learned = set(vars(model)) - set(before)
        assert learned == {"alignment_", "Q_", "n_features_in_"}
        assert all(getattr(model, name) is value for name, value in before.items())

    def test_refit_forgets(self, model, scene):
        other = planted(60, 3, d_target=4, seed=9)
        again = clone(model).fit(other.X, other.Y).fit(scene.X, scene.Y)
        assert np.array_equal(again.Q_, model.fit(scene.X, scene.Y).Q_)
        assert again.n_features_in_ == 5

    def test_inputs_are_not_written_to(self, model, scene):
        X, Y = scene.X.copy(), scene.Y.copy()
        X.flags.writeable = Y.flags.writeable = False
        model.fit(X, Y, pairs=[(0, int(scene.permutation[0]))])
        for method, Z in ((model.transform, X), (model.inverse_transform, Y)):
            method(Z)
        model.score(X, Y)
        assert np.array_equal(X, scene.X)
        assert np.array_equal(Y, scene.Y)

    def test_pickles_before_and_after_fit(self, model, scene):
        blank = pickle.loads(pickle.dumps(model))
        assert blank.get_params() == model.get_params()
        model.fit(scene.X, scene.Y)
        thawed = pickle.loads(pickle.dumps(model))
        assert np.array_equal(thawed.transform(scene.X), model.transform(scene.X))
        assert thawed.score(scene.X, scene.Y) == model.score(scene.X, scene.Y)

    def test_same_seed_same_bits(self, scene):
        noisy = planted(100, 5, noise=0.5, components=6)
        maps = [
            WassersteinProcrustes(**QUICK, random_state=seed).fit(noisy.X, noisy.Y).Q_
            for seed in (3, 3, np.random.default_rng(3), 4)
        ]
        assert np.array_equal(maps[0], maps[1])
        assert np.array_equal(maps[0], maps[2])
        assert not np.array_equal(maps[0], maps[3])

    @pytest.mark.parametrize("call", ["transform", "inverse_transform", "score"])
    def test_unfitted_use_says_so(self, model, scene, call):
        arguments = (scene.X, scene.Y) if call == "score" else (scene.X,)
        with pytest.raises(ValueError, match=r"not fitted yet: call fit\(X, y\) first"):
            getattr(model, call)(*arguments)
        assert not model.__sklearn_is_fitted__()

    def test_repr_shows_what_was_changed(self):
        assert repr(WassersteinProcrustes()) == "WassersteinProcrustes()"
        assert repr(WassersteinProcrustes(recipe="paper")) == "WassersteinProcrustes(recipe='paper')"
        assert list(inspect.signature(WassersteinProcrustes).parameters) == list(WassersteinProcrustes().get_params())


class TestWhatItLearns:
    def test_a_planted_rotation(self, model, scene):
        mapped = model.fit_transform(scene.X, scene.Y)
        np.testing.assert_allclose(model.Q_, scene.Q, atol=1e-3)
        np.testing.assert_allclose(mapped, scene.Y[scene.permutation], atol=1e-2 * np.abs(scene.Y).max())
        assert np.array_equal(mapped, model.transform(scene.X))
        np.testing.assert_allclose(model.inverse_transform(mapped), scene.X, atol=1e-6)

    def test_known_pairs_reach_the_initializer(self, scene):
        pairs = np.stack([np.arange(50), scene.permutation[:50]], axis=1)
        model = WassersteinProcrustes(initializer=Anchors(), **QUICK).fit(scene.X, scene.Y, pairs=pairs)
        assert model.alignment_.history["start"]["n_pairs"] == 50

    def test_labelled_vectors_are_taken_too(self, model, scene):
        X, Y = (Vectors([str(i) for i in range(100)], Z) for Z in (scene.X, scene.Y))
        plain = clone(model).fit_transform(scene.X, scene.Y)
        assert np.array_equal(model.fit_transform(X, Y), plain)
        assert model.score(X, Y) == model.score(scene.X, scene.Y)

    def test_the_right_map_scores_higher_than_random_ones(self, model, scene, rng):
        right = model.fit(scene.X, scene.Y).score(scene.X, scene.Y)
        nothing = {"solver": Stochastic(schedule=()), "refinement": Refinement(n_epochs=0)}
        for _ in range(5):
            Q = orthogonal(5, 5, rng)
            wrong_pairs = np.stack([np.arange(100), np.arange(100)], axis=1)
            wrong = WassersteinProcrustes(initializer=Anchors(), **nothing)
            assert wrong.fit(scene.X, scene.X @ Q, pairs=wrong_pairs).score(scene.X, scene.Y) < right - 0.05

    def test_torch_in_torch_out(self, model, scene):
        torch = pytest.importorskip("torch")
        X, Y = (torch.asarray(Z, dtype=torch.float32) for Z in (scene.X, scene.Y))
        mapped = model.fit_transform(X, Y)
        assert mapped.dtype == model.Q_.dtype == torch.float32
        assert isinstance(model.score(X, Y), float)
