"""Estimators taken apart: scalers, then a model that learns from a statistic.

A scaler learns from the moments that the model behind it learns from, and what it does to
the rows it can do to their moments.  So a pipeline of the two is fitted from the moments of
the rows as they are.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from sklearn import get_config
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.pipeline import Pipeline

from suffice.fitting.files.registry import may_be_saved, saved_private
from suffice.fitting.merging_models import same_value
from suffice.fitting.one_pass import OnePass
from suffice.fitting.trace import Trace
from suffice.preprocessing import StandardScaler
from suffice.sources import Source

STEP = "moments of folds"
"""What a fitted estimator's trace says about where it comes from."""


class NeedsMoreDigits(Exception):
    """float64 statistics do not suffice for a model."""


@dataclass(frozen=True)
class Candidate:
    """An estimator that can be fitted from a statistic.

    Attributes
    ----------
    estimator : estimator
        As the user gave it, with the parameters to try.
    scalers : tuple of StandardScaler
    model : OnePass
    error : Exception, optional
        Why it cannot be fitted to any rows: a parameter that is none.
    """

    estimator: Any
    scalers: tuple[StandardScaler, ...]
    model: Any
    error: Exception | None = None

    def scale(self, train: Any, *others: Any) -> tuple[list[StandardScaler], list[Any]]:
        """The scalers fitted to training rows, and the statistics of these and others behind."""
        fitted, statistics, n_columns = [], [train, *others], self.model.n_features_in_
        for scaler in self.scalers:
            fitted.append(scaler._from_columns(statistics[0].columns_seen(n_columns)))
            by = fitted[-1]._centre_and_scale()
            statistics = [statistic.rescaled(*by, n_columns) for statistic in statistics]
        return fitted, statistics

    def fitted(self, statistic: Any, final: bool) -> Any:
        """The estimator as a fit on the rows behind the statistic would leave it.

        Raises
        ------
        NeedsMoreDigits
            If the statistic has too few, unless this is `final`.
        """
        if self.error is not None:
            raise self.error
        began = time.perf_counter()
        scalers, (statistic,) = self.scale(statistic)
        model = dressed(clone(self.model), self.model)
        if not model._resolve(STEP, statistic, began, final):
            raise NeedsMoreDigits
        if not isinstance(self.estimator, Pipeline):
            return model
        for scaler in scalers:
            dressed(scaler, self.model).trace_ = Trace().extended(STEP, float("nan"), 0.0)
        if scalers:  # behind them, columns have no names
            vars(model).pop("feature_names_in_", None)
        pipeline, rest = clone(self.estimator), iter([*scalers, model])
        pipeline.steps = [
            (name, step if _is_passed_through(step) else next(rest))
            for name, step in pipeline.steps
        ]
        return pipeline


class Prepared(NamedTuple):
    """Candidates that have met the rows, and the source of these."""

    candidates: list[Candidate]
    source: Source


def prepared(
    estimators: Sequence[Any], X: Any, y: Any, weight: Any, folds: bool = True
) -> Prepared | None:
    """Candidates that can be fitted from one statistic; None if one cannot.

    With `folds`, from those of several folds, merged.  Those whose parameters are none are marked.
    """
    candidates = [known for known in map(taken_apart, estimators) if known is not None]
    if len(candidates) < len(estimators) or not _share_a_statistic([c.model for c in candidates]):
        return None
    # In scikit-learn a pipeline takes no weights, but each step its own.
    if weight is not None and any(isinstance(c.estimator, Pipeline) for c in candidates):
        return None
    first = candidates[0].model
    try:
        source: Source = first._training_source(X, y, weight)
        for candidate in candidates:
            model = dressed(candidate.model, first)
            model._take_target(source, reset=True)
            joins = model._joins_folds(source) or not folds
            if not joins or (candidate.scalers and source.sparse):
                return None
        return Prepared([_validated(candidate) for candidate in candidates], source)
    except (TypeError, ValueError):
        if isinstance(X, Source):
            raise
        return None  # scikit-learn's loop tells what is wrong


def taken_apart(estimator: Any) -> Candidate | None:
    """A candidate, or None if an estimator must see the rows."""
    steps = [estimator]
    if type(estimator) is Pipeline:
        if estimator.memory is not None or hasattr(estimator, "_skl_callbacks"):
            return None
        steps = [step for _, step in estimator.steps if not _is_passed_through(step)]
    *scalers, model = steps or [None]
    if not isinstance(model, OnePass) or not (is_regressor(model) or is_classifier(model)):
        return None
    if not all(type(scaler) is StandardScaler and _gives_arrays(scaler) for scaler in scalers):
        return None
    if (scalers and not model._follows_scaling) or not all(map(is_as_we_wrote_it, steps)):
        return None
    return Candidate(estimator, tuple(scalers), model)


def is_as_we_wrote_it(estimator: Any) -> bool:
    """Whether a model predicts as its class is known to, and nobody watches it."""
    # A class that was derived from ours, and not made known, may predict in its own way.
    return may_be_saved(type(estimator), None) and not hasattr(estimator, "_skl_callbacks")


def dressed(bare: Any, prepared: Any) -> Any:
    """An estimator, given what another took from the rows beyond their statistic."""
    names = ["n_features_in_", "feature_names_in_"]
    if type(bare) is type(prepared):
        names += ["target_names_in_", *saved_private(type(prepared))]  # type: ignore[arg-type]
    for name in names:
        if name in vars(prepared):
            setattr(bare, name, vars(prepared)[name])
    return bare


def _share_a_statistic(models: Sequence[Any]) -> bool:
    """Whether models are of one class, and summarise rows alike for all their parameters say."""
    return len({type(model) for model in models}) == 1 and all(
        same_value(getattr(models[0], name), getattr(model, name))
        for name in models[0]._statistic_parameters
        for model in models[1:]
    )


def _validated(candidate: Candidate) -> Candidate:
    try:
        for step in (*candidate.scalers, candidate.model):
            step._validate_params()
    except ValueError as error:
        return replace(candidate, error=error)
    return candidate


def _gives_arrays(scaler: Any) -> bool:
    """Whether the rows behind a scaler have no names."""
    asked = getattr(scaler, "_sklearn_output_config", {}).get("transform")
    return (asked or get_config()["transform_output"]) == "default"


def _is_passed_through(step: Any) -> bool:
    return step is None or (isinstance(step, str) and step == "passthrough")
