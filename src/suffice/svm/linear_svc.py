"""Classification by a linear support vector machine.

    minimise over w, b:   ½ ‖w‖² + C Σ sᵢ ℓ(1 − yᵢ (w·xᵢ + b)),      yᵢ = ±1

with the hinge ℓ(r) = max(0, r) or its square, and sᵢ the weight of the row.  b is not penalised.
Several classes have a machine each, against all others.

Every step is a pass: it merges the loss, its gradient and the Gram matrix of the rows whose loss is
curved there (`suffice.svm.primal.newton`).  Hinges become smooth by their multipliers αᵢ, which
follow from the points of the earlier steps (`suffice.svm.primal.losses`).  The same multipliers,
made feasible for the dual problem, prove how close the objective is to the least
(`suffice.svm.primal.duality_gap`).

Reference: Mangasarian, "A finite Newton method for classification" (2002); Keerthi and DeCoste, "A
modified finite Newton method for fast solution of large scale linear SVMs" (2005).
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.utils._param_validation import Interval, StrOptions

from suffice.fitting.certificate import Certificate
from suffice.fitting.class_weights import positive_factors
from suffice.fitting.classification import Classifier, labels_of
from suffice.fitting.estimator import Estimator
from suffice.fitting.requests import Found, Passes, needed, reading
from suffice.fitting.side_by_side import side_by_side
from suffice.numerics.double_double import Array
from suffice.sources import Block, Source
from suffice.sources.base import NOTHING
from suffice.svm.primal.duality_gap import Bounds
from suffice.svm.primal.first_look import ClassSample, first_look, stride_of
from suffice.svm.primal.minimise import minimise
from suffice.svm.primal.newton import MOST_COLUMNS, PrimalSearch
from suffice.svm.primal.problem import PrimalProblem

ROUGH = 1e-3
"""Relative gap at which the minimum of the drawn rows is close enough for a start."""


class LinearSVC(Classifier, Estimator):
    """Linear support vector classification.

    Parameters
    ----------
    penalty : {"l2"}, default="l2"
        "l1" is not offered.
    loss : {"hinge", "squared_hinge"}, default="squared_hinge"
    dual : "auto" or bool, default="auto"
        Accepted for compatibility: the result does not depend on it.
    tol : float, default=1e-4
        Duality gap, relative to the objective, at which to stop.
    C : float, default=1.0
        Weight of the losses beside ½ ‖w‖².
    multi_class : {"ovr"}, default="ovr"
        One machine for each class against the others; "crammer_singer" is not offered.
    fit_intercept : bool, default=True
        Whether there is a constant term, which is not penalised.
    intercept_scaling : float, default=1.0
        Accepted for compatibility: the intercept is not penalised, so nothing has to be scaled.
    class_weight : dict, "balanced" or None, default=None
        Factor of C for each class's rows; "balanced" gives all classes the same sum.  Of more
        than two classes, it is that of the class which is told from the others.
    verbose : int, default=0
        Accepted for compatibility: `trace_` has a row for each pass.
    random_state : int, optional
        Accepted for compatibility: nothing is random.
    max_iter : int, default=1000
        Most steps.

    Attributes
    ----------
    classes_ : array of shape (classes,)
    coef_ : array of shape (1, columns) or (classes, columns)
    intercept_ : array of shape (1,) or (classes,)
    n_iter_ : int
        Steps, of the class that took the most.
    certificate_ : Certificate
        Primal and dual objective, and the gap between them, summed over the classes; the largest
        relative gap of a class, which is what `tol` is compared with.
    trace_ : Trace

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from suffice import LinearSVC
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = LinearSVC(loss="hinge").fit(X, y)
    >>> round(model.score(X, y), 2)
    0.96
    >>> model.certificate_.holds
    True
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "penalty": [StrOptions({"l1", "l2"})],
        "loss": [StrOptions({"hinge", "squared_hinge"})],
        "dual": ["boolean", StrOptions({"auto"})],
        "tol": [Interval(Real, 0, None, closed="neither")],
        "C": [Interval(Real, 0, None, closed="neither")],
        "multi_class": [StrOptions({"ovr", "crammer_singer"})],
        "fit_intercept": ["boolean"],
        "intercept_scaling": [Interval(Real, 0, None, closed="neither")],
        "class_weight": [dict, StrOptions({"balanced"}), None],
        "verbose": ["verbose"],
        "random_state": ["random_state"],
        "max_iter": [Interval(Integral, 0, None, closed="left")],
    }
    coef_: Array
    intercept_: Array

    def __init__(
        self,
        penalty: str = "l2",
        loss: str = "squared_hinge",
        *,
        dual: Any = "auto",
        tol: float = 1e-4,
        C: float = 1.0,
        multi_class: str = "ovr",
        fit_intercept: bool = True,
        intercept_scaling: float = 1.0,
        class_weight: Any = None,
        verbose: int = 0,
        random_state: Any = None,
        max_iter: int = 1000,
    ) -> None:
        self.penalty = penalty
        self.loss = loss
        self.dual = dual
        self.tol = tol
        self.C = C
        self.multi_class = multi_class
        self.fit_intercept = fit_intercept
        self.intercept_scaling = intercept_scaling
        self.class_weight = class_weight
        self.verbose = verbose
        self.random_state = random_state
        self.max_iter = max_iter

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    # --- fitting ----------------------------------------------------------------------------

    def _passes(self, source: Source) -> Passes:
        self._refuse_what_is_not_offered()
        stride = stride_of(source.count_rows(), source.n_columns + 1)
        look: ClassSample = yield from needed(first_look(stride))
        if not look.count:
            raise ValueError(NOTHING)
        classes = look.labels
        if len(classes) < 2:
            raise ValueError(
                "LinearSVC needs rows of at least two classes, but the target holds only one "
                f"class: {classes.tolist()[0]!r}"
            )
        problems = self._problems(look, classes)
        starts: list[Array | None] = [None] * len(problems)
        rows = look.rows if stride > 1 else None
        if rows is not None:
            rough, enough = [replace(p, C=p.C * stride) for p in problems], max(ROUGH, self.tol)
            some = yield from reading(self._minimised(rough, starts, enough), rows)
            starts = [search.best for search in some]
        searches = yield from self._minimised(problems, starts, self.tol)
        lines = [problems[0].units.to_user(search.best) for search in searches]
        attributes = {
            "classes_": classes,
            "coef_": np.array([coef for coef, _ in lines]),
            "intercept_": np.array([intercept for _, intercept in lines]),
            "n_iter_": max(search.steps for search in searches),
        }
        return Found(attributes, self._certificate(searches, source.n_columns))

    def _refuse_what_is_not_offered(self) -> None:
        if self.penalty == "l1":
            raise ValueError(
                "penalty='l1' is not offered: use LogisticRegression(l1_ratio=1), which selects "
                "columns, or penalty='l2'"
            )
        if self.multi_class == "crammer_singer":
            raise ValueError("multi_class='crammer_singer' is not offered: use 'ovr'")

    def _problems(self, look: ClassSample, classes: NDArray[Any]) -> list[PrimalProblem]:
        """One for each machine."""
        units = look.units(self.fit_intercept)
        factors = positive_factors(self.class_weight, classes, look.label_weights)
        if len(classes) == 2:
            sides = [(classes[1], factors[1], factors[0])]
        else:
            sides = [(k, factor, 1.0) for k, factor in zip(classes, factors, strict=True)]
        return [
            PrimalProblem(
                float(self.C),
                units,
                partial(side_of_class, label=label, factors=(own, rest)),
            )
            for label, own, rest in sides
        ]

    def _minimised(
        self, problems: list[PrimalProblem], starts: list[Array | None], tol: float
    ) -> Any:
        """All machines, each of their passes over one reading of the rows."""
        pairs = zip(problems, starts, strict=True)
        return side_by_side(
            [minimise(problem, self.loss, tol, self.max_iter, at) for problem, at in pairs]
        )

    def _certificate(self, searches: list[PrimalSearch], n_columns: int) -> Certificate:
        bounds = [search.bounds for search in searches]
        total = Bounds(sum(one.primal for one in bounds), sum(one.dual for one in bounds))
        worst = max(one.relative for one in bounds)
        measures = {
            "primal": total.primal,
            "dual": total.dual,
            "gap": total.gap,
            "relative_gap": worst,
        }
        holds = all(search.proved for search in searches)
        notes: tuple[str, ...] = ()
        if not holds:
            out_of_steps = any(search.left <= 0 and not search.proved for search in searches)
            notes = ("raise max_iter" if out_of_steps else "rounding, or a wish to stop, ended it",)
        loss = "hinges" if self.loss == "hinge" else "squared hinges"
        claim = (
            f"½‖w‖² and C = {self.C:g} times the sum of {loss}: the objective is within "
            f"{max(worst, 0.0):.0e} of the least, relative to itself"
        )
        method = "Newton's method" if self.loss == "squared_hinge" else "the method of multipliers"
        way = "Gram matrices" if n_columns <= MOST_COLUMNS else "conjugate gradients"
        return Certificate(holds, claim, f"{method}, by {way}", measures, notes)

    # --- predicting -------------------------------------------------------------------------

    def _scores(self, rows: Any) -> NDArray[np.float64]:
        scores = np.asarray(rows @ self.coef_.T + self.intercept_)
        return scores[:, 0] if scores.shape[1] == 1 else scores

    def _predicted(self, rows: Any) -> NDArray[Any]:
        scores = self._scores(rows)
        codes = (scores > 0).astype(int) if scores.ndim == 1 else scores.argmax(axis=1)
        return np.asarray(self.classes_[codes])


def side_of_class(
    block: Block, label: Any, factors: tuple[float, float]
) -> tuple[Array, Array | None]:
    """1 for the rows of a class and −1 for others, and their weights times the factors."""
    member = np.asarray(labels_of(block) == label)
    weight = block.weight
    if factors != (1.0, 1.0):
        factor = np.where(member, *factors)
        weight = factor if weight is None else factor * weight
    return np.where(member, 1.0, -1.0), weight
