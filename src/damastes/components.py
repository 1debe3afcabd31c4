"""Independent components of a cloud: the axes along which its coordinates are as far from Gaussian as they can be."""

from __future__ import annotations

import numpy as np

from damastes._arrays import Array, cast_like, check_points, check_weights, float64, from_numpy, namespace
from damastes.errors import InputError
from damastes.procrustes import polar
from damastes.spectrum import Spectrum

__all__ = ["independent_components", "rank"]


def independent_components(
    points: Array, n_components: int, *, rng: np.random.Generator, max_iter: int = 60, tol: float = 1e-3
) -> Array:
    """Find n_components independent axes and return the coordinates of all points along them, shape (n, n_components).

    FastICA (Hyvärinen, 1999): whiten along the leading principal directions, then find the rotation whose coordinates
    are least Gaussian, by symmetric fixed-point steps with tanh. Coordinates have mean 0 and variance 1; signs are such
    that their skewness is positive, order is arbitrary.

    Parameters
    ----------
    points : array (n, d)
    n_components : at most the rank of the centred cloud
    rng : for the first rotation
    max_iter, tol : stop when no axis turns by more than tol (1 − |cos|), or after max_iter steps

    Returns
    -------
    array (n, n_components). O(max_iter · n · n_components²).
    """
    X = check_points(points, "points", min_points=2)
    if not 1 <= n_components <= min(X.shape):
        raise InputError(f"n_components must be from 1 to {min(X.shape)}, got {n_components}")
    xp = namespace(X)
    n = X.shape[0]
    X, spectrum = _centred(X)
    if n_components > (largest := spectrum.rank()):
        raise InputError(f"n_components must not exceed the rank of the centred cloud, {largest}, got {n_components}")
    values, vectors = spectrum.values[-n_components:], spectrum.vectors[:, -n_components:]
    Z = X @ cast_like(vectors / xp.sqrt(values)[None, :], X)
    # Drawn in the coordinates of the cloud: the signs of eigenvectors differ between libraries, and so would the axes found.
    first = from_numpy(rng.standard_normal((X.shape[1], n_components)), X)
    W = polar(cast_like(vectors, X).T @ first)
    for _ in range(max_iter):
        G = xp.tanh(Z @ W)
        slope = 1 - xp.mean(G * G, axis=0)
        turned = polar(Z.T @ G / n - W * slope[None, :])
        moved = float(xp.max(1 - xp.abs(xp.sum(turned * W, axis=0))))
        W = turned
        if moved < tol:
            break
    S = Z @ W
    skewness = xp.mean(S**3, axis=0)
    return S * xp.where(skewness < 0, -xp.ones_like(skewness), xp.ones_like(skewness))[None, :]


def rank(points: Array) -> int:
    """Count the directions along which a centred cloud (n, d) has any variance: the most components it can have."""
    return _centred(check_points(points, "points"))[1].rank()


def _centred(X: Array) -> tuple[Array, Spectrum]:
    """The centred cloud, and the variances and directions of its principal axes."""
    X = X - cast_like(namespace(X).mean(float64(X), axis=0), X)[None, :]
    return X, Spectrum.of(X, check_weights(None, X.shape[0], "weights", X))
