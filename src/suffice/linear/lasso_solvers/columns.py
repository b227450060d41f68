"""Centred columns of data that are wide or sparse, for a solver that looks at few of them.

With X the centred rows (times √w), no matrix of columns by columns is formed.  What a solver asks
for are products of few columns, and the correlations xⱼ·r of all columns with a residual r.

A sparse matrix stays sparse: its columns are centred in the formulas alone.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from suffice.engines.gather import Rows
from suffice.engines.passes import each_chunk
from suffice.fitting.regression import as_columns
from suffice.linear.lasso_solvers.coordinate_descent import Indices
from suffice.linear.least_squares.conjugate_gradients import centred_squares
from suffice.numerics.double_double import UNIT, Array

CHUNK = 512
"""Columns handled at once."""


class Stored(NamedTuple):
    """Columns as `suffice.kernels.linear.residual_descent` takes them.

    Attributes
    ----------
    data, weighed, indices, indptr, mean, total : arrays
    root : array of shape (rows,), optional
        √w, where the columns are not stored with it.
    """

    data: Array
    weighed: Array
    indices: NDArray[np.int64]
    indptr: NDArray[np.int64]
    mean: Array
    total: Array
    root: Array | None


class CentredColumns(ABC):
    """Centred and weighted columns, and what they are asked for.

    Attributes
    ----------
    squares : array of shape (columns,)
        ‖xⱼ‖²; exactly 0 for a constant column.
    x_mean, y_mean : arrays of shape (columns,) and (targets,)
        Zero without an intercept.
    deviation : array of shape (columns,)
        Standard deviations, about the means in either case.
    sizes : array of shape (columns,)
        Norms of all that is rounded on the way to a column: not below ‖xⱼ‖, nor below √W times
        what is subtracted from its entries.
    Y : array of shape (rows, targets)
        Centred and weighted.
    weight : float
    """

    squares: Array
    deviation: Array
    x_mean: Array
    sizes: Array

    def __init__(self, Y: Array, weight: Array, centred: bool, n_jobs: int | None) -> None:
        self.n_jobs = n_jobs
        self.root, self.weight = np.sqrt(weight), float(weight.sum())
        mean = weight @ (Y - Y[0]) / self.weight + Y[0]
        self.y_mean = mean if centred else np.zeros_like(mean)
        self.Y = self.root[:, None] * (Y - self.y_mean)

    @abstractmethod
    def dots(self, chosen: Indices | None, r: Array) -> Array:
        """Products of some columns, or of all, with a vector."""

    @abstractmethod
    def combined(self, chosen: Indices, values: Array) -> Array:
        """The sum of some columns times values."""

    @abstractmethod
    def gram(self, rows: Indices, columns: Indices) -> Array:
        """Products of some columns with some."""

    @abstractmethod
    def products_of_rows(self, chosen: Indices, scale: Array) -> Array:
        """Z diag(scale) Zᵀ of some columns Z, of shape (rows, rows)."""

    @abstractmethod
    def stored(self) -> Stored:
        """The columns as they are in memory, for coordinate descent on the residual."""

    def in_chunks(self, work: Callable[[slice], Any]) -> list[Any]:
        """Do something with all columns, some at a time; in order, whatever the threads."""
        return list(each_chunk(len(self.squares), CHUNK, work, self.n_jobs))


class DenseColumns(CentredColumns):
    """Columns of an array, one after the other in memory."""

    def __init__(self, X: Any, Y: Array, weight: Array, centred: bool, n_jobs: int | None) -> None:
        super().__init__(Y, weight, centred, n_jobs)
        d = X.shape[1]
        self.Z = np.empty((d, X.shape[0]))
        self.squares, self.deviation, self.x_mean = np.empty(d), np.empty(d), np.zeros(d)
        self.sizes = np.empty(d)

        def take(columns: slice) -> None:
            # In one layout: along another, sums would be added up in another order.
            chunk = np.array(X[:, columns], dtype=np.float64, order="C")
            first = chunk[0].copy()
            chunk -= first
            shift = weight @ chunk / self.weight
            away = chunk - shift
            self.deviation[columns] = np.sqrt(weight @ np.square(away) / self.weight)
            if centred:
                self.x_mean[columns], chunk = first + shift, away
            else:
                chunk += first
            chunk *= self.root[:, None]
            self.squares[columns] = np.square(chunk).sum(axis=0)
            self.sizes[columns] = np.sqrt(self.squares[columns])
            self.sizes[columns] += np.sqrt(self.weight) * np.abs(shift)
            self.Z[columns] = chunk.T

        self.in_chunks(take)

    def dots(self, chosen: Indices | None, r: Array) -> Array:
        if chosen is not None:
            return self.Z[chosen] @ r
        return np.concatenate(self.in_chunks(lambda columns: self.Z[columns] @ r))

    def combined(self, chosen: Indices, values: Array) -> Array:
        return values @ self.Z[chosen]

    def gram(self, rows: Indices, columns: Indices) -> Array:
        return self.Z[rows] @ self.Z[columns].T

    def products_of_rows(self, chosen: Indices, scale: Array) -> Array:
        total = np.zeros((self.Z.shape[1], self.Z.shape[1]))
        for start in range(0, len(chosen), CHUNK):
            Z = self.Z[chosen[start : start + CHUNK]]
            total += (Z * scale[start : start + CHUNK, None]).T @ Z
        return total

    def stored(self) -> Stored:
        d, n = self.Z.shape
        data, nothing = self.Z.reshape(-1), np.zeros(d)
        return Stored(
            data, data, np.zeros(0, np.int64), np.arange(0, n * d + 1, n), nothing, nothing, None
        )


class SparseColumns(CentredColumns):
    """Columns of a sparse matrix, centred in the formulas."""

    def __init__(self, X: Any, Y: Array, weight: Array, centred: bool, n_jobs: int | None) -> None:
        super().__init__(Y, weight, centred, n_jobs)
        X = sparse.csr_array(X).astype(np.float64)
        mean = np.asarray(weight @ X) / self.weight
        scatter = centred_squares(X, weight, mean)
        raw = scatter + self.weight * np.square(mean)
        # What rounding of the mean leaves of a constant column.
        scatter[scatter <= 64 * UNIT**2 * len(weight) * raw] = 0.0
        self.deviation = np.sqrt(scatter / self.weight)
        self.x_mean = mean if centred else np.zeros_like(mean)
        self.squares = scatter if centred else raw
        self.sizes = 2 * np.sqrt(raw)
        self.X = X.tocsc()
        self.row_weight = weight

    def dots(self, chosen: Indices | None, r: Array) -> Array:
        weighed = self.root * r
        X, mean = self.X, self.x_mean
        if chosen is not None:
            X, mean = X[:, chosen], mean[chosen]
        return np.asarray(weighed @ X) - mean * weighed.sum()

    def combined(self, chosen: Indices, values: Array) -> Array:
        fitted = np.asarray(self.X[:, chosen] @ values)
        return self.root * (fitted - float(self.x_mean[chosen] @ values))

    def gram(self, rows: Indices, columns: Indices) -> Array:
        right = sparse.diags_array(self.row_weight) @ self.X[:, columns]
        products = (self.X[:, rows].T @ right).toarray()
        # About the means: Σ w x = W x̄.
        return np.asarray(
            products - self.weight * np.outer(self.x_mean[rows], self.x_mean[columns])
        )

    def products_of_rows(self, chosen: Indices, scale: Array) -> Array:
        X, mean = self.X[:, chosen], self.x_mean[chosen]
        along = X @ (scale * mean)
        products = (X @ sparse.diags_array(scale) @ X.T).toarray()
        products += float(mean @ (scale * mean)) - along[:, None] - along
        return np.asarray(products * np.outer(self.root, self.root))

    def stored(self) -> Stored:
        X = self.X
        indices, indptr = (part.astype(np.int64) for part in (X.indices, X.indptr))
        weighed = X.data * self.row_weight[indices]
        total = self.weight * self.x_mean
        return Stored(X.data, weighed, indices, indptr, self.x_mean, total, self.root)


def columns_of(rows: Rows, centred: bool, n_jobs: int | None) -> CentredColumns:
    """Rows that were gathered, as columns."""
    weight = np.ones(rows.X.shape[0]) if rows.weight is None else rows.weight
    kind = SparseColumns if sparse.issparse(rows.X) else DenseColumns
    return kind(rows.X, as_columns(rows.y), weight, centred, n_jobs)
