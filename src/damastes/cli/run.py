"""A run on disk: the directory that `align` writes and other commands read."""

from __future__ import annotations

import hashlib
import json
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

from damastes.errors import FileFormatError

if TYPE_CHECKING:
    from damastes import Alignment

__all__ = ["read_run", "write_run"]

MAP, LEXICON, RECORD = "map.safetensors", "lexicon.tsv", "run.json"


def write_run(
    directory: Path, alignment: Alignment, inputs: dict[str, Path], options: dict[str, Any]
) -> dict[str, Any]:
    """Write map, induced lexicon and record; return the record."""
    import numpy
    import scipy

    from damastes.io.atomic import atomic_writer

    alignment.save(directory / MAP)
    pairs = alignment.mutual_pairs()
    with atomic_writer(directory / LEXICON) as file:
        for i, j, score in zip(pairs.source, pairs.target, pairs.scores, strict=True):
            line = f"{alignment.source.label(int(i))}\t{alignment.target.label(int(j))}\t{score:.4f}\n"
            file.write(line.encode())
    record = {
        "inputs": {
            side: {"path": str(path.resolve()), "sha256": _hash(path), **alignment.map.made[side]}
            for side, path in inputs.items()
        },
        "options": options,
        "made": dict(alignment.map.made),
        "versions": {"numpy": numpy.__version__, "scipy": scipy.__version__},
        "seconds": dict(alignment.seconds),
        "history": dict(alignment.history),
        "lexicon": {"pairs": len(pairs), "file": LEXICON},
        "map": MAP,
    }
    # Written last: a directory with a record is complete.
    with atomic_writer(directory / RECORD) as file:
        file.write(json.dumps(record, indent=1, ensure_ascii=False).encode())
    return record


def read_run(directory: Path) -> Alignment:
    """Put an alignment together again from its directory and the inputs that its record names."""
    from damastes import Alignment, load_map, read_vectors

    try:
        record = json.loads((directory / RECORD).read_text(encoding="utf-8"))
        entries = [record["inputs"][side] for side in ("source", "target")]
        inputs = [(Path(entry["path"]), entry["sha256"]) for entry in entries]
        limit, history, seconds = record["options"]["limit"], record["history"], record["seconds"]
    except FileNotFoundError:
        raise FileFormatError(
            f"{directory}: expected a directory written by 'damastes align', but it has no {RECORD}"
        ) from None
    except (ValueError, KeyError, TypeError) as error:
        raise FileFormatError(f"{directory / RECORD}: expected a record of 'damastes align' ({error!r})") from None
    clouds = []
    for path, sha256 in inputs:
        if path.is_file() and _hash(path) != sha256:
            warnings.warn(f"{path} has changed since it was aligned", stacklevel=2)
        clouds.append(read_vectors(path, limit=limit))
    return Alignment(load_map(directory / MAP), clouds[0], clouds[1], history, seconds)


def _hash(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
