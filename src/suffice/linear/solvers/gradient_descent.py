"""Gradient descent: a step from all rows, or from a few at a time.

With the mean objective f = F/W over rows of weight W in all (`suffice.linear.solvers.objective`):

    gd     V ← μ V − η_t ∇f(Θ),      Θ ← Θ + V      a pass a step
    sgd    the same, with the gradient of a mini-batch of rows for ∇f, and many steps a pass

For squared loss, one row at a time and μ = 0 this is the LMS rule θ ← θ + η (y − θ·x) x.
Steps are taken in columns centred at about their mean and divided by about their deviation (more
where a penalty is strong, see `suffice.linear.solvers.preconditioning`), so that the same η serves
columns of any unit.

    learning_rate="constant"      η_t = η₀
    learning_rate="invscaling"    η_t = η₀ / t^p
    learning_rate="auto"          sgd: η_t = η₀ / (1 + (t − 1)/T)^p, where a pass has T steps,
                                  and for Θ its mean over the steps of the last pass;
                                  gd: Barzilai and Borwein's ‖s‖²/(s·d) from the last step s and
                                  the change d of ∇f along it, halved until F falls below its
                                  largest value in ten steps (constant where μ > 0)

Without η₀ it is 1/L for gd, and 1/2(L + S/b) for sgd with b rows a batch, where L is the largest
eigenvalue of ∇²f at the best constant, and S the sum of all: gd goes down by steps up to 2/L, and
that of single rows is S.  Decaying steps meet Robbins and Monro's conditions Σ η = ∞ and Σ η² < ∞
for ½ < p ≤ 1; a mean of the steps (Polyak and Ruppert) is as good with longer ones.

Reference: Robbins and Monro, "A stochastic approximation method" (1951); Raydan, "The Barzilai
and Borwein gradient method for the large scale unconstrained minimization problem" (1997).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Generator
from dataclasses import dataclass, replace
from functools import partial
from numbers import Integral, Real
from typing import Any

import numpy as np
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions

from suffice.fitting.certificate import Certificate
from suffice.fitting.requests import Fold, Pass, StopAsked, at_will, needed
from suffice.linear.solvers.line_search import (
    ENOUGH,
    ROUNDING,
    SMALLEST_STEP,
    STOPPED,
    Minimum,
    asked,
    iterate,
)
from suffice.linear.solvers.objective import Objective
from suffice.linear.solvers.preconditioning import curvature_bounds
from suffice.linear.solvers.sgd import Iterate, steps
from suffice.numerics.double_double import Array
from suffice.sources import Source
from suffice.statistics.curvature import Curvature

SOLVERS = {"gd": "gradient descent", "sgd": "stochastic gradient descent"}
"""Names of these methods as a `solver`, and what they stand for."""

LOOK_BACK = 10
"""Points below whose largest F a step must lead."""

CONSTRAINTS: dict[str, list[Any]] = {
    "batch_size": [Interval(Integral, 1, None, closed="left")],
    "learning_rate": [StrOptions({"auto", "constant", "invscaling"})],
    "eta0": [Interval(Real, 0, None, closed="neither"), None],
    "power_t": [Interval(Real, 0, None, closed="left")],
    "momentum": [Interval(Real, 0, 1, closed="left")],
}
"""What the parameters of a model that descends may be."""

Descending = Generator[Pass | Fold, Any, Minimum]


@dataclass(frozen=True)
class DescentOptions:
    """How to descend.

    Attributes
    ----------
    solver : {"gd", "sgd"}
    learning_rate : {"auto", "constant", "invscaling"}
    eta0 : float, optional
        η₀.
    power_t : float
        p.
    momentum : float
        μ.
    batch_size : int
        Rows of a mini-batch; those at the end of a block of rows may be smaller.
    seed : int
        Of the order in which sgd visits the rows.
    tol : float
        Norm of the gradient, relative to that at the best constant, at which to stop.
    max_iter : int, optional
        Most passes of gd, by default 10,000, or epochs of sgd, by default 100.
    """

    solver: str
    learning_rate: str = "auto"
    eta0: float | None = None
    power_t: float = 0.5
    momentum: float = 0.0
    batch_size: int = 1
    seed: int = 0
    tol: float = 1e-8
    max_iter: int | None = None

    @classmethod
    def of(cls, model: Any) -> DescentOptions:
        """What a model's parameters say."""
        seed = int(check_random_state(model.random_state).randint(np.iinfo(np.int32).max))
        return cls(
            model.solver,
            model.learning_rate,
            model.eta0,
            model.power_t,
            model.momentum,
            model.batch_size,
            seed,
            model.tol,
            model.max_iter,
        )

    @property
    def most(self) -> int:
        """Most passes or epochs."""
        return self.max_iter or (10_000 if self.solver == "gd" else 100)

    def rates(self, eta0: float, first: int, count: int, per_epoch: float) -> Array:
        """η of `count` steps from number `first` (counted from 0)."""
        t = np.arange(first, first + count, dtype=np.float64)
        if self.learning_rate == "invscaling":
            return np.asarray(eta0 / (t + 1.0) ** self.power_t)
        if self.learning_rate == "auto" and self.solver == "sgd":
            return np.asarray(eta0 / (1.0 + t / per_epoch) ** self.power_t)
        return np.full(count, eta0)


