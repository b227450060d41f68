"""Newton's method.

    δ = −H⁻¹ ∇F(Θ)

At the end H⁻¹∇F is the distance to the minimum, up to what H changes over that distance: so the
loop knows when to stop, and H at the result is there for standard errors.

A Hessian costs as much as several gradients.  Where a sample of the rows has told about what it
is, gradients alone come close, and one Hessian is taken there.

Reference: Boyd and Vandenberghe, "Convex Optimization" (2004), section 9.5.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial

import numpy as np
from scipy import linalg

from suffice.linear.solvers.lbfgs import Secants
from suffice.linear.solvers.line_search import Direction, Point, relative, relative_norm
from suffice.linear.solvers.objective import Objective
from suffice.numerics.double_double import UNIT, Array
from suffice.statistics.curvature import Curvature

NEARLY_DEPENDENT = (
    "some columns depend on each other, but for less than float64 can resolve: the coefficients "
    "along them are not determined; drop columns, or use a penalty"
)


FAST = 0.2
"""A distance that shrinks by less than this factor in a pass calls for a new Hessian."""

CLOSE = 3e-5
"""Relative distance from the minimiser at which a Hessian serves as that of the minimiser: by about
such a share the standard errors of a fit of many rows may be off."""

DONE, WORTH_A_HESSIAN = 1e-10, 5
"""A Hessian is taken where more than so many gradients would be needed to come so close."""


class Newton:
    """Directions from the Hessian; see `suffice.linear.solvers.line_search.Method`.

    Parameters
    ----------
    objective : Objective
    first : array, optional
        About the Hessian at the start, over all parameters, such as that of a sample of the
        rows.  Passes then compute gradients alone for as long as these, with what the steps
        tell of the curvature, bring the minimum quickly closer.
    needs_hessian : bool
        Whether a Hessian close to the minimum is wanted in any case, for standard errors.
    """

    last_step_counts = True
    doubt = ""
    distance = staticmethod(relative)
    hessian: Array | None = None

    def __init__(
        self, objective: Objective, first: Array | None = None, needs_hessian: bool = True
    ) -> None:
        self.objective, self.needs_hessian = objective, needs_hessian
        self.rank = objective.l2.size
        self.saves_hessians = first is not None
        self.order, self.size = 2, np.inf
        if first is not None:
            self.order = 1
            self._start_from(first)

    def direction(self, at: Curvature, point: Point, before: Point | None) -> Direction:
        yield from ()
        if self.order == 2:
            self.hessian = self.objective.hessian(at)
            self._start_from(self.hessian)
        elif before is not None:
            self.inverse.learn(before, point)
        computed, self.order = self.order, 2
        solve, loss = self.solve, self.objective.loss
        self.rank = solve.rank
        if solve.indefinite and not getattr(loss, "expected", True):
            # The expected Hessian is never indefinite.
            self.objective = replace(self.objective, loss=replace(loss, expected=True))  # type: ignore[type-var]
            return None
        # What is left out must be nothing but rounding: then the columns do depend on each other.
        self.doubt = NEARLY_DEPENDENT if solve.left_out(point.gradient) > _noise(at) else ""
        step = -self.inverse(point.gradient)
        if self.saves_hessians and self.rank == self.objective.l2.size:
            self.order = self._next_order(computed, relative_norm(step, point.parameters + step))
        return step

    def _start_from(self, hessian: Array) -> None:
        self.solve = NewtonSystem(hessian)
        self.inverse = Secants(self.solve)

    def _next_order(self, computed: int, size: float) -> int:
        """Whether the next pass takes a Hessian (2) or only a gradient (1)."""
        # A step from the Hessian of its own point squares the distance.
        shrinks = size if computed == 2 else size / self.size if self.size < np.inf else FAST
        expected, self.size = size * shrinks, size
        if shrinks > FAST:
            return 2
        if computed == 2:
            self.needs_hessian &= size > CLOSE
        if self.needs_hessian:
            return 2 if expected < CLOSE else 1
        gradients = np.log(max(expected / DONE, 1.0)) / -np.log(max(shrinks, UNIT))
        return 2 if gradients > WORTH_A_HESSIAN else 1


def _noise(at: Curvature) -> float:
    """How large rounding may make a part of the gradient, in units of the root of the Hessian."""
    return 1e3 * UNIT * float(np.sqrt(max(at.weight, 1.0)))


class NewtonSystem:
    """Solves H δ = g for an equilibrated H, by Cholesky or, if that fails, by eigenvectors.

    Attributes
    ----------
    rank : int
    indefinite : bool
        Whether H has a negative eigenvalue.
    """

    def __init__(self, hessian: Array) -> None:
        diagonal = np.diagonal(hessian).copy()
        self.indefinite = bool((diagonal < 0).any())
        self.scale = np.sqrt(np.where(diagonal > 0, diagonal, 1.0))
        matrix = hessian / self.scale / self.scale[:, None]
        dead = diagonal <= 0
        matrix[dead, dead] = 1.0
        self.rank = len(matrix) - int(dead.sum())
        self._left_out = np.empty((len(matrix), 0))
        self._solve: Callable[[Array], Array]
        try:
            factor = linalg.cho_factor(matrix, lower=True, check_finite=False)
            pivots = np.square(np.diagonal(factor[0]))
            if pivots.min(initial=1.0) < 64 * len(matrix) * UNIT:
                raise linalg.LinAlgError
            self._solve = partial(linalg.cho_solve, factor, check_finite=False)
        except linalg.LinAlgError:
            self._solve = self._by_eigenvectors(matrix)

    def _by_eigenvectors(self, matrix: Array) -> Callable[[Array], Array]:
        values, vectors = linalg.eigh(matrix, check_finite=False)
        floor = 64 * len(matrix) * UNIT * max(values[-1], 1.0)
        self.indefinite |= bool(values[0] < -1e3 * floor)
        kept = values > floor
        self.rank -= int((~kept).sum())
        self._left_out = vectors[:, ~kept]
        inverse = np.zeros_like(values)
        inverse[kept] = 1 / values[kept]
        return lambda g: np.asarray(vectors @ (inverse * (vectors.T @ g)))

    def left_out(self, gradient: Array) -> float:
        """The largest part of a gradient along directions in which H is taken to be flat."""
        parts = self._left_out.T @ (gradient.ravel() / self.scale)
        return float(np.abs(parts).max(initial=0.0))

    def __call__(self, gradient: Array) -> Array:
        solved = self._solve(gradient.ravel() / self.scale) / self.scale
        return np.asarray(solved).reshape(gradient.shape)
