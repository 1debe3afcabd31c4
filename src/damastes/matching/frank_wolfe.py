"""Frank–Wolfe over couplings: one loop for every objective, with a bound that holds for inexact oracles too."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from math import inf
from typing import TypeAlias

from damastes._arrays import Array, Progress, float64, namespace, no_progress
from damastes.errors import InputError
from damastes.matching.objectives import Objective, State
from damastes.transport import Coupler, Sinkhorn

__all__ = ["FrankWolfe", "Relaxation", "StepRule", "line_search", "open_loop"]

# (t, slope, curvature) → α, for f(P + αD) = f(P) + α·slope + α²·curvature; t counts from 1.
StepRule: TypeAlias = Callable[[int, float, float], float]


def open_loop(t: int, slope: float, curvature: float) -> float:
    """2/(t + 2), whatever the objective: the classical step, and the one of the authors' code."""
    return 2 / (t + 2)


def line_search(t: int, slope: float, curvature: float) -> float:
    """Minimise the parabola f(P + αD) over 0 ≤ α ≤ 1."""
    if curvature <= 0:
        return 1.0 if slope + curvature < 0 else 0.0
    return min(max(-slope / (2 * curvature), 0.0), 1.0)


@dataclass(frozen=True, slots=True)
class Relaxation:
    """Where Frank–Wolfe stopped.

    `gap` bounds value − minimum from above (∞ for an objective that is not convex), `lower_bound` bounds the minimum from
    below; `history` has one record a step; `converged` says whether the gap came below the tolerance.
    """

    state: State
    value: float
    gap: float
    lower_bound: float
    n_iter: int
    converged: bool
    history: list[dict[str, float]] = field(repr=False)


@dataclass(frozen=True, slots=True)
class FrankWolfe:
    """Minimise a quadratic objective over couplings by solving one linear transport problem a step.

    Parameters
    ----------
    max_iter : number of steps
    oracle : the transport solver; entropic plans are rounded to exact marginals and potentials warm-start the next step
    step : `line_search` or `open_loop`
    tol : stop when the gap is at most tol × the objective's scale
    stall : stop when the oracle's plan offers to gain at most stall × the value. An entropic oracle offers nothing long
        before the gap is closed; 0 goes on all the same
    """

    max_iter: int = 100
    oracle: Coupler = Sinkhorn(reg=0.02, tol=1e-2, relative=True)
    step: StepRule = line_search
    tol: float = 1e-6
    stall: float = 0.0

    def __call__(
        self, objective: Objective, *, start: State | None = None, progress: Progress = no_progress
    ) -> Relaxation:
        """Run from the independent coupling a bᵀ, or from the state of another one."""
        if self.max_iter < 1:
            raise InputError(f"max_iter must be at least 1, got {self.max_iter}")
        if not self.stall >= 0:
            raise InputError(f"stall must be at least 0, got {self.stall}")
        a, b = objective.a, objective.b
        state = objective.uniform() if start is None else start
        quadratic, linear = objective.quadratic(state, state), objective.linear(state)
        tolerance = self.tol * objective.scale()
        lower_bound, gap, warm = -inf, inf, None
        history: list[dict[str, float]] = []
        for t in range(1, self.max_iter + 1):
            scores = objective.gradient(state)
            scores *= -1
            coupling = self.oracle(scores, a=a, b=b, warm=warm)
            warm = coupling.target_potential
            vertex = objective.state(coupling.rounded(a, b))
            at_state, at_vertex = (
                2 * quadratic + linear,
                2 * objective.quadratic(state, vertex) + objective.linear(vertex),
            )
            slope = at_vertex - at_state
            if objective.convex:
                gap = max(-slope if warm is None else at_state + dual_value(scores, warm, a, b), 0.0)
                lower_bound = max(lower_bound, quadratic + linear - gap)
            direction = tuple(v - s for v, s in zip(vertex, state, strict=True))
            alpha = self.step(t, slope, objective.quadratic(direction, direction))
            history.append(
                {"value": quadratic + linear, "gap": gap, "slope": slope, "step": alpha, "oracle_iter": coupling.n_iter}
            )
            progress("relaxation", t, self.max_iter, history[-1])
            stalled = self.stall > 0 and -slope <= self.stall * abs(quadratic + linear)
            if stalled or gap <= tolerance or (alpha == 0 and self.step is line_search):
                break
            state = tuple(s + alpha * d for s, d in zip(state, direction, strict=True))
            quadratic, linear = objective.quadratic(state, state), objective.linear(state)
        value = quadratic + linear
        if objective.convex:
            gap = value - lower_bound
        return Relaxation(state, value, gap, lower_bound, len(history), gap <= tolerance, history)


def dual_value(scores: Array, target_potential: Array, a: Array, b: Array) -> float:
    """An upper bound of max_P ⟨P, scores⟩ from any potential g: Σ a f + Σ b g with f_i + g_j ≥ scores_ij, made tight."""
    xp = namespace(scores)
    rest = scores - target_potential[None, :]
    f = xp.max(rest, axis=1)
    rest -= f[:, None]
    g = target_potential + xp.max(rest, axis=0)
    return float(float64(a) @ float64(f) + float64(b) @ float64(g))
