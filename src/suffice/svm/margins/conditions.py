"""The conditions of a minimum, row by row, and the two values between which it lies.

For a row of the margin m = y f(x) and the multiplier α (Karush, Kuhn and Tucker):

    α = 0          m ≥ 1      it could be left out
    0 < α < C      m = 1      it lies on the margin
    α = C          m ≤ 1      it lies within the margin, or on the wrong side

    primal   ½ ‖w‖² + Σ Cᵢ max(0, 1 − mᵢ)       dual   Σ αᵢ − ½ ‖w‖²

No w has a smaller primal value than any α has a dual one: their difference, the gap, bounds how
far either is from its best.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from suffice.fitting.certificate import Certificate
from suffice.numerics.kernel_functions import KernelFunction
from suffice.svm.one_vs_one.pairs import Pair
from suffice.svm.smo.dual import ROUNDED, Floats, Integers, imbalance

BEYOND, ON_MARGIN, WITHIN, VIOLATED, ABSENT = 1, 2, 3, 0, -1
"""The three cases in the order above; none of them; a row of neither class."""

ADVICE = "bring the columns to one scale, choose a smaller C, or allow more steps"


def violations(pair: Pair) -> Floats:
    """By how much each row misses its condition."""
    alpha, margins = np.abs(pair.beta), pair.margins
    short = np.where(alpha < pair.bounds, 1 - margins, 0.0)
    beyond = np.where(alpha > 0, margins - 1, 0.0)
    return np.maximum(np.maximum(short, beyond), 0.0)


def cases(pair: Pair, tol: float) -> NDArray[np.int8]:
    """Which of the three cases each row is in, within a tolerance."""
    alpha = np.abs(pair.beta)
    case = np.where(alpha == 0, BEYOND, np.where(alpha < pair.bounds, ON_MARGIN, WITHIN))
    return np.where(violations(pair) <= tol, case, VIOLATED).astype(np.int8)


def margins_of(pairs: list[Pair], order: Integers, tol: float) -> dict[str, Any]:
    """The margins and cases of all rows, by the names of the attributes.

    Parameters
    ----------
    pairs : list of Pair
    order : int array of shape (rows,)
        The rows sorted by class.
    tol : float
    """
    margins = np.full((len(pairs), len(order)), np.nan)
    kinds = np.full(margins.shape, ABSENT, np.int8)
    least = np.empty(len(pairs))
    for number, pair in enumerate(pairs):
        rows = order[pair.rows]
        margins[number, rows] = pair.margins
        kinds[number, rows] = cases(pair, tol)
        length = np.sqrt(pair.squared_length)
        least[number] = pair.margins.min() / length if length else -np.inf
    several = len(pairs) > 1
    return {
        "functional_margins_": margins if several else margins[0],
        "kkt_cases_": kinds if several else kinds[0],
        "geometric_margin_": least if several else float(least[0]),
    }


def primal_value(pair: Pair) -> float:
    """Of the weights and the intercept; scaled to margins of 1 where these are hard."""
    half, margins = pair.squared_length / 2, pair.margins
    if np.isinf(pair.bounds).any():
        least = float(margins.min())
        return half / least**2 if least > 0 else np.inf
    return half + float(pair.bounds @ np.maximum(1 - margins, 0.0))


def dual_value(pair: Pair) -> float:
    """Of the multipliers."""
    return float(np.abs(pair.beta).sum()) - pair.squared_length / 2


def certificate_of(
    function: KernelFunction, pairs: list[Pair], tol: float, most: int
) -> Certificate:
    """What was proved of the machines of all pairs.

    Parameters
    ----------
    function : KernelFunction
    pairs : list of Pair
    tol : float
    most : int
        Steps that each was allowed.
    """
    found = Examined(
        max(float(violations(pair).max()) for pair in pairs),
        sum(map(primal_value, pairs)),
        sum(map(dual_value, pairs)),
        max(imbalance(pair.beta) for pair in pairs),
        any(pair.solution.is_curved_down for pair in pairs),
        any(pair.solution.steps >= most for pair in pairs),
    )
    advice = ADVICE
    if function.name == "linear" and all(np.isfinite(pair.bounds).all() for pair in pairs):
        how = "solves the same problem" if len(pairs) == 1 else "fits a machine a class instead"
        advice += f'; LinearSVC(loss="hinge") {how}'
    return certificate_from(function, found, tol, advice)


class Examined(NamedTuple):
    """What was computed in float64 of a solution.

    Attributes
    ----------
    violation : float
        By how much a row misses its condition at worst.
    primal, dual : float
    imbalance : float
        Of the multipliers.
    is_curved_down : bool
        Whether a direction of negative curvature was met.
    is_stopped : bool
        Whether all steps allowed were taken.
    """

    violation: float
    primal: float
    dual: float
    imbalance: float
    is_curved_down: bool
    is_stopped: bool


def certificate_from(
    function: KernelFunction, found: Examined, tol: float, advice: str = ADVICE
) -> Certificate:
    """A certificate from what was computed of a solution.

    Parameters
    ----------
    function : KernelFunction
    found : Examined
    tol : float
    advice : str
        What to try if conditions are missed.
    """
    worst, primal, dual, gap = found.violation, found.primal, found.dual, found.primal - found.dual
    measures = {"violation": worst, "primal": primal, "dual": dual, "gap": gap}
    notes = []
    claim = f"every row meets its condition of a minimum within {tol:g}"
    if found.is_curved_down:
        del measures["gap"]
        notes.append("not convex: a direction of negative curvature was met")
    elif not function.is_semi_definite:
        notes.append("convexity not proved: the kernel need not be positive semi-definite")
    feasible = found.imbalance <= ROUNDED
    if not feasible:
        notes.append(f"the multipliers sum to {found.imbalance:.2g} of their size, and not to 0")
    if worst > tol:
        named = "" if found.is_curved_down else f", gap {gap:.3g}"
        why = (
            "terminated early, after all steps allowed,"
            if found.is_stopped
            else "rounding allows no further step"
        )
        notes.append(f"{why} with violation {worst:.3g}{named}: {advice}")
    elif not found.is_curved_down and gap > tol * abs(dual):
        notes.append(f"the gap is {gap / primal:.2g} of the objective: lower tol, or C")
    path = "sequential minimal optimisation, checked in float64"
    return Certificate(worst <= tol and feasible, claim, path, measures, tuple(notes))
