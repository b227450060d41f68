"""Cells of a block counted by class and value.

Tables of whole numbers that span a short range, as codes of categories do, are counted by a
kernel, straight into a place for each number; every other column by finding its distinct values
first.  Both give the same counts.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import fsum
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from suffice.kernels.sums.categories import count_cells, ranges, weigh_cells
from suffice.numerics.double_double import Array, DoubleDouble, quick_two_sum
from suffice.statistics.counts.distinct import EXACT_INTEGERS, distinct

COMPILED_FROM = 1 << 15
"""Cells from which they are counted by a kernel."""

INFINITE = "infinity or a value too large"


class Counted(NamedTuple):
    """Values of each column, and rows and weight of each class that hold each of them."""

    values: tuple[NDArray[Any], ...]
    counts: NDArray[np.int64]
    weights: DoubleDouble


class Narrow(NamedTuple):
    """Columns of a table that can be counted place by place.

    Attributes
    ----------
    table : int64 or float64 array of shape (rows, all columns)
        In C order.
    columns, low, span : int64 arrays of shape (columns,)
        Which they are, their least number, and how many there are from it to the largest.
    """

    table: NDArray[Any]
    columns: NDArray[np.int64]
    low: NDArray[np.int64]
    span: NDArray[np.int64]


def count_table(
    X: NDArray[Any], codes: NDArray[np.int64], n_classes: int, weight: Array | None
) -> Counted:
    """The cells of an array of numbers; NaN is a missing cell.

    Parameters
    ----------
    X : array of shape (rows, columns)
    codes : int64 array of shape (rows,)
        Each row's class.
    n_classes : int
    weight : float64 array of shape (rows,), optional
        Positive.

    Raises
    ------
    FloatingPointError
        If a number is infinite.
    """
    if X.size < COMPILED_FROM:
        return count_columns(list(X.T), codes, n_classes, weight)
    narrow = _narrow(X, n_classes)
    places = _counted_places(narrow, codes, n_classes, weight)
    if len(narrow.columns) == X.shape[1]:
        return places
    others = np.setdiff1d(np.arange(X.shape[1]), narrow.columns)
    rest = count_columns([X[:, j] for j in others], codes, n_classes, weight)
    return _woven(np.argsort(np.concatenate([narrow.columns, others])), places, rest)


def count_columns(
    columns: Sequence[NDArray[Any]],
    codes: NDArray[np.int64],
    n_classes: int,
    weight: Array | None,
) -> Counted:
    """The cells of columns of any type, of which None and NaN are missing."""
    found = [_counted_column(column, codes, n_classes, weight) for column in columns]
    return Counted(
        tuple(part.values[0] for part in found),
        np.concatenate([part.counts for part in found], axis=1),
        _beside([part.weights for part in found]),
    )


def weights_of_groups(
    groups: NDArray[np.int64], counts: NDArray[np.int64], weight: Array | None
) -> DoubleDouble:
    """The weight of the rows of each group, of which `counts` says how many there are."""
    if weight is None:
        return DoubleDouble.of(counts.astype(np.float64))
    with np.errstate(over="ignore"):
        if not np.isfinite(weight.sum()):
            raise ValueError(
                "the weights add up to more than float64 can hold: make all of them smaller"
            )
    heft, rest = np.zeros((2, 1, len(counts)))
    if len(groups) < COMPILED_FROM // 8:
        order = np.argsort(groups, kind="stable")
        bounds = np.concatenate([[0], np.cumsum(counts)])
        ordered = weight[order].tolist()
        for g in np.flatnonzero(counts):
            some = ordered[bounds[g] : bounds[g + 1]]
            heft[0, g] = fsum(some)
            rest[0, g] = fsum([*some, -heft[0, g]])
    else:
        zero = np.zeros(1, np.int64)
        weigh_cells(
            np.ascontiguousarray(groups)[:, None], np.zeros(len(groups), np.int64),
            np.ascontiguousarray(weight), zero, zero, zero, np.zeros((1, len(counts)), np.int64),
            heft, rest,
        )  # fmt: skip
    return DoubleDouble(*quick_two_sum(heft[0], rest[0]))


def integers_where_whole(values: NDArray[Any]) -> NDArray[Any]:
    """Numbers as int64 where each of them is a whole number that it holds; text as it is."""
    kind = values.dtype.kind
    if kind == "O" or values.dtype == np.int64 or len(values) == 0:
        return values if len(values) else np.zeros(0, np.int64)
    if kind in "biu":
        return values.astype(np.int64) if int(values.max()) < 1 << 63 else values
    whole = (np.floor(values) == values).all() and float(np.abs(values).max()) < 2.0**63
    return values.astype(np.int64 if whole else np.float64)


def _narrow(X: NDArray[Any], n_classes: int) -> Narrow:
    """The columns of whole numbers that are not spread too far."""
    most = (4 * len(X) + 1024) // n_classes
    table: NDArray[Any]
    if X.dtype.kind in "biu":
        wide = X.dtype == np.uint64 and X.max() >= 1 << 63
        table = np.ascontiguousarray(X, dtype=np.uint64 if wide else np.int64)
        low, high = table.min(axis=0), table.max(axis=0)
        fits = np.full(len(low), not wide)
    else:
        table = np.ascontiguousarray(X, dtype=np.float64)
        low, high = np.full(X.shape[1], np.inf), np.full(X.shape[1], -np.inf)
        fits = np.ones(X.shape[1], np.bool_)
        ranges(table, low, high, fits)
        if np.isposinf(high).any() or np.isneginf(low).any():
            raise FloatingPointError(INFINITE)
        fits &= (low > -EXACT_INTEGERS) & (high < EXACT_INTEGERS) & (low <= high)
    with np.errstate(invalid="ignore"):
        fits &= high.astype(np.float64) - low.astype(np.float64) < most
    columns = np.flatnonzero(fits)
    low = low[columns].astype(np.int64)
    return Narrow(table, columns, low, high[columns].astype(np.int64) - low + 1)


def _counted_places(
    narrow: Narrow, codes: NDArray[np.int64], n_classes: int, weight: Array | None
) -> Counted:
    ends = np.cumsum(narrow.span)
    first, total = ends - narrow.span, int(narrow.span.sum())
    counts = np.zeros((n_classes, total), np.int64)
    heft, rest = np.zeros((2, n_classes, 0 if weight is None else total))
    where = narrow.columns, narrow.low, first
    if weight is None:
        if len(narrow.columns):
            count_cells(narrow.table, codes, *where, counts)
    elif len(narrow.columns):
        weight = np.ascontiguousarray(weight)
        weigh_cells(narrow.table, codes, weight, *where, counts, heft, rest)
    held = np.flatnonzero(counts.any(axis=0))
    counts = np.ascontiguousarray(counts[:, held])
    bounds = np.searchsorted(held, ends[:-1])
    values = held + np.repeat(narrow.low - first, narrow.span)[held]
    weights = (
        DoubleDouble.of(counts.astype(np.float64))
        if weight is None
        else DoubleDouble(*quick_two_sum(heft[:, held], rest[:, held]))
    )
    each = np.split(values, bounds) if len(ends) else []
    return Counted(tuple(part.copy() for part in each), counts, weights)


def _counted_column(
    column: NDArray[Any], codes: NDArray[np.int64], n_classes: int, weight: Array | None
) -> Counted:
    values, places = distinct(column)
    known = len(values)
    while known and (values[known - 1] is None or values[known - 1] != values[known - 1]):
        known -= 1
    values = values[:known]
    if values.dtype.kind == "f" and np.isinf(values).any():
        raise FloatingPointError(INFINITE)
    if known < len(places) and (places >= known).any():
        there = places < known
        places, codes = places[there], codes[there]
        weight = None if weight is None else weight[there]
    groups = codes * known + places
    counts = np.bincount(groups, minlength=n_classes * known)
    weights = weights_of_groups(groups, counts, weight)
    shape = (n_classes, known)
    return Counted(
        (integers_where_whole(values).copy(),),
        counts.reshape(shape),
        DoubleDouble(weights.hi.reshape(shape), weights.lo.reshape(shape)),
    )


def _woven(order: NDArray[Any], one: Counted, other: Counted) -> Counted:
    """The columns of two tables, one after the other, in another order."""
    values = (*one.values, *other.values)
    ends = np.cumsum([len(v) for v in values])
    index = np.concatenate([np.arange(ends[j] - len(values[j]), ends[j]) for j in order])
    counts = np.concatenate([one.counts, other.counts], axis=1)
    weights = _beside([one.weights, other.weights])
    return Counted(
        tuple(values[j] for j in order),
        np.ascontiguousarray(counts[:, index]),
        DoubleDouble(
            np.ascontiguousarray(weights.hi[:, index]), np.ascontiguousarray(weights.lo[:, index])
        ),
    )


def _beside(parts: Sequence[DoubleDouble]) -> DoubleDouble:
    return DoubleDouble(
        np.concatenate([part.hi for part in parts], axis=1),
        np.concatenate([part.lo for part in parts], axis=1),
    )
