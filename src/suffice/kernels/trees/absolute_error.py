"""The absolute error of rows at a leaf, Σ w |y − m| about their weighted median m.

Sums of the rows do not tell it, so a search for splits keeps the rows of one side in a Fenwick tree
over the ranks of the node's targets: W(r) and S(r), the weight and the weighted target of the
rows whose rank is at most r, change and are found in O(log n).  The median has the first rank
at which W reaches half of the total, and the error about it is

    m W(r) − S(r)  +  (S − S(r)) − m (W − W(r)).

Targets are taken from the node's middle one, so that the differences lose no digits where
all targets are large.

References: Fenwick, "A new data structure for cumulative frequency tables" (1994); Torgo,
"Inductive learning of tree-based regression models" (1999), chapter 3.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from suffice.kernels.compiler.compile import kernel

Floats = NDArray[np.float64]
Rows = NDArray[np.uint32]


@kernel
def add_row(sums: Floats, rank: int, weight: float, target: float) -> None:
    """Add a row to a Fenwick tree; `sums` holds weights and weighted targets from place 1 on."""
    place = rank + 1
    while place < len(sums):
        sums[place, 0] += weight
        sums[place, 1] += weight * target
        place += place & -place


@kernel
def error_of(
    sums: Floats, weight: float, total: float, by_target: Rows, target: Floats, middle: float
) -> float:
    """Return the absolute error of the rows in a Fenwick tree, whose sums are given too."""
    step, last = 1, len(sums) - 1
    while 2 * step <= last:
        step *= 2
    rank, below, total_below, half = 0, 0.0, 0.0, weight / 2
    while step:
        place = rank + step
        if place <= last and below + sums[place, 0] < half:
            rank = place
            below += sums[place, 0]
            total_below += sums[place, 1]
        step //= 2
    median = target[by_target[min(rank, last - 1)]] - middle
    error = (median * below - total_below) + (total - total_below) - median * (weight - below)
    return max(error, 0.0)


@kernel(
    "const uint32[::1], const uint32[::1], const uint32[::1], const float64[::1], "
    "const float64[::1], float64[:, ::1], float64[::1], float64[::1]"
)
def absolute_costs(
    order: Rows,
    by_target: Rows,
    rank: Rows,
    target: Floats,
    weight: Floats,
    sums: Floats,
    left: Floats,
    right: Floats,
) -> None:
    """Find what both sides of every split along an order cost.

    Parameters
    ----------
    order : uint32 array of shape (m,)
        The rows of the node, those of the left side first: sorted by a column, where what is
        missing stands before or behind all else, or category by category.
    by_target : uint32 array of shape (m,)
        The rows of the node, sorted by target.
    rank : uint32 array of shape (all rows,)
        Where each row of the node stands in `by_target`; other rows are not looked at.
    target : float64 array of shape (all rows,)
    weight : float64 array of shape (all rows,) or (0,)
        Positive; none for weights of 1.
    sums : float64 array of shape (m + 1, 2)
        Room to work in.
    left : float64 array of shape (m,)
        Becomes the cost of the first i + 1 rows.
    right : float64 array of shape (m,)
        Becomes the cost of the rows behind them; 0 at the end.
    """
    m = len(order)
    middle = target[by_target[m // 2]]
    right[m - 1] = 0.0
    for backwards in range(2):
        sums[:] = 0.0
        so_far, total = 0.0, 0.0
        for i in range(m - backwards):
            row = order[m - 1 - i if backwards else i]
            w = weight[row] if len(weight) else 1.0
            y = target[row] - middle
            add_row(sums, int(rank[row]), w, y)
            so_far += w
            total += w * y
            found = error_of(sums, so_far, total, by_target, target, middle)
            if backwards:
                right[m - 2 - i] = found
            else:
                left[i] = found


@kernel("const uint32[::1], const float64[::1], const float64[::1]")
def median_and_cost(by_target: Rows, target: Floats, weight: Floats) -> tuple[float, float]:
    """Return the weighted median of rows and their absolute error about it.

    Where every number between two targets is a median, it is the one half way.

    Parameters
    ----------
    by_target : uint32 array of shape (m,)
        The rows, sorted by target.
    target : float64 array of shape (all rows,)
    weight : float64 array of shape (all rows,) or (0,)
        Positive; none for weights of 1.
    """
    m = len(by_target)
    total = 0.0
    for row in by_target:
        total += weight[row] if len(weight) else 1.0
    # Equal weights such as 0.1 reach half of their sum up to rounding only.
    rounding = total * m * 2.0**-53 if len(weight) else 0.0
    below, k = weight[by_target[0]] if len(weight) else 1.0, 0
    while below < total / 2 - rounding and k < m - 1:
        k += 1
        below += weight[by_target[k]] if len(weight) else 1.0
    median = target[by_target[k]]
    if below <= total / 2 + rounding and k < m - 1:
        median = (median + target[by_target[k + 1]]) / 2
    cost = 0.0
    for row in by_target:
        cost += (weight[row] if len(weight) else 1.0) * abs(target[row] - median)
    return median, cost
