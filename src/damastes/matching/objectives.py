"""The quadratic matching objectives: ||K_X P − P K_Y||² (eq. 4 of the paper) from factors or matrices, and graph agreement.

Every objective is f(P) = ⟨P, H P⟩ + ⟨C, P⟩ over couplings P of the weights a and b, with C optional. A *state* is a tuple of
arrays that is linear in P and says all that f and its gradient need, so the Frank–Wolfe loop never asks for P itself.
"""

from __future__ import annotations

from typing import Protocol, TypeAlias

from array_api_compat import device

from damastes._arrays import (
    Array,
    cast_like,
    check_pair,
    check_points,
    check_weights,
    float64,
    from_numpy,
    namespace,
    to_numpy,
)
from damastes.errors import InputError
from damastes.spectrum import Spectrum
from damastes.transport import Coupling

__all__ = ["Agreement", "DenseDiscrepancy", "FactoredDiscrepancy", "Objective", "State"]

State: TypeAlias = tuple[Array, ...]


class Objective(Protocol):
    """A quadratic function of a coupling."""

    a: Array
    b: Array
    convex: bool

    def uniform(self) -> State:
        """The state of the independent coupling a bᵀ."""

    def state(self, coupling: Coupling) -> State:
        """The state of a coupling with exact marginals."""

    def quadratic(self, s: State, t: State) -> float:
        """⟨P_s, H P_t⟩."""

    def linear(self, s: State) -> float:
        """⟨C, P_s⟩."""

    def gradient(self, s: State) -> Array:
        """∇f, an n×m array."""

    def scale(self) -> float:
        """The size of the terms whose difference f is; tolerances are relative to it."""


class FactoredDiscrepancy:
    """||K_X P − P K_Y||² for K_X = XXᵀ and K_Y = YYᵀ, without any n×n algebra.

    With weights (P of mass 1) it is ||D_a^½ (K_X P D_b⁻¹ − D_a⁻¹ P K_Y) D_b^½||², which does not change when a point is
    split into two of half the weight; for n = m and uniform weights it is the paper's objective divided by n². Unequal
    dimensions change nothing. Time and memory of a step: O(nmd) for the gradient, O(nd²) for the rest.

    Parameters
    ----------
    X, Y : arrays (n, d_x) and (m, d_y)
    a, b : weights of the points, uniform unless given
    cost : array (n, m), the linear term C, optional
    """

    convex = True

    def __init__(
        self, X: Array, Y: Array, *, a: Array | None = None, b: Array | None = None, cost: Array | None = None
    ) -> None:
        self.X, self.Y = X, Y = check_pair(X, Y, ("X", "Y"))
        xp = namespace(X)
        self.a, self.b = check_weights(a, X.shape[0], "a", X), check_weights(b, Y.shape[0], "b", Y)
        self.cost = _check_cost(cost, X, Y)
        # S = Σ a_i x_i x_iᵀ; with its square root folded in, f is a difference of three sums of squares.
        self.spectra = Spectrum.of(self.X, self.a), Spectrum.of(self.Y, self.b)
        self.root_x, self.root_y = (spectrum.power(0.5) for spectrum in self.spectra)
        self.X_rooted = self.X @ cast_like(self.root_x, self.X)
        self.inverse_root_a = 1 / xp.sqrt(float64(self.a))[:, None]
        self.inverse_root_b = 1 / xp.sqrt(float64(self.b))[:, None]

    def uniform(self) -> State:
        """The state of a bᵀ."""
        x, y = float64(self.a @ self.X)[None, :], float64(self.b @ self.Y)[None, :]
        cost = self._scalar(0.0 if self.cost is None else float(self.a @ self.cost @ self.b))
        return (x @ self.root_x / self.inverse_root_b, y @ self.root_y / self.inverse_root_a, x.T @ y, cost)

    def state(self, coupling: Coupling) -> State:
        """(D_b^-½ PᵀX S_X^½, D_a^-½ PY S_Y^½, XᵀPY, ⟨C, P⟩), in float64 because f cancels."""
        A, B = coupling.to_target(self.X_rooted), float64(coupling.to_source(self.Y))
        cost = self._scalar(0.0 if self.cost is None else coupling.inner(self.cost))
        M = float64(self.X).T @ B
        return (self.inverse_root_b * float64(A), self.inverse_root_a * (B @ self.root_y), M, cost)

    def _scalar(self, value: float) -> Array:
        xp = namespace(self.X)
        return xp.asarray(value, dtype=xp.float64, device=device(self.X))

    def quadratic(self, s: State, t: State) -> float:
        """⟨P_s, H P_t⟩."""
        xp = namespace(s[0])
        return float(xp.sum(s[0] * t[0]) + xp.sum(s[1] * t[1]) - 2 * xp.sum(s[2] * t[2]))

    def linear(self, s: State) -> float:
        """⟨C, P_s⟩."""
        return float(s[3])

    def gradient(self, s: State) -> Array:
        """2 (X S_X Aᵀ D_b⁻¹ + D_a⁻¹ B S_Y Yᵀ − 2 X M Yᵀ) + C, as one product of thin matrices."""
        A = cast_like(self.inverse_root_b * s[0], self.X)
        B = cast_like(self.inverse_root_a * s[1], self.X)
        xp = namespace(A)
        left = xp.concat([self.X_rooted, B @ cast_like(self.root_y, B) - 2 * (self.X @ cast_like(s[2], B))], axis=1)
        right = xp.concat([A, self.Y], axis=1)
        gradient = (2 * left) @ right.T
        if self.cost is not None:
            gradient += self.cost
        return gradient

    def scale(self) -> float:
        """||S_X||² + ||S_Y||²."""
        return sum(float(namespace(spectrum.values).sum(spectrum.values**2)) for spectrum in self.spectra)


