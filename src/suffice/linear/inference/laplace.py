"""How well a fit determines its parameters: the inverse of the information, about the fit.

With the information H of all rows (and the penalty's share), the estimates scatter with the
covariance φ H⁻¹, and under a flat prior, or a Gaussian one if there is a penalty, that is Laplace's
approximation of the posterior.  A predictor η = θ·x + b then has the variance

    φ ‖Tᵀ a‖²,      H⁻¹ = T Tᵀ,      a = (x − c, 1)

which grows with the distance from the rows.  T belongs to columns about a centre c, so that
an offset of a column costs no digits.

Reference: MacKay, "The evidence framework applied to classification networks" (1992).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import linalg, sparse, special

from suffice.fitting.files.registry import register
from suffice.linear.glm.links import LINKS
from suffice.linear.inference.uncertainty import NOISE, inverse_root, without_noise
from suffice.linear.solvers.objective import ScaledColumns
from suffice.numerics.double_double import Array
from suffice.statistics.curvature import Curvature

NODES, WEIGHTS = np.polynomial.hermite_e.hermegauss(41)


class Prediction(NamedTuple):
    """What a model and its uncertainty say about the means of rows.

    Attributes
    ----------
    mean : array of shape (rows,)
        The posterior mean of μ; it differs from `predict`, which is μ at the fitted parameters.
    lower, upper : arrays of shape (rows,)
        Between which μ lies with the given probability.
    predictor, predictor_std : arrays of shape (rows,)
        η and its standard deviation; infinite where the rows of the fit leave η open.
    """

    mean: Array
    lower: Array
    upper: Array
    predictor: Array
    predictor_std: Array


@register
@dataclass(frozen=True, eq=False)
class Laplace:
    """T, and the directions that stay open.

    Attributes
    ----------
    root : array of shape (parameters, directions)
        T: a row for each coefficient, then one for the intercept at the centre if there is one.
    null_space : array of shape (parameters, open directions)
    centre : array of shape (coefficients,)
    kept : int array of shape (coefficients,)
        The columns that have a coefficient.
    intercept : bool
    """

    root: Array
    null_space: Array
    centre: Array
    kept: NDArray[np.int64]
    intercept: bool

    @classmethod
    def of(cls, information: Array, columns: ScaledColumns) -> Laplace:
        """From the information in the method's columns, of shape (parameters, parameters)."""
        return cls.from_root(*inverse_root(information), columns)

    @classmethod
    def from_root(cls, root: Array, null_space: Array, columns: ScaledColumns) -> Laplace:
        """From T and the open directions in the method's columns."""
        kept = np.arange(columns.n_given) if columns.kept is None else columns.kept
        unscale = 1 / columns.divisor[:, None]
        return cls(
            root * unscale,
            null_space * unscale,
            columns.centre,
            kept.astype(np.int64),
            columns.intercept,
        )

    def directions(self, X: Any) -> Array:
        """Tᵀa of each row, of shape (rows, directions)."""
        return self._times(X, self.root)

    def variance(self, X: Any) -> Array:
        """‖Tᵀa‖² of each row; infinite where it has a part along an open direction."""
        found = np.square(self.directions(X)).sum(axis=1)
        if self.null_space.shape[1]:
            away, size = np.abs(self._times(X, self.null_space)), self._sizes(X)
            found[(away > NOISE * size).any(axis=1)] = np.inf
        return found

    def _times(self, X: Any, matrix: Array) -> Array:
        d, rows = len(self.kept), self._kept_of(X)
        if sparse.issparse(rows):
            found = rows @ matrix[:d] - self.centre @ matrix[:d]
        else:
            found = (np.asarray(rows, dtype=np.float64) - self.centre) @ matrix[:d]
        return np.asarray(found + matrix[d] if self.intercept else found)

    def _sizes(self, X: Any) -> Array:
        """How large the terms are that add up to a part along an open direction."""
        matrix, d = np.abs(self.null_space), len(self.kept)
        found = abs(self._kept_of(X)) @ matrix[:d] + np.abs(self.centre) @ matrix[:d]
        return np.asarray(found + matrix[d] if self.intercept else found)

    def _kept_of(self, X: Any) -> Any:
        return X if len(self.kept) == X.shape[1] else X[:, self.kept]

    def in_user_columns(self) -> tuple[Array, Array]:
        """T and the open directions, the intercept first, of columns that are not centred."""
        return self._with_intercept(self.root), self._with_intercept(self.null_space)

    def _with_intercept(self, matrix: Array) -> Array:
        if not self.intercept:
            return matrix
        coef, at_centre = matrix[:-1], matrix[-1]
        size = np.abs(self.centre) @ np.abs(coef) + np.abs(at_centre)
        return np.vstack([without_noise(at_centre - self.centre @ coef, size), coef])


def smallest(parameters: Array, information: Array, root: Array, columns: ScaledColumns) -> Array:
    """Of all parameters with the same predictors, those with the smallest coefficients.

    Parameters
    ----------
    parameters : array of shape (parameters,)
        In the method's columns, as are the following.
    information : array of shape (parameters, parameters)
    root : array of shape (parameters, directions)
    columns : ScaledColumns
    """
    # Tᵀ H θ is all that the rows see of θ; the intercept is free to make θ small.
    seen = root.T @ information
    seen /= np.linalg.norm(seen, axis=1)[:, None]
    d = len(columns.scale)
    fixed, per_coef = seen @ parameters, seen[:, :d] * columns.scale
    constant = seen[:, d:].sum(axis=1)
    both = np.column_stack([fixed, constant])
    solved = linalg.lstsq(per_coef, both)[0]
    (coef, moved), (left, missed) = solved.T, (both - per_coef @ solved).T
    intercept = 0.0
    if np.linalg.norm(missed) > NOISE * np.linalg.norm(constant):
        intercept = (missed @ left) / (missed @ missed)
    elif moved.any():
        intercept = (moved @ coef) / (moved @ moved)
    found = parameters.copy()
    found[:d] = (coef - intercept * moved) * columns.scale
    found[d:] = intercept
    return found


def effective_parameters(information: Curvature, root: Array) -> float:
    """tr(H₀ H⁻¹), with the information H₀ of the rows alone: the rank, if nothing is penalised."""
    size = root.shape[0]
    rows_alone = information.hessian.reshape(size, size)
    return float(np.sum(root * (rows_alone @ root)))


def prediction(loss: Any, eta: Array, deviation: Array, level: float) -> Prediction:
    """What normal predictors say about the means.

    Parameters
    ----------
    loss : GeneralizedLoss
    eta, deviation : arrays of shape (rows,)
    level : float
    """
    known = np.isfinite(deviation)
    spread = np.where(known, deviation, 0.0)
    if loss.link == LINKS["log"]:
        mean = loss.mean(eta + 0.5 * np.square(spread))
    else:
        # Quadrature at Hermite's nodes, a node at a time.
        parts = (w * loss.mean(eta + z * spread) for z, w in zip(NODES, WEIGHTS, strict=True))
        mean = sum(parts) / WEIGHTS.sum()
    half = special.ndtri((1 + level) / 2) * deviation
    ends = loss.mean(eta - half), loss.mean(eta + half)
    return Prediction(
        np.where(known, mean, np.nan), np.minimum(*ends), np.maximum(*ends), eta, deviation
    )
