"""Discriminants of correlated columns: six digits from one pass, against singular values."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from suffice import LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis

MODELS = [LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis]
each = pytest.mark.parametrize("cls", MODELS, ids=lambda cls: cls.__name__)


def correlated(kappa, n=3000, d=40):
    """Three classes with six common factors and noise, in columns of many units."""
    rng = np.random.default_rng(0)
    loadings = rng.normal(size=(d, 6))
    loadings /= np.linalg.norm(loadings, axis=1, keepdims=True)
    share = (most := np.linalg.norm(loadings, 2) ** 2) / (kappa**2 - 1 + most)
    X = rng.normal(size=(n, 6)) @ loadings.T * np.sqrt(1 - share)
    X += np.sqrt(share) * rng.normal(size=(n, d))
    y = np.arange(n) % 3
    X += 0.5 * rng.normal(size=(3, d))[y] + rng.uniform(-10, 10, d)
    return X * np.logspace(-3, 3, d), y


def centred(rows):
    away = rows - rows.mean(axis=0)
    return away - away.mean(axis=0)


def of_rows(away):
    """Deviations of columns, and of columns divided by these the singular values and axes."""
    deviations = np.sqrt(np.square(away).mean(axis=0))
    values, axes = np.linalg.svd(away / deviations, full_matrices=False)[1:]
    return deviations, values / np.sqrt(len(away)), axes


@pytest.mark.parametrize("kappa", [1, 30, 1e3])
def test_linear_in_one_pass(kappa):
    """Scaled coefficients of each class err by no more than promised of their length."""
    X, y = correlated(kappa)
    model = LinearDiscriminantAnalysis().fit(X, y)
    assert model.statistics_.precision == "float64"
    assert len(model.trace_) == 1
    assert model.certificate_.holds
    assert model.certificate_.digits >= 6
    means = np.array([X[y == k].mean(axis=0) for k in range(3)])
    deviations, values, axes = of_rows(np.vstack([centred(X[y == k]) for k in range(3)]))
    scaled = ((means - means.mean(axis=0)) / deviations) @ axes.T / values**2 @ axes
    error = np.linalg.norm(model.coef_ * deviations - scaled, axis=1)
    assert (error <= 10.0**-model.certificate_.digits * np.linalg.norm(scaled, axis=1)).all()


@pytest.mark.parametrize("kappa", [1, 30, 1e3])
def test_quadratic_in_one_pass(kappa):
    """So do the squared distances of rows from each class."""
    X, y = correlated(kappa)
    model = QuadraticDiscriminantAnalysis().fit(X, y)
    assert model.statistics_.precision == "float64"
    assert len(model.trace_) == 1
    assert model.certificate_.digits >= 6
    promised = 10.0**-model.certificate_.digits
    found = model.decision_function(X[:90])
    for k in range(3):
        deviations, values, axes = of_rows(centred(X[y == k]))
        away = (X[:90] - X[y == k].mean(axis=0)) / deviations
        squares = np.square(away @ axes.T / values).sum(axis=1)
        logs = 2 * np.log(values).sum() + 2 * np.log(deviations).sum()
        expected = np.log(1 / 3) - (squares + logs) / 2
        # Each value of the determinant errs by as much as the inverse.
        assert (np.abs(found[:, k] - expected) <= promised * (squares + 40)).all()


@pytest.mark.parametrize("parameters", [{"shrinkage": 0.1}, {"shrinkage": "auto"}], ids=str)
@pytest.mark.parametrize("kappa", [1, 1e3, 1e5])
@each
def test_shrunk_in_one_pass(cls, parameters, kappa):
    X, y = correlated(kappa, d=20)
    X /= np.logspace(-3, 3, 20)
    model = cls(**parameters).fit(X, y)
    assert len(model.trace_) == 1
    assert model.certificate_.holds
    exact = cls(**parameters, exact=True).fit(X, y)
    assert exact.certificate_.digits > model.certificate_.digits
    expected = exact.decision_function(X)
    error = np.abs(model.decision_function(X) - expected).max()
    assert error <= 10.0**-model.certificate_.digits * np.abs(expected).max()


@each
@pytest.mark.parametrize("weighted", [False, True])
def test_dependent_and_constant_columns_in_one_pass(cls, weighted):
    """A full set of indicators is one without the last, and constant columns say nothing."""
    X, y = correlated(30, d=20)
    rng = np.random.default_rng(1)
    weight = rng.uniform(0.5, 2, size=len(X)) if weighted else None
    indicators = np.eye(4)[rng.integers(0, 4, size=len(X))]
    constants = np.full((len(X), 3), [0.1, 1e8 / 3, 0.0])
    rows = np.hstack([X, indicators, constants])
    model = cls().fit(rows, y, weight)
    assert len(model.trace_) == 1
    assert model.certificate_.holds
    assert "rank 23 of 27" in model.certificate_.notes[0]
    fewer = cls(exact=True).fit(rows[:, :23], y, weight)
    promised = 10.0**-model.certificate_.digits
    np.testing.assert_allclose(
        model.predict_proba(rows), fewer.predict_proba(rows[:, :23]), atol=100 * promised
    )


def nearly_equal_pairs(order, repeated):
    """Two classes and two pairs of columns that nearly agree, a and b, and their means.

    With columns h of ±1 that are orthogonal, h and h + a h' have the correlation ρ = 1/√(1 + a²),
    hence variances 1 ± ρ along their sum and difference.  Those of a and b are 1e-10 apart.
    """
    H = np.ones((1, 1))
    while len(H) < order:
        H = np.kron(H, [[1.0, 1.0], [1.0, -1.0]])
    a, b = (np.rint(np.sqrt(2 * v) * 2**30) / 2**30 for v in (1.01e-8, 1e-8))  # sums are exact
    rows = np.column_stack([H[:, 1], H[:, 1] + a * H[:, 2], H[:, 3], H[:, 3] + b * H[:, 4]])
    rows = np.hstack([rows, H[:, 16:]])
    apart = np.array([0.5, 0.25, 1.0, -0.5] + [0.0] * (rows.shape[1] - 4))
    X = np.tile(np.vstack([rows, rows + apart]), (repeated, 1))
    return X, np.tile(np.repeat([0, 1], order), repeated), a, b, apart


TOLERANCE = np.sqrt(1.005e-8)


@pytest.mark.parametrize("repeated", [1, 300])
def test_a_tolerance_between_two_small_variances(repeated):
    """One pair is told apart and the other is not."""
    X, y, a, b, apart = nearly_equal_pairs(16, repeated)
    model = LinearDiscriminantAnalysis(tol=TOLERANCE).fit(X, y)
    assert "rank 3 of 4" in model.certificate_.notes[0]
    assert model.certificate_.holds
    assert model.statistics_.precision == "double-double"
    first = np.array([[1 + a**2, -1], [-1, 1]]) @ apart[:2] / a**2
    scale = np.array([1, np.sqrt(1 + b**2)])
    common = (apart[2:] / scale).mean() / (1 + 1 / scale[1])
    expected = np.append(first, common / scale)
    error = np.abs(model.coef_[0] - expected)
    assert error.max() <= 10.0**-model.certificate_.digits * np.abs(expected).max()


@each
def test_no_pass_that_leads_to_no_certificate(cls):
    """Of more columns, roundings of the axes alone are too many next to the smallest variance."""
    X, y, _, _, _ = nearly_equal_pairs(64, 1)
    with pytest.warns(ConvergenceWarning, match="nearly dependent"):
        model = cls(tol=TOLERANCE).fit(X, y)
    assert len(model.trace_) == 1
    with pytest.warns(ConvergenceWarning, match="nearly dependent"):
        exact = cls(tol=TOLERANCE, exact=True).fit(X, y)
    assert exact.certificate_.digits < 6
    assert cls(tol=1e-3).fit(X, y).certificate_.holds  # both pairs count as equal


@each
def test_variance_that_is_added_keeps_its_digits_in_double_double(cls):
    """Equal columns, beside whose variances what is added would be lost in float64."""
    rng = np.random.default_rng(2)
    y = np.arange(4000) % 2
    z = rng.normal(size=4000) + y
    X = np.column_stack([z, z, rng.normal(size=4000)])
    amount = 1e-12
    model = cls(shrinkage=amount).fit(X, y)
    assert model.certificate_.holds
    # Along the difference of the two there is only s μ, and no row is away from any mean.
    parts = [X[y == k] for k in (0, 1)]
    covariances = [np.cov(part.T, bias=True) for part in parts]
    if cls is LinearDiscriminantAnalysis:
        covariances = [(covariances[0] + covariances[1]) / 2] * 2
    turn = np.array([[1, 1, 0], [0, 0, np.sqrt(2)]]).T / np.sqrt(2)
    logs = []
    for part, C in zip(parts, covariances, strict=True):
        added = amount * np.trace(C) / 3
        inner = turn.T @ ((1 - amount) * C) @ turn + added * np.eye(2)
        away = (X - part.mean(axis=0)) @ turn
        squares = np.einsum("ij,jk,ik->i", away, np.linalg.inv(inner), away)
        logs.append(-(squares + np.linalg.slogdet(inner)[1] + np.log(added)) / 2)
    np.testing.assert_allclose(model.decision_function(X), logs[1] - logs[0], rtol=0, atol=1e-6)
