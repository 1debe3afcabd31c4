"""The second moment of a cloud and its powers: what the relaxation, its certificate and the frames are made of."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from damastes._arrays import Array, NumpyArray, check_weights, float64, namespace

__all__ = ["Spectrum", "principal_coordinates"]

_NO_VARIANCE = 1e-10


@dataclass(frozen=True, slots=True)
class Spectrum:
    """S = Σ w_i x_i x_iᵀ = V diag(values) Vᵀ in float64, values ascending; √values are the singular values of the cloud."""

    values: Array
    vectors: Array

    @classmethod
    def of(cls, X: Array, weights: Array) -> Spectrum:
        """Decompose the second moment of points (n, d) with weights (n,)."""
        X64 = float64(X)
        values, vectors = namespace(X64).linalg.eigh(X64.T @ (float64(weights)[:, None] * X64))
        xp = namespace(values)
        return cls(xp.maximum(values, xp.zeros_like(values)), vectors)

    def power(self, exponent: float, *, floor: float | None = None) -> Array:
        """S^exponent (d, d). Directions without variance stay without; or, with a floor, all get at least floor × the largest."""
        xp = namespace(self.values)
        largest = float(xp.max(self.values))
        if floor is None:
            keep = self.values > _NO_VARIANCE * largest
            powered = xp.where(keep, self.values, xp.ones_like(self.values)) ** exponent
            factors = xp.where(keep, powered, xp.zeros_like(powered))
        else:
            factors = xp.maximum(self.values, xp.full_like(self.values, max(floor * largest, 1e-300))) ** exponent
        return (self.vectors * factors[None, :]) @ self.vectors.T

    def mean_variance(self) -> float:
        """The mean of the values over directions that have variance: the same in whatever larger space the cloud lies."""
        count = self.rank()
        return float(namespace(self.values).sum(self.values)) / count if count else 1.0

    def rank(self) -> int:
        """The number of directions that have variance."""
        xp = namespace(self.values)
        return int(xp.sum(xp.astype(self.values > _NO_VARIANCE * float(xp.max(self.values)), xp.int64)))

    def singular_values(self) -> Array:
        """σ, ascending."""
        return namespace(self.values).sqrt(self.values)


def principal_coordinates(points: NumpyArray, k: int) -> NumpyArray:
    """The coordinates (n, k) along the k leading principal directions, scaled to a mean square length of 1; float32."""
    spectrum = Spectrum.of(points, check_weights(None, len(points), "weights", points))
    Z = points @ spectrum.vectors[:, ::-1][:, :k]
    coordinates: NumpyArray = (Z / max(float(np.sqrt(np.mean(np.sum(Z**2, axis=1)))), 1e-12)).astype(np.float32)
    return coordinates
