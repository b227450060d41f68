"""Linear regression: against scikit-learn and statsmodels, then shapes, weights and bad input."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from sklearn import linear_model
from sklearn.exceptions import ConvergenceWarning, NotFittedError

from suffice import LinearRegression
from tests.linear.exact import digits, least_squares

NUMBERS = ("r2", "r2_adjusted", "f", "f_p", "sigma2", "log_likelihood", "aic", "bic")
COLUMNS = ("coef", "std_err", "t", "p", "lower", "upper")


def assert_same_summary(ours: Any, theirs: Any, rtol: float = 1e-10) -> None:
    for name in (*COLUMNS, *NUMBERS, "n", "df_model", "df_residual"):
        np.testing.assert_allclose(
            getattr(ours, name), getattr(theirs, name), rtol=rtol, atol=0, err_msg=name
        )


def from_statsmodels(results: Any, level: float) -> dict[str, Any]:
    """What statsmodels calls the parts of our summary."""
    interval = np.asarray(results.conf_int(1 - level))
    return {
        "coef": results.params,
        "std_err": results.bse,
        "t": results.tvalues,
        "p": results.pvalues,
        "lower": interval[:, 0],
        "upper": interval[:, 1],
        "r2": results.rsquared,
        "r2_adjusted": results.rsquared_adj,
        "f": results.fvalue,
        "f_p": results.f_pvalue,
        "sigma2": results.mse_resid,
        "log_likelihood": results.llf,
        "aic": results.aic,
        "bic": results.bic,
        "n": results.nobs,
        "df_model": results.df_model,
        "df_residual": results.df_resid,
    }


# --- against an oracle ---------------------------------------------------------------------


@pytest.mark.parametrize("intercept", [True, False])
def test_real_data_to_the_last_digit(diabetes: Any, intercept: bool) -> None:
    X, y = diabetes
    model = LinearRegression(fit_intercept=intercept).fit(X, y)
    exact = least_squares(X, y, intercept=intercept)
    summary = model.summary()
    assert digits(summary.coef, exact.coef) >= 15.5
    assert digits(summary.std_err, exact.std_err) >= 15
    assert digits(summary.sigma2, [exact.residual / exact.df_residual]) >= 15
    assert digits(summary.r2, [exact.r2]) >= 15
    assert summary.coef[intercept:].tolist() == model.coef_.tolist()


# --- against peers -------------------------------------------------------------------------


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("targets", [None, 1, 3])
def test_equals_scikit_learn(intercept: bool, weighted: bool, targets: int | None) -> None:
    noise = np.random.default_rng(0)
    X = noise.standard_normal((200, 6)) + 1
    y = noise.standard_normal(200 if targets is None else (200, targets))
    weight = noise.uniform(0.1, 3, 200) if weighted else None
    ours = LinearRegression(fit_intercept=intercept).fit(X, y, sample_weight=weight)
    theirs = linear_model.LinearRegression(fit_intercept=intercept).fit(X, y, weight)
    assert ours.coef_.shape == theirs.coef_.shape
    assert np.shape(ours.intercept_) == np.shape(theirs.intercept_)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, rtol=1e-11, atol=1e-13)
    np.testing.assert_allclose(ours.intercept_, theirs.intercept_, rtol=1e-11, atol=1e-13)
    np.testing.assert_allclose(ours.predict(X), theirs.predict(X), rtol=1e-11, atol=1e-12)
    assert ours.score(X, y, weight) == pytest.approx(theirs.score(X, y, weight), rel=1e-11)
    assert ours.rank_ == 6
    assert ours.n_features_in_ == 6


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("level", [0.95, 0.5])
def test_summary_equals_statsmodels(diabetes: Any, intercept: bool, level: float) -> None:
    X, y = diabetes
    ours = LinearRegression(fit_intercept=intercept).fit(X, y).summary(level)
    design = sm.add_constant(X) if intercept else X
    theirs = from_statsmodels(sm.OLS(y, design).fit(method="qr"), level)
    for name, value in theirs.items():
        np.testing.assert_allclose(getattr(ours, name), value, rtol=1e-10, err_msg=name)


@pytest.mark.parametrize("intercept", [True, False])
def test_summary_from_float64_moments(intercept: bool) -> None:
    noise = np.random.default_rng(14)
    X = noise.standard_normal((30_000, 8)) + 3
    y = X.sum(axis=1) + noise.standard_normal(len(X))
    model = LinearRegression(fit_intercept=intercept).fit(X, y)
    assert model.statistics_.precision == "float64"
    ours = model.summary()
    assert ours.coef[intercept:].tolist() == model.coef_.tolist()
    design = sm.add_constant(X) if intercept else X
    for name, value in from_statsmodels(sm.OLS(y, design).fit(method="qr"), 0.95).items():
        np.testing.assert_allclose(getattr(ours, name), value, rtol=1e-10, err_msg=name)


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("kind", ["prediction", "mean"])
def test_intervals_equal_statsmodels(diabetes: Any, intercept: bool, kind: str) -> None:
    X, y = diabetes
    model = LinearRegression(fit_intercept=intercept).fit(X[:300], y[:300])
    ours = model.predict_interval(X[300:], 0.9, kind=kind)
    train, new = (
        (sm.add_constant(X[:300]), sm.add_constant(X[300:]))
        if intercept
        else (
            X[:300],
            X[300:],
        )
    )
    frame = sm.OLS(y[:300], train).fit(method="qr").get_prediction(new).summary_frame(alpha=0.1)
    side = "obs_ci" if kind == "prediction" else "mean_ci"
    assert ours.shape == (len(X) - 300, 2)
    np.testing.assert_allclose(ours[:, 0], frame[f"{side}_lower"], rtol=1e-10)
    np.testing.assert_allclose(ours[:, 1], frame[f"{side}_upper"], rtol=1e-10)


def test_intervals_of_several_targets(diabetes: Any) -> None:
    X, y = diabetes
    both = LinearRegression().fit(X, np.column_stack([y, y**2])).predict_interval(X[:5])
    assert both.shape == (5, 2, 2)
    for k, target in enumerate([y, y**2]):
        alone = LinearRegression().fit(X, target).predict_interval(X[:5])
        np.testing.assert_allclose(both[:, :, k], alone, rtol=1e-12)


@pytest.mark.parametrize("intercept", [True, False])
def test_weights_are_frequencies(diabetes: Any, intercept: bool) -> None:
    X, y = diabetes[0][:120], diabetes[1][:120]
    copies = np.random.default_rng(1).integers(0, 4, len(y))
    repeated = np.repeat(X, copies, axis=0), np.repeat(y, copies)
    weighted = LinearRegression(fit_intercept=intercept).fit(X, y, sample_weight=copies)
    plain = LinearRegression(fit_intercept=intercept).fit(*repeated)
    np.testing.assert_allclose(weighted.coef_, plain.coef_, rtol=1e-13)
    np.testing.assert_allclose(weighted.intercept_, plain.intercept_, rtol=1e-13)
    assert_same_summary(weighted.summary(), plain.summary(), rtol=1e-12)
    np.testing.assert_allclose(weighted.predict_interval(X), plain.predict_interval(X), rtol=1e-12)
    # The peer's model with frequencies; its covariance, too, divides by Σw − p.
    design = sm.add_constant(X) if intercept else X
    theirs = sm.GLM(y, design, freq_weights=copies).fit()
    np.testing.assert_allclose(weighted.summary().coef, theirs.params, rtol=1e-9)
    np.testing.assert_allclose(weighted.summary().std_err, theirs.bse, rtol=1e-9)
    assert weighted.summary().sigma2 == pytest.approx(theirs.scale, rel=1e-10)


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("scale", [1.0, 0.01])
def test_weights_are_precisions_where_asked(diabetes: Any, intercept: bool, scale: float) -> None:
    X, y = diabetes[0][:120], diabetes[1][:120]
    weight = scale * np.random.default_rng(1).gamma(2.0, size=len(y))
    weight[5] = 0.0
    there = weight > 0
    design = sm.add_constant(X) if intercept else X
    theirs = sm.WLS(y[there], design[there], weights=weight[there]).fit()
    model = LinearRegression(fit_intercept=intercept).fit(X, y, weight)
    ours = model.summary(0.9, weights="precision", X=X, y=y, sample_weight=weight)
    for name, value in from_statsmodels(theirs, 0.9).items():
        np.testing.assert_allclose(getattr(ours, name), value, rtol=1e-9, err_msg=name)
    # Without the rows, all but the likelihood; and what is not known is not printed.
    known = model.summary(0.9, weights="precision")
    for name in (*COLUMNS, "r2_adjusted", "f_p", "sigma2", "n", "df_residual"):
        np.testing.assert_array_equal(getattr(known, name), getattr(ours, name), err_msg=name)
    assert np.isnan(known.aic)
    assert "nan" not in str(known)
    assert "AIC and BIC need the weights" in str(known)
    with pytest.raises(ValueError, match="without a log-likelihood"):
        known.likelihood_ratio_test(ours)


def test_frequencies_that_stand_for_too_few_rows_are_noted(diabetes: Any) -> None:
    X, y = diabetes
    weight = np.full(len(y), 0.25)
    few = LinearRegression().fit(X, y, weight)
    assert "442 rows add up to 110.5" in str(few.summary())
    assert "weights='precision'" in str(few.summary())
    for fine in (few.summary(weights="precision"), LinearRegression().fit(X, y).summary()):
        assert "add up to" not in str(fine)


def test_questions_about_weights_that_have_no_answer(diabetes: Any) -> None:
    X, y = diabetes
    model = LinearRegression().fit(X, y)
    with pytest.raises(ValueError, match="'frequency' or 'precision', got 'variance'"):
        model.summary(weights="variance")
    with pytest.raises(ValueError, match="cov='HC1' takes weights as frequencies"):
        model.summary(cov="HC1", X=X, y=y, weights="precision")
    with pytest.raises(ValueError, match="not the rows of the fit"):
        model.summary(weights="precision", X=X[:9], y=y[:9])


@pytest.mark.parametrize("weighted", [False, True])
def test_sparse_rows_are_dense_rows(weighted: bool) -> None:
    noise = np.random.default_rng(2)
    X = sparse.random_array((300, 12), density=0.2, rng=noise, format="csr")
    y = noise.standard_normal((300, 2))
    weight = noise.integers(0, 3, 300) if weighted else None
    for intercept in (True, False):
        ours = LinearRegression(fit_intercept=intercept).fit(X, y, sample_weight=weight)
        dense = LinearRegression(fit_intercept=intercept).fit(X.toarray(), y, sample_weight=weight)
        np.testing.assert_allclose(ours.coef_, dense.coef_, rtol=1e-12, atol=1e-14)
        np.testing.assert_allclose(ours.intercept_, dense.intercept_, rtol=1e-12, atol=1e-14)
        np.testing.assert_allclose(ours.predict(X), dense.predict(X.toarray()), rtol=1e-12)
        np.testing.assert_allclose(
            ours.predict_interval(X), dense.predict_interval(X.toarray()), rtol=1e-11
        )


# --- laws ----------------------------------------------------------------------------------


@given(st.integers(0, 10**6), st.integers(1, 4), st.booleans())
def test_residuals_are_orthogonal_to_the_columns(seed: int, d: int, intercept: bool) -> None:
    noise = np.random.default_rng(seed)
    X, y = noise.standard_normal((d + 8, d)), noise.standard_normal(d + 8)
    residual = y - LinearRegression(fit_intercept=intercept).fit(X, y).predict(X)
    np.testing.assert_allclose(X.T @ residual, 0, atol=1e-12)
    if intercept:
        assert abs(residual.sum()) < 1e-12


def test_one_weight_for_all_rows_changes_only_the_degrees_of_freedom(diabetes: Any) -> None:
    X, y = diabetes
    plain = LinearRegression().fit(X, y)
    double = LinearRegression().fit(X, y, sample_weight=np.full(len(y), 2.0))
    np.testing.assert_allclose(double.coef_, plain.coef_, rtol=1e-14)
    assert double.summary().df_residual == 2 * len(y) - 11
    assert plain.summary().df_residual == len(y) - 11


def test_rows_of_weight_zero_do_not_exist(diabetes: Any) -> None:
    X, y = diabetes
    weight = np.ones(len(y))
    weight[100:] = 0
    masked = LinearRegression().fit(X, y, sample_weight=weight)
    alone = LinearRegression().fit(X[:100], y[:100])
    assert masked.coef_.tolist() == alone.coef_.tolist()
    assert masked.statistics_.count == 100


def test_targets_do_not_touch_each_other(diabetes: Any) -> None:
    X, y = diabetes
    Y = np.column_stack([y, np.ones(len(y)), 1e12 * X[:, 2] + 3])
    together = LinearRegression().fit(X, Y)
    for k in range(3):
        alone = LinearRegression().fit(X, Y[:, k])
        np.testing.assert_allclose(together.coef_[k], alone.coef_, rtol=1e-13, atol=1e-18)
        np.testing.assert_allclose(together.intercept_[k], alone.intercept_, rtol=1e-13)
    assert together.coef_[1].tolist() == [0.0] * 10


def test_the_input_is_left_alone_and_may_be_read_only(diabetes: Any) -> None:
    X, y = diabetes
    before = X.copy(), y.copy()
    LinearRegression().fit(X, y).predict(X)
    np.testing.assert_array_equal(X, before[0])
    np.testing.assert_array_equal(y, before[1])


# --- the summary as people read it ---------------------------------------------------------


def test_summary_as_a_table(diabetes: Any) -> None:
    X, y = diabetes
    frame = pd.DataFrame(X[:, :3], columns=["age", "sex", "bmi"])
    text = str(LinearRegression().fit(frame, y).summary())
    lines = text.splitlines()
    assert lines[0] == "Linear regression"
    assert lines[2].split() == ["coef", "std", "err", "t", "p", "0.025", "0.975"]
    assert [line.split()[0] for line in lines[3:7]] == ["intercept", "age", "sex", "bmi"]
    assert len({len(line) for line in lines[1:8]}) == 1
    assert "rows 442   residual degrees of freedom 438" in text
    assert "F(3, 438)" in text
    summary = LinearRegression().fit(frame, y).summary(0.9)
    assert repr(summary) == str(summary)
    assert "0.05" in str(summary)
    assert "0.95" in str(summary)


def test_summary_as_a_frame(diabetes: Any) -> None:
    X, y = diabetes
    summary = LinearRegression().fit(X, y).summary()
    frame = summary.to_frame()
    assert list(frame.columns) == list(COLUMNS)
    assert list(frame.index) == ["intercept", *(f"x{j}" for j in range(10))]
    for name in COLUMNS:
        assert frame[name].tolist() == getattr(summary, name).tolist()
    assert list(LinearRegression(fit_intercept=False).fit(X, y).summary().to_frame().index) == [
        f"x{j}" for j in range(10)
    ]


def test_summary_of_several_targets(diabetes: Any) -> None:
    X, y = diabetes
    Y = np.column_stack([y, np.sqrt(y)])
    summary = LinearRegression().fit(X, Y).summary()
    assert summary.coef.shape == (11, 2)
    assert summary.r2.shape == (2,)
    frame = summary.to_frame()
    assert frame.index.names == ["target", None]
    assert frame.index.get_level_values(0).unique().tolist() == ["y0", "y1"]
    assert str(summary).count("Linear regression of y") == 2
    for k in range(2):
        alone = LinearRegression().fit(X, Y[:, k]).summary()
        for name in COLUMNS:
            np.testing.assert_allclose(getattr(summary, name)[:, k], getattr(alone, name), 1e-11)
        for name in NUMBERS:
            assert getattr(summary, name)[k] == pytest.approx(getattr(alone, name), rel=1e-11)


# --- shapes at the edge --------------------------------------------------------------------


@pytest.mark.parametrize("columns", [1, 3])
def test_a_single_row(columns: int) -> None:
    X, y = np.full((1, columns), 2.0), np.array([5.0])
    model = LinearRegression().fit(X, y)
    assert model.coef_.tolist() == [0.0] * columns
    assert model.intercept_ == 5.0
    assert model.rank_ == 0
    assert np.isnan(model.summary().std_err).all()
    through_zero = LinearRegression(fit_intercept=False).fit(X, y)
    np.testing.assert_allclose(through_zero.coef_, 2.5 / columns, rtol=1e-15)


def test_one_column() -> None:
    X, y = np.array([[1.0], [2.0], [4.0]]), np.array([1.0, 3.0, 7.0])
    model = LinearRegression().fit(X, y)
    assert model.coef_.tolist() == [2.0]
    assert model.intercept_ == -1.0
    assert model.predict([[10.0]]).tolist() == [19.0]


def test_as_many_rows_as_parameters_interpolate() -> None:
    noise = np.random.default_rng(3)
    X, y = noise.standard_normal((5, 4)), noise.standard_normal(5)
    model = LinearRegression().fit(X, y)
    np.testing.assert_allclose(model.predict(X), y, rtol=1e-13)
    assert model.rank_ == 4
    summary = model.summary()
    assert summary.df_residual == 0
    assert np.isnan(summary.std_err).all()
    assert np.isnan(summary.sigma2)
    assert summary.r2 == pytest.approx(1)
    assert str(summary)


@pytest.mark.parametrize(("rows", "columns"), [(4, 4), (3, 7), (20, 60)])
@pytest.mark.parametrize("intercept", [True, False])
def test_fewer_rows_than_columns_give_the_smallest_solution(
    rows: int, columns: int, intercept: bool
) -> None:
    noise = np.random.default_rng(4)
    X, y = noise.standard_normal((rows, columns)) + 1, noise.standard_normal(rows)
    model = LinearRegression(fit_intercept=intercept).fit(X, y)
    centre, shift = (X.mean(axis=0), y.mean()) if intercept else (0.0, 0.0)
    smallest = np.linalg.lstsq(X - centre, y - shift)[0]
    np.testing.assert_allclose(model.coef_, smallest, rtol=1e-10, atol=1e-13)
    np.testing.assert_allclose(model.predict(X), y, rtol=1e-10, atol=1e-12)
    assert model.rank_ == rows - intercept
    if rows - intercept < columns:
        assert "smallest norm" in model.certificate_.notes[0]


def test_constant_columns_get_no_coefficient() -> None:
    noise = np.random.default_rng(5)
    X, y = noise.standard_normal((30, 3)), noise.standard_normal(30)
    wider = np.column_stack([np.full(30, 0.1), X, np.zeros(30), np.full(30, -3e7)])
    model = LinearRegression().fit(wider, y)
    plain = LinearRegression().fit(X, y)
    assert model.coef_[[0, 4, 5]].tolist() == [0.0, 0.0, 0.0]
    np.testing.assert_allclose(model.coef_[1:4], plain.coef_, rtol=1e-13)
    assert model.intercept_ == pytest.approx(plain.intercept_, rel=1e-12)
    assert model.rank_ == 3
    assert model.summary().df_residual == plain.summary().df_residual


def test_nothing_but_constant_columns() -> None:
    y = np.array([1.0, 2.0, 6.0])
    model = LinearRegression().fit(np.ones((3, 2)), y)
    assert model.coef_.tolist() == [0.0, 0.0]
    assert model.intercept_ == 3.0
    assert model.rank_ == 0
    summary = model.summary()
    assert summary.df_residual == 2
    assert summary.sigma2 == pytest.approx(y.var(ddof=1))
    assert np.isnan(summary.f)


def test_duplicated_columns_share_their_coefficient() -> None:
    noise = np.random.default_rng(6)
    X, y = noise.standard_normal((40, 3)), noise.standard_normal(40)
    plain = LinearRegression().fit(X, y)
    doubled = LinearRegression().fit(np.hstack([X, X, -2 * X[:, :1]]), y)
    # Of θ₁ + θ₂ − 2 θ₃ = θ, the smallest: shares 1 : 1 : −2 of θ / 6.
    np.testing.assert_allclose(
        doubled.coef_,
        np.concatenate([plain.coef_ / [6, 2, 2], plain.coef_ / [6, 2, 2], -plain.coef_[:1] / 3]),
        rtol=1e-12,
    )
    assert doubled.rank_ == 3
    assert doubled.certificate_.holds
    assert not plain.certificate_.notes


def test_the_dummy_trap() -> None:
    noise = np.random.default_rng(7)
    group = noise.integers(0, 4, 60)
    dummies = np.eye(4)[group]
    y = group + noise.standard_normal(60)
    model = LinearRegression().fit(dummies, y)
    means = np.array([y[group == g].mean() for g in range(4)])
    assert model.rank_ == 3
    np.testing.assert_allclose(model.intercept_ + model.coef_, means, rtol=1e-12)
    np.testing.assert_allclose(model.coef_.sum(), 0, atol=1e-13)
    summary = model.summary()
    assert summary.df_residual == 56
    within = ((y - means[group]) ** 2).sum()
    assert summary.sigma2 == pytest.approx(within / 56, rel=1e-12)


def test_summary_where_columns_depend_on_each_other() -> None:
    noise = np.random.default_rng(8)
    X = noise.standard_normal((50, 3))
    X = np.column_stack([X, X[:, 0] + X[:, 1]])
    y = X.sum(axis=1) + noise.standard_normal(50)
    summary = LinearRegression().fit(X, y).summary()
    same = LinearRegression().fit(X[:, :3], y).summary()
    for name in (*NUMBERS, "df_model", "df_residual"):
        assert getattr(summary, name) == pytest.approx(getattr(same, name), rel=1e-10), name
    # Only the third coefficient is determined by the data; the others are a matter of choice.
    assert np.isnan(summary.std_err[[1, 2, 4]]).all()
    assert np.isnan(summary.p[[1, 2, 4]]).all()
    assert "do not determine these coefficients" in str(summary).splitlines()[-1]
    assert "determine" not in str(same)
    np.testing.assert_allclose(summary.std_err[[0, 3]], same.std_err[[0, 3]], rtol=1e-9)
    outside = X[:2] + np.array([1.0, 0.0, 0.0, 0.0])
    assert np.isnan(LinearRegression().fit(X, y).predict_interval(outside)).all()
    np.testing.assert_allclose(
        LinearRegression().fit(X, y).predict_interval(X),
        LinearRegression().fit(X[:, :3], y).predict_interval(X[:, :3]),
        rtol=1e-9,
    )


@pytest.mark.parametrize("intercept", [True, False])
def test_columns_too_near_to_each_other_are_admitted(intercept: bool) -> None:
    noise = np.random.default_rng(0)
    x = noise.uniform(1, 2, 30)
    X = np.column_stack([x, x + noise.integers(-100, 101, 30) * 2.0**-52])
    y = noise.standard_normal(30)
    with pytest.warns(ConvergenceWarning, match=r"too nearly dependent.*Ridge"):
        model = LinearRegression(fit_intercept=intercept).fit(X, y)
    assert model.rank_ == 2
    assert not model.certificate_.holds
    assert model.certificate_.digits < 6
    assert str(model.certificate_).startswith("DOES NOT HOLD")
    # Closer still, they are one column to float64.
    X[:, 1] = x + noise.integers(-2, 3, 30) * 2.0**-52
    model = LinearRegression(fit_intercept=intercept).fit(X, y)
    assert model.rank_ == 1
    assert model.certificate_.holds
    assert "1 of 2 columns" in model.certificate_.notes[0]
    alone = LinearRegression(fit_intercept=intercept).fit(X[:, :1], y)
    np.testing.assert_allclose(model.coef_, [alone.coef_[0] / 2] * 2, rtol=1e-6)


def test_a_constant_target() -> None:
    X = np.random.default_rng(9).standard_normal((20, 3)) + 1e3
    model = LinearRegression().fit(X, np.full(20, 0.1))
    assert model.coef_.tolist() == [0.0, 0.0, 0.0]
    assert model.intercept_ == 0.1
    assert model.score(X, np.full(20, 0.1)) == 1.0
    assert np.isnan(model.summary().r2)
    assert str(model.summary())


@pytest.mark.parametrize("dtype", [np.int8, np.int64, np.uint16, bool, np.float32])
def test_targets_and_columns_of_any_real_dtype(dtype: Any) -> None:
    noise = np.random.default_rng(10)
    X, y = noise.integers(0, 2, (40, 4)), noise.integers(0, 2, 40)
    plain = LinearRegression().fit(X.astype(float), y.astype(float))
    model = LinearRegression().fit(X.astype(dtype), y.astype(dtype))
    assert model.coef_.tolist() == plain.coef_.tolist()
    assert model.intercept_ == plain.intercept_
    assert model.coef_.dtype == np.float64
    expected = plain.predict(X.astype(float))
    if dtype is np.float32:
        expected = expected.astype(np.float32)
    np.testing.assert_array_equal(model.predict(X.astype(dtype)), expected)


@pytest.mark.parametrize("size", [1e100, 1e-100])
def test_huge_and_tiny_values(size: float) -> None:
    noise = np.random.default_rng(11)
    X, y = noise.standard_normal((30, 3)), noise.standard_normal(30)
    plain = LinearRegression().fit(X, y)
    model = LinearRegression().fit(X * size, y * size)
    np.testing.assert_allclose(model.coef_, plain.coef_, rtol=1e-13)
    np.testing.assert_allclose(model.intercept_ / size, plain.intercept_, rtol=1e-12)
    np.testing.assert_allclose(model.summary().t, plain.summary().t, rtol=1e-11)
    assert model.certificate_.digits > 13


# --- bad input -----------------------------------------------------------------------------


@pytest.mark.parametrize("rows", [20, 50_000])
def test_values_whose_squares_overflow_are_refused(rows: int) -> None:
    X = np.random.default_rng(12).standard_normal((rows, 3))
    with pytest.raises(ValueError, match="too large"):
        LinearRegression().fit(X * 1e200, X[:, 0])
    with pytest.raises(ValueError, match="too large"):
        LinearRegression().fit(X, X[:, 0] * 1e200)


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("rows", [20, 50_000])
def test_values_that_are_not_finite_are_named(value: float, rows: int) -> None:
    X = np.random.default_rng(13).standard_normal((rows, 3))
    y = X[:, 0].copy()
    X[rows - 3, 1] = value
    with pytest.raises(ValueError, match=rf"(NaN|infinity).*: column 1, row {rows - 3} "):
        LinearRegression().fit(X, y)
    with pytest.raises(ValueError, match=r"(?i)nan|infinity"):
        LinearRegression().fit(X[:5], np.array([1.0, 2.0, value, 4.0, 5.0]))


@pytest.mark.parametrize(
    ("X", "y", "weight", "message"),
    [
        (np.empty((5, 0)), np.ones(5), None, "0 feature"),
        (np.empty((0, 2)), np.ones(0), None, "0 sample|no rows"),
        (np.ones((5, 2)), np.ones(4), None, "inconsistent|length"),
        (np.ones((5, 2)), None, None, "y"),
        (np.ones(5), np.ones(5), None, "2D"),
        (np.ones((5, 2)) * 1j, np.ones(5), None, "(?i)complex"),
        (np.ones((5, 2)), np.array(list("abcde")), None, "(?i)convert|number|string"),
        (np.ones((5, 2)), np.ones(5), -np.ones(5), "(?i)negative"),
        (np.ones((5, 2)), np.ones(5), np.full(5, np.nan), "NaN"),
        (np.ones((5, 2)), np.ones(5), np.zeros(5), "non-zero"),
        (np.ones((5, 2)), np.ones(5), np.ones(4), "(?i)sample_weight"),
    ],
)
def test_bad_input_gets_one_clear_error(X: Any, y: Any, weight: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        LinearRegression().fit(X, y, sample_weight=weight)


def test_a_failed_fit_leaves_the_model_as_it_was(diabetes: Any) -> None:
    X, y = diabetes
    model = LinearRegression().fit(X, y)
    before = dict(vars(model))
    with pytest.raises(ValueError, match="NaN"):
        model.fit(np.full((5, 2), np.nan), np.ones(5))
    assert vars(model) == before
    fresh = LinearRegression()
    with pytest.raises(ValueError, match="NaN"):
        fresh.fit(np.full((5, 2), np.nan), np.ones(5))
    assert vars(fresh) == vars(LinearRegression())


def test_only_what_is_supported_is_accepted(diabetes: Any) -> None:
    with pytest.raises(ValueError, match="positive=True is not for solver='gd'"):
        LinearRegression(positive=True, solver="gd").fit(*diabetes)
    with pytest.raises(ValueError, match="fit_intercept"):
        LinearRegression(fit_intercept="yes").fit(*diabetes)
    with pytest.raises(ValueError, match="n_jobs"):
        LinearRegression(n_jobs=0).fit(*diabetes)
    with pytest.raises(ValueError, match="tol"):
        LinearRegression(tol=-1.0).fit(*diabetes)


@pytest.mark.parametrize("level", [0, 1, -0.5, 2, float("nan")])
def test_levels_lie_between_0_and_1(diabetes: Any, level: float) -> None:
    model = LinearRegression().fit(*diabetes)
    with pytest.raises(ValueError, match="level"):
        model.summary(level)
    with pytest.raises(ValueError, match="level"):
        model.predict_interval(diabetes[0], level)


def test_bad_questions_to_a_model(diabetes: Any) -> None:
    X, y = diabetes
    model = LinearRegression()
    for ask in (model.summary, lambda: model.predict(X), lambda: model.predict_interval(X)):
        with pytest.raises(NotFittedError):
            ask()
    model.fit(pd.DataFrame(X[:, :2], columns=["age", "sex"]), y)
    with pytest.raises(ValueError, match="kind"):
        model.predict_interval(X[:, :2], kind="both")
    with pytest.raises(ValueError, match="feature names"):
        model.predict(pd.DataFrame(X[:, :2], columns=["age", "bmi"]))
    with pytest.raises(ValueError, match="NaN"):
        LinearRegression().fit(X, y).predict(np.full((2, 10), np.nan))
    with pytest.raises(ValueError, match="10 features"):
        LinearRegression().fit(X, y).predict(X[:, :3])
