"""Lexicons: two columns of words, as MUSE and others publish them."""

from __future__ import annotations

from os import PathLike
from pathlib import Path

from damastes.errors import FileFormatError

__all__ = ["read_lexicon"]


def read_lexicon(path: str | PathLike[str]) -> list[tuple[str, str]]:
    """Read pairs of words separated by a tab or blanks, one pair a line; a word may have several translations.

    Casing stays as it is, empty lines are skipped, and so is everything after the second column.
    """
    path = Path(path)
    if not path.is_file():
        raise FileFormatError(f"{path}: there is no such file")
    pairs = []
    try:
        with path.open(encoding="utf-8-sig") as file:
            for number, line in enumerate(file, 1):
                words = _columns(line)
                if not any(words):
                    continue
                if len(words) < 2 or not (words[0] and words[1]):
                    raise FileFormatError(
                        f"{path}, line {number}: expected two words separated by a tab or blanks, got {line.strip()!r}"
                    )
                pairs.append((words[0], words[1]))
    except UnicodeDecodeError as error:
        raise FileFormatError(f"{path}: expected UTF-8 text, got {error.reason}") from None
    if not pairs:
        raise FileFormatError(f"{path}: expected a lexicon, got an empty file")
    return pairs


def _columns(line: str) -> list[str]:
    if "\t" in line:
        return [word.strip() for word in line.split("\t")]
    # A word may hold a non-breaking space; only where nothing else separates, all blanks of Unicode do.
    words = [word for word in line.strip().split(" ") if word]
    return words if len(words) > 1 else line.split()
