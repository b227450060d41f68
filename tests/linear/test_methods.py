"""Which method is chosen for a shape, and that it gets there: the certificate holds."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import sparse

from suffice import GeneralizedLinearModel, LogisticRegression
from suffice.linear.solvers.choose import FEW_ROWS, MOST_HESSIAN, chosen


def rows(n: int, p: int, thin: bool, seed: int = 0) -> Any:
    rng = np.random.default_rng(seed)
    if not thin:
        return rng.standard_normal((n, p))
    per_row = 20
    columns = rng.integers(0, p, size=n * per_row)
    cells = rng.standard_normal(n * per_row)
    return sparse.csr_matrix((cells, columns, np.arange(n + 1) * per_row), shape=(n, p))


def predictors(X: Any, classes: int, seed: int = 1) -> Any:
    rng = np.random.default_rng(seed)
    eta = np.asarray(X @ rng.standard_normal((X.shape[1], classes)))
    return eta / eta.std()


@pytest.mark.parametrize(
    ("n", "p", "classes", "thin", "method"),
    [
        (300, 1500, 3, True, "newton-cg"),
        pytest.param(300, 1500, 3, False, "newton-cg", marks=pytest.mark.long),
        (150, 400, 8, False, "newton-cg"),
        (1000, 182, 10, False, "newton-cg"),
        pytest.param(3000, 1200, 2, False, "newton-cg", marks=pytest.mark.long),
        pytest.param(3000, 2000, 2, True, "newton-cg", marks=pytest.mark.long),
        (3000, 3000, 2, True, "newton-cg"),
        pytest.param(20_000, 6000, 2, True, "newton-cg", marks=pytest.mark.long),
        (10_000, 1500, 2, True, "quasi-newton"),
        pytest.param(20_000, 1000, 3, True, "quasi-newton", marks=pytest.mark.long),
        pytest.param(60_000, 100, 10, False, "quasi-newton", marks=pytest.mark.long),
        (2000, 30, 4, False, "newton"),
    ],
)
def test_logistic_regression_arrives(n: int, p: int, classes: int, thin: bool, method: str) -> None:
    X = rows(n, p, thin)
    eta = predictors(X, classes)
    y = np.argmax(eta + np.random.default_rng(2).gumbel(size=eta.shape), axis=1)
    model = LogisticRegression().fit(X, y)
    assert model.certificate_.path.startswith(method)
    assert model.certificate_.holds
    # The gradient, from the probabilities alone: Xᵀ(p − 1[y]) + θ/C, and no sum of residuals.
    residual = model.predict_proba(X) - np.eye(classes)[y]
    residual = residual[:, 1:] if classes == 2 else residual
    gradient = np.asarray(X.T @ residual).T + model.coef_
    assert np.abs(gradient).max() < 1e-6 * np.abs(X.T @ np.abs(residual)).max()
    assert np.abs(residual.sum(axis=0)).max() < 1e-6 * n


@pytest.mark.parametrize(
    ("n", "p"),
    [
        (2500, 2100),
        *(pytest.param(*shape, marks=pytest.mark.long) for shape in ((3000, 3000), (20_000, 6000))),
    ],
)
def test_poisson_regression_arrives(n: int, p: int) -> None:
    X = rows(n, p, True)
    y = np.random.default_rng(3).poisson(np.exp(0.5 * predictors(X, 1)[:, 0]))
    model = GeneralizedLinearModel("poisson", alpha=1e-3).fit(X, y)
    assert model.certificate_.path.startswith("newton-cg")
    assert model.certificate_.holds
    gradient = np.asarray(X.T @ (model.predict(X) - y)) / n + 1e-3 * model.coef_
    assert np.abs(gradient).max() < 1e-9


def test_what_is_chosen() -> None:
    limit = MOST_HESSIAN // 2
    assert chosen("auto", (1, limit), 10**6, False).method == "quasi-newton"
    assert chosen("auto", (1, limit + 1), 10**6, False).method == "newton-cg"
    enough = FEW_ROWS * 3 * 400
    assert chosen("auto", (3, 400), enough, False).method == "quasi-newton"
    assert chosen("auto", (3, 400), enough - 1, False).method == "newton-cg"
    # Few rows make a cheap Hessian, but not a cheap system.
    assert chosen("auto", (8, 401), 20, False).method == "newton-cg"
    assert chosen("auto", (1, 401), 20, False).method == "newton"
