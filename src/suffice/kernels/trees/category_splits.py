"""The best split of a node's rows by one column of categories.

The function compares with the best split that the node has found so far, writes down its own if
that is better, and tells whether the column varies in the node at all.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from suffice.kernels.compiler.compile import kernel
from suffice.kernels.trees.absolute_subsets import best_absolute_subset
from suffice.kernels.trees.criteria import ABSOLUTE_ERROR, cost
from suffice.kernels.trees.cuts import best_subset
from suffice.kernels.trees.layout import (
    BIN_ORDER,
    BINS,
    BUFFER,
    BY_TARGET,
    COUNTS,
    CRITERION,
    DECREASE,
    FEATURE,
    IMPURITY,
    MIN_LEAF,
    MIN_WEIGHT,
    MISSING_LEFT,
    MISSING_SUMS,
    N_WORDS,
    PRESENT,
    ROW_WEIGHT,
    ROWS,
    SET,
    SIDES,
    SLOTS,
    START,
    STOP,
    SUMS,
    TARGET,
    WEIGHT,
)  # fmt: skip
from suffice.kernels.trees.number_splits import add_row

Rows = NDArray[np.uint32]
Labels = NDArray[np.uint16]
Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Bytes = NDArray[np.uint8]


@kernel
def split_of_categories(
    node: int, j: int, keep: bool, settings: Integers, amounts: Floats, column: Integers,
    orders: Rows, codes: Labels, labels: Labels, targets: Floats, nodes: Integers, facts: Floats,
    sets: Rows, side: Bytes, table: Floats, lists: Integers,
) -> bool:  # fmt: skip
    """Try the sets of a column's categories; with `keep`, write down the best one."""
    start, end, criterion = nodes[node, START], nodes[node, STOP], settings[CRITERION]
    n, n_missing, n_sums = 0, 0, table.shape[1]
    unknown = len(table) + MISSING_SUMS
    for c in range(n_sums):
        table[unknown, c] = 0.0
    for i in range(start, end):  # one line a category, in the order in which they appear
        row = orders[ROWS, i]
        code = np.int64(codes[j, row])
        if code == column[j, BINS]:
            add_row(row, criterion, unknown, labels, targets, table)
            n_missing += 1
            continue
        line = lists[SLOTS, code]
        if line < 0:
            line = n
            lists[SLOTS, code], lists[PRESENT, line], lists[COUNTS, line] = line, code, 0
            for c in range(n_sums):
                table[line, c] = 0.0
            n += 1
        add_row(row, criterion, line, labels, targets, table)
        lists[COUNTS, line] += 1
    if criterion == ABSOLUTE_ERROR:
        for i in range(start, end):
            code = np.int64(codes[j, orders[BY_TARGET, i]])
            known = code != column[j, BINS]
            orders[BUFFER, i - start] = lists[SLOTS, code] if known else n
    for line in range(n):
        lists[SLOTS, lists[PRESENT, line]] = -1
    if n + (n_missing > 0) < 2:
        return False
    if criterion == ABSOLUTE_ERROR:
        found, to_left = best_absolute_subset(
            orders[BUFFER, : end - start], orders[BY_TARGET, start:end], targets[TARGET],
            targets[ROW_WEIGHT], lists[COUNTS], n, n_missing, settings[MIN_LEAF],
            amounts[MIN_WEIGHT], table, table[SIDES:], side,
        )  # fmt: skip
        decrease = facts[node, WEIGHT] * facts[node, IMPURITY] - found
    else:
        sums = facts[node, SUMS:]
        found, to_left = best_subset(
            criterion, table[:n], lists[COUNTS, :n], sums, table[unknown], n_missing, end - start,
            settings[MIN_LEAF], amounts[MIN_WEIGHT], lists[BIN_ORDER], table[SIDES:], side[:n],
        )  # fmt: skip
        decrease = cost(criterion, sums, facts[node, WEIGHT]) - found
    if keep:
        words = (column[j, BINS] + 31) // 32
        nodes[node, SET] = settings[N_WORDS]
        settings[N_WORDS] += words
        write_set(nodes[node, SET], words, n, to_left, lists, side, sets)
    elif decrease > facts[node, DECREASE]:
        facts[node, DECREASE] = decrease
        nodes[node, FEATURE], nodes[node, MISSING_LEFT] = j, to_left
    return True


@kernel
def write_set(
    first: int, words: int, n: int, missing_left: bool, lists: Integers, side: Bytes, sets: Rows
) -> None:
    """Write down which categories go to the left; absent ones go where missing cells do."""
    for i in range(first, first + words):
        sets[i] = np.uint32(0xFFFFFFFF) if missing_left else np.uint32(0)
    for line in range(n):
        code = lists[PRESENT, line]
        word, bit = first + (code >> 5), np.uint32(1) << np.uint32(code & 31)
        sets[word] = sets[word] | bit if side[line] else sets[word] & ~bit
