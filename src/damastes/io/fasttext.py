"""fastText's `.bin` models: a word's vector is the mean of its own row and those of its pieces, so unseen words have one too."""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from damastes._arrays import NumpyArray
from damastes.io.findings import Block, Findings
from damastes.io.stream import Stream
from damastes.io.subwords import Subwords
from damastes.vectors import Vectors

__all__ = ["FastTextReader", "FastTextVectors"]

_VERSIONS = (11, 12)
_SUPERVISED = 3
_LONGEST_WORD = 1 << 16
_WORDS_AT_ONCE = 5000
_CHUNK = 1 << 22
_END_OF_SENTENCE = "</s>"


@dataclass(frozen=True, eq=False)
class FastTextVectors(Vectors):
    """Vectors of a fastText model, which also gives words that it never saw a vector, from their pieces."""

    model: _Model | None = field(default=None, repr=False)

    def vector(self, word: str) -> NumpyArray:
        """Return the vector of any word; zeros when the model knows no piece of it."""
        if word in self:
            return np.asarray(self.matrix[self.row(word)])
        assert self.model is not None, "made by the reader"
        vector: NumpyArray = self.model.vectors([word], np.array([self.model.ids.get(word, -1)]))[0]
        return vector


@dataclass(frozen=True, eq=False)
class _Model:
    """The rows of a model: one a word, then one a bucket of pieces."""

    rows: NumpyArray
    ids: dict[str, int]
    subwords: Subwords

    def vectors(self, words: Sequence[str], ids: NumpyArray) -> NumpyArray:
        """Return the mean of the rows of each word's pieces and of its own row; an unseen word has the row -1."""
        owners, pieces = self.subwords(["" if word == _END_OF_SENTENCE else word for word in words])
        seen = np.flatnonzero(ids >= 0)
        owners, pieces = np.concatenate([seen, owners]), np.concatenate([ids[seen], pieces])
        order = np.argsort(owners, kind="stable")
        counts = np.bincount(owners, minlength=len(words))
        # Only the rows that occur: the model may be a file larger than the memory.
        used, columns = np.unique(pieces[order], return_inverse=True)
        starts = np.concatenate([[0], np.cumsum(counts)])
        ones = np.ones(len(columns), dtype=np.float32)
        sums = csr_array((ones, columns, starts), shape=(len(words), len(used))) @ np.asarray(self.rows[used])
        means: NumpyArray = (sums / np.maximum(counts, 1)[:, None]).astype(np.float32)
        return means


