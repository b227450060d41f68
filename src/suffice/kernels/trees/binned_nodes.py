"""A node of a tree that grows from bins: its sums, and its rows divided between its children."""

from __future__ import annotations

from typing import Any

import numpy as np

from suffice.kernels.compiler.compile import kernel
from suffice.kernels.trees.binned_cuts import with_more
from suffice.kernels.trees.binned_gains import unpacked
from suffice.kernels.trees.binned_layout import (
    ADDED,
    BINS,
    BUFFER,
    FEATURE,
    FEW,
    HIGH,
    IMPURITY,
    LABEL_BUFFER,
    LABELS,
    LEFT,
    LOW,
    MISSING_LEFT,
    REAL_BUFFER,
    REST,
    ROWS,
    SET,
    START,
    STOP,
    SUMS,
    TARGETS,
    VALUE,
    WEIGHT,
    WEIGHTS,
    Floats,
    Integers,
    Numbers,
    U,
)
from suffice.kernels.trees.criteria import POISSON, SQUARED_ERROR, cost_from


@kernel
def describe(
    node: int, criterion: int, packed: int, whole: Numbers, reals: Floats, nodes: Integers,
    facts: Floats,
) -> None:  # fmt: skip
    """The sums, the weight, the impurity and the value of a node's rows."""
    start, end = nodes[node, START], nodes[node, STOP]
    nodes[node, LEFT], nodes[node, FEATURE], nodes[node, SET] = -1, -2, -1
    nodes[node, MISSING_LEFT] = 0
    n_sums = facts.shape[1] - SUMS
    for k in range(n_sums):
        facts[node, SUMS + k] = 0.0
    w, rest = 0.0, 0.0
    if criterion < SQUARED_ERROR:
        add_labels(node, start, end, packed, whole, reals, facts)
        present = 0
        for k in range(n_sums):
            c = facts[node, SUMS + k]
            w += c
            rest += with_more(criterion, 0.0, c)
            present += c > 0
        facts[node, WEIGHT], facts[node, REST], facts[node, VALUE] = w, rest, 0.0
        lost = max(cost_from(criterion, (w, rest)) / w, 0.0) if present > 1 else 0.0
        facts[node, IMPURITY] = lost
        return
    low = high = first = reals[TARGETS, start]
    total = 0.0
    for i in range(U(start), U(end)):
        y = reals[TARGETS, i]
        low, high = min(low, y), max(high, y)
        w += reals[WEIGHTS, i]
        total += (y - first) * reals[WEIGHTS, i]
    mean, lost = low if low == high else first + total / w, 0.0
    for i in range(U(start), U(end)):
        y = reals[TARGETS, i]
        if criterion == POISSON:
            lost += reals[WEIGHTS, i] * (y * np.log(y / mean) if y > 0 else 0.0)
            reals[ADDED, i] = reals[WEIGHTS, i] * y
        else:
            lost += reals[WEIGHTS, i] * (y - mean) * (y - mean)
            reals[ADDED, i] = reals[WEIGHTS, i] * (y - mean)
        rest += reals[ADDED, i]
    facts[node, WEIGHT], facts[node, REST], facts[node, VALUE] = w, rest, mean
    facts[node, IMPURITY] = lost / w if low < high else 0.0
    facts[node, SUMS], facts[node, SUMS + 1] = w, rest


@kernel
def add_labels(
    node: int, start: int, end: int, packed: int, whole: Numbers, reals: Floats, facts: Floats
) -> None:
    """Add up the weights of classes; two stay in registers, others wait for what was written."""
    if facts.shape[1] > SUMS + 2:
        for i in range(U(start), U(end)):
            facts[node, U(SUMS) + U(whole[LABELS, i])] += reals[WEIGHTS, i]
        return
    if packed:
        pairs, total = reals.view(np.int64), np.int64(0)
        for i in range(U(start), U(end)):
            total += pairs[WEIGHTS, i]
        weight, of_second = unpacked(total)
        facts[node, SUMS], facts[node, SUMS + 1] = weight - of_second, of_second
        return
    first, second = 0.0, 0.0
    for i in range(U(start), U(end)):
        w = reals[WEIGHTS, i]
        of_second = w * np.float64(whole[LABELS, i])
        first += w - of_second
        second += of_second
    facts[node, SUMS], facts[node, SUMS + 1] = first, second


@kernel
def divide(
    node: int, codes: Any, by_row: Any, columns: Integers, whole: Numbers, reals: Floats,
    nodes: Integers, sets: Numbers, criterion: int, packed: int,
) -> int:  # fmt: skip
    """Put the rows that go to the left before the others; both keep their order."""
    start, end, j, first = (
        nodes[node, START], nodes[node, STOP], nodes[node, FEATURE], nodes[node, SET],
    )  # fmt: skip
    cut = U((nodes[node, LOW] + nodes[node, HIGH] - 1) >> 1)
    missing, missing_left = U(columns[j, BINS]), U(nodes[node, MISSING_LEFT])
    classes, some_missing = criterion < SQUARED_ERROR, False
    labels = classes and not packed
    left, right, few = U(start), U(start), end - start <= FEW
    for i in range(U(start), U(end)):
        row = whole[ROWS, i]
        b = U(by_row[row, U(j)]) if few else U(codes[U(j), row])
        here = U(b <= cut) | (missing_left & U(b == missing))
        some_missing |= b == missing
        if first >= 0 and b != missing:
            here = U((sets[U(first) + (b >> U(5))] >> np.uint32(b & U(31))) & np.uint32(1))
        elif first >= 0:
            here = missing_left
        w = reals[WEIGHTS, i]
        whole[ROWS, left], whole[BUFFER, right] = row, row
        reals[WEIGHTS, left], reals[REAL_BUFFER, right] = w, w
        if labels:
            label = whole[LABELS, i]
            whole[LABELS, left], whole[LABEL_BUFFER, right] = label, label
        elif not classes:
            y = reals[TARGETS, i]
            reals[TARGETS, left], reals[ADDED, right] = y, y  # what is added is written anew
        left += here
        right += U(1) - here
    gap = left - U(start)
    for i in range(left, U(end)):
        whole[ROWS, i] = whole[BUFFER, i - gap]
        reals[WEIGHTS, i] = reals[REAL_BUFFER, i - gap]
        if labels:
            whole[LABELS, i] = whole[LABEL_BUFFER, i - gap]
        elif not classes:
            reals[TARGETS, i] = reals[ADDED, i - gap]
    if not some_missing:  # what a later row lacks goes with most of these
        nodes[node, MISSING_LEFT] = 2 * gap > U(end - start)
    return np.int64(left)
