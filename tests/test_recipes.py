from __future__ import annotations

import pickle
from dataclasses import replace

import numpy as np
import pytest

from damastes import Frame, Vectors, align
from damastes.initializers import Convex, IndependentComponents
from damastes.matching import open_loop
from damastes.recipes import AUTHORS, DEFAULT, PAPER, recipe_named
from damastes.retrieval import CSLS, ISF
from damastes.solvers import Refinement, Solution, authors_schedule, paper_schedule


@pytest.mark.parametrize("recipe", [PAPER, AUTHORS], ids=lambda recipe: recipe.name)
class TestThePaper:
    def test_frame_is_unit_centre_unit(self, recipe):
        assert recipe.frame == Frame(centre=True, power=1.0)

    def test_start_is_the_relaxation_of_root_spectra_on_2500_points(self, recipe):
        start = recipe.initializer
        assert isinstance(start, Convex)
        assert (start.n_points, start.power, start.mu) == (2500, 0.5, 0.0)

    def test_start_takes_100_open_loop_steps(self, recipe):
        solver = recipe.initializer.solver
        assert (solver.max_iter, solver.tol) == (100, 0.0)  # no step is saved by stopping early
        assert solver.step is open_loop
        assert [open_loop(t, -1.0, 1.0) for t in (1, 2, 8)] == [2 / 3, 2 / 4, 2 / 10]

    def test_couplings_are_entropic_at_0_05(self, recipe):
        assert recipe.solver.coupling.reg == 0.05
        assert not recipe.solver.coupling.relative
        # The gradient of ours is twice theirs, and so is the temperature.
        assert recipe.initializer.solver.oracle.reg == 2 * 0.05
        assert not recipe.initializer.solver.oracle.relative

    def test_batches_come_from_the_first_20000_points(self, recipe):
        assert recipe.solver.pool == 20_000

    def test_refinement_has_5_epochs_of_csls_10(self, recipe):
        assert isinstance(recipe.refinement, Refinement)
        assert recipe.refinement.n_epochs == 5
        assert recipe.refinement.retriever == CSLS(k=10)
        assert recipe.refinement.first < recipe.refinement.limit == 10_000


def test_schedules():
    assert PAPER.solver.schedule == paper_schedule()
    assert [phase.batch_size for phase in PAPER.solver.schedule] == [500, 1000, 2000]
    assert len({phase.n_iter for phase in PAPER.solver.schedule}) == 1
    assert AUTHORS.solver.schedule == authors_schedule()
    assert {phase.lr for recipe in (PAPER, AUTHORS) for phase in recipe.solver.schedule} == {500.0}


class TestTheDefault:
    def test_starts_in_the_frame_of_the_paper_and_finishes_in_a_ridge_frame(self):
        assert DEFAULT.frame == PAPER.frame
        assert DEFAULT.finish == Frame(ridge=DEFAULT.finish.ridge)
        assert PAPER.finish is AUTHORS.finish is None

    def test_describes_points_and_falls_back_on_independent_components_and_on_the_head(self):
        assert isinstance(DEFAULT.initializer, Convex)
        assert DEFAULT.initializer.power == 0.5
        assert DEFAULT.initializer.mu > 0
        assert DEFAULT.fallbacks
        assert all(route.head or isinstance(route.initializer, IndependentComponents) for route in DEFAULT.fallbacks)
        assert any(route.head for route in DEFAULT.fallbacks)

    def test_looks_at_no_order_and_no_head_where_there_is_none(self):
        assert DEFAULT.unordered_fallbacks
        assert all(route.head is None and not route.initializer.ordered for route in DEFAULT.unordered_fallbacks)
        assert PAPER.unordered_fallbacks is AUTHORS.unordered_fallbacks is None
        assert PAPER.fallbacks == AUTHORS.fallbacks == ()

    def test_ends_with_a_metric(self):
        assert DEFAULT.refinement.noise > 0

    def test_pickles(self):
        assert pickle.loads(pickle.dumps(DEFAULT)) == DEFAULT


def test_retrieval_defaults():
    assert CSLS().k == 10
    assert ISF().beta == 25


def test_recipes_are_found_by_name():
    for recipe in (DEFAULT, PAPER, AUTHORS):
        assert recipe_named(recipe.name) is recipe
        assert recipe_named(recipe) is recipe


@pytest.mark.parametrize("name", ["best", "", None, ["paper"], 3])
def test_other_names_are_refused(name):
    with pytest.raises(ValueError, match="recipe must be a Recipe or one of default, paper, authors, got"):
        recipe_named(name)


@pytest.mark.parametrize("ordered", [True, False])
def test_the_climb_depends_on_whether_rows_are_in_order(ordered):
    called = []

    def climb(name):
        def solver(X, Y, Q, *, pairs, rng, progress):
            called.append(name)
            return Solution(Q)

        return solver

    cloud = np.random.default_rng(0).standard_exponential((60, 5))
    sides = [Vectors(None, cloud, ordered=ordered), Vectors(None, cloud[::-1].copy(), ordered=ordered)]
    recipe = replace(DEFAULT, climb=climb("ordered"), unordered_climb=climb("unordered"))
    align(*sides, recipe=recipe)
    assert called == ["ordered" if ordered else "unordered"]
