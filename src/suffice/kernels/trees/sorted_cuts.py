"""The best cut of a node's rows that are sorted by a column.

    decrease(i) = cost(node) − cost(rows up to i) − cost(rows after i)

Missing cells come last in the order.  They go to the right with what is above the cut, or to the
left: then the rows on the left start with them.  A cut lies between two different values, and
leaves enough rows and weight on both sides.

Two classes by Gini's index, and numbers by squared error, have the same formula if all rows weigh
the same: with m rows in all, L of them on the left, and sums S and S_L of the targets (0 and 1 for
the classes),

    decrease = f (m S_L − S L)² / (m L (m − L)),      f = 2 for classes, 1 for numbers,

which takes no division where reciprocals are at hand, and is computed for many cuts at once.
"""

from __future__ import annotations

import numpy as np

from suffice.kernels.compiler.compile import kernel
from suffice.kernels.trees.criteria import ENTROPY, GINI, SQUARED_ERROR, cost, weight_of
from suffice.kernels.trees.layout import ADDED, BACKWARDS, INVERSE, LOGS, PREFIX, ROOM, ROW_WEIGHT

MISSING = np.uint32(0xFFFFFFFF)
"""The rank of a cell that is missing."""


@kernel
def prefix_of_labels(order, labels, prefix):
    """Sums of the labels, 0 and 1, up to each row."""
    total = 0
    for i in range(len(order)):
        total += np.int64(labels[order[i]])
        prefix[i] = total


@kernel
def prefix_of_targets(order, target, prefix):
    """Sums of the targets up to each row."""
    total = 0.0
    for i in range(len(order)):
        total += target[order[i]]
        prefix[i] = total


@kernel
def squares(prefix, before, total, n, left_inverse, right_inverse, first, out):
    """(m S_L − S L)² / (L (m − L)) for cuts with `first`, first + 1, … rows on the left."""
    m = np.float64(n)
    for i in range(len(out)):
        d = (prefix[i] + before) * m - total * (np.float64(first) + i)
        out[i] = d * d * left_inverse[i] * right_inverse[i]


@kernel
def largest(values):
    """The place of the first largest of numbers that are not negative."""
    bits = values.view(np.int64)  # in the same order, and their maximum vectorises
    most = np.int64(-1)
    for i in range(len(bits)):
        most = max(most, bits[i])
    for i in range(len(bits)):
        if bits[i] == most:
            return i
    return -1


@kernel
def largest_apart(values, order, rank):
    """The same among cuts between different values; −1 if there is none."""
    most, place = -1.0, -1
    for i in range(len(values)):
        if values[i] > most and rank[order[i]] != rank[order[i + 1]]:
            most, place = values[i], i
    return place


@kernel
def best_square(
    order, known, rank, tied, prefix, total, n_before, before, least, inverse, backwards, room, best
):
    """The best cut by squares among `known` sorted rows, if it is better than `best`.

    `n_before` rows with the sum `before` are on the left already.  Returns the square and
    the number of known rows on the left, 0 if none is better.
    """
    n = len(order)
    lo = max(least - n_before, 1)  # known rows on the left
    hi = min(known, n - least - n_before)
    if hi < lo:
        return best, 0
    left = n_before + lo
    gap = len(inverse) - 1 - n
    found = room[: hi - lo + 1]
    squares(
        prefix[lo - 1 : hi], before, total, n, inverse[left:], backwards[gap + left :], left, found
    )
    place = largest(found)
    if not found[place] > best:
        return best, 0
    if tied:
        # The cut after all known rows, with what is missing on the right, is always one.
        last = np.int64(hi == known and known < n)
        place = largest_apart(found[: len(found) - last], order[lo - 1 :], rank)
        end = len(found) - 1
        if last and (place < 0 or found[end] > found[place]):
            place = end
        if place < 0 or not found[place] > best:
            return best, 0
    return found[place], lo + place


@kernel
def times_log(x):
    """x log₂ x, 0 at 0."""
    return x * np.log2(x) if x > 0 else 0.0


