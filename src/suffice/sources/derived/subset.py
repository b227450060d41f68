"""Some of the rows of another source."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from suffice.sources.base import Block, Piece, Source


class SubsetSource(Source):
    """The rows of a source that a mask chooses, in their order.

    Parameters
    ----------
    source : Source
    mask : bool array of shape (rows,)

    Examples
    --------
    >>> import numpy as np
    >>> from suffice.sources import ArraySource
    >>> some = SubsetSource(ArraySource(np.eye(3)), np.array([True, False, True]))
    >>> next(some.pieces()).load().X.tolist()
    [[1.0, 0.0, 0.0], [0.0, 0.0, 1.0]]
    """

    def __init__(self, source: Source, mask: NDArray[np.bool_]) -> None:
        self.source, self.mask = source, mask
        self.n_columns, self.n_rows = source.n_columns, int(mask.sum())
        self.feature_names, self.target_names = source.feature_names, source.target_names
        self.has_target, self.has_weight = source.has_target, source.has_weight
        self.sparse = source.sparse
        self.kinds, self.engine = source.kinds, source.engine

    @property
    def target_shape(self) -> tuple[int, ...]:
        """Shape of one row's target."""
        return self.source.target_shape

    def pieces(self) -> Iterator[Piece]:
        """Pieces of the base as far as their rows are chosen: they may be short."""
        start = 0
        for piece in self.source.pieces():
            rows = np.flatnonzero(self.mask[piece.start : piece.start + piece.n_rows])
            if len(rows):
                yield _Chosen(piece, rows, start)
                start += len(rows)

    def column_label(self, column: int) -> str:
        return self.source.column_label(column)

    def row_label(self, row: int) -> str:
        """How a message should name a row: as the whole source does."""
        return self.source.row_label(int(np.flatnonzero(self.mask)[row]))

    def __repr__(self) -> str:
        return f"{self.n_rows:,} rows of {self.source!r}"


class _Chosen:
    """The chosen rows of a piece."""

    __slots__ = ("piece", "rows", "start", "n_rows")

    def __init__(self, piece: Piece, rows: NDArray[np.intp], start: int) -> None:
        self.piece, self.rows, self.start, self.n_rows = piece, rows, start, len(rows)

    def load(self) -> Block:
        return rows_of(self.piece.load(), self.rows, self.start)


def rows_of(block: Block, rows: Any, start: int) -> Block:
    """Some rows of a block: a slice, or their numbers."""
    return Block(
        block.X[rows],
        None if block.y is None else block.y[rows],
        None if block.weight is None else block.weight[rows],
        start,
    )
