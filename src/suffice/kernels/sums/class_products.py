"""A kernel that adds up the products of all pairs of columns, for each class, in one pass.

Rows wait with others of their class, turned into columns, until there are enough of them; then
each pair of columns is multiplied along its rows.  All of it stays in a core's own cache.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from suffice.kernels.compiler.compile import kernel

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

TILE = 3
"""Columns that are multiplied with as many others at a time: nine sums fit the registers."""

GAP = 8
"""Entries left free after each column that waits, lest columns meet in the same cache lines."""


@kernel(any_order=True)
def _add_products(U: Floats, Z: Floats, n: int, out: Floats) -> None:
    """out += U Zᵀ over the first n entries of each row, in tiles on and below the diagonal."""
    for i in range(0, out.shape[0], TILE):
        u0, u1, u2 = U[i], U[i + 1], U[i + 2]
        for j in range(0, i + TILE, TILE):
            z0, z1, z2 = Z[j], Z[j + 1], Z[j + 2]
            s00 = s01 = s02 = s10 = s11 = s12 = s20 = s21 = s22 = 0.0
            for r in range(n):
                a, b, c = z0[r], z1[r], z2[r]
                u = u0[r]
                s00 += u * a
                s01 += u * b
                s02 += u * c
                u = u1[r]
                s10 += u * a
                s11 += u * b
                s12 += u * c
                u = u2[r]
                s20 += u * a
                s21 += u * b
                s22 += u * c
            out[i, j] += s00
            out[i, j + 1] += s01
            out[i, j + 2] += s02
            out[i + 1, j] += s10
            out[i + 1, j + 1] += s11
            out[i + 1, j + 2] += s12
            out[i + 2, j] += s20
            out[i + 2, j + 1] += s21
            out[i + 2, j + 2] += s22


@kernel
def _add_class(waiting: Floats, weight: Floats, n: int, weighed: Floats, out: Floats) -> None:
    """Add the products of the n rows that wait, times their weights if there are any."""
    if not weighed.shape[0]:
        _add_products(waiting, waiting, n, out)
        return
    for j in range(out.shape[0]):
        z, u = waiting[j], weighed[j]
        for r in range(n):
            u[r] = z[r] * weight[r]
    _add_products(weighed, waiting, n, out)


@kernel
def _mirror(out: Floats) -> None:
    """Copy what is below the diagonal to above it."""
    for i in range(out.shape[0]):
        for j in range(i):
            out[j, i] = out[i, j]


@kernel(
    "const float64[:, ::1], const int64[::1], const float64[::1], const float64[:, ::1], "
    "float64[:, :, ::1], float64[:, ::1], float64[:, ::1], int64[::1], float64[:, :, ::1]"
)
def add_class_products(
    X: Floats,
    codes: Integers,
    weight: Floats,
    centres: Floats,
    waiting: Floats,
    weights: Floats,
    weighed: Floats,
    filled: Integers,
    out: Floats,
) -> None:
    """Σ w (x − c)(x − c)ᵀ over the rows x of each class, with its centre c.

    Parameters
    ----------
    X : (rows, columns)
    codes : (rows,)
        The class of each row.
    weight : (rows,), or (0,) without weights
    centres : (classes, columns)
    waiting : (classes, padded columns, at once + `GAP`), scratch
        Rows beyond `columns` are multiplied as they are: ones give the sums of the columns.
        There are a multiple of `TILE` of them all.
    weights : (classes, at once), or (classes, 0) without weights; scratch
    weighed : (padded columns, at once), or (0, 0) without weights; scratch
    filled : (classes,), zeros
    out : (classes, padded columns, padded columns), zeros to which the products are added
    """
    at_once = waiting.shape[2] - GAP
    for i in range(codes.shape[0]):
        k = codes[i]
        x, c, z, r = X[i], centres[k], waiting[k], filled[k]
        for j in range(x.shape[0]):
            z[j, r] = x[j] - c[j]
        if weight.shape[0]:
            weights[k, r] = weight[i]
        filled[k] = r + 1
        if filled[k] == at_once:
            _add_class(z, weights[k], at_once, weighed, out[k])
            filled[k] = 0
    for k in range(filled.shape[0]):
        _add_class(waiting[k], weights[k], filled[k], weighed, out[k])
        filled[k] = 0
        _mirror(out[k])
