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
        Path,
        typer.Argument(
            metavar="FILE", help="Vectors, a saved map, or what 'damastes align' wrote.", show_default=False
        ),
    ],
    as_json: AsJson = False,
) -> None:
    """Say what a file is: form, size, first words, lengths, memory.

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
        about = describe(path, n_words=_WORDS)
        sample = iter_vectors(path, limit=_SAMPLE, skip_bad_lines=True)
        lengths = np.concatenate([np.linalg.norm(block.matrix, axis=1) for block in sample])
        # Only files that do not say how many vectors they have are read to their end.
        n = about.n
        if n is None:
            n = sum(len(block.words) for block in iter_vectors(path, skip_bad_lines=True))
    low, middle, high = np.percentile(lengths, (0, 50, 100)).tolist()
    return {
        "file": str(path),
        "kind": "vectors",
        "format": about.format,
        "compression": about.compression,
        "n": n,
        "dimension": about.dimension,
        "first_words": list(about.first_words),
        "norms": {"smallest": low, "median": middle, "largest": high, "of_first": len(lengths)},
        "bytes": about.n_bytes,
        "memory_bytes": 4 * n * about.dimension,
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
        "kind": "map",
        "dimensions": list(mapping.Q.shape),
        "source": made.get("source"),
        "target": made.get("target"),
        "seed": made.get("random_state"),
        "n_pairs": made.get("n_pairs"),
        "damastes": made.get("damastes"),
        "bytes": path.stat().st_size,
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
        "kind": "run",
        **{
            side: {"file": entry.get("given", entry["path"]), "n": entry.get("n"), "dimension": entry.get("dimension")}
            for side, entry in sides.items()
        },
        "inputs_found": len(inputs) == 2,
        "recipe": record["options"].get("recipe"),
        "seed": record["options"].get("seed"),
        "n_pairs": record.get("made", {}).get("n_pairs"),
        "lexicon_pairs": record.get("lexicon", {}).get("pairs"),
        "verdict": verdict.get("label") if isinstance(verdict, dict) else None,
        "seconds": sum(record["seconds"].values()),
        "damastes": record.get("versions", {}).get("damastes"),
    }


# How people read the names and kinds of JSON.
_NAMES = {
    "n": "vectors",
    "first_words": "first words",
    "norms": "lengths",
    "bytes": "on disk",
    "memory_bytes": "in memory",
    "n_pairs": "known pairs",
    "lexicon_pairs": "lexicon",
    "inputs_found": "inputs found",
    "damastes": "made by",
}


def _flat(values: dict[str, Any]) -> list[tuple[str, str]]:
    """Values as people read them, a line each; what is not known is left out."""
    return [(_NAMES.get(name, name), _text(name, value)) for name, value in values.items() if value is not None]


def _text(name: str, value: Any) -> str:
    match name, value:
        case (("bytes" | "memory_bytes"), int()):
            return size_text(value)
        case "kind", str():
            return {"map": "a saved map", "run": "what 'damastes align' wrote"}.get(value, value)
        case (("source" | "target"), dict()):
            sizes = f"{value['n']:,} × {value['dimension']}" if value.get("n") and value.get("dimension") else ""
            return f"{value.get('file') or value.get('name')}, {sizes}".rstrip(", ")
        case "norms", dict():
            low, middle, high = (value[key] for key in ("smallest", "median", "largest"))
            return f"{low:.3g} to {high:.3g}, median {middle:.3g} (of the first {value['of_first']:,})"
        case "dimensions", list():
            return " × ".join(map(str, value))
        case "lexicon_pairs", int():
            return f"{value:,} pairs"
        case "damastes", str():
            return f"damastes {value}"
        case _, bool():
            return "yes" if value else "no"
        case _, int():
            return f"{value:,}"
        case _, float():
            return f"{value:.1f}"
        case _, list():
            return " ".join(map(str, value))
    return str(value)
