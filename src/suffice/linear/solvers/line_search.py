"""The loop of every method: a pass at a point, a direction from there, a step that goes down.

    Θ ← Θ + t δ(Θ),      t = 1, ½, ¼ … until F falls enough

A `Method` says what it needs of a pass (the gradient alone, or the Hessian too) and which way
to go.  F, ∇F and H come from one pass at the new point, so a step that is accepted at once
costs no pass of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Protocol

import numpy as np

from suffice.fitting.requests import Pass, StopAsked, at_will, needed
from suffice.linear.solvers.objective import Objective
from suffice.numerics.double_double import Array
from suffice.sources import Source
from suffice.statistics.curvature import Curvature

SMALL_PARAMETER = 1e-4
"""Parameters below this share of the largest are known relative to that share of it."""

ENOUGH = 1e-4
"""Share of what the direction promises by which F must fall."""

ROUNDING = 1e-13
"""Share of F that may be rounding: a rise within it counts as none."""

SMALLEST_STEP = 2.0**-40

HELD_UP, PATIENCE = 1e-7, 5
"""Distance below which a search counts as done when rounding holds it up: that is when it has not
halved over so many passes."""

STOPPED = "a callback stopped the fit"


@dataclass(frozen=True, eq=False)
class Minimum:
    """Where a method ended.

    Attributes
    ----------
    parameters : array of shape (predictors, parameters)
    value : float
        F there, or one last step before.
    gradient : array of the parameters' shape
        Of all but the absolute values, likewise.
    distance : float
        Largest estimated distance of a parameter from the minimiser's, relative to it.
    converged : bool
    steps : int
        Passes.
    rejected : int
        Passes at points that the method turned back from.
    rank : int
        Independent directions among the parameters, as far as the Hessian is known.
    hessian : array, or None
        The last that was computed, over all parameters.
    notes : tuple of str
    separating : array of the parameters' shape, optional
        A direction along which F falls for ever.
    """

    parameters: Array
    value: float
    gradient: Array
    distance: float
    converged: bool
    steps: int
    rank: int
    hessian: Array | None = None
    notes: tuple[str, ...] = ()
    separating: Array | None = None
    rejected: int = 0

    @property
    def iterations(self) -> int:
        """Passes at points that became iterates."""
        return self.steps - self.rejected


Minimising = Generator[Pass, Curvature, Minimum]
"""A method at work."""

Direction = Generator[Pass, Curvature, Array | None]
"""A method that looks for a direction."""


class Point:
    """F and ∇F at a point, and the step that is tried from there."""

    direction: Array
    length = 1.0

    def __init__(self, objective: Objective, at: Curvature, parameters: Array) -> None:
        self.parameters, self.objective = parameters, objective
        self.value = objective.value(at, parameters)
        self.gradient = objective.gradient(at, parameters)

    def is_below(self, other: Point) -> bool:
        """Whether F fell enough from the other point, as far as rounding lets it be seen."""
        reached, l1 = other.parameters + other.direction, self.objective.l1
        promised = float(np.sum(other.gradient * other.direction))
        promised += float(np.sum(l1 * (np.abs(reached) - np.abs(other.parameters))))
        allowed = ENOUGH * other.length * promised + ROUNDING * abs(other.value)
        return self.value <= other.value + allowed

    def step(self) -> Array:
        """The point to try."""
        return self.parameters + self.length * self.direction


class Method(Protocol):
    """A way to choose directions.

    Attributes
    ----------
    objective : Objective
        What is minimised; a method may change how its curvature is taken.
    order : int
        What the next pass must compute: 1 for F and its gradient, 2 for the Hessian too.
    rank : int
    hessian : array, or None
        The last that was seen.
    last_step_counts : bool
        Whether the step that is found small enough to stop is taken: one of Newton's
        squares what is left of the distance.
    doubt : str
        Why the distance cannot be relied on; empty if it can.
    """

    last_step_counts: bool
    doubt: str
    objective: Objective
    order: int
    rank: int
    hessian: Array | None

    def distance(self, step: Array, parameters: Array) -> float:
        """How large a step is: by the parameter that it changes most, or as a whole."""
        ...

    def direction(self, at: Curvature, point: Point, before: Point | None) -> Direction:
        """The full step from a point; None to have the point computed anew, as `order` now says.

        `before` is the point from which the last step led here.  A method may ask for passes.
        """
        ...


def minimise_by(
    method: Method,
    start: Array,
    *,
    tol: float,
    max_iter: int,
    source: Source | None = None,
    step: str = "step",
    measure: Callable[[Array, Array], float] | None = None,
) -> Minimising:
    """Minimise the objective of a method from a start.

    Parameters
    ----------
    method : Method
    start : array of shape (predictors, parameters)
    tol : float
        Distance from the minimiser, relative to each parameter, at which to stop.
    max_iter : int
        Most passes.
    source : Source, optional
        Rows to read instead of all rows.
    step : str
        What the trace calls a pass.
    measure : function of a step and the parameters, optional
        What `tol` is compared with; by default what the method says.
    """
    point: Point | None = None
    trial: Point | None = None
    parameters, passes, converged, distance = start, 0, False, np.inf
    rejected = 0
    notes: tuple[str, ...] = ()
    distances: list[float] = []
    try:
        while passes < max_iter:
            look = iterate(method.objective, parameters, method.order, source, step)
            at = yield from needed(look) if point is None else at_will(look)
            passes += 1
            trial = Point(method.objective, at, parameters)
            if point is None and not np.isfinite(trial.value):
                break
            if point is not None and not trial.is_below(point):
                look.verdict.rejected, rejected = True, rejected + 1
                point.length /= 2
                if point.length < SMALLEST_STEP:
                    notes = ("no step reduces the objective any further",)
                    break
                parameters = point.step()
                continue
            direction = yield from method.direction(at, trial, point)
            if direction is None:
                point = None
                continue
            point, trial.direction = trial, direction
            parameters = point.step()
            distance = (measure or method.distance)(direction, parameters)
            distances.append(distance)
            if distance <= tol or _is_held_up(distances):
                converged = True
                break
    except StopAsked:
        notes, point = (STOPPED,), point or trial
    if point is None or not np.isfinite(point.value):
        raise ValueError("the objective is not finite where the fit starts: rescale the columns")
    if converged and method.doubt:
        converged, notes = False, (*notes, method.doubt)
    # The last step has been worked out: where it is sure to lead closer, it is taken.
    found = point.step() if converged and method.last_step_counts else point.parameters
    return Minimum(
        found, point.value, point.gradient, distance, converged, passes, method.rank,
        method.hessian, notes, rejected=rejected,
    )  # fmt: skip


def _is_held_up(distances: list[float]) -> bool:
    """Whether a search close to its end comes no closer: the gradient is all rounding."""
    if len(distances) <= PATIENCE or distances[-1] > HELD_UP:
        return False
    return distances[-1] > 0.5 * distances[-1 - PATIENCE]


def relative(step: Array, parameters: Array) -> float:
    """The largest share of a parameter by which a step changes it."""
    sizes = np.abs(parameters)
    largest = sizes.max(initial=0.0)
    if largest == 0:
        return float(np.abs(step).max(initial=0.0))
    return float((np.abs(step) / np.maximum(sizes, SMALL_PARAMETER * largest)).max())


def relative_norm(step: Array, parameters: Array) -> float:
    """The share of all parameters by which a step changes them, in norms."""
    size = float(np.linalg.norm(parameters))
    return float(np.linalg.norm(step)) / (size if size > 0 else 1.0)


def asked(
    objective: Objective, parameters: Array, order: int, source: Source | None, step: str
) -> Pass:
    """The pass that computes F, its gradient and perhaps the Hessian at a point."""

    def value(at: Any) -> float:
        return objective.value(at, parameters)

    summarize = partial(objective.summarize, parameters=parameters, order=order)
    detail = {1: f"{step}: gradient", 2: f"{step}: gradient and Hessian"}[order]
    return Pass(detail, summarize, value, source)


def iterate(
    objective: Objective, parameters: Array, order: int, source: Source | None, step: str
) -> Pass:
    """The same at a point that becomes an iterate unless the method rejects it: callbacks see it.

    What a method finds on other rows than all is not shown.
    """
    look = asked(objective, parameters, order, source, step)
    attributes = objective.attributes
    if attributes is None or source is not None:
        return look

    def learned() -> dict[str, Any] | None:
        if look.verdict.rejected:
            return None
        return attributes(*objective.columns.to_user(parameters))

    return replace(look, learned=learned)
