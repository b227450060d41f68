"""What a source of rows is.

A source hands out its rows as *pieces*: consecutive runs of rows, cut at fixed
boundaries that depend on the number of columns alone.  The same rows therefore
reach the statistics in the same blocks, whether they come from an array, a
data frame or any number of files.

A piece is cheap to make and to pass to another thread; the work of converting
its rows happens in `Piece.load`, on the thread that will use them.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from suffice.sources.files.columns import refuse

NOTHING = "every row has weight zero: there is nothing to learn from"

CELLS_PER_BLOCK = 1 << 20
SMALLEST_BLOCK, LARGEST_BLOCK = 256, 16384


def block_rows(n_columns: int) -> int:
    """Rows of a full block of `n_columns` feature columns.

    A power of two between 256 and 16384: 16384 rows of 50 columns, 2048 rows of 500.  Such a
    block (8 MB) stays in the cache that cores share, and is large enough that threads seldom
    wait for Python's lock.
    """
    rows = CELLS_PER_BLOCK // max(n_columns, 1)
    return min(max(1 << max(rows, 1).bit_length() - 1, SMALLEST_BLOCK), LARGEST_BLOCK)


def sparse_block_rows(n_columns: int) -> int:
    """Rows of a full block of a sparse matrix: 32 times the columns, up to 16384.

    What a block contributes may fill a matrix of columns by columns, however few its
    entries: enough rows must share that cost.
    """
    enough = 1 << (32 * max(n_columns, 1) - 1).bit_length()
    return max(block_rows(n_columns), min(enough, 1 << 14))


@dataclass(frozen=True)
class Block:
    """Some consecutive rows.

    Attributes
    ----------
    X : ndarray of shape (rows, columns), csr_array or Columns
        The features: real numbers of any dtype and stride, possibly read-only; `Columns`
        (see `suffice.sources.memory.mixed`) where some of them are text.
    y : ndarray of shape (rows,) or (rows, targets), or None
        The target as the source holds it (numbers, or labels of any kind).
    weight : float64 ndarray of shape (rows,), or None
        Row weights, not negative; None means that every row counts once.
    start : int
        The number of the first row within its source.
    """

    X: Any
    y: NDArray[Any] | None
    weight: NDArray[np.float64] | None
    start: int

    @property
    def n_rows(self) -> int:
        return int(self.X.shape[0])


class Piece(Protocol):
    """A promise of a block: where it starts, and how to get it."""

    start: int
    n_rows: int

    def load(self) -> Block: ...


class Source(ABC):
    """Rows that can be read again and again, always in the same order.

    Attributes
    ----------
    n_columns : int
        Number of feature columns.
    n_rows : int or None
        Number of rows, or None where only reading would tell (CSV files).
    feature_names : tuple of str, or None
        Names of the feature columns, where they have any.
    target_names : tuple of str, or None
        Names of the target columns, where they have any.
    has_target, has_weight, sparse : bool
        Whether the blocks carry `y`, carry `weight`, and hold `X` as CSR.
    kinds : tuple of str, or None
        "number" or "text" for each feature column; None where all hold numbers.
    engine : Engine, or None
        Where passes over the rows run (`suffice.engines`); None stands for threads of this
        process.  A source made from another hands on that one's.
    """

    n_columns: int
    n_rows: int | None
    feature_names: tuple[str, ...] | None = None
    target_names: tuple[str, ...] | None = None
    has_target: bool = False
    has_weight: bool = False
    sparse: bool = False
    kinds: tuple[str, ...] | None = None
    engine: Any = None

    @property
    def column_kinds(self) -> tuple[str, ...]:
        """What each feature column is: "number" or "text", and of columns that are handed out as
        numbers also "bool" and "date" where the source knows it."""
        return self.kinds or ("number",) * self.n_columns

    @property
    def target_shape(self) -> tuple[int, ...]:
        """Shape of one row's target: () for a number or label, (targets,) for several."""
        return getattr(self, "y", np.empty(0)).shape[1:] if self.has_target else ()

    @abstractmethod
    def pieces(self) -> Iterator[Piece]:
        """The rows from first to last, in pieces of `block_rows(n_columns)` rows, or
        `sparse_block_rows(n_columns)` of a sparse matrix (the last may be shorter; there
        is none when there are no rows)."""

    def count_rows(self) -> int:
        """Number of rows, reading them if there is no other way."""
        if self.n_rows is None:
            self.n_rows = sum(piece.n_rows for piece in self.pieces())
        return self.n_rows

    def split(self, test: float = 0.2, seed: int = 0) -> tuple[Source, Source]:
        """Rows to learn from, and rows to be held out.

        A draw by the seed and the row's number decides for each row by itself: the same rows
        are held out whatever file, frame or array they come from, in whatever blocks they are
        read, on any machine.  The share of rows held out is `test` as nearly as so many
        draws give: of n rows, within 2 √(test (1 - test) / n) of it, most of the time.

        Parameters
        ----------
        test : float, default=0.2
            Probability of a row to be held out, between 0 and 1.
        seed : int, default=0
            Another seed holds out other rows.

        Returns
        -------
        train, test : Source
            With the names, target, weights and engine of this source.

        Raises
        ------
        ValueError
            If a part has no rows.

        Examples
        --------
        >>> import numpy as np
        >>> from suffice.sources import ArraySource
        >>> train, test = ArraySource(np.arange(1000.0).reshape(-1, 1)).split(test=0.25)
        >>> train.n_rows, test.n_rows
        (753, 247)
        """
        from suffice.sources.derived.subset import split

        return split(self, test, seed)

    def refuse_text(self) -> None:
        """Raise if a feature column holds text: for a model that needs numbers."""
        if self.kinds is not None:
            column = self.kinds.index("text")
            raise refuse(self._name_of(column), self._type_name(column))

    def _name_of(self, column: int) -> str | int:
        """Name of a column, or its number where it has none."""
        return column if self.feature_names is None else self.feature_names[column]

    def _type_name(self, column: int) -> str:
        """How a message should name the type of a text column."""
        return "text"

    def column_label(self, column: int) -> str:
        """How a message should name a feature column."""
        return f"column {self._name_of(column)!r}"

    def row_label(self, row: int) -> str:
        """How a message should name a row of this source."""
        return f"row {row} (counted from 0)"
