"""A Gaussian prior as pseudo-statistics, and the posterior that it makes of moments.

A prior θ | σ² ~ N(m₀, σ² P⁻¹) adds to the normal equations A θ = B what rows would add:

    (A + P) θ = B + P m₀,        2 E = Σ wᵢ yᵢ² + m₀ᵀ P m₀ − θ·(B + P m₀),

with E half the least value of Σ wᵢ (θ·xᵢ + b − yᵢ)² + (θ − m₀)ᵀ P (θ − m₀).  Given σ², the
posterior of θ is N(θ, σ² (A + P)⁻¹); the intercept is flat, and given θ it is
N(ȳ − θ·x̄, σ²/W).

Reference: Bishop, "Pattern Recognition and Machine Learning" (2006), 3.3 and 3.5.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import linalg

from suffice.linear.least_squares import NormalEquations, Solution, Spread, spread
from suffice.numerics.double_double import DOUBLE_DOUBLE_UNIT, UNIT, Array, DoubleDouble
from suffice.numerics.positive_definite import product

Solver = Callable[[NormalEquations, Any], Solution | None]


@dataclass(frozen=True)
class Prior:
    """θ | σ² ~ N(mean, σ² P⁻¹), with P = diag(diagonal) + rest.

    Attributes
    ----------
    mean, diagonal : arrays of shape (columns,)
    rest : array of shape (columns, columns), or None
        The precision off its diagonal, where there is any.
    rank : int
        Rank of P; along all other directions the prior is flat.
    log_det : float
        Logarithm of the product of the eigenvalues of P that are not zero.
    """

    mean: Array
    diagonal: Array
    rest: Array | None
    rank: int
    log_det: float

    def scaled(self, factor: float) -> Prior:
        """The prior of a precision `factor` times as large."""
        return Prior(
            self.mean,
            self.diagonal * factor,
            None if self.rest is None else self.rest * factor,
            self.rank,
            self.log_det + self.rank * float(np.log(factor)),
        )

    @property
    def precision(self) -> Array:
        """P as a matrix."""
        whole = np.diag(self.diagonal)
        return whole if self.rest is None else whole + self.rest

    def times(self, v: Array) -> DoubleDouble:
        """P v for v of shape (columns,)."""
        along = DoubleDouble.of(self.diagonal) * v
        if self.rest is None:
            return along
        return along + product(DoubleDouble.of(self.rest), DoubleDouble.of(v[:, None]))[:, 0]

    def square(self, v: Array) -> float:
        """vᵀ P v."""
        return float((self.times(v) * v).sum().round())

    def trace_with(self, V: Array) -> float:
        """tr(P V) for a symmetric V."""
        trace = float(self.diagonal @ np.diagonal(V))
        return trace if self.rest is None else trace + float(np.sum(self.rest * V))

    def added_to(self, equations: NormalEquations) -> NormalEquations:
        """The equations with the prior's share, but for its diagonal, which is a penalty."""
        added = equations
        if self.rest is not None:
            added = replace(added, A=added.A + self.rest)
        if self.mean.any():
            pull = self.times(self.mean)
            added = replace(
                added,
                B=DoubleDouble.of(added.B) + pull[:, None],
                total=added.total + (pull * self.mean).sum()[None],
            )
        return added


def make_prior(precision: Any, mean: Any, n_columns: int) -> Prior:
    """The prior that a user describes, checked.

    Parameters
    ----------
    precision : number, array of shape (columns,) or (columns, columns)
    mean : number or array of shape (columns,)
    n_columns : int
    """
    m = _numbers("prior_mean", mean)
    if m.ndim > 1 or (m.ndim == 1 and len(m) != n_columns):
        raise ValueError(
            f"prior_mean must be one number or one for each of the {n_columns} columns, got an "
            f"array of shape {m.shape}"
        )
    m = np.broadcast_to(m, n_columns).astype(np.float64)
    P = _numbers("prior_precision", precision)
    if P.ndim > 2 or any(size != n_columns for size in P.shape):
        raise ValueError(
            f"prior_precision must be one number, one for each of the {n_columns} columns, or a "
            f"matrix of shape ({n_columns}, {n_columns}), got an array of shape {P.shape}"
        )
    if P.ndim == 2 and np.count_nonzero(P - np.diag(np.diagonal(P))):
        return _of_matrix(P, m)
    diagonal = np.diagonal(P) if P.ndim == 2 else P
    diagonal = np.broadcast_to(diagonal, n_columns).astype(np.float64)
    if (diagonal < 0).any():
        raise ValueError(f"prior_precision must not be negative, got {diagonal.min():g}")
    proper = diagonal[diagonal > 0]
    return Prior(m, diagonal, None, len(proper), float(np.log(proper).sum()))


def _numbers(name: str, value: Any) -> Array:
    try:
        numbers = np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError(f"{name} must hold numbers, got {value!r}") from None
    if not np.isfinite(numbers).all():
        raise ValueError(f"{name} must be finite, but it holds NaN or infinity")
    return numbers


