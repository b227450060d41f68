"""One row left out of a naive Bayes model: which rows, and the prior of the classes without each.

A row that leaves takes its weight from its own class.  A class whose only row leaves is gone: it
has the probability 0, and the others share the prior.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from suffice.numerics.double_double import Array
from suffice.sources import Block
from suffice.statistics.counts.labels import coded

TINY = np.finfo(np.float64).tiny
"""Stands for the weight of no rows, whose logarithm would be no number."""


class LeftOut(NamedTuple):
    """Rows of a fit, each to be left out of it.

    Attributes
    ----------
    X : array or CSR matrix of shape (rows, columns)
    codes : int64 array of shape (rows,)
        The place of each row's class among those of the statistic.
    weight : float64 array of shape (rows,)
        A row of weight 0 was not there, and changes nothing.
    """

    X: Any
    codes: NDArray[np.int64]
    weight: Array

    def at(self, index: Any) -> LeftOut:
        """Some of the rows."""
        return LeftOut(self.X[index], self.codes[index], self.weight[index])


def left_out(statistic: Any, block: Block) -> LeftOut:
    """The rows of a block that was part of a statistic by class."""
    weight = np.ones(block.n_rows) if block.weight is None else block.weight
    codes, present = np.zeros(len(weight), np.int64), weight > 0
    assert block.y is not None
    if present.any():
        labels, inner = coded(block.y[present])
        known = statistic.labels
        if labels.dtype.kind != known.dtype.kind or not np.isin(labels, known).all():
            raise ValueError("rows can only be left out of a fit that they were part of")
        codes[present] = np.searchsorted(known, labels)[inner]
    return LeftOut(block.X, codes, weight)


def log_priors_without(
    statistic: Any, left: LeftOut, given: Array | None, prior_alpha: float
) -> Array:
    """log πₖ without each row; −∞ for a class whose only row it is.

    Parameters
    ----------
    statistic : statistic by class
    left : LeftOut
    given : array of shape (classes,), optional
        Fixed probabilities of the classes; by default their shares of the remaining weight.
    prior_alpha : float
        What is added to the weight of each class; infinity makes all of them equal.

    Returns
    -------
    array of shape (rows, classes)
    """
    codes, weight = left.codes, left.weight
    rows = np.arange(len(codes))
    gone = (statistic.rows[codes] == 1) & (weight > 0)
    with np.errstate(divide="ignore"):
        if given is None:
            count = np.tile(statistic.weight.round(), (len(codes), 1))
            count[rows, codes] = np.maximum(count[rows, codes] - weight, 0.0)
            count = count + prior_alpha if prior_alpha < np.inf else np.ones(count.shape)
            count[rows[gone], codes[gone]] = 0.0
            out = np.log(count) - np.log(np.maximum(count.sum(axis=1, keepdims=True), TINY))
        else:
            out = np.tile(np.log(given), (len(codes), 1))
            out[rows[gone], codes[gone]] = -np.inf
    if statistic.count == 1:
        out[gone] = -np.inf
    return out
