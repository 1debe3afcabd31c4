"""word2vec's binary form: a header in text, then for each word its bytes, a blank and d float32."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from damastes.io.findings import Block, Findings
from damastes.io.stream import Stream
from damastes.io.text import find_header

__all__ = ["Word2vecBinaryReader"]

_BLOCK = 1 << 22
_LONGEST_WORD = 1 << 16


class Word2vecBinaryReader:
    """Rows of a word2vec binary file, a block at a time."""

    format = "word2vec-binary"

    def __init__(self, stream: Stream, findings: Findings) -> None:
        header = find_header(stream.peek(200), findings)
        assert header is not None, "recognized by its header"
        self._stream = stream
        self._findings = findings
        self._header = header
        self.n, self.dimension = header.n, header.dimension

    def blocks(self, limit: int | None = None) -> Iterator[Block]:
        """Yield the rows; the file counts, not what its header promises."""
        self._stream.read(self._header.length)
        row_bytes = 4 * self.dimension
        n_found, buffer, ended = 0, b"", limit == 0
        while not ended:
            missing = _BLOCK if limit is None else min(_BLOCK, (limit - n_found) * (row_bytes + 10))
            chunk = self._stream.read(max(missing, 64))
            buffer += chunk
            words: list[str] = []
            rows: list[bytes] = []
            position = 0
            while limit is None or n_found + len(words) < limit:
                blank = buffer.find(b" ", position)
                if blank < 0 or blank + 1 + row_bytes > len(buffer):
                    break
                # Some writers end a row with a line break, which then begins the next one.
                words.append(buffer[position:blank].lstrip(b"\n").decode("utf-8", "replace"))
                rows.append(buffer[blank + 1 : blank + 1 + row_bytes])
                position = blank + 1 + row_bytes
            buffer = buffer[position:]
            if b" " not in buffer[: _LONGEST_WORD + 1] and len(buffer) > _LONGEST_WORD:
                raise self._findings.fail(f"word {n_found + len(words) + 1}", "a word and a blank", f"{buffer[:20]!r}…")
            n_found += len(words)
            if words:
                yield Block(
                    words, np.frombuffer(b"".join(rows), dtype="<f4").reshape(len(words), -1).astype(np.float32)
                )
            ended = not chunk or n_found == limit
        if n_found == limit:
            return
        if buffer.strip():
            self._findings.notes.append(f"left out word {n_found + 1}, the last, which is cut off")
        if n_found != self.n:
            self._findings.notes.append(f"the header promises {self.n} words, but {n_found} follow")
