"""Models that are computed from one statistic, and what its being kept lets a user do.

A family file says what a block contributes (`_summarize`) and how the merged statistic becomes
parameters (`_solve`).  Without the rows, then,

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
from abc import abstractmethod
from collections.abc import Callable, Generator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from suffice.engines.workers import one_blas_thread
from suffice.fitting.all_or_nothing import all_or_nothing
from suffice.fitting.certificate import ENOUGH_DIGITS, Certificate, rounded_down
from suffice.fitting.estimator import Estimator
from suffice.fitting.files.registry import register
from suffice.fitting.merging_models import merge
from suffice.fitting.requests import Found, Pass, Passes, Request, needed
from suffice.fitting.trace import Trace
from suffice.numerics.double_double import DoubleDouble
from suffice.sources import Block, Source
from suffice.statistics.moments.full import Moments, Precision

register(DoubleDouble)
register(Moments)

LARGEST_KEPT_STATISTIC = 256 << 20
"""Bytes up to which a model keeps its statistic."""

IN_FLOAT64 = (
    "the statistic is kept in float64, and without the rows it cannot be made anew: a fit with "
    "exact=True keeps twice the digits"
)


class Solved(NamedTuple):
    """What solving from a statistic tells about the solution.

    Attributes
    ----------
    certificate : Certificate
    objective : float
    steps : Trace
        What was tried on the way, where the trace should show it.
    """

    certificate: Certificate
    objective: float
    steps: Trace = Trace()

    def if_enough_digits(self, precision: Precision, final: bool) -> Solved | None:
        """Itself; None, which asks for double-double, where float64 guarantees too few digits."""
        few = precision == "float64" and self.certificate.digits < ENOUGH_DIGITS
        return None if few and not final else self


Refined = Callable[[Any, Callable[[], Any]], Generator[Request, Any, Solved | None]]
"""From a statistic in float64 that does not suffice, and what callbacks may see, to a solution by
further requests, or None."""


class OnePass(Estimator):
    """A model computed from one statistic, which it keeps.

    Attributes
    ----------
    statistics_ : statistic
        All that the model knows about its rows; absent where it would be too large.
    """

    statistics_: Any

    _shares_passes = False  # folds are solved from their statistics

    _refit_parameters: ClassVar[tuple[str, ...]] = ()
    """Parameters that can change without the rows."""

    # --- fitting --------------------------------------------------------------------------

    @abstractmethod
    def _summarize(self, block: Block, precision: Precision) -> Any:
        """What these rows contribute."""

    @abstractmethod
    def _solve(self, statistic: Any, final: bool) -> Solved | None:
        """Set the parameters from the statistic; return what was proved, and the objective.

        None asks for a pass in double-double, unless this is `final`: then the rows cannot be
        read again, and the answer is as good as this statistic allows.
        """

    _cheap_exact: tuple[int, int] = (0, 0)
    """Up to so many rows × columns², and columns, double-double costs next to nothing."""

    def _is_small(self, n_rows: int | None, n_columns: int) -> bool:
        """Whether the first pass is in double-double, by the shape of the data alone."""
        work, columns = self._cheap_exact
        return n_rows is not None and n_rows * n_columns**2 <= work and n_columns <= columns

    def _passes(self, source: Source) -> Passes:
        return self._from_statistic(source)

    def _from_statistic(self, source: Source, refined: Refined | None = None) -> Passes:
        """Solve in float64, where that does not suffice refine it, and else in double-double."""
        # The statistic of an earlier fit must not outlive it.
        self.__dict__.pop("statistics_", None)
        solved: Solved | None = None

        def learned() -> dict[str, Any] | None:
            return None if solved is None else self._fitted_attributes()

        precisions: tuple[Precision, ...] = ("float64", "double-double")
        for precision in precisions[self._always_exact(source) :]:
            summarize = partial(self._summarize, precision=precision)
            name = lambda found, p=precision: f"{type(found).__name__.lower()} in {p}"  # noqa: E731
            statistic = yield from needed(Pass(name, summarize, learned=learned))
            solved = self._solve(statistic, final=precision == "double-double")
            if solved is None and refined is not None:
                solved = yield from refined(statistic, learned)
            if solved is not None:
                break
        return self._found(statistic, solved)

    def _found(self, statistic: Any, solved: Solved | None) -> Found:
        """What a fit ends with; the statistic is kept unless it is large."""
        if solved is None:
            raise RuntimeError(f"{type(self).__name__} was not solved, not even in double-double")
        large = int(getattr(statistic, "nbytes", 0)) > LARGEST_KEPT_STATISTIC
        kept = {} if large else {"statistics_": statistic}
        return Found(kept, solved.certificate, solved.objective, solved.steps)

    def _fitted_attributes(self) -> dict[str, Any] | None:
        """The learned attributes so far, for callbacks that evaluate the model."""
        learned = {k: v for k, v in vars(self).items() if k.endswith("_") and k[0] != "_"}
        return learned or None

    def __getattr__(self, name: str) -> Any:
        if name == "statistics_" and "certificate_" in vars(self):
            large = 8 * self._statistic_size(self.n_features_in_) > LARGEST_KEPT_STATISTIC
            why = "whose statistic is too large to keep" if large else "in a way that makes none"
            raise AttributeError(
                f"this {type(self).__name__} kept no statistic: it was fitted on "
                f"{self.n_features_in_} columns {why} ({self.certificate_.path}); what works on a "
                "statistic needs the rows again"
            )
        return object.__getattribute__(self, name)  # raises what a property may have raised

    # --- without the rows -----------------------------------------------------------------

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
            return self.fit(X, y, sample_weight=sample_weight)
        return self._update(X, y, sample_weight)

    def partial_fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """`update` under scikit-learn's name."""
        return self.update(X, y, sample_weight)

    @all_or_nothing
    def _update(self, X: Any, y: Any, sample_weight: Any) -> Self:
        self._validate_params()
        began, kept = time.perf_counter(), self._kept()
        source = self._training_source(X, y, sample_weight, reset=False)
        # As in a fit: float64 where that suffices, and else the new rows once more.
        done = False
        if kept.precision == "double-double" and not self._always_exact(source):
            merged = type(kept).merge([kept, self._statistic_of(source, "float64")])
            done = self._resolve("update", merged, began, final=False)
        if not done:
            merged = type(kept).merge([kept, self._statistic_of(source, kept.precision)])
            self._resolve("update", merged, began)
        self._warn_unless_proved()
        return self

    @all_or_nothing
    def forget(
        self, X: Any, y: Any = None, sample_weight: Any = None, *, digits: float = 6
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
        digits : float, default=6
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
        self._validate_params()
        began, kept = time.perf_counter(), self._kept()
        if not hasattr(kept, "subtract"):
            raise ValueError(
                f"{type(self).__name__} cannot forget: rows cannot be subtracted from "
                f"{type(kept).__name__.lower()}; fit it again on the rows that stay"
            )
        source = self._training_source(X, y, sample_weight, reset=False)
        left = kept.subtract(self._statistic_of(source, kept.precision))
        if not np.any(left.count):
            raise ValueError("no row would stay: a model needs at least one to be learned from")
        self._resolve("forget", left, began)
        promised = self.certificate_.measures.get("digits", np.inf)
        if not promised >= digits:
            raise ValueError(
                f"only {rounded_down(promised)} digits could be guaranteed after "
                f"forgetting these rows, and digits={digits:g} are asked for: the rows are too "
                "large next to those that stay, or these determine too little. Fit with exact=True "
                "(before forgetting), ask for fewer digits, or fit again on the rows that stay"
            )
        self._warn_unless_proved()
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
        if unknown := sorted(set(params) - set(self.get_params())):
            raise ValueError(f"{type(self).__name__} has no parameter {', '.join(unknown)}")
        if strange := sorted(set(params) - set(self._refit_parameters)):
            known = ", ".join(self._refit_parameters) or "none"
            raise ValueError(
                f"{type(self).__name__} cannot be refitted with other {', '.join(strange)} from "
                f"its statistic; parameters that need no rows: {known}"
            )
        began = time.perf_counter()
        self.set_params(**params)
        self._validate_params()
        self._resolve("refit", self._kept(), began)
        self._warn_unless_proved()
        return self

    def __add__(self, other: Any) -> Self:
        return merge(self, other) if isinstance(other, OnePass) else NotImplemented

    def __radd__(self, other: Any) -> Self:
        # So that sum(models) works, which starts from 0.
        if isinstance(other, int) and other == 0:
            check_is_fitted(self)
            return copy.deepcopy(self)
        return NotImplemented

    # --- what they share ------------------------------------------------------------------

    def _kept(self) -> Any:
        """The statistic of all rows so far; raise where there is none to go on from."""
        try:
            kept = self.statistics_
        except AttributeError as reason:
            raise ValueError(str(reason)) from None
        self._check_exact(kept)
        return kept

    def _check_exact(self, statistic: Any) -> None:
        if getattr(self, "exact", False) and statistic.precision == "float64":
            raise ValueError(
                "exact=True was set after a fit in float64, whose statistic stays what it is: "
                "fit again, or set exact=False"
            )

    def _wants_more_digits(self, statistic: Any) -> bool:
        """Whether float64 moments are of so few rows that double-double should be tried."""
        columns = self.n_features_in_
        return statistic.precision == "float64" and self._is_small(statistic.count, columns)

    def _always_exact(self, source: Any) -> bool:
        """Whether not even a first pass is in float64."""
        return getattr(self, "exact", False) or self._is_small(source.n_rows, source.n_columns)

    def _statistic_of(self, source: Any, precision: Precision) -> Any:
        with one_blas_thread():
            return self._pass(source, partial(self._summarize, precision=precision))

    def _resolve(self, step: str, statistic: Any, began: float, final: bool = True) -> bool:
        """Adopt a statistic: solve, certify, and add to the trace.

        Unless it is `final`, only if its precision suffices; returns whether it was adopted.
        """
        with one_blas_thread():
            solved = self._solve(statistic, final)
        if solved is None:
            return False
        certificate = solved.certificate
        if not certificate.holds and statistic.precision == "float64" and hasattr(self, "exact"):
            certificate = replace(certificate, notes=(IN_FLOAT64, *certificate.notes))
        trace = getattr(self, "trace_", Trace())
        trace = trace.extended(step, solved.objective, time.perf_counter() - began)
        self.certificate_, self.statistics_ = certificate, statistic
        self.trace_ = trace + solved.steps
        return True

    def _join(self, models: Sequence[Self]) -> None:
        """Take over what merged models know beyond their statistics.

        They are of one kind, with the same parameters and columns; raise if they differ in
        anything else that matters.
        """

    # --- what model selection may ask -----------------------------------------------------

    _follows_scaling: ClassVar[bool] = False
    """Whether its statistic can be `rescaled`, so that a scaler before it needs no rows."""

    _statistic_parameters: ClassVar[tuple[str, ...]] = ()
    """Parameters that decide what is summarised."""

    _solve_grid: ClassVar[Any] = None
    """For linear predictions: from models and one statistic of features and targets, `Moments`, to
    a `Line` for each model, or None where its digits do not suffice for one of them."""

    def _joins_folds(self, source: Source) -> bool:
        """Whether a fit to several folds is solved from the statistics of each, merged."""
        return True

    def _statistic_size(self, n_columns: int) -> int:
        """About how many numbers a statistic takes; models of a class can be solved from that of
        the one whose statistic is largest."""
        return 100 * n_columns

    def _leaves_one_out(self, source: Source) -> bool:
        """Whether, once fitted, it tells what it would predict of each row without that row."""
        return False

    def _leave_one_out_of_block(self) -> Callable[[Block], NDArray[Any]]:
        """From rows of the fit to their targets and, in as many columns more, the predictions of
        the models without each row; NaN where only a fit without it tells."""
        raise NotImplementedError

    def _leave_one_out_of_all(self) -> tuple[NDArray[Any], NDArray[Any]] | None:
        """Targets and such predictions of all rows; None if it does not keep them."""
        return None
