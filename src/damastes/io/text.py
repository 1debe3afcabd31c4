"""Vectors as text: a word and its numbers a line; with a header (word2vec, fastText) or without one (GloVe)."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from damastes.io.findings import Block, Findings
from damastes.io.numbers import is_number, parse_rows, parse_usual_lines
from damastes.io.stream import Stream

__all__ = ["Header", "TextReader", "find_header"]

_HEAD = 1 << 18
_BLOCK = 1 << 22
# A line longer than this is no row of vectors, and waiting for its end could fill the memory.
_LONGEST_LINE = 1 << 26
_HIGHEST_DIMENSION = 10_000_000
_BOM = b"\xef\xbb\xbf"
_HEADER = re.compile(rb"(?:\xef\xbb\xbf)?[ \t]*(\d{1,18})[ \t]+(\d{1,18})[ \t\r]*(?:\n|$)")


@dataclass(frozen=True, slots=True)
class Header:
    """The first line of word2vec's files: what it promises, and how many bytes it takes."""

    n: int
    dimension: int
    length: int


def find_header(head: bytes, findings: Findings) -> Header | None:
    """Return the header that a file begins with, if it does."""
    found = _HEADER.match(head[:200])
    if found is None:
        return None
    header = Header(int(found[1]), int(found[2]), found.end())
    if not 1 <= header.dimension <= _HIGHEST_DIMENSION:
        raise findings.fail(
            "line 1",
            f"the number of words and a dimension between 1 and {_HIGHEST_DIMENSION:,}",
            f"{found[1].decode()} words of dimension {found[2].decode()}",
        )
    return header


