"""Rows of a node sent to its two children, in every order in which they are kept.

Each order is divided in place and stays sorted: what goes to the left moves to the front, what
goes to the right waits in a buffer.  There is no branch, for no processor foresees one that depends
on the data.
"""

from __future__ import annotations

import numpy as np

from suffice.kernels.compiler.compile import kernel


@kernel
def divide(order, goes_left, waiting):
    """Put the rows that go to the left before the others; both keep their order."""
    left, right = np.uint64(0), np.uint64(0)
    for i in range(len(order)):
        row = order[i]
        here = np.uint64(goes_left[row])
        order[left] = row
        waiting[right] = row
        left += here
        right += np.uint64(1) - here
    rest = order[np.int64(left) :]
    for i in range(len(rest)):
        rest[i] = waiting[i]
