"""Queries in memory, in blocks of a size that suits the work on them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from numpy.typing import NDArray

from suffice.sources.memory.arrays import ArraySource
from suffice.sources.memory.target import RowRange, cut


class QueryBlocks(ArraySource):
    """Queries that are answered a block at a time.

    Parameters
    ----------
    X : array of shape (queries, columns)
    step : int, optional
        Queries of a block; by default as many as rows of a fit.
    """

    def __init__(self, X: NDArray[Any], step: int | None = None) -> None:
        super().__init__(X)
        self.step = step

    def pieces(self) -> Iterator[RowRange]:
        return cut(self, self.step)
