"""`Map`: an orthogonal Q with the frames between which it maps, usable on vectors that were not there when it was found."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from damastes._arrays import Array, from_numpy, namespace, to_numpy, unit_rows
from damastes.frame import FittedFrame

__all__ = ["Map"]


@dataclass(frozen=True, slots=True, eq=False)
class Map:
    """source @ Q ≈ target, in the frames of both.

    `metric` (d_y, d_y), symmetric, says how much each direction counts where cosines are compared; None is all the same.
    `made` says how the map was found: recipe, seed, versions, sizes; anything JSON can hold.
    """

    Q: Array
    source_frame: FittedFrame
    target_frame: FittedFrame
    made: Mapping[str, Any] = field(default_factory=dict)
    metric: Array | None = None

    def embed_source(self, vectors: Array) -> Array:
        """Bring raw source vectors (n, d_x) into the shared frame (n, d_y), where cosines are compared."""
        X = self.source_frame.check(vectors)
        here = self.on(X)
        return here._weighed(here.source_frame(X) @ here.Q)

    def embed_target(self, vectors: Array) -> Array:
        """Bring raw target vectors (m, d_y) into the shared frame."""
        Y = self.target_frame.check(vectors)
        here = self.on(Y)
        return here._weighed(here.target_frame(Y))

    def transform(self, vectors: Array) -> Array:
        """Map raw source vectors, also unseen ones, to raw target coordinates, so that they can be searched among those.

        Lengths are kept up to the ratio of the clouds' mean lengths.
        """
        X = self.source_frame.check(vectors)
        here = self.on(X)
        return here.target_frame.undo(here.source_frame(X) @ here.Q, lengths=_lengths(X) * here._ratio())

    def inverse_transform(self, vectors: Array) -> Array:
        """Map raw target vectors to raw source coordinates; the inverse of `transform` when the dimensions are equal."""
        Y = self.target_frame.check(vectors)
        here = self.on(Y)
        return here.source_frame.undo(here.target_frame(Y) @ here.Q.T, lengths=_lengths(Y) / here._ratio())

    def on(self, like: Array) -> Map:
        """The same map in the array library, dtype and device of `like`."""
        if namespace(self.Q) is namespace(like) and self.Q.dtype == like.dtype and self.Q.device == like.device:
            return self
        frames = [
            FittedFrame(_moved(f.centre, like), f.length, _moved(f.stretch, like), _moved(f.unstretch, like))
            for f in (self.source_frame, self.target_frame)
        ]
        return Map(_moved(self.Q, like), frames[0], frames[1], self.made, _moved(self.metric, like))

    def _weighed(self, Z: Array) -> Array:
        return Z if self.metric is None else unit_rows(Z @ self.metric)

    def _ratio(self) -> float:
        return self.target_frame.length / self.source_frame.length


def _lengths(X: Array) -> Array:
    xp = namespace(X)
    return xp.sqrt(xp.sum(X * X, axis=1))


def _moved(array: Array | None, like: Array) -> Array | None:
    return None if array is None else from_numpy(to_numpy(array), like)
