"""Logistic regression.

    P(y = 1 | x) = σ(θ·x + b),      minimise   Σ wᵢ log(1 + e^{−(±)(θ·xᵢ + b)}) + (1/2C) ‖θ‖²

and, for more than two classes, P(y = k | x) ∝ e^{θₖ·x + bₖ}.  b is not penalised.  The loss is
smooth and convex: Newton's method finds its minimum in a few passes, each of which merges one
`Curvature`.

Without a penalty the minimum need not exist: where a direction separates the classes, the
loss falls for ever along it.  The certificate then says so, and `separating_direction_` is such
a direction.

Reference: McCullagh and Nelder, "Generalized Linear Models" (1989), chapters 4 and 5; Albert and
Anderson, "On the existence of maximum likelihood estimates" (1984).
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from suffice.fitting.certificate import with_penalty
from suffice.fitting.classification import Classifier, labels_of
from suffice.fitting.requests import Found, Passes
from suffice.linear.inference.class_probabilities import ClassPrediction, predicted_classes
from suffice.linear.inference.logistic import known_likelihood, summarize_logistic
from suffice.linear.inference.logistic_likelihood import ClassLikelihood, last_pass
from suffice.linear.inference.summary import Summary, checked_level, summary_of
from suffice.linear.solvers.base import IterativeLinearModel
from suffice.linear.solvers.choose import SOLVER_METHODS, Chosen, minimise
from suffice.linear.solvers.class_targets import class_target, class_weights, log_odds
from suffice.linear.solvers.gradient_descent import CONSTRAINTS, Descending
from suffice.linear.solvers.line_search import STOPPED, Minimising, Minimum
from suffice.linear.solvers.logistic_duality_gap import with_gap
from suffice.linear.solvers.losses import COMPILED_FROM, Logistic, Softmax, of_classes
from suffice.linear.solvers.objective import Objective
from suffice.linear.solvers.sample import FirstLook
from suffice.linear.solvers.separation import (
    minimise_or_separate,
    separating_direction,
    without_minimum,
)
from suffice.numerics.double_double import Array
from suffice.sources import Source

METHODS = {**SOLVER_METHODS, "liblinear": "auto", "sag": "auto", "saga": "auto"}
"""scikit-learn's names, and the method that each stands for."""


