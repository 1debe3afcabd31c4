"""Array namespace, dtype and input checks: the one place that knows NumPy from torch."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
from array_api_compat import array_namespace, device, is_array_api_obj, is_numpy_array, is_torch_array

from damastes.errors import InputError

# Any array of the Python array API standard. The standard has no type that checkers can verify yet.
Array: TypeAlias = Any
NumpyArray: TypeAlias = npt.NDArray[Any]

# progress(stage, done, total, info): called often, must be cheap; raise from it to stop the work.
Progress: TypeAlias = Callable[[str, int, int, Mapping[str, float]], None]
RandomState: TypeAlias = int | np.random.Generator | None


def no_progress(stage: str, done: int, total: int, info: Mapping[str, float]) -> None:
    """Ignore progress."""


def namespace(*arrays: Array) -> Any:
    """Return the array namespace that all the arrays share."""
    return array_namespace(*arrays)


def as_generator(random_state: RandomState) -> np.random.Generator:
    """Turn a seed, a generator or None into one generator."""
    if isinstance(random_state, (int, np.integer)) and random_state < 0:
        raise InputError(f"random_state must be 0 or more, got {random_state}")
    if random_state is None or isinstance(random_state, (int, np.integer, np.random.Generator)):
        return np.random.default_rng(random_state)
    raise InputError(f"random_state must be an int, a numpy Generator or None, got {type(random_state).__name__}")


def check_points(
    value: Any, name: str, *, min_points: int = 1, labels: Any = None, nonzero: bool = False, finite: bool = True
) -> Array:
    """Return `value` as a finite floating 2-D array with a point a row, or say what is wrong with it.

    float32 and float64 stay as they are; half precision, integers and booleans become float32. `finite=False` leaves the
    pass over all entries to a caller who makes one anyway.
    """
    points = value if is_array_api_obj(value) and not is_numpy_array(value) else _from_sequence(value, name)
    xp = namespace(points)
    if points.ndim != 2:
        raise InputError(
            f"{name} must be 2-D, one point a row, got shape {tuple(points.shape)}."
            + (f" For points on a line use {name}.reshape(-1, 1)." if points.ndim == 1 else "")
        )
    if points.shape[0] < min_points or points.shape[1] < 1:
        raise InputError(
            f"{name} must hold at least {min_points} point{'s' if min_points > 1 else ''} of dimension 1 or more, "
            f"got shape {tuple(points.shape)}"
        )
    if xp.isdtype(points.dtype, "complex floating"):
        raise InputError(f"{name} must hold real numbers, got dtype {points.dtype}. Pass its real part.")
    if points.dtype not in (xp.float32, xp.float64):
        points = xp.astype(points, xp.float32)
    if is_numpy_array(points):
        points = np.ascontiguousarray(points)
    if finite:
        _check_rows(xp.all(xp.isfinite(points), axis=1), name, labels, "finite numbers", "has nan or infinity")
    if nonzero:
        _check_rows(xp.any(points != 0, axis=1), name, labels, "vectors with a direction", "is all zeros")
    return points


def _from_sequence(value: Any, name: str) -> NumpyArray:
    try:
        points = np.asarray(value)
        if points.dtype.kind not in "fiubc":
            raise TypeError
    except (TypeError, ValueError):
        raise InputError(f"{name} must be a 2-D array of numbers, got {type(value).__name__}") from None
    return points


def _check_rows(good: Array, name: str, labels: Any, rule: str, fault: str) -> None:
    bad = np.flatnonzero(~to_numpy(good))
    if len(bad):
        row = int(bad[0])
        label = f" ({labels[row]!r})" if labels is not None else ""
        more = f" (the first of {len(bad)})" if len(bad) > 1 else ""
        raise InputError(f"{name} must hold {rule}; row {row}{label} {fault}{more}. Drop such rows before aligning.")


def check_same_kind(source: Array, target: Array) -> Any:
    """Return the common namespace of two clouds, or say that they do not belong together."""
    try:
        return namespace(source, target)
    except TypeError:
        raise InputError(
            f"source and target must be arrays of one library, got {type(source).__module__} and "
            f"{type(target).__module__}. Convert one of them."
        ) from None


def check_pair(source: Any, target: Any, names: tuple[str, str] = ("source", "target")) -> tuple[Array, Array]:
    """Return two clouds as `check_points` does, of one library and in the wider of their precisions."""
    X, Y = (check_points(value, name) for value, name in zip((source, target), names, strict=True))
    xp = check_same_kind(X, Y)
    dtype = xp.result_type(X, Y)
    return xp.astype(X, dtype, copy=False), xp.astype(Y, dtype, copy=False)


def check_weights(weights: Any, n: int, name: str, like: Array) -> Array:
    """Return marginal weights that sum to 1; None means uniform."""
    xp = namespace(like)
    if weights is None:
        return xp.full((n,), 1.0 / n, dtype=like.dtype, device=device(like))
    values = np.asarray(to_numpy(weights) if is_array_api_obj(weights) else weights, dtype=np.float64)
    if values.shape != (n,):
        raise InputError(f"{name} must hold one weight a point, shape ({n},), got shape {values.shape}")
    if not (np.isfinite(values).all() and (values > 0).all()):
        raise InputError(
            f"{name} must hold finite weights above 0, got a smallest of {values.min()}. Drop such points."
        )
    return from_numpy(values / values.sum(), like)


def to_numpy(array: Array) -> NumpyArray:
    """Return a NumPy view or copy of an array of any library."""
    if is_numpy_array(array):
        return array  # type: ignore[no-any-return]
    if is_torch_array(array):
        return array.detach().cpu().numpy()  # type: ignore[no-any-return]
    return np.from_dlpack(array) if is_array_api_obj(array) else np.asarray(array)


def from_numpy(array: NumpyArray, like: Array) -> Array:
    """Move a NumPy array to the library and device of `like`; floating values also take its dtype."""
    floating = np.issubdtype(array.dtype, np.floating)
    if is_numpy_array(like):
        return array.astype(like.dtype, copy=False) if floating else array
    xp = namespace(like)
    return xp.asarray(np.ascontiguousarray(array), dtype=like.dtype if floating else None, device=device(like))


def take_rows(array: Array, rows: NumpyArray) -> Array:
    """Return the rows with the given indices."""
    if is_numpy_array(array):
        return array[rows]
    return namespace(array).take(array, from_numpy(np.asarray(rows, dtype=np.int64), array), axis=0)


def head_rows(array: Array, n: int) -> Array:
    """Return the first n rows, all when there are fewer (the array API leaves slices beyond the end undefined)."""
    return array if n >= array.shape[0] else array[:n, :]


def unit_rows(points: Array) -> Array:
    """Scale every row to length 1; a zero row stays zero."""
    xp = namespace(points)
    norms = xp.sqrt(xp.sum(points * points, axis=1, keepdims=True))
    return points / xp.where(norms > 0, norms, xp.ones_like(norms))


def float64(array: Array) -> Array:
    """Return the array in double precision."""
    xp = namespace(array)
    return xp.astype(array, xp.float64, copy=False)


def cast_like(array: Array, like: Array) -> Array:
    """Return the array in the precision of `like`."""
    return namespace(array).astype(array, like.dtype, copy=False)
