"""Estimators taken apart: scalers, then a model that learns from a statistic.

A scaler learns from the moments that the model behind it learns from, and what it does to
the rows it can do to their moments.  So a pipeline of the two is fitted from the moments of
the rows as they are.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn import get_config
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.pipeline import Pipeline

from suffice.fitting.files.registry import may_be_saved, saved_private
from suffice.fitting.one_pass import OnePass
from suffice.fitting.trace import Trace
from suffice.linear.least_squares.base import LeastSquaresModel
from suffice.preprocessing import StandardScaler
from suffice.sources import Source
from suffice.statistics.moments.by_class import ClassMoments
from suffice.statistics.moments.fourth import FourthMoments
from suffice.statistics.moments.full import Moments
from suffice.statistics.moments.labelled import LabelledMoments
from suffice.statistics.moments.pooled import PooledMoments

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

    @property
    def is_linear(self) -> bool:
        return isinstance(self.model, LeastSquaresModel)

    def scale(self, train: Moments, *others: Moments) -> tuple[Moments, ...]:
        """Moments of the training rows, and of others, behind the scalers fitted to the first."""
        every = (train, *others)
        n_columns = self.model.n_features_in_
        for scaler in self.scalers:
            fitted = _fitted_scaler(scaler, every[0], n_columns)
            every = tuple(_behind(fitted, moments, n_columns) for moments in every)
        return every

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
        scalers = []
        for scaler in self.scalers:
            done = _fitted_scaler(scaler, statistic, self.model.n_features_in_)
            _dress(done, self.model)
            done.trace_ = Trace().extended(STEP, float("nan"), 0.0)
            statistic = _behind(done, statistic, self.model.n_features_in_)
            scalers.append(done)
        model = clone(self.model)
        _dress(model, self.model)
        if not model._resolve(STEP, statistic, began, final):
            raise NeedsMoreDigits
        if isinstance(self.estimator, Pipeline):
            # Behind a scaler, columns have no names.
            if scalers:
                vars(model).pop("feature_names_in_", None)
            return _refilled(self.estimator, [*scalers, model])
        return model


def _fitted_scaler(scaler: StandardScaler, statistic: Any, n_columns: int) -> StandardScaler:
    """A scaler fitted to the rows behind a statistic of theirs."""
    if isinstance(statistic, PooledMoments):
        statistic = statistic.classes
    if isinstance(statistic, ClassMoments):
        return scaler._from_columns(statistic.total)
    if isinstance(statistic, LabelledMoments):
        statistic = Moments.merge(statistic.moments)
    return scaler._from_moments(statistic, n_columns)


def _behind(scaler: StandardScaler, statistic: Any, n_columns: int) -> Any:
    """The statistic of rows as a fitted scaler leaves them."""
    if isinstance(statistic, ClassMoments):
        return replace(statistic, columns=scaler._map_columns(statistic.columns))
    if isinstance(statistic, PooledMoments):
        within = scaler._map_moments(statistic.within, n_columns)
        return PooledMoments(
            classes=_behind(scaler, statistic.classes, n_columns),
            scatter=within.scatter,
            magnitude=within.magnitude,
            roundings=within.roundings,
        )
    if isinstance(statistic, LabelledMoments):
        parts = tuple(_behind(scaler, part, n_columns) for part in statistic.parts)
        return replace(statistic, parts=parts)
    if isinstance(statistic, FourthMoments):
        scale = np.ones(n_columns) if scaler.scale_ is None else scaler.scale_
        moments = scaler._map_moments(statistic.moments, n_columns)
        return statistic.scaled(moments, 1 / scale)
    return scaler._map_moments(statistic, n_columns)


def taken_apart(estimator: Any) -> Candidate | None:
    """A candidate, or None if an estimator must see the rows."""
    steps = [estimator]
    if type(estimator) is Pipeline:
        if estimator.memory is not None:
            return None
        steps = [step for _, step in estimator.steps if not _is_passed_through(step)]
    *scalers, model = steps or [None]
    if not isinstance(model, OnePass) or not (is_regressor(model) or is_classifier(model)):
        return None
    if not all(type(scaler) is StandardScaler and _gives_arrays(scaler) for scaler in scalers):
        return None
    if scalers and not getattr(model, "_follows_scaling", True):
        return None
    # A class that was derived from ours, and not made known, may predict in its own way.
    if not may_be_saved(type(model), None):
        return None
    if any(hasattr(step, "_skl_callbacks") for step in [estimator, *steps]):
        return None
    return Candidate(estimator, tuple(scalers), model)


def prepare(
    candidates: Sequence[Candidate], X: Any, y: Any, weight: Any, folds: bool = True
) -> tuple[list[Candidate], Source] | None:
    """Let the models meet the rows.

    Returns
    -------
    The candidates, those that cannot be fitted marked, and the source of the rows; None if a
    fit does not follow from the statistics of `folds`, where it should.
    """
    first = candidates[0].model
    source: Source = first._training_source(X, y, weight)
    prepared = []
    for candidate in candidates:
        model = candidate.model
        try:
            for step in (*candidate.scalers, model):
                step._validate_params()
        except ValueError as error:
            candidate = replace(candidate, error=error)
        _dress(model, first)
        model._take_target(source, reset=True)
        joins = model._joins_folds(source) or not folds
        if not joins or (candidate.scalers and source.sparse):
            return None
        prepared.append(candidate)
    return prepared, source


def _gives_arrays(scaler: Any) -> bool:
    """Whether the rows behind a scaler have no names."""
    asked = getattr(scaler, "_sklearn_output_config", {}).get("transform")
    return (asked or get_config()["transform_output"]) == "default"


def _is_passed_through(step: Any) -> bool:
    return step is None or (isinstance(step, str) and step == "passthrough")


def _dress(bare: Any, prepared: Any) -> None:
    """Give an estimator what another took from the rows beyond their statistic."""
    private = saved_private(type(prepared))  # type: ignore[arg-type]
    names = ["n_features_in_", "feature_names_in_"]
    if type(bare) is type(prepared):
        names += private
    for name in names:
        if name in vars(prepared):
            setattr(bare, name, vars(prepared)[name])


def _refilled(pipeline: Pipeline, fitted: list[Any]) -> Pipeline:
    """A copy of a pipeline with fitted steps."""
    copied = clone(pipeline)
    rest = iter(fitted)
    copied.steps = [
        (name, step if _is_passed_through(step) else next(rest)) for name, step in copied.steps
    ]
    return copied
