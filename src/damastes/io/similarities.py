"""Word-similarity lists: two words and how similar people find them."""

from __future__ import annotations

from math import isfinite
from os import PathLike
from pathlib import Path

from damastes.errors import FileFormatError

__all__ = ["read_similarities"]


def read_similarities(path: str | PathLike[str]) -> list[tuple[str, str, float]]:
    """Read lines of two words and a number, separated by tabs, semicolons, commas or blanks, as such lists are published.

    Casing stays as it is; empty lines, a first line without a number (a heading) and further columns are skipped.
    """
    path = Path(path)
    if not path.is_file():
        raise FileFormatError(f"{path}: there is no such file")
    judgements = []
    try:
        with path.open(encoding="utf-8-sig") as file:
            for number, line in enumerate(file, 1):
                if not line.strip():
                    continue
                separator = next((mark for mark in "\t;," if line.count(mark) >= 2), None)
                fields = [field.strip() for field in line.split(separator)]
                score = _number(fields[2]) if len(fields) > 2 and fields[0] and fields[1] else None
                if score is not None:
                    judgements.append((fields[0], fields[1], score))
                elif number > 1:
                    raise FileFormatError(
                        f"{path}, line {number}: expected two words and a number, got {line.strip()[:60]!r}"
                    )
    except UnicodeDecodeError as error:
        raise FileFormatError(f"{path}: expected UTF-8 text, got {error.reason}") from None
    if not judgements:
        raise FileFormatError(f"{path}: expected lines of two words and a number, got none")
    return judgements


def _number(field: str) -> float | None:
    try:
        value = float(field)
    except ValueError:
        return None
    return value if isfinite(value) else None
