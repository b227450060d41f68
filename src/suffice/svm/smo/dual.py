"""The dual problem of a support vector machine, and what its conditions say of a point.

    minimise over β:   ½ β·Kβ + p·β     for lower ≤ β ≤ upper, Σ β = 0

With g = Kβ + p a point is a minimum if no βᵢ that may grow has a smaller gᵢ than any βⱼ that may
shrink:  max g over those that may shrink ≤ min g over those that may grow.  Any number between
the two is the multiplier ρ of Σ β = 0, and −ρ the intercept.

Classification has a variable for each row, β = α y and p = −y; regression two, β = α ≥ 0 and
β = −α* ≤ 0, with p = ε − y and p = −ε − y.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from suffice.svm.smo.kernel_rows import KernelRows

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Booleans = NDArray[np.bool_]

ROUNDED = 1e-9
"""An `imbalance` up to which the rounding of many steps explains it."""


def imbalance(beta: Floats) -> float:
    """|Σ β| relative to Σ |β|: 0 of a feasible point, but for rounding."""
    total = float(np.abs(beta).sum())
    return abs(float(beta.sum())) / total if total else 0.0


@dataclass(frozen=True)
class Dual:
    """A dual problem.

    Attributes
    ----------
    rows : KernelRows
    row_of : int array of shape (variables,)
        The row of each variable.
    linear, lower, upper : float64 arrays of shape (variables,)
        p and the bounds; one bound of each variable is 0.
    """

    rows: KernelRows
    row_of: Integers
    linear: Floats
    lower: Floats
    upper: Floats

    def by_row(self, beta: Floats) -> Floats:
        """The coefficient of each row: the sum of its variables."""
        if len(beta) == self.rows.n:
            return beta
        return np.asarray(np.bincount(self.row_of, beta, self.rows.n), np.float64)

    def sums(self, beta: Floats, dtype: type) -> Floats:
        """Kβ, for each row."""
        coefficients = self.by_row(beta)
        there = np.flatnonzero(coefficients)
        return self.rows.sums(there, coefficients[there], dtype)

    def gradient(self, sums: Floats) -> Floats:
        """g of each variable, from Kβ of each row."""
        return sums[self.row_of] + self.linear

    def conditions(self, gradient: Floats, beta: Floats) -> DualConditions:
        """How far a point is from a minimum."""
        growing, shrinking = beta < self.upper, beta > self.lower
        least = float(gradient[growing].min(initial=np.inf))
        largest = float(gradient[shrinking].max(initial=-np.inf))
        if not np.isfinite(least) or not np.isfinite(largest):
            middle = largest if np.isfinite(largest) else least
            return DualConditions(0.0, middle, growing, shrinking)
        return DualConditions(largest - least, (least + largest) / 2, growing, shrinking)

    def multiplier(self, gradient: Floats, beta: Floats) -> float:
        """ρ: the mean of g over the free variables, or the middle of its interval."""
        found = self.conditions(gradient, beta)
        free = found.growing & found.shrinking
        return float(gradient[free].mean()) if free.any() else found.middle

    def relative_gap(self, gradient: Floats, beta: Floats) -> float:
        """The primal less the dual value, relative to the latter.

        With h = g − ρ it is the sum of h β − min h b over each variable's interval of b.
        """
        apart = gradient - self.multiplier(gradient, beta)
        best = np.where(apart > 0, self.lower, self.upper)
        value = -float(beta @ (gradient + self.linear)) / 2
        return float(apart @ (beta - best)) / abs(value) if value else 0.0


class DualConditions(NamedTuple):
    """How far a point is from a minimum.

    Attributes
    ----------
    violation : float
        max g over variables that may shrink, less min g over those that may grow.
    middle : float
        The middle of the two.
    growing, shrinking : bool arrays of shape (variables,)
    """

    violation: float
    middle: float
    growing: Booleans
    shrinking: Booleans

    def scores(self, gradient: Floats) -> Floats:
        """How much each variable violates the conditions; negative if it does not."""
        apart = gradient - self.middle
        up = np.where(self.growing, -apart, -np.inf)
        return np.maximum(up, np.where(self.shrinking, apart, -np.inf))
