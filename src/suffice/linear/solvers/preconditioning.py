"""The curvature of an objective, and columns along which it is about alike.

Gradient steps can be as long as the largest curvature allows, and must be as many as the smallest
asks for.  A mean of some deviations couples a column with the intercept: columns are centred.
Where a penalty λ outweighs the rows of a column, the curvature of F is far larger along it than
along others: the column is divided by √(1 + λ/Wh), where rows of weight W have the curvature h.
Without a penalty that is 1.
"""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from suffice.fitting.requests import Fold, Pass, needed
from suffice.linear.solvers.line_search import asked
from suffice.linear.solvers.objective import Objective
from suffice.numerics.double_double import Array
from suffice.sources import Source
from suffice.statistics.curvature import Curvature

MOST_EIGENVALUES = 1024
"""Parameters up to which eigenvalues of the Hessian are computed; beyond, their sum bounds them."""


def recentred(objective: Objective, sample: Any) -> Objective:
    """The same problem in columns about their mean: a mean of some deviations is slow to descend.

    Parameters
    ----------
    objective : Objective
    sample : source of dense or sparse rows in memory
    """
    columns = objective.columns
    if not columns.intercept or sample.sparse:
        return objective
    centre = np.average(columns.chosen(sample.X).astype(np.float64), axis=0, weights=sample.weight)
    return replace(objective, columns=replace(columns, centre=centre))


def curvature_bounds(
    objective: Objective, at: Array, sample: Source | None, weight: float, n_rows: int
) -> Generator[Pass | Fold, Any, tuple[Objective, Array, float, float]]:
    """The problem in columns of like curvature, what they were stretched by, and bounds on it.

    Parameters
    ----------
    objective : Objective
    at : array of shape (predictors, parameters)
        Where f = F/W is looked at.
    sample : Source, optional
        Some of the rows; by default all.
    weight : float
        W, the weight of all rows.
    n_rows : int
        All rows.

    Returns
    -------
    objective : Objective
    stretch : array of shape (parameters,)
    largest, total : float
        The largest eigenvalue of ∇²f, about, and the sum of all.
    """
    size, few = objective.l2.size, objective.l2.size <= MOST_EIGENVALUES
    found: Curvature
    if few:
        found = yield from needed(asked(objective, at, 2, sample, "curvature"))
        hessian = found.hessian.reshape(size, size) / found.weight
        diagonal = np.diagonal(hessian).reshape(objective.shape)
    else:
        diagonals = partial(objective.diagonal, parameters=at)
        found = yield from needed(Pass("curvature", diagonals, source=sample))
        # Its weight counts rows, and the rows of a sample weigh about as much as all others.
        diagonal = found.gradient / found.weight * n_rows / weight
    columns, l2 = objective.columns, objective.l2 / weight
    rows = diagonal[:, -1].mean() if columns.intercept else np.median(diagonal)
    stretch = np.sqrt(1.0 + l2.max(axis=0) / (rows if rows > 0 else 1.0))
    stretched = diagonal / np.square(stretch) + l2 / np.square(stretch)
    largest = total = float(stretched.sum()) or 1.0
    if few:
        by = np.tile(stretch, len(at))
        # A sample may miss a little of the largest.
        whole = hessian / by / by[:, None] + np.diag((l2 / np.square(stretch)).ravel())
        largest = 1.1 * float(np.linalg.eigvalsh(whole)[-1]) or 1.0
    scale = columns.scale * stretch[: len(columns.scale)]
    objective = replace(
        objective,
        columns=replace(columns, scale=scale),
        l2=objective.l2 / np.square(stretch),
    )
    return objective, stretch, largest, total
