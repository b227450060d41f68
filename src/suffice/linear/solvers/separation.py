"""Classes that a direction separates: where a logistic regression has no minimum.

A direction V with (v_y − vₖ)·a ≥ 0 for every row a, its class y and every other class k, and
> 0 for at least one, lets the loss fall for ever.  Whether there is one is a linear programme;
where the rows are too many for that, only the direction that the fit itself has taken is tried.
A direction is believed only after a pass over all rows has measured its margins.

Reference: Albert and Anderson, "On the existence of maximum likelihood estimates in logistic
regression models" (1984); Konis, "Linear programming algorithms for detecting separated data"
(2007).
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from scipy import sparse

from suffice.fitting.certificate import Certificate
from suffice.fitting.requests import Pass, needed
from suffice.linear.solvers.line_search import STOPPED, Minimising, Minimum
from suffice.linear.solvers.losses import of_classes
from suffice.linear.solvers.objective import Objective, present
from suffice.numerics.double_double import Array
from suffice.sources import Block, Source
from suffice.statistics.curvature import predictors

ENOUGH_STEPS = 20
"""Passes after which a fit without a penalty is looked at for separation."""

MOST_CELLS = 2_000_000
"""Cells of a linear programme."""

ZERO = 1e-9
"""Margins below, relative to the largest, are rounding."""


@dataclass(frozen=True)
class Margins:
    """Smallest and largest (v_y − vₖ)·a over rows and other classes."""

    smallest: float
    largest: float

    @classmethod
    def merge(cls, parts: Sequence[Margins]) -> Margins:
        """Over the rows of all parts."""
        return cls(min(p.smallest for p in parts), max(p.largest for p in parts))

    @property
    def separates(self) -> bool:
        """Whether no margin is negative, and one is positive."""
        return self.largest > 0 and self.smallest >= -ZERO * self.largest


def separating_direction(
    objective: Objective, found: Minimum, sample: Any, whole: bool
) -> Generator[Pass, Any, Array | None]:
    """A direction that separates the classes, of the parameters' shape; None if none is known.

    Parameters
    ----------
    objective : Objective
        Of a logistic or softmax loss.
    found : Minimum
        Where an unpenalised fit ended without converging.
    sample : Source
        Gathered rows.
    whole : bool
        Whether these are all rows.
    """
    tries = [found.parameters / max(np.abs(found.parameters).max(), 1e-300)]
    if whole and sample.X.shape[0] * objective.l2.size <= MOST_CELLS:
        best = _programme(objective, Block(sample.X, sample.y, sample.weight, 0))
        tries = [] if best is None else [best]
    for direction in tries:
        summarize = partial(_margins, objective, direction=direction)
        margins: Margins = yield from needed(Pass("separation", summarize))
        if margins.separates:
            return direction
    return None


def minimise_or_separate(
    objective: Objective,
    search: Callable[..., Minimising],
    start: Array,
    sample: Source | None,
    gathered: Source,
    max_iter: int,
) -> Minimising:
    """Minimise the loss; look now and then whether a direction separates the classes instead.

    Parameters
    ----------
    objective : Objective
        Of a logistic or softmax loss, without a penalty.
    search : function of a start, some of the rows and `max_iter`
    start : array of shape (predictors, parameters)
    sample : Source, optional
        Some of the rows, to begin with; None if all were gathered.
    gathered : Source
    max_iter : int
    """
    steps, rejected, rows = 0, 0, sample
    while True:
        some = min(ENOUGH_STEPS, max_iter - steps)
        found = yield from search(start, rows, max_iter=some)
        steps, rejected = steps + found.steps, rejected + found.rejected
        found = replace(found, steps=steps, rejected=rejected)
        if found.converged or STOPPED in found.notes:
            return found
        direction = yield from separating_direction(objective, found, gathered, sample is None)
        if direction is not None:
            return replace(found, separating=direction)
        if steps >= max_iter or found.notes:
            return found
        start, rows = found.parameters, None


def without_minimum(proof: Certificate) -> Certificate:
    """What is known where the classes are separated."""
    claim = "the classes are separated: the likelihood has no maximum"
    note = (
        "it grows for ever along `separating_direction_` (coefficients, then the "
        "intercept); a penalty makes the answer finite: C=1.0, say"
    )
    return replace(proof, holds=False, claim=claim, notes=(note,))


def _margins(objective: Objective, block: Block, direction: Array) -> Margins:
    block = present(block)
    X = objective.columns.centred(objective.columns.chosen(block.X))
    codes, loss = objective.target(block).y.astype(np.intp), of_classes(objective.loss)
    eta = loss.all_predictors(predictors(X, direction / objective.columns.divisor))
    rows = np.arange(len(codes))
    margins = eta[codes, rows] - eta
    margins[codes, rows] = np.nan
    if not margins.size:
        return Margins(np.inf, -np.inf)
    return Margins(float(np.nanmin(margins)), float(np.nanmax(margins)))


def _programme(objective: Objective, block: Block) -> Array | None:
    """The direction within the unit cube whose margins have the largest sum, if that is > 0."""
    from scipy.optimize import linprog

    block = present(block)
    X = objective.columns.centred(objective.columns.chosen(block.X))
    X = X.toarray() if sparse.issparse(X) else X
    A = X / objective.columns.scale
    A = np.hstack([A, np.ones((len(A), 1))]) if objective.columns.intercept else A
    codes = objective.target(block).y.astype(np.intp)
    k, p = objective.shape
    # ∂η/∂V of every class: the identity over predictors, 0 for a class without one.
    classes = of_classes(objective.loss).all_predictors(np.eye(k))
    differences = [
        sparse.csr_array(
            np.einsum("ik,ip->ikp", classes[codes] - classes[other], A).reshape(-1, k * p)
        )
        for other in range(len(classes))
    ]
    rows = sparse.vstack(differences, format="csr")
    total = np.asarray(rows.sum(axis=0)).ravel()
    best = linprog(-total, A_ub=-rows, b_ub=np.zeros(rows.shape[0]), bounds=(-1, 1))
    if best.x is None or -best.fun <= ZERO * max(np.abs(total).sum(), 1e-300):
        return None
    return np.asarray(best.x).reshape(k, p)
