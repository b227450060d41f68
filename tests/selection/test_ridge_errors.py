"""Leave-one-out errors of ridge against fits without each row, and against scikit-learn."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from scipy import linalg, sparse
from sklearn import linear_model

import suffice
from suffice import Ridge, RidgeCV
from suffice.engines.workers import one_blas_thread
from suffice.selection.cv_estimators import ridge_errors, ridge_rows

ALPHAS = np.array([1e-3, 0.1, 1.0, 30.0])
SHAPES = {"wide": (25, 160), "tall": (60, 5), "square": (36, 35), "two rows": (2, 140)}


def make(shape, targets=2, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=shape) * rng.uniform(0.3, 3, shape[1]) + rng.normal(size=shape[1])
    return X, X @ rng.normal(size=(shape[1], targets)) + rng.normal(size=(shape[0], targets))


def by_hand(X, Y, weight, alpha, fit_intercept):
    """Errors of each row under the augmented least-squares problem of all other rows."""
    errors = np.empty(Y.shape)
    for i in range(len(Y)):
        rest = (np.arange(len(Y)) != i) & (weight > 0)
        root = np.sqrt(weight[rest])[:, None]
        x_mean = y_mean = 0.0
        if fit_intercept:
            x_mean = np.average(X[rest], axis=0, weights=weight[rest])
            y_mean = np.average(Y[rest], axis=0, weights=weight[rest])
        # Columns without spread have no coefficient; the others are brought to one size.
        Z = root * (X[rest] - x_mean)
        some = np.ptp(X[rest], axis=0) > 0 if fit_intercept else X[rest].any(axis=0)
        size = np.sqrt(np.square(Z[:, some]).sum(axis=0) + alpha)
        rows = np.vstack([Z[:, some] / size, np.diag(np.sqrt(alpha) / size)])
        sides = np.vstack([root * (Y[rest] - y_mean), np.zeros((some.sum(), Y.shape[1]))])
        theta = np.zeros((X.shape[1], Y.shape[1]))
        Q, R = np.linalg.qr(rows)
        theta[some] = linalg.solve_triangular(R, Q.T @ sides) / size[:, None]
        errors[i] = Y[i] - y_mean - (X[i] - x_mean) @ theta
    return errors


def errors_of(X, Y, weight=None, alphas=ALPHAS, **options):
    """What `scoring` would be told, of shape (rows, targets, alphas)."""
    model = RidgeCV(alphas, scoring="r2", store_cv_results=True, **options).fit(X, Y, weight)
    return Y[:, :, None] - model.cv_results_


def check(X, Y, weight=None, alphas=ALPHAS, tolerance=1e-9, fit_intercept=True):
    found = errors_of(X, Y, weight, alphas, fit_intercept=fit_intercept)
    dense = X.toarray() if sparse.issparse(X) else X
    w = np.ones(len(Y)) if weight is None else weight
    for a, alpha in enumerate(alphas):
        with one_blas_thread():
            expected = by_hand(dense, Y, w, alpha, fit_intercept)
        scale = np.abs(expected).max()
        np.testing.assert_allclose(found[:, :, a], expected, rtol=0, atol=tolerance * scale)
    squares = RidgeCV(alphas, fit_intercept=fit_intercept, store_cv_results=True)
    squares.fit(X, Y, weight)
    np.testing.assert_allclose(
        squares.cv_results_, w[:, None, None] * np.square(found), rtol=1e-9, atol=1e-300
    )
    plain = RidgeCV(alphas, fit_intercept=fit_intercept).fit(X, Y, weight)
    assert plain.alpha_ == squares.alpha_
    assert plain.best_score_ == pytest.approx(squares.best_score_, rel=1e-12)
    return found


# --- every row left out by hand ------------------------------------------------------------------


@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES)
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("fit_intercept", [False, True])
@pytest.mark.parametrize("as_sparse", [False, True])
def test_each_row_left_out(shape, weighted, fit_intercept, as_sparse):
    X, Y = make(shape)
    weight = np.random.default_rng(1).uniform(0.2, 5, len(Y)) if weighted else None
    if as_sparse:
        X = sparse.csr_array(np.where(np.random.default_rng(2).random(shape) < 0.4, X, 0.0))
    check(X, Y, weight, fit_intercept=fit_intercept)


@pytest.mark.parametrize("shape", [(25, 160), (60, 5)])
def test_rows_of_weight_zero_are_predicted_but_not_fitted(shape):
    X, Y = make(shape)
    weight = np.random.default_rng(1).integers(0, 3, len(Y)).astype(float)
    found = check(X, Y, weight)
    out = weight == 0
    model = Ridge(ALPHAS[2]).fit(X[~out], Y[~out])
    model.fit(X, Y, weight)
    np.testing.assert_allclose(found[out, :, 2], (Y - model.predict(X))[out], atol=1e-9)


@pytest.mark.parametrize("shape", [(20, 150), (40, 4)])
def test_a_row_goes_with_all_of_its_repetitions(shape):
    X, Y = make(shape)
    weight = np.random.default_rng(3).integers(1, 4, len(Y))
    owner = np.repeat(np.arange(len(Y)), weight)
    found = errors_of(X, Y, weight.astype(float))
    for i in range(len(Y)):
        rest = owner[owner != i]
        for a, alpha in enumerate(ALPHAS):
            one = Ridge(alpha).fit(X[rest], Y[rest])
            np.testing.assert_allclose(found[i, :, a], Y[i] - one.predict(X[[i]])[0], atol=1e-9)


# --- scikit-learn --------------------------------------------------------------------------------


@pytest.mark.parametrize("as_sparse", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(
    "options",
    [{}, {"store_cv_results": True}, {"alpha_per_target": True}, {"fit_intercept": False},
     {"scoring": "neg_mean_absolute_error", "alpha_per_target": True, "store_cv_results": True}],
    ids=str,
)  # fmt: skip
def test_wide_rows_agree_with_scikit_learn(as_sparse, weighted, options):
    X, Y = make((30, 200), targets=3)
    if as_sparse:
        X = sparse.csr_array(np.where(np.random.default_rng(2).random(X.shape) < 0.3, X, 0.0))
    weight = np.random.default_rng(1).uniform(0.5, 2, len(Y)) if weighted else None
    alphas = ALPHAS[1:]  # with 1e-3, scikit-learn's errors are 1e-8 from those by hand, ours 1e-12
    ours = RidgeCV(alphas, **options).fit(X, Y, weight)
    theirs = linear_model.RidgeCV(alphas, **options).fit(X, Y, weight)
    np.testing.assert_array_equal(ours.alpha_, theirs.alpha_)
    np.testing.assert_allclose(ours.best_score_, theirs.best_score_, rtol=1e-9)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=1e-9)
    np.testing.assert_allclose(ours.intercept_, theirs.intercept_, atol=1e-9)
    if "store_cv_results" in options:
        np.testing.assert_allclose(ours.cv_results_, theirs.cv_results_, rtol=1e-8, atol=1e-9)


# --- rows that decide a direction alone ----------------------------------------------------------


def lonely(rows=80, columns=4, alone=(7,), size=5.0):
    """Columns that are zero but for one row each."""
    X, Y = make((rows, columns + len(alone)))
    X[:, columns:] = 0.0
    X[list(alone), np.arange(columns, columns + len(alone))] = size
    return X, Y


@pytest.mark.parametrize("alone", [(7,), (0, 3, 79), (11, 12, 13, 14, 15, 16, 17, 18)], ids=len)
@pytest.mark.parametrize("size", [5.0, 1e6])
@pytest.mark.parametrize("weighted", [False, True])
def test_a_row_that_alone_decides_a_coefficient(alone, size, weighted):
    X, Y = lonely(alone=alone, size=size)
    weight = np.random.default_rng(1).uniform(0.5, 2, len(Y)) if weighted else None
    alphas = np.array([1e-12, 1e-6, 1e-2, 1.0])
    found = check(X, Y, weight, alphas)
    np.testing.assert_allclose(errors_of(sparse.csr_array(X), Y, weight, alphas), found, atol=1e-8)


def test_the_few_are_refitted_from_moments_or_on_the_rows(monkeypatch):
    X, Y = lonely(rows=60, alone=(1, 5, 9))
    alphas = np.array([1e-9, 1e-3])
    calls = []
    on_rows = ridge_errors.errors_on_rows
    monkeypatch.setattr(
        ridge_errors, "errors_on_rows", lambda *args: calls.append(1) or on_rows(*args)
    )
    from_moments = errors_of(X, Y, alphas=alphas)
    assert not calls
    crowded, Z = lonely(rows=40, columns=1, alone=tuple(range(28)))
    check(crowded, Z, alphas=alphas)
    assert calls
    monkeypatch.setattr(ridge_errors, "MOST_ROWS", 0)
    check(crowded, Z, alphas=alphas)
    np.testing.assert_allclose(from_moments[1], errors_of(X, Y, alphas=alphas)[1], rtol=1e-12)


# The coefficients of the model of all rows may be beyond proof; the errors are compared here.
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("shape", [(30, 160), (60, 6)])
def test_a_row_far_from_all_others(shape):
    X, Y = make(shape)
    X[4] *= 1e7
    check(X, Y)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_repeated_rows_and_a_small_penalty():
    X, Y = make((20, 150))
    X, Y = np.repeat(X, 2, axis=0), np.repeat(Y, 2, axis=0) + 0.1 * make((40, 150))[1]
    check(X, Y, alphas=np.array([1e-4, 1e-2, 1.0]))


def test_columns_of_any_size_and_far_from_zero():
    X, Y = make((80, 5))
    check(X * [1e-6, 1.0, 1e3, 1e6, 1e8], Y)
    check(X + 1e6, Y, tolerance=1e-8)
    wide, Z = make((25, 160))
    check(wide + 1e5, Z, tolerance=1e-8)


# --- what it does not depend on, and what it refuses ----------------------------------------------


def test_files_and_layouts_give_the_bits_of_the_array(tmp_path):
    X, Y = make((30, 150), targets=1)
    columns = {f"x{j}": X[:, j] for j in range(150)}
    pq.write_table(pa.table({**columns, "y": Y[:, 0]}), tmp_path / "rows.parquet")
    source = suffice.scan(tmp_path / "rows.parquet", target="y")
    plain = RidgeCV(ALPHAS, store_cv_results=True).fit(X, Y[:, 0])
    streamed = RidgeCV(ALPHAS, store_cv_results=True).fit(source)
    np.testing.assert_array_equal(streamed.cv_results_, plain.cv_results_)
    np.testing.assert_array_equal(streamed.coef_, plain.coef_)
    with suffice.config(threads=1):
        alone = RidgeCV(ALPHAS, store_cv_results=True).fit(X, Y[:, 0])
    np.testing.assert_array_equal(alone.cv_results_, plain.cv_results_)


@pytest.mark.parametrize("columns", [3, 140])
def test_one_row(columns):
    X, y = np.ones((1, columns)), np.array([2.0])
    with pytest.raises(ValueError, match="needs 2 rows"):
        RidgeCV().fit(X, y)
    with pytest.raises(ValueError, match="needs 2 rows"):
        RidgeCV().fit(np.ones((3, columns)), np.arange(3.0), [0.0, 1.0, 0.0])
    model = RidgeCV([1e-9, 1.0], fit_intercept=False, store_cv_results=True).fit(X, y)
    np.testing.assert_allclose(model.cv_results_, 4.0)


def test_more_rows_than_their_products_fit(monkeypatch):
    from suffice.selection.cv_estimators import ridge_cv

    monkeypatch.setattr(ridge_cv, "MOST_ROWS", 10)
    X, Y = make((20, 150))
    with pytest.raises(ValueError, match="cv=5"):
        RidgeCV().fit(X, Y)


def test_the_reflection_is_orthogonal_and_takes_the_weights_away():
    X, Y = make((7, 140))
    weight = np.arange(1.0, 8.0)
    rows = ridge_rows.CentredRows(suffice.sources.ArraySource(X, Y, weight), True, 1)
    Q = ridge_rows._expanded(rows, np.eye(6))
    np.testing.assert_allclose(Q.T @ Q, np.eye(6), atol=1e-14)
    np.testing.assert_allclose(np.sqrt(weight) @ Q, 0, atol=1e-14)
