"""What classifiers share: labels as a target, predictions from scores, accuracy."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin

from suffice.sources import Block, Source
from suffice.sources.finite import describe_non_finite
from suffice.statistics.counts.labels import MOST_EXACT
from suffice.statistics.sums import Sums


class Classifier(ClassifierMixin):
    """A model whose target is labels of one kind: booleans, integers, floats or text.

    Attributes
    ----------
    classes_ : array of shape (classes,)
        The labels, sorted.
    """

    classes_: NDArray[Any]

    def _target_checks(self) -> dict[str, Any]:
        return {"multi_output": False, "y_numeric": False}

    def _labels(self, block: Block) -> NDArray[Any]:
        return labels_of(block)

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """The share of rows whose class is predicted (accuracy).

        Parameters
        ----------
        X : array, data frame or Source
        y : array of shape (rows,)
            None if `X` is a source.
        sample_weight : array of shape (rows,), optional

        Returns
        -------
        float
        """
        if not isinstance(X, Source):
            return float(super().score(X, y, sample_weight))
        model: Any = self
        model._check_scored(X, y, sample_weight)

        def summarize(block: Block) -> Sums:
            message = describe_non_finite(block, X, model._takes_missing())
            if message:
                raise ValueError(message)
            weight = np.ones(block.n_rows) if block.weight is None else block.weight
            right = model._predicted(block.X) == block.y
            return Sums((np.array([weight @ right, weight.sum()]),))

        right, total = model._pass(X, summarize).values[0]
        return float(right / total) if total else float("nan")


def labels_of(block: Block) -> NDArray[Any]:
    """The labels of a block; numbers that measure something are refused."""
    y = block.y
    assert y is not None
    if y.ndim != 1:
        raise ValueError(
            f"the target has {y.shape[1]} columns; a classifier takes one: name it as "
            "target='label', not as a list"
        )
    if y.dtype.kind == "O" and all(isinstance(label, float) for label in y):
        y = y.astype(np.float64)
    if y.dtype.kind == "f":
        kept = y if block.weight is None else y[block.weight > 0]
        known = kept[np.isfinite(kept)]
        odd = known[np.trunc(known) != known]
        if len(odd):
            raise ValueError(
                f"Unknown label type: continuous. The target holds {float(odd[0])!r}; labels "
                "are booleans, whole numbers or text, and other numbers are for regression"
            )
        if np.abs(known).max(initial=0.0) >= MOST_EXACT:
            raise ValueError(
                "The target holds numbers of 2^53 and more as floats, among which neighbouring "
                "integers cannot be told apart: give the labels as integers (CSV files hold "
                "none so large, Parquet does) or as text"
            )
    return y
