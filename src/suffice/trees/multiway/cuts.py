"""Where C4.5 cuts columns of numbers.

A cut lies between two values that follow one another at the node.  Each side must have a tenth of
what the rows with a value would give each class if divided equally, though no less than
`minimum` and no more than 25 unless `minimum` is.  As the best of many cuts looks better than it is, its
gain is reduced by log₂(cuts)/|D|.

Reference: Quinlan, "Improved use of continuous attributes in C4.5" (1996).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from suffice.trees.multiway.gain import TIE, first_best, gain, split_information
from suffice.trees.multiway.growing import Cases
from suffice.trees.multiway.tree import Codes, Floats

TOGETHER = 1 << 20
"""Numbers in the tables of the columns that are cut at a time."""

MOST_BESIDE = 25.0
"""Rows that a side of a cut needs at most."""


class Split(NamedTuple):
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
) -> Iterator[Split]:
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
) -> Iterator[Split]:
    values = cases.cells[rows[:, None], columns]
    order = np.argsort(values, axis=0)  # what is missing comes last
    values = np.take_along_axis(values, order, axis=0)
    each = np.where(np.isnan(values), 0.0, weight[order])
    below = np.zeros((*values.shape, cases.n_classes))
    np.put_along_axis(below, cases.labels[rows][order][..., None], each[..., None], axis=2)
    below = np.cumsum(below, axis=0, out=below)
    whole, known = below[-1], below[-1].sum(axis=1)
    total = weight.sum()
    size = below[:-1].sum(axis=2)
    least = np.maximum(np.minimum(0.1 * known / cases.n_classes, MOST_BESIDE), minimum) - TIE
    allowed = (values[1:] > values[:-1]) & (size >= least) & (size <= known - least)
    for c in np.flatnonzero(allowed.any(axis=0)):
        at = np.flatnonzero(allowed[:, c])
        low = below[at, c]
        sides = np.stack([low, np.maximum(whole[c] - low, 0.0)], axis=1)
        tables, starts = sides.reshape(2 * len(at), -1), np.arange(0, 2 * len(at), 2)
        missing = max(total - known[c], 0.0) if np.isnan(values[-1, c]) else 0.0
        gains = gain(tables, starts, missing) - np.log2(len(at)) / total
        best = first_best(gains)
        if gains[best] > 0:
            information = split_information(sides[best], (0,), missing)
            between = values[at[best], c] / 2 + values[at[best] + 1, c] / 2
            yield Split(int(columns[c]), float(gains[best]), float(information[0]), float(between))
