"""Rows of a node sent to its two children, in every order in which they are kept.

Each order is divided in place and stays sorted: what goes to the left moves to the front, what
goes to the right waits in a buffer.  There is no branch, for no processor foresees one that depends
on the data.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from suffice.kernels.compiler.compile import kernel
from suffice.kernels.trees.layout import BUFFER

Rows = NDArray[np.uint32]


@kernel
def divide(orders: Rows, line: int, start: int, end: int, goes_left: NDArray[np.uint8]) -> None:
    """Put the rows of an order that go to the left before the others; both keep their order."""
    left = right = np.uint64(start)
    for i in range(np.uint64(start), np.uint64(end)):
        row = orders[line, i]
        here = np.uint64(goes_left[row])
        orders[line, left] = row
        orders[BUFFER, right] = row
        left += here
        right += np.uint64(1) - here
    # What waits stands from `start` on: as many rows as there are from `left` to `end`.
    gap = left - np.uint64(start)
    for i in range(left, np.uint64(end)):
        orders[line, i] = orders[BUFFER, i - gap]
