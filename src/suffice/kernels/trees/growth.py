"""Growth of a tree from rows in memory, one node after the other.

A node is a range of the rows, the same in every order that is kept of them.  When it is made, its
sums are added up and its best split is found; when its turn comes, the orders are divided and its
two children are made.  Depth first, the last node that was made comes next; with a limit on the
leaves, that whose split gains most.

A column is kept in one of three ways.  One of many values as an order of the rows, sorted once and
divided at every split; one of few values as a code a row, which a node counts; categories too.  A
column that does not vary in a node does not below it either, and is not looked at again.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from suffice.kernels.compiler.compile import kernel
from suffice.kernels.trees.criteria import ABSOLUTE_ERROR
from suffice.kernels.trees.layout import (
    ASKED,
    BINS,
    BY_TARGET,
    CONSTANT,
    CRITERION,
    DECREASE,
    DEPTH,
    DONE,
    FEATURE,
    FEW_VALUES,
    FULL,
    KIND,
    KNOWN,
    KNOWN_LEFT,
    LEFT,
    LOW,
    MANY_VALUES,
    MAX_LEAVES,
    MISSING_LEFT,
    N_NODES,
    N_SEEN,
    N_WAITING,
    N_WORDS,
    PATH,
    PLAIN,
    RIGHT,
    ROWS,
    SEED,
    SET,
    START,
    STOP,
    STOP_ASKED,
    STOPPED,
    TURN,
    WAITING,
)
from suffice.kernels.trees.node_splits import find_split
from suffice.kernels.trees.nodes import describe, may_split
from suffice.kernels.trees.partition import divide

Rows = NDArray[np.uint32]
Labels = NDArray[np.uint16]
Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Bytes = NDArray[np.uint8]


@kernel(
    "int64[::1], const float64[::1], const int64[:, ::1], uint32[:, ::1], const uint32[:, ::1], "
    "const uint16[:, ::1], const uint16[::1], float64[:, ::1], int64[:, ::1], "
    "float64[:, ::1], uint32[::1], uint8[::1], float64[:, ::1], float64[:, ::1], int64[:, ::1]"
)
def grow(
    settings: Integers, amounts: Floats, column: Integers, orders: Rows, ranks: Rows,
    codes: Labels, labels: Labels, targets: Floats, nodes: Integers, facts: Floats, sets: Rows,
    side: Bytes, reals: Floats, table: Floats, lists: Integers,
) -> int:  # fmt: skip
    """Grow until no node is left to be split, or more room is needed, or somebody says stop.

    Where splits are not found by numbers and sums alone, growth asks for `find_any_split` of the
    next node: compiled in here, it would cost all trees several seconds of compilation.

    What the lines and columns of the arrays are is told by `layout`.

    Parameters
    ----------
    settings : int64 array
        From CRITERION to STOP_ASKED, which others may set while this runs.
    amounts : float64 array
        From MIN_WEIGHT on.
    column : int64 array of shape (columns, 4)
        From KIND on.
    orders : uint32 array of shape (columns + 4, rows)
        The rows sorted by each column of many values, what is missing last; PLACES and the like.
    ranks : uint32 array of shape (columns, rows)
        Equal for equal cells of such a column, where there are some.
    codes : uint16 array of shape (columns, rows)
        Of columns of few values and categories; that of a missing cell is the number of values.
    labels : uint16 array of shape (rows,), empty in regression
    targets : float64 array of shape (3, rows)
        From ADDED on; in classification only ROW_WEIGHT.  By squared error, ADDED is taken from
        the mean of the node that a row is in.
    nodes, facts : int64 and float64 arrays of shape (most nodes, …)
        From START, and from IMPURITY on.
    sets : uint32 array
        Bits of the categories that go to the left.
    side : uint8 array of shape (rows,)
        Which rows go to the left.
    reals : float64 array of shape (5, rows + 1)
        From PREFIX on.
    table : float64 array of shape (most bins + 6, sums)
    lists : int64 array of shape (5, most bins or columns)
        From SLOTS on, of which all are −1, and DRAWN, which holds the columns.
    """
    best_first = settings[MAX_LEAVES] < orders.shape[1]
    if settings[N_NODES] == 0:
        plant(settings, orders, labels, targets, nodes, facts)
    words = 2 * ((lists.shape[1] + 31) // 32) if len(sets) else 0
    while settings[N_SEEN] < settings[N_NODES] or settings[N_WAITING] > 0:
        # A new node's split is found first: rows that were divided just now are still at hand.
        while settings[N_SEEN] < settings[N_NODES]:
            node = settings[N_SEEN]
            if may_split(node, settings, amounts, nodes, facts):
                if not settings[PLAIN]:
                    return ASKED
                find_split(
                    node, settings, amounts, column, orders, ranks, codes, labels, targets, nodes,
                    facts, reals, table, lists,
                )  # fmt: skip
            settings[N_SEEN] += 1
        if settings[N_WAITING] == 0 or (settings[N_NODES] + 1) // 2 >= settings[MAX_LEAVES]:
            break
        if settings[STOP_ASKED]:
            return STOPPED
        if settings[N_NODES] + 2 > len(nodes) or settings[N_WORDS] + words > len(sets):
            return FULL
        node = take_best(settings, nodes, facts) if best_first else take_last(settings, nodes)
        left = split_node(
            node, settings, column, orders, codes, labels, targets, nodes, facts, sets, side
        )
        # Orders of leaves are of no use: often neither child needs them.
        if may_split(left, settings, amounts, nodes, facts) or may_split(
            left + 1, settings, amounts, nodes, facts
        ):
            divide_orders(node, settings, column, orders, nodes, side)
    return STOPPED if settings[STOP_ASKED] else DONE


@kernel
def plant(
    settings: Integers, orders: Rows, labels: Labels, targets: Floats, nodes: Integers,
    facts: Floats,
) -> None:  # fmt: skip
    """Make the root, of all rows."""
    settings[N_NODES] = 1
    root = settings[N_SEEN]
    nodes[root, START], nodes[root, STOP], nodes[root, DEPTH] = 0, orders.shape[1], 0
    nodes[root, PATH] = settings[SEED]
    for word in range(CONSTANT, nodes.shape[1]):
        nodes[root, word] = 0
    describe(root, settings[CRITERION], orders, labels, targets, nodes, facts)


@kernel
def take_last(settings: Integers, nodes: Integers) -> int:
    """The node that was made last."""
    settings[N_WAITING] -= 1
    return nodes[settings[N_WAITING], WAITING]


@kernel
def take_best(settings: Integers, nodes: Integers, facts: Floats) -> int:
    """The node whose split decreases the impurity most, the first of several."""
    n, best = settings[N_WAITING], 0
    for i in range(1, n):
        node, other = nodes[i, WAITING], nodes[best, WAITING]
        more = facts[node, DECREASE] - facts[other, DECREASE]
        if more > 0 or (more == 0 and node < other):
            best = i
    node = nodes[best, WAITING]
    nodes[best, WAITING] = nodes[n - 1, WAITING]
    settings[N_WAITING] = n - 1
    return node


@kernel
def split_node(
    node: int, settings: Integers, column: Integers, orders: Rows, codes: Labels, labels: Labels,
    targets: Floats, nodes: Integers, facts: Floats, sets: Rows, side: Bytes,
) -> int:  # fmt: skip
    """Send a node's rows to two children, and describe these; the number of the left one."""
    start, end = nodes[node, START], nodes[node, STOP]
    middle = start + choose_sides(node, column, orders, codes, nodes, sets, side)
    divide(orders, ROWS, start, end, side)
    if settings[CRITERION] == ABSOLUTE_ERROR:
        divide(orders, BY_TARGET, start, end, side)
    left = settings[N_NODES]
    settings[N_NODES] += 2
    nodes[node, LEFT], nodes[node, RIGHT] = left, left + 1
    for child in range(left, left + 2):
        nodes[child, START] = start if child == left else middle
        nodes[child, STOP] = middle if child == left else end
        nodes[child, DEPTH] = nodes[node, DEPTH] + 1
        path = np.uint64(nodes[node, PATH]) + np.uint64(child - left + 1)
        nodes[child, PATH] = np.int64(path * np.uint64(TURN))
        for word in range(CONSTANT, nodes.shape[1]):
            nodes[child, word] = nodes[node, word]
        describe(child, settings[CRITERION], orders, labels, targets, nodes, facts)
    return left


