"""Kernel functions against their formulas, pair by pair, and scikit-learn's."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import sparse
from sklearn.metrics.pairwise import pairwise_kernels

from suffice.numerics.kernel_functions import NAMES, KernelFunction, check_lengths, gamma_of

RNG = np.random.default_rng(0)
X, Z = RNG.normal(size=(7, 3)) + 5, RNG.normal(size=(5, 3))


def by_formula(kernel, x, z):
    inner, distance = float(x @ z), float(np.sum((x - z) ** 2))
    bent = kernel.gamma * inner + kernel.coef0
    return {
        "linear": lambda: inner,
        "poly": lambda: bent**kernel.degree,
        "rbf": lambda: math.exp(-kernel.gamma * distance),
        "sigmoid": lambda: math.tanh(bent),
        "logistic": lambda: 1 / (1 + math.exp(-bent)),
    }[kernel.name]()


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
def test_values(name, container):
    kernel = KernelFunction(name, gamma=0.3, degree=2, coef0=0.5)
    expected = [[by_formula(kernel, x, z) for z in Z] for x in X]
    np.testing.assert_allclose(kernel(container(X), container(Z)), expected, rtol=1e-12)
    expected = [by_formula(kernel, x, x) for x in X]
    np.testing.assert_allclose(kernel.diagonal(container(X)), expected, rtol=1e-12)
    if name != "logistic":
        options = {"gamma": 0.3, "degree": 2, "coef0": 0.5}
        peer = pairwise_kernels(X, Z, metric=name, filter_params=True, **options)
        np.testing.assert_allclose(kernel(X, Z), peer, rtol=1e-10)


def test_columns_far_from_zero():
    kernel = KernelFunction("rbf", gamma=0.5)
    np.testing.assert_allclose(kernel(X + 1e6, Z + 1e6), kernel(X, Z), rtol=1e-7)


def test_width():
    assert gamma_of("auto", X) == 1 / 3
    assert gamma_of("scale", X) == pytest.approx(1 / (3 * X.var()))
    assert gamma_of("scale", sparse.csr_array(X)) == pytest.approx(1 / (3 * X.var()))
    assert gamma_of("scale", np.ones((2, 2))) == 1.0
    assert gamma_of(2, X) == 2.0


@pytest.mark.parametrize(
    ("kernel", "known"),
    [
        (KernelFunction("linear"), True),
        (KernelFunction("rbf"), True),
        (KernelFunction("poly", degree=2, coef0=1.0), True),
        (KernelFunction("poly", degree=2, coef0=-1.0), False),
        (KernelFunction("poly", degree=2.5), False),
        (KernelFunction("sigmoid"), False),
        (KernelFunction("logistic"), False),
        (KernelFunction("callable", function=np.matmul), False),
    ],
)
def test_what_is_known_of_definiteness(kernel, known):
    assert kernel.is_semi_definite == known


def test_functions_of_users():
    kernel = KernelFunction(
        "callable", function=lambda a, b, power: (a @ b.T) ** power, parameters={"power": 2}
    )
    np.testing.assert_allclose(kernel(X, Z), (X @ Z.T) ** 2)
    np.testing.assert_allclose(kernel.diagonal(X), np.square((X * X).sum(axis=1)))
    with pytest.raises(ValueError, match="shape"):
        KernelFunction("callable", function=lambda a, b: np.ones(3))(X, Z)
    with pytest.raises(ValueError, match="not finite"):
        KernelFunction("callable", function=lambda a, b: np.full((7, 5), np.nan))(X, Z)


def test_sparse_rows_far_from_zero_are_refused():
    check_lengths(sparse.csr_array(X), 0.5)
    check_lengths(X + 1e9, 0.5)
    with pytest.raises(ValueError, match="scale the columns"):
        check_lengths(sparse.csr_array(X + 1e6), 0.5)
