"""Some of the rows of another source: those of a mask, or those that a draw chooses."""

from __future__ import annotations

import operator
from collections.abc import Iterator
from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from suffice.sources.base import Block, Piece, Source

ROWS_AT_ONCE = 1 << 20
GOLDEN = np.uint64(0x9E3779B97F4A7C15)


@dataclass(frozen=True)
class RowDraw:
    """A mask of any number of rows that takes no memory: each row is drawn by its number.

    A row is drawn if 64 bits mixed from the seed and its number are below a share of 2⁶⁴.  The
    mixing is SplitMix64 (Steele, Lea and Flood, 2014), whose stream is as good as random.

    Attributes
    ----------
    share : float
        Probability of a row to be drawn.
    seed : int
    drawn : bool
        Whether the rows are those that are drawn, or all others.
    """

    share: float
    seed: int
    drawn: bool

    def __getitem__(self, rows: slice) -> NDArray[np.bool_]:
        bits = bits_of_rows(rows.start, rows.stop, self.seed)
        return (bits < np.uint64(int(self.share * 2.0**64))) == self.drawn

    def counts(self, n_rows: int) -> Iterator[tuple[int, int]]:
        """First numbers of some rows each, and how many of them are chosen."""
        for start in range(0, n_rows, ROWS_AT_ONCE):
            yield start, int(self[start : min(start + ROWS_AT_ONCE, n_rows)].sum())


def bits_of_rows(start: int, stop: int, seed: int) -> NDArray[np.uint64]:
    """Random bits for each row, by its number and a seed."""
    numbers: NDArray[np.uint64] = np.arange(start, stop, dtype=np.uint64)
    return _mixed(_mixed(np.array([seed], dtype=np.uint64)) + numbers * GOLDEN)


def _mixed(bits: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Numbers of 64 bits, each turned into another in which every bit depends on all."""
    bits = bits + GOLDEN
    bits = (bits ^ (bits >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    bits = (bits ^ (bits >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return bits ^ (bits >> np.uint64(31))


def split(source: Source, test: float, seed: int) -> tuple[SubsetSource, SubsetSource]:
    """The rows that are not drawn and those that are; see `Source.split`."""
    if isinstance(test, bool) or not isinstance(test, Real) or not 0 < test < 1:
        raise ValueError(f"test is {test!r}; give the share of rows to hold out, between 0 and 1.")
    try:
        number = operator.index(seed)
    except TypeError:
        number = -1
    if not 0 <= number < 1 << 64:
        raise ValueError(f"seed is {seed!r}; give a whole number from 0 to 2^64 - 1.")
    train, held_out = (
        SubsetSource(source, RowDraw(float(test), number, drawn)) for drawn in (False, True)
    )
    for part, name in ((train, "to learn from"), (held_out, "to hold out")):
        if not any(True for _ in part.pieces()):
            raise ValueError(
                f"No row is left {name}: {source!r} has too few rows for a test share of {test}."
            )
    return train, held_out


class SubsetSource(Source):
    """The rows of a source that a mask chooses, in their order.

    Parameters
    ----------
    source : Source
    mask : bool array of shape (rows,), or RowDraw

    Examples
    --------
    >>> import numpy as np
    >>> from suffice.sources import ArraySource
    >>> some = SubsetSource(ArraySource(np.eye(3)), np.array([True, False, True]))
    >>> next(some.pieces()).load().X.tolist()
    [[1.0, 0.0, 0.0], [0.0, 0.0, 1.0]]
    """

    def __init__(self, source: Source, mask: NDArray[np.bool_] | RowDraw) -> None:
        self.source, self.mask = source, mask
        self.n_columns = source.n_columns
        self._n_rows = None if isinstance(mask, RowDraw) else int(mask.sum())
        self.feature_names, self.target_names = source.feature_names, source.target_names
        self.has_target, self.has_weight = source.has_target, source.has_weight
        self.sparse = source.sparse
        self.kinds, self.engine = source.kinds, source.engine

    @property
    def n_rows(self) -> int | None:  # type: ignore[override]
        """Number of chosen rows, or None where only reading would tell."""
        if self._n_rows is None and self.source.n_rows is not None:
            return self.count_rows()
        return self._n_rows

    def count_rows(self) -> int:
        """Number of chosen rows; those of the base are read if there is no other way."""
        if self._n_rows is None and isinstance(self.mask, RowDraw):
            counts = self.mask.counts(self.source.count_rows())
            self._n_rows = sum(count for _, count in counts)
        return self._n_rows or 0

    @property
    def column_kinds(self) -> tuple[str, ...]:
        """What each feature column is."""
        return self.source.column_kinds

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

    def refuse_text(self) -> None:
        self.source.refuse_text()

    def column_label(self, column: int) -> str:
        return self.source.column_label(column)

    def row_label(self, row: int) -> str:
        """How a message should name a row: as the whole source does."""
        return self.source.row_label(self._number(row))

    def _number(self, row: int) -> int:
        """Number of a chosen row in the base."""
        if not isinstance(self.mask, RowDraw):
            return int(np.flatnonzero(self.mask)[row])
        before = 0
        for start, count in self.mask.counts(self.source.count_rows()):
            if row < before + count:
                some = self.mask[start : start + ROWS_AT_ONCE]
                return start + int(np.flatnonzero(some)[row - before])
            before += count
        raise IndexError(row)

    def __repr__(self) -> str:
        rows = "some" if self.n_rows is None else f"{self.n_rows:,}"
        return f"{rows} rows of {self.source!r}"


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
