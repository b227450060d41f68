"""Classes that share one covariance: lines, distances and directions, from their means and Σ.

    wₖ·(x − x̄) + bₖ,      wₖ = Σ⁻¹ (μₖ − x̄),      bₖ = −½ wₖ·(μₖ − x̄) + log πₖ

Between two of many classes, a line is a difference of numbers that are as large as the squared
distance to the farthest class: where that is far, log p(x, y = k) is told by the lengths of
(x − μₖ) M instead, with Σ⁻¹ = M Mᵀ.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from suffice.generative.discriminant.base import class_means, error_of_means
from suffice.generative.discriminant.directions import DiscriminantDirections, solve_directions
from suffice.generative.discriminant.whitening import Frame
from suffice.numerics.double_double import Array

FAR_APART = 30.0
"""Deviations of a class from the centre beyond which lines lose more than three digits."""


class LinearSolution(NamedTuple):
    """What is learned of classes that share one covariance.

    Attributes
    ----------
    centre : array of shape (columns,)
        x̄.
    coef : array of shape (classes, columns)
        w.
    constant : array of shape (classes,)
        b.
    whitening : array of shape (columns, rank), Frame or None
        M, where classes are far apart.
    shifts : array of shape (classes, rank)
        What rounding took from the means, times M.
    directions : DiscriminantDirections
    error : float
        Bound on the relative error of all of it.
    """

    centre: Array
    coef: Array
    constant: Array
    whitening: Array | Frame | None
    shifts: Array
    directions: DiscriminantDirections
    error: float


def solve_linear(
    statistic: Any,
    priors: Array,
    axes: Any,
    variances: Array,
    tol: float,
    directions: DiscriminantDirections | None,
) -> LinearSolution:
    """The linear discriminants.

    Parameters
    ----------
    statistic : PooledMoments, LabelledMoments or ClassMoments
        Of the means of the classes.
    priors : array of shape (classes,)
    axes : PrincipalAxes or Whitening
        Of Σ.
    variances : array of shape (columns,)
        Of Σ.
    tol : float
        Share of the longest direction that others must exceed.
    directions : DiscriminantDirections, optional
        By default those of the means.
    """
    mean, rest, errors = class_means(statistic)
    means = mean.round()
    centre = priors @ means
    centred = (mean - centre) + rest
    coef = axes.solve(centred.T).T
    products = (coef * centred).sum(axis=1).round()
    with np.errstate(divide="ignore"):
        constant = np.log(priors) - products / 2
    # The centre is rounded, and so not quite that of the means.
    away = (centred - (centred * priors[:, None]).sum()).round()
    low = ((mean - means) + rest).round()
    M = axes.whitening
    with np.errstate(over="ignore"):
        lengths = np.square(away @ M).sum(axis=1)
    far = len(means) > 2 and lengths.max() > FAR_APART**2
    return LinearSolution(
        centre=centre,
        coef=coef.round(),
        constant=constant,
        whitening=M if far else None,
        shifts=low @ M if far else np.zeros((len(low), 0)),
        directions=directions or solve_directions(away, priors, axes, tol, errors),
        error=axes.relative_error + error_of_means(errors, means, variances),
    )


def objective(weight: Array, priors: Array, axes: Any, squares: float) -> float:
    """−Σ w log p(x, y), within the directions that are kept.

    Parameters
    ----------
    weight, priors : arrays of shape (classes,)
    axes : PrincipalAxes or Whitening
        Of Σ.
    squares : float
        Σ w (x − μ)ᵀ Σ⁻¹ (x − μ) over the rows.
    """
    spread = weight.sum() * (axes.rank * np.log(2 * np.pi) + axes.log_determinant)
    there = weight > 0
    with np.errstate(divide="ignore"):
        return float(0.5 * (spread + squares) - weight[there] @ np.log(priors[there]))
