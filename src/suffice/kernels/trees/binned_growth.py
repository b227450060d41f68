"""Growth of one of many trees from rows in bins, one node after the other.

A node is a range of the tree's rows.  When it is made, its sums are added up and its best split is
found among columns that are drawn anew; when its turn comes, its rows are divided.  Depth first,
the last node that was made comes next; with a limit on the leaves, that whose split gains most.
Columns that do not vary in a node are not counted among those it looks at, and are not looked at
again below it.  The two children of a node are neighbours.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from suffice.kernels.compiler.compile import kernel
from suffice.kernels.trees.binned_categories import split_categories, write_set
from suffice.kernels.trees.binned_cuts import best_cut, random_cut
from suffice.kernels.trees.binned_layout import (
    ALL_WEIGHT,
    AT_RANDOM,
    BINS,
    CATEGORIES,
    CONSTANT,
    CRITERION,
    DECREASE,
    DEPTH,
    DONE,
    DRAWN,
    FEATURE,
    FULL,
    HIGH,
    IMPURITY,
    LEFT,
    LOW,
    MAX_DEPTH,
    MAX_FEATURES,
    MAX_LEAVES,
    MIN_DECREASE,
    MIN_LEAF,
    MIN_SPLIT,
    MIN_WEIGHT,
    MISSING_LEFT,
    N_NODES,
    N_WAITING,
    N_WORDS,
    PACKED,
    PLACE,
    REST,
    START,
    STOP,
    STOP_ASKED,
    STOPPED,
    SUMS,
    TOTAL,
    WAITS,
    WEIGHT,
    WITHOUT_LIMIT,
    Bytes,
    Floats,
    Integers,
    Keys,
    Numbers,
)
from suffice.kernels.trees.binned_nodes import describe, divide
from suffice.kernels.trees.criteria import SQUARED_ERROR, cost_from
from suffice.kernels.trees.random_numbers import next_below

PURE = 1e-12
"""The share of its weight that two pure sides of a node may seem to cost by rounding."""

EPSILON = 2.0**-52
"""What a decrease may lack of the least one that is asked for."""


_REST = (
    "const int64[:, ::1], const float64[::1], int64[::1], uint32[:, ::1], float64[:, ::1], "
    "int64[:, ::1], float64[:, ::1], uint32[::1], float64[:, ::1], float64[:, ::1], float64[::1], "
    "int64[:, ::1], uint64[::1]"
)


@kernel(
    f"int64[::1], const float64[::1], uint64[::1], const uint8[:, ::1], "
    f"const uint8[:, ::1], {_REST}",
    allocates=False,
)
def grow_from_bytes(
    settings: Integers, amounts: Floats, state: Keys, codes: Any, by_row: Any, columns: Integers,
    points: Floats, drawn: Integers, whole: Numbers, reals: Floats, nodes: Integers, facts: Floats,
    sets: Numbers, table: Floats, sums: Floats, gains: Floats, lists: Integers, keys: Keys,
) -> int:  # fmt: skip
    """`grow_from_bins` for up to 255 bins a column, and no categories."""
    return grow_from_bins(
        settings, amounts, state, codes, by_row, columns, points, drawn, whole, reals, nodes, facts,
        sets, table, sums, gains, lists, keys, None,
    )  # fmt: skip


@kernel(
    f"int64[::1], const float64[::1], uint64[::1], const uint32[:, ::1], "
    f"const uint32[:, ::1], {_REST}, uint8[:, ::1]",
    allocates=False,
)
def grow_from_numbers(
    settings: Integers, amounts: Floats, state: Keys, codes: Any, by_row: Any, columns: Integers,
    points: Floats, drawn: Integers, whole: Numbers, reals: Floats, nodes: Integers, facts: Floats,
    sets: Numbers, table: Floats, sums: Floats, gains: Floats, lists: Integers, keys: Keys,
    members: Bytes,
) -> int:  # fmt: skip
    """`grow_from_bins` for as many bins as one likes, and categories."""
    return grow_from_bins(
        settings, amounts, state, codes, by_row, columns, points, drawn, whole, reals, nodes, facts,
        sets, table, sums, gains, lists, keys, members,
    )  # fmt: skip


@kernel
def grow_from_bins(
    settings: Integers, amounts: Floats, state: Keys, codes: Any, by_row: Any, columns: Integers,
    points: Floats, drawn: Integers, whole: Numbers, reals: Floats, nodes: Integers, facts: Floats,
    sets: Numbers, table: Floats, sums: Floats, gains: Floats, lists: Integers, keys: Keys,
    members: Any,
) -> int:  # fmt: skip
    """Grow a tree until it is done, or there is no room for more nodes, or somebody wants a stop.

    Parameters
    ----------
    settings, amounts
        What is to be done, and how far that has come.
    state : uint64 array of shape (1,)
        Of the random numbers.
    codes : uint8 or uint32 array of shape (columns, rows)
        The bin of each cell; that after the last where it is missing.
    by_row : array of shape (rows, columns)
        The same: in a node of few rows, what one column's cells bring into the cache serves others.
    columns : int64 array of shape (columns, 3)
    points : float64 array
        Where bins lie, for cuts at random; those of column j from its place on.
    drawn : int64 array
        The columns that the tree may test.
    whole, reals : arrays of shape (4, rows)
        What is known of the tree's rows.  If `PACKED`, for two classes with whole weights, the
        line of the weights w holds integers instead, the pairs w · 2³² + w · label: one addition
        adds up both, and no labels need to be moved with the rows.
    nodes, facts, sets
        The nodes, the first of which are there already, and bits of sets of categories.
    table, sums, gains, lists, keys
        Room to work; `table` and the first list are zeros.
    members : uint8 array of shape (2, bins + 1), or None
        Room for sets of categories; None leaves out what is compiled for these.

    Returns
    -------
    int
        `DONE`, `FULL` or `STOPPED`.
    """
    words = (table.shape[0] + 31) // 32 if len(sets) else 0
    if settings[N_NODES] == 0:
        nodes[0, START], nodes[0, STOP], nodes[0, DEPTH] = 0, whole.shape[1], 0
        for word in range(CONSTANT, nodes.shape[1]):
            nodes[0, word] = 0
        settings[N_NODES] = 1
        make_node(
            0, settings, amounts, state, codes, by_row, columns, points, drawn, whole, reals, nodes,
            facts, sets, table, sums, gains, lists, keys, members,
        )  # fmt: skip
    while settings[N_WAITING] > 0:
        n_nodes = settings[N_NODES]
        if settings[STOP_ASKED]:
            return STOPPED
        if (n_nodes + 1) // 2 >= settings[MAX_LEAVES]:
            break
        if n_nodes + 2 > len(nodes) or settings[N_WORDS] + 2 * words > len(sets):
            return FULL
        node = next_node(settings, nodes, facts)
        middle = divide(
            node, codes, by_row, columns, whole, reals, nodes, sets, settings[CRITERION],
            settings[PACKED],
        )  # fmt: skip
        nodes[node, LEFT] = n_nodes
        settings[N_NODES] += 2
        for side in range(2):
            child = n_nodes + side
            nodes[child, START] = middle if side else nodes[node, START]
            nodes[child, STOP] = nodes[node, STOP] if side else middle
            nodes[child, DEPTH] = nodes[node, DEPTH] + 1
            for word in range(CONSTANT, nodes.shape[1]):
                nodes[child, word] = nodes[node, word]
        for child in range(n_nodes + 1, n_nodes - 1, -1):  # the left one is the last to wait
            make_node(
                child, settings, amounts, state, codes, by_row, columns, points, drawn, whole,
                reals, nodes, facts, sets, table, sums, gains, lists, keys, members,
            )  # fmt: skip
    return DONE


@kernel
def next_node(settings: Integers, nodes: Integers, facts: Floats) -> int:
    """The node whose turn it is: the last, or with a limit on the leaves that which gains most."""
    last = settings[N_WAITING] - 1
    place = last
    if settings[MAX_LEAVES] < WITHOUT_LIMIT:
        for other in range(last):
            if facts[nodes[other, WAITS], DECREASE] > facts[nodes[place, WAITS], DECREASE]:
                place = other
    node = nodes[place, WAITS]
    nodes[place, WAITS] = nodes[last, WAITS]
    settings[N_WAITING] = last
    return node


@kernel
def make_node(
    node: int, settings: Integers, amounts: Floats, state: Keys, codes: Any, by_row: Any,
    columns: Integers, points: Floats, drawn: Integers, whole: Numbers, reals: Floats,
    nodes: Integers, facts: Floats, sets: Numbers, table: Floats, sums: Floats, gains: Floats,
    lists: Integers, keys: Keys, members: Any,
) -> None:  # fmt: skip
    """Describe a node, and let it wait if it can be split."""
    describe(node, settings[CRITERION], settings[PACKED], whole, reals, nodes, facts)
    n = nodes[node, STOP] - nodes[node, START]
    if (
        nodes[node, DEPTH] >= settings[MAX_DEPTH]
        or n < max(settings[MIN_SPLIT], 2 * settings[MIN_LEAF])
        or facts[node, WEIGHT] < 2 * amounts[MIN_WEIGHT]
        or not facts[node, IMPURITY] > 0
    ):
        return
    find_split(
        node, settings, amounts, state, codes, by_row, columns, points, drawn, whole, reals, nodes,
        facts, sets, table, sums, gains, lists, keys, members,
    )  # fmt: skip
    if nodes[node, FEATURE] >= 0 and (
        facts[node, DECREASE] / amounts[ALL_WEIGHT] + EPSILON >= amounts[MIN_DECREASE]
        or amounts[MIN_DECREASE] == 0
    ):
        nodes[settings[N_WAITING], WAITS] = node
        settings[N_WAITING] += 1


@kernel
def find_split(
    node: int, settings: Integers, amounts: Floats, state: Keys, codes: Any, by_row: Any,
    columns: Integers, points: Floats, drawn: Integers, whole: Numbers, reals: Floats,
    nodes: Integers, facts: Floats, sets: Numbers, table: Floats, sums: Floats, gains: Floats,
    lists: Integers, keys: Keys, members: Any,
) -> None:  # fmt: skip
    """Find the best split among columns that vary in the node, as many as are to be looked at."""
    criterion, least, lightest = settings[CRITERION], settings[MIN_LEAF], amounts[MIN_WEIGHT]
    start, end, weight, rest = (
        nodes[node, START], nodes[node, STOP], facts[node, WEIGHT], facts[node, REST],
    )  # fmt: skip
    seen, best, n_drawn, packed = 0, np.inf, len(drawn), settings[PACKED]
    bits, cells, pairs = gains.view(np.int64), keys.view(np.uint32), reals.view(np.int64)
    pure = PURE * weight if criterion < SQUARED_ERROR else -np.inf
    for k in range(sums.shape[1]):
        sums[TOTAL, k] = facts[node, SUMS + k]
    for i in range(n_drawn):
        # If both sides are pure, no split is better.
        if seen >= settings[MAX_FEATURES] or settings[STOP_ASKED] or best <= pure:
            break
        place = i + next_below(state, n_drawn - i)
        j = drawn[place]
        drawn[place], drawn[i] = drawn[i], j
        word, bit = CONSTANT + (j >> 6), np.int64(1) << (j & 63)
        if nodes[node, word] & bit:
            continue
        n_bins = columns[j, BINS]
        varies, found, low, high, to_left, at = True, np.inf, -1, -1, False, np.nan
        done = False
        if members is not None:  # noqa: SIM102 - alone, what is below is not compiled without sets
            if columns[j, CATEGORIES]:
                done = True
                varies, found, to_left = split_categories(
                    node, j, settings, amounts, state, codes, by_row, columns, whole, reals, nodes,
                    facts, table, sums, lists, members,
                )  # fmt: skip
                if found < best:
                    for b in range(n_bins):
                        members[1, b] = members[0, b]
        if done:
            pass
        elif settings[AT_RANDOM]:
            varies, at, (found, low, high, to_left) = random_cut(
                criterion, j, start, end, n_bins, least, lightest, rest, weight, codes, by_row,
                points, columns[j, PLACE], state, whole, reals, sums,
            )  # fmt: skip
        else:
            varies, (found, low, high, to_left) = best_cut(
                criterion, packed, j, start, end, n_bins, least, lightest, rest, weight, codes,
                by_row, whole, reals, pairs, table, sums, gains, bits, lists, keys, cells,
            )  # fmt: skip
        if not varies:
            nodes[node, word] |= bit
            continue
        seen += 1
        if found < best:
            best = found
            nodes[node, FEATURE], nodes[node, LOW], nodes[node, HIGH] = j, low, high
            nodes[node, MISSING_LEFT], facts[node, DRAWN] = to_left, at
    if best < np.inf:
        facts[node, DECREASE] = cost_from(criterion, (weight, rest)) - best
        if members is not None:  # noqa: SIM102
            if columns[nodes[node, FEATURE], CATEGORIES]:
                write_set(node, settings, columns, nodes, sets, members)
