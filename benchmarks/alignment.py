"""Accuracy, time and memory of the recipes on real pairs, over several seeds.

    python benchmarks/alignment.py --data DIR

Each cell runs in a process of its own, so that its peak memory is its own. Finished cells are kept. Lexicons are read after the
fit.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import time
from pathlib import Path

import numpy as np

import damastes
from damastes.retrieval import CSLS, ISF, Nearest
from data import load, save, saved


def run(pair: str, recipe: str, seed: int, data: Path | None) -> dict[str, object]:
    problem = load(pair, data)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    begin = time.perf_counter()
    alignment = damastes.align(problem.source, problem.target, recipe=recipe, random_state=seed)
    seconds = time.perf_counter() - begin
    memory = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1e6
    row: dict[str, object] = {"pair": pair, "recipe": recipe, "seed": seed, "seconds": seconds}
    row |= {"stages": dict(alignment.seconds), "gigabytes_above_inputs": memory}
    for backward, lexicon in ((False, problem.forward), (True, problem.backward)):
        for retriever in (Nearest(), CSLS(), ISF()):
            result = damastes.evaluate(alignment, lexicon, retriever=retriever, backward=backward)
            row[f"{result.direction}_{result.retrieval}"] = result.precision[1]
            row[f"{result.direction}_words"] = result.n_queries
    return row


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--data", type=Path)
    parser.add_argument(
        "--cells", default="sample:default,sample:paper,en-fr:default,en-fr:paper,en-es:default,en-es:paper"
    )
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--one", nargs=3, metavar=("PAIR", "RECIPE", "SEED"), help="run one cell and print its row")
    arguments = parser.parse_args()
    if arguments.one:
        pair, recipe, seed = arguments.one
        print(json.dumps(run(pair, recipe, int(seed), arguments.data)))
        return
    rows = saved("alignment")
    done = {(row["pair"], row["recipe"], row["seed"]) for row in rows}
    for cell in arguments.cells.split(","):
        pair, recipe = cell.split(":")
        for seed in range(arguments.seeds):
            if (pair, recipe, seed) in done:
                continue
            command = [sys.executable, __file__, "--one", pair, recipe, str(seed)]
            command += ["--data", str(arguments.data)] if arguments.data else []
            rows.append(json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout))
            row = rows[-1]
            print(pair, recipe, seed, f"{row['seconds']:.1f} s", f"CSLS {100 * row['forward_csls']:.2f}", flush=True)
            save("alignment", "python benchmarks/alignment.py --data DIR", rows)
        mean = np.mean([row["forward_csls"] for row in rows if row["pair"] == pair and row["recipe"] == recipe])
        print(f"{pair} {recipe}: mean CSLS P@1 {100 * mean:.2f}", flush=True)


if __name__ == "__main__":
    main()
