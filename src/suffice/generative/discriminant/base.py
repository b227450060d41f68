"""What linear and quadratic discriminants share: classes, prior, means, one statistic.

    p(x, y = k) = πₖ N(x; μₖ, Σₖ)

A model provides the statistic that it needs (`_needed`), what is solved from it
(`_solve_classes`), and log p(x, y = k) up to a term that is the same for all classes (`_joint`).
"""

from __future__ import annotations

import warnings
from abc import abstractmethod
from collections.abc import Callable, Iterable
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from suffice.fitting.certificate import ENOUGH_DIGITS, Certificate, digits_within, rounded_down
from suffice.fitting.files.registry import register
from suffice.fitting.one_pass import Solved
from suffice.fitting.requests import Passes
from suffice.fitting.transaction import all_or_nothing
from suffice.generative.base import GenerativeClassifier, refuse_undeclared
from suffice.generative.discriminant.shrinkage import Covariance, Rule, rule_of
from suffice.generative.naive_bayes.priors import given_priors
from suffice.numerics.double_double import UNIT, Array, DoubleDouble
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

SMALL_WORK, SMALL_COLUMNS = 1 << 14, 16
"""rows × columns², and columns, up to which double-double costs a few milliseconds."""

SMALLEST_SHARE = 1e-13
"""Where rows were taken away, a deviation that may be less than this share of the means is none."""

POOLED, OF_CLASSES, UP_TO_FOURTH = range(3)
"""Statistics, each of which tells more than the one before."""

CELLS_AT_ONCE = 1 << 18
"""Values that are centred and multiplied at once."""

FARTHEST = 1e300
"""Half the squared distance beyond which a row is taken to be: sums with it stay finite."""


class Discriminant(GenerativeClassifier):
    """Base of the models with a Gaussian for each class."""

    priors: ArrayLike | None
    shrinkage: float | str | None
    covariance_estimator: Any
    tol: float

    means_: Array
    priors_: Array

    # --- what a model provides ------------------------------------------------------------

    @abstractmethod
    def _needed(self) -> int:
        """Which statistic the parameters ask for."""

    @abstractmethod
    def _solve_classes(self, statistic: Any, rule: Rule) -> Solved:
        """Set all that is learned beyond classes, prior and means."""

    # --- fitting --------------------------------------------------------------------------

    def _rule(self) -> Rule:
        return rule_of(self.shrinkage, self.covariance_estimator)

    def _passes(self, source: Source) -> Passes:
        self._rule()
        return super()._passes(source)

    _cheap_exact = (1 << 14, 16)
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
        solved = self._solve_classes(statistic, self._rule())
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


def negligible(means: Array) -> Array:
    """Deviations of columns that are none, next to the means of the classes and their distances."""
    return np.asarray(SMALLEST_SHARE * (np.abs(means).max(axis=0) + np.ptp(means, axis=0)))


def note_of_doubt(covariances: Iterable[Covariance]) -> list[str]:
    """Which columns are taken to be constant, though a little of them may be hidden."""
    columns = sorted({int(j) for one in covariances for j in one.doubtful})
    if not columns:
        return []
    names = ", ".join(map(str, columns[:5])) + (", …" if len(columns) > 5 else "")
    return [
        f"columns {names} (counted from 0) count as constant within classes: after rows were taken "
        f"away, deviations below {SMALLEST_SHARE:g} of their values cannot be told from none"
    ]


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