def _of_matrix(P: Array, mean: Array) -> Prior:
    """Checked in units in which the diagonal is 1: a column's scale must not hide its rank."""
    diagonal = np.diagonal(P).copy()
    root = np.sqrt(np.where(diagonal > 0, diagonal, 1.0))
    scaled = P / root[:, None] / root
    if not np.allclose(scaled, scaled.T, rtol=0, atol=1e-12):
        raise ValueError("prior_precision must be symmetric, and this matrix is not")
    P = (P + P.T) / 2
    values = linalg.eigvalsh((scaled + scaled.T) / 2)
    noise = 8 * len(P) * UNIT * max(float(np.abs(values).max()), 1.0)
    if values.min() < -noise or (diagonal < 0).any():
        raise ValueError(
            "prior_precision must be positive semi-definite; scaled to a diagonal of ones, this "
            f"matrix has the eigenvalue {values.min():.3g}"
        )
    proper = values[values > noise]
    if len(proper) == len(P):
        log_det = float(np.log(values).sum() + np.log(diagonal).sum())
    else:
        own = linalg.eigvalsh(P)[len(P) - len(proper) :]
        log_det = float(np.log(own).sum())
    return Prior(mean, diagonal, P - np.diag(diagonal), len(proper), log_det)


@dataclass(frozen=True)
class Posterior:
    """What moments and a prior say about the coefficients, for a noise variance of 1.

    Attributes
    ----------
    solution : Solution
        The posterior mean.
    spread : Spread
        The root of the covariance, and the directions that stay open.
    covariance : array of shape (columns, columns)
        V = (A + P)⁻¹; NaN where a direction stays open.
    log_det : float
        log |A + P|; NaN where a direction stays open.
    quadratic : float
        2 E, see above.
    quadratic_error, covariance_error : float
        Bounds on the relative errors of these two; that of V relative to √(Vᵢᵢ Vⱼⱼ).
    """

    solution: Solution
    spread: Spread
    covariance: Array
    log_det: float
    quadratic: float
    quadratic_error: float
    covariance_error: float

    @property
    def is_proper(self) -> bool:
        return not self.spread.null_space.shape[1]


def posterior(
    equations: NormalEquations, prior: Prior, fit_intercept: bool, solver: Solver
) -> Posterior | None:
    """Prior and statistics together; None where float64 moments do not suffice."""
    solution = solver(prior.added_to(equations), prior.diagonal)
    if solution is None:
        return None
    found, whole = spread_with(equations, prior, fit_intercept)
    covariance = found.root @ found.root.T
    size = np.abs(covariance)
    if found.null_space.shape[1]:
        unknown = np.abs(found.null_space).sum(axis=1) > 1e-9
        covariance[unknown] = covariance[:, unknown] = np.nan
        log_det = np.nan
    else:
        # The root is triangular but for the order of its rows: its pivots are its diagonal.
        log_det = -2.0 * float(np.linalg.slogdet(found.root)[1])
    quadratic = 2 * float(solution.objective.round()[0])
    g, f, unit = _errors(equations, prior, whole)
    theta = np.abs(solution.coef.hi[:, 0])
    wrong = equations.error_unit * float(g @ theta + np.sqrt(equations.y_magnitude[0])) ** 2
    wrong += unit * float(f @ theta) ** 2
    of_covariance = equations.error_unit * float(g @ size @ g) + unit * float(f @ size @ f)
    return Posterior(
        solution=solution,
        spread=found,
        covariance=covariance,
        log_det=log_det,
        quadratic=quadratic,
        quadratic_error=wrong / quadratic if wrong and quadratic else np.inf if wrong else 0.0,
        covariance_error=of_covariance + (len(g) + 4) * UNIT,
    )


def spread_with(
    equations: NormalEquations, prior: Prior, fit_intercept: bool
) -> tuple[Spread, NormalEquations]:
    """The root of V, and the equations with the prior's share from which it was made."""
    whole = prior.added_to(equations)
    try:
        return spread(whole, fit_intercept, prior.diagonal), whole
    except linalg.LinAlgError:
        # As `solve` does where float64 fails.
        whole = replace(whole, A=DoubleDouble.of(whole.A))
        return spread(whole, fit_intercept, prior.diagonal), whole


def _errors(
    equations: NormalEquations, prior: Prior, whole: NormalEquations
) -> tuple[Array, Array, float]:
    """What bounds the errors of moments and of arithmetic: g, f and the unit of f."""
    exact = isinstance(whole.A, DoubleDouble)
    diagonal = np.diagonal(equations.A.hi if isinstance(equations.A, DoubleDouble) else equations.A)
    f = np.sqrt(np.maximum(diagonal + prior.diagonal, 0.0))
    unit = (3 * len(f) + 8) * (DOUBLE_DOUBLE_UNIT if exact else UNIT)
    return np.sqrt(equations.x_magnitude), f, unit
