"""What is asked of the lasso and the elastic net, and what they answer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from suffice.linear.lasso_solvers.duality_gap import Penalty
from suffice.numerics.double_double import UNIT, Array


class Strength(NamedTuple):
    """What a model says of its penalty, and how far to go.

    Attributes
    ----------
    alpha, l1_ratio : float
    positive, standardize : bool
    most_sweeps : int
    """

    alpha: float
    l1_ratio: float = 1.0
    positive: bool = False
    standardize: bool = False
    most_sweeps: int = 1000

    def penalty(self, weight: float, deviation: Array) -> Penalty:
        """In units of the sum of squares: a column's unit is its standard deviation or 1."""
        unit = deviation if self.standardize else np.ones_like(deviation)
        total = weight * self.alpha
        return Penalty(
            total * self.l1_ratio * unit,
            total * (1 - self.l1_ratio) * np.square(unit),
            self.positive,
        )


def strongest(linear: Array, unit: Penalty) -> float:
    """The smallest alpha that leaves no coefficient, `unit` being the penalty for alpha = 1."""
    some = unit.l1 > 0
    pull = unit.excess(linear)[some] + unit.l1[some]
    # A little more: its product with the weight is rounded.
    return float((pull / unit.l1[some]).max(initial=0.0)) * (1 + 4 * UNIT)


@dataclass(frozen=True)
class SparseSolution:
    """The minimiser for one target, and what is known about it.

    Attributes
    ----------
    coef : array of shape (columns,)
    intercept : float
    objective, gap : float
        In the units of the model's objective.
    scale : float
        Mean square of the target: what a tolerance is relative to.
    violation : float
        Of the optimality conditions, relative to their terms.
    digits, condition : float
        Of the system of the support; NaN where the signs did not decide the solution.
    sweeps : int
    rests : bool
        Whether coordinate descent came to rest.
    certain : bool
        Whether the support is the same for all data within the error of the moments.
    least_squares : bool
        Whether there was no l1 penalty.
    proved : bool
        Whether the coefficients are determined.
    rank : int, optional
        Where there is no penalty at all.
    """

    coef: Array
    intercept: float
    objective: float
    gap: float
    scale: float
    violation: float
    digits: float
    condition: float
    sweeps: int
    rests: bool
    certain: bool
    least_squares: bool
    proved: bool
    rank: int | None = None

    @property
    def support(self) -> int:
        return int(np.count_nonzero(self.coef))

    def reaches(self, tolerance: float) -> bool:
        """Whether the gap is proved to be small enough."""
        if self.least_squares and np.isnan(self.gap):
            return self.proved and self.rests
        return self.proved and self.gap <= tolerance * self.scale
