"""A number of 64 bits for each row, made of its cells."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse

CELLS = 1 << 20
"""Cells of a sparse matrix that are written out at a time."""


def row_hashes(X: Any) -> NDArray[np.uint64]:
    """Equal for equal rows, and otherwise as good as random.

    Parameters
    ----------
    X : array or CSR array of shape (rows, columns)

    Examples
    --------
    >>> import numpy as np
    >>> first, second, third = row_hashes(np.array([[0.0, 1.0], [-0.0, 1.0], [1.0, 0.0]]))
    >>> bool(first == second), bool(first == third)
    (True, False)
    """
    if issparse(X):
        rows = max(CELLS // max(X.shape[1], 1), 1)
        parts = [row_hashes(X[i : i + rows].toarray()) for i in range(0, X.shape[0], rows)]
        return np.concatenate(parts) if parts else np.zeros(0, np.uint64)
    cells = np.asarray(X, dtype=np.float64) + 0.0  # −0 is 0
    state: NDArray[np.uint64] = np.zeros(len(cells), np.uint64)
    for column in np.ascontiguousarray(cells).view(np.uint64).T:
        state ^= column
        for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
            state ^= state >> np.uint64(shift)
            state *= np.uint64(factor)
        state ^= state >> np.uint64(31)
    return state
