"""Parquet: a column of words and a column of lists of numbers."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import IO, Any

import numpy as np

from damastes._arrays import NumpyArray
from damastes.errors import FileFormatError, MissingExtraError
from damastes.io.findings import Block, Findings
from damastes.io.npy import float32, rows_at_once

__all__ = ["ParquetReader", "ParquetRows"]


def _pyarrow() -> Any:
    try:
        import pyarrow
        import pyarrow.compute
        import pyarrow.parquet
    except ImportError:
        raise MissingExtraError("Parquet files need pyarrow: pip install 'damastes[io]'") from None
    return pyarrow


class ParquetReader:
    """Rows of a Parquet file, a batch at a time: the first column of text and the first of lists."""

    format = "parquet"

    def __init__(self, path: Path, findings: Findings) -> None:
        self._findings = findings
        self._arrow = _pyarrow()
        self._path = path
        try:
            self._file = self._arrow.parquet.ParquetFile(path)
            schema = self._file.schema_arrow
        except (self._arrow.ArrowException, OSError, ValueError) as error:
            raise self._damaged(error) from None
        types = self._arrow.types
        words = [field.name for field in schema if _is_text(types, field.type)]
        lists = [field.name for field in schema if _is_list(types, field.type)]
        if not words or not lists:
            seen = ", ".join(f"{field.name} ({field.type})" for field in schema)
            raise findings.fail("", "a column of words and a column of lists of numbers", seen[:200] or "no columns")
        self._words, self._lists = words[0], lists[0]
        self.n = self._file.metadata.num_rows
        self.dimension = self._first_length()

    def _damaged(self, error: Exception) -> Exception:
        if isinstance(error, FileFormatError):
            return error
        return FileFormatError(f"{self._path}: expected Parquet, but the file is damaged or cut off ({error})")

    def _batches(self, size: int) -> Iterator[Any]:
        try:
            yield from self._file.iter_batches(size, columns=[self._words, self._lists], use_threads=False)
        except (self._arrow.ArrowException, OSError, ValueError, MemoryError) as error:
            raise self._damaged(error) from None

    def _text(self, column: Any) -> list[str | None]:
        """Return words, also those that are no UTF-8."""
        if self._arrow.types.is_dictionary(column.type):
            column = column.dictionary_decode()
        found = column.cast(self._arrow.large_binary()).to_pylist()
        return [None if word is None else word.decode("utf-8", "replace") for word in found]

    def _first_length(self) -> int:
        batch = next((batch for batch in self._batches(1) if batch.num_rows), None)
        first = None if batch is None else batch.column(self._lists)[0].as_py()
        if not first:
            raise self._findings.fail("row 1", "a list of numbers", "no rows" if batch is None else f"{first}")
        return len(first)

    def blocks(self, limit: int | None = None) -> Iterator[Block]:
        """Yield the rows; past `limit` no batch is read."""
        n_found, n_rows = 0, 0
        if limit == 0:
            return
        for batch in self._batches(min(rows_at_once(4 * self.dimension), limit or 1 << 30)):
            words = self._text(batch.column(self._words))
            lists = batch.column(self._lists)
            lengths = self._arrow.compute.list_value_length(lists).to_numpy(zero_copy_only=False)
            good = (np.asarray(lengths, dtype=float) == self.dimension) & np.array([word is not None for word in words])
            for row in np.flatnonzero(~good):
                expected = f"a word and a list of {self.dimension} numbers"
                self._findings.bad_row(f"row {n_rows + row + 1}", expected, f"{words[row]!r} and {lengths[row]}")
            n_rows += len(words)
            rows = np.flatnonzero(good)[: None if limit is None else limit - n_found]
            if len(rows):
                yield Block(
                    [str(words[row]) for row in rows], _matrix(lists.take(self._arrow.array(rows)), self.dimension)
                )
            n_found += len(rows)
            if n_found == limit:
                return


def _is_text(types: Any, kind: Any) -> bool:
    kind = kind.value_type if types.is_dictionary(kind) else kind
    return bool(types.is_string(kind) or types.is_large_string(kind))


def _is_list(types: Any, kind: Any) -> bool:
    listed = types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind)
    return bool(listed and (types.is_floating(kind.value_type) or types.is_integer(kind.value_type)))


def _matrix(lists: Any, dimension: int) -> NumpyArray:
    # A missing number becomes nan, which is reported as such.
    return float32(lists.flatten().to_numpy(zero_copy_only=False)).reshape(-1, dimension)


class ParquetRows:
    """Writes blocks as row groups: column `word`, column `vector` of float32 lists."""

    def __init__(self, file: IO[bytes], dimension: int) -> None:
        self._arrow = _pyarrow()
        arrow = self._arrow
        self._dimension = dimension
        self._schema = arrow.schema([("word", arrow.string()), ("vector", arrow.list_(arrow.float32()))])
        # Dictionaries pay for repeated values; vectors have none.
        self._writer = arrow.parquet.ParquetWriter(file, self._schema, compression="zstd", use_dictionary=False)

    def write(self, words: list[str], matrix: NumpyArray) -> None:
        """Append a row group."""
        arrow = self._arrow
        offsets = arrow.array(np.arange(0, matrix.size + 1, self._dimension, dtype=np.int32))
        vectors = arrow.ListArray.from_arrays(offsets, arrow.array(matrix.reshape(-1)))
        self._writer.write_table(arrow.table([arrow.array(words, arrow.string()), vectors], schema=self._schema))

    def close(self) -> None:
        """Write the footer."""
        self._writer.close()

    def abandon(self) -> None:
        """Close the writer, which would complain later, while there is still a file to close."""
        with suppress(OSError, self._arrow.ArrowException):
            self._writer.close()
