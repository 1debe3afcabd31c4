"""What a reader found on its way: blocks of rows, and the rows it had to leave out."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from damastes._arrays import NumpyArray
from damastes.errors import FileFormatError

__all__ = ["Block", "Findings"]


class Block(NamedTuple):
    """Some consecutive rows of a file: their words and a float32 matrix (len(words), d)."""

    words: list[str]
    matrix: NumpyArray


@dataclass
class Findings:
    """What is wrong with a file: a bad row is an error, or is counted when bad rows may be left out."""

    path: Path
    skip_bad_lines: bool = False
    n_dropped: int = 0
    n_repeated: int = 0
    notes: list[str] = field(default_factory=list)

    def fail(self, place: str, expected: str, seen: str) -> FileFormatError:
        """Return the error for a file that can not be read any further."""
        where = f"{self.path}, {place}" if place else f"{self.path}"
        return FileFormatError(f"{where}: expected {expected}, got {seen}")

    def bad_row(self, place: str, expected: str, seen: str) -> None:
        """Count a row that can not be used, or raise."""
        if not self.skip_bad_lines:
            raise FileFormatError(
                f"{self.fail(place, expected, seen)}. skip_bad_lines=True (--skip-bad-lines) leaves such rows out."
            )
        self.n_dropped += 1

    def warn(self, *, stacklevel: int) -> None:
        """Say once what was left out and what was odd."""
        notes = list(self.notes)
        if self.n_dropped:
            notes.append(f"dropped {self.n_dropped} bad lines")
        if self.n_repeated:
            notes.append(f"left out {self.n_repeated} repeated words")
        for note in notes:
            warnings.warn(f"{self.path}: {note}", stacklevel=stacklevel + 1)
