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

from suffice.trees.multiway.gain import TIE, first_best, gain, over_classes, split_information
from suffice.trees.multiway.growing import Cases
from suffice.trees.multiway.tree import Codes, Floats

TOGETHER = 1 << 20
"""Numbers in the tables of the columns that are cut at a time."""

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
    step = max(1, TOGETHER // (len(rows) * cases.n_classes))
    for start in range(0, len(columns), step):
        yield from _cuts_of(cases, rows, weight, columns[start : start + step], minimum)


def _cuts_of(
    cases: Cases, rows: Codes, weight: Floats, columns: Codes, minimum: float
) -> Iterator[MultiwaySplit]:
    values = cases.cells[rows[:, None], columns]
    order = np.argsort(values, axis=0)  # what is missing comes last
    values = np.take_along_axis(values, order, axis=0)
    each = np.where(np.isnan(values), 0.0, weight[order])
    below = np.zeros((*values.shape, cases.n_classes))
    np.put_along_axis(below, cases.labels[rows][order][..., None], each[..., None], axis=2)
    below = np.cumsum(below, axis=0, out=below)
    whole, known = below[-1], below[-1].sum(axis=1)
    total, gaps = weight.sum(), np.isnan(values[-1])
    size = over_classes(below[:-1])
    least = np.maximum(np.minimum(0.1 * known / cases.n_classes, MOST_BESIDE), minimum) - TIE
    allowed = (values[1:] > values[:-1]) & (size >= least) & (size <= known - least)
    c, at = np.nonzero(allowed.T)
    if not len(c):
        return
    low = below[at, c]
    sides = np.stack([low, np.maximum(whole[c] - low, 0.0)], axis=1).reshape(2 * len(c), -1)
    starts, missing = np.arange(0, 2 * len(c), 2), np.where(gaps, total - known, 0.0)[c]
    first, tries = np.unique(c, return_index=True, return_counts=True)[1:]
    gains = gain(sides, starts, missing) - np.repeat(np.log2(tries), tries) / total
    informations = split_information(sides, starts, missing)
    for start, number in zip(first, tries, strict=True):
        best = start + first_best(gains[start : start + number])
        if gains[best] > 0:
            i, j = at[best], c[best]
            split = int(columns[j]), float(gains[best]), float(informations[best])
            yield MultiwaySplit(*split, _middle(float(values[i, j]), float(values[i + 1, j])))


def _middle(low: float, high: float) -> float:
    middle = low / 2 + high / 2
    return middle if middle < high else low  # neighbours among floats have none in between
