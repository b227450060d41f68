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

from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from suffice.engines.passes import reduce
from suffice.engines.workers import one_blas_thread
from suffice.fitting.algebra import Algebra
from suffice.fitting.callbacks import CallbackSupportMixin, FitTask, fit_task, with_callbacks
from suffice.fitting.certificate import ENOUGH_DIGITS, Certificate
from suffice.fitting.inputs import TakesRows
from suffice.fitting.registry import register
from suffice.fitting.trace import Trace
from suffice.fitting.transaction import all_or_nothing
from suffice.numerics.double_double import DoubleDouble
from suffice.sources import Block, Source
from suffice.sources.finite import describe_non_finite
from suffice.statistics.moments import Moments, Precision

register(DoubleDouble)
register(Moments)

LARGEST_KEPT_STATISTIC = 256 << 20
"""Bytes up to which a model keeps its statistic."""

INSIDE = ("suffice.", "sklearn.callback")
"""Modules whose lines a warning does not point at: ours, and what decorates `fit`."""


class Estimator(CallbackSupportMixin, TakesRows):
    """Base of all models: sources, passes, the certificate, saving.

    Attributes
    ----------
    certificate_ : Certificate
        What was proved about the fit.
    trace_ : Trace
        One row for each pass over the data.
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
            warnings.warn(message, ConvergenceWarning, stacklevel=callers_level())

    @abstractmethod
    def _learn(self, source: Source, task: FitTask) -> None:
        """Fit from a source: sets the learned attributes, `trace_` and `certificate_`."""

    def _most_passes(self) -> int | None:
        """How many passes a fit may take, where that is known."""
        return None

    def _advice(self, certificate: Certificate) -> str:
        """What to tell a user whose certificate does not hold."""
        return f"not proved: {certificate.claim}. {'; '.join(certificate.notes)}"

    # --- passes ---------------------------------------------------------------------------

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


def callers_level() -> int:
    """How many frames up the line is that called the library, from whoever asks."""
    frame, level = sys._getframe(1), 1
    while frame.f_back and str(frame.f_globals.get("__name__")).startswith(INSIDE):
        frame, level = frame.f_back, level + 1
    return level


class Solved(NamedTuple):
    """What solving from a statistic tells about the solution."""

    certificate: Certificate
    objective: float

    def if_enough_digits(self, precision: Precision) -> Solved | None:
        """Itself; None, which asks for double-double, where float64 guarantees too few digits."""
        few = precision == "float64" and self.certificate.digits < ENOUGH_DIGITS
        return None if few else self


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

    def _joins_folds(self, source: Source) -> bool:
        """Whether a fit to several folds is solved from the statistics of each, merged."""
        return self._keeps_statistic(source)

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

        for precision in precisions[self._always_exact(source) :]:
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
