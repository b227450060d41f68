"""The usual parameters of a mixture of products, and rows drawn from it."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from suffice.families import Bernoulli, Gaussian, GaussianKnownVariance
from suffice.mixtures.product.components import Products
from suffice.mixtures.product.layout import FamilyColumns, TableLayout, has_labels

Floats = NDArray[np.float64]


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


def with_parameters(
    layout: TableLayout, parameters: Any, n_components: int, centred: bool = False
) -> Products:
    """Components of these usual parameters; the other way round of `parameters_of`.

    Parameters
    ----------
    layout : TableLayout
    parameters : dict, or list of dict
    n_components : int
    centred : bool
        Whether Gaussian columns are taken from the middle of these components, not of the rows.
    """
    if not layout.is_one and len(parameters) != layout.n_columns:
        raise ValueError(f"parameters of {len(parameters)} columns, not of {layout.n_columns}")
    by_group = [chosen(layout, group, parameters) for group in layout.groups]
    if centred:
        shift, scale = np.zeros(layout.n_columns), np.ones(layout.n_columns)
        for group, found in zip(layout.groups, by_group, strict=True):
            if isinstance(group.stated, Gaussian | GaussianKnownVariance):
                shift[list(group.columns)] = found["mu"].mean(axis=0)
            if isinstance(group.stated, Gaussian):
                spread = found["variance"].mean(axis=0) + found["mu"].var(axis=0)
                scale[list(group.columns)] = np.sqrt(spread)
        layout = layout.moved(shift, scale)
    etas = []
    for group, found in zip(layout.groups, by_group, strict=True):
        columns = list(group.columns)
        etas.append(natural(group, found, layout.shift[columns], layout.scale[columns]))
        shape = (n_components, group.units, group.family.dimension)
        if etas[-1].shape != shape:
            given = {name: value.shape for name, value in found.items()}
            raise ValueError(
                f"parameters of {group.stated!r} have the shapes {given}: of {n_components} "
                f"components and {group.units} columns are accepted"
            )
    return Products(layout, tuple(etas))


def chosen(layout: TableLayout, group: FamilyColumns, parameters: Any) -> dict[str, Any]:
    """The parameters of columns of one family, of shape (components, units, …)."""
    if not layout.is_one:
        some = [parameters[j] for j in group.columns]
        return {n: np.stack([np.asarray(one[n]) for one in some], axis=1) for n in some[0]}
    found = {name: np.asarray(value, np.float64) for name, value in parameters.items()}
    if group.family.observed_axes:
        found = {name: value[:, None] for name, value in found.items()}
    return found


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


def drawn_rows(products: Products, component: int, n: int, rng: Any) -> NDArray[Any]:
    """Random rows of one component; of objects where categories have labels."""
    layout = products.layout
    columns: dict[int, NDArray[Any]] = {}
    for group, etas in zip(layout.groups, products.etas, strict=True):
        for j, eta in zip(group.columns, etas[component], strict=False):
            drawn = group.family.sample(eta, n, int(rng.randint(1 << 31)))
            if group.family.observed_axes:
                return drawn
            if has_labels(group.stated):
                labels: Any = group.stated
                drawn = np.array(labels.categories)[drawn]
            elif drawn.dtype.kind == "f":
                drawn = layout.shift[j] + layout.scale[j] * drawn
            columns[j] = drawn
    in_order = [columns[j] for j in range(layout.n_columns)]
    if any(column.dtype.kind not in "iuf" for column in in_order):
        in_order = [column.astype(object) for column in in_order]
    return np.stack(in_order, axis=1)
