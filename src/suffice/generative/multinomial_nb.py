"""Multinomial naive Bayes: the event model of words in documents.

    log p(x | n, y = k) = Σⱼ xⱼ log θₖⱼ + log(n! / Πⱼ xⱼ!),      θₖⱼ = (Nₖⱼ + αⱼ) / Σⱼ (Nₖⱼ + αⱼ)

with xⱼ how often event j occurs in a row of n = Σⱼ xⱼ events, and Nₖⱼ how often in the rows of
class k: the class sums are sufficient.  How many events a row has, the model does not say.
log(n! / Πⱼ xⱼ!) is the same in all classes, and is left out of what the model computes.

θₖ is the mean of its posterior under a Dirichlet prior, whose pseudo-counts are α; α = 1 is
Laplace's smoothing.

A missing cell (NaN) leaves its factor θₖⱼ^xⱼ away, as a count of 0 does.

Reference: McCallum and Nigam, "A comparison of event models for naive Bayes text
classification" (1998).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from suffice.bayes import DirichletCategorical
from suffice.fitting.one_pass import Solved
from suffice.generative.leave_one_out.counts import OwnCells
from suffice.generative.leave_one_out.rows import LeftOut
from suffice.generative.naive_bayes.base import NaiveBayes
from suffice.generative.naive_bayes.counts import certified, log_shares, summed, weighed
from suffice.generative.naive_bayes.log_linear import log_linear
from suffice.generative.naive_bayes.parameters import ONE_A_COLUMN, smoothing
from suffice.numerics.double_double import Array
from suffice.sources import Block
from suffice.statistics.counts.sums_by_class import ClassSums
from suffice.statistics.moments.full import Precision


class MultinomialNB(NaiveBayes):
    """Naive Bayes for counts of events, such as words in a document.

    Parameters
    ----------
    alpha : float or array of shape (columns,), default=1.0
        Pseudo-counts that are added to each event's.
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
    feature_log_prob_ : array of shape (classes, columns)
        log θ.
    statistics_ : ClassSums
    certificate_ : Certificate
    trace_ : Trace

    Examples
    --------
    >>> import numpy as np
    >>> from suffice import MultinomialNB
    >>> words = np.array([[2, 1, 0], [1, 2, 0], [0, 1, 3]])
    >>> model = MultinomialNB().fit(words, ["ham", "ham", "spam"])
    >>> np.exp(model.feature_log_prob_).round(3)
    array([[0.444, 0.444, 0.111],
           [0.143, 0.286, 0.571]])
    >>> model.forget(words[:1], ["ham"]).feature_count_
    array([[1., 2., 0.],
           [0., 1., 3.]])
    """

    _parameter_constraints = {"alpha": ONE_A_COLUMN}
    _holds = "counts"
    _shapes = "feature_count_(classes, columns) feature_log_prob_(classes, columns)"

    def __init__(
        self,
        *,
        alpha: float | ArrayLike = 1.0,
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
        self.force_alpha = force_alpha
        self.fit_prior = fit_prior
        self.class_prior = class_prior
        self.prior_alpha = prior_alpha
        self.unlabelled = unlabelled
        self.max_iter = max_iter
        self.tol = tol
        self.n_jobs = n_jobs

    def _summarize(self, block: Block, precision: Precision) -> ClassSums:
        return summed(self, block, block.X)

    def _log_prior_density(self) -> float:
        return weighed(smoothing(self), self.feature_log_prob_)

    def _solve_columns(self, statistic: ClassSums) -> Solved:
        counts = statistic.sums
        posterior = DirichletCategorical(smoothing(self)).given(counts).alpha
        self.feature_count_ = counts.copy()
        self.feature_log_prob_ = log_shares(posterior)
        proved = certified("the log-probabilities", statistic, (posterior, statistic.error))
        return Solved(proved, -weighed(counts, self.feature_log_prob_))

    def predict_joint_log_proba(self, X: Any) -> Array:
        """log πₖ + Σⱼ xⱼ log θₖⱼ, over the cells that are there.

        This is log p(x, y = k | n) of rows with n = Σⱼ xⱼ events, but for log(n! / Πⱼ xⱼ!): in
        how many orders they can occur.  That term is the same in all classes, and counts in no
        probability of a class.

        Parameters
        ----------
        X : array, sparse matrix, data frame or Source, of shape (rows, columns)

        Returns
        -------
        array of shape (rows, classes)
        """
        return super().predict_joint_log_proba(X)

    def _log_likelihood(self, rows: Any) -> Array:
        return log_linear(rows, self.feature_log_prob_)

    def _log_likelihood_without(self, statistic: ClassSums, left: LeftOut) -> Array:
        """The row takes its counts from its own class, whose other events gain a share."""
        out, alpha = self._log_likelihood(left.X), smoothing(self)
        cells, counts = OwnCells(left), statistic.sums
        remaining = np.maximum(cells.own(counts) - cells.weight * cells.x, 0.0)
        events = counts.sum(axis=1)[left.codes] - left.weight * cells.added(cells.x)
        total = np.maximum(events, 0.0) + alpha.sum()
        with np.errstate(divide="ignore", invalid="ignore"):
            log_total = cells.of_rows(np.log(total))
            logs = np.log(remaining + alpha[cells.columns]) - log_total
        logs = np.where(log_total > -np.inf, logs, -np.log(len(alpha)))
        with np.errstate(invalid="ignore"):
            own = cells.added(np.where(cells.x > 0, cells.x * logs, 0.0))
        out[np.arange(len(own)), left.codes] = own
        return out
