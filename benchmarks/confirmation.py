"""The default recipe on vectors and lexicons of other origins than those that it was made with.

    python benchmarks/confirmation.py --vectors DIR --lexicons DIR [--pairs en-tr …] [--seeds 2] [--jobs 1]

DIR of --vectors has NAME.npz files with `words` and `vectors`, most frequent word first; that of --lexicons has en-XX.txt with a
pair of words a line. README.md beside this file says where they come from. Dictionaries give base forms and every sense, so
that precision is low even for supervised maps, which stand beside ours: Procrustes on all pairs but those of the words that are
asked, and what our last stages make of it without them. The fit is given vectors alone.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path

import numpy as np

import damastes
from damastes import Vectors, read_lexicon, read_vectors
from damastes._arrays import unit_rows
from damastes.pairs import Pairs
from damastes.procrustes import polar
from damastes.recipes import DEFAULT
from damastes.retrieval import CSLS
from damastes.solvers import Chain, Solver
from data import run_cells

COMMAND = "python benchmarks/confirmation.py --vectors DIR --lexicons DIR"
# The language of a file is what its name begins with.
FILES = {
    "en": "en.spacy",
    "fr": "fr.spacy",
    "en-glove": "en_wink_glove6B_100d",
    "ru-books": "ru_navec_hudlit_300d",
    "ru-news": "ru_navec_news_300d",
    "tr": "tr_vnlp_128d",
    "zh-large": "zh_tencent200_chinesesynonymword",
    "zh-small": "zh_nearsynonym_100d",
    "vi": "vi_genz_300d",
    "th": "th_cunlp_100d",
}
PAIRS = {
    f"{one} {other}": (one, other)
    for one, other in (
        ("en", "ru-books"),
        ("en", "ru-news"),
        ("en", "tr"),
        ("en", "zh-large"),
        ("en", "zh-small"),
        ("en", "vi"),
        ("en", "th"),
        ("tr", "en"),
        ("zh-large", "en"),
        ("ru-books", "en"),
        ("en", "en-glove"),
        ("ru-books", "ru-news"),
    )
}
# Words from this rank on are asked, so many of them.
_FIRST_RANK, _N_ASKED = 3000, 1500


class Scene:
    """Two clouds, pairs of rows that translate each other, and the source rows that are asked."""

    def __init__(self, pair: str, vectors: list[Path], lexicons: Path) -> None:
        names = PAIRS[pair]
        self.source, self.target = (_read(FILES[name], vectors) for name in names)
        self.pairs = np.array(sorted(_rows(*(name[:2] for name in names), self.source, self.target, lexicons)))
        rows = np.unique(self.pairs[self.pairs[:, 0] >= _FIRST_RANK, 0])
        self.asked = np.sort(np.random.default_rng(0).permutation(rows)[:_N_ASKED])

    def precision(self, mapped: np.ndarray, target: np.ndarray) -> float:
        found = CSLS()(mapped, target, queries=self.asked).indices[:, 0]
        answers = set(map(tuple, self.pairs.tolist()))
        return float(np.mean([row in answers for row in zip(self.asked.tolist(), found.tolist(), strict=True)]))

    def supervised(self, frame: damastes.Frame, *stages: Solver) -> tuple[np.ndarray, np.ndarray]:
        """Both clouds under Procrustes on the pairs that are not asked, improved by these stages without them."""
        known = self.pairs[~np.isin(self.pairs[:, 0], self.asked)]
        X, Y = (frame.fit(side.matrix)(side.matrix) for side in (self.source, self.target))
        # A word with many translations counts once.
        weights = 1 / np.bincount(known[:, 0], minlength=len(X))[known[:, 0]]
        Q = polar((weights[:, None] * X[known[:, 0]]).astype(X.dtype).T @ Y[known[:, 1]])
        if not stages:
            return X @ Q, Y
        found = Chain(stages)(X, Y, Q, pairs=Pairs.none(), rng=np.random.default_rng(0))
        return unit_rows(X @ found.Q @ found.metric), unit_rows(Y @ found.metric)


def _read(name: str, folders: list[Path]) -> Vectors:
    return next(read_vectors(path) for folder in folders if (path := folder / f"{name}.npz").exists())


def _rows(one: str, other: str, source: Vectors, target: Vectors, lexicons: Path) -> set[tuple[int, int]]:
    if one == other:
        words = [(word, word) for word in source.labels]
    elif one == "en":
        words = read_lexicon(lexicons / f"en-{other}.txt")
    else:
        words = [(b, a) for a, b in read_lexicon(lexicons / f"{other}-{one}.txt")]
    return {(source.row(a), target.row(b)) for a, b in words if a in source and b in target}


def cell(pair: str, seed: int, vectors: list[Path], lexicons: Path) -> dict[str, object]:
    """One fit, and what supervised maps reach."""
    scene = Scene(pair, vectors, lexicons)
    begin = time.perf_counter()
    alignment = damastes.align(scene.source, scene.target, random_state=seed)
    seconds = time.perf_counter() - begin
    return {
        "pair": pair,
        "seed": seed,
        "csls": scene.precision(alignment.embed_source(), alignment.embed_target()),
        "supervised_plain": scene.precision(*scene.supervised(DEFAULT.frame)),
        "supervised_same_frame": scene.precision(*scene.supervised(DEFAULT.finish)),
        "supervised_same_stages": scene.precision(*scene.supervised(DEFAULT.finish, DEFAULT.climb, DEFAULT.refinement)),
        "n_words": len(scene.asked),
        "verdict": alignment.verdict.to_json(),
        "routes": [
            (tried["initializer"].split("(")[0], "head" in tried, tried["verdict"]["label"])
            for tried in alignment.history["routes"]
        ],
        "seconds": seconds,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--vectors", type=Path, nargs="+", required=True)
    parser.add_argument("--lexicons", type=Path, required=True)
    parser.add_argument("--pairs", nargs="+", choices=PAIRS, default=list(PAIRS))
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--cell", nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.cell:
        print(json.dumps(cell(options.cell[0], int(options.cell[1]), options.vectors, options.lexicons)))
        return

    cells = [(pair, seed) for seed in range(options.seeds) for pair in options.pairs]
    run_cells("confirmation", COMMAND, cells, list(PAIRS), options.jobs)


if __name__ == "__main__":
    main()
