"""The M step of a mixture of products: E[T] of each component becomes the mean of its rows.

    E[T(xⱼ)] = (Σ r_c T(xⱼ) + α τⱼ) / (Σ r_c + α)

Under the conjugate prior ∝ exp(α (η·τ − a(η))), α rows whose mean of T is τ, this is the maximum of
the posterior; with α = 0 that of the likelihood.  τ is the mean of T over all rows: a component
that has few rows looks as all rows do.  From E[T] to η the way is the family's own.

Reference: Diaconis and Ylvisaker, "Conjugate priors for exponential families" (1979).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from suffice.families import (
    Bernoulli,
    Categorical,
    Exponential,
    Family,
    Gaussian,
    GaussianKnownVariance,
    Poisson,
    SufficientSums,
)
from suffice.mixtures.product.components import Products, ResponsibilitySums
from suffice.mixtures.product.layout import FamilyColumns, TableLayout
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


def maximised(
    products: Products, sums: ResponsibilitySums, mean: Floats, alpha: float
) -> tuple[Products, float]:
    """The next components, and how far they moved.

    Parameters
    ----------
    products : Products
    sums : ResponsibilitySums
    mean : float64 array of shape (slots,)
        τ.
    alpha : float
        Rows that the prior counts for.

    Returns
    -------
    Products, and the largest change of a mean of T in standard deviations of it.
    """
    layout = products.layout
    unit = layout.unit_of_slot()
    counted = sums.there + alpha
    known = counted > 0
    total = np.where(known, counted, 1.0)[:, unit]
    old = products.means()
    # A component that no row is in, or none with a cell in this column, stays as it is.
    means = np.where(known[:, unit], (sums.total + alpha * mean) / total, old)
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
            return means / family.variance  # type: ignore[attr-defined, no-any-return]
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


# --- the usual parameters --------------------------------------------------------------------


def parameters_of(products: Products) -> Any:
    """The usual parameters, by name, of shape (components, columns, …).

    One dict for one family; otherwise a list with one for each column, without that axis.
    """
    layout = products.layout
    by_column: list[Any] = [None] * layout.n_columns
    for group, eta in zip(layout.groups, products.etas, strict=True):
        columns = list(group.columns)
        found = usual(group, eta, layout.shift[columns], layout.scale[columns])
        if layout.is_one:
            return {n: v[:, 0] for n, v in found.items()} if group.family.observed_axes else found
        for at, j in enumerate(columns):
            by_column[j] = {name: value[:, at] for name, value in found.items()}
    return by_column


def usual(group: FamilyColumns, eta: Floats, shift: Floats, scale: Floats) -> dict[str, Floats]:
    """The usual parameters of columns of one family, in the units of the rows."""
    found = group.family.parameters(eta)
    if isinstance(group.stated, Bernoulli):
        return {"probability": found["probabilities"][..., 1]}
    if isinstance(group.stated, Gaussian | GaussianKnownVariance):
        found["mu"] = shift + scale * found["mu"]
    if isinstance(group.stated, Gaussian):
        found["variance"] = scale * scale * found["variance"]
    return found


def with_parameters(layout: TableLayout, parameters: Any, n_components: int) -> Products:
    """Components of these usual parameters; the other way round of `parameters_of`."""
    by_column = [parameters] if layout.is_one else parameters
    if len(by_column) != (1 if layout.is_one else layout.n_columns):
        raise ValueError(f"parameters of {len(by_column)} columns, not of {layout.n_columns}")
    etas = []
    for group in layout.groups:
        columns = list(group.columns)
        if layout.is_one:
            found = {name: np.asarray(value, np.float64) for name, value in parameters.items()}
            if group.family.observed_axes:
                found = {name: value[:, None] for name, value in found.items()}
        else:
            chosen = [parameters[j] for j in columns]
            found = {n: np.stack([one[n] for one in chosen], axis=1) for n in chosen[0]}
        etas.append(natural(group, found, layout.shift[columns], layout.scale[columns]))
        shape = (n_components, group.units, group.family.dimension)
        if etas[-1].shape != shape:
            given = {name: value.shape for name, value in found.items()}
            raise ValueError(
                f"parameters of {group.stated!r} have the shapes {given}: of {n_components} "
                f"components and {group.units} columns are accepted"
            )
    return Products(layout, tuple(etas))


def natural(group: FamilyColumns, found: dict[str, Any], shift: Floats, scale: Floats) -> Floats:
    """η from the usual parameters of columns of one family."""
    found = dict(found)
    try:
        if isinstance(group.stated, Bernoulli):
            group.stated.natural(**found)  # checks them
            p = found["probability"]
            return group.family.natural(np.stack([1.0 - p, p], axis=-1))
        if isinstance(group.stated, Gaussian | GaussianKnownVariance):
            found["mu"] = (found["mu"] - shift) / scale
        if isinstance(group.stated, Gaussian):
            found["variance"] = found["variance"] / (scale * scale)
        return np.asarray(group.family.natural(**found))
    except (KeyError, TypeError):
        raise ValueError(
            f"parameters {sorted(found)}: those of {group.stated!r} have other names"
        ) from None
