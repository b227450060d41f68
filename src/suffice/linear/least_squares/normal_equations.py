"""The normal equations of penalised least squares, from moments.

    minimise over θ, b:   ½ Σ wᵢ (θ·xᵢ + b − yᵢ)² + ½ Σⱼ λⱼ θⱼ²

With the centred moments of (x, y) the solution is

    (Sxx + diag λ) θ = Sxy,        b = ȳ − θ·x̄,

where diag λ is a prior's pseudo-statistic (`suffice.bayes.priors.scatter`);
without an intercept the moments about zero take their place.  The system is scaled by
powers of two to a diagonal near 1, which rounds nothing.

**About a line.**  With coefficients θ₀ at hand, the residuals r take the place of the target
(`Remainder`): what θ₀ is short of the solution solves

    (Sxx + diag λ) (θ − θ₀) = Sxr − λ θ₀.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import linalg

from suffice.bayes.priors.scatter import PseudoScatter
from suffice.numerics.double_double import UNIT, Array, DoubleDouble
from suffice.numerics.positive_definite import Factor, PivotedCholesky, factorize
from suffice.statistics.moments.full import Moments
from suffice.statistics.moments.merging import joint
from suffice.statistics.moments.products import SMALLEST_SQUARE

MOST_DOUBT = 1 << 20
"""Noise of the moments, in units of what rounding hides of a column, up to which a column is
called dependent when nothing but noise remains of it: 1024 roundings of its values."""


@dataclass(frozen=True)
class Remainder:
    """The right side of the equations about a line, and the errors in it.

    Attributes
    ----------
    start : array of shape (columns, targets)
        θ₀.
    B : DoubleDouble of shape (columns, targets)
        Products of the columns and the residuals.
    total : DoubleDouble of shape (targets,)
        Squares of the residuals.
    row_error : array of shape (targets,)
        Bound on √Σ w δr², where δr are the errors with which the residuals were formed.
    product_error : array of shape (columns, targets)
        Bound on the error of B besides those.
    """

    start: Array
    B: DoubleDouble
    total: DoubleDouble
    row_error: Array
    product_error: Array

    def for_target(self, one: slice) -> Remainder:
        return Remainder(
            self.start[:, one],
            self.B[:, one],
            self.total[one],
            self.row_error[one],
            self.product_error[:, one],
        )


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
    remainder : Remainder, optional
        What a line leaves of the targets: then the solution is sought from there.
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
    remainder: Remainder | None = None

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
            remainder=None if self.remainder is None else self.remainder.for_target(one),
        )

    def of_columns(self, some: NDArray[np.intp]) -> NormalEquations:
        """The equations of some columns alone."""
        return replace(
            self,
            A=self.A[np.ix_(some, some)],
            B=self.B[some],
            x_mean=self.x_mean[some],
            x_magnitude=self.x_magnitude[some],
            x_square=self.x_square[some],
            x_scatter=self.x_scatter[some],
        )

    def may_hide(self, out: NDArray[Any]) -> bool:
        """Whether the noise of the moments may hide more than rounding of one of these columns."""
        noise = 8 * self.error_unit * self.x_magnitude[out]
        known = (4 * UNIT) ** 2 * np.abs(self.x_square[out])
        return bool((noise > MOST_DOUBT * known).any())

    @property
    def x_deviation(self) -> Array:
        """Deviations of the columns, from their means if there is an intercept."""
        return np.asarray(np.sqrt(np.abs(np.diagonal(rounded(self.A))) / self.weight))

    @property
    def y_deviation(self) -> Array:
        """Deviations of the targets, from their means if there is an intercept."""
        return np.sqrt(np.maximum(self.total.hi, 0.0) / self.weight)


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


class ScaledEquations:
    """The system in units in which every column has a spread near 1."""

    def __init__(self, equations: NormalEquations, penalty: Penalty) -> None:
        self.equations = equations
        A: Any = equations.A
        strength = rounded(penalty)
        diagonal = np.diagonal(rounded(A)) + strength
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
        unscale = 1 / self.scale[:, None]
        B, self.total = DoubleDouble.of(equations.B), equations.total
        self.y_error = np.sqrt(equations.y_magnitude)
        rest = self.remainder = equations.remainder
        if rest is not None:
            B = rest.B
        self.B = B[active].scaled(unscale)
        if rest is not None:
            start = rest.start[active] * self.scale[:, None]
            pull = DoubleDouble.of(self.penalty)[:, None] * start
            self.B = self.B - pull
            self.total = rest.total + (pull * start).sum()
            error = rest.product_error[active] * unscale
            self.remainder = Remainder(start, self.B, self.total, rest.row_error, error)
            self.y_error = np.zeros_like(self.y_error)
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
            relative = equations.x_magnitude[active] / rounded(equations.x_scatter)[active]
            self.penalty_error = equations.error_unit * relative * rounded(self.penalty)
        # A column known up to rounding, u |x|, cannot be told from the others' span
        # when less than that remains of it.
        self.tolerance = (4 * UNIT) ** 2 * equations.x_square[active] / self.scale / self.scale
        # What elimination makes of the noise of float64 moments is more than one entry has.
        noise = 64 if equations.error_unit >= UNIT else 8
        floor = noise * equations.error_unit * np.square(self.x_error)
        self.tolerance = np.maximum(self.tolerance, floor)

    def factor(self) -> Factor:
        """The factorised system, however little the moments know of it.

        Columns that float64 moments cannot tell from dependent ones are left out.
        """
        if isinstance(self.A, DoubleDouble):
            return factorize(self.A, self.tolerance)
        try:
            factor = factorize(self.A, self.tolerance)
            share = self.x_error @ np.abs(factor.inverse()) @ self.x_error
            if self.equations.error_unit * share < 0.5:
                return factor
        except linalg.LinAlgError:
            pass
        return PivotedCholesky(DoubleDouble.of(self.A), self.tolerance)

    def is_doubtful(self, factor: Factor) -> bool:
        """Whether a column was left out that may be lost in noise, not dependent or constant."""
        out = np.ones(len(self.equations.x_magnitude), dtype=bool)
        out[self.active] = False
        if factor.rank < len(self.active):
            out[self.active[factor.order[factor.rank :]]] = True
        return self.equations.may_hide(out)

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

    def from_start(self, step: DoubleDouble) -> DoubleDouble:
        """The solution that a solution of the system stands for."""
        return step if self.remainder is None else step + self.remainder.start

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


def rounded(value: Any) -> Array:
    """Numbers of either precision, in float64."""
    return value.hi if isinstance(value, DoubleDouble) else value


def _times(A: Any, factor: Array) -> Any:
    return A.scaled(factor) if isinstance(A, DoubleDouble) else A * factor
