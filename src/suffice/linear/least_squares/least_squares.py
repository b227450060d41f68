"""Penalised least squares from moments.

    minimise over θ, b:   ½ Σ wᵢ (θ·xᵢ + b − yᵢ)² + ½ Σⱼ λⱼ θⱼ²

With the centred moments of (x, y) the solution is

    (Sxx + diag λ) θ = Sxy,        b = ȳ − θ·x̄,

where diag λ is a prior's pseudo-statistic (`suffice.bayes.priors.scatter`);
without an intercept the moments about zero take their place.  The system is scaled by
powers of two to a diagonal near 1, which rounds nothing, and solved in the precision of
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
from numpy.typing import NDArray
from scipy import linalg

from suffice.bayes.priors.scatter import PseudoScatter
from suffice.numerics.double_double import UNIT, Array, DoubleDouble
from suffice.numerics.positive_definite import Factor, factorize, norm, product
from suffice.statistics.moments.full import Moments
from suffice.statistics.moments.merging import joint
from suffice.statistics.moments.products import SMALLEST_SQUARE

ACCEPTED_ERROR = 1e-10
"""Bound on the error, relative to the largest scaled coefficient, that float64 may have."""

PROVED_ERROR = 1e-6
"""Bound on that error up to which a certificate holds."""

MOST_DOUBT = 1 << 20
"""Noise of the moments, in units of what rounding hides of a column, up to which a column is
called dependent when nothing but noise remains of it: 1024 roundings of its values."""

SMALL_WORK = 1 << 20
"""rows × columns² up to which double-double costs a few milliseconds: always used."""


@dataclass(frozen=True)
class NormalEquations:
    """The system A θ = B that the moments stand for, and its surroundings.

    Attributes
    ----------
    A : array or DoubleDouble of shape (columns, columns)
        Second moments of the columns, about the mean if there is an intercept.
    B : array or DoubleDouble of shape (columns, targets)
    total : DoubleDouble of shape (targets,)
        Second moments of the targets.
    x_mean, y_mean : DoubleDouble
        Zero where there is no intercept.
    x_magnitude, y_magnitude : arrays
        What bounds the rounding error of A and B, see `Moments`.
    x_square : array of shape (columns,)
        Second moments of the columns about zero.
    x_scatter : array or DoubleDouble of shape (columns,)
        Second moments of the columns about their means in either case.
    total_weight : DoubleDouble scalar
    """

    A: Array | DoubleDouble
    B: Array | DoubleDouble
    total: DoubleDouble
    x_mean: DoubleDouble
    y_mean: DoubleDouble
    x_magnitude: Array
    y_magnitude: Array
    x_square: Array
    x_scatter: Array | DoubleDouble
    total_weight: DoubleDouble
    error_unit: float

    @property
    def weight(self) -> float:
        return float(self.total_weight.hi)

    def x_variance(self) -> DoubleDouble:
        """Variances of the columns, about their means in either case."""
        return DoubleDouble.of(self.x_scatter) / self.total_weight

    def for_target(self, target: int) -> NormalEquations:
        """The equations of one target alone."""
        one = slice(target, target + 1)
        return replace(
            self,
            B=self.B[:, one],
            total=self.total[one],
            y_mean=self.y_mean[one],
            y_magnitude=self.y_magnitude[one],
        )


@dataclass(frozen=True)
class Solution:
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


def normal_equations(moments: Moments, n_targets: int, fit_intercept: bool) -> NormalEquations:
    """The least-squares system of moments whose last columns are the targets."""
    d = len(moments.magnitude) - n_targets
    x, y = slice(None, d), slice(d, None)
    diagonal = np.arange(d), np.arange(d)
    raw = np.square(moments.mean.hi) * moments.weight.hi
    scatter: Any = moments.scatter
    magnitude = moments.magnitude
    mean = moments.mean
    if not fit_intercept:
        about_zero = mean.outer(mean) * moments.weight
        scatter = scatter + (about_zero if isinstance(scatter, DoubleDouble) else about_zero.hi)
        magnitude = joint(magnitude, raw)
        mean = DoubleDouble.zeros(mean.shape)
    spread = np.diagonal(moments.rounded_scatter)
    # Squares that cancelled (rows were taken away) are not hidden: their magnitude tells.
    tiny = (magnitude > 0) & (magnitude < 1e10 * SMALLEST_SQUARE)
    hidden = np.flatnonzero(tiny & (spread + raw < SMALLEST_SQUARE))
    if len(hidden):
        column = f"column {hidden[0]} (counted from 0)" if hidden[0] < d else "the target"
        raise ValueError(
            f"the values in {column} are too small: their (weighted) squares underflow; rescale "
            "them, or the weights"
        )
    return NormalEquations(
        A=scatter[x, x],
        B=scatter[x, y],
        total=DoubleDouble.of(scatter[y, y])[np.arange(n_targets), np.arange(n_targets)],
        x_mean=mean[x],
        y_mean=mean[y],
        x_magnitude=magnitude[x],
        y_magnitude=magnitude[y],
        x_square=(spread + raw)[x],
        x_scatter=moments.scatter[diagonal],
        total_weight=moments.weight,
        error_unit=moments.error_unit,
    )


Penalty = Array | DoubleDouble
"""λ of shape (columns,), not negative; double-double where the data decide it."""


def solve(equations: NormalEquations, penalty: Penalty) -> Solution:
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
) -> Solution | None:
    """The same, or None where float64 moments do not reach the accepted error."""
    scaled = _Scaled(equations, penalty)
    try:
        factor = factorize(scaled.A, scaled.tolerance)
    except linalg.LinAlgError:
        return None
    x, gradient, along = scaled.solve(factor)
    bound, shift, condition = scaled.error_bound(factor, x, along)
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
    solution = scaled.solution(factor, x, gradient, bound, shift, condition, error)
    return replace(solution, digits=0.0) if doubtful else solution


class _Scaled:
    """The system in units in which every column has a spread near 1."""

    def __init__(self, equations: NormalEquations, penalty: Penalty) -> None:
        self.equations = equations
        A: Any = equations.A
        strength = penalty.hi if isinstance(penalty, DoubleDouble) else penalty
        diagonal = np.diagonal(A.hi if isinstance(A, DoubleDouble) else A) + strength
        self.active: NDArray[np.intp] = np.flatnonzero(diagonal > 0)
        active = self.active
        self.scale = np.ldexp(1.0, np.rint(np.log2(diagonal[active]) / 2).astype(int))
        if len(active) < len(diagonal):
            A = A[np.ix_(active, active)]
        self.penalised = bool(strength.any())
        self.penalty: Any = penalty[active]
        if self.penalised:
            A = PseudoScatter(self.penalty).added_to(A)
        # Twice by its root: the square may be beyond float64's range.
        self.penalty = _times(_times(self.penalty, 1 / self.scale), 1 / self.scale)
        self.A = _times(_times(A, 1 / self.scale[:, None]), 1 / self.scale)
        self.B = DoubleDouble.of(equations.B)[active].scaled(1 / self.scale[:, None])
        self.centre = equations.x_mean[active].scaled(1 / self.scale)
        # What a solution is multiplied with: x̄ for the intercept, B for the objective.
        sides = np.empty((2, len(active), 2, self.B.shape[1]))
        sides[0, :, 0], sides[1, :, 0] = self.centre.hi[:, None], self.centre.lo[:, None]
        sides[0, :, 1], sides[1, :, 1] = self.B.hi, self.B.lo
        self.sides = DoubleDouble(sides[0], sides[1])
        self.x_error = np.sqrt(equations.x_magnitude[active]) / self.scale
        self.penalty_error: Array | None = None
        if isinstance(penalty, DoubleDouble):
            # A penalty made from the moments shares their error.
            relative = equations.x_magnitude[active] / _rounded(equations.x_scatter)[active]
            self.penalty_error = equations.error_unit * relative * _rounded(self.penalty)
        self.y_error = np.sqrt(equations.y_magnitude)
        # A column known up to rounding, u |x|, cannot be told from the others' span
        # when less than that remains of it.
        self.tolerance = (4 * UNIT) ** 2 * equations.x_square[active] / self.scale / self.scale
        floor = 8 * equations.error_unit * np.square(self.x_error)
        self.tolerance = np.maximum(self.tolerance, floor)

    def is_doubtful(self, factor: Factor) -> bool:
        """Whether a column was left out that may be lost in noise, not dependent or constant."""
        out = np.ones(len(self.equations.x_magnitude), dtype=bool)
        out[self.active] = False
        if factor.rank < len(self.active):
            out[self.active[factor.order[factor.rank :]]] = True
        noise = 8 * self.equations.error_unit * self.equations.x_magnitude[out]
        known = (4 * UNIT) ** 2 * np.abs(self.equations.x_square[out])
        return bool((noise > MOST_DOUBT * known).any())

    def solve(self, factor: Factor) -> tuple[DoubleDouble, Array, Array]:
        """x, B − A x, and A⁻¹ x̄, along which an error of the system moves the intercept."""
        if not self.centre.hi.any():
            return *factor.solve_checked(self.B), np.zeros(self.centre.shape)
        sides = DoubleDouble(
            np.column_stack([self.B.hi, self.centre.hi]),
            np.column_stack([self.B.lo, self.centre.lo]),
        )
        solved, gradient = factor.solve_checked(sides)
        return solved[:, :-1], gradient[:, :-1], solved.hi[:, -1]

    def error_bound(
        self, factor: Factor, x: DoubleDouble, along: Array
    ) -> tuple[Array, Array, float]:
        """Bounds on |Δx|, on |x̄·Δx| and on the square root of the matrix's condition number."""
        A = self.A.hi if isinstance(self.A, DoubleDouble) else self.A
        independent: Any = slice(None)
        if factor.rank < len(A):
            independent = np.sort(factor.order[: factor.rank])
            A = A[np.ix_(independent, independent)]
        bound = np.zeros(x.shape)
        if not factor.rank:
            return bound, np.zeros(x.shape[1]), 1.0
        # Two sources of error side by side: the moments (ε, g) and the factorisation (μ, f).
        units = np.array([self.equations.error_unit, factor.unit])
        G = np.column_stack([self.x_error[independent], np.sqrt(np.diagonal(A))])
        size = np.abs(x.hi[independent])
        terms = units[:, None] * np.stack([G[:, 0] @ size + self.y_error, G[:, 1] @ size])
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
        if self.penalty_error is not None:
            bound[independent] += inverse @ (self.penalty_error[independent, None] * size)
        bound += residue
        shift = residue * np.abs(self.centre.hi).sum()
        if along.any():
            # A⁻¹ x̄ is itself known up to the share that shrinks.
            shift = shift + (2 - shrink) * (np.abs(along[independent]) @ G) @ terms
            if self.penalty_error is not None:
                weighed = np.abs(along) * self.penalty_error
                shift = shift + 2 * weighed[independent] @ size
        return bound, shift, float(np.sqrt(norm(A) * norm(inverse)))

    def smallest(self, factor: Factor, x: DoubleDouble, bound: Array) -> tuple[DoubleDouble, Array]:
        """Of all solutions, the one whose coefficients, in the user's units, are smallest."""
        unscale = 1 / self.scale[:, None]
        basis, _ = np.linalg.qr(factor.null_space() * unscale)
        theta = x.round() * unscale
        for _ in range(2):
            theta = theta - basis @ (basis.T @ theta)
        # A projection does not lengthen an error; its own rounding is added.
        size = np.linalg.norm(x.hi * unscale, axis=0)
        error = np.linalg.norm(bound * unscale, axis=0) + 16 * len(self.scale) * UNIT * size
        return DoubleDouble.of(theta / unscale), np.broadcast_to(error, x.shape) / unscale

    def solution(
        self,
        factor: Factor,
        x: DoubleDouble,
        gradient: Array,
        bound: Array,
        shift: Array,
        condition: float,
        error: float,
    ) -> Solution:
        """Back to the user's units."""
        equations = self.equations
        d, k = equations.x_mean.shape[0], equations.y_mean.shape[0]
        terms = x[:, None, :] * self.sides
        sums = terms.sum()
        intercept = equations.y_mean - sums[0]
        full = factor.rank == len(self.active)
        unique = full and not self.penalised
        if unique:
            x = _without_noise(x, bound, np.abs(x.hi).max(axis=0, initial=0.0))
        coef = DoubleDouble.zeros((d, k))
        theta = x.scaled(1 / self.scale[:, None])
        coef.hi[self.active], coef.lo[self.active] = theta.hi, theta.lo
        theta_bound = np.zeros((d, k))
        theta_bound[self.active] = bound / self.scale[:, None]
        intercept_bound = self._intercept_bound(coef, terms.hi[:, 0], shift)
        if unique:
            intercept = _without_noise(intercept, intercept_bound, np.abs(equations.y_mean.hi))
        # Twice the objective: total − 2 θ·B + θ·A θ = total − θ·B − θ·(B − A θ).
        doubled = equations.total - sums[1] - (x.hi * gradient).sum(axis=0)
        residual = doubled
        if self.penalised:
            residual = residual - (x * x * self.penalty[:, None]).sum()
        return Solution(
            coef=coef,
            intercept=intercept,
            residual=_not_negative(residual),
            objective=_not_negative(doubled).scaled(0.5),
            rank=factor.rank,
            condition=condition,
            error=error,
            digits=min(digits(coef, theta_bound, full), digits(intercept, intercept_bound)),
            stationarity=self._stationarity(x, gradient),
            method=factor.method,
            proved=error <= PROVED_ERROR,
        )

    def _intercept_bound(self, coef: DoubleDouble, slope_terms: Array, shift: Array) -> Array:
        equations = self.equations
        if not equations.x_mean.hi.any() and not equations.y_mean.hi.any():
            return np.zeros(equations.y_mean.shape)
        unit = equations.error_unit
        x_mean_error = unit * np.sqrt(equations.x_magnitude / equations.weight)
        y_mean_error = unit * np.sqrt(equations.y_magnitude / equations.weight)
        rounding = 2.0**-98 * (np.abs(slope_terms).sum(axis=0) + np.abs(equations.y_mean.hi))
        return np.asarray(
            y_mean_error + x_mean_error @ np.abs(coef.hi) + shift + len(coef.hi) * rounding
        )

    def _stationarity(self, x: DoubleDouble, gradient: Array) -> float:
        """The gradient at the rounded coefficients, relative to its terms."""
        A = self.A.hi if isinstance(self.A, DoubleDouble) else self.A
        rounded = x.round()
        gradient = gradient + A @ ((x.hi - rounded) + x.lo)
        terms = np.abs(self.B.hi) + np.abs(A) @ np.abs(rounded)
        return float((np.abs(gradient) / np.where(terms > 0, terms, 1)).max(initial=0.0))


