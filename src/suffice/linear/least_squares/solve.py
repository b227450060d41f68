"""Penalised least squares: the solution of the normal equations, and how good it is.

The scaled system (`suffice.linear.least_squares.normal_equations`) is solved in the precision of
the moments.  Columns that depend on the others, to within the rounding of their own
float64 values, leave the solution open; the one of smallest norm is taken.

**Digits.**  With A the scaled matrix, |ΔA| ≤ ε g gᵀ and |ΔB| ≤ ε g g_y bound the error of
the moments (g from the magnitudes that they carry), and |ΔA| ≤ μ f fᵀ, with f² the diagonal
of A, that of the factorisation.  To first order (the rest is bounded, too)

    |Δx| ≤ |A⁻¹| (ε g (g·|x| + g_y) + μ f (f·|x|)),

and what of it reaches the intercept, x̄·Δx, has |A⁻¹ x̄| in the place of |A⁻¹|.

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

ACCEPTED_ERROR = 1e-10
"""Bound on the error, relative to the largest scaled coefficient, that float64 may have."""

PROVED_ERROR = 1e-6
"""Bound on that error up to which a certificate holds."""


@dataclass(frozen=True)
class LeastSquaresSolution:
    """The minimiser and what is known about it.

    Attributes
    ----------
    coef : DoubleDouble of shape (columns, targets)
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
        which all columns have the same spread.
    digits : float
        Decimal digits guaranteed in every coefficient and intercept.  Where the
        unpenalised solution is unique, what is below 10⁻²⁰ of the largest coefficient and
        cannot be told from zero is set to zero and counts as known.
    stationarity : float
        Largest entry of the gradient at the rounded coefficients, relative to its terms.
    method : str
    proved : bool
        Whether the minimiser was reached to the tolerance of its method.
    """

    coef: DoubleDouble
    intercept: DoubleDouble
    residual: DoubleDouble
    objective: DoubleDouble
    rank: int | None
    condition: float
    error: float
    digits: float
    stationarity: float
    method: str
    proved: bool


def solve(equations: NormalEquations, penalty: Penalty) -> LeastSquaresSolution:
    """Solve the penalised system as well as its precision allows.

    Parameters
    ----------
    equations : NormalEquations
    penalty : array or DoubleDouble of shape (columns,)
        λ, not negative; double-double where the data decide it.
    """
    solution = solve_if_accurate(equations, penalty, accepted=np.inf)
    if solution is None:
        A, B = DoubleDouble.of(equations.A), DoubleDouble.of(equations.B)
        solution = solve_if_accurate(replace(equations, A=A, B=B), penalty)
    assert solution is not None  # double-double is the last resort
    return solution


def solve_if_accurate(
    equations: NormalEquations, penalty: Penalty, accepted: float = ACCEPTED_ERROR
) -> LeastSquaresSolution | None:
    """The same, or None where float64 moments do not reach the accepted error."""
    scaled = ScaledEquations(equations, penalty)
    try:
        factor = factorize(scaled.A, scaled.tolerance)
    except linalg.LinAlgError:
        return None
    x, gradient, along = scaled.solve(factor)
    bound, shift, condition = _error_bound(scaled, factor, x, along)
    if factor.rank < len(scaled.active):
        x, bound = scaled.smallest(factor, x, bound)
        gradient = (scaled.B - product(DoubleDouble.of(scaled.A), x)).hi
        shift = np.abs(scaled.centre.hi) @ bound
    largest = np.abs(x.hi).max(axis=0, initial=0.0)
    error = float((bound.max(axis=0, initial=0.0) / np.where(largest > 0, largest, 1)).max())
    doubtful = scaled.is_doubtful(factor)
    if doubtful:
        error = np.inf
    if not isinstance(equations.A, DoubleDouble) and not error <= accepted:
        return None
    solution = _solution(scaled, factor, x, gradient, bound, shift, condition, error)
    return replace(solution, digits=0.0) if doubtful else solution


def _error_bound(
    scaled: ScaledEquations, factor: Factor, x: DoubleDouble, along: Array
) -> tuple[Array, Array, float]:
    """Bounds on |Δx|, on |x̄·Δx| and on the square root of the matrix's condition number."""
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
    if scaled.penalty_error is not None:
        bound[independent] += inverse @ (scaled.penalty_error[independent, None] * size)
    bound += residue
    shift = residue * np.abs(scaled.centre.hi).sum()
    if along.any():
        # A⁻¹ x̄ is itself known up to the share that shrinks.
        shift = shift + (2 - shrink) * (np.abs(along[independent]) @ G) @ terms
        if scaled.penalty_error is not None:
            weighed = np.abs(along) * scaled.penalty_error
            shift = shift + 2 * weighed[independent] @ size
    return bound, shift, float(np.sqrt(norm(A) * norm(inverse)))


