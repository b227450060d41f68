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

from suffice.fitting.classification import Classifier
from suffice.fitting.requests import Found, Passes
from suffice.fitting.trace import Trace
from suffice.linear.inference.logistic import LogisticInference
from suffice.linear.inference.logistic_likelihood import last_pass
from suffice.linear.solvers.base import IterativeLinearModel
from suffice.linear.solvers.choose import Chosen, minimise
from suffice.linear.solvers.gradient_descent import CONSTRAINTS, Descending
from suffice.linear.solvers.line_search import STOPPED, Minimum, Search
from suffice.linear.solvers.logistic_duality_gap import duality_gap
from suffice.linear.solvers.losses import COMPILED_FROM, Logistic, Softmax
from suffice.linear.solvers.objective import Objective, Target
from suffice.linear.solvers.sample import Survey
from suffice.linear.solvers.separation import separating_direction
from suffice.numerics.double_double import Array
from suffice.sources import Block, Source

# scikit-learn's names, and the method that each stands for: where one is as good as another
# the choice is made by shape.
METHODS = {
    "auto": "auto",
    "liblinear": "auto",
    "sag": "auto",
    "saga": "auto",
    "newton": "newton",
    "newton-cg": "newton-cg",
    "newton-cholesky": "newton",
    "lbfgs": "quasi-newton",
    "gd": "gd",
    "sgd": "sgd",
}

ENOUGH_STEPS = 20
"""Passes after which a fit without a penalty is looked at for separation."""

STATIONARY = 1e-6
"""Violation of the optimality conditions, relative to the largest derivative, likewise."""

GAP = 1e-9
"""Duality gap, relative to the loss of knowing nothing, up to which a fit counts as optimal."""


