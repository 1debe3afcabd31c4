"""The paper's tables, figure and claims, one a file: `damastes reproduce` runs them.

An experiment is a list of cells, each computed once and kept, and a layout of the finished ones. To add one, write a
module with an `EXPERIMENT` and name it here.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from damastes.errors import InputError

if TYPE_CHECKING:
    from damastes.experiments.cells import Experiment

__all__ = ["NAMES", "experiment"]

# In the order in which `damastes reproduce all` runs them. Modules are imported when asked for: the command line's help
# needs their names alone.
_MODULES = {
    "table1": "damastes.experiments.table1",
    "table2": "damastes.experiments.table2",
    "table3": "damastes.experiments.table3",
    "table4": "damastes.experiments.table4",
    "figure1": "damastes.experiments.figure1",
    "claims": "damastes.experiments.claims",
}
NAMES = tuple(_MODULES)


def experiment(name: str) -> Experiment:
    """Return an experiment by name."""
    if name not in _MODULES:
        raise InputError(f"there is no experiment named {name!r}; expected {', '.join(NAMES)} or all")
    found: Experiment = import_module(_MODULES[name]).EXPERIMENT
    return found
