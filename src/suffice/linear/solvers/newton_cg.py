"""Newton's method without a Hessian: its system is solved by conjugate gradients.

    H δ = −∇F(Θ),      where only H v is ever formed, a pass for each v

For more parameters than a Hessian can have.  The system is solved roughly far from the minimum,
and more closely the nearer the last steps came.

Reference: Nocedal and Wright, "Numerical Optimization" (2006), algorithm 7.1.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from suffice.fitting.requests import Pass
from suffice.linear.solvers.lbfgs import Precondition
from suffice.linear.solvers.line_search import Direction, Point, relative_norm
from suffice.linear.solvers.objective import KeptCurvatures, Objective
from suffice.numerics.double_double import Array
from suffice.sources import Source
from suffice.statistics.curvature import Curvature

ROUGHEST, FINEST = 0.5, 1e-2
"""Bounds of the relative residual at which conjugate gradients end."""

MOST_STEPS = 500
"""Of conjugate gradients, for one direction."""


class NewtonCG:
    """Directions by conjugate gradients; see `suffice.linear.solvers.line_search.Method`.

    Parameters
    ----------
    objective : Objective
    precondition : function of a gradient
        An approximate inverse Hessian.
    source : Source, optional
        Rows to read instead of all rows.
    """

    order = 1
    hessian: Array | None = None
    last_step_counts = False
    doubt = ""
    distance = staticmethod(relative_norm)

    def __init__(
        self, objective: Objective, precondition: Precondition, source: Source | None
    ) -> None:
        self.objective, self.rank = objective, objective.l2.size
        self.precondition, self.source = precondition, source
        self._last = 0.0

    def direction(self, at: Curvature, point: Point, before: Point | None) -> Direction:
        """Conjugate gradients from zero, on H δ = −∇F."""
        step, rest = np.zeros_like(point.gradient), -point.gradient
        along = conditioned = self.precondition(rest)
        size = first = float(np.sum(rest * conditioned))
        enough = first * self._forcing(first) ** 2
        kept = KeptCurvatures()
        for _ in range(MOST_STEPS):
            if size <= enough or first == 0:
                break
            product = yield from self._hessian_product(point.parameters, along, kept)
            curvature = float(np.sum(along * product))
            if curvature <= 0:
                break
            length = size / curvature
            step, rest = step + length * along, rest - length * product
            conditioned = self.precondition(rest)
            size, before_size = float(np.sum(rest * conditioned)), size
            along = conditioned + size / before_size * along
        return step

    def _forcing(self, size: float) -> float:
        """The residual to leave: the less, the more the last step reduced the gradient."""
        fell = np.sqrt(size / self._last) if self._last > 0 else ROUGHEST
        self._last = size
        return float(np.clip(fell, FINEST, ROUGHEST))

    def _hessian_product(self, parameters: Array, along: Array, kept: KeptCurvatures) -> Any:
        """H v."""
        summarize = partial(
            self.objective.hessian_product, parameters=parameters, along=along, kept=kept
        )
        found = yield Pass("conjugate gradients", summarize, source=self.source)
        return np.asarray(found.gradient + self.objective.l2 * along)
