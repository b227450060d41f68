"""What linear and quadratic discriminants share: classes, prior, means, one statistic.

    p(x, y = k) = πₖ N(x; μₖ, Σₖ)

    log p(y = k | x) = log p(x, y = k) − log Σⱼ p(x, y = j)

A model provides the statistic that it needs (`_needed`), what is solved from it
(`_solve_classes`) or from fewer rows than columns (`_solve_rows`), and log p(x, y = k) up to a term
that is the same for all classes (`_joint`).
"""

from __future__ import annotations

import warnings
from abc import abstractmethod
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils._param_validation import HasMethods, Interval, StrOptions

from suffice.fitting.all_or_nothing import all_or_nothing
from suffice.fitting.certificate import ENOUGH_DIGITS, Certificate, digits_within, rounded_down
from suffice.fitting.classification import Classifier
from suffice.fitting.files.registry import register
from suffice.fitting.one_pass import OnePass, Solved
from suffice.fitting.requests import Found, Gather, Pass, Passes, needed
from suffice.generative.base import (
    leave_one_out_of_block,
    leaves_one_out,
    refuse_undeclared,
)
from suffice.generative.discriminant.covariance import Shrinkage, shrinkage_of
from suffice.generative.discriminant.more_columns_than_rows import (
    ClassRows,
    check_squares,
    is_wide,
    summarized,
)
from suffice.generative.naive_bayes.priors import given_priors
from suffice.numerics.double_double import UNIT, Array, DoubleDouble
from suffice.numerics.log_posterior import log_posterior
from suffice.sources import Block, Source
from suffice.statistics.moments.by_class import ClassMoments
from suffice.statistics.moments.columns import ColumnMoments
from suffice.statistics.moments.fourth import FourthMoments
from suffice.statistics.moments.full import NOTHING, Precision
from suffice.statistics.moments.labelled import LabelledMoments
from suffice.statistics.moments.merging import stacked
from suffice.statistics.moments.pooled import PooledMoments

for statistic in (ColumnMoments, ClassMoments, PooledMoments, FourthMoments, LabelledMoments):
    register(statistic)

POOLED, OF_CLASSES, UP_TO_FOURTH = range(3)
"""Statistics, each of which tells more than the one before."""

CELLS_AT_ONCE = 1 << 18
"""Values that are centred and multiplied at once."""

FARTHEST = 1e300
"""Half the squared distance beyond which a row is taken to be: sums with it stay finite."""


