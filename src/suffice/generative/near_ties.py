"""Rows between two classes, where a shortcut could decide otherwise than a fit.

Leaving one row out of counts is exact, but the logarithms of its probabilities are added in another
order than a fit without the row would add them.  Only where two classes are equally probable, up to
rounding, can that decide on another class; there the fit itself is asked.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse

from suffice.generative.left_out import LeftOut
from suffice.numerics.double_double import Array

NEAR = 1e-9
"""Relative distance of two logarithms up to which rounding might have changed their order."""


def near_ties(joint: Array) -> NDArray[np.intp]:
    """Rows whose two most probable classes are hardly apart.

    Parameters
    ----------
    joint : array of shape (rows, classes)
        Logarithms of probabilities, or scores.
    """
    if joint.shape[1] < 2:
        return np.zeros(0, np.intp)
    second, best = np.partition(joint, -2, axis=1)[:, -2:].T
    with np.errstate(invalid="ignore"):
        return np.flatnonzero(best - second <= NEAR * np.maximum(np.abs(best), 1.0))


def settle(joint: Array, left: LeftOut, fitted: Callable[[int], Array]) -> None:
    """Put in the place of rows between two classes what a fit without them says.

    Parameters
    ----------
    joint : array of shape (rows, classes), changed
    left : LeftOut
    fitted : function of a row's number
        The logarithms of a fit without it; rows alike are asked for once.
    """
    known: dict[tuple[int, float, bytes], Array] = {}
    for row in near_ties(joint).tolist():
        key = int(left.codes[row]), float(left.weight[row]), _cells(left.X, row)
        if key not in known:
            known[key] = fitted(row)
        joint[row] = known[key]


def _cells(X: object, row: int) -> bytes:
    one = X[row : row + 1]  # type: ignore[index]
    return one.indices.tobytes() + one.data.tobytes() if issparse(one) else one.tobytes()
