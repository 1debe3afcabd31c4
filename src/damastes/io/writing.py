"""Write vectors block by block, in the form that the file's name asks for; the file appears at the end or not at all."""

from __future__ import annotations

import shutil
import tempfile
import zipfile
from collections.abc import Sequence
from contextlib import ExitStack, suppress
from os import PathLike
from pathlib import Path
from types import TracebackType
from typing import IO, Any, Protocol

import numpy as np

from damastes._arrays import NumpyArray, to_numpy
from damastes.errors import InputError
from damastes.io.atomic import atomic_writer
from damastes.io.npy import rows_at_once, write_npy_header
from damastes.io.numbers import format_rows
from damastes.io.parquet import ParquetRows
from damastes.io.stream import compression_of, compressor
from damastes.io.tensors import tensors_around
from damastes.vectors import Vectors

__all__ = ["VectorsWriter", "write_vectors"]

_TEXT = (".vec", ".txt")
_FORMATS = (*_TEXT, ".npz", ".safetensors", ".parquet")


def write_vectors(vectors: Vectors, path: str | PathLike[str], *, digits: int | None = None) -> None:
    """Write vectors in the form that the name asks for.

    Parameters
    ----------
    vectors : with labels
    path : ends in `.vec` or `.txt` (word2vec text, also with `.gz`, `.bz2`, `.xz` or `.zst`), `.npz`, `.safetensors` or
        `.parquet`
    digits : significant digits of a number in text; None keeps float32 as it is

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "two.vec"
    >>> write_vectors(Vectors(["cat", "dog"], [[1.0, 0.0], [0.8, 0.6]]), path)
    >>> path.read_text().splitlines()[0]
    '2 2'
    """
    if vectors.labels is None:
        raise InputError("vectors must have labels to be written, got points without names")
    matrix = to_numpy(vectors.matrix)
    step = rows_at_once(4 * vectors.dimension)
    with VectorsWriter(path, count=len(vectors), digits=digits) as writer:
        for start in range(0, len(vectors), step):
            writer.write(vectors.labels[start : start + step], matrix[start : start + step])


class _Rows(Protocol):
    def write(self, words: list[str], matrix: NumpyArray) -> None: ...

    def close(self) -> None: ...

    def abandon(self) -> None: ...


class VectorsWriter:
    """Writes blocks of vectors to a file that appears when the `with` block ends well, and not otherwise.

    Parameters
    ----------
    path : ends in `.vec` or `.txt` (also with `.gz`, `.bz2`, `.xz`, `.zst`), `.npz`, `.safetensors` or `.parquet`
    count : how many vectors there will be, if known: text is then written once and not copied at the end
    digits : significant digits of a number in text; None keeps float32 as it is

    Memory: a block; for `.npz` and `.safetensors` also the words. What is not in order yet waits in an unnamed file
    beside `path`.
    """

    def __init__(self, path: str | PathLike[str], *, count: int | None = None, digits: int | None = None) -> None:
        self.path = Path(path)
        self.n = 0
        self.dimension: int | None = None
        self._count = count
        self._digits = digits
        self._compression = compression_of(self.path)
        self._format = self._form()
        if digits is not None and not 1 <= digits <= 17:
            raise InputError(f"digits must be between 1 and 17, got {digits}")
        self._rows: _Rows | None = None
        self._stack = ExitStack()
        self._file: IO[bytes] | None = None

    def _form(self) -> str:
        name = self.path.name.lower()
        inner = Path(name).with_suffix("") if self._compression else Path(name)
        if inner.suffix not in _FORMATS or (self._compression and inner.suffix not in _TEXT):
            raise InputError(
                f"{self.path}: expected a name that ends in {', '.join(_FORMATS)}, or .vec.gz and the like, "
                f"got {self.path.name!r}"
            )
        return inner.suffix

    def __enter__(self) -> VectorsWriter:
        try:
            self._file = self._stack.enter_context(atomic_writer(self.path))
        except OSError as error:
            raise InputError(f"{self.path}: can not be written ({error.strerror})") from None
        return self

    def write(self, words: Sequence[str], matrix: Any) -> None:
        """Append rows: words and a matrix (len(words), d)."""
        if self._file is None:
            raise InputError("VectorsWriter must be used in a with statement")
        block = np.ascontiguousarray(to_numpy(matrix), dtype=np.float32)
        if block.ndim != 2 or len(words) != len(block) or block.shape[1] < 1:
            raise InputError(f"expected one word a row of a matrix, got {len(words)} words and shape {block.shape}")
        if self.dimension not in (None, block.shape[1]):
            raise InputError(f"expected dimension {self.dimension} as before, got {block.shape[1]}")
        if self._rows is None:
            self.dimension = block.shape[1]
            self._rows = self._start(self._file, self.dimension)
        self._rows.write(list(words), block)
        self.n += len(words)

    def _start(self, file: IO[bytes], dimension: int) -> _Rows:
        if self._format == ".parquet":
            return ParquetRows(file, dimension)
        if self._format == ".npz":
            return _ArchiveRows(file, dimension, self._spool())
        if self._format == ".safetensors":
            return _TensorRows(file, dimension, self._spool())
        return _TextRows(file, dimension, self._count, self._compression, self._digits, self._spool())

    def _spool(self) -> IO[bytes]:
        return self._stack.enter_context(tempfile.TemporaryFile(dir=self.path.parent))

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with self._stack:
            if error is not None:
                if self._rows is not None:
                    self._rows.abandon()
                # The file below must know, so that it removes what there is of it.
                self._stack.__exit__(kind, error, trace)
                return
            if self._rows is None:
                raise InputError(f"{self.path}: expected vectors to write, got none")
            self._rows.close()