def descend(
    objective: Objective,
    start: Array,
    constant: Array,
    sample: Source | None,
    descent: DescentOptions,
    n_rows: int,
) -> Descending:
    """Minimise F from a start.

    Parameters
    ----------
    objective : Objective
        Without penalties on absolute values.
    start : array of shape (predictors, parameters)
    constant : array of the same shape
        About the best model without columns: what gradients are measured by.
    sample : Source, optional
        Some of the rows, for the curvature of F; by default all.
    descent : DescentOptions
    n_rows : int
        Rows of positive weight.

    Returns
    -------
    Minimum
        `distance` is the norm of the gradient, relative to that at `constant`.
    """
    if objective.l1.any():
        raise ValueError(
            f"solver={descent.solver!r} takes no penalty on absolute values, which have no "
            "gradient at 0: use solver='auto'"
        )
    at: Curvature = yield from needed(asked(objective, constant, 1, None, "constant"))
    slope = objective.gradient(at, constant)
    objective, stretch, largest, total = yield from curvature_bounds(
        objective, constant, sample, at.weight, n_rows
    )
    start, measure = start * stretch, float(np.linalg.norm(slope / stretch)) or 1.0
    if descent.solver == "gd":
        eta0 = descent.eta0 or 1.0 / largest
        found = yield from _batch(objective, start, descent, eta0, measure)
    else:
        eta0 = descent.eta0 or 0.5 / (largest + total / descent.batch_size)
        found = yield from _stochastic(objective, start, descent, eta0, measure, at.weight, n_rows)
    return replace(found, parameters=found.parameters / stretch, gradient=found.gradient * stretch)


def _batch(
    objective: Objective, start: Array, descent: DescentOptions, eta0: float, measure: float
) -> Descending:
    """A step a pass."""
    search = descent.learning_rate == "auto" and descent.momentum == 0
    here, velocity = _Place(start, np.inf, start), np.zeros_like(start)
    notes: tuple[str, ...] = ()
    trial, eta, passes, rejected, last = start, eta0, 0, 0, deque[float](maxlen=LOOK_BACK)
    try:
        while passes < descent.most:
            look = iterate(objective, trial, 1, None, "gradient descent")
            at = yield from at_will(look) if last else needed(look)
            passes += 1
            there = _Place.of(objective, at, trial)
            if search and last and not there.is_below(max(last), here, eta):
                look.verdict.rejected, rejected = True, rejected + 1
                eta /= 2
                if eta < SMALLEST_STEP * eta0:
                    notes = ("no step reduces the objective any further",)
                    break
                trial = here.parameters - eta * here.slope
                continue
            if search and last:
                eta = there.barzilai_borwein(here) or eta0
            elif not search:
                eta = float(descent.rates(eta0, passes - 1, 1, 1.0)[0])
            here = there
            last.append(here.value)
            _check(here.value, descent)
            if here.distance(measure) <= descent.tol:
                break
            velocity = descent.momentum * velocity - eta * here.slope
            trial = here.parameters + velocity
    except StopAsked:
        notes = (STOPPED,)
    return replace(here.minimum(measure, descent, passes, notes), rejected=rejected)


