"""How a space is prepared before it is compared: unit, centre, unit, and optionally a flatter spectrum.

A fitted frame is remembered, so that unseen vectors get the same treatment and framed ones can come back.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import inf

import numpy as np

from damastes._arrays import (
    Array,
    NumpyArray,
    cast_like,
    check_points,
    check_weights,
    float64,
    namespace,
    to_numpy,
    unit_rows,
)
from damastes.errors import InputError
from damastes.spectrum import Spectrum

__all__ = ["FittedFrame", "Frame"]

# Directions with less than this share of the largest variance are treated as if they had it: powers below 1 stay tame.
_FLOOR = 1e-4
_LONGEST = 1e15


@dataclass(frozen=True, slots=True)
class Frame:
    """The recipe of a frame: scale to unit length, subtract the mean, scale again; then raise the spectrum to a power.

    Parameters
    ----------
    centre : subtract the mean of the unit vectors
    power : replace the singular values σ of the framed cloud by σ^power (and scale to unit length once more); 1 keeps them
    ridge : instead, divide each principal direction by √(variance + ridge · mean variance): directions with little variance
        are whitened no further than the ridge lets them be. None does not; a large value changes little

    Examples
    --------
    >>> import numpy as np
    >>> cloud = np.random.default_rng(0).standard_normal((100, 3)) + 2
    >>> frame = Frame().fit(cloud)
    >>> np.allclose(frame.undo(frame(cloud), lengths=np.linalg.norm(cloud, axis=1)), cloud)
    True
    """

    centre: bool = True
    power: float = 1.0
    ridge: float | None = None

    def fit(self, points: Array) -> FittedFrame:
        """Learn the mean and the spectrum of a cloud (n, d)."""
        if not 0 < self.power <= 1:
            raise InputError(f"power must be above 0 and at most 1, got {self.power}")
        if self.ridge is not None and not (0 < self.ridge < inf and self.power == 1):
            raise InputError(
                f"ridge must be a number above 0, and power 1 with it, got ridge {self.ridge} and power {self.power}"
            )
        points = check_points(points, "points")
        xp = namespace(points)
        # Means and d×d sums over many points are taken in float64.
        norms = xp.sqrt(xp.sum(float64(points) ** 2, axis=1))
        if points.dtype == xp.float32:
            _check_lengths(to_numpy(norms))
        units = unit_rows(points)
        mean = xp.mean(float64(units), axis=0)
        centre = cast_like(mean if self.centre else xp.zeros_like(mean), points)
        plain = FittedFrame(centre, float(xp.mean(norms)), None, None)
        if self.power == 1 and self.ridge is None:
            return plain
        spectrum = Spectrum.of(plain(points), check_weights(None, points.shape[0], "weights", points))
        if self.ridge is None:
            stretch, unstretch = (
                spectrum.power(exponent, floor=_FLOOR) for exponent in ((self.power - 1) / 2, (1 - self.power) / 2)
            )
        else:
            lifted = Spectrum(spectrum.values / spectrum.mean_variance() + self.ridge, spectrum.vectors)
            stretch, unstretch = lifted.power(-0.5), lifted.power(0.5)
        stretch, unstretch = cast_like(stretch, points), cast_like(unstretch, points)
        return FittedFrame(centre, plain.length, stretch, unstretch)


def _check_lengths(norms: NumpyArray) -> None:
    """Squares of longer and of shorter vectors than these leave float32."""
    bad = np.flatnonzero((norms > _LONGEST) | ((norms < 1 / _LONGEST) & (norms > 0)))
    if len(bad):
        raise InputError(
            f"vectors of float32 must have lengths from {1 / _LONGEST:g} to {_LONGEST:g}; that of row {bad[0]} is "
            f"{norms[bad[0]]:.3g}. Scale all vectors by one number, or pass float64."
        )


@dataclass(frozen=True, slots=True, eq=False)
class FittedFrame:
    """A frame learned from a cloud: call it on raw vectors (n, d), `undo` it on framed ones.

    `centre` (d,) is the mean of the unit vectors, `length` the mean length of the raw ones; `stretch` and `unstretch` (d, d)
    change the spectrum and change it back, None when it stays as it is.
    """

    centre: Array
    length: float
    stretch: Array | None
    unstretch: Array | None

    @property
    def dimension(self) -> int:
        """The number of coordinates."""
        return int(self.centre.shape[0])

    def check(self, vectors: Array) -> Array:
        """Return vectors that this frame could be applied to, or say what is wrong with them."""
        vectors = check_points(vectors, "vectors")
        if vectors.shape[1] != self.dimension:
            raise InputError(f"vectors must have {self.dimension} coordinates, got {vectors.shape[1]}")
        return vectors

    def __call__(self, points: Array) -> Array:
        """Return the framed vectors, of unit length."""
        points = self.check(points)
        framed = unit_rows(unit_rows(points) - self.centre[None, :])
        return framed if self.stretch is None else unit_rows(framed @ self.stretch)

    def undo(self, framed: Array, *, lengths: Array | None = None) -> Array:
        """Return the raw vectors of which these are the framed ones; the frame forgets lengths, so give them or get 1.

        For a unit vector u of the frame, the raw direction is the unit vector w = c + s u with s ≥ 0.
        """
        framed = self.check(framed)
        xp = namespace(framed)
        u = unit_rows(framed if self.unstretch is None else framed @ self.unstretch)
        along = (u @ self.centre)[:, None]
        room = along * along + 1 - float(self.centre @ self.centre)
        raw = self.centre[None, :] + (xp.sqrt(xp.maximum(room, xp.zeros_like(room))) - along) * u
        if lengths is None:
            return raw
        if tuple(lengths.shape) != (raw.shape[0],):
            raise InputError(
                f"lengths must hold one length a vector, shape ({raw.shape[0]},), got shape {tuple(lengths.shape)}"
            )
        return lengths[:, None] * raw
