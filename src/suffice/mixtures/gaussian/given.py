"""Starts that a user gives, checked."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from suffice.mixtures.gaussian.maximisation import from_precisions
from suffice.mixtures.latent.given import shaped_as

Floats = NDArray[np.float64]


def given_means(means: Any, k: int, d: int) -> Floats | None:
    """Means, or None."""
    return None if means is None else shaped_as(means, "means_init", (k, d))


def given_factor(precisions: Any, kind: str, k: int, d: int) -> Floats | None:
    """L of given precisions, or None."""
    if precisions is None:
        return None
    shapes = {"full": (k, d, d), "tied": (d, d), "diag": (k, d), "spherical": (k,)}
    found = shaped_as(precisions, "precisions_init", shapes[kind])
    if kind in ("full", "tied") and not np.allclose(found, np.swapaxes(found, -1, -2)):
        raise ValueError(f"precisions_init: '{kind} precision' should be symmetric")
    try:
        return from_precisions(found, kind)
    except ValueError:
        raise ValueError(f"precisions_init: '{kind} precision' should be positive") from None
