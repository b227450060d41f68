"""The posterior that a Gaussian prior makes of moments.

A prior θ | σ² ~ N(m₀, σ² P⁻¹) adds to the normal equations A θ = B what rows would add
(`suffice.bayes.priors.coefficients`):

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

from suffice.bayes.priors.coefficients import CoefficientPrior
from suffice.linear.least_squares.normal_equations import NormalEquations, Remainder, rounded
from suffice.linear.least_squares.solve import LeastSquaresSolution
from suffice.linear.least_squares.spread import CoefficientSpread, spread
from suffice.numerics.double_double import DOUBLE_DOUBLE_UNIT, UNIT, Array, DoubleDouble

Solver = Callable[[NormalEquations, Any], LeastSquaresSolution | None]


def with_prior(equations: NormalEquations, prior: CoefficientPrior) -> NormalEquations:
    """The equations with the prior's share, but for its diagonal, which is a penalty."""
    rest, mean, line = prior.precision.rest, prior.mean, equations.remainder
    if rest is not None:
        equations = replace(equations, A=equations.A + rest)
    if mean.any():
        pull = prior.precision.times(mean)
        equations = replace(
            equations,
            B=DoubleDouble.of(equations.B) + pull[:, None],
            total=equations.total + (pull * mean).sum()[None],
        )
    if line is not None:
        equations = replace(equations, remainder=_line_with_prior(line, prior))
    return equations


def _line_with_prior(line: Remainder, prior: CoefficientPrior) -> Remainder:
    """The prior's share about a line θ₀: −P (θ₀ − m₀) and its square, but for the diagonal's."""
    start, B, total = line.start, line.B, line.total
    if prior.precision.rest is not None:
        along = (DoubleDouble.of(prior.precision.rest)[:, :, None] * start[None]).sum(axis=1)
        B, total = B - along, total + (along * start).sum()
    if prior.mean.any():
        pull = prior.precision.times(prior.mean)
        B = B + pull[:, None]
        total = total + (pull * prior.mean).sum()[None] - (pull[:, None] * (2 * start)).sum()
    return replace(line, B=B, total=total)


@dataclass(frozen=True)
class Posterior:
    """What moments and a prior say about the coefficients, for a noise variance of 1.

    Attributes
    ----------
    solution : LeastSquaresSolution
        The posterior mean.
    spread : CoefficientSpread
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

    solution: LeastSquaresSolution
    spread: CoefficientSpread
    covariance: Array
    log_det: float
    quadratic: float
    quadratic_error: float
    covariance_error: float

    @property
    def is_proper(self) -> bool:
        return not self.spread.null_space.shape[1]


def posterior(
    equations: NormalEquations, prior: CoefficientPrior, fit_intercept: bool, solver: Solver
) -> Posterior | None:
    """Prior and statistics together; None where float64 moments do not suffice."""
    solution = solver(with_prior(equations, prior), prior.diagonal)
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
    theta, y_error, of_rows = solution.coef.hi[:, 0], np.sqrt(equations.y_magnitude[0]), 0.0
    if (line := equations.remainder) is not None:
        # What goes through the equations is a step from the line, and the squares that it leaves.
        theta, y_error = theta - line.start[:, 0], 0.0
        of_rows = 2 * float(line.row_error[0] * np.sqrt(line.total.hi[0]))
    wrong = of_rows + equations.error_unit * float(g @ np.abs(theta) + y_error) ** 2
    wrong += unit * float(f @ np.abs(theta)) ** 2
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
    equations: NormalEquations, prior: CoefficientPrior, fit_intercept: bool
) -> tuple[CoefficientSpread, NormalEquations]:
    """The root of V, and the equations with the prior's share from which it was made."""
    whole = with_prior(equations, prior)
    return spread(whole, fit_intercept, prior.diagonal), whole


def _errors(
    equations: NormalEquations, prior: CoefficientPrior, whole: NormalEquations
) -> tuple[Array, Array, float]:
    """What bounds the errors of moments and of arithmetic: g, f and the unit of f."""
    exact = isinstance(whole.A, DoubleDouble)
    diagonal = np.diagonal(rounded(equations.A))
    f = np.sqrt(np.maximum(diagonal + prior.diagonal, 0.0))
    unit = (3 * len(f) + 8) * (DOUBLE_DOUBLE_UNIT if exact else UNIT)
    return np.sqrt(equations.x_magnitude), f, unit