class LogisticRegression(Classifier, IterativeLinearModel):
    """Classification by linear log odds.

    Parameters
    ----------
    penalty : {"l1", "l2", "elasticnet", None}, optional
        The older way to say what `l1_ratio` and `C` say: "l1" is `l1_ratio=1`, "l2" is
        `l1_ratio=0`, None is `C=inf`.
    C : float, default=1.0
        Inverse strength of the penalty; infinity for none.
    l1_ratio : float, default=0.0
        Share of the penalty that is on absolute values: 0 for squares alone, 1 for absolute
        values alone, which leaves some coefficients at exactly zero.
    dual : bool, default=False
        Accepted for compatibility: the result does not depend on it.
    tol : float, default=1e-8
        Distance from the minimiser, relative to each coefficient, at which to stop.
    fit_intercept : bool, default=True
        Whether there is a constant term, which is not penalised.
    intercept_scaling : float, default=1
        Accepted for compatibility: the intercept is not penalised.
    class_weight : dict, "balanced" or None, default=None
        Factor of the weights of each class's rows; "balanced" gives all classes the same sum.
    random_state : int, optional
        Seed of the order of rows, for `solver="sgd"`.
    solver : str, default="auto"
        "newton", "lbfgs", "gd" or "sgd"; "auto" chooses by shape.  scikit-learn's names are
        accepted, and the result does not depend on them.  A penalty on absolute values is
        always left to the proximal Newton method.
    max_iter : int, default=100
        Most passes.
    verbose : int, default=0
        Accepted for compatibility: `trace_` has a row for each pass.
    warm_start : bool, default=False
        Start from the coefficients of the last fit.
    n_jobs : int, optional
        Threads; by default what `suffice.config` says.
    batch_size, learning_rate, eta0, power_t, momentum
        Of the gradient solvers: see the page on gradient descent.
    reference_class : label, optional
        A class whose predictor is 0: the others' coefficients are log odds against it.  By
        default two classes have one predictor, that of the second, and more have one each.

    Attributes
    ----------
    classes_ : array of shape (classes,)
    coef_ : array of shape (1, columns) or (classes, columns)
        One row fewer with a reference class.
    intercept_ : array of shape (1,) or (classes,)
    separating_direction_ : array of shape (predictors, columns + 1)
        Only where the classes are separated and there is no penalty: coefficients, and last
        the intercepts, along which the likelihood grows for ever.
    n_iter_ : array of shape (1,)
        Passes of the method, less those at points that it turned back from.
    certificate_ : Certificate
    trace_ : Trace

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from suffice import LogisticRegression
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = LogisticRegression().fit(X, y)
    >>> round(model.score(X, y), 3)
    0.958
    >>> model.certificate_.holds
    True
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "penalty": [StrOptions({"l1", "l2", "elasticnet", "deprecated"}), None],
        "C": [Interval(Real, 0, None, closed="right")],
        "l1_ratio": [Interval(Real, 0, 1, closed="both"), None],
        "dual": ["boolean"],
        "tol": [Interval(Real, 0, None, closed="neither")],
        "fit_intercept": ["boolean"],
        "intercept_scaling": [Interval(Real, 0, None, closed="neither")],
        "class_weight": [dict, StrOptions({"balanced"}), None],
        "random_state": ["random_state"],
        "solver": [StrOptions(set(METHODS))],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "verbose": ["verbose"],
        "warm_start": ["boolean"],
        "n_jobs": [Integral, None],
        **CONSTRAINTS,
        "reference_class": "no_validation",  # type: ignore[dict-item]
    }
    _saved_private = ("_likelihood",)
    _likelihood: ClassLikelihood | None

    def __init__(
        self,
        penalty: str | None = "deprecated",
        *,
        C: float = 1.0,
        l1_ratio: float | None = 0.0,
        dual: bool = False,
        tol: float = 1e-8,
        fit_intercept: bool = True,
        intercept_scaling: float = 1,
        class_weight: Any = None,
        random_state: Any = None,
        solver: str = "auto",
        max_iter: int = 100,
        verbose: int = 0,
        warm_start: bool = False,
        n_jobs: int | None = None,
        batch_size: int = 1,
        learning_rate: str = "auto",
        eta0: float | None = None,
        power_t: float = 0.5,
        momentum: float = 0.0,
        reference_class: Any = None,
    ) -> None:
        self.penalty = penalty
        self.C = C
        self.l1_ratio = l1_ratio
        self.dual = dual
        self.tol = tol
        self.fit_intercept = fit_intercept
        self.intercept_scaling = intercept_scaling
        self.class_weight = class_weight
        self.random_state = random_state
        self.solver = solver
        self.max_iter = max_iter
        self.verbose = verbose
        self.warm_start = warm_start
        self.n_jobs = n_jobs
        self.batch_size = batch_size
        self.learning_rate = learning_rate
        self.eta0 = eta0
        self.power_t = power_t
        self.momentum = momentum
        self.reference_class = reference_class

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    # --- the problem ------------------------------------------------------------------------

    def _method(self) -> str:
        return METHODS[self.solver]

    def _label_reader(self) -> Any:
        return labels_of

    def _loss(self, first_look: FirstLook) -> Logistic | Softmax:
        classes = first_look.labels
        if len(classes) < 2:
            raise ValueError(
                "LogisticRegression needs rows of at least two classes, but the target holds "
                f"only one class: {classes.tolist()[0]!r}"
            )
        if self.reference_class is not None:
            return Softmax.against(classes, self.reference_class)
        if len(classes) > 2:
            return Softmax(len(classes))
        return Logistic(compiled=first_look.count >= COMPILED_FROM)

    def _is_fair(self, first_look: FirstLook) -> bool:
        return first_look.gathered_all(labels_of)

    def _target_reader(self, first_look: FirstLook) -> Any:
        factors = None if self.class_weight is None else self._class_factors(first_look)
        return partial(class_target, classes=first_look.labels, factors=factors)

    def _class_factors(self, first_look: FirstLook) -> Array:
        return class_weights(self.class_weight, first_look)

    def _strengths(self) -> tuple[float, float]:
        """Strengths of the penalties on absolute values and on squares."""
        if self.penalty is None or np.isinf(self.C):
            return 0.0, 0.0
        ratio = {"l1": 1.0, "l2": 0.0}.get(self.penalty, self.l1_ratio or 0.0)
        return ratio / self.C, (1 - ratio) / self.C

    def _l1(self) -> float:
        return self._strengths()[0]

    def _l2(self) -> float:
        return self._strengths()[1]

    def _minimised(self) -> str:
        l1, l2 = self._strengths()
        if not l1 + l2:
            return "the log loss"
        mixed = f", l1_ratio = {l1 / (l1 + l2):g}" if l1 else ""
        return f"{with_penalty('the log loss', 'C', self.C)}{mixed}"

    def _first_guess(self, objective: Objective, first_look: FirstLook) -> Array:
        start = np.zeros(objective.shape)
        if self.fit_intercept:
            weights = self._class_factors(first_look) * first_look.label_weights
            start[:, -1] = log_odds(of_classes(objective.loss), weights)
        return start

    def _line(self, coef: Array, intercept: Array, first_look: FirstLook) -> dict[str, Any]:
        return {"classes_": first_look.labels, "coef_": coef, "intercept_": intercept}

    # --- the fit ----------------------------------------------------------------------------

    def _search(
        self, objective: Objective, first_look: FirstLook, sample: Source | None, method: Chosen
    ) -> Minimising:
        if any(self._strengths()):
            return (yield from super()._search(objective, first_look, sample, method))
        # Without a penalty there may be no minimum.
        search = partial(
            minimise,
            objective,
            n_rows=first_look.count,
            method=method.method,
            tol=self.tol,
            warm=self._is_warm(objective),
        )
        start, rows = self._start(objective, first_look), first_look.sample
        return (
            yield from minimise_or_separate(objective, search, start, sample, rows, self.max_iter)
        )

    def _descend(
        self, objective: Objective, first_look: FirstLook, sample: Source | None, method: Chosen
    ) -> Descending:
        found = yield from super()._descend(objective, first_look, sample, method)
        if any(self._strengths()) or STOPPED in found.notes:
            return found
        # A slope that falls for ever is gentle in the end, and looks like a minimum.
        whole = sample is None
        direction = yield from separating_direction(objective, found, first_look.sample, whole)
        return found if direction is None else replace(found, separating=direction)

    def _finish(
        self, objective: Objective, found: Minimum, first_look: FirstLook, method: Chosen
    ) -> Passes:
        attributes = {
            **self._line(*objective.columns.to_user(found.parameters), first_look),
            "n_iter_": np.array([found.iterations], dtype=np.int32),
            "_likelihood": None,
        }
        proof = self._certificate(objective, found, method)
        factors, weights = self._class_factors(first_look), first_look.label_weights
        self.__dict__.pop("separating_direction_", None)
        if found.separating is not None:
            direction, constant = objective.columns.to_user(found.separating)
            attributes["separating_direction_"] = np.hstack([direction, constant[:, None]])
            proof = without_minimum(proof)
        elif self._l1():
            proof = yield from with_gap(proof, objective, found, factors * weights)
        else:
            attributes["_likelihood"] = yield from last_pass(
                objective, found, factors, weights, first_look.count
            )
        return Found(attributes, proof)

    # --- predicting ---------------------------------------------------------------------------

    def _scores(self, rows: Any) -> NDArray[np.float64]:
        eta = self._fitted_loss().all_predictors((rows @ self.coef_.T + self.intercept_).T)
        return np.ascontiguousarray(eta[1] - eta[0] if len(eta) == 2 else eta.T)

    def _probabilities(self, rows: Any) -> NDArray[np.float64]:
        eta = np.asarray(rows @ self.coef_.T + self.intercept_)
        return self._fitted_loss().probabilities(eta.T).T

    def _log_probabilities(self, rows: Any) -> NDArray[np.float64]:
        eta = self._fitted_loss().all_predictors((rows @ self.coef_.T + self.intercept_).T)
        eta = eta - eta.max(axis=0)
        return np.asarray(eta - np.log(np.exp(eta).sum(axis=0))).T

    def _fitted_loss(self) -> Logistic | Softmax:
        n = len(self.classes_)
        if len(self.coef_) == n:
            return Softmax(n)
        if self.reference_class is None:
            return Logistic()
        return Softmax.against(self.classes_, self.reference_class)

    def _predicted(self, rows: Any) -> NDArray[Any]:
        return self.classes_[np.argmax(self._probabilities(rows), axis=1)]

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

        The coefficients are those of log odds: against the other class, against the reference
        class, or, for several classes without one, against the classes' mean.  Under a
        squared penalty the standard errors are deviations of the posterior, and the table says so.

        Parameters
        ----------
        level : float, default=0.95
            Coverage of the confidence intervals.
        cov : {"nonrobust", "HC0", "HC1", "HC2", "HC3", "cluster"}, default="nonrobust"
            Where standard errors come from: from the information, if the model is true; from
            the scores of the rows, if only the rows, or the clusters of rows, are independent.
        X, y, sample_weight : optional
            The rows of the fit (or a Source as `X`), for all but "nonrobust", and for fits on
            so many rows that the information was not kept: it is kept from then on.  With
            the rows, the information is that of the fit to all digits; what a fit of many
            rows keeps gives standard errors to four or five.
        clusters : array of shape (rows,), str or Source, optional
            For "cluster": a label for each row, the name of a column of `X`, or a source
            whose target are the labels.  Their sums are kept: clusters × coefficients numbers.

        Returns
        -------
        Summary
            Prints as a table; `to_frame()` gives the coefficients as a data frame,
            `wald_test` and `likelihood_ratio_test` test hypotheses.
        """
        return summary_of(self, summarize_logistic, level, cov, (X, y, sample_weight), clusters)

    def predictive(self, X: Any, level: float = 0.95) -> ClassPrediction:
        """Probabilities that take into account how well the coefficients are known.

        Parameters
        ----------
        X : array, data frame, CSR matrix or Source, of shape (rows, columns)
        level : float, default=0.95
            Coverage of the intervals.

        Returns
        -------
        ClassPrediction
            Arrays of shape (rows, classes): `proba`, nearer to equal the farther a row is from
            those of the fit, `lower` and `upper`, `log_odds` and `log_odds_std`.
        """
        check_is_fitted(self)
        laplace = known_likelihood(self, None).laplace
        return predicted_classes(self, X, laplace, checked_level(level))
