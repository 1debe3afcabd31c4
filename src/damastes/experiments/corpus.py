"""Toy vectors trained on a person's own text, as the paper did: the same English twice, with a difference in the training.

fastText's models without pieces of words, in gensim's implementation, because it can be seeded and there are wheels of it for all
Pythons that we support.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from damastes._arrays import Progress, no_progress
from damastes.errors import FileFormatError, MissingExtraError
from damastes.experiments.data import TOYS, Problem, same_words
from damastes.io import read_vectors
from damastes.io.atomic import atomic_writer
from damastes.io.fetch import cache_directory
from damastes.vectors import Vectors

__all__ = ["Corpus", "Training", "need_gensim"]

_MAX_WORDS = 10_000
_MIN_WORDS = 20


@dataclass(frozen=True, slots=True)
class Training:
    """How vectors are trained: fastText's defaults, with the dimension of the paper's vectors.

    `half` is 0 for the first half of the lines and 1 for the second.
    """

    algorithm: str = "skipgram"
    window: int = 5
    seed: int = 1
    half: int = 0
    dimension: int = 300
    epochs: int = 5
    min_count: int = 5


# As the toys of a data folder are called. Except for "data", all see the first half, so that one thing differs at a time.
_TRAININGS = {
    "base": Training(),
    "seed": Training(seed=2),
    "data": Training(half=1, seed=2),
    "window2": Training(window=2),
    "window10": Training(window=10, seed=2),
    "cbow": Training(algorithm="cbow", seed=2),
}


@dataclass(frozen=True)
class Corpus:
    """A text, one sentence a line, words separated by spaces; and the toys that come from it.

    Vectors are trained when they are first needed, with one thread (more give other vectors every time), and kept in
    `cache`, `damastes fetch`'s unless given.
    """

    path: Path
    quick: bool = False
    cache: Path | None = None

    @property
    def toys(self) -> tuple[str, ...]:
        """The paper's settings."""
        return tuple(TOYS)

    @property
    def names(self) -> tuple[str, ...]:
        """The trainings."""
        return tuple(_TRAININGS)

    def inputs(self, *names: str) -> dict[str, Any]:
        """All that the vectors of these trainings depend on."""
        return {"corpus": self._hash, "training": [asdict(self._training(name)) for name in names]}

    def load(self, toy: str, progress: Progress = no_progress) -> Problem:
        """Return a toy, training its vectors first if need be."""
        source, target = (self.vectors(name, progress) for name in TOYS[toy])
        return same_words(f"toy-{toy}", source, target, split=min(5000, len(source) // 2))

    def vectors(self, name: str, progress: Progress = no_progress) -> Vectors:
        """Return the vectors of one training, most frequent word first."""
        training = self._training(name)
        key = hashlib.sha256(repr((self._hash, training)).encode()).hexdigest()[:16]
        path = (self.cache or cache_directory()) / "toys" / f"{name}-{key}.npz"
        if not path.is_file():
            words, matrix = _train(
                self.path, training, lambda done: progress(f"training {name}", done, training.epochs, {})
            )
            path.parent.mkdir(parents=True, exist_ok=True)
            with atomic_writer(path) as file:
                np.savez(file, words=np.array(words), vectors=matrix)
        return read_vectors(path)

    def _training(self, name: str) -> Training:
        training = _TRAININGS[name]
        return replace(training, dimension=100, epochs=2) if self.quick else training

    @cached_property
    def _hash(self) -> str:
        with self.path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()[:16]


def _train(path: Path, training: Training, tell: Callable[[int], None]) -> tuple[list[str], np.ndarray[Any, Any]]:
    gensim = need_gensim()
    sentences = _Half(path, training.half)
    model = gensim.models.FastText(
        sg=int(training.algorithm == "skipgram"),
        vector_size=training.dimension,
        window=training.window,
        min_count=training.min_count,
        seed=training.seed,
        workers=1,
        # fastText's own defaults where gensim has others, and no pieces of words.
        alpha=0.05,
        sample=1e-4,
        negative=5,
        min_n=1,
        max_n=0,
        bucket=1,
    )
    model.build_vocab(sentences)
    if len(model.wv) < _MIN_WORDS:
        raise FileFormatError(
            f"{path}: expected a text with at least {_MIN_WORDS} different words that occur {training.min_count} times in "
            f"either half of its lines, got {len(model.wv)}. Give one sentence a line, and more of them."
        )

    callback: Any = gensim.models.callbacks.CallbackAny2Vec

    class Telling(callback):  # type: ignore[misc]
        """Passes the end of every epoch on."""

        done = 0

        def on_epoch_end(self, model: Any) -> None:
            self.done += 1
            tell(self.done)

    model.train(
        sentences,
        total_examples=model.corpus_count,
        total_words=model.corpus_total_words,
        epochs=training.epochs,
        callbacks=[Telling()],
    )
    return list(model.wv.index_to_key[:_MAX_WORDS]), model.wv.vectors[:_MAX_WORDS]


class _Half:
    """The sentences of one half of the lines; can be read again and again."""

    def __init__(self, path: Path, half: int) -> None:
        self._path = path
        with path.open("rb") as file:
            n = sum(1 for _ in file)
        self._lines = slice(n // 2, n) if half else slice(0, n // 2)

    def __iter__(self) -> Iterator[list[str]]:
        with self._path.open(encoding="utf-8", errors="replace") as file:
            for line in islice(file, self._lines.start, self._lines.stop):
                yield line.split()


def need_gensim() -> Any:
    """Return gensim, or say what to install."""
    try:
        import gensim.models

        return gensim
    except ImportError:
        raise MissingExtraError("training on a corpus needs gensim: pip install 'damastes[train]'") from None
