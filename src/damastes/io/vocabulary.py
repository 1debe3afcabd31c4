"""Vocabulary files: the words of a matrix that has none, one a line."""

from __future__ import annotations

import re
from pathlib import Path

from damastes.errors import FileFormatError
from damastes.io.stream import Stream

__all__ = ["find_vocabulary", "read_vocabulary"]

_SUFFIXES = (".vocab", ".vocab.txt", ".words", ".words.txt", ".txt")
_COUNTED = re.compile(r"(.*?)[ \t]+\d+$")


def find_vocabulary(path: Path) -> Path:
    """Return the vocabulary file beside a matrix: `en.vocab`, `en.words` or `en.txt` beside `en.npy`."""
    candidates = [
        path.with_name(path.name.split(".npy")[0].removesuffix(".safetensors") + suffix) for suffix in _SUFFIXES
    ]
    found = next((candidate for candidate in candidates if candidate.is_file() and candidate != path), None)
    if found is None:
        names = ", ".join(candidate.name for candidate in candidates)
        raise FileFormatError(
            f"{path}: expected a file with its words, one a line, as vocabulary= or beside it ({names}), got none"
        )
    return found


def read_vocabulary(path: Path) -> list[str]:
    """Read one word a line; counts after every word, as word2vec writes them, are left out."""
    with Stream(path) as stream:
        parts = []
        while part := stream.read(1 << 20):
            parts.append(part)
    lines = b"".join(parts).decode("utf-8-sig", "replace").split("\n")
    if lines and not lines[-1]:
        lines.pop()
    words = [line.removesuffix("\r") for line in lines]
    counted = [_COUNTED.match(word) for word in words]
    return [match[1] for match in counted if match] if all(counted) else words
