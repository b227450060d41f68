"""Eigenvalues against exact constructions, and their bounds against rational arithmetic."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from suffice.numerics.double_double import DoubleDouble
from suffice.numerics.exact_gram import exact_gram
from suffice.numerics.symmetric_eigen import decompose, leading
from tests.numerics.rational import exactly


def hadamard(order):
    H = np.ones((1, 1))
    while len(H) < order:
        H = np.kron(H, [[1.0, 1.0], [1.0, -1.0]])
    return H


def with_values(values):
    """H diag(values) Hᵀ / n: the columns of H / √n are the vectors."""
    n = len(values)
    H = hadamard(n)
    return exact_gram(DoubleDouble.of(H.T * np.asarray(values)[:, None]), DoubleDouble.of(H.T / n))


def random_matrix(n, seed=0):
    Z = np.random.default_rng(seed).normal(size=(2 * n, n))
    return exact_gram(DoubleDouble.of(Z)).scaled(2.0**-8)


SPECTRA = {
    "apart": 2.0 ** -np.arange(8.0),
    "graded": 2.0 ** (-8 * np.arange(8.0)),
    "close": 1 + np.arange(8)[::-1] * 2.0**-45,
    "clusters": np.array([3.0, 3 - 2.0**-48, 2, 2 - 2.0**-40, 2 - 2.0**-39, 1, 2.0**-30, 0]),
    "equal": np.array([5.0, 5, 5, 2, 2, 1, 0, 0]),
    "negative": np.array([4.0, 3, 2, 1, -1, -2, -3, -4]),
    "zero": np.zeros(8),
}


@pytest.mark.parametrize("name", SPECTRA)
def test_known_values_in_double_double(name):
    expected = SPECTRA[name]
    system = decompose(with_values(expected))
    error = abs(exactly(system.values) - exactly(expected))
    assert all(e <= Fraction(system.departure) for e in error)
    assert system.departure <= 1e-27 * max(np.abs(expected).max(), 1e-300)


@pytest.mark.parametrize("name", ["apart", "graded", "close", "clusters", "negative"])
def test_known_vectors_in_double_double(name):
    system = decompose(with_values(SPECTRA[name]))
    # Rounded, each entry is ± 1/√8 to half a unit.
    np.testing.assert_allclose(np.abs(system.vectors), np.sqrt(1 / 8), rtol=2e-16)


@pytest.mark.parametrize("name", SPECTRA)
def test_known_values_in_float64(name):
    expected = SPECTRA[name]
    A = with_values(expected).hi
    system = decompose(A)
    # A is exact but for what lies below its last bits.
    assert np.abs(system.values.hi - expected).max() <= system.departure
    assert system.departure <= 1e-13 * max(np.abs(expected).max(), 1e-300)


@pytest.mark.parametrize("n", [1, 2, 3, 7, 33])
@pytest.mark.parametrize("precision", ["float64", "double-double"])
def test_residuals_are_bounded(n, precision):
    """In rational arithmetic, for vectors rounded to float64."""
    A = random_matrix(n)
    system = decompose(A.hi if precision == "float64" else A)
    exact = exactly(A.hi) if precision == "float64" else exactly(A)
    assert (np.diff(system.values.hi) <= 0).all()
    np.testing.assert_allclose(system.vectors @ system.vectors.T, np.eye(n), atol=1e-14)
    norm = float(np.linalg.norm(A.hi))
    for k in range(0, n, 5):
        v = exactly(system.vectors[k])
        value = exactly(system.values)[k]
        residual = exact @ v - value * v
        size = float(sum(r * r for r in residual)) ** 0.5
        # Rounding the vector adds half a unit of each entry.
        assert size <= system.residuals[k] + 2.0**-53 * norm * 2


def test_refinement_is_better_than_float64():
    A = random_matrix(20)
    rough, fine = decompose(A.hi), decompose(A)
    assert fine.departure < 1e-10 * rough.departure
    assert np.abs(rough.values.hi - fine.values.hi).max() <= rough.departure


@pytest.mark.parametrize("gap", [1e-16, 1e-20, 1e-25, 1e-28, 1e-30])
@pytest.mark.parametrize("n", [2, 3, 8])
def test_vectors_of_nearly_equal_values_are_orthogonal(gap, n):
    """Also where what tells the values apart is hardly more than rounding."""
    rng = np.random.default_rng(n)
    for _ in range(5):
        noise = rng.normal(size=(n, n)) * gap
        A = DoubleDouble.of(np.diag(1.0 + np.arange(n) // 4)) + (noise + noise.T)
        V = decompose(A).vectors
        np.testing.assert_allclose(V @ V.T, np.eye(n), atol=4e-16)


def test_nothing():
    assert decompose(np.zeros((0, 0))).vectors.shape == (0, 0)
    assert decompose(DoubleDouble.zeros((0, 0))).values.shape == (0,)


# --- low rank ------------------------------------------------------------------------------


@pytest.mark.parametrize("rank", [0, 1, 5, 30])
def test_values_of_a_matrix_of_low_rank(rank):
    rng = np.random.default_rng(rank)
    Z = rng.normal(size=(rank, 150)) * 10.0 ** rng.uniform(-4, 0, size=(rank, 1))
    A = Z.T @ Z / max(np.square(Z).sum(axis=0).max(initial=0.0), 1.0)
    values, vectors, remainder = leading(A, rank)
    assert len(values) == rank
    expected = decompose(A)
    bound = remainder + expected.departure
    np.testing.assert_allclose(values, expected.values.round()[:rank], rtol=0, atol=bound)
    np.testing.assert_allclose(expected.values.round()[rank:], 0.0, atol=bound)
    assert remainder < 1e-13
    np.testing.assert_allclose(vectors.T @ vectors, np.eye(rank), atol=1e-13)


def test_a_higher_rank_is_noticed():
    Z = np.random.default_rng(0).normal(size=(60, 150))
    assert leading(Z.T @ Z / 60, 20) is None
