"""Bayesian linear regression with the conjugate prior.

    y | θ, b, σ² ~ N(θ·x + b, σ²),      θ | σ² ~ N(m₀, σ² P⁻¹),      σ² ~ InvGamma(a₀, b₀)

The prior is a pseudo-statistic that is added to the moments (`suffice.bayes.priors.coefficients`):

    V = (Sxx + P)⁻¹,      θ | σ², y ~ N(V (Sxy + P m₀), σ² V),      σ² | y ~ InvGamma(aₙ, bₙ),
    aₙ = a₀ + W/2,        bₙ = b₀ + ½ min over θ, b of [Σ w (θ·x + b − y)² + (θ − m₀)ᵀ P (θ − m₀)].

A new target is Student t with 2aₙ degrees of freedom about θ·x + b, with the squared scale
(bₙ/aₙ) (1 + 1/W + (x − x̄)ᵀ V (x − x̄)).

The intercept, and θ along directions in which P is 0, are flat: the limit of ever wider
Gaussians, of which the factor (2πσ²)^−½ is kept.  With q such directions, the vague prior of the
noise is a₀ = −q/2, b₀ = 0, so that all together have the density 1/σ²; with P = 0 this gives the
standard errors and intervals of least squares.

Reference: Bishop, "Pattern Recognition and Machine Learning" (2006), 3.3 to 3.5.
"""

from __future__ import annotations

from collections.abc import Callable
from numbers import Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from suffice.bayes.priors.coefficients import CoefficientPrior
from suffice.engines.workers import one_blas_thread
from suffice.fitting.inputs import in_dtype_of
from suffice.fitting.one_pass import Solved
from suffice.fitting.trace import Trace
from suffice.linear.bayesian.evidence import (
    Best,
    best_posterior,
    log_evidence,
    unknown_noise,
)
from suffice.linear.bayesian.intervals import (
    CredibleInterval,
    Draws,
    Noise,
    certify,
    draw,
    interval_of,
)
from suffice.linear.bayesian.posterior import Posterior, Solver, posterior, spread_with, with_prior
from suffice.linear.inference.summary import column_names
from suffice.linear.least_squares.base import MOST_COLUMNS, LeastSquaresModel
from suffice.linear.least_squares.fit import adopted
from suffice.linear.least_squares.normal_equations import NormalEquations
from suffice.linear.least_squares.solve import solve, solve_if_accurate
from suffice.linear.least_squares.spread import CoefficientSpread
from suffice.numerics.double_double import Array, DoubleDouble
from suffice.sources import Source
from suffice.statistics.moments.full import NOTHING, Moments

ACCEPTED_ERROR = 1e-4
"""Relative error of V and bₙ up to which float64 moments do: four digits of a spread."""

FEW_COLUMNS, MANY_COLUMNS = 256, 1024
"""Columns up to which V and bₙ must be as good, too, and up to which a certificate must hold.
With more, double-double would take hours: float64 has to do, and the certificate tells."""


