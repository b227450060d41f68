"""Kernels of Gaussians with independent columns: densities of rows.

A cell x of column j adds to the log-density of class k

    −½ log(2π u) − (x − θ)² / (2u),      u = v + ε,

with θ and v the mean and the variance of (k, j); a cell that is NaN adds nothing.  Rows are taken
in tiles and turned, so that the loop over the rows of a tile is the innermost.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from suffice.kernels.compiler.compile import kernel

Floats = NDArray[np.float64]

TILE = 128
"""Rows that are worked on at a time."""

FARTHEST = 1e300
"""The most that one cell takes off a log-density, doubled: sums stay finite."""


@kernel
def turned(X: Floats, start: int, tile: Floats) -> int:
    """Write some rows to the columns of a tile; return how many there were."""
    count = min(TILE, X.shape[0] - start)
    for r in range(count):
        for j in range(X.shape[1]):
            tile[j, r] = X[start + r, j]
    return count


@kernel(
    "const float64[:, ::1], const float64[:, ::1], const float64[:, ::1], const float64[:, ::1], "
    "const float64[:, ::1], float64[:, ::1]"
)
def add_log_densities(
    X: Floats, theta: Floats, rest: Floats, scale: Floats, peak: Floats, out: Floats
) -> None:
    """Add each row's log-density in every class, over the cells that are there.

        out[i, k] += Σⱼ peak[k, j] − ½ ((X[i, j] − theta[k, j] − rest[k, j]) scale[k, j])²

    Parameters
    ----------
    X : (rows, columns)
    theta, rest, scale, peak : (classes, columns)
        Means, what rounding took from them, reciprocal standard deviations, and the log-density at
        the mean.
    out : (rows, classes), added to
    """
    rows, columns = X.shape
    tile = np.empty((columns, TILE + 8))
    total = np.empty(TILE)
    for start in range(0, rows, TILE):
        count = turned(X, start, tile)
        for k in range(theta.shape[0]):
            total[:] = 0.0
            for j in range(columns):
                m, low, s, p = theta[k, j], rest[k, j], scale[k, j], peak[k, j]
                x = tile[j]
                for r in range(count):
                    z = ((x[r] - m) - low) * s
                    q = z * z
                    q = q if q < FARTHEST else FARTHEST
                    total[r] += p - 0.5 * q if x[r] == x[r] else 0.0
            for r in range(count):
                out[start + r, k] += total[r]
