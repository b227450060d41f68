"""The minimum of a linear machine's objective, with either loss.

Squared hinges are smooth: Newton's method goes there.  Hinges, and squared ones that are too steep
for it, are minimised by the method of multipliers: each smooth problem is left when its decrement is
small beside the gap, multipliers are renewed, and the rate grows as long as the next problem is easy.
"""

from __future__ import annotations

from collections.abc import Generator
from typing import Any

import numpy as np

from suffice.fitting.requests import Pass, StopAsked
from suffice.numerics.double_double import UNIT, Array
from suffice.svm.primal.losses import AugmentedHinge, SquaredHinge
from suffice.svm.primal.newton import Search, newton
from suffice.svm.primal.problem import PrimalProblem

STEEP = 1e3
"""C times the mean square of the rows beyond which the first rate is below 1."""

GROWTH, MOST_RATE = 4.0, 1e9
"""By how much the rate grows, and what it may become."""

EASY = 6
"""Newton steps up to which a problem is easy."""

PATIENCE = 5
"""Searches along Newton steps after which squared hinges are too steep."""

MOST_RENEWALS = 100
"""Renewals after which multipliers are no longer told from their history."""


def minimise(
    problem: PrimalProblem, loss: str, start: Array, tol: float, max_iter: int
) -> Generator[Pass, Any, Search]:
    """Search for the minimum from a start; a wish to stop ends it where it is.

    Parameters
    ----------
    problem : PrimalProblem
    loss : {"hinge", "squared_hinge"}
    start : array of shape (parameters,)
    tol : float
    max_iter : int
        Points at most.
    """
    search = Search(problem, tol, max_iter, start)
    try:
        if loss == "squared_hinge":
            smooth = SquaredHinge(np.empty((0, len(start))))
            yield from newton(search, smooth, start, updates=True, patience=PATIENCE)
        yield from multipliers(search, loss == "squared_hinge")
    except StopAsked:
        pass
    return search


def multipliers(search: Search, squared: bool) -> Generator[Pass, Any, None]:
    """The method of multipliers, from the best point so far."""
    point, units = search.best, search.problem.units
    steepness = search.problem.C * float(units.scale @ units.scale)
    rate = min(1.0, STEEP / steepness)
    loss = AugmentedHinge(squared, np.empty((0, len(point))), rate)
    enough = 1e-3
    while not search.ended and len(loss.rates) < MOST_RENEWALS:
        before = search.steps
        now = yield from newton(search, loss, point, enough)
        point = now.point
        grows = search.steps - before <= EASY
        loss = loss.renewed(point, min(loss.rate * (GROWTH if grows else 1.0), MOST_RATE))
        enough = max(min(enough * 0.1, 1e-2 * search.bounds.relative), 4 * UNIT)
