"""What a generalised linear model takes from a block besides its columns: target and offset.

Counts of successes and failures become a share of successes, whose trials weigh the row.  Columns
that are named as offset or exposure enter the predictor without a coefficient.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from suffice.linear.glm.responses.base import Response
from suffice.linear.glm.responses.named import BinomialResponse
from suffice.linear.solvers.objective import Target, present
from suffice.numerics.double_double import Array
from suffice.sources import Block
from suffice.statistics.sums import Sums


def target_of(block: Block, response: Response, offset: Array | None) -> Target:
    """A block's target, as the loss takes it."""
    try:
        y = np.asarray(block.y, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"the target must hold numbers to be regressed on: {error}") from None
    if y.ndim == 1:
        return Target(y, block.weight, offset)
    if not isinstance(response, BinomialResponse) or y.shape[1] != 2:
        raise ValueError(
            f"the target has {y.shape[1]} columns, and family={response.name!r} takes "
            f"{response.takes} in one column"
            if not isinstance(response, BinomialResponse)
            else f"the target has {y.shape[1]} columns; family='binomial' takes {response.takes}"
        )
    trials = y.sum(axis=1)
    share = y[:, 0] / np.where(trials > 0, trials, 1.0)
    return Target(share, trials if block.weight is None else trials * block.weight, offset)


@dataclass(frozen=True)
class TargetReader:
    """What a model makes of a block's target and of its columns of offset and exposure.

    Attributes
    ----------
    response : Response
    offset, exposure : int, optional
        Numbers of columns.
    """

    response: Response
    offset: int | None = None
    exposure: int | None = None

    @classmethod
    def of(cls, model: Any, response: Response) -> TargetReader:
        """As the parameters of a model say."""
        return cls(response, place_of(model, "offset"), place_of(model, "exposure"))

    def __call__(self, block: Block) -> Target:
        return target_of(block, self.response, offset_of(block.X, self.offset, self.exposure))

    def check(self, block: Block) -> Sums:
        """Sum of the weights, and weighted sum of a target that the response admits."""
        block = present(block)
        return checked_sums(block, self(block), self.response)


def checked_sums(block: Block, target: Target, response: Response) -> Sums:
    """Sum of the weights, and weighted sum of a target that the response admits."""
    counts = np.asarray(block.y, dtype=np.float64)
    if not np.isfinite(counts).all():
        raise FloatingPointError("values that are not finite")
    if counts.ndim == 2 and (counts < 0).any():
        raise ValueError(
            f"successes and failures are counts, but the target holds {float(counts.min())!r}"
        )
    wrong = ~response.admits(target.y)
    if wrong.any():
        row = int(np.argmax(wrong))
        where = f" (row {block.start + row}, counted from 0)" if block.weight is None else ""
        raise ValueError(
            f"family={response.name!r} takes {response.takes}, but the target holds "
            f"{float(target.y[row])!r}{where}"
        )
    weight = np.ones(block.n_rows) if target.weight is None else target.weight
    return Sums((np.array([weight.sum(), weight @ target.y]),))


def place_of(model: Any, parameter: str) -> int | None:
    """The number of the column that a parameter of a model names."""
    column = getattr(model, parameter)
    if column is None:
        return None
    other = {"offset": "exposure", "exposure": "offset"}[parameter]
    if column == getattr(model, other):
        raise ValueError(f"offset and exposure are the same column, {column!r}: name two")
    names = getattr(model, "feature_names_in_", None)
    if isinstance(column, str):
        if names is None or column not in names:
            known = "which have no names" if names is None else ", ".join(map(repr, names[:20]))
            raise ValueError(f"{parameter}={column!r} is not among the columns of X: {known}")
        return int(np.flatnonzero(np.asarray(names) == column)[0])
    if isinstance(column, bool) or not 0 <= column < model.n_features_in_:
        raise ValueError(
            f"{parameter}={column} is not a column of X, which has {model.n_features_in_} of them, "
            "counted from 0"
        )
    return int(column)


def offset_of(X: Any, offset: int | None, exposure: int | None) -> Array | None:
    """What is added to the predictors of some rows; see `place_of`."""
    total = None if offset is None else _column(X, offset)
    if exposure is not None:
        amount = _column(X, exposure)
        if not (amount > 0).all():
            raise ValueError(
                f"exposure must be positive, but column {exposure} holds {float(amount.min())!r}"
            )
        total = np.log(amount) if total is None else total + np.log(amount)
    return total


def _column(X: Any, place: int) -> Array:
    column = X[:, [place]].toarray().ravel() if sparse.issparse(X) else X[:, place]
    column = np.asarray(column, dtype=np.float64)
    if not np.isfinite(column).all():
        raise FloatingPointError("values that are not finite")
    return column
