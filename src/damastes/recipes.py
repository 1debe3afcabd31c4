"""Which frame, start, solver and refinement, in which order."""

from __future__ import annotations

from dataclasses import dataclass

from damastes.errors import InputError
from damastes.frame import Frame
from damastes.initializers import Convex, Initializer
from damastes.matching import FrankWolfe, open_loop
from damastes.solvers import Phase, Refinement, Solver, Stochastic, authors_schedule, paper_schedule
from damastes.transport import Sinkhorn

__all__ = ["AUTHORS", "DEFAULT", "PAPER", "Recipe", "recipe_named"]


@dataclass(frozen=True, slots=True)
class Recipe:
    """A complete method: frames, then a start, then solvers one after the other."""

    name: str
    frame: Frame
    initializer: Initializer
    solver: Solver
    refinement: Solver


# The paper's relaxation with the settings of the authors' code: kernels of √ spectrum, 100 steps of 2/(t+2), and their
# reg of 0.05, which they apply to half the gradient.
_PAPER_START = Convex(
    n_points=2500,
    power=0.5,
    mu=0.0,
    solver=FrankWolfe(max_iter=100, oracle=Sinkhorn(reg=0.1, tol=1e-3), step=open_loop, tol=0.0),
)
_PAPER_COUPLING = Sinkhorn(reg=0.05, tol=1e-3)

PAPER = Recipe(
    name="paper",
    frame=Frame(),
    initializer=_PAPER_START,
    solver=Stochastic(schedule=paper_schedule(), coupling=_PAPER_COUPLING, pool=20_000),
    refinement=Refinement(n_epochs=5),
)
AUTHORS = Recipe(
    name="authors",
    frame=Frame(),
    initializer=_PAPER_START,
    solver=Stochastic(schedule=authors_schedule(), coupling=_PAPER_COUPLING, pool=20_000),
    refinement=Refinement(n_epochs=5),
)
# Measured over seeds on several pairs: longer schedules and more epochs change nothing; without the large batches at the
# end, refinement starts from a noisier map and ends a little lower.
DEFAULT = Recipe(
    name="default",
    frame=Frame(),
    initializer=Convex(),
    solver=Stochastic(schedule=(Phase(300, 500), Phase(50, 2000))),
    refinement=Refinement(n_epochs=5),
)

_RECIPES = {recipe.name: recipe for recipe in (DEFAULT, PAPER, AUTHORS)}


def recipe_named(recipe: str | Recipe) -> Recipe:
    """Return a recipe by name; a recipe stays itself."""
    if isinstance(recipe, Recipe):
        return recipe
    try:
        return _RECIPES[recipe]
    except (KeyError, TypeError):
        raise InputError(f"recipe must be a Recipe or one of {', '.join(_RECIPES)}, got {recipe!r}") from None