class FastTextReader:
    """Words of a fastText model with their vectors, a block at a time."""

    format = "fasttext"

    def __init__(self, stream: Stream, findings: Findings) -> None:
        self._stream = stream
        self._findings = findings
        _, version = self._unpack("<2i")
        if version not in _VERSIONS:
            raise findings.fail(
                "", f"a fastText model of version {' or '.join(map(str, _VERSIONS))}", f"version {version}"
            )
        args = self._unpack("<12id")
        self.dimension, kind, self._bucket, self._minn, self._maxn = args[0], args[7], args[8], args[9], args[10]
        if version == 11 and kind == _SUPERVISED:
            self._maxn = 0  # classifiers of that time had no pieces, whatever they say
        if not (
            1 <= self.dimension <= 10_000_000 and self._bucket >= 0 and self._minn >= 0 and 0 <= self._maxn <= 1000
        ):
            seen = f"dimension {self.dimension}, {self._bucket} buckets, pieces of {self._minn} to {self._maxn}"
            raise findings.fail("", "a fastText model", seen)
        size, self.n, n_labels = self._unpack("<3i")
        self._n_pruned = self._unpack("<2q")[1]
        if size != self.n + n_labels or self.n < 0 or n_labels < 0:
            raise findings.fail("", "as many entries as words and labels", f"{size} for {self.n} and {n_labels}")
        self._n_labels = n_labels
        self._model: _Model | None = None

    def _unpack(self, form: str) -> tuple[Any, ...]:
        return struct.unpack(form, self._exactly(struct.calcsize(form)))

    def _exactly(self, n: int) -> bytes:
        data = self._stream.read(n)
        if len(data) < n:
            place = f"byte {self._stream.offset:,}"
            raise self._findings.fail(place, f"{n:,} bytes of a fastText model", f"{len(data):,}: the file is cut off")
        return data

    def blocks(self, limit: int | None = None) -> Iterator[Block]:
        """Yield the words, from frequent to rare, with their vectors."""
        words = self._entries()
        self._model = self._read_model(words)
        words = words[:limit]
        for start in range(0, len(words), _WORDS_AT_ONCE):
            some = words[start : start + _WORDS_AT_ONCE]
            yield Block(some, self._model.vectors(some, np.arange(start, start + len(some))))

    def with_subwords(self, words: list[str], matrix: NumpyArray) -> FastTextVectors:
        """Return what was read, with the model behind it."""
        return FastTextVectors(words, matrix, ordered=True, name=self._findings.path.name, model=self._model)

    def _entries(self) -> list[str]:
        """Return the words of the dictionary, which come before the labels of a classifier."""
        words: list[str] = []
        buffer, position = b"", 0
        for number in range(self.n + self._n_labels):
            end = buffer.find(b"\x00", position)
            if end < 0 or end + 10 > len(buffer):
                buffer, position = buffer[position:] + self._stream.read(_CHUNK), 0
                end = buffer.find(b"\x00")
                if not 0 <= end <= _LONGEST_WORD or end + 10 > len(buffer):
                    raise self._findings.fail(
                        f"entry {number + 1}", "a word, its count and its type", f"{buffer[:20]!r}…"
                    )
            if number < self.n:
                words.append(buffer[position:end].decode("utf-8", "replace"))
            position = end + 10
        self._stream.unread(buffer[position:])
        return words

    def _read_model(self, words: list[str]) -> _Model:
        n_words = len(words)
        pruned = self._pruned()
        (quantized,) = self._unpack("<?")
        if quantized:
            raise self._findings.fail(
                "", "a full fastText model", "a quantized one (.ftz). Use the .bin it was made from"
            )
        n_rows, dimension = self._unpack("<2q")
        expected = n_words + (self._bucket if pruned is None else len(pruned))
        # A model without pieces may keep rows for the words alone.
        if dimension != self.dimension or n_rows < (n_words if self._maxn == 0 else expected):
            raise self._findings.fail("", f"a matrix {expected} × {self.dimension}", f"{n_rows} × {dimension}")
        subwords = Subwords(n_words, self._bucket, self._minn, self._maxn, pruned)
        return _Model(self._matrix(n_rows), {word: row for row, word in enumerate(words)}, subwords)

    def _pruned(self) -> dict[int, int] | None:
        """Return where the buckets that were kept went; None when all were."""
        if self._n_pruned < 0:
            return None
        kept = {}
        for _ in range(self._n_pruned):
            bucket, place = self._unpack("<2i")
            kept[bucket] = place
        return kept

    def _matrix(self, n_rows: int) -> NumpyArray:
        """Return the matrix: mapped, so that only the rows in use are read, or from memory when it was compressed."""
        size, start = 4 * n_rows * self.dimension, self._stream.offset
        if self._stream.size is not None:
            if size > self._stream.size - start:
                seen = f"{self._stream.size - start:,}: the file is cut off"
                raise self._findings.fail(f"byte {start:,}", f"{size:,} bytes of a matrix", seen)
            shape = (n_rows, self.dimension)
            return np.memmap(self._stream.path, dtype="<f4", mode="r", offset=start, shape=shape)
        data = bytearray()
        while len(data) < size:
            data += self._exactly(min(_CHUNK, size - len(data)))
        return np.frombuffer(data, dtype="<f4").reshape(n_rows, self.dimension)
