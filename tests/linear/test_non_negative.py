"""Least squares without negative coefficients: SciPy's and scikit-learn's, from one pass."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from scipy.optimize import nnls
from sklearn import linear_model, model_selection
from sklearn.pipeline import make_pipeline

import suffice
from suffice import GridSearchCV, LinearRegression, Ridge, cross_validate
from suffice.linear.least_squares.active_set import active_set
from suffice.preprocessing import StandardScaler
from tests.contract import contract


def problem(n=300, d=12, n_targets=None):
    rng = np.random.default_rng([n, d, n_targets or 0])
    X = rng.normal(size=(n, d)) * rng.uniform(0.1, 10, size=d) + rng.normal(size=d)
    Y = X @ rng.normal(size=(d, n_targets or 1)) + rng.normal(size=(n, n_targets or 1))
    return X, Y if n_targets else Y[:, 0]


def reference(X, y, alpha=0.0, fit_intercept=True, weight=None, scale=1.0):
    """SciPy's, on centred rows of root weight, with rows for the penalty."""
    weight = np.ones(len(X)) if weight is None else weight
    x_mean = fit_intercept * np.average(X, axis=0, weights=weight)
    y_mean = fit_intercept * np.average(y, weights=weight)
    root = np.sqrt(weight)
    rows = np.vstack([(X - x_mean) * root[:, None], np.sqrt(alpha) * np.diag(scale + 0 * X[0])])
    coef = nnls(rows, np.r_[(y - y_mean) * root, np.zeros(X.shape[1])])[0]
    return coef, y_mean - x_mean @ coef


def close(model, expected, rtol=1e-8):
    coef, intercept = expected
    assert (model.coef_ >= 0).all()
    np.testing.assert_allclose(model.coef_, coef, rtol=rtol, atol=rtol * np.abs(coef).max())
    np.testing.assert_allclose(model.intercept_, intercept, rtol=rtol, atol=rtol)
    assert model.certificate_.holds
    assert model.certificate_.measures["kkt"] <= 1e-9


def exact(X, y):
    """By all supports, in fractions: the squared error has its minimum in one of them."""
    X = [[Fraction(cell) for cell in row] for row in X.tolist()]
    y = [Fraction(cell) for cell in y.tolist()]

    def dot(a, b):
        return sum(p * q for p, q in zip(a, b, strict=True))

    columns = list(zip(*X, strict=True))
    best = dot(y, y), [Fraction(0)] * len(columns)
    for size in range(1, len(columns) + 1):
        for support in combinations(range(len(columns)), size):
            rows = [[dot(columns[i], columns[j]) for j in support] for i in support]
            solved = eliminated(rows, [dot(columns[i], y) for i in support])
            if min(solved) < 0:
                continue
            theta = [Fraction(0)] * len(columns)
            for j, value in zip(support, solved, strict=True):
                theta[j] = value
            left = [target - dot(row, theta) for row, target in zip(X, y, strict=True)]
            best = min(best, (dot(left, left), theta))
    return np.array([float(value) for value in best[1]])


def eliminated(A, b):
    A = [[*row, side] for row, side in zip(A, b, strict=True)]
    for j in range(len(A)):
        A[j] = [cell / A[j][j] for cell in A[j]]
        for i in range(len(A)):
            if i != j:
                A[i] = [p - A[i][j] * q for p, q in zip(A[i], A[j], strict=True)]
    return [row[-1] for row in A]


def test_exact():
    for seed in range(5):
        rng = np.random.default_rng(seed)
        X, y = rng.integers(-9, 9, size=(8, 5)).astype(float), rng.integers(-9, 9, size=8) + 0.0
        model = LinearRegression(positive=True, fit_intercept=False).fit(X, y)
        np.testing.assert_allclose(model.coef_, exact(X, y), rtol=1e-14)


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("shape", [(60, 5), (2000, 30), (200, 140)], ids=str)
def test_as_other_libraries(shape, fit_intercept):
    X, y = problem(*shape)
    weight = np.random.default_rng(0).integers(0, 4, size=len(X)) / 2
    for w in (None, weight):
        model = LinearRegression(positive=True, fit_intercept=fit_intercept).fit(X, y, w)
        close(model, reference(X, y, 0.0, fit_intercept, w))
        theirs = linear_model.LinearRegression(positive=True, fit_intercept=fit_intercept)
        close(model, (theirs.fit(X, y, w).coef_, theirs.intercept_), 1e-7)
        assert not hasattr(model, "rank_")
        ridge = Ridge(3.0, positive=True, fit_intercept=fit_intercept).fit(X, y, w)
        close(ridge, reference(X, y, 3.0, fit_intercept, w))


def test_scikit_learns_ridge():
    X, y = problem()
    theirs = linear_model.Ridge(3.0, positive=True, tol=1e-12).fit(X, y)
    close(Ridge(3.0, positive=True).fit(X, y), (theirs.coef_, theirs.intercept_), 1e-4)


