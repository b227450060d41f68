"""Penalised least squares: the solution of the normal equations, and how good it is.

The scaled system (`suffice.linear.least_squares.normal_equations`) is solved in the precision of
the moments.  Columns that depend on the others, to within the rounding of their own
float64 values, leave the solution open; the one of smallest norm is taken.

**Digits.**  With A the scaled matrix, |ΔA| ≤ ε g gᵀ and |ΔB| ≤ ε g g_y bound the error of
the moments (g from the magnitudes that they carry), and |ΔA| ≤ μ f fᵀ, with f² the diagonal
of A, that of the factorisation.  To first order (the rest is bounded, too)

    |Δx| ≤ |A⁻¹| (ε g (g·|x| + g_y) + μ f (f·|x|)),

and what of it reaches the intercept, x̄·Δx, has |A⁻¹ x̄| in the place of |A⁻¹|.  About a line
(`Remainder`) x is the small step from there, g_y is zero, and two terms come in: errors δr of the
residuals move x by A⁻¹Xᵀδr, at most √(A⁻¹)ⱼⱼ ‖δr‖, and those of the sums through |A⁻¹|.

One measure decides what is accepted, claimed and proved: the largest error of a coefficient in
units in which all columns have the deviation 1, relative to its target's largest coefficient, and
that of the intercept, relative to the target's deviation or to itself, whichever is larger.

Reference: Higham, "Accuracy and Stability of Numerical Algorithms" (2002), chapter 7.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import linalg

from suffice.linear.least_squares.normal_equations import (
    NormalEquations,
    Penalty,
    ScaledEquations,
    rounded,
)
from suffice.numerics.double_double import UNIT, Array, DoubleDouble
from suffice.numerics.positive_definite import Factor, factorize, norm, product

PROVED_ERROR = 1e-6
"""Bound on the error up to which float64 is accepted, and a certificate holds."""


REFINED = ", corrected by the residuals of a second pass"


@dataclass(frozen=True)
class LeastSquaresSolution:
    """The minimiser and what is known about it.

    Attributes
    ----------
    coef : DoubleDouble of shape (columns, targets)
    coef_bound : array of shape (columns, targets)
        Bounds on the errors of the coefficients.
    intercept : DoubleDouble of shape (targets,)
    residual : DoubleDouble of shape (targets,)
        Weighted sum of squared residuals.
    objective : DoubleDouble of shape (targets,)
        Half of that, and of the penalty.
    rank : int or None
        Number of independent columns, where it was found.
    condition : float
        Bound on the condition number of the scaled (and centred) columns.
    error : float
        Bound on a coefficient's error relative to its target's largest one, in units in
        which all columns have the deviation 1, and on the intercept's relative to the target's
        deviation or itself.
    coefficient_digits : float
        Decimal digits guaranteed in every single coefficient and intercept.  Where the
        unpenalised solution is unique, what is below 10⁻²⁰ of the largest coefficient and
        cannot be told from zero is set to zero and counts as known.
    stationarity : float
        Largest entry of the gradient at the rounded coefficients, relative to its terms.
    method : str
    proved : bool
        Whether the minimiser was reached to the tolerance of its method.
    """

    coef: DoubleDouble
    coef_bound: Array
    intercept: DoubleDouble
    residual: DoubleDouble
    objective: DoubleDouble
    stationarity: float
    method: str
    proved: bool
    rank: int | None = None
    condition: float = np.nan
    error: float = np.nan
    coefficient_digits: float = np.nan

    @property
    def digits(self) -> float:
        """Decimal digits that the error guarantees; NaN where no bound is known."""
        return self.error if np.isnan(self.error) else _guaranteed(self.error + UNIT)


def solve(equations: NormalEquations, penalty: Penalty) -> LeastSquaresSolution:
    """Solve the penalised system as well as its precision allows.

    Parameters
    ----------
    equations : NormalEquations
    penalty : array or DoubleDouble of shape (columns,)
        λ, not negative; double-double where the data decide it.
    """
    solution = solve_if_accurate(equations, penalty, accepted=np.inf)
    if solution is None or np.isinf(solution.error):
        A, B = DoubleDouble.of(equations.A), DoubleDouble.of(equations.B)
        solution = solve_if_accurate(replace(equations, A=A, B=B), penalty)
    assert solution is not None  # double-double is the last resort
    return solution


def solve_if_accurate(
    equations: NormalEquations, penalty: Penalty, accepted: float = PROVED_ERROR
) -> LeastSquaresSolution | None:
    """The same, or None where float64 moments do not reach the accepted error."""
    scaled = ScaledEquations(equations, penalty)
    try:
        factor = factorize(scaled.A, scaled.tolerance)
    except linalg.LinAlgError:
        return None
    step, gradient, along = scaled.solve(factor)
    bound, shift, condition = _error_bound(scaled, factor, step, along)
    x = scaled.from_start(step)
    if factor.rank < len(scaled.active):
        x, bound = scaled.smallest(factor, x, bound)
        step = x if scaled.remainder is None else x - scaled.remainder.start
        gradient = (scaled.B - product(DoubleDouble.of(scaled.A), step)).hi
        shift = np.abs(scaled.centre.hi) @ bound
    solution = _solution(scaled, factor, x, step, gradient, bound, shift, condition)
    if scaled.is_doubtful(factor):
        solution = replace(solution, error=np.inf, coefficient_digits=0.0, proved=False)
    if not isinstance(equations.A, DoubleDouble) and not solution.error <= accepted:
        return None
    return solution


def _error_bound(
    scaled: ScaledEquations, factor: Factor, x: DoubleDouble, along: Array
) -> tuple[Array, Array, float]:
    """Bounds on |Δx|, on |x̄·Δx| and on the square root of the matrix's condition number.

    With x a step from a line, those on the errors of the sum of both.
    """
    A = rounded(scaled.A)
    independent: Any = slice(None)
    if factor.rank < len(A):
        independent = np.sort(factor.order[: factor.rank])
        A = A[np.ix_(independent, independent)]
    bound = np.zeros(x.shape)
    if not factor.rank:
        return bound, np.zeros(x.shape[1]), 1.0
    # Two sources of error side by side: the moments (ε, g) and the factorisation (μ, f).
    units = np.array([scaled.equations.error_unit, factor.unit])
    G = np.column_stack([scaled.x_error[independent], np.sqrt(np.diagonal(A))])
    size = np.abs(x.hi[independent])
    terms = units[:, None] * np.stack([G[:, 0] @ size + scaled.y_error, G[:, 1] @ size])
    inverse = np.abs(factor.inverse())
    amplified = inverse @ G
    both = G.sum(axis=1)
    shrink = 1 - float((units * (both @ amplified)).max())
    if shrink <= 0.5:
        terms = np.full(terms.shape, np.inf)
    else:
        terms = terms + np.outer(units, (both @ amplified) @ terms / shrink)
    residue = factor.residue * np.abs(x.hi).max(axis=0)
    bound[independent] = amplified @ terms
    bound += residue
    shift = residue * np.abs(scaled.centre.hi).sum()
    away = np.abs(along[independent]) if along.any() else None
    if away is not None:
        # A⁻¹ x̄ is itself known up to the share that shrinks.
        shift = shift + (2 - shrink) * (away @ G) @ terms
    of_sides: Any = None
    if scaled.penalty_error is not None:
        whole = np.abs(scaled.from_start(x).hi[independent])
        of_sides = scaled.penalty_error[independent, None] * whole
    if (rest := scaled.remainder) is not None:
        of_sides = rest.product_error[independent] + (0 if of_sides is None else of_sides)
        bound[independent] += np.outer(np.sqrt(np.diagonal(inverse)), 2 * rest.row_error)
        shift = shift + np.sqrt(abs(float(scaled.centre.hi @ along))) * 2 * rest.row_error
    if of_sides is not None:
        bound[independent] += 2 * (inverse @ of_sides)
        shift = shift if away is None else shift + 2 * away @ of_sides
    return bound, shift, float(np.sqrt(norm(A) * norm(inverse)))


def _solution(
    scaled: ScaledEquations,
    factor: Factor,
    x: DoubleDouble,
    step: DoubleDouble,
    gradient: Array,
    bound: Array,
    shift: Array,
    condition: float,
) -> LeastSquaresSolution:
    """Back to the user's units; `step` is what of x solves the system, from where it began."""
    equations = scaled.equations
    d, k = equations.x_mean.shape[0], equations.y_mean.shape[0]
    terms = step[:, None, :] * scaled.sides
    sums = terms.sum()
    intercept = equations.y_mean - sums[0]
    if scaled.remainder is not None:
        intercept = intercept - (scaled.centre[:, None] * scaled.remainder.start).sum()
    full = factor.rank == len(scaled.active)
    unique = full and not scaled.penalised
    if unique:
        x = _without_noise(x, bound, np.abs(x.hi).max(axis=0, initial=0.0))
    coef = DoubleDouble.zeros((d, k))
    theta = x.scaled(1 / scaled.scale[:, None])
    coef.hi[scaled.active], coef.lo[scaled.active] = theta.hi, theta.lo
    theta_bound = np.zeros((d, k))
    theta_bound[scaled.active] = bound / scaled.scale[:, None]
    of_intercept = intercept_bound(equations, coef, shift)
    if unique:
        intercept = _without_noise(intercept, of_intercept, np.abs(equations.y_mean.hi))
    # Twice the objective: total − 2 θ·B + θ·A θ = total − θ·B − θ·(B − A θ).
    doubled = scaled.total - sums[1] - (step.hi * gradient).sum(axis=0)
    residual = doubled
    if scaled.penalised:
        residual = residual - (x * x * scaled.penalty[:, None]).sum()
    deviations = equations.x_deviation, equations.y_deviation
    error = relative_error(coef.hi, theta_bound, intercept.hi, of_intercept, *deviations)
    return LeastSquaresSolution(
        coef=coef,
        coef_bound=theta_bound,
        intercept=intercept,
        residual=_not_negative(residual),
        objective=_not_negative(doubled).scaled(0.5),
        rank=factor.rank,
        condition=condition,
        error=error,
        coefficient_digits=min(
            digits_of_each(coef, theta_bound, full), digits_of_each(intercept, of_intercept)
        ),
        stationarity=_stationarity(scaled, x, gradient),
        method=factor.method + ("" if scaled.remainder is None else REFINED),
        proved=error <= PROVED_ERROR,
    )


