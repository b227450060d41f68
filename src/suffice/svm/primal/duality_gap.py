"""How far a point is from the minimum, from multipliers that are made feasible first.

The dual problem of  ½ ‖w‖² + C Σ sᵢ ℓ(rᵢ)  is to maximise, over α with Σ αᵢ yᵢ = 0 if there is an
intercept,

    hinge            Σ αᵢ − ½ ‖Σ αᵢ yᵢ xᵢ‖²,                        0 ≤ αᵢ ≤ C sᵢ
    squared hinge    Σ αᵢ − ½ ‖Σ αᵢ yᵢ xᵢ‖² − Σ αᵢ² / 4C sᵢ,      0 ≤ αᵢ

Every feasible α bounds the minimum from below.  Multipliers of a point on the way there do not
balance: those of the heavier side are shrunk until they do, and then all are multiplied by the
factor that is best, which leaves them in their bounds.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from suffice.statistics.sums import Sums
from suffice.svm.primal.problem import PrimalProblem


class Bounds(NamedTuple):
    """The objective at a point, and a lower bound of the least one."""

    primal: float
    dual: float

    @property
    def gap(self) -> float:
        return self.primal - self.dual

    @property
    def relative(self) -> float:
        """The gap in units of the objective, which is positive wherever there are two classes."""
        if not np.isfinite(self.primal):
            return float("inf")
        return self.gap / max(self.primal, float(np.finfo(float).tiny))


def dual_value(problem: PrimalProblem, at: Sums, bounded: bool) -> float:
    """The dual objective of the multipliers at a point, made feasible; see `evaluate`."""
    totals, gradient, _ = at.values
    sums = gradient[:, -1]
    shrunk = np.ones(2)
    if problem.units.intercept:
        least = sums.min()
        shrunk = np.divide(least, sums, out=np.zeros(2), where=sums > 0)
    linear = problem.C * float(shrunk @ sums)
    weights = problem.C * (shrunk[0] * gradient[0, :-1] - shrunk[1] * gradient[1, :-1])
    quadratic = 0.5 * float(weights @ weights)
    if not bounded:
        quadratic += problem.C * float(np.square(shrunk) @ totals[3:])
    if not linear > 0:
        return 0.0
    factor = linear / (2 * quadratic) if quadratic > 0 else np.inf
    factor = min(factor, 1.0) if bounded else factor
    found = factor * linear - factor * factor * quadratic
    return float(found) if np.isfinite(found) else 0.0
