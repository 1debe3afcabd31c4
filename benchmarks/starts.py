"""The starts alone, and the basins of the climbs: what Q₀ is worth, what becomes of it, how bad a start still comes home.

    python benchmarks/starts.py --data DIR [--pairs sample en-fi] [--starts random …] [--seeds 5] [--tables starts basins]

Starts: CSLS P@1 of Q₀ itself and after the default's exploration (no fallback, no refinement), and seconds of the start. The
two relaxations are also run on clouds that were not centred. The default's last two routes begin among the frequent words and
explore in their own way; for the first of them, Q₀ is what it goes on with after its exploration there. Basins: the supervised
map, mixed with a random orthogonal one, is what each climb starts from. "Home" is half of the supervised map's P@1. Lexicons
are read after the fit. Finished cells are kept, so the command can be interrupted and goes on.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from accuracy import Case
from damastes import Alignment, Frame
from damastes.alignment import started
from damastes.initializers import ICP, Adversarial, Convex, IndependentComponents, Initializer, Random
from damastes.mapping import Map
from damastes.pairs import Pairs
from damastes.procrustes import orthogonal_procrustes, polar
from damastes.recipes import DEFAULT, PAPER, Route
from damastes.retrieval import CSLS
from damastes.solvers import Solver
from data import save, saved

PAIRS = ["sample", "en-fr", "en-es", "en-fi", "en-ja", "encoders", "toy-data"]
BASINS = ["sample", "en-fi"]
COMMAND = "python benchmarks/starts.py --data DIR"


@dataclass(frozen=True)
class Entry:
    """A way to begin, and the frame it sees."""

    route: Route
    frame: Frame = DEFAULT.frame

    @classmethod
    def of(cls, initializer: Initializer, *, centre: bool = True) -> Entry:
        """A start alone, and the exploration that all of these have in common."""
        return cls(Route(initializer, DEFAULT.solver), replace(DEFAULT.frame, centre=centre))


STARTS = {
    "random": Entry.of(Random()),
    "relaxation of the paper": Entry.of(PAPER.initializer),
    "relaxation of the paper, not centred": Entry.of(PAPER.initializer, centre=False),
    "relaxation with linear term": Entry.of(Convex()),
    "relaxation with linear term, not centred": Entry.of(Convex(), centre=False),
    "independent components": Entry.of(IndependentComponents()),
    "independent components, no order": Entry.of(IndependentComponents(ordered=False)),
    "relaxation among frequent words": Entry(DEFAULT.fallbacks[1]),
    "independent components of frequent words": Entry(DEFAULT.fallbacks[2]),
    "iterative closest points": Entry.of(ICP()),
    "adversarial": Entry.of(Adversarial()),
}
CLIMBS: dict[str, Solver] = {
    "refinement (paper)": PAPER.refinement,
    "Algorithm 1 (paper)": PAPER.solver,
    "exploration (default)": DEFAULT.solver,
    "self-learning (default)": DEFAULT.climb,
}
# The share of a random orthogonal matrix in the mixture that is projected to make a bad start.
SHARES = (0.6, 0.7, 0.75, 0.8, 0.85, 0.9)


@cache
def loaded(pair: str, data: Path | None) -> Case:
    return Case(pair, data)


class Scene:
    """A case in a frame, rows in an order in which a head is a fair sample."""

    def __init__(self, case: Case, frame: Frame, seed: int) -> None:
        self.case, self.rng = case, np.random.default_rng(seed)
        clouds = [v.matrix if v.ordered else self.rng.permutation(v.matrix) for v in (case.source, case.target)]
        self.clouds, self.frame = clouds, frame
        self.frames = [frame.fit(cloud) for cloud in clouds]
        self.X, self.Y = (f(cloud) for f, cloud in zip(self.frames, clouds, strict=True))

    def accuracy(self, Q: np.ndarray) -> float:
        found = Alignment(Map(Q, self.frames[0], self.frames[1], {}), self.case.source, self.case.target)
        return float(self.case.hits(found, False, CSLS()).mean())

    def supervised(self) -> np.ndarray:
        source, target, known = self.case.source, self.case.target, self.case.known
        if known is None:  # the sample's lexicon is not split
            pairs = [(a, b) for a, b in self.case.forward if a in source and b in target]
            known = source.matrix[[source.row(a) for a, _ in pairs]], target.matrix[[target.row(b) for _, b in pairs]]
        return orthogonal_procrustes(*(f(points) for f, points in zip(self.frames, known, strict=True)))

    def started(self, route: Route) -> np.ndarray:
        return started(route, self.frame, self.clouds, self.X, self.Y, Pairs.none(), self.rng)[1]

    def climbed(self, climb: Solver, Q: np.ndarray) -> np.ndarray:
        return climb(self.X, self.Y, Q, pairs=Pairs.none(), rng=self.rng).Q


def start_row(case: Case, name: str, seed: int) -> dict[str, Any]:
    entry = STARTS[name]
    scene = Scene(case, entry.frame, seed)
    begin = time.process_time()
    Q = scene.started(entry.route)
    seconds = time.process_time() - begin
    after = scene.accuracy(scene.climbed(entry.route.solver, Q))
    return {
        "start_accuracy": scene.accuracy(Q),
        "climbed_accuracy": after,
        "home": after >= scene.accuracy(scene.supervised()) / 2,
        "processor_seconds": seconds,
    }


def basin_row(case: Case, climb: str, share: float, seed: int) -> dict[str, Any]:
    scene = Scene(case, DEFAULT.frame, seed)
    right = scene.supervised()
    lost = polar(scene.rng.standard_normal(right.shape).astype(right.dtype))
    Q = polar((1 - share) * right + share * lost)
    begin = time.process_time()
    after = scene.accuracy(scene.climbed(CLIMBS[climb], Q))
    return {
        "start_accuracy": scene.accuracy(Q),
        "climbed_accuracy": after,
        "home": after >= scene.accuracy(right) / 2,
        "processor_seconds": time.process_time() - begin,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path)
    parser.add_argument("--pairs", nargs="+", choices=PAIRS, default=PAIRS)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--starts", nargs="+", choices=STARTS, default=list(STARTS))
    parser.add_argument("--tables", nargs="+", choices=["starts", "basins"], default=["starts", "basins"])
    arguments = parser.parse_args()
    cells: list[tuple[dict[str, Any], Callable[[Case], dict[str, Any]]]] = []
    for pair in arguments.pairs:
        for seed in range(arguments.seeds):
            for name in arguments.starts:
                key = {"table": "starts", "pair": pair, "start": name, "seed": seed}
                cells.append((key, lambda case, name=name, seed=seed: start_row(case, name, seed)))
            for climb in CLIMBS if pair in BASINS else ():
                for share in SHARES:
                    key = {"table": "basins", "pair": pair, "climb": climb, "share": share, "seed": seed}
                    cells.append((key, lambda case, c=climb, t=share, seed=seed: basin_row(case, c, t, seed)))
    for key, run in cells:
        if key["table"] not in arguments.tables or any(key.items() <= row.items() for row in saved("starts")):
            continue
        row = {**key, **run(loaded(key["pair"], arguments.data))}
        print(row, flush=True)
        # Read again: another process may have added rows meanwhile.
        save("starts", COMMAND, [*saved("starts"), row])


if __name__ == "__main__":
    main()
