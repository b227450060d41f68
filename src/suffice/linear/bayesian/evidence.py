"""The evidence of Bayesian linear regression, and its maximum over the prior's strength.

With W the sum of the weights, V = (A + P)⁻¹, E as in `suffice.linear.bayesian.posterior` and b ~
flat with the density (2πσ²)^−½, the rows have given σ² the density

    log p(y | σ²) = −(W/2) log 2πσ² + ½ log |P| + ½ log |V| − ½ log W − E/σ².

For P = ρ P₁ let s be the eigenvalues of A, and c the parts of B − A m₀ along its eigenvectors,
in units in which P₁ is the identity.  One decomposition then serves every ρ:

    2 E(ρ) = t − Σ c²/(s + ρ),      γ(ρ) = Σ s/(s + ρ),      σ²(ρ) = 2 (E + b₀) / (W + 2 a₀)

is the best noise variance, and the derivative of the evidence by log ρ is ½ (γ − D/σ²) with
D = (θ − m₀)ᵀ P (θ − m₀) = Σ c² ρ/(s + ρ)².  Its zero is the fixed point of MacKay; it is found by
Newton's steps between two points at which the derivative has different signs.

Reference: MacKay, "Bayesian interpolation" (1992); Bishop (2006), 3.5.
"""

from __future__ import annotations

import time
from typing import NamedTuple

import numpy as np
from scipy import linalg, special

from suffice.bayes.priors.coefficients import CoefficientPrior
from suffice.linear.bayesian.posterior import Posterior, Solver, posterior
from suffice.linear.least_squares.normal_equations import NormalEquations, rounded
from suffice.linear.least_squares.solve import solve
from suffice.numerics.double_double import Array, DoubleDouble
from suffice.numerics.positive_definite import product
from suffice.numerics.symmetric_eigen import decompose

DECADES = -40, 10
"""Where ρ is looked for, in powers of ten of about the largest eigenvalue."""

NEARLY_NO_PRIOR = -12 * np.log(10.0)
"""log ρ, in the same units, that is taken where the evidence grows without end towards 0."""

MOST_STEPS = 60
"""A step at least halves the interval, or it is one of Newton's."""

MOST_CORRECTIONS = 6
"""Newton's steps from the posterior's own slope."""

STATIONARY = 1e-9
"""Derivative, relative to its terms, at which the search ends."""

PROVED = 1e-6
"""Derivative, relative to its terms, up to which a certificate holds."""


class SearchStep(NamedTuple):
    """One step of the search: minus the log evidence, and the seconds it took."""

    objective: float
    seconds: float


class EvidenceMaximum(NamedTuple):
    """Where the evidence is largest.

    Attributes
    ----------
    factor : float
        ρ, what the given prior precision is to be multiplied with.
    curvature : float
        Second derivative by log ρ.
    steps : list of SearchStep
    end : {"", "prior", "interpolation"}
        At which end of the range the evidence still rises, if it does: towards coefficients
        fixed at the prior's mean, or towards a line through every row.
    """

    factor: float
    curvature: float
    steps: list[SearchStep]
    end: str


class _Profile:
    """The evidence as a function of log ρ, with the best noise variance at each.

    In units in which the largest eigenvalue is near 1 (`unit`), and 2 E is 1 at the prior's mean
    (`total`).  2 E is added up from what least squares leave and Σ c² ρ/(s(s + ρ)): nothing
    cancels where the line passes close to every row.
    """

    def __init__(
        self,
        equations: NormalEquations,
        prior: CoefficientPrior,
        noise_variance: float | None,
        a0: float,
        b0: float,
    ) -> None:
        A, side, self.total = _in_units_of(prior, equations)
        top = float(np.trace(rounded(A)))
        self.unit = float(np.ldexp(1.0, int(np.frexp(top)[1]))) if top > 0 else 1.0
        system = decompose(_shrunk(A, self.unit))
        # What is no larger than its own error is taken for a direction without rows; elsewhere
        # c² ≤ s t, as for the products of any rows.
        values = system.values.round()
        error = system.departure + equations.error_unit * len(values)
        self.s = np.where(values > error, values, 0.0)
        size = self.total if self.total > 0 else 1.0
        c = system.vectors @ (side / np.sqrt(self.unit) / np.sqrt(size))
        c2 = np.minimum(np.square(c), self.s) * (self.total > 0)
        self.over_s = np.divide(c2, self.s, out=np.zeros_like(c), where=self.s > 0)
        self.left = _left(1.0 - float(self.over_s.sum()), equations, size) * (self.total > 0)
        self.known = None if noise_variance is None else noise_variance / size
        self.b0, self.count = b0 / size, equations.weight + 2 * a0

    def at(self, u: float) -> tuple[float, float, float]:
        """Log evidence (up to what does not depend on ρ), first and second derivative."""
        rho = np.exp(u)
        share, rest = self.s / (self.s + rho), rho / (self.s + rho)
        pull = self.over_s * share * rest
        D, D_u = float(pull.sum()), float((pull * (share - rest)).sum())
        energy = self.left + float((self.over_s * rest).sum()) + 2 * self.b0
        variance = energy / self.count if self.known is None else self.known
        value = 0.5 * (len(self.s) * u - float(np.log(self.s + rho).sum()))
        if not variance > 0:
            return np.inf, 0.5 * float(share.sum()), 0.0
        value -= 0.5 * self.count * np.log(variance) + 0.5 * energy / variance
        gamma_u = -float((share * rest).sum())
        moved = 0.0 if self.known is not None else D / self.count / variance
        slope = 0.5 * (float(share.sum()) - D / variance)
        return value, slope, 0.5 * (gamma_u - D_u / variance + D / variance * moved)