def joined(solutions: list[Solution]) -> Solution:
    """Solutions of single targets as one."""
    if len(solutions) == 1:
        return solutions[0]

    def side_by_side(values: list[DoubleDouble]) -> DoubleDouble:
        return DoubleDouble(
            np.concatenate([v.hi for v in values], axis=-1),
            np.concatenate([v.lo for v in values], axis=-1),
        )

    return Solution(
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


@dataclass(frozen=True)
class Spread:
    """The covariance of the coefficients for a noise variance of 1: C = R Rᵀ.

    Attributes
    ----------
    root : array of shape (columns, rank)
        R, in the user's units.
    null_space : array of shape (columns, columns − rank)
        Orthonormal directions along which the data say nothing about the coefficients.
    intercept : float
        The variance of the intercept, 1/W + x̄ᵀ C x̄ (0 without an intercept).
    centre : array of shape (rank,)
        Rᵀ x̄ (0 without an intercept).
    """

    root: Array
    null_space: Array
    intercept: float
    centre: Array


def spread(
    equations: NormalEquations, fit_intercept: bool, penalty: Penalty | None = None
) -> Spread:
    """How noise in the targets spreads to the coefficients: the inverse of A + diag λ."""
    d = equations.x_mean.shape[0]
    scaled = _Scaled(equations, np.zeros(d) if penalty is None else penalty)
    factor = factorize(scaled.A, scaled.tolerance)
    unscale = 1 / scaled.scale[:, None]
    root = np.zeros((d, factor.rank))
    root[scaled.active] = (
        factor.half_solve(DoubleDouble.of(np.eye(len(scaled.active)))).round().T * unscale
    )
    null_space = np.zeros((d, d - factor.rank))
    constant_columns = np.setdiff1d(np.arange(d), scaled.active)
    null_space[constant_columns, np.arange(len(constant_columns))] = 1.0
    if factor.rank < len(scaled.active):
        basis, _ = np.linalg.qr(factor.null_space() * unscale)
        null_space[scaled.active, len(constant_columns) :] = basis
        root[scaled.active] -= basis @ (basis.T @ root[scaled.active])
        centre = root.T @ equations.x_mean.round()
    else:
        x_mean = equations.x_mean[scaled.active][:, None].scaled(unscale)
        centre = factor.half_solve(x_mean).round()[:, 0]
    constant = 1 / equations.weight + float(np.square(centre).sum())
    return Spread(root, null_space, constant if fit_intercept else 0.0, centre)


def _rounded(value: Any) -> Array:
    return value.hi if isinstance(value, DoubleDouble) else value


def _times(A: Any, factor: Array) -> Any:
    return A.scaled(factor) if isinstance(A, DoubleDouble) else A * factor


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


def wants_more_digits(moments: Moments) -> bool:
    """Whether float64 moments are of so few rows that double-double costs next to nothing."""
    return moments.precision == "float64" and is_small(moments.count, len(moments.magnitude))


def is_small(n_rows: int, n_columns: int) -> bool:
    """Whether double-double costs next to nothing for this many rows and columns."""
    return n_rows * n_columns**2 <= SMALL_WORK
