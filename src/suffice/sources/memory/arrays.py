"""Rows of a dense array in memory: every block is a view of it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from suffice.sources.base import Block, Source
from suffice.sources.memory.target import RowRange, check_target, check_weight, cut


class ArraySource(Source):
    """The rows of a 2-D NumPy array.

    Nothing is converted and nothing copied: a block's `X` and `y` are views.

    Parameters
    ----------
    X : ndarray of shape (rows, columns)
        Real numbers of any dtype (bool, integers, floats), order and stride.
    y : array-like of shape (rows,) or (rows, targets), optional
    weight : array-like of shape (rows,), optional
        Row weights, finite and not negative.
    feature_names : sequence of str, optional
        One name a column.

    Examples
    --------
    >>> import numpy as np
    >>> source = ArraySource(np.eye(3), y=[1, 2, 3])
    >>> block = next(source.pieces()).load()
    >>> block.n_rows, block.y
    (3, array([1, 2, 3]))
    """

    n_rows: int

    def __init__(
        self,
        X: NDArray[Any],
        y: Any = None,
        weight: Any = None,
        feature_names: Sequence[str] | None = None,
    ) -> None:
        check_table(X)
        self.X = X
        self.n_rows, self.n_columns = X.shape
        self.y, self.target_names = check_target(y, self.n_rows)
        self.weight = check_weight(weight, self.n_rows)
        self.has_target, self.has_weight = y is not None, weight is not None
        self.feature_names = check_names(feature_names, self.n_columns)

    def pieces(self) -> Iterator[RowRange]:
        return cut(self)

    def rows(self, start: int, stop: int) -> Block:
        """Rows `start` to `stop` as views."""
        y, weight = self.y, self.weight
        return Block(
            self.X[start:stop],
            None if y is None else y[start:stop],
            None if weight is None else weight[start:stop],
            start,
        )

    def __repr__(self) -> str:
        return f"ArraySource({self.n_rows:,} rows x {self.n_columns:,} columns of {self.X.dtype})"


def check_table(X: Any) -> None:
    """Raise unless an array, dense or sparse, is a table of real numbers."""
    if X.ndim != 2:
        raise ValueError(
            f"Expected 2D array, got {X.ndim}D array instead: X must be a table of rows and "
            "columns. Reshape your data with X.reshape(-1, 1) if it is one column, or "
            "X.reshape(1, -1) if it is one row."
        )
    if X.dtype.kind not in "biuf":
        reason = "Complex data not supported: " if X.dtype.kind == "c" else ""
        raise ValueError(f"{reason}X has dtype {X.dtype}; accepted are real numbers and booleans.")


def check_names(names: Sequence[str] | None, n_columns: int) -> tuple[str, ...] | None:
    """Feature names as a tuple, one a column; None stays None."""
    if names is None:
        return None
    if len(names) != n_columns:
        raise ValueError(f"X has {n_columns} columns, but there are {len(names)} feature names.")
    return tuple(np.asarray(names, dtype=object).tolist())
