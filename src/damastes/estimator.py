"""`WassersteinProcrustes`: `align` in the shape of a scikit-learn estimator."""

from __future__ import annotations

from collections.abc import Sequence
from inspect import signature
from typing import Any

from damastes._arrays import Array, NumpyArray, RandomState, as_generator, take_rows
from damastes.alignment import Alignment, align
from damastes.errors import InputError
from damastes.initializers import Initializer
from damastes.recipes import Recipe
from damastes.solvers import Solver
from damastes.transport import Sinkhorn, wasserstein
from damastes.vectors import Vectors, as_vectors

__all__ = ["WassersteinProcrustes"]

_SCORED_POINTS = 2000


class WassersteinProcrustes:
    """Learn an orthogonal map from one embedding space to another without a known correspondence.

    Parameters are those of `damastes.align` but for `via` and `progress`. Works with `sklearn.base.clone`, `get_params` and
    `set_params`; scikit-learn itself is not needed.

    Attributes
    ----------
    alignment_ : the `Alignment`
    Q_ : array (d_source, d_target), orthogonal
    n_features_in_ : d_source

    Examples
    --------
    >>> import damastes
    >>> en, es = damastes.samples.load("en").matrix, damastes.samples.load("es").matrix
    >>> model = damastes.WassersteinProcrustes().fit(en[:2000], es[:2000])
    >>> model.transform(en[:3]).shape
    (3, 100)
    """

    def __init__(
        self,
        *,
        recipe: str | Recipe = "default",
        initializer: Initializer | None = None,
        solver: Solver | None = None,
        refinement: Solver | None = None,
        random_state: RandomState = 0,
    ) -> None:
        self.recipe = recipe
        self.initializer = initializer
        self.solver = solver
        self.refinement = refinement
        self.random_state = random_state

    def fit(
        self, X: Vectors | Array, y: Vectors | Array, *, pairs: Sequence[Sequence[Any]] | NumpyArray | None = None
    ) -> WassersteinProcrustes:
        """Align the source cloud X (n, d_source) with the target cloud y (m, d_target); rows need not correspond."""
        self.alignment_: Alignment = align(X, y, pairs=pairs, **self.get_params())
        self.Q_ = self.alignment_.Q
        self.n_features_in_ = self.alignment_.source.dimension
        return self

    def transform(self, X: Array) -> Array:
        """Map raw source vectors, also unseen ones, to raw target coordinates."""
        return self._fitted().transform(X)

    def inverse_transform(self, X: Array) -> Array:
        """Map raw target vectors to raw source coordinates."""
        return self._fitted().inverse_transform(X)

    def fit_transform(self, X: Array, y: Array, *, pairs: Sequence[Sequence[Any]] | NumpyArray | None = None) -> Array:
        """Fit, then map the source cloud."""
        return self.fit(X, y, pairs=pairs).transform(as_vectors(X, "X").matrix)

    def score(self, X: Array, y: Array) -> float:
        """Minus the entropic W₂² between the mapped source cloud and the target cloud in the shared frame; larger is better.

        Looks at no correspondence. Of large clouds, a sample of 2,000 points each counts.
        """
        fitted = self._fitted()
        rng = as_generator(0)
        clouds = [
            take_rows(cloud, rng.permutation(cloud.shape[0])[:_SCORED_POINTS])
            for cloud in (
                fitted.embed_source(as_vectors(X, "X").matrix),
                fitted.embed_target(as_vectors(y, "y").matrix),
            )
        ]
        return -wasserstein(*clouds, coupler=Sinkhorn(reg=0.05)).value

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters as they were given."""
        return {name: getattr(self, name) for name in signature(type(self)).parameters}

    def set_params(self, **params: Any) -> WassersteinProcrustes:
        """Change parameters by name."""
        unknown = set(params) - set(self.get_params())
        if unknown:
            raise InputError(f"there is no parameter {sorted(unknown)[0]!r}; there are {', '.join(self.get_params())}")
        for name, value in params.items():
            setattr(self, name, value)
        return self

    def __repr__(self) -> str:
        defaults = {name: parameter.default for name, parameter in signature(type(self)).parameters.items()}
        changed = [f"{name}={value!r}" for name, value in self.get_params().items() if value is not defaults[name]]
        return f"{type(self).__name__}({', '.join(changed)})"

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "alignment_")

    def _fitted(self) -> Alignment:
        if not hasattr(self, "alignment_"):
            raise InputError("this WassersteinProcrustes is not fitted yet: call fit(X, y) first")
        return self.alignment_