def _solution(
    scaled: ScaledEquations,
    factor: Factor,
    x: DoubleDouble,
    gradient: Array,
    bound: Array,
    shift: Array,
    condition: float,
    error: float,
) -> LeastSquaresSolution:
    """Back to the user's units."""
    equations = scaled.equations
    d, k = equations.x_mean.shape[0], equations.y_mean.shape[0]
    terms = x[:, None, :] * scaled.sides
    sums = terms.sum()
    intercept = equations.y_mean - sums[0]
    full = factor.rank == len(scaled.active)
    unique = full and not scaled.penalised
    if unique:
        x = _without_noise(x, bound, np.abs(x.hi).max(axis=0, initial=0.0))
    coef = DoubleDouble.zeros((d, k))
    theta = x.scaled(1 / scaled.scale[:, None])
    coef.hi[scaled.active], coef.lo[scaled.active] = theta.hi, theta.lo
    theta_bound = np.zeros((d, k))
    theta_bound[scaled.active] = bound / scaled.scale[:, None]
    intercept_bound = _intercept_bound(scaled, coef, terms.hi[:, 0], shift)
    if unique:
        intercept = _without_noise(intercept, intercept_bound, np.abs(equations.y_mean.hi))
    # Twice the objective: total − 2 θ·B + θ·A θ = total − θ·B − θ·(B − A θ).
    doubled = equations.total - sums[1] - (x.hi * gradient).sum(axis=0)
    residual = doubled
    if scaled.penalised:
        residual = residual - (x * x * scaled.penalty[:, None]).sum()
    return LeastSquaresSolution(
        coef=coef,
        intercept=intercept,
        residual=_not_negative(residual),
        objective=_not_negative(doubled).scaled(0.5),
        rank=factor.rank,
        condition=condition,
        error=error,
        digits=min(digits(coef, theta_bound, full), digits(intercept, intercept_bound)),
        stationarity=_stationarity(scaled, x, gradient),
        method=factor.method,
        proved=error <= PROVED_ERROR,
    )


def _intercept_bound(
    scaled: ScaledEquations, coef: DoubleDouble, slope_terms: Array, shift: Array
) -> Array:
    equations = scaled.equations
    if not equations.x_mean.hi.any() and not equations.y_mean.hi.any():
        return np.zeros(equations.y_mean.shape)
    unit = equations.error_unit
    x_mean_error = unit * np.sqrt(equations.x_magnitude / equations.weight)
    y_mean_error = unit * np.sqrt(equations.y_magnitude / equations.weight)
    rounding = 2.0**-98 * (np.abs(slope_terms).sum(axis=0) + np.abs(equations.y_mean.hi))
    return np.asarray(
        y_mean_error + x_mean_error @ np.abs(coef.hi) + shift + len(coef.hi) * rounding
    )


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
        intercept=side_by_side([s.intercept for s in solutions]),
        residual=side_by_side([s.residual for s in solutions]),
        objective=side_by_side([s.objective for s in solutions]),
        rank=min((s.rank for s in solutions if s.rank is not None), default=None),
        condition=max(s.condition for s in solutions),
        error=max(s.error for s in solutions),
        digits=min(s.digits for s in solutions),
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


def digits(value: DoubleDouble, bound: Array, trust_zeros: bool = True) -> float:
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
    worst = float(relative.max(initial=0.0)) + UNIT * (1 + 1e-9)
    return max(-np.log10(worst), 0.0) if np.isfinite(worst) else 0.0
