"""Shares of categories in each class: from counts, and of rows.

    p(xⱼ = v | y = k) = (Nₖⱼᵥ + α) / (nₖⱼ + Kⱼ α)

N counts the cells of class k that hold v, and n all that are there in column j.  A value that
no row holds has N = 0.  Kⱼ is how many categories there are: of a column of codes, which
are whole numbers from 0 to at most 65,535, all up to the largest; else as many as occur; and no
fewer than are asked for.

With α = 0 a value that no class has seen would be impossible in each: it says nothing, and is left
out.  So is a column without any value; and a class without a value in a column has
the shares of all classes there.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from suffice.bayes import log_smoothed_share
from suffice.kernels.sums.categories import add_entries, place_cells
from suffice.numerics.double_double import Array
from suffice.sources import Columns
from suffice.statistics.counts.cells import COMPILED_FROM
from suffice.statistics.counts.distinct import locate
from suffice.statistics.counts.values_by_class import ClassValueCounts, starts

MOST_CODES = 1 << 16
"""Whole numbers from 0 to below this are codes: where some do not occur, they exist still."""

ROWS_AT_ONCE = 1 << 14
"""Rows whose cells are looked up at a time."""

Values = Sequence[NDArray[Any]]


def is_coded(values: NDArray[Any]) -> bool:
    """Whether the values of a column are codes of categories."""
    whole = values.dtype.kind in "iu" and len(values) > 0
    return bool(whole and values[0] >= 0 and values[-1] < MOST_CODES)


def n_categories(values: Values, least: NDArray[np.int64]) -> NDArray[np.int64]:
    """Kⱼ of each column, at least `least`."""
    found = [int(v[-1]) + 1 if is_coded(v) else len(v) for v in values]
    return np.maximum(np.array(found, dtype=np.int64), least)


class Shares(NamedTuple):
    """What is known about the categories of all columns.

    Attributes
    ----------
    held : array of shape (classes, values of all columns)
        N, the weights of the cells.
    total : array of shape (classes, columns)
        n, the weights of the cells that are there.
    size : int64 array of shape (columns,)
        K.
    first : int64 array of shape (columns + 1,)
        Where the values of each column begin.
    """

    held: Array
    total: Array
    size: NDArray[np.int64]
    first: NDArray[np.int64]

    @property
    def column(self) -> NDArray[np.int64]:
        """The column of each value."""
        return np.repeat(np.arange(len(self.size)), np.diff(self.first))


def shares_of(counts: ClassValueCounts, least: NDArray[np.int64]) -> Shares:
    """The counts as float64, with the sums over each column."""
    weights, first = counts.weights.round(), counts.first
    return Shares(weights, by_column(weights, first), n_categories(counts.values, least), first)


def by_column(cells: NDArray[Any], first: NDArray[np.int64]) -> NDArray[Any]:
    """Sums over the values of each column: shape (classes, columns)."""
    # One place more: a column without values may be the last.
    padded = np.concatenate([cells, np.zeros((len(cells), 1), cells.dtype)], axis=1)
    return np.where(np.diff(first) > 0, np.add.reduceat(padded, first[:-1], axis=1), 0)


def log_share(count: Any, total: Any, size: Any, alpha: float) -> Array:
    """log (N + α) − log (n + K α): −∞ for none of some, NaN for none of none.

    The mean of the posterior of a Dirichlet prior with α pseudo-counts of each category; its
    total is made from n, so that categories without rows need no place.
    """
    return log_smoothed_share(count, total, alpha, np.multiply(size, alpha))


def entries(shares: Shares, alpha: float) -> Array:
    """The log-shares of all values, then those of an unknown value in each column.

    Of shape (values of all columns + columns, classes).
    """
    column = shares.column
    of_all = log_share(
        shares.held.sum(axis=0), shares.total.sum(axis=0)[column], shares.size[column], alpha
    )
    known = log_share(shares.held, shares.total[:, column], shares.size[column], alpha)
    known = np.where(np.isnan(known), of_all, known)
    return np.ascontiguousarray(np.concatenate([known, unknown(shares, alpha)], axis=1).T)


def unknown(shares: Shares, alpha: float) -> Array:
    """The log-share of a value that no row holds, of shape (classes, columns)."""
    says_nothing = (shares.total.sum(axis=0) == 0) | (alpha == 0)
    return np.where(
        says_nothing, 0.0, log_share(np.zeros_like(shares.total), shares.total, shares.size, alpha)
    )


# --- rows ----------------------------------------------------------------------------------


def places(rows: Any, values: Values) -> NDArray[np.int64]:
    """The place of each cell among the entries; −1 where it is missing."""
    first = starts(values)
    kinds = {v.dtype.kind for v in values if len(v)}
    if isinstance(rows, np.ndarray) and rows.size >= COMPILED_FROM and kinds <= {"i", "f"}:
        return _compiled_places(rows, values, first)
    columns = rows.columns if isinstance(rows, Columns) else rows.T
    out = np.empty(rows.shape, np.int64)
    for j, (column, known) in enumerate(zip(columns, values, strict=True)):
        found = locate(column, known)
        out[:, j] = np.where(found < 0, first[-1] + j, first[j] + found)
        out[_missing(column), j] = -1
    return out


def _compiled_places(
    rows: NDArray[Any], values: Values, first: NDArray[np.int64]
) -> NDArray[np.int64]:
    whole = rows.dtype.kind in "biu" and all(v.dtype.kind == "i" for v in values)
    dtype: Any = np.int64 if whole and rows.dtype != np.uint64 else np.float64
    joined = np.concatenate(values) if len(values) else np.zeros(0)
    exact = dtype == np.int64 or np.abs(joined.astype(np.float64)).max(initial=0.0) < 2.0**53
    if not exact:
        return places(Columns(list(rows.T)), values)
    out = np.empty(rows.shape, np.int64)
    place_cells(
        np.ascontiguousarray(rows, dtype=dtype), np.ascontiguousarray(joined, dtype=dtype), first,
        out,
    )  # fmt: skip
    return out


def _missing(column: NDArray[Any]) -> NDArray[np.bool_]:
    if column.dtype == object:
        return np.fromiter((v is None or v != v for v in column), bool, len(column))
    return np.isnan(column) if column.dtype.kind == "f" else np.zeros(len(column), bool)


def log_likelihood(rows: Any, values: Values, table: Array) -> Array:
    """Σⱼ of the entries of the cells that are there: shape (rows, classes)."""
    out = np.zeros((rows.shape[0], table.shape[1]))
    for start in range(0, len(out), ROWS_AT_ONCE):
        some = slice(start, start + ROWS_AT_ONCE)
        found = places(rows[some], values)
        if found.size * table.shape[1] >= COMPILED_FROM:
            add_entries(found, table, out[some])
        else:
            for at in found.T:
                out[some] += np.where((at < 0)[:, None], 0.0, table[at])
    return out
