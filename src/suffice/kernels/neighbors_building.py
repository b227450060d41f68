"""Kernels that build a kd-tree.

The tree is complete: its nodes are numbered from 0, level by level, and the children of node i
are 2i + 1 and 2i + 2.  With L levels of inner nodes there are 2ᴸ leaves, and node number s of
level t (counted from 0) has the rows ⌊s n / 2ᵗ⌋ to ⌊(s + 1) n / 2ᵗ⌋ of the tree's order.  Each
node knows the box around its rows.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from suffice.kernels.compile import kernel

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

SAMPLE = 64
"""Rows that are asked which column spreads most."""


@kernel
def median_of(a: float, b: float, c: float) -> float:
    """Return the middle one of three numbers."""
    if a < b:
        if b < c:
            return b
        return max(a, c)
    if a < c:
        return a
    return max(b, c)


@kernel
def pivot_of(rows: Floats, left: int, right: int, column: int, turns: int) -> float:
    """Return a value of a column near the middle of those between two rows."""
    width = right - left
    if turns > 24:
        # Rows that defeat the rule: from here on places that look random.
        return rows[left + (turns * 2654435761) % (width + 1), column]
    middle = left + width // 2
    if width < 256:
        return median_of(rows[left, column], rows[middle, column], rows[right, column])
    eighth = width // 8
    return median_of(
        median_of(rows[left, column], rows[left + eighth, column], rows[left + 2 * eighth, column]),
        median_of(
            rows[middle - eighth, column], rows[middle, column], rows[middle + eighth, column]
        ),
        median_of(
            rows[right - 2 * eighth, column], rows[right - eighth, column], rows[right, column]
        ),
    )


@kernel
def part(rows: Floats, order: Integers, start: int, stop: int, at: int, column: int) -> None:
    """Move rows until those before `at` are no larger in a column than those from there on."""
    left, right, turns = start, stop - 1, 0
    while right > left:
        turns += 1
        pivot = pivot_of(rows, left, right, column, turns)
        i, j = left, right
        while i <= j:
            while rows[i, column] < pivot:
                i += 1
            while rows[j, column] > pivot:
                j -= 1
            if i <= j:
                order[i], order[j] = order[j], order[i]
                for c in range(rows.shape[1]):
                    rows[i, c], rows[j, c] = rows[j, c], rows[i, c]
                i += 1
                j -= 1
        if at <= j:
            right = j
        elif at >= i:
            left = i
        else:
            return


@kernel
def widest_column(rows: Floats, start: int, stop: int) -> int:
    """Return the column that spreads most over a sample of some rows."""
    step = max((stop - start) // SAMPLE, 1)
    widest, column = -1.0, 0
    for j in range(rows.shape[1]):
        low = high = rows[start, j]
        for i in range(start, stop, step):
            low = min(low, rows[i, j])
            high = max(high, rows[i, j])
        if high - low > widest:
            widest, column = high - low, j
    return column


@kernel(
    "float64[:, ::1], int64[::1], int64, int64, int64, int64, int64[::1], float64[::1], "
    "float64[:, ::1], float64[:, ::1]"
)
def grow(
    rows: Floats,
    order: Integers,
    levels: int,
    first: int,
    depth: int,
    until: int,
    columns: Integers,
    splits: Floats,
    low: Floats,
    high: Floats,
) -> None:
    """Split the rows below a node, and find the boxes of the leaves if it comes to them.

    Parameters
    ----------
    rows : (rows, columns), reordered
    order : (rows,), reordered alike
    levels : int
        Levels of inner nodes in the whole tree.
    first, depth : int
        The node, and its level.
    until : int
        Nodes of this level and below are not split.
    columns, splits : (nodes,), written
        Where a node is split: smaller values go to the left.
    low, high : (nodes, columns), written for leaves
    """
    n = rows.shape[0]
    begin, end = first, first + 1
    for level in range(depth, until):
        for node in range(begin, end):
            place = node - ((1 << level) - 1)
            start, stop = (place * n) >> level, ((place + 1) * n) >> level
            at = ((2 * place + 1) * n) >> (level + 1)
            column = widest_column(rows, start, stop)
            part(rows, order, start, stop, at, column)
            columns[node], splits[node] = column, rows[at, column]
        begin = 2 * begin + 1
        end = begin + (1 << (level + 1 - depth))
    if until == levels:
        box_leaves(rows, levels, begin, end, low, high)


@kernel
def box_leaves(rows: Floats, levels: int, begin: int, end: int, low: Floats, high: Floats) -> None:
    """Find the boxes of some leaves."""
    n = rows.shape[0]
    for node in range(begin, end):
        place = node - ((1 << levels) - 1)
        start, stop = (place * n) >> levels, ((place + 1) * n) >> levels
        for j in range(rows.shape[1]):
            least = most = rows[start, j]
            for i in range(start + 1, stop):
                least = min(least, rows[i, j])
                most = max(most, rows[i, j])
            low[node, j], high[node, j] = least, most


@kernel("const float64[:, ::1], const int64[::1], int64, float64[:, :, ::1], int64[:, ::1]")
def turn_leaves(
    rows: Floats, order: Integers, levels: int, leaves: Floats, numbers: Integers
) -> None:
    """Write the rows of each leaf to the columns of a tile.

    Parameters
    ----------
    rows : (rows, columns)
    order : (rows,)
    levels : int
    leaves : (leaves, columns, room), written
        Cells without a row stay as they are.
    numbers : (leaves, room), written
        The rows' numbers.
    """
    n = rows.shape[0]
    for leaf in range(leaves.shape[0]):
        start, stop = (leaf * n) >> levels, ((leaf + 1) * n) >> levels
        for i in range(start, stop):
            numbers[leaf, i - start] = order[i]
            for j in range(rows.shape[1]):
                leaves[leaf, j, i - start] = rows[i, j]
