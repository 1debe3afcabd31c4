"""`damastes info`: what is this file?"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from damastes.cli.options import AsJson
from damastes.cli.run import MAP, RECORD, check_inputs, read_record
from damastes.cli.terminal import print_json, size_text, status
from damastes.errors import FileFormatError

if TYPE_CHECKING:
    from damastes import Map

__all__ = ["info"]

_SAMPLE = 10_000
_WORDS = 8


def info(
    path: Annotated[
        Path, typer.Argument(metavar="FILE", help="Vectors, a saved map, or what 'damastes align' wrote.", show_default=False)
    ],
    as_json: AsJson = False,
) -> None:
    """Say what a file is: its form, how many vectors of how many numbers, first words, lengths, memory.

    Example: damastes info wiki.en.vec
    """
    if path.is_dir():
        values = _about_run(path)
    elif (mapping := _as_map(path)) is not None:
        values = _about_map(path, mapping)
    else:
        values = _about_vectors(path)
    if as_json:
        print_json(values)
        return
    rows = _flat(values)
    width = max(len(name) for name, _ in rows)
    for name, value in rows:
        typer.echo(f"{name:{width}}  {value}")


def _about_vectors(path: Path) -> dict[str, Any]:
    import numpy as np

    from damastes.io import describe, iter_vectors

    with status(f"reading {path.name}"):
        about = describe(path)
        words, matrix = next(iter_vectors(path, block=_SAMPLE, limit=_SAMPLE, skip_bad_lines=True))
    lengths = np.linalg.norm(matrix, axis=1)
    low, middle, high = np.percentile(lengths, (0, 50, 100)).tolist()
    return {
        "file": str(path),
        "what": "vectors",
        "format": about.format,
        "vectors": about.n,
        "dimension": about.dimension,
        "first words": words[:_WORDS],
        "lengths": {"smallest": low, "median": middle, "largest": high, "of the first": len(words)},
        "bytes on disk": path.stat().st_size,
        "bytes in memory": None if about.n is None else 4 * about.n * about.dimension,
    }


def _as_map(path: Path) -> Map | None:
    """The file as a saved map, or None when it is something else."""
    from safetensors import SafetensorError, safe_open

    from damastes import load_map

    try:
        with safe_open(path, framework="numpy") as file:
            if "damastes" not in (file.metadata() or {}) or "Q" not in file.keys():  # noqa: SIM118 (not a dict)
                return None
    except (SafetensorError, OSError):
        return None
    return load_map(path)


def _about_map(path: Path, mapping: Map) -> dict[str, Any]:
    made = mapping.made
    return {
        "file": str(path),
        "what": "map of damastes",
        "dimensions": list(mapping.Q.shape),
        "source": made.get("source"),
        "target": made.get("target"),
        "seed": made.get("random_state"),
        "known pairs": made.get("n_pairs"),
        "made by damastes": made.get("damastes"),
        "bytes on disk": path.stat().st_size,
    }


def _about_run(directory: Path) -> dict[str, Any]:
    record, _ = read_record(directory)
    inputs = check_inputs(directory, record, needed=False)
    if not (directory / MAP).is_file():
        raise FileFormatError(f"{directory}: has a {RECORD}, but no {MAP}. Align again.")
    sides = {side: record["inputs"][side] for side in ("source", "target")}
    verdict = record.get("verdict")
    return {
        "file": str(directory),
        "what": "run of 'damastes align'",
        **{
            side: {"file": entry["path"], "vectors": entry.get("n"), "dimension": entry.get("dimension")}
            for side, entry in sides.items()
        },
        "inputs found": len(inputs) == 2,
        "recipe": record["options"].get("recipe"),
        "seed": record["options"].get("seed"),
        "known pairs": record.get("made", {}).get("n_pairs"),
        "pairs in the lexicon": record.get("lexicon", {}).get("pairs"),
        "verdict": verdict.get("label") if isinstance(verdict, dict) else None,
        "seconds": sum(record["seconds"].values()),
        "made by damastes": record.get("versions", {}).get("damastes"),
    }


def _flat(values: dict[str, Any]) -> list[tuple[str, str]]:
    """Values as people read them, a line each; what is not known is left out."""
    rows = []
    for name, value in values.items():
        if value is None:
            continue
        if name.startswith("bytes "):
            rows.append((name.removeprefix("bytes "), size_text(value)))
        elif name == "dimensions":
            rows.append((name, " × ".join(map(str, value))))
        elif isinstance(value, dict):
            rows.append((name, ", ".join(f"{key} {_text(item)}" for key, item in value.items() if item is not None)))
        elif isinstance(value, list):
            rows.append((name, " ".join(map(str, value))))
        else:
            rows.append((name, _text(value)))
    return rows


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}"
    return f"{value:.3g}" if isinstance(value, float) else str(value)
