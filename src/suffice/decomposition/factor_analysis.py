"""Factor analysis.

    x = μ + Λᵀ z + ε,      z ~ N(0, I) of k factors,      ε ~ N(0, Ψ), Ψ diagonal

    maximise over Λ, Ψ:   −(W/2) [d log 2π + log det Σ + tr(Σ⁻¹ S)],      Σ = Λᵀ Λ + Ψ

The likelihood knows the rows by their mean and covariance S alone, so the moments are sufficient:
number of factors, rotation and bounds can be chosen anew without the data.  For given noise the
best loadings follow from an eigendecomposition (`suffice.decomposition.factors.likelihood`), and
the noise is found by EM and Newton's method (`suffice.decomposition.factors.maximum`).  The model
does not depend on the columns' units: all is computed for columns of variance 1.

A noise variance may run to zero, where a factor takes the place of a column (a Heywood case).
It is kept from it by a lower bound, 0.005 of the column's variance as in R's `factanal`, and
the certificate names such columns.  The bound is also what keeps the likelihood of dependent
columns, or of fewer rows than columns, from growing without end.

References: Jöreskog, "Some contributions to maximum likelihood factor analysis" (1967); Barber,
"Bayesian reasoning and machine learning" (2012), section 21.2.
"""

from __future__ import annotations

import time
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_array, check_is_fitted

from suffice.decomposition.factors.certificate import certified
from suffice.decomposition.factors.covariance import correlations, moments_of
from suffice.decomposition.factors.latent import LatentFactors
from suffice.decomposition.factors.maximum import (
    NoiseMaximum,
    all_explained,
    largest_likelihood,
    starts,
)
from suffice.decomposition.factors.number_of_factors import FactorTest, bartlett_test
from suffice.decomposition.factors.rotation import rotated
from suffice.fitting.all_or_nothing import all_or_nothing
from suffice.fitting.one_pass import Solved
from suffice.fitting.trace import Trace
from suffice.numerics.double_double import Array
from suffice.sources import Block, Source, as_source
from suffice.sources.memory.frames import is_frame
from suffice.statistics.moments.full import Moments, Precision


