"""Numbers of nodes in the order of a walk through the tree."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from suffice.kernels.compiler.compile import kernel

Integers = NDArray[np.int64]


@kernel("const int64[::1], const int64[::1], int64[::1], int64[::1]")
def number_depth_first(left: Integers, right: Integers, size: Integers, number: Integers) -> None:
    """Number nodes depth first, the left child before the right one.

    Parameters
    ----------
    left, right : int64 arrays of shape (nodes,)
        Children, which have larger numbers than their parent; −1 at a leaf.
    size : int64 array of shape (nodes,)
        Takes the number of nodes from each one on.
    number : int64 array of shape (nodes,)
        Takes the new number of each.
    """
    n = len(left)
    for i in range(n):
        node = n - 1 - i
        size[node] = 1
        if left[node] >= 0:
            size[node] += size[left[node]] + size[right[node]]
    number[0] = 0
    for node in range(n):
        if left[node] >= 0:
            number[left[node]] = number[node] + 1
            number[right[node]] = number[node] + 1 + size[left[node]]
