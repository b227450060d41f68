"""Gaussian naive Bayes.

    p(x, y = k) = πₖ Πⱼ N(xⱼ; θₖⱼ, vₖⱼ + ε),      ε = var_smoothing · maxⱼ Var(xⱼ)

The moments of each column in each class are sufficient: πₖ is the class's share of the rows'
weight, θₖⱼ and vₖⱼ the mean and the variance of column j among its rows, the maximum of the
likelihood for ε = 0.  `tied_variance=True` pools the classes: vⱼ is the scatter of column j
about the means of the classes, over the weight.

**Missing cells.**  Given the class, columns are independent; so a NaN is integrated out by
leaving its factor away, in a fit as in a prediction.  Where a class has no value in a column at
all, it is given the moments of that column over all classes, and a column without any value
says nothing.

**Leaving one row out** changes the row's own class by a rank-one step, and ε a little; see
`suffice.generative.leave_one_out`.

Reference: Chan, Golub and LeVeque, "Algorithms for computing the sample variance" (1983).
"""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import logsumexp
from sklearn.utils._param_validation import Interval

from suffice.fitting.base import OnePass, Solved
from suffice.fitting.callbacks import FitTask
from suffice.fitting.certificate import Certificate
from suffice.fitting.classification import Classifier
from suffice.fitting.registry import register
from suffice.fitting.transaction import all_or_nothing
from suffice.generative.gaussians import (
    SMALLEST_VARIANCE,
    gaussians,
    guaranteed_error,
    log_densities,
)
from suffice.generative.leave_one_out import joint_without
from suffice.numerics.double_double import Array
from suffice.sources import Block, Source
from suffice.statistics.class_moments import ClassMoments, united
from suffice.statistics.column_moments import ColumnMoments
from suffice.statistics.labels import coded
from suffice.statistics.moments import NOTHING, Precision

register(ColumnMoments)
register(ClassMoments)

ENOUGH_DIGITS = 8.0
"""Digits that a fit must guarantee; with fewer, it is made again in double-double."""

SMALL = 1 << 14
"""Cells up to which a fit is made in double-double at once: it takes no longer."""


