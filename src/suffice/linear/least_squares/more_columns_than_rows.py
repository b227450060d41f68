"""Least squares with fewer rows than columns, solved on the side of the rows.

With Z the centred rows (times √w), Λ the penalties and D = Λ⁻¹,

    θ = D Zᵀ z,        (Z D Zᵀ + I) z = ỹ,

a system as large as there are rows; no matrix of columns by columns is formed.  Without a
penalty, D = I and the I on the left goes: θ = Zᵀ (Z Zᵀ)⁺ ỹ is the interpolating solution of
smallest norm.  Centring makes Z Zᵀ singular along √w, where ỹ has no part; that direction
is filled up before the Cholesky factorisation.  Where the matrix is too ill-conditioned for
that, the singular values of Z D^½ take over.

Reference: Saunders, Gammerman and Vovk, "Ridge regression learning algorithm in dual
variables" (1998).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
from scipy import linalg, sparse

from suffice.engines.gather import Rows
from suffice.engines.passes import each_chunk
from suffice.fitting.regression import as_columns
from suffice.linear.least_squares.conjugate_gradients import centred_squares
from suffice.linear.least_squares.solve import (
    PROVED_ERROR,
    LeastSquaresSolution,
    digits_of_each,
    joined,
    relative_error,
)
from suffice.numerics.double_double import UNIT, Array, DoubleDouble
from suffice.numerics.positive_definite import factorize
from suffice.statistics.moments.products import SMALLEST_SQUARE

CHUNK = 512
"""Columns handled at once."""


def solve_on_rows(
    gathered: Rows,
    penalties: Callable[[Callable[[], Array], int], Array],
    n_targets: int,
    fit_intercept: bool,
    n_jobs: int | None,
) -> LeastSquaresSolution:
    """Solve penalised least squares for rows that are fewer than their columns."""
    rows = CentredRows(gathered, fit_intercept, n_jobs)
    penalty = penalties(rows.variance, n_targets)
    if (penalty == penalty[0]).all():
        return _solve(rows, penalty[0], rows.Y)
    return joined([_solve(rows, row, rows.Y[:, [t]], t) for t, row in enumerate(penalty)])


def _solve(
    rows: CentredRows, penalty: Array, Y: Array, target: int | None = None
) -> LeastSquaresSolution:
    penalised = bool(penalty.max() > 1e-290)  # below, its inverse is beyond float64's range
    if penalised:
        # Only a column without spread goes unpenalised, and its coefficient is zero.
        D = np.divide(1.0, penalty, out=np.zeros_like(penalty), where=penalty > 0)
    else:
        D = np.ones_like(penalty)
    K, magnitude = rows.gram(D)
    if magnitude.max() < SMALLEST_SQUARE and rows.scaled(np.ones_like(D)).any():
        raise ValueError("the values in X are too small: their squares underflow; rescale them")
    if penalised:
        K = K + np.eye(len(K))
        magnitude = magnitude + 1
    solved = _by_cholesky(rows, K, magnitude, D, Y)
    if solved is None:
        solved = _by_singular_values(rows, D, Y, penalised)
    return rows.solution(*solved, penalty, Y, target)


def _by_cholesky(
    rows: CentredRows, K: Array, magnitude: Array, D: Array, Y: Array
) -> tuple[Array, Array, Array, int, float, str] | None:
    """θ, bounds on its error and that of x̄·θ, rank, condition and method.

    None if ill-conditioned.
    """
    if rows.centred:
        filled = np.trace(K) / len(K)
        K = K + filled * np.outer(rows.direction, rows.direction)
        magnitude = magnitude + filled * np.square(rows.direction)
    scale = np.ldexp(1.0, np.rint(np.log2(np.maximum(magnitude, 1e-300)) / 2).astype(int))
    try:
        factor = factorize(K / np.outer(scale, scale), np.zeros(len(K)))
    except linalg.LinAlgError:
        return None
    z = factor.solve(DoubleDouble.of(Y / scale[:, None])).round()
    inverse = np.abs(factor.inverse())
    g = np.maximum(np.sqrt(magnitude) / scale, 1.0)
    unit = UNIT * (CHUNK + rows.n_columns / CHUNK + 8) + factor.unit
    amplified = inverse @ g
    shrink = 1 - unit * float(g @ amplified)
    bound = unit * np.outer(amplified, g @ np.abs(z) + np.abs(Y / scale[:, None]).max(axis=0))
    if shrink < 0.5 or not (bound.max() <= PROVED_ERROR * np.abs(z).max() or not z.any()):
        return None
    norm = np.abs(K / np.outer(scale, scale)).sum(axis=0).max()
    condition = float(np.sqrt(norm * inverse.sum(axis=0).max()))
    rank = len(K) - int(rows.centred)
    unscale = 1 / scale[:, None]
    z = rows.about_mean(z * unscale)
    bound = bound / shrink * unscale + len(z) * UNIT * np.abs(z)
    coef, coef_bound = (D[:, None] * part for part in rows.transposed(z, bound))
    shift = np.abs(rows.fitted((D * rows.x_mean)[:, None])[:, 0]) @ bound
    return coef, coef_bound, shift, rank, condition, "Cholesky on the rows' side"


def _by_singular_values(
    rows: CentredRows, D: Array, Y: Array, penalised: bool
) -> tuple[Array, Array, Array, int, float, str]:
    """The same from Z D^½ = U diag(s) Vᵀ: θ = D^½ V diag(s / (s² + 1)) Uᵀ ỹ."""
    root = np.sqrt(D)
    Z = rows.scaled(root)
    U, s, Vt = linalg.svd(Z, full_matrices=False, check_finite=False)
    largest = float(s.max(initial=0.0))
    kept = s > largest * UNIT * 2 * max(Z.shape)
    U, s, Vt = U[:, kept], s[kept], Vt[kept]
    parts = U.T @ Y
    shrunk = parts * (s / (np.square(s) + penalised))[:, None]
    short = Vt.T @ shrunk
    least = 1.0 if penalised else float(s.min(initial=np.inf))
    condition = float(np.hypot(largest, penalised) / least) if len(s) else 1.0
    # Perturbation of least squares (Björck, theorem 1.4.6), the penalty's rows included.
    size = np.linalg.norm(short, axis=0)
    left = np.hypot(np.linalg.norm(Y - U @ (s[:, None] * shrunk), axis=0), penalised * size)
    error = 16 * len(Z) * UNIT * condition * (size + left / least)
    coef, bound = root[:, None] * short, np.outer(root, error)
    shift = np.linalg.norm(root * rows.x_mean) * error
    return coef, bound, shift, len(s), condition, "singular values on the rows' side"


class CentredRows:
    """Rows, centred and weighted without a copy of them."""

    def __init__(self, rows: Rows, centred: bool, n_jobs: int | None) -> None:
        self.centred, self.n_jobs = centred, n_jobs
        X, Y = rows.X, as_columns(rows.y)
        weight = np.ones(len(Y)) if rows.weight is None else rows.weight
        self.X, self.n_columns = X, X.shape[1]
        self.root = np.sqrt(weight)
        self.direction = self.root / np.linalg.norm(self.root)
        self.equal = bool((weight == 1).all())
        self.row_weight, self.weight = weight, float(weight.sum())
        self.true_mean = self._mean()
        self.x_mean, self.y_mean = self.true_mean, weight @ Y / self.weight
        if not centred:
            self.x_mean, self.y_mean = np.zeros_like(self.x_mean), np.zeros_like(self.y_mean)
        self.Y = self.about_mean(self.root[:, None] * (Y - self.y_mean))

    def about_mean(self, Z: Array) -> Array:
        """Take away what rounding of the means left along √w, where nothing should be."""
        return Z - np.outer(self.direction, self.direction @ Z) if self.centred else Z

    def _each(self, function: Callable[[slice], Array]) -> Iterator[Array]:
        """A function of chunks of columns, in order."""
        return each_chunk(self.n_columns, CHUNK, function, self.n_jobs)

    def _chunk(self, columns: slice) -> Array:
        chunk = self.X[:, columns] - self.x_mean[columns]
        if not self.equal:
            chunk *= self.root[:, None]
        return chunk

    def _mean(self) -> Array:
        if sparse.issparse(self.X):
            return np.asarray(self.row_weight @ self.X) / self.weight
        # About the first row, so that an offset costs no digits.
        first = np.asarray(self.X[0], dtype=np.float64)
        away = self._each(lambda c: self.row_weight @ (self.X[:, c] - first[c]))
        return first + _joined(away) / self.weight

    def variance(self) -> Array:
        """Variances of the columns, about their means in either case."""
        weight, mean = self.row_weight, self.true_mean
        if sparse.issparse(self.X):
            return centred_squares(self.X, weight, mean) / self.weight
        squares = self._each(lambda c: weight @ np.square(self.X[:, c] - mean[c]))
        return _joined(squares) / self.weight

    def gram(self, D: Array) -> tuple[Array, Array]:
        """Z D Zᵀ, and per row the sum of squares that went through it."""
        if sparse.issparse(self.X):
            K = np.asarray((self.X @ sparse.diags_array(D) @ self.X.T).toarray())
            along = self.X @ (D * self.x_mean)
            constant = float(self.x_mean @ (D * self.x_mean))
            magnitude = np.diagonal(K) + 2 * np.abs(along) + constant
            K = K - along[:, None] - along + constant
            K = K * np.outer(self.root, self.root)
            return self._doubly(K), self._mixed(magnitude * self.root**2)

        def product(columns: slice) -> Array:
            Z = self._chunk(columns)
            Z *= np.sqrt(D[columns])
            return np.asarray(Z @ Z.T)

        K = _total(self._each(product))
        return self._doubly(K), self._mixed(np.diagonal(K))

    def _doubly(self, K: Array) -> Array:
        """The same on both sides of a matrix of rows by rows."""
        return self.about_mean(self.about_mean(K).T)

    def _mixed(self, squares: Array) -> Array:
        """What went through a row once its share along √w is taken away."""
        size = np.sqrt(squares)
        return np.square(size + self.direction * (self.direction @ size) * self.centred)

    def scaled(self, factor: Array) -> Array:
        """Z times a factor for each column, as a matrix."""
        X = self.X.toarray() if sparse.issparse(self.X) else self.X
        return self.about_mean((self.root[:, None] * (X - self.x_mean)) * factor)

    def transposed(self, z: Array, size: Array) -> tuple[Array, Array]:
        """Zᵀ z, and |Z|ᵀ times a bound on something."""
        if sparse.issparse(self.X):
            weighed, sizes = self.root[:, None] * z, self.root[:, None] * size
            return (
                np.asarray(self.X.T @ weighed) - np.outer(self.x_mean, weighed.sum(axis=0)),
                np.asarray(abs(self.X).T @ sizes)
                + np.outer(np.abs(self.x_mean), sizes.sum(axis=0)),
            )

        def both(columns: slice) -> Array:
            chunk = self._chunk(columns)
            first = chunk.T @ z
            return np.concatenate([first, np.abs(chunk, out=chunk).T @ size], axis=1)

        joined = _joined(self._each(both))
        return joined[:, : z.shape[1]], joined[:, z.shape[1] :]

    def solution(
        self,
        coef: Array,
        coef_bound: Array,
        shift: Array,
        rank: int,
        condition: float,
        method: str,
        penalty: Array,
        Y: Array,
        target: int | None,
    ) -> LeastSquaresSolution:
        rounding = len(Y) * UNIT
        y_mean = self.y_mean if target is None else self.y_mean[[target]]
        intercept = y_mean - self.x_mean @ coef
        intercept_bound = shift + rounding * (np.abs(self.x_mean) @ np.abs(coef) + np.abs(y_mean))
        fitted = self.fitted(coef)
        residual = Y - fitted
        squares = np.square(residual).sum(axis=0)
        deviation = np.sqrt(self.variance() + (0 if self.centred else self.true_mean**2))
        y_deviation = np.linalg.norm(Y, axis=0) / np.sqrt(self.weight)
        error = relative_error(coef, coef_bound, intercept, intercept_bound, deviation, y_deviation)
        slope, terms = self.transposed(residual, np.abs(Y) + np.abs(fitted))
        gradient = np.abs(slope - penalty[:, None] * coef)
        return LeastSquaresSolution(
            coef=DoubleDouble.of(coef),
            coef_bound=coef_bound,
            intercept=DoubleDouble.of(intercept),
            residual=DoubleDouble.of(squares),
            objective=DoubleDouble.of((squares + penalty @ np.square(coef)) / 2),
            rank=self.n_columns if penalty.any() else rank,
            condition=condition,
            error=error,
            coefficient_digits=min(
                digits_of_each(DoubleDouble.of(coef), coef_bound),
                digits_of_each(DoubleDouble.of(intercept), intercept_bound),
            ),
            stationarity=float((gradient / np.where(terms > 0, terms, 1.0)).max()),
            method=method,
            proved=error <= PROVED_ERROR,
        )

    def fitted(self, coef: Array) -> Array:
        """Z θ."""
        if sparse.issparse(self.X):
            return self.root[:, None] * (self.X @ coef - self.x_mean @ coef)
        return _total(self._each(lambda c: self._chunk(c) @ coef[c]))


def _joined(parts: Iterator[Array]) -> Array:
    return np.concatenate(list(parts))


def _total(parts: Iterator[Array]) -> Array:
    total = next(parts)
    for part in parts:
        total += part
    return total
