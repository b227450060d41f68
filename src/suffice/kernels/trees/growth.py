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
from suffice.kernels.trees.absolute_error import median_and_cost
from suffice.kernels.trees.category_splits import split_of_categories
from suffice.kernels.trees.criteria import (
    ABSOLUTE_ERROR,
    GINI,
    POISSON,
    SQUARED_ERROR,
    cost,
    weight_of,
)
from suffice.kernels.trees.layout import (
    ADDED,
    ALL_WEIGHT,
    ASKED,
    BINS,
    BY_TARGET,
    CATEGORIES,
    CONSTANT,
    CRITERION,
    DECREASE,
    DEPTH,
    DONE,
    DRAWN,
    FEATURE,
    FEW_VALUES,
    FULL,
    IMPURITY,
    INVERSE,
    KIND,
    KNOWN,
    KNOWN_LEFT,
    LEFT,
    LOW,
    MANY_VALUES,
    MAX_DEPTH,
    MAX_FEATURES,
    MAX_LEAVES,
    MIN_DECREASE,
    MIN_LEAF,
    MIN_SPLIT,
    MIN_WEIGHT,
    MISSING_LEFT,
    N_NODES,
    N_SEEN,
    N_WAITING,
    N_WORDS,
    PATH,
    PLAIN,
    RIGHT,
    ROW_WEIGHT,
    ROWS,
    SEED,
    SET,
    START,
    STOP,
    STOP_ASKED,
    STOPPED,
    SUMS,
    TARGET,
    TIED,
    TURN,
    VALUE,
    WAITING,
    WEIGHT,
    WEIGHTED,
)  # fmt: skip
from suffice.kernels.trees.number_splits import (
    split_by_absolute_error,
    split_of_numbers,
    write_cut,
)
from suffice.kernels.trees.partition import divide
from suffice.kernels.trees.sorted_cuts import FEW_ROWS, MISSING, add_sums

EPSILON = 2.0**-52
"""What a decrease may lack of the least one that is asked for."""

Rows = NDArray[np.uint32]
Labels = NDArray[np.uint16]
Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Bytes = NDArray[np.uint8]


ALMOST = 1 - 2.0**-40
"""The share of all impurity that a split takes which is pure on both sides, but for rounding."""


@kernel(
    "int64[::1], const float64[::1], const int64[:, ::1], uint32[:, ::1], const uint32[:, ::1], "
    "const uint16[:, ::1], const uint16[::1], const float64[:, ::1], int64[:, ::1], "
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
        From ADDED on; in classification only ROW_WEIGHT.
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
    while settings[N_WAITING] > 0:  # splits beyond the most leaves are not made
        nodes[take_last(settings, nodes), FEATURE] = -2
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


# --- a node -----------------------------------------------------------------------------------


@kernel
def describe(
    node: int, criterion: int, orders: Rows, labels: Labels, targets: Floats, nodes: Integers,
    facts: Floats,
) -> None:  # fmt: skip
    """The sums, the weight, the impurity and, in regression, the value of a node's rows."""
    start, end = nodes[node, START], nodes[node, STOP]
    nodes[node, LEFT], nodes[node, RIGHT], nodes[node, FEATURE], nodes[node, SET] = -1, -1, -2, -1
    add_sums(criterion, ROWS, start, end, orders, labels, targets, facts, node, SUMS)
    sums = facts[node, SUMS:]
    w = weight_of(criterion, sums)
    facts[node, WEIGHT], facts[node, VALUE] = w, 0.0
    if criterion < SQUARED_ERROR:
        facts[node, IMPURITY] = max(cost(criterion, sums, w) / w, 0.0)
        return
    low = high = first = targets[TARGET, orders[ROWS, start]]
    total = 0.0
    for i in range(start, end):
        row = orders[ROWS, i]
        y = targets[TARGET, row]
        low, high = min(low, y), max(high, y)
        total += (y - first) * targets[ROW_WEIGHT, row]
    value, lost = low, 0.0
    if low < high and criterion == ABSOLUTE_ERROR:
        value, lost = median_and_cost(
            orders[BY_TARGET, start:end], targets[TARGET], targets[ROW_WEIGHT]
        )
    elif low < high:
        value = first + total / w
        for i in range(start, end):
            row = orders[ROWS, i]
            y = targets[TARGET, row]
            if criterion == POISSON:
                error = y * np.log(y / value) if y > 0 else 0.0
            else:
                error = (y - value) * (y - value)
            lost += targets[ROW_WEIGHT, row] * error
    facts[node, VALUE], facts[node, IMPURITY] = value, lost / w


@kernel
def may_split(
    node: int, settings: Integers, amounts: Floats, nodes: Integers, facts: Floats
) -> bool:
    """Whether a node is not a leaf from the start."""
    n = nodes[node, STOP] - nodes[node, START]
    return (
        nodes[node, DEPTH] < settings[MAX_DEPTH]
        and n >= settings[MIN_SPLIT]
        and n >= 2 * settings[MIN_LEAF]
        and facts[node, WEIGHT] >= 2 * amounts[MIN_WEIGHT]
        and facts[node, IMPURITY] > 0
    )


# --- its best split ---------------------------------------------------------------------------


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
                if k < least or (tied and ranks[j, row] == ranks[j, orders[j, start + k]]):
                    continue
                d = so_far * m - total * k
                found = d * d * reals[INVERSE, k] * reals[INVERSE, n - k]
                if found > most:
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
    "const uint16[:, ::1], const uint16[::1], const float64[:, ::1], int64[:, ::1], "
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
        return (i + np.int64(path >> np.uint64(33))) % n_columns
    state = path + np.uint64(i + 1) * np.uint64(0x9E3779B97F4A7C15)
    state = (state ^ (state >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    state = (state ^ (state >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    state = (state ^ (state >> np.uint64(31))) >> np.uint64(1)
    k = i + np.int64(state % np.uint64(n_columns - i))
    j = lists[DRAWN, k]
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


# --- its children -----------------------------------------------------------------------------


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
