"""Splits of a node by a column of categories, the best or one at random."""

from __future__ import annotations

from typing import Any

import numpy as np

from suffice.kernels.compiler.compile import kernel
from suffice.kernels.trees.binned_cuts import add_bins, with_more
from suffice.kernels.trees.binned_layout import (
    AT_RANDOM,
    BINS,
    CRITERION,
    FEATURE,
    MIN_LEAF,
    MIN_WEIGHT,
    N_WORDS,
    SET,
    START,
    STOP,
    TOTAL,
    WEIGHT,
    Bytes,
    Floats,
    Integers,
    Keys,
    Numbers,
    U,
)
from suffice.kernels.trees.criteria import SQUARED_ERROR, cost_from
from suffice.kernels.trees.cuts import best_subset
from suffice.kernels.trees.random_numbers import next_bits


@kernel
def split_categories(
    node: int, j: int, settings: Integers, amounts: Floats, state: Keys, codes: Any, by_row: Any,
    columns: Integers, whole: Numbers, reals: Floats, nodes: Integers, facts: Floats, table: Floats,
    sums: Floats, lists: Integers, members: Bytes,
) -> tuple[bool, float, bool]:  # fmt: skip
    """Whether a column of categories varies, the cost of its best set, where missing cells go.

    At random, each category goes to one of the sides: the first and another one to different ones.
    """
    criterion, n_bins = settings[CRITERION], columns[j, BINS]
    start, end = nodes[node, START], nodes[node, STOP]
    lo, hi = add_bins(criterion, j, start, end, True, codes, by_row, whole, reals, table, lists)
    found, to_left, n_sums = np.inf, False, table.shape[1]
    if lo < hi:
        if settings[AT_RANDOM]:
            # All but one of the ways are cut off: two groups of categories, and what is missing.
            to_left = gather_at_random(n_bins, state, lists, members)
            w_left, n_left, left, right = 0.0, 0, 0.0, 0.0
            for k in range(n_sums):
                c = 0.0
                for b in range(lo, hi + 1):
                    if members[0, b]:
                        c += table[b, k]
                sums[1, k] = c
                if criterion < SQUARED_ERROR:
                    w_left += c
                    left += with_more(criterion, 0.0, c)
                    right += with_more(criterion, 0.0, sums[TOTAL, k] - c)
            for b in range(lo, hi + 1):
                n_left += lists[0, b] if members[0, b] else 0
            if criterion >= SQUARED_ERROR:
                w_left, left, right = sums[1, 0], sums[1, 1], sums[TOTAL, 1] - sums[1, 1]
            w_right = facts[node, WEIGHT] - w_left
            if (
                min(n_left, end - start - n_left) >= settings[MIN_LEAF]
                and min(w_left, w_right) >= amounts[MIN_WEIGHT]
            ):
                found = cost_from(criterion, (w_left, left)) + cost_from(
                    criterion, (w_right, right)
                )
        else:
            found, to_left = best_subset(
                criterion, table[:n_bins], lists[0, :n_bins], sums[TOTAL], table[n_bins],
                lists[0, n_bins], end - start, settings[MIN_LEAF], amounts[MIN_WEIGHT], lists[1],
                sums[2:], members[0, :n_bins],
            )  # fmt: skip
    for b in range(lo, hi + 1):
        lists[0, b] = 0
        for k in range(n_sums):
            table[b, k] = 0.0
    return lo < hi, found, to_left


@kernel
def gather_at_random(n_bins: int, state: Keys, lists: Integers, members: Bytes) -> bool:
    """Send categories to the left by the toss of a coin, some to each side; where missing ones go.

    The first that has rows goes to the left, and if all others would, the last goes to the right.
    """
    first, last, all_left = -1, -1, True
    for b in range(n_bins + 1):
        members[0, b] = (next_bits(state) >> U(63)) == U(1)
        if lists[0, b] > 0:
            if first < 0:
                first = b
                members[0, b] = True
            last = b
            all_left = all_left and members[0, b] == 1
    if all_left:
        members[0, last] = False
    return members[0, n_bins] == 1


@kernel
def write_set(
    node: int, settings: Integers, columns: Integers, nodes: Integers, sets: Numbers, members: Bytes
) -> None:
    """Write down which categories go to the left."""
    first, n_bins = settings[N_WORDS], columns[nodes[node, FEATURE], BINS]
    words = (n_bins + 31) // 32
    nodes[node, SET] = first
    settings[N_WORDS] += words
    for word in range(words):
        sets[first + word] = 0
    for b in range(n_bins):
        if members[1, b]:
            sets[first + (b >> 5)] |= np.uint32(1) << np.uint32(b & 31)
