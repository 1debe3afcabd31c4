"""Algorithm 1 of the paper: stochastic Wasserstein Procrustes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from damastes._arrays import Array, Progress, head_rows, namespace, no_progress
from damastes.errors import InputError
from damastes.pairs import Pairs
from damastes.procrustes import polar
from damastes.solvers.solution import Solution, batch, with_known
from damastes.transport import Coupler, Sinkhorn

__all__ = ["Phase", "Stochastic", "authors_schedule", "paper_schedule"]

# Whatever the share, batches of so many points are allowed.
_ALWAYS = 500


@dataclass(frozen=True, slots=True)
class Phase:
    """A stretch of Algorithm 1: so many steps with batches of this size and this learning rate.

    A step is Q ← Π(Q + lr · XᵀPY) with P of mass 1: the authors' lr/b · XᵀPY for rows of P that sum to 1, and the paper's
    Q − αG with α = lr/2b.
    """

    n_iter: int
    batch_size: int = 500
    lr: float = 500.0


def paper_schedule(n_iter: int = 600, batch_size: int = 500, lr: float = 500.0) -> tuple[Phase, ...]:
    """The paper's schedule: the batch size doubles after one and after two thirds of the steps."""
    third = n_iter // 3
    lengths = (third, third, n_iter - 2 * third)
    return tuple(Phase(length, batch_size * 2**k, lr) for k, length in enumerate(lengths))


def authors_schedule(
    n_iter: int = 5000, batch_size: int = 500, lr: float = 500.0, n_epochs: int = 5
) -> tuple[Phase, ...]:
    """The schedule of the authors' code: each epoch doubles the batch size and quarters the number of steps."""
    return tuple(Phase(max(n_iter // 4**k, 1), batch_size * 2**k, lr) for k in range(n_epochs))


@dataclass(frozen=True, slots=True)
class Stochastic:
    """Sample a batch of each cloud, couple them under the current Q, take a gradient step in Q, project; repeat.

    Parameters
    ----------
    schedule : phases, run in order; batches larger than a cloud are cut to its size
    coupling : `Sinkhorn(…)`, or `Assignment()` for line 3 of the algorithm to the letter
    pool : sample among the first so many points of each cloud
    share : a batch has at most this share of them, or 500. Where batches are whole clouds, all steps are alike, and none leads
        away from a bad minimum; of few points, most have to meet their partners

    The history has one record a step: the batch's size and transport cost Σ P_ij ||x_i Q − y_j||² before the step.
    """

    schedule: tuple[Phase, ...] = (Phase(300),)
    coupling: Coupler = Sinkhorn(reg=0.05, tol=1e-2, max_iter=100)
    pool: int = 20_000
    share: float = 1.0

    def __call__(
        self,
        X: Array,
        Y: Array,
        Q: Array,
        *,
        pairs: Pairs,
        rng: np.random.Generator,
        progress: Progress = no_progress,
    ) -> Solution:
        """Improve Q."""
        xp = namespace(X)
        if self.pool < 1:
            raise InputError(f"pool must be at least 1 point, got {self.pool}")
        if not 0 < self.share <= 1:
            raise InputError(f"share must be above 0 and at most 1, got {self.share}")
        pools = [head_rows(Z, self.pool) for Z in (X, Y)]
        smaller = min(Z.shape[0] for Z in pools)
        largest = min(max(int(self.share * smaller), _ALWAYS), smaller)
        total = sum(phase.n_iter for phase in self.schedule)
        history: list[dict[str, float]] = []
        for phase in self.schedule:
            if phase.batch_size < 1 or phase.n_iter < 0 or not phase.lr > 0:
                raise InputError(f"a phase needs n_iter ≥ 0, batch_size ≥ 1 and lr > 0, got {phase}")
            size = min(phase.batch_size, largest)
            for _ in range(phase.n_iter):
                # Line 2.
                Xt, Yt = (batch(Z, size, rng) for Z in pools)
                # Line 3.
                coupled = self.coupling((Xt @ Q) @ Yt.T)
                # Line 4: −G/2b.
                M = coupled.cross(Xt, Yt)
                # ||XQ||² is ||X||² when d_x ≤ d_y; otherwise Q drops coordinates, which the padded problem still counts.
                energy = sum(float(xp.sum(Z * Z)) / size for Z in (Xt, Yt))
                cost = energy - 2 * float(xp.sum(Q * M))
                # Line 5.
                Q = polar(Q + phase.lr * with_known(M, X, Y, pairs))
                history.append({"batch_size": size, "cost": cost, "coupling_iter": coupled.n_iter})
                progress("stochastic", len(history), total, history[-1])
        return Solution(Q, history)
