"""Parameters and observations as users pass them, checked: what is wrong, where, what would do."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from suffice.numerics.double_double import UNIT, Array

if TYPE_CHECKING:
    from suffice.families.base import Family

RowLabel = Callable[[tuple[int, ...]], str]
"""From the place of an observation to what a message calls it."""


def row_of_array(place: tuple[int, ...]) -> str:
    """What a message calls an observation of an array."""
    where = place[0] if len(place) == 1 else place
    return f"row {where} (counted from 0)"


def checked_eta(family: Family, eta: Any) -> Array:
    """Natural parameters as a float64 array of shape (…, p), all of them in the domain."""
    name, p = type(family).__name__, family.dimension
    values = np.asarray(eta, dtype=np.float64)
    if values.ndim == 0 and p == 1:
        values = values[None]
    if values.ndim == 0 or values.shape[-1] != p:
        hint = "; one number a row is eta[:, None]" if p == 1 else ""
        raise ValueError(
            f"eta has shape {values.shape}; {name} needs {p} along the last axis{hint}"
        )
    fine = family._in_domain(values)
    if not fine.all():
        bad = values[np.unravel_index(np.argmin(fine), fine.shape)]
        raise ValueError(
            f"eta is {bad.tolist()}, which is no natural parameter of {name}: accepted are "
            f"{family.domain}"
        )
    return values


def checked_observations(family: Family, y: Any, row_label: RowLabel) -> Array:
    """Observations as float64, all of them in the support."""
    values = family._numbers(y)
    fine = family._in_support(values)
    if not fine.all():
        place = tuple(int(i) for i in np.unravel_index(np.argmin(fine), fine.shape))
        bad = np.asarray(y, dtype=object)[place]
        shown = bad.tolist() if isinstance(bad, np.ndarray | np.generic) else bad
        raise ValueError(
            f"{type(family).__name__} models {family.support}; found {shown!r}"
            + (f" in {row_label(place)}" if place else "")
        )
    return values


def numbers(family: Family, y: Any) -> Array:
    """Real numbers, booleans and objects that are such, as float64."""
    array = np.asarray(y)
    if array.dtype.kind in "biuf":
        return array.astype(np.float64)
    try:
        if array.dtype.kind == "O":
            return array.astype(np.float64)
    except (TypeError, ValueError):
        pass
    raise ValueError(
        f"{type(family).__name__} models {family.support}; the values are of dtype {array.dtype}"
    )


def digits_of(relative_error: float) -> float:
    """Decimal digits that a relative error leaves, at most those of float64."""
    return float(np.clip(-np.log10(max(relative_error, 1e-300)), 0.0, -np.log10(UNIT)))


def positive(name: str, value: Any) -> Array:
    """A parameter as an array of positive, finite numbers."""
    array = np.asarray(value, dtype=np.float64)
    if not ((array > 0) & (array < np.inf)).all():
        raise ValueError(f"{name} is {value!r}; it must be positive and finite")
    return array


def plain(value: Array) -> Any:
    """One number as a Python float; arrays as they are."""
    return value.item() if np.ndim(value) == 0 else value
