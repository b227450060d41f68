"""Cells as bins of one byte, and the thresholds that lie between bins."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from heapq import heapify, heappop, heappush
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse

from suffice.engines.engine import Stopped
from suffice.engines.passes import each
from suffice.numerics.cached import cached_property
from suffice.numerics.double_double import Array
from suffice.sources import Block
from suffice.statistics.counts.distinct import locate
from suffice.statistics.counts.labels import coded
from suffice.trees.growing.overview import Overview, columns_of, few_numbers

SPARE = 4
"""Which part of the bounds of a column are not quantiles: one of so many."""

LITTLE = 0.01
"""Variance within bins that quantiles may leave: those of a normal column leave 0.002."""

BYTE = 255
"""Bins of a column whose cells take a byte, that of missing cells not counted."""


@dataclass(frozen=True, eq=False)
class ColumnBins:
    """The bins of a column.

    Attributes
    ----------
    categories : array, or None
        A bin each, where the column holds categories.
    values : float64 array, or None
        A bin each, where all distinct numbers are bins.
    edges : float64 array
        Of a column of numbers the largest that belong to each bin but the last.
    """

    categories: NDArray[Any] | None
    values: Array | None
    edges: Array

    @property
    def n_bins(self) -> int:
        """Bins, that of missing cells not counted."""
        if self.categories is not None:
            return len(self.categories)
        return len(self.edges) + 1 if self.values is None else len(self.values)

    def codes(self, column: NDArray[Any]) -> NDArray[np.int64]:
        """The bin of each cell; `n_bins` where it is missing, or of an unknown category."""
        if self.categories is not None:
            found = locate(column, self.categories)
            return np.where(found < 0, self.n_bins, found)
        column = np.asarray(column, np.float64)
        found = np.searchsorted(self.edges, column)
        found[np.isnan(column)] = self.n_bins
        return found

    def threshold(self, last: int, following: int) -> float:
        """Up to which number cells go to the left, between two bins that have rows.

        Parameters
        ----------
        last, following : int
            The second is `n_bins` if all that is known goes to the left.
        """
        if following == self.n_bins:
            return float("inf")
        if self.values is None:
            return float(self.edges[last])
        return float(midpoints(self.values[[last, following]])[0])


def midpoints(values: Array) -> Array:
    """Numbers between neighbours, the lower one where there is none."""
    low, high = values[:-1], values[1:]
    middle = low / 2 + high / 2
    return np.where((middle >= high) | (middle < low), low, middle)


def quantile_edges(sample: Array, max_bins: int) -> Array:
    """Bounds between bins that hold about as many numbers of a sample each, but for the tails.

    A number more frequent than that counts as one bin's worth: the others share the rest.  Where
    bins between quantiles keep more than a little of the variance within them, a quarter of the
    bounds goes to where they are too wide: the two outer ones are halved until a number stands
    alone, and the rest divides where the sum of squares within bins decreases most.  Without them,
    the largest 1/255 of skewed amounts, which may have most of their variance, would be one bin.
    """
    values, counts = np.unique(sample[~np.isnan(sample)] + 0.0, return_counts=True)
    if len(values) <= max_bins:
        return midpoints(values)
    cuts = _between_quantiles(counts, max_bins)
    if _share_within(values, counts, cuts) <= LITTLE:
        return midpoints(values)[np.array(cuts) - 1]
    cuts = _between_quantiles(counts, max_bins - max_bins // SPARE)
    left, right = (cuts[0], len(values) - cuts[-1]) if cuts else (0, 0)
    while max(left, right) > 1 and len(cuts) + 2 < max_bins:
        left, right = left // 2, right // 2
        cuts += [left] * (left > 0) + [len(values) - right] * (right > 0)
    cuts += _wide(values, counts, sorted(cuts), max_bins - 1 - len(cuts))
    return midpoints(values)[np.sort(cuts) - 1]


def _between_quantiles(counts: NDArray[np.int64], n: int) -> list[int]:
    """Where about equally many numbers lie on both sides of n − 1 cuts."""
    share = np.minimum(counts, -(-counts.sum() // n))
    middle = (2 * np.cumsum(share) - share) * n // (2 * share.sum())
    found: list[int] = (np.flatnonzero(middle[1:] > middle[:-1]) + 1).tolist()
    return found


def _share_within(values: Array, counts: NDArray[np.int64], cuts: list[int]) -> float:
    """Which share of the sum of squares about the mean is within bins."""
    away = values - np.average(values, weights=counts)
    away = away / np.abs(away).max()  # whose squares are numbers
    starts = [0, *cuts]
    weight, total = (np.add.reduceat(one, starts) for one in (counts, counts * away))
    whole = float(counts @ away**2)
    return 1.0 - float((total**2 / weight).sum()) / whole


def _wide(values: Array, counts: NDArray[np.int64], cuts: list[int], n_more: int) -> list[int]:
    """Further cuts, each where it takes most from the sum of squares within its bin."""
    scaled = values / max(abs(values[0]), abs(values[-1]))  # whose squares are numbers
    weight, total = (np.cumsum([0.0, *one]) for one in (counts, counts * scaled))

    def best(first: int, last: int) -> tuple[float, int, int, int]:
        if last - first < 2:
            return 0.0, first, last, last
        w, s = (one[first : last + 1] - one[first] for one in (weight, total))
        gain = s[1:-1] ** 2 / w[1:-1] + (s[-1] - s[1:-1]) ** 2 / (w[-1] - w[1:-1])
        place = int(gain.argmax())
        return float(s[-1] ** 2 / w[-1] - gain[place]), first, last, first + 1 + place

    more: list[int] = []
    heap = [best(*ends) for ends in pairwise([0, *cuts, len(values)])]
    heapify(heap)
    while heap[0][0] < 0 and len(more) < n_more:
        _, first, last, cut = heappop(heap)
        more.append(cut)
        heappush(heap, best(first, cut))
        heappush(heap, best(cut, last))
    return more


def bins_of(
    overview: Overview, n_jobs: int | None = None, most_exact: int = 0
) -> tuple[ColumnBins, ...]:
    """The bins of all columns; quantiles are taken of several columns at a time.

    Parameters
    ----------
    overview : Overview
    n_jobs : int, optional
    most_exact : int
        Rows up to which every value is a bin, however many there are.
    """
    look, sample = overview.look, overview.sample
    places = np.cumsum([not one for one in look.categorical]) - 1
    exact = sum(map(len, sample.rows)) == overview.count <= most_exact

    def of_sample(j: int) -> Array:  # one at a time: a copy of all would be as large as the rows
        return np.concatenate([rows[:, places[j]] for rows in sample.rows])

    def of_column(j: int, stopped: Stopped) -> ColumnBins:
        values = overview.values[j]
        if values is None and exact:
            values = few_numbers(of_sample(j), overview.count)
        if values is None:
            return ColumnBins(None, None, quantile_edges(of_sample(j), look.max_bins))
        if look.categorical[j]:
            return ColumnBins(values, None, np.empty(0))
        values = values.astype(np.float64)
        return ColumnBins(None, values, midpoints(values))

    return tuple(each(list(range(len(places))), of_column, n_jobs))


def cells_by_column(X: Any) -> Iterator[tuple[NDArray[np.int32] | None, NDArray[Any]]]:
    """The cells of each column; of sparse rows which have a cell, and these, and last a zero."""
    if not issparse(X):
        yield from ((None, column) for column in columns_of(X))
        return
    X = X.tocsc()
    X.sum_duplicates()
    for start, end in pairwise(X.indptr.tolist()):
        yield X.indices[start:end], np.append(X.data[start:end], 0.0)


@dataclass(frozen=True, eq=False)
class Coding:
    """The columns that a fit keeps of its rows.

    Attributes
    ----------
    bins : tuple of ColumnBins
    labels : array of shape (classes,), or None
        None in regression.
    centre : float
        Taken from the target of a regression.
    """

    bins: tuple[ColumnBins, ...]
    labels: NDArray[Any] | None
    centre: float

    @cached_property
    def is_wide(self) -> NDArray[np.bool_]:
        """Columns whose cells take two bytes."""
        return np.array([one.n_bins > BYTE for one in self.bins], np.bool_)

    @cached_property
    def places(self) -> NDArray[np.int64]:
        """Where each column's bins begin, one after the other, and where all end."""
        return np.cumsum([0, *(one.n_bins + 1 for one in self.bins)])

    def __call__(self, block: Block) -> dict[str, NDArray[Any]]:
        """The bins of a block, and its target."""
        wide = self.is_wide
        narrow = np.empty((block.n_rows, np.count_nonzero(~wide)), np.uint8)
        most = max((one.n_bins for one in self.bins), default=0)
        dtype = np.uint16 if most <= np.iinfo(np.uint16).max else np.uint32
        broad = np.empty((block.n_rows, np.count_nonzero(wide)), dtype)
        place = np.where(wide, np.cumsum(wide), np.cumsum(~wide)) - 1
        for j, (rows, column) in enumerate(cells_by_column(block.X)):
            codes = self.bins[j].codes(column)
            to = (broad if wide[j] else narrow)[:, place[j]]
            if rows is None:
                to[:] = codes
            else:
                to[:] = codes[-1]
                to[rows] = codes[:-1]
        out: dict[str, NDArray[Any]] = {"narrow": narrow, "wide": broad}
        there = slice(None) if block.weight is None else block.weight > 0
        assert block.y is not None
        y = block.y[there]
        if self.labels is None:
            out["target"] = np.zeros(block.n_rows)
            out["target"][there] = y.astype(np.float64) - self.centre
            return out
        out["label"] = np.zeros(block.n_rows, np.uint16)
        if len(y):
            found, codes = coded(y)
            out["label"][there] = np.maximum(locate(found, self.labels), 0)[codes]
        return out
