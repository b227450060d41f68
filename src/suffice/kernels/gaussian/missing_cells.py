"""Kernels of Gaussians for rows with missing cells.

With y = L⁻¹ (x − μ) ~ N(0, I), the cells o that are there say L_o y = x_o − μ_o, L_o the rows o of
L.  Rotations G of its columns take L_o to (R, 0), R lower triangular, so that, with z = Gᵀ y,

    R z_1 = x_o − μ_o,   z_2 ~ N(0, I),      E[y | x_o] = G (z_1, 0),   Cov[y | x_o] = G_2 G_2ᵀ,

where z_2 are the last coordinates, as many as cells are missing, and G_2 the last columns of G.  No
covariance is formed, and no entry of R's diagonal is below that of L in the same row.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from suffice.kernels.compiler.compile import kernel

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


@kernel
def rotate_rows(factor: Floats, there: Integers, known: int, root: Floats, turns: Floats) -> float:
    """Take the rows `there[:known]` of L to (R, 0) by rotations; return log |R|.

    Parameters
    ----------
    factor : array of shape (columns, columns)
        L.
    there : array of shape (columns,)
    root : array of shape (columns, columns), written
        Rᵀ: its lines are columns, which the loops over rows follow.
    turns : array of shape (rotations, 2), written
        Cosine and sine of each, in the order in which they are applied.
    """
    for r in range(known):
        for j in range(there[r] + 1):
            root[j, r] = factor[there[r], j]
    volume, count = 0.0, 0
    for r in range(known):
        kept = root[r]
        for j in range(r + 1, there[r] + 1):
            cleared = root[j]
            length = math.sqrt(kept[r] * kept[r] + cleared[r] * cleared[r])
            c = kept[r] / length if length > 0.0 else 1.0
            s = cleared[r] / length if length > 0.0 else 0.0
            turns[count, 0], turns[count, 1] = c, s
            count += 1
            for i in range(r, known):
                a, b = kept[i], cleared[i]
                kept[i] = c * a + s * b
                cleared[i] = c * b - s * a
        volume += math.log(kept[r])
    return volume


@kernel
def rotate_back(there: Integers, known: int, turns: Floats, z: Floats) -> None:
    """From z to y = G z, in place."""
    count = 0
    for r in range(known):
        count += there[r] - r
    for r in range(known - 1, -1, -1):
        a = z[r]
        for j in range(there[r], r, -1):
            count -= 1
            c, s, b = turns[count, 0], turns[count, 1], z[j]
            z[j] = s * a + c * b
            a = c * a - s * b
        z[r] = a


@kernel(
    "const float64[:, ::1], const int64[::1], const float64[:, ::1], const float64[:, :, ::1], "
    "float64[:, ::1], float64[:, :, ::1], float64[:, :, ::1]"
)
def conditional_moments(
    X: Floats,
    starts: Integers,
    means: Floats,
    factors: Floats,
    out: Floats,
    Y: Floats,
    directions: Floats,
) -> None:
    """Log densities of rows by the cells that are there, and the moments of y given these.

    Parameters
    ----------
    X : array of shape (rows, columns)
        NaN where a cell is missing; rows that lack the same cells stand together.
    starts : array of shape (patterns + 1,)
        Where such rows begin, and the number of all.
    means : array of shape (components, columns)
    factors : array of shape (components, columns, columns), or (1, columns, columns)
        L of each component, or of all.
    out : array of shape (components, rows), written
    Y : array of shape (components, rows, columns), written
        E[y | x_o].
    directions : array of shape (factors, missing cells of all patterns, columns), written
        The columns of G_2, pattern after pattern.
    """
    k, d = means.shape
    there, root, turns = np.empty(d, np.int64), np.empty((d, d)), np.empty((d * d // 4 + 1, 2))
    half_log = 0.5 * math.log(2.0 * math.pi)
    place = 0
    for p in range(len(starts) - 1):
        known = 0
        for j in range(d):
            if X[starts[p], j] == X[starts[p], j]:
                there[known] = j
                known += 1
        for f in range(len(factors)):
            constant = -rotate_rows(factors[f], there, known, root, turns) - known * half_log
            for free in range(known, d):
                z = directions[f, place + free - known]
                z[:] = 0.0
                z[free] = 1.0
                rotate_back(there, known, turns, z)
            for c in range(f, f + 1 if len(factors) > 1 else k):
                for i in range(starts[p], starts[p + 1]):
                    z = Y[c, i]
                    z[:] = 0.0
                    for r in range(known):
                        z[r] = X[i, there[r]] - means[c, there[r]]
                    square = 0.0
                    for r in range(known):
                        z[r] /= root[r, r]
                        share, column = z[r], root[r]
                        square += share * share
                        for q in range(r + 1, known):
                            z[q] -= share * column[q]
                    out[c, i] = constant - 0.5 * square
                    rotate_back(there, known, turns, z)
        place += d - known
