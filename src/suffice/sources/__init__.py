"""Where rows come from: arrays, sparse matrices, data frames and files.

Every source hands out its rows in the same blocks, cut at boundaries that the
number of columns fixes; see `suffice.sources.base`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse import issparse

from suffice.sources.base import Block, Piece, Source, block_rows
from suffice.sources.derived.mapped import MappedSource
from suffice.sources.finite import describe_non_finite
from suffice.sources.memory.arrays import ArraySource
from suffice.sources.memory.columns_source import ColumnsSource
from suffice.sources.memory.frames import FrameSource, is_frame
from suffice.sources.memory.mixed import Columns
from suffice.sources.memory.sparse import SparseSource
from suffice.sources.memory.target import library
from suffice.sources.scan import FileSource, scan

__all__ = [
    "ArraySource",
    "Block",
    "Columns",
    "ColumnsSource",
    "FileSource",
    "FrameSource",
    "MappedSource",
    "Piece",
    "Source",
    "SparseSource",
    "as_source",
    "block_rows",
    "describe_non_finite",
    "scan",
]


def as_source(X: Any, y: Any = None, weight: Any = None) -> Source:
    """Whatever a user calls data, as a source of rows.

    Parameters
    ----------
    X : Source, array-like, sparse matrix, data frame or Columns of shape (rows, columns)
        A source is returned as it is.
    y : array-like of shape (rows,) or (rows, targets), optional
        The target; None if `X` is a source, which carries its own.
    weight : array-like of shape (rows,), optional
        Row weights, finite and not negative; None if `X` is a source.

    Returns
    -------
    Source

    Examples
    --------
    >>> as_source([[1.0, 2.0], [3.0, 4.0]], y=[0, 1])
    ArraySource(2 rows x 2 columns of float64)
    """
    if isinstance(X, Source):
        for name, value in (("y", y), ("weight", weight)):
            if value is not None:
                raise ValueError(
                    f"{name} must be None when X is a {type(X).__name__}, which carries its own: "
                    "name the columns when you make it, as in scan(path, target=..., weight=...)."
                )
        return X
    if type(X) is np.ndarray and X.dtype != object:
        return ArraySource(X, y, weight)
    if issparse(X):
        return SparseSource(X, y, weight)
    if is_frame(X):
        return FrameSource(X, y, weight)
    if isinstance(X, Columns):
        return ColumnsSource(X, y, weight)
    return ArraySource(_as_array(X), y, weight)


def _as_array(X: Any) -> np.ndarray[Any, Any]:
    """Lists, objects and array look-alikes as an array of numbers; what is masked becomes NaN."""
    accepted = "accepted are arrays, lists of rows, sparse matrices, data frames and scan(path)"
    if isinstance(X, (str, bytes)) or hasattr(X, "__fspath__"):
        raise TypeError(f"X is the path {X!r}; {accepted}.")
    if X is None or library(X) == "dask":
        raise TypeError(f"X is of type {type(X).__name__}; {accepted}.")
    if isinstance(X, np.ma.MaskedArray):
        return np.ma.filled(X.astype(np.float64), np.nan)
    array = np.asarray(X)
    if array.dtype.kind != "O":
        return array
    try:
        return array.astype(np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"X does not hold numbers only ({error}); {accepted}.") from error
