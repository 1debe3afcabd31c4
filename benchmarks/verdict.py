"""The verdict over maps of which it is known whether they are right: the confusion matrix, calibration and held-out pairs apart.

    python benchmarks/verdict.py --data DIR
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path

import numpy as np

from damastes.verdict import judge
import verdict_cases as cases


def run(case: cases.Case) -> dict[str, object]:
    begin = time.process_time()
    verdict = judge(case.clouds.X, case.clouds.Y, case.Q, rng=np.random.default_rng([case.seed, 1]))
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
