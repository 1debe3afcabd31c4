"""A random orthogonal start, the paper's baseline."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from damastes._arrays import Array, Progress, from_numpy, no_progress
from damastes.initializers.start import Start
from damastes.pairs import Pairs
from damastes.procrustes import polar

__all__ = ["Random"]


@dataclass(frozen=True, slots=True)
class Random:
    """Draw Q uniformly (Haar) from the orthogonal matrices; known pairs are not used."""

    def __call__(
        self, X: Array, Y: Array, *, pairs: Pairs, rng: np.random.Generator, progress: Progress = no_progress
    ) -> Start:
        """Return the random map."""
        return Start(polar(from_numpy(rng.standard_normal((X.shape[1], Y.shape[1])), X)))
