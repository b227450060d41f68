"""The cells of rows that are left out, next to the sums of their own class.

Of a dense block these are all cells, of a CSR matrix its entries: the same formulas serve both.
"""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse

from suffice.generative.leave_one_out.rows import LeftOut
from suffice.numerics.double_double import Array
from suffice.sources import Block
from suffice.statistics.counts.sums_by_class import ClassSums

LogFactor = Callable[[Array, Array, Any, Any], Array]
"""From sums N, weights W, cells x and their places to log p(x | N, W).

A place picks from a table of classes and columns what belongs to the cells.
"""


class OwnCells:
    """Cells with the row, the column and the class of each; the missing ones are 0.

    Attributes
    ----------
    x : array of shape (rows, columns), or (entries,)
    there : bool array of the same shape
        Which are not missing.
    weight : array that broadcasts to it
        The weight of each cell's row.
    columns : slice or integer array
        Picks from an array of all columns those of the cells.
    """

    def __init__(self, left: LeftOut) -> None:
        self.n_rows = left.X.shape[0]
        self.codes, self.columns = left.codes, slice(None)  # type: Any, Any
        self.rows: NDArray[np.int64] | None = None
        cells = left.X
        if issparse(cells):
            self.rows = np.repeat(np.arange(self.n_rows), np.diff(cells.indptr))
            self.columns, cells = cells.indices, cells.data
        x = np.asarray(cells, dtype=np.float64)
        self.there = ~np.isnan(x)
        self.x = x if self.there.all() else np.where(self.there, x, 0.0)
        self.weight = self.of_rows(left.weight)

    def of_rows(self, values: Array) -> Array:
        """A number of each row, for its cells."""
        return values[:, None] if self.rows is None else values[self.rows]

    @property
    def places(self) -> tuple[Any, Any]:
        """Picks from a table of classes and columns those of the cells."""
        return (self.codes if self.rows is None else self.codes[self.rows]), self.columns

    def own(self, table: Array) -> Array:
        """Numbers of each class and column (or of each class alone), for the cells."""
        if table.shape[1] == 1:
            return self.of_rows(table[self.codes, 0])
        return np.asarray(table[self.places])

    def added(self, values: Array) -> Array:
        """Sums over the cells of each row."""
        if self.rows is None:
            return np.asarray(values.sum(axis=1))
        added = np.bincount(self.rows, values, minlength=self.n_rows)
        return added.astype(np.float64, copy=False)


def log_likelihood_without(
    model: Any,
    statistic: ClassSums,
    left: LeftOut,
    log_factor: LogFactor,
    pseudo_weight: Array,
    cells: Any,
) -> Array:
    """log p(x | y = k) of each row where it takes its cells from its own class, and from no other.

    Parameters
    ----------
    model : NaiveBayes
    statistic : ClassSums
    left : LeftOut
    log_factor : function of sums, weights, cells and their places
    pseudo_weight : array of shape (columns,)
        What a prior adds to the weight of the cells of each column.
    cells : array or CSR matrix of shape (rows, columns)
        The rows as the sums count them.

    Returns
    -------
    array of shape (rows, classes)
    """
    out = model._log_likelihood(left.X)
    own = own_likelihood(statistic, left._replace(X=cells), log_factor)
    out[np.arange(len(out)), left.codes] = own
    for row in rows_that_borrow(statistic, left, pseudo_weight):
        out[row] = by_refit(model, statistic, left, row)
    return np.asarray(out)


def by_refit(model: Any, statistic: ClassSums, left: LeftOut, row: int) -> Array:
    """log p(x | y = k) of one row under the statistic without it, without any shortcut."""
    model, (X, codes, weight) = copy(model), left.at(slice(row, row + 1))
    gone = Block(X, statistic.labels[codes], weight, row)
    rest = statistic.subtract(model._summarize(gone, statistic.precision))
    model._solve_columns(rest.placed(statistic.labels))
    return np.asarray(model._log_likelihood(X)[0])


