"""Starts that a user gives, checked."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def given_weights(weights: Any, k: int) -> Floats | None:
    """Weights that sum to 1, or None."""
    if weights is None:
        return None
    found = shaped_as(weights, "weights_init", (k,))
    if (found < 0).any() or (found > 1).any():
        raise ValueError("weights_init must be between 0 and 1")
    if not np.isclose(found.sum(), 1.0):
        raise ValueError(f"weights_init sums to {found.sum():g}: weights sum to 1")
    return found


def shaped_as(value: Any, name: str, shape: tuple[int, ...]) -> Floats:
    """An array of finite numbers of this shape."""
    found = np.array(value, np.float64)
    if found.shape != shape:
        raise ValueError(f"{name} should have the shape {shape}, but got {found.shape}")
    if not np.isfinite(found).all():
        raise ValueError(f"{name} has values that are not finite")
    return found
