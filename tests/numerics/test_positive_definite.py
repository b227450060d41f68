"""Positive definite systems, against exact elimination in rational numbers.

A factor promises that its solutions are exact for a matrix within `unit` √(Aᵢᵢ Aⱼⱼ) of A, but for
an error of `residue` relative to the largest entry.  The first part is a bound on the residual,

    |B − A x|ᵢ ≤ unit · gᵢ (g·|x|),        gᵢ = √Aᵢᵢ,

which costs one exact product to check, for matrices of any order.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from suffice.numerics.double_double import DOUBLE_DOUBLE_UNIT, UNIT, DoubleDouble, two_sum
from suffice.numerics.positive_definite import (
    REFINABLE_CONDITION,
    SMALL,
    PivotedCholesky,
    factorize,
    product,
)
from tests.numerics.rational import exactly, identity, nearest, solve

ROUNDED = "Cholesky in float64"
REFINED = "Cholesky in float64, refined with double-double residuals"
PIVOTED = "pivoted Cholesky in double-double"


def unit_diagonal(A):
    """A symmetric matrix of fractions, scaled by powers of two to a diagonal near 1."""
    diagonal = np.diagonal(A).astype(np.float64)
    exponents = np.rint(np.log2(diagonal) / 2).astype(int).tolist()
    scale = np.array([Fraction(2) ** -e for e in exponents], dtype=object)
    return A * np.multiply.outer(scale, scale)


def hilbert(n):
    """The matrix 1 / (i + j + 1), whose condition number grows by 30 with each row."""
    A = [[Fraction(1, i + j + 1) for j in range(n)] for i in range(n)]
    return nearest(unit_diagonal(np.array(A, dtype=object)))


def integer_gram(seed, rows, columns, rank=None):
    """The Gram matrix of random integers, of a given rank: exact in float64 already."""
    rng = np.random.default_rng(seed)
    if rank is None:
        X = rng.integers(-20, 21, size=(rows, columns))
    else:
        X = rng.integers(-5, 6, size=(rows, rank)) @ rng.integers(-5, 6, size=(rank, columns))
    return unit_diagonal(exactly(X.T @ X))


def nearly_dependent(seed, n, gap):
    """A matrix whose first two columns differ by `gap` only: its condition number is gap⁻²."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n + 3, n))
    if n > 1:
        X[:, 1] = X[:, 0] + gap * rng.normal(size=n + 3)
    X = exactly(X)
    return nearest(unit_diagonal(X.T.dot(X)))


def right_side(seed, n, k=2):
    rng = np.random.default_rng(seed)
    hi, lo = rng.normal(size=(n, k)), 2.0**-54 * rng.normal(size=(n, k))
    return DoubleDouble(*two_sum(hi, hi * lo))


def root_diagonal(A):
    hi = A.hi if isinstance(A, DoubleDouble) else A
    return exactly(np.sqrt(np.diagonal(hi)))


def matrix_error(A, factor, x):
    """A bound on |B − A x| where x is exact for a matrix near A."""
    g = root_diagonal(A)
    return Fraction(factor.unit) * np.multiply.outer(g, g.dot(abs(exactly(x))))


def solution_error(factor, x):
    """What a solution may lack on top of that, a column each."""
    return Fraction(factor.residue) * abs(exactly(x)).max(axis=0)


def assert_solves(A, factor, B):
    x = factor.solve(B)
    assert x.shape == B.shape
    residual = exactly(B) - exactly(A).dot(exactly(x))
    left = np.multiply.outer(abs(exactly(A)).sum(axis=1), solution_error(factor, x))
    assert np.all(abs(residual) <= matrix_error(A, factor, x) + left)
    return x


def assert_near_solution(A, factor, B):
    """Forward: |Δx| ≤ |A⁻¹| · (bound on the residual), and the residue."""
    inverse = abs(solve(exactly(A), identity(B.shape[0])))
    x = assert_solves(A, factor, B)
    bound = inverse.dot(matrix_error(A, factor, x)) + solution_error(factor, x)
    assert np.all(abs(exactly(x) - solve(exactly(A), exactly(B))) <= bound)


# --- which way is taken --------------------------------------------------------------------


@pytest.mark.parametrize(
    ("n", "method"), [(1, REFINED), (4, REFINED), (7, REFINED), (10, PIVOTED), (18, PIVOTED)]
)
def test_condition_decides(n, method):
    # Hilbert matrices of order 4, 7, 10 have condition numbers 10⁴, 5·10⁸, 10¹³; that of order
    # 18 is not even positive definite once rounded to float64.
    A = hilbert(n)
    factor = factorize(A, np.zeros(n))
    assert factor.method == method
    assert factor.rank == n
    assert sorted(factor.order) == list(range(n))
    assert factorize(np.eye(n), np.zeros(n)).method == ROUNDED


