"""Principal directions of fewer rows than columns, from the products of the rows.

With Z the centred rows (times √w), K = Z Zᵀ is as large as there are rows and has the values of
Zᵀ Z; from its vectors u follow the directions

    v = Zᵀ u / √λ.

No matrix of columns by columns is formed, and no copy of all rows: chunks of columns are
centred one after the other.  They are centred about a point c near the mean, such that x − c has
few bits; K about the mean follows from K₀ about c by taking its weighted row and column means
away.  Where six digits are not proved in float64, K₀ is formed once more without rounding
(`suffice.numerics.exact_gram`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np
from scipy import sparse

from suffice.decomposition.spectrum import Spectrum, spectrum
from suffice.engines.gather import Rows
from suffice.engines.passes import each_chunk
from suffice.numerics.double_double import DOUBLE_DOUBLE_UNIT, UNIT, Array, DoubleDouble, two_sum
from suffice.numerics.exact_gram import exact_gram
from suffice.sources import Source
from suffice.statistics.moments.full import Precision
from suffice.statistics.moments.products import SMALLEST_SQUARE

NOT_ORTHOGONAL = 1e-12
"""Relative error of a value from which on the directions are made orthogonal: with Δ the error of
K, that of the product of two of them is uᵀ Δ u' / √(λ λ')."""

CHUNK = 256
"""Columns handled at once; few, so that few roundings add up in a product."""


class ProductsOfRows:
    """Rows in memory, read by chunks of columns.

    Attributes
    ----------
    weight : array of shape (rows,)
    mean, scale : arrays of shape (columns,)
        `scale` is the standard deviation, or 1 where there is none or it is not asked for.
    mean_error, scale_error : arrays of shape (columns,)
        Bounds: of the mean, and of the scale relative to it.
    """

    def __init__(self, rows: Rows, source: Source, standardize: bool, n_jobs: int | None) -> None:
        self.n_jobs, self.X = n_jobs, rows.X
        self.weight = np.ones(rows.X.shape[0]) if rows.weight is None else rows.weight
        self.n_rows, self.n_columns = self.X.shape
        self.root = np.sqrt(self.weight)
        self.total = float(self.weight.sum())
        self.standardize = standardize
        centre, offset, spread, squares = np.hstack(list(self._each(self._describe)))
        self.centre = centre
        self.mean = centre + offset
        self.mean_error = 2 * (self.n_rows + 4) * UNIT * spread
        deviation = np.sqrt(squares / self.total)
        self.varies = spread > 0
        hidden = self.varies & (squares + self.total * np.square(self.mean) < SMALLEST_SQUARE)
        if hidden.any():
            raise ValueError(
                f"the values in {source.column_label(int(np.argmax(hidden)))} are too small: their "
                "(weighted) squares underflow; rescale them, or the weights"
            )
        self.deviation = deviation
        self.scale = np.where(self.varies & standardize, deviation, 1.0)
        self.scale_error = np.where(self.varies, (self.n_rows + 8) * UNIT, 0.0)

    def spectrum(self, precision: Precision) -> Spectrum:
        """Values, and directions as vectors of the columns."""
        K, unit, g = self._gram(precision)
        found = spectrum(K, unit, g, self.n_rows - 1)
        values = found.values.hi[: found.rank]
        U = found.vectors - np.outer(found.vectors @ self.root, self.root) / self.total
        weighed = U * self.root
        vectors = np.hstack(list(self._each(lambda c: weighed @ self._chunk(c).hi)))
        vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
        # The rounding of the scale and the product comes on top.
        rounding = 2 * (self.n_rows + 8) * UNIT * np.sqrt(float(g @ g) / values)
        errors = _stretch(found) * found.vector_errors + rounding
        if (found.errors[: found.rank] > NOT_ORTHOGONAL * values).any():
            straight = _orthonormal(vectors)
            errors = errors + np.linalg.norm(straight - vectors, axis=1)
            vectors = straight
        method = found.method + ", on the rows' side"
        return replace(found, vectors=vectors, vector_errors=errors, method=method)

    def _gram(self, precision: Precision) -> tuple[Array | DoubleDouble, float, Array]:
        """K, and ε and g such that |xᵀ ΔK y| ≤ ε (g·|x|)(g·|y|) for x and y orthogonal to √w.

        Taking the means away multiplies K₀ and its errors from both sides with a projection
        that leaves such x and y alone.  What rounding of the means leaves along √w is taken
        away in turn; the rows' distance from c bounds the rest.
        """
        chunks = self.n_columns / CHUNK
        K: Any
        root: Any = self.root
        if precision == "float64":
            K = _total(self._each(self._product))
            unit = UNIT * (CHUNK + chunks + 16)
            unit += 2 * float(self.scale_error.max()) * self.standardize
            sizes = np.sqrt(np.diagonal(K))
        else:
            K = _total(self._each(self._exact_product))
            unit = DOUBLE_DOUBLE_UNIT * (CHUNK / 4 + chunks + 64)
            sizes = np.sqrt(np.diagonal(K.hi))
            root = DoubleDouble.of(self.weight).sqrt()
        K = self._about_mean(self._about_mean(K))
        if not (self.weight == 1).all():
            K = K * root[:, None] * root[None, :]
        offset = np.linalg.norm((self.mean - self.centre) / self.scale)
        return K, unit, self.root * (sizes + offset)

    def _about_mean(self, K: Any) -> Any:
        """Without its weighted row and column means."""
        if isinstance(K, DoubleDouble):
            total = DoubleDouble.of(self.weight).sum()
            means = (K * self.weight[None, :]).sum(axis=1) / total
            half = means - (means * self.weight).sum() / total * 0.5
        else:
            means = K @ self.weight / self.total
            half = means - means @ self.weight / self.total / 2
        return K - half[:, None] - half[None, :]

    # --- chunks of columns ----------------------------------------------------------------

    def _each(self, function: Callable[[slice], Any]) -> Iterator[Any]:
        """A function of chunks of columns, in order."""
        return each_chunk(self.n_columns, CHUNK, function, self.n_jobs)

    def _values(self, columns: slice) -> Array:
        X = self.X[:, columns]
        return np.asarray(X.toarray() if sparse.issparse(X) else X, dtype=np.float64)

    def _describe(self, columns: slice) -> Array:
        """Centre, offset of the mean from it, mean distance, and sum of squares about the mean."""
        X = self._values(columns)
        low, high = X.min(axis=0), X.max(axis=0)
        about = low + self.weight @ (X - low) / self.total
        grid = np.ldexp(1.0, np.maximum(np.frexp(high - low)[1] - 8, -1074))
        centre = np.where(high > low, np.rint(about / grid) * grid, low)
        apart = X - centre
        offset = self.weight @ apart / self.total
        squares = self.weight @ np.square(apart - offset)
        spread = self.weight @ np.abs(apart) / self.total
        return np.stack([centre, offset, spread, squares])

    def _chunk(self, columns: slice) -> DoubleDouble:
        """(x − c) / scale."""
        apart = DoubleDouble(*two_sum(self._values(columns), -self.centre[columns]))
        if not self.standardize:
            return apart
        return DoubleDouble.of(apart.hi / self.scale[columns])

    def _product(self, columns: slice) -> Array:
        Z = self._chunk(columns).hi
        return np.asarray(Z @ Z.T)

    def _exact_product(self, columns: slice) -> DoubleDouble:
        Z = DoubleDouble(*two_sum(self._values(columns), -self.centre[columns]))
        if self.standardize:
            Z = Z / self._exact_scale(Z, self.varies[columns])[None, :]
        return exact_gram(Z.T)

    def _exact_scale(self, Z: DoubleDouble, varies: Array) -> DoubleDouble:
        """The standard deviations in double-double."""
        total = DoubleDouble.of(self.weight).sum()
        weighed = Z * self.weight[:, None]
        mean = weighed.sum() / total
        variance = (Z * weighed).sum() / total - mean * mean
        constant = ~np.asarray(varies, dtype=bool)
        variance.hi[constant], variance.lo[constant] = 1.0, 0.0
        return variance.sqrt()


def _stretch(found: Spectrum) -> Array:
    """By how much the errors of the vectors of K grow on their way to the columns' side.

    An error of u has along uⱼ at most the share 1/|λⱼ − λ| of the residual, and Zᵀ uⱼ / √λ is
    √(λⱼ/λ) long.  The bound at hand has 1/gap for all of them.
    """
    values, errors = found.values.hi[: found.rank], found.errors[: found.rank]
    apart = np.abs(values[:, None] - values)
    np.fill_diagonal(apart, np.inf)
    apart = np.where(apart > 0, apart, 1.0)  # of equal values the error is infinite anyway
    longer = np.sqrt((values + errors) / (values - errors)[:, None])
    return np.maximum((longer / apart).max(axis=1, initial=0.0) * found.gaps, 1.0) * (1 + 1e-12)


def _orthonormal(vectors: Array) -> Array:
    """Each row less what it has along those before it, which are of larger values."""
    Q, R = np.linalg.qr(vectors.T)
    return np.ascontiguousarray((Q * np.sign(np.diagonal(R))).T)


def _total(parts: Iterator[Any]) -> Any:
    total = next(parts)
    for part in parts:
        total = total + part
    return total
