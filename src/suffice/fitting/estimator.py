"""What every model is: a source of rows, a method that asks for passes, and a certified result.

A family file says how a fit goes in `_passes`, a generator of requests
(`suffice.fitting.requests`); for models of one statistic `OnePass` has it already.  Everything
else that a user can do with a model comes from here.
"""

from __future__ import annotations

import sys
import warnings
from abc import abstractmethod
from collections.abc import Callable
from contextlib import nullcontext, suppress
from functools import partial
from os import PathLike
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import (
    _check_sample_weight,
    _check_y,
    check_array,
    check_consistent_length,
    check_is_fitted,
    validate_data,
)

from suffice.engines.passes import map_rows, reduce
from suffice.engines.workers import one_blas_thread
from suffice.fitting.all_or_nothing import all_or_nothing
from suffice.fitting.callbacks import CallbackSupportMixin, FitTask, fit_task, with_callbacks
from suffice.fitting.certificate import Certificate
from suffice.fitting.driver import completed, driven
from suffice.fitting.inputs import (
    are_plain,
    finite_rows,
    is_float32,
    refuse_other_columns,
    refuse_strangers,
    shown,
    summarize_finite,
    without_absent,
)
from suffice.fitting.requests import Found, Passes
from suffice.fitting.trace import Trace
from suffice.sources import Block, Source, as_source, block_rows
from suffice.sources.finite import NotFinite, within_range
from suffice.sources.memory.frames import is_frame
from suffice.sources.memory.target import target_names

INSIDE = ("suffice.", "sklearn.callback")
"""Modules whose lines a warning does not point at: ours, and what decorates `fit`."""


PLAIN, MOST_VALID = (bool, int, float, str, type(None)), 4096
"""Types whose values are told by themselves, and how many sets of parameters are remembered."""

BLAS_ALONE = 1024
"""Cells that BLAS adds up on the thread that asks, whatever it is."""

_valid: set[Any] = set()


