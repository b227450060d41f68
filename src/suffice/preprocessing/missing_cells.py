"""Missing cells: where they are, rows without them, and rows with something in their place.

Rows are arrays, CSR arrays or `Columns`.  A `marker` says what stands for a missing cell: NaN
(then None, NaN and pandas.NA are one and the same), a number or a text.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, hstack, issparse

from suffice.fitting.categories import is_missing
from suffice.fitting.tables import object_column
from suffice.sources import Columns
from suffice.sources.memory.frames import FrameSource, is_frame
from suffice.sources.memory.sparse import canonical_csr, csr_on

Mask = NDArray[np.bool_]


def rows_of(X: Any) -> Any:
    """Rows in memory: numbers with NaN, and text with None, where a cell is missing."""
    if is_frame(X):
        source = FrameSource(X)
        return source.rows(0, source.n_rows).X
    if issparse(X) or X.dtype != object:
        return X
    columns = [_without_objects(column, j) for j, column in enumerate(X.T)]
    if any(column.dtype == object for column in columns):
        return Columns(columns)
    return np.column_stack(columns)


def _without_objects(column: NDArray[np.object_], j: int) -> NDArray[Any]:
    values = object_column(column, f"column {j}").values
    blank = np.fromiter(map(is_missing, values), bool, len(values))
    if any(isinstance(value, str) for value in values):
        return filled(values, blank, None)
    return filled(values, blank, np.nan).astype(np.float64)


def mask_of(values: NDArray[Any], marker: Any) -> Mask:
    """Where cells are missing."""
    if is_missing(marker):
        if values.dtype == object:
            return np.array([value is None for value in values.tolist()], dtype=bool)
        return np.isnan(values) if values.dtype.kind == "f" else np.zeros(values.shape, bool)
    if isinstance(marker, str) != (values.dtype == object):
        return np.zeros(values.shape, bool)
    return np.asarray(values == marker, dtype=bool)


def filled(column: NDArray[Any], mask: Mask, value: Any) -> NDArray[Any]:
    """A copy of a column with a value where the mask is."""
    out = column.copy()
    out[mask] = value
    return out


def blanked(X: Any, marker: Any) -> tuple[Any, NDArray[np.int64]]:
    """Rows with NaN or None in missing cells, and how many cells of each column these are."""
    if issparse(X):
        mask = mask_of(X.data, marker)
        data = np.where(mask, np.nan, X.data)
        missing = np.bincount(X.indices[mask], minlength=X.shape[1])
        return csr_on(data, X.indices, X.indptr, X.shape), missing
    if isinstance(X, Columns):
        masks = [mask_of(column, marker) for column in X.columns]
        blanks = [
            filled(column, mask, None if column.dtype == object else np.nan)
            for mask, column in zip(masks, X.columns, strict=True)
        ]
        return Columns(blanks), np.array([mask.sum() for mask in masks], np.int64)
    mask = mask_of(X, marker)
    return np.where(mask, np.nan, X), mask.sum(axis=0)


def refuse_nan(X: Any) -> None:
    """Raise FloatingPointError if a number is NaN."""
    values = X.data if issparse(X) else X
    columns = values.columns if isinstance(values, Columns) else (values,)
    for column in columns:
        if column.dtype.kind == "f" and np.isnan(column).any():
            raise FloatingPointError("NaN")


def fill(X: Any, values: Sequence[Any], marker: Any, marked: Sequence[int]) -> Any:
    """Rows with `values` in missing cells.

    Parameters
    ----------
    X : array, CSR array or Columns
    values : sequence
        One for each column; NaN for a column that is left out.
    marker : object
    marked : sequence of int
        Columns whose missing cells are marked with ones in further columns.
    """
    valid = [j for j, value in enumerate(values) if not is_missing(value)]
    change = _fill_sparse if issparse(X) else _fill_array
    return (_fill_columns if isinstance(X, Columns) else change)(X, values, marker, marked, valid)


def _fill_array(
    X: Any, values: Sequence[Any], marker: Any, marked: Sequence[int], valid: Sequence[int]
) -> Any:
    mask = mask_of(X, marker)
    fills = np.array([values[j] for j in valid])
    out = X[:, valid]  # a copy
    if fills.dtype.kind == "f" and out.dtype.kind in "iu" and mask.any():
        fills = fills.astype(out.dtype)
    np.copyto(out, fills, where=mask[:, valid], casting="unsafe")
    if not len(marked):
        return np.ascontiguousarray(out)
    return np.hstack([out, mask[:, list(marked)].astype(out.dtype)])


def _fill_columns(
    X: Columns, values: Sequence[Any], marker: Any, marked: Sequence[int], valid: Sequence[int]
) -> Columns:
    columns = [filled(X.column(j), mask_of(X.column(j), marker), values[j]) for j in valid]
    return Columns(columns + [mask_of(X.column(j), marker).astype(np.float64) for j in marked])


def _fill_sparse(
    X: Any, values: Sequence[Any], marker: Any, marked: Sequence[int], valid: Sequence[int]
) -> Any:
    mask = mask_of(X.data, marker)
    fills = np.array([0.0 if is_missing(value) else value for value in values])
    data = np.where(mask, fills[X.indices], X.data)
    out = csr_on(data, X.indices, X.indptr, X.shape)
    if len(valid) < X.shape[1]:
        out = out[:, valid]
    if len(marked):
        ones = (mask.astype(data.dtype), X.indices, X.indptr)
        marks = csr_array(ones, shape=X.shape, copy=True)
        marks.eliminate_zeros()
        out = hstack([out, marks[:, list(marked)]], format="csr")
    return canonical_csr(out)
