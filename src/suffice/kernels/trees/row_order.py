"""The rows of a node in the order of their bins."""

from __future__ import annotations

from typing import Any

import numpy as np

from suffice.kernels.compiler.compile import kernel
from suffice.kernels.trees.binned_layout import ROWS, SHIFT, Integers, Keys, Numbers, U

RANKED = 64
"""Rows up to which each is put after all that are less, if bins need no more bits than are left."""

EMPTY = 8
"""Bins for each row from which on rows are sorted, not counted: most bins would be empty."""

BITS, MOST_RANKED = np.uint64(6), 1 << 26


@kernel
def sort_rows(
    j: int, start: int, n: int, n_bins: int, by_row: Any, whole: Numbers, keys: Keys,
    cells: Numbers, lists: Integers,
) -> None:  # fmt: skip
    """Sort the rows of a node by their bins, into keys.

    Of few rows, each is put after all that are less: without a branch, and several at a time (32
    rows: 70 ns, by Shell's method 520).  More are counted by their bins, unless these are far more.

    Parameters
    ----------
    keys, cells : uint64 and uint32 arrays
        The same array; takes the bin and the place of each row, and has half as much room behind.
    lists : int64 array of shape (2, bins + 1)
        The first is zeros, and is zeros again afterwards.
    """
    first, begin = U(2) * U(n), U(start)
    if n <= RANKED and n_bins < MOST_RANKED:
        for i in range(U(n)):
            cells[first + i] = U(by_row[whole[ROWS, begin + i], U(j)]) << BITS | i
        for i in range(U(n)):
            cell, rank = cells[first + i], np.uint32(0)
            for k in range(first, first + U(n)):
                rank = np.uint32(rank + np.uint32(cells[k] < cell))
            keys[rank] = U(cell) >> BITS << SHIFT | i
    elif n_bins > EMPTY * n:
        for i in range(U(n)):
            keys[i] = U(by_row[whole[ROWS, begin + i], U(j)]) << SHIFT | i
        sort_keys(keys, n)
    else:
        lo, hi = U(n_bins), U(0)
        for i in range(U(n)):
            b = U(by_row[whole[ROWS, begin + i], U(j)])
            lo, hi = min(lo, b), max(hi, b)
            cells[first + i] = b
            lists[0, b] += 1
        place = 0
        for b in range(lo, hi + U(1)):
            here = lists[0, b]
            lists[0, b] = place
            place += here
        for i in range(U(n)):
            b = U(cells[first + i])
            keys[U(lists[0, b])] = b << SHIFT | i
            lists[0, b] += 1
        for b in range(lo, hi + U(1)):
            lists[0, b] = 0


@kernel
def sort_keys(keys: Keys, n: int) -> None:
    """Sort the first n (Shell's method: NumPy's takes seconds to compile)."""
    gap = 1
    while gap < n // 3:
        gap = 3 * gap + 1
    while gap > 0:
        for p in range(gap, n):
            one, q = keys[p], p
            while q >= gap and keys[q - gap] > one:
                keys[q] = keys[q - gap]
                q -= gap
            keys[q] = one
        gap //= 3
