"""Categorical naive Bayes.

    p(x, y = k) = πₖ Πⱼ p(xⱼ | y = k),      p(xⱼ = v | y = k) = (Nₖⱼᵥ + α) / (nₖⱼ + Kⱼ α)

The counts of each value in each class and column are sufficient: N counts the rows of class k
that hold v in column j, n those that hold any value there, K is the number of categories.
The smoothing is the mean of the posterior of a Dirichlet prior that has seen each category α times.

Categories are whatever a column holds: text, booleans, numbers of any type.  What no row of
the fit held has N = 0; see `suffice.generative.naive_bayes.categories` for K, for unknown values
and for α = 0.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from suffice.fitting.certificate import ENOUGH_DIGITS, Certificate, digits_within, rounded_down
from suffice.fitting.files.registry import register
from suffice.fitting.one_pass import Solved
from suffice.fitting.requests import Passes
from suffice.generative.leave_one_out.categories import log_likelihood_without
from suffice.generative.leave_one_out.rows import LeftOut
from suffice.generative.naive_bayes.base import NaiveBayes
from suffice.generative.naive_bayes.categories import (
    entries,
    is_coded,
    log_likelihood,
    shares_of,
    unknown,
)
from suffice.generative.naive_bayes.parameters import pseudo_counts
from suffice.numerics.double_double import UNIT, Array
from suffice.sources import Block, Source
from suffice.statistics.counts.values_by_class import ClassValueCounts
from suffice.statistics.moments.full import Precision

register(ClassValueCounts)

MOST_CELLS = 1 << 27
"""Classes times categories that `min_categories` may ask for."""


class CategoricalNB(NaiveBayes):
    """Naive Bayes whose columns hold categories.

    Parameters
    ----------
    alpha : float, default=1.0
        Smoothing: how often each category is counted beyond its rows; 0 for none.
    force_alpha : bool, default=True
        Whether α below 1e-10 stays what it is; if not, it becomes 1e-10.
    fit_prior : bool, default=True
        Whether the classes' probabilities are learned; if not, all are the same.
    class_prior : array of shape (classes,), optional
        Probabilities of the classes, in the labels' order, instead of learned ones.
    min_categories : int or array of shape (columns,), optional
        Least number of categories of each column.  The tables of all classes and categories
        that it asks for may hold 2²⁷ numbers, which are a gibibyte.
    prior_alpha : float, default=0
        How many rows each class is counted beyond its own, in its probability.
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
    n_categories_ : int64 array of shape (columns,)
        Of a column of whole numbers from 0 to at most 65,535 the largest plus one, of any
        other column the values that occur; at least `min_categories`.
    categories_ : list of arrays
        The categories of each column, in order; booleans as 0 and 1.
    category_count_ : list of arrays of shape (classes, n_categories)
        Weight of the rows of each class that hold each category.
    feature_log_prob_ : list of arrays of shape (classes, n_categories)
        log p(x = category | class).
    statistics_ : ClassValueCounts
    certificate_ : Certificate
    trace_ : Trace

    Examples
    --------
    >>> from suffice import CategoricalNB
    >>> rows = [["sunny", True], ["rain", True], ["rain", False], ["snow", False]]
    >>> model = CategoricalNB().fit(rows, ["out", "in", "in", "in"])
    >>> model.predict([["sunny", True], ["hail", False], [None, False]]).tolist()
    ['out', 'in', 'in']
    >>> model.categories_[0].tolist(), model.category_count_[0].tolist()
    (['rain', 'snow', 'sunny'], [[2.0, 1.0, 0.0], [0.0, 0.0, 1.0]])
    """

    _takes_text = True
    _saved_private = ("_entries", "_values")
    _values: tuple[NDArray[Any], ...]
    """The values of each column that rows of the fit held."""
    _entries: Array
    """Their log-shares, and those of an unknown value in each column."""

    def __init__(
        self,
        *,
        alpha: float = 1.0,
        force_alpha: bool = True,
        fit_prior: bool = True,
        class_prior: ArrayLike | None = None,
        min_categories: ArrayLike | None = None,
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
        self.min_categories = min_categories
        self.prior_alpha = prior_alpha
        self.unlabelled = unlabelled
        self.max_iter = max_iter
        self.tol = tol
        self.n_jobs = n_jobs

    # --- fitting --------------------------------------------------------------------------

    def _summarize(self, block: Block, precision: Precision) -> ClassValueCounts:
        return ClassValueCounts.summarize(block.X, self._labels(block), block.weight)

    def _passes(self, source: Source) -> Passes:
        self._least(source.n_columns)  # what it refuses, it refuses before the rows are read
        return super()._passes(source)

    def _solve_columns(self, counts: ClassValueCounts) -> Solved:
        least = self._least(len(counts.values), len(counts.labels))
        shares, alpha = shares_of(counts, least), self._smoothing()
        self._values, self._entries = counts.values, entries(shares, alpha)
        self.n_categories_ = shares.size
        strange = unknown(shares, alpha)
        strange = np.where(alpha == 0, -np.inf, strange)
        self.categories_, self.category_count_, self.feature_log_prob_ = [], [], []
        for j, values in enumerate(counts.values):
            size, cells = int(shares.size[j]), slice(*shares.first[j : j + 2])
            coded = is_coded(values)
            at = values if coded else np.arange(len(values))
            self.categories_.append(np.arange(size) if coded else values.copy())
            count, logs = np.zeros((len(counts.labels), size)), np.repeat(strange[:, [j]], size, 1)
            count[:, at], logs[:, at] = shares.held[:, cells], self._entries[cells].T
            self.category_count_.append(count)
            self.feature_log_prob_.append(logs)
        there = shares.held > 0
        objective = -float(shares.held[there] @ self._entries[: there.shape[1]].T[there])
        return Solved(self._certificate(counts), objective)

    def _smoothing(self) -> float:
        return float(pseudo_counts("alpha", self.alpha, 1, self.force_alpha)[0])

    def _log_prior_density(self) -> float:
        alpha = self._smoothing()
        return alpha * sum(float(logs.sum()) for logs in self.feature_log_prob_) if alpha else 0.0

    def _least(self, n_columns: int, n_classes: int = 1) -> NDArray[np.int64]:
        """The least number of categories of each column, if tables of them can be kept."""
        if self.min_categories is None:
            return np.zeros(n_columns, np.int64)
        least = np.asarray(self.min_categories)
        if not np.issubdtype(least.dtype, np.signedinteger):
            raise ValueError(
                f"'min_categories' should have integral type. Got {least.dtype} instead."
            )
        if least.shape not in ((), (n_columns,)):
            raise ValueError(
                f"'min_categories' should have shape ({n_columns},) when an array-like is "
                f"provided. Got {least.shape} instead."
            )
        each = np.broadcast_to(least, (n_columns,)).astype(np.int64)
        if n_classes * float(np.maximum(each, 0).sum(dtype=np.float64)) > MOST_CELLS:
            raise ValueError(
                f"'min_categories' asks for up to {each.max()} categories in each of {n_columns} "
                f"columns and {n_classes} classes; accepted are {MOST_CELLS} in all: lower it"
            )
        return each

    def _certificate(self, counts: ClassValueCounts) -> Certificate:
        digits = digits_within(counts.error(self._smoothing()) + 4 * UNIT)
        empty = sum(len(values) == 0 for values in counts.values)
        notes = [f"{empty} columns have no value: they say nothing about the class"][
            : min(empty, 1)
        ]
        if digits < ENOUGH_DIGITS:
            notes.append(
                "too many digits were lost when rows were taken away: fit again on the rows that "
                "stay"
            )
        return Certificate(
            digits >= ENOUGH_DIGITS,
            f"the share of each category in each class, to {rounded_down(digits)} digits or more",
            "counts of classes and categories",
            {"digits": digits},
            tuple(notes),
        )

    def _check_loaded(self) -> None:
        if "_entries" not in vars(self):
            return
        values: Any = self._values
        fits = isinstance(values, tuple) and len(values) == self.n_features_in_
        if not fits or not all(
            isinstance(v, np.ndarray) and v.ndim == 1 and v.dtype.kind in "iufO" for v in values
        ):
            raise ValueError("its categories do not fit its columns")
        shape = (sum(map(len, values)) + len(values), len(self.classes_))
        if self._entries.shape != shape or self._entries.dtype != np.float64:
            raise ValueError("its shares do not fit its classes and categories")

    # --- predicting -----------------------------------------------------------------------

    def _log_likelihood(self, rows: Any) -> Array:
        return log_likelihood(rows, self._values, self._entries)

    def _log_likelihood_without(self, counts: ClassValueCounts, left: LeftOut) -> Array:
        least = self._least(len(counts.values))
        return log_likelihood_without(counts, left, self._smoothing(), least)
