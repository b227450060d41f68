"""Several classes by binary models: each class against the rest.

A binary model is fitted for every class k, with the target 1 for the rows of the class and 0 for
all others; it gives a score sₖ(x), and a probability pₖ(x) where it has any.  Then

    ŷ = argmaxₖ sₖ(x),      P(y = k | x) = pₖ(x) / Σⱼ pⱼ(x).

Two classes need one model.  The models are fitted independently, so their probabilities need not
sum to 1 before they are divided by their sum; and where classes are many, each sees few rows of
its own among many others.

Reference: Rifkin and Klautau, "In defense of one-vs-all classification" (2004).
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from numbers import Integral
from typing import Any, ClassVar, Self, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone, is_classifier
from sklearn.utils import get_tags
from sklearn.utils._param_validation import HasMethods
from sklearn.utils.metaestimators import available_if

from suffice.engines.workers import one_blas_thread
from suffice.ensembles.binary_fits import (
    fit_each,
    joint_certificate,
    joint_trace,
    partial_fit_each,
    reads_sources,
    steps,
)
from suffice.fitting.all_or_nothing import all_or_nothing
from suffice.fitting.callbacks import is_watched
from suffice.fitting.classification import Classifier
from suffice.fitting.estimator import Estimator
from suffice.fitting.requests import Found, Pass, Passes, needed
from suffice.linear.logistic_regression import LogisticRegression
from suffice.numerics.double_double import Array
from suffice.sources import Block, Source
from suffice.sources.memory.one_block import OneBlock
from suffice.statistics.counts.labelled import LabelledSums
from suffice.statistics.counts.labels import coded, united
from suffice.statistics.moments.full import NOTHING

F = TypeVar("F", bound=Callable[..., Any])

NO_PROBABILITY = 1e-290
"""A sum of probabilities from which on their quotients are taken from logarithms instead."""


def _has(method: str) -> Callable[[F], F]:
    """Whether the binary models have a method, for scikit-learn's `available_if`."""

    def check(model: OneVsRest) -> bool:
        fitted = getattr(model, "estimators_", None)
        getattr(fitted[0] if fitted else model._binary_model(), method)
        return True

    return available_if(check)


