"""Models that see their rows through a kernel alone."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_factor, cho_solve
from sklearn.metrics.pairwise import rbf_kernel

from benchmarks.harness import Answer, Bar, Fit, Options, Race, Row
from benchmarks.least_squares import estimator

Floats = NDArray[np.float64]


def bent(options: Options, *, rows: int, columns: int) -> tuple[Floats, Floats]:
    """A target that is no plane."""
    rows = rows // 10 if options.quick else rows
    rng = np.random.default_rng(21)
    X = rng.standard_normal((rows, columns))
    y = np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2] + 0.1 * rng.standard_normal(rows)
    return X, y


def coefficients(X: Floats, y: Floats, *, fit: Fit) -> Answer:
    return np.asarray(fit(X, y).dual_coef_)


def ridge(address: str) -> Fit:
    return partial(coefficients, fit=estimator(address, kernel="rbf", alpha=1.0))


def by_cholesky(X: Floats, y: Floats) -> Answer:
    K = rbf_kernel(X)
    K.flat[:: len(K) + 1] += 1.0
    return np.asarray(cho_solve(cho_factor(K), y))


def eigenpairs(X: Floats, y: Any, *, fit: Fit) -> Answer:
    """Relative eigenvalues, and the coordinates of the rows up to their sign."""
    model = fit(X, y)
    return described(model.eigenvalues_, model.eigenvectors_)


def described(values: Floats, vectors: Floats) -> Answer:
    return np.append(values / values.max(), np.abs(vectors[:, :3]))


def components(address: str) -> Fit:
    return partial(eigenpairs, fit=estimator(address, n_components=10, kernel="rbf"))


def by_power(X: Floats, y: Any) -> Answer:
    """By subspace iteration on the centred matrix."""
    K = rbf_kernel(X)
    K -= K.mean(axis=0) + K.mean(axis=1)[:, None] - K.mean()
    basis = np.linalg.qr(np.random.default_rng(0).standard_normal((len(K), 60)))[0]
    for _ in range(60):
        basis = np.linalg.qr(K @ basis)[0]
    values, turn = np.linalg.eigh(basis.T @ K @ basis)
    return described(values[:-11:-1], (basis @ turn)[:, :-11:-1])


ROWS: tuple[Row, ...] = (
    Race(
        "kernel ridge, Gaussian kernel",
        partial(bent, rows=5_000, columns=20),
        ridge("suffice.KernelRidge"),
        {"scikit-learn": ridge("sklearn.kernel_ridge.KernelRidge")},
        Bar(1.0, aim=0.5),
        reference=by_cholesky,
        truth="SciPy's Cholesky",
        rounds=3,
    ),
    Race(
        "kernel PCA, Gaussian kernel, 10 components",
        partial(bent, rows=5_000, columns=20),
        components("suffice.KernelPCA"),
        {"scikit-learn": components("sklearn.decomposition.KernelPCA")},
        Bar(1.0, aim=0.2),
        reference=by_power,
        truth="subspace iteration",
        tolerance=1e-6,
        rounds=3,
        once=frozenset({"scikit-learn"}),
    ),
)
