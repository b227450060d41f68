"""Symmetric positive (semi-)definite systems, in float64 and in double-double.

`factorize` takes a matrix whose diagonal is near 1 and picks the cheapest way that the
matrix's condition number κ allows:

* float64 matrices: Cholesky;
* double-double matrices with κ below 10¹¹: float64 Cholesky, with the solution refined
  until its residual, computed in double-double, vanishes;
* all others: Cholesky in double-double with the largest remaining pivot first, which stops
  where the pivots vanish and so reveals the rank.

Reference: Higham, "Accuracy and Stability of Numerical Algorithms" (2002), chapters 10, 12.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import linalg
from scipy.linalg import lapack

from suffice.kernels.sums.exact import double_double_matvec, downdate
from suffice.numerics.cached import cached_property
from suffice.numerics.double_double import DOUBLE_DOUBLE_UNIT, UNIT, Array, DoubleDouble

REFINABLE_CONDITION = 1e11
"""Condition number up to which refinement gains at least four digits a step."""

TARGET = 2.0**-80
"""Relative size of what refinement may leave: far below half a unit of float64."""

ENOUGH = 1e-8
"""Error of a float64 factor, relative to it, beyond which a large one is made in double-double."""

SMALL = 32
"""Order up to which NumPy's arrays do; beyond, compiled kernels take over."""


class Factor(ABC):
    """A factorised matrix A.

    Attributes
    ----------
    method : str
        How it was done, for people.
    rank : int
    order : int array
        The independent columns first (their number is the rank), then the others.
    unit : float
        ε with which the factorisation rounds: it is exact for a matrix within ε of A,
        relative to the diagonal.
    residue : float
        Error of the last solution on top of that, relative to its largest entry.
    """

    method: str
    rank: int
    order: NDArray[np.intp]
    unit: float
    residue: float = 0.0

    @abstractmethod
    def solve_checked(self, B: DoubleDouble) -> tuple[DoubleDouble, Array]:
        """x with A x = B for B of shape (n, k), zero on the dependent columns; and B − A x."""

    def solve(self, B: DoubleDouble) -> DoubleDouble:
        """The first of these."""
        return self.solve_checked(B)[0]

    @abstractmethod
    def inverse(self) -> Array:
        """The inverse, rounded, of the block of independent columns in ascending order."""

    @abstractmethod
    def half_solve(self, B: DoubleDouble) -> DoubleDouble:
        """Rᵀ B of shape (rank, k), for an R with A⁻¹ = R Rᵀ on the independent columns."""

    def null_space(self) -> Array:
        """Columns that span the vectors A takes to zero, shape (n, n − rank)."""
        return np.zeros((len(self.order), 0))


def factorize(A: Array | DoubleDouble, tolerance: Array) -> Factor:
    """Factorise a symmetric positive semi-definite matrix with a diagonal near 1.

    Parameters
    ----------
    A : float64 array or DoubleDouble of shape (n, n)
    tolerance : float64 array of shape (n,)
        A pivot at or below this counts as zero: the column depends on the others.

    Returns
    -------
    Factor

    Raises
    ------
    numpy.linalg.LinAlgError
        If A is float64 and Cholesky breaks down.
    """
    if not isinstance(A, DoubleDouble):
        return _Cholesky(A)
    try:
        cholesky = _Cholesky(A.hi)
    except linalg.LinAlgError:
        return PivotedCholesky(A, tolerance)
    if cholesky.condition < REFINABLE_CONDITION and tolerance.max(initial=0.0) < 1e-12:
        return _Refined(A, cholesky)
    return PivotedCholesky(A, tolerance)


