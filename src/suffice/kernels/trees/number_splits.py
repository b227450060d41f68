"""The best split of a node's rows by one column of numbers, of many values or of few.

Each function compares with the best split that the node has found so far, writes down its own if
that is better, and tells whether the column varies in the node at all.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from suffice.kernels.compiler.compile import kernel
from suffice.kernels.trees.absolute_error import absolute_costs
from suffice.kernels.trees.criteria import SQUARED_ERROR, cost
from suffice.kernels.trees.cuts import best_cut
from suffice.kernels.trees.layout import (
    ADDED,
    BIN_ORDER,
    BINS,
    BUFFER,
    BY_TARGET,
    COUNTS,
    CRITERION,
    DECREASE,
    FEATURE,
    HIGH,
    IMPURITY,
    KIND,
    KNOWN,
    KNOWN_LEFT,
    LOW,
    MANY_VALUES,
    MIN_LEAF,
    MIN_WEIGHT,
    MISSING_LEFT,
    PLACES,
    PREFIX,
    ROOM,
    ROW_WEIGHT,
    ROWS,
    SIDES,
    START,
    STOP,
    SUMS,
    TARGET,
    TIED,
    USUAL,
    WEIGHT,
    WEIGHTED,
)  # fmt: skip
from suffice.kernels.trees.sorted_cuts import best_sorted_cut, count_known

Rows = NDArray[np.uint32]
Labels = NDArray[np.uint16]
Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Bytes = NDArray[np.uint8]


@kernel
def split_of_numbers(
    node: int, j: int, settings: Integers, amounts: Floats, column: Integers, orders: Rows,
    ranks: Rows, codes: Labels, labels: Labels, targets: Floats, nodes: Integers, facts: Floats,
    reals: Floats, table: Floats, lists: Integers,
) -> bool:  # fmt: skip
    """Try the cuts of a column of numbers."""
    if column[j, KIND] == MANY_VALUES:
        return split_of_order(
            node, j, settings, amounts, column, orders, ranks, labels, targets, nodes, facts,
            reals, table,
        )  # fmt: skip
    return split_of_codes(
        node, j, settings, amounts, column, orders, codes, labels, targets, nodes, facts, table,
        lists,
    )  # fmt: skip


@kernel
def split_of_order(
    node: int, j: int, settings: Integers, amounts: Floats, column: Integers, orders: Rows,
    ranks: Rows, labels: Labels, targets: Floats, nodes: Integers, facts: Floats, reals: Floats,
    table: Floats,
) -> bool:  # fmt: skip
    """Try the cuts of a column of many values."""
    start, end, tied = nodes[node, START], nodes[node, STOP], column[j, TIED] > 0
    known = end - start
    if tied:
        if ranks[j, orders[j, start]] == ranks[j, orders[j, end - 1]]:
            return False
        known = count_known(j, start, end, orders, ranks)
    found, known_left, to_left = best_sorted_cut(
        settings[CRITERION], node, j, start, end, known, tied, settings[WEIGHTED] > 0, orders,
        ranks, labels, targets, facts, settings[MIN_LEAF], amounts[MIN_WEIGHT], reals, table,
        facts[node, DECREASE],
    )  # fmt: skip
    if known_left > 0:
        write_cut(node, j, found, known_left, known, to_left, orders, nodes, facts)
    return True


@kernel
def write_cut(
    node: int, j: int, found: float, known_left: int, known: int, to_left: bool, orders: Rows,
    nodes: Integers, facts: Floats,
) -> None:  # fmt: skip
    """Write down a cut of a sorted column as a node's best split."""
    start, end = nodes[node, START], nodes[node, STOP]
    facts[node, DECREASE] = found
    nodes[node, FEATURE], nodes[node, KNOWN_LEFT], nodes[node, KNOWN] = j, known_left, known
    nodes[node, LOW] = orders[j, start + known_left - 1]
    nodes[node, HIGH] = orders[j, start + known_left] if known_left < known else -1
    if known == end - start:  # what is missing later on goes with most of the rows
        to_left = 2 * known_left > known
    nodes[node, MISSING_LEFT] = to_left


@kernel
def add_row(
    row: int, criterion: int, line: int, labels: Labels, targets: Floats, table: Floats
) -> None:
    """Add a row to a line of a table of sums."""
    if criterion < SQUARED_ERROR:
        table[line, np.int64(labels[row])] += targets[ROW_WEIGHT, row]
    else:
        table[line, 0] += targets[ROW_WEIGHT, row]
        table[line, 1] += targets[ADDED, row]


