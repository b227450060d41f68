"""Rows of another source, each changed on the thread that uses it.

The mapped rows are cut where an array of so many columns would be cut, so that what is
learned from them has the same bits as from the mapped array.  A block of the base that
serves several mapped blocks is read once; only the rows of one mapped block are mapped at a
time, however wide the result.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from threading import Lock
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import issparse, vstack

from suffice.sources.base import Block, Piece, Source, block_rows, sparse_block_rows
from suffice.sources.memory.mixed import Columns
from suffice.sources.memory.sparse import canonical_csr


class MappedSource(Source):
    """The rows of a source with a function of each row's features in their place.

    Target, weights and the names of the rows are those of the base.  Nothing is computed
    before a pass asks for it, and nothing is kept after it.

    Parameters
    ----------
    source : Source
    function : callable
        From the features of some rows (an array, a CSR array or `Columns`) to those that
        take their place: an array, or a CSR matrix where `sparse`.  Each row by itself:
        which rows come together does not matter.  It runs on several threads at once, and
        can be pickled if the source is to be.
    n_columns : int
        Columns that `function` returns.
    feature_names : sequence of str, optional
        Their names, where a model fitted on them should insist on these.
    sparse : bool, default=False
        Whether `function` returns CSR.
    kinds : sequence of str, optional
        "number" or "text" for each column where `function` returns `Columns`.
    labels : sequence of str, optional
        What messages call the columns, where `feature_names` is None.

    Examples
    --------
    >>> import numpy as np
    >>> from suffice.sources import ArraySource
    >>> base = ArraySource(np.array([[1.0], [2.0]]), y=[3.0, 4.0])
    >>> mapped = MappedSource(base, np.square, n_columns=1)
    >>> block = next(mapped.pieces()).load()
    >>> block.X.tolist(), block.y.tolist()
    ([[1.0], [4.0]], [3.0, 4.0])
    """

    def __init__(
        self,
        source: Source,
        function: Callable[[Any], Any],
        n_columns: int,
        feature_names: Sequence[str] | None = None,
        *,
        sparse: bool = False,
        kinds: Sequence[str] | None = None,
        labels: Sequence[str] | None = None,
    ) -> None:
        for given, what in ((feature_names, "feature names"), (kinds, "kinds"), (labels, "labels")):
            if given is not None and len(given) != n_columns:
                raise ValueError(f"there are {n_columns} columns, but {len(given)} {what}.")
        self.base, self.function = source, function
        self.n_columns = n_columns
        self.feature_names = None if feature_names is None else tuple(feature_names)
        self.kinds = None if kinds is None or "text" not in kinds else tuple(kinds)
        self.sparse = sparse
        self._labels = None if labels is None else tuple(labels)
        self.target_names = source.target_names
        self.has_target, self.has_weight = source.has_target, source.has_weight
        self.engine = source.engine

    @property
    def n_rows(self) -> int | None:  # type: ignore[override]
        """Number of rows of the base, or None where only reading would tell."""
        return self.base.n_rows

    @property
    def target_shape(self) -> tuple[int, ...]:
        """Shape of one row's target."""
        return self.base.target_shape

    def count_rows(self) -> int:
        """Number of rows of the base."""
        return self.base.count_rows()

    def pieces(self) -> Iterator[MappedPiece]:
        size = (sparse_block_rows if self.sparse else block_rows)(self.n_columns)
        start, n_rows, slices = 0, 0, []
        with closing(_closable(self.base.pieces())) as pieces:
            for piece in pieces:
                shared, offset = Shared(piece), 0
                while offset < piece.n_rows:
                    length = min(size - n_rows, piece.n_rows - offset)
                    slices.append(Slice(shared, offset, offset + length))
                    offset += length
                    n_rows += length
                    if n_rows == size:
                        yield self._piece(start, n_rows, slices)
                        start, n_rows, slices = start + n_rows, 0, []
        if n_rows:
            yield self._piece(start, n_rows, slices)

    def _piece(self, start: int, n_rows: int, slices: list[Slice]) -> MappedPiece:
        return MappedPiece(self.function, self.n_columns, self.sparse, start, n_rows, slices)

    def _name_of(self, column: int) -> str | int:
        if self.feature_names is None and self._labels is not None:
            return self._labels[column]
        return super()._name_of(column)

    def row_label(self, row: int) -> str:
        return self.base.row_label(row)

    def __repr__(self) -> str:
        return f"MappedSource({self.base!r} to {self.n_columns:,} columns)"


def _closable(pieces: Iterator[Piece]) -> Any:
    return (piece for piece in pieces) if not hasattr(pieces, "close") else pieces


class Shared:
    """A piece of the base that is loaded once, by the first of the pieces that need it."""

    __slots__ = ("_block", "_lock", "_piece", "n_rows")

    def __init__(self, piece: Piece) -> None:
        self._piece, self.n_rows = piece, piece.n_rows
        self._block: Block | None = None
        self._lock = Lock()

    def load(self, keep: bool) -> Block:
        """The block; kept for the next who asks if `keep`."""
        with self._lock:
            if self._block is not None:
                return self._block
            block = self._piece.load()
            if keep:
                self._block = block
            return block

    def __reduce__(self) -> tuple[Any, ...]:
        return Shared, (self._piece,)


class Slice(NamedTuple):
    """Some rows of a piece of the base."""

    piece: Shared
    start: int
    stop: int

    def load(self) -> Block:
        """These rows, not mapped yet."""
        if (self.start, self.stop) == (0, self.piece.n_rows):
            return self.piece.load(keep=False)
        whole, rows = self.piece.load(keep=True), slice(self.start, self.stop)
        y, weight = whole.y, whole.weight
        return Block(
            whole.X[rows],
            None if y is None else y[rows],
            None if weight is None else weight[rows],
            whole.start + self.start,
        )


@dataclass(eq=False, slots=True)
class MappedPiece:
    """Rows that lie in one or more pieces of the base."""

    function: Callable[[Any], Any]
    n_columns: int
    sparse: bool
    start: int
    n_rows: int
    slices: list[Slice]

    def load(self) -> Block:
        """The rows, mapped."""
        blocks = [part.load() for part in self.slices]
        X = _joined([self._mapped(block) for block in blocks])
        y = _joined([block.y for block in blocks])
        weight = _joined([block.weight for block in blocks])
        return Block(X, y, weight, self.start)

    def _mapped(self, block: Block) -> Any:
        X = self.function(block.X)
        if self.sparse and issparse(X):
            X = canonical_csr(X)
        if X.shape != (block.n_rows, self.n_columns):
            raise ValueError(
                f"the function of a MappedSource returned the shape {X.shape} for "
                f"{block.n_rows} rows; {self.n_columns} columns were announced."
            )
        return X


def _joined(parts: list[Any]) -> Any:
    """Arrays, CSR arrays, `Columns` or None, one below the other."""
    if len(parts) == 1 or parts[0] is None:
        return parts[0]
    if isinstance(parts[0], Columns):
        return Columns.concatenate(parts)
    if issparse(parts[0]):
        return canonical_csr(vstack(parts, format="csr"))
    return np.concatenate(parts)
