"""Vectors from file to file, in blocks: what `apply` and `convert` share."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from damastes.cli.terminal import progress_bar
from damastes.errors import FileFormatError

if TYPE_CHECKING:
    from damastes._arrays import NumpyArray

__all__ = ["copy_vectors"]

_BLOCK = 10_000


def copy_vectors(
    source: Path,
    target: Path,
    step: Callable[[NumpyArray], NumpyArray] | None,
    *,
    stage: str,
    limit: int | None,
    skip_bad_lines: bool,
) -> tuple[int, int]:
    """Copy vectors, each block through `step` unless it is None; return how many there were and their new dimension.

    The file appears when it is complete; until then an older one stays.
    """
    from damastes.io import VectorsWriter, describe, iter_vectors

    promised = describe(source).n
    count, dimension = 0, 0
    with progress_bar("vectors") as progress, VectorsWriter(target) as writer:
        for words, matrix in iter_vectors(source, block=_BLOCK, limit=limit, skip_bad_lines=skip_bad_lines):
            mapped = matrix if step is None else step(matrix)
            writer.write(words, mapped)
            count, dimension = count + len(words), int(mapped.shape[1])
            total = count if promised is None else max(promised if limit is None else min(promised, limit), count)
            progress(stage, count, total, {})
        if count == 0:
            raise FileFormatError(f"{source}: expected vectors, got none")
    return count, dimension
