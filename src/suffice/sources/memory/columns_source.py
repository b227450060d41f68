"""Rows of numbers and text in memory: every block is a view of the columns."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from suffice.sources.base import Block, Source
from suffice.sources.memory.mixed import Columns, kinds_of
from suffice.sources.memory.target import RowRange, check_target, check_weight, cut


class ColumnsSource(Source):
    """The rows of `Columns`.

    Parameters
    ----------
    columns : Columns
    y : array-like of shape (rows,) or (rows, targets), optional
    weight : array-like of shape (rows,), optional
        Row weights, finite and not negative.

    Examples
    --------
    >>> import numpy as np
    >>> source = ColumnsSource(Columns([np.array(["Ulm", "Rome"], dtype=object)]))
    >>> source.kinds
    ('text',)
    """

    n_rows: int

    def __init__(self, columns: Columns, y: Any = None, weight: Any = None) -> None:
        self.columns = columns
        self.n_rows, self.n_columns = columns.shape
        self.kinds = kinds_of(kind == "text" for kind in columns.kinds)
        self._all_floats = all(column.dtype == np.float64 for column in columns.columns)
        self.y, self.target_names = check_target(y, self.n_rows)
        self.weight = check_weight(weight, self.n_rows)
        self.has_target, self.has_weight = y is not None, weight is not None

    def pieces(self) -> Iterator[RowRange]:
        return cut(self)

    def rows(self, start: int, stop: int) -> Block:
        """Rows `start` to `stop` as views; as an array where all are float64."""
        X: Any = self.columns[start:stop]
        y, weight = self.y, self.weight
        return Block(
            X.take(range(self.n_columns)) if self._all_floats else X,
            None if y is None else y[start:stop],
            None if weight is None else weight[start:stop],
            start,
        )

    def __repr__(self) -> str:
        return f"ColumnsSource({self.n_rows:,} rows x {self.n_columns:,} columns)"
