"""Generalised linear models.

    g(E[y | x]) = θ·x + b,      minimise   (1/2W) Σ wᵢ d(yᵢ, μᵢ) + (α/2) ‖θ‖²

with a link g, the unit deviance d of a response distribution, and W the sum of the weights.  b is
not penalised.  The first term is minus the log likelihood but for the dispersion, which the
minimum does not depend on.  Newton's method finds it in a few passes, each of which merges one
`Curvature`; a last pass takes the deviances and the information.

Reference: McCullagh and Nelder, "Generalized Linear Models" (1989).
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from suffice.fitting.certificate import with_penalty
from suffice.fitting.regression import Regressor
from suffice.fitting.requests import Found, Passes
from suffice.linear.glm.goodness_of_fit import Goodness, explained_deviance, last_passes
from suffice.linear.glm.links import LINKS, Link
from suffice.linear.glm.loss import GeneralizedLoss, chosen_link, chosen_response
from suffice.linear.glm.responses.base import Response
from suffice.linear.glm.responses.named import BinomialResponse
from suffice.linear.glm.start import first_guess, made_ready, total_weight
from suffice.linear.glm.target import TargetReader, offset_of, place_of
from suffice.linear.inference.glm import predicted_means, summarize_glm
from suffice.linear.inference.laplace import Laplace, Prediction
from suffice.linear.inference.summary import Summary, checked_level, summary_of
from suffice.linear.solvers.base import IterativeLinearModel
from suffice.linear.solvers.choose import SOLVER_METHODS, Chosen
from suffice.linear.solvers.gradient_descent import CONSTRAINTS, SOLVERS, Descending
from suffice.linear.solvers.line_search import Minimising, Minimum
from suffice.linear.solvers.objective import Objective
from suffice.linear.solvers.sample import FirstLook
from suffice.numerics.double_double import Array
from suffice.sources import Source


class GeneralizedLinearModel(Regressor, IterativeLinearModel):
    """Regression of means that are linear on the scale of a link.

    `predict` gives means that the family can have, whatever the row.

    Parameters
    ----------
    family : str or Response, default="gaussian"
        How the target scatters: "gaussian", "binomial", "poisson", "gamma", "exponential",
        "inverse_gaussian", "tweedie" or "negative_binomial", or an object of
        `suffice.linear.glm.responses.named`.  A binomial target holds 0 and 1, shares of successes,
        or two columns that count successes and failures.
    link : str or Link, default="default"
        "identity", "log", "logit", "probit", "cloglog", "loglog", "inverse", "inverse_squared",
        "sqrt", or an object of `suffice.linear.glm.links` such as ``Power(0.3)``.  "canonical" is
        the one that makes η the natural parameter; "default" is the canonical one too, but for
        Gamma, exponential, Tweedie and negative binomial targets, where it is "log".
    alpha : float, default=0.0
        Penalty on θ, scaled as in scikit-learn's `PoissonRegressor`: the mean of half the
        deviance plus (α/2) ‖θ‖².
    fit_intercept : bool, default=True
        Whether the model has a constant term.
    offset : str or int, optional
        A column of X, by name or number, that is added to the predictor as it is.  It takes
        no coefficient.
    exposure : str or int, optional
        A column of X whose logarithm is added to the predictor: the time or area in which
        events were counted.  For log links only.
    power : float, default=1.5
        The power of ``family="tweedie"``.
    overdispersion : float, default=1.0
        The κ in the variance μ + κμ² of ``family="negative_binomial"``.
    tol : float, default=1e-9
        Distance from the minimiser, relative to each parameter, at which to stop.
    max_iter : int, default=100
        Most passes.
    solver : {"auto", "newton", "newton-cholesky", "newton-cg", "lbfgs", "gd", "sgd"}, \
