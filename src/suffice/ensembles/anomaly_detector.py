"""Anomalies: rows of low density.

    flagged:  p(x) < δ

p is any model of a density, fitted to ordinary rows.  A row of the fit raises its own density, the
more the narrower the model; so δ comes from log densities of rows that were held out
(`suffice.ensembles.anomalies.held_out`).  Without labels δ is their k-th smallest, and the rate of
ordinary rows that will be flagged has the distribution Beta(k, n − k + 1); with labels, δ is the
one of the largest F₁ (`suffice.ensembles.anomalies.threshold`).

References: Bishop, "Novelty detection and neural network validation" (1994); Vovk, Gammerman and
Shafer, "Algorithmic learning in a random world" (2005).
"""

from __future__ import annotations

from collections.abc import Generator
from functools import partial
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.utils import get_tags
from sklearn.utils._param_validation import HasMethods, Interval, StrOptions

from suffice.ensembles.anomalies.certificate import proof_of_f1, proof_of_quantile
from suffice.ensembles.anomalies.held_out import (
    NOBODY,
    Integers,
    Mask,
    RowsInOrder,
    check_rows,
    facts,
    fit_each_fold,
    fit_to,
    fold_of,
    judged,
)
from suffice.ensembles.anomalies.threshold import of_largest_f1, quantile
from suffice.ensembles.bagging.members import ask_member
from suffice.fitting.estimator import Estimator
from suffice.fitting.outliers import OutlierDetector
from suffice.fitting.requests import Found, Pass, Passes, Request, needed
from suffice.neighbors.kernel_density import KernelDensity
from suffice.sources import Source

Floats = NDArray[np.float64]

SURPRISING = 0.01
"""Share of held-out rows that contamination="auto" flags at most."""


