"""Naive Bayes of columns of different kinds.

    log p(x, y = k) = log πₖ + Σⱼ log pⱼ(xⱼ | y = k)

Given the class, columns are independent, whatever their distributions: so the log-likelihoods
of the kinds add up, each learned as the model of that kind does.  All their statistics come from
one pass, side by side.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import clone

from suffice.fitting.certificate import Certificate
from suffice.fitting.column_kinds import categorical_columns, with_named
from suffice.fitting.files.registry import register
from suffice.fitting.one_pass import Solved
from suffice.generative.bernoulli_nb import BernoulliNB
from suffice.generative.categorical_nb import CategoricalNB
from suffice.generative.gaussian_nb import GaussianNB
from suffice.generative.leave_one_out.rows import LeftOut
from suffice.generative.multinomial_nb import MultinomialNB
from suffice.generative.naive_bayes.base import NaiveBayes
from suffice.generative.naive_bayes.column_kinds import (
    KINDS,
    columns_of,
    kinds_of_columns,
    refuse_text,
)
from suffice.generative.naive_bayes.counts import present_rows
from suffice.generative.poisson_nb import PoissonNB
from suffice.numerics.double_double import Array
from suffice.sources import Block, Source
from suffice.statistics.moments.full import Precision
from suffice.statistics.side_by_side import SideBySide

register(SideBySide)

MODELS: dict[str, type[NaiveBayes]] = {
    "gaussian": GaussianNB,
    "categorical": CategoricalNB,
    "bernoulli": BernoulliNB,
    "multinomial": MultinomialNB,
    "poisson": PoissonNB,
}
"""The model of each kind of column."""

NOT_OF_PARTS = {"fit_prior", "class_prior", "unlabelled", "max_iter", "tol"}
"""Parameters that concern the classes, not the columns."""


class MixedNB(NaiveBayes):
    """Naive Bayes for numbers, categories and counts side by side.

    Parameters
    ----------
    kinds : mapping or sequence, optional
        What columns are: "gaussian", "categorical", "bernoulli", "multinomial" or "poisson".
        By name or number of a column; or one for each column, None for that of its type.
        By type, text, categories and booleans are categorical, and numbers Gaussian.
    categorical : sequence, optional
        Names or numbers of columns that hold categories whatever their type, or a boolean for
        each column; `kinds` has the last word.
    alpha : float, default=1.0
        Pseudo-counts of categories and events: see `CategoricalNB`, `BernoulliNB`,
        `MultinomialNB` and `PoissonNB`.
    beta : float, default=1.0
        Pseudo-rows of `PoissonNB`.
    force_alpha : bool, default=True
        Whether α below 1e-10 stays what it is; if not, it becomes 1e-10.
    min_categories : int or array of shape (columns,), optional
        Least number of categories of categorical columns.
    binarize : float or None, default=0.0
        Above it, a column of kind "bernoulli" is on.
    var_smoothing : float, default=1e-9
        Share of the largest variance of a Gaussian column that is added to all variances.
    tied_variance : bool, default=False
        Whether the classes share one variance a Gaussian column.
    fit_prior : bool, default=True
        Whether the classes' probabilities are learned; if not, all are the same.
    class_prior : array of shape (classes,), optional
        Probabilities of the classes, in the labels' order, instead of learned ones.
    prior_alpha : float, default=0
        How many rows each class is counted beyond its own, in its probability.
    unlabelled : label, optional
        Marks rows whose class is not known; NaN marks missing labels.  They are learned from
        by EM.  By default there are none.
    max_iter : int, default=100
        Most steps of EM.
    tol : float, default=1e-6
        Relative change of the log posterior at which EM stops.
    exact : bool, default=False
        Keep the moments of Gaussian columns in double-double from the start.
    n_jobs : int, optional
        Threads; by default what `suffice.config` says.

    Attributes
    ----------
    classes_ : array of shape (classes,)
        The labels, sorted.
    class_count_ : array of shape (classes,)
        Weight of the rows of each class.
    class_log_prior_ : array of shape (classes,)
    kinds_ : list of str
        The kind of each column.
    parts_ : dict of str to model
        For each kind that occurs, the model of its columns.
    statistics_ : SideBySide
    certificate_ : Certificate
    trace_ : Trace

    Examples
    --------
    >>> import pandas as pd
    >>> from suffice import MixedNB
    >>> cars = pd.DataFrame({"fuel": ["gas", "gas", "oil", "oil"], "litres": [1.4, 1.6, 2.0, 2.4]})
    >>> model = MixedNB().fit(cars, ["city", "city", "road", "road"])
    >>> model.kinds_
    ['categorical', 'gaussian']
    >>> model.predict(pd.DataFrame({"fuel": ["oil", None], "litres": [2.1, 1.5]})).tolist()
    ['road', 'city']
    >>> model.parts_["gaussian"].theta_.ravel().tolist()
    [1.5, 2.2]
    """

    _takes_text = True
    _statistic_parameters = ("kinds", "categorical", "binarize")
    _saved_private = ("_kinds", "_threshold")
    _kinds: tuple[str, ...]
    """The kind of each column, from the first rows on."""
    _threshold: float | None
    """`binarize` of the first rows: those that follow are counted with it."""
    parts_: dict[str, Any]

    def __init__(
        self,
        kinds: Mapping[Any, str] | Sequence[str | None] | None = None,
        *,
        categorical: Sequence[Any] | None = None,
        alpha: float = 1.0,
        beta: float = 1.0,
        force_alpha: bool = True,
        min_categories: ArrayLike | None = None,
        binarize: float | None = 0.0,
        var_smoothing: float = 1e-9,
        tied_variance: bool = False,
        fit_prior: bool = True,
        class_prior: ArrayLike | None = None,
        prior_alpha: float = 0,
        unlabelled: Any = None,
        max_iter: int = 100,
        tol: float = 1e-6,
        exact: bool = False,
        n_jobs: int | None = None,
    ) -> None:
        self.kinds = kinds
        self.categorical = categorical
        self.alpha = alpha
        self.beta = beta
        self.force_alpha = force_alpha
        self.min_categories = min_categories
        self.binarize = binarize
        self.var_smoothing = var_smoothing
        self.tied_variance = tied_variance
        self.fit_prior = fit_prior
        self.class_prior = class_prior
        self.prior_alpha = prior_alpha
        self.unlabelled = unlabelled
        self.max_iter = max_iter
        self.tol = tol
        self.exact = exact
        self.n_jobs = n_jobs

    # --- which column is what ---------------------------------------------------------------

    def _training_source(self, X: Any, y: Any, sample_weight: Any, reset: bool = True) -> Source:
        source = super()._training_source(X, y, sample_weight, reset)
        if reset:
            categorical = categorical_columns(source, X)
            if not isinstance(X, Source):
                # For those who read the same rows again: numbers of a frame may be categories.
                source.categorical = categorical  # type: ignore[attr-defined]
            categorical = with_named(categorical, self.categorical, self._names())
            self._kinds = kinds_of_columns(self.kinds, categorical, self._names())
            self._threshold = self.binarize
            refuse_text(source, self._kinds)
        return source

    def _names(self) -> list[str] | None:
        names = getattr(self, "feature_names_in_", None)
        return None if names is None else names.tolist()

    def _cells(self, rows: Any, kind: str) -> Any:
        """The columns of a kind."""
        return columns_of(rows, self._columns(kind), kind, self._names())

    def _columns(self, kind: str) -> list[int]:
        """Which columns are of a kind."""
        return [j for j, one in enumerate(self._kinds) if one == kind]

    def _present(self) -> list[str]:
        """The kinds that occur, in the order of their statistics."""
        return [kind for kind in KINDS if kind in self._kinds]

    def _part(self, kind: str) -> Any:
        """An unfitted model of the columns of a kind."""
        columns = self._columns(kind)
        ours = {**self.get_params(deep=False), "binarize": self._threshold}
        if kind == "categorical":
            least = least_categories(self.min_categories, columns, len(self._kinds))
            ours["min_categories"] = least
        cls = MODELS[kind]
        shared = (set(cls._get_param_names()) & set(ours)) - NOT_OF_PARTS
        part: Any = cls(**{name: ours[name] for name in shared})
        part.n_features_in_ = len(columns)
        return part

    def _log_prior_density(self) -> float:
        return float(sum(part._log_prior_density() for part in self.parts_.values()))

    def _join(self, models: Sequence[Self]) -> None:
        super()._join(models)
        for other in models[1:]:
            if self._kinds != other._kinds:
                raise ValueError(
                    f"cannot merge models whose columns are {list(self._kinds)} and "
                    f"{list(other._kinds)}: fit both with the same kinds"
                )
        for kind, part in models[0].parts_.items():
            clone(part)._join([model.parts_[kind] for model in models])

    # --- fitting ----------------------------------------------------------------------------

    def _has_moments(self) -> bool:
        return "gaussian" in self._kinds

    def _summarize(self, block: Block, precision: Precision) -> SideBySide:
        block = present_rows(block)
        parts = []
        for kind in self._present():
            mine = Block(self._cells(block.X, kind), block.y, block.weight, block.start)
            try:
                parts.append(self._part(kind)._summarize(mine, precision))
            except ValueError as error:
                if len(self._present()) == 1:
                    raise
                names = self._names() or range(len(self._kinds))
                those = [names[j] for j in self._columns(kind)]
                raise ValueError(f"{error} (counted among the {kind} columns {those})") from None
        return SideBySide(tuple(parts))

    def _solve_columns(self, statistic: SideBySide) -> Solved:
        self.kinds_, self.parts_ = list(self._kinds), {}
        objective = 0.0
        for kind, one in zip(self._present(), statistic.parts, strict=True):
            part = self._part(kind)
            part.classes_, part.class_count_ = self.classes_, self.class_count_
            part._set_prior(self.class_count_, np.exp(self.class_log_prior_))
            part.certificate_, value, _ = part._solve_columns(one)
            objective += value
            self.parts_[kind] = part
        proved = {kind: part.certificate_ for kind, part in self.parts_.items()}
        return Solved(proved_together(proved), objective)

    def _categorical(self) -> Sequence[int]:
        return self._columns("categorical")

    def _check_loaded(self) -> None:
        if "parts_" not in vars(self):
            return
        kinds = vars(self).get("_kinds")
        if not isinstance(kinds, tuple) or len(kinds) != self.n_features_in_:
            raise ValueError("its kinds do not fit its columns")
        if not isinstance(vars(self).get("_threshold", ""), float | int | None):
            raise ValueError("it does not say above which value a column is on")
        if list(self.parts_) != self._present() or any(
            type(part) is not MODELS[kind]
            or part.n_features_in_ != len(self._columns(kind))
            or part.classes_.tolist() != self.classes_.tolist()
            for kind, part in self.parts_.items()
        ):
            raise ValueError("its parts do not fit its kinds")

    # --- predicting -------------------------------------------------------------------------

    def _log_likelihood(self, rows: Any) -> Array:
        parts = self.parts_.items()
        first, *others = (part._log_likelihood(self._cells(rows, k)) for k, part in parts)
        return sum(others, first)

    def _noise_of_cells(self, rows: Any) -> Any:
        parts = self.parts_.items()
        return sum(part._noise_of_cells(self._cells(rows, kind)) for kind, part in parts)

    @property
    def _values(self) -> Any:
        parts = vars(self).get("parts_", {})
        return parts["categorical"]._values if "categorical" in parts else ()

    def _log_likelihood_without(self, statistic: SideBySide, left: LeftOut) -> Array:
        out = []
        for (kind, part), one in zip(self.parts_.items(), statistic.parts, strict=True):
            mine = left._replace(X=self._cells(left.X, kind))
            out.append(part._log_likelihood_without(one, mine))
        return sum(out[1:], out[0])


def least_categories(given: Any, columns: Sequence[int], n_columns: int) -> Any:
    """Of some of all columns the least numbers of categories, as `CategoricalNB` takes them.

    Parameters
    ----------
    given : int, array of shape (n_columns,), or None
        For all columns.
    columns : sequence of int
    n_columns : int
    """
    least = np.asarray(given)
    if least.ndim == 0:
        return given
    if least.shape != (n_columns,):
        raise ValueError(
            f"'min_categories' should have shape ({n_columns},) when an array-like is "
            f"provided. Got {least.shape} instead."
        )
    return least[list(columns)]


def proved_together(parts: Mapping[str, Certificate]) -> Certificate:
    """What is proved about all parts, from what is about that of each kind."""
    found = parts.values()
    return Certificate(
        all(one.holds for one in found),
        "; ".join(f"{kind}: {one.claim}" for kind, one in parts.items()),
        "; ".join(dict.fromkeys(one.path for one in found)),
        {"digits": min(one.digits for one in found)},
        tuple(f"{kind}: {note}" for kind, one in parts.items() for note in one.notes),
    )
