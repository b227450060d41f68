"""What a logistic regression says about its own uncertainty: `summary` and `predictive`.

A fit keeps its likelihood and the information where that costs next to nothing
(`suffice.linear.inference.logistic_likelihood`); elsewhere, `summary` makes them from the rows.
What is kept may be the information of a point near the fit: given the rows, `summary` takes it at
the fit itself, and sees by the objective there whether they are the rows of the fit.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from suffice.engines.workers import one_blas_thread
from suffice.linear.inference.class_probabilities import ClassPrediction, predicted_classes
from suffice.linear.inference.logistic_likelihood import MOST_PARAMETERS, ClassLikelihood
from suffice.linear.inference.logistic_table import LogisticSummary, summarize_logistic
from suffice.linear.inference.sandwich import (
    GIVE_THE_SAME,
    NOT_THE_ROWS,
    check_weight,
    checked_kind,
)
from suffice.linear.inference.summary import checked_level
from suffice.linear.solvers.losses import COMPILED_FROM, Logistic, Softmax
from suffice.linear.solvers.objective import Objective, Target
from suffice.linear.solvers.sample import Survey, stride_of, survey_pass
from suffice.numerics.double_double import Array
from suffice.sources import Block, Source
from suffice.statistics.counts.labels import codes_among
from suffice.statistics.curvature import Curvature

if TYPE_CHECKING:
    from suffice.linear.solvers.base import IterativeLinearModel as Model
else:
    Model = object

SAME_OBJECTIVE = 1e-6
"""Share of the loss of knowing nothing, or of the objective if that is larger, within which the
objective at a fit is the same again.  That of n other rows of the same kind is off by some 1/√n."""


class LogisticInference(Model):
    """Standard errors, tests and predictions that widen, for logistic regression."""

    _saved_private = ("_likelihood",)
    _likelihood: ClassLikelihood | None

    classes_: NDArray[Any]

    def summary(
        self,
        level: float = 0.95,
        *,
        cov: str = "nonrobust",
        X: Any = None,
        y: Any = None,
        sample_weight: Any = None,
        clusters: Any = None,
    ) -> LogisticSummary:
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
        LogisticSummary
            Prints as a table; `to_frame()` gives the coefficients as a data frame,
            `wald_test` and `likelihood_ratio_test` test hypotheses.
        """
        check_is_fitted(self)
        level, cov = checked_level(level), checked_kind(cov, X, clusters)
        source = None if X is None else self._training_source(X, y, sample_weight, reset=False)
        with one_blas_thread():
            known = self._known(source)
            return summarize_logistic(self, known, level, cov, source, clusters)

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
        laplace, level = self._known(None).laplace, checked_level(level)
        return predicted_classes(self, X, laplace, level)

    def _known(self, source: Source | None) -> ClassLikelihood:
        """The likelihood and the information: kept, or made from the rows at the fit."""
        known: ClassLikelihood | None = getattr(self, "_likelihood", None)
        if known is None:
            self._check_smooth()
            if source is None:
                raise ValueError(
                    "the fit kept no information, as it had many rows or columns: give its rows "
                    "once, as in summary(X=X, y=y) or summary(X=source)"
                )
            known = self._likelihood = self._likelihood_of(source)
        elif source is not None:
            known = self._taken_again(known, source)
        return known

    def _check_smooth(self) -> None:
        """Raise unless the fit is a minimum about which the objective is a bowl."""
        if "separated" in self.certificate_.claim:
            raise ValueError(
                "the classes are separated: the likelihood has no maximum, and so there are no "
                "standard errors; see separating_direction_, or fit with a penalty, C=1.0 say"
            )
        if self._l1():
            raise ValueError(
                "a penalty on absolute values leaves no standard errors: its minimum is at a kink; "
                "fit the columns it chose without a penalty (on other rows), or use l1_ratio=0"
            )
        if self.coef_.size + len(self.coef_) > MOST_PARAMETERS:
            raise ValueError(
                f"the information of {self.coef_.size:,} coefficients is not inverted; it is for "
                f"up to {MOST_PARAMETERS:,}"
            )

    def _likelihood_of(self, source: Source) -> ClassLikelihood:
        """By two passes over the rows of the fit."""
        stride = stride_of(source.count_rows(), source.n_columns + 1)
        asked = survey_pass(stride, self._labels_of(), self._check_block)
        survey: Survey = self._pass(source, asked.summarize)
        if survey.labels.tolist() != self.classes_.tolist():
            raise ValueError(NOT_THE_ROWS + "they hold other classes")
        objective, factors = self._objective(survey), self._class_factors(survey)
        at, hessian = self._at_the_fit(objective, source)
        return ClassLikelihood.of(objective, hessian, at.loss, factors, survey.label_weights)

    def _taken_again(self, kept: ClassLikelihood, source: Source) -> ClassLikelihood:
        """The likelihood at the fit itself instead of near it, by one pass over its rows."""
        loss: Logistic | Softmax = self._fitted_loss()
        columns = kept.columns
        if isinstance(loss, Logistic):
            loss = replace(loss, compiled=source.count_rows() >= COMPILED_FROM)
        l1, l2 = np.zeros((2, loss.n_predictors, columns.n_parameters))
        l2[:, : len(columns.scale)] = self._l2() / columns.scale**2

        def target(block: Block) -> Target:
            codes = self._codes(block)
            return Target(codes.astype(np.float64), kept.row_weights(codes, block.weight))

        at, hessian = self._at_the_fit(Objective(loss, columns, l2, l1, target), source, kept)
        return kept.at(hessian, at.loss)

    def _at_the_fit(
        self, objective: Objective, source: Source, kept: ClassLikelihood | None = None
    ) -> tuple[Curvature, Array]:
        """Loss and derivatives of the rows at the fit; an error unless they are its rows."""
        parameters = objective.columns.from_user(self.coef_, np.atleast_1d(self.intercept_))
        summarize = partial(objective.summarize, parameters=parameters, order=2)
        at: Curvature = self._pass(source, summarize)
        hessian = objective.hessian(at)
        if kept is not None:
            check_weight(at.weight, kept.weight)
        now, then = objective.value(at, parameters), self.certificate_.measures["objective"]
        allowed = SAME_OBJECTIVE * max(then, at.weight * np.log(len(self.classes_)))
        if self.certificate_.holds:
            # What was measured may be the objective before a last step of about that distance.
            step = self.certificate_.measures.get("distance", 0.0) * np.linalg.norm(parameters)
            allowed += step**2 * np.trace(hessian)
        if not abs(now - then) <= allowed:
            raise ValueError(
                f"{NOT_THE_ROWS}at its coefficients their objective is {now:.9g}, and in the fit "
                f"it was {then:.9g}; {GIVE_THE_SAME}, and leave the model's parameters as they were"
            )
        return at, hessian

    def _codes(self, block: Block) -> NDArray[np.int64]:
        """The place of each row's label among the classes of the fit."""
        try:
            return codes_among(self._labels(block), self.classes_)
        except KeyError as error:
            raise ValueError(f"{NOT_THE_ROWS}there is no class {error} in it") from None
