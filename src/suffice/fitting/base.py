"""What every model is: a source of rows, passes over it, and a certified result.

`OnePass` models are computed from one statistic.  A family file says what a block
contributes (`_summarize`) and how the merged statistic becomes parameters (`_solve`).

`Iterative` models repeat: a state, a pass that summarises every block given the state, an
update.  A family file says where to start (`_start`), what a block contributes
(`_summarize`), the next state (`_update`) and what is proved at the end (`_certify`).

Everything else a user can do with a model comes from here.
"""

from __future__ import annotations

import sys
import time
import warnings
from abc import abstractmethod
from collections.abc import Callable, Sequence
from functools import partial
from os import PathLike
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import (
    _check_sample_weight,
    _check_y,
    check_consistent_length,
    check_is_fitted,
    validate_data,
)

from suffice.engines.passes import map_rows, reduce
from suffice.engines.workers import one_blas_thread
from suffice.fitting.algebra import Algebra
from suffice.fitting.callbacks import CallbackSupportMixin, FitTask, fit_task, with_callbacks
from suffice.fitting.certificate import Certificate
from suffice.fitting.registry import register
from suffice.fitting.trace import Trace
from suffice.fitting.transaction import all_or_nothing
from suffice.numerics.double_double import DoubleDouble
from suffice.sources import Block, Source, as_source
from suffice.sources.finite import describe_non_finite
from suffice.sources.frames import is_frame
from suffice.sources.memory import library, plain_array
from suffice.statistics.moments import Moments, Precision

register(DoubleDouble)
register(Moments)

LARGEST_KEPT_STATISTIC = 256 << 20
"""Bytes up to which a model keeps its statistic."""

