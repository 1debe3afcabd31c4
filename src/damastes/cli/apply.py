"""`damastes apply`: map any vector file, in blocks."""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from damastes.cli.options import AsJson, SkipBadLines
from damastes.cli.run import MAP
from damastes.cli.stream import copy_vectors
from damastes.cli.terminal import print_json
from damastes.errors import FileFormatError

if TYPE_CHECKING:
    from damastes import Map
    from damastes._arrays import NumpyArray

__all__ = ["apply"]


class FrameName(StrEnum):
    """Where mapped vectors are."""

    target = "target"
    shared = "shared"


def apply(
    map_file: Annotated[
        Path, typer.Argument(metavar="MAP", help="A saved map, or what 'damastes align' wrote.", show_default=False)
    ],
    input_file: Annotated[Path, typer.Argument(metavar="IN", help="Vectors in any form.", show_default=False)],
    output: Annotated[
        Path, typer.Argument(metavar="OUT", help="Where to write; its name decides the form.", show_default=False)
    ],
    inverse: Annotated[bool, typer.Option("--inverse", help="IN has target vectors: map them back.")] = False,
    frame: Annotated[
        FrameName,
        typer.Option(help="target: coordinates of the other side's file; shared: where cosines are compared."),
    ] = FrameName.target,
    limit: Annotated[int | None, typer.Option(metavar="N", min=1, help="Map at most so many vectors.")] = None,
    skip_bad_lines: SkipBadLines = False,
    as_json: AsJson = False,
) -> None:
    """Map a file of vectors, also of words that were not aligned.

    It works in blocks, so a file of any size will do. With --frame shared, map the source file as it is and the target
    file with --inverse: both are then in one space.

    Example: damastes apply en-es wiki.en.vec wiki.en-in-es.vec
    """
    from damastes import load_map

    mapping = load_map(map_file / MAP if map_file.is_dir() else map_file)
    step = _step(mapping, inverse=inverse, frame=frame, path=input_file)
    count, dimension = copy_vectors(
        input_file, output, step, stage="mapping", limit=limit, skip_bad_lines=skip_bad_lines
    )
    if as_json:
        print_json({"file": str(output), "n": count, "dimension": dimension, "frame": frame.value, "inverse": inverse})
    else:
        where = "the shared frame" if frame is FrameName.shared else f"{'source' if inverse else 'target'} coordinates"
        typer.echo(f"{output}: {count:,} vectors of {dimension} numbers, in {where}")


def _step(mapping: Map, *, inverse: bool, frame: FrameName, path: Path) -> Callable[[NumpyArray], NumpyArray]:
    expected = (mapping.target_frame if inverse else mapping.source_frame).dimension
    side = "target" if inverse else "source"
    if frame is FrameName.shared:
        change = mapping.embed_target if inverse else mapping.embed_source
    else:
        change = mapping.inverse_transform if inverse else mapping.transform

    def step(matrix: NumpyArray) -> NumpyArray:
        if matrix.shape[1] != expected:
            raise FileFormatError(
                f"{path}: expected vectors of {expected} numbers, as the map takes on its {side} side, got {matrix.shape[1]}"
            )
        mapped: NumpyArray = change(matrix)
        return mapped

    return step