class DenseDiscrepancy:
    """||K_X P − P K_Y||² for two symmetric matrices: graphs, kernels, distances. Weighted like the factored form.

    The state is P itself, and a step costs O(n²m + nm²).

    Parameters
    ----------
    K_X, K_Y : symmetric arrays (n, n) and (m, m)
    a, b : weights of the points, uniform unless given
    cost : array (n, m), the linear term C, optional
    """

    convex = True

    def __init__(
        self, K_X: Array, K_Y: Array, *, a: Array | None = None, b: Array | None = None, cost: Array | None = None
    ) -> None:
        self.K_X, self.K_Y = K_X, K_Y = check_kernels(K_X, K_Y, ("K_X", "K_Y"))
        self.a, self.b = check_weights(a, K_X.shape[0], "a", K_X), check_weights(b, K_Y.shape[0], "b", K_Y)
        self.cost = _check_cost(cost, K_X, K_Y)
        self.square_x = self.K_X @ (self.a[:, None] * self.K_X)
        self.square_y = self.K_Y @ (self.b[:, None] * self.K_Y)

    def uniform(self) -> State:
        """The state of a bᵀ."""
        return (self.a[:, None] * self.b[None, :],)

    def state(self, coupling: Coupling) -> State:
        """P, written out."""
        return (coupling.plan(),)

    def quadratic(self, s: State, t: State) -> float:
        """⟨P_s, H P_t⟩ = ⟨R_s, R_t⟩ for the residual R = D_a^½ (K_X P D_b⁻¹ − D_a⁻¹ P K_Y) D_b^½."""
        xp = namespace(s[0])
        R = self._residual(s[0])
        other = R if s[0] is t[0] else self._residual(t[0])
        return float(xp.sum(float64(R) * float64(other)))

    def _residual(self, P: Array) -> Array:
        xp = namespace(P)
        root_a, root_b = xp.sqrt(self.a)[:, None], xp.sqrt(self.b)[None, :]
        return (self.K_X @ P) * (root_a / root_b) - (P @ self.K_Y) * (root_b / root_a)

    def linear(self, s: State) -> float:
        """⟨C, P_s⟩."""
        return 0.0 if self.cost is None else float(namespace(s[0]).sum(float64(self.cost * s[0])))

    def gradient(self, s: State) -> Array:
        """2 (K_X D_a K_X P D_b⁻¹ + D_a⁻¹ P K_Y D_b K_Y − 2 K_X P K_Y) + C."""
        P = s[0]
        half = (
            (self.square_x @ P) / self.b[None, :]
            + (P @ self.square_y) / self.a[:, None]
            - 2 * (self.K_X @ (P @ self.K_Y))
        )
        return 2 * half if self.cost is None else 2 * half + self.cost

    def scale(self) -> float:
        """Σ a_i a_j K_X(i, j)² + Σ b_i b_j K_Y(i, j)²."""
        return float(self.a @ (self.K_X**2) @ self.a) + float(self.b @ (self.K_Y**2) @ self.b)


