"""Numbers as the pairs take them in, and hand them out: within float64's range, and for good."""

from __future__ import annotations

from typing import Any

import numpy as np

from suffice.numerics.double_double import Array, DoubleDouble

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


def amount(name: str, value: Any, least: float = 0.0, *, open_end: bool = False) -> Array:
    """What is divided by: numbers whose reciprocals do not overflow, or 0."""
    array = numbers(name, value, least, open_end=open_end)
    tiny = (array != 0) & (np.abs(array) < 1.0 / LARGEST)
    if tiny.any():
        raise ValueError(
            f"{name} holds {float(array[tiny].flat[0])!r}, which is too close to 0: accepted are "
            f"numbers of size {1.0 / LARGEST:g} and more{'' if open_end else ', and 0'}"
        )
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


def read_only(value: Any) -> Any:
    """An array (or double-double) that cannot be changed; anything else as it is."""
    if isinstance(value, DoubleDouble):
        return DoubleDouble(read_only(value.hi), read_only(value.lo))
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
