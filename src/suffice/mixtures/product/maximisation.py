"""The M step of a mixture of products: E[T] of each component becomes the mean of its rows.

    E[T(xⱼ)] = (Σ r_c T(xⱼ) + α τⱼ) / (Σ r_c + α)

Under the conjugate prior ∝ exp(α (η·τ − a(η))), α rows whose mean of T is τ, this is the maximum of
the posterior; with α = 0 that of the likelihood.  τ is the mean of T over all rows: a component
that has few rows looks as all rows do.  From E[T] to η the way is the family's own.

Reference: Diaconis and Ylvisaker, "Conjugate priors for exponential families" (1979).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from suffice.families import (
    Categorical,
    Exponential,
    Family,
    Gaussian,
    GaussianKnownVariance,
    Poisson,
    SufficientSums,
)
from suffice.mixtures.product.components import Products, ResponsibilitySums
from suffice.mixtures.product.layout import TableLayout
from suffice.numerics.double_double import DOUBLE_DOUBLE_UNIT, DoubleDouble

Floats = NDArray[np.float64]

SUMMED = 2.0**-46
"""Relative error that is granted to sums in float64."""


class NoMaximum(ValueError):
    """The likelihood of a component grows without end.

    Attributes
    ----------
    unit, component : int
    """

    def __init__(self, why: str, component: int, unit: int) -> None:
        super().__init__(why)
        self.component, self.unit = component, unit


def maximised(products: Products, sums: ResponsibilitySums, alpha: float) -> tuple[Products, float]:
    """The next components, and how far they moved.

    Parameters
    ----------
    products : Products
    sums : ResponsibilitySums
    alpha : float
        Rows that the prior counts for.

    Returns
    -------
    Products, and the largest change of a mean of T in standard deviations of it.
    """
    layout = products.layout
    assert layout.mean is not None
    unit = layout.unit_of_slot()
    counted = sums.there + alpha
    known = counted > 0
    total = np.where(known, counted, 1.0)[:, unit]
    old = products.means()
    # A component that no row is in, or none with a cell in this column, stays as it is.
    means = np.where(known[:, unit], (sums.total + alpha * layout.mean) / total, old)
    found = of_means(layout, means)
    spread = products.spreads()
    change = np.abs(found.means() - old)
    steps = np.divide(change, spread, out=np.zeros_like(change), where=spread > 0)
    return found, float(steps.max(initial=0.0))


def of_means(layout: TableLayout, means: Floats) -> Products:
    """Components with these means of T, of shape (components, slots).

    Raises
    ------
    NoMaximum
        If a family has no member with such a mean.
    """
    etas, first = [], 0
    for group in layout.groups:
        shape = (len(means), group.units, group.family.dimension)
        try:
            etas.append(natural_of(group.family, means[:, group.slots].reshape(shape)))
        except NoMaximum as error:
            error.unit += first
            raise
        first += group.units
    return Products(layout, tuple(etas))


def natural_of(family: Family, means: Floats) -> Floats:
    """η with E[T] = `means`, both of shape (components, units, p)."""
    kind = type(family)
    with np.errstate(divide="ignore"):
        if kind is Categorical:
            shares = np.maximum(means, 0.0)
            return np.log(shares / shares.sum(axis=-1, keepdims=True))
        if kind is Poisson:
            return np.log(np.maximum(means, 0.0))
        if kind is GaussianKnownVariance:
            return means / family.variance  # type: ignore[attr-defined]
        if kind is Exponential:
            require(means[..., 0] > 0, "every value is 0")
            return -1.0 / means
        if kind is Gaussian:
            mu, square = means[..., 0], means[..., 1]
            variance = square - mu * mu
            require(variance > SUMMED * square, "as far as rounding tells, all values are equal")
            return np.stack([mu / variance, -0.5 / variance], axis=-1)
    return solved(family, means)


def require(fine: NDArray[np.bool_], why: str) -> None:
    """Raise unless every component has a maximum."""
    if not fine.all():
        component, unit = map(int, np.unravel_index(np.argmin(fine), fine.shape))
        raise NoMaximum(why, component, unit)


def solved(family: Family, means: Floats) -> Floats:
    """The same by the family's own maximum of the likelihood, for one mean after the other."""
    out = np.empty_like(means)
    unit = family.statistic_error + 9 * DOUBLE_DOUBLE_UNIT  # of what `SufficientSums` expects
    for component, by_unit in enumerate(means):
        for j, mean in enumerate(by_unit):
            size = np.append(np.abs(mean) + 1.0, 0.0) * (SUMMED / unit)
            one = DoubleDouble.of(1.0)
            sums = SufficientSums(1, one, DoubleDouble.of(mean), DoubleDouble.zeros(()), size)
            found = family._maximum(sums)
            if not (found.exists and family._in_domain(found.eta)):
                raise NoMaximum("; ".join(found.notes), component, j)
            out[component, j] = found.eta
    return out
