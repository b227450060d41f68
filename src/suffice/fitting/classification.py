"""What classifiers share: labels as a target, predictions from scores, accuracy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin
from sklearn.utils.metaestimators import available_if

from suffice.fitting.inputs import finite_rows
from suffice.sources import Block, Source
from suffice.statistics.counts.labels import MOST_EXACT
from suffice.statistics.sums import Sums

F = TypeVar("F", bound=Callable[..., Any])


def _where(method: str) -> Callable[[F], F]:
    """A public method is there for models that say what it needs."""
    decorate: Callable[[F], F] = available_if(lambda model: hasattr(model, method))
    return decorate


def applied(model: Any, X: Any, function: Callable[[Any], NDArray[Any]]) -> NDArray[Any]:
    """Numbers about rows, wherever these are."""
    found: NDArray[Any] = model._apply_in_dtype(X, function)
    return found


class Classifier(ClassifierMixin):
    """A model whose target is labels of one kind: booleans, integers, floats or text.

    A model says of rows what it predicts (`_predicted`), and, where it knows them, their scores
    (`_scores`) and the logarithms of their probabilities (`_log_probabilities`).

    Attributes
    ----------
    classes_ : array of shape (classes,)
        The labels, sorted.
    """

    classes_: NDArray[Any]

    _target_checks: dict[str, bool] = {"y_numeric": False, "multi_output": False}

    def _labels(self, block: Block) -> NDArray[Any]:
        return labels_of(block)

    def _probabilities(self, rows: Any) -> NDArray[np.float64]:
        model: Any = self
        return np.exp(model._log_probabilities(rows))

    def predict(self, X: Any) -> NDArray[Any]:
        """The class that each row is taken to be of.

        Parameters
        ----------
        X : array, data frame, CSR matrix or Source, of shape (rows, columns)

        Returns
        -------
        array of shape (rows,)
        """
        model: Any = self
        found: NDArray[Any] = model._apply(X, model._predicted)
        return found

    @_where("_log_probabilities")
    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """p(y = k | x): how probable each class is.

        Parameters
        ----------
        X : array, data frame, CSR matrix or Source, of shape (rows, columns)

        Returns
        -------
        array of shape (rows, classes)
            In the order of `classes_`; in float32 where the rows are.
        """
        return applied(self, X, self._probabilities)

    @_where("_log_probabilities")
    def predict_log_proba(self, X: Any) -> NDArray[np.float64]:
        """log p(y = k | x), accurate where a probability is too small for `predict_proba`.

        Parameters
        ----------
        X : array, data frame, CSR matrix or Source, of shape (rows, columns)

        Returns
        -------
        array of shape (rows, classes)
            In float32 where the rows are.
        """
        model: Any = self
        found = applied(self, X, model._log_probabilities)
        if found.dtype == np.float32:
            found[found > -(2.0**-25)] = 0.0  # where the probability itself rounds to 1
        return found

    @_where("_scores")
    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """Scores: the larger, the more a row is of the class.

        Parameters
        ----------
        X : array, data frame, CSR matrix or Source, of shape (rows, columns)

        Returns
        -------
        array of shape (rows,) for two classes (of the second), else (rows, classes)
            In float32 where the rows are.
        """
        model: Any = self
        return applied(self, X, model._scores)

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
            block = finite_rows(block, X, model._takes_missing())
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
