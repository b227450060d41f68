"""Correlated and dependent columns: float64 moments and one pass over the residuals.

The oracles are rational arithmetic, and NumPy's singular values where the solution is not unique.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
from scipy import sparse

from suffice import BayesianLinearRegression, LinearRegression, Ridge, scan
from suffice.statistics.residuals import LineAt, ResidualSums
from tests.linear.exact import least_squares, standardised_digits

TWO_PASSES = ("moments in float64", "residuals")


def correlated(n: int, d: int, distance: float, seed: int = 0) -> tuple[Any, Any]:
    """Columns within a distance of two factors, with scales and offsets, and a target."""
    rng = np.random.default_rng(seed)
    common = rng.standard_normal((n, 2)) @ rng.standard_normal((2, d))
    Z = common + distance * rng.standard_normal((n, d))
    y = 3 + Z @ rng.standard_normal(d) + rng.standard_normal(n)
    return Z * 10.0 ** np.linspace(-3, 3, d) + rng.uniform(-5, 5, d), y


@pytest.mark.parametrize("distance", [1e-3, 1e-4])
@pytest.mark.parametrize(
    ("model", "weighted"),
    [
        (LinearRegression(), False),
        (LinearRegression(), True),
        (LinearRegression(fit_intercept=False), True),
        (Ridge(alpha=1e-3), False),
        (Ridge(alpha=1e-6, fit_intercept=False), True),
    ],
)
def test_a_pass_over_the_residuals_replaces_moments_in_double_double(
    model: Any, weighted: bool, distance: float
) -> None:
    X, y = correlated(12_000, 12, distance)
    if not model.fit_intercept:
        X = X - X.mean(axis=0)  # offsets would be one more factor
    weight = np.random.default_rng(1).integers(0, 4, len(y)).astype(float) if weighted else None
    model.fit(X, y, sample_weight=weight)
    assert model.trace_.step == TWO_PASSES
    assert model.statistics_.precision == "float64"
    assert model.certificate_.holds
    penalty = getattr(model, "alpha", 0.0)
    truth = least_squares(X, y, weight, intercept=model.fit_intercept, penalty=penalty)
    assert 6 <= model.certificate_.digits <= standardised_digits(model, truth.coef, X, y, weight)
    objective = truth.residual + sum(
        penalty * float(c) ** 2 for c in truth.coef[int(model.fit_intercept) :]
    )
    assert model.trace_.objective[-1] == pytest.approx(float(objective) / 2, rel=1e-10)


def test_several_targets_and_penalties() -> None:
    X, y = correlated(8_000, 12, 1e-4)
    Y = np.column_stack([y, np.cos(y), X[:, 0] + 1e-3 * y])
    model = Ridge(alpha=[0.0, 1e-3, 2.0]).fit(X, Y)
    assert model.trace_.step == TWO_PASSES
    for target, alpha in enumerate(model.alpha):
        one = Ridge(alpha=alpha, exact=True).fit(X, Y[:, target])
        scale = X.std(axis=0)
        difference = np.abs(model.coef_[target] - one.coef_) * scale
        assert difference.max() <= 1e-9 * (np.abs(one.coef_) * scale).max()


def test_the_penalty_of_scaled_columns() -> None:
    X, y = correlated(8_000, 12, 1e-5)
    model = Ridge(alpha=1e-4, standardize=True).fit(X, y)
    exact = Ridge(alpha=1e-4, standardize=True, exact=True).fit(X, y)
    assert model.trace_.step == TWO_PASSES
    np.testing.assert_allclose(model.coef_, exact.coef_, rtol=1e-6)


def test_no_bit_depends_on_the_source(tmp_path: Any, small_blocks: int) -> None:
    import pandas as pd

    X, y = correlated(8_000, 12, 1e-4)
    X = X.astype(np.float32).astype(np.float64)
    model = LinearRegression().fit(X, y)
    assert model.trace_.step == TWO_PASSES
    table = pd.DataFrame(X, columns=[f"x{j}" for j in range(12)]).assign(y=y)
    for part, rows in enumerate(np.split(np.arange(8_000), [1_000, 5_001])):
        table.iloc[rows].to_parquet(tmp_path / f"{part}.parquet")
    others = [
        LinearRegression().fit(scan(str(tmp_path), target="y")),
        LinearRegression().fit(np.asfortranarray(X), y),
        LinearRegression().fit(X.astype(np.float32), y),
    ]
    for other in others:
        assert np.array_equal(other.coef_, model.coef_)
        assert other.intercept_ == model.intercept_
        assert other.certificate_ == model.certificate_


def test_sparse_rows() -> None:
    rng = np.random.default_rng(3)
    X = rng.standard_normal((8_000, 12)) * (rng.random((8_000, 12)) < 0.2)
    X[:, 11] = X[:, 0] + 1e-5 * X[:, 11]
    y = X @ rng.standard_normal(12) + rng.standard_normal(8_000)
    model = LinearRegression().fit(sparse.csr_array(X), y)
    assert model.trace_.step == TWO_PASSES
    truth = least_squares(X, y)
    assert 6 <= model.certificate_.digits <= standardised_digits(model, truth.coef, X, y, None)


def test_the_posterior_mean() -> None:
    X, y = correlated(8_000, 12, 4e-4)
    prior = np.diag(np.linspace(1, 2, 12)) + 0.1
    for options in ({}, {"prior_mean": 0.5, "prior_precision": prior}, {"evidence": "maximise"}):
        model = BayesianLinearRegression(**options).fit(X, y)
        exact = BayesianLinearRegression(**options, exact=True).fit(X, y)
        assert ("evidence" in options) != (model.trace_.step[:2] == TWO_PASSES)
        assert model.statistics_.precision == "float64"
        np.testing.assert_allclose(model.coef_, exact.coef_, rtol=1e-6)
        np.testing.assert_allclose(model.sigma_, exact.sigma_, rtol=1e-4)
        assert model.log_evidence_ == pytest.approx(exact.log_evidence_, rel=1e-9)
        assert model.noise_variance_ == pytest.approx(exact.noise_variance_, rel=1e-9)


# --- what follows from the moments that are kept -------------------------------------------


def test_what_needs_no_rows_agrees_with_the_fit_to_the_certified_digits() -> None:
    X, y = correlated(8_000, 12, 1e-3)
    model = Ridge(alpha=1e-3).fit(X, y)
    assert model.trace_.step == TWO_PASSES
    before, scale = model.coef_.copy(), X.std(axis=0)

    def agrees(coef: Any, digits: float) -> bool:
        error = (np.abs(coef - before) * scale).max() / (np.abs(before) * scale).max()
        return bool(error <= 10**-digits)

    path = model.path([1e-3])
    assert agrees(path.coefs[0], path.digits[0])
    with pytest.warns(UserWarning, match="exact=True"):
        model.refit(alpha=1e-3)
    assert 2 < model.certificate_.digits < 6
    assert agrees(model.coef_, model.certificate_.digits)
    assert any("exact=True" in note for note in model.certificate_.notes)


def test_far_more_targets_than_columns_take_the_moments_instead() -> None:
    X, y = correlated(30_000, 6, 1e-4)
    Y = y[:, None] * np.linspace(1, 2, 7)
    model = LinearRegression().fit(X, Y)
    assert model.trace_.step[-1] == "moments in double-double"
    assert "residuals" not in model.trace_.step


# --- dependent columns ---------------------------------------------------------------------


def smallest(X: Any, y: Any) -> Any:
    """The least-squares solution of smallest norm, by singular values."""
    Z = X - X.mean(axis=0)
    coef = np.linalg.pinv(Z, rcond=1e-10) @ (y - y.mean(axis=0))
    return coef.T, y.mean(axis=0) - X.mean(axis=0) @ coef


def codes(n: int, levels: int, seed: int = 0) -> Any:
    rng = np.random.default_rng(seed)
    return np.eye(levels)[rng.integers(0, levels, n)], rng


@pytest.mark.parametrize("case", ["one-hot", "two one-hots", "twice", "total", "constant"])
def test_dependent_columns_are_proved_by_their_residuals(case: str) -> None:
    H, rng = codes(12_000, 8)
    numbers = rng.standard_normal((12_000, 4)) * [1.0, 5.0, 0.1, 2.0] + [0, 3, -1, 10]
    X = np.hstack([H, numbers])
    rank = 11
    if case == "two one-hots":
        X, rank = np.hstack([X, np.eye(5)[rng.integers(0, 5, 12_000)]]), 15
    elif case == "twice":
        X, rank = np.hstack([numbers, 3 * numbers[:, :1], H[:, 1:]]), 11
    elif case == "total":
        X, rank = np.hstack([numbers, numbers[:, [0, 1]].sum(axis=1)[:, None], H[:, 1:]]), 11
    elif case == "constant":
        X, rank = np.hstack([numbers, np.full((12_000, 1), 0.1), H]), 11
    y = X @ rng.standard_normal(X.shape[1]) + rng.standard_normal(12_000)
    model = LinearRegression().fit(X, y)
    assert model.trace_.step == TWO_PASSES
    assert model.rank_ == rank
    assert model.certificate_.holds
    coef, intercept = smallest(X, y)
    np.testing.assert_allclose(model.coef_, coef, atol=1e-10)
    assert model.intercept_ == pytest.approx(intercept, abs=1e-9)
    exact = LinearRegression(exact=True).fit(X, y)
    assert np.abs(model.coef_ - exact.coef_).max() <= 10**-model.certificate_.digits
    assert any("smallest norm" in note for note in model.certificate_.notes)


def test_a_column_that_is_nearly_dependent_is_no_dependent_one() -> None:
    H, rng = codes(12_000, 8)
    X = np.hstack([H, rng.standard_normal((12_000, 4))])
    X[:, 0] += 1e-8 * rng.standard_normal(12_000)
    y = X @ rng.standard_normal(12) + rng.standard_normal(12_000)
    model = LinearRegression().fit(X, y)
    assert model.rank_ == 12
    assert model.trace_.step[-1] == "moments in double-double"
    truth = least_squares(X[:, :], y)
    assert model.certificate_.digits <= standardised_digits(model, truth.coef, X, y, None)


def test_a_total_with_an_error_of_its_own_is_no_dependent_column() -> None:
    """Thousands of roundings are a signal, however many columns add up to the total."""
    rng = np.random.default_rng(2)
    parts = rng.standard_normal((3_000, 80))
    own = rng.standard_normal(3_000)
    X = np.column_stack([parts, parts.sum(axis=1) + 1e-12 * own])
    with pytest.warns(UserWarning, match="too nearly dependent"):
        model = LinearRegression().fit(X, own)
    assert model.rank_ == 81
    assert model.trace_.step[-1] == "moments in double-double"
    assert model.score(X, own) > 0.99


def test_what_holds_has_six_digits() -> None:
    H, rng = codes(12_000, 8)
    common = rng.standard_normal(12_000)
    near = common + 1e-4 * rng.standard_normal(12_000)
    X = np.column_stack([H, common + 1e4, near + 1e4])
    y = common - near + 1e-6 * rng.standard_normal(12_000)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = LinearRegression().fit(X, y)
    assert model.rank_ == 9
    assert model.certificate_.holds == (model.certificate_.digits >= 6)


def test_dependent_columns_of_a_sparse_matrix() -> None:
    H, rng = codes(12_000, 8)
    X = np.hstack([H, rng.standard_normal((12_000, 4)) * (rng.random((12_000, 4)) < 0.3)])
    y = X @ rng.standard_normal(12) + rng.standard_normal(12_000)
    model = LinearRegression().fit(sparse.csr_array(X), y)
    assert model.trace_.step == TWO_PASSES
    assert model.rank_ == 11
    coef, intercept = smallest(X, y)
    np.testing.assert_allclose(model.coef_, coef, atol=1e-10)
    assert model.intercept_ == pytest.approx(intercept, abs=1e-10)


def test_without_the_rows_dependent_columns_stay_dependent() -> None:
    """Nothing is proved then, but coefficients, tables and predictions are what they were."""
    H, rng = codes(12_000, 8)
    X = np.hstack([H, rng.standard_normal((12_000, 4))])
    y = X @ rng.standard_normal(12) + rng.standard_normal(12_000)
    model = LinearRegression().fit(X, y)
    before = model.coef_.copy()
    table = model.summary()
    assert np.isnan(table.std_err[:9]).all()
    alone = LinearRegression().fit(X[:, 1:], y).summary()
    np.testing.assert_allclose(table.std_err[9:], alone.std_err[8:], rtol=1e-9)
    with pytest.warns(UserWarning, match="exact=True"):
        model.refit()
    assert model.certificate_.digits == 0
    np.testing.assert_allclose(model.coef_, before, atol=1e-9)


def test_dependent_columns_with_weights_and_several_targets() -> None:
    H, rng = codes(12_000, 8)
    X = np.hstack([H, rng.standard_normal((12_000, 4))])
    Y = X @ rng.standard_normal((12, 2)) + rng.standard_normal((12_000, 2))
    weight = rng.integers(0, 3, 12_000).astype(float)
    model = LinearRegression().fit(X, Y, sample_weight=weight)
    assert model.trace_.step == TWO_PASSES
    rows = np.repeat(np.arange(12_000), weight.astype(int))
    coef, intercept = smallest(X[rows], Y[rows])
    np.testing.assert_allclose(model.coef_, coef, atol=1e-10)
    np.testing.assert_allclose(model.intercept_, intercept, atol=1e-10)


# --- the sums ------------------------------------------------------------------------------


def test_sums_of_residuals_merge_and_leave_out_rows_without_weight() -> None:
    rng = np.random.default_rng(5)
    X, Y = rng.standard_normal((500, 3)) + 1e3, rng.standard_normal((500, 2))
    weight = rng.integers(0, 3, 500).astype(float)
    line = LineAt(rng.standard_normal((3, 2)), X.mean(axis=0), Y.mean(axis=0))
    long = [np.asarray(part, dtype=np.longdouble) for part in (X, Y, weight, *line)]
    r = (long[1] - long[5]) - (long[0] - long[4]) @ long[3]
    weighed = long[2][:, None] * r
    whole = ResidualSums.summarize(X, Y, weight, line)
    parts = [
        ResidualSums.summarize(X[i], Y[i], weight[i], line) for i in (slice(200), slice(200, 500))
    ]
    gone = X.copy()
    gone[weight == 0] = 7.0
    rows = sparse.csr_array(gone)
    for sums in (
        whole,
        ResidualSums.merge(parts),
        ResidualSums.summarize(gone, Y, weight, line),
        ResidualSums.summarize(rows, Y, weight, line),
    ):
        np.testing.assert_allclose(sums.products.hi, (weighed.T @ long[0]).astype(float), rtol=1e-9)
        np.testing.assert_allclose(sums.totals.hi, weighed.sum(axis=0).astype(float), rtol=1e-9)
        squares = (weighed * r).sum(axis=0)
        np.testing.assert_allclose(sums.squares.hi, squares.astype(float), rtol=1e-12)
