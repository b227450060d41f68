"""The best test of one column at a node, from the sums of its rows in each bin.

A bin is an interval of numbers, a single number or a category; a table of one line a bin holds what
`criteria` needs to know of its rows.  What is missing has a line of its own and may go to either
side.  Both sides must hold `min_samples_leaf` rows and the weight `min_weight_leaf`.

Numbers are cut between two neighbours.  Categories fall into two sets, in one of 2ᴷ⁻¹ − 1 ways.
If the cost is a strictly concave function of a mean (two classes, the squared error, Poisson), the
best way is a cut of the categories in the order of their means (Breiman et al., "Classification and
regression trees", 1984, theorem 4.5).  If it is concave but not strictly, as misclassification is,
add ε of one that is: there are finitely many ways, so some cut is best for all small ε, and
for ε = 0.  All this needs that each category could be a leaf, lest the constraints forbid the cut.
Where it does not hold, up to 8 categories are tried in all ways.  For more, the best is taken of

* each category against the rest,
* the cuts in the order of each class's share,
* the cuts in the order of the shares along their first principal direction
  (Coppersmith, Hong and Hosking, "Partitioning nominal attributes in decision trees", 1999).

Of equal costs the first wins: in the order above, what is missing to the right before the left.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from suffice.kernels.compiler.compile import kernel
from suffice.kernels.trees.criteria import (
    SQUARED_ERROR,
    Floats,
    Side,
    cost,
    cost_from,
    weight_of,
    with_sum,
)

Integers = NDArray[np.int64]
Bytes = NDArray[np.uint8]
Node = Any
"""Criterion, table, counts, total, missing, n_missing, n_rows, and what a leaf must hold."""

MOST_ENUMERATED = 8
"""Categories up to which all sets are tried."""

ITERATIONS = 10
"""Of the power method: an order of categories needs no digits."""

_ARGUMENTS = (
    "int64, const float64[:, ::1], const int64[::1], const float64[::1], const float64[::1], "
    "int64, int64, int64, float64, int64[::1], float64[:, ::1]"
)


@kernel(_ARGUMENTS)
def best_cut(
    criterion: int, table: Floats, counts: Integers, total: Floats, missing: Floats,
    n_missing: int, n_rows: int, min_samples_leaf: int, min_weight_leaf: float, order: Integers,
    room: Floats,
) -> tuple[float, int, bool]:  # fmt: skip
    """The best cut between bins that ascend.

    Parameters
    ----------
    criterion : int
        One of `criteria` that has sums.
    table : float64 array of shape (bins, sums)
    counts : int64 array of shape (bins,)
        Rows; a bin without any is no place to cut.
    total, missing : float64 arrays of shape (sums,)
        Sums of all rows, and of those where the column is missing.
    n_missing, n_rows : int
        Rows where it is missing, and all, these included.
    min_samples_leaf : int
    min_weight_leaf : float
    order : int64 array of shape (bins,)
        Room to work.
    room : float64 array of shape (3, sums)
        As well.

    Returns
    -------
    cost : float
        Of both sides; ∞ if no cut is allowed.
    last_bin : int
        The last bin of the left side; the last one that has rows if all that is known goes there.
    missing_left : bool
        Where missing cells go; if there are none, with most of the rows.
    """
    leaf = min_samples_leaf, min_weight_leaf
    node = criterion, table, counts, total, missing, n_missing, n_rows, leaf
    n = list_bins(counts, order)
    found, last, missing_left = cut_along(order, n, node, room[0])
    return found, order[last] if last >= 0 else -1, missing_left


@kernel(_ARGUMENTS + ", uint8[::1]", allocates=True)
def best_subset(
    criterion: int, table: Floats, counts: Integers, total: Floats, missing: Floats,
    n_missing: int, n_rows: int, min_samples_leaf: int, min_weight_leaf: float, order: Integers,
    room: Floats, goes_left: Bytes,
) -> tuple[float, bool]:  # fmt: skip
    """The best division of categories into two sets; parameters as of `best_cut`.

    Parameters
    ----------
    goes_left : uint8 array of shape (bins,)
        Takes 1 for each category of the left side; those without rows go where missing cells do.

    Returns
    -------
    cost : float
    missing_left : bool
    """
    leaf = min_samples_leaf, min_weight_leaf
    node = criterion, table, counts, total, missing, n_missing, n_rows, leaf
    n = list_bins(counts, order)
    n_sums = table.shape[1]
    has_mean = criterion >= SQUARED_ERROR or n_sums == 2
    best, missing_left = np.inf, False
    if n == 0:
        return best, missing_left
    if not (has_mean and each_may_be_leaf(order, n, node)):
        if n <= MOST_ENUMERATED:
            return best_of_all(order, n, node, goes_left)
        best, missing_left = best_against_rest(order, n, node, goes_left)
    keys, along = np.empty(n), np.empty(n, np.int64)
    for direction in range(1 if has_mean else n_sums + 1):
        if direction < n_sums:
            # The second of two sums, over the weight, is the mean: the share of the second class.
            one = 1 if has_mean else direction
            for p in range(n):
                sums = table[order[p]]
                keys[p] = sums[one] / weight_of(criterion, sums)
        else:
            project_shares(order, n, node, room, keys)
        sort_by(keys, along, order)
        found, last, to_left = cut_along(along, n, node, room[0])
        if found < best:
            best, missing_left = found, to_left
            for p in range(len(goes_left)):
                goes_left[p] = missing_left
            for p in range(n):
                goes_left[along[p]] = p <= last
    return best, missing_left


@kernel
def sort_by(keys: Floats, along: Integers, order: Integers) -> None:
    """Write the first entries of an order into another one, sorted by keys (Shell's method).

    Of equal keys, the first bin comes first.  NumPy's sorting takes seconds to compile.
    """
    n = len(keys)
    for p in range(n):
        along[p] = p
    gap = 1
    while gap < n // 3:
        gap = 3 * gap + 1
    while gap > 0:
        for p in range(gap, n):
            one, q = along[p], p
            while q >= gap:
                other = along[q - gap]
                if keys[other] < keys[one] or (keys[other] == keys[one] and other < one):
                    break
                along[q] = other
                q -= gap
            along[q] = one
        gap //= 3
    for p in range(n):
        along[p] = order[along[p]]


@kernel
def list_bins(counts: Integers, order: Integers) -> int:
    """Write down the bins that have rows; how many they are."""
    n = 0
    for one in range(len(counts)):
        order[n] = one
        n += counts[one] > 0
    return n


@kernel
def cost_of_sides(
    criterion: int, left: Side, right: Side, n_left: int, n_right: int, leaf: tuple[int, float]
) -> float:
    """What two sides cost together; ∞ if one of them may be no leaf."""
    min_samples_leaf, min_weight_leaf = leaf
    if min(n_left, n_right) < min_samples_leaf or min(left[0], right[0]) < min_weight_leaf:
        return np.inf
    return cost_from(criterion, left) + cost_from(criterion, right)


@kernel
def cut_along(order: Integers, n: int, node: Node, sums: Floats) -> tuple[float, int, bool]:
    """The best cut of n bins in an order: the cost, its last place on the left, the missing."""
    criterion, table, counts, total, missing, n_missing, n_rows, leaf = node
    best, last, missing_left, more_left = np.inf, -1, False, False
    for to_left in range(1 + (n_missing > 0)):
        n_left = to_left * n_missing
        for c in range(len(total)):
            sums[c] = to_left * missing[c]
        # All that is known on one side: with the missing cells on the other, to the right.
        for p in range(n - 1 + (n_missing > 0 and to_left == 0)):
            one = order[p]
            n_left += counts[one]
            left = right = 0.0, 0.0
            for c in range(len(total)):
                sums[c] += table[one, c]
                left = with_sum(criterion, left, c, sums[c])
                right = with_sum(criterion, right, c, total[c] - sums[c])
            found = cost_of_sides(criterion, left, right, n_left, n_rows - n_left, leaf)
            if found < best:
                best, last, missing_left = found, p, to_left == 1
                more_left = 2 * n_left > n_rows
    return best, last, missing_left if n_missing > 0 else more_left


@kernel
def each_may_be_leaf(order: Integers, n: int, node: Node) -> bool:
    """Whether every category that has rows, and what is missing, could be a leaf by itself."""
    criterion, table, counts, _, missing, n_missing, _, leaf = node
    min_samples_leaf, min_weight_leaf = leaf
    for p in range(n + (n_missing > 0)):
        rows = counts[order[p]] if p < n else n_missing
        sums = table[order[p]] if p < n else missing
        weight = weight_of(criterion, sums)
        if rows < min_samples_leaf or weight < min_weight_leaf:
            return False
        if cost(criterion, sums, weight) == np.inf:
            return False
    return True


@kernel
def best_of_all(order: Integers, n: int, node: Node, goes_left: Bytes) -> tuple[float, bool]:
    """The best of all sets, the last category to the right; as `best_subset`."""
    criterion, table, counts, _, missing, n_missing, n_rows, leaf = node
    best, best_set, more_left = np.inf, 0, False
    for members in range(1, 1 << (n - 1 + (n_missing > 0))):
        n_left = members >> (n - 1) & 1 and n_missing  # the last bit is for what is missing
        for p in range(n - 1):
            n_left += members >> p & 1 and counts[order[p]]
        left = right = 0.0, 0.0
        for c in range(table.shape[1]):
            to_left = to_right = 0.0
            for p in range(n):
                if p < n - 1 and members >> p & 1:
                    to_left += table[order[p], c]
                else:
                    to_right += table[order[p], c]
            if members >> (n - 1) & 1:
                to_left += missing[c]
            else:
                to_right += missing[c]
            left = with_sum(criterion, left, c, to_left)
            right = with_sum(criterion, right, c, to_right)
        found = cost_of_sides(criterion, left, right, n_left, n_rows - n_left, leaf)
        if found < best:
            best, best_set, more_left = found, members, 2 * n_left > n_rows
    missing_left = best_set >> (n - 1) & 1 == 1 if n_missing > 0 else more_left
    goes_left[:] = missing_left
    for p in range(n):
        goes_left[order[p]] = p < n - 1 and best_set >> p & 1
    return best, missing_left


@kernel
def best_against_rest(order: Integers, n: int, node: Node, goes_left: Bytes) -> tuple[float, bool]:
    """The best of the sets with one category on the left; as `best_subset`."""
    criterion, table, counts, total, missing, n_missing, n_rows, leaf = node
    best, alone, missing_left, more_left = np.inf, -1, False, False
    for to_left in range(1 + (n_missing > 0)):
        for p in range(n):
            n_left = counts[order[p]] + to_left * n_missing
            left = right = 0.0, 0.0
            for c in range(len(total)):
                sum_left = table[order[p], c] + to_left * missing[c]
                left = with_sum(criterion, left, c, sum_left)
                right = with_sum(criterion, right, c, total[c] - sum_left)
            found = cost_of_sides(criterion, left, right, n_left, n_rows - n_left, leaf)
            if found < best:
                best, alone, missing_left = found, p, to_left == 1
                more_left = 2 * n_left > n_rows
    missing_left = missing_left if n_missing > 0 else more_left
    goes_left[:] = missing_left
    for p in range(n):
        goes_left[order[p]] = p == alone
    return best, missing_left


@kernel
def project_shares(order: Integers, n: int, node: Node, room: Floats, keys: Floats) -> None:
    """The class shares of each category along their first principal direction.

    The power method starts from the category that departs most from the mean.
    """
    criterion, table, _, total, missing, _, _, _ = node
    n_sums = len(total)
    mean, direction, image = room[0], room[1], room[2]
    weight = weight_of(criterion, total) - weight_of(criterion, missing)
    for c in range(n_sums):
        mean[c] = (total[c] - missing[c]) / weight
    farthest = 0.0
    for p in range(n):
        sums = table[order[p]]
        weight, distance = weight_of(criterion, sums), 0.0
        for c in range(n_sums):
            distance += weight * (sums[c] / weight - mean[c]) ** 2
        if p == 0 or distance > farthest:
            farthest = distance
            for c in range(n_sums):
                direction[c] = sums[c] / weight - mean[c]
    for _ in range(ITERATIONS):
        image[:] = 0.0
        for p in range(n):
            sums = table[order[p]]
            weight, keys[p] = weight_of(criterion, sums), 0.0
            for c in range(n_sums):
                keys[p] += direction[c] * (sums[c] / weight - mean[c])
            for c in range(n_sums):
                image[c] += keys[p] * (sums[c] - weight * mean[c])
        length = np.sqrt(np.sum(image * image))
        if not length > 0:
            break
        for c in range(n_sums):
            direction[c] = image[c] / length
