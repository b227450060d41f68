"""Races of principal components and factor analysis on rows in memory."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from scipy.optimize import minimize

from benchmarks.harness import Answer, Bar, Fit, Options, Race, Row
from benchmarks.least_squares import Floats, estimator


def factors(options: Options, *, rows: int, columns: int, strong: int) -> tuple[Floats, None]:
    """A few strong factors in turned directions, and noise in all columns."""
    rows = rows // 10 if options.quick else rows
    rng = np.random.default_rng(8)
    turn = np.linalg.qr(rng.standard_normal((columns, columns)))[0]
    deviations = np.append(3 * 0.9 ** np.arange(strong), np.full(columns - strong, 0.4))
    return rng.standard_normal((rows, columns)) @ (deviations[:, None] * turn), None


def answer(variances: Floats, components: Floats) -> Answer:
    """Relative variances, and the directions up to their sign."""
    return np.append(variances / variances.max(), np.abs(components))


def described(X: Any, y: Any, *, fit: Fit, directions: int) -> Answer:
    model = fit(X, y)
    return answer(model.explained_variance_, model.components_[:directions])


def pca(address: str, directions: int = 10) -> Fit:
    return partial(described, fit=estimator(address, n_components=10), directions=directions)


def by_triangle(X: Floats, y: None, *, directions: int = 10) -> Answer:
    """From the singular values of R in X − m = Q R: nothing is squared."""
    R = np.linalg.qr(X - X.mean(axis=0), mode="r")
    _, values, turned = np.linalg.svd(R)
    return answer(np.square(values[:10]), turned[:directions])


# --- factor analysis -----------------------------------------------------------------------


def hidden(options: Options, *, rows: int, columns: int, k: int) -> tuple[Floats, None]:
    """Columns that share k factors, each with noise of its own size."""
    rows = rows // 10 if options.quick else rows
    rng = np.random.default_rng(9)
    loadings = rng.standard_normal((k, columns))
    X = rng.standard_normal((rows, k)) @ loadings
    X += rng.standard_normal((rows, columns)) * rng.uniform(0.5, 3, size=columns)
    return X, None


def likelihood_reached(X: Any, y: Any, *, fit: Fit) -> Answer:
    """Log-likelihood of a row, on average, as the fit itself reports it."""
    return np.array([fit(X, y).loglike_[-1] / len(X)])


def factor_analysis(address: str) -> Fit:
    return partial(likelihood_reached, fit=estimator(address, n_components=10))


def largest_likelihood(X: Floats, y: None, *, k: int = 10) -> Answer:
    """By SciPy's L-BFGS on loadings and log noise together, from the covariance."""
    d = X.shape[1]
    deviation = X.std(axis=0)
    R = np.corrcoef(X.T)

    def objective(parameters: Floats) -> tuple[float, Floats]:
        loadings, noise = parameters[: k * d].reshape(k, d), np.exp(parameters[k * d :])
        sigma = loadings.T @ loadings + np.diag(noise)
        inverse = np.linalg.inv(sigma)
        slope = inverse @ (sigma - R) @ inverse
        value = np.linalg.slogdet(sigma)[1] + np.sum(inverse * R)
        return value, np.append((2 * loadings @ slope).ravel(), np.diagonal(slope) * noise)

    values, vectors = np.linalg.eigh(R)
    start = np.append((np.sqrt(values[-k:]) * vectors[:, -k:]).T.ravel(), np.full(d, -1.0))
    options = {"maxiter": 20_000, "maxfun": 20_000, "ftol": 1e-15, "gtol": 1e-9}
    best = minimize(objective, start, jac=True, method="L-BFGS-B", options=options).fun
    return np.array([-(best + d * np.log(2 * np.pi)) / 2 - np.log(deviation).sum()])


ROWS: tuple[Row, ...] = (
    Race(
        "PCA, 10 components",
        partial(factors, rows=1_000_000, columns=50, strong=12),
        pca("suffice.PCA"),
        {
            "intelex": pca("sklearnex.decomposition.PCA"),
            "scikit-learn": pca("sklearn.decomposition.PCA"),
        },
        Bar(1.0, aim=0.7),
        reference=by_triangle,
        truth="singular values",
    ),
    Race(
        "factor analysis, 10 factors",
        partial(hidden, rows=1_000_000, columns=50, k=10),
        factor_analysis("suffice.FactorAnalysis"),
        {"scikit-learn": factor_analysis("sklearn.decomposition.FactorAnalysis")},
        Bar(0.02, strict=False),
        reference=largest_likelihood,
        truth="the likelihood by L-BFGS",
        tolerance=1e-6,  # where scikit-learn stops by itself, it is still 5e-7 away
        once=frozenset({"scikit-learn"}),
    ),
)
