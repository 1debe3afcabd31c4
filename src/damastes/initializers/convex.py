"""The convex relaxation as a start (eq. 4 and Q₀ of the paper), and our improvement of it by a linear term."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from array_api_compat import device

from damastes._arrays import (
    Array,
    Progress,
    cast_like,
    check_weights,
    float64,
    from_numpy,
    head_rows,
    namespace,
    no_progress,
    to_numpy,
)
from damastes.errors import InputError
from damastes.initializers.start import Start
from damastes.matching import FactoredDiscrepancy, FrankWolfe, row_quantiles, signature_cost
from damastes.matching.certificate import spectral_offset
from damastes.pairs import Pairs
from damastes.procrustes import polar
from damastes.spectrum import Spectrum
from damastes.transport import Sinkhorn

__all__ = ["Convex"]


@dataclass(frozen=True, slots=True)
class Convex:
    """Minimise ||K_X P − P K_Y||² + μ⟨C, P⟩ over couplings of the first points, then Q₀ = polar(XᵀP*Y).

    C compares descriptions of points that no rotation changes: the quantiles of their similarities to all others. Without
    it (`mu=0`, the paper's relaxation) exactly centred clouds give no information at all, because the uniform plan is then
    optimal. Known pairs enter as further entries of C and by their own Procrustes sum.

    Parameters
    ----------
    n_points : how many points of each side, the first ones
    power : K = (XXᵀ)^power; ½ makes the relaxation a lower bound of the Wasserstein–Procrustes problem itself
    mu : weight of the descriptions
    solver : the Frank–Wolfe loop
    """

    n_points: int = 2000
    power: float = 0.5
    mu: float = 0.1
    solver: FrankWolfe = field(
        default_factory=lambda: FrankWolfe(max_iter=20, oracle=Sinkhorn(reg=0.005, tol=2e-2, relative=True), tol=1e-5)
    )

    def __call__(
        self, X: Array, Y: Array, *, pairs: Pairs, rng: np.random.Generator, progress: Progress = no_progress
    ) -> Start:
        """Return Q₀; the evidence has the relaxation's value and bounds. Allocates n_points × n_points."""
        if self.n_points < 2 or self.mu < 0 or not 0 < self.power <= 1:
            raise InputError(
                f"Convex needs n_points ≥ 2, mu ≥ 0 and power above 0 and at most 1, got {self.n_points}, {self.mu}, {self.power}"
            )
        X, Y = head_rows(X, self.n_points), head_rows(Y, self.n_points)
        pairs = pairs.head(X.shape[0], Y.shape[0])
        a, b = check_weights(None, X.shape[0], "a", X), check_weights(None, Y.shape[0], "b", Y)
        spectra = Spectrum.of(X, a), Spectrum.of(Y, b)
        A, B = (Z @ cast_like(s.power((self.power - 1) / 2), Z) for Z, s in zip((X, Y), spectra, strict=True))
        # Kernels of one norm; for unit rows and power ½ they have it already.
        norms = [_kernel_norm(spectrum, self.power) for spectrum in spectra]
        ratio = (norms[0] / norms[1]) ** 0.5 if min(norms) > 0 else 1.0
        B = B * ratio
        cost = self._linear_term(X, Y, A, B, pairs)
        objective = FactoredDiscrepancy(A, B, a=a, b=b, cost=cost)
        relaxation = self.solver(objective, progress=progress)
        # The state holds ÃᵀPB̃ of the rooted clouds; undoing the roots on both sides gives XᵀPY without P.
        unroot_x, unroot_y = (s.power((1 - self.power) / 2) for s in spectra)
        M = unroot_x @ relaxation.state[2] @ unroot_y / ratio
        if len(pairs):
            known = float64(pairs.cross(X, Y))
            share = pairs.trust(min(X.shape[0], Y.shape[0]))
            M = (1 - share) * M + share * known
        xp = namespace(X)
        evidence = {
            "value": relaxation.value,
            "gap": relaxation.gap,
            "n_iter": relaxation.n_iter,
            "n_points": [X.shape[0], Y.shape[0]],
            "history": relaxation.history,
        }
        if self.power == 0.5 and cost is None and abs(ratio - 1) < 1e-6:  # of rescaled clouds it would be no bound
            evidence["lower_bound"] = 0.5 * max(relaxation.lower_bound, 0.0) + spectral_offset(*spectra)
        return Start(xp.astype(polar(M), X.dtype), evidence)

    def _linear_term(self, X: Array, Y: Array, A: Array, B: Array, pairs: Pairs) -> Array | None:
        xp = namespace(X)
        if self.mu == 0 and len(pairs) == 0:
            return None
        cost = xp.zeros((X.shape[0], Y.shape[0]), dtype=X.dtype, device=device(X))
        if self.mu > 0:
            described = [xp.concat([row_quantiles(Z @ Z.T) for Z in clouds], axis=1) for clouds in ((X, A), (Y, B))]
            cost = self.mu * signature_cost(*described)
        if len(pairs):
            values = to_numpy(cost).copy()
            np.subtract.at(values, (pairs.source, pairs.target), pairs.weights.astype(values.dtype))
            cost = from_numpy(values, X)
        return cost


def _kernel_norm(spectrum: Spectrum, power: float) -> float:
    """||XXᵀ||_F of the cloud with its spectrum raised to a power."""
    xp = namespace(spectrum.values)
    return float(xp.sqrt(xp.sum(spectrum.values ** (2 * power))))
