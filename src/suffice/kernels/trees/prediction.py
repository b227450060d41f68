"""Kernels that take rows down a tree.

A test is cheap; what takes time is waiting for the cell and the node that the next one needs, and
guessing wrongly which child that is.  So many rows go down together, one level at a time and
without a branch, and the processor waits for all of them at once; rows that have come to a leaf
drop out.  All that a test needs is one record of 16 bytes, and a node's children are neighbours:

    θ (8 bytes)   2 j + [missing cells go to the left]   number of the left child

A leaf is its own left child, with θ = ∞.  Cells are copied before they are asked for, and on that
occasion looked at whether they are in range: else that would take another pass over the rows.

For a few rows records are not worth making, and in a
tree with categories a node asks one of two questions: there rows go down one by one.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from suffice.kernels.compiler.compile import kernel

Floats = NDArray[np.float64]
Nodes = NDArray[np.int32]
Flags = NDArray[np.uint8]
Integers = NDArray[np.int64]
Bits = NDArray[np.uint32]

ROWS, CELLS = 256, 1 << 14
"""The most rows that go down together, and about how many cells they may have: what is copied
stays in the cache of a core."""

LARGEST = 1e150
"""The largest absolute value of a cell, as in `suffice.sources.finite`."""

U = np.uint64
"""Places in arrays: without a sign the compiler need not ask whether they count from the end."""


@kernel(
    "const int32[::1], const int32[::1], const int32[::1], const float64[::1], const uint8[::1], "
    "float64[:, ::1], int32[::1]"
)
def make_records(
    left: Nodes, right: Nodes, feature: Nodes, threshold: Floats, missing_left: Flags,
    records: Floats, number: Nodes,
) -> None:  # fmt: skip
    """Write the records of a tree's nodes, breadth first, and the number that each node has in it.

    Parameters
    ----------
    left, right, feature, threshold, missing_left : arrays of shape (nodes,)
    records : array of shape (nodes, 2)
        θ and, as two integers of 32 bits, the rest.
    number : array of shape (nodes,)
    """
    integers = records.view(np.uint32)
    number[0], end = 0, 1
    for k in range(len(left)):
        t = number[k]
        if left[t] < 0:
            records[k, 0], integers[k, 2], integers[k, 3] = np.inf, 1, k
        else:
            records[k, 0] = threshold[t]
            integers[k, 2], integers[k, 3] = 2 * feature[t] + missing_left[t], end
            number[end], number[end + 1] = left[t], right[t]
            end += 2


@kernel(
    "const float64[:, ::1], const float64[:, ::1], const int32[::1], int64[::1]",
    "const float32[:, ::1], const float64[:, ::1], const int32[::1], int64[::1]",
)
def find_leaves(X: Floats, records: Floats, number: Nodes, out: Integers) -> bool:
    """Write the leaf of each row of X; the other arrays are those of `make_records`.

    Returns
    -------
    bool
        Whether a cell is beyond `LARGEST`, or infinite.
    """
    n, columns, beyond = len(X), U(X.shape[1]), False
    most = max(16, min(ROWS, CELLS // max(X.shape[1], 1)))
    given, theta, integers = X.ravel(), records.ravel(), records.ravel().view(np.uint32)
    cells = np.empty(most * X.shape[1] + 1)  # a leaf asks for the first, even of no columns
    node, active = np.empty(most, np.uint32), np.empty(most, np.uint32)
    for start in range(0, n, most):
        rows = min(most, n - start)
        # A copy in order is read ahead; the tests would ask here and there, and wait.
        for cell in range(U(rows) * columns):
            cells[cell] = given[U(start) * columns + cell]
            beyond |= abs(cells[cell]) > LARGEST
        on_the_way = U(rows)
        for row in range(rows):
            node[row], active[row] = 0, row
        while on_the_way > 0:
            stay = U(0)
            for place in range(on_the_way):
                i = U(active[place])
                k = U(node[i])
                test = U(integers[U(4) * k + U(2)])
                x = cells[i * columns + (test >> U(1))]
                goes_right = U(x > theta[U(2) * k]) | (U(x != x) & ~test)
                child = U(integers[U(4) * k + U(3)]) + goes_right
                node[i], active[stay] = child, i
                stay += U(child != k)
            on_the_way = stay
        for row in range(rows):
            out[start + row] = number[node[row]]
    return beyond


@kernel
def is_among(x: float, start: int, end: int, bits: Bits, otherwise: bool) -> bool:
    """Whether category x is in the set of bits[start:end]; `otherwise` if it has no bit there."""
    if not 0 <= x < 32 * (end - start):  # NaN is not
        return otherwise
    category = int(x)
    return bool((bits[start + (category >> 5)] >> (category & 31)) & 1 == 1)


@kernel(
    "const float64[:, ::1], const int32[::1], const int32[::1], const int32[::1], "
    "const float64[::1], const uint8[::1], const int64[::1], const int64[::1], const uint32[::1], "
    "int64[::1]"
)
def find_leaves_one_by_one(
    X: Floats, left: Nodes, right: Nodes, feature: Nodes, threshold: Floats, missing_left: Flags,
    category_start: Integers, category_end: Integers, category_bits: Bits, out: Integers,
) -> bool:  # fmt: skip
    """The same from the arrays of a `suffice.trees.nodes.tree.Tree`."""
    has_categories, beyond = len(category_start) > 0, False
    for i in range(len(X)):
        for j in range(X.shape[1]):
            beyond |= abs(X[i, j]) > LARGEST
        t = 0
        while left[t] >= 0:
            x, otherwise = X[i, feature[t]], missing_left[t] == 1
            if has_categories and category_start[t] >= 0:
                start, end = category_start[t], category_end[t]
                goes_left = is_among(x, start, end, category_bits, otherwise)
            else:
                goes_left = otherwise if np.isnan(x) else x <= threshold[t]
            t = left[t] if goes_left else right[t]
        out[i] = t
    return beyond
