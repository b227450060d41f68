"""What a kept statistic lets a user do with a model, without its rows.

    update     the statistic of new rows is merged in
    forget     the statistic of old rows is subtracted
    a + b      the statistics of two models are merged
    refit      the statistic is solved again for other parameters

Each ends like a fit: with parameters solved from a statistic, and a certificate of what is
proved about them now.  A call that fails leaves its model as it was.
"""

from __future__ import annotations

import copy
import time
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from suffice.engines.workers import one_blas_thread
from suffice.fitting.certificate import rounded_down
from suffice.fitting.registry import saved_private
from suffice.fitting.trace import Trace
from suffice.fitting.transaction import all_or_nothing

WITHOUT_EFFECT = frozenset({"copy", "copy_X", "n_jobs", "random_state", "verbose"})
"""Parameters that may differ between models that are merged: they change no result."""

IN_FLOAT64 = (
    "the statistic is kept in float64, and without the rows it cannot be made anew: a fit with "
    "exact=True keeps twice the digits"
)


class Algebra:
    """The verbs of a model that keeps its statistic."""

    _refit_parameters: ClassVar[tuple[str, ...]] = ()
    """Parameters that can change without the rows."""

    def update(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Learn from more rows, as if they had been there from the start.

        An unfitted model is fitted.

        Parameters
        ----------
        X : array, data frame, CSR matrix or Source
            The new rows, with the columns of the fit.
        y : array of shape (rows,) or (rows, targets)
            Their target.  None if `X` is a source.
        sample_weight : array of shape (rows,), optional

        Returns
        -------
        self
        """
        if not hasattr(self, "certificate_"):
            return self.fit(X, y, sample_weight=sample_weight)  # type: ignore[attr-defined]
        return self._update(X, y, sample_weight)

    def partial_fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """`update` under scikit-learn's name."""
        return self.update(X, y, sample_weight)

    @all_or_nothing
    def _update(self, X: Any, y: Any, sample_weight: Any) -> Self:
        self._validate_params()  # type: ignore[attr-defined]
        began, kept = time.perf_counter(), self._kept()
        source = self._further_rows(X, y, sample_weight)
        # As in a fit: float64 where that suffices, and else the new rows once more.
        done = False
        if kept.precision == "double-double" and not self._always_exact(source):
            merged = type(kept).merge([kept, self._statistic_of(source, "float64")])
            done = self._resolve("update", merged, began, anyway=False)
        if not done:
            merged = type(kept).merge([kept, self._statistic_of(source, kept.precision)])
            self._resolve("update", merged, began)
        self._warn_unless_proved()  # type: ignore[attr-defined]
        return self

    @all_or_nothing
    def forget(
        self, X: Any, y: Any = None, sample_weight: Any = None, *, digits: float = 8
    ) -> Self:
        """Unlearn rows, as if they had never been there.

        What rounding leaves behind is bounded, and the certificate says how many digits are
        guaranteed.  Rows far larger than those that stay take digits with them; with
        `exact=True` in the constructor, the statistic has digits to spare.

        Parameters
        ----------
        X : array, data frame, CSR matrix or Source
            Rows that the model has learned from.
        y : array of shape (rows,) or (rows, targets)
            Their target, as it was.  None if `X` is a source.
        sample_weight : array of shape (rows,), optional
            Their weights, as they were.
        digits : float, default=8
            Decimal digits that must be guaranteed afterwards.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            If fewer digits would be guaranteed, if no row would stay, or if the rows cannot
            have been part of the fit.  The model is then as it was.
        """
        check_is_fitted(self)
        self._validate_params()  # type: ignore[attr-defined]
        began, kept = time.perf_counter(), self._kept()
        if not hasattr(kept, "subtract"):
            raise ValueError(
                f"{type(self).__name__} cannot forget: rows cannot be subtracted from "
                f"{type(kept).__name__.lower()}; fit it again on the rows that stay"
            )
        source = self._further_rows(X, y, sample_weight)
        left = kept.subtract(self._statistic_of(source, kept.precision))
        if not np.any(left.count):
            raise ValueError("no row would stay: a model needs at least one to be learned from")
        self._resolve("forget", left, began)
        promised = self.certificate_.measures.get("digits", np.inf)  # type: ignore[attr-defined]
        if not promised >= digits:
            raise ValueError(
                f"only {rounded_down(promised)} digits could be guaranteed after "
                f"forgetting these rows, and digits={digits:g} are asked for: the rows are too "
                "large next to those that stay, or these determine too little. Fit with exact=True "
                "(before forgetting), ask for fewer digits, or fit again on the rows that stay"
            )
        self._warn_unless_proved()  # type: ignore[attr-defined]
        return self

    @all_or_nothing
    def refit(self, **params: Any) -> Self:
        """Solve again for other parameters, from the statistic alone.

        Parameters
        ----------
        **params
            New values; the catalogue lists the parameters that need no rows.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            If a parameter needs the rows, or its value is none.  The model is then as it was.
        """
        check_is_fitted(self)
        if unknown := sorted(set(params) - set(self.get_params())):  # type: ignore[attr-defined]
            raise ValueError(f"{type(self).__name__} has no parameter {', '.join(unknown)}")
        if strange := sorted(set(params) - set(self._refit_parameters)):
            known = ", ".join(self._refit_parameters) or "none"
            raise ValueError(
                f"{type(self).__name__} cannot be refitted with other {', '.join(strange)} from "
                f"its statistic; parameters that need no rows: {known}"
            )
        began = time.perf_counter()
        self.set_params(**params)  # type: ignore[attr-defined]
        self._validate_params()  # type: ignore[attr-defined]
        self._resolve("refit", self._kept(), began)
        self._warn_unless_proved()  # type: ignore[attr-defined]
        return self

    def __add__(self, other: Any) -> Self:
        return merge(self, other) if isinstance(other, Algebra) else NotImplemented

    def __radd__(self, other: Any) -> Self:
        # So that sum(models) works, which starts from 0.
        if isinstance(other, int) and other == 0:
            check_is_fitted(self)
            return copy.deepcopy(self)
        return NotImplemented

    # --- what they share ------------------------------------------------------------------

    def _kept(self) -> Any:
        """The statistic of all rows so far."""
        try:
            kept = self._statistic_of_rows()
        except AttributeError as reason:
            raise ValueError(str(reason)) from None
        if getattr(self, "exact", False) and kept.precision == "float64":
            raise ValueError(
                "exact=True was set after a fit in float64, whose statistic stays what it is: "
                "fit again, or set exact=False"
            )
        return kept

    statistics_: Any

    def _statistic_of_rows(self) -> Any:
        """What `_resolve` adopted last."""
        return self.statistics_

    def _further_rows(self, X: Any, y: Any, sample_weight: Any) -> Any:
        """The source of rows like those of the fit."""
        model: Any = self
        source = model._training_source(X, y, sample_weight, reset=False)
        model._check_target(source)
        return source

    def _always_exact(self, source: Any) -> bool:
        """Whether not even a first pass is in float64."""
        model: Any = self
        return getattr(model, "exact", False) or model._skips_float64(source)

    def _statistic_of(self, source: Any, precision: str) -> Any:
        model: Any = self
        with one_blas_thread():
            return model._pass(source, partial(model._summarize, precision=precision))

    def _resolve(self, step: str, statistic: Any, began: float, anyway: bool = True) -> bool:
        """Adopt a statistic: solve, certify, and add to the trace.

        With `anyway=False` only if its precision suffices; returns whether it was adopted.
        """
        model: Any = self
        with one_blas_thread():
            solved = model._solve_anyway(statistic) if anyway else model._solve(statistic)
        if solved is None:
            return False
        model.certificate_, model.statistics_ = solved.certificate, statistic
        loose = not solved.certificate.holds and statistic.precision == "float64"
        if loose and hasattr(model, "exact"):
            notes = (*solved.certificate.notes, IN_FLOAT64)
            model.certificate_ = replace(solved.certificate, notes=notes)
        trace = getattr(model, "trace_", Trace())
        model.trace_ = trace.extended(step, solved.objective, time.perf_counter() - began)
        return True


def merge(*models: Any) -> Any:
    """One model from several that learned from different rows, as if from all of them.

    Parameters
    ----------
    *models : fitted models
        Of one kind, with the same parameters and columns.  Classes may differ: the result
        knows all of them.

    Returns
    -------
    A new model.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> import suffice
    >>> X, y = load_diabetes(return_X_y=True)
    >>> parts = [suffice.Ridge().fit(X[i::3], y[i::3]) for i in range(3)]
    >>> bool(abs(suffice.merge(*parts).coef_ - suffice.Ridge().fit(X, y).coef_).max() < 1e-10)
    True
    """
    if not models:
        raise ValueError("there are no models to merge: pass at least one")
    for model in models:
        if not isinstance(model, Algebra):
            raise TypeError(
                f"cannot merge {type(model).__name__}: it is no model that keeps its statistic"
            )
        check_is_fitted(model)
    began = time.perf_counter()
    first: Any = models[0]
    for model in models[1:]:
        _check_alike(first, model)
    named = next((m for m in models if hasattr(m, "feature_names_in_")), first)
    merged: Any = clone(first)
    private = saved_private(type(first))  # type: ignore[arg-type]
    for name in ("n_features_in_", "feature_names_in_", *private):
        if name in vars(named):
            setattr(merged, name, vars(named)[name])
    merged._adopt_private(models)
    statistics = [model._kept() for model in models]
    merged._resolve("merge", type(statistics[0]).merge(statistics), began)
    merged._warn_unless_proved()
    return merged


def _check_alike(first: Any, other: Any) -> None:
    """Raise unless two models can be one."""
    if type(first) is not type(other):
        raise ValueError(
            f"cannot merge {type(first).__name__} and {type(other).__name__}: "
            "only models of one kind merge"
        )
    ours, theirs = first.get_params(deep=False), other.get_params(deep=False)
    for name in sorted(set(ours) - WITHOUT_EFFECT):
        if not same_value(ours[name], theirs[name]):
            refits = name in first._refit_parameters
            raise ValueError(
                f"cannot merge models with {name}={ours[name]!r} and {name}={theirs[name]!r}: "
                + ("refit one of them with the other's first" if refits else "fit both with one")
            )
    if first.n_features_in_ != other.n_features_in_:
        raise ValueError(
            f"cannot merge models of {first.n_features_in_} and {other.n_features_in_} columns"
        )
    names: list[Any] = [getattr(model, "feature_names_in_", None) for model in (first, other)]
    if all(n is not None for n in names) and list(names[0]) != list(names[1]):
        raise ValueError(
            f"cannot merge models of different columns: {_shown(names[0])} and {_shown(names[1])}"
        )
    first._check_target_of(other)


def same_value(a: Any, b: Any) -> bool:
    """Whether two parameters are equal, also where they are arrays or lists of arrays."""
    if a is b:
        return True
    if isinstance(a, (list, tuple)) and isinstance(b, (list, tuple)):
        # Entry by entry: the lists in a list may differ in length.
        return len(a) == len(b) and all(map(same_value, a, b))
    a, b = np.asarray(a), np.asarray(b)
    try:
        return bool(np.array_equal(a, b, equal_nan=a.dtype.kind == b.dtype.kind == "f"))
    except (TypeError, ValueError):
        return False


def _shown(names: Sequence[str], most: int = 5) -> str:
    more = ", …" if len(names) > most else ""
    return "[" + ", ".join(map(str, names[:most])) + more + "]"
