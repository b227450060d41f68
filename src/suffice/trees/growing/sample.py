"""Rows to grow a tree from, and the draws that are made for it."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state

Floats = NDArray[np.float64]


class TreeSample(NamedTuple):
    """Rows as a tree grows from them.

    Attributes
    ----------
    cells : float array of shape (rows, columns)
        Categories as numbers; NaN where a cell is missing.
    y : array of shape (rows,)
        Numbers of classes, or targets.
    weight : float64 array of shape (rows,), or None
    """

    cells: Any
    y: NDArray[Any]
    weight: Floats | None


def seed_of(random_state: Any) -> int:
    """A seed, drawn in scikit-learn's way."""
    return int(check_random_state(random_state).randint(1 << 31))