def relative_error(
    coef: Array,
    coef_bound: Array,
    intercept: Array,
    intercept_bound: Array,
    deviation: Array,
    y_deviation: Array,
) -> float:
    """The one measure: of the standardised coefficients, and of the intercept.

    Of the intercept of columns far from zero, x̄·Δθ is the larger part of the error; in predictions
    it cancels, so that six digits of such a large number are enough.
    """
    largest = (deviation[:, None] * np.abs(coef)).max(axis=0, initial=0.0)
    error = (deviation[:, None] * coef_bound).max(axis=0, initial=0.0)
    size = np.maximum(y_deviation, np.abs(intercept))
    size = np.where(size > 0, size, 1.0)
    relative = error / np.where(largest > 0, largest, size)
    return float(np.maximum(relative, intercept_bound / size).max())


def intercept_bound(equations: NormalEquations, coef: DoubleDouble, shift: Array) -> Array:
    """Bounds on the errors of ȳ − θ·x̄, where those of θ move it by `shift` at most."""
    if not equations.x_mean.hi.any() and not equations.y_mean.hi.any():
        return np.zeros(equations.y_mean.shape)
    unit, size = equations.error_unit, np.abs(coef.hi)
    x_mean_error = unit * np.sqrt(equations.x_magnitude / equations.weight)
    y_mean_error = unit * np.sqrt(equations.y_magnitude / equations.weight)
    terms = np.abs(equations.x_mean.hi) @ size + np.abs(equations.y_mean.hi)
    rounding = len(size) * 2.0**-98 * terms
    return np.asarray(y_mean_error + x_mean_error @ size + shift + rounding)


