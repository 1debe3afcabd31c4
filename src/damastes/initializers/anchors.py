"""A start from known pairs alone: supervised orthogonal Procrustes (eq. 1)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from damastes._arrays import Array, Progress, no_progress
from damastes.errors import InputError
from damastes.initializers.start import Start
from damastes.pairs import Pairs
from damastes.procrustes import polar

__all__ = ["Anchors"]


@dataclass(frozen=True, slots=True)
class Anchors:
    """Solve orthogonal Procrustes on the known pairs."""

    def __call__(
        self, X: Array, Y: Array, *, pairs: Pairs, rng: np.random.Generator, progress: Progress = no_progress
    ) -> Start:
        """Return the supervised map."""
        if len(pairs) == 0:
            raise InputError("Anchors() needs known pairs: pass pairs=, or use Convex(), which does without")
        return Start(polar(pairs.cross(X, Y)), {"n_pairs": len(pairs)})
