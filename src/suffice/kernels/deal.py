"""A kernel that sorts the rows of a matrix by class and centres them on the way."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from suffice.kernels.compile import kernel

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


@kernel(
    "const float64[:, ::1], const int64[::1], const float64[:, ::1], int64[::1], float64[:, ::1]"
)
def deal_centred(
    X: Floats, codes: Integers, centres: Floats, places: Integers, out: Floats
) -> None:
    """Write each row, less the centre of its class, to the next place of its class.

    Parameters
    ----------
    X : (rows, columns)
    codes : (rows,)
        The class of each row.
    centres : (classes, columns)
    places : (classes,), changed
        Where the rows of each class begin in `out`; where they end, afterwards.
    out : (rows, columns or more), written; further columns stay as they are
    """
    for i in range(codes.shape[0]):
        k = codes[i]
        x, c, o = X[i], centres[k], out[places[k]]
        places[k] += 1
        for j in range(x.shape[0]):
            o[j] = x[j] - c[j]
