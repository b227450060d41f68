"""Half the squared length of vectors that may be too long for it.

Classes are compared by these squares.  Beyond float64's range all would be alike; there the largest
is taken for the end of the range, and the others keep their proportions to it: a difference that
decides, decides as well.
"""

from __future__ import annotations

import numpy as np

from suffice.numerics.double_double import Array

MOST = 1e307
"""Half the largest square, where it is beyond the range: a few of them add up."""


def half_squares(away: Array) -> Array:
    """½ Σⱼ zₖⱼ² of the vectors zₖ of one row after another.

    Parameters
    ----------
    away : array of shape (rows, classes, columns)

    Returns
    -------
    array of shape (rows, classes)

    Examples
    --------
    >>> half_squares(np.array([[[3.0, 4.0], [1.0, 1.0]], [[1e200, 0.0], [0.0, 2e200]]]))
    array([[1.25e+01, 1.00e+00],
           [2.50e+306, 1.00e+307]])
    """
    with np.errstate(over="ignore", invalid="ignore"):
        found = np.asarray(0.5 * np.einsum("ikj,ikj->ik", away, away))
        far = ~np.isfinite(found).all(axis=1)
        if far.any():
            some, unit = away[far], np.abs(away[far]).max(axis=(1, 2), keepdims=True)
            # Infinite entries are the longest, and the only ones that count.
            some = np.where(np.isinf(unit), np.isinf(some), some / unit)
            squares = np.einsum("ikj,ikj->ik", some, some)
            found[far] = MOST * squares / squares.max(axis=1, keepdims=True)
    return found
