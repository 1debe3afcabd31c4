"""Accuracy of the default recipe on real pairs: every pair, several seeds, both directions, beside supervised Procrustes.

    python benchmarks/accuracy.py --data DIR [--pairs en-fi en-ja] [--seeds 5] [--jobs 1]

The fit is given vectors alone, no lexicon. Every cell is a process of its own; finished cells are kept in the results file, so an
interrupted run goes on where it stopped. With --jobs above 1 the times mean little.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path
from typing import Any

import numpy as np

import damastes
from damastes import Alignment, Vectors
from damastes.mapping import Map
from damastes.pairs import Pairs
from damastes.procrustes import orthogonal_procrustes
from damastes.recipes import DEFAULT
from damastes.retrieval import CSLS, Nearest
from data import OTHER_WORDS, WORDS, load, run_cells

TOY = {
    "toy-seed": ("base", "seed"),
    "toy-data": ("base", "data"),
    "toy-window": ("window2", "window10"),
    "toy-cbow": ("base", "cbow"),
}
# The same clouds fitted from the other side; the toys are nearly symmetric.
REVERSED = {
    "sample es-en": "sample",
    **{"-".join(pair.split("-")[::-1]): pair for pair in WORDS},
    "use-minilm": "encoders",
}
# Pairs that are too unlike, reached through French.
VIA = {f"{pair} via fr": pair for pair in ("es-fi", "es-ja", "en-es unlike texts")}
# The same words in no order.
SHUFFLED = {f"{pair} shuffled": pair for pair in WORDS}
PAIRS = ["sample", *WORDS, "encoders", *TOY, *OTHER_WORDS, *VIA, *REVERSED, *SHUFFLED]


class Case:
    """Two clouds, known pairs of rows for the supervised result, and (queries, answers) to measure on, both ways."""

    def __init__(self, pair: str, data: Path | None) -> None:
        self.pair = pair
        self.eval: tuple[np.ndarray, np.ndarray] | None = None
        self.via = damastes.read_vectors(data / "vectors/fr.spacy.npz") if pair in VIA else None
        if pair in REVERSED:
            straight = Case(REVERSED[pair], data)
            self.source, self.target = straight.target, straight.source
            self.known, self.known_backward, self.eval = (
                sides and sides[::-1] for sides in (straight.known_backward, straight.known, straight.eval)
            )
            if self.eval is None:
                self.forward, self.backward = (
                    [(b, a) for a, b in pairs] for pairs in (straight.backward, straight.forward)
                )
            return
        if pair in SHUFFLED:
            straight = Case(SHUFFLED[pair], data)
            self.source, self.target = (
                _shuffled(side, seed) for seed, side in enumerate((straight.source, straight.target))
            )
            self.known, self.known_backward, self.forward, self.backward = (
                straight.known,
                straight.known_backward,
                straight.forward,
                straight.backward,
            )
            return
        if pair == "encoders":
            arrays = {
                f"{name}.{part}": np.load(data / f"encoders/{name}.{part}.npz")["vectors"].astype(np.float32)
                for name in ("minilm", "use")
                for part in ("train", "eval", "pairs")
            }
            self.source, self.target = (Vectors(None, arrays[f"{name}.train"]) for name in ("minilm", "use"))
            self.known = self.known_backward = arrays["minilm.pairs"], arrays["use.pairs"]
            self.eval = arrays["minilm.eval"], arrays["use.eval"]
            return
        if pair in TOY:
            self.source, self.target = (damastes.read_vectors(data / f"toy/{name}.npz") for name in TOY[pair])
            common = [word for word in self.source.labels if word in self.target]
            train = [(word, word) for word in common if self.source.row(word) < 5000]
            test = [(word, word) for word in common if self.source.row(word) >= 5000]
            self.forward, self.backward = test, test
            train_backward = train
        else:
            problem = load(VIA.get(pair, pair), data)
            self.source, self.target, self.forward, self.backward = (
                problem.source,
                problem.target,
                problem.forward,
                problem.backward,
            )
            train, train_backward = problem.train, problem.train_backward
        self.known, self.known_backward = (self.points_of(pairs) for pairs in (train, train_backward))

    def points_of(self, pairs: list[tuple[str, str]]) -> tuple[np.ndarray, np.ndarray] | None:
        """Vectors of both sides of the pairs that the vocabularies have."""
        rows = [(self.source.row(a), self.target.row(b)) for a, b in pairs if a in self.source and b in self.target]
        if not rows:
            return None
        sources, targets = np.array(rows).T
        return self.source.matrix[sources], self.target.matrix[targets]

    def answers(self, backward: bool) -> dict[int, set[int]]:
        """The right answers, by the row of the word that is asked."""
        asked, answering = (self.target, self.source) if backward else (self.source, self.target)
        answers: dict[int, set[int]] = {}
        for pair in self.backward if backward else self.forward:
            word, translation = pair[::-1] if backward else pair
            if word in asked and translation in answering:
                answers.setdefault(asked.row(word), set()).add(answering.row(translation))
        return answers

    def hits(self, alignment: Alignment, backward: bool, retriever: Any) -> np.ndarray:
        """Which of the queries, in a fixed order, are answered right."""
        if self.eval is not None:
            A, B = alignment.embed_source(self.eval[0]), alignment.embed_target(self.eval[1])
            A, B = (B, A) if backward else (A, B)
            return retriever(A, B, 1).indices[:, 0] == np.arange(len(A))
        answers = self.answers(backward)
        queries = np.array(sorted(answers))
        found = alignment.neighbours(1, retriever=retriever, queries=queries, backward=backward).indices[:, 0]
        return np.array([j in answers[q] for q, j in zip(queries.tolist(), found.tolist(), strict=True)])

    def supervised(self, frame: Any, refined: bool, backward: bool) -> Alignment:
        """Orthogonal Procrustes on a direction's training pairs, in a frame, optionally with the recipe's own refinement."""
        frames = [frame.fit(cloud.matrix) for cloud in (self.source, self.target)]
        learned = self.known_backward if backward else self.known
        Q = orthogonal_procrustes(*(f(known) for f, known in zip(frames, learned, strict=True)))
        metric = None
        if refined:
            X, Y = (f(cloud.matrix) for f, cloud in zip(frames, (self.source, self.target), strict=True))
            solution = DEFAULT.refinement(X, Y, Q, pairs=Pairs.none(), rng=np.random.default_rng(0))
            Q, metric = solution.Q, solution.metric
        return Alignment(Map(Q, frames[0], frames[1], {}, metric), self.source, self.target)


def _shuffled(vectors: Vectors, seed: int) -> Vectors:
    rows = np.random.default_rng(seed).permutation(len(vectors))
    return Vectors([vectors.labels[row] for row in rows.tolist()], vectors.matrix[rows], name=vectors.name)


def measure(case: Case, forward: Alignment, backward: Alignment | None = None) -> dict[str, Any]:
    """P@1 of a map, or of one for each direction."""
    return {
        f"{direction}_{name}": float(case.hits(alignment, direction == "backward", retriever).mean())
        for direction, alignment in (("forward", forward), ("backward", backward or forward))
        for name, retriever in (("csls", CSLS()), ("nn", Nearest()))
    }


def supervised_cell(case: Case) -> dict[str, Any]:
    row: dict[str, Any] = {"pair": case.pair, "method": "supervised"}
    if case.known is not None:
        for name, frame, refined in (
            ("plain_frame", DEFAULT.frame, False),
            ("same_frame", DEFAULT.finish, False),
            ("same_frame_refined", DEFAULT.finish, True),
        ):
            row[name] = measure(case, *(case.supervised(frame, refined, backward) for backward in (False, True)))
    return row


def default_cell(case: Case, seed: int) -> dict[str, Any]:
    begin = time.perf_counter()
    alignment = damastes.align(case.source, case.target, via=case.via, random_state=seed)
    row: dict[str, Any] = {"pair": case.pair, "method": "default", "seed": seed, "seconds": time.perf_counter() - begin}
    row |= {"stages": dict(alignment.seconds), "verdict": alignment.verdict.to_json()}
    row["routes"] = [
        (tried["initializer"].split("(")[0], tried["verdict"]["label"]) for tried in alignment.history["routes"]
    ]
    row |= measure(case, alignment)
    if case.known is not None:
        for backward in (False, True):
            reference = case.supervised(DEFAULT.finish, False, backward)
            ours, theirs = (case.hits(a, backward, CSLS()).astype(float) for a in (alignment, reference))
            gain = ours - theirs
            half = 1.96 * gain.std(ddof=1) / len(gain) ** 0.5
            key = "backward" if backward else "forward"
            row[f"{key}_words"] = len(gain)
            row[f"{key}_gain_on_supervised"] = [gain.mean(), gain.mean() - half, gain.mean() + half]
    return row


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--data", type=Path)
    parser.add_argument("--pairs", nargs="+", choices=PAIRS, default=PAIRS)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--cell", nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.cell:
        pair, seed = options.cell
        case = Case(pair, options.data)
        print(json.dumps(supervised_cell(case) if seed == "supervised" else default_cell(case, int(seed))))
        return
    # Other pairs of a seed first, so that an interrupted run has something of each.
    cells = [(pair, seed) for seed in ["supervised", *range(options.seeds)] for pair in options.pairs]
    run_cells("accuracy", "python benchmarks/accuracy.py --data DIR", cells, PAIRS, options.jobs)


if __name__ == "__main__":
    main()