INSIDE = ("suffice.", "sklearn.callback")
"""Modules whose lines a warning does not point at: ours, and what decorates `fit`."""


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
    """

    certificate_: Certificate
    trace_: Trace

    @classmethod
    def _get_param_names(cls) -> list[str]:
        # Asked for at every fit; scikit-learn inspects the constructor each time.
        if "_param_names" not in cls.__dict__:
            cls._param_names = tuple(super()._get_param_names())
        return list(cls._param_names)

    _param_names: ClassVar[tuple[str, ...]]

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {}
    """What each parameter may be, in scikit-learn's terms; a model fills it in."""

    _takes_text: ClassVar[bool] = False
    """Whether feature columns may hold text."""

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
        callbacks = fit_task(self, X, y, sample_weight, self._most_passes())
        with one_blas_thread(), callbacks as task:
            self._learn(source, task)
        self._warn_unless_proved()
        return self

    def _warn_unless_proved(self) -> None:
        if not self.certificate_.holds:
            message = f"{type(self).__name__}: {self._advice(self.certificate_)}"
            warnings.warn(message, ConvergenceWarning, stacklevel=_callers_level())

    @abstractmethod
    def _learn(self, source: Source, task: FitTask) -> None:
        """Fit from a source: sets the learned attributes, `trace_` and `certificate_`."""

    def _most_passes(self) -> int | None:
        """How many passes a fit may take, where that is known."""
        return None

    def _advice(self, certificate: Certificate) -> str:
        """What to tell a user whose certificate does not hold."""
        return f"not proved: {certificate.claim}. {'; '.join(certificate.notes)}"

    # --- from what users pass to sources --------------------------------------------------

    def _training_source(self, X: Any, y: Any, sample_weight: Any, reset: bool = True) -> Source:
        """The rows to learn from; with `reset=False`, rows of an earlier fit's columns."""
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
        y = _without_absent(y, weight)
        if is_frame(X):
            return self._frame_source(X, y, weight, reset)
        if reset and self._is_plain(X, y):
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
            X, y = validate_data(self, X, y, **checks, **self._target_checks())
        return as_source(X, y, weight)

    def _is_plain(self, X: Any, y: Any) -> bool:
        """Whether `validate_data` would find nothing to say: arrays of finite numbers."""
        return (
            type(X) is np.ndarray
            and type(y) is np.ndarray
            and X.dtype.kind in "fiub"
            and y.dtype.kind in "fiub"
            and X.ndim == 2
            and y.ndim in (1, 2)
            and len(X) == len(y)
            and min(X.size, y.size) > 0
            and bool(np.isfinite(y).all())
            and self._target_checks().get("y_numeric", False)
        )

    def _frame_source(self, X: Any, y: Any, weight: Any, reset: bool) -> Source:
        """A data frame stays where it is: only its names and the target are checked here."""
        if y is not None:
            y = _check_y(y, estimator=self, **self._target_checks())
            check_consistent_length(X, y)
        elif self.__sklearn_tags__().target_tags.required:
            raise ValueError(
                f"{type(self).__name__} requires y to be passed, but the target y is None"
            )
        source = as_source(X, y, weight)
        self._take_names(source, reset)
        return source

    def _accepts_sparse(self) -> str | bool:
        return "csr" if self.__sklearn_tags__().input_tags.sparse else False

    def _target_checks(self) -> dict[str, Any]:
        """Arguments of scikit-learn's `validate_data` that concern the target."""
        return {"y_numeric": True, "multi_output": True}

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
        """Whether a source to predict from has the columns of the fit."""
        if not self._takes_text:
            source.refuse_text()
        name = type(self).__name__
        expected = getattr(self, "feature_names_in_", None)
        found = source.feature_names
        if expected is not None and found is not None and tuple(expected) != tuple(found):
            missing = [str(column) for column in expected if column not in found]
            extra = [str(column) for column in found if column not in set(expected)]
            detail = (
                f"missing: {missing}, unexpected: {extra}"
                if missing or extra
                else "the same names in another order"
            )
            raise ValueError(
                f"The feature names should match those that were passed during fit: {detail}"
            )
        if source.n_columns != self.n_features_in_:
            raise ValueError(
                f"X has {source.n_columns} features, but {name} is expecting "
                f"{self.n_features_in_} features as input"
            )

    def _apply(self, X: Any, function: Callable[[Any], NDArray[Any]]) -> NDArray[Any]:
        """Apply a row-wise function to arrays at once, to frames and sources block by block."""
        check_is_fitted(self)
        refuse_strangers(X)
        if not isinstance(X, Source) and not is_frame(X):
            X = validate_data(
                self,
                X,
                reset=False,
                accept_sparse=self._accepts_sparse(),
                dtype="numeric",
                ensure_all_finite="allow-nan" if self._takes_missing() else True,
            )
            return function(X)
        source = as_source(X)
        self._check_names(source)

        def apply(block: Block) -> NDArray[Any]:
            message = describe_non_finite(block, source, self._takes_missing())
            if message:
                raise ValueError(message)
            return function(block.X)

        return map_rows(source, apply, self._n_jobs())

    def _check_scored(self, source: Source, y: Any, sample_weight: Any) -> None:
        """Raise unless the predictions of a source can be scored."""
        check_is_fitted(self)
        if y is not None or sample_weight is not None:
            raise ValueError("a source brings its own target and weights: pass neither")
        if not source.has_target:
            raise ValueError("score needs a target: name it in scan(…, target=…)")
        self._check_names(source)

    def _takes_missing(self) -> bool:
        return bool(self.__sklearn_tags__().input_tags.allow_nan)

    def _n_jobs(self) -> int | None:
        return getattr(self, "n_jobs", None)

    def _pass(self, source: Source, summarize: Callable[[Block], Any]) -> Any:
        """One pass over the rows; a value that is not finite is named."""

        def checked(block: Block) -> Any:
            try:
                return summarize(block)
            except FloatingPointError as reason:
                raise ValueError(
                    describe_non_finite(block, source, self._takes_missing())
                    or f"Input contains {reason}: rows {block.start} to "
                    f"{block.start + block.n_rows - 1}; rescale the columns"
                ) from None

        return reduce(source, checked, self._n_jobs())

    # --- saving ---------------------------------------------------------------------------

    def save(self, path: str | PathLike[str]) -> None:
        """Write the fitted model to one file; `suffice.load` reads it back.

        The file is written whole or not at all.
        """
        from suffice.fitting.storage import save_model

        check_is_fitted(self)
        save_model(self, path)


def _callers_level() -> int:
    """How many frames up the line is that called the library, from whoever asks."""
    frame, level = sys._getframe(1), 1
    while frame.f_back and str(frame.f_globals.get("__name__")).startswith(INSIDE):
        frame, level = frame.f_back, level + 1
    return level


def refuse_strangers(X: Any) -> None:
    """Paths and collections of a cluster, which NumPy would misread or gather here."""
    if isinstance(X, (str, bytes, PathLike)) or library(X) == "dask":
        as_source(X)
    if library(X) == "polars" and type(X).__name__ == "LazyFrame":
        raise TypeError("X is a polars LazyFrame, a plan without rows: pass X.collect()")


