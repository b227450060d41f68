"""L-BFGS from a given curvature: gradients alone, a pass a step.

    Θ ← Θ − t B ∇F(Θ)

B starts from an approximate inverse Hessian, such as that of a sample of the rows, and is
corrected by the last steps and the changes of the gradient along them.  With a good start a
dozen gradients do what Newton's method does with a few Hessians, each of which would cost far
more.  SciPy's L-BFGS takes no such start, and its line search ends where F's last digit does,
about half the digits of Θ away from the minimum; here a step within the rounding of F counts
as down.

Reference: Nocedal and Wright, "Numerical Optimization" (2006), algorithm 7.4.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

import numpy as np

from suffice.linear.solvers.line_search import Direction, Point, relative
from suffice.linear.solvers.objective import Objective
from suffice.numerics.double_double import Array
from suffice.statistics.curvature import Curvature

MEMORY = 16
"""Steps that B remembers."""

Precondition = Callable[[Array], Array]
"""An approximate inverse Hessian, as a function of a gradient."""


class QuasiNewton:
    """Directions from gradients alone; see `suffice.linear.solvers.line_search.Method`.

    Parameters
    ----------
    objective : Objective
    precondition : function of a gradient
        The approximate inverse Hessian to start from.
    """

    order = 1
    last_step_counts = False
    doubt = ""
    distance = staticmethod(relative)
    hessian: Array | None = None

    def __init__(self, objective: Objective, precondition: Precondition) -> None:
        self.objective, self.rank = objective, objective.l2.size
        self.inverse = Secants(precondition)

    def direction(self, at: Curvature, point: Point, before: Point | None) -> Direction:
        yield from ()
        if before is not None:
            self.inverse.learn(before, point)
        return -self.inverse(point.gradient)


class Secants:
    """B: an approximate inverse Hessian, corrected by the last steps.

    Parameters
    ----------
    precondition : function of a gradient
        The approximate inverse Hessian to start from.
    """

    def __init__(self, precondition: Precondition) -> None:
        self.precondition = precondition
        self.steps: deque[tuple[Array, Array, float]] = deque(maxlen=MEMORY)

    def learn(self, before: Point, after: Point) -> None:
        """Remember a step and the change of the gradient along it."""
        step, change = after.parameters - before.parameters, after.gradient - before.gradient
        curvature = float(np.sum(step * change))
        # In the rounding of the gradient a change says nothing.
        if curvature > 1e-12 * np.linalg.norm(step) * np.linalg.norm(change):
            self.steps.append((step, change, curvature))

    def __call__(self, gradient: Array) -> Array:
        """B times a gradient: the two-loop recursion."""
        rest, shares = gradient, []
        for step, change, curvature in reversed(self.steps):
            share = float(np.sum(step * rest)) / curvature
            rest = rest - share * change
            shares.append(share)
        found = self.precondition(rest)
        for (step, change, curvature), share in zip(self.steps, reversed(shares), strict=True):
            found = found + (share - float(np.sum(change * found)) / curvature) * step
        return found
