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
from scipy import linalg

from suffice.bayes.priors.coefficients import CoefficientPrior
from suffice.linear.least_squares.normal_equations import NormalEquations, rounded
from suffice.linear.least_squares.solve import LeastSquaresSolution
from suffice.linear.least_squares.spread import CoefficientSpread, spread
from suffice.numerics.double_double import DOUBLE_DOUBLE_UNIT, UNIT, Array, DoubleDouble

Solver = Callable[[NormalEquations, Any], LeastSquaresSolution | None]


def with_prior(equations: NormalEquations, prior: CoefficientPrior) -> NormalEquations:
    """The equations with the prior's share, but for its diagonal, which is a penalty."""
    if prior.precision.rest is not None:
        equations = replace(equations, A=equations.A + prior.precision.rest)
    if prior.mean.any():
        pull = prior.precision.times(prior.mean)
        equations = replace(
            equations,
            B=DoubleDouble.of(equations.B) + pull[:, None],
            total=equations.total + (pull * prior.mean).sum()[None],
        )
    return equations


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
    equations: NormalEquations, prior: CoefficientPrior, fit_intercept: bool
) -> tuple[CoefficientSpread, NormalEquations]:
    """The root of V, and the equations with the prior's share from which it was made."""
    whole = with_prior(equations, prior)
    try:
        return spread(whole, fit_intercept, prior.diagonal), whole
    except linalg.LinAlgError:
        # As `solve` does where float64 fails.
        whole = replace(whole, A=DoubleDouble.of(whole.A))
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
