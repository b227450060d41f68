"""Least squares in rational arithmetic: the oracle of the linear tests.

A float64 number is a whole number times a power of two, so the normal equations of float64 data
can be formed and solved without any rounding.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal, localcontext
from fractions import Fraction
from typing import Any

import numpy as np

MOST_DIGITS = -math.log10(2.0**-53)
"""Digits that a number has once it is rounded to float64."""


@dataclass(frozen=True)
class ExactFit:
    """The minimiser of Σ w (θ·x + b − y)² + Σ λ θ², and its inference, as rational numbers.

    The intercept comes first, if there is one.
    """

    coef: list[Fraction]
    residual: Fraction
    total: Fraction
    inverse_diagonal: list[Fraction]
    df_residual: Fraction

    @property
    def r2(self) -> Fraction:
        return 1 - self.residual / self.total

    @property
    def residual_sd(self) -> Decimal:
        return root(self.residual / self.df_residual)

    @property
    def std_err(self) -> list[Decimal]:
        return [root(self.residual / self.df_residual * c) for c in self.inverse_diagonal]


def least_squares(
    X: Any, y: Any, weight: Any = None, *, intercept: bool = True, penalty: Any = 0.0
) -> ExactFit:
    """Solve least squares exactly; the columns must be independent."""
    n, d = np.shape(X)
    whole = [_whole(column) for column in np.asarray(X, dtype=np.float64).T]
    whole = [([1] * n, 0)] * intercept + whole + [_whole(np.asarray(y, dtype=np.float64))]
    w, w_exponent = _whole(np.ones(n) if weight is None else np.asarray(weight, dtype=np.float64))
    weighed = [[wi * v for wi, v in zip(w, column, strict=True)] for column, _ in whole]
    unit = [Fraction(2) ** exponent for _, exponent in whole]
    # In units in which every column is whole, so are all the products; a penalty is not.
    scale = Fraction(2) ** w_exponent
    gram = [[Fraction(_dot(a, b)) for b, _ in whole] for a in weighed]
    added = [0.0] * intercept + list(np.broadcast_to(penalty, d))
    for j, value in enumerate(added):
        value = value if isinstance(value, Fraction) else Fraction(float(value))
        gram[j][j] += value / (scale * unit[j] ** 2)
    p = len(added)
    identity = [[Fraction(int(i == j)) for j in range(p)] for i in range(p)]
    columns = solve([row[:p] for row in gram[:p]], [[row[p] for row in gram[:p]], *identity])
    theta = columns[0]
    penalised = sum(
        (t * t * (gram[j][j] - _dot(weighed[j], whole[j][0])) for j, t in enumerate(theta)),
        Fraction(0),
    )
    objective = gram[p][p] - sum(t * gram[j][p] for j, t in enumerate(theta))
    size = scale * unit[p] ** 2
    total = gram[p][p] - (Fraction(gram[0][p] ** 2, gram[0][0]) if intercept else 0)
    return ExactFit(
        coef=[t * unit[p] / unit[j] for j, t in enumerate(theta)],
        residual=(objective - penalised) * size,
        total=total * size,
        inverse_diagonal=[columns[1 + j][j] / (scale * unit[j] ** 2) for j in range(p)],
        df_residual=sum(w) * scale - p,
    )


def smallest_solution(
    X: Any, y: Any, weight: Any = None, *, alpha: float = 0.0, intercept: bool = True
) -> list[Fraction]:
    """The penalised solution, or else of all least-squares solutions the one of smallest norm.

    It lies in the span of the centred rows C.  With a penalty θ = Cᵀ u and
    (C Cᵀ + α W⁻¹) u = y − ȳ; without, θ = Rᵀ u for the independent rows R, and u is found by
    least squares.  Cheap where there are few rows; the intercept comes first.
    """
    rows = _fractions(X)
    y = [Fraction(float(v)) for v in y]
    w = [Fraction(float(v)) for v in (np.ones(len(y)) if weight is None else weight)]
    x_mean, y_mean = [Fraction(0)] * len(rows[0]), Fraction(0)
    if intercept:
        x_mean = [_dot(w, column) / sum(w) for column in zip(*rows, strict=True)]
        y_mean = _dot(w, y) / sum(w)
    C = [[v - m for v, m in zip(row, x_mean, strict=True)] for row in rows]
    y = [v - y_mean for v in y]
    if alpha:
        R = C
        A = [[_dot(r, q) for q in C] for r in C]
        for i, wi in enumerate(w):
            A[i][i] += Fraction(alpha) / wi
        u = solve(A, [y])[0]
    else:
        R = [C[i] for i in _independent(C)]
        scores = [[_dot(row, r) for row in C] for r in R]
        weighed = [[wi * v for wi, v in zip(w, score, strict=True)] for score in scores]
        A = [[_dot(a, b) for b in scores] for a in weighed]
        u = solve(A, [[_dot(a, y) for a in weighed]])[0] if R else []
    theta = [_dot(u, [row[j] for row in R]) for j in range(len(x_mean))]
    return [*([y_mean - _dot(theta, x_mean)] if intercept else []), *theta]


def solve(A: list[list[Fraction]], B: Sequence[Sequence[Fraction]]) -> list[list[Fraction]]:
    """x with A x = b for every b in B, by elimination without fractions (Bareiss)."""
    n = len(A)
    common = math.lcm(*(v.denominator for row in A for v in row))
    common = math.lcm(common, *(v.denominator for b in B for v in b))
    rows = [[int(v * common) for v in (*A[i], *(b[i] for b in B))] for i in range(n)]
    previous = 1
    for k in range(n):
        pivot = next(i for i in range(k, n) if rows[i][k])
        rows[k], rows[pivot] = rows[pivot], rows[k]
        for i in range(n):
            if i != k:
                head = rows[i][k]
                rows[i] = [
                    (rows[k][k] * v - head * u) // previous
                    for v, u in zip(rows[i], rows[k], strict=True)
                ]
        previous = rows[k][k]
    return [[Fraction(rows[i][n + j], rows[i][i]) for i in range(n)] for j in range(len(B))]


def digits(computed: Any, exact: Sequence[Any]) -> float:
    """Correct decimal digits of the worst number, at most those of float64."""
    worst = MOST_DIGITS
    for value, truth in zip(np.ravel(computed).tolist(), exact, strict=True):
        truth = Fraction(truth)
        error = abs(Fraction(value) - truth)
        if error:
            worst = min(worst, -math.log10(error / abs(truth)) if truth else 0.0)
    return max(worst, 0.0)


def root(value: Fraction) -> Decimal:
    """The square root to fifty digits."""
    with localcontext() as context:
        context.prec = 50
        return (Decimal(value.numerator) / Decimal(value.denominator)).sqrt()


def rank(X: Any, *, intercept: bool) -> int:
    """Number of independent columns, about their means if there is an intercept."""
    rows = _fractions(X)
    if intercept:
        centre = [sum(column) / len(rows) for column in zip(*rows, strict=True)]
        rows = [[v - c for v, c in zip(row, centre, strict=True)] for row in rows]
    return len(_independent(rows))


def _independent(rows: list[list[Fraction]]) -> list[int]:
    """The rows that do not depend on those before them."""
    found: list[int] = []
    reduced: list[tuple[int, list[Fraction]]] = []
    for i, row in enumerate(rows):
        for pivot, other in reduced:
            share = row[pivot] / other[pivot]
            row = [v - share * u for v, u in zip(row, other, strict=True)]
        pivot = next((j for j, v in enumerate(row) if v), None)
        if pivot is not None:
            found.append(i)
            reduced.append((pivot, row))
    return found


def _fractions(X: Any) -> list[list[Fraction]]:
    return [[Fraction(v) for v in row] for row in np.asarray(X, dtype=np.float64).tolist()]


def _whole(column: Any) -> tuple[list[int], int]:
    """Whole numbers and an exponent: column = whole · 2^exponent."""
    ratios = [float(v).as_integer_ratio() for v in column]
    denominator = max(q for _, q in ratios)
    return [p * (denominator // q) for p, q in ratios], 1 - denominator.bit_length()


def _dot(a: Sequence[Any], b: Sequence[Any]) -> Any:
    return sum((u * v for u, v in zip(a, b, strict=True)), 0)


def standardised_digits(
    model: Any, exact: Sequence[Fraction], X: Any, y: Any, weight: Any
) -> float:
    """Right digits of coefficients in units of their columns' deviations, and of the intercept.

    The former relative to the largest, the latter to the target's deviation or itself.
    """
    w = np.ones(len(y)) if weight is None else np.asarray(weight, dtype=float)
    X, y = (np.asarray(part, dtype=float)[w > 0] for part in (X, y))
    w = w[w > 0]

    def deviation(values: Any) -> Any:
        about = np.average(values, axis=0, weights=w) if model.fit_intercept else 0.0
        return np.sqrt(np.average(np.square(values - about), axis=0, weights=w))

    slopes = exact[len(exact) - X.shape[1] :]
    spread = deviation(X)
    wrong = [float(abs(Fraction(float(c)) - e)) for c, e in zip(model.coef_, slopes, strict=True)]
    own = max(float(deviation(y)), abs(float(exact[0])) if model.fit_intercept else 0.0) or 1.0
    size = max(abs(float(e)) * s for e, s in zip(slopes, spread, strict=True)) or own
    error = max(e * s for e, s in zip(wrong, spread, strict=True)) / size
    if model.fit_intercept:
        error = max(error, float(abs(Fraction(float(model.intercept_)) - exact[0])) / own)
    return -math.log10(error) if error > 0 else math.inf
