"""Pairs of real spaces for the benchmarks: a folder of vectors and lexicons, or the shipped sample."""

from __future__ import annotations

import json
import os
import platform
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from damastes import Vectors, samples
from damastes.experiments.data import WORDS, Data

__all__ = ["RESULTS", "WORDS", "Problem", "load", "save", "saved"]

RESULTS = Path(__file__).parent / "results"


@dataclass(frozen=True)
class Problem:
    """Two clouds, and lexicons for evaluation in both directions."""

    name: str
    source: Vectors
    target: Vectors
    forward: list[tuple[str, str]]
    backward: list[tuple[str, str]]


def load(name: str, data: Path | None) -> Problem:
    """Return a pair of the data folder by name, or "sample"."""
    if name == "sample":
        pairs = samples.lexicon()
        return Problem(name, samples.load("en"), samples.load("es"), pairs, pairs)
    if data is None:
        raise SystemExit(f"{name} needs --data DIR, a folder with vectors/ and lexicons/")
    found = Data.open(data).load(name)
    return Problem(name, found.source, found.target, found.forward, found.backward)


def save(name: str, command: str, rows: list[dict[str, object]]) -> None:
    """Write results beside the benchmark, with the command and versions behind them."""
    RESULTS.mkdir(exist_ok=True)
    record = {
        "command": command,
        "versions": {"python": platform.python_version(), "numpy": np.__version__},
        "cores": os.cpu_count(),
        "rows": rows,
    }
    (RESULTS / f"{name}.json").write_text(json.dumps(record, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def saved(name: str) -> list[dict[str, object]]:
    """Return the rows that are there already, for a benchmark that goes on where it stopped."""
    file = RESULTS / f"{name}.json"
    return list(json.loads(file.read_text(encoding="utf-8"))["rows"]) if file.exists() else []
