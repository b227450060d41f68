"""Bernoulli naive Bayes: columns that are on or off.

    log p(x | y = k) = Σⱼ xⱼ log θₖⱼ + (1 − xⱼ) log(1 − θₖⱼ),      θₖⱼ = (Nₖⱼ + αⱼ) / (Wₖⱼ + 2αⱼ)

with Nₖⱼ the weight of the rows of class k in which column j is on, and Wₖⱼ that of those in which
it is known: the class sums are sufficient.  θₖⱼ is the mean of its posterior under a
Beta(α, α) prior; α = 1 is Laplace's smoothing.

A missing cell (NaN) leaves its factor away, in a fit as in a prediction.  Where nothing is known
about a column in a class, not even by α, the class is given the θ of all classes; where nothing
is known in any, the column says nothing.

Reference: McCallum and Nigam, "A comparison of event models for naive Bayes text
classification" (1998).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse import issparse
from scipy.special import xlogy

from suffice.bayes import BetaBernoulli
from suffice.fitting.one_pass import Solved
from suffice.fitting.requests import Passes
from suffice.generative.leave_one_out.counts import log_likelihood_without
from suffice.generative.leave_one_out.rows import LeftOut
from suffice.generative.naive_bayes.base import NaiveBayes
from suffice.generative.naive_bayes.counts import (
    certified,
    present_rows,
    summed,
    weighed,
    with_borrowed,
)
from suffice.generative.naive_bayes.log_linear import log_linear
from suffice.generative.naive_bayes.parameters import ONE_A_COLUMN, smoothing
from suffice.numerics.double_double import Array
from suffice.sources import Block, Source
from suffice.sources.memory.sparse import csr_on
from suffice.statistics.counts.sums_by_class import ClassSums
from suffice.statistics.moments.full import Precision


class BernoulliNB(NaiveBayes):
    """Naive Bayes for columns that are on or off.

    Parameters
    ----------
    alpha : float or array of shape (columns,), default=1.0
        Pseudo-rows in which a column is on, and as many in which it is off.
    force_alpha : bool, default=True
        Whether to keep `alpha` below 1e-10 as it is; else it is raised to that.
    binarize : float or None, default=0.0
        A column is on where its value is above this.  None takes the values as they are:
        numbers from 0 to 1.
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
        N: weight of the rows of each class in which a column is on.
    feature_log_prob_, absent_log_prob_ : arrays of shape (classes, columns)
        log θ and log(1 − θ).
    statistics_ : ClassSums
    certificate_ : Certificate
    trace_ : Trace

    Examples
    --------
    >>> import numpy as np
    >>> from suffice import BernoulliNB
    >>> words = np.array([[1, 1, 0], [1, 0, 0], [0, 1, 1]])
    >>> model = BernoulliNB(prior_alpha=1).fit(words, ["ham", "ham", "spam"])
    >>> np.exp(model.feature_log_prob_).round(3), np.exp(model.class_log_prior_)
    (array([[0.75 , 0.5  , 0.25 ],
           [0.333, 0.667, 0.667]]), array([0.6, 0.4]))
    >>> model.predict_proba([[0.0, 1.0, np.nan]]).round(3)  # the third word is not known
    array([[0.297, 0.703]])
    """

    _parameter_constraints = {"alpha": ONE_A_COLUMN}
    _holds = "on or off"
    _statistic_parameters = ("binarize",)
    _saved_private = ("_threshold",)
    _threshold: float | None
    """`binarize` as it was when the rows were summarised."""
    _shapes = (
        "feature_count_(classes, columns) feature_log_prob_(classes, columns) "
        "absent_log_prob_(classes, columns)"
    )

    def __init__(
        self,
        *,
        alpha: float | ArrayLike = 1.0,
        force_alpha: bool = True,
        binarize: float | None = 0.0,
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
        self.binarize = binarize
        self.fit_prior = fit_prior
        self.class_prior = class_prior
        self.prior_alpha = prior_alpha
        self.unlabelled = unlabelled
        self.max_iter = max_iter
        self.tol = tol
        self.n_jobs = n_jobs

    def _log_prior_density(self) -> float:
        logs = self.feature_log_prob_ + self.absent_log_prob_
        return weighed(smoothing(self), logs)

    def _passes(self, source: Source) -> Passes:
        self._threshold = self.binarize
        return super()._passes(source)

    def _join(self, models: Sequence[Self]) -> None:
        super()._join(models)
        ours = self._threshold = models[0]._learned_threshold
        for theirs in (other._learned_threshold for other in models[1:]):
            if ours != theirs:
                raise ValueError(
                    f"cannot merge models fitted with binarize={ours!r} and binarize={theirs!r}: "
                    "fit both with one"
                )

    @property
    def _learned_threshold(self) -> float | None:
        # What is set after a fit must not change what was learned.
        return vars(self).get("_threshold", self.binarize)

    def _on_or_off(self, rows: Any) -> Any:
        return on_or_off(rows, self._learned_threshold)

    def _summarize(self, block: Block, precision: Precision) -> ClassSums:
        block = present_rows(block)
        return summed(self, block, self._on_or_off(block.X))

    def _solve_columns(self, statistic: ClassSums) -> Solved:
        alpha = smoothing(self)
        counts, weight = with_borrowed(statistic, alpha)
        dust = dust_of(statistic)
        own = weight == statistic.cell_weight
        off = difference(weight, counts, np.where(own, dust, dust.sum(axis=0)))
        posterior = BetaBernoulli(alpha, alpha).given(counts, off)
        self.feature_count_ = statistic.sums.copy()
        self.feature_log_prob_, self.absent_log_prob_ = _logs(posterior.alpha, posterior.beta)
        # What is off has the errors of both; where it is no more than these, it is none.
        known = np.where(off > 0, posterior.beta, np.inf)
        proved = certified(
            "the log-probabilities",
            statistic,
            (posterior.alpha, statistic.error),
            (known, statistic.error),
            (known, statistic.weight_error),
        )
        on = weighed(counts, self.feature_log_prob_)
        return Solved(proved, -on - weighed(off, self.absent_log_prob_))

    def _log_likelihood(self, rows: Any) -> Array:
        slope = self.feature_log_prob_ - self.absent_log_prob_
        return log_linear(self._on_or_off(rows), slope, self.absent_log_prob_)

    def _log_likelihood_without(self, statistic: ClassSums, left: LeftOut) -> Array:
        alpha, dust = smoothing(self), dust_of(statistic)

        def log_factor(on: Array, weight: Array, x: Any, places: Any) -> Array:
            off, j = difference(weight, on, dust[places]), places[1]
            logs = xlogy(x, on + alpha[j]) + xlogy(1 - x, off + alpha[j])
            return np.asarray(logs - np.log(weight + 2 * alpha[j]))

        cells = self._on_or_off(left.X)
        return log_likelihood_without(self, statistic, left, log_factor, alpha, cells)


def on_or_off(X: Any, threshold: float | None) -> Any:
    """1 where a value is above the threshold, 0 where not, NaN where it is missing."""
    if threshold is None:
        _check_shares(X.data if issparse(X) else X)
        return X
    if issparse(X):
        return csr_on(on_or_off(X.data, threshold), X.indices, X.indptr, X.shape)
    made = np.greater(X, threshold, out=np.empty(X.shape))
    if X.dtype.kind == "f":
        finite = np.isfinite(X)
        if not finite.all():
            made[~finite] = np.abs(X[~finite])  # infinity must not pass for a number
    return made


def dust_of(statistic: ClassSums) -> Array:
    """Errors of the sums, by class and column: differences of weights up to them are none.

    The bound on a sum has room for the rounding of the weight next to it.
    """
    return np.broadcast_to(statistic.error + statistic.weight_error, statistic.sums.shape)


def difference(weight: Array, on: Array, dust: Array) -> Array:
    """The weight of the rows in which a column is off."""
    off = weight - on
    return np.where(off > dust, off, 0.0)


def _check_shares(values: Any) -> None:
    if values.dtype.kind != "b" and ((values < 0) | (values > 1)).any():
        raise ValueError(
            "with binarize=None all values must be from 0 to 1: give a threshold, above which a "
            "column is on"
        )


def _logs(alpha: Array, beta: Array) -> tuple[Array, Array]:
    """log θ and log(1 − θ); 0 and 0 where nothing is known, so that the column says nothing."""
    total = alpha + beta
    if not total.all():
        alpha, beta, total = (np.where(total > 0, one, 1.0) for one in (alpha, beta, total))
    with np.errstate(divide="ignore"):
        log_total = np.log(total)
        return np.log(alpha) - log_total, np.log(beta) - log_total
