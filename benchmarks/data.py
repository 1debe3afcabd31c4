"""Pairs of real spaces for the benchmarks: a folder of vectors and lexicons, or the shipped sample."""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from damastes import Vectors, read_lexicon, read_vectors, samples
from damastes.experiments.data import WORDS, Data

__all__ = ["OTHER_WORDS", "RESULTS", "WORDS", "Problem", "load", "run_cells", "save", "saved"]

# Pairs that no stage was tuned on, but en-en, fr-es, es-fi and fi-ja showed what the route through the head has to be. Most have
# no lexicon: words correspond that share an English translation, and in "en-en", two corpora of one language, the same words.
_SIDES = {"en": "en.spacy", "fr": "fr.spacy", "fi": "fi.floret", "ja": "ja.chive", "es": "es.europarl"}
OTHER_WORDS = {
    f"{one}-{other}": (f"vectors/{_SIDES[one]}", f"vectors/{_SIDES[other]}")
    for one, other in (("fr", "fi"), ("fr", "ja"), ("fi", "ja"), ("es", "fi"), ("es", "ja"), ("fr", "es"))
} | {
    "en-en": ("vectors/en.europarl", "vectors/en.spacy"),
    "en-es unlike texts": ("vectors/en.spacy", "vectors/es.europarl"),
    "en-fr unlike texts": ("vectors/en.europarl", "vectors/fr.spacy"),
}
RESULTS = Path(__file__).parent / "results"


@dataclass(frozen=True)
class Problem:
    """Two clouds, a lexicon to learn from, and lexicons for evaluation in both directions; all are (source, target).

    Test words of one direction are often in the training lexicon of the other: what is measured backward must be learned from
    `train_backward`.
    """

    name: str
    source: Vectors
    target: Vectors
    train: list[tuple[str, str]]
    forward: list[tuple[str, str]]
    backward: list[tuple[str, str]]
    train_backward: list[tuple[str, str]]


def load(name: str, data: Path | None) -> Problem:
    """Return a pair of the data folder by name, or "sample"."""
    if name == "sample":
        # No separate training part: a supervised result would be measured on its own pairs.
        pairs = samples.lexicon()
        return Problem(name, samples.load("en"), samples.load("es"), [], pairs, pairs, [])
    if data is None:
        raise SystemExit(f"{name} needs --data DIR, a folder with vectors/ and lexicons/")
    if name in OTHER_WORDS:
        return _other_words(name, data)
    found = Data.open(data).load(name)
    learned = found.backward_problem().train
    return Problem(name, found.source, found.target, found.train, found.forward, found.backward, learned)


def _other_words(name: str, data: Path) -> Problem:
    source, target = (read_vectors(data / f"{file}.npz") for file in OTHER_WORDS[name])
    if name == "en-en":
        common = [(word, word) for word in source.labels if word in target]
        train, test = common[:5000], common[5000:6500]
        return Problem(name, source, target, train, test, test, train)
    one, other = name.removesuffix(" unlike texts").split("-")
    if one == "en":
        there, back = (
            [read_lexicon(data / f"lexicons/{way}.{part}.txt") for part in ("train", "test")]
            for way in (f"{one}-{other}", f"{other}-{one}")
        )
    else:
        there, back = (
            [_through_english(data, *way, part) for part in ("train", "test")] for way in ((one, other), (other, one))
        )
    turned = [[(b, a) for a, b in pairs] for pairs in back]
    return Problem(name, source, target, there[0], there[1], turned[1], turned[0])


def _through_english(data: Path, one: str, other: str, part: str) -> list[tuple[str, str]]:
    """Pairs of words with an English translation in common; `part` is of the first one's lexicon."""
    onward: dict[str, list[str]] = {}
    for half in ("train", "test"):
        for english, word in read_lexicon(data / f"lexicons/en-{other}.{half}.txt"):
            onward.setdefault(english, []).append(word)
    into = read_lexicon(data / f"lexicons/{one}-en.{part}.txt")
    return sorted({(word, translation) for word, english in into for translation in onward.get(english, [])})


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


def run_cells(name: str, command: str, cells: list[tuple[str, Any]], pairs: list[str], jobs: int) -> None:
    """Run the cells (pair, seed) that a results file lacks, and keep each when it is done; rows in the order of `pairs`.

    A cell is a process of its own: this very command with `--cell PAIR SEED`, which prints the row; a row without a seed is
    of the cell "supervised". With several jobs, each has one thread. Cells that fail are named, and may be tried again.
    """
    rows = saved(name)
    done = {(row["pair"], row.get("seed", "supervised")) for row in rows}

    def run(cell: tuple[str, Any]) -> None:
        if cell in done:
            return
        begin = [sys.executable, *sys.argv, "--cell", cell[0], str(cell[1])]
        environment = {**os.environ, **({"OMP_NUM_THREADS": "1"} if jobs > 1 else {})}
        result = subprocess.run(begin, capture_output=True, text=True, check=False, env=environment)
        if result.returncode:
            print(cell, result.stderr[-500:], flush=True)
            return
        row = json.loads(result.stdout)
        print(row, flush=True)
        rows.append(row)
        rows.sort(key=lambda r: (pairs.index(r["pair"]), r.get("seed", -1)))
        save(name, command, rows)

    with ThreadPoolExecutor(jobs) as pool:
        list(pool.map(run, cells))