def test_condition_number_that_refinement_can_take():
    assert factorize(nearly_dependent(0, 3, 1e-4), np.zeros(3)).method == REFINED
    assert factorize(nearly_dependent(0, 3, 1e-7), np.zeros(3)).method == PIVOTED
    assert REFINABLE_CONDITION * UNIT < 1e-4


def test_large_tolerance_asks_for_the_rank():
    assert factorize(hilbert(3), np.full(3, 1e-10)).method == PIVOTED


def test_float64_that_is_not_positive_definite():
    for A in (np.array([[1.0, 2.0], [2.0, 1.0]]), np.array([[-1.0]]), np.zeros((3, 3))):
        with pytest.raises(np.linalg.LinAlgError):
            factorize(A, np.zeros(len(A)))


# --- solutions -----------------------------------------------------------------------------


@pytest.mark.parametrize("n", [1, 2, 3, 5, 8, 11, 14, 18])
def test_hilbert_matrices(n):
    A, B = hilbert(n), right_side(n, n)
    assert_near_solution(A, factorize(A, np.zeros(n)), B)
    assert_near_solution(A, PivotedCholesky(A, np.zeros(n)), B)
    if n <= 8:
        assert_near_solution(A.hi, factorize(A.hi, np.zeros(n)), B)


@pytest.mark.parametrize("n", [1, 5, 10])
def test_hilbert_solution_to_float64(n):
    # A ones = row sums, far from exact in float64 from order 10 on.
    A = hilbert(n)
    B = nearest(exactly(A).sum(axis=1)[:, None])
    x = factorize(A, np.zeros(n)).solve(B)
    assert np.array_equal(x.round(), np.ones((n, 1)))


@given(st.integers(0, 2**32), st.integers(1, 5), st.floats(-7, 0))
def test_random_matrices(seed, n, gap):
    A, B = nearly_dependent(seed, n, 10.0**gap), right_side(seed, n, 1)
    assert_near_solution(A, factorize(A, np.zeros(n)), B)
    assert_near_solution(A, PivotedCholesky(A, np.zeros(n)), B)
    if gap > -6:
        assert_near_solution(A.hi, factorize(A.hi, np.zeros(n)), B)


@given(a=st.floats(0.5, 2.0), b=st.floats(0.5, 2.0), lo=st.floats(-1.0, 1.0))
def test_one_column(a, b, lo):
    A = np.array([[a]])
    B = DoubleDouble(*two_sum(np.array([[b]]), np.array([[lo * 2.0**-54]])))
    assert_near_solution(A, factorize(A, np.zeros(1)), B)
    assert_near_solution(DoubleDouble.of(A), factorize(DoubleDouble.of(A), np.zeros(1)), B)


def test_a_lucky_first_solution_does_not_end_refinement_early():
    # The rounded matrix has the solution (1, 1) to the last bit, or nearly; the true one differs
    # by what rounding cut off, and each step sees that through a condition number 2 / eps.
    for seed in range(400):
        rng = np.random.default_rng(seed)
        eps = 10.0 ** rng.uniform(-6, -5)
        lo = rng.uniform(-1, 1, size=(2, 2)) * 2.0**-54
        lo[0, 1] = lo[1, 0]
        A = DoubleDouble(*two_sum(np.array([[1.0, 1 - eps], [1 - eps, 1.0]]), lo))
        factor = factorize(A, np.zeros(2))
        assert factor.method == REFINED
        assert_near_solution(A, factor, DoubleDouble.of(np.array([[2 - eps], [2 - eps]])))


@pytest.mark.parametrize("n", [SMALL - 1, SMALL, SMALL + 1, 45])
def test_orders_around_the_kernels_threshold(n):
    A = nearest(integer_gram(n, n + 4, n))
    B = right_side(n, n)
    pivoted = PivotedCholesky(A, np.zeros(n))
    assert pivoted.rank == n
    assert_solves(A, pivoted, B)
    assert_solves(A, factorize(A, np.zeros(n)), B)
    assert_solves(A.hi, factorize(A.hi, np.zeros(n)), B)


def test_right_sides_of_very_different_size_and_of_zeros():
    A = hilbert(5)
    B = right_side(0, 5, 4)
    B = DoubleDouble(B.hi * [1e-200, 1e200, 0.0, 1.0], B.lo * [1e-200, 1e200, 0.0, 1.0])
    for factor in (factorize(A, np.zeros(5)), PivotedCholesky(A, np.zeros(5))):
        x = assert_solves(A, factor, B)
        assert not x.hi[:, 2].any()
        assert not x.lo[:, 2].any()


