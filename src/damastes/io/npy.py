"""NumPy's files: `.npy` with a vocabulary file beside it, and `.npz` with arrays `words` and `vectors`."""

from __future__ import annotations

import math
import warnings
import zipfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from io import BytesIO
from pathlib import Path
from typing import IO, Any

import numpy as np

from damastes._arrays import NumpyArray
from damastes.errors import FileFormatError
from damastes.io.findings import Block, Findings
from damastes.io.stream import DAMAGE, Stream

__all__ = ["NpyReader", "NpzReader", "float32", "rows_at_once", "write_npy_header"]

_CHUNK = 1 << 20
_LONGEST_HEADER = 1 << 16


def rows_at_once(row_bytes: int) -> int:
    """Return how many rows make a block of some megabytes."""
    return max(1, (1 << 22) // max(1, row_bytes))


def float32(numbers: Any) -> NumpyArray:
    """Return numbers in single precision; what does not fit becomes infinite, which is reported as such."""
    with np.errstate(over="ignore"):
        return np.array(numbers, dtype=np.float32)


class _Array:
    """An array in NumPy's format, read from front to back and never further than asked."""

    def __init__(self, read: Callable[[int], bytes], findings: Findings, place: str) -> None:
        self._read = read
        self._findings = findings
        self._place = place
        self.shape, self.dtype, self.fortran = self._header()

    def _header(self) -> tuple[tuple[int, ...], np.dtype[Any], bool]:
        magic = self._exactly(8)
        if magic[:6] != b"\x93NUMPY" or magic[6] not in (1, 2, 3):
            raise self._findings.fail(self._place, "an array in NumPy's format", f"{magic!r}")
        size = self._exactly(2 if magic[6] == 1 else 4)
        length = int.from_bytes(size, "little")
        if length > _LONGEST_HEADER:
            raise self._findings.fail(self._place, "a header of NumPy's format", f"one of {length:,} bytes")
        text = self._exactly(length)
        reader = np.lib.format.read_array_header_1_0 if magic[6] == 1 else np.lib.format.read_array_header_2_0
        try:
            # A header written by Python 2 is read with a warning of NumPy's own that helps nobody here.
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                shape, fortran, dtype = reader(BytesIO(size + text))
        except Exception:  # the header is parsed as Python code, which can fail in any way
            raise self._findings.fail(self._place, "a header of NumPy's format", repr(text[:100])) from None
        if dtype.hasobject:
            raise self._findings.fail(
                self._place, "numbers or text", "an array of pickled objects, which can not be read"
            )
        if any(length < 0 for length in shape):
            raise self._findings.fail(self._place, "a shape", f"{shape}")
        return shape, dtype, fortran

    def _exactly(self, n: int) -> bytes:
        parts, missing = [], n
        while missing and (part := self._read(min(missing, _CHUNK))):
            parts.append(part)
            missing -= len(part)
        if missing:
            raise self._findings.fail(self._place, f"{n:,} more bytes", f"{n - missing:,}: the file is cut off")
        return b"".join(parts)

    def rows(self, n: int) -> NumpyArray:
        """Return the next n rows, in C order."""
        size = n * math.prod(self.shape[1:]) * self.dtype.itemsize
        return np.frombuffer(self._exactly(size), dtype=self.dtype).reshape((n, *self.shape[1:]))

    def everything(self) -> NumpyArray:
        """Return the whole array, in the order it was written in."""
        size = math.prod(self.shape) * self.dtype.itemsize
        flat = np.frombuffer(self._exactly(size), dtype=self.dtype)
        return flat.reshape(self.shape, order="F" if self.fortran else "C")


def _matrix_blocks(array: _Array, limit: int | None) -> Iterator[NumpyArray]:
    n = array.shape[0] if limit is None else min(limit, array.shape[0])
    if array.fortran:
        matrix = array.everything()[:n]
        step = rows_at_once(4 * array.shape[1])
        yield from (float32(matrix[start : start + step]) for start in range(0, n, step))
        return
    step = rows_at_once(array.shape[1] * array.dtype.itemsize)
    for start in range(0, n, step):
        yield float32(array.rows(min(step, n - start)))


def _check_matrix(array: _Array, findings: Findings, place: str) -> None:
    if len(array.shape) != 2 or array.dtype.kind not in "fiu" or array.shape[1] < 1:
        raise findings.fail(place, "numeric vectors (n, d)", f"{array.shape} of {array.dtype}")


class NpyReader:
    """Rows of a `.npy` matrix; the words come from the vocabulary."""

    format = "npy"

    def __init__(self, stream: Stream, findings: Findings, words: Callable[[], list[str]]) -> None:
        self._findings = findings
        self._words = words
        self._array = _Array(stream.read, findings, "")
        _check_matrix(self._array, findings, "")
        self.n, self.dimension = self._array.shape

    def blocks(self, limit: int | None = None) -> Iterator[Block]:
        """Yield the rows with their words."""
        words = self._words()
        if len(words) != self.n:
            raise self._findings.fail("", f"a vocabulary of {self.n} words, one a row", f"{len(words)}")
        start = 0
        for matrix in _matrix_blocks(self._array, limit):
            yield Block(words[start : start + len(matrix)], matrix)
            start += len(matrix)


class NpzReader:
    """Rows of an archive with arrays `words` and `vectors`, each decompressed no further than needed."""

    format = "npz"

    def __init__(self, path: Path, findings: Findings) -> None:
        self._path = path
        self._findings = findings
        with self._arrays() as (_, vectors):
            self.n, self.dimension = vectors.shape

    def blocks(self, limit: int | None = None) -> Iterator[Block]:
        """Yield the rows with their words."""
        with self._arrays() as (words, vectors):
            for matrix in _matrix_blocks(vectors, limit):
                yield Block([str(word) for word in _as_text(words.rows(len(matrix)))], matrix)

    @contextmanager
    def _arrays(self) -> Iterator[tuple[_Array, _Array]]:
        """Open both arrays; whatever is wrong with the archive becomes our own error, now and while they are read."""
        try:
            with ExitStack() as stack:
                archive = stack.enter_context(zipfile.ZipFile(self._path))
                names = [name.removesuffix(".npy") for name in archive.namelist()]
                if not {"words", "vectors"} <= set(names):
                    raise self._findings.fail("", "arrays 'words' and 'vectors'", ", ".join(names)[:200] or "none")
                words, vectors = (
                    _Array(stack.enter_context(archive.open(f"{name}.npy")).read, self._findings, f"array '{name}'")
                    for name in ("words", "vectors")
                )
                self._check(words, vectors)
                yield words, vectors
        except FileFormatError:
            raise
        except DAMAGE as error:
            raise FileFormatError(f"{self._path}: the archive can not be read ({error})") from None

    def _check(self, words: _Array, vectors: _Array) -> None:
        _check_matrix(vectors, self._findings, "array 'vectors'")
        if words.shape != vectors.shape[:1] or words.dtype.kind not in "US":
            seen = f"{words.shape} of {words.dtype} and {vectors.shape} of {vectors.dtype}"
            raise self._findings.fail("", "words (n,) and numeric vectors (n, d)", seen)


def _as_text(words: NumpyArray) -> NumpyArray:
    return np.char.decode(words, "utf-8", "replace") if words.dtype.kind == "S" else words


def write_npy_header(file: IO[bytes], shape: tuple[int, ...], dtype: np.dtype[Any]) -> None:
    """Write what comes before the bytes of an array in C order."""
    descr = np.lib.format.dtype_to_descr(dtype)
    np.lib.format.write_array_header_1_0(file, {"descr": descr, "fortran_order": False, "shape": shape})