class OneVsRest(Classifier, Estimator):
    """A classifier of several classes made of binary ones.

    Parameters
    ----------
    estimator : classifier, default=None
        What is cloned and fitted for each class; None is `LogisticRegression()`.  One of
        another library learns from arrays, data frames and CSR matrices, not from files.
    n_jobs : int, optional
        Threads, also of binary models that do not say; by default what `suffice.config` says.
    verbose : int, default=0
        Accepted for compatibility: `trace_` has a row for each pass.

    Attributes
    ----------
    classes_ : array of shape (classes,)
        The labels, sorted.
    n_classes_ : int
    estimators_ : list of classifiers
        One for each class, whose rows have the label 1 there; with two classes a single one,
        for the second.
    certificate_ : Certificate
        Holds where those of all binary models do.
    trace_ : Trace
        The passes of every binary model.  Iterative models share their passes: a row of each
        is then one reading, and `seconds` are shares of it.

    Notes
    -----
    `decision_function` and `predict_proba` are there where the binary models have them.
    Probabilities are divided by their sum over the classes, and 0 throughout where no model
    gives its class any, not even a logarithm; `predict` goes by scores, or else by these.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from suffice import LogisticRegression, OneVsRest
    >>> X, y = load_iris(return_X_y=True)
    >>> model = OneVsRest(LogisticRegression(C=10.0)).fit(X, y)
    >>> round(model.score(X, y), 3), len(model.estimators_)
    (0.96, 3)
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "estimator": [HasMethods(["fit", "predict", "get_params"]), None],
        "n_jobs": [None, Integral],
        "verbose": ["verbose"],
    }

    estimators_: list[Any]

    def __init__(
        self, estimator: Any = None, *, n_jobs: int | None = None, verbose: int = 0
    ) -> None:
        self.estimator = estimator
        self.n_jobs = n_jobs
        self.verbose = verbose

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        model = self._binary_model()
        if hasattr(model, "__sklearn_tags__"):
            inner = get_tags(model).input_tags
            tags.input_tags.sparse = inner.sparse
            tags.input_tags.allow_nan = inner.allow_nan
        return tags

    @property
    def _takes_text(self) -> bool:  # type: ignore[override]
        model = self._binary_model()
        first = steps(model)[0]
        # A ColumnTransformer looks at each column itself.
        return first._takes_text if isinstance(first, Estimator) else reads_sources(model)

    @property
    def n_classes_(self) -> int:
        """Number of classes."""
        return len(self.classes_)

    def _binary_model(self) -> Any:
        return LogisticRegression() if self.estimator is None else self.estimator

    def _check_loaded(self) -> None:
        """Raise ValueError unless what a file holds could be a fitted model."""
        learned = vars(self)
        if "estimators_" not in learned and "classes_" not in learned:
            return
        models, classes = learned.get("estimators_"), learned.get("classes_")
        if not isinstance(models, list) or not isinstance(classes, np.ndarray):
            raise ValueError("its binary models or classes are missing")
        if classes.ndim != 1 or len(classes) < 2 or len(models) != len(self._told_apart()):
            raise ValueError(f"{len(models)} binary models do not fit {classes.size} classes")
        for model in models:
            known = np.asarray(getattr(model, "classes_", []))
            if not is_classifier(model) or known.tolist() != [0, 1]:
                raise ValueError("its models are not binary")
            # A pipeline that begins with "passthrough" does not know its columns.
            unknown = None if isinstance(model, Estimator) else self.n_features_in_
            if getattr(model, "n_features_in_", unknown) != self.n_features_in_:
                raise ValueError(f"a binary model is not of {self.n_features_in_} columns")

    # --- fitting ----------------------------------------------------------------------------

    def _passes(self, source: Source) -> Passes:
        classes = _checked_labels((yield from needed(Pass("labels", self._look))))
        if len(classes) < 2:
            raise ValueError(
                "OneVsRest needs rows of at least two classes, but the target holds only one "
                f"class: {classes.tolist()[0]!r}"
            )
        self.classes_ = classes
        models = [self._unfitted() for _ in self._told_apart()]
        more = yield from fit_each(models, source, self._told_apart(), is_watched(self))
        proof = joint_certificate(models, self._told_apart())
        return Found({"estimators_": models}, proof, more=more)

    def _look(self, block: Block) -> LabelledSums:
        labels = self._labels(block)
        if block.weight is not None:
            labels = labels[block.weight > 0]
        return LabelledSums.summarize(labels, np.ones((len(labels), 1)))

    def _unfitted(self) -> Any:
        model = clone(self._binary_model())
        if not is_classifier(model):
            raise ValueError(
                f"estimator={model!r} is no classifier; accepted is any that tells two classes "
                "apart, such as LogisticRegression()"
            )
        if self.n_jobs is not None and model.get_params(deep=False).get("n_jobs", 0) is None:
            model.set_params(n_jobs=self.n_jobs)
        return model

    def _told_apart(self) -> NDArray[Any]:
        """The classes that have a model of their own."""
        return self.classes_[1:] if len(self.classes_) == 2 else self.classes_

    @_has("partial_fit")
    def update(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Learn from more rows, where the binary models do.

        An unfitted model is fitted.

        Parameters
        ----------
        X : array, data frame, CSR matrix or Source
        y : array of shape (rows,)
            Labels of classes that the model knows.  None if `X` is a source.
        sample_weight : array of shape (rows,), optional

        Returns
        -------
        self
        """
        if not hasattr(self, "certificate_"):
            return self.fit(X, y, sample_weight)
        return self._partial_fit(X, y, sample_weight, self.classes_)

    @_has("partial_fit")
    def partial_fit(
        self, X: Any, y: Any = None, classes: ArrayLike | None = None, sample_weight: Any = None
    ) -> Self:
        """`update` that may be told all classes in the first call.

        Parameters
        ----------
        X : array, data frame, CSR matrix or Source
        y : array of shape (rows,)
            None if `X` is a source.
        classes : array of shape (classes,), optional
            All labels that there will be; by default those of the first rows.  No class is
            added later.
        sample_weight : array of shape (rows,), optional

        Returns
        -------
        self
        """
        fitted = hasattr(self, "certificate_")
        if classes is None:
            return self.update(X, y, sample_weight)
        known = coded(np.asarray(classes))[0]
        if fitted and known.tolist() != self.classes_.tolist():
            raise ValueError(
                f"classes={known.tolist()} is not the same as on the last call: "
                f"{self.classes_.tolist()}"
            )
        if len(known) < 2:
            raise ValueError(f"classes={known.tolist()} is one class; OneVsRest needs at least two")
        return self._partial_fit(X, y, sample_weight, known)

    @all_or_nothing
    def _partial_fit(self, X: Any, y: Any, sample_weight: Any, classes: NDArray[Any]) -> Self:
        self._validate_params()
        fitted = hasattr(self, "certificate_")
        source = self._training_source(X, y, sample_weight, reset=not fitted)
        found = _checked_labels(self._pass(source, self._look))
        if len(united([classes, found])) > len(classes):
            strange = [one for one in found.tolist() if one not in set(classes.tolist())]
            raise ValueError(
                f"the target holds {strange[0]!r}, which is not among the classes "
                f"{classes.tolist()[:10]}: a class cannot be added to OneVsRest; fit it again, or "
                "name all classes in the first call, partial_fit(X, y, classes=…)"
            )
        self.classes_ = classes
        # Copies: if the third of five fails, the first two must not have learned.
        old = copy.deepcopy(self.estimators_) if fitted else None
        models = old or [self._unfitted() for _ in self._told_apart()]
        with one_blas_thread():
            partial_fit_each(models, source, self._told_apart())
        self.estimators_ = models
        self.trace_ = joint_trace(models, self._told_apart())
        self.certificate_ = joint_certificate(models, self._told_apart())
        return self

    # --- predicting -------------------------------------------------------------------------

    def _each(self, method: str, rows: Any) -> list[Array]:
        """What every binary model says about rows that were checked."""
        if reads_sources(self.estimators_[0]):
            rows = OneBlock(rows, getattr(self, "feature_names_in_", None))
        return [np.asarray(getattr(model, method)(rows)) for model in self.estimators_]

    @_has("decision_function")
    def _scores(self, rows: Any) -> Array:
        scores = [said.ravel() for said in self._each("decision_function", rows)]
        return scores[0] if len(scores) == 1 else np.stack(scores, axis=1)

    def _probabilities(self, rows: Any) -> Array:
        """pₖ / Σⱼ pⱼ, by logarithms where all are tiny."""
        said = self._each("predict_proba", rows)
        if len(said) == 1:
            return said[0]
        each = np.stack([one[:, 1] for one in said], axis=1)
        total = each.sum(axis=1, keepdims=True)
        with np.errstate(invalid="ignore", divide="ignore"):
            shares = each / total
        lost = total[:, 0] < NO_PROBABILITY
        if lost.any():
            shares[lost] = np.exp(self._log_probabilities(rows)[lost])
        return shares

    @_has("predict_proba")
    def _log_probabilities(self, rows: Any) -> Array:
        """log pₖ − log Σⱼ pⱼ, of logarithms where the models have them."""
        with np.errstate(divide="ignore"):
            if hasattr(self.estimators_[0], "predict_log_proba"):
                said = self._each("predict_log_proba", rows)
            else:
                said = [np.log(one) for one in self._each("predict_proba", rows)]
            if len(said) == 1:
                return said[0]
            each = np.stack([one[:, 1] for one in said], axis=1)
            top = each.max(axis=1, keepdims=True)
            each = each - np.where(np.isfinite(top), top, 0.0)
            total = np.log(np.exp(each).sum(axis=1, keepdims=True))
        return np.asarray(each - np.where(np.isfinite(total), total, 0.0))

    def _predicted(self, rows: Any) -> NDArray[Any]:
        scored = hasattr(self.estimators_[0], "decision_function")
        said = self._each("decision_function" if scored else "predict_proba", rows)
        scores = [one.ravel() if scored else one[:, 1] for one in said]
        if len(scores) > 1:
            return self.classes_[np.argmax(np.stack(scores, axis=1), axis=1)]
        return self.classes_[(scores[0] > (0.0 if scored else 0.5)).astype(int)]


def _checked_labels(found: LabelledSums) -> NDArray[Any]:
    """The labels of rows, sorted; raise if there are none."""
    if not len(found.labels):
        raise ValueError(NOTHING)
    return found.labels