class _Cholesky(Factor):
    method = "Cholesky in float64"

    def __init__(self, A: Array) -> None:
        self.A = A
        self.rank = len(A)
        self.order = np.arange(self.rank)
        self.unit = UNIT * (3 * self.rank + 2)  # Higham, theorem 10.4, and a rounded B
        self._inverse: Array | None = None
        if self.rank == 0:
            self.L = self._inverse = A
            return
        self.L, failed = lapack.dpotrf(A, lower=1)
        if failed:
            raise linalg.LinAlgError("the matrix is not positive definite")

    def solve_rounded(self, B: Array) -> Array:
        return np.asarray(lapack.dpotrs(self.L, B, lower=1)[0]) if self.rank else B

    def solve_checked(self, B: DoubleDouble) -> tuple[DoubleDouble, Array]:
        rounded = B.round()
        x = self.solve_rounded(rounded)
        return DoubleDouble.of(x), rounded - self.A @ x

    def inverse(self) -> Array:
        if self._inverse is None:
            lower = lapack.dpotri(self.L, lower=1)[0]
            self._inverse = lower + lower.T
            self._inverse.flat[:: self.rank + 1] /= 2
        return self._inverse

    def half_solve(self, B: DoubleDouble) -> DoubleDouble:
        return DoubleDouble.of(
            linalg.solve_triangular(self.L, B.round(), lower=True, check_finite=False)
            if self.rank
            else B.round()
        )

    @cached_property
    def condition(self) -> float:
        """Condition number in the 1-norm."""
        return norm(self.A) * norm(self.inverse())


def norm(A: Array) -> float:
    """The 1-norm of a symmetric matrix."""
    return float(np.add.reduce(np.abs(A)).max(initial=0.0))


class _Refined(Factor):
    method = "Cholesky in float64, refined with double-double residuals"

    def __init__(self, A: DoubleDouble, cholesky: _Cholesky) -> None:
        self.A, self.cholesky = A, cholesky
        self.rank, self.order = cholesky.rank, cholesky.order
        self.unit = DOUBLE_DOUBLE_UNIT * (2 * self.rank + 8)
        self.share = cholesky.unit * cholesky.condition

    def solve_checked(self, B: DoubleDouble) -> tuple[DoubleDouble, Array]:
        x = DoubleDouble.of(self.cholesky.solve_rounded(B.hi))
        previous = 1.0
        for _ in range(40):
            residual = (B - product(self.A, x)).hi
            correction = self.cholesky.solve_rounded(residual)
            x = x + correction
            step = _relative_size(correction, x.hi)
            # Each step leaves the share of the error that the one before left of its own;
            # where luck made that small, count on no less than the condition promises.
            left = step / previous
            self.residue = 2 * step * max(left, self.share)
            if self.residue <= TARGET or left > 0.5:
                break
            previous = step
        return x, residual - self.A.hi @ correction

    def inverse(self) -> Array:
        return self.cholesky.inverse()

    def half_solve(self, B: DoubleDouble) -> DoubleDouble:
        if self.rank > SMALL and self.share <= ENOUGH:
            return self.cholesky.half_solve(B)
        return self._pivoted.half_solve(B)

    @cached_property
    def _pivoted(self) -> PivotedCholesky:
        return PivotedCholesky(self.A, np.zeros(self.rank))


def _relative_size(change: Array, x: Array) -> float:
    """Largest entry of a change relative to its column's largest entry."""
    largest = np.abs(x).max(axis=0, initial=0.0)
    changes = np.abs(change).max(axis=0, initial=0.0)
    return float((changes / np.where(largest > 0, largest, 1.0)).max(initial=0.0))


