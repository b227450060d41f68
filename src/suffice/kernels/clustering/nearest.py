"""Kernels that find the nearest of a few centres: quickly in float32, then exactly where needed.

The margins are those of `suffice.clustering.lloyd.centres`.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from suffice.kernels.compiler.compile import kernel

Floats = NDArray[np.float64]
Singles = NDArray[np.float32]
Numbers = NDArray[np.int32]
Integers = NDArray[np.int64]

UP, DOWN = np.float32(1 + 2.0**-22), np.float32(1 - 2.0**-22)
"""Factors that outweigh the rounding of a few float32 operations."""


@kernel(
    "const float64[:, ::1], const float64[::1], float64, const int64[::1], float32[:, ::1], "
    "float32[::1]"
)
def pack(
    X: Floats, centre: Floats, scale: float, rows: Integers, packed: Singles, squares: Singles
) -> None:
    """Write some rows, centred and scaled, as columns of a float32 table.

    Parameters
    ----------
    X : (rows, columns)
    centre : (columns,)
    scale : float
    rows : (some,)
        Their numbers.
    packed : (columns, some), written
    squares : (some,), written
        The squared length of each.
    """
    for t in range(len(rows)):
        i = rows[t]
        square = 0.0
        for j in range(X.shape[1]):
            value = (X[i, j] - centre[j]) * scale
            square += value * value
            packed[j, t] = np.float32(value)
        squares[t] = np.float32(square)


@kernel("const float32[:, ::1], const float32[::1], float32[::1], float32[::1], int32[::1]")
def two_smallest(
    products: Singles, offsets: Singles, first: Singles, second: Singles, nearest: Numbers
) -> None:
    """Find the two smallest of `offset − product` in each column, and where the smallest is.

    Parameters
    ----------
    products : (centres, some rows)
    offsets : (centres,)
    first, second : (some rows,), written
    nearest : (some rows,), written
    """
    m = len(first)
    for t in range(m):
        first[t] = offsets[0] - products[0, t]
        second[t] = np.float32(np.inf)
        nearest[t] = np.int32(0)
    for c in range(1, len(offsets)):
        offset, number = offsets[c], np.int32(c)
        for t in range(m):
            score, least = offset - products[c, t], first[t]
            below = score < least
            larger = least if below else score
            second[t] = larger if larger < second[t] else second[t]
            nearest[t] = number if below else nearest[t]
            first[t] = score if below else least


@kernel
def nearest_exactly(X: Floats, i: int, centres: Floats) -> tuple[int, float]:
    """Return the nearest centre of a row by the definition, and its squared distance."""
    best, least = 0, np.inf
    for c in range(centres.shape[0]):
        square = 0.0
        for j in range(centres.shape[1]):
            apart = X[i, j] - centres[c, j]
            square += apart * apart
        if square < least:
            best, least = c, square
    return best, least


@kernel(
    "const float64[:, ::1], const float64[:, ::1], const int64[::1], const float32[::1], "
    "const float32[::1], const float32[::1], const float64[::1], float64, float64, float64, "
    "int32[::1], float32[:, ::1]"
)
def settle(
    X: Floats,
    centres: Floats,
    rows: Integers,
    first: Singles,
    second: Singles,
    squares: Singles,
    lengths: Floats,
    slack: float,
    tiny: float,
    scale: float,
    nearest: Numbers,
    bounds: Singles,
) -> int:
    """Look again, in float64, at the rows whose two best scores are too near; bound distances.

    Parameters
    ----------
    X, centres : (rows, columns), (centres, columns)
    rows : (some,)
        The numbers of the rows that are asked about.
    first, second : (some,)
        As `two_smallest` has written them.
    squares : (some,)
        Squared lengths of these rows, centred and scaled.
    lengths : (centres,)
        The same of the centres.
    slack, tiny, scale : float
    nearest : (some,), changed
    bounds : (2, rows) or (2, 0), changed
        A number not below the scaled distance to the nearest centre, and one not above that to
        any other.

    Returns
    -------
    int
        How many rows were looked at again.
    """
    again = 0
    for t in range(len(rows)):
        i, best = rows[t], nearest[t]
        square = np.float64(squares[t])
        near, far = np.float64(first[t]), np.float64(second[t])
        doubt = slack * (lengths[best] + square) + tiny
        # Written so that NaN and infinity, beyond float32's range, are looked at again too.
        if far - near > doubt and doubt < np.inf:
            above = square + 2.0 * near + 2.0 * doubt
            below = square + 2.0 * far - 2.0 * doubt
        else:
            again += 1
            best, exact = nearest_exactly(X, i, centres)
            nearest[t] = np.int32(best)
            above = exact * scale * scale * (1.0 + slack)
            below = square + 2.0 * near - 2.0 * doubt
        if bounds.shape[1] > 0:
            bounds[0, i] = np.float32(np.sqrt(max(above, 0.0))) * UP
            bounds[1, i] = np.float32(np.sqrt(below)) * DOWN if below > 0.0 else np.float32(0.0)
    return again
