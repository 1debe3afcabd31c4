"""How far a solution is from the global optimum at most: the relaxation as a lower bound of the paper's own problem (eq. 2).

With X̃ = X S_X^-¼, so that X̃X̃ᵀ is the square root of the kernel, every coupling P and every orthogonal Q satisfy

    Σ P_ij ||x_i Q − y_j||² ≥ ½ ||K̃_X P − P K̃_Y||² + ½ Σ (σ_k(X) − σ_k(Y))²

and the right-hand side is convex in P: its minimum bounds the non-convex problem from below, tightly for isometric clouds.
"""

from __future__ import annotations

from dataclasses import dataclass

from array_api_compat import device

from damastes._arrays import (
    Array,
    Progress,
    cast_like,
    check_pair,
    check_points,
    check_weights,
    float64,
    from_numpy,
    namespace,
    no_progress,
    to_numpy,
)
from damastes.errors import InputError
from damastes.matching.frank_wolfe import FrankWolfe
from damastes.matching.objectives import FactoredDiscrepancy
from damastes.spectrum import Spectrum
from damastes.transport import Assignment, Coupler, Sinkhorn, wasserstein

__all__ = ["Certificate", "certify", "spectral_offset"]


@dataclass(frozen=True, slots=True)
class Certificate:
    """`value` is the transport cost of a solution (Q, P), `lower_bound` holds for every (Q, P): the optimum is between."""

    value: float
    lower_bound: float

    @property
    def excess(self) -> float:
        """At most this far from the global optimum."""
        return max(self.value - self.lower_bound, 0.0)

    def __str__(self) -> str:
        return (
            f"transport cost {self.value:.4g}; no orthogonal map can reach less than {self.lower_bound:.4g}, "
            f"so this one is at most {self.excess:.4g} from the global optimum"
        )


def certify(
    X: Array,
    Y: Array,
    Q: Array,
    *,
    a: Array | None = None,
    b: Array | None = None,
    coupler: Coupler | None = None,
    solver: FrankWolfe | None = None,
    progress: Progress = no_progress,
) -> Certificate:
    """Bound how far W₂²(XQ, Y) is from its minimum over all orthogonal Q. Allocates n×m: for some thousand points.

    Parameters
    ----------
    X, Y : arrays (n, d_x) and (m, d_y)
    Q : array (d_x, d_y), orthogonal
    a, b : weights of the points, uniform unless given
    coupler : how W₂² of the solution is computed; exact by default
    solver : the Frank–Wolfe loop; more steps and a smaller reg give a tighter bound

    For d_x > d_y the target is padded with zeros, as everywhere in damastes.
    """
    X, Y = check_pair(X, Y, ("X", "Y"))
    xp = namespace(X)
    Q = _check_orthogonal(Q, X, Y)
    a, b = check_weights(a, X.shape[0], "a", X), check_weights(b, Y.shape[0], "b", Y)
    solver = solver or FrankWolfe(max_iter=200, oracle=Sinkhorn(reg=0.002, tol=1e-2, relative=True))
    spectra = Spectrum.of(X, a), Spectrum.of(Y, b)
    rooted = [Z @ cast_like(spectrum.power(-0.25), Z) for Z, spectrum in zip((X, Y), spectra, strict=True)]
    relaxation = solver(FactoredDiscrepancy(*rooted, a=a, b=b), progress=progress)
    lower_bound = 0.5 * max(relaxation.lower_bound, 0.0) + spectral_offset(*spectra)
    mapped = X @ Q
    value = wasserstein(mapped, Y, coupler=coupler or Assignment(), a=a, b=b).value
    if X.shape[1] > Y.shape[1]:  # what Q drops is part of the padded problem's cost
        value += float(
            xp.sum(float64(a)[:, None] * (float64(X) ** 2)) - xp.sum(float64(a)[:, None] * float64(mapped) ** 2)
        )
    return Certificate(value, lower_bound)


def _check_orthogonal(Q: Array, X: Array, Y: Array) -> Array:
    Q = check_points(Q, "Q")
    shape = (X.shape[1], Y.shape[1])
    if tuple(Q.shape) != shape:
        raise InputError(f"Q must be of shape {shape}, a row for each coordinate of X, got {tuple(Q.shape)}")
    Q = from_numpy(to_numpy(Q), X)
    xp = namespace(Q)
    gram = Q.T @ Q if shape[0] >= shape[1] else Q @ Q.T
    deviation = float(xp.max(xp.abs(gram - xp.eye(min(shape), dtype=Q.dtype, device=device(Q)))))
    if deviation > 1e-3:  # the bound says nothing about maps that shrink
        raise InputError(f"Q must be orthogonal, QᵀQ is off by {deviation:.2g}. Project it with procrustes.polar.")
    return Q


def spectral_offset(spectrum_x: Spectrum, spectrum_y: Spectrum) -> float:
    """½ Σ (σ_k(X) − σ_k(Y))², the shorter spectrum padded with zeros."""
    s, t = spectrum_x.singular_values(), spectrum_y.singular_values()
    xp = namespace(s)
    s, t = (s, t) if s.shape[0] <= t.shape[0] else (t, s)
    extra = t.shape[0] - s.shape[0]
    return 0.5 * float(xp.sum((s - t[extra:]) ** 2) + xp.sum(t[:extra] ** 2))