def _shrunk(A: Array | DoubleDouble, unit: float) -> Array | DoubleDouble:
    return A.scaled(1 / unit) if isinstance(A, DoubleDouble) else A / unit


def _left(left: float, equations: NormalEquations, size: float) -> float:
    """What least squares leave of the squares: from the solution where eigenvectors cannot tell."""
    d = equations.x_mean.shape[0]
    if left > 1e-6:
        return left
    if not isinstance(equations.A, DoubleDouble):
        return max(left, 0.0)
    residual = float(solve(equations, np.zeros(d)).residual.round()[0]) / size
    # Not more than the error of the products of any rows.
    return residual if residual > 1e3 * (d + 1) * equations.error_unit else 0.0


def _in_units_of(
    prior: CoefficientPrior, equations: NormalEquations
) -> tuple[Array | DoubleDouble, Array, float]:
    """A, B − A m₀ and Σ w (y − θ·x)² at m₀, in units in which the prior is the identity."""
    A, B, m = equations.A, DoubleDouble.of(equations.B)[:, 0], prior.mean
    total = equations.total[0]
    if m.any():
        pulled = product(DoubleDouble.of(A), DoubleDouble.of(m[:, None]))[:, 0]
        total = total - (B * m).sum().scaled(2.0) + (pulled * m).sum()
        B = B - pulled
    if prior.precision.rest is None:
        scale = 1 / np.sqrt(prior.diagonal)
        return A * scale[:, None] * scale, (B * scale).round(), float(total.round())
    # In float64: what this loses, the last steps of `refined` find again.
    L = np.linalg.cholesky(prior.precision.matrix)
    half = linalg.solve_triangular(L, rounded(A), lower=True)
    whole = linalg.solve_triangular(L, half.T, lower=True)
    side = linalg.solve_triangular(L, B.round(), lower=True)
    return (whole + whole.T) / 2, side, float(total.round())


def maximise(
    equations: NormalEquations,
    prior: CoefficientPrior,
    noise_variance: float | None,
    a0: float,
    b0: float,
) -> EvidenceMaximum:
    """The prior's strength at which the evidence is largest.

    Parameters
    ----------
    equations : NormalEquations
        Of one target, without the prior.
    prior : CoefficientPrior
        Proper: P₁.
    noise_variance : float or None
        σ² where it is known; else it is maximised along.
    a0, b0 : float
        Exponents of a factor (1/σ²)^a₀ exp(−b₀/σ²) of what is maximised.
    """
    profile = _Profile(equations, prior, noise_variance, a0, b0)
    low, high = (decade * np.log(10.0) for decade in DECADES)
    grid = np.linspace(low, high, 4 * (DECADES[1] - DECADES[0]) + 1)
    values, slopes, _ = np.array([profile.at(u) for u in grid]).T
    # A maximum lies where the slope changes from rise to fall.
    peaks = np.flatnonzero((slopes[:-1] > 0) & (slopes[1:] <= 0))
    best = max(peaks, key=lambda i: max(values[i], values[i + 1]), default=None)
    rises = slopes[-1] > 0 or not (slopes < 0).any()
    if best is None or (rises and values[-1] > max(values[best], values[best + 1])):
        end = "prior" if rises else "interpolation"
        u = high if rises else NEARLY_NO_PRIOR
        return EvidenceMaximum(float(np.exp(u)) * profile.unit, profile.at(u)[2], [], end)
    return _between(profile, float(grid[best]), float(grid[best + 1]))


def _between(profile: _Profile, low: float, high: float) -> EvidenceMaximum:
    """The zero of the slope in an interval at whose lower end the evidence rises."""
    u, steps = (low + high) / 2, []
    for _ in range(MOST_STEPS):
        began = time.perf_counter()
        value, slope, curvature = profile.at(u)
        low, high = (u, high) if slope > 0 else (low, u)
        step = -slope / curvature if curvature < 0 else np.nan
        after = u + step if low <= u + step <= high else (low + high) / 2
        steps.append(SearchStep(-value, time.perf_counter() - began))
        moved, u = abs(after - u), after
        if moved <= 1e-15 * max(1.0, abs(u)):
            break
    return EvidenceMaximum(float(np.exp(u)) * profile.unit, profile.at(u)[2], steps, "")


