"""Where the fit of a generalised linear model starts.

With an intercept, at a model that has nothing else: all means are that of the target, which every
link and response allows.  Without one, at θ = 0; or, where a link does not take η = 0, at the least
squares fit of g((y + ȳ)/2), on some of the rows.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import linalg, sparse

from suffice.linear.glm.links import LINKS
from suffice.linear.glm.loss import GeneralizedLoss
from suffice.linear.solvers.objective import Objective
from suffice.linear.solvers.sample import Survey
from suffice.numerics.double_double import Array
from suffice.sources import Block


def total_weight(survey: Survey) -> float:
    """The sum of the weights, each trial of a count taken as one."""
    assert survey.sums is not None
    return float(survey.sums.values[0][0])


def mean_target(survey: Survey) -> float:
    """The weighted mean of the target."""
    assert survey.sums is not None
    total, weighted = survey.sums.values[0]
    if not total > 0:
        raise ValueError("the target counts no trials: at least one success or failure is needed")
    return float(weighted / total)


def typical_mean(loss: GeneralizedLoss, survey: Survey) -> float:
    """The target's mean, moved inside the domain where it is at its bound."""
    mean, total = mean_target(survey), total_weight(survey)
    if loss.response.domain == "unit":
        return (mean * total + 0.5) / (total + 1.0)
    if loss.response.domain == "positive":
        return mean if mean > 0 else 0.5 / (total + 1.0)
    return mean


def intercept_alone(loss: GeneralizedLoss, survey: Survey, offset: Array | None) -> float:
    """About the intercept of a model that has nothing else.

    Parameters
    ----------
    loss : GeneralizedLoss
    survey : Survey
    offset : array of shape (rows,), optional
        Of some of the rows.
    """
    with np.errstate(all="ignore"):
        middle = float(loss.link(np.array(typical_mean(loss, survey))))
    if not np.isfinite(middle):
        return 0.0
    if offset is None:
        return middle
    if loss.link == LINKS["log"]:
        top = offset.max()
        return middle - float(top + np.log(np.mean(np.exp(offset - top))))
    return middle - float(offset.mean())


def some_offsets(objective: Objective, survey: Survey) -> Array | None:
    """The offsets of the gathered rows; None if there is no offset."""
    found = [objective.target(part).offset for part in survey.parts if part.n_rows]
    known = [offset for offset in found if offset is not None]
    return np.concatenate(known) if known else None


def first_guess(objective: Objective, survey: Survey) -> Array:
    """Parameters from which the fit may start, of shape (1, parameters)."""
    loss, columns = objective.loss, objective.columns
    assert isinstance(loss, GeneralizedLoss)
    start = np.zeros(objective.shape)
    if columns.intercept:
        start[0, -1] = intercept_alone(loss, survey, some_offsets(objective, survey))
    elif loss.is_bounded:
        start[0] = _by_least_squares(objective, loss, survey)
    return start


def _by_least_squares(objective: Objective, loss: GeneralizedLoss, survey: Survey) -> Array:
    columns, mean = objective.columns, typical_mean(loss, survey)
    rows, goals = [], []
    for part in survey.parts:
        y, _, offset = objective.target(part)
        goal = loss.link(loss.response.clipped(0.5 * (y + mean)))
        rows.append(_dense(part, columns) / columns.scale)
        goals.append(goal if offset is None else goal - offset)
    return np.asarray(linalg.lstsq(np.vstack(rows), np.concatenate(goals))[0])


def _dense(block: Block, columns: Any) -> Array:
    rows = columns.centred(columns.chosen(block.X))
    return np.asarray(rows.toarray() if sparse.issparse(rows) else rows)