class Estimator(CallbackSupportMixin, BaseEstimator):
    """Base of all models: sources, passes, the certificate, saving.

    Attributes
    ----------
    certificate_ : Certificate
        What was proved about the fit.
    trace_ : Trace
        One row for each pass over the data.
    n_features_in_ : int
    feature_names_in_ : ndarray of str
        Only where the columns have names.
    target_names_in_ : tuple of str
        What the target, or each of several, is called; only where that is known.
    """

    certificate_: Certificate
    trace_: Trace
    target_names_in_: tuple[str, ...]
    n_iter_: Any

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {}
    """What each parameter may be, in scikit-learn's terms; a model fills it in."""

    _takes_text: ClassVar[bool] = False
    """Whether feature columns may hold text."""

    _target_checks: dict[str, bool] = {"y_numeric": True, "multi_output": True}
    """What the target may be: arguments of scikit-learn's `validate_data`."""

    _answers_check_range: ClassVar[bool] = False
    """Whether what is applied to rows raises `NotFinite` where these are out of range: for models
    that answer about as fast as rows can be read."""

    _shares_passes: ClassVar[bool] = True
    """Whether fits to several folds, or targets, gain from reading the rows together."""

    _param_names: ClassVar[tuple[str, ...]]

    @classmethod
    def _get_param_names(cls) -> list[str]:
        # Asked for at every fit; scikit-learn inspects the constructor each time.
        if "_param_names" not in cls.__dict__:
            cls._param_names = tuple(super()._get_param_names())
        return list(cls._param_names)

    def _validate_params(self) -> None:
        # Plain values that were found valid are not checked again: a tenth of a small fit.
        values = [getattr(self, name) for name in self._get_param_names()]
        key = (type(self), *((type(value), value) for value in values if type(value) in PLAIN))
        if len(key) <= len(values) or key not in _valid:
            super()._validate_params()
            if len(_valid) < MOST_VALID:
                _valid.add(key)

    # --- fitting --------------------------------------------------------------------------

    @abstractmethod
    def _passes(self, source: Source) -> Passes:
        """The fit: a method about to start on these rows."""

    @all_or_nothing
    @with_callbacks  # type: ignore[untyped-decorator]
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Fit the model.

        Parameters
        ----------
        X : array, data frame, CSR matrix or Source
            Rows of shape (rows, columns); or a source such as `suffice.scan` makes, which
            brings its own target and weights.
        y : array of shape (rows,) or (rows, targets)
            The target.  None if `X` is a source.
        sample_weight : array of shape (rows,), optional
            Weights: w counts as w repetitions of the row.

        Returns
        -------
        self
        """
        self._validate_params()
        source = self._training_source(X, y, sample_weight)
        with one_blas_thread(), fit_task(self, X, y, sample_weight) as task:
            self._learn(source, task)
        self._warn_unless_proved()
        return self

    def _learn(self, source: Source, task: FitTask) -> None:
        """Drive the fit on these rows, and adopt what it finds."""
        self._adopt_found(*driven(self, self._passes(source), source, task))

    def _adopt_found(self, found: Found, trace: Trace) -> None:
        """Set the learned attributes, `trace_` and `certificate_`."""
        for name, value in found.attributes.items():
            setattr(self, name, value)
        self.trace_, self.certificate_ = completed(found, trace), found.certificate

    def _warn_unless_proved(self) -> None:
        if not self.certificate_.holds:
            message = f"{type(self).__name__}: {self._advice(self.certificate_)}"
            warnings.warn(message, ConvergenceWarning, stacklevel=callers_level())

    def _advice(self, certificate: Certificate) -> str:
        """What to tell a user whose certificate does not hold."""
        return f"not proved: {certificate.claim}. {'; '.join(certificate.notes)}"

    def _pass(self, source: Source, summarize: Callable[[Block], Any]) -> Any:
        """One pass over the rows; a value that is not finite is named."""
        try:
            return reduce(source, partial(summarize_finite, summarize=summarize), self._n_jobs())
        except NotFinite as error:
            raise ValueError(error.described(source, self._takes_missing())) from None

    # --- rows to learn from ---------------------------------------------------------------

    def _training_source(self, X: Any, y: Any, sample_weight: Any, reset: bool = True) -> Source:
        """The rows to learn from; with `reset=False`, rows of an earlier fit's columns."""
        source = self._checked_source(X, y, sample_weight, reset)
        self._take_target_names(source, y, reset)
        self._take_target(source, reset)
        return source

    def _take_target_names(self, source: Source, y: Any, reset: bool) -> None:
        """Learn what the targets are called, or raise where they are called otherwise.

        The target as the user passed it knows its name; checks make it an array.
        """
        if y is not None:
            source.target_names = target_names(y)
        if reset:
            self.__dict__.pop("target_names_in_", None)
        found = source.target_names
        if found is None or not self.__sklearn_tags__().target_tags.required:
            return
        known = getattr(self, "target_names_in_", found)
        if known != found:
            raise ValueError(
                f"the target is {shown(found)}, but {type(self).__name__} was fitted to "
                f"{shown(known)}: these are rows of another question, or the name has changed"
            )
        self.target_names_in_ = found

    def _take_target(self, source: Source, reset: bool) -> None:
        """Learn what kind of target rows have, or raise unless it is that of the fit."""

    def _checked_source(self, X: Any, y: Any, sample_weight: Any, reset: bool) -> Source:
        if isinstance(X, Source):
            if y is not None or sample_weight is not None:
                raise ValueError(
                    "a source brings its own target and weights: name them in scan(target=…, "
                    "weight=…), and pass neither y nor sample_weight"
                )
            if not X.has_target and self.__sklearn_tags__().target_tags.required:
                raise ValueError(
                    f"{type(self).__name__} needs a target: name it in scan(…, target=…)"
                )
            self._take_names(X, reset)
            return X
        refuse_strangers(X)
        weight = self._checked_weight(sample_weight, X)
        y = without_absent(y, weight)
        if is_frame(X):
            return self._frame_source(X, y, weight, reset)
        target = self._target_checks
        if reset and are_plain(X, y, target["multi_output"]):
            self.__dict__.pop("feature_names_in_", None)
            self.n_features_in_ = X.shape[1]
            return as_source(X, y, weight)
        checks = {
            "accept_sparse": self._accepts_sparse(),
            "dtype": "numeric",
            "ensure_all_finite": False,
            "reset": reset,
        }
        if y is None and not self.__sklearn_tags__().target_tags.required:
            X = validate_data(self, X, **checks)
        else:
            X, y = validate_data(self, X, y, **checks, **target)
        return as_source(X, y, weight)

    def _frame_source(self, X: Any, y: Any, weight: Any, reset: bool) -> Source:
        """A data frame stays where it is: only its names and the target are checked here."""
        source = as_source(X, self._checked_target(X, y), weight)
        self._take_names(source, reset)
        return source

    def _checked_target(self, X: Any, y: Any) -> Any:
        """The target of rows that `validate_data` does not see."""
        if y is not None:
            y = _check_y(y, estimator=self, **self._target_checks)
            check_consistent_length(X, y)
        elif self.__sklearn_tags__().target_tags.required:
            raise ValueError(
                f"{type(self).__name__} requires y to be passed, but the target y is None"
            )
        return y

    def _checked_weight(self, sample_weight: Any, X: Any) -> NDArray[np.float64] | None:
        if sample_weight is None:
            return None
        return np.asarray(
            _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
        )

    def _take_names(self, source: Source, reset: bool = True) -> None:
        """Learn the columns' names and number, or compare them with those of the fit."""
        if not reset:
            self._check_names(source)
            return
        if not self._takes_text:
            source.refuse_text()
        self.__dict__.pop("feature_names_in_", None)
        self.n_features_in_ = source.n_columns
        if source.feature_names is not None:
            self.feature_names_in_ = np.asarray(source.feature_names, dtype=object)

    def _check_names(self, source: Source) -> None:
        """Raise unless a source has the columns of the fit."""
        if not self._takes_text:
            source.refuse_text()
        refuse_other_columns(self, source)

    # --- rows to answer for ---------------------------------------------------------------

    def _apply(self, X: Any, function: Callable[[Any], NDArray[Any]]) -> NDArray[Any]:
        """Apply a row-wise function to arrays at once, to frames and sources block by block."""
        if "certificate_" not in vars(self):
            check_is_fitted(self)
        if type(X) is not np.ndarray:
            refuse_strangers(X)
            if isinstance(X, Source) or is_frame(X):
                return self._apply_by_blocks(as_source(X), function)
        X = self._shaped_queries(X)
        if self._answers_check_range:
            with suppress(NotFinite):  # then the check says where
                return function(X)
        return function(self._within_range(X))

    def _apply_by_blocks(
        self, source: Source, function: Callable[[Any], NDArray[Any]]
    ) -> NDArray[Any]:
        self._check_names(source)
        missing = self._takes_missing()
        return map_rows(
            source, lambda block: function(finite_rows(block, source, missing).X), self._n_jobs()
        )

    def _apply_in_dtype(self, X: Any, function: Callable[[Any], NDArray[Any]]) -> NDArray[Any]:
        """`_apply` for numbers: of float32 rows in float32, computed in float64 block by block."""
        refuse_strangers(X)
        if not is_float32(X):
            return self._apply(X, function)

        def rounded(rows: Any) -> NDArray[Any]:
            if not isinstance(rows, np.ndarray) or len(rows) <= block_rows(rows.shape[1]):
                return function(rows).astype(np.float32)
            return map_rows(as_source(rows), lambda block: rounded(block.X), self._n_jobs())

        return self._apply(X, rounded)

    def _checked_queries(self, X: Any) -> Any:
        """Queries as an array, or a sparse one, of numbers within range."""
        return self._within_range(self._shaped_queries(X))

    def _shaped_queries(self, X: Any) -> Any:
        """Queries as an array, or a sparse one, of the columns of the fit."""
        if (
            type(X) is np.ndarray
            and X.ndim == 2
            and X.dtype.kind in "fiub"
            and X.size > 0
            and X.shape[1] == getattr(self, "n_features_in_", None)
            and "feature_names_in_" not in vars(self)
        ):
            return X  # `validate_data` would say nothing, and longer than many a row's answer takes
        return validate_data(self, X, reset=False, ensure_all_finite=False, **self._query_checks())

    def _within_range(self, X: Any) -> Any:
        """The queries themselves; raise unless all are numbers in range."""
        # BLAS's own threads would spin on after the check.
        with one_blas_thread() if X.size > BLAS_ALONE else nullcontext():
            fits = within_range(X)
        if not fits:
            missing = self._takes_missing()
            finite = "allow-nan" if missing else True
            check_array(
                X, ensure_all_finite=finite, estimator=self, input_name="X", **self._query_checks()
            )
            finite_rows(Block(X, None, None, 0), as_source(X), missing)
        return X

    def _query_checks(self) -> dict[str, Any]:
        return {"accept_sparse": self._accepts_sparse(), "dtype": "numeric"}

    def _check_scored(self, source: Source, y: Any, sample_weight: Any) -> None:
        """Raise unless the predictions of a source can be scored."""
        check_is_fitted(self)
        if y is not None or sample_weight is not None:
            raise ValueError("a source brings its own target and weights: pass neither")
        if not source.has_target:
            raise ValueError("score needs a target: name it in scan(…, target=…)")
        self._check_names(source)

    def _accepts_sparse(self) -> str | bool:
        return "csr" if self.__sklearn_tags__().input_tags.sparse else False

    def _takes_missing(self) -> bool:
        return bool(self.__sklearn_tags__().input_tags.allow_nan)

    def _n_jobs(self) -> int | None:
        return getattr(self, "n_jobs", None)

    # --- saving ---------------------------------------------------------------------------

    def save(self, path: str | PathLike[str]) -> None:
        """Write the fitted model to one file; `suffice.load` reads it back.

        The file is written whole or not at all.
        """
        from suffice.fitting.files.storage import save_model

        check_is_fitted(self)
        save_model(self, path)


def callers_level() -> int:
    """How many frames up the line is that called the library, from whoever asks."""
    frame, level = sys._getframe(1), 1
    while frame.f_back and str(frame.f_globals.get("__name__")).startswith(INSIDE):
        frame, level = frame.f_back, level + 1
    return level