class GaussianNB(Classifier, OnePass):
    """Naive Bayes with a Gaussian for each class and column.

    Parameters
    ----------
    priors : array of shape (classes,), optional
        Probabilities of the classes, in the labels' order; by default their shares of
        the rows' weight.
    var_smoothing : float, default=1e-9
        Share of the largest variance of a column that is added to all variances.
    tied_variance : bool, default=False
        Whether the classes share one variance a column: boundaries are then linear.
    exact : bool, default=False
        Keep the statistic in double-double from the start, so that forgetting loses nothing.
    n_jobs : int, optional
        Threads; by default what `suffice.config` says.

    Attributes
    ----------
    classes_ : array of shape (classes,)
        The labels, sorted.
    class_count_ : array of shape (classes,)
        Weight of the rows of each class.
    class_prior_ : array of shape (classes,)
    theta_, var_ : arrays of shape (classes, columns)
        Means, and variances with ε in them; NaN in columns without any value.
    epsilon_ : float
        What was added to the variances: `var_smoothing` times the largest variance
        of a column over all rows, in which weights count as repetitions.
    statistics_ : ClassMoments
    certificate_ : Certificate
        Digits are those of the variances, and of the means relative to the larger of the mean
        itself and the standard deviation.
    trace_ : Trace

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from suffice import GaussianNB
    >>> X, y = load_iris(return_X_y=True)
    >>> model = GaussianNB().fit(X, y)
    >>> model.score(X, y)
    0.96
    >>> X[0, 2:] = float("nan")  # petals not measured
    >>> model.predict_proba(X[:1]).round(3)
    array([[0.975, 0.014, 0.011]])
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "priors": ["array-like", None],
        "var_smoothing": [Interval(Real, 0, None, closed="left")],
        "tied_variance": ["boolean"],
        "exact": ["boolean"],
        "n_jobs": [None, Integral],
    }
    _refit_parameters: ClassVar[tuple[str, ...]] = ("priors", "var_smoothing", "tied_variance")
    _saved_private = ("_declared_classes",)
    _declared_classes: NDArray[Any] | None = None
    """Labels that `partial_fit` was told to expect."""

    def __init__(
        self,
        priors: ArrayLike | None = None,
        var_smoothing: float = 1e-9,
        *,
        tied_variance: bool = False,
        exact: bool = False,
        n_jobs: int | None = None,
    ) -> None:
        self.priors = priors
        self.var_smoothing = var_smoothing
        self.tied_variance = tied_variance
        self.exact = exact
        self.n_jobs = n_jobs

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags

    def _check_loaded(self) -> None:
        """Raise ValueError unless what a file holds could be a fitted model."""
        learned = vars(self)
        if "theta_" not in learned:
            return
        shape = (len(self.classes_), self.n_features_in_)
        expected = {"theta_": shape, "var_": shape, "class_prior_": shape[:1]}
        for name, size in expected.items():
            value = learned.get(name)
            if not isinstance(value, np.ndarray) or value.shape != size or value.dtype != float:
                raise ValueError(
                    f"its {name} does not fit {shape[0]} classes of {shape[1]} columns"
                )

    # --- fitting --------------------------------------------------------------------------

    def _learn(self, source: Source, task: FitTask) -> None:
        self._declared_classes = self.__dict__.pop("_expected_classes", None)
        super()._learn(source, task)

    def _skips_float64(self, source: Source) -> bool:
        return source.n_rows is not None and source.n_rows * source.n_columns < SMALL

    def _summarize(self, block: Block, precision: Precision) -> ClassMoments:
        return ClassMoments.summarize(block.X, self._labels(block), block.weight, precision)

    def _solve(self, moments: ClassMoments) -> Solved | None:
        solved = self._solve_anyway(moments)
        few = solved.certificate.digits < ENOUGH_DIGITS
        return None if few and moments.precision == "float64" else solved

    def _solve_anyway(self, moments: ClassMoments) -> Solved:
        if not moments.count:
            raise ValueError(NOTHING)
        moments = self._with_declared(moments)
        columns, total = moments.columns, moments.total
        overflown = ~np.isfinite([columns.rounded_scatter.sum(axis=0), total.rounded_scatter])
        if overflown.any():
            raise ValueError(
                f"the squares of column {int(np.argmax(overflown.any(axis=0)))} are beyond "
                "float64's range: it is too large, or the weights are; rescale them"
            )
        found = gaussians(columns, total, self.var_smoothing, self.tied_variance)
        self.classes_ = moments.labels
        self.class_count_ = moments.weight.round()
        self.class_prior_ = self._prior(self.class_count_)
        self.theta_, self.var_ = found.theta, np.ascontiguousarray(found.var)
        self.epsilon_ = float(found.epsilon)
        error = guaranteed_error(columns, total, found, self.var_smoothing, self.tied_variance)
        return Solved(self._certificate(error, moments), self._objective(columns))

    def _with_declared(self, moments: ClassMoments) -> ClassMoments:
        declared = getattr(self, "_declared_classes", None)
        if declared is None:
            return moments
        strange = set(moments.labels.tolist()) - set(declared.tolist())
        if strange:
            raise ValueError(
                f"The target label(s) {sorted(strange)} in y do not exist in the initial classes "
                f"{declared.tolist()}"
            )
        return moments.placed(united([declared, moments.labels]))

    def _prior(self, count: Array) -> Array:
        if self.priors is None:
            return count / count.sum()
        priors = np.asarray(self.priors, dtype=np.float64)
        if priors.shape != count.shape:
            raise ValueError(
                f"Number of priors must match number of classes: {priors.size} priors for "
                f"{len(count)} classes."
            )
        if not (priors >= 0).all():
            raise ValueError("Priors must be non-negative.")
        if not np.isclose(priors.sum(), 1.0):
            raise ValueError("The sum of the priors should be 1.")
        return priors

    def _objective(self, columns: ColumnMoments) -> float:
        """−Σ w log p(x, y): squares about the mean are the scatter."""
        var = np.maximum(self.var_, SMALLEST_VARIANCE)
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            cells = columns.weight.hi * np.log(2 * np.pi * var) + columns.rounded_scatter / var
            prior = np.where(
                self.class_count_ > 0, -self.class_count_ * np.log(self.class_prior_), 0.0
            )
        return float(prior.sum() + 0.5 * np.nansum(cells))

    def _certificate(self, error: float, moments: ClassMoments) -> Certificate:
        digits = float(np.clip(-np.log10(error), 0.0, 15.6)) if np.isfinite(error) else 0.0
        empty = np.isnan(self.theta_[0])
        notes = []
        if empty.any():
            notes.append(
                f"{int(empty.sum())} columns have no value: they say nothing about the class"
            )
        if (self.var_ == 0).any():
            notes.append("a variance is zero: raise var_smoothing")
        hidden = ((self.var_ > 0) & (self.var_ < SMALLEST_VARIANCE)).any(axis=0)
        if hidden.any():
            notes.append(
                f"the variance of column {int(np.argmax(hidden))} (counted from 0) is too small "
                f"for its density, which takes {SMALLEST_VARIANCE:g} instead: rescale the column"
            )
        proved = digits >= ENOUGH_DIGITS and not hidden.any()
        if digits < ENOUGH_DIGITS and not hidden.any():
            notes.append(
                "too many digits were lost when rows were taken away: fit again on the rows that "
                "stay, or with exact=True"
            )
        return Certificate(
            proved,
            "the means and variances of each class, "
            f"to {np.floor(10 * digits) / 10:.1f} digits or more",
            f"class moments in {moments.precision}",
            {"digits": digits, "error": error},
            tuple(notes),
        )

    @all_or_nothing
    def partial_fit(  # type: ignore[override]
        self, X: Any, y: Any = None, classes: ArrayLike | None = None, sample_weight: Any = None
    ) -> Self:
        """`update` under scikit-learn's name.

        Parameters
        ----------
        X : array, data frame or Source
        y : array of shape (rows,)
            None if `X` is a source.
        classes : array of shape (classes,), optional
            All labels to expect; those without rows get a weight of 0.  Unlike in
            scikit-learn, it is not needed: classes may appear at any time.
        sample_weight : array of shape (rows,), optional

        Returns
        -------
        self
        """
        if classes is not None:
            labels, _ = coded(np.asarray(classes))
            if not hasattr(self, "certificate_"):
                self._expected_classes = labels
            elif not np.array_equal(labels, _declared(self)):
                raise ValueError(
                    f"`classes={list(labels)}` is not the same as on last call to partial_fit, "
                    f"was: {list(_declared(self))}"
                )
        return self.update(X, y, sample_weight)

    def _adopt_private(self, models: Any) -> None:
        declared = [m._declared_classes for m in models if m._declared_classes is not None]
        self._declared_classes = None
        if declared:
            known = [m.classes_ for m in models]
            self._declared_classes = united([*declared, *known])

    # --- predicting -----------------------------------------------------------------------

    def predict_joint_log_proba(self, X: Any) -> NDArray[np.float64]:
        """log p(x, y = k), over the cells that are there.

        Parameters
        ----------
        X : array, data frame or Source, of shape (rows, columns)

        Returns
        -------
        array of shape (rows, classes)
        """
        return self._apply(X, self._joint)

    def predict_log_proba(self, X: Any) -> NDArray[np.float64]:
        """log p(y = k | x); see `predict_joint_log_proba`."""
        return self._apply(X, self._log_posterior)

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """p(y = k | x); see `predict_joint_log_proba`."""
        return self._apply(X, lambda rows: np.exp(self._log_posterior(rows)))

    def predict(self, X: Any) -> NDArray[Any]:
        """The most probable class of each row.

        Parameters
        ----------
        X : array, data frame or Source, of shape (rows, columns)

        Returns
        -------
        array of shape (rows,)
        """
        return self._apply(X, self._predicted)

    def _predicted(self, rows: Any) -> NDArray[Any]:
        return self.classes_[np.argmax(self._joint(rows), axis=1)]

    def _log_posterior(self, rows: Any) -> Array:
        joint = self._joint(rows)
        # Far from every class log Σ exp would be lost beside joint: only differences count.
        joint = joint - joint.max(axis=1, keepdims=True)
        return joint - logsumexp(joint, axis=1, keepdims=True)

    def _joint(self, rows: Any) -> Array:
        with np.errstate(divide="ignore"):
            prior = np.log(self.class_prior_)
        return prior + log_densities(rows, self.theta_, self.var_)

    # --- leaving out ----------------------------------------------------------------------

    def _leave_one_out(self, block: Block) -> NDArray[np.float64]:
        """log p(x, y = k) of each row under the model fitted without that row.

        The rows are some of those of the fit.  A class whose only row leaves gets −∞.
        """
        moments = self._with_declared(self.statistics_)
        return joint_without(moments, block, self.priors, self.var_smoothing, self.tied_variance)


def _declared(model: GaussianNB) -> NDArray[Any]:
    declared = model._declared_classes
    return model.classes_ if declared is None else declared
