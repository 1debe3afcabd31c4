"""Vector files: told by their content, decompressed, read block by block, of each word the first."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Protocol

import numpy as np

from damastes._arrays import NumpyArray
from damastes.errors import FileFormatError, InputError
from damastes.io.fasttext import FastTextReader
from damastes.io.findings import Block, Findings
from damastes.io.npy import NpyReader, NpzReader
from damastes.io.parquet import ParquetReader
from damastes.io.recognition import HEAD, recognize
from damastes.io.stream import Stream
from damastes.io.tensors import TensorsReader
from damastes.io.text import TextReader
from damastes.io.vocabulary import find_vocabulary, read_vocabulary
from damastes.io.word2vec_binary import Word2vecBinaryReader
from damastes.vectors import Vectors

__all__ = ["FileInfo", "describe", "iter_vectors", "read_vectors"]


class _Reader(Protocol):
    format: str
    dimension: int

    @property
    def n(self) -> int | None:
        """How many rows the file says it has."""

    def blocks(self, limit: int | None = None) -> Iterator[Block]:
        """Yield its rows."""


def read_vectors(
    path: str | PathLike[str],
    *,
    limit: int | None = None,
    skip_bad_lines: bool = False,
    vocabulary: str | PathLike[str] | None = None,
) -> Vectors:
    """Read word vectors, most frequent word first, at most `limit` of them.

    Parameters
    ----------
    path : word2vec text with a header, GloVe text without one, word2vec binary, fastText `.bin`, `.npy` with a vocabulary
        file, `.npz` with arrays `words` and `vectors`, `.safetensors`, or Parquet with a column of words and a column of
        lists; text and binary also compressed by gzip, bzip2, xz, zstandard or zip. The content decides, not the name.
    limit : read no more rows than so many, and no further in the file
    skip_bad_lines : leave out rows that can not be used, with one warning; otherwise they are errors
    vocabulary : a file with one word a line, for matrices without words; looked for beside `path` when not given

    Returns
    -------
    Vectors, ordered, float32; of a word that occurs twice the first counts. From a fastText `.bin` they are
    `FastTextVectors`, which also know words that are not in the file.

    Memory: the matrix and some megabytes. Speed: text is parsed by pyarrow where it is installed ('damastes[io]').
    """
    findings = Findings(Path(path), skip_bad_lines)
    with _open(findings, vocabulary, limit) as (reader, stream):
        words: dict[str, None] = {}
        rows = _GrowingMatrix(reader.dimension)
        for block in _checked(reader, findings, limit):
            new = []
            for k, word in enumerate(block.words):
                if word not in words:
                    words[word] = None
                    new.append(k)
            findings.n_repeated += len(block.words) - len(new)
            rows.append(
                block.matrix if len(new) == len(block.words) else block.matrix[new], _growth(reader, stream, limit)
            )
        if not words:
            raise findings.fail("", "vectors", "none")
        findings.warn(stacklevel=2)
        labels, matrix = list(words), rows.finish()
        if isinstance(reader, FastTextReader):
            return reader.with_subwords(labels, matrix)
        return Vectors(labels, matrix, ordered=True, name=findings.path.name)


def iter_vectors(
    path: str | PathLike[str],
    *,
    block: int | None = None,
    limit: int | None = None,
    skip_bad_lines: bool = False,
    vocabulary: str | PathLike[str] | None = None,
) -> Iterator[Block]:
    """Read word vectors as `read_vectors` does, but as blocks `(words, matrix)` in bounded memory.

    Repeated words stay: to find them, all words would have to be remembered. (Not bounded: a fastText model that is
    compressed, whose rows are needed in any order.)

    Parameters
    ----------
    block : yield at most so many rows at once; None takes some megabytes
    """
    if block is not None and block < 1:
        raise InputError(f"block must be at least 1, got {block}")
    findings = Findings(Path(path), skip_bad_lines)
    n = 0
    with _open(findings, vocabulary, limit) as (reader, _):
        for found in _checked(reader, findings, limit):
            n += len(found.words)
            step = block or len(found.words)
            for start in range(0, len(found.words), step):
                yield Block(found.words[start : start + step], found.matrix[start : start + step])
    if not n:
        raise findings.fail("", "vectors", "none")
    findings.warn(stacklevel=2)


@dataclass(frozen=True, slots=True)
class FileInfo:
    """What a vector file is, as far as its beginning tells."""

    path: Path
    format: str
    compression: str | None
    n_bytes: int
    n: int | None
    dimension: int
    first_words: tuple[str, ...]


def describe(
    path: str | PathLike[str], *, n_words: int = 10, vocabulary: str | PathLike[str] | None = None
) -> FileInfo:
    """Say what a vector file is from its first rows; `n` is what the file itself says, None when it does not.

    A matrix without its vocabulary is described too, without words.
    """
    findings = Findings(Path(path), skip_bad_lines=True)
    with _open(findings, vocabulary, n_words) as (reader, stream):
        try:
            words = tuple(word for block in _checked(reader, findings, n_words) for word in block.words)
        except FileFormatError:
            if reader.format not in ("npy", "safetensors"):
                raise
            words = ()  # the matrix is there, but its words are not
        size = findings.path.stat().st_size
        return FileInfo(findings.path, reader.format, stream.compression, size, reader.n, reader.dimension, words)


@contextmanager
def _open(
    findings: Findings, vocabulary: str | PathLike[str] | None, limit: int | None
) -> Iterator[tuple[_Reader, Stream]]:
    if limit is not None and limit < 1:
        raise FileFormatError(f"limit must be at least 1, got {limit}")
    path = findings.path

    def words() -> list[str]:
        return read_vocabulary(find_vocabulary(path) if vocabulary is None else Path(vocabulary))

    with Stream(path) as stream:
        form = recognize(stream.peek(HEAD), findings)
        if stream.compression and form in ("npz", "safetensors", "parquet"):
            raise findings.fail(
                "", "text, word2vec binary, fastText or npy when compressed", f"{form}. Decompress it first"
            )
        reader: _Reader
        if form == "text":
            reader = TextReader(stream, findings)
        elif form == "word2vec-binary":
            reader = Word2vecBinaryReader(stream, findings)
        elif form == "fasttext":
            reader = FastTextReader(stream, findings)
        elif form == "npy":
            reader = NpyReader(stream, findings, words)
        elif form == "npz":
            reader = NpzReader(path, findings)
        elif form == "safetensors":
            reader = TensorsReader(path, findings, words)
        else:
            reader = ParquetReader(path, findings)
        yield reader, stream


def _checked(reader: _Reader, findings: Findings, limit: int | None) -> Iterator[Block]:
    """Yield blocks without nan and infinity. (Text has looked itself, and knows the line.)"""
    if isinstance(reader, TextReader):
        yield from reader.blocks(limit)
        return
    n_rows = n_good = 0
    # A dropped row makes room for another, so the reader may have to go on.
    for words, matrix in reader.blocks(None if findings.skip_bad_lines else limit):
        good = np.asarray(np.isfinite(matrix).all(axis=1))
        rows = np.flatnonzero(good)[: None if limit is None else limit - n_good]
        n_good += len(rows)
        looked_at = rows[-1] if n_good == limit else len(words)
        for row in np.flatnonzero(~good[:looked_at]):
            seen = matrix[row][~np.isfinite(matrix[row])][0]
            findings.bad_row(f"row {n_rows + row + 1} ({words[row]!r})", "finite numbers", f"{seen}")
        n_rows += len(words)
        if len(rows) == len(words):
            yield Block(words, matrix)
        elif len(rows):
            yield Block([words[row] for row in rows], matrix[rows])
        if n_good == limit:
            return


def _growth(reader: _Reader, stream: Stream, limit: int | None) -> float:
    """Return by which factor the rows will grow until the end, as far as the share of the file read so far tells."""
    known = isinstance(reader, (TextReader, Word2vecBinaryReader)) and stream.size and limit is None
    return 1.02 * stream.size / stream.offset if known and stream.size else 1.25


class _GrowingMatrix:
    """Rows put into one array as they come: no list of blocks to copy together at the end, no trust in any header."""

    def __init__(self, dimension: int) -> None:
        self._matrix = np.empty((0, dimension), dtype=np.float32)
        self._n = 0

    def append(self, rows: NumpyArray, growth: float) -> None:
        n = self._n + len(rows)
        if n > len(self._matrix):
            self._resize(int(growth * n) + 1)
        self._matrix[self._n : n] = rows
        self._n = n

    def finish(self) -> NumpyArray:
        self._resize(self._n)
        return self._matrix

    def _resize(self, n: int) -> None:
        # In place, where the system can: a copy would double the peak.
        self._matrix.resize((n, self._matrix.shape[1]), refcheck=False)
