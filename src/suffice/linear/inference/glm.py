"""What a generalised linear model says about its own uncertainty: `summary` and `predictive`.

A fit keeps the information of its last pass, as `Laplace`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from suffice.linear.glm.goodness_of_fit import MOST_INFORMATION, Goodness
from suffice.linear.glm.links import Link
from suffice.linear.glm.loss import GeneralizedLoss
from suffice.linear.inference.glm_table import GeneralizedSummary, bread_of, summarize_glm
from suffice.linear.inference.laplace import Laplace, Prediction, prediction
from suffice.linear.inference.sandwich import Bread, checked_kind
from suffice.linear.inference.summary import checked_level
from suffice.numerics.double_double import Array

if TYPE_CHECKING:
    from suffice.linear.solvers.base import IterativeLinearModel as Model
else:
    Model = object


class GeneralizedInference(Model):
    """Standard errors, tests and predictions that widen, for generalised linear models."""

    _saved_private = ("_laplace", "_goodness", "_places")

    _laplace: Laplace | None
    _goodness: Goodness

    family_: Any
    link_: Link
    dispersion_: float

    def summary(
        self,
        level: float = 0.95,
        *,
        cov: str = "nonrobust",
        X: Any = None,
        y: Any = None,
        sample_weight: Any = None,
        clusters: Any = None,
    ) -> GeneralizedSummary:
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
        GeneralizedSummary
            Prints as a table; `to_frame()` gives the coefficients as a data frame.
        """
        check_is_fitted(self)
        level, source = checked_level(level), None
        self._known_laplace()
        if checked_kind(cov, X, clusters) != "nonrobust":
            source = self._training_source(X, y, sample_weight, reset=False)
        return summarize_glm(self, level, cov, source, clusters)

    @property
    def covariance_(self) -> Array:
        """Of the estimates, the intercept first; NaN where they are open."""
        return self.summary().covariance

    def _bread(self) -> Bread:
        """What sandwich covariances are made of; see `suffice.linear.inference.sandwich`."""
        return bread_of(self)

    def _known_laplace(self) -> Laplace:
        """How well the predictor is known."""
        if self._laplace is None:
            raise ValueError(
                f"this fit of {self.n_features_in_} columns has no information from which "
                f"uncertainties could be told: it is computed up to {MOST_INFORMATION} "
                "parameters, and where it is within float64's range"
            )
        return self._laplace

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
        check_is_fitted(self)
        level, laplace = checked_level(level), self._known_laplace()
        loss = GeneralizedLoss(self.family_, self.link_)

        def both(rows: Any) -> Array:
            variance = self.dispersion_ * laplace.variance(rows)
            return np.column_stack([self._predictors(rows), np.sqrt(variance)])

        eta, deviation = self._apply(X, both).T
        return prediction(loss, eta, deviation, level)
