"""A mixture of exponential families, fitted by expectation-maximisation.

    p(x) = Σ_c π_c Πⱼ p(xⱼ; η_cj),      p(y; η) = b(y) exp(η·T(y) − a(η))

Given the component, the columns of a row are independent, each a member of a family: coins,
counts, waiting times, categories, and several of these side by side.  EM climbs

    Σ w log p(x) + α Σ_cj (η_cj·τⱼ − a(η_cj))

by turns (`suffice.fitting.em`), τⱼ the mean of T(xⱼ) over all rows:

    E   r_c(x) = π_c Πⱼ p(xⱼ; η_cj) / p(x)
    M   π_c = Σ w r_c / W,   E[T(xⱼ)] = (Σ w r_c T(xⱼ) + α τⱼ) / (Σ w r_c + α)

The second term is a conjugate prior: α rows that look as all rows do.  It keeps components from
collapsing onto a row, and probabilities from 0.  A missing cell tells nothing: its column is left
out of the product and of the sums.

`suffice.mixtures.product` has densities and the M step.

References: McLachlan and Peel, "Finite mixture models" (2000); Lazarsfeld and Henry, "Latent
structure analysis" (1968), for categories.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Generator
from numbers import Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.utils._param_validation import Interval, StrOptions

from suffice.families import (
    Bernoulli,
    Beta,
    Categorical,
    Dirichlet,
    Exponential,
    Family,
    Gamma,
    Gaussian,
    GaussianKnownVariance,
    Poisson,
)
from suffice.fitting.density import DensityModel
from suffice.fitting.files.registry import register
from suffice.fitting.requests import Request
from suffice.fitting.text_columns import is_table, text_queries, text_source
from suffice.mixtures.base import LabelFunction, MixtureModel
from suffice.mixtures.product.components import Products
from suffice.mixtures.product.layout import NAMED, layout_of
from suffice.mixtures.product.maximisation import NoMaximum, maximised
from suffice.mixtures.product.parameters import drawn_rows, parameters_of, with_parameters
from suffice.mixtures.product.starts import (
    FIRST_ROWS,
    TableStatistic,
    first_sums,
    in_the_middle,
    table_statistic,
)
from suffice.sources import Source

Floats = NDArray[np.float64]

STARTS = {"kmeans", "k-means++", "random", "random_from_data"}

for _family in (
    Bernoulli, Beta, Categorical, Dirichlet, Exponential, Gamma, Gaussian, GaussianKnownVariance,
    Poisson,
):  # fmt: skip
    register(_family, f"{_family.__name__}Family")


class Mixture(DensityModel, MixtureModel):
    """A density that is a sum of products of distributions, and the groups of rows that it makes.

    Parameters
    ----------
    family : Family, str or list of these, default="gaussian"
        What the columns are: one family of `suffice.families` for all, a list with one for each
        column, or a family of vectors (`Dirichlet`) for the whole row.  Families without constants
        may be given by name: "bernoulli", "beta", "exponential", "gamma", "gaussian", "poisson".
        Columns of text are of `Categorical(labels)`.
    n_components : int, default=1
    tol : float, default=1e-3
        Change of the mean log-likelihood at which EM stops.
    max_iter : int, default=100
    alpha : float, default=1e-3
        Rows that the prior of each column and component counts for; they have the mean of T over
        all rows.  0 gives maximum likelihood.
    n_init : int, default=1
        Starts; the best end is kept.  All of them share their readings of the rows.
    init_params : {"kmeans", "k-means++", "random", "random_from_data"}, default="kmeans"
        Where EM starts; see `suffice.mixtures.product.starts`.
    weights_init : array of shape (components,), optional
    parameters_init : optional
        Given starts; parameters in the shape of `parameters_`.
    random_state : int, RandomState instance or None, default=None
    warm_start : bool, default=False
        Whether the next `fit` starts from where this one ended.
    em : {"soft", "hard"}, default="soft"
        Hard EM gives each row to its likeliest component, and climbs the classification likelihood.
    weights_prior : float or DirichletCategorical, optional
        α of the Dirichlet prior of the weights, at least 1.
    hold : tuple of {"weights"}, default=()
        What stays as it starts.
    unlabelled : label, optional
        What marks a row without a label in `y`; NaN stands for None too.  Without it `y` is
        ignored.  Component i is that of the i-th label, `classes_[i]`.
    n_jobs : int, optional
        Threads; by default what `suffice.config` says.  No number of them changes a bit.

    Attributes
    ----------
    weights_ : float64 array of shape (components,)
    parameters_ : dict, or list of dict
        The usual parameters of the family by name, in arrays of shape (components, columns);
        of probabilities (components, columns, categories).  With a list of families, a list with
        one dict for each column, of arrays of shape (components,).
    converged_ : bool
    n_iter_ : int
    lower_bound_, lower_bounds_ : float, list of float
        What EM climbs, for each row, when the last step began, and at every step.
    classes_ : array
        Labels of the first components, where rows have labels.
    certificate_ : Certificate
        Whether the objective never fell, and what the last step changed.
    trace_ : Trace

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from suffice import Mixture
    >>> X = load_digits().data > 7
    >>> model = Mixture("bernoulli", 10, random_state=0).fit(X)
    >>> model.parameters_["probability"].shape, model.certificate_.holds
    ((10, 64), True)
    """

    parameters_: Any

    _path = "the mean of T"
    _remedy = "raise alpha, or take fewer components"
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **MixtureModel._parameter_constraints,
        "family": [Family, StrOptions(set(NAMED)), list, tuple],
        "alpha": [Interval(Real, 0.0, None, closed="left")],
        "init_params": [StrOptions(STARTS)],
        "weights_init": ["array-like", None],
        "parameters_init": [dict, list, tuple, None],
        "warm_start": ["boolean"],
    }

    def __init__(
        self,
        family: Any = "gaussian",
        n_components: int = 1,
        *,
        tol: float = 1e-3,
        max_iter: int = 100,
        alpha: float = 1e-3,
        n_init: int = 1,
        init_params: str = "kmeans",
        weights_init: Any = None,
        parameters_init: Any = None,
        random_state: Any = None,
        warm_start: bool = False,
        em: str = "soft",
        weights_prior: Any = None,
        hold: Collection[str] = (),
        unlabelled: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.family = family
        self.n_components = n_components
        self.tol = tol
        self.max_iter = max_iter
        self.alpha = alpha
        self.n_init = n_init
        self.init_params = init_params
        self.weights_init = weights_init
        self.parameters_init = parameters_init
        self.random_state = random_state
        self.warm_start = warm_start
        self.em = em
        self.weights_prior = weights_prior
        self.hold = hold
        self.unlabelled = unlabelled
        self.n_jobs = n_jobs

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags

    # --- rows with text -------------------------------------------------------------------

    @property
    def _takes_text(self) -> bool:  # type: ignore[override]
        every = self.family if isinstance(self.family, list | tuple) else [self.family]
        return any(
            isinstance(label, str)
            for one in every
            if isinstance(one, Categorical) and not isinstance(one.categories, int)
            for label in one.categories
        )

    def _table_source(self, X: Any, y: Any, sample_weight: Any, reset: bool) -> Source:
        if self._takes_text and is_table(X):
            return text_source(self, X, y, sample_weight, reset)
        return super()._table_source(X, y, sample_weight, reset)

    def _apply(self, X: Any, function: Callable[[Any], NDArray[Any]]) -> NDArray[Any]:
        if self._takes_text and is_table(X):
            return function(text_queries(self, X))
        return super()._apply(X, function)

    # --- fitting --------------------------------------------------------------------------

    def _has_prior(self) -> bool:
        return self.alpha > 0 or super()._has_prior()

    def _log_prior(self, components: Products, weights: Floats) -> float:
        of_weights = super()._log_prior(components, weights)
        if self.alpha == 0:
            return of_weights
        return of_weights + self.alpha * components.log_density_of_mean()

    def _maximised(self, components: Products, statistic: Any) -> tuple[Products, float]:
        try:
            return maximised(components, statistic, self.alpha)
        except NoMaximum as error:
            column = components.layout.column_of_unit()[error.unit]
            raise ValueError(
                f"component {error.component} has no most likely distribution of column {column}: "
                f"{error}; give alpha > 0, or fewer components"
            ) from None

    def _starts(
        self, source: Source, seeds: list[int], label: LabelFunction, n_classes: int
    ) -> Generator[Request, Any, tuple[list[tuple[Products, Floats]], float]]:
        layout = layout_of(self.family, source.n_columns)
        table = yield from table_statistic(layout, source, self.n_components)
        starts: list[tuple[Products, Floats]] = []
        for seed in seeds:
            start = yield from self._start(source, table, seed, label, n_classes)
            starts.append(start)
        return starts, table.total

    def _start(
        self, source: Source, table: TableStatistic, seed: int, label: LabelFunction, n_classes: int
    ) -> Generator[Request, Any, tuple[Products, Floats]]:
        k = self.n_components
        weights, parameters = self._given_weights(), self.parameters_init
        if self.warm_start and "parameters_" in vars(self):
            weights, parameters = self.weights_, self.parameters_
        given = None if parameters is None else with_parameters(table.layout, parameters, k)
        if given is not None and weights is not None:
            return given, weights
        sums = yield from first_sums(source, table, self.init_params, k, seed, label, n_classes)
        if given is None:
            first = max(self.alpha, FIRST_ROWS)
            given, _ = maximised(in_the_middle(table, k), sums, first)
        if weights is None:
            counts = sums.weight + 10 * np.finfo(np.float64).eps
            weights = counts / counts.sum()
        return given, weights

    def _given_weights(self) -> Floats | None:
        if self.weights_init is None:
            return None
        weights = np.asarray(self.weights_init, np.float64)
        fine = weights.shape == (self.n_components,) and (weights >= 0).all()
        if not (fine and np.isclose(weights.sum(), 1.0)):
            raise ValueError(
                f"weights_init={self.weights_init!r}: accepted are {self.n_components} shares that "
                "sum to 1"
            )
        return weights

    def _attributes(self, components: Products) -> dict[str, Any]:
        return {"parameters_": parameters_of(components)}

    # --- what is learned ------------------------------------------------------------------

    def _components(self) -> Products:
        layout = layout_of(self.family, self.n_features_in_)
        return with_parameters(layout, self.parameters_, len(self.weights_), centred=True)

    def _component_parameters(self) -> int:
        layout = layout_of(self.family, self.n_features_in_)
        free = [
            group.units * (group.family.dimension - isinstance(group.family, Categorical))
            for group in layout.groups
        ]
        return len(self.weights_) * sum(free)

    def _drawn(self, component: int, n: int, rng: Any) -> NDArray[Any]:
        return drawn_rows(self._components(), component, n, rng)
