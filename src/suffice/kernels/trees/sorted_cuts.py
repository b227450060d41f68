"""The best cut of a node's rows that are sorted by a column.

    decrease(i) = cost(node) − cost(rows up to i) − cost(rows after i)

Missing cells come last in the order.  They go to the right with what is above the cut, or to the
left: then the rows on the left start with them.  A cut lies between two different values, and
leaves enough rows and weight on both sides.

Two classes by Gini's index, and numbers by squared error, have the same formula if all rows weigh
the same: with m rows in all, L of them on the left, and sums S and S_L of the targets (0 and 1 for
the classes),

    decrease = f (m S_L − S L)² / (m L (m − L)),      f = 2 for classes, 1 for numbers,

which takes no division where reciprocals are at hand, and is computed for many cuts at once.

Arrays are those of `growth.grow`, and handed on whole: to take a part of one for each column of
each node would cost more than the columns of small nodes do.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from suffice.kernels.compiler.compile import kernel
from suffice.kernels.trees.criteria import ENTROPY, GINI, SQUARED_ERROR, cost, weight_of
from suffice.kernels.trees.layout import (
    ADDED,
    BACKWARDS,
    INVERSE,
    LOGS,
    PREFIX,
    ROOM,
    ROW_WEIGHT,
    SIDES,
    SUMS,
    WEIGHT,
)  # fmt: skip

MISSING = np.uint32(0xFFFFFFFF)
"""The rank of a cell that is missing."""

FEW_ROWS = 64
"""Rows up to which cuts are looked at one by one."""

Rows = NDArray[np.uint32]
Labels = NDArray[np.uint16]
Floats = NDArray[np.float64]


# --- by squares ---------------------------------------------------------------------------------


@kernel
def best_square(
    j: int, start: int, end: int, known: int, tied: bool, classes: bool, orders: Rows, ranks: Rows,
    labels: Labels, targets: Floats, total: float, n_before: int, before: float, least: int,
    reals: Floats, best: float,
) -> tuple[float, int]:  # fmt: skip
    """The best cut by squares (m S_L − S L)² / (L (m − L)), if it is better than `best`.

    `n_before` rows with the sum `before` are on the left before the first.  Returns the square and
    the number of known rows on the left, 0 if none is better.
    """
    m, place, so_far = np.float64(end - start), 0, before
    for i in range(known):
        row = orders[j, start + i]
        so_far += np.float64(labels[row]) if classes else targets[ADDED, row]
        left = n_before + i + 1
        right = end - start - left
        if left < least or right < least:
            continue
        d = so_far * m - total * left
        found = d * d * reals[INVERSE, left] * reals[INVERSE, right]
        # Ranks come last: they are far apart in memory, and few cuts get here.
        if found > best and not (
            tied and i + 1 < known and ranks[j, row] == ranks[j, orders[j, start + i + 1]]
        ):
            best, place = found, i + 1
    return best, place


@kernel
def add_up(
    j: int, start: int, known: int, classes: bool, orders: Rows, labels: Labels, targets: Floats,
    reals: Floats,
) -> None:  # fmt: skip
    """Sums of the targets up to each row."""
    total, whole = 0.0, 0
    for i in range(known):
        row = orders[j, start + i]
        if classes:
            whole += int(labels[row])
            reals[PREFIX, i] = whole
        else:
            total += targets[ADDED, row]
            reals[PREFIX, i] = total


@kernel
def squares(
    prefix: Floats, before: float, total: float, n: int, left_inverse: Floats,
    right_inverse: Floats, first: int, out: Floats,
) -> None:  # fmt: skip
    """The squares of cuts with `first`, first + 1, … rows on the left."""
    m = np.float64(n)
    for i in range(len(out)):
        d = (prefix[i] + before) * m - total * (np.float64(first) + i)
        out[i] = d * d * left_inverse[i] * right_inverse[i]


@kernel
def largest(values: Floats) -> int:
    """The place of the first largest of numbers that are not negative."""
    bits = values.view(np.int64)  # in the same order, and their maximum vectorises
    most = np.int64(-1)
    for i in range(len(bits)):
        most = max(most, bits[i])
    for i in range(len(bits)):
        if bits[i] == most:
            return i
    return -1


@kernel
def largest_square(
    j: int, start: int, end: int, known: int, tied: bool, orders: Rows, ranks: Rows, total: float,
    n_before: int, before: float, least: int, reals: Floats, best: float,
) -> tuple[float, int]:  # fmt: skip
    """As `best_square` where rows are many, from the sums that `add_up` left."""
    n = end - start
    low = max(least - n_before, 1)  # known rows on the left
    high = min(known, n - least - n_before)
    if high < low:
        return best, 0
    left = n_before + low
    gap = reals.shape[1] - 1 - n
    found = reals[ROOM, : high - low + 1]
    squares(
        reals[PREFIX, low - 1 : high], before, total, n, reals[INVERSE, left:],
        reals[BACKWARDS, gap + left :], left, found,
    )  # fmt: skip
    place = largest(found)
    if not found[place] > best:
        return best, 0
    if not tied:
        return found[place], low + place
    place = -1
    for i in range(len(found)):
        if found[i] > best:
            at = start + low - 1 + i
            # After all known rows, with what is missing on the right, is always a cut.
            last = low + i == known
            if last or ranks[j, orders[j, at]] != ranks[j, orders[j, at + 1]]:
                best, place = found[i], i
    return best, low + place if place >= 0 else 0


# --- by other costs -----------------------------------------------------------------------------


@kernel
def times_log(x: float) -> float:
    """x log₂ x, 0 at 0."""
    return x * np.log2(x) if x > 0 else 0.0


@kernel
def best_by_gini(
    node: int, j: int, start: int, end: int, known: int, tied: bool, orders: Rows, ranks: Rows,
    labels: Labels, facts: Floats, n_before: int, least: int, reals: Floats, table: Floats,
    best: float,
) -> tuple[float, int]:  # fmt: skip
    """As `best_of_classes`, by Gini's index for rows of one weight, from Σ c² of both sides."""
    n, before, line = np.uint64(end - start), np.uint64(n_before), np.uint64(len(table) + SIDES)
    one = other = common = 0.0
    for k in range(table.shape[1]):
        a, c = table[line, k], facts[node, SUMS + k]
        table[line + np.uint64(1), k] = a
        one += a * a
        other += (c - a) * (c - a)
        common += c * c / n
    place, first, line = 0, np.uint64(start), line + np.uint64(1)
    for i in range(np.uint64(known)):
        row = orders[j, first + i]
        label = np.uint64(labels[row])
        a = table[line, label]
        table[line, label] = a + 1.0
        one += 2 * a + 1
        other -= 2 * (facts[node, np.uint64(SUMS) + label] - a) - 1
        left = before + i + np.uint64(1)
        found = one * reals[INVERSE, left] + other * reals[INVERSE, n - left] - common
        # Ranks come last: they are far apart in memory, and few cuts get here.
        if found > best and least <= np.int64(left) <= end - start - least:
            at = first + i + np.uint64(1)
            apart = i + np.uint64(1) == np.uint64(known) or not tied
            if apart or ranks[j, row] != ranks[j, orders[j, at]]:
                best, place = found, int(i) + 1
    return best, place


