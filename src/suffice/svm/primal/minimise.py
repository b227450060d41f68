"""The minimum of a linear machine's objective, with either loss.

Squared hinges are smooth: Newton's method goes there.  Hinges are minimised by the method of
multipliers: each smooth problem is left when its decrement is small beside the gap, multipliers are
renewed, and the rate grows as long as the next problem stays easy.
"""

from __future__ import annotations

from collections.abc import Generator
from typing import Any

import numpy as np

from suffice.fitting.requests import Pass, StopAsked
from suffice.numerics.double_double import UNIT, Array
from suffice.svm.primal.losses import Hinge, SquaredHinge
from suffice.svm.primal.newton import Search, newton
from suffice.svm.primal.problem import PrimalProblem

FIRST_RATE, GROWTH, MOST_RATE = 1.0, 4.0, 1e9
"""τ at first, by how much it grows, and what it may become."""

EASY = 6
"""Newton steps up to which a problem is easy."""

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
    nowhere = np.empty((0, len(start)))
    try:
        if loss == "squared_hinge":
            yield from newton(search, SquaredHinge(nowhere), start, 0.0, updates=True)
        else:
            yield from multipliers(search, Hinge(nowhere, FIRST_RATE), start)
    except StopAsked:
        pass
    return search


def multipliers(search: Search, hinge: Hinge, point: Array) -> Generator[Pass, Any, None]:
    """The method of multipliers."""
    enough = 1e-3
    while not search.ended and len(hinge.rates) < MOST_RENEWALS:
        before, gap = search.steps, search.bounds.gap
        now = yield from newton(search, hinge, point, enough, updates=False)
        point = now.point
        grows = search.steps - before <= EASY
        rate = min(hinge.curvature * (GROWTH if grows else 1.0), MOST_RATE)
        hinge = hinge.renewed(point, rate)
        enough = max(min(enough * 0.1, 1e-2 * search.bounds.relative), 4 * UNIT)
