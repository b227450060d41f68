"""What all naive Bayes models share: the classes, their prior, leaving one row out.

    p(x, y = k) = πₖ Πⱼ p(xⱼ | y = k),      πₖ = (nₖ + a) / (n + K a)

with nₖ the weight of class k, n that of all K classes, and a = `prior_alpha`.  Given the class,
columns are independent; so a missing cell is integrated out by leaving its factor away, in a
fit as in a prediction.

**What a model provides** on top of `NaiveBayes`, about its columns alone:

* constructor parameters of those in `suffice.generative.naive_bayes.parameters`;
* `_summarize(block, precision)`, a statistic of the rows by class.  It takes the classes from
  `self._labels(block)` and the weights from `block.weight`: a row whose class is known by
  probabilities alone is summarised once for each class, with a part of its weight.  Besides
  `merge` and `subtract`, a statistic has sorted `labels`, the `rows` and the `weight` of each
  class, the `count` of all rows, a `precision`, and `placed(labels)`, the same among more classes;
  a class whose last row is taken away is gone;
* `_solve_columns(statistic)`: from a statistic whose labels are `self.classes_` (some may be
  without rows) sets what is learned about the columns, and returns a certificate with the
  objective −Σ w log p(x | y), to which the prior's part is added here;
* `_log_likelihood(rows)`: log p(x | y = k) for an array or CSR matrix of rows, of
  shape (rows, classes);
* `_log_likelihood_without(statistic, left)`: the same for each row under the model without
  that row; see `suffice.generative.leave_one_out.rows`;
* `_log_prior_density()`: log p(θ) of the smoothing, for EM over unlabelled rows.

So a model of columns of several kinds is made of models of one kind each (`MixedNB`).

The prior is kept as `class_log_prior_`, unless `_set_prior` and `_log_prior` say otherwise.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence
from functools import partial
from inspect import signature
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import issparse

from suffice.bayes import DirichletCategorical
from suffice.engines.passes import map_rows
from suffice.fitting.all_or_nothing import all_or_nothing
from suffice.fitting.classification import Classifier
from suffice.fitting.em import EM_STEP
from suffice.fitting.one_pass import OnePass, Solved
from suffice.fitting.requests import Passes
from suffice.fitting.text_columns import (
    any_large,
    is_table,
    text_queries,
    text_source,
    unless_rounded,
)
from suffice.fitting.unlabelled import are_unlabelled, with_filled
from suffice.generative.base import (
    leave_one_out_of_block,
    leaves_one_out,
    refuse_undeclared,
)
from suffice.generative.leave_one_out.rows import LeftOut, left_out, log_priors_without
from suffice.generative.naive_bayes.parameters import ACCEPTED, OF_ROWS
from suffice.generative.naive_bayes.priors import given_priors
from suffice.generative.naive_bayes.unlabelled_rows import GuessedLabels
from suffice.numerics.double_double import Array
from suffice.numerics.log_posterior import log_posterior
from suffice.sources import Block, Source, as_source
from suffice.sources.base import block_rows
from suffice.sources.derived.long_blocks import with_long_blocks
from suffice.sources.memory.sparse import canonical_csr
from suffice.statistics.counts.labels import coded, united
from suffice.statistics.moments.full import NOTHING, Precision


class NaiveBayes(Classifier, OnePass):
    """Base of the naive Bayes models; the module's text says what a model provides.

    Attributes
    ----------
    classes_ : array of shape (classes,)
        The labels, sorted.
    class_count_ : array of shape (classes,)
        Weight of the rows of each class.
    class_log_prior_ : array of shape (classes,)
    n_iter_ : int
        Steps of EM; 1 where every row is labelled.
    """

    unlabelled: Any
    max_iter: int
    tol: float
    prior_alpha: float
    fit_prior: bool = True
    """Whether the prior is learned; where it is not, nor given, it is the same for all classes."""

    class_count_: Array
    class_log_prior_: Array

    _saved_private: ClassVar[tuple[str, ...]] = ("_declared_classes",)
    _declared_classes: NDArray[Any] | None = None
    """Labels that `partial_fit` was told to expect."""

    _shapes = "class_count_(classes) class_prior_(classes) class_log_prior_(classes)"
    _follows_scaling = False

    _leaves_one_out = leaves_one_out
    _leave_one_out_of_block = leave_one_out_of_block

    _holds: ClassVar[str] = "numbers"
    """What columns hold; of "counts" and of "on or off", most may be zeros that are not stored."""

    _has_likelihood: ClassVar[bool] = True
    """Whether a fit is the maximum of a likelihood, and so EM climbs."""

    _values: Any = ()
    """What is learned of categorical columns: the values of each."""

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        names = signature(cls).parameters
        known = {**ACCEPTED, **OF_ROWS, **vars(cls).get("_parameter_constraints", {})}
        cls._parameter_constraints = {name: known[name] for name in names if name in known}
        cls._refit_parameters = tuple(name for name in names if name in ACCEPTED)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.positive_only = self._holds == "counts"
        tags.input_tags.sparse = self._holds in ("counts", "on or off")
        tags.classifier_tags.poor_score = tags.input_tags.sparse
        tags.input_tags.categorical = tags.input_tags.string = self._takes_text
        return tags

    # --- what a model provides ------------------------------------------------------------

    @abstractmethod
    def _solve_columns(self, statistic: Any) -> Solved:
        """Set what is learned about the columns; return what was proved, and the objective."""

    @abstractmethod
    def _log_likelihood(self, rows: Any) -> Array:
        """log p(x | y = k), over the cells that are there: shape (rows, classes)."""

    @abstractmethod
    def _log_likelihood_without(self, statistic: Any, left: LeftOut) -> Array:
        """log p(x | y = k) of each row, under the statistic without that row."""

    def _log_prior_density(self) -> float:
        """log p(θ) of what is learned about the columns, up to a constant: of its pseudo-counts."""
        return 0.0

    def _noise_of_cells(self, rows: Any) -> Any:
        """What is added to log p(x | y = k) so that a fit is the maximum of the likelihood."""
        return 0.0

    def _has_moments(self) -> bool:
        """Whether the statistic has two precisions: counts have but one."""
        return False

    def _categorical(self) -> Sequence[int]:
        """The columns whose values must not be mistaken for each other."""
        return range(self.n_features_in_)

    def _given_prior(self, n_classes: int) -> Array | None:
        """Probabilities of the classes that are fixed from the start; None if there are none."""
        given = getattr(self, "class_prior", None)
        return None if given is None else given_priors(given, n_classes)

    def _set_prior(self, count: Array, given: Array | None) -> None:
        """Keep the prior of classes of these weights."""
        with np.errstate(divide="ignore"):
            if given is not None:
                self.class_log_prior_ = np.log(given)
            else:
                count = self._smoothed(count) if self.fit_prior else np.ones(len(count))
                self.class_log_prior_ = np.log(count) - np.log(count.sum())

    def _smoothed(self, count: Array) -> Array:
        """The weights of the classes, with the pseudo-counts of their Dirichlet prior."""
        return DirichletCategorical(self.prior_alpha).given(count).alpha

    def _log_prior(self) -> Array:
        return self.class_log_prior_

    # --- fitting --------------------------------------------------------------------------

    def _training_source(self, X: Any, y: Any, sample_weight: Any, reset: bool = True) -> Source:
        text = self._takes_text and is_table(X) and 0 not in getattr(X, "shape", ())
        check = partial(text_source, self) if text else super()._training_source
        found = None if isinstance(X, Source) else with_filled(y, self.unlabelled)
        source: Any = check(X, y if found is None else found[0], sample_weight, reset)
        self._take_target_names(source, y, reset)
        if found is not None:
            source.y = found[1]
        return source

    def _labels(self, block: Block) -> NDArray[Any]:
        labels = super()._labels(block)
        if are_unlabelled(labels, self.unlabelled).any():
            raise ValueError(
                "unlabelled rows can be learned from in a fit alone: it has to go over all rows "
                "again and again"
            )
        return labels

    def _passes(self, source: Source) -> Passes:
        self._declared_classes = self.__dict__.pop("_expected_classes", None)
        self.n_iter_ = 1
        if self.unlabelled is None:
            return (yield from super()._passes(source))
        self.__dict__.pop("statistics_", None)
        precisions: tuple[Precision, ...] = ("float64", "double-double")
        for precision in precisions[self._always_exact(source) :]:
            found = yield from GuessedLabels(self, precision).passes()
            if found is not None:
                return found
        raise RuntimeError(f"{type(self).__name__} was not solved, not even in double-double")

    def _joins_folds(self, source: Source) -> bool:
        return self.unlabelled is None

    def _kept(self) -> Any:
        if EM_STEP in self.trace_.step:
            raise ValueError(
                f"{type(self).__name__} was fitted to unlabelled rows too, whose classes it "
                "guessed from all rows: it cannot be updated, merged or refitted, nor forget; fit "
                "it again"
            )
        return super()._kept()

    def _pass(self, source: Source, summarize: Callable[[Block], Any]) -> Any:
        if self._takes_text:
            summarize = unless_rounded(source, self._categorical(), summarize)
        return super()._pass(with_long_blocks(source), summarize)

    @property
    def _cheap_exact(self) -> tuple[int, int]:  # type: ignore[override]
        return (1 << 16, 1 << 10) if self._has_moments() else (0, 0)

    def _solve(self, statistic: Any, final: bool) -> Solved | None:
        if not statistic.count:
            raise ValueError(NOTHING)
        statistic = self._with_declared(statistic)
        self.classes_ = statistic.labels
        count = self.class_count_ = statistic.weight.round()
        self._set_prior(count, self._given_prior(len(count)))
        certificate, objective, _ = self._solve_columns(statistic)
        there = count > 0
        solved = Solved(certificate, objective - float(count[there] @ self._log_prior()[there]))
        return solved.if_enough_digits(statistic.precision, final or not self._has_moments())

    def _with_declared(self, statistic: Any) -> Any:
        """The statistic with the classes that `partial_fit` was told to expect."""
        declared = self._declared_classes
        if declared is None:
            return statistic
        refuse_undeclared(statistic.labels, declared)
        return statistic.placed(united([declared, statistic.labels]))

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
            else:
                known = self.classes_ if self._declared_classes is None else self._declared_classes
                if not np.array_equal(labels, known):
                    raise ValueError(
                        f"`classes={labels.tolist()}` is not the same as on last call to "
                        f"partial_fit, was: {known.tolist()}"
                    )
        return self.update(X, y, sample_weight)

    def _join(self, models: Any) -> None:
        declared = [m._declared_classes for m in models if m._declared_classes is not None]
        known = [m.classes_ for m in models]
        self._declared_classes = united([*declared, *known]) if declared else None

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

    def _apply(self, X: Any, function: Callable[[Any], NDArray[Any]]) -> NDArray[Any]:
        def by_blocks(rows: Any) -> NDArray[Any]:
            if issparse(rows):
                # As in a fit, entries of the same cell are added up, in a copy.
                return function(canonical_csr(rows))
            plain = isinstance(rows, np.ndarray) and rows.dtype.kind in "biuf"
            if not plain or len(rows) <= block_rows(rows.shape[1]):
                return function(rows)
            return map_rows(as_source(rows), lambda block: function(block.X), self._n_jobs())

        if self._takes_text and is_table(X):
            return by_blocks(text_queries(self, X))
        if isinstance(X, Source) and any_large(self._values):
            return super()._apply(X, unless_rounded(X, self._categorical(), by_blocks))
        return super()._apply(X, by_blocks)

    def _predicted(self, rows: Any) -> NDArray[Any]:
        return self.classes_[np.argmax(self._joint(rows), axis=1)]

    def _log_probabilities(self, rows: Any) -> Array:
        return log_posterior(self._joint(rows))

    def _joint(self, rows: Any) -> Array:
        joint = self._log_likelihood(rows)
        joint += self._log_prior()
        return joint

    # --- leaving out ----------------------------------------------------------------------

    def _leave_one_out(self, block: Block) -> NDArray[np.float64]:
        statistic = self._with_declared(self.statistics_)
        left = left_out(statistic, block)
        prior = self._prior_without(statistic, left)
        likelihood = self._log_likelihood_without(statistic, left)
        # A class that is gone has no likelihood.
        return np.where(np.isneginf(prior), -np.inf, prior + likelihood)

    def _prior_without(self, statistic: Any, left: LeftOut) -> Array:
        """log πₖ without each row: shape (rows, classes)."""
        given = self._given_prior(len(statistic.labels))
        smoothing = self.prior_alpha if self.fit_prior else np.inf
        return log_priors_without(statistic, left, given, smoothing)
