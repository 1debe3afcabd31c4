"""Numbers in text: many at once by Arrow's parser or NumPy's, one by one to find the bad one."""

from __future__ import annotations

import re
import warnings
from types import ModuleType
from typing import Any

import numpy as np

from damastes._arrays import NumpyArray

__all__ = ["format_rows", "is_number", "parse_rows"]

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
    import pyarrow as pa

    # One number a line: then the only column is the matrix, row by row, and nothing has to be transposed.
    text = text.replace(b" ", b"\n")
    try:
        table = arrow.read_csv(
            pa.BufferReader(text),
            read_options=arrow.ReadOptions(use_threads=False, column_names=["number"], block_size=max(len(text), 1)),
            parse_options=arrow.ParseOptions(delimiter=" ", quote_char=False),
            convert_options=arrow.ConvertOptions(
                column_types={"number": pa.float32()}, null_values=[], strings_can_be_null=False
            ),
        )
        column = table.column("number").combine_chunks()
        numbers: NumpyArray = column.to_numpy(zero_copy_only=False)
    except pa.ArrowException:
        return None
    return numbers


def _parse_with_numpy(text: bytes) -> NumpyArray | None:
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
