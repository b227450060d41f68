"""Lasso and elastic net as a penalised quadratic, solved on a working set of columns.

    minimise over θ:   ½ ‖y − Xθ‖² + Σⱼ (l1ⱼ |θⱼ| + ½ l2ⱼ θⱼ²),       θ ≥ 0 if so wished

Few coefficients are not zero, so the problem is solved on few columns, whose products G = XᵀX are
at hand; then the others are asked whether they would rather join, which those do whose
correlation with the residual, cⱼ = xⱼ·(y − Xθ), is larger than l1ⱼ.

On a working set, coordinate descent finds out which coefficients are not zero, and their signs s.
These known, the solution is that of a linear system, G θ + l2 θ = q − l1 s on the support; where
a coefficient would change its sign on the way there, the way ends at the first such place, and the
descent goes on.

References: Friedman, Hastie and Tibshirani (2010); Lee, Battle, Raina and Ng, "Efficient sparse
coding algorithms" (2007); Massias, Gramfort and Salmon, "Celer" (2018).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy import linalg

from suffice.kernels.linear.coordinate_descent import descend
from suffice.linear.lasso_solvers.duality_gap import Penalty
from suffice.numerics.double_double import UNIT, Array

Indices = NDArray[np.intp]

AT_REST = 1e-13
"""Move of a coordinate, relative to the largest one, below which it is called none."""

FEWEST_SWEEPS = 10
"""Sweeps before the linear system of the support is tried."""

ROOM = 1.0 + 1e-11
"""How much larger than l1 a correlation may be before its column joins."""

MOST_CROSSINGS = 16
"""Coefficients that may become zero before coordinate descent has its say again."""

MOST_COEFFICIENTS = 1 << 13
"""Columns that a working set may have: their products take 512 MB."""

STRIDE = 3.0
"""Ratio of penalties on the way to the one that is asked for."""

SMALL_SET = 128
"""Columns up to which all are in the working set; and the least that one begins with."""

MOST_GROWTHS = 100
"""How often a working set may grow for one penalty."""


class Quadratic(Protocol):
    """½ ‖y − Xθ‖², as far as the solver needs to know it.

    Attributes
    ----------
    squares : array of shape (columns,)
        ‖xⱼ‖².
    linear : array of shape (columns,)
        xⱼ·y.
    total : float
        ‖y‖².
    most_products : int
        Columns up to which their products with each other are worth their memory.
    """

    squares: Array
    linear: Array
    total: float
    most_products: int

    def gram(self, rows: Indices, columns: Indices) -> Array:
        """Products of some columns with some."""

    def slope(self, support: Indices, values: Array, penalty: Penalty) -> Array:
        """xⱼ·(y − Xθ) for each column, θ being zero outside the support.

        Where |xⱼ·(y − Xθ)| is known to be less than l1ⱼ, a bound on it will do.
        """


class TooManyColumnsError(Exception):
    """More columns compete for a coefficient than their products are worth; never for users.

    Attributes
    ----------
    reached : PathPoint
        Where the search stands.
    """

    def __init__(self, reached: PathPoint) -> None:
        super().__init__("too many columns for a working set")
        self.reached = reached


class Inside(NamedTuple):
    """A solution on a working set.

    Attributes
    ----------
    theta : array of shape (p,)
    sweeps : int
    rests : bool
        Whether no coordinate moves any more.
    """

    theta: Array
    sweeps: int
    rests: bool


@dataclass(frozen=True)
class PathPoint:
    """A solution, and where the next may begin.

    Attributes
    ----------
    theta, slope : arrays of shape (columns,)
    sweeps : int
        Sweeps of coordinate descent so far.
    done : bool
        Whether no column wants to join and no coordinate moves.
    """

    theta: Array
    slope: Array
    sweeps: int
    done: bool

    @property
    def support(self) -> Indices:
        return np.flatnonzero(self.theta)


def solve_inside(G: Array, q: Array, penalty: Penalty, theta: Array, most_sweeps: int) -> Inside:
    """Minimise ½ θᵀGθ − q·θ + penalty, from a first guess.

    Parameters
    ----------
    G : array of shape (p, p)
    q : array of shape (p,)
    penalty : Penalty
    theta : array of shape (p,)
    most_sweeps : int
    """
    G = np.ascontiguousarray(G)
    l1, l2 = np.ascontiguousarray(penalty.l1), np.ascontiguousarray(penalty.l2)
    theta, sweeps = np.array(theta), 0
    while sweeps < most_sweeps:
        slope = q - G @ theta
        # A factorisation costs as much as some sweeps: about as much time for either.
        many = int(np.count_nonzero(theta)) // 20
        most = min(max(FEWEST_SWEEPS, many), most_sweeps - sweeps)
        count = descend(G, l1, l2, penalty.positive, theta, slope, most, AT_REST)
        sweeps += abs(count)
        if count > 0:
            return Inside(theta, sweeps, True)
        theta = towards_signs(G, q, penalty, theta)
    return Inside(theta, sweeps, False)


def towards_signs(G: Array, q: Array, penalty: Penalty, theta: Array) -> Array:
    """From θ towards the solution with its signs; coefficients that reach zero stay there.

    Where the columns of the support depend on each other, there is a direction that changes no
    prediction; along it the penalty falls until a coefficient is zero.
    """
    theta = np.array(theta)
    for _ in range(MOST_CROSSINGS):
        support = np.flatnonzero(theta)
        if not len(support):
            break
        start = theta[support]
        inner = G[np.ix_(support, support)]
        inner[np.diag_indices(len(support))] += penalty.l2[support]
        side = q[support] - penalty.l1[support] * np.sign(start)
        factor, failed = linalg.lapack.dpotrf(inner.T, lower=0, overwrite_a=1)
        if failed > 0:
            step = _without_effect(factor, failed - 1, penalty.l1[support] * np.sign(start))
            longest = np.inf
        else:
            step = linalg.cho_solve((factor, False), side, check_finite=False) - start
            longest = 1.0
        if not np.isfinite(step).all():
            break
        # The first place on the way where a coefficient is zero.
        inward = step * start < 0
        ways = np.where(inward, start / np.where(inward, -step, 1.0), np.inf)
        first = int(np.argmin(ways))
        if ways[first] > longest or not np.isfinite(ways[first]):
            theta[support] = start + step if failed <= 0 else start
            break
        theta[support] = start + ways[first] * step
        theta[support[first]] = 0.0
    return theta


def _without_effect(factor: Array, k: int, slope: Array) -> Array:
    """A direction in which column k is exchanged for those before it, and the penalty falls."""
    step = np.zeros(len(slope))
    step[:k] = -linalg.solve_triangular(factor[:k, :k], factor[:k, k], check_finite=False)
    step[k] = 1.0
    return -step if slope @ step > 0 else step


class WorkingSet:
    """The columns at hand and their products, kept from one penalty to the next."""

    MOST = 1 << 12
    """Columns whose products are kept, unless more are needed at once."""

    def __init__(self, problem: Quadratic) -> None:
        self.problem = problem
        self.columns: Indices = np.zeros(0, dtype=np.intp)
        self.place = np.full(len(problem.linear), -1)
        self.products = np.zeros((0, 0))

    def gram(self, wanted: Indices) -> Array:
        """Products of the wanted columns with each other."""
        if len(self.columns) > max(self.MOST, 2 * len(wanted)):
            self.__init__(self.problem)  # type: ignore[misc]
        new = wanted[self.place[wanted] < 0]
        if len(new):
            self._add(new)
        places = self.place[wanted]
        return self.products[np.ix_(places, places)]

    def _add(self, new: Indices) -> None:
        p, m = len(self.columns), len(self.columns) + len(new)
        if m > len(self.products):
            grown = np.empty((max(m, 2 * p), max(m, 2 * p)))
            grown[:p, :p] = self.products[:p, :p]
            self.products = grown
        self.columns = np.concatenate([self.columns, new])
        self.place[new] = np.arange(p, m)
        block = self.problem.gram(self.columns, new)
        self.products[:m, p:m] = block
        self.products[p:m, :m] = block.T


def nothing_yet(problem: Quadratic) -> PathPoint:
    """θ = 0, where every path begins."""
    return PathPoint(np.zeros(len(problem.linear)), problem.linear.copy(), 0, False)


def solve_penalised(
    problem: Quadratic,
    penalty: Penalty,
    start: PathPoint,
    working: WorkingSet,
    most_sweeps: int,
) -> PathPoint:
    """Minimise the penalised quadratic.

    Parameters
    ----------
    problem : Quadratic
    penalty : Penalty
    start : PathPoint
        From `nothing_yet`, or of another penalty nearby.
    working : WorkingSet
        Of the same problem.
    most_sweeps : int
        Sweeps at most.

    Raises
    ------
    TooManyColumnsError
        If the working set would have more columns than it may.
    """
    if len(start.theta) > SMALL_SET and not start.theta.any():
        start = _approach(problem, penalty, start, working, most_sweeps)
    found = _solve_from(problem, penalty, start, working, most_sweeps)
    if not found.done and len(start.theta) <= SMALL_SET:
        start = _approach(problem, penalty, nothing_yet(problem), working, most_sweeps)
        found = _solve_from(problem, penalty, start, working, most_sweeps)
    return found


def _approach(
    problem: Quadratic, penalty: Penalty, start: PathPoint, working: WorkingSet, most_sweeps: int
) -> PathPoint:
    """A start nearby, over stronger penalties: there the support is small, and remains so."""
    some = penalty.l1 > 0
    pull = penalty.excess(start.slope)[some] / penalty.l1[some] + 1
    factor = float(pull.max(initial=1.0)) / STRIDE
    while factor > STRIDE:
        stronger = Penalty(factor * penalty.l1, factor * penalty.l2, penalty.positive)
        start = _solve_from(problem, stronger, start, working, most_sweeps)
        factor /= STRIDE
    return start


def _solve_from(
    problem: Quadratic, penalty: Penalty, start: PathPoint, working: WorkingSet, most_sweeps: int
) -> PathPoint:
    """Solve on growing working sets."""
    usable = problem.squares > 0
    chosen = np.flatnonzero(usable)
    if len(chosen) > SMALL_SET:
        chosen = _first_choice(penalty, start, usable)
    theta, slope, sweeps = start.theta, start.slope, 0
    for _ in range(MOST_GROWTHS):
        if len(chosen) > min(MOST_COEFFICIENTS, problem.most_products):
            raise TooManyColumnsError(PathPoint(theta, slope, sweeps, False))
        found = solve_inside(
            working.gram(chosen),
            problem.linear[chosen],
            penalty.of(chosen),
            theta[chosen],
            max(most_sweeps - sweeps, 1),
        )
        sweeps += found.sweeps
        theta = np.zeros_like(theta)
        theta[chosen] = found.theta
        support = np.flatnonzero(theta)
        slope = problem.slope(support, theta[support], penalty)
        joining = _joining(problem, penalty, slope, chosen, usable, len(support))
        if not found.rests or not len(joining):
            return PathPoint(theta, slope, sweeps, found.rests)
        chosen = np.union1d(chosen, joining)
    return PathPoint(theta, slope, sweeps, False)


def _first_choice(penalty: Penalty, start: PathPoint, usable: NDArray[np.bool_]) -> Indices:
    """The support so far, and those nearest to joining."""
    distance = -penalty.excess(start.slope) / np.where(penalty.l1 > 0, penalty.l1, 1.0)
    distance[~usable] = np.inf
    distance[start.support] = -np.inf
    n = min(max(SMALL_SET, len(start.support) + len(start.support) // 4), len(distance))
    return np.sort(np.argpartition(distance, n - 1)[:n])


def _joining(
    problem: Quadratic,
    penalty: Penalty,
    slope: Array,
    chosen: Indices,
    usable: NDArray[np.bool_],
    n_support: int,
) -> Indices:
    """Columns outside the working set that would rather join: the most eager ones."""
    if len(chosen) == np.count_nonzero(usable):
        return np.zeros(0, dtype=np.intp)
    noise = 8 * UNIT * np.sqrt(problem.squares * problem.total)
    excess = penalty.excess(slope) - (ROOM - 1) * penalty.l1 - noise
    excess[~usable] = -1.0
    excess[chosen] = -1.0
    eager = np.flatnonzero(excess > 0)
    most = max(SMALL_SET, n_support)
    if len(eager) > most:
        eager = eager[np.argpartition(-excess[eager], most)[:most]]
    return eager