def slope(found: Posterior, prior: CoefficientPrior, variance: float) -> tuple[float, float]:
    """The derivative by log ρ at a posterior, and the size of its terms, at least 1.

    From the posterior alone: γ = d − tr(P V), with no eigenvector in between.
    """
    gamma = prior.rank - prior.precision.trace_with(found.covariance)
    D = prior.precision.square(found.solution.coef.round()[:, 0] - prior.mean)
    pull = D / variance if variance > 0 else 0.0
    return 0.5 * (gamma - pull), max(1.0, gamma)


class Best(NamedTuple):
    """The posterior at the maximum.

    Attributes
    ----------
    posterior : Posterior
    prior : CoefficientPrior
        P, the strength included.
    maximum : EvidenceMaximum
        Its factor that of this prior.
    variance : float
        σ².
    slope : float
        The derivative of the log evidence by log ρ, relative to its terms.
    """

    posterior: Posterior
    prior: CoefficientPrior
    maximum: EvidenceMaximum
    variance: float
    slope: float


def best_posterior(
    equations: NormalEquations,
    prior: CoefficientPrior,
    fit_intercept: bool,
    solver: Solver,
    noise_variance: float | None,
    a0: float | None,
    b0: float | None,
) -> Best | None:
    """The posterior of the most probable strength; None where float64 does not suffice.

    The maximum is checked, and where eigenvectors were too coarse improved, by the slope that the
    posterior itself has.
    """
    if prior.rank < len(prior.diagonal):
        raise ValueError(
            'evidence="maximise" chooses the strength of a prior, and prior_precision is flat '
            "in some direction; give every column a positive precision"
        )
    if not equations.weight + 2 * float(a0 or 0.0) > 0:
        raise ValueError(
            f"with a0={a0!r} and rows of weight {equations.weight:g} nothing is left to "
            "say about the noise; a larger a0 would be accepted"
        )
    a0, b0 = float(a0 or 0.0), float(b0 or 0.0)
    maximum = maximise(equations, prior, noise_variance, a0, b0)
    for _ in range(MOST_CORRECTIONS):
        strong = prior.scaled(maximum.factor)
        found = posterior(equations, strong, fit_intercept, solver)
        if found is None:
            return None
        variance = noise_variance
        if variance is None:
            variance = (found.quadratic + 2 * b0) / (equations.weight + 2 * a0)
        gradient, size = slope(found, strong, variance)
        best = Best(found, strong, maximum, variance, gradient / size)
        step = -gradient / maximum.curvature if maximum.curvature < 0 else 0.0
        if maximum.end or abs(best.slope) <= STATIONARY or not 0 < abs(step) < 1:
            break
        maximum = maximum._replace(factor=maximum.factor * float(np.exp(step)))
    return best


def log_evidence(
    found: Posterior, prior: CoefficientPrior, weight: float, fit_intercept: bool, variance: float
) -> float:
    """log p(y | σ²)."""
    value = prior.log_det - found.log_det - (np.log(weight) if fit_intercept else 0.0)
    if not variance > 0:
        return np.inf if found.is_proper else np.nan
    return float(
        0.5 * value - 0.5 * weight * np.log(2 * np.pi * variance) - 0.5 * found.quadratic / variance
    )


def unknown_noise(
    found: Posterior,
    prior: CoefficientPrior,
    weight: float,
    fit_intercept: bool,
    a0: float | None,
    b0: float | None,
) -> tuple[float, float, float]:
    """aₙ and bₙ, and log p(y) with σ² integrated out.

    Without a₀ and b₀ the prior of σ² is vague.  An improper one, with a₀ or b₀ not positive, has
    the density (σ²)^(−a₀−1) exp(−b₀/σ²) itself.
    """
    flat = max((found.solution.rank or 0) - prior.rank, 0) + fit_intercept
    a0, b0 = -flat / 2 if a0 is None else float(a0), float(b0 or 0.0)
    a_n, b_n = a0 + weight / 2, b0 + found.quadratic / 2
    if not a_n > 0:
        return a_n, b_n, np.nan
    if not b_n > 0:
        return a_n, b_n, np.inf if found.is_proper else np.nan
    value = 0.5 * (prior.log_det - found.log_det - weight * np.log(2 * np.pi))
    value -= 0.5 * np.log(weight) if fit_intercept else 0.0
    if a0 > 0 and b0 > 0:
        value += a0 * np.log(b0) - special.gammaln(a0)
    return a_n, b_n, float(value + special.gammaln(a_n) - a_n * np.log(b_n))
