"""Vector files: `.npz` with `words` and `vectors`, and word2vec text."""

from __future__ import annotations

import warnings
import zipfile
import zlib
from collections.abc import Iterator
from itertools import islice
from os import PathLike
from pathlib import Path
from typing import Any, TextIO

import numpy as np

from damastes._arrays import NumpyArray
from damastes.errors import FileFormatError
from damastes.vectors import Vectors

__all__ = ["read_vectors"]

_LINES_AT_ONCE = 1000


def read_vectors(path: str | PathLike[str], *, limit: int | None = None) -> Vectors:
    """Read word vectors, most frequent word first, at most `limit` of them.

    Parameters
    ----------
    path : an `.npz` file with arrays `words` and `vectors`, or word2vec text: a line with the number of words and the
        dimension, then a word and its numbers a line, separated by blanks
    limit : read no more than so many

    Returns
    -------
    Vectors, ordered, float32; of a word that occurs twice the first counts.
    """
    path = Path(path)
    if not path.is_file():
        raise FileFormatError(f"{path}: there is no such file")
    if limit is not None and limit < 1:
        raise FileFormatError(f"limit must be at least 1, got {limit}")
    words, matrix = _read_npz(path, limit) if zipfile.is_zipfile(path) else _read_text(path, limit)
    first: dict[str, int] = {}
    for row, word in enumerate(words):
        first.setdefault(word, row)
    if len(first) < len(words):
        warnings.warn(f"{path}: left out {len(words) - len(first)} repeated words", stacklevel=2)
        words, matrix = list(first), matrix[list(first.values())]
    return Vectors(words, matrix, ordered=True, name=path.name)


def _read_npz(path: Path, limit: int | None) -> tuple[list[str], NumpyArray]:
    try:
        with path.open("rb") as file, np.load(file, allow_pickle=False) as arrays:
            missing = {"words", "vectors"} - set(arrays.files)
            if missing:
                raise FileFormatError(
                    f"{path}: expected arrays 'words' and 'vectors', got {', '.join(arrays.files) or 'none'}"
                )
            words, matrix = arrays["words"][:limit], arrays["vectors"][:limit]
    except (ValueError, OSError, EOFError, NotImplementedError, zipfile.BadZipFile, zlib.error) as error:
        if isinstance(error, FileFormatError):
            raise
        raise FileFormatError(f"{path}: the archive can not be read ({error})") from None
    if matrix.ndim != 2 or words.shape != matrix.shape[:1] or matrix.dtype.kind not in "fiu":
        raise FileFormatError(
            f"{path}: expected words (n,) and numeric vectors (n, d), got {words.shape} and {matrix.shape} of {matrix.dtype}"
        )
    return [str(word) for word in words], _float32(matrix)


def _read_text(path: Path, limit: int | None) -> tuple[list[str], NumpyArray]:
    with path.open(encoding="utf-8", errors="replace", newline="\n") as file:
        header = file.readline().split()
        if len(header) != 2 or not all(number.isdecimal() for number in header) or int(header[1]) < 1:
            raise FileFormatError(
                f"{path}, line 1: expected the number of words and the dimension, got {' '.join(header)[:60]!r}"
            )
        dimension = int(header[1])
        words: list[str] = []
        blocks: list[NumpyArray] = []
        for found, block in _text_blocks(file, path, dimension, limit):
            words += found
            blocks.append(block)
    if not words:
        raise FileFormatError(f"{path}: expected vectors after line 1, got none")
    return words, np.concatenate(blocks)


def _text_blocks(file: TextIO, path: Path, dimension: int, limit: int | None) -> Iterator[tuple[list[str], NumpyArray]]:
    done = 0
    while lines := list(islice(file, _LINES_AT_ONCE if limit is None else min(_LINES_AT_ONCE, limit - done))):
        # Words may contain blanks: the last `dimension` fields are the numbers.
        rows = [line.rstrip().rsplit(" ", dimension) for line in lines]
        for number, row in enumerate(rows, done + 2):
            if len(row) != dimension + 1:
                raise FileFormatError(
                    f"{path}, line {number}: expected a word and {dimension} numbers, got {len(row) - 1}"
                )
        try:
            block = _float32([row[1:] for row in rows])
        except ValueError:
            raise FileFormatError(_bad_number(path, rows, done + 2)) from None
        if not np.isfinite(block).all():
            raise FileFormatError(_bad_number(path, rows, done + 2))
        yield [row[0] for row in rows], block
        done += len(rows)
        if done == limit:
            return


def _float32(numbers: Any) -> NumpyArray:
    """In single precision; what does not fit becomes infinite, which is reported as such."""
    with np.errstate(over="ignore"):
        return np.array(numbers, dtype=np.float32)


def _bad_number(path: Path, rows: list[list[str]], first_line: int) -> str:
    for number, row in enumerate(rows, first_line):
        for field in row[1:]:
            try:
                good = bool(np.isfinite(_float32(field)))
            except ValueError:
                good = False
            if not good:
                return f"{path}, line {number}: expected a finite number, got {field!r}"
    raise AssertionError("a block that does not parse has a bad number")
