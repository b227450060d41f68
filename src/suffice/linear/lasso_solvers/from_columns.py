"""Columns of data that are wide or sparse, for a solver that looks at few of them.

With X the centred rows (times √w), no matrix of columns by columns is formed.  What a solver asks
for are products of few columns, and the correlations xⱼ·r of all columns with a residual r.
Most of these are far below the penalty, and remain so: with what is known of an earlier residual
s, and a the share of it in r,

    |xⱼ·r| ≤ |a| |xⱼ·s| + ‖xⱼ‖ ‖r − a s‖,       a = r·s / ‖s‖²,

so that only the columns for which this exceeds the penalty are looked at.

A sparse matrix stays sparse: its columns are centred in the formulas alone.

Reference: Ghaoui, Viallon and Rabbani, "Safe feature elimination" (2012).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import linalg, sparse

from suffice.engines.gather import Rows
from suffice.engines.passes import each_chunk
from suffice.fitting.regression import as_columns
from suffice.linear.lasso_solvers.coordinate_descent import (
    MOST_COEFFICIENTS,
    Descent,
    Indices,
    Penalty,
    TooManyColumnsError,
    WorkingSet,
    duality_gap,
    nothing_yet,
    solve_penalised,
)
from suffice.linear.lasso_solvers.from_moments import SparseSolution, Strength, strongest
from suffice.linear.lasso_solvers.on_the_residual import solve_on_residual
from suffice.linear.least_squares.conjugate_gradients import centred_squares
from suffice.numerics.double_double import UNIT, Array

CHUNK = 512
"""Columns handled at once."""

LEAST_PRODUCTS = 2048
"""Columns whose products are formed however few the rows are."""

FEW = 0.25
"""Share of the columns up to which those that must be looked at are taken out."""


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


def gamma(k: int) -> float:
    """γₖ = k u / (1 − k u): the relative error of k roundings at most."""
    return k * UNIT / (1 - k * UNIT)


class Columns(ABC):
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

    def target(self, number: int) -> OneTargetOfColumns:
        """The problem of one target."""
        return OneTargetOfColumns(self, number)

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


class DenseColumns(Columns):
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


class SparseColumns(Columns):
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


def columns_of(rows: Rows, centred: bool, n_jobs: int | None) -> Columns:
    """Rows that were gathered, as columns."""
    weight = np.ones(rows.X.shape[0]) if rows.weight is None else rows.weight
    kind = SparseColumns if sparse.issparse(rows.X) else DenseColumns
    return kind(rows.X, as_columns(rows.y), weight, centred, n_jobs)


class ColumnsQuadratic:
    """The squared error of one target, from columns of data."""

    def __init__(self, columns: Columns, y: Array) -> None:
        self.columns, self.y = columns, y
        self.squares, self.total = columns.squares, float(y @ y)
        self.linear = columns.dots(None, y)
        self.norms = np.sqrt(self.squares)
        # With fewer rows, a step on the residual costs less than one on the products.
        self.most_products = max(LEAST_PRODUCTS, 4 * len(y))
        self.known, self.known_for = self.linear, y

    def gram(self, rows: Indices, columns: Indices) -> Array:
        return self.columns.gram(rows, columns)

    def residual(self, support: Indices, values: Array) -> Array:
        """y − Xθ."""
        return self.y - self.columns.combined(support, values) if len(support) else self.y

    def slope(self, support: Indices, values: Array, penalty: Penalty) -> Array:
        return self.slope_of(self.residual(support, values), support, penalty)

    def slope_of(self, r: Array, support: Indices, penalty: Penalty) -> Array:
        """xⱼ·r, or a number that is near it where both are far below the penalty."""
        square = float(self.known_for @ self.known_for)
        share = float(r @ self.known_for) / square if square > 0 else 0.0
        far = float(np.linalg.norm(r - share * self.known_for)) * (1 + 1e-12)
        guess = share * self.known
        # Both products are rounded, the earlier and the one that is not formed.
        size = abs(share) * np.sqrt(square) + float(np.linalg.norm(r))
        reach = self.norms * far + 2 * gamma(len(r) + 8) * self.columns.sizes * size
        asked = np.abs(guess) + reach >= penalty.l1 * (1 - 1e-10)
        asked[support] = True
        if np.count_nonzero(asked) > FEW * len(asked):
            self.known, self.known_for = self.columns.dots(None, r), r
            return self.known.copy()
        some = np.flatnonzero(asked)
        guess[some] = self.columns.dots(some, r)
        return guess


class OneTargetOfColumns:
    """The problem of one target, for many penalties one after the other."""

    def __init__(self, columns: Columns, number: int) -> None:
        self.columns, self.number = columns, number
        self.problem = ColumnsQuadratic(columns, np.ascontiguousarray(columns.Y[:, number]))
        self.working = WorkingSet(self.problem)
        self.last: Descent = nothing_yet(self.problem)
        self.way = "a working set of columns"

    def strongest(self, strength: Strength) -> float:
        """The smallest alpha for which all coefficients are zero (with an l1 penalty alone)."""
        unit = strength._replace(alpha=1.0).penalty(self.columns.weight, self.columns.deviation)
        return strongest(self.problem.linear, unit)

    def begin(self) -> None:
        """Start the next path at θ = 0."""
        self.last = nothing_yet(self.problem)

    def solve(self, strength: Strength) -> SparseSolution:
        """The solution for one penalty, from that for the last one."""
        penalty = strength.penalty(self.columns.weight, self.columns.deviation)
        try:
            self.last = solve_penalised(
                self.problem, penalty, self.last, self.working, strength.most_sweeps
            )
        except TooManyColumnsError as stopped:
            self.way = "all columns and the residual"
            self.last = solve_on_residual(
                self.problem, penalty, stopped.reached, self.working, strength.most_sweeps
            )
        support = self.last.support
        theta = self._refined(penalty, support, self.last.theta[support])
        return self._certified(penalty, support, theta)

    def solve_in_turn(self, strengths: Sequence[Strength]) -> list[SparseSolution]:
        """The solutions for some penalties, one after the other."""
        return [self.solve(strength) for strength in strengths]

    def _refined(self, penalty: Penalty, support: Indices, theta: Array) -> Array:
        """θ with the residual of the rows, not that of their products, at its optimum."""
        if not 0 < len(support) <= MOST_COEFFICIENTS:
            return theta
        few = penalty.of(support)
        G = self.working.gram(support)
        G[np.diag_indices(len(support))] += few.l2
        try:
            factor = linalg.cho_factor(G, overwrite_a=True, check_finite=False)
        except linalg.LinAlgError:
            return theta
        signs = np.sign(theta)
        for _ in range(2):
            slope = self.columns.dots(support, self.problem.residual(support, theta))
            step = linalg.cho_solve(
                factor, slope - few.l2 * theta - few.l1 * signs, check_finite=False
            )
            if not (np.sign(theta + step) == signs).all():
                break
            theta = theta + step
            if np.abs(step).max() <= UNIT * np.abs(theta).max():
                break
        return theta

    def _rounding(self, r: Array, support: Indices, theta: Array) -> tuple[Array, float]:
        """Bounds on the errors of xⱼ·r, and of r.

        In whatever order k products are added up, the error is γₖ = k u / (1 − k u) of their
        absolute sum at most.  With sⱼ the size of a column, the residual is off by no more than
        γₚ (Σ sₖ |θₖ| + ‖y‖) for p columns in the support, and a product with it by sⱼ times that,
        and γₙ sⱼ ‖r‖ for n rows.  An error in x̄ⱼ, no more than γₙ sⱼ / √W, moves xⱼ along √w and
        costs the same once more.  A few roundings per entry are in the 8.
        """
        sizes, n = self.columns.sizes, len(r)
        terms = float(np.abs(theta) @ sizes[support]) + np.sqrt(self.problem.total)
        away = gamma(len(support) + 8) * terms
        error = sizes * (2 * gamma(n + 8) * float(np.linalg.norm(r)) + away)
        # The norms are rounded themselves.
        return error * (1 + 4 * gamma(n + 8)), float(away * (1 + 4 * gamma(n + 8)))

    def _certified(self, penalty: Penalty, support: Indices, theta: Array) -> SparseSolution:
        columns, problem = self.columns, self.problem
        coef = np.zeros(len(problem.linear))
        coef[support] = theta
        r = problem.residual(support, theta)
        slope = problem.slope_of(r, support, penalty)
        error, away = self._rounding(r, support, theta)
        squares = (float(np.linalg.norm(r)) + away) ** 2
        usable = problem.squares > 0
        gap = duality_gap(coef[usable], slope[usable], squares, penalty.of(usable), error[usable])
        cost = float((penalty.l1 * np.abs(coef) + penalty.l2 * np.square(coef) / 2).sum())
        outside = usable & (coef == 0)
        margin = -penalty.excess(slope) - error
        intercept = columns.y_mean[self.number] - columns.x_mean @ coef
        return SparseSolution(
            coef=coef,
            intercept=float(intercept),
            objective=(float(r @ r) / 2 + cost) / columns.weight,
            gap=gap.gap / columns.weight,
            scale=problem.total / columns.weight,
            violation=gap.violation,
            digits=np.nan,
            condition=np.nan,
            sweeps=self.last.sweeps,
            rests=self.last.done,
            certain=bool((margin[outside] > 0).all()),
            least_squares=not penalty.l1.any(),
            proved=True,
        )