class BayesianLinearRegression(LeastSquaresModel):
    """Linear regression whose coefficients, noise and predictions are distributions.

    Parameters
    ----------
    prior_precision : float, array of shape (columns,) or (columns, columns), default=1.0
        P: what the prior knows about the coefficients, in units of the noise's precision; 0 is
        flat.  One number α gives the posterior mean of `Ridge(alpha=α)`.
    prior_mean : float or array of shape (columns,), default=0.0
        m₀, where the prior expects the coefficients.
    a0, b0 : float, optional
        Shape and scale of the noise variance's inverse gamma prior.  By default the vague limit:
        b₀ = 0, and a₀ = −q/2 with q the number of flat directions, the intercept included.
    fit_intercept : bool, default=True
        Whether the model has a constant term, whose prior is flat.
    noise_variance : float, optional
        σ², where it is known; then there is no a₀ and no b₀.
    evidence : {"maximise"}, optional
        Choose the strength of the prior, a factor of `prior_precision`, and the noise variance
        (unless it is known) such that the rows are most probable.  Both then count as known;
        a₀ and b₀ (by default 0) weigh the noise variance by (1/σ²)^a₀ exp(−b₀/σ²).
    exact : bool, default=False
        Keep the statistic in double-double from the start, so that `forget` has digits to
        spare.  Takes about eight times as long.

    Attributes
    ----------
    coef_ : array of shape (columns,)
        Posterior mean.
    intercept_ : float
    sigma_ : array of shape (columns, columns)
        Posterior covariance of the coefficients.
    noise_variance_ : float
        Posterior mean of σ², or its known or chosen value.
    a_n_, b_n_ : float
        Posterior of the noise variance; absent where that is known or chosen.
    prior_precision_ : float or array
        The prior precision, times the chosen strength.
    log_evidence_ : float
        Logarithm of the rows' probability density under the prior.
    rank_ : int
        Number of directions that prior and rows determine.
    statistics_ : Moments
        Moments of the columns, then the target.
    certificate_ : Certificate
    trace_ : Trace
        A row for each pass over the data, and for each step towards the largest evidence.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from suffice import BayesianLinearRegression
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = BayesianLinearRegression(evidence="maximise").fit(X, y)
    >>> round(float(model.prior_precision_), 4), round(model.noise_variance_)
    (0.0336, 2932)
    >>> mean, std = model.predict(X[:2], return_std=True)
    >>> mean.round(1).tolist(), std.round(1).tolist()
    ([202.6, 71.1], [54.6, 54.7])
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "prior_precision": [Interval(Real, 0, None, closed="left"), "array-like"],
        "prior_mean": [Real, "array-like"],
        "a0": [Real, None],
        "b0": [Interval(Real, 0, None, closed="left"), None],
        "fit_intercept": ["boolean"],
        "noise_variance": [Interval(Real, 0, None, closed="neither"), None],
        "evidence": [StrOptions({"maximise"}), None],
        "exact": ["boolean"],
    }
    _refit_parameters = (
        "prior_precision", "prior_mean", "a0", "b0", "fit_intercept", "noise_variance", "evidence",
    )  # fmt: skip
    positive = False

    def __init__(
        self,
        prior_precision: float | ArrayLike = 1.0,
        *,
        prior_mean: float | ArrayLike = 0.0,
        a0: float | None = None,
        b0: float | None = None,
        fit_intercept: bool = True,
        noise_variance: float | None = None,
        evidence: str | None = None,
        exact: bool = False,
    ) -> None:
        self.prior_precision = prior_precision
        self.prior_mean = prior_mean
        self.a0 = a0
        self.b0 = b0
        self.fit_intercept = fit_intercept
        self.noise_variance = noise_variance
        self.evidence = evidence
        self.exact = exact

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = False
        return tags

    # --- the rows -------------------------------------------------------------------------

    def _validate_params(self) -> None:
        super()._validate_params()
        for name in ("a0", "b0", "noise_variance"):
            value = getattr(self, name)
            if value is not None and not np.isfinite(value):
                raise ValueError(f"{name} must be finite, got {value!r}")
        if self.noise_variance is not None and not (self.a0 is None and self.b0 is None):
            raise ValueError(
                "a known noise_variance has no prior: leave a0 and b0 out, or the noise_variance"
            )

    _target_checks = {"y_numeric": True, "multi_output": False}

    def _shape_of_target(self, source: Source) -> tuple[int, ...]:
        if source.target_shape not in ((), (1,)):
            raise ValueError(
                f"BayesianLinearRegression learns one target, and here are "
                f"{source.target_shape[0]}: fit a model for each"
            )
        return ()

    def _joins_folds(self, source: Source) -> bool:
        if source.n_columns > MOST_COLUMNS:
            raise ValueError(
                f"BayesianLinearRegression needs the covariance of all columns, and "
                f"{source.n_columns} are too many: {MOST_COLUMNS} or fewer are accepted; Ridge has "
                "the same mean for any number"
            )
        return True

    # --- from the statistic to the posterior ----------------------------------------------

    def _alphas(self, n_targets: int) -> Array:
        """The one number that is added to each square; NaN where the prior says more."""
        one = np.ndim(self.prior_precision) == 0 and self.evidence is None
        alike = one and not np.any(np.asarray(self.prior_mean))
        return np.full(n_targets, float(np.asarray(self.prior_precision)) if alike else np.nan)

    @property
    def _has_leverages(self) -> bool:  # type: ignore[override]
        return not np.isnan(self._alphas(1)).any()

    def _solve_each(
        self, equations: NormalEquations, solver: Callable[[NormalEquations, Any], Any]
    ) -> list[Any]:
        prior = self._prior()
        if self.evidence is None:
            return [solver(with_prior(equations, prior), prior.diagonal)]
        best = self._best(equations, prior, solver)
        return [None if best is None else best.posterior.solution]

    def _prior(self) -> CoefficientPrior:
        return CoefficientPrior.of(self.prior_precision, self.prior_mean, self.n_features_in_)

    def _best(
        self, equations: NormalEquations, prior: CoefficientPrior, solver: Solver
    ) -> Best | None:
        known = self.noise_variance, self.a0, self.b0
        return best_posterior(equations, prior, bool(self.fit_intercept), solver, *known)

    def _solve(self, moments: Moments, final: bool) -> Solved | None:
        columns = len(moments.magnitude)
        if not moments.count:
            raise ValueError(NOTHING)
        self._fitted_intercept = bool(self.fit_intercept)
        if not final and self._wants_more_digits(moments):
            return None
        equations = self._equations(moments)
        if final or columns > MANY_COLUMNS:
            return self._from_equations(equations, solve, np.inf)
        accepted = ACCEPTED_ERROR if columns <= FEW_COLUMNS else np.inf
        return self._from_equations(equations, solve_if_accurate, accepted)

    @one_blas_thread()
    def _from_equations(
        self, equations: NormalEquations, solver: Solver, accepted: float = ACCEPTED_ERROR
    ) -> Solved | None:
        prior, best = self._prior(), None
        if self.evidence is None:
            found = posterior(equations, prior, self._fitted_intercept, solver)
        else:
            best = self._best(equations, prior, solver)
            found = None if best is None else best.posterior
        if found is None:
            return None
        wrong = max(found.covariance_error, found.quadratic_error, abs(best.slope) if best else 0)
        if not isinstance(equations.A, DoubleDouble) and not wrong <= accepted:
            return None
        return self._set_posterior(equations, found, prior, best)

    def _set_posterior(
        self,
        equations: NormalEquations,
        found: Posterior,
        prior: CoefficientPrior,
        best: Best | None,
    ) -> Solved:
        base = adopted(self, found.solution)
        factor = 1.0 if best is None else best.maximum.factor
        strength = np.asarray(self.prior_precision, dtype=np.float64) * factor
        self.prior_precision_ = strength if strength.ndim else float(strength)
        self.__dict__.pop("a_n_", None)
        self.__dict__.pop("b_n_", None)
        known = self.noise_variance if best is None else best.variance
        about = (equations.weight, self._fitted_intercept)
        if known is not None:
            noise = Noise.known(float(known))
            prior = prior if best is None else best.prior
            self.log_evidence_ = log_evidence(found, prior, *about, noise.mean)
        else:
            a, b, self.log_evidence_ = unknown_noise(found, prior, *about, self.a0, self.b0)
            self.a_n_, self.b_n_ = a, b
            noise = Noise.inverse_gamma(a, b)
        self.noise_variance_ = float(noise.mean)
        self.sigma_ = noise.times(found.covariance)
        steps = Trace()
        for step in best.maximum.steps if best is not None else ():
            steps = steps.extended("evidence", step.objective, step.seconds)
        proof = certify(base.certificate, found, best, noise)
        return base._replace(certificate=proof, steps=steps)

    # --- predicting -----------------------------------------------------------------------

    def _noise(self) -> Noise:
        if "a_n_" in vars(self):
            return Noise.inverse_gamma(self.a_n_, self.b_n_)
        return Noise.known(self.noise_variance_)

    @one_blas_thread()
    def _spread(self) -> tuple[CoefficientSpread, NormalEquations]:
        check_is_fitted(self)
        equations = self._equations(self.statistics_)
        prior = CoefficientPrior.of(self.prior_precision_, 0.0, self.n_features_in_)
        return spread_with(equations, prior, self._fitted_intercept)

    def _with_variance(self, X: Any) -> Array:
        """Mean and variance of new targets for a noise variance of 1; shape (rows, 2)."""
        found, equations = self._spread()
        centre = equations.x_mean.round()
        constant = 1.0 + (1 / equations.weight if self._fitted_intercept else 0.0)

        def apply(rows: Any) -> NDArray[np.float64]:
            mean = np.asarray(rows @ self.coef_ + self.intercept_)
            leverage, is_open = found.leverages(rows, centre)
            return np.stack([mean, np.where(is_open, np.inf, constant + leverage)], axis=1)

        return self._apply(X, apply)

    def predict(self, X: Any, return_std: bool = False) -> Any:
        """Predict the target: the mean of its posterior predictive distribution.

        Parameters
        ----------
        X : array, data frame, CSR matrix or Source, of shape (rows, columns)
        return_std : bool, default=False
            Whether to return the standard deviations, too.

        Returns
        -------
        array of shape (rows,), or two of them
            The standard deviation covers noise, coefficients and intercept.  It is infinite where
            the noise has two degrees of freedom or fewer.
        """
        if not return_std:
            return super().predict(X)
        mean, variance = self._with_variance(X).T
        return in_dtype_of(X, mean.copy()), in_dtype_of(X, np.sqrt(self._noise().mean * variance))

    def predict_interval(self, X: Any, confidence: float = 0.95) -> NDArray[np.float64]:
        """Where new targets lie with a given probability.

        Parameters
        ----------
        X : array, data frame, CSR matrix or Source, of shape (rows, columns)
        confidence : float, default=0.95

        Returns
        -------
        array of shape (rows, 2)
            Lower and upper ends.
        """
        check_is_fitted(self)
        width = self._noise().half_width(confidence)
        mean, variance = self._with_variance(X).T
        half = width * np.sqrt(variance)
        return np.stack([mean - half, mean + half], axis=1)

    def credible_interval(self, confidence: float = 0.95) -> CredibleInterval:
        """Where the coefficients lie with a given probability, each for itself.

        Parameters
        ----------
        confidence : float, default=0.95

        Returns
        -------
        CredibleInterval
            Arrays `mean`, `scale`, `lower` and `upper`; `to_frame()` gives a data frame.
        """
        spread, _ = self._spread()
        names, mean = column_names(self, self._fitted_intercept), self.coef_
        if self._fitted_intercept:
            mean = np.append(self.intercept_, mean)
        return interval_of(names, mean, spread, self._noise(), confidence)

    def sample(self, n: int = 1, random_state: Any = None) -> Draws:
        """Draw from the posterior.

        Parameters
        ----------
        n : int, default=1
            Number of draws.
        random_state : int, RandomState instance or None, default=None

        Returns
        -------
        Draws
            Arrays `coef`, `intercept` and `noise_variance`.
        """
        spread, equations = self._spread()
        line = self.coef_, float(self.intercept_)
        centre = equations.x_mean.round()
        share = 1 / equations.weight if self._fitted_intercept else 0.0
        return draw(n, check_random_state(random_state), line, spread, centre, share, self._noise())