def _without_absent(y: Any, weight: NDArray[np.float64] | None) -> Any:
    """The target with a number in rows of weight 0: they do not exist, whatever they hold."""
    if y is None or weight is None or weight.all():
        return y
    values = plain_array(y)[0]
    absent = weight == 0
    kind = values.dtype.kind
    if len(values) != len(weight) or kind not in "fO" or (kind == "O" and absent.all()):
        return y
    if kind == "f" and np.isfinite(values[absent]).all():
        return y
    values = values.copy()
    values[absent] = values[~absent][0] if kind == "O" else 0.0
    return values


class Solved(NamedTuple):
    """What solving from a statistic tells about the solution."""

    certificate: Certificate
    objective: float


class OnePass(Algebra, Estimator):
    """A model computed from one statistic, which it keeps.

    Attributes
    ----------
    statistics_ : statistic
        All that the model knows about its rows; absent where it would be too large.
    """

    statistics_: Any

    @abstractmethod
    def _summarize(self, block: Block, precision: Precision) -> Any:
        """What these rows contribute."""

    @abstractmethod
    def _solve(self, statistic: Any) -> Solved | None:
        """Set the parameters from the statistic; return what was proved, and the objective.

        None asks for a second pass in double-double.
        """

    def _solve_anyway(self, statistic: Any) -> Solved:
        """`_solve` where the rows cannot be read again: as well as this statistic allows."""
        solved = self._solve(statistic)
        assert solved is not None
        return solved

    def _begin(self, source: Source) -> None:
        """Take from the rows to come what is needed beyond their statistic."""

    def _keeps_statistic(self, source: Source) -> bool:
        """Whether, by the shape of the data, a fit goes through a statistic that is kept."""
        return True

    def _skips_float64(self, source: Source) -> bool:
        """Whether, by the shape of the data alone, only double-double will do."""
        return False

    def _check_target(self, source: Source) -> None:
        """Raise unless the target of further rows is like that of the fit."""

    def _check_target_of(self, other: Self) -> None:
        """Raise unless another model of this kind has a target like this one's."""

    def _adopt_private(self, models: Sequence[Self]) -> None:
        """Take over what merged models know beyond their statistics."""

    def _learn(self, source: Source, task: FitTask) -> None:
        trace = Trace()
        precisions: tuple[Precision, ...] = ("float64", "double-double")
        solved: Solved | None = None

        def attributes() -> dict[str, Any] | None:
            return None if solved is None else self._fitted_attributes()

        for precision in precisions[getattr(self, "exact", False) or self._skips_float64(source) :]:
            began = time.perf_counter()
            with task.one_pass(attributes):
                statistic = self._pass(source, partial(self._summarize, precision=precision))
                solved = self._solve(statistic)
            objective = float("nan") if solved is None else solved.objective
            step = f"{type(statistic).__name__.lower()} in {precision}"
            trace = trace.extended(step, objective, time.perf_counter() - began)
            if solved is not None:
                break
        if solved is None:
            raise RuntimeError(f"{type(self).__name__} was not solved, not even in double-double")
        self.certificate_ = solved.certificate
        self.trace_, self.statistics_ = trace, statistic

    def _fitted_attributes(self) -> dict[str, Any] | None:
        """The learned attributes so far, for callbacks that evaluate the model."""
        learned = {k: v for k, v in vars(self).items() if k.endswith("_") and k[0] != "_"}
        return learned or None


class Iterative(Estimator):
    """A model found by passes, each of which improves a state.

    A state is any object with `objective` (float) and `done` (bool) attributes.
    """

    max_iter: int

    @abstractmethod
    def _start(self, source: Source) -> Any:
        """The state before the first pass."""

    @abstractmethod
    def _summarize(self, block: Block, state: Any) -> Any:
        """What these rows contribute, given the state."""

    @abstractmethod
    def _update(self, state: Any, statistic: Any) -> Any:
        """The next state."""

    @abstractmethod
    def _certify(self, state: Any, statistic: Any) -> Certificate:
        """What is proved about the last state."""

    @abstractmethod
    def _adopt(self, state: Any) -> dict[str, Any]:
        """The fitted attributes of a state."""

    def _most_passes(self) -> int | None:
        return self.max_iter

    def _learn(self, source: Source, task: FitTask) -> None:
        state, trace = self._start(source), Trace()
        statistic = None
        for _ in range(self.max_iter):
            began = time.perf_counter()
            with task.one_pass(lambda: self._adopt(state)) as outcome:
                statistic = self._pass(source, partial(self._summarize, state=state))
                state = self._update(state, statistic)
            trace = trace.extended("update", state.objective, time.perf_counter() - began)
            if state.done or outcome.stop:
                break
        self.__dict__.update(self._adopt(state))
        self.n_iter_ = len(trace)
        self.trace_, self.certificate_ = trace, self._certify(state, statistic)
