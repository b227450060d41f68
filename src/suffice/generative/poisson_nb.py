"""Poisson naive Bayes: counts of events per row.

    log p(x | y = k) = Σⱼ (xⱼ log λₖⱼ − λₖⱼ − log xⱼ!),      λₖⱼ = (Nₖⱼ + αⱼ) / (Wₖⱼ + βⱼ)

with Nₖⱼ the sum of column j over the rows of class k, and Wₖⱼ the weight of those in which it is
known: the class sums are sufficient.  λₖⱼ is the mean of its posterior under a Gamma prior with α
events in β rows.  Unlike the multinomial model, this one learns how many events a row has.

log xⱼ! is the same in all classes, and is left out of what the model computes.  The log-posterior
is then linear in x, a logistic model: its coefficients are the log λₖⱼ, its intercepts
log πₖ − Σⱼ λₖⱼ.

A missing cell (NaN) leaves its factor away, in a fit as in a prediction.  Where nothing is known
about a column in a class, not even by β, the class is given the λ of all classes; where nothing
is known in any, the column says nothing.

Reference: Kim, Seo and Rim, "Poisson naive Bayes for text classification with feature weighting"
(2003).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import xlogy

from suffice.bayes import GammaPoisson
from suffice.fitting.one_pass import Solved
from suffice.generative.leave_one_out.counts import log_likelihood_without
from suffice.generative.leave_one_out.rows import LeftOut
from suffice.generative.naive_bayes.base import NaiveBayes
from suffice.generative.naive_bayes.counts import certified, summed, weighed, with_borrowed
from suffice.generative.naive_bayes.log_linear import log_linear
from suffice.generative.naive_bayes.parameters import ONE_A_COLUMN, pseudo_counts, smoothing
from suffice.numerics.double_double import Array
from suffice.sources import Block
from suffice.statistics.counts.sums_by_class import ClassSums
from suffice.statistics.moments.full import Precision


class PoissonNB(NaiveBayes):
    """Naive Bayes for counts, each with a Poisson distribution in each class.

    Parameters
    ----------
    alpha : float or array of shape (columns,), default=1.0
        Pseudo-events that are added to those of each class and column.
    beta : float or array of shape (columns,), default=1.0
        Pseudo-rows in which they occurred.  Where it is 0, a column without events in a
        class needs an `alpha` above 0 to remain possible there.
    force_alpha : bool, default=True
        Whether to keep `alpha` below 1e-10 as it is; else it is raised to that.
    fit_prior : bool, default=True
        Whether the classes' shares of the rows' weight are their prior; else it is uniform.
    class_prior : array of shape (classes,), optional
        Probabilities of the classes, in the labels' order.
    prior_alpha : float, default=0
        What is added to the weight of each class before their shares are taken.
    unlabelled : label, optional
        Marks rows whose class is not known; NaN marks missing labels.  They are learned from
        by EM.  By default there are none.
    max_iter : int, default=100
        Most steps of EM.
    tol : float, default=1e-6
        Relative change of the log posterior at which EM stops.
    n_jobs : int, optional
        Threads; by default what `suffice.config` says.

    Attributes
    ----------
    classes_ : array of shape (classes,)
        The labels, sorted.
    class_count_ : array of shape (classes,)
        Weight of the rows of each class.
    class_log_prior_ : array of shape (classes,)
    feature_count_ : array of shape (classes, columns)
        N: weighted sums over the rows of each class.
    rate_ : array of shape (classes, columns)
        λ, events a row; NaN where nothing is known.
    coef_ : array of shape (classes, columns)
        log λ: the coefficients of the logistic form.
    intercept_ : array of shape (classes,)
        log π − Σⱼ λⱼ: its intercepts.
    statistics_ : ClassSums
    certificate_ : Certificate
    trace_ : Trace

    Examples
    --------
    >>> import numpy as np
    >>> from suffice import PoissonNB
    >>> goals = np.array([[2, 0], [3, 1], [0, 4], [1, 2]])
    >>> model = PoissonNB().fit(goals, ["home", "home", "away", "away"])
    >>> model.rate_.round(3)
    array([[0.667, 2.333],
           [2.   , 0.667]])
    >>> model.predict([[3, 0], [0, 3]]).tolist()
    ['home', 'away']
    """

    _parameter_constraints = {"alpha": ONE_A_COLUMN, "beta": ONE_A_COLUMN}
    _holds = "counts"
    _shapes = "feature_count_(classes, columns) rate_(classes, columns) coef_(classes, columns)"

    def __init__(
        self,
        *,
        alpha: float | ArrayLike = 1.0,
        beta: float | ArrayLike = 1.0,
        force_alpha: bool = True,
        fit_prior: bool = True,
        class_prior: ArrayLike | None = None,
        prior_alpha: float = 0,
        unlabelled: Any = None,
        max_iter: int = 100,
        tol: float = 1e-6,
        n_jobs: int | None = None,
    ) -> None:
        self.alpha = alpha
        self.beta = beta
        self.force_alpha = force_alpha
        self.fit_prior = fit_prior
        self.class_prior = class_prior
        self.prior_alpha = prior_alpha
        self.unlabelled = unlabelled
        self.max_iter = max_iter
        self.tol = tol
        self.n_jobs = n_jobs

    def _pseudo(self) -> tuple[Array, Array]:
        """Events and rows of the prior, for each column."""
        return smoothing(self), pseudo_counts("beta", self.beta, self.n_features_in_)

    def _summarize(self, block: Block, precision: Precision) -> ClassSums:
        return summed(self, block, block.X)

    def _log_prior_density(self) -> float:
        alpha, beta = self._pseudo()
        return weighed(alpha, self.coef_) - float(np.nansum(beta * self.rate_))

    def _solve_columns(self, statistic: ClassSums) -> Solved:
        alpha, beta = self._pseudo()
        posterior = GammaPoisson(alpha, beta).given(*with_borrowed(statistic, beta))
        events, rows = posterior.shape, posterior.rate
        known = rows > 0
        with np.errstate(divide="ignore", over="ignore"):
            rate = events / np.where(known, rows, 1.0)
            # 0 where nothing is known: the column says nothing.
            self.coef_ = np.where(known, np.log(rate), 0.0)
            if not np.isfinite(rate.sum(axis=1)).all():
                raise ValueError(
                    "the rates of a class add up to more than float64's range: the columns are too "
                    "large, or alpha is next to beta; rescale them"
                )
        self.rate_ = np.where(known, rate, np.nan)
        self.feature_count_ = statistic.sums.copy()
        proved = certified(
            "the log-rates",
            statistic,
            (events, statistic.error),
            (rows, statistic.weight_error),
        )
        expected = float(np.nansum(statistic.cell_weight * self.rate_))
        return Solved(proved, expected - weighed(statistic.sums, self.coef_))

    @property
    def intercept_(self) -> Array:
        """The intercepts of the logistic form."""
        return np.asarray(self.class_log_prior_ - np.nansum(self.rate_, axis=1))

    def predict_joint_log_proba(self, X: Any) -> Array:
        """log πₖ + Σⱼ (xⱼ log λₖⱼ − λₖⱼ), over the cells that are there.

        This is log p(x, y = k) but for −Σⱼ log xⱼ!, which is the same in all classes, and counts
        in no probability of a class.

        Parameters
        ----------
        X : array, sparse matrix, data frame or Source, of shape (rows, columns)

        Returns
        -------
        array of shape (rows, classes)
        """
        return super().predict_joint_log_proba(X)

    def _log_likelihood(self, rows: Any) -> Array:
        return log_linear(rows, self.coef_, -np.nan_to_num(self.rate_))

    def _log_likelihood_without(self, statistic: ClassSums, left: LeftOut) -> Array:
        alpha, beta = self._pseudo()

        def log_factor(events: Array, weight: Array, x: Any, places: Any) -> Array:
            j = places[1]
            rate = (events + alpha[j]) / (weight + beta[j])
            return np.asarray(xlogy(x, rate) - rate)

        return log_likelihood_without(self, statistic, left, log_factor, beta, left.X)
