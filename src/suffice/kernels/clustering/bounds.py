"""Kernels that tell which rows keep their centre, from bounds alone.

After Hamerly, "Making k-means even faster" (2010).  A row's bounds are `upper`, not below the
distance to its own centre, and `lower`, not above that to any other.  When centres move, upper
grows by the move of the row's own, lower falls by the largest move of the others.  While
upper < lower, or upper is less than half of what lies between its centre and the next one, the
row stays where it is.

A sum of d squares is within (d + 2) 2⁻⁵³ of its value in whatever order it is added, so it may be
added in lanes; bounds are rounded outwards by much more.
"""

from __future__ import annotations

import numpy as np

from suffice.kernels.clustering.nearest import DOWN, UP, Floats, Integers, Numbers, Singles
from suffice.kernels.compiler.compile import kernel


@kernel(
    "const int32[::1], const float32[::1], const float32[::1], const float32[::1], "
    "float32[:, ::1], int64[::1]"
)
def in_doubt(
    labels: Numbers,
    moves: Singles,
    others: Singles,
    halves: Singles,
    bounds: Singles,
    rows: Integers,
) -> int:
    """Move the bounds of all rows, and list those that may have another nearest centre.

    Parameters
    ----------
    labels : (rows,)
    moves, others : (centres,)
        How far each centre has moved, and how far any other has at the most.
    halves : (centres,)
        Half of the way to the nearest other centre.
    bounds : (2, rows), changed
    rows : (rows,), written

    Returns
    -------
    int
        How many there are.
    """
    upper, lower = bounds[0], bounds[1]
    count = 0
    for i in range(len(labels)):
        own = labels[i]
        above = (upper[i] + moves[own]) * UP
        below = (lower[i] - others[own]) * DOWN
        upper[i], lower[i] = above, below
        enough = below if below > halves[own] else halves[own]
        rows[count] = i
        count += 0 if above < enough else 1
    return count


@kernel(
    "const float64[:, ::1], const float64[:, ::1], const int32[::1], float64, "
    "const float32[::1], float32[:, ::1], int64[::1], int64",
    any_order=True,
)
def still_in_doubt(
    X: Floats,
    centres: Floats,
    labels: Numbers,
    scale: float,
    halves: Singles,
    bounds: Singles,
    rows: Integers,
    count: int,
) -> int:
    """Measure the distance of listed rows to their own centres, and drop those it decides.

    Parameters
    ----------
    X, centres : (rows, columns), (centres, columns)
    labels, halves, bounds, rows
        As for `in_doubt`.
    scale : float
        Of the bounds.
    count : int
        Rows that are listed.

    Returns
    -------
    int
        How many are left.
    """
    left = 0
    for t in range(count):
        i = rows[t]
        own = labels[i]
        square = 0.0
        for j in range(X.shape[1]):
            apart = X[i, j] - centres[own, j]
            square += apart * apart
        above = np.float32(np.sqrt(square) * scale) * UP
        bounds[0, i] = above
        enough = bounds[1, i] if bounds[1, i] > halves[own] else halves[own]
        rows[left] = i
        left += 0 if above < enough else 1
    return left


@kernel(
    "const float64[:, ::1], const float64[:, ::1], const int32[::1], float64[::1]", any_order=True
)
def squared_distances(X: Floats, centres: Floats, labels: Numbers, squares: Floats) -> None:
    """Write the squared distance of each row to its centre.

    Parameters
    ----------
    X, centres : (rows, columns), (centres, columns)
    labels : (rows,)
    squares : (rows,), written
    """
    for i in range(X.shape[0]):
        own = labels[i]
        square = 0.0
        for j in range(X.shape[1]):
            apart = X[i, j] - centres[own, j]
            square += apart * apart
        squares[i] = square
