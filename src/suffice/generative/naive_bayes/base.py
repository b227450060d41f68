"""What all naive Bayes models share: the classes, their prior, leaving one row out.

    p(x, y = k) = πₖ Πⱼ p(xⱼ | y = k),      πₖ = (nₖ + a) / (n + K a)

with nₖ the weight of class k, n that of all K classes, and a = `prior_alpha`.  Given the class,
columns are independent; so a missing cell is integrated out by leaving its factor away, in a
fit as in a prediction.

**What a model provides** on top of `NaiveBayes`:

* constructor parameters, among them `prior_alpha` and `n_jobs`; and either `fit_prior` and
  `class_prior`, as scikit-learn's discrete models have them, or a `_given_prior` of its own;
* `_summarize(block, precision)`, a statistic of the rows by class, see `ClassStatistic`.  It takes
  the classes from `self._labels(block)` and the weights from `block.weight`: a row whose class is
  known by probabilities alone is summarised once for each class, with a part of its weight;
* `_solve_columns(statistic)`: from a statistic whose labels are `self.classes_` (some may be
  without rows) sets what is learned about the columns, and returns a certificate with the
  objective −Σ w log p(x | y), to which the prior's part is added here;
* `_log_likelihood(rows)`: log p(x | y = k) for an array or CSR matrix of rows, of
  shape (rows, classes);
* `_log_likelihood_without(statistic, left)`: the same for each row under the model without
  that row; see `suffice.generative.leave_one_out.rows`;
* `_log_prior_density()`: log p(θ) of the smoothing, and the parameters `unlabelled`, `max_iter`
  and `tol`, for `suffice.generative.naive_bayes.unlabelled_rows`.

The prior is kept as `class_log_prior_`, unless `_set_prior` and `_log_prior` say otherwise.
"""

from __future__ import annotations

import copy
from abc import abstractmethod
from collections.abc import Callable
from typing import Any, ClassVar, Protocol, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import issparse

from suffice.bayes import DirichletCategorical
from suffice.engines.passes import map_rows
from suffice.fitting.one_pass import Solved
from suffice.fitting.requests import Passes
from suffice.fitting.transaction import all_or_nothing
from suffice.generative.base import refuse_undeclared
from suffice.generative.leave_one_out.rows import LeftOut, left_out, log_priors_without
from suffice.generative.naive_bayes.priors import given_priors
from suffice.generative.naive_bayes.unlabelled_rows import SemiSupervised
from suffice.numerics.double_double import Array, DoubleDouble
from suffice.sources import Block, Source, as_source
from suffice.sources.base import block_rows
from suffice.sources.derived.long_blocks import with_long_blocks
from suffice.sources.memory.sparse import canonical_csr
from suffice.statistics.counts.labels import coded, united
from suffice.statistics.moments.full import NOTHING, Precision


class ClassStatistic(Protocol):
    """What the statistic of a naive Bayes model has, whatever it knows about the columns.

    Besides `merge` and `subtract`: sorted labels, the rows and the weight of each class, and
    `placed`, the same among more classes.  A class whose last row is taken away is gone.
    """

    @property
    def labels(self) -> NDArray[Any]: ...
    @property
    def rows(self) -> NDArray[np.int64]: ...
    @property
    def weight(self) -> DoubleDouble: ...
    @property
    def count(self) -> int: ...
    @property
    def precision(self) -> Precision: ...
    def placed(self, labels: NDArray[Any]) -> Self: ...


class NaiveBayes(SemiSupervised):
    """Base of the naive Bayes models; the module's text says what a model provides.

    Attributes
    ----------
    classes_ : array of shape (classes,)
        The labels, sorted.
    class_count_ : array of shape (classes,)
        Weight of the rows of each class.
    class_log_prior_ : array of shape (classes,)
    """

    prior_alpha: float
    fit_prior: bool = True
    """Whether the prior is learned; where it is not, nor given, it is the same for all classes."""

    class_count_: Array
    class_log_prior_: Array

    _saved_private: ClassVar[tuple[str, ...]] = ("_declared_classes",)
    _declared_classes: NDArray[Any] | None = None
    """Labels that `partial_fit` was told to expect."""

    _shapes = "class_count_(classes) class_prior_(classes) class_log_prior_(classes)"

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
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

    def _passes(self, source: Source) -> Passes:
        self._declared_classes = self.__dict__.pop("_expected_classes", None)
        return super()._passes(source)

    def _pass(self, source: Source, summarize: Callable[[Block], Any]) -> Any:
        return super()._pass(with_long_blocks(source), summarize)

    def _solve(self, statistic: Any, final: bool) -> Solved | None:
        if not statistic.count:
            raise ValueError(NOTHING)
        statistic = self._with_declared(statistic)
        self.classes_ = statistic.labels
        count = self.class_count_ = statistic.weight.round()
        self._set_prior(count, self._given_prior(len(count)))
        certificate, objective, _ = self._solve_columns(statistic)
        there = count > 0
        return Solved(certificate, objective - float(count[there] @ self._log_prior()[there]))

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

    def _adopt_private(self, models: Any) -> None:
        declared = [m._declared_classes for m in models if m._declared_classes is not None]
        self._declared_classes = None
        if declared:
            known = [m.classes_ for m in models]
            self._declared_classes = united([*declared, *known])

    def _summarised_by(self) -> dict[str, Any]:
        """What decided what was summarised, as it was then, by the name of the parameter."""
        return {}

    def _check_alike(self, other: Self) -> None:
        # What is set after a fit must not hide that the statistics count different things.
        theirs = other._summarised_by()
        for name, ours in self._summarised_by().items():
            if ours != theirs[name]:
                raise ValueError(
                    f"cannot merge models fitted with {name}={ours!r} and "
                    f"{name}={theirs[name]!r}: fit both with one"
                )

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

        return super()._apply(X, by_blocks)

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

    def _likelihood_by_refit(self, statistic: Any, left: LeftOut, row: int) -> Array:
        """log p(x | y = k) of one row under the statistic without it, without any shortcut."""
        model, at = copy.copy(self), slice(row, row + 1)
        gone = Block(left.X[at], statistic.labels[left.codes[at]], left.weight[at], row)
        rest = statistic.subtract(self._summarize(gone, statistic.precision))
        model._solve_columns(rest.placed(statistic.labels))
        return model._log_likelihood(left.X[at])[0]
