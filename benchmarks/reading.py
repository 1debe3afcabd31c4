"""Reading 200,000 × 300 vectors as text: beside gensim, in one run, with and without pyarrow.

    pip install gensim
    python benchmarks/reading.py

Every reader runs in a process of its own, after its imports; memory is the rise of the peak resident set from there, and
what is read is what the process asked the system for (Linux only).
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from importlib.metadata import version
from pathlib import Path

import numpy as np

from data import save

READ = """
import json, resource, sys, time
path, limit = sys.argv[1], int(sys.argv[2]) or None
{imports}
def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
def bytes_read():
    return int(open("/proc/self/io").read().split()[1])
before, read, started, cpu = peak(), bytes_read(), time.perf_counter(), time.process_time()
matrix = {call}
seconds, cpu = time.perf_counter() - started, time.process_time() - cpu
found = {{"seconds": seconds, "cpu": cpu, "peak": peak() - before, "read": bytes_read() - read, "sum": float(matrix.sum())}}
print(json.dumps(found))
"""
READERS = {
    "damastes": READ.format(
        imports="import damastes, damastes.io, pyarrow.csv", call="damastes.read_vectors(path, limit=limit).matrix"
    ),
    "damastes, without pyarrow": READ.format(
        imports="sys.modules['pyarrow'] = None; import damastes, damastes.io",
        call="damastes.read_vectors(path, limit=limit).matrix",
    ),
    "gensim": READ.format(
        imports="from gensim.models import KeyedVectors",
        call="KeyedVectors.load_word2vec_format(path, limit=limit).vectors",
    ),
}


def write_text(path: Path, n: int, dimension: int, rng: np.random.Generator) -> None:
    """Write vectors as fastText publishes them: four decimals, one blank between."""
    row_format = "%s " + " ".join(["%.4f"] * dimension) + "\n"
    with path.open("w", encoding="utf-8") as file:
        file.write(f"{n} {dimension}\n")
        for start in range(0, n, 1000):
            rows = (rng.standard_normal((min(1000, n - start), dimension)) / 4).tolist()
            file.writelines(row_format % (f"word{start + k}", *row) for k, row in enumerate(rows))


def measure(reader: str, path: Path, limit: int) -> dict[str, object]:
    command = [sys.executable, "-c", READERS[reader], str(path), str(limit)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    found: dict[str, object] = json.loads(done.stdout)
    return found


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--n", type=int, default=200_000)
    parser.add_argument("--dimension", type=int, default=300)
    parser.add_argument("--repeats", type=int, default=2)
    arguments = parser.parse_args()
    n, dimension, repeats = arguments.n, arguments.dimension, arguments.repeats
    rows: list[dict[str, object]] = []
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "words.vec"
        write_text(path, n, dimension, np.random.default_rng(0))
        for limit in (0, n // 100):
            # In turns, so that what else the machine does falls on all alike; the best of each is the least disturbed.
            turns = [{reader: measure(reader, path, limit) for reader in READERS} for _ in range(repeats)]
            for reader in READERS:
                found = [turn[reader] for turn in turns]
                matrix_bytes = 4 * (limit or n) * dimension
                row = {
                    "reader": reader,
                    "versions": {name: version(name) for name in ("pyarrow", "gensim")},
                    "n": limit or n,
                    "of": n,
                    "dimension": dimension,
                    "file_bytes": path.stat().st_size,
                    "seconds": min(run["seconds"] for run in found),
                    "cpu_seconds": min(run["cpu"] for run in found),
                    "all_seconds": [run["seconds"] for run in found],
                    "peak_over_array": max(run["peak"] for run in found) / matrix_bytes,
                    "peak_bytes": max(run["peak"] for run in found),
                    "bytes_read": found[0]["read"],
                }
                rows.append(row)
            # All have read the same numbers, up to the order of summation.
            sums = [run["sum"] for turn in turns for run in turn.values()]
            assert np.ptp(sums) <= 1e-4 * n**0.5, sums
            slow = rows[-1]
            for row in rows[-len(READERS) :]:
                row["times_faster_than_gensim"] = slow["seconds"] / row["seconds"]
                row["times_less_cpu_than_gensim"] = slow["cpu_seconds"] / row["cpu_seconds"]
                print(
                    f"{row['reader']:26} {row['n']:7} of {n}: {row['seconds']:7.2f} s ({row['cpu_seconds']:.2f} s of CPU), "
                    f"{row['times_faster_than_gensim']:.1f} ({row['times_less_cpu_than_gensim']:.1f}) times gensim, "
                    f"{row['bytes_read'] / 2**20:.1f} MB read, "
                    f"peak {row['peak_bytes'] / 2**20:.0f} MB ({row['peak_over_array']:.2f} arrays)",
                    flush=True,
                )
    save("reading", "python benchmarks/reading.py", rows)


if __name__ == "__main__":
    main()
