"""The convex relaxation: our factor form beside a plain transcription of the dense algorithm (float64 NumPy and POT).

    python benchmarks/relaxation.py --data DIR

Both do Frank–Wolfe steps on the same points: square-rooted spectrum, 2/(t+2), an entropic oracle of the same temperature. The
dense form multiplies n×n matrices and does 100 steps, as the authors' code; ours never does, and stops when the oracle offers
next to nothing. Both final values are reported, and the time of one step. Times are of one run, as ratios.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import numpy as np
import ot

from damastes import Frame
from damastes.matching import DenseDiscrepancy, FactoredDiscrepancy, FrankWolfe, open_loop
from damastes.spectrum import Spectrum
from damastes.transport import Assignment, Sinkhorn
from data import load, save


def dense_frank_wolfe(X, Y, n_steps, reg):
    """The relaxation as one would write it from the paper: kernels, their squares, three n×n products a step."""
    n = len(X)
    K_X, K_Y = X @ X.T, Y @ Y.T
    K_Y *= np.linalg.norm(K_X) / np.linalg.norm(K_Y)
    square_X, square_Y = K_X @ K_X, K_Y @ K_Y
    P = np.full((n, n), 1 / n)
    for t in range(1, n_steps + 1):
        half_gradient = square_X @ P + P @ square_Y - 2 * K_X @ P @ K_Y
        plan = ot.sinkhorn(np.ones(n), np.ones(n), half_gradient, reg, stopThr=1e-3)
        P += 2 / (t + 2) * (plan - P)
    return float(np.linalg.norm(K_X @ P - P @ K_Y) ** 2)


def rooted(X):
    """The cloud with the square root of its spectrum, as the authors' code has it: XXᵀ becomes (XXᵀ)^½."""
    U, s, Vt = np.linalg.svd(X.astype(np.float64), full_matrices=False)
    return (U * np.sqrt(s)) @ Vt


def factored_frank_wolfe(clouds, n_steps, stall):
    """Our loop on the same problem, set-up included: the relaxation, the rooted clouds, seconds."""
    begin = time.perf_counter()
    n = len(clouds[0])
    weights = np.full(n, 1 / n, dtype=np.float32)
    factors = [X @ Spectrum.of(X, weights).power(-0.25).astype(np.float32) for X in clouds]
    loop = FrankWolfe(max_iter=n_steps, oracle=Sinkhorn(reg=0.1, tol=1e-3), step=open_loop, tol=0.0, stall=stall)
    relaxation = loop(FactoredDiscrepancy(*factors))
    return relaxation, factors, time.perf_counter() - begin


def near_permutation(n, share, rng):
    """A doubly stochastic matrix that is a permutation but for a share of its mass."""
    scores = rng.standard_normal((n, n)).astype(np.float32)
    scores[np.arange(n), rng.permutation(n)] += 40 * (1 - share)
    return Sinkhorn(reg=1.0, tol=1e-6)(scores)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--data", type=Path)
    parser.add_argument("--pairs", default="en-fr,sample")
    parser.add_argument("--points", type=int, default=2500)
    parser.add_argument("--steps", type=int, default=100)
    arguments = parser.parse_args()
    rows = []
    for name in arguments.pairs.split(","):
        problem = load(name, arguments.data)
        clouds = [Frame().fit(v.matrix)(v.matrix)[: arguments.points] for v in (problem.source, problem.target)]

        begin = time.perf_counter()
        dense_value = dense_frank_wolfe(*(rooted(X) for X in clouds), arguments.steps, reg=0.05) / len(clouds[0])
        dense_seconds = time.perf_counter() - begin

        n = len(clouds[0])
        relaxation, factors, seconds = factored_frank_wolfe(clouds, arguments.steps, stall=1e-4)

        # The same couplings in both forms; the planted one makes f cancel as much as it can.
        factored = FactoredDiscrepancy(*factors)
        dense = DenseDiscrepancy(*(X.astype(np.float64) @ X.astype(np.float64).T for X in factors))
        rng = np.random.default_rng(0)
        couplings = {
            "entropic": Sinkhorn(reg=0.05)(factors[0] @ factors[1].T),
            "near a permutation": near_permutation(n, 0.5, rng),
            "assignment": Assignment()(factors[0] @ factors[1].T),
        }
        errors = {}
        for kind, coupling in couplings.items():
            exact = coupling.rounded(factored.a, factored.b)
            value = factored.quadratic(*(factored.state(exact),) * 2)
            plan = exact.plan().astype(np.float64)
            reference = dense.quadratic((plan,), (plan,))
            errors[kind] = abs(value - reference) / reference
        # The same cloud rotated and shuffled: f is next to 0 at the planted permutation.
        order = rng.permutation(n)
        turned = (clouds[0] @ np.linalg.qr(rng.standard_normal((clouds[0].shape[1],) * 2))[0].astype(np.float32))[order]
        noisy = turned + 0.02 * rng.standard_normal(turned.shape).astype(np.float32)
        scores = np.zeros((n, n), dtype=np.float32)
        scores[order, np.arange(n)] = 1
        planted = Assignment()(scores)
        weights = np.full(n, 1 / n, dtype=np.float32)
        pair = [X @ Spectrum.of(X, weights).power(-0.25).astype(np.float32) for X in (clouds[0], noisy)]
        factored = FactoredDiscrepancy(*pair)
        dense = DenseDiscrepancy(*(X.astype(np.float64) @ X.astype(np.float64).T for X in pair))
        plan = planted.plan().astype(np.float64)
        reference = dense.quadratic((plan,), (plan,))
        errors["planted permutation"] = abs(factored.quadratic(*(factored.state(planted),) * 2) - reference) / reference
        row = {
            "pair": name,
            "points": n,
            "dimension": clouds[0].shape[1],
            "dense_steps": arguments.steps,
            "factor_steps": relaxation.n_iter,
            "dense_seconds": dense_seconds,
            "factor_seconds": seconds,
            "ratio": dense_seconds / seconds,
            "ratio_of_a_step": (dense_seconds / arguments.steps) / (seconds / relaxation.n_iter),
            "dense_value": dense_value,
            "factor_value": relaxation.value,
            "relative_error_of_objective": errors,
        }
        rows.append(row)
        print(row, flush=True)
    save("relaxation", "python benchmarks/relaxation.py --data DIR", rows)


if __name__ == "__main__":
    main()
