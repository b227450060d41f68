"""A kernel that takes some rows of a matrix and centres them on the way."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from suffice.kernels.compile import kernel

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


@kernel("const float64[:, ::1], const int64[::1], const float64[::1], float64[:, ::1]")
def gather_centred(X: Floats, index: Integers, centre: Floats, out: Floats) -> None:
    """Write X[index] − centre; further columns of `out` stay as they are.

    Parameters
    ----------
    X : (rows, columns)
    index : (chosen,)
    centre : (columns,)
    out : (chosen, columns or more), written
    """
    for i in range(index.shape[0]):
        x, o = X[index[i]], out[i]
        for j in range(centre.shape[0]):
            o[j] = x[j] - centre[j]
