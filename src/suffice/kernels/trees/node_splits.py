"""The best split of a node over its columns.

A column that does not vary in a node does not below it either, and is not looked at again.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from suffice.kernels.compiler.compile import kernel
from suffice.kernels.trees.category_splits import split_of_categories
from suffice.kernels.trees.criteria import ABSOLUTE_ERROR, GINI, SQUARED_ERROR
from suffice.kernels.trees.layout import (
    ADDED,
    ALL_WEIGHT,
    CATEGORIES,
    CONSTANT,
    CRITERION,
    DECREASE,
    DRAWN,
    FEATURE,
    IMPURITY,
    INVERSE,
    KIND,
    MANY_VALUES,
    MAX_FEATURES,
    MIN_DECREASE,
    MIN_LEAF,
    N_SEEN,
    N_WAITING,
    PATH,
    START,
    STOP,
    STOP_ASKED,
    SUMS,
    TIED,
    WAITING,
    WEIGHT,
    WEIGHTED,
)
from suffice.kernels.trees.number_splits import split_by_absolute_error, split_of_numbers, write_cut
from suffice.kernels.trees.sorted_cuts import FEW_ROWS, MISSING

EPSILON = 2.0**-52
"""What a decrease may lack of the least one that is asked for."""

ALMOST = 1 - 2.0**-40
"""The share of all impurity that a split takes which is pure on both sides, but for rounding."""

Rows = NDArray[np.uint32]
Labels = NDArray[np.uint16]
Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Bytes = NDArray[np.uint8]


@kernel
def find_split(
    node: int, settings: Integers, amounts: Floats, column: Integers, orders: Rows, ranks: Rows,
    codes: Labels, labels: Labels, targets: Floats, nodes: Integers, facts: Floats, reals: Floats,
    table: Floats, lists: Integers,
) -> None:  # fmt: skip
    """Find the best split of a node by numbers; if it is worth it, the node waits to be split.

    Most nodes are small, and most of their columns sorted: their cuts are looked at right here,
    for a call with arrays takes longer than the rows.  `best_square` says the same for others.
    """
    start, end, n_columns = nodes[node, START], nodes[node, STOP], len(column)
    n, asked = end - start, settings[MAX_FEATURES]
    classes = settings[CRITERION] == GINI
    two = (classes and table.shape[1] == 2) or settings[CRITERION] == SQUARED_ERROR
    few = two and settings[WEIGHTED] == 0 and n <= FEW_ROWS
    total, m, least = facts[node, SUMS + 1], np.float64(n), settings[MIN_LEAF]
    factor = (2.0 if classes else 1.0) / m
    perfect = facts[node, WEIGHT] * facts[node, IMPURITY] * ALMOST
    best, varied = -np.inf, 0
    facts[node, DECREASE] = best
    j = draw(node, 0, settings, column, nodes, lists) - 1
    for i in range(n_columns):
        # If both sides are pure, no split is better; of two rows, every split is of that kind.
        if settings[STOP_ASKED] or best >= perfect or (n == 2 and best > 0):
            break
        if asked >= n_columns:
            j = j + 1 if j + 1 < n_columns else 0
        elif i >= asked and varied > 0:
            break
        elif i > 0:
            j = draw(node, i, settings, column, nodes, lists)
        else:
            j += 1
        word, bit = CONSTANT + (j >> 6), np.int64(1) << (j & 63)
        if nodes[node, word] & bit:
            continue
        tied = column[j, TIED] > 0
        some_missing = tied and ranks[j, orders[j, end - 1]] == MISSING
        if few and column[j, KIND] == MANY_VALUES and not some_missing:
            if tied and ranks[j, orders[j, start]] == ranks[j, orders[j, end - 1]]:
                nodes[node, word] |= bit
                continue
            varied += 1
            so_far, most, place = 0.0, best / factor, 0
            for k in range(1, n - least + 1):
                row = orders[j, start + k - 1]
                so_far += np.float64(labels[row]) if classes else targets[ADDED, row]
                if k < least:
                    continue
                d = so_far * m - total * k
                found = d * d * reals[INVERSE, k] * reals[INVERSE, n - k]
                if found > most and not (tied and ranks[j, row] == ranks[j, orders[j, start + k]]):
                    most, place = found, k
            if place > 0:
                best = most * factor
                write_cut(node, j, best, place, n, False, orders, nodes, facts)
            continue
        varies = split_of_numbers(
            node, j, settings, amounts, column, orders, ranks, codes, labels, targets, nodes,
            facts, reals, table, lists,
        )  # fmt: skip
        best = facts[node, DECREASE]
        varied += varies
        if not varies:
            nodes[node, word] |= bit
    let_wait(node, settings, amounts, nodes, facts)


@kernel(
    "int64[::1], const float64[::1], const int64[:, ::1], uint32[:, ::1], const uint32[:, ::1], "
    "const uint16[:, ::1], const uint16[::1], float64[:, ::1], int64[:, ::1], "
    "float64[:, ::1], uint32[::1], uint8[::1], float64[:, ::1], float64[:, ::1], int64[:, ::1]"
)
def find_any_split(
    settings: Integers, amounts: Floats, column: Integers, orders: Rows, ranks: Rows,
    codes: Labels, labels: Labels, targets: Floats, nodes: Integers, facts: Floats, sets: Rows,
    side: Bytes, reals: Floats, table: Floats, lists: Integers,
) -> None:  # fmt: skip
    """As `find_split` for the next node, by categories or the absolute error too; see `grow`."""
    node, varied = settings[N_SEEN], 0
    settings[N_SEEN] += 1
    facts[node, DECREASE] = -np.inf
    for i in range(len(column)):
        if has_seen_enough(node, i, varied, settings, nodes, facts):
            break
        j = draw(node, i, settings, column, nodes, lists)
        if not does_vary(node, j, nodes):
            continue
        if column[j, KIND] == CATEGORIES:
            varies = split_of_categories(
                node, j, False, settings, amounts, column, orders, codes, labels, targets, nodes,
                facts, sets, side, table, lists,
            )  # fmt: skip
        elif settings[CRITERION] == ABSOLUTE_ERROR:
            varies = split_by_absolute_error(
                node, j, settings, amounts, column, orders, ranks, targets, nodes, facts, reals,
                table,
            )  # fmt: skip
        else:
            varies = split_of_numbers(
                node, j, settings, amounts, column, orders, ranks, codes, labels, targets, nodes,
                facts, reals, table, lists,
            )  # fmt: skip
        varied += note(node, j, varies, nodes)
    if let_wait(node, settings, amounts, nodes, facts):
        j = nodes[node, FEATURE]
        if column[j, KIND] == CATEGORIES:  # the best set is found again, and written down
            split_of_categories(
                node, j, True, settings, amounts, column, orders, codes, labels, targets, nodes,
                facts, sets, side, table, lists,
            )  # fmt: skip


@kernel
def has_seen_enough(
    node: int, i: int, varied: int, settings: Integers, nodes: Integers, facts: Floats
) -> bool:
    """Whether a node needs to look at no column more.

    If both sides are pure, no split is better.  Of two rows every split is of that kind.
    """
    perfect = facts[node, WEIGHT] * facts[node, IMPURITY] * ALMOST
    two = nodes[node, STOP] - nodes[node, START] == 2
    found = facts[node, DECREASE]
    drawn = i >= settings[MAX_FEATURES] and varied > 0
    return settings[STOP_ASKED] > 0 or drawn or found >= perfect or (two and found > 0)


@kernel
def draw(
    node: int, i: int, settings: Integers, column: Integers, nodes: Integers, lists: Integers
) -> int:
    """The column that a node looks at as its i-th one.

    Of equal splits the first wins: so that no column is favoured, each node begins with another.
    If not all are looked at, they are drawn as Fisher and Yates do, by splitmix64.
    """
    n_columns, path = len(column), np.uint64(nodes[node, PATH])
    if settings[MAX_FEATURES] >= n_columns:
        return (i + int(path >> np.uint64(33))) % n_columns
    state = path + np.uint64(i + 1) * np.uint64(0x9E3779B97F4A7C15)
    state = (state ^ (state >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    state = (state ^ (state >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    state = (state ^ (state >> np.uint64(31))) >> np.uint64(1)
    k = i + int(state % np.uint64(n_columns - i))
    j: int = lists[DRAWN, k]
    lists[DRAWN, i], lists[DRAWN, k] = j, lists[DRAWN, i]
    return j


@kernel
def does_vary(node: int, j: int, nodes: Integers) -> bool:
    """Whether a column is not known to be constant in a node."""
    return (nodes[node, CONSTANT + (j >> 6)] >> (j & 63)) & 1 == 0


@kernel
def note(node: int, j: int, varies: bool, nodes: Integers) -> int:
    """Remember a column that is constant; 1 if it is not."""
    if varies:
        return 1
    nodes[node, CONSTANT + (j >> 6)] |= np.int64(1) << (j & 63)
    return 0


@kernel
def let_wait(
    node: int, settings: Integers, amounts: Floats, nodes: Integers, facts: Floats
) -> bool:
    """Let a node wait to be split, if its best split is worth it; whether it is."""
    enough = facts[node, DECREASE] / amounts[ALL_WEIGHT] + EPSILON >= amounts[MIN_DECREASE]
    if nodes[node, FEATURE] < 0 or not enough:
        nodes[node, FEATURE] = -2
        return False
    nodes[settings[N_WAITING], WAITING] = node
    settings[N_WAITING] += 1
    return True
