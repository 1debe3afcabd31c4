"""Run the cells of an experiment that are not finished yet, and keep each as soon as it is."""

from __future__ import annotations

import importlib
import json
import os
import platform
import re
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any, TypeAlias

from damastes._arrays import Progress
from damastes.errors import FileFormatError
from damastes.experiments.cells import Cell, Experiment, Results, Setting
from damastes.experiments.layout import Layout, Page
from damastes.io.atomic import atomic_writer

# POSIX has it.
fcntl: Any = importlib.import_module("fcntl") if os.name == "posix" else None

__all__ = ["Outcome", "Watch", "run"]

# watch(key, done, total, doing): called when a cell begins, and while it goes on; raise from it to stop the work.
Watch: TypeAlias = Callable[[str, int, int, str], None]

# Versions of these are recorded when they were used.
_OPTIONAL = ("torch", "matplotlib", "gensim")
_THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


@dataclass(frozen=True, slots=True)
class Outcome:
    """A finished experiment: its table, what is in its JSON file, how many cells were there already, and the files written."""

    layout: Layout | Page
    record: Mapping[str, Any]
    n_kept: int
    files: tuple[str, ...]


def run(
    experiment: Experiment,
    setting: Setting,
    output: Path,
    *,
    command: str,
    fresh: bool = False,
    done_before: Mapping[str, Mapping[str, Any]] | None = None,
    watch: Watch = lambda key, done, total, doing: None,
) -> Outcome:
    """Compute what is missing of an experiment in OUTPUT/NAME.json, then lay it out.

    The file of a quick run is NAME-quick.json, that of a text NAME-corpus.json.

    The file is written after every cell, at once or not at all, so a run that was stopped goes on where it was. A cell is kept
    as long as its inputs, quick or not, and the version of damastes are the same; with `fresh` none is. Several runs may write
    into one folder at the same time, also of one experiment: each adds its cells to those that it finds in the file. Finished
    cells of an experiment's kin are taken over from their files; with `fresh`, only from `done_before`, the records of what was
    run just now.
    """
    experiment.needs(setting)
    path = output / f"{file_stem(experiment.name, setting)}.json"
    cells = list(experiment.cells(setting))
    assert len({cell.key for cell in cells}) == len(cells), "the keys of cells must be different"
    wanted = {cell.key: _inputs(cell, setting) for cell in cells}
    kin = [
        (done_before or {}).get(name) or (_nothing() if fresh else _read(output / f"{file_stem(name, setting)}.json"))
        for name in experiment.kin
    ]

    def known(afresh: bool) -> dict[str, Any]:
        """What is there already. Cells that are not asked for this time, such as those of further seeds, stay in the file."""
        found = _nothing() if afresh else _read(path)
        found["cells"] = _fitting(found["cells"], wanted)
        for other in kin:
            _take_over(other, wanted, found["cells"], found["runs"])
        return found

    stored = known(afresh=fresh)["cells"]
    n_kept = len(stored.keys() & wanted.keys())
    mine: dict[str, Any] = {}

    def keep(*, page: Mapping[str, Any] | None = None, afresh: bool = False) -> dict[str, Any]:
        with _alone(output):
            found = known(afresh)
            stored.update(found["cells"])
            record = {
                "experiment": experiment.name,
                "quick": setting.quick,
                **_joined(found["runs"], found["cells"], mine, _environment(command), list(wanted)),
                **({"layout": page} if page else {}),
            }
            _write(path, record)
        return record

    done = n_kept
    for cell in cells:
        if cell.key in stored:
            continue
        watch(cell.key, done, len(cells), "")
        began = time.perf_counter()
        result = cell.run(_telling(watch, cell.key, done, len(cells)))
        mine[cell.key] = {
            "inputs": wanted[cell.key],
            "seconds": round(time.perf_counter() - began, 3),
            "result": _round_trip(result),
        }
        keep(afresh=fresh and len(mine) == 1)
        done += 1
    results: Results = {key: {**stored, **mine}[key]["result"] for key in wanted}
    layout = experiment.layout(setting, results)
    drawn = experiment.draw(results, path.with_suffix("")) if experiment.draw else []
    final = keep(page=layout.to_json(), afresh=fresh and not mine)
    with atomic_writer(path.with_suffix(".md")) as file:
        file.write(layout.to_markdown().encode())
    return Outcome(layout, final, n_kept, (path.name, path.with_suffix(".md").name, *drawn))


def file_stem(name: str, setting: Setting) -> str:
    """The name of an experiment's files: a quick run, or one on a text, does not overwrite a complete one."""
    return f"{name}{'-corpus' if setting.corpus else ''}{'-quick' if setting.quick else ''}"


