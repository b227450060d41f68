"""Kernels on the rows of a sparse matrix."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from suffice.kernels.compiler.compile import kernel

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


@kernel(
    "const float64[::1], const int64[::1], const int64[::1], const float64[::1], float64[:, ::1]"
)
def sparse_gram(
    data: Floats, indices: Integers, indptr: Integers, weight: Floats, out: Floats
) -> None:
    """XᵀWX of a CSR matrix X, added up row by row.

    A row of k entries costs k²/2 additions, wherever its columns are: no product of sparse
    matrices has to be put together.

    Parameters
    ----------
    data, indices, indptr : the CSR matrix, its columns ascending within a row
    weight : (rows,)
        The diagonal of W.
    out : (columns, columns), written
    """
    out[:] = 0.0
    for i in range(len(indptr) - 1):
        for a in range(indptr[i], indptr[i + 1]):
            value = data[a] * weight[i]
            row = out[indices[a]]
            for b in range(a, indptr[i + 1]):
                row[indices[b]] += value * data[b]
    for j in range(len(out)):
        for k in range(j):
            out[j, k] = out[k, j]
