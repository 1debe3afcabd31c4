"""The squared Wasserstein distance W₂² between two clouds (section 2 of the paper), exact and entropic."""

from __future__ import annotations

from dataclasses import dataclass

from damastes._arrays import Array, check_pair, check_weights, float64, namespace
from damastes.errors import InputError
from damastes.transport.assignment import Assignment
from damastes.transport.coupling import Coupler, Coupling

__all__ = ["WassersteinDistance", "transport_cost", "wasserstein"]


@dataclass(frozen=True, slots=True)
class WassersteinDistance:
    """W₂² = `value`, and the coupling that attains it."""

    value: float
    coupling: Coupling


def wasserstein(
    source: Array,
    target: Array,
    *,
    coupler: Coupler | None = None,
    a: Array | None = None,
    b: Array | None = None,
) -> WassersteinDistance:
    """Compute W₂²(X, Y) = min_P Σ P_ij ||x_i − y_j||² over couplings P of mass 1.

    Parameters
    ----------
    source, target : arrays (n, d) and (m, d)
    coupler : `Assignment()`, exact (the default), or `Sinkhorn(reg)`, whose cost is that of its entropic plan
    a, b : weights of the points, uniform unless given

    Returns
    -------
    WassersteinDistance. Allocates n×m.

    Examples
    --------
    >>> import numpy as np
    >>> wasserstein(np.array([[0.0], [1.0]]), np.array([[1.5], [0.0]])).value
    0.125
    """
    X, Y = _check_one_space(source, target)
    a, b = check_weights(a, X.shape[0], "a", X), check_weights(b, Y.shape[0], "b", Y)
    # Given its marginals, a plan that maximises ⟨P, XYᵀ⟩ minimises the squared distances.
    coupling = (coupler or Assignment())(X @ Y.T, a=a, b=b)
    return WassersteinDistance(transport_cost(X, Y, coupling), coupling)


def transport_cost(X: Array, Y: Array, coupling: Coupling) -> float:
    """Σ P_ij ||x_i − y_j||², summed in float64 because it cancels when the clouds are close."""
    X, Y = _check_one_space(X, Y)
    xp = namespace(X)
    ones_x, ones_y = xp.ones_like(X[:, :1]), xp.ones_like(Y[:, :1])
    row_mass, column_mass = float64(coupling.to_source(ones_y)), float64(coupling.to_target(ones_x))
    X, PY = float64(X), float64(coupling.to_source(Y))
    squares = xp.sum(row_mass * X * X) + xp.sum(column_mass * float64(Y) ** 2)
    return max(float(squares - 2 * xp.sum(X * PY)), 0.0)


def _check_one_space(source: Array, target: Array) -> tuple[Array, Array]:
    X, Y = check_pair(source, target)
    if X.shape[1] != Y.shape[1]:
        raise InputError(f"source and target must have one dimension, got {X.shape[1]} and {Y.shape[1]}. Align first.")
    return X, Y
