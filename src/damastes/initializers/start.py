"""What an initializer takes and returns."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np

from damastes._arrays import Array, Progress
from damastes.pairs import Pairs

__all__ = ["Initializer", "Start"]


@dataclass(frozen=True, slots=True)
class Start:
    """A first map Q (d_x, d_y), and what the initializer can say of it without labels."""

    Q: Array
    evidence: Mapping[str, Any] = field(default_factory=dict)


class Initializer(Protocol):
    """Finds a first map between two framed clouds.

    Rows come in order of importance when there is one, and in random order otherwise, so a head of the rows is always the
    right sample to take.
    """

    def __call__(self, X: Array, Y: Array, *, pairs: Pairs, rng: np.random.Generator, progress: Progress) -> Start:
        """Return a first map."""
