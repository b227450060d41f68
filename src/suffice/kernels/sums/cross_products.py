"""Kernels of residuals: what a line leaves of rows, and its products with the columns.

The products lose no digit:

    hi + lo ← Σᵢ vᵢₜ xᵢⱼ

Each product is split into its float64 and the rounding error, each sum carries its rounding errors
along (Ogita, Rump and Oishi's Dot2, SIAM J. Sci. Comput. 26, 2005): n products err by at most
(n u)² Σ|v x|, u = 2⁻⁵³.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from suffice.kernels.compiler.compile import kernel
from suffice.kernels.sums.double_double import split, two_product, two_sum

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


@kernel(
    "const float64[:, ::1], const float64[::1], const float64[:, ::1], float64[:, ::1]",
    any_order=True,
)
def subtract_line(X: Floats, centre: Floats, coef: Floats, out: Floats) -> None:
    """Subtract (x − centre)·θ from each row of `out`; `coef` has a row of θ for each target."""
    for i in range(X.shape[0]):
        row = X[i]
        for t in range(coef.shape[0]):
            theta = coef[t]
            along = 0.0
            for j in range(row.shape[0]):
                along += (row[j] - centre[j]) * theta[j]
            out[i, t] -= along


@kernel("const float64[:, ::1], const float64[:, ::1], float64[:, ::1], float64[:, ::1]")
def add_cross_products(X: Floats, V: Floats, hi: Floats, lo: Floats) -> None:
    """Add VᵀX to hi + lo, of shape (columns of V, columns of X)."""
    for i in range(X.shape[0]):
        row = X[i]
        for t in range(V.shape[1]):
            v = V[i, t]
            head, tail = split(v)
            high, low = hi[t], lo[t]
            for j in range(row.shape[0]):
                x = row[j]
                p = x * v
                x_head, x_tail = split(x)
                e = ((x_head * head - p) + x_head * tail + x_tail * head) + x_tail * tail
                high[j], f = two_sum(high[j], p)
                low[j] += e + f


@kernel(
    "const float64[::1], const int64[::1], const int64[::1], const float64[:, ::1], "
    "float64[:, ::1], float64[:, ::1]"
)
def add_sparse_cross_products(
    data: Floats, indices: Integers, indptr: Integers, V: Floats, hi: Floats, lo: Floats
) -> None:
    """The same for rows in CSR format."""
    for i in range(V.shape[0]):
        for t in range(V.shape[1]):
            v = V[i, t]
            high, low = hi[t], lo[t]
            for k in range(indptr[i], indptr[i + 1]):
                j = indices[k]
                p, e = two_product(data[k], v)
                high[j], f = two_sum(high[j], p)
                low[j] += e + f
