"""Numbers in text: many at once by Arrow's parser or NumPy's, one by one to find the bad one."""

from __future__ import annotations

import re
import warnings
from types import ModuleType
from typing import Any

import numpy as np

from damastes._arrays import NumpyArray

__all__ = ["format_rows", "is_number", "parse_rows", "parse_usual_lines"]

# A table of very many columns is slower than a single one.
_MOST_COLUMNS = 10_000

_NUMBER = re.compile(rb"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?|[+-]?(?:nan|inf|infinity)", re.IGNORECASE)


def is_number(field: bytes) -> bool:
    """Say whether a field is a number, be it infinite or none."""
    return _NUMBER.fullmatch(field) is not None


def parse_rows(rows: list[bytes], dimension: int) -> NumpyArray:
    """Return the numbers of rows of `dimension` fields separated by single blanks, as float32; what is no number is nan.

    One parse of everything; only when that fails, halves are tried until the bad row is alone.
    """
    matrix = np.empty((len(rows), dimension), dtype=np.float32)
    stack = [(0, len(rows))] if rows else []
    while stack:
        start, stop = stack.pop()
        found = _parse(b" ".join(rows[start:stop]))
        if found is not None and found.size == (stop - start) * dimension:
            matrix[start:stop] = found.reshape(-1, dimension)
        elif stop - start > 1:
            middle = (start + stop) // 2
            stack += [(start, middle), (middle, stop)]
        else:
            matrix[start] = [_number(field) for field in rows[start].split(b" ")]
    return matrix


def _number(field: bytes) -> np.float32:
    with np.errstate(over="ignore"):
        return np.float32(float(field)) if is_number(field) else np.float32(np.nan)


def _parse(text: bytes) -> NumpyArray | None:
    arrow = _arrow_csv()
    if arrow is None:
        return _parse_with_numpy(text)
    # One number a line: then the only column is the matrix, row by row.
    table = _read_csv(arrow, text.replace(b" ", b"\n"), ["number"], {})
    if table is None:
        return None
    numbers: NumpyArray = table.column(0).to_numpy()
    return numbers


def parse_usual_lines(text: bytes, dimension: int) -> tuple[list[bytes], NumpyArray] | None:
    """Return the words and the numbers of lines at full speed, or None when a line is not as usual.

    Usual is a word without blanks and `dimension` numbers, each after one blank, all finite. Needs Arrow.
    """
    arrow = _arrow_csv()
    if arrow is None or dimension > _MOST_COLUMNS:
        return None
    if b"\r" in text:
        text = text.replace(b"\r\n", b"\n")
    # Files that end one line in a blank end all lines so; to look for it everywhere would cost a quarter of the time.
    if text[: text.find(b"\n")].endswith(b" "):
        text = text.replace(b" \n", b"\n")
    # To Arrow a single \r ends a line too, and a byte order mark is no part of the first word.
    if b"\r" in text or text.startswith(b"\xef\xbb\xbf"):
        return None
    names = [str(column) for column in range(dimension + 1)]
    table = _read_csv(arrow, text, names, {"0": "binary"})
    if table is None:
        return None
    matrix = np.empty((table.num_rows, dimension), dtype=np.float32)
    for column in range(dimension):
        matrix[:, column] = table.column(column + 1).to_numpy()
    return (table.column(0).to_pylist(), matrix) if np.isfinite(matrix).all() else None


def _read_csv(arrow: Any, text: bytes, names: list[str], types: dict[str, str]) -> Any:
    """Return a table of float32, but for the columns in `types`; None when a row has other columns or no numbers."""
    import pyarrow as pa

    try:
        return arrow.read_csv(
            pa.BufferReader(text),
            # One thread: on whole files two were no faster, and the block is small enough to stay in the cache.
            read_options=arrow.ReadOptions(use_threads=False, column_names=names, block_size=len(text) + 1),
            parse_options=arrow.ParseOptions(delimiter=" ", quote_char=False),
            convert_options=arrow.ConvertOptions(
                column_types={name: types.get(name, "float") for name in names},
                null_values=[],
                strings_can_be_null=False,
            ),
        )
    except pa.ArrowException:
        return None


def _parse_with_numpy(text: bytes) -> NumpyArray | None:
    # NumPy takes more for a number, or for a blank, than we do.
    if text.translate(None, b"0123456789+-.eE "):
        return None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            # Through float64: what does not fit in float32 becomes infinite, which is reported as such.
            numbers = np.fromstring(text, sep=" ")
    except (ValueError, DeprecationWarning):
        return None
    with np.errstate(over="ignore"):
        return numbers.astype(np.float32)


def _arrow_csv() -> Any:
    """Return Arrow's reader of text, or None without the extra."""
    try:
        from pyarrow import csv
    except ImportError:
        return None
    return csv


def format_rows(matrix: NumpyArray, digits: int | None) -> list[str]:
    """Return each row as numbers separated by blanks; without `digits`, float32 comes back as it is."""
    arrow = _arrow_compute() if digits is None else None
    if arrow is None:
        # Nine digits always tell one float32 from the next.
        row_format = " ".join([f"%.{digits or 9}g"] * matrix.shape[1])
        return [row_format % tuple(row) for row in matrix.tolist()]
    import pyarrow as pa

    numbers = arrow.cast(pa.array(np.ascontiguousarray(matrix, dtype=np.float32).reshape(-1)), pa.string())
    offsets = pa.array(np.arange(0, matrix.size + 1, matrix.shape[1], dtype=np.int32))
    rows: list[str] = arrow.binary_join(pa.ListArray.from_arrays(offsets, numbers), " ").to_pylist()
    return rows


def _arrow_compute() -> ModuleType | None:
    try:
        from pyarrow import compute
    except ImportError:
        return None
    module: ModuleType = compute
    return module
