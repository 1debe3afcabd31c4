"""Precision of a finished alignment on a problem's test words, as the tables need it. Only here do experiments see answers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from damastes.alignment import Alignment
from damastes.evaluation import evaluate
from damastes.experiments.cells import Result
from damastes.experiments.data import Problem
from damastes.retrieval import CSLS, ISF, Nearest, Retriever

__all__ = ["describe", "precision"]


def precision(
    alignment: Alignment,
    problem: Problem,
    *,
    retrievers: Sequence[Retriever] = (Nearest(), CSLS(), ISF()),
    both_ways: bool = True,
) -> dict[str, Any]:
    """P@1 as {"forward": {"nn": …, "csls": …, "isf": …, "words": …, "coverage": …}, "backward": …}."""
    measured: dict[str, Any] = {}
    for backward, lexicon in ((False, problem.forward), (True, problem.backward))[: 2 if both_ways else 1]:
        results = [evaluate(alignment, lexicon, retriever=r, ks=(1,), backward=backward) for r in retrievers]
        measured[results[0].direction] = {
            **{result.retrieval: result.precision[1] for result in results},
            "words": results[0].n_queries,
            "coverage": results[0].coverage,
        }
    return measured


def describe(name: str, measured: Result) -> str:
    """What a table says of the words it was measured on, from what `precision` returned."""
    ways = [f"{way} {of['words']:,} words, coverage {100 * of['coverage']:.0f} %" for way, of in measured.items()]
    return f"{name}: {'; '.join(ways)}"
