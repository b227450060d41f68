"""Rows of a sparse matrix: every block is a CSR array on views of its three arrays."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from numpy.typing import NDArray
from scipy.sparse import csr_array

from suffice.sources.base import Block, Source, sparse_block_rows
from suffice.sources.memory.arrays import check_names, check_table
from suffice.sources.memory.target import RowRange, check_target, check_weight, cut


class SparseSource(Source):
    """The rows of a SciPy sparse matrix or array.

    A CSR matrix whose entries are sorted and unique is used as it is; any other
    is brought to that form once, in a copy.

    Parameters
    ----------
    X : SciPy sparse matrix or array of shape (rows, columns)
        Real numbers of any dtype, in any format.
    y : array-like of shape (rows,) or (rows, targets), optional
    weight : array-like of shape (rows,), optional
        Row weights, finite and not negative.
    feature_names : sequence of str, optional
        One name a column.

    Examples
    --------
    >>> from scipy.sparse import eye_array
    >>> source = SparseSource(eye_array(3))
    >>> next(source.pieces()).load().X.shape
    (3, 3)
    """

    n_rows: int
    sparse = True

    def __init__(
        self,
        X: Any,
        y: Any = None,
        weight: Any = None,
        feature_names: Sequence[str] | None = None,
    ) -> None:
        check_table(X)
        self.X = canonical_csr(X)
        self.n_rows, self.n_columns = (int(size) for size in X.shape)
        self.y, self.target_names = check_target(y, self.n_rows)
        self.weight = check_weight(weight, self.n_rows)
        self.has_target, self.has_weight = y is not None, weight is not None
        self.feature_names = check_names(feature_names, self.n_columns)

    def pieces(self) -> Iterator[RowRange]:
        return cut(self, sparse_block_rows(self.n_columns))

    def rows(self, start: int, stop: int) -> Block:
        """Rows `start` to `stop`; the entries and their columns are views."""
        X, y, weight = self.X, self.y, self.weight
        first, last = X.indptr[start], X.indptr[stop]
        indptr = X.indptr[start : stop + 1] - first
        shape = (stop - start, self.n_columns)
        part = csr_on(X.data[first:last], X.indices[first:last], indptr, shape)
        part.has_canonical_format = True
        return Block(
            part,
            None if y is None else y[start:stop],
            None if weight is None else weight[start:stop],
            start,
        )

    def __repr__(self) -> str:
        return (
            f"SparseSource({self.n_rows:,} rows x {self.n_columns:,} columns, "
            f"{self.X.nnz:,} entries of {self.X.dtype})"
        )


def csr_on(
    data: NDArray[Any], indices: NDArray[Any], indptr: NDArray[Any], shape: tuple[int, int]
) -> Any:
    """A CSR array on exactly these arrays; the constructor would copy short views and int64."""
    X = csr_array(shape, dtype=data.dtype)
    X.data, X.indices, X.indptr = data, indices, indptr
    return X


def check_columns(X: Any) -> None:
    """Raise ValueError if a CSR array has entries in columns that are not there.

    SciPy lets them pass, and compiled loops would go beyond their arrays.
    """
    columns = X.indices
    if len(columns) and not (columns.min() >= 0 and columns.max() < X.shape[1]):
        raise ValueError(f"X lists entries in columns beyond its {X.shape[1]:,}")


def canonical_csr(X: Any) -> Any:
    """`X` as a CSR array whose rows list each column once, in ascending order.

    The arrays of `X` are shared where they have this form already, and copied
    before anything is changed.
    """
    if X.format == "csr":
        shared = csr_on(X.data, X.indices, X.indptr, X.shape)
        check_columns(shared)
        if shared.has_canonical_format:
            return shared
        tidy = shared.copy()
    else:
        tidy = csr_array(X, copy=True)
    tidy.sum_duplicates()
    return tidy
