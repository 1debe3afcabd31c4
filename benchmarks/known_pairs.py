"""From no known pairs to many, on the shipped sample: more knowledge must not hurt.

    python benchmarks/known_pairs.py

Pairs are drawn at random from half of the lexicon's English words; the other half is for evaluation.
"""

from __future__ import annotations

import argparse
from statistics import median

import numpy as np

import damastes
from damastes import samples
from damastes.initializers import Anchors
from damastes.solvers import Refinement, Stochastic
from data import save


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--seeds", type=int, default=5)
    arguments = parser.parse_args()
    en, es = samples.load("en"), samples.load("es")
    lexicon = [pair for pair in samples.lexicon() if pair[0] in en and pair[1] in es]
    rows = []
    for count in (0, 10, 100, 1000):
        for seed in range(arguments.seeds):
            rng = np.random.default_rng(seed)
            words = rng.permutation(sorted({word for word, _ in lexicon}))
            known_words, asked = set(words[::2]), set(words[1::2])
            known = [pair for pair in lexicon if pair[0] in known_words]
            known = [known[k] for k in rng.permutation(len(known))[:count]]
            test = [pair for pair in lexicon if pair[0] in asked]
            recipes = {"default": {}}
            if count:
                recipes["supervised"] = {
                    "recipe": "paper",  # in the frame of the paper, from which the default carries maps to its own
                    "initializer": Anchors(),
                    "solver": Stochastic(schedule=()),
                    "refinement": Refinement(n_epochs=0),
                }
            for name, parts in recipes.items():
                alignment = damastes.align(en, es, pairs=known, random_state=seed, **parts)
                result = damastes.evaluate(alignment, test)
                rows.append({"pairs": count, "method": name, "seed": seed, "csls": result.precision[1]})
        for name in ("default", "supervised"):
            found = [row["csls"] for row in rows if row["pairs"] == count and row["method"] == name]
            if found:
                print(count, name, f"median {100 * median(found):.2f}", [f"{100 * v:.2f}" for v in found], flush=True)
    save("known_pairs", "python benchmarks/known_pairs.py", rows)


if __name__ == "__main__":
    main()