class AnomalyDetector(OutlierDetector, Estimator):
    """Rows that are too improbable to be ordinary.

    Parameters
    ----------
    model : density model, default=None
        Anything with `fit` and `score_samples`: `KernelDensity`, `KNeighborsDensity`, one of
        scikit-learn's, a pipeline that ends in one.  None is
        ``KernelDensity(bandwidth="held-out")``, which takes any shape of the density and sets
        its bandwidth itself, also where rows repeat.
    contamination : "auto" or float in (0, 0.5], default="auto"
        Most of the held-out rows that are flagged.  "auto" flags one in a hundred, and so of fewer
        than a hundred rows none: then rows are anomalies that are less probable than each of them.
    held_out : {"auto", "leave-one-out", "folds", "split"} or None, default="auto"
        How rows of the fit come to a density that they did not raise.  "auto" leaves out one at a
        time where the model has that in closed form, and folds otherwise.  "split" holds out
        one fold, which the model never learns from: then the bound on the rate is exact.  None
        judges rows by the model that has learned them, as scikit-learn's detectors do.
    folds : int, default=5
    confidence : float in (0, 1), default=0.95
        With which `rate_bound_` holds.
    anomaly_label : bool, number or str, default=None
        The label of anomalies in `y`, such as −1 or True.  The model is then fitted to all other
        rows, and δ is the one of the largest F₁; `contamination` has no part in it.  None leaves
        `y` aside.
    n_jobs : int, optional
        Threads, also of a model that does not say; by default what `suffice.config` says.

    Attributes
    ----------
    model_ : density model
        Fitted to all ordinary rows; with "split", to those that were not held out.
    offset_ : float
        log δ: `decision_function` is `score_samples` less it, and negative for anomalies.
    rate_ : float
        The share of ordinary rows that will be flagged, as expected; with labels, as counted.
    rate_bound_ : float
        What that share does not exceed, with the confidence asked for; NaN where no row was
        held out.
    precision_, recall_, f1_ : float
        Of labelled anomalies, on held-out rows; only with `anomaly_label`.
    held_out_scores_ : array of shape (rows,)
        Log densities of the rows of the fit, none under a model that has seen the row unless
        `held_out` is None; NaN for rows that were not held out, or have weight 0.
    certificate_ : Certificate
    trace_ : Trace

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from suffice import AnomalyDetector
    >>> X, y = load_iris(return_X_y=True)
    >>> detector = AnomalyDetector().fit(X[y == 0])
    >>> detector.predict([[5.0, 3.4, 1.5, 0.2], [5.0, 3.4, 4.5, 0.2]]).tolist()
    [1, -1]
    >>> round(detector.rate_bound_, 3)
    0.058
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "model": [HasMethods(["fit", "score_samples", "get_params"]), None],
        "contamination": [StrOptions({"auto"}), Interval(Real, 0, 0.5, closed="right")],
        "held_out": [StrOptions({"auto", "leave-one-out", "folds", "split"}), None],
        "folds": [Interval(Integral, 2, None, closed="left")],
        "confidence": [Interval(Real, 0, 1, closed="neither")],
        "anomaly_label": [None, "boolean", Real, str],
        "n_jobs": [None, Integral],
    }
    _target_checks = {"y_numeric": False, "multi_output": False}

    model_: Any
    rate_: float
    rate_bound_: float
    held_out_scores_: Floats

    def __init__(
        self,
        model: Any = None,
        *,
        contamination: float | str = "auto",
        held_out: str | None = "auto",
        folds: int = 5,
        confidence: float = 0.95,
        anomaly_label: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.model = model
        self.contamination = contamination
        self.held_out = held_out
        self.folds = folds
        self.confidence = confidence
        self.anomaly_label = anomaly_label
        self.n_jobs = n_jobs

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = self.anomaly_label is not None
        model = self._density_model()
        if hasattr(model, "__sklearn_tags__"):
            inner = get_tags(model).input_tags
            tags.input_tags.sparse = inner.sparse
            tags.input_tags.allow_nan = inner.allow_nan
        return tags

    def _density_model(self) -> Any:
        return KernelDensity(bandwidth="held-out") if self.model is None else self.model

    def _unfitted(self) -> Any:
        model = clone(self._density_model())
        if self.n_jobs is not None and model.get_params(deep=False).get("n_jobs", 0) is None:
            model.set_params(n_jobs=self.n_jobs)
        return model

    def _check_loaded(self) -> None:
        """Raise ValueError unless what a file holds could be a fitted model."""
        learned = vars(self)
        if "model_" not in learned and "offset_" not in learned:
            return
        offset: Any = learned.get("offset_")
        if not isinstance(offset, float) or np.isnan(offset):
            raise ValueError(f"its offset_ is {offset!r}")
        if not hasattr(learned.get("model_"), "score_samples"):
            raise ValueError("its model of a density is missing")
        unknown = None if isinstance(self.model_, Estimator) else self.n_features_in_
        if getattr(self.model_, "n_features_in_", unknown) != self.n_features_in_:
            raise ValueError(f"its model of a density is not of {self.n_features_in_} columns")

    # --- fitting ----------------------------------------------------------------------------

    def _training_source(self, X: Any, y: Any, sample_weight: Any, reset: bool = True) -> Source:
        y = None if self.anomaly_label is None else y
        return super()._training_source(X, y, sample_weight, reset)

    def _passes(self, source: Source) -> Passes:
        model = self._unfitted()
        way = self._way(model)
        hashes, missing = way in ("folds", "split"), self._takes_missing()
        options = {"anomaly_label": self.anomaly_label, "hashes": hashes, "missing": missing}
        found: RowsInOrder = yield from needed(Pass("rows", partial(facts, **options)))
        weight, anomaly, hashed = found.joined()
        ordinary = (weight > 0) & ~anomaly
        check_rows(weight, anomaly, self.anomaly_label)
        scores = yield from self._held_out_scores(model, source, way, ordinary, anomaly, hashed)
        learned = {"model_": model, "held_out_scores_": scores}
        if self.anomaly_label is None:
            return self._from_quantile(learned, way, weight)
        return self._from_labels(learned, way, weight, anomaly)

    def _way(self, model: Any) -> str | None:
        """How rows are held out."""
        closed = hasattr(model, "_leave_one_out_log_densities")
        if self.held_out == "auto":
            return "leave-one-out" if closed else "folds"
        if self.held_out == "leave-one-out" and not closed:
            raise ValueError(
                f"{type(model).__name__} does not know its density without each row: "
                "held_out='folds' fits it several times"
            )
        return self.held_out

    def _held_out_scores(
        self,
        model: Any,
        source: Source,
        way: str | None,
        ordinary: Mask,
        anomaly: Mask,
        hashed: NDArray[np.uint64],
    ) -> Generator[Request, Any, Floats]:
        """Fit the model, and those of the folds; then judge each row by one that did not see it."""
        names = getattr(self, "feature_names_in_", None)
        n, trains = len(ordinary), ordinary.copy()
        fold: Integers = np.full(n, NOBODY)
        if way in ("folds", "split"):
            fold[ordinary] = fold_of(hashed[ordinary], self.folds)
        if way == "split":
            trains &= fold != 0
        yield from fit_to(model, source, trains, "model: ")
        models = [model]
        judge: Integers = np.where(anomaly, 0, NOBODY)
        if way == "folds":
            numbers = range(int(fold.max()) + 1)
            models += [self._unfitted() for _ in numbers]
            masks = [ordinary & (fold != number) for number in numbers]
            yield from fit_each_fold(models[1:], source, masks, self._n_jobs())
            judge[ordinary] = fold[ordinary] + 1
        elif way == "split":
            judge[fold == 0] = 0
        elif way is None:
            judge[ordinary] = 0
        scores = np.full(n, np.nan)
        if (judge != NOBODY).any():
            scores = yield from judged(source, models, judge, names)
        if way == "leave-one-out":
            scores[ordinary] = model._leave_one_out_log_densities()
        return scores

    def _from_quantile(self, learned: dict[str, Any], way: str | None, weight: Floats) -> Found:
        scores = learned["held_out_scores_"]
        known = ~np.isnan(scores)
        share = SURPRISING if isinstance(self.contamination, str) else float(self.contamination)
        found = quantile(scores[known], weight[known], share)
        learned |= {"offset_": found.offset, "rate_": found.flagged, "rate_bound_": np.nan}
        if way is not None:
            learned |= {"rate_": found.rate, "rate_bound_": found.rate_bound(self.confidence)}
        return Found(learned, proof_of_quantile(found, learned["model_"], way, self.confidence))

    def _from_labels(
        self, learned: dict[str, Any], way: str | None, weight: Floats, anomaly: Mask
    ) -> Found:
        scores = learned["held_out_scores_"]
        known = ~np.isnan(scores)
        best = of_largest_f1(scores[known], weight[known], anomaly[known])
        bound = np.nan if way is None else best.rate_bound(self.confidence)
        learned |= {"offset_": best.offset, "rate_": best.flagged, "rate_bound_": bound}
        learned |= {"precision_": best.precision, "recall_": best.recall, "f1_": best.f1}
        return Found(learned, proof_of_f1(best, learned["model_"], way, self.confidence))

    # --- judging rows -----------------------------------------------------------------------

    def _row_scores(self, rows: Any) -> Floats:
        names = getattr(self, "feature_names_in_", None)
        return ask_member(self.model_, "score_samples", rows, names)

    def fit_predict(self, X: Any, y: Any = None, sample_weight: Any = None) -> NDArray[np.int64]:
        """Fit, and tell which rows of the fit are anomalies, by their held-out densities.

        `predict` would flag fewer of them: the model knows these rows.

        Parameters
        ----------
        X, y, sample_weight
            As for `fit`.

        Returns
        -------
        int array of shape (rows,)
            −1 for anomalies, 1 for ordinary rows.
        """
        self.fit(X, y, sample_weight)
        unknown = np.isnan(self.held_out_scores_)
        found = self._flagged(np.where(unknown, np.inf, self.held_out_scores_))
        if unknown.any():
            found[unknown] = self.predict(X)[unknown]
        return found