@kernel
def choose_sides(
    node: int, column: Integers, orders: Rows, codes: Labels, nodes: Integers, sets: Rows,
    side: Bytes,
) -> int:  # fmt: skip
    """Mark the rows of a node that go to the left; how many they are."""
    start, end = nodes[node, START], nodes[node, STOP]
    j, to_left = nodes[node, FEATURE], nodes[node, MISSING_LEFT]
    if column[j, KIND] == MANY_VALUES:
        below, known = start + nodes[node, KNOWN_LEFT], start + nodes[node, KNOWN]
        for i in range(start, end):
            side[orders[j, i]] = i < below or (i >= known and to_left)
        return below - start + (end - known if to_left else 0)
    n_bins, is_number = column[j, BINS], column[j, KIND] == FEW_VALUES
    first, low, n_left = nodes[node, SET], nodes[node, LOW], 0
    for i in range(start, end):
        row = orders[ROWS, i]
        code = np.int64(codes[j, row])
        if code == n_bins:
            here = to_left
        elif is_number:
            here = np.int64(code <= low)
        else:
            here = np.int64(sets[first + (code >> 5)] >> np.uint32(code & 31)) & 1
        side[row] = here
        n_left += here
    return n_left


@kernel
def divide_orders(
    node: int, settings: Integers, column: Integers, orders: Rows, nodes: Integers, side: Bytes
) -> None:
    """Divide the node's part of every order that its children may need."""
    start, end = nodes[node, START], nodes[node, STOP]
    # The column of the cut is divided already, unless its last rows go to the left.
    moved = nodes[node, MISSING_LEFT] and nodes[node, KNOWN] < end - start
    for j in range(len(column)):
        constant = (nodes[node, CONSTANT + (j >> 6)] >> (j & 63)) & 1
        if settings[STOP_ASKED] or column[j, KIND] != MANY_VALUES or constant:
            continue
        if j != nodes[node, FEATURE] or moved:
            divide(orders, j, start, end, side)