class PivotedCholesky(Factor):
    """P A Pᵀ = L Lᵀ, the largest remaining pivot first, in double-double."""

    method = "pivoted Cholesky in double-double"

    def __init__(self, A: DoubleDouble, tolerance: Array) -> None:
        n = A.shape[0]
        self.A = A
        S = DoubleDouble(A.hi.copy(), A.lo.copy())
        self.L = DoubleDouble.zeros((n, n))
        self.order = np.arange(n)
        self.rank = n
        self.unit = DOUBLE_DOUBLE_UNIT * (2 * n + 8)
        for j in range(n):
            pivots = np.diagonal(S.hi)[j:]
            clear = np.where(pivots > tolerance[self.order[j:]], pivots, 0.0)
            best = j + int(np.argmax(clear))
            if not clear[best - j] > 0:
                self.rank = j
                break
            _swap(S, self.L, self.order, j, best)
            root = S[j, j].sqrt()
            below = S[j + 1 :, j] / root
            self.L.hi[j, j], self.L.lo[j, j] = root.hi, root.lo
            self.L.hi[j + 1 :, j], self.L.lo[j + 1 :, j] = below.hi, below.lo
            _eliminate(S, below, j + 1)

    def _substitute(self, B: DoubleDouble) -> DoubleDouble:
        """z with L₁₁ z = B."""
        z = DoubleDouble(B.hi.copy(), B.lo.copy())
        for j in range(self.rank):
            _replace(z, j, z[j] / self.L[j, j])
            rest = slice(j + 1, self.rank)
            _replace(z, rest, z[rest] - self.L[rest, j].outer(z[j]))
        return z

    def _substitute_back(self, Z: DoubleDouble) -> DoubleDouble:
        """x with L₁₁ᵀ x = Z."""
        x = DoubleDouble(Z.hi.copy(), Z.lo.copy())
        for j in range(self.rank - 1, -1, -1):
            _replace(x, j, x[j] / self.L[j, j])
            rest = slice(0, j)
            _replace(x, rest, x[rest] - self.L[j, rest].outer(x[j]))
        return x

    def solve_checked(self, B: DoubleDouble) -> tuple[DoubleDouble, Array]:
        independent = self.order[: self.rank]
        x = DoubleDouble.zeros(B.shape)
        _replace(x, independent, self._substitute_back(self._substitute(B[independent])))
        return x, (B - product(self.A, x)).hi

    def half_solve(self, B: DoubleDouble) -> DoubleDouble:
        return self._substitute(B[self.order[: self.rank]])

    def inverse(self) -> Array:
        n = len(self.order)
        half = self.half_solve(DoubleDouble.of(np.eye(n))).round()
        half = half[:, np.sort(self.order[: self.rank])]
        return np.asarray(half.T @ half)

    def null_space(self) -> Array:
        r, n = self.rank, len(self.order)
        basis = np.zeros((n, n - r))
        basis[self.order[r:], np.arange(n - r)] = 1.0
        basis[self.order[:r]] = -self._substitute_back(self.L[r:, :r].T).round()
        return basis


def _replace(target: DoubleDouble, index: Any, value: DoubleDouble) -> None:
    target.hi[index], target.lo[index] = value.hi, value.lo


def _eliminate(S: DoubleDouble, column: DoubleDouble, start: int) -> None:
    """Subtract the outer square of a column from the rest of S (its lower triangle counts)."""
    rest = (slice(start, None), slice(start, None))
    if S.shape[0] <= SMALL:
        _replace(S, rest, S[rest] - column.outer(column))
    else:
        padding = np.zeros(start)
        downdate(
            S.hi,
            S.lo,
            np.concatenate([padding, column.hi]),
            np.concatenate([padding, column.lo]),
            start,
        )


def _swap(S: DoubleDouble, L: DoubleDouble, order: NDArray[np.intp], j: int, best: int) -> None:
    """Exchange two rows and columns of the lower triangle of S, and what goes with them."""
    if j == best:
        return
    for part in (S.hi, S.lo):
        between, after = slice(j + 1, best), slice(best + 1, None)
        part[j, j], part[best, best] = part[best, best], part[j, j]
        part[between, j], part[best, between] = part[best, between].copy(), part[between, j].copy()
        part[after, j], part[after, best] = part[after, best].copy(), part[after, j].copy()
    for part in (L.hi, L.lo):
        part[[j, best], :j] = part[[best, j], :j]
    order[[j, best]] = order[[best, j]]


def product(A: DoubleDouble, x: DoubleDouble) -> DoubleDouble:
    """A x for a symmetric A of shape (n, n) and x of shape (n, k), in double-double."""
    if A.shape[0] <= SMALL:
        return (A[:, :, None] * x[:, None, :]).sum()
    A = DoubleDouble(np.ascontiguousarray(A.hi), np.ascontiguousarray(A.lo))
    result = DoubleDouble.zeros((x.shape[1], x.shape[0]))
    columns = DoubleDouble(np.ascontiguousarray(x.hi.T), np.ascontiguousarray(x.lo.T))
    for k in range(x.shape[1]):
        double_double_matvec(A.hi, A.lo, columns.hi[k], columns.lo[k], result.hi[k], result.lo[k])
    return result.T
