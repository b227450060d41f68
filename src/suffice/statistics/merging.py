"""What merging moments takes: sums in a tree, bounds of their errors, means of three words."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

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