# --- the product ---------------------------------------------------------------------------


@pytest.mark.parametrize("n", [0, 1, 7, SMALL, SMALL + 1, 50])
def test_product(n):
    rng = np.random.default_rng(n)
    hi = rng.normal(size=(n, n)) * 2.0 ** rng.integers(-30, 30, size=(n, n))
    A = DoubleDouble(*two_sum(hi, hi * 2.0**-54 * rng.uniform(-1, 1, size=(n, n))))
    A = DoubleDouble(np.triu(A.hi) + np.triu(A.hi, 1).T, np.triu(A.lo) + np.triu(A.lo, 1).T)
    x = right_side(n, n, 3)
    result = product(A, x)
    assert result.shape == (n, 3)
    if n:
        exact = exactly(A).dot(exactly(x))
        terms = abs(exactly(A)).dot(abs(exactly(x)))
        bound = Fraction(DOUBLE_DOUBLE_UNIT) + (n + 1) * Fraction(UNIT) ** 2
        assert np.all(abs(exactly(result) - exact) <= bound * terms)


# --- inverses and their roots --------------------------------------------------------------


def factors(A):
    n = A.shape[0]
    yield A, factorize(A, np.zeros(n))
    yield A, PivotedCholesky(A, np.zeros(n))
    yield A.hi, factorize(A.hi, np.zeros(n))


@pytest.mark.parametrize("n", [1, 3, 6, 8])
def test_inverse(n):
    for A, factor in factors(hilbert(n)):
        exact = solve(exactly(A), identity(n))
        inverse = factor.inverse()
        assert np.array_equal(inverse, inverse.T)
        # Rounded once where the factor is double-double, else as good as float64's factor is.
        g = root_diagonal(A)
        amplified = abs(exact).dot(g)
        unit = factor.unit if factor.method == PIVOTED else UNIT * (3 * n + 2)
        bound = 4 * Fraction(unit) * np.multiply.outer(amplified, amplified)
        diagonal = exactly(np.sqrt(np.diagonal(exact).astype(np.float64)))
        bound = bound + (n + 4) * Fraction(UNIT) * np.multiply.outer(diagonal, diagonal)
        assert np.all(abs(exactly(inverse) - exact) <= bound)