@kernel
def best_of_classes(
    criterion: int, node: int, j: int, start: int, end: int, known: int, tied: bool,
    weighted: bool, orders: Rows, ranks: Rows, labels: Labels, targets: Floats, facts: Floats,
    n_before: int, least: int, least_weight: float, reals: Floats, table: Floats, best: float,
) -> tuple[float, int]:  # fmt: skip
    """The best cut by Gini's index or entropy, the costs of both sides kept up row by row.

    The table holds the sums of the rows on the left before the first one, in line SIDES.  Returns
    the decrease and the number of known rows on the left, 0 if no cut is better than `best`.
    """
    n, entropy, sides = end - start, criterion == ENTROPY, len(table) + SIDES
    one = other = all_of = w_left = 0.0  # Σ c² or Σ c log c, on both sides and in the node
    w_all = facts[node, WEIGHT]
    for k in range(table.shape[1]):
        c = facts[node, SUMS + k]
        a = table[sides, k]
        table[sides + 1, k] = a
        w_left += a
        one += times_log(a) if entropy else a * a
        other += times_log(c - a) if entropy else (c - a) * (c - a)
        all_of += times_log(c) if entropy else c * c
    common = all_of - times_log(w_all) if entropy else all_of / w_all
    place = 0
    for i in range(known):
        row = orders[j, start + i]
        k = int(labels[row])
        a = table[sides + 1, k]
        b = facts[node, SUMS + k] - a
        w = targets[ROW_WEIGHT, row] if weighted else 1.0
        if not entropy:
            one += w * (2 * a + w)
            other -= w * (2 * b - w)
        elif weighted:
            one += times_log(a + w) - times_log(a)
            other += times_log(b - w) - times_log(b)
        else:
            p, q = np.int64(a), np.int64(b)
            one += reals[LOGS, p + 1] - reals[LOGS, p]
            other += reals[LOGS, q - 1] - reals[LOGS, q]
        table[sides + 1, k] = a + w
        w_left += w
        left = n_before + i + 1
        right = n - left
        if left < least or right < least:
            continue
        if not weighted:  # by entropy: for Gini's index there is `best_by_gini`
            found = one + other - reals[LOGS, left] - reals[LOGS, right] - common
        else:
            w_right = w_all - w_left
            if min(w_left, w_right) < least_weight or not w_right > 0:
                continue
            if entropy:
                found = one + other - times_log(w_left) - times_log(w_right) - common
            else:
                found = one / w_left + other / w_right - common
        # Ranks come last: they are far apart in memory, and few cuts get here.
        if found > best and not (
            tied and i + 1 < known and ranks[j, row] == ranks[j, orders[j, start + i + 1]]
        ):
            best, place = found, i + 1
    return best, place


