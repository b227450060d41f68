"""What linear models share that are found by passes: first look, objective, method, certificate.

A model says its loss, how it reads a target, and the strength of its penalty.  The method is
chosen by shape (`suffice.linear.solvers.choose`), and recorded in the certificate.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from suffice.fitting.certificate import Certificate
from suffice.fitting.estimator import Estimator
from suffice.fitting.requests import Passes, needed
from suffice.linear.solvers import gradient_descent
from suffice.linear.solvers.choose import Chosen, chosen, minimise
from suffice.linear.solvers.line_search import Minimising, Minimum
from suffice.linear.solvers.objective import Objective, ScaledColumns, Target
from suffice.linear.solvers.preconditioning import recentred
from suffice.linear.solvers.sample import FirstLook, centre_and_scale, first_look_pass, stride_of
from suffice.numerics.double_double import Array
from suffice.sources import Block, Source
from suffice.statistics.curvature import Loss
from suffice.statistics.moments.full import NOTHING
from suffice.statistics.sums import Sums


class IterativeLinearModel(Estimator):
    """Linear predictors that minimise a sum of losses and a penalty, by passes."""

    fit_intercept: bool
    tol: float
    max_iter: int
    warm_start: bool

    coef_: Array
    intercept_: Any

    _takes_last_hessian = False
    """Whether `_finish` takes the Hessian at the minimum itself."""

    # --- what a model says ------------------------------------------------------------------

    @abstractmethod
    def _loss(self, first_look: FirstLook) -> Loss:
        """The loss, once it is known which labels there are."""

    @abstractmethod
    def _target_reader(self, first_look: FirstLook) -> Callable[[Block], Target]:
        """How a block's target enters the loss: a function that can be sent to other processes."""

    @abstractmethod
    def _first_guess(self, objective: Objective, first_look: FirstLook) -> Array:
        """Parameters from which the method may start."""

    @abstractmethod
    def _line(self, coef: Array, intercept: Array, first_look: FirstLook) -> dict[str, Any]:
        """The attributes that predictions are made of, by their names.

        Coefficients have shape (predictors, columns), intercepts (predictors,).
        """

    @abstractmethod
    def _minimised(self) -> str:
        """What is minimised, in words: the loss, and the penalty with its strength."""

    def _l2(self) -> float:
        """Strength of the squared penalty on the coefficients in the user's units."""
        return 0.0

    def _l1(self) -> float:
        """Strength of the penalty on the coefficients' absolute values, likewise."""
        return 0.0

    def _label_reader(self) -> Callable[[Block], NDArray[Any]] | None:
        """From a block to its labels; None for a model without."""
        return None

    def _target_check(self) -> Callable[[Block], Sums | None] | None:
        """What raises unless a block's target is one that the model takes.

        `Sums` go into the first look.
        """
        return None

    def _kept_columns(self) -> NDArray[np.intp] | None:
        """The columns that have coefficients; None if all have."""
        return None

    def _is_fair(self, first_look: FirstLook) -> bool:
        """Whether the gathered rows alone can say about where the minimum is."""
        return True

    def _method(self) -> str:
        """The method that the user insists on, or "auto"."""
        return "auto"

    # --- fitting ----------------------------------------------------------------------------

    def _passes(self, source: Source) -> Passes:
        stride = stride_of(source.count_rows(), source.n_columns + 1)
        look = first_look_pass(stride, self._label_reader(), self._target_check())
        first_look: FirstLook = yield from needed(look)
        if not first_look.count:
            raise ValueError(NOTHING)
        objective, descends = (
            self._objective(first_look),
            self._method() in gradient_descent.SOLVERS,
        )
        if descends:
            objective = recentred(objective, first_look.sample)
        method = chosen(self._method(), objective.shape, first_look.count, self._l1() > 0)
        sample = first_look.sample if stride > 1 and self._is_fair(first_look) else None
        search = self._descend if descends else self._search
        found = yield from search(objective, first_look, sample, method)
        return (yield from self._finish(objective, found, first_look, method))

    @abstractmethod
    def _finish(
        self, objective: Objective, found: Minimum, first_look: FirstLook, method: Chosen
    ) -> Passes:
        """What is learned and proved; a model may ask for more passes here."""

    def _search(
        self, objective: Objective, first_look: FirstLook, sample: Source | None, method: Chosen
    ) -> Minimising:
        return (
            yield from minimise(
                objective,
                self._start(objective, first_look),
                sample,
                n_rows=first_look.count,
                method=method.method,
                tol=self.tol,
                max_iter=self.max_iter,
                needs_hessian=not self._takes_last_hessian,
                warm=self._is_warm(objective),
            )
        )

    def _descend(
        self, objective: Objective, first_look: FirstLook, sample: Source | None, method: Chosen
    ) -> gradient_descent.Descending:
        """`_search` by gradient steps; the model has their parameters (`DescentOptions.of`)."""
        start, constant = (
            self._start(objective, first_look),
            self._first_guess(objective, first_look),
        )
        descent = gradient_descent.DescentOptions.of(self)
        return (
            yield from gradient_descent.descend(
                objective, start, constant, sample, descent, first_look.count
            )
        )

    def _objective(self, first_look: FirstLook) -> Objective:
        """The problem, in columns of about mean 0 and variance 1."""
        loss, kept, some = self._loss(first_look), self._kept_columns(), first_look.sample
        X = some.X if kept is None else some.X[:, kept]  # type: ignore[attr-defined]
        centre, scale = centre_and_scale(X, some.weight, self.fit_intercept)  # type: ignore[attr-defined]
        columns = ScaledColumns(centre, scale, self.fit_intercept, kept, self.n_features_in_)
        l1, l2 = np.zeros((2, loss.n_predictors, columns.n_parameters))
        l1[:, : len(scale)] = self._l1() / scale
        l2[:, : len(scale)] = self._l2() / scale**2
        shown = partial(self._line, first_look=first_look)
        return Objective(loss, columns, l2, l1, self._target_reader(first_look), shown)

    def _start(self, objective: Objective, first_look: FirstLook) -> Array:
        if not self._is_warm(objective):
            return self._first_guess(objective, first_look)
        coef, intercept = np.atleast_2d(self.coef_), np.atleast_1d(self.intercept_)
        return objective.columns.from_user(coef, intercept)

    def _is_warm(self, objective: Objective) -> bool:
        """Whether the fit starts from the coefficients of an earlier one."""
        shape = objective.loss.n_predictors, self.n_features_in_
        fitted = self.warm_start and hasattr(self, "coef_")
        return fitted and np.atleast_2d(self.coef_).shape == shape

    def _certificate(self, objective: Objective, found: Minimum, method: Chosen) -> Certificate:
        if method.method in gradient_descent.SOLVERS:
            descent = gradient_descent.DescentOptions.of(self)
            return gradient_descent.certificate(found, descent, self._minimised())
        slopes = objective.violation(found.gradient, found.parameters)
        measures = {
            "distance": found.distance,
            "stationarity": float(slopes.max(initial=0.0)),
            "objective": found.value,
            "rank": float(found.rank),
        }
        which = "the parameters are" if method.method == "newton-cg" else "every parameter is"
        within = f"{which} within {found.distance:.0e} of it"
        claim = f"the minimiser of {self._minimised()}: {within}"
        notes = found.notes
        if found.rank < found.parameters.size:
            notes += (
                f"only {found.rank} of {found.parameters.size} parameters are determined: of all "
                "minimisers this is one of small norm",
            )
        if not found.converged and not found.notes:
            notes += (f"not converged after {found.steps} passes: raise max_iter",)
        sound = bool(np.isfinite([*measures.values()]).all())
        return Certificate(found.converged and sound, claim, str(method), measures, notes)
