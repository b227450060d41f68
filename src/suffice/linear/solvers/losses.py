"""The losses of logistic regression and least squares, in predictors η = θ·x + b.

Two classes, one predictor, y ∈ {0, 1}:

    ℓ = log(1 + e^η) − y η,      ℓ′ = σ(η) − y,      ℓ″ = σ(η) σ(−η)

Classes 0 … K − 1, a predictor each, with p = softmax(η):

    ℓ = log Σₖ e^{ηₖ} − η_y,     ∂ℓ/∂ηₖ = pₖ − 1[y = k],     ∂²ℓ/∂ηₖ∂ηⱼ = pₖ (1[k = j] − pⱼ)

With a reference class its predictor is 0, and only the others are fitted.

Numbers, a predictor for each target:  ℓ = ½ ‖η − y‖².
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from suffice.kernels.linear.logistic import logistic_derivatives
from suffice.numerics.double_double import Array
from suffice.statistics.curvature import Derivatives, Loss

COMPILED_FROM = 1 << 15
"""Rows of a fit from which the compiled loss saves more than loading it takes."""


@dataclass(frozen=True)
class Logistic:
    """Two classes: y is 0 or 1, or a share of successes between them.

    Attributes
    ----------
    compiled : bool
        Whether a kernel computes it: five times as fast, for fits of many rows.
    """

    compiled: bool = False

    n_predictors = 1

    def __call__(self, y: NDArray[np.float64], eta: Array, order: int) -> Derivatives:
        eta = eta[0]
        if self.compiled and order:
            parts = np.empty((3, len(eta)))
            logistic_derivatives(np.ascontiguousarray(y), np.ascontiguousarray(eta), *parts)
            return Derivatives(parts[0], parts[1:2], parts[None, 2:] if order == 2 else None)
        small = np.exp(-np.abs(eta))
        value = np.maximum(eta, 0.0) - y * eta + np.log1p(small)
        if order == 0:
            return Derivatives(value)
        zero, one = _two_probabilities(eta, small)
        # σ(η) − y without cancellation where the row is almost certain.
        residual = ((1.0 - y) * one - y * zero)[None]
        if order == 1:
            return Derivatives(value, residual)
        return Derivatives(value, residual, (zero * one)[None, None])

    def fitted(self, values: Array) -> Array:
        """The rows of the classes that have a predictor."""
        return values[1:]

    def all_predictors(self, eta: Array) -> Array:
        """The predictors of both classes, that of the first being 0."""
        return np.vstack([np.zeros_like(eta), eta])

    def probabilities(self, eta: Array) -> Array:
        """P(y = 0) and P(y = 1), of shape (2, rows)."""
        return np.stack(_two_probabilities(eta[0], np.exp(-np.abs(eta[0]))))


def _two_probabilities(eta: Array, small: Array) -> tuple[Array, Array]:
    """σ(−η) and σ(η), each to its last digits, from e^(−|η|), which cannot overflow."""
    larger = 1.0 / (1.0 + small)
    smaller, up = small * larger, eta >= 0
    return np.where(up, smaller, larger), np.where(up, larger, smaller)


@dataclass(frozen=True)
class Softmax:
    """Several classes: y is the number of the class.

    Attributes
    ----------
    n_classes : int
    reference : int, optional
        The class whose predictor is fixed at 0.
    """

    n_classes: int
    reference: int | None = None

    @classmethod
    def against(cls, classes: NDArray[Any], label: Any) -> Softmax:
        """Of classes in their order, with the one of this label as the reference class."""
        places = np.flatnonzero(classes == label)
        if not len(places):
            raise ValueError(
                f"reference_class={label!r} is not among the classes "
                f"{', '.join(map(repr, classes[:10].tolist()))}"
            )
        return cls(len(classes), int(places[0]))

    @property
    def n_predictors(self) -> int:
        return self.n_classes - (self.reference is not None)

    @property
    def symmetric(self) -> bool:
        """Whether adding the same to all predictors changes no probability."""
        return self.reference is None

    def __call__(self, y: NDArray[np.float64], eta: Array, order: int) -> Derivatives:
        eta, codes = self.all_predictors(eta), y.astype(np.intp)
        rows = np.arange(len(codes))
        eta = eta - eta.max(axis=0)
        powers = np.exp(eta)
        # The row's own class apart from the others: no digits lost where it is almost certain.
        own = powers[codes, rows]
        powers[codes, rows] = 0.0
        others = powers.sum(axis=0)
        total = own + others
        with np.errstate(divide="ignore", invalid="ignore"):
            value = np.where(own > others, np.log1p(others / own), np.log(total) - eta[codes, rows])
        if order == 0:
            return Derivatives(value)
        powers /= total
        hessian = None
        if order == 2:
            powers[codes, rows] = own / total
            hessian = self._hessian(powers)
        powers[codes, rows] = -others / total
        return Derivatives(value, self.fitted(powers), hessian)

    def _hessian(self, p: Array) -> Array:
        """pₖ (1[k = j] − pⱼ), with 1 − pₖ as the sum of the others."""
        between = p[:, None] * p
        diagonal = np.arange(len(p))
        between[diagonal, diagonal] = 0.0
        sums = between.sum(axis=0)
        np.negative(between, out=between)
        between[diagonal, diagonal] = sums
        if self.reference is None:
            return between
        return np.delete(self.fitted(between), self.reference, axis=1)

    def probabilities(self, eta: Array) -> Array:
        """P(y = k) for each class, of shape (classes, rows)."""
        eta = self.all_predictors(eta)
        powers = np.exp(eta - eta.max(axis=0))
        return np.asarray(powers / powers.sum(axis=0))

    def all_predictors(self, eta: Array) -> Array:
        """The predictors of all classes, that of the reference class being 0."""
        return eta if self.reference is None else np.insert(eta, self.reference, 0.0, axis=0)

    def fitted(self, values: Array) -> Array:
        """The rows of the classes that have a predictor."""
        return values if self.reference is None else np.delete(values, self.reference, axis=0)


@dataclass(frozen=True)
class Squared:
    """Numbers: y of shape (rows, targets).

    Attributes
    ----------
    n_targets : int
    """

    n_targets: int = 1

    @property
    def n_predictors(self) -> int:
        return self.n_targets

    def __call__(self, y: NDArray[np.float64], eta: Array, order: int) -> Derivatives:
        residual = eta - y.T
        value = 0.5 * np.square(residual).sum(axis=0)
        hessian = None
        if order == 2:
            hessian = np.zeros((len(eta), len(eta), len(y)))
            hessian[np.arange(len(eta)), np.arange(len(eta))] = 1.0
        return Derivatives(value, residual if order else None, hessian)


def of_classes(loss: Loss) -> Logistic | Softmax:
    """A loss that is known to be one of these two."""
    if not isinstance(loss, Logistic | Softmax):
        raise TypeError(f"a loss of classes is needed, got {loss!r}")
    return loss
