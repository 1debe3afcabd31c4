"""The entropic P-step: Sinkhorn's algorithm on scores (Cuturi, 2013), stable for any ratio of range to reg."""

from __future__ import annotations

from dataclasses import dataclass
from math import isfinite, log

from damastes._arrays import Array, check_points, check_weights, namespace
from damastes.errors import InputError
from damastes.transport.coupling import EntropicCoupling

__all__ = ["Sinkhorn"]

# exp(±40) squared still fits into float32: within this range of scores/reg nothing under- or overflows.
_SAFE_EXPONENT = 40.0


@dataclass(frozen=True, slots=True)
class Sinkhorn:
    """Solve max_P ⟨P, scores⟩ + reg·H(P): scale exp(scores / reg) to the given marginals.

    While (max − min of the scores)/reg is small, this is two matrix–vector products an iteration on one kernel. Beyond
    that the scores are first shifted by potentials that give every row *and* every column an entry of exp(0), reg is
    lowered to its value in steps (unless there is a warm start), and scalings that grow large are absorbed into the
    potentials: nothing under- or overflows, whatever hubs there are.

    Parameters
    ----------
    reg : the temperature, in the units of the scores
    tol : stop when the row sums deviate by less than this, summed, of a total mass of 1 (the column sums are exact)
    max_iter : stop here in any case; the result then says `converged=False`
    relative : reg is a share of (max − min of the scores) instead

    Examples
    --------
    >>> import numpy as np
    >>> Sinkhorn(reg=0.01)(np.array([[0.1, 0.9], [0.8, 0.7]])).plan().round(3)
    array([[0. , 0.5],
           [0.5, 0. ]])
    """

    reg: float = 0.05
    tol: float = 1e-3
    max_iter: int = 1000
    relative: bool = False

    def __call__(
        self, scores: Array, *, a: Array | None = None, b: Array | None = None, warm: Array | None = None
    ) -> EntropicCoupling:
        """Couple the rows and columns of `scores` (n, m). Allocates one more n×m array, the kernel.

        `warm` is the `target_potential` of an earlier coupling of similar scores.
        """
        if not self.reg > 0:
            raise InputError(f"reg must be above 0, got {self.reg}. For an exact coupling use Assignment().")
        if self.max_iter < 1:
            raise InputError(f"max_iter must be at least 1, got {self.max_iter}")
        # nan and infinity show in the range, which is needed anyway; only then is it worth asking for their row.
        scores = check_points(scores, "scores", finite=False)
        xp = namespace(scores)
        top, bottom = float(xp.max(scores)), float(xp.min(scores))
        if not isfinite(top - bottom):
            check_points(scores, "scores")
        n, m = scores.shape
        a, b = check_weights(a, n, "a", scores), check_weights(b, m, "b", scores)
        if warm is not None and tuple(warm.shape) != (m,):
            raise InputError(f"warm must hold one potential a column, shape ({m},), got shape {tuple(warm.shape)}")
        reg = self.reg * max(top - bottom, 1e-30) if self.relative else self.reg
        if warm is None and (top - bottom) / reg <= _SAFE_EXPONENT:
            kernel = _exp(scores - top, reg)
            u, v, error, n_iter, _ = _scale(kernel, a, b, self.tol, self.max_iter, None)
            potential = -reg * xp.log(v)
            return EntropicCoupling(kernel, u, v, potential, error, n_iter, error <= self.tol)
        return self._stabilised(scores, a, b, warm, reg, (top - bottom) / _SAFE_EXPONENT)

    def _stabilised(
        self, scores: Array, a: Array, b: Array, warm: Array | None, reg: float, safe_reg: float
    ) -> EntropicCoupling:
        xp = namespace(scores)
        g = xp.zeros_like(b) if warm is None else warm
        # Shifted so that f_i + g_j ≥ scores_ij, with equality somewhere in every row and then in every column. In place:
        # on large problems new n×m arrays cost more than the arithmetic.
        exponents = scores - g[None, :]
        f = xp.max(exponents, axis=1)
        exponents -= f[:, None]
        slack = xp.max(exponents, axis=0)
        exponents -= slack[None, :]
        g = g + slack
        n_iter = 0
        for stage in [reg] if warm is not None else _descend(safe_reg, reg):
            last = stage == reg
            tol = self.tol if last else max(self.tol, 0.05)
            unfinished = True
            # Whatever the earlier stages need, one iteration is left for the last.
            while unfinished and (budget := self.max_iter - n_iter - (not last)) > 0:
                kernel = _exp(exponents, stage)
                u, v, error, used, unfinished = _scale(
                    kernel, a, b, tol, budget if last else min(30, budget), _SAFE_EXPONENT
                )
                n_iter += used
                f, g = f - stage * xp.log(u), g - stage * xp.log(v)
                if unfinished or not last:
                    exponents = scores - f[:, None]
                    exponents -= g[None, :]
        return EntropicCoupling(kernel, u, v, g, error, n_iter, error <= self.tol)


def _descend(start: float, end: float) -> list[float]:
    """Temperatures from start to end, halved at each step: potentials of one stage suit the next."""
    stages = []
    while start > end:
        stages.append(start)
        start /= 2
    return [*stages, end]


def _exp(exponents: Array, reg: float) -> Array:
    """exp(exponents / reg); uses up its argument."""
    exponents /= reg
    return namespace(exponents).exp(exponents)


def _scale(
    kernel: Array, a: Array, b: Array, tol: float, max_iter: int, limit: float | None
) -> tuple[Array, Array, float, int, bool]:
    """Scale rows and columns in turn until the row sums are a; stop early when a scaling leaves exp(±limit)."""
    xp = namespace(kernel)
    tiny = float(xp.finfo(kernel.dtype).smallest_normal)
    v = xp.ones_like(b)
    u = xp.zeros_like(a)
    transposed = kernel.T
    for n_iter in range(1, max_iter + 1):
        row_sums = kernel @ v + tiny
        # Measured before the rows are rescaled, so it is the deviation of the last finished (u, v).
        error = float(xp.sum(xp.abs(u * row_sums - a)))
        if error <= tol and n_iter > 1:
            return u, v, error, n_iter - 1, False
        u = a / row_sums
        v = b / (transposed @ u + tiny)
        if limit is not None:
            largest = max(float(xp.max(u)), float(xp.max(v)), 1 / float(xp.min(u)), 1 / float(xp.min(v)))
            if log(largest) > limit:
                return u, v, float(xp.sum(xp.abs(u * (kernel @ v) - a))), n_iter, True
    return u, v, float(xp.sum(xp.abs(u * (kernel @ v) - a))), max_iter, False
