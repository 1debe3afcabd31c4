"""The array libraries and precisions in which every numeric room has to give the same answers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest


@pytest.fixture(params=["numpy", "array_api_strict", "torch"])
def xp(request: pytest.FixtureRequest) -> Any:
    return pytest.importorskip(request.param)


@pytest.fixture(params=["float32", "float64"])
def dtype(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def asarray(xp: Any) -> Callable[..., Any]:
    """Copy NumPy values into the library under test, in their own precision unless told."""

    def convert(values: Any, dtype: str | None = None) -> Any:
        values = np.array(values)
        return xp.asarray(values, dtype=getattr(xp, dtype or str(values.dtype)))

    return convert


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(0)
