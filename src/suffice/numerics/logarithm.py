"""Logarithms with about twenty decimal digits: sums of them are often nearly equal.

A number is split as  y = m 2ᵉ  with m between √½ and √2, and m is compared with the nearest c of a
table whose logarithms are known:

    log y = e log 2 + log c + 2 artanh s,      s = (m − c) / (m + c),   |s| < 2⁻⁸

The first term of  2 artanh s = 2s + ⅔ s³ + …  is computed in double-double; the others are so small
that float64 will do.
"""

from __future__ import annotations

from decimal import Decimal, localcontext
from functools import lru_cache
from typing import Any

import numpy as np

from suffice.numerics.double_double import Array, DoubleDouble, two_sum

LOG_UNIT = 2.0**-68
"""A bound on the relative error of `log_pair`."""

_STEPS = 128
_FIRST = 90  # m ≥ √½ is nearest to 90.5 / 128 or more


def log_pair(y: Any) -> DoubleDouble:
    """The logarithms of positive, finite numbers as double-doubles.

    Parameters
    ----------
    y : array or DoubleDouble

    Examples
    --------
    >>> third = log_pair(3.0)
    >>> float(third.hi), float(third.lo)
    (1.0986122886681098, -9.07129723500153e-17)
    """
    if isinstance(y, DoubleDouble):
        # The low word is at most 2⁻⁵³ of the high one: the next term of log(1 + x) is lost.
        return log_pair(y.hi) + y.lo / y.hi
    m, e = np.frexp(np.asarray(y, dtype=np.float64))
    small = m < np.sqrt(0.5)
    m, e = np.where(small, 2 * m, m), e - small
    place = np.rint(m * _STEPS)
    table, log_2 = _table()
    c = place / _STEPS
    log_c = table[place.astype(np.int64) - _FIRST]
    s = DoubleDouble.of(m - c) / DoubleDouble(*two_sum(m, c))
    square = s.hi * s.hi
    rest = 2 * s.hi * square * (1 / 3 + square * (1 / 5 + square * (1 / 7 + square / 9)))
    return log_2 * e.astype(np.float64) + log_c + (s.scaled(2.0) + rest)


@lru_cache(maxsize=1)
def _table() -> tuple[DoubleDouble, DoubleDouble]:
    """log(j / 128) for j = 90, …, 182, and log 2."""
    with localcontext() as context:
        context.prec = 50
        logs = [(Decimal(j) / _STEPS).ln() for j in range(_FIRST, 183)]
        table, log_2 = _rounded(logs), _rounded([Decimal(2).ln()])
    return table, log_2[0]


def _rounded(values: list[Decimal]) -> DoubleDouble:
    hi = [float(value) for value in values]
    lo: Array = np.array([float(v - Decimal(h)) for v, h in zip(values, hi, strict=True)])
    return DoubleDouble(np.array(hi), lo)