class FactorAnalysis(LatentFactors):
    """A few hidden factors that explain the correlations of the columns.

    Parameters
    ----------
    n_components : int, optional
        Number of factors k; by default as many as columns.
    tol : float, default=0.01
        EM hands over to Newton's method when an iteration gains less log-likelihood.  The
        maximum is reached whatever it is.
    copy : bool, default=True
        Accepted for compatibility: the input is never overwritten.
    max_iter : int, default=1000
        Iterations, of EM and Newton's method together.
    noise_variance_init : array of shape (columns,), optional
        Noise variances to begin with, in place of the starts of `n_init`.
    svd_method, iterated_power
        Accepted for compatibility: they steer a solver that is not needed here.
    rotation : {"varimax", "quartimax", "promax"}, optional
        Turns the factors so that each column has few large loadings.  Promax is oblique: its
        factors are correlated (`factor_correlation_`).
    random_state : int, RandomState or None, default=0
        For the random starts of `n_init`.
    kaiser : bool, default=False
        Whether a rotation gives every column the same say, whatever its unit and noise, as R
        does.  Otherwise varimax and quartimax turn the loadings in the columns' units, as
        scikit-learn does, and promax those of columns of variance 1.
    min_uniqueness : float, default=0.005
        Lower bound of the noise, as a share of each column's variance.
    n_init : int, default=4
        The likelihood may have several maxima: so many starts, of which the best is kept.
    exact : bool, default=False
        Accumulate in double-double from the start, so that forgetting rows loses nothing.
    n_jobs : int, optional
        Threads; by default what `suffice.config` says.

    Attributes
    ----------
    components_ : array of shape (components, columns)
        Loadings, in the columns' units; the largest of each factor, for columns of variance 1,
        is positive.  Rotated factors are ordered by their sums of squares.
    noise_variance_ : array of shape (columns,)
    factor_correlation_ : array of shape (components, components)
        The identity, unless the rotation is oblique.
    mean_ : array of shape (columns,)
    loglike_ : list of float
        Log-likelihood of all rows after each iteration.
    n_iter_ : int
    n_samples_ : float
        Total weight W of the rows.
    statistics_ : Moments
    certificate_ : Certificate
    trace_ : Trace

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from suffice import FactorAnalysis
    >>> X = load_wine().data
    >>> model = FactorAnalysis(n_components=2).fit(X)
    >>> model.transform(X[:1]).round(2)
    array([[1.21, 0.62]])
    >>> round(model.score(X), 4)
    -19.534
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "n_components": [Interval(Integral, 0, None, closed="left"), None],
        "tol": [Interval(Real, 0, None, closed="left")],
        "copy": ["boolean"],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "noise_variance_init": ["array-like", None],
        "svd_method": [StrOptions({"randomized", "lapack"})],
        "iterated_power": [Interval(Integral, 0, None, closed="left")],
        "rotation": [StrOptions({"varimax", "quartimax", "promax"}), None],
        "random_state": ["random_state"],
        "kaiser": ["boolean"],
        "min_uniqueness": [Interval(Real, 0, 1, closed="neither")],
        "n_init": [Interval(Integral, 1, None, closed="left")],
        "exact": ["boolean"],
        "n_jobs": [Integral, None],
    }
    _refit_parameters: ClassVar[tuple[str, ...]] = (
        "n_components",
        "tol",
        "max_iter",
        "noise_variance_init",
        "rotation",
        "kaiser",
        "min_uniqueness",
        "n_init",
    )
    _cheap_exact = (1 << 20, 32)

    def __init__(
        self,
        n_components: int | None = None,
        *,
        tol: float = 1e-2,
        copy: bool = True,
        max_iter: int = 1000,
        noise_variance_init: Any = None,
        svd_method: str = "randomized",
        iterated_power: int = 3,
        rotation: str | None = None,
        random_state: Any = 0,
        kaiser: bool = False,
        min_uniqueness: float = 0.005,
        n_init: int = 4,
        exact: bool = False,
        n_jobs: int | None = None,
    ) -> None:
        self.n_components = n_components
        self.tol = tol
        self.copy = copy
        self.max_iter = max_iter
        self.noise_variance_init = noise_variance_init
        self.svd_method = svd_method
        self.iterated_power = iterated_power
        self.rotation = rotation
        self.random_state = random_state
        self.kaiser = kaiser
        self.min_uniqueness = min_uniqueness
        self.n_init = n_init
        self.exact = exact
        self.n_jobs = n_jobs

    # --- fitting --------------------------------------------------------------------------

    def _training_source(self, X: Any, y: Any, sample_weight: Any, reset: bool = True) -> Source:
        return super()._training_source(X, None, sample_weight, reset)  # there is no target

    def _summarize(self, block: Block, precision: Precision) -> Moments:
        return Moments.summarize(block.X, None, block.weight, precision)

    def _solve(self, moments: Moments, final: bool) -> Solved | None:
        if not final and self._wants_more_digits(moments):
            return None
        k = self._count(len(moments.magnitude))
        deviation, correlation = self._correlations(moments)
        weight = float(moments.weight.hi)
        found = self._maximum(correlation, deviation, weight, k)
        noise = np.exp(found.at.log_noise)
        proof = certified(found, moments, float(self.min_uniqueness))
        constant = len(noise) * np.log(2 * np.pi) + 2 * np.log(deviation).sum()
        loglike = [-weight / 2 * (value + constant) for value in found.objectives]
        grown = np.append(True, np.diff(np.maximum.accumulate(loglike)) > 0)  # beyond rounding
        solved = Solved(proof, -loglike[-1]).if_enough_digits(moments.precision, final)
        if solved is None:
            return None
        loadings, self.factor_correlation_ = rotated(
            found.at.loadings(), deviation, self.rotation, self.kaiser
        )
        self.components_ = loadings.T * deviation
        self.noise_variance_ = noise * np.square(deviation)
        self.mean_ = moments.mean.round()
        self.loglike_ = [float(value) for value in np.compress(grown, loglike)]
        self.n_iter_ = len(loglike)
        self.n_samples_ = weight
        return solved

    def _count(self, d: int) -> int:
        k = d if self.n_components is None else int(self.n_components)
        if k > d:
            raise ValueError(f"n_components={k} must be at most the number of columns, {d}")
        return k

    def _correlations(self, moments: Moments) -> tuple[Array, Array]:
        names = getattr(self, "feature_names_in_", range(self.n_features_in_))
        return correlations(moments, names)

    def _maximum(self, correlation: Array, deviation: Array, weight: float, k: int) -> NoiseMaximum:
        """The best of the maxima that the starts lead to."""
        least = float(self.min_uniqueness)
        explained = all_explained(correlation, k, least)
        given = self._given_noise(deviation)
        if explained is not None:
            return explained
        rng = check_random_state(self.random_state)
        begin = starts(correlation, k, least, self.n_init, rng) if given is None else [given]
        gain = 2 * self.tol / weight
        maxima = [
            largest_likelihood(correlation, noise, k, least, gain, self.max_iter) for noise in begin
        ]
        # Of maxima that rounding alone tells apart, the first.
        best = min(found.at.objective for found in maxima)
        near = best + 1e-9 * len(deviation)
        return next(found for found in maxima if found.at.objective <= near)

    def _given_noise(self, deviation: Array) -> Array | None:
        """`noise_variance_init` as shares of the columns' variances."""
        if self.noise_variance_init is None:
            return None
        given = np.asarray(self.noise_variance_init, dtype=float)
        if given.shape != deviation.shape or not (given > 0).all():
            raise ValueError(
                f"noise_variance_init must hold a positive number for each of {len(deviation)} "
                f"columns, got shape {given.shape}"
            )
        return np.clip(given / np.square(deviation), self.min_uniqueness, 1.0)

    # --- from a covariance ----------------------------------------------------------------

    @all_or_nothing
    def fit_covariance(
        self, covariance: Any, n_samples: float, *, mean: Any = None, ddof: float = 1
    ) -> Self:
        """Fit to a covariance matrix, where the rows themselves are not at hand.

        Parameters
        ----------
        covariance : array or data frame of shape (columns, columns)
            Positive semi-definite; a frame names the columns.
        n_samples : float
            Number of rows behind it.
        mean : array of shape (columns,), optional
            By default zero; `transform` and the densities subtract it.
        ddof : float, default=1
            The covariance is a sum of squares divided by n_samples − ddof.

        Returns
        -------
        self
        """
        self._validate_params()
        began = time.perf_counter()
        S = check_array(covariance, dtype=np.float64, input_name="covariance")
        self._take_names(as_source(covariance if is_frame(covariance) else S))
        moments = moments_of(S, n_samples, mean, ddof, self.exact)
        self.trace_ = Trace()
        self._resolve("covariance", moments, began)
        self._warn_unless_proved()
        return self

    # --- how well it fits -----------------------------------------------------------------

    def goodness_of_fit(self) -> FactorTest:
        """Test that so many factors suffice, against any covariance at all.

        The likelihood ratio has Bartlett's correction.

        Returns
        -------
        FactorTest
            With fields statistic, dof, p_value.
        """
        check_is_fitted(self)
        deviation, correlation = self._correlations(self._kept())
        noise = self.noise_variance_ / np.square(deviation)
        return bartlett_test(correlation, noise, len(self.components_), self.n_samples_)
