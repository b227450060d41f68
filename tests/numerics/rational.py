"""Rational numbers: the oracle for all arithmetic that rounds.

Every float64 is a whole number times a power of two, so sums, products and quotients of float64
and double-double numbers are rational, and Python computes them exactly.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from operator import mul
from typing import Any

import numpy as np
from hypothesis import strategies as st

from suffice.numerics.double_double import DoubleDouble, two_sum

U = Fraction(1, 2**53)
"""Unit roundoff of float64."""


def exactly(value: Any) -> Any:
    """The values of float64 numbers or double-doubles: a Fraction, or an object array of them."""
    if not isinstance(value, DoubleDouble):
        return _fractions(np.asarray(value, dtype=np.float64))
    return _fractions(np.asarray(value.hi)) + _fractions(np.asarray(value.lo))


def _fractions(values: Any) -> Any:
    if values.ndim == 0:
        return Fraction(float(values))
    result = np.empty(values.shape, dtype=object)
    result.flat = [Fraction(v) for v in values.ravel().tolist()]
    return result


def nearest(values: Any) -> DoubleDouble:
    """The double-doubles nearest to rational numbers."""
    values = np.asarray(values, dtype=object)
    hi = np.asarray(values.astype(np.float64))
    return DoubleDouble(hi, np.asarray(values - exactly(hi), dtype=np.float64))


def absolute_root(value: Fraction) -> Fraction:
    """A number just above the square root."""
    scale = 2**200
    return Fraction(math.isqrt(math.ceil(value * scale**2)) + 1, scale)


# --- sums over many rows -------------------------------------------------------------------


def whole(column: Any) -> tuple[list[int], int]:
    """Float64 numbers as whole numbers times one power of two: the numbers and its exponent."""
    pairs = [float(v).as_integer_ratio() for v in column]
    bits = max((d.bit_length() - 1 for _, d in pairs), default=0)
    return [n << (bits - d.bit_length() + 1) for n, d in pairs], -bits


def whole_pairs(column: DoubleDouble) -> tuple[list[int], int]:
    """The same for double-doubles."""
    hi, hi_exponent = whole(column.hi)
    lo, lo_exponent = whole(column.lo)
    exponent = min(hi_exponent, lo_exponent)
    shifts = hi_exponent - exponent, lo_exponent - exponent
    return [(a << shifts[0]) + (b << shifts[1]) for a, b in zip(hi, lo, strict=True)], exponent


def dot(a: Iterable[int], b: Iterable[int]) -> int:
    return sum(map(mul, a, b))


def gram(left: DoubleDouble, right: DoubleDouble) -> Any:
    """leftᵀ · right."""
    lefts = [whole_pairs(left[:, j]) for j in range(left.shape[1])]
    rights = [whole_pairs(right[:, j]) for j in range(right.shape[1])]
    result = np.empty((len(lefts), len(rights)), dtype=object)
    for i, (a, e) in enumerate(lefts):
        for j, (b, f) in enumerate(rights):
            result[i, j] = dot(a, b) * Fraction(2) ** (e + f)
    return result


@dataclass(frozen=True)
class ExactMoments:
    weight: Fraction
    mean: Any
    scatter: Any


def moments(Z: Any, weight: Any = None) -> ExactMoments:
    """Weight, mean and scatter about the mean of float64 rows."""
    n, d = np.shape(Z)
    w, w_exponent = whole(np.ones(n) if weight is None else weight)
    total = sum(w)
    columns = [whole(column) for column in np.asarray(Z, dtype=np.float64).T]
    unit = [Fraction(2) ** e for _, e in columns]
    weighed = [list(map(mul, w, column)) for column, _ in columns]
    sums = [sum(column) for column in weighed]
    mean = np.array([Fraction(s, total) * u for s, u in zip(sums, unit, strict=True)], dtype=object)
    scatter = np.empty((d, d), dtype=object)
    for i in range(d):
        for j in range(i + 1):
            centred = total * dot(weighed[i], columns[j][0]) - sums[i] * sums[j]
            scatter[i, j] = scatter[j, i] = Fraction(centred, total) * unit[i] * unit[j]
    scale = Fraction(2) ** w_exponent
    return ExactMoments(total * scale, mean, scatter * scale)


# --- linear algebra ------------------------------------------------------------------------


def solve(A: Any, B: Any) -> Any:
    """x with A x = B, by elimination."""
    n = len(A)
    rows = [[*a, *b] for a, b in zip(A.tolist(), B.tolist(), strict=True)]
    for c in range(n):
        pivot = next(r for r in range(c, n) if rows[r][c] != 0)
        rows[c], rows[pivot] = rows[pivot], rows[c]
        rows[c] = [v / rows[c][c] for v in rows[c]]
        for r in range(n):
            if r != c and rows[r][c] != 0:
                factor = rows[r][c]
                rows[r] = [a - factor * b for a, b in zip(rows[r], rows[c], strict=True)]
    result = np.empty(B.shape, dtype=object)
    result[:] = [row[n:] for row in rows]
    return result


def identity(n: int) -> Any:
    return exactly(np.eye(n))


# --- numbers to try ------------------------------------------------------------------------

# Mantissas of all kinds: a few bits, all bits, just above and just below a power of two.
_MANTISSAS = st.one_of(
    st.floats(1.0, 2.0, exclude_max=True),
    st.integers(0, 8).map(lambda k: 1.0 + k * 2.0**-52),
    st.integers(1, 8).map(lambda k: 2.0 - k * 2.0**-52),
    st.sampled_from([1.0, 1.25, 1.5]),
)


def floats(lowest: int, highest: int) -> st.SearchStrategy[float]:
    """Float64 numbers of either sign from 2^lowest to 2^(highest + 1), and zero."""
    number = st.builds(
        lambda mantissa, exponent, sign: sign * math.ldexp(mantissa, exponent),
        _MANTISSAS,
        st.integers(lowest, highest),
        st.sampled_from([1.0, -1.0]),
    )
    return st.one_of(number, number, number, st.just(0.0))


@st.composite
def double_doubles(draw: st.DrawFn, lowest: int, highest: int) -> tuple[float, float]:
    """(hi, lo) with |lo| up to the very half of hi's last place."""
    hi = draw(floats(lowest, highest))
    share = draw(st.one_of(st.sampled_from([-1.0, 0.0, 1.0]), st.floats(-1.0, 1.0)))
    if 0.0 < abs(share) < 2.0**-60:
        share = 0.0
    return two_sum(hi, hi * share * 2.0**-53)


def as_double_double(pairs: Iterable[tuple[float, float]]) -> DoubleDouble:
    values = np.array(list(pairs), dtype=np.float64).reshape(-1, 2)
    return DoubleDouble(values[:, 0].copy(), values[:, 1].copy())
