"""The best split of a node's rows by one column, in each of the ways in which columns are kept.

Each function compares with the best split that the node has found so far, writes down its own if
that is better, and tells whether the column varies in the node at all.
"""

from __future__ import annotations

import numpy as np

from suffice.kernels.compiler.compile import kernel
from suffice.kernels.trees.absolute_error import absolute_costs
from suffice.kernels.trees.absolute_subsets import best_absolute_subset
from suffice.kernels.trees.criteria import ABSOLUTE_ERROR, SQUARED_ERROR, cost
from suffice.kernels.trees.cuts import best_cut, best_subset
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
    KNOWN,
    KNOWN_LEFT,
    LOW,
    MIN_LEAF,
    MIN_WEIGHT,
    MISSING_LEFT,
    MISSING_SUMS,
    N_WORDS,
    PLACES,
    PREFIX,
    PRESENT,
    ROOM,
    ROW_WEIGHT,
    ROWS,
    SET,
    SIDES,
    SLOTS,
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


@kernel
def split_of_order(
    node, j, settings, amounts, column, orders, ranks, labels, targets, nodes, facts, reals, table
):
    """Try the cuts of a column of many values."""
    start, end = nodes[node, START], nodes[node, STOP]
    order, rank, tied = orders[j, start:end], ranks[j], column[j, TIED] > 0
    known = len(order)
    if tied:
        if rank[order[0]] == rank[order[-1]]:
            return False
        known = count_known(order, rank)
    if settings[CRITERION] == ABSOLUTE_ERROR:
        found, known_left, to_left = best_absolute_cut(
            order, known, rank, tied, orders, start, targets, facts[node], settings[MIN_LEAF],
            amounts[MIN_WEIGHT], table, reals,
        )  # fmt: skip
    else:
        found, known_left, to_left = best_sorted_cut(
            settings[CRITERION], order, known, rank, tied, labels, targets, settings[WEIGHTED] > 0,
            facts[node, SUMS:], settings[MIN_LEAF], amounts[MIN_WEIGHT], reals, table[SIDES:],
            facts[node, DECREASE],
        )  # fmt: skip
    if known_left > 0:
        facts[node, DECREASE] = found
        nodes[node, FEATURE], nodes[node, KNOWN_LEFT], nodes[node, KNOWN] = j, known_left, known
        nodes[node, LOW] = order[known_left - 1]
        nodes[node, HIGH] = order[known_left] if known_left < known else -1
        if known == len(order):
            to_left = 2 * known_left > known
        nodes[node, MISSING_LEFT] = to_left
    return True


@kernel
def best_absolute_cut(
    order, known, rank, tied, orders, first, targets, mine, least, least_weight, table, reals
):
    """The best cut of a sorted column by the absolute error; as `best_sorted_cut`."""
    n = len(order)
    by_target = orders[BY_TARGET, first : first + n]
    places, turned = orders[PLACES], orders[BUFFER, :n]
    y, weight, left, right = targets[TARGET], targets[ROW_WEIGHT], reals[PREFIX], reals[ROOM]
    for i in range(n):
        places[by_target[i]] = i
    best, at, to_left = mine[DECREASE], 0, False
    for turn in range(2 if known < n else 1):
        before = (n - known) * turn
        turned[:before] = order[n - before :]
        turned[before:] = order[: n - before]
        absolute_costs(turned, by_target, places, y, weight, table[: n + 1], left[:n], right[:n])
        w_left = 0.0
        for i in range(n - 1):
            w_left += weight[turned[i]]
            n_left, known_left = i + 1, i + 1 - before
            if known_left < 1 or known_left > known or min(n_left, n - n_left) < least:
                continue
            if min(w_left, mine[WEIGHT] - w_left) < least_weight:
                continue
            if tied and known_left < known and rank[turned[i]] == rank[turned[i + 1]]:
                continue
            found = mine[WEIGHT] * mine[IMPURITY] - left[i] - right[i]
            if found > best:
                best, at, to_left = found, known_left, turn == 1
    return best, at, to_left