class _TextRows:
    """word2vec text. The header with the count comes first: rows wait elsewhere when the count is not known."""

    def __init__(
        self,
        file: IO[bytes],
        dimension: int,
        count: int | None,
        compression: str | None,
        digits: int | None,
        spool: IO[bytes],
    ) -> None:
        self._file = file
        self._spool = spool
        self._dimension = dimension
        self._count = count
        self._n = 0
        self._compression = compression
        self._digits = digits
        self._body = self._compressed(spool if count is None else file)
        if count is not None:
            self._body.write(self._header(count))

    def _compressed(self, file: IO[bytes]) -> IO[bytes]:
        return compressor(self._compression, file) if self._compression else file

    def _header(self, n: int) -> bytes:
        return f"{n} {self._dimension}\n".encode()

    def write(self, words: list[str], matrix: NumpyArray) -> None:
        for word in words:
            if "\n" in word or "\r" in word:
                raise InputError(
                    f"text can not hold the word {word!r}, which has a line break. Write .npz or .parquet."
                )
        rows = format_rows(matrix, self._digits)
        lines = "".join([f"{word} {row}\n" for word, row in zip(words, rows, strict=True)])
        self._body.write(lines.encode("utf-8", "replace"))
        self._n += len(words)

    def abandon(self) -> None:
        if self._compression:
            with suppress(OSError):  # a full disk, which has been reported already
                self._body.close()

    def close(self) -> None:
        if self._compression:
            self._body.close()
        if self._count == self._n:
            return
        if self._count is not None:
            raise InputError(f"expected {self._count} vectors, as promised to VectorsWriter, got {self._n}")
        # Compressed parts one after the other are a file of their own in each of these compressions.
        header = self._compressed(self._file)
        header.write(self._header(self._n))
        if self._compression:
            header.close()
        _copy(self._spool, self._file)


class _SpooledRows:
    """Forms whose sizes come before their numbers: rows wait elsewhere until all are there."""

    def __init__(self, file: IO[bytes], dimension: int, spool: IO[bytes]) -> None:
        self._file = file
        self._spool = spool
        self._dimension = dimension
        self._words: list[str] = []

    def write(self, words: list[str], matrix: NumpyArray) -> None:
        self._words += words
        self._spool.write(matrix.astype("<f4", copy=False).tobytes())

    def abandon(self) -> None:
        """Leave nothing open: the files are the caller's."""


class _ArchiveRows(_SpooledRows):
    """`.npz` with `words` and `vectors`."""

    def close(self) -> None:
        for word in self._words:
            if word.endswith("\x00"):
                raise InputError(f".npz can not hold the word {word!r}, which ends in a zero byte. Write .parquet.")
        with zipfile.ZipFile(self._file, "w", zipfile.ZIP_STORED) as archive:
            with archive.open("words.npy", "w", force_zip64=True) as member:
                np.lib.format.write_array(member, np.array(self._words, dtype=np.str_), allow_pickle=False)
            with archive.open("vectors.npy", "w", force_zip64=True) as member:
                write_npy_header(member, (len(self._words), self._dimension), np.dtype("<f4"))
                _copy(self._spool, member)


class _TensorRows(_SpooledRows):
    """safetensors with the matrix and the words as bytes with offsets."""

    def close(self) -> None:
        before, after = tensors_around(self._words, (len(self._words), self._dimension))
        self._file.write(before)
        _copy(self._spool, self._file)
        self._file.write(after)


def _copy(source: IO[bytes], target: IO[bytes]) -> None:
    source.seek(0)
    shutil.copyfileobj(source, target, 1 << 20)
