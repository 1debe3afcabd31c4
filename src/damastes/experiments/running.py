"""Run the cells of an experiment that are not finished yet, and keep each as soon as it is."""

from __future__ import annotations

import json
import os
import platform
import re
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any, TypeAlias

from damastes._arrays import Progress
from damastes.errors import FileFormatError
from damastes.experiments.cells import Cell, Experiment, Results, Setting
from damastes.experiments.layout import Layout
from damastes.io.atomic import atomic_writer

__all__ = ["Outcome", "Watch", "run"]

# watch(key, done, total, doing): called when a cell begins, and while it goes on; raise from it to stop the work.
Watch: TypeAlias = Callable[[str, int, int, str], None]

# Versions of these are recorded when they were used.
_OPTIONAL = ("torch", "matplotlib", "gensim")
_THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


@dataclass(frozen=True, slots=True)
class Outcome:
    """A finished experiment: its table, what is in its JSON file, how many cells were there already, and the files written."""

    layout: Layout
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
    """Compute what is missing of an experiment in OUTPUT/NAME.json (NAME-quick.json for a quick run), then lay it out.

    The file is written after every cell, at once or not at all, so a run that was stopped goes on where it was. A cell is kept
    as long as its inputs, quick or not, and the version of damastes are the same; with `fresh` none is. Experiments do not
    write each other's files: several may run into one folder at the same time. Finished cells of an experiment's kin are taken
    over from their files; with `fresh`, only from `done_before`, the records of what was run just now.
    """
    path = output / f"{file_stem(experiment.name, setting)}.json"
    earlier = _nothing() if fresh else _read(path)
    cells = list(experiment.cells(setting))
    assert len({cell.key for cell in cells}) == len(cells), "the keys of cells must be different"
    wanted = {cell.key: _inputs(cell, setting) for cell in cells}
    # Cells that are not asked for this time, such as those of further seeds, stay in the file.
    stored = {key: old for key, old in earlier["cells"].items() if wanted.get(key, old["inputs"]) == old["inputs"]}
    runs = list(earlier["runs"])
    for name in experiment.kin:
        kin = (done_before or {}).get(name) or (
            _nothing() if fresh else _read(output / f"{file_stem(name, setting)}.json")
        )
        _take_over(kin, wanted, stored, runs)
    n_kept = len(stored.keys() & wanted.keys())
    number = _next_id(runs)

    def record() -> dict[str, Any]:
        here = [*runs, _environment(number, command)]
        used = {cell["run"] for cell in stored.values()}
        ordered = {key: stored[key] for key in (*wanted, *stored) if key in stored}
        return {
            "experiment": experiment.name,
            "quick": setting.quick,
            "runs": [past for past in here if past["id"] in used],
            "cells": ordered,
        }

    done = n_kept
    for cell in cells:
        if cell.key in stored:
            continue
        watch(cell.key, done, len(cells), "")
        began = time.perf_counter()
        result = cell.run(_telling(watch, cell.key, done, len(cells)))
        stored[cell.key] = {
            "inputs": wanted[cell.key],
            "seconds": round(time.perf_counter() - began, 3),
            "run": number,
            "result": _round_trip(result),
        }
        _write(path, record())
        done += 1
    results: Results = {key: stored[key]["result"] for key in wanted}
    layout = experiment.layout(setting, results)
    drawn = experiment.draw(results, path.with_suffix("")) if experiment.draw else []
    final = {**record(), "layout": layout.to_json()}
    _write(path, final)
    with atomic_writer(path.with_suffix(".md")) as file:
        file.write(layout.to_markdown().encode())
    return Outcome(layout, final, n_kept, (path.name, path.with_suffix(".md").name, *drawn))


def file_stem(name: str, setting: Setting) -> str:
    """The name of an experiment's files: a quick run does not overwrite a complete one."""
    return f"{name}-quick" if setting.quick else name


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


def _environment(number: int, command: str) -> dict[str, Any]:
    """What decided the numbers and times besides the inputs; nothing that tells whose machine it was."""
    versions = {name: version(name) for name in ("damastes", "numpy", "scipy")}
    used = {name: str(getattr(sys.modules[name], "__version__", "?")) for name in _OPTIONAL if name in sys.modules}
    return {
        "id": number,
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