@kernel
def split_of_codes(
    node: int, j: int, settings: Integers, amounts: Floats, column: Integers, orders: Rows,
    codes: Labels, labels: Labels, targets: Floats, nodes: Integers, facts: Floats, table: Floats,
    lists: Integers,
) -> bool:  # fmt: skip
    """Try the cuts of a column of few values, from the sums of the rows that have each."""
    start, end, criterion = nodes[node, START], nodes[node, STOP], settings[CRITERION]
    n, n_bins, usual, n_sums = end - start, column[j, BINS], column[j, USUAL], table.shape[1]
    for one in range(n_bins + 1):
        lists[COUNTS, one] = 0
        for c in range(n_sums):
            table[one, c] = 0.0
    # The most frequent value is what the others leave: adding to one place again and again is slow.
    for i in range(start, end):
        row = orders[ROWS, i]
        code = int(codes[j, row])
        if code != usual:
            add_row(row, criterion, code, labels, targets, table)
            lists[COUNTS, code] += 1
    lists[COUNTS, usual] = n
    for c in range(n_sums):
        table[usual, c] = facts[node, SUMS + c]
    for one in range(n_bins + 1):
        if lists[COUNTS, one] == n and one != usual:
            return False
        if one != usual:
            lists[COUNTS, usual] -= lists[COUNTS, one]
            for c in range(n_sums):
                table[usual, c] -= table[one, c]
    if lists[COUNTS, usual] == n:
        return False
    sums = facts[node, SUMS:]
    found, last, to_left = best_cut(
        criterion, table[:n_bins], lists[COUNTS, :n_bins], sums, table[n_bins],
        lists[COUNTS, n_bins], n, settings[MIN_LEAF], amounts[MIN_WEIGHT], lists[BIN_ORDER],
        table[SIDES:],
    )  # fmt: skip
    decrease = cost(criterion, sums, facts[node, WEIGHT]) - found
    if decrease > facts[node, DECREASE]:
        facts[node, DECREASE] = decrease
        high = last + 1
        while high < n_bins and lists[COUNTS, high] == 0:
            high += 1
        nodes[node, FEATURE], nodes[node, LOW], nodes[node, MISSING_LEFT] = j, last, to_left
        nodes[node, HIGH] = high if high < n_bins else -1
    return True


@kernel
def split_by_absolute_error(
    node: int, j: int, settings: Integers, amounts: Floats, column: Integers, orders: Rows,
    ranks: Rows, targets: Floats, nodes: Integers, facts: Floats, reals: Floats, table: Floats,
) -> bool:  # fmt: skip
    """Try the cuts of a sorted column by the absolute error."""
    start, end, tied = nodes[node, START], nodes[node, STOP], column[j, TIED] > 0
    known = end - start
    if tied:
        if ranks[j, orders[j, start]] == ranks[j, orders[j, end - 1]]:
            return False
        known = count_known(j, start, end, orders, ranks)
    found, known_left, to_left = best_absolute_cut(
        node, j, start, end, known, tied, settings[MIN_LEAF], amounts[MIN_WEIGHT], orders, ranks,
        targets, facts, reals, table,
    )  # fmt: skip
    if known_left > 0:
        write_cut(node, j, found, known_left, known, to_left, orders, nodes, facts)
    return True


@kernel
def best_absolute_cut(
    node: int, j: int, start: int, end: int, known: int, tied: bool, least: int,
    least_weight: float, orders: Rows, ranks: Rows, targets: Floats, facts: Floats, reals: Floats,
    table: Floats,
) -> tuple[float, int, bool]:  # fmt: skip
    """The best cut of a sorted column by the absolute error; as `best_sorted_cut`."""
    n = end - start
    by_target, places, turned = orders[BY_TARGET, start:end], orders[PLACES], orders[BUFFER, :n]
    y, weight, rank = targets[TARGET], targets[ROW_WEIGHT], ranks[j]
    left, right = reals[PREFIX, :n], reals[ROOM, :n]
    for i in range(n):
        places[by_target[i]] = i
    best, at, to_left = facts[node, DECREASE], 0, False
    w_all = facts[node, WEIGHT]
    for turn in range(2 if known < n else 1):
        before = (n - known) * turn  # what is missing comes first, as the order is turned round
        for i in range(n):
            turned[i] = orders[j, start + (i + n - before) % n]
        absolute_costs(turned, by_target, places, y, weight, table[: n + 1], left, right)
        w_left = 0.0
        for i in range(n - 1):
            w_left += weight[turned[i]]
            known_left = i + 1 - before
            if known_left < 1 or known_left > known or min(i + 1, n - i - 1) < least:
                continue
            if min(w_left, w_all - w_left) < least_weight:
                continue
            if tied and known_left < known and rank[turned[i]] == rank[turned[i + 1]]:
                continue
            found = w_all * facts[node, IMPURITY] - left[i] - right[i]
            if found > best:
                best, at, to_left = found, known_left, turn == 1
    return best, at, to_left
