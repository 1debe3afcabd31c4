"""Iterative closest points in principal coordinates, restarted many times (Hoshen and Wolf, 2018, "MBC-ICP")."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from damastes._arrays import Array, NumpyArray, Progress, head_rows, no_progress, take_rows, to_numpy
from damastes.errors import InputError
from damastes.initializers.start import Start
from damastes.pairs import Pairs
from damastes.procrustes import polar
from damastes.retrieval import Cosines, Nearest, mutual_pairs
from damastes.retrieval.topk import row_blocks
from damastes.spectrum import principal_coordinates

__all__ = ["ICP"]

# Adam with the original's settings; its moments are forgotten whenever the correspondences change. The original's steps see
# every point once a round; ours are as many as that takes for 2,000 points, also when there are fewer or more.
_LEARNING_RATE, _HALVED_EVERY, _BATCH, _STEPS = 1e-2, 100, 128, 15
_MOMENTUM, _SQUARES, _EPSILON = 0.5, 0.999, 1e-8


@dataclass(frozen=True, slots=True)
class ICP:
    """Let points choose their nearest in both directions, fit a linear map each way, repeat; keep the best of many restarts.

    In the leading principal coordinates of the first points, whose signs are arbitrary and drawn anew for every restart, two
    linear maps S and T are found that minimise

        ||X S − Y_x||² + ||Y T − X_y||² + cycle (||X S T − X||² + ||Y T S − Y||²)

    where Y_x are the points of Y that T brings nearest to those of X, and X_y likewise. The restart with the lowest mean
    square distance between points and their nearest, which needs no labels, wins and goes on with more points. Those that
    choose each other, first in principal coordinates and then under Q in all dimensions, give Q by Procrustes.

    The maps are linear and fitted by stochastic gradients, as in the original: with closed-form orthogonal updates hardly any
    restart arrives. Unlike there, restarts look at fewer points than the winner, and in all dimensions Q is orthogonal.
    The article takes 500 restarts in 50 coordinates, its code 100 in 25. Known pairs are left to the solvers.

    Parameters
    ----------
    n_points : the winner goes on with the first so many points of each side
    n_restart_points : restarts look at the first so many
    n_components : principal coordinates
    n_restarts : few of which arrive, the fewer the less alike the spaces are; more if no error stands out below the others
    n_iter : rounds of a restart
    n_final : rounds of the winner with all n_points, and of mutual choices in all dimensions
    cycle : weight of the way back
    """

    n_points: int = 5000
    n_restart_points: int = 2000
    n_components: int = 50
    n_restarts: int = 100
    n_iter: int = 80
    n_final: int = 10
    cycle: float = 0.01

    def __call__(
        self, X: Array, Y: Array, *, pairs: Pairs, rng: np.random.Generator, progress: Progress = no_progress
    ) -> Start:
        """Return Q₀; the evidence has the error of every restart, and how many points chose each other in the end.

        Allocates n_restart_points², and n_points × 2048 in the end.
        """
        counts = (self.n_points, self.n_restart_points, self.n_components, self.n_restarts, self.n_iter)
        if min(counts) < 1 or self.n_final < 0 or not self.cycle >= 0:
            raise InputError(
                "ICP needs n_points, n_restart_points, n_components, n_restarts and n_iter of 1 or more, n_final ≥ 0 and "
                f"cycle ≥ 0, got {self}"
            )
        head_x, head_y = head_rows(X, self.n_points), head_rows(Y, self.n_points)
        k = min(self.n_components, *head_x.shape, *head_y.shape)
        # Float32: the nearest are all that matters, and products are twice as fast.
        A, B = (np.sqrt(np.float32(k)) * principal_coordinates(to_numpy(Z), k) for Z in (head_x, head_y))
        small = A[: self.n_restart_points], B[: self.n_restart_points]
        errors: list[float] = []
        best = np.zeros((2, k, k), dtype=np.float32)
        for restart in range(self.n_restarts):
            # The original's randomised principal directions differ by their signs alone, and its maps start from I.
            signs = np.diag(rng.choice((-1.0, 1.0), size=k)).astype(np.float32)
            maps = self._fit(*small, np.stack([signs, signs]), self.n_iter, rng)
            error = _Choices.under(maps, *small).error
            best = maps if error < min(errors, default=np.inf) else best
            errors.append(error)
            progress("icp restarts", restart + 1, self.n_restarts, {"error": error, "best": min(errors)})
        choices = _Choices.under(self._fit(A, B, best, self.n_final, rng), A, B)
        rows = choices.mutual_rows()
        Q = polar(take_rows(head_x, rows).T @ take_rows(head_y, choices.forward[rows]) / len(rows))
        n_mutual = [len(rows)]
        for done in range(self.n_final):
            cosines = Cosines(head_x @ Q, head_y)
            found = mutual_pairs(cosines, Nearest().biases(cosines))
            Q = polar(take_rows(head_x, found.source).T @ take_rows(head_y, found.target) / max(len(found), 1))
            n_mutual.append(len(found))
            progress("icp reciprocal", done + 1, self.n_final, {"n_pairs": len(found)})
        evidence = {"error": min(errors), "median_error": float(np.median(errors)), "errors": errors}
        return Start(Q, {**evidence, "n_points": [len(A), len(B)], "n_components": k, "n_mutual": n_mutual})

    def _fit(self, A: NumpyArray, B: NumpyArray, maps: NumpyArray, n_iter: int, rng: np.random.Generator) -> NumpyArray:
        """Alternate between choices and gradient steps on both maps, (2, k, k), for n_iter rounds."""
        for iteration in range(n_iter):
            choices = _Choices.under(maps, A, B)
            rate = _LEARNING_RATE * 0.5 ** (iteration // _HALVED_EVERY)
            mean, square = np.zeros_like(maps), np.zeros_like(maps)
            for step in range(1, _STEPS + 1):
                i, j = (rng.integers(len(Z), size=_BATCH) for Z in (A, B))
                gradient = self._gradient(maps, A[i], B[choices.forward[i]], B[j], A[choices.backward[j]])
                mean = _MOMENTUM * mean + (1 - _MOMENTUM) * gradient
                square = _SQUARES * square + (1 - _SQUARES) * gradient**2
                scale = np.sqrt(square / (1 - _SQUARES**step)) + _EPSILON
                maps = maps - rate / (1 - _MOMENTUM**step) * mean / scale
        return maps

    def _gradient(self, maps: NumpyArray, X: NumpyArray, Y_x: NumpyArray, Y: NumpyArray, X_y: NumpyArray) -> NumpyArray:
        """The gradient of half the objective on a batch of each side, for both maps."""
        S, T = maps
        there, back = X @ S, Y @ T
        cycle_x, cycle_y = self.cycle * (there @ T - X), self.cycle * (back @ S - Y)
        return np.stack(
            [
                X.T @ (there - Y_x + cycle_x @ T.T) + back.T @ cycle_y,
                Y.T @ (back - X_y + cycle_y @ S.T) + there.T @ cycle_x,
            ]
        ) / len(X)


@dataclass(frozen=True, slots=True)
class _Choices:
    """The point of B that T brings nearest to each point of A (`forward`), of A that S brings nearest to B's (`backward`)."""

    forward: NumpyArray
    backward: NumpyArray
    error: float

    @classmethod
    def under(cls, maps: NumpyArray, A: NumpyArray, B: NumpyArray) -> _Choices:
        """Choose under both maps; the error is the mean square distance to the choice, on the side where it is smaller."""
        forward, error = _nearest(A, B @ maps[1])
        backward, error_back = _nearest(B, A @ maps[0])
        return cls(forward, backward, min(error, error_back))

    def mutual_rows(self) -> NumpyArray:
        """The points of A whose choice chose them; all when there is none, which two unlike maps may bring about."""
        rows = np.flatnonzero(self.backward[self.forward] == np.arange(len(self.forward)))
        return rows if len(rows) else np.arange(len(self.forward))


def _nearest(queries: NumpyArray, points: NumpyArray) -> tuple[NumpyArray, float]:
    """Find the nearest of the points (m, k) for each query (n, k), and the mean square distance to it; in blocks."""
    # −½||q − p||² + ½||q||² = ⟨(q, −½), (p, ||p||²)⟩: one product, no pass to add the norms.
    lifted = np.concatenate([points, np.sum(points**2, axis=1, keepdims=True)], axis=1).T
    asking = np.concatenate([queries, np.full((len(queries), 1), -0.5, dtype=queries.dtype)], axis=1)
    blocks = row_blocks(len(queries), len(points))
    nearest = np.concatenate([np.argmax(asking[block] @ lifted, axis=1) for block in blocks])
    return nearest, float(np.mean(np.sum((queries - points[nearest]) ** 2, axis=1)))
