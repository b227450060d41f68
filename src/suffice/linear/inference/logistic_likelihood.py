"""What a fit of a logistic regression keeps for inference: its likelihood and its information.

Newton's method ends with the Hessian at the minimum, so that keeping it costs nothing; it is
inverted when it is first asked for.  Of many rows it is that of a point close to the minimum
(`suffice.linear.solvers.newton.CLOSE`): `at` replaces it where the rows are at hand.

Several classes without a reference class have coefficients that add up to zero over the classes;
the covariance is that of the coefficients less their mean over the classes.
"""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import special

from suffice.fitting.classification import labels_of
from suffice.fitting.files.registry import register
from suffice.fitting.requests import Pass, StopAsked
from suffice.linear.inference.laplace import Laplace
from suffice.linear.inference.sandwich import NOT_THE_ROWS
from suffice.linear.inference.uncertainty import inverse_root, without_noise
from suffice.linear.solvers.line_search import Minimum
from suffice.linear.solvers.objective import Objective, ScaledColumns, Target
from suffice.numerics.cached import cached_property
from suffice.numerics.double_double import Array
from suffice.sources import Block
from suffice.statistics.counts.labels import codes_among

CHEAP_INFORMATION = 2e8
"""Operations up to which a fit by gradients ends with a pass for the information."""

MOST_PARAMETERS = 2048
"""Parameters up to which the information is kept, and inverted when it is asked for."""

register(ScaledColumns, "LinearColumns")


@register
@dataclass(frozen=True, eq=False)
class ClassLikelihood:
    """What a fit knows about itself.

    Attributes
    ----------
    information : array of shape (predictors × parameters,) twice
        H in the method's columns, with the curvature of the penalty.
    columns : ScaledColumns
    symmetric : bool
        Whether the predictors of all classes are fitted, of which only differences matter.
    factors : array of shape (classes,)
        What the weights of each class's rows were multiplied with.
    weight : float
        Sum of the weights.
    log_likelihood, null_log_likelihood : float
    penalised : bool
    """

    information: Array
    columns: ScaledColumns
    symmetric: bool
    factors: Array
    weight: float
    log_likelihood: float
    null_log_likelihood: float
    penalised: bool

    @classmethod
    def of(
        cls, objective: Objective, hessian: Array, loss: float, factors: Array, weights: Array
    ) -> ClassLikelihood:
        """From the derivatives of all rows at the fit.

        Parameters
        ----------
        objective : Objective
        hessian : array
            As `Objective.hessian` gives it.
        loss : float
            Without the penalty.
        factors, weights : arrays of shape (classes,)
            Class weights, and the sums of the rows' weights.
        """
        weights = weights * factors
        total = float(weights.sum())
        null = float(special.xlogy(weights, weights / total).sum())
        symmetric = bool(getattr(objective.loss, "symmetric", False))
        penalised = bool(objective.l2.any())
        return cls(hessian, objective.columns, symmetric, factors, total, -loss, null, penalised)

    def at(self, information: Array, loss: float) -> ClassLikelihood:
        """With the information and the loss of all rows at another point, the fit itself."""
        return replace(self, information=information, log_likelihood=-loss)

    def row_weights(self, codes: NDArray[np.int64], given: Array | None) -> Array | None:
        """What rows of these classes and weights counted in the fit."""
        if (self.factors == 1).all():
            return given
        factors = np.asarray(self.factors[codes])
        return factors if given is None else factors * given

    @property
    def n_predictors(self) -> int:
        return len(self.information) // self.columns.n_parameters

    @cached_property
    def laplace(self) -> tuple[Laplace, ...]:
        """H⁻¹, for each predictor."""
        root, null_space = inverse_root(self.information)
        shape = self.n_predictors, self.columns.n_parameters, -1
        roots, null_spaces = root.reshape(shape), null_space.reshape(shape)
        if self.symmetric:
            roots, null_spaces = _balanced(roots), _balanced(null_spaces)
        pairs = zip(roots, null_spaces, strict=True)
        return tuple(Laplace.from_root(*pair, self.columns) for pair in pairs)

    @property
    def n_parameters(self) -> int:
        """Parameters that the rows fix."""
        directions = self.laplace[0].root.shape[1]
        return directions - (directions // self.n_predictors if self.symmetric else 0)

    def stacked(self) -> tuple[Array, Array]:
        """T and the open directions in the user's columns, predictor after predictor."""
        roots, null_spaces = zip(*(part.in_user_columns() for part in self.laplace), strict=True)
        return np.vstack(roots), np.vstack(null_spaces)


def _balanced(parts: Array) -> Array:
    """Directions of shape (predictors, …) without what all predictors have in common."""
    return without_noise(parts - parts.mean(axis=0), np.abs(parts).mean(axis=0))


def codes_in_the_fit(block: Block, classes: NDArray[Any]) -> NDArray[np.int64]:
    """The place of each row's label among the classes of the fit."""
    try:
        return codes_among(labels_of(block), classes)
    except KeyError as error:
        raise ValueError(f"{NOT_THE_ROWS}there is no class {error} in it") from None


def fitted_target(block: Block, classes: NDArray[Any], kept: ClassLikelihood) -> Target:
    """A block's target, weighted as in the fit."""
    codes = codes_in_the_fit(block, classes)
    return Target(codes.astype(np.float64), kept.row_weights(codes, block.weight))


def last_pass(
    objective: Objective, found: Minimum, factors: Array, weights: Array, count: int
) -> Generator[Pass, Any, ClassLikelihood | None]:
    """The likelihood and the information at the fit; None where they are not to be had cheaply.

    Newton's method leaves them; after other methods they take a pass.
    """
    k, p = objective.shape
    if k * p > MOST_PARAMETERS:
        return None
    hessian = found.hessian
    if hessian is None and count * k * (k + 1) * p**2 <= CHEAP_INFORMATION:
        summarize = partial(objective.summarize, parameters=found.parameters, order=2)
        try:
            hessian = objective.hessian((yield Pass("information", summarize)))
        except StopAsked:
            return None
    if hessian is None:
        return None
    penalty = 0.5 * float(np.sum(objective.l2 * np.square(found.parameters)))
    return ClassLikelihood.of(objective, hessian, found.value - penalty, factors, weights)
