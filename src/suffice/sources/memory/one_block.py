"""Rows that are at hand, as they are: one block."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from scipy.sparse import issparse

from suffice.sources.base import Block, Piece, Source
from suffice.sources.memory.mixed import Columns, kinds_of


class OneBlock(Source):
    """Some rows as a source of a single block, whatever their number.

    With it a model that knows its columns by name takes rows out of another model's blocks.

    Parameters
    ----------
    X : array, CSR array or Columns of shape (rows, columns)
    feature_names : sequence of str, optional

    Examples
    --------
    >>> import numpy as np
    >>> source = OneBlock(np.eye(2), ["age", "pay"])
    >>> source.column_label(1), next(source.pieces()).load().n_rows
    ("column 'pay'", 2)
    """

    start = 0
    n_rows: int

    def __init__(self, X: Any, feature_names: Sequence[str] | None = None) -> None:
        self.X = X
        self.n_rows, self.n_columns = X.shape
        self.feature_names = None if feature_names is None else tuple(feature_names)
        self.sparse = issparse(X)
        if isinstance(X, Columns):
            self.kinds = kinds_of(kind == "text" for kind in X.kinds)

    def pieces(self) -> Iterator[Piece]:
        yield self  # also without rows: whoever asks about none is given no answers

    def load(self) -> Block:
        """All rows."""
        return Block(self.X, None, None, 0)

    def __repr__(self) -> str:
        return f"OneBlock({self.n_rows:,} rows x {self.n_columns:,} columns)"
