"""`damastes lexicon`: the induced lexicon of a run, the surest pairs first."""

from __future__ import annotations

import json
from collections.abc import Iterable
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from damastes.cli.options import AsJson, Directory
from damastes.cli.run import LEXICON, check_inputs, read_record
from damastes.cli.terminal import print_json
from damastes.errors import FileFormatError

__all__ = ["lexicon"]


class Form(StrEnum):
    """How pairs are written."""

    tsv = "tsv"
    jsonl = "jsonl"


def lexicon(
    directory: Directory,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="FILE", help="Where to write; standard output unless given."),
    ] = None,
    top: Annotated[
        int | None, typer.Option(metavar="N", min=1, help="Only so many pairs, of the highest scores.")
    ] = None,
    min_score: Annotated[float | None, typer.Option(metavar="X", help="Only pairs with at least this score.")] = None,
    form: Annotated[
        Form | None, typer.Option("--format", help="TSV, or JSON lines; by the name of FILE unless given.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Write the induced lexicon, best pairs first.

    It has the pairs of words that choose each other. Scores are those of CSLS: 0 is a pair as close as its neighbours.

    Example: damastes lexicon en-es -o en-es.tsv --top 5000
    """
    from damastes.io.atomic import atomic_writer

    record, _ = read_record(directory)
    check_inputs(directory, record, needed=False)
    pairs = _read(directory / LEXICON)
    n_all = len(pairs)
    kept = [pair for pair in pairs if min_score is None or pair[2] >= min_score]
    kept = sorted(kept, key=lambda pair: -pair[2])[:top]
    if form is None:
        json_lines = (as_json and output is None) or (output is not None and output.suffix in (".jsonl", ".ndjson"))
        form = Form.jsonl if json_lines else Form.tsv
    if output is None:
        for line in _lines(kept, form):
            typer.echo(line)
        return
    with atomic_writer(output) as file:
        for line in _lines(kept, form):
            file.write(f"{line}\n".encode())
    if as_json:
        print_json({"file": str(output), "format": form.value, "pairs": len(kept), "of": n_all})
    else:
        typer.echo(f"{output}: {len(kept):,} of {n_all:,} pairs")


def _lines(pairs: Iterable[tuple[str, str, float]], form: Form) -> Iterable[str]:
    for source, target, score in pairs:
        if form is Form.tsv:
            yield f"{source}\t{target}\t{score:.4f}"
        else:
            yield json.dumps({"source": source, "target": target, "score": score}, ensure_ascii=False)


def _read(path: Path) -> list[tuple[str, str, float]]:
    pairs = []
    try:
        with path.open(encoding="utf-8", newline="\n") as file:
            for number, line in enumerate(file, 1):
                cells = line.rstrip("\n").split("\t")
                try:
                    source, target, score = cells[0], cells[1], float(cells[2])
                except (IndexError, ValueError):
                    raise FileFormatError(
                        f"{path}, line {number}: expected two words and a score, got {line.strip()[:60]!r}. Align again."
                    ) from None
                pairs.append((source, target, score))
    except FileNotFoundError:
        raise FileFormatError(f"{path}: there is no such file. Align again.") from None
    except UnicodeDecodeError as error:
        raise FileFormatError(f"{path}: expected UTF-8 text, got {error.reason}. Align again.") from None
    return pairs
