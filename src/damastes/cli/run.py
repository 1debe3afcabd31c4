"""A run on disk: the directory that `align` writes and other commands read."""

from __future__ import annotations

import hashlib
import json
import os
import platform
import sys
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from damastes.cli.terminal import plain, status
from damastes.errors import FileFormatError, InputError

if TYPE_CHECKING:
    from damastes import Alignment, Vectors

__all__ = [
    "LEXICON",
    "MAP",
    "RECORD",
    "Reading",
    "check_inputs",
    "check_output",
    "read_record",
    "read_run",
    "write_run",
]

MAP, LEXICON, RECORD = "map.safetensors", "lexicon.tsv", "run.json"

# Same seed and same thread count, same bits: so the record says what decides the thread count.
_THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "VECLIB_MAXIMUM_THREADS")


@dataclass(frozen=True, slots=True)
class Reading:
    """How the input files are read; recorded, so that other commands read them in the same way."""

    limit: int | None = 200_000
    lower: bool = False
    skip_bad_lines: bool = False

    def __call__(self, path: Path) -> Vectors:
        """Read a file of vectors, without rows that have no direction."""
        from damastes import Vectors, read_vectors

        with status(f"reading {path.name}"):
            vectors = read_vectors(path, limit=self.limit, skip_bad_lines=self.skip_bad_lines)
            nonzero = vectors.matrix.any(axis=1)
        if not nonzero.all():
            warnings.warn(f"{path}: left out {int((~nonzero).sum()):,} vectors that are all zeros", stacklevel=2)
            vectors = vectors.select(nonzero.nonzero()[0])
        if not self.lower or vectors.labels is None:
            return vectors
        first: dict[str, int] = {}
        for row, label in enumerate(vectors.labels):
            first.setdefault(label.lower(), row)
        changed = sum(vectors.labels[row] != label for label, row in first.items())
        dropped = len(vectors) - len(first)
        if changed or dropped:
            warnings.warn(
                f"{path}: lower case changed {changed:,} words; {dropped:,} were left out, as an earlier word is the same",
                stacklevel=2,
            )
        kept = vectors.select(_rows(first))
        return Vectors(list(first), kept.matrix, ordered=vectors.ordered, name=vectors.name)

    def word(self, word: str) -> str:
        """A word as the vocabularies have it."""
        return word.lower() if self.lower else word

    def pairs(self, pairs: list[tuple[str, str]]) -> list[tuple[str, str]]:
        """Pairs of words as the vocabularies have them."""
        return [(self.word(a), self.word(b)) for a, b in pairs]


def _rows(first: Mapping[str, int]) -> Any:
    import numpy as np

    return np.fromiter(first.values(), dtype=np.int64, count=len(first))


def check_output(directory: Path) -> None:
    """Say that a run can not be written there before it is made, without making the directory yet."""
    existing = next(place for place in (directory, *directory.absolute().parents) if place.exists())
    if not existing.is_dir():
        raise InputError(f"{directory}: expected a directory to write to, but {existing} is a file")
    if not os.access(existing, os.W_OK | os.X_OK):
        raise InputError(f"{directory}: expected a directory to write to, but {existing} is not writable for you")


def write_run(
    directory: Path,
    alignment: Alignment,
    inputs: Mapping[str, Path],
    options: Mapping[str, Any],
    *,
    seconds: Mapping[str, float] | None = None,
    evaluation: list[dict[str, Any]] | None = None,
) -> dict[str, Any]:
    """Write map, induced lexicon and record; return the record."""
    import time

    import numpy
    import scipy

    from damastes.io.atomic import atomic_writer

    # A directory with a record is complete: an old record goes first, the new one comes last.
    directory.mkdir(parents=True, exist_ok=True)
    (directory / RECORD).unlink(missing_ok=True)
    alignment.save(directory / MAP)
    began = time.perf_counter()
    with status("inducing the lexicon"):
        pairs = alignment.mutual_pairs()
    with atomic_writer(directory / LEXICON) as file:
        for index in (-pairs.scores).argsort(kind="stable"):
            words = (alignment.source.label(int(pairs.source[index])), alignment.target.label(int(pairs.target[index])))
            file.write(f"{_cell(words[0])}\t{_cell(words[1])}\t{pairs.scores[index]:.4f}\n".encode())
    took = {**(seconds or {}), **alignment.seconds, "lexicon": time.perf_counter() - began}
    record: dict[str, Any] = plain(
        {
            "command": ["damastes", *sys.argv[1:]],
            "inputs": {name: {**_identify(path), **alignment.map.made.get(name, {})} for name, path in inputs.items()},
            "options": dict(options),
            "made": dict(alignment.map.made),
            "versions": {
                "damastes": version("damastes"),
                "python": platform.python_version(),
                "numpy": numpy.__version__,
                "scipy": scipy.__version__,
                "platform": platform.platform(),
            },
            "threads": {"cpus": os.cpu_count(), **{name: os.environ.get(name) for name in _THREADS}},
            "seconds": took,
            "history": dict(alignment.history),
            "verdict": None if alignment.verdict is None else alignment.verdict.to_json(),
            "evaluation": evaluation,
            "lexicon": {"pairs": len(pairs), "file": LEXICON},
            "map": MAP,
        }
    )
    with atomic_writer(directory / RECORD) as file:
        file.write(json.dumps(record, indent=1, ensure_ascii=False).encode())
    return record


