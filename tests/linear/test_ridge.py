"""Ridge regression: closed form in rational arithmetic, scikit-learn, paths, bad penalties."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from sklearn import linear_model
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from suffice import LinearRegression, Ridge
from tests.linear.exact import digits, least_squares


def parameters(model: Ridge) -> list[float]:
    first = [model.intercept_] if model.fit_intercept else []
    return [*first, *model.coef_]


# --- closed form ---------------------------------------------------------------------------


@given(
    st.integers(0, 10**6),
    st.integers(1, 4),
    st.integers(-12, 12),
    st.booleans(),
    st.booleans(),
    st.sampled_from([0.0, 1e-6, 1.0, 1e6]),
)
def test_closed_form(
    seed: int, d: int, exponent: int, intercept: bool, weighted: bool, distance: float
) -> None:
    noise = np.random.default_rng(seed)
    X = noise.standard_normal((noise.integers(2, 12), d)) * 10.0 ** noise.integers(-3, 4, d)
    X[:, -1] = X[:, 0] + distance * X[:, -1]
    y = noise.standard_normal(len(X))
    weight = noise.integers(1, 4, len(X)) if weighted else None
    alpha = 10.0**exponent
    model = Ridge(alpha, fit_intercept=intercept).fit(X, y, sample_weight=weight)
    exact = least_squares(X, y, weight, intercept=intercept, penalty=alpha)
    achieved = digits(parameters(model), exact.coef)
    assert model.certificate_.digits <= achieved
    assert achieved >= 10


def test_real_data_to_the_last_digit(diabetes: Any) -> None:
    X, y = diabetes
    model = Ridge(3.0).fit(X, y)
    exact = least_squares(X, y, penalty=3.0)
    assert digits(parameters(model), exact.coef) >= 15.5
    assert model.certificate_.digits >= 15
    assert float(model.trace_.to_frame()["objective"].iloc[-1]) == pytest.approx(
        float(exact.residual) / 2 + 1.5 * np.square(model.coef_).sum(), rel=1e-13
    )


# --- against a peer ------------------------------------------------------------------------


@pytest.mark.parametrize("alpha", [1e-3, 1.0, 100.0])
@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("shape", [(200, 6), (30, 100), (20_000, 10)])
def test_equals_scikit_learn(
    alpha: float, intercept: bool, weighted: bool, shape: tuple[int, int]
) -> None:
    noise = np.random.default_rng(0)
    X = noise.standard_normal(shape) + 1
    y = noise.standard_normal((shape[0], 2))
    weight = noise.uniform(0.1, 3, shape[0]) if weighted else None
    ours = Ridge(alpha, fit_intercept=intercept).fit(X, y, sample_weight=weight)
    theirs = linear_model.Ridge(alpha, fit_intercept=intercept, solver="svd").fit(X, y, weight)
    assert ours.coef_.shape == theirs.coef_.shape
    np.testing.assert_allclose(ours.coef_, theirs.coef_, rtol=1e-8, atol=1e-11)
    np.testing.assert_allclose(ours.intercept_, theirs.intercept_, rtol=1e-8, atol=1e-11)
    np.testing.assert_allclose(ours.predict(X), theirs.predict(X), rtol=1e-8, atol=1e-10)


def test_a_penalty_for_each_target() -> None:
    noise = np.random.default_rng(1)
    X, Y = noise.standard_normal((60, 5)), noise.standard_normal((60, 3))
    alphas = [0.0, 1.0, 1e4]
    model = Ridge(alphas).fit(X, Y)
    assert model.coef_.shape == (3, 5)
    assert model.intercept_.shape == (3,)
    for k, alpha in enumerate(alphas):
        alone = Ridge(alpha).fit(X, Y[:, k])
        np.testing.assert_allclose(model.coef_[k], alone.coef_, rtol=1e-13)
        np.testing.assert_allclose(model.intercept_[k], alone.intercept_, rtol=1e-12)
    theirs = linear_model.Ridge(alphas, solver="svd").fit(X, Y)
    np.testing.assert_allclose(model.coef_, theirs.coef_, rtol=1e-10)
    same = Ridge([2.0]).fit(X, Y)
    np.testing.assert_array_equal(same.coef_, Ridge(2.0).fit(X, Y).coef_)
    np.testing.assert_array_equal(same.coef_, Ridge(np.full(3, 2.0)).fit(X, Y).coef_)


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("weighted", [False, True])
def test_standardize_is_a_scaler_in_front(diabetes: Any, intercept: bool, weighted: bool) -> None:
    X, y = diabetes
    X = X * 10.0 ** np.arange(-5, 5)
    weight = np.random.default_rng(2).uniform(0.5, 2, len(y)) if weighted else None
    model = Ridge(5.0, fit_intercept=intercept, standardize=True).fit(X, y, weight)
    # Without an intercept, columns are penalised by their spread, but not centred.
    scaler = StandardScaler(with_mean=intercept).fit(X, sample_weight=weight)
    peer = linear_model.Ridge(5.0, fit_intercept=intercept, solver="svd")
    peer.fit(scaler.transform(X), y, weight)
    np.testing.assert_allclose(model.coef_, peer.coef_ / scaler.scale_, rtol=1e-9)
    np.testing.assert_allclose(model.predict(X), peer.predict(scaler.transform(X)), rtol=1e-9)


def test_standardize_in_a_pipeline_says_the_same(diabetes: Any) -> None:
    X, y = diabetes
    pipeline = make_pipeline(StandardScaler(), Ridge(5.0)).fit(X, y)
    model = Ridge(5.0, standardize=True).fit(X, y)
    np.testing.assert_allclose(model.predict(X), pipeline.predict(X), rtol=1e-12)


def test_standardize_leaves_constant_columns_out(diabetes: Any) -> None:
    X, y = diabetes
    wider = np.column_stack([np.full(len(y), 7.0), X])
    model = Ridge(5.0, standardize=True).fit(wider, y)
    assert model.coef_[0] == 0.0
    np.testing.assert_allclose(
        model.coef_[1:], Ridge(5.0, standardize=True).fit(X, y).coef_, rtol=1e-13
    )


@pytest.mark.parametrize("alpha", [0.0, 1.0])
@pytest.mark.parametrize("standardize", [False, True])
def test_sparse_rows_are_dense_rows(alpha: float, standardize: bool) -> None:
    noise = np.random.default_rng(3)
    X = sparse.random_array((300, 12), density=0.2, rng=noise, format="csr")
    y, weight = noise.standard_normal(300), noise.uniform(0, 2, 300)
    ours = Ridge(alpha, standardize=standardize).fit(X, y, sample_weight=weight)
    dense = Ridge(alpha, standardize=standardize).fit(X.toarray(), y, sample_weight=weight)
    np.testing.assert_allclose(ours.coef_, dense.coef_, rtol=1e-12)
    np.testing.assert_allclose(ours.intercept_, dense.intercept_, rtol=1e-12)


# --- laws ----------------------------------------------------------------------------------


def test_no_penalty_is_linear_regression(diabetes: Any) -> None:
    X, y = diabetes
    X = np.column_stack([X, X[:, 0] - X[:, 3]])
    ridge, line = Ridge(0.0).fit(X, y), LinearRegression().fit(X, y)
    assert ridge.coef_.tolist() == line.coef_.tolist()
    assert ridge.intercept_ == line.intercept_
    assert ridge.rank_ == line.rank_ == 10


def test_a_huge_penalty_leaves_the_mean(diabetes: Any) -> None:
    X, y = diabetes
    model = Ridge(1e200).fit(X, y)
    assert np.abs(model.coef_).max() < 1e-190
    assert model.intercept_ == pytest.approx(y.mean(), rel=1e-15)
    # Sxy / α to first order.
    np.testing.assert_allclose(
        model.coef_ * 1e200, (X - X.mean(axis=0)).T @ (y - y.mean()), rtol=1e-10
    )
    assert Ridge(1e-300).fit(X, y).coef_.tolist() == LinearRegression().fit(X, y).coef_.tolist()


def test_coefficients_shrink_as_the_penalty_grows(diabetes: Any) -> None:
    X, y = diabetes
    norms = [
        np.linalg.norm(Ridge(a, standardize=True).fit(X, y).coef_ * X.std(0))
        for a in (0.0, 1e-2, 1.0, 1e2, 1e4)
    ]
    assert norms == sorted(norms, reverse=True)


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("standardize", [False, True])
def test_the_gradient_of_the_log_posterior_vanishes(
    diabetes: Any, intercept: bool, standardize: bool
) -> None:
    X, y = diabetes
    alpha = 20.0
    model = Ridge(alpha, fit_intercept=intercept, standardize=standardize).fit(X, y)
    residual = y - model.predict(X)
    prior = alpha * model.coef_ * (X.var(axis=0) if standardize else 1)
    likelihood = X.T @ residual
    terms = np.abs(X).T @ np.abs(residual) + np.abs(prior)
    np.testing.assert_allclose((likelihood - prior) / terms, 0, atol=1e-12)
    if intercept:
        assert abs(residual.sum()) <= 1e-12 * np.abs(residual).sum()
    assert model.certificate_.stationarity <= 1e-14


def test_a_prior_is_pseudo_data(diabetes: Any) -> None:
    X, y = diabetes
    alpha = 4.0
    rows = np.vstack([X, np.sqrt(alpha) * np.eye(10)])
    pseudo = LinearRegression(fit_intercept=False).fit(rows, np.concatenate([y, np.zeros(10)]))
    ridge = Ridge(alpha, fit_intercept=False).fit(X, y)
    np.testing.assert_allclose(ridge.coef_, pseudo.coef_, rtol=1e-13)


def test_weight_k_is_k_rows(diabetes: Any) -> None:
    X, y = diabetes
    copies = np.random.default_rng(4).integers(0, 4, len(y))
    for standardize in (False, True):
        weighted = Ridge(2.0, standardize=standardize).fit(X, y, sample_weight=copies)
        repeated = Ridge(2.0, standardize=standardize).fit(
            np.repeat(X, copies, axis=0), np.repeat(y, copies)
        )
        np.testing.assert_allclose(weighted.coef_, repeated.coef_, rtol=1e-12)
        np.testing.assert_allclose(weighted.intercept_, repeated.intercept_, rtol=1e-12)


def test_solver_names_change_nothing(diabetes: Any) -> None:
    X, y = diabetes
    fits = [
        Ridge(1.0, solver=solver, random_state=0).fit(X, y).coef_.tolist()
        for solver in ("auto", "svd", "cholesky", "lsqr", "sparse_cg", "sag", "saga", "lbfgs")
    ]
    assert all(fit == fits[0] for fit in fits)


# --- the path ------------------------------------------------------------------------------


@pytest.mark.parametrize("rows", [150, 30_000])
@pytest.mark.parametrize("standardize", [False, True])
@pytest.mark.parametrize("targets", [None, 2])
def test_path_equals_separate_fits(rows: int, standardize: bool, targets: int | None) -> None:
    noise = np.random.default_rng(5)
    X = noise.standard_normal((rows, 6)) + 1
    y = noise.standard_normal(rows if targets is None else (rows, targets))
    alphas = [0.0, 1e-4, 1.0, 1e3, 1e9]
    model = Ridge(10.0, standardize=standardize).fit(X, y)
    statistic = model.statistics_
    path = model.path(alphas)
    assert model.statistics_ is statistic
    assert path.alphas.tolist() == alphas
    assert path.coefs.shape == (5, *model.coef_.shape)
    assert path.intercepts.shape == (5, *np.shape(model.intercept_))
    for k, alpha in enumerate(alphas):
        alone = Ridge(alpha, standardize=standardize).fit(X, y)
        np.testing.assert_allclose(path.coefs[k], alone.coef_, rtol=1e-12)
        np.testing.assert_allclose(path.intercepts[k], alone.intercept_, rtol=1e-12)
        assert path.digits[k] == pytest.approx(alone.certificate_.digits, abs=1e-6)


def test_path_needs_no_rows(diabetes: Any) -> None:
    X, y = X_y = diabetes[0].copy(), diabetes[1].copy()
    model = Ridge().fit(*X_y)
    expected = Ridge(0.3).fit(X, y).coef_
    X[:], y[:] = np.nan, np.nan
    np.testing.assert_allclose(model.path([0.3]).coefs[0], expected, rtol=1e-13)


# --- bad input -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    "alpha", [-1.0, float("nan"), float("inf"), [1.0, 2.0], [[1.0]], [-1.0], [np.nan], "strong"]
)
def test_bad_penalties(diabetes: Any, alpha: Any) -> None:
    with pytest.raises(ValueError, match="alpha"):
        Ridge(alpha).fit(*diabetes)


def test_as_many_penalties_as_targets(diabetes: Any) -> None:
    X, y = diabetes
    with pytest.raises(ValueError, match="3 targets"):
        Ridge([1.0, 2.0]).fit(X, np.column_stack([y, y, y]))


@pytest.mark.parametrize("alphas", [[-1.0], [np.nan], [np.inf], 1.0, [[1.0]]])
def test_bad_paths(diabetes: Any, alphas: Any) -> None:
    with pytest.raises(ValueError, match="alphas"):
        Ridge().fit(*diabetes).path(alphas)


def test_only_what_is_supported_is_accepted(diabetes: Any) -> None:
    with pytest.raises(ValueError, match="positive=True is not for solver='gd'"):
        Ridge(positive=True, solver="gd").fit(*diabetes)
    for name, value in (
        ("solver", "newton"),
        ("max_iter", 0),
        ("tol", -1.0),
        ("standardize", 2),
        ("copy_X", None),
    ):
        with pytest.raises(ValueError, match=name):
            Ridge(**{name: value}).fit(*diabetes)
    with pytest.raises(NotFittedError):
        Ridge().path([1.0])


# --- promises ------------------------------------------------------------------------------


def test_a_penalty_made_from_the_data_is_as_exact_as_they_are() -> None:
    for seed in range(60):
        noise = np.random.default_rng(seed)
        n, d = int(noise.integers(3, 12)), int(noise.integers(1, 4))
        X = noise.standard_normal((n, d)) * 10.0 ** noise.integers(-3, 4, d) + noise.integers(0, 9)
        y = noise.standard_normal(n)
        alpha = 10.0 ** noise.integers(-4, 6)
        columns = [[Fraction(float(v)) for v in column] for column in X.T]
        means = [sum(column) / n for column in columns]
        penalty = np.array(
            [
                Fraction(alpha) * sum((v - m) ** 2 for v in column) / n
                for column, m in zip(columns, means, strict=True)
            ]
        )
        model = Ridge(alpha, standardize=True).fit(X, y)
        exact = least_squares(X, y, penalty=penalty)
        achieved = digits([model.intercept_, *model.coef_], exact.coef)
        assert model.certificate_.digits <= achieved, seed
        assert model.certificate_.digits >= 11, seed


def test_penalties_at_the_end_of_the_range() -> None:
    noise = np.random.default_rng(0)
    X, y = noise.standard_normal((9, 2)), noise.standard_normal(9)
    for alpha in (1e300, 1e307, 1e308):
        model = Ridge(alpha).fit(X, y)
        expected = (X - X.mean(axis=0)).T @ (y - y.mean()) / alpha
        np.testing.assert_allclose(model.coef_, expected, rtol=1e-12)
    wide = noise.standard_normal((5, 200))
    least = LinearRegression().fit(wide, y[:5])
    np.testing.assert_allclose(Ridge(5e-324).fit(wide, y[:5]).coef_, least.coef_, rtol=1e-9)


def test_one_column_of_targets_is_one_target() -> None:
    noise = np.random.default_rng(0)
    X, y = noise.standard_normal((9, 2)), noise.standard_normal((9, 1))
    assert Ridge().fit(X, y).coef_.shape == (2,)
    assert Ridge().fit(X, y).predict(X).shape == (9,)


def test_parameters_set_after_a_fit_change_nothing_before_the_next() -> None:
    noise = np.random.default_rng(0)
    X, y = noise.standard_normal((9, 2)), noise.standard_normal(9) + 5
    model = LinearRegression().fit(X, y)
    before = str(model.summary())
    model.set_params(fit_intercept=False)
    assert str(model.summary()) == before