class TextReader:
    """Rows of a text file, a block at a time. Words may hold blanks: the last `dimension` fields are the numbers."""

    format = "text"

    def __init__(self, stream: Stream, findings: Findings) -> None:
        self._stream = stream
        self._findings = findings
        self.header = find_header(stream.peek(200), findings)
        self.n = self.header.n if self.header else None
        self.dimension = self.header.dimension if self.header else _dimension_of(stream, findings)

    def blocks(self, limit: int | None = None) -> Iterator[Block]:
        """Yield the rows; past `limit` of them nothing is looked at."""
        line = 1
        if self.header:
            self._stream.read(self.header.length)
            line = 2
        elif self._stream.peek(3) == _BOM:
            self._stream.read(3)
        n_found, row_bytes, rest = 0, 4 * self.dimension, b""
        ended = limit == 0
        while not ended:
            wanted = _BLOCK if limit is None else min(_BLOCK, max(4096, int(1.1 * row_bytes * (limit - n_found))))
            chunk = self._stream.read(wanted)
            cut = chunk.rfind(b"\n") + 1
            if chunk and not cut:
                rest += chunk
                if len(rest) > _LONGEST_LINE:
                    raise self._findings.fail(
                        f"line {line}", "a word and its numbers", f"a line of {len(rest):,} bytes"
                    )
                continue
            data, rest = b"".join((rest, memoryview(chunk)[:cut])), chunk[cut:]
            n_lines = data.count(b"\n")
            row_bytes = max(1, len(data) // max(1, n_lines))
            usual = parse_usual_lines(data, self.dimension) if limit is None or n_lines <= limit - n_found else None
            if usual is not None:
                line, n_found = line + n_lines, n_found + len(usual[0])
                yield Block([word.decode("utf-8", "replace") for word in usual[0]], usual[1])
                data = b""
            lines = data.split(b"\n")
            if chunk:
                lines.pop()
            while lines and n_found != limit:
                block, n_lines = self._parse(lines, line, None if limit is None else limit - n_found, last=not chunk)
                line, lines = line + n_lines, lines[n_lines:]
                n_found += len(block.words)
                if block.words:
                    yield block
            ended = not chunk or n_found == limit
        seen = n_found + self._findings.n_dropped
        if self.header and seen != self.header.n and n_found != limit:
            self._findings.notes.append(f"the header promises {self.header.n} words, but {seen} follow")

    def _parse(self, lines: list[bytes], first_line: int, limit: int | None, *, last: bool) -> tuple[Block, int]:
        """Return the good rows of the first lines, at most `limit`, and how many lines were looked at."""
        words: list[bytes] = []
        rows: list[bytes] = []
        places: list[int] = []
        blanks = self.dimension - 1
        n_lines = 0
        for place, line in enumerate(lines):
            n_lines += 1
            # The usual line: no blank in the word, one blank between numbers.
            word, _, row = line.rstrip(b" \r\t").partition(b" ")
            if row.count(b" ") != blanks or not row:
                fields = self._split(line, first_line + place, cut=last and n_lines == len(lines))
                if fields is None:
                    continue
                word, row = fields
            words.append(word)
            rows.append(row)
            places.append(place)
            if len(words) == limit:
                break
        matrix = parse_rows(rows, self.dimension)
        good = np.asarray(np.isfinite(matrix).all(axis=1))
        for k in np.flatnonzero(~good):
            place = places[k]
            fields = self._split(lines[place], first_line + place, cut=last and place == len(lines) - 1, strict=True)
            if fields is not None:
                words[k], rows[k] = fields
                matrix[k] = parse_rows([rows[k]], self.dimension)[0]
                good[k] = True
        if not good.all():
            words, matrix = [words[k] for k in np.flatnonzero(good)], matrix[good]
        return Block([word.decode("utf-8", "replace") for word in words], matrix), n_lines

    def _split(self, line: bytes, number: int, *, cut: bool, strict: bool = False) -> tuple[bytes, bytes] | None:
        """Return the word of a line and its numbers with single blanks between them, or None for a line to leave out.

        `cut` is for the last line of a file that does not end in a line break; `strict` looks at every number.
        """
        fields = line.rsplit(None, self.dimension)
        if not fields:
            return None  # an empty line is no row
        if len(fields) == self.dimension and line[:1].isspace():
            fields.insert(0, b"")
        n_numbers = len(fields) - 1
        bad = None
        if n_numbers == self.dimension and strict:
            bad = next((k for k in range(1, n_numbers + 1) if not _is_finite(fields[k])), None)
        if n_numbers == self.dimension and bad is None:
            return fields[0], b" ".join(fields[1:])
        if cut and (n_numbers < self.dimension or (bad == n_numbers and not is_number(fields[-1]))):
            self._findings.notes.append(f"left out the last line, line {number}, which is cut off")
        elif bad is None:
            self._findings.bad_row(f"line {number}", f"a word and {_numbers(self.dimension)}", _shown(line, n_numbers))
        else:
            seen = fields[bad][:40].decode("utf-8", "replace")
            self._findings.bad_row(f"line {number}", "a finite number", repr(seen))
        return None


def _is_finite(field: bytes) -> bool:
    with np.errstate(over="ignore"):
        return is_number(field) and bool(np.isfinite(np.float32(float(field))))


def _numbers(n: int) -> str:
    return f"{n} number{'s' if n > 1 else ''}"


def _shown(line: bytes, n_numbers: int) -> str:
    start = line[:40].decode("utf-8", "replace").strip()
    return f"{n_numbers} ({start + '…' if len(line) > 40 else start!r})"


def _dimension_of(stream: Stream, findings: Findings) -> int:
    """Return the number of numbers that most of the first lines end with.

    A word may itself be a number, or blanks and numbers; but a line has at least one field that is not of the vector.
    """
    size = _HEAD
    while b"\n" not in (head := stream.peek(size)) and len(head) == size < _LONGEST_LINE:
        size *= 2
    lines = head.removeprefix(_BOM).split(b"\n")
    if len(head) == size and len(lines) > 1:
        lines.pop()  # cut off by us
    counts: Counter[int] = Counter()
    for line in lines[:1000]:
        fields = line.split()
        n_numbers = next((k for k, field in enumerate(reversed(fields)) if not is_number(field)), len(fields))
        leading = 0 if line[:1].isspace() else 1
        if fields:
            counts[min(n_numbers, len(fields) - leading)] += 1
    counts.pop(0, None)
    if not counts:
        seen = lines[0][:60].decode("utf-8", "replace").strip()
        raise findings.fail("line 1", "the number of words and the dimension, or a word and its numbers", repr(seen))
    most = max(counts.values())
    return min(dimension for dimension, count in counts.items() if count == most)
