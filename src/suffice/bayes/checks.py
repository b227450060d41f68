"""What the pairs take in, checked: numbers, means, matrices; and how values are handed out."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from suffice.numerics.double_double import Array

LARGEST = 1e300
"""Of hyper-parameters: their sums and doubles stay within float64's range."""

ANY = float(np.finfo(np.float64).max)
"""Of sums of rows, which are what they are."""

LARGEST_VALUE = 1e150
"""Of means, whose squares are summed."""


def numbers(
    name: str,
    value: Any,
    least: float = -np.inf,
    *,
    most: float = LARGEST,
    open_end: bool = False,
) -> Array:
    """A hyper-parameter or sum as a float64 array, no entry below `least` or of size above `most`.

    Parameters
    ----------
    name : str
        How messages call it.
    value : array
        It is copied: what is known does not change.
    least, most : floats
    open_end : bool, default=False
        Whether `least` itself is refused.
    """
    try:
        if np.iscomplexobj(value) or np.ma.is_masked(value):
            raise TypeError("half of it would be lost")
        array = np.array(value, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        raise ValueError(f"{name} must hold numbers, got {value!r}") from None
    size = array if least >= 0 else np.abs(array)
    fine = ((array > least) if open_end else (array >= least)) & (size <= most)
    if not fine.all():
        bad = float(array[~fine].flat[0])
        accepted = "finite numbers"
        if least > -np.inf:
            accepted += f" {'above' if open_end else 'of at least'} {least:g}"
        if np.abs(bad) > most and np.isfinite(bad):
            accepted += f", {'and' if least > -np.inf else 'of size'} at most {most:g}"
        raise ValueError(f"{name} holds {bad!r}; accepted are {accepted}")
    return array


def mean_of(name: str, value: Any) -> Array:
    """A mean, or an array of means: their squares must not overflow."""
    return numbers(name, value, most=LARGEST_VALUE)


def two(names: tuple[str, str], value: Any) -> tuple[Any, Any]:
    """The two parameters that a pair of them holds."""
    try:
        first, second = value
    except (TypeError, ValueError):
        raise ValueError(f"the value must be a pair ({', '.join(names)}), got {value!r}") from None
    return first, second


# --- matrices along the last two axes -----------------------------------------------------------


def symmetric(matrix: Array) -> NDArray[np.bool_]:
    """Which matrices are symmetric up to rounding, relative to their largest entry."""
    size = np.abs(matrix).max(axis=(-2, -1), initial=0.0)
    odd = np.abs(matrix - np.swapaxes(matrix, -1, -2)).max(axis=(-2, -1), initial=0.0)
    return np.asarray(odd <= 1e-12 * size)


def check_semi_definite(name: str, scatter: Array) -> None:
    """Raise ValueError unless matrices are symmetric and, up to rounding, semi-definite."""
    if not symmetric(scatter).all():
        raise ValueError(f"{name} must be symmetric, and this matrix is not")
    size = np.abs(scatter).max(axis=(-2, -1), initial=0.0)
    least = np.linalg.eigvalsh(scatter).min(axis=-1)
    if (least < -1e-12 * size * scatter.shape[-1]).any():
        raise ValueError(
            f"{name} must be positive semi-definite; it has the eigenvalue {least.min():.3g}"
        )


def positive_definite(scatter: Array) -> NDArray[np.bool_]:
    """Which matrices have eigenvalues above what rounding may make of 0.

    In units in which their diagonal is 1: a column's scale must not hide its rank.
    """
    diagonal = np.diagonal(scatter, axis1=-2, axis2=-1)
    root = np.sqrt(np.where(diagonal > 0, diagonal, 1.0))
    values = np.linalg.eigvalsh(scatter / root[..., :, None] / root[..., None, :])
    return np.asarray(values.min(axis=-1) > 4 * scatter.shape[-1] * 2.0**-53)


# --- what is handed out -------------------------------------------------------------------------


def read_only(value: Any) -> Any:
    """An array that cannot be changed; anything else as it is."""
    if not isinstance(value, np.ndarray):
        return value
    view = value.view()
    view.flags.writeable = False
    return view


class ReadOnly:
    """A value whose arrays cannot be changed, nor those of its copies."""

    def __post_init__(self) -> None:
        self.__setstate__(dict(vars(self)))

    def __setstate__(self, state: dict[str, Any]) -> None:
        for name, value in state.items():
            object.__setattr__(self, name, read_only(value))


def plain(value: Any) -> Any:
    """One number as a Python float; arrays as they are."""
    return float(value) if np.ndim(value) == 0 else np.asarray(value)


def shown(value: Any) -> str:
    """A number as it is, and an array by its shape."""
    return repr(value) if np.ndim(value) == 0 else f"<array of shape {np.shape(value)}>"
