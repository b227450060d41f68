"""Columns of rows in memory as growth keeps them.

A column of more than `FEW` values is sorted once, and growth carries its order down the tree; one
of fewer, and one of categories, is kept as a code for each row.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from suffice.engines.engine import Stopped
from suffice.engines.passes import each
from suffice.kernels.trees.columns import code_few, rank_cells
from suffice.kernels.trees.layout import (
    BINS,
    CATEGORIES,
    FEW_VALUES,
    KIND,
    MANY_VALUES,
    TIED,
    USUAL,
)

FEW = 32
"""Values up to which a column is counted in every node instead of sorted."""

MOST_CATEGORIES = 65_535
"""Of a column."""

TOGETHER = 8
"""Columns that are copied from the rows at once: as many float64 as a line of the cache holds."""

ROWS_COPIED = 4096
"""Rows of these that are copied at once: what of them is in the cache serves all columns."""

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class KeptColumns:
    """All columns of some rows.  Of `orders`, `ranks` and `codes`, only what is used takes memory.

    Attributes
    ----------
    facts : int64 array of shape (columns, 4)
        What each is, as `suffice.kernels.trees.layout` has it.
    orders : uint32 array of shape (columns + 4, rows)
        Rows sorted by a column of many values; behind these, room for other orders.
    ranks : uint32 array of shape (columns, rows)
        Where cells of such a column are equal or missing.
    codes : uint16 array of shape (columns, rows)
        Of columns of few values, or of categories.
    values : list of float64 arrays
        The few values.
    """

    facts: NDArray[np.int64]
    orders: NDArray[np.uint32]
    ranks: NDArray[np.uint32]
    codes: NDArray[np.uint16]
    values: list[Floats]


def kept_columns(
    X: NDArray[np.floating], n_categories: NDArray[np.int64], few: int, n_jobs: int | None = None
) -> KeptColumns:
    """Every column of the rows as growth keeps it.

    Parameters
    ----------
    X : float array of shape (rows, columns)
        Categories as numbers; NaN where a cell is missing.
    n_categories : int64 array of shape (columns,)
        Of each column; −1 for numbers.
    few : int
        Values up to which a column of numbers is kept as codes; 0 to sort all.
    n_jobs : int, optional
    """
    n_rows, n_columns = X.shape
    kept = KeptColumns(
        np.zeros((n_columns, 4), np.int64),
        np.empty((n_columns + 4, n_rows), np.uint32),
        np.empty((n_columns, n_rows), np.uint32),
        np.empty((n_columns, n_rows), np.uint16),
        [np.empty(0)] * n_columns,
    )

    def work(start: int, stopped: Stopped) -> None:
        part = np.empty((min(TOGETHER, n_columns - start), n_rows))
        for row in range(0, n_rows, ROWS_COPIED):
            few_rows = slice(row, row + ROWS_COPIED)
            part[:, few_rows] = X[few_rows, start : start + TOGETHER].T
        for j, cells in enumerate(part, start):
            if n_categories[j] >= 0:
                keep_categories(kept, j, cells, int(n_categories[j]))
            elif not keep_few(kept, j, cells, few):
                keep_order(kept, j, cells)

    each(list(range(0, n_columns, TOGETHER)), work, n_jobs)
    return kept


def keep_categories(kept: KeptColumns, j: int, cells: Floats, n_categories: int) -> None:
    """Keep a column of categories, −1 or NaN where one is missing."""
    kept.codes[j] = np.where(cells >= 0, cells, n_categories)
    kept.facts[j, [KIND, BINS]] = CATEGORIES, n_categories


def keep_few(kept: KeptColumns, j: int, cells: Floats, few: int) -> bool:
    """Keep a column that has few values; whether it does."""
    values, counts = np.empty(few), np.empty(few + 1, np.int64)
    n = code_few(cells, values, kept.codes[j], counts) if few else -1
    if n < 0:
        return False
    kept.facts[j, [KIND, BINS, USUAL]] = FEW_VALUES, n, np.argmax(counts)
    kept.values[j] = values[:n]
    return True


def keep_order(kept: KeptColumns, j: int, cells: Floats) -> None:
    """Keep a column of many values."""
    kept.orders[j] = np.argsort(cells)
    kept.facts[j, [KIND, TIED]] = MANY_VALUES, rank_cells(cells, kept.orders[j], kept.ranks[j])
