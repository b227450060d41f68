"""Kernels that build a kd-tree.

The tree is complete: its nodes are numbered from 0, level by level, and the children of node i
are 2i + 1 and 2i + 2.  With L levels of inner nodes there are 2ᴸ leaves, and node number s of
level t (counted from 0) has the rows ⌊s n / 2ᵗ⌋ to ⌊(s + 1) n / 2ᵗ⌋ of the tree's order.  Each
node knows the box around its rows.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from suffice.kernels.compiler.compile import kernel

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

SAMPLE = 64
"""Rows that are asked which column spreads most."""


@kernel
def middle_of(rows: Floats, column: int, i: int, j: int, k: int) -> int:
    """Return which of three rows is the middle one in a column."""
    a, b, c = rows[i, column], rows[j, column], rows[k, column]
    if a < b:
        if b < c:
            return j
        return k if c > a else i
    if a < c:
        return i
    return k if c > b else j


@kernel
def part(rows: Floats, order: Integers, start: int, stop: int, at: int, column: int) -> None:
    """Move rows until those before `at` are no larger in a column than those from there on."""
    left, right, turns = start, stop - 1, 0
    while right > left:
        turns += 1
        width = right - left
        middle, eighth = left + (width >> 1), width >> 3
        if turns > 24:
            # Rows that defeat the rule: from here on places that look random.
            near = left + (turns * 2654435761) % (width + 1)
        elif width < 256:
            near = middle_of(rows, column, left, middle, right)
        else:
            near = middle_of(
                rows,
                column,
                middle_of(rows, column, left, left + eighth, left + 2 * eighth),
                middle_of(rows, column, middle - eighth, middle, middle + eighth),
                middle_of(rows, column, right - 2 * eighth, right - eighth, right),
            )
        pivot = rows[near, column]
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
    for level in range(depth, until + 1 if until == levels else until):
        for node in range(begin, end):
            place = node - ((1 << level) - 1)
            start, stop = (place * n) >> level, ((place + 1) * n) >> level
            # A leaf's box is that of all its rows; where to split, a sample tells.
            step, widest = 1, -1.0
            if level < levels and stop - start > SAMPLE:
                step = (stop - start) // SAMPLE
            for j in range(rows.shape[1]):
                least = most = rows[start, j]
                for i in range(start, stop, step):
                    value = rows[i, j]
                    least = value if value < least else least
                    most = value if value > most else most
                if level == levels:
                    low[node, j], high[node, j] = least, most
                elif most - least > widest:
                    widest, columns[node] = most - least, j
            if level < levels:
                at, column = ((2 * place + 1) * n) >> (level + 1), columns[node]
                part(rows, order, start, stop, at, column)
                splits[node] = rows[at, column]
        begin = 2 * begin + 1
        end = begin + (1 << (level + 1 - depth))


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
