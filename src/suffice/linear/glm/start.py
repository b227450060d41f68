"""Where the fit of a generalised linear model starts.

With an intercept, at a model that has nothing else: all means are that of the target, which every
link and response allows.  Without one, at θ = 0; or, where a link does not take η = 0, at the least
squares fit of g((y + ȳ)/2), on some of the rows.
"""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from scipy import linalg, sparse

from suffice.fitting.requests import Pass, needed
from suffice.linear.glm.links import LINKS
from suffice.linear.glm.loss import GeneralizedLoss
from suffice.linear.solvers.objective import Objective
from suffice.linear.solvers.sample import FirstLook
from suffice.numerics.double_double import Array
from suffice.sources import Block


def total_weight(first_look: FirstLook) -> float:
    """The sum of the weights, each trial of a count taken as one."""
    assert first_look.sums is not None
    return float(first_look.sums.values[0][0])


def mean_target(first_look: FirstLook) -> float:
    """The weighted mean of the target."""
    assert first_look.sums is not None
    total, weighted = first_look.sums.values[0]
    if not total > 0:
        raise ValueError("the target counts no trials: at least one success or failure is needed")
    return float(weighted / total)


def typical_mean(loss: GeneralizedLoss, first_look: FirstLook) -> float:
    """The target's mean, moved inside the domain where it is at its bound."""
    mean, total = mean_target(first_look), total_weight(first_look)
    if loss.response.domain == "unit":
        return (mean * total + 0.5) / (total + 1.0)
    if loss.response.domain == "positive":
        return mean if mean > 0 else 0.5 / (total + 1.0)
    return mean


def intercept_alone(loss: GeneralizedLoss, first_look: FirstLook, offset: Array | None) -> float:
    """About the intercept of a model that has nothing else.

    Parameters
    ----------
    loss : GeneralizedLoss
    first_look : FirstLook
    offset : array of shape (rows,), optional
        Of some of the rows.
    """
    with np.errstate(all="ignore"):
        middle = float(loss.link(np.array(typical_mean(loss, first_look))))
    if not np.isfinite(middle):
        return 0.0
    if offset is None:
        return middle
    if loss.link == LINKS["log"]:
        top = offset.max()
        return middle - float(top + np.log(np.mean(np.exp(offset - top))))
    return middle - float(offset.mean())


def some_offsets(objective: Objective, first_look: FirstLook) -> Array | None:
    """The offsets of the gathered rows; None if there is no offset."""
    found = [objective.target(part).offset for part in first_look.parts if part.n_rows]
    known = [offset for offset in found if offset is not None]
    return np.concatenate(known) if known else None


def first_guess(objective: Objective, first_look: FirstLook) -> Array:
    """Parameters from which the fit may start, of shape (1, parameters)."""
    loss, columns = objective.loss, objective.columns
    assert isinstance(loss, GeneralizedLoss)
    start = np.zeros(objective.shape)
    if columns.intercept:
        start[0, -1] = intercept_alone(loss, first_look, some_offsets(objective, first_look))
    elif loss.is_bounded:
        start[0] = _by_least_squares(objective, loss, first_look)
    return start


def made_ready(objective: Objective, start: Array, method: str) -> Generator[Pass, Any, Objective]:
    """The problem as a method takes it, if there is a start in its domain."""
    loss = objective.loss
    assert isinstance(loss, GeneralizedLoss)
    if method != "newton":
        # What a method takes as its first curvature must not be indefinite.
        objective = replace(objective, loss=replace(loss, expected=True))
    if not loss.is_bounded:
        return objective
    if method == "sgd":
        raise ValueError(
            f"solver='sgd' takes steps after which means need not be in the domain of "
            f"link={loss.link.label!r}: use solver='gd' or 'auto', or another link"
        )
    look = Pass("start", partial(objective.summarize, parameters=start, order=0))
    at = yield from needed(look)
    if not np.isfinite(at.loss):
        raise ValueError(
            f"no start was found from which all means are in the domain of link="
            f"{loss.link.label!r} and family={loss.response.name!r}: fit an intercept, or "
            "take another link"
        )
    return objective


def _by_least_squares(objective: Objective, loss: GeneralizedLoss, first_look: FirstLook) -> Array:
    columns, mean = objective.columns, typical_mean(loss, first_look)
    rows, goals = [], []
    for part in first_look.parts:
        y, _, offset = objective.target(part)
        goal = loss.link(loss.response.clipped(0.5 * (y + mean)))
        rows.append(_dense(part, columns) / columns.scale)
        goals.append(goal if offset is None else goal - offset)
    return np.asarray(linalg.lstsq(np.vstack(rows), np.concatenate(goals))[0])


def _dense(block: Block, columns: Any) -> Array:
    rows = columns.centred(columns.chosen(block.X))
    return np.asarray(rows.toarray() if sparse.issparse(rows) else rows)