@pytest.mark.parametrize("off", [0.3, 1e-4, 1e-7])
def test_half_solve_of_many_columns_has_eight_digits(off):
    """Whether it is made in float64, as the first, or in double-double."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(100, 50))
    X[:, 1] = X[:, 0] + off * X[:, 1]
    X /= np.linalg.norm(X, axis=0)
    A = DoubleDouble.of(X.T @ X)
    eye, nothing = DoubleDouble.of(np.eye(50)), np.zeros(50)
    found, exact = (
        np.square(factor.half_solve(eye).round()).sum(axis=0)
        for factor in (factorize(A, nothing), PivotedCholesky(A, nothing))
    )
    np.testing.assert_allclose(found, exact, rtol=1e-8)


@pytest.mark.parametrize("n", [1, 4, 7, 12])
def test_half_solve_is_a_root_of_the_inverse(n):
    B = right_side(n, n, 3)
    for A, factor in factors(hilbert(n)):
        if A is not None and factor.method == ROUNDED and n > 8:
            continue
        half = factor.half_solve(B)
        assert half.shape == (n, 3)
        inverse = solve(exactly(A), identity(n))
        exact = exactly(B).T.dot(inverse).dot(exactly(B))
        got = exactly(half).T.dot(exactly(half))
        amplified = abs(inverse).dot(root_diagonal(A))
        reach = abs(exactly(B)).T.dot(amplified)
        unit = Fraction(UNIT * (3 * n + 2) if factor.method == ROUNDED else factor.unit)
        assert np.all(abs(got - exact) <= 4 * unit * np.multiply.outer(reach, reach))


def test_pivoted_factor_times_its_transpose():
    n = 9
    A = hilbert(n)
    factor = PivotedCholesky(A, np.zeros(n))
    L = exactly(factor.L)
    P = np.asarray(factor.order)
    assert not np.triu(factor.L.hi, 1).any()
    assert np.all(np.diff(np.diagonal(factor.L.hi)) <= 0)
    difference = abs(L.dot(L.T) - exactly(A)[np.ix_(P, P)])
    g = root_diagonal(A)[P]
    assert np.all(difference <= Fraction(factor.unit) * np.multiply.outer(g, g))


def test_the_matrix_is_left_alone():
    A = hilbert(6)
    hi, lo = A.hi.copy(), A.lo.copy()
    for factor in (factorize(A, np.zeros(6)), PivotedCholesky(A, np.zeros(6))):
        B = right_side(0, 6)
        factor.solve(B), factor.inverse(), factor.half_solve(B)
        assert np.array_equal(B.hi, right_side(0, 6).hi)
    assert np.array_equal(A.hi, hi)
    assert np.array_equal(A.lo, lo)


# --- dependent columns ---------------------------------------------------------------------


@pytest.mark.parametrize(("n", "rank"), [(2, 1), (5, 2), (6, 5), (SMALL + 3, 7), (40, 33)])
def test_rank_deficient(n, rank):
    exact = integer_gram(n, n + 5, n, rank)
    A = nearest(exact)
    assert np.all(exactly(A) == exact)
    factor = factorize(A, np.full(n, 1e-24))
    assert factor.method == PIVOTED
    assert factor.rank == rank
    assert sorted(factor.order) == list(range(n))
    independent, dependent = factor.order[:rank], factor.order[rank:]

    # A consistent system: A times a known vector.
    coefficients = np.random.default_rng(n).integers(-3, 4, size=(n, 2))
    B = nearest(exact.dot(exactly(coefficients)))
    x = factor.solve(B)
    assert not x.hi[dependent].any()
    assert not x.lo[dependent].any()
    residual = abs(exactly(B) - exact.dot(exactly(x)))
    assert np.all(residual.astype(float) <= 1e-24 * np.abs(B.hi).max())

    inverse = factor.inverse()
    assert inverse.shape == (rank, rank)
    block = exact[np.ix_(np.sort(independent), np.sort(independent))].astype(float)
    assert np.abs(inverse @ block - np.eye(rank)).max() < 1e-9 * np.abs(inverse).max()
    assert factor.half_solve(B).shape == (rank, 2)

    basis = factor.null_space()
    assert basis.shape == (n, n - rank)
    assert np.array_equal(basis[dependent], np.eye(n - rank))
    zero = abs(exact.dot(exactly(basis)))
    size = abs(exact).dot(abs(exactly(basis)))
    assert np.all(zero <= 2 * Fraction(UNIT) * size)


def test_null_space_of_a_known_dependence():
    # The third column is the first plus twice the second.
    X = np.array([[1, 2, 5], [3, -1, 1], [0, 4, 8], [2, 2, 6]])
    factor = factorize(nearest(exactly((X.T @ X) / 64.0)), np.full(3, 1e-24))
    assert factor.rank == 2
    (direction,) = factor.null_space().T
    assert direction / direction[0] == pytest.approx([1, 2, -1], rel=1e-15)


def test_independent_columns_leave_no_null_space():
    for factor in (factorize(hilbert(3), np.zeros(3)), factorize(np.eye(3), np.zeros(3))):
        assert factor.null_space().shape == (3, 0)
    assert PivotedCholesky(hilbert(3), np.zeros(3)).null_space().shape == (3, 0)


def test_a_pivot_at_its_tolerance_counts_as_zero():
    A = DoubleDouble.of(np.diag([1.0, 0.5, 0.25]))
    assert PivotedCholesky(A, np.array([0.0, 0.0, 0.25])).rank == 2
    assert PivotedCholesky(A, np.array([0.0, 0.0, 0.2499])).rank == 3
    # Each column has its own: the second is dropped although the third is smaller.
    factor = PivotedCholesky(A, np.array([0.0, 0.5, 0.0]))
    assert factor.rank == 2
    assert factor.order.tolist() == [0, 2, 1]
    assert PivotedCholesky(A, np.ones(3)).rank == 0


def test_rank_zero():
    factor = factorize(DoubleDouble.zeros((3, 3)), np.zeros(3))
    assert factor.rank == 0
    B = right_side(0, 3)
    assert not factor.solve(B).hi.any()
    assert factor.inverse().shape == (0, 0)
    assert factor.half_solve(B).shape == (0, 2)
    assert np.array_equal(factor.null_space(), np.eye(3))


@pytest.mark.parametrize("A", [np.zeros((0, 0)), DoubleDouble.zeros((0, 0))])
def test_order_zero(A):
    for factor in (factorize(A, np.zeros(0)), PivotedCholesky(DoubleDouble.of(A), np.zeros(0))):
        assert factor.rank == len(factor.order) == 0
        assert factor.solve(DoubleDouble.zeros((0, 2))).shape == (0, 2)
        assert factor.half_solve(DoubleDouble.zeros((0, 2))).shape == (0, 2)
        assert factor.inverse().shape == (0, 0)
        assert factor.null_space().shape == (0, 0)
