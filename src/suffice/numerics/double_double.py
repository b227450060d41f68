"""Double-double arithmetic on arrays: about 32 decimal digits from pairs of float64.

A number is kept as an unevaluated sum  hi + lo  with |lo| ≤ ½ ulp(hi).  Sums and
products start from the error-free transformations

    a + b = s + e     (Knuth),        a · b = p + e     (Dekker, Veltkamp's split)

which return the rounded result together with its exact rounding error.  An
operation's relative error is below 2⁻¹⁰².

References: Dekker, "A floating-point technique for extending the available
precision" (1971); Joldes, Muller and Popescu, "Tight and rigorous error bounds
for basic building blocks of double-word arithmetic" (2017).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

UNIT = 2.0**-53
"""Unit roundoff of float64."""

DOUBLE_DOUBLE_UNIT = 2.0**-102
"""A bound on the relative error of one double-double operation below."""

_SPLITTER = 2.0**27 + 1


def two_sum(a: Any, b: Any) -> tuple[Any, Any]:
    """`a + b` and its rounding error, exactly."""
    s = a + b
    t = s - a
    return s, (a - (s - t)) + (b - t)


def quick_two_sum(a: Any, b: Any) -> tuple[Any, Any]:
    """The same for |a| ≥ |b|."""
    s = a + b
    return s, b - (s - a)


def _split(a: Any) -> tuple[Any, Any]:
    """Two halves of 26 bits with a = high + low."""
    t = _SPLITTER * a
    high = t - (t - a)
    return high, a - high


def two_product(a: Any, b: Any) -> tuple[Any, Any]:
    """`a · b` and its rounding error, exactly (absent under- and overflow)."""
    p = a * b
    a1, a2 = _split(a)
    b1, b2 = _split(b)
    return p, ((a1 * b1 - p) + a1 * b2 + a2 * b1) + a2 * b2


@dataclass(frozen=True, slots=True, eq=False, init=False)
class DoubleDouble:
    """An array of double-double numbers.

    Attributes
    ----------
    hi, lo : float64 ndarrays of one shape
        The value is hi + lo.

    Examples
    --------
    >>> third = DoubleDouble.of(1.0) / DoubleDouble.of(3.0)
    >>> float((third + third + third - DoubleDouble.of(1.0)).hi)
    0.0
    """

    hi: Array
    lo: Array

    # NumPy must hand mixed expressions to the operators below.
    __array_ufunc__ = None

    def __init__(self, hi: Array, lo: Array) -> None:
        _set_hi(self, hi)
        _set_lo(self, lo)

    _shapes = "hi(...) lo(...)"

    @staticmethod
    def of(value: Any) -> DoubleDouble:
        """A float64 scalar or array (or a double-double) as a double-double."""
        if isinstance(value, DoubleDouble):
            return value
        hi = np.asarray(value, dtype=np.float64)
        return DoubleDouble(hi, np.zeros_like(hi))

    @staticmethod
    def zeros(shape: int | tuple[int, ...]) -> DoubleDouble:
        """Zeros."""
        return DoubleDouble(np.zeros(shape), np.zeros(shape))

    @property
    def shape(self) -> tuple[int, ...]:
        return self.hi.shape

    @property
    def T(self) -> DoubleDouble:
        return DoubleDouble(self.hi.T, self.lo.T)

    def __getitem__(self, index: Any) -> DoubleDouble:
        return DoubleDouble(np.asarray(self.hi[index]), np.asarray(self.lo[index]))

    def round(self) -> Array:
        """The nearest float64 numbers."""
        return np.asarray(self.hi + self.lo)

    def scaled(self, power_of_two: Any) -> DoubleDouble:
        """Times powers of two: exact."""
        return DoubleDouble(np.asarray(self.hi * power_of_two), np.asarray(self.lo * power_of_two))

    def __neg__(self) -> DoubleDouble:
        return DoubleDouble(np.asarray(-self.hi), np.asarray(-self.lo))

    def __add__(self, other: Any) -> DoubleDouble:
        if not isinstance(other, DoubleDouble):
            s, e = two_sum(self.hi, other)
            return DoubleDouble(*quick_two_sum(s, e + self.lo))
        s, e = two_sum(self.hi, other.hi)
        t, f = two_sum(self.lo, other.lo)
        s, e = quick_two_sum(s, e + t)
        return DoubleDouble(*quick_two_sum(s, e + f))

    __radd__ = __add__

    def __sub__(self, other: Any) -> DoubleDouble:
        return self + (-other)

    def __rsub__(self, other: Any) -> DoubleDouble:
        return -self + other

    def __mul__(self, other: Any) -> DoubleDouble:
        if not isinstance(other, DoubleDouble):
            p, e = two_product(self.hi, other)
            return DoubleDouble(*quick_two_sum(p, e + self.lo * other))
        p, e = two_product(self.hi, other.hi)
        return DoubleDouble(*quick_two_sum(p, e + (self.hi * other.lo + self.lo * other.hi)))

    __rmul__ = __mul__

    def __truediv__(self, other: Any) -> DoubleDouble:
        other = DoubleDouble.of(other)
        first = self.hi / other.hi
        rest = self - other * first
        return DoubleDouble(*quick_two_sum(first, rest.hi / other.hi))

    def sqrt(self) -> DoubleDouble:
        """Square root of positive numbers: one Newton step from the float64 root."""
        root = np.sqrt(self.hi)
        return DoubleDouble.of(root) + (self - DoubleDouble(*two_product(root, root))).hi / (
            2 * root
        )

    def sum(self, axis: int = 0) -> DoubleDouble:
        """Sum along an axis.

        The high parts are added pairwise, their rounding errors along with the low parts,
        so n terms lose at most about n u² of the sum of their sizes, u = 2⁻⁵³.
        """
        hi = self.hi if axis == 0 else np.moveaxis(self.hi, axis, 0)
        lo = self.lo if axis == 0 else np.moveaxis(self.lo, axis, 0)
        if len(hi) == 0:
            return DoubleDouble.zeros(hi.shape[1:])
        low = np.add.reduce(lo)
        while (n := len(hi)) > 1:
            half = n // 2
            paired, error = two_sum(hi[:half], hi[half : 2 * half])
            low = low + np.add.reduce(error)
            hi = np.concatenate([paired, hi[-1:]]) if n % 2 else paired
        return DoubleDouble(*quick_two_sum(hi[0], low))

    def outer(self, other: DoubleDouble) -> DoubleDouble:
        """All products of two vectors."""
        return self[:, None] * other[None, :]


# The slots' own setters: small arrays spend a noticeable part of their time being made.
_slots: Any = DoubleDouble
_set_hi, _set_lo = _slots.hi.__set__, _slots.lo.__set__
