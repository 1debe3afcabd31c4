"""Other unsupervised aligners on the same pairs: their own code, run as published, judged by the same evaluation.

    python benchmarks/peers.py --peers DIR --data DIR [--pairs en-fr …] [--methods authors vecmap …]

DIR of --peers holds checkouts of github.com/facebookresearch/fastText (the authors' script, alignment/unsup_align.py),
github.com/artetxem/vecmap and github.com/facebookresearch/MUSE. Each runs on one thread; seconds are of its processor time,
reading and writing of text files included. Every finished run is kept, so the command can be interrupted and goes on.
"""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

import damastes
import data
from damastes import Alignment, Vectors
from damastes.frame import Frame
from damastes.mapping import Map

# What a method takes: source and target files, a lexicon that it must not learn from, where to write, the seed, the number
# of dimensions and of points.
Command = Callable[[Path, Path, Path, Path, int, int, int], list[str]]


def authors(source: Path, target: Path, lexicon: Path, out: Path, seed: int, d: int, n: int) -> list[str]:
    """Wasserstein Procrustes as its authors published it, all settings their own; without refinement, as their script is."""
    script = ["unsup_align.py", "--model_src", str(source), "--model_tgt", str(target), "--lexicon", str(lexicon)]
    limit = ["--nmax", str(min(n, 20_000))]
    return [*script, *limit, "--output_src", f"{out}/source", "--output_tgt", f"{out}/target", "--seed", str(seed)]


def vecmap(source: Path, target: Path, lexicon: Path, out: Path, seed: int, d: int, n: int) -> list[str]:
    """Artetxe et al. (2018), unsupervised mode with its own settings, but for the vocabulary: 5,000 words, not 20,000."""
    files = [str(source), str(target), f"{out}/source", f"{out}/target"]
    return ["map_embeddings.py", "--unsupervised", "--seed", str(seed), "--vocabulary_cutoff", "5000", *files]


def muse(source: Path, target: Path, lexicon: Path, out: Path, seed: int, d: int, n: int) -> list[str]:
    """Conneau et al. (2018), with a tenth of its adversarial steps and its discriminator on all points there are."""
    files = ["--src_emb", str(source), "--tgt_emb", str(target)]
    files += ["--exp_path", str(out), "--exp_name", "run", "--exp_id", "muse"]
    size = ["--emb_dim", str(d), "--max_vocab", str(n), "--dis_most_frequent", str(n), "--dico_eval", str(lexicon)]
    length = ["--epoch_size", "100000", "--normalize_embeddings", "renorm,center,renorm"]
    return ["unsupervised.py", "--cuda", "False", "--seed", str(seed), *files, *size, *length]


def ours(source: Path, target: Path, lexicon: Path, out: Path, seed: int, d: int, n: int) -> list[str]:
    """The default, by its command line: the same files, the same clock."""
    return ["align", str(source), str(target), "-o", f"{out}/run", "--seed", str(seed)]


# Where the code is (ours is installed), the command, and the files it writes (ours writes a map).
METHODS: dict[str, tuple[str | None, Command, tuple[str, ...]]] = {
    "damastes": (None, ours, ()),
    "authors": ("fastText/alignment", authors, ("source", "target")),
    "vecmap": ("vecmap", vecmap, ("source", "target")),
    "muse": ("MUSE", muse, ("run/muse/vectors-en.txt", "run/muse/vectors-es.txt")),
}
# MUSE calls a function that Python 3.11 no longer has; nothing else of a peer is changed.
_RUN = (
    "import inspect, runpy, sys; inspect.getargspec = inspect.getfullargspec; sys.argv = sys.argv[1:]; "
    "sys.path.insert(0, '.'); runpy.run_path(sys.argv[0], run_name='__main__')"
)


def run(method: str, peers: Path, problem: data.Problem, seed: int) -> dict[str, object]:
    """Run a peer in a process of its own, and evaluate the vectors that it writes."""
    folder, command, written = METHODS[method]
    with tempfile.TemporaryDirectory() as scratch:
        out = Path(scratch)
        files = [out / "source.vec", out / "target.vec"]
        for vectors, file in zip((problem.source, problem.target), files, strict=True):
            damastes.write_vectors(vectors, file)
        lexicon = out / "lexicon.txt"
        lexicon.write_text("".join(f"{a} {b}\n" for a, b in problem.forward), encoding="utf-8")
        if folder is not None:
            (out / "run").mkdir()
        n_points = min(len(problem.source), len(problem.target))
        arguments = command(*files, lexicon, out, seed, problem.source.dimension, n_points)
        before, begun = _processor_seconds(), time.perf_counter()
        threads = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
        launcher = [str(Path(sys.executable).parent / "damastes")] if folder is None else [sys.executable, "-c", _RUN]
        done = subprocess.run(
            [*launcher, *arguments],
            cwd=None if folder is None else peers / folder,
            env={**os.environ, **threads},
            capture_output=True,
            text=True,
        )
        if done.returncode:
            return {"method": method, "pair": problem.name, "seed": seed, "error": done.stderr.strip().splitlines()[-1]}
        seconds, wall = _processor_seconds() - before, time.perf_counter() - begun
        if folder is None:
            found = Alignment(damastes.load_map(out / "run" / "map.safetensors"), problem.source, problem.target)
        else:
            found = _shared(*(damastes.read_vectors(out / name) for name in written))
    row: dict[str, object] = {
        "method": method,
        "commit": _commit(Path(__file__).parent if folder is None else peers / folder),
        "arguments": [a for a in arguments if scratch not in a],
        "pair": problem.name,
        "seed": seed,
        "processor_seconds": round(seconds, 1),
        "seconds": round(wall, 1),
    }
    for direction, pairs in (("forward", problem.forward), ("backward", problem.backward)):
        result = damastes.evaluate(found, pairs, backward=direction == "backward")
        row[direction] = {"csls": round(100 * result.precision[1], 1), "n_words": result.n_queries}
    return row


def _shared(source: Vectors, target: Vectors) -> Alignment:
    """Vectors that a peer has put into one space, as an alignment by the identity."""
    frames = [Frame(centre=False).fit(v.matrix) for v in (source, target)]
    return Alignment(Map(np.eye(source.dimension, dtype=np.float32), frames[0], frames[1], {}), source, target)


def _processor_seconds() -> float:
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def _commit(checkout: Path) -> str:
    done = subprocess.run(["git", "rev-parse", "HEAD"], cwd=checkout, capture_output=True, text=True)
    return done.stdout.strip()[:12]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--peers", type=Path, required=True)
    parser.add_argument("--data", type=Path)
    parser.add_argument("--pairs", nargs="+", default=["sample", *data.WORDS])
    parser.add_argument("--methods", nargs="+", choices=METHODS, default=list(METHODS))
    parser.add_argument("--seeds", type=int, default=1)
    chosen = parser.parse_args()
    rows = data.saved("peers")
    for name in chosen.pairs:
        problem = data.load(name, chosen.data)
        for method in chosen.methods:
            for seed in range(chosen.seeds):
                if any((r["method"], r["pair"], r["seed"]) == (method, name, seed) for r in rows):
                    continue
                row = run(method, chosen.peers, problem, seed)
                print(row, flush=True)
                if "error" in row:
                    continue
                rows = [*data.saved("peers"), row]
                data.save("peers", "python benchmarks/peers.py --peers DIR --data DIR", rows)


if __name__ == "__main__":
    main()