class Agreement:
    """−⟨K_X P K_Y, P⟩ + ⟨C, P⟩: graph matching's own objective, neither convex nor concave (Vogelstein et al., 2015).

    On permutations it differs from the discrepancy by a constant. Minimised from a good start it finds permutations
    that the convex form only points to.
    """

    convex = False

    def __init__(
        self, K_X: Array, K_Y: Array, *, a: Array | None = None, b: Array | None = None, cost: Array | None = None
    ) -> None:
        self.K_X, self.K_Y = K_X, K_Y = check_kernels(K_X, K_Y, ("K_X", "K_Y"))
        self.a, self.b = check_weights(a, K_X.shape[0], "a", K_X), check_weights(b, K_Y.shape[0], "b", K_Y)
        self.cost = _check_cost(cost, K_X, K_Y)

    def uniform(self) -> State:
        """The state of a bᵀ."""
        return self.state_of(self.a[:, None] * self.b[None, :])

    def state(self, coupling: Coupling) -> State:
        """(P, K_X P K_Y)."""
        return self.state_of(coupling.plan())

    def state_of(self, P: Array) -> State:
        """The state of a coupling that is written out."""
        return (P, self.K_X @ P @ self.K_Y)

    def quadratic(self, s: State, t: State) -> float:
        """⟨P_s, H P_t⟩."""
        return -float(namespace(s[0]).sum(float64(s[0]) * float64(t[1])))

    def linear(self, s: State) -> float:
        """⟨C, P_s⟩."""
        return 0.0 if self.cost is None else float(namespace(s[0]).sum(float64(self.cost * s[0])))

    def gradient(self, s: State) -> Array:
        """−2 K_X P K_Y + C."""
        return -2 * s[1] if self.cost is None else self.cost - 2 * s[1]

    def scale(self) -> float:
        """The largest value that ⟨K_X P K_Y, P⟩ could take by its norms."""
        xp = namespace(self.K_X)
        size = max(self.K_X.shape[0], self.K_Y.shape[0])
        return float(xp.sqrt(xp.sum(self.K_X**2)) * xp.sqrt(xp.sum(self.K_Y**2)) / size**2)


def _check_cost(cost: Array | None, X: Array, Y: Array) -> Array | None:
    """Return the linear term in the library and precision of the points, as weights are."""
    if cost is None:
        return None
    cost = check_points(cost, "cost")
    n, m = X.shape[0], Y.shape[0]
    if cost.shape != (n, m):
        raise InputError(f"cost must be of shape ({n}, {m}), one row a source point, got {tuple(cost.shape)}")
    return from_numpy(to_numpy(cost), X)


def check_kernels(K_X: Array, K_Y: Array, names: tuple[str, str]) -> tuple[Array, Array]:
    """Return two symmetric matrices of one library and precision, or say what is wrong with them."""
    kernels = check_pair(K_X, K_Y, names)
    xp = namespace(*kernels)
    for K, name in zip(kernels, names, strict=True):
        if K.shape[0] != K.shape[1]:
            raise InputError(f"{name} must be square, got shape {tuple(K.shape)}")
        if float(xp.max(xp.abs(K - K.T))) > 1e-4 * max(float(xp.max(xp.abs(K))), 1e-30):
            raise InputError(f"{name} must be symmetric. For a directed graph pass ({name} + {name}.T) / 2.")
    return kernels