class Discriminant(Classifier, OnePass):
    """Base of the models with a Gaussian for each class."""

    priors: ArrayLike | None
    shrinkage: float | str | None
    covariance_estimator: Any
    tol: float

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "shrinkage": [StrOptions({"auto"}), Interval(Real, 0, 1, closed="both"), None],
        "priors": ["array-like", None],
        "store_covariance": ["boolean"],
        "tol": [Interval(Real, 0, None, closed="left")],
        "covariance_estimator": [HasMethods("fit"), None],
        "exact": ["boolean"],
        "n_jobs": [None, Integral],
    }

    means_: Array
    priors_: Array

    # --- what a model provides ------------------------------------------------------------

    @abstractmethod
    def _needed(self) -> int:
        """Which statistic the parameters ask for."""

    @abstractmethod
    def _solve_classes(self, statistic: Any, rule: Shrinkage) -> tuple[Solved, float]:
        """Set all that is learned beyond classes, prior and means.

        Beside what is proved, the error that would be left if the statistic had none.
        """

    @abstractmethod
    def _solve_rows(self, classes: ClassMoments, rows: ClassRows) -> Solved:
        """The same from the rows themselves, which are fewer than the columns."""

    @abstractmethod
    def _joint(self, rows: Any) -> Array:
        """log p(x, y = k), up to a term that is the same for all classes: (rows, classes)."""

    @abstractmethod
    def _leave_one_out(self, block: Block) -> Array:
        """log p(x, y = k) of each row under the model fitted without that row.

        The rows are some of those of the fit.  A class whose only row leaves gets −∞.
        """

    _cheap_exact = (1 << 14, 16)
    _leaves_one_out = leaves_one_out
    _leave_one_out_of_block = leave_one_out_of_block

    # --- fitting --------------------------------------------------------------------------

    def _rule(self) -> Shrinkage:
        return shrinkage_of(self.shrinkage, self.covariance_estimator)

    def _passes(self, source: Source) -> Passes:
        self._rule()
        return super()._passes(source) if self._joins_folds(source) else self._from_rows()

    def _joins_folds(self, source: Source) -> bool:
        return not is_wide(source)

    def _from_rows(self) -> Passes:
        """Fit to fewer rows than columns; no statistic is kept."""
        self.__dict__.pop("statistics_", None)
        summarize = partial(summarized, precision="double-double")
        classes = yield from needed(Pass("rows' side", summarize))
        if not classes.count:
            raise ValueError(NOTHING)
        check_squares(classes)
        rows = yield from needed(Gather(None))
        self._set_classes(classes)
        solved = self._solve_rows(classes, ClassRows.of(rows, classes))
        proof = replace(solved.certificate, path="the rows themselves, in float64")
        return Found({}, proof, solved.objective)

    _follows_scaling = True

    def _statistic_size(self, n_columns: int) -> int:
        # Matrices, for all classes together or for some ten.
        return super()._statistic_size(n_columns) + (1, 10, 30)[self._detail] * n_columns**2

    @property
    def _detail(self) -> int:
        """How much the statistic of further rows has to tell: as much as the one that is kept."""
        kept = vars(self).get("statistics_")
        if kept is not None:
            return detail_of(kept)
        try:
            return self._needed()
        except ValueError:
            return POOLED  # what is wrong with a parameter is told when it is used

    def _summarize(self, block: Block, precision: Precision) -> Any:
        y, detail = self._labels(block), self._detail
        if detail == POOLED:
            return PooledMoments.summarize(block.X, y, block.weight, precision)
        return LabelledMoments.summarize(
            block.X, y, block.weight, precision, fourth=detail == UP_TO_FOURTH
        )

    def _solve(self, statistic: Any, final: bool) -> Solved | None:
        if not statistic.count:
            raise ValueError(NOTHING)
        if self._needed() > detail_of(statistic):
            raise ValueError(
                f"{type(self).__name__} with these parameters (shrinkage, covariance_estimator, "
                "priors with solver) needs sums over each class that the statistic at hand does "
                "not have: fit it anew with them"
            )
        self._set_classes(statistic)
        solved, least = self._solve_classes(statistic, self._rule())
        # No pass over the rows would lead to enough digits.
        final |= digits_within(least) < ENOUGH_DIGITS
        return solved.if_enough_digits(statistic.precision, final)

    def _set_classes(self, statistic: Any) -> None:
        """Set classes, prior and means."""
        if (statistic.rows == 1).all():
            raise ValueError(
                "The number of samples must be more than the number of classes: got n_samples="
                f"{statistic.count}, one of each class, and no spread can be learned from them"
            )
        self.classes_ = statistic.labels
        self.priors_ = checked_priors(self.priors, statistic.weight.round())
        mean, _, _ = class_means(statistic)
        self.means_ = mean.round()

    @all_or_nothing
    def partial_fit(  # type: ignore[override]
        self, X: Any, y: Any = None, classes: ArrayLike | None = None, sample_weight: Any = None
    ) -> Self:
        """`update` under the name that scikit-learn has for it in other models.

        Parameters
        ----------
        X : array, data frame or Source
        y : array of shape (rows,)
            None if `X` is a source.
        classes : array of shape (classes,), optional
            Labels to expect: any other is an error.  It is not needed, for classes may appear
            at any time; one without rows has no mean, and is no class yet.
        sample_weight : array of shape (rows,), optional

        Returns
        -------
        self
        """
        self.update(X, y, sample_weight)
        if classes is not None:
            refuse_undeclared(self.classes_, np.asarray(classes))
        return self

    def _certificate(self, error: float, precision: str, notes: list[str]) -> Certificate:
        digits = digits_within(error)
        if digits < ENOUGH_DIGITS:
            notes.append(
                "columns are nearly dependent within classes, or rows that were taken away took "
                "digits with them: shrink, leave columns out, or fit with exact=True"
            )
        return Certificate(
            digits >= ENOUGH_DIGITS,
            "means, covariances and what follows from them, relative to the deviations of the "
            f"columns, to {rounded_down(digits)} digits or more",
            f"class moments in {precision}",
            {"digits": digits, "error": error},
            tuple(notes),
        )

    _shapes = "means_(classes, columns) priors_(classes)"

    # --- predicting -----------------------------------------------------------------------

    def _predicted(self, rows: Any) -> NDArray[Any]:
        return self.classes_[np.argmax(self._joint(rows), axis=1)]

    def _log_probabilities(self, rows: Any) -> Array:
        return log_posterior(self._joint(rows))

    def _scores(self, rows: Any) -> Array:
        joint = self._joint(rows)
        return joint[:, 1] - joint[:, 0] if joint.shape[1] == 2 else joint