def _stochastic(
    objective: Objective,
    start: Array,
    descent: DescentOptions,
    eta0: float,
    measure: float,
    weight: float,
    n_rows: int,
) -> Descending:
    """Many steps a pass; after 1, 2, 4, … passes, and the last, one that measures the gradient."""
    per_epoch = max(n_rows / descent.batch_size, 1.0)
    take = partial(
        steps,
        objective=replace(objective, l2=objective.l2 / weight),
        batch_size=descent.batch_size,
        momentum=descent.momentum,
        share=n_rows / weight,
        rates=partial(descent.rates, eta0, per_epoch=per_epoch),
    )
    notes: tuple[str, ...] = ()
    state, here = Iterate.start(start), _Place(start, np.inf, start)
    check, epoch = 1, 0

    def learned() -> dict[str, Any] | None:
        if objective.attributes is None:
            return None
        return objective.attributes(*objective.columns.to_user(reached))

    while epoch < descent.most and not notes:
        run = Fold(
            "epoch",
            take,
            state.fresh(),
            [descent.seed, epoch],
            lambda state: state.loss / n_rows * weight + objective.penalty(state.theta),
            learned=learned,
        )
        try:
            state = yield from at_will(run) if epoch else needed(run)
            epoch += 1
        except StopAsked:
            notes = (STOPPED,)
        _check(float(np.abs(state.theta).sum()), descent)
        reached = state.mean if descent.learning_rate == "auto" else state.theta
        if epoch == check or epoch == descent.most or notes:
            check *= 2
            at = yield from needed(asked(objective, reached, 1, None, "objective"))
            here = _Place.of(objective, at, reached)
            if here.distance(measure) <= descent.tol:
                break
    return here.minimum(measure, descent, epoch, notes)


@dataclass(frozen=True, eq=False)
class _Place:
    """F and the gradient of the mean objective at a point."""

    parameters: Array
    value: float
    slope: Array
    weight: float = 1.0

    @classmethod
    def of(cls, objective: Objective, at: Curvature, parameters: Array) -> _Place:
        slope = objective.gradient(at, parameters) / at.weight
        return cls(parameters, objective.value(at, parameters), slope, at.weight)

    def is_below(self, value: float, other: _Place, eta: float) -> bool:
        """Whether F fell enough below a value, over a step from the other point."""
        promised = eta * float(np.sum(np.square(other.slope))) * other.weight
        return self.value <= value + ROUNDING * abs(value) - ENOUGH * promised

    def barzilai_borwein(self, other: _Place) -> float | None:
        """The inverse of the curvature of f over the step from the other point, if it did."""
        step, change = self.parameters - other.parameters, self.slope - other.slope
        curvature, length = float(np.sum(step * change)), float(np.sum(step * step))
        return length / curvature if curvature > 1e-12 * length else None

    def distance(self, measure: float) -> float:
        return float(np.linalg.norm(self.slope)) * self.weight / measure

    def minimum(
        self, measure: float, descent: DescentOptions, passes: int, notes: tuple[str, ...]
    ) -> Minimum:
        distance = self.distance(measure) if np.isfinite(self.value) else np.inf
        return Minimum(
            self.parameters, self.value, self.slope * self.weight, distance,
            distance <= descent.tol, passes, self.parameters.size, notes=notes,
        )  # fmt: skip


def _check(value: float, descent: DescentOptions) -> None:
    if not np.isfinite(value):
        raise ValueError(
            f"the steps of solver={descent.solver!r} grow without bound: "
            + (
                "give a small eta0, 1e-3 say, or use solver='auto'"
                if descent.eta0 is None
                else f"lower eta0 (now {descent.eta0:g}), or leave it out"
            )
        )


def certificate(
    found: Minimum, descent: DescentOptions, minimised: str = "the objective"
) -> Certificate:
    """What a descent proves: how small the gradient of what it minimised is where it ended."""
    claim = (
        f"the minimiser of {minimised}, as far as a gradient of {found.distance:.1e} of that at "
        "the best constant tells"
    )
    notes = found.notes
    if not found.converged and not notes:
        passes = "passes" if descent.solver == "gd" else "epochs"
        advice = "raise max_iter" if descent.solver == "gd" else "raise max_iter or tol"
        notes = (
            f"the gradient is above tol={descent.tol:g} after {found.steps} {passes}: {advice}, or "
            "use solver='auto'",
        )
    measures = {"stationarity": found.distance, "objective": found.value}
    return Certificate(found.converged, claim, SOLVERS[descent.solver], measures, notes)
