"""What the rows say about the residuals of a line: their products with the columns.

With rᵢ = (yᵢ − ȳ) − (xᵢ − x̄)·θ for some θ, x̄ and ȳ at hand,

    Σ wᵢ rᵢ xᵢ,      Σ wᵢ rᵢ,      Σ wᵢ rᵢ²

tell how far θ is from the least squares, and cost a fraction of the second moments.  Residuals, and
residuals times weights, are rounded to float64; from there on all products are exact and all sums
double-double.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from suffice.kernels.sums.cross_products import (
    add_cross_products,
    add_sparse_cross_products,
    subtract_line,
)
from suffice.numerics.double_double import Array, DoubleDouble, two_sum
from suffice.statistics.base import present
from suffice.statistics.moments.merging import pairwise

CELLS_AT_ONCE = 1 << 18
"""Values that are centred and multiplied at once: 2 MB, which a core's own cache holds."""

SUMS_UNIT = 2.0**-80
"""A bound on the error of a sum, relative to the sum of the sizes: few rows a sum, then pairs."""

MOST_ROWS_AT_ONCE = 1 << 12


class LineAt(NamedTuple):
    """A line through a point, in float64.

    Attributes
    ----------
    coef : array of shape (columns, targets)
    x, y : arrays of shape (columns,) and (targets,)
        The point, near the rows' mean; zero for a line through the origin.
    """

    coef: Array
    x: Array
    y: Array


@dataclass(frozen=True, eq=False)
class ResidualSums:
    """Sums over rows, mergeable.

    Attributes
    ----------
    count : int
        Number of rows.
    products : DoubleDouble of shape (targets, columns)
        Σ w r x.
    totals : DoubleDouble of shape (targets,)
        Σ w r.
    squares : DoubleDouble of shape (targets,)
        Σ w r².
    """

    count: int
    products: DoubleDouble
    totals: DoubleDouble
    squares: DoubleDouble

    @property
    def nbytes(self) -> int:
        """Bytes that the sums take."""
        return 16 * (self.products.hi.size + 2 * self.totals.hi.size)

    @classmethod
    def zero(cls, n_columns: int, n_targets: int = 1) -> ResidualSums:
        """The sums over no rows."""
        zeros = DoubleDouble.zeros
        return cls(0, zeros((n_targets, n_columns)), zeros(n_targets), zeros(n_targets))

    @classmethod
    def summarize(cls, X: Any, Y: Array, weight: Array | None, line: LineAt) -> ResidualSums:
        """The sums of a block of rows.

        Parameters
        ----------
        X : array of shape (rows, columns) or csr_array
        Y : array of shape (rows, targets)
        weight : array of shape (rows,), optional
        line : LineAt
        """
        weight, X, Y = present(weight, X, Y)
        step = max(min(CELLS_AT_ONCE // max(X.shape[1], 1), MOST_ROWS_AT_ONCE), 1)
        parts = [
            _of_few_rows(X[rows], Y[rows], None if weight is None else weight[rows], line)
            for rows in (slice(i, i + step) for i in range(0, X.shape[0], step))
        ]
        return cls.merge(parts) if parts else cls.zero(*line.coef.shape)

    @classmethod
    def merge(cls, parts: Sequence[ResidualSums]) -> ResidualSums:
        """The sums over all rows of the parts."""
        parts = [part for part in parts if part.count] or list(parts[:1])
        return cls(
            sum(part.count for part in parts),
            pairwise([part.products for part in parts]),
            pairwise([part.totals for part in parts]),
            pairwise([part.squares for part in parts]),
        )


def _of_few_rows(X: Any, Y: Array, weight: Array | None, line: LineAt) -> ResidualSums:
    n, k = Y.shape
    residual = np.ascontiguousarray(Y - line.y)
    sums, own = np.zeros((2, k, X.shape[1])), np.zeros((2, k, k + 1))
    if sparse.issparse(X):
        # The zeros stay zeros: the point is taken from the products instead.
        X = sparse.csr_array(X, dtype=np.float64)
        residual -= X @ line.coef - line.x @ line.coef
        weighted = _weighted(residual, weight)
        indices, indptr = (np.asarray(part, dtype=np.int64) for part in (X.indices, X.indptr))
        add_sparse_cross_products(X.data, indices, indptr, weighted, *sums)
    else:
        X = np.ascontiguousarray(X, dtype=np.float64)
        subtract_line(X, line.x, np.ascontiguousarray(line.coef.T), residual)
        weighted = _weighted(residual, weight)
        add_cross_products(X, weighted, *sums)
    add_cross_products(np.hstack([residual, np.ones((n, 1))]), weighted, *own)
    products, rest = (DoubleDouble(*two_sum(*pair)) for pair in (sums, own))
    return ResidualSums(n, products, rest[:, -1], rest[np.arange(k), np.arange(k)])


def _weighted(residual: Array, weight: Array | None) -> Array:
    return residual if weight is None else residual * weight[:, None]
