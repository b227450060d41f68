"""Columns as growth keeps them: codes of few values, ranks of many."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from suffice.kernels.compiler.compile import kernel
from suffice.kernels.trees.sorted_cuts import MISSING


@kernel("const float64[::1], float64[::1], uint16[::1], int64[::1]")
def code_few(
    column: NDArray[np.float64],
    values: NDArray[np.float64],
    codes: NDArray[np.uint16],
    counts: NDArray[np.int64],
) -> int:
    """Number the distinct values of a column in the order of their size.

    Parameters
    ----------
    column : float64 array of shape (rows,)
        NaN where a cell is missing.
    values : float64 array
        Takes the values, as many as there is room for.
    codes : uint16 array of shape (rows,)
        Takes the number of each cell's value; that of a missing one is how many values there are.
    counts : int64 array of shape (room for values + 1,)
        Takes how many cells have each, and last how many are missing.

    Returns
    -------
    int
        How many values there are; −1 if there is no room for them.
    """
    n, last = 0, 0
    for i in range(len(column)):
        x = column[i]
        if n and x == values[last]:
            continue
        last = 0
        while last < n and values[last] != x:
            last += 1
        if last == n and x == x:
            if n == len(values):
                return -1
            values[n] = x
            n += 1
        last = min(last, max(n - 1, 0))
    for i in range(1, n):  # by insertion: there are few
        x, place = values[i], i
        while place > 0 and values[place - 1] > x:
            values[place] = values[place - 1]
            place -= 1
        values[place] = x
    counts[:] = 0
    for i in range(len(column)):
        x, code = column[i], n
        if x == x:
            code = 0
            while values[code] < x:
                code += 1
        codes[i] = code
        counts[code] += 1
    return n


@kernel("const float64[::1], const uint32[::1], uint32[::1]")
def rank_cells(
    column: NDArray[np.float64], order: NDArray[np.uint32], rank: NDArray[np.uint32]
) -> bool:
    """Number the values of a sorted column; whether some are equal or missing.

    Parameters
    ----------
    column : float64 array of shape (rows,)
    order : uint32 array of shape (rows,)
        The rows sorted by it, what is missing last.
    rank : uint32 array of shape (rows,)
        Takes a number for each row, the same for equal cells; unless all differ.
    """
    n = len(order)
    last = column[order[n - 1]]
    tied = last != last  # a missing one is last
    for i in range(n - 1):
        tied |= column[order[i]] == column[order[i + 1]]
    if not tied:
        return False
    number = np.uint32(0)
    for i in range(n):
        x = column[order[i]]
        if i > 0 and x != column[order[i - 1]]:
            number += np.uint32(1)
        rank[order[i]] = number if x == x else MISSING
    return True
