"""Claims of the paper that no table shows, one a file, each a small experiment with its answer."""

from __future__ import annotations

from damastes.experiments.cells import Cell, Experiment, Results, Setting
from damastes.experiments.claims import alternation, criteria, hubs, noisy_lexicon, random_start, restarts
from damastes.experiments.layout import Page

__all__ = ["EXPERIMENT"]

_CLAIMS = (alternation, random_start, restarts, noisy_lexicon, criteria, hubs)


def cells(setting: Setting) -> list[Cell]:
    """The cells of all claims."""
    return [cell for claim in _CLAIMS for cell in claim.cells(setting)]


def layout(setting: Setting, results: Results) -> Page:
    """One table a claim."""
    parts = [claim.layout(setting, results) for claim in _CLAIMS]
    return Page("Claims of the paper that no table shows", parts, quick=setting.quick)


EXPERIMENT = Experiment("claims", cells, layout)
