"""A mixture of Gaussians, fitted by expectation-maximisation.

    p(x) = Σ_c π_c N(x; μ_c, Σ_c)

EM climbs the log-likelihood Σ w log p(x) by turns (`suffice.fitting.em`):

    E   r_c(x) = π_c N(x; μ_c, Σ_c) / p(x)
    M   N_c = Σ w r_c,   π_c = N_c/W,   μ_c = Σ w r_c x / N_c,
        Σ_c = Σ w r_c (x − μ_c)(x − μ_c)ᵀ / N_c,   with the new means

One pass makes both.  Σ_c may be full, shared by all components ("tied"), diagonal, or a multiple of
the identity ("spherical").  Hard EM gives each row to the likeliest component, and climbs the
classification likelihood; with unit covariances and equal weights held it is k-means.

Missing cells are integrated out.  Rows may have labels: these tell their component.  `reg_covar`
is added to the variances, which keeps a component from collapsing onto a row; a prior
(`suffice.bayes.NormalInverseWishart`) does it in a way that has an objective.

References: Dempster, Laird and Rubin (1977); McLachlan and Peel, "Finite mixture models" (2000).
"""

from __future__ import annotations

from collections.abc import Collection, Generator
from dataclasses import replace
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.utils._param_validation import Interval, StrOptions

from suffice.bayes.normal_inverse_wishart import NormalInverseWishart
from suffice.fitting.density import DensityModel
from suffice.fitting.requests import Pass, Request, needed
from suffice.mixtures.base import LabelFunction, MixtureModel
from suffice.mixtures.gaussian.components import GaussianComponents
from suffice.mixtures.gaussian.given import given_factor, given_means, given_weights
from suffice.mixtures.gaussian.maximisation import factored, log_prior, maximised
from suffice.mixtures.gaussian.starts import RowSummary, column_moments, first_moments, table_of
from suffice.sources import Source

Floats = NDArray[np.float64]

STARTS = {"kmeans", "k-means++", "random", "random_from_data", "total_covariance"}