@kernel
def best_of_classes(
    criterion, order, known, rank, tied, labels, weight, weighted, sums, start, n_before, left,
    least, least_weight, inverse, logs, best,
):  # fmt: skip
    """The best cut by Gini's index or entropy, the costs of both sides kept up row by row.

    `start` holds the sums of the rows on the left before the first one.  Returns the decrease and
    the number of known rows on the left, 0 if no cut is better than `best`.
    """
    n = len(order)
    entropy = criterion == ENTROPY
    one = other = all_of = w_left = 0.0  # Σ c² or Σ c log c, on both sides and in the node
    w_all = weight_of(criterion, sums)
    for k in range(len(sums)):
        a, b = start[k], sums[k] - start[k]
        left[k] = a
        w_left += a
        if entropy:
            one, other, all_of = (
                one + times_log(a),
                other + times_log(b),
                all_of + times_log(sums[k]),
            )
        else:
            one, other, all_of = one + a * a, other + b * b, all_of + sums[k] * sums[k]
    common = all_of / w_all if not entropy else all_of - times_log(w_all)
    place = 0
    for i in range(known):
        row = order[i]
        k = labels[row]
        a = left[k]
        b = sums[k] - a
        if weighted:
            w = weight[row]
            if entropy:
                one += times_log(a + w) - times_log(a)
                other += times_log(b - w) - times_log(b)
        else:
            w = 1.0
            if entropy:
                p, q = np.int64(a), np.int64(b)
                one += logs[p + 1] - logs[p]
                other += logs[q - 1] - logs[q]
        if not entropy:
            one += w * (2 * a + w)
            other -= w * (2 * b - w)
        left[k] = a + w
        w_left += w
        n_left = n_before + i + 1
        if n_left < least or n - n_left < least:
            continue
        if tied and i + 1 < known and rank[row] == rank[order[i + 1]]:
            continue
        w_right = w_all - w_left
        if weighted:
            if w_left < least_weight or w_right < least_weight or not w_right > 0:
                continue
            if entropy:
                found = one + other - times_log(w_left) - times_log(w_right) - common
            else:
                found = one / w_left + other / w_right - common
        elif entropy:
            found = one + other - logs[n_left] - logs[n - n_left] - common
        else:
            found = one * inverse[n_left] + other * inverse[n - n_left] - common
        if found > best:
            best, place = found, i + 1
    return best, place


@kernel
def best_by_cost(
    criterion, order, known, rank, tied, labels, target, weight, sums, start, n_before, left, right,
    least, least_weight, best,
):  # fmt: skip
    """The best cut by any cost, that of both sides computed anew at each; as `best_of_classes`."""
    n, classes = len(order), criterion < SQUARED_ERROR
    w_all = weight_of(criterion, sums)
    common = cost(criterion, sums, w_all)
    for k in range(len(sums)):
        left[k] = start[k]
    place = 0
    for i in range(known):
        row = order[i]
        w = weight[row]
        if classes:
            left[labels[row]] += w
        else:
            left[0] += w
            left[1] += target[row]
        n_left = n_before + i + 1
        if n_left < least or n - n_left < least:
            continue
        if tied and i + 1 < known and rank[row] == rank[order[i + 1]]:
            continue
        for k in range(len(sums)):
            right[k] = sums[k] - left[k]
        w_left = weight_of(criterion, left)
        w_right = w_all - w_left
        if w_left < least_weight or w_right < least_weight or not w_right > 0:
            continue
        found = common - cost(criterion, left, w_left) - cost(criterion, right, w_right)
        if found > best:
            best, place = found, i + 1
    return best, place


@kernel
def add_sums(criterion, rows, labels, target, weight, out):
    """The sums of some rows."""
    out[:] = 0.0
    for i in range(len(rows)):
        row = rows[i]
        w = weight[row]
        if criterion < SQUARED_ERROR:
            out[labels[row]] += w
        else:
            out[0] += w
            out[1] += target[row]


@kernel
def count_known(order, rank):
    """How many rows come before those whose cell is missing."""
    known = len(order)
    while known > 0 and rank[order[known - 1]] == MISSING:
        known -= 1
    return known


@kernel
def best_sorted_cut(
    criterion, order, known, rank, tied, labels, targets, weighted, sums, least, least_weight,
    reals, sides, best,
):  # fmt: skip
    """The best cut of a node's rows sorted by a column, if it is better than `best`.

    The first `known` rows have a cell that is not missing.

    Returns
    -------
    decrease : float
    known_left : int
        Rows with a cell below the cut; 0 if no cut is better than `best`.
    missing_left : bool
    """
    n = len(order)
    added, weight = targets[ADDED], targets[ROW_WEIGHT]
    prefix, inverse, logs = reals[PREFIX], reals[INVERSE], reals[LOGS]
    start = sides[0]
    start[:] = 0.0
    two = (criterion == GINI and len(sums) == 2) or criterion == SQUARED_ERROR
    by_squares = two and not weighted
    factor = 2.0 / n if criterion == GINI else 1.0 / n
    if by_squares:
        if criterion == GINI:
            prefix_of_labels(order[:known], labels, prefix)
        else:
            prefix_of_targets(order[:known], added, prefix)
    place, missing_left = 0, False
    for turn in range(2 if known < n else 1):
        n_before = 0
        if turn == 1:
            n_before = n - known
            add_sums(criterion, order[known:], labels, added, weight, start)
        if by_squares:
            found, at = best_square(
                order, known, rank, tied, prefix, sums[1], n_before, start[1], least, inverse,
                reals[BACKWARDS], reals[ROOM], best / factor,
            )  # fmt: skip
            found *= factor
        elif criterion == GINI or criterion == ENTROPY:  # noqa: SIM109
            found, at = best_of_classes(
                criterion, order, known, rank, tied, labels, weight, weighted, sums, start,
                n_before, sides[1], least, least_weight, inverse, logs, best,
            )  # fmt: skip
        else:
            found, at = best_by_cost(
                criterion, order, known, rank, tied, labels, added, weight, sums, start, n_before,
                sides[1], sides[2], least, least_weight, best,
            )  # fmt: skip
        if at > 0:
            best, place, missing_left = found, at, turn == 1
    return best, place, missing_left