def _take_over(
    kin: Mapping[str, Any], wanted: Mapping[str, Any], stored: dict[str, Any], runs: list[dict[str, Any]]
) -> None:
    """Add the finished cells of another experiment that are wanted here, with the runs that they come from."""
    numbers: dict[int, int] = {}
    for key, cell in kin["cells"].items():
        if key in stored or wanted.get(key) != cell["inputs"]:
            continue
        if cell["run"] not in numbers:
            made = next(past for past in kin["runs"] if past["id"] == cell["run"])
            numbers[cell["run"]] = _next_id(runs)
            runs.append({**made, "id": numbers[cell["run"]]})
        stored[key] = {**cell, "run": numbers[cell["run"]]}


def _next_id(runs: list[dict[str, Any]]) -> int:
    return 1 + max((past["id"] for past in runs), default=0)


def _inputs(cell: Cell, setting: Setting) -> dict[str, Any]:
    everything = {**cell.inputs, "quick": setting.quick, "damastes": version("damastes")}
    # Settings are often written by repr, which says where functions are in memory: that is different every time.
    back: dict[str, Any] = json.loads(re.sub(r" at 0x[0-9a-fA-F]+", "", json.dumps(everything, allow_nan=False)))
    return back


def _fitting(cells: Mapping[str, Any], wanted: Mapping[str, Any]) -> dict[str, Any]:
    """The cells that are not asked for, or that are and have the same inputs."""
    return {key: old for key, old in cells.items() if wanted.get(key, old["inputs"]) == old["inputs"]}


def _joined(
    runs: list[dict[str, Any]],
    theirs: Mapping[str, Any],
    mine: Mapping[str, Any],
    made: dict[str, Any],
    order: list[str],
) -> dict[str, Any]:
    """Cells of other runs and of this one, and the runs that they came from; ours gets a number that no other has."""
    others = {key: cell for key, cell in theirs.items() if key not in mine}
    used = {cell["run"] for cell in others.values()}
    number = 1 + max(used, default=0)
    cells = {**others, **{key: {**cell, "run": number} for key, cell in mine.items()}}
    return {
        "runs": [*(run for run in runs if run["id"] in used), *([{"id": number, **made}] if mine else [])],
        "cells": {key: cells[key] for key in (*order, *cells) if key in cells},
    }


@contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """Hold the folder between reading a file and writing it again; the system lets go when a process dies."""
    if fcntl is None:  # Windows: a cell that gets lost is written again with the next one
        yield
        return
    folder.mkdir(parents=True, exist_ok=True)
    handle = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


def _environment(command: str) -> dict[str, Any]:
    """What decided the numbers and times besides the inputs; nothing that tells whose machine it was."""
    versions = {name: version(name) for name in ("damastes", "numpy", "scipy")}
    used = {name: str(getattr(sys.modules[name], "__version__", "?")) for name in _OPTIONAL if name in sys.modules}
    return {
        "command": command,
        "versions": {"python": platform.python_version(), **versions, **used},
        "cores": os.cpu_count(),
        "threads": {name: os.environ[name] for name in _THREADS if name in os.environ},
    }


def _telling(watch: Watch, key: str, done: int, total: int) -> Progress:
    def progress(stage: str, step: int, steps: int, info: Mapping[str, float]) -> None:
        watch(key, done, total, f"{stage} {step:,}/{steps:,}")

    return progress


def _round_trip(value: Mapping[str, Any]) -> dict[str, Any]:
    """The value as it comes back from the file, so that a first run and a resumed one see the same."""
    back: dict[str, Any] = json.loads(json.dumps(value, allow_nan=False))
    return back


def _nothing() -> dict[str, Any]:
    return {"runs": [], "cells": {}}


def _read(path: Path) -> dict[str, Any]:
    if not path.exists():
        return _nothing()
    try:
        record = json.loads(path.read_text(encoding="utf-8"))
        known = {run["id"] for run in record["runs"]}
        sound = all(
            cell["run"] in known and {"inputs", "result", "seconds"} <= cell.keys() for cell in record["cells"].values()
        )
    except (ValueError, KeyError, TypeError, AttributeError):
        sound = False
    if not sound:
        raise FileFormatError(
            f"{path}: expected results of 'damastes reproduce', got something else. Remove it, or start over with --fresh."
        )
    found: dict[str, Any] = record
    return found


def _write(path: Path, record: Mapping[str, Any]) -> None:
    with atomic_writer(path) as file:
        file.write((json.dumps(record, indent=1, ensure_ascii=False) + "\n").encode())
