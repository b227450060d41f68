"""The dual problem solved: pairs of variables among those that matter, then an exact check.

1. Of many rows a sample is solved first; the sides of its boundary on which the others lie
   tell which variables start at their bounds.
2. A round takes the variables that are free or near the boundary, with kernel values in float32
   among them alone, and minimises over pairs (`suffice.kernels.svm.smo`); then it brings Kβ up to
   date for all rows, from stored values or by tiles that are computed and thrown away.
3. Once no variable violates the conditions by more than the tolerance, Kβ is computed in float64.
   The gap of primal and dual value is looked at too: where it is wide, the goal is made smaller,
   down to a thousandth of the tolerance.
   What is still violated then is corrected by further rounds; their steps are small, so that
   the rounding of float32 is too.  Where that does not lead on, values are in float64 throughout.

References: Platt, "Fast training of support vector machines using sequential minimal
optimization" (1999); Joachims, "Making large-scale SVM learning practical" (1999); Fan, Chen and
Lin, "Working set selection using second order information" (2005).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from suffice.engines.workers import GivenUp
from suffice.kernels.svm.smo import LANES, NUMBERS, minimise_pairs
from suffice.svm.smo.dual import Dual, Floats, Integers

MANY = 2000
"""Variables from which on a sample is solved first, and rounds take a part of them."""

FEWEST = 1000
"""Variables that a round may take however little may be stored: 4 MB."""

WORTH_STORING = 4
"""How many times all values have been computed before they are stored."""

SHARE = 0.2
"""The share of the variables in the sample."""

ROUGH = 0.1
"""The violation to which a sample is solved, and below which a round goes to the end."""

STEPS = 20_000
"""Steps between two looks at whether the fit is still wanted."""

CURVED = -1e-5
"""A relative curvature below is negative, beyond the rounding of float32."""


WORTH_A_LOOK = 1e-4
"""A violation in float32 from which on float64 shows more."""

LEAST_GOAL = 1e-3
"""How far below the tolerance a violation is brought for the sake of the gap."""


@dataclass(frozen=True)
class SolverSettings:
    """How to solve.

    Attributes
    ----------
    tol : float
    most : int
        Steps at most.
    memory : float
        Kernel values that may be stored at once.
    shrinking : bool
        Whether rounds take a part of the variables.
    """

    tol: float
    most: int
    memory: float
    shrinking: bool = True


@dataclass(frozen=True)
class DualSolution:
    """A point near the minimum.

    Attributes
    ----------
    beta, gradient : float64 arrays of shape (variables,)
        The second is computed in float64 from the first.
    violation : float
        Of the conditions, by that gradient.
    steps : int
    least_curvature : float
        Relative, of all steps; negative where the problem is not convex.
    """

    beta: Floats
    gradient: Floats
    violation: float
    steps: int
    least_curvature: float

    @property
    def is_curved_down(self) -> bool:
        """Whether a direction of negative curvature was met."""
        return self.least_curvature < CURVED


class Solver:
    """A solution on its way.

    Parameters
    ----------
    dual : Dual
    settings : SolverSettings
    stopped : function
        Whether the result is no longer wanted.
    """

    def __init__(self, dual: Dual, settings: SolverSettings, stopped: Callable[[], bool]) -> None:
        self.dual = dual
        self.settings = settings
        self.stopped = stopped
        self.steps = 0
        self.computed = 0
        self.least_curvature = 1.0
        bound = np.maximum(dual.upper, -dual.lower).max()
        single = dual.rows.fits_singles and bound * np.abs(dual.rows.diagonal).max() < 1e5
        self.dtype: Any = np.float32 if single else np.float64

    def solve(self, start: Floats | None = None) -> DualSolution:
        """Minimise, from a feasible point or from 0."""
        dual, settings = self.dual, self.settings
        beta = np.zeros(len(dual.linear)) if start is None else start.copy()
        if start is None and len(beta) >= MANY and settings.shrinking:
            beta = self._start()
        goal = 0.9 * settings.tol
        if self.dtype is np.float32:
            goal = max(goal, WORTH_A_LOOK)
        sums, before = dual.sums(beta, self.dtype), np.inf
        while True:
            beta, sums = self._minimise(beta, sums, goal)
            # What float32 has found is looked at in float64, and so is what sums have gathered.
            sums = dual.sums(beta, np.float64)
            gradient = dual.gradient(sums)
            violation = dual.conditions(gradient, beta).violation
            near = violation <= settings.tol
            if near and dual.relative_gap(gradient, beta) <= settings.tol:
                break
            if self._ended or (violation > before / 2 and self.dtype is np.float64):
                break  # rounding allows no more
            if violation > before / 4:
                self.dtype = np.float64
            goal, before = min(0.5 * settings.tol, goal / (10 if near else 1)), violation
            if goal < settings.tol * LEAST_GOAL:
                break
        return DualSolution(beta, gradient, violation, self.steps, self.least_curvature)

    def _minimise(self, beta: Floats, sums: Floats, goal: float) -> tuple[Floats, Floats]:
        """Rounds until no variable violates the conditions by more than `goal`."""
        dual = self.dual
        while not self._ended:
            gradient = dual.gradient(sums)
            state = dual.conditions(gradient, beta)
            if state.violation <= goal:
                break
            changed, steps, gradient = self._round(beta, gradient, state, goal)
            if not steps:
                break
            if len(gradient) == len(beta) == dual.rows.n:  # all had their part, one for each row
                sums = gradient - dual.linear
                continue
            delta = dual.by_row(changed)
            there = np.flatnonzero(delta)
            sums = sums + dual.rows.sums(there, delta[there], self.dtype)
            self._store(int(np.count_nonzero(changed)))
        return beta, sums

    def _store(self, changed: int) -> None:
        """Store all values once about as many have been computed, if there is room."""
        n, rows = self.dual.rows.n, self.dual.rows
        self.computed += changed * (changed + n)
        there = rows.is_stored or rows.given or self.dtype is not np.float32
        if not there and n * n <= min(self.settings.memory, self.computed / WORTH_STORING):
            rows.store()

    @property
    def _ended(self) -> bool:
        return self.steps >= self.settings.most

    def _round(
        self, beta: Floats, gradient: Floats, state: Any, goal: float
    ) -> tuple[Floats, int, Floats]:
        """Minimise over the active variables; what has changed, the steps, and their gradient."""
        dual = self.dual
        active = self._active(gradient, state)
        rough = ROUGH * state.violation if state.violation > ROUGH / 2 else 0.0
        tol = 0.9 * goal if len(active) == len(beta) else max(0.9 * goal, rough)
        block = dual.rows.block(dual.row_of[active], self.dtype)
        found, steps, slope = self._pairs(
            block, active, beta[active], gradient[active], dual.lower[active],
            dual.upper[active], tol, self.settings.most - self.steps,
        )  # fmt: skip
        changed = np.zeros(len(beta))
        changed[active] = found - beta[active]
        beta[active] = found
        self.steps += steps
        return changed, steps, slope

    def _active(self, gradient: Floats, state: Any) -> Integers:
        """Variables that are free, that violate the conditions, or that nearly do."""
        n, memory = len(gradient), self.settings.memory
        most = int(np.sqrt(memory if self.dtype is np.float32 else memory / 2))
        if n <= max(MANY, most) and (n <= MANY or not self.settings.shrinking):
            return np.arange(n)
        scores = state.scores(gradient)
        chosen = np.flatnonzero(scores >= -max(state.violation, 1e-3))
        if self.dual.rows.is_stored:
            if len(chosen) > 0.7 * n and self.dual.rows.n == n:
                return np.arange(n)  # the stored matrix itself: nothing is copied
            most = max(most, FEWEST)
        else:
            most = min(max(most, FEWEST), max(int(0.3 * n), MANY))
        if len(chosen) > most:
            # As many that may grow as that may shrink: a step needs one of each.
            apart = (gradient - state.middle)[chosen]
            up = np.where(state.growing[chosen], -apart, -np.inf)
            down = np.where(state.shrinking[chosen], apart, -np.inf)
            first = [np.argsort(-one, kind="stable")[: most // 2] for one in (up, down)]
            chosen = chosen[np.unique(np.concatenate(first))]
        return chosen

    def _pairs(
        self,
        block: NDArray[Any],
        active: Integers,
        beta: Floats,
        gradient: Floats,
        lower: Floats,
        upper: Floats,
        tol: float,
        most: int,
    ) -> tuple[Floats, int, Floats]:
        """Steps along pairs among some variables, from a point and its gradient."""
        chunks = block.shape[1] // LANES
        room = np.zeros(chunks * LANES)
        room[: len(active)] = gradient
        diagonal = np.ones(chunks * LANES, self.dtype)
        diagonal[: len(active)] = self.dual.rows.diagonal[self.dual.row_of[active]]
        growing, shrinking = beta < upper, beta > lower
        if not growing.any() or not shrinking.any():
            return beta, 0, gradient
        middle = (gradient[growing].min() + gradient[shrinking].max()) / 2
        work = np.empty((4, chunks + 1, LANES), self.dtype)
        places = np.empty(LANES, np.int32)
        outcome, steps = np.zeros(3), 0
        while True:
            if self.stopped():
                raise GivenUp
            taken = minimise_pairs(
                block.reshape(len(active), chunks, LANES), diagonal.reshape(chunks, LANES),
                room.reshape(chunks, LANES), beta, lower, upper, middle, tol,
                min(STEPS, most - steps), work, places, np.array(NUMBERS, self.dtype), outcome,
            )  # fmt: skip
            steps += taken
            self.least_curvature = min(self.least_curvature, outcome[2])
            if outcome[0] <= tol or not outcome[1] or steps >= most:
                return beta, steps - (not outcome[1]), room[: len(active)]

    def _start(self) -> Floats:
        """A point to begin with, from the solution on a sample of the variables."""
        dual, n = self.dual, len(self.dual.linear)
        chosen = np.sort(np.random.default_rng(0).permutation(n)[: int(SHARE * n)])
        most = int(np.sqrt(self.settings.memory if self.dtype is np.float32 else 1e7))
        chosen = chosen[: max(most, FEWEST)]
        share = len(chosen) / n
        lower, upper = dual.lower[chosen] / share, dual.upper[chosen] / share
        rows = dual.row_of[chosen]
        block = dual.rows.block(rows, self.dtype)
        found, steps, _ = self._pairs(
            block, chosen, np.zeros(len(chosen)), dual.linear[chosen].copy(), lower, upper,
            ROUGH, self.settings.most,
        )  # fmt: skip
        self.steps += steps
        start = np.zeros(n)
        support = np.flatnonzero(found)
        at_bound = (found[support] == lower[support]) | (found[support] == upper[support])
        if not len(support) or at_bound.mean() < 0.3:
            bound = np.maximum(dual.upper, -dual.lower)[chosen]
            start[chosen] = found * min(1.0, (bound / np.maximum(np.abs(found), 1e-300)).min())
            return start
        coefficients = np.asarray(np.bincount(rows, found, dual.rows.n), np.float64)
        there = np.flatnonzero(coefficients)
        gradient = dual.gradient(dual.rows.sums(there, coefficients[there], self.dtype))
        growing, shrinking = found < upper, found > lower
        own = gradient[chosen]
        gradient -= (own[growing].min() + own[shrinking].max()) / 2
        return balanced(np.where(gradient < 0, dual.upper, dual.lower), gradient)


def balanced(beta: Floats, gradient: Floats) -> Floats:
    """A point whose variables sum to 0, by those that gain least from where they are."""
    excess = float(beta.sum())
    candidates = np.flatnonzero(beta * np.sign(excess) > 0)
    order = candidates[np.argsort(np.abs(gradient[candidates]), kind="stable")]
    whole = int(np.searchsorted(np.cumsum(np.abs(beta[order])), abs(excess)))
    beta[order[:whole]] = 0.0
    if whole < len(order):
        last, left = order[whole], float(beta.sum())
        beta[last] = 0.0 if abs(left) > abs(beta[last]) else beta[last] - left
    return beta
