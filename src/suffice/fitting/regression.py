"""What regressors share: numbers as a target, and the share of their variance that is explained."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.base import RegressorMixin

from suffice.fitting.inputs import finite_rows, is_float32
from suffice.sources import Block, Source, as_source
from suffice.statistics.moments.full import Moments

Floats = NDArray[np.float64]


class Regressor(RegressorMixin):
    """A model that predicts one number a row or several, rows of a block by `_predicted`."""

    def predict(self, X: Any) -> NDArray[np.float64]:
        """Predict the target.

        Parameters
        ----------
        X : array, data frame, CSR matrix or Source, of shape (rows, columns)

        Returns
        -------
        array of shape (rows,) or (rows, targets)
            In float32 where the rows are.
        """
        model: Any = self
        found: NDArray[np.float64] = model._apply_in_dtype(X, model._predicted)
        return found

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """R², the share of the target's variance that the model explains.

        Parameters
        ----------
        X : array, data frame or Source
            Sparse rows too, if the model takes them.
        y : array of shape (rows,) or (rows, targets)
            None if `X` is a source.
        sample_weight : array of shape (rows,), optional

        Returns
        -------
        float
            Averaged over the targets.
        """
        if not isinstance(X, Source):
            rows = as_source(X) if is_float32(X) else X  # a source's predictions are in float64
            return float(super().score(rows, y, sample_weight))
        model: Any = self
        model._check_scored(X, y, sample_weight)

        def summarize(block: Block) -> Moments:
            block = finite_rows(block, X, model._takes_missing())
            true = as_columns(block.y)
            residual = true - as_columns(model._predicted(block.X))
            return Moments.summarize(np.hstack([true, residual]), None, block.weight)

        moments = model._pass(X, summarize)
        total, left = np.split(np.diagonal(moments.rounded_scatter), 2)
        left = left + moments.weight.hi * np.square(np.split(moments.mean.hi, 2)[1])
        return float(np.mean(explained(left, total)))


class Line(NamedTuple):
    """A linear prediction.

    Attributes
    ----------
    coef : array of shape (columns, targets)
    intercept : array of shape (targets,)
    proved : bool
        Whether a certificate of it would hold.
    """

    coef: Floats
    intercept: Floats
    proved: bool = True


def explained(left: Floats, total: Floats) -> Floats:
    """1 − left/total, with scikit-learn's reading of a constant target."""
    constant = total == 0
    ratio = left / np.where(constant, 1.0, total)
    return np.where(constant, np.where(left == 0, 1.0, 0.0), 1 - ratio)


def as_columns(y: Any) -> Floats:
    """A target of one or two dimensions as float64 columns."""
    try:
        y = np.asarray(y, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"the target must hold numbers to be regressed on: {error}") from None
    return y.reshape(len(y), -1)
