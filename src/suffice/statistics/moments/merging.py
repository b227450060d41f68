"""What merging takes: places for the parts, sums in a tree, error bounds, means of three words."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from suffice.numerics.double_double import Array, DoubleDouble, two_sum


def pairwise(terms: list[Any]) -> Any:
    """The sum, in a tree: as few roundings behind a term as can be."""
    while len(terms) > 1:
        pairs = [a + b for a, b in zip(terms[::2], terms[1::2], strict=False)]
        terms = pairs + terms[len(pairs) * 2 :]
    return terms[0]


def stacked(values: Sequence[DoubleDouble]) -> DoubleDouble:
    """Scalars or rows, one below the other."""
    return DoubleDouble(np.stack([v.hi for v in values]), np.stack([v.lo for v in values]))


def mapped(function: Callable[..., Any], *values: Any) -> Any:
    """A function of arrays, applied to each word where the values are double-double.

    Of a record, such as moments of columns, to each array that it has (`mapped`).
    """
    if isinstance(values[0], DoubleDouble):
        return DoubleDouble(function(*(v.hi for v in values)), function(*(v.lo for v in values)))
    if hasattr(values[0], "mapped"):
        return values[0].mapped(function)
    return function(*values)


def placed(values: Any, positions: NDArray[np.int64], n: int) -> Any:
    """Entries along the first axis moved to other positions among n; zero elsewhere."""

    def place(words: NDArray[Any]) -> NDArray[Any]:
        out = np.zeros((n, *words.shape[1:]), words.dtype)
        out[positions] = words
        return out

    return mapped(place, values)


def added(tables: Sequence[Any], places: Sequence[NDArray[np.int64]], n: int) -> Any:
    """The sums of tables by class, each with some of n classes; one without columns is none."""
    width = max(table.shape[1:] for table in tables)
    shape = (n, *width)
    if all(table.shape == shape for table in tables):
        total = tables[0].copy()
        for table in tables[1:]:
            total += table
        return total
    total = np.zeros(shape, tables[0].dtype)
    for place, table in zip(places, tables, strict=True):
        if table.shape[1:] == width:
            total[place] += table  # distinct labels: no place twice
    return total


def joint(*squares: Array) -> Array:
    """(√a + √b + …)², for quantities of which S has the squares and the mixed products.

    With x of weighted square a and y of weighted square b in each column, relative errors ε
    change (x + y)ᵢ (x + y)ⱼ by at most ε (√aᵢ + √bᵢ) (√aⱼ + √bⱼ), to first order.
    """
    return np.square(sum(np.sqrt(square) for square in squares))


def difference(a: DoubleDouble, a_rest: Array, b: DoubleDouble, b_rest: Array) -> DoubleDouble:
    """a − b for means of three words, to a double-double's relative error."""
    first, second = DoubleDouble(*two_sum(a.hi, -b.hi)), DoubleDouble(*two_sum(a.lo, -b.lo))
    return first + second + (a_rest - b_rest)


def shifted(mean: DoubleDouble, rest: Array, shift: DoubleDouble) -> tuple[DoubleDouble, Array]:
    """A mean of three words plus a shift; what is lost is beyond the third word."""
    hi, first = two_sum(mean.hi, shift.hi)
    lo, second = two_sum(mean.lo, shift.lo)
    lo, third = two_sum(lo, first)
    hi, lo = two_sum(hi, lo)
    lo, rest = two_sum(lo, rest + second + third)
    return DoubleDouble(*two_sum(hi, lo)), rest


def common_mean(
    means: DoubleDouble, rests: Array, weights: DoubleDouble
) -> tuple[DoubleDouble, Array, DoubleDouble]:
    """The mean of rows of which parts have these means, its rest, and how far each part is from it.

    Parameters
    ----------
    means, rests : of shape (parts, ..., columns)
    weights : of shape (parts, ...)
        With further axes for several kinds of rows at once.
    """
    # Relative to the mean of the heaviest part, which is not far from the common one.
    heaviest = np.argmax(weights.hi, axis=0)
    first = (heaviest, *np.indices(heaviest.shape, sparse=True))
    offsets = difference(means, rests, means[first], rests[first])
    centre = (offsets * weights[..., None]).sum() / weights.sum()[..., None]
    mean, rest = shifted(means[first], rests[first], centre)
    return mean, rest, difference(means, rests, mean, rest)
