"""Carry a correspondence from one pair of spaces to another: the map that it makes there."""

from __future__ import annotations

from damastes._arrays import Array, head_rows
from damastes.pairs import Pairs
from damastes.procrustes import polar
from damastes.solvers.solution import with_known
from damastes.transport import Coupler, Sinkhorn

__all__ = ["carry"]


def carry(
    here: tuple[Array, Array],
    there: tuple[Array, Array],
    *,
    n_points: int,
    pairs: Pairs,
    coupling: Coupler | None = None,
) -> Array:
    """Couple the first points of two clouds that share a space `here`, and return polar(XᵀPY) of the same points `there`.

    Known pairs count as they do in the solvers. Allocates n_points × n_points.
    """
    A, B, X, Y = (head_rows(Z, n_points) for Z in (*here, *there))
    coupled = (coupling or Sinkhorn(reg=0.04, tol=1e-2, max_iter=50))(A @ B.T)
    return polar(with_known(coupled.cross(X, Y), *there, pairs))