def test_several_targets_and_penalties():
    X, Y = problem(n_targets=3)
    model = LinearRegression(positive=True).fit(X, Y)
    ridge = Ridge([0.0, 10.0, 1e3], positive=True).fit(X, Y)
    standardised = Ridge([0.0, 10.0, 1e3], positive=True, standardize=True).fit(X, Y)
    for t, alpha in enumerate([0.0, 10.0, 1e3]):
        coef, intercept = reference(X, Y[:, t])
        np.testing.assert_allclose(model.coef_[t], coef, rtol=1e-10)
        np.testing.assert_allclose(model.intercept_[t], intercept, rtol=1e-10)
        coef, _ = reference(X, Y[:, t], alpha)
        np.testing.assert_allclose(ridge.coef_[t], coef, rtol=1e-10)
        coef, _ = reference(X, Y[:, t], alpha, scale=X.std(axis=0))
        np.testing.assert_allclose(standardised.coef_[t], coef, rtol=1e-10)
    assert model.certificate_.measures["support"] == np.count_nonzero(model.coef_)


def test_every_form_of_rows(tmp_path):
    X, y = problem(60, 3)
    expected = reference(X, y)
    frame = pd.DataFrame(X, columns=list("abc")).assign(y=y)
    frame.to_csv(tmp_path / "rows.csv", index=False)
    close(LinearRegression(positive=True).fit(sparse.csr_array(X), y), expected)
    close(LinearRegression(positive=True).fit(frame[list("abc")], frame.y), expected)
    source = suffice.scan(tmp_path / "rows.csv", target="y")
    close(LinearRegression(positive=True).fit(source), expected)


def test_without_the_rows(tmp_path):
    X, y = problem()
    model = LinearRegression(positive=True).fit(X[:200], y[:200])
    close(model.update(X[200:], y[200:]), reference(X, y))
    close(model.forget(X[:100], y[:100]), reference(X[100:], y[100:]))
    parts = [Ridge(2.0, positive=True).fit(X[i::3], y[i::3]) for i in range(3)]
    merged = suffice.merge(*parts)
    close(merged, reference(X, y, 2.0))
    free = Ridge(2.0).fit(X, y).coef_
    np.testing.assert_allclose(merged.refit(positive=False).coef_, free, rtol=1e-10)
    assert hasattr(merged, "rank_")
    close(merged.refit(positive=True, alpha=7.0), reference(X, y, 7.0))
    merged.save(tmp_path / "model")
    np.testing.assert_array_equal(suffice.load(tmp_path / "model").coef_, merged.coef_)


def test_grids_paths_and_folds():
    X, y = problem()
    alphas = [0.1, 10.0, 1000.0]
    path = Ridge(positive=True).fit(X, y).path(alphas)
    for alpha, coef in zip(alphas, path.coefs, strict=True):
        np.testing.assert_allclose(coef, reference(X, y, alpha)[0], rtol=1e-8, atol=1e-12)
    grid = {"alpha": alphas, "positive": [True, False], "fit_intercept": [True, False]}
    ours = GridSearchCV(Ridge(), grid, cv=4).fit(X, y)
    theirs = model_selection.GridSearchCV(Ridge(), grid, cv=4).fit(X, y)
    assert ours.passes_ == 1
    scores = [search.cv_results_["mean_test_score"] for search in (ours, theirs)]
    np.testing.assert_allclose(*scores, rtol=1e-8)


def test_leave_one_out_and_scalers():
    X, y = problem(40, 4)
    model = Ridge(2.0, positive=True)
    left_out = model_selection.LeaveOneOut()
    scoring = "neg_mean_squared_error"
    ours = cross_validate(model, X, y, cv=left_out, scoring=scoring)["test_score"]
    theirs = []
    for train, test in left_out.split(X):
        coef, intercept = reference(X[train], y[train], 2.0)
        theirs.append(-((y[test] - X[test] @ coef - intercept)[0] ** 2))
    np.testing.assert_allclose(ours, theirs, rtol=1e-8)
    behind = make_pipeline(StandardScaler(), Ridge(positive=True))
    search = GridSearchCV(behind, {"ridge__alpha": [1.0, 100.0]}, cv=3).fit(X, y)
    scaled = (X - X.mean(axis=0)) / X.std(axis=0)
    close(search.best_estimator_[-1], reference(scaled, y, search.best_params_["ridge__alpha"]))


def test_columns_that_say_nothing_new():
    """Constant, doubled and dependent columns leave many minimisers: one of them is found."""
    X, y = problem(200, 4)
    wide = np.column_stack([X, X[:, :2], X @ [1.0, 2.0, 0.0, 1.0], np.full(200, 0.1)])
    model = LinearRegression(positive=True).fit(wide, y)
    assert model.certificate_.holds
    assert (model.coef_ >= 0).all()
    assert model.coef_[-1] == 0
    coef, intercept = reference(wide, y)
    best = np.sum((y - wide @ coef - intercept) ** 2)
    np.testing.assert_allclose(np.sum((y - model.predict(wide)) ** 2), best, rtol=1e-10)