def _stationarity(scaled: ScaledEquations, x: DoubleDouble, gradient: Array) -> float:
    """The gradient at the rounded coefficients, relative to its terms."""
    A = rounded(scaled.A)
    theta = x.round()
    gradient = gradient + A @ ((x.hi - theta) + x.lo)
    terms = np.abs(scaled.B.hi) + np.abs(A) @ np.abs(theta)
    return float((np.abs(gradient) / np.where(terms > 0, terms, 1)).max(initial=0.0))


def joined(solutions: list[LeastSquaresSolution]) -> LeastSquaresSolution:
    """Solutions of single targets as one."""
    if len(solutions) == 1:
        return solutions[0]

    def side_by_side(values: list[DoubleDouble]) -> DoubleDouble:
        return DoubleDouble(
            np.concatenate([v.hi for v in values], axis=-1),
            np.concatenate([v.lo for v in values], axis=-1),
        )

    return LeastSquaresSolution(
        coef=side_by_side([s.coef for s in solutions]),
        coef_bound=np.concatenate([s.coef_bound for s in solutions], axis=1),
        intercept=side_by_side([s.intercept for s in solutions]),
        residual=side_by_side([s.residual for s in solutions]),
        objective=side_by_side([s.objective for s in solutions]),
        rank=min((s.rank for s in solutions if s.rank is not None), default=None),
        condition=max(s.condition for s in solutions),
        error=max(s.error for s in solutions),
        coefficient_digits=min(s.coefficient_digits for s in solutions),
        stationarity=max(s.stationarity for s in solutions),
        method=solutions[0].method,
        proved=all(s.proved for s in solutions),
    )


def _without_noise(x: DoubleDouble, bound: Array, size: Array) -> DoubleDouble:
    """Zero where nothing but noise, far below float64's resolution, is left.

    A penalty, or the choice of the smallest solution, makes truly small coefficients out of
    none: there, nothing is taken for noise.
    """
    noise = (np.abs(x.hi) <= bound) & (bound <= 1e-20 * size)
    return DoubleDouble(np.where(noise, 0.0, x.hi), np.where(noise, 0.0, x.lo))


def _not_negative(value: DoubleDouble) -> DoubleDouble:
    keep = value.hi > 0
    return DoubleDouble(np.where(keep, value.hi, 0.0), np.where(keep, value.lo, 0.0))


def digits_of_each(value: DoubleDouble, bound: Array, trust_zeros: bool = True) -> float:
    """Decimal digits guaranteed in every number, once rounded to float64."""
    size = np.abs(value.hi)
    known = size > 0
    if not (trust_zeros or bound[~known].max(initial=0.0) == 0):
        return 0.0
    # Relative to the true value, which is at least this.
    least = np.where(known, size - bound, 1.0)
    if not (least > 0).all():
        return 0.0
    relative = np.where(known, bound, 0.0) / least
    return _guaranteed(float(relative.max(initial=0.0)) + UNIT * (1 + 1e-9))


def _guaranteed(error: float) -> float:
    return max(-float(np.log10(error)), 0.0) if np.isfinite(error) else 0.0
