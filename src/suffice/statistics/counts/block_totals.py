"""From a block of rows to the sum of each group and column, of an array or of a sparse matrix.

Large blocks take compiled kernels, small ones NumPy; their size alone decides.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse

from suffice.kernels.sums.class_sums import add_entries, add_rows
from suffice.numerics.double_double import Array
from suffice.sources.memory.sparse import csr_on

COMPILED_FROM = 1 << 14
"""Cells from which a block is summed by compiled kernels; below, by NumPy."""

MOST_EXACT = 2.0**53
"""Sums of whole numbers below this are exact; one that reads so may have been rounded to it."""


class NegativeCellError(ValueError):
    """A cell is negative where counts are summed."""


def group_totals(
    X: Any, codes: NDArray[np.int64], n_classes: int, weight: Array | None
) -> tuple[Array, bool]:
    """The sums of the classes, and whether they are exact.

    Parameters
    ----------
    X : array or CSR array of shape (rows, columns)
        NaN makes the sum NaN that it is part of.
    codes : array of shape (rows,)
        The class of each row.
    n_classes : int
    weight : array of shape (rows,), positive, or None

    Raises
    ------
    NegativeCellError
        If a cell is negative.
    """
    sums = np.zeros((n_classes, X.shape[1]))
    w = np.zeros(0) if weight is None else np.ascontiguousarray(weight)
    if issparse(X):
        data = np.ascontiguousarray(X.data, dtype=np.float64)
        kind = np.int32 if X.indices.dtype == X.indptr.dtype == np.int32 else np.int64
        where = [np.ascontiguousarray(part, dtype=kind) for part in (X.indices, X.indptr)]
        add: Any = add_entries if data.size >= COMPILED_FROM else add_entries_by_numpy
        noted = add(data, *where, codes, w, sums)
    else:
        rows = np.ascontiguousarray(X, dtype=np.float64)
        add = add_rows if rows.size >= COMPILED_FROM else add_rows_by_numpy
        noted = add(rows, codes, w, sums)
    if noted & 2:
        raise NegativeCellError("negative values")
    return sums, not noted & 1 and sums.max(initial=0.0) < MOST_EXACT


def add_rows_by_numpy(rows: Array, codes: NDArray[np.int64], weight: Array, sums: Array) -> int:
    """What the kernel of rows does, for few of them."""
    values = rows * weight[:, None] if len(weight) else rows
    return _add_at(sums, codes, values)


def add_entries_by_numpy(
    data: Array, indices: Any, indptr: Any, codes: Any, weight: Array, sums: Array
) -> int:
    """What the kernel of entries does, for few of them."""
    rows = np.repeat(np.arange(len(codes)), np.diff(indptr))
    values = data * weight[rows] if len(weight) else data
    return _add_at(sums, (codes[rows], indices), values)


def _add_at(sums: Array, place: Any, values: Array) -> int:
    with np.errstate(invalid="ignore", over="ignore"):
        np.add.at(sums, place, values)
        fractions = bool((np.rint(values) != values).any())
    return fractions + 2 * bool((values < 0).any())


def split_missing(X: Any) -> tuple[Any, Any]:
    """Where cells are missing, as ones; and the rows with zeros there."""
    if not issparse(X):
        absent = np.isnan(X)
        return absent.astype(np.float64), np.where(absent, 0.0, X)
    absent = np.isnan(X.data)
    there = np.where(absent, 0.0, X.data)
    form = X.indices, X.indptr, X.shape
    return csr_on(absent.astype(np.float64), *form), csr_on(there, *form)