default="auto"
        The method, by default chosen by shape; "newton" and "newton-cholesky" are the same,
        "gd" and "sgd" are gradient descent over all rows and over a few at a time.
    warm_start : bool, default=False
        Whether to start from the parameters of an earlier fit.
    n_jobs : int, optional
        Threads; by default what `suffice.config` says.  Does not change the result.
    batch_size, learning_rate, eta0, power_t, momentum, random_state
        Of the gradient solvers: see the page on gradient descent.

    Attributes
    ----------
    coef_ : array of shape (columns,)
        0 for the columns of offset and exposure.
    intercept_ : float
    family_ : Response
    link_ : Link
    deviance_, null_deviance_ : float
        Of the fit, and of a model with an intercept alone.
    pearson_chi2_ : float
    dispersion_ : float
        Pearson's statistic over the residual degrees of freedom; 1 for binomial, Poisson,
        exponential and negative binomial targets.
    df_residual_ : float
        Sum of the weights less the parameters; less the effective parameters if there is a
        penalty.
    log_likelihood_, aic_, bic_ : float
        With all constants.  BIC is −2 log L + k log W.
    covariance_ : array of shape (coefficients, coefficients)
        Of the estimates, the intercept first; NaN where the rows leave them open.
    n_iter_ : int
        Passes of the method, less those at points that it turned back from.
    certificate_ : Certificate
    trace_ : Trace

    Examples
    --------
    Coronary deaths among British doctors, by age and smoking (Breslow and Day, 1987):

    >>> import numpy as np
    >>> from suffice import GeneralizedLinearModel
    >>> decade = np.tile([0.0, 1, 2, 3, 4], 2)
    >>> smokes = np.repeat([1.0, 0.0], 5)
    >>> years = [52407, 43248, 28612, 12663, 5317, 18790, 10673, 5710, 2585, 1462]
    >>> deaths = [32, 104, 206, 186, 102, 2, 12, 28, 28, 31]
    >>> X = np.column_stack([smokes, decade, decade**2, smokes * decade, years])
    >>> model = GeneralizedLinearModel("poisson", exposure=4).fit(X, deaths)
    >>> round(model.deviance_, 3), model.df_residual_
    (1.635, 5.0)
    >>> model.certificate_.holds
    True
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "family": [str, Response],
        "link": [str, Link],
        "alpha": [Interval(Real, 0, None, closed="left")],
        "fit_intercept": ["boolean"],
        "offset": [str, Integral, None],
        "exposure": [str, Integral, None],
        "power": [Real],
        "overdispersion": [Interval(Real, 0, None, closed="neither")],
        "tol": [Interval(Real, 0, None, closed="neither")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "solver": [StrOptions(set(SOLVER_METHODS))],
        "warm_start": ["boolean"],
        "n_jobs": [Integral, None],
        **CONSTRAINTS,
        "random_state": ["random_state"],
    }
    _saved_private = ("_laplace", "_goodness", "_places")
    _laplace: Laplace | None
    _goodness: Goodness
    family_: Any
    link_: Link
    dispersion_: float

    def __init__(
        self,
        family: str | Response = "gaussian",
        link: str | Link = "default",
        *,
        alpha: float = 0.0,
        fit_intercept: bool = True,
        offset: str | int | None = None,
        exposure: str | int | None = None,
        power: float = 1.5,
        overdispersion: float = 1.0,
        tol: float = 1e-9,
        max_iter: int = 100,
        solver: str = "auto",
        warm_start: bool = False,
        n_jobs: int | None = None,
        batch_size: int = 1,
        learning_rate: str = "auto",
        eta0: float | None = None,
        power_t: float = 0.5,
        momentum: float = 0.0,
        random_state: Any = None,
    ) -> None:
        self.family = family
        self.link = link
        self.alpha = alpha
        self.fit_intercept = fit_intercept
        self.offset = offset
        self.exposure = exposure
        self.power = power
        self.overdispersion = overdispersion
        self.tol = tol
        self.max_iter = max_iter
        self.solver = solver
        self.warm_start = warm_start
        self.n_jobs = n_jobs
        self.batch_size = batch_size
        self.learning_rate = learning_rate
        self.eta0 = eta0
        self.power_t = power_t
        self.momentum = momentum
        self.random_state = random_state

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        # An unknown family is for `fit` to refuse.
        with suppress(ValueError):
            negative = self._response().admits(np.array([-1.0])).all()
            tags.target_tags.positive_only = not negative
        return tags

    # --- the problem ------------------------------------------------------------------------

    def _response(self) -> Response:
        return chosen_response(self.family, self.power, self.overdispersion)

    def _takes_counts(self) -> bool:
        return isinstance(self._response(), BinomialResponse)

    @property
    def _target_checks(self) -> dict[str, Any]:  # type: ignore[override]
        return {"y_numeric": True, "multi_output": self._takes_counts()}

    def _method(self) -> str:
        return SOLVER_METHODS[self.solver]

    def _loss(self, first_look: FirstLook) -> GeneralizedLoss:
        response = self._response()
        link = chosen_link(self.link, response)
        if self.exposure is not None and link != LINKS["log"]:
            raise ValueError(f"exposure goes with a log link only, and this is {link.label!r}")
        return GeneralizedLoss.of(response, link)

    def _target_reader(self, first_look: FirstLook | None = None) -> TargetReader:
        return TargetReader.of(self, self._response())

    def _target_check(self) -> Any:
        return self._target_reader().check

    def _offset_columns(self) -> tuple[int | None, int | None]:
        return place_of(self, "offset"), place_of(self, "exposure")

    def _kept_columns(self) -> NDArray[np.intp] | None:
        gone = set(self._offset_columns()) - {None}
        if not gone:
            return None
        return np.setdiff1d(np.arange(self.n_features_in_), list(gone))

    def _objective(self, first_look: FirstLook) -> Objective:
        objective = super()._objective(first_look)
        l2 = np.zeros(objective.shape)
        scale = objective.columns.scale
        l2[:, : len(scale)] = self.alpha * total_weight(first_look) / scale**2
        return replace(objective, l2=l2)

    def _minimised(self) -> str:
        return with_penalty(
            f"the {self._response().name.replace('_', ' ')} deviance", "α", self.alpha
        )

    def _line(self, coef: Array, intercept: Array, first_look: FirstLook) -> dict[str, Any]:
        loss = self._loss(first_look)
        return {
            "family_": loss.response,
            "link_": loss.link,
            "coef_": coef[0],
            "intercept_": float(intercept[0]),
            "_places": self._offset_columns(),
        }

    # --- the fit ----------------------------------------------------------------------------

    _takes_last_hessian = True

    def _first_guess(self, objective: Objective, first_look: FirstLook) -> Array:
        return first_guess(objective, first_look)

    def _search(
        self, objective: Objective, first_look: FirstLook, sample: Source | None, method: Chosen
    ) -> Minimising:
        start = self._start(objective, first_look)
        objective = yield from made_ready(objective, start, method.method)
        assert isinstance(objective.loss, GeneralizedLoss)
        # The solution of a sample may be out of bounds for other rows.
        sample = None if objective.loss.is_bounded else sample
        return (yield from super()._search(objective, first_look, sample, method))

    def _descend(
        self, objective: Objective, first_look: FirstLook, sample: Source | None, method: Chosen
    ) -> Descending:
        start = self._start(objective, first_look)
        objective = yield from made_ready(objective, start, method.method)
        return (yield from super()._descend(objective, first_look, sample, method))

    def _finish(
        self, objective: Objective, found: Minimum, first_look: FirstLook, method: Chosen
    ) -> Passes:
        loss, polish = objective.loss, method.method not in SOLVERS
        assert isinstance(loss, GeneralizedLoss)
        fit = yield from last_passes(objective, found, first_look, self.max_iter, polish)
        found, good = fit.found, fit.goodness
        profiled = loss.response.name == "gaussian" and loss.link == LINKS["identity"]
        log_likelihood = good.log_likelihood(loss.response, profiled)
        attributes = {
            **self._line(*objective.columns.to_user(found.parameters), first_look),
            "_laplace": fit.laplace,
            "n_iter_": found.iterations,
            **good.attributes(log_likelihood),
            "_goodness": good,
        }
        return Found(attributes, self._certificate(objective, found, method))

    # --- predicting -------------------------------------------------------------------------

    def _predictors(self, rows: Any) -> Array:
        eta = np.asarray(rows @ self.coef_ + self.intercept_)
        offset = offset_of(rows, *self._places)
        return eta if offset is None else eta + offset

    def _predicted(self, rows: Any) -> Array:
        """The means of the target, always such as the family can have."""
        return GeneralizedLoss(self.family_, self.link_).mean(self._predictors(rows))

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """D², the share of the deviance that the model explains; R² for a Gaussian target.

        Parameters
        ----------
        X : array, data frame, CSR matrix or Source
        y : array of shape (rows,), or (rows, 2) for counts of successes and failures
            None if `X` is a source.
        sample_weight : array of shape (rows,), optional

        Returns
        -------
        float
            1 less the deviance over that of the target's mean.
        """
        check_is_fitted(self)
        source = self._checked_source(X, y, sample_weight, reset=False)
        return explained_deviance(self, source)

    # --- inference ----------------------------------------------------------------------------

    def summary(
        self,
        level: float = 0.95,
        *,
        cov: str = "nonrobust",
        X: Any = None,
        y: Any = None,
        sample_weight: Any = None,
        clusters: Any = None,
    ) -> Summary:
        """The fit as a statistician reads it.

        Parameters
        ----------
        level : float, default=0.95
            Coverage of the confidence intervals.
        cov : {"nonrobust", "HC0", "HC1", "HC2", "HC3", "cluster"}, default="nonrobust"
            Where standard errors come from: the expected information and the dispersion, or a
            sandwich over rows or clusters.
        X, y, sample_weight : optional
            The rows of the fit (or a Source as `X`), for all but "nonrobust": one more pass.
        clusters : array of shape (rows,), str or Source, optional
            For "cluster": a label for each row, the name of a column of `X`, or a source
            whose target are the labels.

        Returns
        -------
        Summary
            Prints as a table; `to_frame()` gives the coefficients as a data frame.
        """
        return summary_of(self, summarize_glm, level, cov, (X, y, sample_weight), clusters)

    @property
    def covariance_(self) -> Array:
        """Of the estimates, the intercept first; NaN where they are open."""
        return self.summary().covariance

    def predictive(self, X: Any, level: float = 0.95) -> Prediction:
        """Where the means of rows may lie, given how well the fit determines its parameters.

        Laplace's approximation: the predictor is taken to be normal about its fitted value.
        It widens away from the rows of the fit.

        Parameters
        ----------
        X : array, data frame, CSR matrix or Source, of shape (rows, columns)
        level : float, default=0.95
            Probability of the interval.

        Returns
        -------
        Prediction
        """
        return predicted_means(self, X, checked_level(level))