class LogisticRegression(LogisticInference, Classifier, IterativeLinearModel):
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
        Passes over all rows.
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

    def _labels_of(self) -> Any:
        return self._labels

    def _loss(self, survey: Survey) -> Logistic | Softmax:
        classes = survey.labels
        if len(classes) < 2:
            raise ValueError(
                "LogisticRegression needs rows of at least two classes, but the target holds "
                f"only one class: {classes.tolist()[0]!r}"
            )
        if self.reference_class is not None:
            return Softmax.against(classes, self.reference_class)
        if len(classes) > 2:
            return Softmax(len(classes))
        return Logistic(compiled=survey.count >= COMPILED_FROM)

    def _is_fair(self, survey: Survey) -> bool:
        return survey.gathered_all(self._labels)

    def _target(self, block: Block, survey: Survey) -> Target:
        codes = encode(self._labels(block), survey.labels)
        weight = block.weight
        if self.class_weight is not None:
            factors = class_weights(self.class_weight, survey)[codes]
            weight = factors if weight is None else factors * weight
        return Target(codes.astype(np.float64), weight)

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

    def _search(
        self, objective: Objective, survey: Survey, sample: Source | None, method: Chosen
    ) -> Search:
        if any(self._strengths()):
            return (yield from super()._search(objective, survey, sample, method))
        # Without a penalty there may be no minimum: look now and then whether that is so.
        search = partial(minimise, n_rows=survey.count, method=method.method, tol=self.tol)
        start, steps, rows = self._start(objective, survey), 0, sample
        warm = self._is_warm(objective)
        while True:
            some = min(ENOUGH_STEPS, self.max_iter - steps)
            found = yield from search(objective, start, rows, max_iter=some, warm=warm)
            steps += found.steps
            found = replace(found, steps=steps)
            if found.converged or STOPPED in found.notes:
                return found
            direction = yield from separating_direction(
                objective, found, survey.sample, sample is None
            )
            if direction is not None:
                return replace(found, separating=direction)
            if steps >= self.max_iter or found.notes:
                return found
            start, rows = found.parameters, None

    def _descend(
        self, objective: Objective, survey: Survey, sample: Source | None, method: Chosen
    ) -> Descending:
        found = yield from super()._descend(objective, survey, sample, method)
        if any(self._strengths()) or STOPPED in found.notes:
            return found
        # A slope that falls for ever is gentle in the end, and looks like a minimum.
        direction = yield from separating_direction(objective, found, survey.sample, sample is None)
        return found if direction is None else replace(found, separating=direction)

    def _finish(
        self, objective: Objective, found: Minimum, survey: Survey, method: Chosen
    ) -> Passes:
        attributes = {**self._learned(objective, found, survey), "_likelihood": None}
        proof = self._certificate(objective, found, method)
        if found.separating is not None:
            direction, constant = objective.columns.to_user(found.separating)
            attributes["separating_direction_"] = np.hstack([direction, constant[:, None]])
            claim = "the classes are separated: the likelihood has no maximum"
            note = (
                "it grows for ever along `separating_direction_` (coefficients, then the "
                "intercept); a penalty makes the answer finite: C=1.0, say"
            )
            proof = replace(proof, holds=False, claim=claim, notes=(note,))
        elif self._l1():
            weights = class_weights(self.class_weight, survey) * survey.label_weights
            gap = yield from duality_gap(objective, found, weights)
            small = bool(gap <= GAP * weights.sum() * np.log(len(weights)))
            pulls = max(float(objective.l1.max()), float(np.abs(found.gradient).max()))
            small = small and proof.stationarity <= STATIONARY * pulls
            notes = proof.notes if small else (*proof.notes, "the duality gap is still too large")
            proof = replace(
                proof,
                holds=proof.holds and small,
                measures={**proof.measures, "duality_gap": gap},
                notes=notes,
            )
        else:
            factors, weights = self._class_factors(survey), survey.label_weights
            asked = last_pass(objective, found, factors, weights, survey.count)
            attributes["_likelihood"] = yield from asked
        return Found(attributes, proof)

    def _adopt_found(self, found: Found, trace: Trace) -> None:
        self.__dict__.pop("separating_direction_", None)
        super()._adopt_found(found, trace)

    def _class_factors(self, survey: Survey) -> Array:
        return class_weights(self.class_weight, survey)

    def _first_guess(self, objective: Objective, survey: Survey) -> Array:
        start = np.zeros(objective.shape)
        if self.fit_intercept:
            weights = class_weights(self.class_weight, survey) * survey.label_weights
            odds = np.log(np.maximum(weights, 1e-300))
            if isinstance(objective.loss, Logistic):
                start[0, -1] = odds[1] - odds[0]
            elif objective.loss.reference is None:  # type: ignore[attr-defined]
                start[:, -1] = odds - odds.mean()
            else:
                reference = objective.loss.reference  # type: ignore[attr-defined]
                start[:, -1] = np.delete(odds - odds[reference], reference)
        return start

    def _learned(self, objective: Objective, found: Minimum, survey: Survey) -> dict[str, Any]:
        coef, intercept = objective.columns.to_user(found.parameters)
        return {
            "classes_": survey.labels,
            "coef_": coef,
            "intercept_": intercept,
            "n_iter_": np.array([found.steps], dtype=np.int32),
        }

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


def encode(y: NDArray[Any], classes: NDArray[Any]) -> NDArray[np.int64]:
    """The place of each label among the sorted classes."""
    if classes.dtype == object:
        place = {label: code for code, label in enumerate(classes.tolist())}
        return np.fromiter(map(place.__getitem__, y.tolist()), np.int64, len(y))
    if len(classes) == 2:
        return (y == classes[1]).astype(np.int64)
    return np.searchsorted(classes, y).astype(np.int64)


def class_weights(class_weight: Any, survey: Survey) -> Array:
    """The factor of each class."""
    labels = survey.labels.tolist()
    if class_weight is None:
        return np.ones(len(labels))
    if not isinstance(class_weight, dict):
        weights = survey.label_weights
        return np.asarray(weights.sum() / (len(labels) * weights))
    strangers = [label for label in class_weight if label not in labels]
    if strangers and len(class_weight) - len(strangers) < len(labels):
        raise ValueError(
            f"class_weight names {strangers[0]!r}, which is no label of the target; those are "
            f"{', '.join(map(repr, labels[:10]))}"
        )
    factors = np.array([float(class_weight.get(label, 1.0)) for label in labels])
    if not (np.isfinite(factors).all() and (factors >= 0).all() and (factors > 0).sum() > 1):
        raise ValueError(
            "class_weight must be finite and not negative, and positive for at least two classes, "
            f"got {class_weight!r}"
        )
    return factors
