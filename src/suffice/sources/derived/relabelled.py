"""Rows of another source with another target."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from typing import Any

from numpy.typing import NDArray

from suffice.sources.base import Block, Piece, Source


class RelabelledSource(Source):
    """The rows of a source with a function of each row's target in its place.

    Features, weights and the names of rows and columns are those of the base, and so are the
    boundaries of the blocks.

    Parameters
    ----------
    source : Source
        With a target.
    function : callable
        From the target of some rows to an array of shape (rows,), each row by itself.  It runs
        on several threads at once.

    Examples
    --------
    >>> import numpy as np
    >>> from suffice.sources import ArraySource
    >>> animals = ArraySource(np.eye(3), y=["cat", "dog", "cat"])
    >>> cats = RelabelledSource(animals, lambda y: y == "cat")
    >>> next(cats.pieces()).load().y.tolist()
    [True, False, True]
    """

    def __init__(self, source: Source, function: Callable[[NDArray[Any]], NDArray[Any]]) -> None:
        self.source, self.function = source, function
        self.n_columns, self.sparse, self.kinds = source.n_columns, source.sparse, source.kinds
        self.feature_names, self.target_names = source.feature_names, source.target_names
        self.has_target, self.has_weight = source.has_target, source.has_weight
        self.engine = source.engine

    @property
    def n_rows(self) -> int | None:  # type: ignore[override]
        """Number of rows of the base, or None where only reading would tell."""
        return self.source.n_rows

    @property
    def column_kinds(self) -> tuple[str, ...]:
        """What each feature column is."""
        return self.source.column_kinds

    @property
    def target_shape(self) -> tuple[int, ...]:
        """Shape of one row's target."""
        return ()

    def count_rows(self) -> int:
        """Number of rows of the base."""
        return self.source.count_rows()

    def pieces(self) -> Iterator[Piece]:
        pieces = self.source.pieces()
        try:
            for piece in pieces:
                yield _Relabelled(piece, self.function)
        finally:
            getattr(pieces, "close", tuple)()

    @property
    def relabelled(self) -> Callable[[Block], Block]:
        """From a block of the base to the one with the new target."""
        return partial(_relabelled, function=self.function)

    def column_label(self, column: int) -> str:
        return self.source.column_label(column)

    def row_label(self, row: int) -> str:
        return self.source.row_label(row)

    def __repr__(self) -> str:
        return f"{self.source!r} with another target"


class _Relabelled:
    """A piece of the base, and what to do with its target."""

    __slots__ = ("function", "n_rows", "piece", "start")

    def __init__(self, piece: Piece, function: Callable[[Any], NDArray[Any]]) -> None:
        self.piece, self.function = piece, function
        self.start, self.n_rows = piece.start, piece.n_rows

    def load(self) -> Block:
        return _relabelled(self.piece.load(), self.function)


def _relabelled(block: Block, function: Callable[[Any], NDArray[Any]]) -> Block:
    return replace(block, y=function(block.y))
