"""Error-free transformations, and the arithmetic of double-double numbers built on them.

A double-double is an unevaluated sum of two float64, hi + lo with |lo| ≤ ulp(hi)/2: 106 bits, the
range of float64. With u = 2⁻⁵³ the rounding error of a sum or a product of two float64 is itself a
float64, and the functions here return both. They compute each operation as written, in float64
rounded to nearest; fused multiply-adds would break them and are never used.

References: T. J. Dekker, Numer. Math. 18 (1971); D. E. Knuth, TAOCP 2, 4.2.2;
M. Joldes, J.-M. Muller, V. Popescu, ACM Trans. Math. Softw. 44 (2017), for the bounds.
"""

from __future__ import annotations

from suffice.kernels.compiler.compile import kernel

SPLITTER = 134217729.0  # 2²⁷ + 1
"""Veltkamp's constant: a·(2²⁷ + 1) cuts a 53-bit a in two halves of 26 bits."""


@kernel
def two_sum(a: float, b: float) -> tuple[float, float]:
    """Return s = fl(a + b) and e with a + b = s + e exactly. Knuth: for any a and b."""
    s = a + b
    t = s - a
    return s, (a - (s - t)) + (b - t)


@kernel
def fast_two_sum(a: float, b: float) -> tuple[float, float]:
    """Return s = fl(a + b) and e with a + b = s + e exactly, if |a| ≥ |b| or a = 0. Dekker."""
    s = a + b
    return s, b - (s - a)


@kernel
def split(a: float) -> tuple[float, float]:
    """Cut a = head + tail exactly, in halves of at most 26 bits: products of halves are exact.

    Veltkamp. Overflows for |a| > 2⁹⁹⁶.
    """
    c = SPLITTER * a
    head = c - (c - a)
    return head, a - head


@kernel
def two_product(a: float, b: float) -> tuple[float, float]:
    """Return p = fl(a·b) and e with a·b = p + e exactly. Dekker.

    For a·b = 0 or 2⁻⁹⁶⁹ ≤ |a·b| ≤ 2¹⁰²³, and factors that `split` can cut.
    """
    p = a * b
    a_head, a_tail = split(a)
    b_head, b_tail = split(b)
    return p, ((a_head * b_head - p) + a_head * b_tail + a_tail * b_head) + a_tail * b_tail


@kernel
def multiply(a_hi: float, a_lo: float, b_hi: float, b_lo: float) -> tuple[float, float]:
    """Return the product of two double-doubles, to a relative error of 5u²."""
    p, e = two_product(a_hi, b_hi)
    return fast_two_sum(p, e + (a_hi * b_lo + a_lo * b_hi))


@kernel
def add(a_hi: float, a_lo: float, b_hi: float, b_lo: float) -> tuple[float, float]:
    """Return the sum of two double-doubles, to a relative error of 3u² + 13u³.

    The accurate variant: the bound holds for opposite signs too, where the sum may cancel.
    """
    s, e = two_sum(a_hi, b_hi)
    t, f = two_sum(a_lo, b_lo)
    s, e = fast_two_sum(s, e + t)
    return fast_two_sum(s, e + f)
