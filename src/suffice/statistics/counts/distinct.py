"""Values told apart exactly: numbers of any type, text and other objects.

Integers of 64 bits and float64 overlap only in part: 2⁵³ + 1 is no float64, and 0.5 no
integer.  Here two values are the same only if they are equal as numbers, whatever the types
of their arrays.  Among objects, None and NaN are two values, and all NaN are one.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

EXACT_INTEGERS = 1 << 53
"""From here on, float64 no longer tells neighbouring integers apart."""


class Distinct(NamedTuple):
    """The distinct values among some, in order, and which of them each is."""

    values: NDArray[Any]
    codes: NDArray[np.int64]


def objects(items: Sequence[Any]) -> NDArray[np.object_]:
    """A 1-D array of these objects, whatever they are."""
    out = np.empty(len(items), dtype=object)
    out[:] = items
    return out


def distinct(values: NDArray[Any]) -> Distinct:
    """Distinct values of a column: ascending, then None, then NaN."""
    if values.dtype != object:
        if values.dtype.kind == "f":
            values = values + 0.0  # there is one zero
        found, codes = np.unique(values, return_inverse=True)
        return Distinct(found, codes.ravel())
    items = values.tolist()
    seen = dict.fromkeys(items)
    keys = {_key(value) for value in seen}
    ordered: list[Any] = sorted(key for key in keys if not (key is None or key is np.nan))
    ordered += [blank for blank in (None, np.nan) if blank in keys]
    return Distinct(objects(ordered), _ranks(items, seen, ordered))


def locate(values: NDArray[Any], known: NDArray[Any]) -> NDArray[np.int64]:
    """Position of each value among the known ones; −1 if it is not there.

    Known numbers must be in order; known objects need not.
    """
    if len(known) == 0 or len(values) == 0:
        return np.full(len(values), -1)
    if known.dtype == object or values.dtype == object:
        items = values.astype(object).tolist()
        return _ranks(items, dict.fromkeys(items), known.astype(object).tolist())
    values, same = cast_exactly(values, known.dtype)
    places = np.minimum(np.searchsorted(known, values), len(known) - 1)
    found = known[places]
    equal = found == values
    if known.dtype.kind == "f":
        equal |= np.isnan(found) & np.isnan(values)
    return np.where(same & equal, places, -1)


def _key(value: Any) -> Any:
    return np.nan if value != value else value


def _ranks(items: list[Any], seen: dict[Any, None], known: list[Any]) -> NDArray[np.int64]:
    """Position of each item among the known ones; each distinct item is looked up once."""
    rank = {_key(value): i for i, value in enumerate(known)}
    ranks = {value: rank.get(_key(value), -1) for value in seen}
    return np.fromiter(map(ranks.__getitem__, items), np.int64, len(items))


def cast_exactly(
    values: NDArray[Any], dtype: np.dtype[Any]
) -> tuple[NDArray[Any], NDArray[np.bool_]]:
    """Numbers in another type, and where they are still the same numbers."""
    if values.dtype == dtype:
        return values, np.ones(values.shape, dtype=bool)
    cast, inside = _cast(values, dtype)
    back, holds = _cast(cast, values.dtype)
    same = back == values
    if values.dtype.kind == dtype.kind == "f":
        same |= np.isnan(values) & np.isnan(cast)
    return cast, inside & holds & same


def _cast(values: NDArray[Any], dtype: np.dtype[Any]) -> tuple[NDArray[Any], NDArray[np.bool_]]:
    """Numbers in another type, and where they lie within its range; 0 elsewhere."""
    inside = np.ones(values.shape, dtype=bool)
    if dtype.kind in "iu":
        info = np.iinfo(dtype)
        if values.dtype.kind == "f":  # both ends are powers of two, or 0
            wide = values.astype(np.float64)
            inside = (wide >= float(info.min)) & (wide < float(info.max + 1))
        elif values.dtype.kind in "iu":
            inside = (values >= info.min) & (values <= info.max)
        values = np.where(inside, values, values.dtype.type(0))
    with np.errstate(over="ignore"):
        return values.astype(dtype), inside


def together(parts: Sequence[NDArray[Any]]) -> NDArray[Any]:
    """The values of all parts one after the other, in a type that holds each of them.

    Raises
    ------
    TypeError
        If some are text and others numbers.
    OverflowError
        If integers are too large to stand beside the other numbers.
    """
    types = {part.dtype for part in parts}
    if len(types) == 1 and np.dtype(object) not in types:
        return np.concatenate(parts)
    if np.dtype(object) in types:
        joined = np.concatenate([part.astype(object) for part in parts])
        seen = dict.fromkeys(joined.tolist())
        present = [value for value in seen if not (value is None or value != value)]
        blank_numbers = any(part.dtype != object for part in parts) and not present
        if blank_numbers or len({isinstance(value, str) for value in present}) > 1:
            raise TypeError("text and numbers")
        return joined
    for dtype in (np.result_type(*types), np.dtype(np.int64), np.dtype(np.uint64)):
        cast = [cast_exactly(part, dtype) for part in parts]
        if all(same.all() for _, same in cast):
            return np.concatenate([values for values, _ in cast])
    raise OverflowError("no type holds them all")
