"""Complement naive Bayes: each class is judged by the rows of all others.

    score(k) = −Σⱼ xⱼ log θₖⱼ,      θₖⱼ = (N̄ₖⱼ + αⱼ) / Σⱼ (N̄ₖⱼ + αⱼ),      N̄ₖⱼ = Σ over c ≠ k of N꜀ⱼ

with N꜀ⱼ the sum of column j over the rows of class c: the class sums are sufficient.  A class of
few rows thus has the parameters of many, and classes of unequal size compete on equal terms.
With `norm` the weights log θₖ are divided by their sum, which takes out how long the rows are.
The prior of the classes plays no part, but for a single class.

The scores take the place of log p(x, y): what comes of them as "probabilities" ranks classes.
A missing cell (NaN) leaves its term away, as a count of 0 does.

Reference: Rennie, Shih, Teevan and Karger, "Tackling the poor assumptions of naive Bayes text
classifiers" (2003).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from suffice.bayes import DirichletCategorical
from suffice.fitting.one_pass import Solved
from suffice.generative.leave_one_out.counts import OwnCells, by_refit
from suffice.generative.leave_one_out.rows import LeftOut, log_priors_without
from suffice.generative.naive_bayes.base import NaiveBayes
from suffice.generative.naive_bayes.counts import (
    certified,
    log_shares,
    of_others,
    summed,
    weighed,
)
from suffice.generative.naive_bayes.log_linear import log_linear
from suffice.generative.naive_bayes.parameters import ONE_A_COLUMN, smoothing
from suffice.numerics.double_double import UNIT, Array
from suffice.sources import Block
from suffice.statistics.counts.sums_by_class import ClassSums
from suffice.statistics.moments.full import Precision


class ComplementNB(NaiveBayes):
    """Naive Bayes for counts that compares each class with all others.

    Parameters
    ----------
    alpha : float or array of shape (columns,), default=1.0
        Pseudo-counts that are added to those of each complement.
    force_alpha : bool, default=True
        Whether to keep `alpha` below 1e-10 as it is; else it is raised to that.
    fit_prior : bool, default=True
        As for `MultinomialNB`; it matters only where there is a single class.
    class_prior : array of shape (classes,), optional
        As for `MultinomialNB`, likewise.
    norm : bool, default=False
        Whether to divide the weights of each class by their sum.
    prior_alpha : float, default=0
        As for `MultinomialNB`, likewise.
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
    feature_all_ : array of shape (columns,)
        The same over all rows.
    feature_log_prob_ : array of shape (classes, columns)
        Weights: −log θ, or log θ over the sum of these where `norm` is set.
    statistics_ : ClassSums
    certificate_ : Certificate
    trace_ : Trace

    Examples
    --------
    >>> import numpy as np
    >>> from suffice import ComplementNB
    >>> words = np.array([[2, 1, 0], [1, 2, 0], [0, 1, 3]])
    >>> model = ComplementNB().fit(words, ["ham", "ham", "spam"])
    >>> model.feature_log_prob_.round(3)
    array([[1.946, 1.253, 0.56 ],
           [0.811, 0.811, 2.197]])
    >>> model.predict([[0, 0, 1]]).tolist()
    ['spam']
    """

    _parameter_constraints = {"alpha": ONE_A_COLUMN}
    _holds = "counts"
    _has_likelihood = False
    _shapes = "feature_count_(classes, columns) feature_log_prob_(classes, columns)"

    def __init__(
        self,
        *,
        alpha: float | ArrayLike = 1.0,
        force_alpha: bool = True,
        fit_prior: bool = True,
        class_prior: ArrayLike | None = None,
        norm: bool = False,
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
        self.norm = norm
        self.prior_alpha = prior_alpha
        self.unlabelled = unlabelled
        self.max_iter = max_iter
        self.tol = tol
        self.n_jobs = n_jobs

    def _summarize(self, block: Block, precision: Precision) -> ClassSums:
        return summed(self, block, block.X)

    def _solve_columns(self, statistic: ClassSums) -> Solved:
        counts = statistic.sums
        total = counts.sum(axis=0, keepdims=True)
        others = total - counts if statistic.is_exact else of_others(counts)
        posterior = DirichletCategorical(smoothing(self)).given(others).alpha
        self.feature_count_, self.feature_all_ = counts.copy(), total[0]
        self.feature_log_prob_ = self._weights(log_shares(posterior))
        error = statistic.error
        if not statistic.is_exact:
            error = of_others(error) + len(counts) * UNIT * others
        proved = certified("the weights", statistic, (posterior, error))
        return Solved(proved, -weighed(counts, self.feature_log_prob_))

    def _weights(self, log_theta: Array) -> Array:
        if not self.norm:
            return -log_theta
        # As α goes to 0, events without a count in the complement take all, in equal shares.
        never = np.isneginf(log_theta)
        some = never.any(axis=1, keepdims=True)
        total = np.where(some, 1.0, np.where(never, 0.0, log_theta).sum(axis=1, keepdims=True))
        shares = never / np.maximum(never.sum(axis=1, keepdims=True), 1)
        return np.where(some, shares, log_theta / np.where(total != 0, total, 1.0))

    # --- predicting -----------------------------------------------------------------------

    def _log_likelihood(self, rows: Any) -> Array:
        if self.norm:
            return log_linear(rows, self.feature_log_prob_)
        return -log_linear(rows, -self.feature_log_prob_)

    def predict_joint_log_proba(self, X: Any) -> Array:
        """The scores of the classes, in the place of log p(x, y = k); see `ComplementNB`.

        No probability of rows is behind them, and the prior is in them only where there is a
        single class.

        Parameters
        ----------
        X : array, sparse matrix, data frame or Source, of shape (rows, columns)

        Returns
        -------
        array of shape (rows, classes)
        """
        return super().predict_joint_log_proba(X)

    def _joint(self, rows: Any) -> Array:
        scores = self._log_likelihood(rows)
        return scores + self.class_log_prior_ if len(self.classes_) == 1 else scores

    def _prior_without(self, statistic: ClassSums, left: LeftOut) -> Array:
        return log_priors_without(statistic, left, np.ones(len(statistic.labels)), 0.0)

    def _log_likelihood_without(self, statistic: ClassSums, left: LeftOut) -> Array:
        """The row takes its counts from the complements of all classes but its own."""
        out, alpha = self._log_likelihood(left.X), smoothing(self)
        if self.norm and not alpha.all():
            for row in range(len(out)):
                out[row] = by_refit(self, statistic, left, row)
            return out
        for k, complement in enumerate(of_others(statistic.sums)):
            rows = np.flatnonzero(left.codes != k)
            part = left.at(rows)
            out[rows, k] = self._score_without(complement, alpha, OwnCells(part), part.weight)
        return out

    def _score_without(
        self, complement: Array, alpha: Array, cells: OwnCells, weight: Array
    ) -> Array:
        """The scores of a class under its complement without each row."""
        x, j = cells.x, cells.columns
        events = cells.added(x)
        total = np.maximum(complement.sum() - weight * events, 0.0) + alpha.sum()
        with np.errstate(divide="ignore", invalid="ignore"):
            log_total = np.log(total)
            logs = np.log(np.maximum(complement[j] - cells.weight * x, 0.0) + alpha[j])
            terms = np.where(x > 0, x * (logs - cells.of_rows(log_total)), 0.0)
            scores = cells.added(terms)
            # Where no event is left in the complement, all are alike.
            scores = np.where(total > 0, scores, -events * np.log(len(alpha)))
            if not self.norm:
                return -scores
            before = np.log(complement + alpha)
            whole = before.sum() + cells.added(logs - before[j]) - len(alpha) * log_total
        # Of a single column θ is 1, and its logarithm has no share.
        return np.asarray(scores / np.where(whole != 0, whole, 1.0))
