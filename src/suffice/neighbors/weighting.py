"""How much each neighbour counts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

Weights = str | Callable[[Floats], Any] | None
"""A name, or a function of distances."""


def neighbor_weights(distances: Floats, weights: Weights) -> Floats | None:
    """The weight of each neighbour; None if all count alike.

    Parameters
    ----------
    distances : array of shape (queries, neighbours)
    weights : {"uniform", "distance"}, callable or None
        "distance" weighs by the reciprocal of the distance.  Where weights are infinite, as at
        distance 0, these neighbours alone count.

    Returns
    -------
    array of shape (queries, neighbours), or None
    """
    if weights in (None, "uniform"):
        return None
    if callable(weights):
        # A copy, for what a function does to its argument is its own affair.
        found = np.array(weights(distances.copy()), dtype=np.float64)
        if found.shape != distances.shape:
            raise ValueError(
                f"weights returned an array of shape {found.shape} for distances of shape "
                f"{distances.shape}; it must return a weight for each"
            )
        if np.isnan(found).any() or (found == -np.inf).any():
            raise ValueError(
                "weights returned NaN or minus infinity for some distances; every weight must be a "
                "number, and infinity stands for a neighbour that alone counts"
            )
    else:
        with np.errstate(divide="ignore", over="ignore"):
            found = 1.0 / distances
    decisive = np.isinf(found)
    decided = decisive.any(axis=1)
    found[decided] = decisive[decided]
    if (found.sum(axis=1) == 0).any():
        raise ValueError(
            "All neighbors of some sample is getting zero weights. Please modify 'weights' to "
            "avoid this case if you are using a user-defined function."
        )
    return found
