"""The minimum of a linear machine's objective, with either loss.

Squared hinges are smooth: Newton's method goes there.  Hinges, and squared ones that are too steep
for it, are minimised by the method of multipliers: each smooth problem is left when its decrement
is small, multipliers are renewed, and the rate grows as long as the problems stay easy.
"""

from __future__ import annotations

from collections.abc import Generator
from typing import Any

import numpy as np

from suffice.fitting.requests import Pass, StopAsked
from suffice.numerics.double_double import Array
from suffice.svm.primal.losses import AugmentedHinge, SquaredHinge
from suffice.svm.primal.newton import PrimalSearch, newton
from suffice.svm.primal.problem import PrimalProblem

FIRST_RATE, GROWTH, MOST_RATE = 0.1, 4.0, 1e9
"""τ at first, by how much it grows, and what it may become."""

STEEP = 1e3
"""What the first rate times C and the mean square of the rows may be."""

SMALL, SMALL_BESIDE_GAP, ENOUGH = 1e-3, 1e-2, 1e-2
"""Decrement at which multipliers are renewed: beside the value at first, then by a tenth less each
time; beside the relative gap; and beside what the multipliers have changed."""

EASY = 6
"""Newton steps up to which a problem is easy."""

PATIENCE = 5
"""Searches along Newton steps after which squared hinges are too steep."""

MOST_RENEWALS, MOST_IDLE = 100, 20
"""Renewals after which multipliers are no longer told from their history, and those in a row that
may leave the gap about as it is: then rounding does."""


def minimise(
    problem: PrimalProblem,
    loss: str,
    tol: float,
    max_iter: int,
    start: Array | None = None,
) -> Generator[Pass, Any, PrimalSearch]:
    """Search for the minimum; a wish to stop ends it where it is.

    Parameters
    ----------
    problem : PrimalProblem
    loss : {"hinge", "squared_hinge"}
    tol : float
    max_iter : int
        Points at most.
    start : array of shape (parameters,), optional
        Where to begin, such as the minimum of some of the rows.
    """
    start = np.zeros(problem.units.n_parameters) if start is None else start
    search = PrimalSearch(problem, tol, max_iter, start)
    squared = loss == "squared_hinge"
    try:
        if squared:
            smooth = SquaredHinge(np.empty((0, len(start))))
            yield from newton(search, smooth, start, updates=True, patience=PATIENCE)
        yield from multipliers(search, squared)
    except StopAsked:
        pass
    return search


def multipliers(search: PrimalSearch, squared: bool) -> Generator[Pass, Any, None]:
    """The method of multipliers, from the best point so far."""
    point, units = search.best, search.problem.units
    steepness = search.problem.C * float(units.scale @ units.scale)
    rate = min(FIRST_RATE, STEEP / steepness)
    loss, small = AugmentedHinge(squared, np.empty((0, len(point))), rate), SMALL
    idle = 0
    while not search.ended and len(loss.rates) < MOST_RENEWALS and idle < MOST_IDLE:
        before, gap = search.steps, search.bounds.relative
        now = yield from newton(search, loss, point, (small, ENOUGH))
        point = now.point
        grows = search.steps - before <= EASY
        loss = loss.renewed(point, min(loss.rate * (GROWTH if grows else 1.0), MOST_RATE))
        idle = idle + 1 if search.bounds.relative > 0.9 * gap else 0
        small = min(0.1 * small, SMALL_BESIDE_GAP * search.bounds.relative)
