"""Where C4.5 cuts columns of numbers.

A cut lies between two values that follow one another at the node.  Either side needs a tenth of the
rows that have a value, divided by the number of classes; but no fewer than `minimum`, and no more
than 25 unless `minimum` says so.  As the best of many cuts looks better than it is, its gain is
reduced by log₂(cuts)/|D|.

Reference: Quinlan, "Improved use of continuous attributes in C4.5" (1996).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from suffice.trees.multiway.gain import TIE, first_best, split_information, xlog2x
from suffice.trees.multiway.growing import Cases
from suffice.trees.multiway.tree import Codes, Floats

TOGETHER = 1 << 20
"""Cells of the columns that are cut at a time."""

MOST_BESIDE = 25.0
"""Rows that a side of a cut needs at most."""


class MultiwaySplit(NamedTuple):
    """A test of a column.

    Attributes
    ----------
    column : int
    gain : float
    information : float
        Of the split itself.
    between : float
        The middle of the two values that a cut lies between; NaN for categories.
    """

    column: int
    gain: float
    information: float
    between: float


def best_cuts(
    cases: Cases, rows: Codes, weight: Floats, columns: Codes, minimum: float
) -> Iterator[MultiwaySplit]:
    """The best cut of each column of numbers, where one gains anything.

    Parameters
    ----------
    cases : Cases
    rows, weight : arrays
        The rows of a node.
    columns : int array
        Those that hold numbers.
    minimum : float
        Least weight of either side.
    """
    step = max(1, TOGETHER // len(rows))
    for start in range(0, len(columns), step):
        yield from _cuts_of(cases, rows, weight, columns[start : start + step], minimum)


def _cuts_of(
    cases: Cases, rows: Codes, weight: Floats, columns: Codes, minimum: float
) -> Iterator[MultiwaySplit]:
    values = cases.cells[rows[:, None], columns]
    order = np.argsort(values, axis=0)  # what is missing comes last
    values = np.take_along_axis(values, order, axis=0)
    each = np.where(np.isnan(values), 0.0, weight[order])
    below = np.cumsum(each, axis=0)
    total, known = weight.sum(), below[-1]
    least = np.maximum(np.minimum(0.1 * known / cases.n_classes, MOST_BESIDE), minimum) - TIE
    allowed = np.zeros(values.shape, dtype=bool)
    allowed[:-1] = values[1:] > values[:-1]
    allowed &= (below >= least) & (below <= known - least)
    tries = allowed.sum(axis=0)
    if not tries.any():
        return
    labels, n_classes = cases.labels_of(rows)
    bits = bits_of_sides(labels[order], each, n_classes)
    gains = np.where(allowed, (bits[-1] - bits) / total, -np.inf)
    gains -= np.log2(np.maximum(tries, 1)) / total
    for c in np.flatnonzero(tries):
        best = first_best(gains[:, c])
        if gains[best, c] > 0:
            sides = [below[best, c], known[c] - below[best, c]]
            gap = total - known[c] if np.isnan(values[-1, c]) else 0.0
            information = split_information(np.array(sides)[:, None], missing=gap)
            split = int(columns[c]), float(gains[best, c]), float(information[0])
            middle = _middle(float(values[best, c]), float(values[best + 1, c]))
            yield MultiwaySplit(*split, middle)


def bits_of_sides(labels: Codes, weight: Floats, n_classes: int) -> Floats:
    """Σ |Dᵛ| Ent(Dᵛ) over the two sides of a cut after each row; after the last, of all rows.

    With f(c) = c log₂ c, a side of weights c has f(Σ c) − Σ f(c).  From cut to cut one row, and so
    one class, changes sides: Σ f(c) follows by adding differences, for any number of classes.

    Parameters
    ----------
    labels : int array of shape (rows, columns)
        Of the rows in the order of each column's values.
    weight : array of the same shape
        0 where a row has no value.
    n_classes : int

    Examples
    --------
    >>> bits_of_sides(np.array([[0], [0], [1], [1]]), np.ones((4, 1)), 2).round(3).ravel().tolist()
    [2.755, 0.0, 2.755, 4.0]
    """
    own = labels + n_classes * np.arange(labels.shape[1])
    whole = np.bincount(own.ravel(), weight.ravel(), n_classes * labels.shape[1])
    # How much of its class has come with each row: a running sum within each class.
    grouped = np.argsort(own, axis=0, kind="stable")
    group = np.take_along_axis(own, grouped, axis=0)
    running = np.cumsum(np.take_along_axis(weight, grouped, axis=0), axis=0)
    of_columns = whole.reshape(-1, n_classes)
    before = (np.cumsum(of_columns, axis=1) - of_columns).ravel()
    low = np.empty(weight.shape)
    np.put_along_axis(low, grouped, running - before[group], axis=0)
    high = np.maximum(whole[own] - low, 0.0)
    sums = xlog2x(low) - xlog2x(np.maximum(low - weight, 0.0))
    sums += xlog2x(high) - xlog2x(high + weight)
    size = np.cumsum(weight, axis=0)
    inside = np.cumsum(sums, axis=0) + xlog2x(of_columns).sum(axis=1)
    return np.asarray(xlog2x(size) + xlog2x(np.maximum(size[-1] - size, 0.0)) - inside)


def _middle(low: float, high: float) -> float:
    middle = low / 2 + high / 2
    return middle if middle < high else low  # neighbours among floats have none in between
