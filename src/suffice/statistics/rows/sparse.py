"""Rows of which most cells are zero, as they are kept: their entries, column by ascending column.

Entries that are zero are left out, so that equal rows have equal entries.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, issparse

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class SparseRows:
    """A table in the form CSR.

    Attributes
    ----------
    data : float64 array of shape (entries,)
    indices : int64 array of shape (entries,)
        Their columns, ascending within a row.
    indptr : int64 array of shape (rows + 1,)
        The entries of row i are `indptr[i]` to `indptr[i + 1]`.
    n_columns : int

    Examples
    --------
    >>> import numpy as np
    >>> rows = SparseRows.of(np.array([[0.0, 2.0], [0.0, 0.0], [3.0, 4.0]]))
    >>> rows.indptr.tolist(), rows.taken(np.array([2])).data.tolist()
    ([0, 1, 1, 3], [3.0, 4.0])
    """

    data: Floats
    indices: Integers
    indptr: Integers
    n_columns: int

    def _check_loaded(self) -> None:
        """Raise ValueError unless what a file holds could be sparse rows."""
        parts: tuple[Any, ...] = (self.data, self.indices, self.indptr)
        if not all(isinstance(one, np.ndarray) and one.ndim == 1 for one in parts):
            raise ValueError("its entries are no lists")
        if [one.dtype for one in parts] != [np.float64, np.int64, np.int64]:
            raise ValueError("its entries are of another type")
        lengths = np.diff(self.indptr)
        ends = (*self.indptr[:1].tolist(), *self.indptr[-1:].tolist())
        if ends != (0, len(self.data)) or len(self.indices) != len(self.data):
            raise ValueError("its entries do not belong together")
        if (lengths < 0).any():
            raise ValueError("its rows end before they begin")
        beyond = (self.indices < 0) | (self.indices >= self.n_columns)
        within = self.rows_of_entries()
        ascending = (np.diff(self.indices) > 0) | (np.diff(within) > 0)
        if beyond.any() or not ascending.all():
            raise ValueError("its columns are not in order")

    @classmethod
    def of(cls, X: Any) -> SparseRows:
        """The entries of a table, dense or sparse, in arrays of their own."""
        table = csr_array(X, dtype=np.float64, copy=True) if issparse(X) else csr_array(X)
        table.sum_duplicates()
        table.eliminate_zeros()
        return cls(
            np.asarray(table.data, dtype=np.float64),
            table.indices.astype(np.int64),
            table.indptr.astype(np.int64),
            int(table.shape[1]),
        )

    @classmethod
    def concatenated(cls, parts: Sequence[SparseRows]) -> SparseRows:
        """All rows, those of the first part first."""
        lengths = np.concatenate([np.diff(part.indptr) for part in parts])
        return cls(
            np.concatenate([part.data for part in parts]),
            np.concatenate([part.indices for part in parts]),
            np.concatenate([[0], np.cumsum(lengths)]),
            parts[0].n_columns,
        )

    @property
    def csr(self) -> Any:
        """The same table as SciPy has it, on the same arrays."""
        return csr_array((self.data, self.indices, self.indptr), shape=self.shape, copy=False)

    def taken(self, rows: Any) -> SparseRows:
        """Some of the rows, by number or by a mask."""
        return SparseRows.of(self.csr[rows])

    def transposed(self) -> SparseRows:
        """The columns as rows."""
        return SparseRows.of(self.csr.T)

    def rows_of_entries(self) -> Integers:
        """The row of each entry."""
        return np.repeat(np.arange(len(self)), np.diff(self.indptr))

    def sums(self, values: Floats) -> Floats:
        """The sum of numbers, one for each entry, over each row, in the columns' order."""
        found = np.bincount(self.rows_of_entries(), values, minlength=len(self))
        return found.astype(np.float64, copy=False)

    @property
    def shape(self) -> tuple[int, int]:
        return len(self), self.n_columns

    @property
    def nbytes(self) -> int:
        """Bytes that the arrays take."""
        return self.data.nbytes + self.indices.nbytes + self.indptr.nbytes

    def __len__(self) -> int:
        return len(self.indptr) - 1
