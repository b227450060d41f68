"""The best division of categories into two sets by the absolute error.

No order of the categories is sure to hold the best division, and sums of the rows do not tell what
it costs: each is tried on the rows themselves, in the order of their targets.  What is missing is
one category more.  Up to 8 categories, and what is missing, are divided in all ways.  For more, the
best is taken of the cuts in the order of their means, and of each category against the rest.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from suffice.kernels.compiler.compile import kernel
from suffice.kernels.trees.cuts import MOST_ENUMERATED, sort_by

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Rows = NDArray[np.uint32]
Bytes = NDArray[np.uint8]


@kernel(
    "const uint32[::1], const uint32[::1], const float64[::1], const float64[::1], int64[::1], "
    "int64, int64, int64, float64, float64[:, ::1], float64[:, ::1], uint8[::1]"
)
def best_absolute_subset(
    group: Rows, by_target: Rows, target: Floats, weight: Floats, counts: Integers, n: int,
    n_missing: int, min_samples_leaf: int, min_weight_leaf: float, table: Floats, room: Floats,
    goes_left: Bytes,
) -> tuple[float, bool]:  # fmt: skip
    """Find the best division of a node's categories.

    Parameters
    ----------
    group : uint32 array of shape (m,)
        The category of each row in `by_target`; n where it is missing.
    by_target : uint32 array of shape (m,)
        The rows of the node, sorted by target.
    target, weight : float64 arrays of shape (all rows,)
    counts : int64 array of shape (n + 1,)
        Rows of each category.
    n, n_missing : int
        Categories, and rows where they are missing.
    min_samples_leaf : int
    min_weight_leaf : float
    table : float64 array of shape (n + 1, 2)
        Room to work.
    room : float64 array of shape (5, 2)
        As well.
    goes_left : uint8 array of shape (n + 1,)
        Takes 1 for each category of the left side.

    Returns
    -------
    cost : float
        Of both sides; ∞ if no division is allowed.
    missing_left : bool
        Where missing cells go; if there are none, with most of the rows.
    """
    m, groups = len(by_target), n + (n_missing > 0)
    middle = target[by_target[m // 2]]  # differences from it lose no digits
    for g in range(groups):
        table[g, 0] = table[g, 1] = 0.0
    for i in range(m):
        w = weight[by_target[i]]
        table[group[i], 0] += w
        table[group[i], 1] += w * (target[by_target[i]] - middle)
    counts[n] = n_missing
    means, along = np.empty(groups), np.arange(groups)
    for g in range(groups):
        means[g] = table[g, 1] / table[g, 0]
    sort_by(means, along, np.arange(groups))
    ways = groups - 1 + groups * (groups - n + 1)
    if n <= MOST_ENUMERATED:
        ways = (1 << (groups - 1)) - 1
    best, chosen = np.inf, 0
    for way in range(ways):
        mark(way, n, groups, along, goes_left)
        n_left = 0
        for k in range(5):
            room[k, 0] = room[k, 1] = 0.0
        for g in range(groups):
            n_left += counts[g] * goes_left[g]
            room[0, goes_left[g]] += table[g, 0]
            room[1, goes_left[g]] += table[g, 1]
        if min(n_left, m - n_left) < max(min_samples_leaf, 1):
            continue
        if min(room[0, 0], room[0, 1]) < min_weight_leaf:
            continue
        found = cost_of_both(group, by_target, target, weight, goes_left, middle, room)
        if found < best:
            best, chosen = found, way
    mark(chosen, n, groups, along, goes_left)
    n_left = 0
    for g in range(n):
        n_left += counts[g] * goes_left[g]
    return best, goes_left[n] == 1 if n_missing > 0 else 2 * n_left > m


@kernel
def mark(way: int, n: int, groups: int, along: Integers, goes_left: Bytes) -> None:
    """Mark the categories that go to the left in one of the ways that are tried."""
    for g in range(groups):
        goes_left[g] = 0
    if n <= MOST_ENUMERATED:  # the last one stays on the right
        for g in range(groups - 1):
            goes_left[g] = (way + 1) >> g & 1
    elif way < groups - 1:
        for p in range(way + 1):
            goes_left[along[p]] = 1
    else:  # one against the rest, what is missing on either side
        way -= groups - 1
        goes_left[way % groups] = 1
        if way >= groups:
            goes_left[groups - 1] = 1


@kernel
def cost_of_both(
    group: Rows, by_target: Rows, target: Floats, weight: Floats, goes_left: Bytes, middle: float,
    room: Floats,
) -> float:  # fmt: skip
    """Return the absolute error of both sides; lines of `room` are as they are used here."""
    total, total_target, below, target_below, is_known = room[0], room[1], room[2], room[3], room[4]
    found, open_sides = 0.0, 2
    for i in range(len(by_target)):
        side, w = goes_left[group[i]], weight[by_target[i]]
        if is_known[side]:
            continue
        y = target[by_target[i]] - middle
        if below[side] + w < total[side] / 2:
            below[side] += w
            target_below[side] += w * y
            continue
        above = total_target[side] - target_below[side]
        found += y * below[side] - target_below[side] + above - y * (total[side] - below[side])
        is_known[side] = 1.0
        open_sides -= 1
        if open_sides == 0:
            break
    return found
