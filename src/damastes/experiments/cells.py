"""What an experiment is: cells that are computed one by one, and a layout of the finished ones."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

from damastes._arrays import Progress
from damastes.experiments.data import Data
from damastes.experiments.layout import Layout, Page

__all__ = ["Cell", "Experiment", "Result", "Results", "Setting"]

# What a cell found: plain values that JSON can hold, no NumPy scalars, no nan.
Result: TypeAlias = Mapping[str, Any]
# Finished cells by key.
Results: TypeAlias = Mapping[str, Result]


@dataclass(frozen=True, slots=True)
class Setting:
    """What the person asked for.

    `quick` means fewer seeds and steps and smaller clouds, labelled as such; `seeds` overrides how many of them; `corpus` is a
    text to train toy vectors on.
    """

    data: Data
    quick: bool = False
    seeds: int | None = None
    corpus: Path | None = None

    def n_seeds(self, full: int, quick: int = 1) -> int:
        """How many seeds to run, given the experiment's own numbers."""
        return self.seeds or (quick if self.quick else full)


@dataclass(frozen=True, slots=True)
class Cell:
    """One number of a table, or what several of them come from.

    `key` is stable and says what it is ("en-fr/paper/seed 3"); `inputs` holds all that the result depends on (data hashes,
    settings, the seed): a finished cell is kept as long as they are the same; `run` does the work.
    """

    key: str
    inputs: Mapping[str, Any]
    run: Callable[[Progress], Result]


@dataclass(frozen=True, slots=True)
class Experiment:
    """A table, figure or claim of the paper.

    `cells` lists the work, `layout` makes a table, or a page of several, of all finished cells, `draw` writes figures and returns
    their names: it gets the path of the JSON file without its suffix, to which it adds one of its own. `kin` names experiments
    with the same cells, of which two tables are made: what one has finished the other does not compute again. `needs` says what
    to install when an extra is missing, before there is any work.
    """

    name: str
    cells: Callable[[Setting], Sequence[Cell]]
    layout: Callable[[Setting, Results], Layout | Page]
    draw: Callable[[Results, Path], list[str]] | None = None
    kin: tuple[str, ...] = ()
    needs: Callable[[Setting], None] = lambda setting: None