def own_likelihood(statistic: ClassSums, left: LeftOut, log_factor: LogFactor) -> Array:
    """Σⱼ log p(xⱼ | y) of each row under the sums of its own class without it.

    Parameters
    ----------
    statistic : ClassSums
    left : LeftOut
    log_factor : function of sums, weights, cells and their places
        Arrays that broadcast; −∞ is an answer, NaN is none.

    Returns
    -------
    array of shape (rows,)
    """
    cells = OwnCells(left)
    sums, weight = cells.own(statistic.sums), cells.own(statistic.cell_weight)
    w, x, places = cells.weight, cells.x, cells.places
    remaining = np.maximum(sums - w * x, 0.0), np.maximum(weight - w, 0.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        found = np.where(cells.there, log_factor(*remaining, x, places), 0.0)
        if cells.rows is None:
            return cells.added(found)
        # A row of zeros, for each class and weight; then what the entries change.
        zero = log_factor(sums, remaining[1], 0.0, places)
        whole, impossible = _rows_of_zeros(statistic, left, log_factor)
    impossible += cells.added(np.isneginf(found).astype(float) - np.isneginf(zero))
    whole += cells.added(_finite(found) - _finite(zero))
    return np.where(impossible > 0, -np.inf, whole)


def _rows_of_zeros(
    statistic: ClassSums, left: LeftOut, log_factor: LogFactor
) -> tuple[Array, Array]:
    """For each row, the sum of the finite factors of zeros, and how many are impossible."""
    weights, inverse = np.unique(left.weight, return_inverse=True)
    pairs, places = np.unique(left.codes * len(weights) + inverse, return_inverse=True)
    whole, impossible = np.empty(len(pairs)), np.empty(len(pairs))
    for i, pair in enumerate(pairs.tolist()):
        k, w = pair // len(weights), weights[pair % len(weights)]
        left_over = np.maximum(statistic.cell_weight[k] - w, 0.0)
        zero = log_factor(statistic.sums[k], left_over, 0.0, (k, slice(None)))
        zero = np.broadcast_to(zero, statistic.sums[k].shape)
        whole[i], impossible[i] = _finite(zero).sum(), np.isneginf(zero).sum()
    return whole[places], impossible[places]


def _finite(values: Array) -> Array:
    # NaN comes of a column without a value: of a missing cell, or of a row that borrows.
    return np.where(np.isfinite(values), values, 0.0)


def rows_that_borrow(statistic: ClassSums, left: LeftOut, pseudo_weight: Array) -> list[int]:
    """Rows without which a class has no value in a column, and no prior: few or none.

    There it goes by the other classes, and so changes by more than its own sums.
    """
    bare = pseudo_weight <= 0
    if not bare.any():
        return []
    weight = np.broadcast_to(statistic.cell_weight, statistic.sums.shape)
    rows, columns = _missing_cells(left.X)

    def counted(chosen: NDArray[np.bool_]) -> NDArray[np.int64]:
        return np.bincount(rows[chosen], minlength=len(left.codes))

    # Cells are few that are missing: those that are there are all columns less these.
    borrowed = bare & (weight <= 0).any(axis=0)
    found = counted(borrowed[columns]) < np.count_nonzero(borrowed)
    of_row = left.weight[rows]
    for k in np.flatnonzero(statistic.rows > 1).tolist():
        mine = (left.codes == k) & (left.weight > 0)
        scarce = np.sort(weight[k, bare])
        # Columns in which the class has no more weight than the row.
        no_more = np.searchsorted(scarce, left.weight, side="right")
        gone = bare[columns] & (weight[k, columns] <= of_row)
        found |= mine & (counted(gone) < no_more)
    return np.flatnonzero(found).tolist()


def _missing_cells(X: Any) -> tuple[NDArray[Any], NDArray[Any]]:
    """Rows and columns of the cells that are missing."""
    if not issparse(X):
        rows, columns = np.nonzero(np.isnan(X))
        return rows, columns
    # What is not stored is there.
    entries = np.flatnonzero(np.isnan(X.data))
    return np.searchsorted(X.indptr, entries, side="right") - 1, X.indices[entries]