@kernel
def best_by_cost(
    criterion: int, node: int, j: int, start: int, end: int, known: int, tied: bool, orders: Rows,
    ranks: Rows, labels: Labels, targets: Floats, facts: Floats, n_before: int, least: int,
    least_weight: float, table: Floats, best: float,
) -> tuple[float, int]:  # fmt: skip
    """The best cut by any cost, that of both sides computed anew at each; as `best_of_classes`."""
    n, sides = end - start, len(table) + SIDES
    left, right, sums = table[sides + 1], table[sides + 2], facts[node, SUMS:]
    w_all = facts[node, WEIGHT]
    common = cost(criterion, sums, w_all)
    for k in range(len(sums)):
        left[k] = table[sides, k]
    place = 0
    for i in range(known):
        row = orders[j, start + i]
        if criterion < SQUARED_ERROR:
            left[labels[row]] += targets[ROW_WEIGHT, row]
        else:
            left[0] += targets[ROW_WEIGHT, row]
            left[1] += targets[ADDED, row]
        n_left = n_before + i + 1
        if n_left < least or n - n_left < least:
            continue
        for k in range(len(sums)):
            right[k] = sums[k] - left[k]
        w_left = weight_of(criterion, left)
        w_right = w_all - w_left
        if min(w_left, w_right) < least_weight or not w_right > 0:
            continue
        found = common - cost(criterion, left, w_left) - cost(criterion, right, w_right)
        # Ranks come last: they are far apart in memory, and few cuts get here.
        if found > best and not (
            tied and i + 1 < known and ranks[j, row] == ranks[j, orders[j, start + i + 1]]
        ):
            best, place = found, i + 1
    return best, place


# --- all of them --------------------------------------------------------------------------------


@kernel
def count_known(j: int, start: int, end: int, orders: Rows, ranks: Rows) -> int:
    """How many rows of a node come before those whose cell is missing."""
    while end > start and ranks[j, orders[j, end - 1]] == MISSING:
        end -= 1
    return end - start


@kernel
def add_sums(
    criterion: int, line: int, start: int, end: int, orders: Rows, labels: Labels, targets: Floats,
    out: Floats, to: int, first: int,
) -> None:  # fmt: skip
    """Write the sums of some rows of an order into a line of an array, from column `first` on."""
    for k in range(first, out.shape[1]):
        out[to, k] = 0.0
    for i in range(start, end):
        row = orders[line, i]
        if criterion < SQUARED_ERROR:
            out[to, first + np.int64(labels[row])] += targets[ROW_WEIGHT, row]
        else:
            out[to, first] += targets[ROW_WEIGHT, row]
            out[to, first + 1] += targets[ADDED, row]


@kernel
def best_sorted_cut(
    criterion: int, node: int, j: int, start: int, end: int, known: int, tied: bool,
    weighted: bool, orders: Rows, ranks: Rows, labels: Labels, targets: Floats, facts: Floats,
    least: int, least_weight: float, reals: Floats, table: Floats, best: float,
) -> tuple[float, int, bool]:  # fmt: skip
    """The best cut of a node's rows sorted by a column, if it is better than `best`.

    The first `known` rows have a cell that is not missing.

    Returns
    -------
    decrease : float
    known_left : int
        Rows with a cell below the cut; 0 if no cut is better than `best`.
    missing_left : bool
    """
    n, sides, classes = end - start, len(table) + SIDES, criterion == GINI
    two = (classes and table.shape[1] == 2) or criterion == SQUARED_ERROR
    by_squares, few = two and not weighted, n <= FEW_ROWS
    factor = 2.0 / n if classes else 1.0 / n
    if by_squares and not few:
        add_up(j, start, known, classes, orders, labels, targets, reals)
    place, missing_left = 0, False
    for turn in range(2 if known < n else 1):
        n_before, before, total = turn * (n - known), 0.0, facts[node, SUMS + 1]
        if turn == 1 or not by_squares:
            add_sums(criterion, j, end - n_before, end, orders, labels, targets, table, sides, 0)
        if turn == 1:
            before = table[sides, 1]
        if by_squares and few:
            found, at = best_square(
                j, start, end, known, tied, classes, orders, ranks, labels, targets, total,
                n_before, before, least, reals, best / factor,
            )  # fmt: skip
            found *= factor
        elif by_squares:
            found, at = largest_square(
                j, start, end, known, tied, orders, ranks, total, n_before, before, least, reals,
                best / factor,
            )  # fmt: skip
            found *= factor
        elif classes and not weighted:
            found, at = best_by_gini(
                node, j, start, end, known, tied, orders, ranks, labels, facts, n_before, least,
                reals, table, best,
            )  # fmt: skip
        elif criterion <= ENTROPY:
            found, at = best_of_classes(
                criterion, node, j, start, end, known, tied, weighted, orders, ranks, labels,
                targets, facts, n_before, least, least_weight, reals, table, best,
            )  # fmt: skip
        else:
            found, at = best_by_cost(
                criterion, node, j, start, end, known, tied, orders, ranks, labels, targets, facts,
                n_before, least, least_weight, table, best,
            )  # fmt: skip
        if at > 0:
            best, place, missing_left = found, at, turn == 1
    return best, place, missing_left
