"""Predictions of the rows of a fit by members that did not see them."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from suffice.ensembles.bagging.draws import MemberDraws
from suffice.ensembles.bagging.members import side_by_side
from suffice.fitting.estimator import callers_level

Floats = NDArray[np.float64]


def out_of_bag(
    answer: Callable[[int, Any], Floats],
    X: Any,
    draws: MemberDraws,
    n_members: int,
    n_jobs: int | None,
) -> Floats:
    """For each row, the average over the members that did not draw it; NaN if all did.

    Parameters
    ----------
    answer : function of a member's number and rows
    X : array, CSR array or Columns of shape (rows, columns)
    draws : MemberDraws
    n_members : int
    n_jobs : int, or None
    """

    def unseen(member: int) -> tuple[NDArray[np.int64], Floats]:
        rows = np.flatnonzero(draws.multiplicities(member) == 0)
        # Rows that nobody left out are asked about too, for the shape of an answer.
        return rows, answer(member, X[rows] if len(rows) else X[:1])[: len(rows)]

    total: Any = None
    count = np.zeros(X.shape[0])
    for rows, said in side_by_side(unseen, range(n_members), n_jobs):
        total = np.zeros((X.shape[0], *said.shape[1:])) if total is None else total
        total[rows] += said
        count[rows] += 1
    total[count == 0] = np.nan
    return np.asarray(total / np.maximum(count, 1).reshape(-1, *(1,) * (total.ndim - 1)))


def warn_of_seen(n_seen: int, n_rows: int) -> None:
    """Warn of rows that each member has drawn, if there are such."""
    if n_seen:
        warnings.warn(
            f"Some inputs do not have OOB scores: {n_seen} of {n_rows} rows were drawn for every "
            "member; more members would leave each out now and then",
            stacklevel=callers_level(),
        )
