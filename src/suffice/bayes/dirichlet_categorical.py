"""Dirichlet and categorical: the probabilities of a die.

    p ~ Dirichlet(α₁, …, α_K),      y | p ~ Categorical(p)

    posterior   Dirichlet(α + counts)
    mean        αⱼ / α₀,      α₀ = Σ αⱼ
    predictive  the categorical distribution with these shares

This is additive smoothing: αⱼ = λ for every category gives (count + λ) / (rows + K λ), and λ = 1 is
Laplace's.  α = 0 smooths nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from numbers import Integral
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.special import betaincinv

from suffice.bayes.beta_bernoulli import log_shares_evidence, modes, shortest_shares
from suffice.bayes.checks import ANY, numbers, shown
from suffice.bayes.conjugate import Conjugate, Interval
from suffice.bayes.predictive import CategoricalShares
from suffice.bayes.priors.shares import smoothed_share
from suffice.bayes.statistics import CategoryCounts, stacked_sums, summed
from suffice.families import Categorical, Dirichlet, SufficientSums
from suffice.families.sampling import number_of_draws
from suffice.numerics.double_double import Array
from suffice.numerics.newton_dirichlet import log_shares, sum_of_others


class DirichletCategorical(Conjugate):
    """The probabilities of categories, learned from counts.

    Parameters
    ----------
    alpha : float or array of shape (…, categories), default=1.0
        Pseudo-counts, not negative.  One number is the same for every category.
    categories : int or sequence of labels, optional
        How many categories there are, or what they are called; by default as many as `alpha`
        or the counts have along their last axis.

    Attributes
    ----------
    alpha : array of shape (…, categories)
        The same with the rows' counts.

    Notes
    -----
    The statistic is an array of counts of shape (…, categories), or the `SufficientSums` of
    `suffice.families.Categorical`.

    Examples
    --------
    >>> import numpy as np
    >>> from suffice.bayes import DirichletCategorical
    >>> counts = np.array([[3, 0, 1], [0, 0, 0]])       # a row a class
    >>> (DirichletCategorical(1.0) + counts).mean().round(4)
    array([[0.5714, 0.1429, 0.2857],
           [0.3333, 0.3333, 0.3333]])
    >>> weather = DirichletCategorical(0.5, categories=["dry", "rain", "snow"])
    >>> weather.posterior(["dry", "rain", "dry"]).mean().round(4)
    array([0.5556, 0.3333, 0.1111])
    """

    def __init__(self, alpha: Any = 1.0, categories: int | Sequence[Any] | None = None) -> None:
        values = numbers("alpha", alpha, 0.0)
        size = None if values.ndim == 0 else values.shape[-1]
        if categories is not None:
            self._family: Categorical | None = _of_categories(categories)
            known = self._family.dimension
            if size not in (None, known):
                raise ValueError(f"alpha has {size} categories along its last axis, not {known}")
            values = np.broadcast_to(values, (*values.shape[:-1], known))
        else:
            self._family = None if size is None else Categorical(size)
        self._begin(CategoryCounts(values))

    @classmethod
    def flat(cls, categories: int | Sequence[Any] | None = None) -> Self:
        """The uniform prior, under which `map` is the maximum of the likelihood."""
        return cls(1.0, categories)

    @property
    def alpha(self) -> Array:
        """α of shape (…, categories); one number as long as the categories are not known."""
        alpha: Array = self._both.counts
        return alpha

    @property
    def _known(self) -> Array:
        if self.alpha.ndim == 0:
            raise ValueError(
                "the number of categories is not known yet: give categories=, or alpha or counts "
                "of shape (…, categories)"
            )
        return self.alpha

    @property
    def is_proper(self) -> NDArray[np.bool_]:
        return np.asarray((self.alpha > 0).all(axis=-1))

    def mean(self) -> Array:
        """αⱼ / α₀, of shape (…, categories); NaN where all αⱼ are 0."""
        alpha = self._known
        return smoothed_share(0.0, 0.0, alpha, alpha.sum(axis=-1, keepdims=True))

    def log_mean(self) -> Array:
        """log(αⱼ / α₀), to the last digits also of shares near 1; −∞ where αⱼ is 0."""
        with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
            return log_shares(self._known)

    def map(self) -> Array:
        """(αⱼ − 1) / (α₀ − K).

        Raises
        ------
        ValueError
            Where there is no single mode: if an αⱼ is below 1, or all are 1.
        """
        return modes(self._known, self)

    def variance(self) -> Array:
        """The variance of each share, of shape (…, categories)."""
        alpha = self._known
        total = alpha.sum(axis=-1, keepdims=True)
        with np.errstate(invalid="ignore"):
            return np.asarray(alpha / total * (sum_of_others(alpha) / total) / (total + 1.0))

    def quantile(self, q: Any) -> Array:
        """Quantiles of each share by itself, which is Beta(αⱼ, α₀ − αⱼ); 1 of a single category."""
        alpha, q = self._known, self._asked(q)
        if alpha.shape[-1] == 1:
            return np.ones(np.broadcast_shapes(alpha.shape, q.shape))
        return np.asarray(betaincinv(alpha, sum_of_others(alpha), q))

    def _shortest(self, level: float) -> Interval:
        if self._known.shape[-1] == 1:
            return self.interval(level)
        return shortest_shares(self, self._known, sum_of_others(self._known), level)

    def log_density(self, value: Any) -> Any:
        self._require_proper("no density")
        return Dirichlet(self._known.shape[-1]).log_density(value, self._known)

    def sample(self, n: int, random_state: Any = None) -> Array:
        self._require_proper("no draws")
        alpha, n = self._known, number_of_draws(n)
        if alpha.shape[-1] == 1:
            return np.ones((n, *alpha.shape))
        return Dirichlet(alpha.shape[-1]).sample(alpha, (n, *alpha.shape[:-1]), random_state)

    def predictive(self) -> CategoricalShares:
        """The next category."""
        self._require_proper("no predictive distribution")
        family = self._family or Categorical(self._known.shape[-1])
        return CategoricalShares(family, self.mean(), self.log_mean())

    def given(self, counts: Any) -> Self:
        """What is known once these counts were seen, too: `prior + counts`."""
        return self + counts

    def summarize(self, data: Any, sample_weight: Any = None) -> CategoryCounts:
        if self._family is None:
            raise ValueError(
                "which categories are there? Give categories=, or alpha of shape (…, categories); "
                "of counts in an array the posterior is `prior + counts`"
            )
        sums = summed(self._family, data, sample_weight)
        return CategoryCounts(stacked_sums(sums, "total").round())

    def _is_statistic(self, data: Any) -> bool:
        return isinstance(data, SufficientSums | CategoryCounts)

    def _as_statistic(self, value: Any) -> CategoryCounts:
        if isinstance(value, SufficientSums):
            value = value.total.round()
            if (value < 0).any():
                raise ValueError("these are not the sums of categories")
        counts = (
            value.counts
            if isinstance(value, CategoryCounts)
            else numbers("counts", value, 0.0, most=ANY)
        )
        known = None if self.alpha.ndim == 0 else self.alpha.shape[-1]
        if counts.ndim == 0 or known not in (None, counts.shape[-1]):
            size = "categories" if known is None else known
            raise ValueError(f"counts have shape {counts.shape}; accepted is (…, {size})")
        return CategoryCounts(counts)

    def _same_prior(self, other: Self) -> bool:
        mine, others = self._family, other._family
        same_names = mine is None or others is None or mine.categories == others.categories
        return super()._same_prior(other) and same_names

    def _log_evidence(self, prior: CategoryCounts, rows: CategoryCounts) -> Array:
        return log_shares_evidence(prior.counts, rows.counts)

    def __repr__(self) -> str:
        few = self.alpha.ndim < 2 and self.alpha.size <= 8
        return f"DirichletCategorical(alpha={self.alpha.tolist() if few else shown(self.alpha)})"


def _of_categories(categories: Any) -> Categorical:
    """The family of a number of categories, or of labels in some order."""
    if isinstance(categories, bool) or not isinstance(categories, Integral | Iterable):
        raise ValueError(
            f"categories is {categories!r}; accepted are their number, or labels that differ"
        )
    if isinstance(categories, Integral):
        return Categorical(int(categories))
    return Categorical(categories if isinstance(categories, str) else list(categories))
