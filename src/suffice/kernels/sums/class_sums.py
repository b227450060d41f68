"""Kernels that add up the rows of each class: of an array, and of a sparse matrix.

A cell x of row i, with weight w and class k = codes[i], adds w x to sums[k].  NaN and infinity
come through as such.  On the way the kernels note what the cells are like:

    1    some w x is no whole number (or 2⁵¹ and more, or NaN): sums may be rounded
    2    some w x is negative

Sums of whole numbers are exact below 2⁵³.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from suffice.kernels.compiler.compile import kernel

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

ROUNDER = 1.5 * 2.0**52
"""Added to a number below 2⁵¹ and taken away again, it leaves the nearest whole number."""


@kernel(
    "const float64[:, ::1], const int64[::1], const float64[::1], float64[:, ::1]",
)
def add_rows(X: Floats, codes: Integers, weight: Floats, sums: Floats) -> int:
    """Add the rows of an array, and return what was noted.

    Parameters
    ----------
    X : (rows, columns)
    codes : (rows,)
    weight : (rows,), or of length 0 where every row counts once
    sums : (classes, columns), added to
    """
    rows, columns = X.shape
    noted = 0
    for i in range(rows):
        x, s = X[i], sums[codes[i]]
        w = weight[i] if weight.shape[0] else 1.0
        here = 0
        for j in range(columns):
            value = w * x[j]
            s[j] += value
            here |= (value != (value + ROUNDER) - ROUNDER) | ((value < 0.0) * 2)
        noted |= here
    return noted


@kernel(
    "const float64[::1], const int32[::1], const int32[::1], const int64[::1], "
    "const float64[::1], float64[:, ::1]",
    "const float64[::1], const int64[::1], const int64[::1], const int64[::1], "
    "const float64[::1], float64[:, ::1]",
)
def add_entries(
    data: Floats,
    indices: Integers,
    indptr: Integers,
    codes: Integers,
    weight: Floats,
    sums: Floats,
) -> int:
    """Add the rows of a CSR matrix, and return what was noted.

    Parameters
    ----------
    data, indices, indptr : the CSR matrix
    codes, weight, sums
        As for `add_rows`.
    """
    noted = 0
    for i in range(len(indptr) - 1):
        s = sums[codes[i]]
        w = weight[i] if weight.shape[0] else 1.0
        x, j = data[indptr[i] : indptr[i + 1]], indices[indptr[i] : indptr[i + 1]]
        here = 0
        # Apart from the additions, which go all over memory, this is vectorised.
        for a in range(len(x)):
            value = w * x[a]
            here |= (value != (value + ROUNDER) - ROUNDER) | ((value < 0.0) * 2)
        for a in range(len(x)):
            s[j[a]] += w * x[a]
        noted |= here
    return noted
