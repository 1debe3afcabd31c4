"""Which frame, starts, solvers and refinement, in which order."""

from __future__ import annotations

from dataclasses import dataclass, replace

from damastes.errors import InputError
from damastes.frame import Frame
from damastes.initializers import Convex, IndependentComponents, Initializer
from damastes.matching import FrankWolfe, open_loop
from damastes.solvers import (
    Chain,
    Phase,
    Refinement,
    SelfLearning,
    Solver,
    Stochastic,
    Subspace,
    authors_schedule,
    averaging,
    fading,
    paper_schedule,
)
from damastes.transport import Sinkhorn

__all__ = ["AUTHORS", "DEFAULT", "PAPER", "Head", "Recipe", "Route", "recipe_named"]


@dataclass(frozen=True, slots=True)
class Head:
    """The first points of both clouds as clouds of their own, framed by themselves, and what improves a map between them.

    Frequent words lie to one side of the others. With a centre of their own they are compared by what they mean and no longer
    by how frequent they are. The recipe's frame must do no more than centre.
    """

    n_points: int
    solver: Solver


@dataclass(frozen=True, slots=True)
class Route:
    """One way to a map: where it starts, how it improves, and how often the last stages follow.

    With a `head` it starts, and improves first, among those points alone. `further` goes on from where the solver ended when a
    quick look is not content with that. From a weak start one pass may stop halfway, since its memory grows as long as it
    lasts; more than are needed lose rare words.
    """

    initializer: Initializer
    solver: Solver
    passes: int = 1
    head: Head | None = None
    further: Solver | None = None


@dataclass(frozen=True, slots=True)
class Recipe:
    """A complete method: frames, then a start and a solver, then refinement.

    `fallbacks` are tried in order while the verdict on the map so far is not "aligned"; the best one goes on. `finish`, when
    there is one, is the frame in which the map is refined and compared; the starts need one that is closer to the data.
    `climb` comes before the refinement when both clouds are ordered: only then do small batches of the head hold points
    that correspond. `unordered_climb` takes its place otherwise, and `unordered_fallbacks`, if given, that of the
    fallbacks.
    """

    name: str
    frame: Frame
    initializer: Initializer
    solver: Solver
    refinement: Solver
    finish: Frame | None = None
    fallbacks: tuple[Route, ...] = ()
    climb: Solver | None = None
    unordered_climb: Solver | None = None
    unordered_fallbacks: tuple[Route, ...] | None = None


# The paper's relaxation with the settings of the authors' code: kernels of √ spectrum, up to 100 steps of 2/(t+2) (the last
# 70 gain less than 0.01 % of the value together), and their reg of 0.05, which they apply to half the gradient.
_PAPER_START = Convex(
    n_points=2500,
    power=0.5,
    mu=0.0,
    solver=FrankWolfe(max_iter=100, oracle=Sinkhorn(reg=0.1, tol=1e-3), step=open_loop, tol=0.0, stall=1e-4),
)
_PAPER_COUPLING = Sinkhorn(reg=0.05, tol=1e-3)
# The paper says nothing of the vocabulary. On en-fr a growing one ends nearer to the supervised map than fixed ones of 3,000 to
# 20,000; on the sample, en-es and one toy it makes little difference.
_PAPER_REFINEMENT = Refinement(n_epochs=5, first=2000, limit=10_000)

PAPER = Recipe(
    name="paper",
    frame=Frame(),
    initializer=_PAPER_START,
    solver=Stochastic(schedule=paper_schedule(), coupling=_PAPER_COUPLING, pool=20_000),
    refinement=_PAPER_REFINEMENT,
)
AUTHORS = Recipe(
    name="authors",
    frame=Frame(),
    initializer=_PAPER_START,
    solver=Stochastic(schedule=authors_schedule(), coupling=_PAPER_COUPLING, pool=20_000),
    refinement=_PAPER_REFINEMENT,
)


def _explore(n_iter: int, batch_size: int = 1000, pool: int = 200_000) -> Subspace:
    """Batches without a memory at first (a learning rate that forgets Q), then settling.

    In the leading directions, with a flatter spectrum: of all that was tried this comes home from the weakest starts.
    """
    return Subspace(
        Stochastic(
            schedule=(Phase(n_iter, batch_size, lr=1e6), Phase(30, 1500, lr=500.0), Phase(30, 1500, lr=150.0)),
            coupling=Sinkhorn(reg=0.03, tol=5e-2, max_iter=8),
            pool=pool,
            share=0.5,
        )
    )


# Where the texts are of different kinds, the frequent words of both still correspond and the others do not. The signal is weaker
# there: it takes larger batches, in which more points meet their partners, and more of them.
EXPLORE_HEAD = _explore(400, batch_size=2000, pool=5000)
# Enough to forget what a map remembers, and to find back to the basin that it is in.
EXPLORE_BRIEFLY = _explore(40, pool=5000)

# Batches of a third of the pool.
CLIMB = SelfLearning(n_iter=80, batch_size=1700, pool=5000, memory=fading(0.7), noise=0.1, tol=0.015)

# What the frequent words have begun, all words may complete. Only the climb tells: a look at the frequent words prefers a map
# that was fitted to them.
_FURTHER = Chain((_explore(200, batch_size=2000), CLIMB))

# What the first two routes miss is often in the frequent words alone: the cheap start among them, or independent components of
# them. Whether they lead home there depends on the draw, so that both get another one.
_FREQUENT_WORDS = Route(Convex(n_points=1500), EXPLORE_HEAD, passes=2, head=Head(2500, _explore(200)), further=_FURTHER)
_THEIR_COMPONENTS = Route(IndependentComponents(n_fit=(5000, 10_000)), EXPLORE_HEAD, passes=2, further=_FURTHER)

# Without an order nobody knows the frequent words: all points take part, in large batches from a weaker start.
_ALL_POINTS = Route(IndependentComponents(ordered=False), _explore(400, batch_size=2000), passes=2)

# The cheap start solves similar spaces, independent components unlike ones.
DEFAULT = Recipe(
    name="default",
    frame=Frame(),
    initializer=Convex(),
    solver=_explore(80),
    refinement=SelfLearning(n_iter=60, batch_size=5000, pool=10_000, memory=averaging, noise=0.1, lead=0.05, tol=0.003),
    climb=CLIMB,
    unordered_climb=replace(CLIMB, batch_size=3400, pool=10_000),
    finish=Frame(ridge=1.5),
    fallbacks=(
        Route(IndependentComponents(), _explore(150)),
        _FREQUENT_WORDS,
        _THEIR_COMPONENTS,
        _FREQUENT_WORDS,
        replace(_THEIR_COMPONENTS, initializer=IndependentComponents(n_fit=(5000, 10_000), n_starts=40)),
    ),
    unordered_fallbacks=(
        Route(IndependentComponents(ordered=False), _explore(150)),
        _ALL_POINTS,
        replace(_ALL_POINTS, initializer=IndependentComponents(n_starts=40, ordered=False)),
    ),
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
