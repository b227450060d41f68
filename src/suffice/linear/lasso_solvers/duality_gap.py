"""How far a point is from the optimum of the lasso or the elastic net: the duality gap.

    minimise over θ:   ½ ‖y − Xθ‖² + Σⱼ (l1ⱼ |θⱼ| + ½ l2ⱼ θⱼ²),       θ ≥ 0 if so wished

With cⱼ = xⱼ·(y − Xθ), gⱼ = cⱼ − l2ⱼ θⱼ and a factor t ≤ 1 such that t |gⱼ| ≤ l1ⱼ for all j, t times
the residual is a point of the dual problem, and θ is no further from the optimum than

    ½ (1 − t)² (‖y − Xθ‖² + Σ l2ⱼ θⱼ²) + Σⱼ (l1ⱼ |θⱼ| − t gⱼ θⱼ),

a sum of terms that are not negative: nothing cancels.

Reference: Massias, Gramfort and Salmon, "Celer" (2018).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from suffice.numerics.double_double import UNIT, Array


@dataclass(frozen=True)
class Penalty:
    """What the coefficients cost.

    Attributes
    ----------
    l1, l2 : arrays of shape (columns,)
        Not negative.
    positive : bool
        Whether coefficients may not be negative.
    """

    l1: Array
    l2: Array
    positive: bool = False

    def of(self, columns: Any) -> Penalty:
        """The penalty of some of the columns."""
        return Penalty(self.l1[columns], self.l2[columns], self.positive)

    def excess(self, slope: Array) -> Array:
        """By how much each correlation is more than a coefficient of zero bears."""
        return (slope if self.positive else np.abs(slope)) - self.l1


class Gap(NamedTuple):
    """How far a point is from the optimum, at most.

    Attributes
    ----------
    gap : float
        Of the objective, in its units.
    violation : float
        Largest violation of the optimality conditions, relative to l1 + |cⱼ|.
    """

    gap: float
    violation: float


def duality_gap(
    theta: Array, slope: Array, residual_square: float, penalty: Penalty, error: Any = 0.0
) -> Gap:
    """Bound how far θ is from the optimum, with xⱼ·(y − Xθ) known up to `error`.

    Parameters
    ----------
    theta, slope : arrays of shape (columns,)
    residual_square : float
    penalty : Penalty
    error : float or array of shape (columns,)
    """
    one = Penalty(penalty.l1[None], penalty.l2[None], penalty.positive)
    gaps, violations = duality_gaps(
        theta[None], slope[None], np.array([residual_square]), one, error
    )
    return Gap(float(gaps[0]), float(violations[0]))


def duality_gaps(
    theta: Array, slope: Array, residual_squares: Array, penalty: Penalty, error: Any = 0.0
) -> tuple[Array, Array]:
    """`duality_gap` of many points, each with its own penalty: gaps and violations.

    Parameters
    ----------
    theta, slope : arrays of shape (points, columns)
    residual_squares : array of shape (points,)
    penalty : Penalty
        Its arrays of shape (points, columns).
    error : float or array of shape (columns,) or (points, columns)
    """
    g = slope - penalty.l2 * theta
    wrong = np.where(
        theta != 0, np.abs(g - penalty.l1 * np.sign(theta)), np.maximum(penalty.excess(g), 0.0)
    )
    size = penalty.l1 + np.abs(slope)
    violations = (wrong / np.where(size > 0, size, 1.0)).max(axis=1, initial=0.0)
    gaps = _gaps_of_dual_points(theta, slope, g, residual_squares, penalty, error)
    smooth = ~penalty.l1.any(axis=1)
    if smooth.any():
        # Without l1 a dual point is not at hand; with l2 the objective is strongly convex.
        wrong = wrong + error
        flat = (wrong > 0) & (penalty.l2 <= 0)
        curvatures = np.where(penalty.l2 > 0, penalty.l2, 1.0)
        bounds = np.where(flat.any(axis=1), np.nan, (np.square(wrong) / curvatures).sum(axis=1) / 2)
        gaps = np.where(smooth, bounds, gaps)
    return gaps, violations


def _gaps_of_dual_points(
    theta: Array, slope: Array, g: Array, residual_squares: Array, penalty: Penalty, error: Any
) -> Array:
    # What is rounded here counts as an error, too.
    error = error + 2 * UNIT * (np.abs(slope) + penalty.l2 * np.abs(theta))
    outward = penalty.excess(g) + penalty.l1 + error
    pressing = outward > penalty.l1
    shares = np.where(pressing, penalty.l1, 1.0) / np.where(pressing, outward, 1.0)
    t = shares.min(axis=1, initial=1.0)[:, None]
    loose = penalty.l1 * np.abs(theta) - t * theta * g + t * np.abs(theta) * error
    loose += 4 * UNIT * np.abs(theta) * (penalty.l1 + np.abs(g))
    squares = np.maximum(residual_squares, 0.0) + (penalty.l2 * np.square(theta)).sum(axis=1)
    short = np.where(t < 1, 1 - t + 2 * UNIT, 0.0)[:, 0]
    return np.asarray(short**2 * squares / 2 + np.maximum(loose, 0.0).sum(axis=1))