def detail_of(statistic: Any) -> int:
    """Which of the statistics this is."""
    if isinstance(statistic, PooledMoments):
        return POOLED
    fourth = any(isinstance(part, FourthMoments) for part in statistic.parts)
    return UP_TO_FOURTH if fourth else OF_CLASSES


def checked_priors(priors: ArrayLike | None, weight: Array) -> Array:
    """The probabilities of classes of these weights.

    Raises
    ------
    ValueError
        If there are not as many as classes, if one is negative, or all are 0.
    """
    if priors is None:
        return weight / weight.sum()
    given = given_priors(priors, len(weight))
    if abs(given.sum() - 1.0) > 1e-5:
        warnings.warn("The priors do not sum to 1. Renormalizing", UserWarning, stacklevel=2)
        given = given / given.sum()
    return given


def class_means(statistic: Any) -> tuple[DoubleDouble, Array, Array]:
    """Means of the classes, what is beyond their last bit, and bounds on their errors."""
    if isinstance(statistic, PooledMoments):
        statistic = statistic.classes
    if isinstance(statistic, ClassMoments):
        columns = statistic.columns
        error = columns.error_unit * np.sqrt(columns.magnitude / columns.weight.hi)
        return columns.mean, columns.mean_rest, error
    every = statistic.moments
    mean = stacked([one.mean for one in every])
    errors = [one.error_unit * np.sqrt(one.magnitude / float(one.weight.hi)) for one in every]
    return mean, np.stack([one.mean_rest for one in every]), np.stack(errors)


def error_of_means(errors: Array, means: Array, deviations: Array) -> float:
    """Of means, relative to the larger of their own distance and a deviation of the column."""
    away = np.abs(means - means.mean(axis=0))
    size = np.maximum(np.sqrt(deviations), 0.0)
    size = np.maximum(size, away.max(axis=0))
    relative = np.divide(errors, size, out=np.zeros_like(errors), where=size > 0)
    return float(relative.max(initial=0.0)) + 4 * UNIT


def in_pieces(rows: Any, width: int, function: Any) -> Array:
    """A function of rows, applied to few of them at a time."""
    step = max(CELLS_AT_ONCE // max(rows.shape[1], width, 1), 1)
    parts = [function(rows[i : i + step]) for i in range(0, max(rows.shape[0], 1), step)]
    return parts[0] if len(parts) == 1 else np.concatenate(parts)


def half_distances(rows: Any, n_classes: int, standardised: Callable[[Any, int], Array]) -> Array:
    """Half the squared distance of each row from each class: shape (rows, classes).

    Parameters
    ----------
    rows : array of shape (rows, columns)
    n_classes : int
    standardised : function of some rows and of a class
        Vectors whose lengths are the distances.
    """
    out = np.empty((rows.shape[0], n_classes))
    for k in range(n_classes):
        half = standardised(rows, k)
        out[:, k] = 0.5 * np.einsum("ij,ij->i", half, half)
    return np.minimum(out, FARTHEST)
