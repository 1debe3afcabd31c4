"""`damastes convert`: vectors from one form to another."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from damastes.cli.options import AsJson, SkipBadLines
from damastes.cli.stream import copy_vectors
from damastes.cli.terminal import print_json, size_text

__all__ = ["convert"]


def convert(
    input_file: Annotated[Path, typer.Argument(metavar="IN", help="Vectors in any form.", show_default=False)],
    output: Annotated[
        Path, typer.Argument(metavar="OUT", help="Where to write; its name decides the form.", show_default=False)
    ],
    limit: Annotated[int | None, typer.Option(metavar="N", min=1, help="Copy at most so many vectors.")] = None,
    skip_bad_lines: SkipBadLines = False,
    as_json: AsJson = False,
) -> None:
    """Convert a file of vectors to another form.

    The name of OUT decides: .vec, .txt, .npz, .safetensors, .parquet; text also with .gz and such.

    Example: damastes convert wiki.en.vec wiki.en.npz --limit 200000
    """
    count, dimension = copy_vectors(
        input_file, output, None, stage="converting", limit=limit, skip_bad_lines=skip_bad_lines
    )
    size = output.stat().st_size
    if as_json:
        print_json({"file": str(output), "n": count, "dimension": dimension, "bytes": size})
    else:
        typer.echo(f"{output}: {count:,} vectors of {dimension} numbers, {size_text(size)}")