class GaussianMixture(DensityModel, MixtureModel):
    """A density that is a sum of GaussianComponents, and the groups of rows that it makes.

    Parameters
    ----------
    n_components : int, default=1
    covariance_type : {"full", "tied", "diag", "spherical"}, default="full"
    tol : float, default=1e-3
        Change of the mean log-likelihood at which EM stops.
    reg_covar : float, default=1e-6
        Added to the variances.  With 0, or with a prior in its place, EM climbs its objective in
        every step, and the certificate proves it.
    max_iter : int, default=100
    n_init : int, default=1
        Starts; the best end is kept.  All of them share their readings of the rows.
    init_params : {"kmeans", "k-means++", "random", "random_from_data", "total_covariance"}, \
default="kmeans"
        Where EM starts; see `suffice.mixtures.gaussian.starts`.
    weights_init, means_init, precisions_init : arrays, optional
        Given starts, of shapes (components,), (components, columns), and that of `precisions_`.
    random_state : int, RandomState instance or None, default=None
    warm_start : bool, default=False
        Whether the next `fit` starts from where this one ended.
    verbose, verbose_interval : int
        Accepted for compatibility.
    em : {"soft", "hard"}, default="soft"
    prior : NormalInverseWishart, optional
        Of each mean and covariance: the maximum of the posterior is found.
    weights_prior : float or DirichletCategorical, optional
        α of the Dirichlet prior of the weights, at least 1.
    hold : tuple of {"weights", "means", "covariances"}, default=()
        What stays as it starts.
    unlabelled : label, optional
        What marks a row without a label in `y`; NaN stands for None too.  Without it `y` is
        ignored.  Component i is that of the i-th label, `classes_[i]`.
    n_jobs : int, optional
        Threads; by default what `suffice.config` says.  No number of them changes a bit.

    Attributes
    ----------
    weights_, means_, covariances_, precisions_, precisions_cholesky_ : arrays
    converged_ : bool
    n_iter_ : int
    lower_bound_, lower_bounds_ : float, list of float
        The mean log-likelihood that the last step began with, and that of every step.
    classes_ : array
        Labels of the first components, where rows have labels.
    certificate_ : Certificate
        Whether the objective never fell, and what the last step changed.
    trace_ : Trace

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from suffice import GaussianMixture
    >>> X = load_iris().data
    >>> model = GaussianMixture(3, random_state=0).fit(X)
    >>> model.means_.shape, round(model.score(X), 2)
    ((3, 4), -1.2)
    >>> float(model.predict_proba(X[:1]).round(3).max())
    1.0
    """

    means_: Floats
    covariances_: Floats

    _path = "moments in the coordinates of each component"
    _remedy = "give reg_covar, a prior, or fewer components"
    _can_be_held = frozenset({"weights", "means", "covariances"})
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **MixtureModel._parameter_constraints,
        "covariance_type": [StrOptions({"full", "tied", "diag", "spherical"})],
        "reg_covar": [Interval(Real, 0.0, None, closed="left")],
        "init_params": [StrOptions(STARTS)],
        "weights_init": ["array-like", None],
        "means_init": ["array-like", None],
        "precisions_init": ["array-like", None],
        "warm_start": ["boolean"],
        "verbose": ["verbose"],
        "verbose_interval": [Interval(Integral, 1, None, closed="left")],
        "prior": [NormalInverseWishart, None],
    }

    def __init__(
        self,
        n_components: int = 1,
        *,
        covariance_type: str = "full",
        tol: float = 1e-3,
        reg_covar: float = 1e-6,
        max_iter: int = 100,
        n_init: int = 1,
        init_params: str = "kmeans",
        weights_init: Any = None,
        means_init: Any = None,
        precisions_init: Any = None,
        random_state: Any = None,
        warm_start: bool = False,
        verbose: int = 0,
        verbose_interval: int = 10,
        em: str = "soft",
        prior: NormalInverseWishart | None = None,
        weights_prior: Any = None,
        hold: Collection[str] = (),
        unlabelled: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.n_components = n_components
        self.covariance_type = covariance_type
        self.tol = tol
        self.reg_covar = reg_covar
        self.max_iter = max_iter
        self.n_init = n_init
        self.init_params = init_params
        self.weights_init = weights_init
        self.means_init = means_init
        self.precisions_init = precisions_init
        self.random_state = random_state
        self.warm_start = warm_start
        self.verbose = verbose
        self.verbose_interval = verbose_interval
        self.em = em
        self.prior = prior
        self.weights_prior = weights_prior
        self.hold = hold
        self.unlabelled = unlabelled
        self.n_jobs = n_jobs

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags

    # --- fitting --------------------------------------------------------------------------

    def _has_prior(self) -> bool:
        return self.prior is not None or super()._has_prior()

    def _climbs(self) -> tuple[bool, str]:
        return self.reg_covar == 0, (
            f"reg_covar={self.reg_covar:g} is added to the variances: what is climbed is none of "
            "the likelihoods exactly; with reg_covar=0, or a prior in its place, it is"
        )

    def _log_prior(self, components: GaussianComponents, weights: Floats) -> float:
        of_weights = super()._log_prior(components, weights)
        return of_weights + (0.0 if self.prior is None else log_prior(components, self.prior))

    def _maximised(
        self, components: GaussianComponents, statistic: Any
    ) -> tuple[GaussianComponents, float]:
        return maximised(components, statistic, self.prior, self.reg_covar, self._held())

    def _starts(
        self, source: Source, seeds: list[int], label: LabelFunction, n_classes: int
    ) -> Generator[Request, Any, tuple[list[tuple[GaussianComponents, Floats]], float]]:
        found = yield from needed(Pass("columns", column_moments))
        table = table_of(found)
        if table.has_gaps and self.em == "hard":
            raise ValueError(
                "em='hard' has no place for missing cells: what is expected of them is soft; use "
                "em='soft', or fill them"
            )
        if self.prior is not None and (np.ndim(self.prior.kappa) or np.ndim(self.prior.nu)):
            raise ValueError("the prior is one for all components: give single kappa and nu")
        if table.count < self.n_components:
            raise ValueError(
                f"n_samples={table.count} should be >= n_components={self.n_components}"
            )
        if self.prior is not None and self.prior.columns != source.n_columns:
            raise ValueError(
                f"the prior is of {self.prior.columns} columns, the rows have {source.n_columns}"
            )
        starts: list[tuple[GaussianComponents, Floats]] = []
        for seed in seeds:
            start = yield from self._start(source, table, seed, label, n_classes)
            starts.append(start)
        return starts, table.total

    def _start(
        self, source: Source, table: RowSummary, seed: int, label: LabelFunction, n_classes: int
    ) -> Generator[Request, Any, tuple[GaussianComponents, Floats]]:
        kind, k, d = self.covariance_type, self.n_components, source.n_columns
        if self.warm_start and "means_" in vars(self):
            return self._warm(table)
        weights = given_weights(self.weights_init, k)
        means = given_means(self.means_init, k, d)
        factor = given_factor(self.precisions_init, kind, k, d)
        if weights is None or means is None or factor is None:
            start, moments = yield from first_moments(
                source, table, self.init_params, kind, k, seed, label, n_classes
            )
            if means is not None:
                start = replace(start, means=means)
            found, _ = maximised(start, moments, self.prior, self.reg_covar)
            counts = moments.weight + 10 * np.finfo(np.float64).eps
            weights = counts / counts.sum() if weights is None else weights
            means = found.means if means is None else means
            factor = found.factor if factor is None else factor
        return table.components(kind, means, factor), weights

    def _warm(self, table: RowSummary) -> tuple[GaussianComponents, Floats]:
        k, kind = self.n_components, self.covariance_type
        if self.means_.shape != (k, len(table.centre)):
            raise ValueError("warm_start goes on with the same number of components and columns")
        factor = factored(self.covariances_, kind)
        return table.components(kind, self.means_, factor), self.weights_

    def _attributes(self, components: GaussianComponents) -> dict[str, Any]:
        inverse = components.inverse
        precisions = np.square(inverse)
        if components.kind in ("full", "tied"):
            precisions = np.swapaxes(inverse, -1, -2) @ inverse
            inverse = np.swapaxes(inverse, -1, -2)
        return {
            "means_": components.means,
            "covariances_": components.covariances(),
            "precisions_": precisions,
            "precisions_cholesky_": inverse,
        }

    # --- what is learned ------------------------------------------------------------------

    def _components(self) -> GaussianComponents:
        kind = self.covariance_type
        factor = factored(self.covariances_, kind)
        centre = self.means_.mean(axis=0)
        return GaussianComponents(kind, self.means_, factor, centre, np.zeros_like(centre))

    def _component_parameters(self) -> int:
        k, d = self.means_.shape
        whole = d * (d + 1) // 2
        shapes = {"full": k * whole, "tied": whole, "diag": k * d, "spherical": k}
        return k * d + shapes[self.covariance_type]

    def _drawn(self, component: int, n: int, rng: Any) -> Floats:
        return self._components().sample(component, n, rng)