def read_record(directory: Path) -> tuple[dict[str, Any], Reading]:
    """Read the record of a run, and how its inputs were read."""
    try:
        record = json.loads((directory / RECORD).read_text(encoding="utf-8"))
        for side in ("source", "target"):
            _ = [record["inputs"][side][key] for key in ("path", "sha256")]
        options = record["options"]
        reading = Reading(options["limit"], bool(options.get("lower")), bool(options.get("skip_bad_lines")))
        _ = record["history"], record["seconds"]
    except (FileNotFoundError, NotADirectoryError):
        what = "it has no " + RECORD if directory.is_dir() else "there is none"
        raise FileFormatError(f"{directory}: expected a directory written by 'damastes align', but {what}") from None
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise FileFormatError(f"{directory / RECORD}: expected a record of 'damastes align' ({error!r})") from None
    return record, reading


def check_inputs(directory: Path, record: Mapping[str, Any], *, needed: bool = True) -> list[Path]:
    """Find the vectors that a run was made from, and say so when they have changed since.

    They are looked for where they were, then where the command named them from here. Missing ones are an error if needed.
    """
    found = []
    for side in ("source", "target"):
        entry = record["inputs"][side]
        places = [Path(entry["path"]), Path(entry.get("given", entry["path"]))]
        path = next((place for place in places if place.is_file()), None)
        if path is None:
            if not needed:
                continue
            raise FileFormatError(
                f"{directory}: its {side} vectors are not at {places[0]} any more. "
                "Put them back, or align again where they are now."
            )
        if _changed(path, entry):
            warnings.warn(f"{path} has changed since it was aligned", stacklevel=2)
        found.append(path)
    return found


def read_run(directory: Path) -> tuple[Alignment, Reading]:
    """Put an alignment together again from its directory and the inputs that its record names."""
    from damastes import Alignment, load_map
    from damastes.verdict import Verdict

    record, reading = read_record(directory)
    source, target = check_inputs(directory, record)
    mapping = load_map(directory / MAP)
    clouds = [reading(path) for path in (source, target)]
    for cloud, frame in zip(clouds, (mapping.source_frame, mapping.target_frame), strict=True):
        if cloud.dimension != frame.dimension:
            raise FileFormatError(
                f"{directory}: the map takes {frame.dimension} coordinates, {cloud.name} has {cloud.dimension} now. Align again."
            )
    judged = record.get("verdict")
    verdict = None if judged is None else Verdict(judged["label"], judged["score"], judged["evidence"])
    return Alignment(mapping, clouds[0], clouds[1], record["history"], record["seconds"], verdict), reading


def _identify(path: Path) -> dict[str, Any]:
    state = path.stat()
    return {
        "given": str(path),
        "path": str(path.resolve()),
        "size": state.st_size,
        "modified": state.st_mtime_ns,
        "sha256": _hash(path),
    }


def _changed(path: Path, entry: Mapping[str, Any]) -> bool:
    # Hashing takes seconds for the largest files, so a file of the same size and time counts as the same.
    state = path.stat()
    if (state.st_size, state.st_mtime_ns) == (entry.get("size"), entry.get("modified")):
        return False
    return _hash(path) != str(entry["sha256"])


def _hash(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _cell(word: str) -> str:
    """A word in one cell of one line."""
    return word if not set(word) & set("\t\n\r") else " ".join(word.split())
