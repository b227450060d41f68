"""The rows of a sparse matrix in longer blocks, for statistics as wide as the matrix.

What a block contributes may have as many numbers as there are columns, for each class: where
the entries of a block are hardly more, making and merging them would cost more than the sums.
"""

from __future__ import annotations

from collections.abc import Iterator

from suffice.sources.base import Source, sparse_block_rows
from suffice.sources.memory.sparse import SparseSource
from suffice.sources.memory.target import RowRange, cut

MOST_ROWS = 1 << 15
MOST_ENTRIES = 1 << 22


class LongBlocks(SparseSource):
    """The same source with blocks of up to 32,768 rows, as long as these have few entries.

    Where blocks end depends on the matrix alone.

    Examples
    --------
    >>> from scipy.sparse import eye_array
    >>> source = SparseSource(eye_array(40_000))
    >>> [piece.n_rows for piece in source.pieces()], [p.n_rows for p in LongBlocks(source).pieces()]
    ([16384, 16384, 7232], [32768, 7232])
    """

    def __init__(self, source: SparseSource) -> None:
        vars(self).update(vars(source))

    def pieces(self) -> Iterator[RowRange]:
        rows = sparse_block_rows(self.n_columns)
        entries_of_row = self.X.nnz / max(self.n_rows, 1)
        while 2 * rows <= MOST_ROWS and 2 * rows * entries_of_row <= MOST_ENTRIES:
            rows *= 2
        return cut(self, rows)


def with_long_blocks(source: Source) -> Source:
    """A sparse matrix in memory in longer blocks; any other source as it is."""
    return LongBlocks(source) if type(source) is SparseSource else source
