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
`suffice.generative.leave_one_out.gaussians`.

Reference: Chan, Golub and LeVeque, "Algorithms for computing the sample variance" (1983).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from suffice.fitting.certificate import ENOUGH_DIGITS, Certificate, digits_within, rounded_down
from suffice.fitting.files.registry import register
from suffice.fitting.one_pass import Solved
from suffice.generative.leave_one_out.gaussians import log_densities_without
from suffice.generative.leave_one_out.rows import LeftOut
from suffice.generative.naive_bayes.base import NaiveBayes
from suffice.generative.naive_bayes.gaussians import (
    SMALLEST_VARIANCE,
    gaussians,
    guaranteed_error,
    log_densities,
)
from suffice.generative.naive_bayes.priors import given_priors
from suffice.numerics.double_double import Array
from suffice.sources import Block
from suffice.statistics.moments.by_class import ClassMoments
from suffice.statistics.moments.columns import ColumnMoments
from suffice.statistics.moments.full import Precision

register(ColumnMoments)
register(ClassMoments)

LARGEST_VARIANCE = 1e307
"""Of a class and column, with ε in it, so that its density has a logarithm."""


class GaussianNB(NaiveBayes):
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
    prior_alpha : float, default=0
        What is added to the weight of each class before their shares are taken.
    unlabelled : label, optional
        Marks rows whose class is not known; NaN marks missing labels.  They are learned from
        by EM.  By default there are none.
    max_iter : int, default=100
        Most steps of EM.
    tol : float, default=1e-6
        Relative change of the log posterior at which EM stops.
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

    _follows_scaling = True
    _shapes = "theta_(classes, columns) var_(classes, columns) _theta_rest(classes, columns)"
    _saved_private = ("_theta_rest",)
    _theta_rest: Array
    """What rounding took from the means: it counts where an offset is large."""

    def __init__(
        self,
        priors: ArrayLike | None = None,
        var_smoothing: float = 1e-9,
        *,
        tied_variance: bool = False,
        prior_alpha: float = 0,
        unlabelled: Any = None,
        max_iter: int = 100,
        tol: float = 1e-6,
        exact: bool = False,
        n_jobs: int | None = None,
    ) -> None:
        self.priors = priors
        self.var_smoothing = var_smoothing
        self.tied_variance = tied_variance
        self.prior_alpha = prior_alpha
        self.unlabelled = unlabelled
        self.max_iter = max_iter
        self.tol = tol
        self.exact = exact
        self.n_jobs = n_jobs

    # --- fitting --------------------------------------------------------------------------

    def _has_moments(self) -> bool:
        return True

    def _summarize(self, block: Block, precision: Precision) -> ClassMoments:
        return ClassMoments.summarize(block.X, self._labels(block), block.weight, precision)

    def _solve_columns(self, moments: ClassMoments) -> Solved:
        columns, total = moments.columns, moments.total
        overflown = ~np.isfinite([columns.rounded_scatter.sum(axis=0), total.rounded_scatter])
        if overflown.any():
            raise ValueError(
                f"the squares of column {int(np.argmax(overflown.any(axis=0)))} are beyond "
                "float64's range: it is too large, or the weights are; rescale them"
            )
        with np.errstate(over="ignore"):
            found = gaussians(columns, total, self.var_smoothing, self.tied_variance)
        if (found.var > LARGEST_VARIANCE).any():
            raise ValueError(
                f"with var_smoothing={self.var_smoothing!r} variances are above "
                f"{LARGEST_VARIANCE:g}, which is beyond float64's range of densities: lower it, or "
                "rescale the columns"
            )
        self.theta_, self.var_ = found.theta, np.ascontiguousarray(found.var)
        self._theta_rest = found.rest
        self.epsilon_ = float(found.epsilon)
        error = guaranteed_error(columns, total, found, self.var_smoothing, self.tied_variance)
        return Solved(self._certificate(error, moments), self._objective(columns))

    def _given_prior(self, n_classes: int) -> Array | None:
        if self.priors is None:
            return None
        priors = given_priors(self.priors, n_classes)
        if not np.isclose(priors.sum(), 1.0):
            raise ValueError("The sum of the priors should be 1.")
        return priors

    def _set_prior(self, count: Array, given: Array | None) -> None:
        count = self._smoothed(count)
        self.class_prior_ = count / count.sum() if given is None else given

    def _log_prior(self) -> Array:
        with np.errstate(divide="ignore"):
            return np.log(self.class_prior_)

    def _objective(self, columns: ColumnMoments) -> float:
        """−Σ w log p(x | y): squares about the mean are the scatter."""
        var = np.maximum(self.var_, SMALLEST_VARIANCE)
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            cells = columns.weight.hi * np.log(2 * np.pi * var) + columns.rounded_scatter / var
        return float(0.5 * np.nansum(cells))

    def _certificate(self, error: float, moments: ClassMoments) -> Certificate:
        digits = digits_within(error)
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
            f"the means and variances of each class, to {rounded_down(digits)} digits or more",
            f"class moments in {moments.precision}",
            {"digits": digits, "error": error},
            tuple(notes),
        )

    # --- predicting -----------------------------------------------------------------------

    def _log_likelihood(self, rows: Any) -> Array:
        return log_densities(rows, self.theta_, self._theta_rest, self.var_)

    def _noise_of_cells(self, rows: Any) -> Any:
        if self.epsilon_ == 0:
            return 0.0
        with np.errstate(invalid="ignore"):
            share = np.nan_to_num(self.epsilon_ / np.maximum(self.var_, SMALLEST_VARIANCE))
        there = ~np.isnan(np.asarray(rows, dtype=np.float64))
        return -0.5 * (there @ share.T)

    def _log_likelihood_without(self, moments: ClassMoments, left: LeftOut) -> Array:
        return log_densities_without(moments, left, self.var_smoothing, self.tied_variance)
