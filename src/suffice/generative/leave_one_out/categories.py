"""Categorical naive Bayes without one row, for every row.

A row takes its weight from N and n of its own class (`suffice.generative.naive_bayes.categories`).
Where no other row holds a value of it, that value is unknown without it, and K may fall: for all
classes.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from suffice.generative.leave_one_out.rows import LeftOut
from suffice.generative.naive_bayes.categories import (
    by_column,
    entries,
    is_coded,
    log_share,
    places,
    shares_of,
)
from suffice.numerics.double_double import Array
from suffice.statistics.counts.cells import integers_where_whole
from suffice.statistics.counts.values_by_class import ClassValueCounts


def log_likelihood_without(
    counts: ClassValueCounts, left: LeftOut, alpha: float, least: NDArray[np.int64]
) -> Array:
    """log p(x | y = k) of each row, under the counts without that row.

    Parameters
    ----------
    counts : ClassValueCounts
        Of rows among which are those left out.
    left : LeftOut
    alpha : float
    least : int64 array of shape (columns,)
        Least K of each column.

    Returns
    -------
    array of shape (rows, classes)
    """
    known = WithoutRows(counts, alpha, least)
    out = np.zeros((len(left.codes), len(counts.labels)))
    for j, at in enumerate(places(left.X, counts.values).T):
        out += known.log_shares(j, at, left.codes, left.weight)
    return out


class WithoutRows:
    """Counts from which rows are taken, one at a time.

    Of the rows, `at` are the places of their values in column j, k the classes, w the weights.
    """

    def __init__(self, counts: ClassValueCounts, alpha: float, least: NDArray[np.int64]) -> None:
        self.counts, self.alpha, self.least = counts, alpha, least
        self.shares = shares_of(counts, least)
        self.entries = entries(self.shares, alpha)
        self.holders = counts.counts.sum(axis=0)
        self.holders_of_any = by_column(counts.counts, self.shares.first)

    def log_shares(self, j: int, at: Any, k: Any, w: Array) -> Array:
        """Of the value of each row in column j: shape (rows, classes); 0 where it is missing."""
        out = self.entries[at]
        own = np.flatnonzero((at >= 0) & (at < self.shares.first[-1]) & (w > 0))
        if len(own):
            out[own, k[own]] = self._own(j, at[own], k[own], w[own])
            alone = own[self.holders[at[own]] == 1]
            out[alone] = self._alone(j, at[alone], k[alone], w[alone])
            if self.alpha == 0:
                out[own] = self._borrowed(out[own], j, at[own], k[own], w[own])
        return np.where((at < 0)[:, None], 0.0, out)

    def _own(self, j: int, at: Any, k: Any, w: Array) -> Array:
        """In the row's own class."""
        count = np.maximum(self.shares.held[k, at] - w, 0.0)
        count = np.where(self.counts.counts[k, at] == 1, 0.0, count)
        return log_share(count, self._total(j, k, w), self.shares.size[j], self.alpha)

    def _total(self, j: int, k: Any, w: Array) -> Array:
        """n of the row's own class."""
        return np.where(self.holders_of_any[k, j] == 1, 0.0, self.shares.total[k, j] - w)

    def _alone(self, j: int, at: Any, k: Any, w: Array) -> Array:
        """In all classes, of values that only the row itself holds."""
        none = np.zeros((len(at), len(self.counts.labels)))
        if self.alpha == 0 or not len(at) or self.holders_of_any[:, j].sum() == 1:
            return none
        total = np.tile(self.shares.total[:, j], (len(at), 1))
        total[np.arange(len(at)), k] = self._total(j, k, w)
        size = _sizes_without(self.counts.values[j])[at - self.shares.first[j]]
        return log_share(none, total, np.maximum(size, self.least[j])[:, None], self.alpha)

    def _borrowed(self, out: Array, j: int, at: Any, k: Any, w: Array) -> Array:
        """Without smoothing: the shares of all classes where one has no value in the column."""
        count = np.maximum(self.shares.held[:, at].sum(axis=0) - w, 0.0)
        total, alone = self.shares.total[:, j].sum() - w, self.holders[at] == 1
        pooled = np.where(alone, 0.0, log_share(np.where(alone, 0.0, count), total, 0, 0.0))
        empty = np.tile(self.holders_of_any[:, j] == 0, (len(at), 1))
        empty[np.arange(len(at)), k] = self.holders_of_any[k, j] == 1
        return np.where(empty & ~alone[:, None], pooled[:, None], out)


def _sizes_without(values: NDArray[Any]) -> NDArray[np.int64]:
    """For each value of a column, K when it is gone."""
    coded = is_coded(values)
    sizes = np.full(len(values), int(values[-1]) + 1 if coded else len(values) - 1)
    if values.dtype == object:
        return sizes
    # Only a value at an end, or the last that is not whole, can change what the column is.
    odd = [0, len(values) - 1]
    if values.dtype.kind == "f":
        fractions = np.flatnonzero(np.floor(values) != values)
        odd += fractions.tolist() if len(fractions) == 1 else []
    for i in odd:
        rest = integers_where_whole(np.delete(values, i))
        sizes[i] = int(rest[-1]) + 1 if is_coded(rest) else len(rest)
    return sizes