def test_more_columns_than_rows():
    X, y = problem(50, 200)
    model = Ridge(1.0, positive=True).fit(X, y)
    close(model, reference(X, y, 1.0), 1e-6)
    loose = LinearRegression(positive=True).fit(X, y)
    assert loose.certificate_.holds
    coef, intercept = reference(X, y)
    worst = np.abs(y - X @ coef - intercept).max()
    assert np.abs(y - loose.predict(X)).max() <= worst + 1e-6


@pytest.mark.parametrize("rows", [1, 2])
def test_few_rows_and_constant_targets(rows):
    X, y = problem(rows, 3)
    model = LinearRegression(positive=True).fit(X, y)
    coef, intercept = reference(X, y)  # not the only one of so few rows
    np.testing.assert_allclose(model.predict(X), X @ coef + intercept, atol=1e-9)
    assert (model.coef_ >= 0).all()
    flat = Ridge(positive=True).fit(X, np.full(rows, 7.0))
    assert (flat.coef_ == 0).all()
    assert flat.intercept_ == pytest.approx(7.0)
    assert model.certificate_.holds
    assert flat.certificate_.holds


def test_nothing_helps():
    X, _ = problem(100, 3)
    X = np.abs(X)
    model = LinearRegression(positive=True, fit_intercept=False).fit(X, -X.sum(axis=1))
    assert (model.coef_ == 0).all()
    assert model.certificate_.holds
    assert model.certificate_.measures["support"] == 0


def test_far_from_zero_and_nearly_dependent():
    """Where float64 moments do not do: columns far from zero, polynomials."""
    X, y = problem(30_000, 4)
    far = X + 1e7
    model = LinearRegression(positive=True).fit(far, y)
    assert "double-double" in model.trace_.step[-1]
    np.testing.assert_allclose(model.coef_, reference(far - 1e7, y)[0], rtol=1e-6)
    t = np.linspace(0, 1, 300)
    powers = t[:, None] ** np.arange(1, 9)
    curve = np.exp(t)  # whose series has positive terms alone
    model = LinearRegression(positive=True).fit(powers, curve)
    assert model.certificate_.holds
    assert np.abs(model.predict(powers) - curve).max() <= 1e-6


def test_the_certificate_is_of_the_result():
    """Its measure is that of the conditions, from the rows."""
    X, y = problem()
    model = LinearRegression(positive=True).fit(X, y)
    centred, residual = X - X.mean(axis=0), y - model.predict(X)
    slope = centred.T @ residual / np.linalg.norm(centred, axis=0) / np.linalg.norm(y - y.mean())
    assert np.abs(slope[model.coef_ > 0]).max() <= 1e-12
    assert slope[model.coef_ == 0].max() < 0
    assert "without negative coefficients" in str(model.certificate_)


def test_active_sets_of_singular_matrices():
    ones = np.ones((4, 4))
    assert active_set(ones, np.ones(4), np.ones(4, dtype=bool)).sum() == 1
    assert not active_set(ones, -np.ones(4), np.ones(4, dtype=bool)).any()
    assert not active_set(ones, np.ones(4), np.zeros(4, dtype=bool)).any()
    assert not len(active_set(np.zeros((0, 0)), np.zeros(0), np.zeros(0, dtype=bool)))


def test_what_there_is_not():
    X, y = problem(30, 2)
    model = LinearRegression(positive=True).fit(X, y)
    for method in (model.summary, lambda: model.predict_interval(X)):
        with pytest.raises(ValueError, match="positive=True coefficients end at zero"):
            method()
    with pytest.raises(ValueError, match="solver='sgd'"):
        Ridge(positive=True, solver="sgd").fit(X, y)
    with pytest.raises(ValueError, match="6000 by 6000 numbers: 5792 columns at most"):
        Ridge(positive=True).fit(np.ones((2, 6000)), [0.0, 1.0])


@contract([], switched=[LinearRegression(positive=True), Ridge(positive=True)])
def test_scikit_learn_contract(estimator, check):
    check(estimator)


def test_a_coefficient_that_may_not_be_zero_leaves_no_digits() -> None:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60_000, 6))
    X[:, 1] = X[:, 0] + 1e-5 * X[:, 1]
    y = X[:, 0] + 1e-6 * X[:, 1] + X[:, 2:].sum(axis=1) + 1e-12 * rng.standard_normal(60_000)
    truth = LinearRegression(exact=True).fit(X, y).coef_
    assert (truth > 0).all()
    for exact in (False, True):
        model = LinearRegression(positive=True, exact=exact).fit(X, y)
        proof = model.certificate_
        assert proof.holds
        assert np.abs(model.coef_ - truth).max() <= 10.0**-proof.digits