@kernel
def split_of_codes(
    node, j, settings, amounts, column, orders, codes, labels, targets, nodes, facts, table, lists
):
    """Try the cuts of a column of few values, from the sums of the rows that have each."""
    mine, code = orders[ROWS, nodes[node, START] : nodes[node, STOP]], codes[j]
    criterion, sums = settings[CRITERION], facts[node, SUMS:]
    n, n_bins, usual = len(mine), column[j, BINS], column[j, USUAL]
    counts, bins = lists[COUNTS, : n_bins + 1], table[: n_bins + 1]
    counts[:] = 0
    bins[:] = 0.0
    # The most frequent value is what the others leave: adding to one place again and again is slow.
    for i in range(n):
        one = code[mine[i]]
        if one != usual:
            add_row(mine[i], one, criterion, labels, targets, bins)
            counts[one] += 1
    counts[usual] = n
    bins[usual] = sums
    for one in range(n_bins + 1):
        if one != usual:
            counts[usual] -= counts[one]
            for c in range(len(sums)):
                bins[usual, c] -= bins[one, c]
    for one in range(n_bins + 1):
        if counts[one] == n:
            return False
    found, last, to_left = best_cut(
        criterion, bins[:n_bins], counts[:n_bins], sums, bins[n_bins], counts[n_bins], n,
        settings[MIN_LEAF], amounts[MIN_WEIGHT], lists[BIN_ORDER], table[SIDES:],
    )  # fmt: skip
    if found == np.inf:
        return True
    decrease = cost(criterion, sums, facts[node, WEIGHT]) - found
    if decrease > facts[node, DECREASE]:
        facts[node, DECREASE] = decrease
        high = last + 1
        while high < n_bins and counts[high] == 0:
            high += 1
        nodes[node, FEATURE], nodes[node, LOW], nodes[node, MISSING_LEFT] = j, last, to_left
        nodes[node, HIGH] = high if high < n_bins else -1
    return True


@kernel
def add_row(row, line, criterion, labels, targets, table):
    """Add a row to a line of a table of sums."""
    if criterion < SQUARED_ERROR:
        table[line, labels[row]] += targets[ROW_WEIGHT, row]
    else:
        table[line, 0] += targets[ROW_WEIGHT, row]
        table[line, 1] += targets[ADDED, row]


@kernel
def split_of_categories(
    node, j, keep, settings, amounts, column, orders, codes, labels, targets, nodes, facts, sets,
    side, table, lists,
):  # fmt: skip
    """Try the sets of a column's categories; with `keep`, write down the best one."""
    mine, code = orders[ROWS, nodes[node, START] : nodes[node, STOP]], codes[j]
    slots, present, counts = lists[SLOTS], lists[PRESENT], lists[COUNTS]
    criterion, sums = settings[CRITERION], facts[node, SUMS:]
    n = n_missing = 0
    table[MISSING_SUMS] = 0.0
    for i in range(len(mine)):  # one line a category, in the order in which they appear
        one = np.int64(code[mine[i]])
        if one == column[j, BINS]:
            add_row(mine[i], MISSING_SUMS, criterion, labels, targets, table)
            n_missing += 1
            continue
        if slots[one] < 0:
            slots[one], present[n], counts[n] = n, one, 0
            table[n] = 0.0
            n += 1
        add_row(mine[i], slots[one], criterion, labels, targets, table)
        counts[slots[one]] += 1
    by_target, group = orders[BY_TARGET, nodes[node, START] : nodes[node, STOP]], orders[BUFFER]
    if criterion == ABSOLUTE_ERROR:
        for i in range(len(mine)):
            one = np.int64(code[by_target[i]])
            group[i] = n if one == column[j, BINS] else slots[one]
    for line in range(n):
        slots[present[line]] = -1
    if n + (n_missing > 0) < 2:
        return False
    if criterion == ABSOLUTE_ERROR:
        found, to_left = best_absolute_subset(
            group[: len(mine)], by_target, targets[TARGET], targets[ROW_WEIGHT], counts, n,
            n_missing, settings[MIN_LEAF], amounts[MIN_WEIGHT], table, table[SIDES:], side,
        )  # fmt: skip
        decrease = facts[node, WEIGHT] * facts[node, IMPURITY] - found
    else:
        found, to_left = best_subset(
            criterion, table[:n], counts[:n], sums, table[MISSING_SUMS], n_missing, len(mine),
            settings[MIN_LEAF], amounts[MIN_WEIGHT], lists[BIN_ORDER], table[SIDES:], side[:n],
        )  # fmt: skip
        decrease = cost(criterion, sums, facts[node, WEIGHT]) - found
    if keep:
        first, words = settings[N_WORDS], (column[j, BINS] + 31) // 32
        write_set(present[:n], side, to_left, sets[first : first + words])
        nodes[node, SET] = first
        settings[N_WORDS] += words
    elif decrease > facts[node, DECREASE]:
        facts[node, DECREASE] = decrease
        nodes[node, FEATURE], nodes[node, MISSING_LEFT] = j, to_left
    return True


@kernel
def write_set(present, goes_left, missing_left, bits):
    """Write down which categories go to the left; absent ones go where missing cells do."""
    bits[:] = np.uint32(0xFFFFFFFF) if missing_left else np.uint32(0)
    for line in range(len(present)):
        bit = np.uint32(1) << np.uint32(present[line] & 31)
        word = present[line] >> 5
        bits[word] = bits[word] | bit if goes_left[line] else bits[word] & ~bit
