"""Small real vectors shipped with the package, so that everything runs offline.

English and Spanish word2vec skip-gram vectors, 10,000 × 100, trained by us on Europarl (English 1999–2012, Spanish
1996–2011), and a lexicon induced from co-occurrence in aligned paragraphs, about 95 % right. Nothing that aligns looks at
the lexicon.
"""

from __future__ import annotations

from importlib.resources import as_file, files

from damastes.errors import InputError
from damastes.io import read_lexicon, read_vectors
from damastes.vectors import Vectors

__all__ = ["lexicon", "load"]

_LANGUAGES = ("en", "es")


def load(language: str) -> Vectors:
    """Return the sample vectors of "en" or "es", most frequent word first."""
    if language not in _LANGUAGES:
        raise InputError(f"there are samples of {' and '.join(_LANGUAGES)}, got {language!r}")
    with as_file(files(__name__) / f"{language}.npz") as path:
        return read_vectors(path)


def lexicon() -> list[tuple[str, str]]:
    """Return the sample lexicon, pairs of an English and a Spanish word, for evaluation."""
    with as_file(files(__name__) / "en-es.txt") as path:
        return read_lexicon(path)
