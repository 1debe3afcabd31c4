"""The verdict over maps of which it is known whether they are right: confusion matrices, calibration and held-out pairs apart.

    python benchmarks/verdict.py --data DIR

Maps are what fits returned (also fits that failed), supervised and planted maps with and without unsupervised refinement, the
same made rough, and wrong local optima. A map is right when it has at least a fifth of the accuracy of the supervised or
planted map (CSLS P@1), wrong below a twentieth or when nothing corresponds; what is between is judged and not counted.
`--kept FOLDER` keeps maps between runs. With --jobs above 1 the cases are shared out among processes of one thread each.
"""

from __future__ import annotations

import argparse
import os
import time
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from itertools import chain
from multiprocessing import get_context
from operator import itemgetter
from pathlib import Path

import numpy as np

import verdict_cases as cases
from damastes.verdict import judge
from data import save

COMMAND = "python benchmarks/verdict.py --data DIR"
LABELS = ("aligned", "uncertain", "failed")


def run(case: cases.Case) -> dict[str, object]:
    """One row: the map, the truth about it, and the verdict."""
    begin = time.process_time()
    verdict = judge(*case.judged_in(), case.Q, rng=np.random.default_rng([case.seed, 1]))
    return {
        "part": "calibration" if case.clouds.family in cases.CALIBRATION else "held-out",
        "family": case.clouds.family,
        "clouds": case.clouds.name,
        "points": len(case.clouds.X),
        "dimension": min(case.Q.shape),
        "map": case.kind,
        "seed": case.seed,
        "accuracy": case.accuracy,
        "reach": case.reach,
        "truth": case.truth,
        **verdict.to_json(),
        "seconds": time.process_time() - begin,
    }


def judged_share(data: Path, kept: Path | None, n_shares: int, share: int) -> list[tuple[int, dict[str, object]]]:
    """The rows of every n-th case, with their numbers."""
    rows = []
    for number, make in enumerate(cases.matrix(data, kept)):
        if number % n_shares == share:
            rows.append((number, run(make())))
            print(*(rows[-1][1][key] for key in ("clouds", "map", "seed", "truth", "label", "score")), flush=True)
    return rows


def confusion(rows: list[dict[str, object]]) -> list[dict[str, object]]:
    """Counts of the three labels by part and truth.

    Rough maps, judged by where they lead, are on lines of their own, and so are those finished maps that have at least half of
    what can be reached: a fifth is little to be called right.
    """
    kinds = {
        ("right", "finished"): lambda row: row["map"] != "rough",
        ("right", "finished, at least half of the accuracy that can be reached"): lambda row: (
            row["map"] != "rough" and row["accuracy"] >= row["reach"] / 2
        ),
        ("right", "rough"): lambda row: row["map"] == "rough",
        ("wrong", "all"): lambda row: True,
        ("between", "all"): lambda row: True,
    }
    table = []
    for part in ("calibration", "held-out"):
        for (truth, maps), belongs in kinds.items():
            chosen = [row for row in rows if row["part"] == part and row["truth"] == truth and belongs(row)]
            counts = Counter(row["label"] for row in chosen)
            table.append({"part": part, "truth": truth, "maps": maps, **{label: counts[label] for label in LABELS}})
    return table


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--kept", type=Path)
    parser.add_argument("--jobs", type=int, default=1)
    arguments = parser.parse_args()
    if arguments.kept is not None:
        arguments.kept.mkdir(exist_ok=True)
    if arguments.jobs > 1:
        os.environ["OMP_NUM_THREADS"] = os.environ["OPENBLAS_NUM_THREADS"] = "1"
    # Fresh processes: those that are forked keep the threads of this one.
    with ProcessPoolExecutor(arguments.jobs, mp_context=get_context("spawn")) as pool:
        shares = pool.map(partial(judged_share, arguments.data, arguments.kept, arguments.jobs), range(arguments.jobs))
        rows = [row for _, row in sorted(chain.from_iterable(shares), key=itemgetter(0))]
    table = confusion(rows)
    for line in table:
        print(line)
    save("verdict", COMMAND, [*table, *rows])


if __name__ == "__main__":
    main()
