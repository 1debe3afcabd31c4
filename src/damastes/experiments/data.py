"""The pairs of spaces that a data folder offers: our benchmark layout, the paper's own files, or the shipped sample."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from damastes import samples
from damastes._arrays import to_numpy
from damastes.errors import InputError
from damastes.io import read_lexicon, read_vectors
from damastes.vectors import Vectors

__all__ = ["SPLIT", "TOYS", "WORDS", "Data", "Lexicon", "Problem", "same_words", "split_by_rank"]

Lexicon = list[tuple[str, str]]

# The pairs of our benchmark folder: vectors/NAME.npz, lexicons/xx-yy.{train,test}.txt.
WORDS = {
    "en-fr": ("vectors/en.spacy", "vectors/fr.spacy"),
    "en-es": ("vectors/en.europarl", "vectors/es.europarl"),
    "en-fi": ("vectors/en.spacy", "vectors/fi.floret"),
    "en-ja": ("vectors/en.spacy", "vectors/ja.chive"),
}
# The paper's four toy settings: toy/NAME.npz, English twice.
TOYS = {
    "seed": ("base", "seed"),
    "data": ("base", "data"),
    "window": ("window2", "window10"),
    "algorithm": ("base", "cbow"),
}
# The paper's pairs, as `damastes fetch` names their files.
PAPER = ("en-es", "en-fr", "en-de", "en-ru")
_PAPER_LIMIT = 200_000
# Words of a lower rank are for training where a lexicon has no split of its own.
SPLIT = 5000


@dataclass(frozen=True, eq=False)
class Problem:
    """Two clouds, pairs to learn from, and pairs to measure on in either direction; all are (source, target).

    Test words of one direction are often in the training lexicon of the other, so that who learns from pairs and is measured
    backward has to learn from `train_backward`; None is where `train` has no test word of either side. `about` says where the
    lexicon comes from and how it was split; `files` what was read, relative to the data folder.
    """

    name: str
    source: Vectors
    target: Vectors
    train: Lexicon
    forward: Lexicon
    backward: Lexicon
    about: str
    files: tuple[str, str] = ("", "")
    train_backward: Lexicon | None = None

    def head(self, n: int) -> Problem:
        """The same of the first n points of either cloud."""
        return replace(self, source=self.source.head(n), target=self.target.head(n))

    def hashes(self) -> dict[str, Any]:
        """What identifies the data: files, sizes, and short sha256 of words with vectors and of the lexicons."""
        lexicons = hashlib.sha256(repr((self.train, self.forward, self.backward)).encode()).hexdigest()[:16]
        sides = {
            side: {"file": file, "n": len(cloud), "dimension": cloud.dimension, "sha256": _hash(cloud)}
            for side, file, cloud in zip(("source", "target"), self.files, (self.source, self.target), strict=True)
        }
        return {"pair": self.name, **sides, "lexicons": lexicons}

    def backward_problem(self) -> Problem:
        """The same for who learns from pairs to be measured backward."""
        return self if self.train_backward is None else replace(self, train=self.train_backward)

    def clouds_in_words(self) -> str:
        """What a table says of the clouds: files and sizes."""
        return ", ".join(
            f"{file} {len(cloud):,} × {cloud.dimension}"
            for file, cloud in zip(self.files, (self.source, self.target), strict=True)
        )

    def known_rows(self) -> np.ndarray[Any, np.dtype[np.int64]]:
        """Rows (source, target) of the training pairs whose words both vocabularies have."""
        rows = [
            (self.source.row(a), self.target.row(b)) for a, b in self.train if a in self.source and b in self.target
        ]
        return np.asarray(rows, dtype=np.int64).reshape(-1, 2)


@dataclass(frozen=True, eq=False)
class Data:
    """A folder of pairs; None is the shipped sample. `Data.open` recognises what is there."""

    folder: Path | None = None
    pairs: tuple[str, ...] = ("sample",)
    toys: tuple[str, ...] = ()
    _loaders: dict[str, Callable[[], Problem]] = field(default_factory=dict, repr=False)
    _last: dict[str, Problem] = field(default_factory=dict, repr=False)

    @classmethod
    def open(cls, folder: Path | None = None) -> Data:
        """Look which pairs the folder has, without reading them."""
        if folder is None:
            return cls()
        if not folder.is_dir():
            raise InputError(
                f"{folder}: expected a folder with vectors and lexicons, got none. {_fetched_into(folder)}"
            )
        loaders: dict[str, Callable[[], Problem]] = {}
        for name in dict.fromkeys((*PAPER, *WORDS)):
            if all((folder / file).is_file() for file in _paper_files(name)):
                loaders[name] = partial(_paper_pair, folder, name)
            elif name in WORDS and all((folder / file).is_file() for file in _benchmark_files(name)):
                loaders[name] = partial(_benchmark_pair, folder, name)
        # A folder of toys alone leaves the shipped sample to the tables of languages.
        pairs = tuple(loaders) or ("sample",)
        toys = tuple(toy for toy, files in TOYS.items() if all((folder / f"toy/{f}.npz").is_file() for f in files))
        loaders |= {f"toy-{toy}": partial(_toy, folder, toy) for toy in toys}
        if not loaders:
            raise InputError(
                f"{folder}: expected vectors and lexicons of a pair, such as wiki.en.vec, wiki.es.vec, en-es.0-5000.txt, "
                f"en-es.5000-6500.txt and the same for es-en, got none that is complete. {_fetched_into(folder)}"
            )
        return cls(folder, pairs, toys, loaders)

    def load(self, name: str) -> Problem:
        """Return a pair by name: one of `pairs`, "toy-" with one of `toys`, or "sample". The last one is kept in memory."""
        if name not in self._last:
            self._last.clear()
            if name == "sample":
                self._last[name] = _sample()
            elif name in self._loaders:
                self._last[name] = self._loaders[name]()
            else:
                raise InputError(
                    f"there is no pair {name!r} in {self.folder or 'the shipped sample'}; "
                    f"expected one of {', '.join((*self._loaders, 'sample'))}"
                )
        return self._last[name]

    def preferred(self, *names: str) -> str:
        """The first of these pairs that there is; else the first pair of the folder; else the sample."""
        return next((name for name in (*names, *self.pairs) if name in self.pairs), "sample")


def split_by_rank(lexicon: Lexicon, source: Vectors, split: int = SPLIT) -> tuple[Lexicon, Lexicon]:
    """Split a lexicon into pairs for training, of the most frequent source words, and for tests; unknown words are tests."""
    train = [pair for pair in lexicon if pair[0] in source and source.row(pair[0]) < split]
    known = set(train)
    return train, [pair for pair in lexicon if pair not in known]


def _sample() -> Problem:
    source, target = samples.load("en"), samples.load("es")
    train, test = split_by_rank(samples.lexicon(), source)
    about = "shipped sample, English–Spanish, Europarl; lexicon split by source rank: up to 5,000 for training, the rest for tests"
    return Problem("sample", source, target, train, test, test, about, ("en.npz", "es.npz"))


def _benchmark_files(name: str) -> list[str]:
    return [
        *(f"{file}.npz" for file in WORDS[name]),
        *(f"lexicons/{way}.{part}.txt" for way in (name, _reverse(name)) for part in ("train", "test")),
    ]


def _paper_files(name: str) -> list[str]:
    return [
        *(f"wiki.{language}.vec" for language in name.split("-")),
        *(f"{way}.{part}.txt" for way in (name, _reverse(name)) for part in ("0-5000", "5000-6500")),
    ]


def _fetched_into(folder: Path) -> str:
    return f"Bring them there with: damastes fetch {' '.join(_paper_files('en-es'))} --cache {folder}"


def _benchmark_pair(folder: Path, name: str) -> Problem:
    return _pair(
        folder, name, _benchmark_files(name), None, "MUSE lexicons: first 5,000 source words train, next 1,500 test"
    )


def _paper_pair(folder: Path, name: str) -> Problem:
    about = "the paper's vectors and MUSE lexicons: first 5,000 source words train, next 1,500 test"
    return _pair(folder, name, _paper_files(name), _PAPER_LIMIT, about)


def _pair(folder: Path, name: str, files: list[str], limit: int | None, about: str) -> Problem:
    source, target = (_read(folder / file, limit) for file in files[:2])
    train, forward, *others = (read_lexicon(folder / file) for file in files[2:])
    train_backward, backward = ([(b, a) for a, b in lexicon] for lexicon in others)
    return Problem(name, source, target, train, forward, backward, about, (files[0], files[1]), train_backward)


def _toy(folder: Path, toy: str) -> Problem:
    files = [f"toy/{name}.npz" for name in TOYS[toy]]
    source, target = (_read(folder / file, None) for file in files)
    return same_words(f"toy-{toy}", source, target, (files[0], files[1]))


def same_words(
    name: str, source: Vectors, target: Vectors, files: tuple[str, str] = ("", ""), *, split: int = SPLIT
) -> Problem:
    """A toy: two clouds of one language, whose shared words correspond."""
    lexicon = [(word, word) for word in source.labels or () if word in target]
    train, test = split_by_rank(lexicon, source, split)
    about = f"the same words; source rank up to {split:,} for training, {split + 1:,} to {len(source):,} for tests"
    return Problem(name, source, target, train, test, test, about, files)


def _read(path: Path, limit: int | None) -> Vectors:
    vectors = read_vectors(path, limit=limit)
    nonzero = np.flatnonzero(to_numpy(vectors.matrix).any(axis=1))
    return vectors if len(nonzero) == len(vectors) else vectors.select(nonzero)


def _hash(cloud: Vectors) -> str:
    digest = hashlib.sha256("\n".join(cloud.labels or ()).encode())
    digest.update(np.ascontiguousarray(to_numpy(cloud.matrix)).tobytes())
    return digest.hexdigest()[:16]


def _reverse(name: str) -> str:
    return "-".join(reversed(name.split("-")))
