"""What a node of a growing tree is: the sums, the impurity and the value of its rows."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from suffice.kernels.compiler.compile import kernel
from suffice.kernels.trees.absolute_error import median_and_cost
from suffice.kernels.trees.criteria import ABSOLUTE_ERROR, POISSON, SQUARED_ERROR, cost, weight_of
from suffice.kernels.trees.layout import (
    ADDED,
    BY_TARGET,
    DEPTH,
    FEATURE,
    IMPURITY,
    LEFT,
    MAX_DEPTH,
    MIN_LEAF,
    MIN_SPLIT,
    MIN_WEIGHT,
    RIGHT,
    ROW_WEIGHT,
    ROWS,
    SET,
    START,
    STOP,
    SUMS,
    TARGET,
    VALUE,
    WEIGHT,
)
from suffice.kernels.trees.sorted_cuts import add_sums

Rows = NDArray[np.uint32]
Labels = NDArray[np.uint16]
Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Bytes = NDArray[np.uint8]


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
    if criterion == SQUARED_ERROR:
        facts[node, SUMS + 1] = centre(start, end, value, orders, targets)


@kernel
def centre(start: int, end: int, mean: float, orders: Rows, targets: Floats) -> float:
    """Take the targets of a node's rows from its mean, as they are added up; their sum.

    They are rounded to multiples of a power of two so small that float64 adds them without error.
    """
    size = 0.0
    for i in range(start, end):
        row = orders[ROWS, i]
        size += abs(targets[TARGET, row] - mean) * targets[ROW_WEIGHT, row]
    unit = 2.0 ** (np.ceil(np.log2(size)) - 52) if size > 0 else 1.0
    total = 0.0
    for i in range(start, end):
        row = orders[ROWS, i]
        share = (targets[TARGET, row] - mean) * targets[ROW_WEIGHT, row]
        targets[ADDED, row] = np.round(share / unit) * unit
        total += targets[ADDED, row]
    return total


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
