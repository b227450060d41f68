"""Bayesian regression: rational arithmetic, quadrature, densities, scikit-learn, and limits."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import linalg, sparse, special, stats
from sklearn import linear_model, model_selection
from sklearn.exceptions import ConvergenceWarning, DataConversionWarning, NotFittedError

import suffice
from suffice import BayesianLinearRegression, LinearRegression, Ridge
from suffice.bayes import CoefficientPrior
from suffice.linear.bayesian.evidence import _Profile, maximise
from suffice.linear.least_squares.base import MOST_COLUMNS


def make_rows(n: int, d: int, seed: int = 0, noise: float = 1.0) -> tuple[Any, Any]:
    random = np.random.default_rng(seed)
    X = random.standard_normal((n, d)) + random.standard_normal(d)
    return X, X @ random.standard_normal(d) + 2 + noise * random.standard_normal(n)


def precision_matrix(d: int, seed: int = 0) -> Any:
    root = np.random.default_rng(seed).standard_normal((d, d + 2))
    return (root @ root.T).round(3)


# --- rational arithmetic -------------------------------------------------------------------


def fractions(values: Any) -> Any:
    return np.vectorize(Fraction, otypes=[object])(np.asarray(values, dtype=np.float64))


def inverse(A: Any) -> Any:
    """Gauss and Jordan, without rounding."""
    n = len(A)
    rows = [[*A[i], *(Fraction(int(i == j)) for j in range(n))] for i in range(n)]
    for j in range(n):
        pivot = next(i for i in range(j, n) if rows[i][j] != 0)
        rows[j], rows[pivot] = rows[pivot], rows[j]
        rows[j] = [v / rows[j][j] for v in rows[j]]
        for i in range(n):
            if i != j:
                factor = rows[i][j]
                rows[i] = [a - factor * b for a, b in zip(rows[i], rows[j], strict=True)]
    return np.array([row[n:] for row in rows], dtype=object)


def exact_posterior(X: Any, y: Any, weight: Any, P: Any, mean: Any, intercept: bool) -> Any:
    """Mean and V of (b, θ), and 2 E, from the rows with a column of ones whose precision is 0."""
    ones = np.ones((len(X), int(intercept)))
    Z, t, w = fractions(np.hstack([ones, X])), fractions(y), fractions(weight)
    whole = fractions(linalg.block_diag(np.zeros((int(intercept),) * 2), P))
    m = fractions(np.concatenate([np.zeros(int(intercept)), mean]))
    V = inverse((Z.T * w) @ Z + whole)
    theta = V @ ((Z.T * w) @ t + whole @ m)
    residual = t - Z @ theta
    energy = (residual * w) @ residual + (theta - m) @ whole @ (theta - m)
    return theta, V, energy


@given(
    st.integers(0, 10**6),
    st.integers(1, 4),
    st.sampled_from(["number", "columns", "matrix"]),
    st.booleans(),
    st.booleans(),
    st.integers(-6, 6),
)
def test_posterior_in_rational_arithmetic(
    seed: int, d: int, kind: str, intercept: bool, weighted: bool, exponent: int
) -> None:
    random = np.random.default_rng(seed)
    X = random.standard_normal((random.integers(2, 9), d)) * 10.0 ** random.integers(-3, 4, d)
    y = random.standard_normal(len(X))
    weight = random.integers(1, 4, len(X)).astype(float) if weighted else np.ones(len(X))
    P = precision_matrix(d, seed) * 2.0**exponent
    if kind != "matrix":
        P = np.diag(np.diagonal(P)) if kind == "columns" else np.eye(d) * P[0, 0]
    given = {"number": P[0, 0], "columns": np.diagonal(P).copy(), "matrix": P}[kind]
    mean = random.integers(-3, 4, d).astype(float)
    theta, V, energy = exact_posterior(X, y, weight, P, mean, intercept)
    model = BayesianLinearRegression(
        given, prior_mean=mean, a0=2.0, b0=0.5, fit_intercept=intercept
    ).fit(X, y, sample_weight=weight)
    expected = np.array([float(v) for v in theta])
    first = int(intercept)
    np.testing.assert_allclose(model.coef_, expected[first:], rtol=1e-13)
    if intercept:
        assert model.intercept_ == pytest.approx(expected[0], rel=1e-13)
    assert model.a_n_ == 2.0 + weight.sum() / 2
    assert model.b_n_ == pytest.approx(0.5 + float(energy) / 2, rel=1e-13)
    C = np.vectorize(float)(V) * model.b_n_ / (model.a_n_ - 1)
    size = np.sqrt(np.outer(np.diagonal(C), np.diagonal(C)))
    assert np.abs((model.sigma_ - C[first:, first:]) / size[first:, first:]).max() < 1e-13
    found = model.credible_interval().scale
    np.testing.assert_allclose(found, np.sqrt(np.diagonal(C) * (1 - 1 / model.a_n_)), rtol=1e-13)
    # The predictive variance with all its parts, at a row far away.
    q = 10 * np.ones(d)
    z = fractions(np.concatenate([np.ones(first), q]))
    _, std = model.predict(q[None], return_std=True)
    assert std[0] ** 2 == pytest.approx(model.noise_variance_ * (1 + float(z @ V @ z)), rel=1e-12)


def test_the_posterior_mean_is_ridge(diabetes: Any) -> None:
    X, y = diabetes
    for alpha in (1e-3, 1.0, 50.0):
        for intercept in (True, False):
            ridge = Ridge(alpha, fit_intercept=intercept).fit(X, y)
            model = BayesianLinearRegression(alpha, fit_intercept=intercept).fit(X, y)
            assert (model.coef_ == ridge.coef_).all()
            assert model.intercept_ == ridge.intercept_
            assert model.certificate_.digits == ridge.certificate_.digits


# --- conjugacy -----------------------------------------------------------------------------


def test_a_posterior_is_the_prior_of_what_comes_next() -> None:
    X, y = make_rows(50, 4)
    parameters = {"a0": 1.5, "b0": 0.7, "fit_intercept": False}
    both = BayesianLinearRegression(2.0, prior_mean=1.0, **parameters).fit(X, y)
    first = BayesianLinearRegression(2.0, prior_mean=1.0, **parameters).fit(X[:20], y[:20])
    V = first.sigma_ / first.noise_variance_
    then = BayesianLinearRegression(
        np.linalg.inv(V),
        prior_mean=first.coef_,
        a0=first.a_n_,
        b0=first.b_n_,
        fit_intercept=False,
    ).fit(X[20:], y[20:])
    np.testing.assert_allclose(then.coef_, both.coef_, rtol=1e-12)
    np.testing.assert_allclose(then.sigma_, both.sigma_, rtol=1e-10)
    assert then.a_n_ == both.a_n_
    assert then.b_n_ == pytest.approx(both.b_n_, rel=1e-12)
    # And the evidence of all is that of the first rows, times that of the others given them.
    assert first.log_evidence_ + then.log_evidence_ == pytest.approx(both.log_evidence_, rel=1e-12)


# --- the evidence --------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["number", "columns", "matrix"])
def test_evidence_is_a_multivariate_t_density(kind: str) -> None:
    X, y = make_rows(7, 3)
    P = precision_matrix(3)
    given = {"number": 1.7, "columns": [1.0, 2.0, 0.5], "matrix": P}[kind]
    P = P if kind == "matrix" else np.eye(3) * given
    mean, a0, b0 = np.array([0.3, -1.0, 2.0]), 1.3, 0.8
    model = BayesianLinearRegression(given, prior_mean=mean, a0=a0, b0=b0, fit_intercept=False).fit(
        X, y
    )
    shape = (b0 / a0) * (np.eye(7) + X @ np.linalg.inv(P) @ X.T)
    density = stats.multivariate_t(X @ mean, shape, df=2 * a0)
    assert model.log_evidence_ == pytest.approx(density.logpdf(y), rel=1e-12)
    known = model.refit(a0=None, b0=None, noise_variance=0.6)
    density = stats.multivariate_normal(X @ mean, 0.6 / (b0 / a0) * shape)
    assert known.log_evidence_ == pytest.approx(density.logpdf(y), rel=1e-12)


def test_evidence_of_an_intercept_is_the_limit_of_wider_priors() -> None:
    """With the factor (2πσ²)^−½ of the intercept's density: v₀^−½ of a Gaussian is left out."""
    X, y = make_rows(6, 2)
    a0, b0, wide = 2.0, 1.0, 1e8
    shape = (b0 / a0) * (np.eye(6) + X @ X.T / 1.5 + wide)
    proper = stats.multivariate_t(np.zeros(6), shape, df=2 * a0).logpdf(y) + np.log(wide) / 2
    model = BayesianLinearRegression(1.5, a0=a0, b0=b0).fit(X, y)
    assert model.log_evidence_ == pytest.approx(proper, abs=1e-6)


def test_vague_evidence_by_quadrature() -> None:
    """∫∫∫ N(y; θx + b, σ²) N(θ; 0, σ²/P) (2πσ²)^−½ (σ²)^(−a₀−1) with a₀ = −½."""
    x, y, P = np.array([0.2, 1.0, 1.7, 3.0]), np.array([1.0, 0.4, 2.0, 2.2]), 0.7
    model = BayesianLinearRegression(P).fit(x[:, None], y)

    c = model.credible_interval()
    nodes, weights = np.polynomial.legendre.leggauss(80)

    def over_line(s: float) -> float:
        """The integral over θ and b for log σ² = s."""
        variance = np.exp(s)
        half = 10 * np.sqrt(variance) * c.scale / np.sqrt(model.b_n_ / model.a_n_)
        b, theta = c.mean[0] + half[0] * nodes, c.mean[1] + half[1] * nodes
        residual = y - theta[:, None, None] * x - b[:, None]
        squares = np.square(residual).sum(axis=2) + P * np.square(theta)[:, None]
        values = np.exp(-squares / 2 / variance) * np.sqrt(P) * (2 * np.pi * variance) ** -3.0
        # (σ²)^(½ − 1), and dσ² = σ² ds.
        return float(weights @ values @ weights * half.prod() * variance**0.5)

    low, high = -6.0, 12.0
    total = sum(
        w * over_line((high + low) / 2 + (high - low) / 2 * u)
        for u, w in zip(nodes, weights, strict=True)
    ) * ((high - low) / 2)
    # Beyond, the integrand falls like σ^−2aₙ.
    beyond = over_line(high) / (model.a_n_)
    assert model.log_evidence_ == pytest.approx(np.log(total + beyond), abs=1e-8)


def test_evidence_counts_weights_as_repetitions() -> None:
    X, y = make_rows(20, 3)
    weight = np.random.default_rng(1).integers(0, 4, 20)
    repeated = np.repeat(np.arange(20), weight)
    for options in ({}, {"noise_variance": 0.5}, {"evidence": "maximise"}):
        weighted = BayesianLinearRegression(**options).fit(X, y, sample_weight=weight)
        plain = BayesianLinearRegression(**options).fit(X[repeated], y[repeated])
        assert weighted.log_evidence_ == pytest.approx(plain.log_evidence_, rel=1e-12)


# --- its maximum ---------------------------------------------------------------------------


def bayesian_ridge(**options: Any) -> Any:
    return linear_model.BayesianRidge(
        alpha_1=0, alpha_2=0, lambda_1=0, lambda_2=0, tol=1e-13, max_iter=100_000, **options
    )


def dependent(X: Any) -> Any:
    return np.hstack([X, X[:, :2], X[:, :1] - X[:, 1:2], np.ones((len(X), 1))])


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("weighted", [True, False])
@pytest.mark.parametrize("change", [np.asarray, dependent], ids=["full rank", "dependent"])
@pytest.mark.parametrize("n", [60, 3000])
def test_maximum_equals_bayesian_ridge(
    intercept: bool, weighted: bool, change: Any, n: int
) -> None:
    X, y = make_rows(n, 5, noise=2.0)
    X = change(X)
    weight = np.random.default_rng(3).uniform(0.5, 2, n) if weighted else None
    theirs = bayesian_ridge(fit_intercept=intercept, compute_score=True)
    theirs.fit(X, y, sample_weight=weight)
    ours = BayesianLinearRegression(fit_intercept=intercept, evidence="maximise")
    ours.fit(X, y, sample_weight=weight)
    assert ours.noise_variance_ == pytest.approx(1 / theirs.alpha_, rel=1e-9)
    assert ours.prior_precision_ == pytest.approx(theirs.lambda_ / theirs.alpha_, rel=1e-7)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, rtol=1e-7, atol=1e-9)
    np.testing.assert_allclose(ours.sigma_, theirs.sigma_, rtol=1e-7, atol=1e-10)
    W = n if weight is None else weight.sum()
    constant = 0.5 * np.log(W) if intercept else 0.0
    assert ours.log_evidence_ + constant == pytest.approx(theirs.scores_[-1], rel=1e-10)
    assert ours.certificate_.holds
    assert ours.certificate_.gradient < 1e-9
    steps = [s for s in ours.trace_.step if s == "evidence"]
    assert 2 <= len(steps) <= 20
    assert ours.trace_.objective[-1] <= ours.trace_.objective[-len(steps)]


@pytest.mark.parametrize("prior", [1.0, [1.0, 3.0, 0.1], precision_matrix(3)], ids="ncm")
@pytest.mark.parametrize("noise_variance", [None, 0.8])
def test_maximum_is_the_largest_log_evidence(prior: Any, noise_variance: Any) -> None:
    """Compared with the log evidence of fits around it."""
    X, y = make_rows(30, 3)
    best = BayesianLinearRegression(
        prior, prior_mean=0.2, noise_variance=noise_variance, evidence="maximise"
    ).fit(X, y)
    assert best.certificate_.holds
    for strength in (0.9, 0.999, 1.001, 1.1):
        for noise in (1.0,) if noise_variance else (0.95, 1.0, 1.05):
            other = BayesianLinearRegression(
                np.asarray(best.prior_precision_) * strength,
                prior_mean=0.2,
                noise_variance=best.noise_variance_ * noise,
            ).fit(X, y)
            assert other.log_evidence_ < best.log_evidence_
    same = BayesianLinearRegression(
        best.prior_precision_, prior_mean=0.2, noise_variance=best.noise_variance_
    ).fit(X, y)
    assert same.log_evidence_ == pytest.approx(best.log_evidence_, rel=1e-13)


def test_noise_prior_in_the_maximum_is_that_of_bayesian_ridge() -> None:
    X, y = make_rows(25, 3)
    theirs = bayesian_ridge().set_params(alpha_1=3.0, alpha_2=5.0).fit(X, y)
    ours = BayesianLinearRegression(a0=3.0, b0=5.0, evidence="maximise").fit(X, y)
    assert ours.noise_variance_ == pytest.approx(1 / theirs.alpha_, rel=1e-9)
    assert ours.prior_precision_ == pytest.approx(theirs.lambda_ / theirs.alpha_, rel=1e-7)


def test_derivatives_of_the_profile() -> None:
    X, y = make_rows(30, 4)
    model = BayesianLinearRegression().fit(X, y)
    equations = model._equations(model.statistics_)
    for noise in (None, 0.7):
        profile = _Profile(equations, CoefficientPrior.of(2.0, 0.5, 4), noise, 0.3, 0.2)
        for u in (-6.0, -2.0, 1.0):
            value, slope, curvature = zip(*map(profile.at, (u - 1e-4, u, u + 1e-4)), strict=True)
            assert slope[1] == pytest.approx((value[2] - value[0]) / 2e-4, rel=1e-5, abs=1e-7)
            assert curvature[1] == pytest.approx((slope[2] - slope[0]) / 2e-4, rel=1e-5, abs=1e-9)


def test_units_do_not_matter_to_the_maximum() -> None:
    X, y = make_rows(40, 3)
    plain = BayesianLinearRegression(evidence="maximise").fit(X, y)
    scaled = BayesianLinearRegression(evidence="maximise").fit(X * 2.0**400, y * 2.0**-300)
    assert scaled.prior_precision_ == pytest.approx(plain.prior_precision_ * 2.0**800, rel=1e-12)
    assert scaled.noise_variance_ == pytest.approx(plain.noise_variance_ * 2.0**-600, rel=1e-12)


def test_rows_that_show_no_effect_and_rows_on_a_line() -> None:
    X, y = make_rows(60, 3)
    noise = np.random.default_rng(0).standard_normal(60)
    noise -= (
        np.column_stack([np.ones(60), X])
        @ np.linalg.lstsq(np.column_stack([np.ones(60), X]), noise, rcond=None)[0]
    )
    nothing = BayesianLinearRegression(evidence="maximise").fit(X, noise)
    assert nothing.certificate_.holds
    assert "no effect" in nothing.certificate_.notes[0]
    assert np.abs(nothing.coef_).max() < 1e-9
    with pytest.warns(ConvergenceWarning, match="the evidence has no maximum"):
        BayesianLinearRegression(evidence="maximise").fit(X, X @ [1.0, 2.0, 3.0])
    model = BayesianLinearRegression()
    with pytest.raises(ValueError, match="flat in some direction"):
        model.set_params(prior_precision=[1.0, 0.0, 1.0], evidence="maximise").fit(X, y)


def test_little_noise_is_found() -> None:
    """Where 1 − R² is 10⁻¹⁸, the evidence has its maximum all the same."""
    X, y = make_rows(60, 3, noise=0.0)
    y = y + 1e-9 * np.random.default_rng(0).standard_normal(60)
    model = BayesianLinearRegression(evidence="maximise").fit(X, y)
    assert model.certificate_.holds
    residual = LinearRegression(exact=True).fit(X, y).summary().sigma2
    assert model.noise_variance_ == pytest.approx(residual * 56 / 57, rel=1e-6)


# --- predictions ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "intercept"),
    [
        ({"noise_variance": 1.2}, False),
        ({"a0": 3.0, "b0": 2.0}, True),
        *(
            pytest.param(*case, marks=pytest.mark.long)
            for case in (
                ({}, True),
                ({}, False),
                ({"noise_variance": 1.2}, True),
                ({"a0": 3.0, "b0": 2.0}, False),
            )
        ),
    ],
)
def test_predictive_distribution_by_drawing(options: dict[str, Any], intercept: bool) -> None:
    X, y = make_rows(20, 2)
    model = BayesianLinearRegression(0.5, fit_intercept=intercept, **options).fit(X, y)
    n = 400_000
    draws = model.sample(n, random_state=0)
    assert draws.coef.shape == (n, 2)
    np.testing.assert_allclose(np.cov(draws.coef.T), model.sigma_, rtol=0.03, atol=1e-3)
    assert draws.noise_variance.mean() == pytest.approx(model.noise_variance_, rel=0.01)
    row = np.array([[3.0, -2.0]])
    noise = np.random.default_rng(1).standard_normal(n) * np.sqrt(draws.noise_variance)
    targets = draws.coef @ row[0] + draws.intercept + noise
    mean, std = model.predict(row, return_std=True)
    assert targets.mean() == pytest.approx(mean[0], abs=5 * std[0] / np.sqrt(n))
    assert targets.std() == pytest.approx(std[0], rel=0.01)
    for confidence in (0.5, 0.95):
        low, high = model.predict_interval(row, confidence)[0]
        inside = ((low < targets) & (targets < high)).mean()
        assert inside == pytest.approx(confidence, abs=0.004)
        interval = model.credible_interval(confidence)
        coef = np.column_stack([draws.intercept, draws.coef])[:, 1 - intercept :]
        inside = ((interval.lower < coef) & (coef < interval.upper)).mean(axis=0)
        np.testing.assert_allclose(inside, confidence, atol=0.004)
    assert (draws.coef == model.sample(n, random_state=0).coef).all()


def test_predictions_widen_away_from_the_rows() -> None:
    X, y = make_rows(50, 3)
    model = BayesianLinearRegression().fit(X, y)
    away = X.mean(axis=0) + np.arange(6)[:, None]
    _, std = model.predict(away, return_std=True)
    assert (np.diff(std) > 0).all()
    assert std[0] > np.sqrt(model.noise_variance_)


def test_predictions_from_every_kind_of_rows(tmp_path: Any) -> None:
    X, y = make_rows(300, 3)
    names = ["größe", "b", "c"]
    frame = pd.DataFrame(X, columns=names)
    model = BayesianLinearRegression().fit(frame, y)
    mean, std = model.predict(frame, return_std=True)
    frame.assign(y=y).to_parquet(tmp_path / "rows.parquet")
    source = suffice.scan(tmp_path / "rows.parquet", target="y")
    streamed = BayesianLinearRegression().fit(source)
    for one, other in zip(streamed.predict(source, return_std=True), (mean, std), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-13)
    bare = BayesianLinearRegression().fit(sparse.csr_array(X), y)
    for one, other in zip(
        bare.predict(sparse.csr_array(X), return_std=True), (mean, std), strict=True
    ):
        np.testing.assert_allclose(one, other, rtol=1e-12)
    table = model.credible_interval().to_frame()
    assert table.index.tolist() == ["intercept", *names]
    assert (table["lower"] < table["mean"]).all()


# --- limits --------------------------------------------------------------------------------


def test_a_flat_prior_gives_least_squares_and_its_standard_errors(diabetes: Any) -> None:
    X, y = diabetes
    for intercept in (True, False):
        table = LinearRegression(fit_intercept=intercept).fit(X, y).summary(0.9)
        model = BayesianLinearRegression(0.0, fit_intercept=intercept).fit(X, y)
        found = model.credible_interval(0.9)
        assert model.a_n_ == table.df_residual / 2
        np.testing.assert_allclose(found.mean, table.coef, rtol=1e-13)
        np.testing.assert_allclose(found.scale, table.std_err, rtol=1e-13)
        np.testing.assert_allclose(found.lower, table.lower, rtol=1e-11)
        np.testing.assert_allclose(found.upper, table.upper, rtol=1e-11)
        intervals = LinearRegression(fit_intercept=intercept).fit(X, y).predict_interval(X, 0.9)
        np.testing.assert_allclose(model.predict_interval(X, 0.9), intervals, rtol=1e-11)


def test_a_vanishing_prior_tends_to_the_flat_one() -> None:
    X, y = make_rows(40, 3)
    flat = BayesianLinearRegression(0.0, a0=1.0, b0=1.0).fit(X, y)
    near = BayesianLinearRegression(1e-12, a0=1.0, b0=1.0).fit(X, y)
    np.testing.assert_allclose(near.coef_, flat.coef_, rtol=1e-10)
    np.testing.assert_allclose(near.sigma_, flat.sigma_, rtol=1e-10)
    # The density of each coefficient loses its factor P^½.
    assert near.log_evidence_ - 1.5 * np.log(1e-12) == pytest.approx(flat.log_evidence_, rel=1e-9)


def test_a_prior_that_is_flat_in_one_direction() -> None:
    X, y = make_rows(30, 3)
    direction = np.array([[1.0], [1.0], [0.0]])
    P = direction @ direction.T
    model = BayesianLinearRegression(P).fit(X, y)
    assert model.a_n_ == (30 - 2 - 1) / 2  # two flat directions, and the intercept
    np.testing.assert_allclose(
        model.coef_, np.linalg.solve(30 * np.cov(X.T, ddof=0) + P, (X - X.mean(0)).T @ y)
    )


def test_constant_columns_and_open_directions() -> None:
    X, y = make_rows(30, 2)
    X = np.column_stack([X, np.full(30, 4.0)])
    proper = BayesianLinearRegression(2.0).fit(X, y)
    assert proper.coef_[2] == 0
    # The rows say nothing about it: its prior stays, times the noise that was learned.
    assert proper.sigma_[2, 2] == pytest.approx(proper.noise_variance_ / 2, rel=1e-13)
    flat = BayesianLinearRegression(0.0).fit(X, y)
    assert flat.rank_ == 2
    assert "stay open in 1 direction:" in flat.certificate_.notes[0]
    assert np.isnan(flat.sigma_[2]).all()
    assert np.isfinite(flat.sigma_[:2, :2]).all()
    assert np.isinf(flat.credible_interval().upper[3])
    assert np.isnan(flat.log_evidence_)
    off = X.copy()
    off[0, 2] = 5.0
    _, std = flat.predict(off, return_std=True)
    assert np.isinf(std[0])
    assert np.isfinite(std[1:]).all()
    with pytest.raises(ValueError, match="cannot be drawn from"):
        flat.sample(2)


def test_one_row() -> None:
    X, y = np.array([[1.0, 2.0]]), np.array([3.0])
    vague = BayesianLinearRegression().fit(X, y)
    assert vague.a_n_ == 0
    assert np.isnan(vague.noise_variance_)
    assert np.isnan(vague.predict_interval(X)).all()
    assert "too few rows" in vague.certificate_.notes[0]
    assert vague.predict(X)[0] == 3.0
    proper = BayesianLinearRegression(a0=2.0, b0=1.0).fit(X, y)
    assert proper.b_n_ == 1.0  # the intercept takes it all
    assert proper.noise_variance_ == 1 / 1.5
    np.testing.assert_allclose(proper.sigma_, np.eye(2) / 1.5)


def test_a_constant_target() -> None:
    X, _ = make_rows(30, 3)
    model = BayesianLinearRegression().fit(X, np.full(30, 7.0))
    assert not model.coef_.any()
    assert model.noise_variance_ == 0
    assert model.log_evidence_ == np.inf
    mean, std = model.predict(X, return_std=True)
    assert (mean == 7).all()
    assert (std == 0).all()


@pytest.mark.parametrize("scale", [2.0**-300, 2.0**400])
def test_very_large_and_very_small_columns(scale: float) -> None:
    X, y = make_rows(40, 3)
    plain = BayesianLinearRegression(3.0).fit(X, y)
    scaled = BayesianLinearRegression(3.0 * scale**2).fit(X * scale, y)
    np.testing.assert_allclose(scaled.coef_ * scale, plain.coef_, rtol=1e-13)
    np.testing.assert_allclose(scaled.sigma_ * scale**2, plain.sigma_, rtol=1e-13)
    assert scaled.log_evidence_ == pytest.approx(plain.log_evidence_, rel=1e-12)


@pytest.mark.parametrize("intercept", [True, False])
def test_more_columns_than_rows(intercept: bool) -> None:
    """From the side of the rows: (A + αI)⁻¹ = (I − Zᵀ(ZZᵀ + αI)⁻¹Z)/α."""
    X, y = make_rows(25, 300)
    model = BayesianLinearRegression(2.0, fit_intercept=intercept).fit(X, y)
    Z = X - X.mean(axis=0) if intercept else X
    inner = np.linalg.solve(Z @ Z.T + 2 * np.eye(25), Z)
    V = (np.eye(300) - Z.T @ inner) / 2
    np.testing.assert_allclose(model.sigma_, V * model.noise_variance_, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(model.coef_, inner.T @ y, rtol=1e-9)
    assert model.certificate_.holds


# --- the statistic -------------------------------------------------------------------------

LEARNED = ("coef_", "intercept_", "sigma_", "noise_variance_", "log_evidence_")


def same(one: Any, other: Any, tolerance: float = 1e-11) -> None:
    for name in LEARNED:
        np.testing.assert_allclose(getattr(one, name), getattr(other, name), rtol=tolerance)


@pytest.mark.parametrize(
    "options", [{}, {"evidence": "maximise"}, {"noise_variance": 2.0}], ids="ped"
)
def test_update_forget_and_merge(options: dict[str, Any]) -> None:
    X, y = make_rows(90, 3)
    whole = BayesianLinearRegression(**options).fit(X, y)
    parts = [BayesianLinearRegression(**options).fit(X[i::3], y[i::3]) for i in range(3)]
    same(sum(parts), whole)
    grown = BayesianLinearRegression(**options).fit(X[:50], y[:50]).update(X[50:], y[50:])
    same(grown, whole)
    same(grown.forget(X[50:], y[50:]), BayesianLinearRegression(**options).fit(X[:50], y[:50]))


def test_refit_is_a_fit_without_the_rows() -> None:
    X, y = make_rows(60, 3)
    model = BayesianLinearRegression().fit(X, y)
    for options in (
        {"prior_precision": [1.0, 2.0, 3.0]},
        {"prior_precision": precision_matrix(3), "prior_mean": [1.0, 0.0, -1.0]},
        {"a0": 1.0, "b0": 2.0},
        {"fit_intercept": False},
        {"evidence": "maximise"},
        {"a0": None, "b0": None, "noise_variance": 3.0},
        {"evidence": None, "noise_variance": None},
    ):
        model.refit(**options)
        same(model, BayesianLinearRegression(**model.get_params()).fit(X, y), 1e-15)
    with pytest.raises(ValueError, match="positive semi-definite"):
        model.refit(prior_precision=-np.ones((3, 3)))
    same(model, BayesianLinearRegression(**model.get_params()).fit(X, y), 1e-15)


def test_saved_with_its_posterior(tmp_path: Any) -> None:
    X, y = make_rows(60, 3)
    model = BayesianLinearRegression(precision_matrix(3), evidence="maximise").fit(X, y)
    model.save(tmp_path / "model")
    loaded = suffice.load(tmp_path / "model")
    same(loaded, model, 0)
    assert loaded.predict(X, return_std=True)[1].tobytes() == (
        model.predict(X, return_std=True)[1].tobytes()
    )


MODELS = {
    "number": {},
    "columns": {"prior_precision": [1.0, 2.0, 5.0]},
    "mean": {"prior_mean": 1.0},
    "matrix": {"prior_precision": precision_matrix(3), "prior_mean": [1.0, 2.0, 3.0]},
    "evidence": {"evidence": "maximise"},
}


@pytest.mark.parametrize("options", MODELS.values(), ids=MODELS)
@pytest.mark.parametrize("metric", ["r2", "neg_mean_squared_error", "neg_mean_absolute_error"])
@pytest.mark.parametrize("splitter", [model_selection.KFold(5), model_selection.LeaveOneOut()])
def test_cross_validation_in_one_pass(options: Any, metric: str, splitter: Any) -> None:
    if metric == "r2" and not isinstance(splitter, model_selection.KFold):
        pytest.skip("R² of one row is undefined")
    X, y = make_rows(20, 3)
    model = BayesianLinearRegression(**options)
    ours = suffice.cross_validate(model, X, y, cv=splitter, scoring=metric)
    theirs = model_selection.cross_validate(model, X, y, cv=splitter, scoring=metric)
    np.testing.assert_allclose(ours["test_score"], theirs["test_score"], rtol=1e-10)


# --- bad input -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"prior_precision": -1.0}, "prior_precision"),
        ({"prior_precision": [1.0, -1.0]}, "must not be negative"),
        ({"prior_precision": [1.0, np.nan]}, "prior_precision must be finite"),
        ({"prior_precision": [1.0, 2.0, 3.0]}, "each of the 2 columns"),
        ({"prior_precision": np.eye(3)}, r"matrix of shape \(2, 2\)"),
        ({"prior_precision": [[1.0, 2.0], [0.0, 1.0]]}, "symmetric"),
        ({"prior_precision": [[1.0, 2.0], [2.0, 1.0]]}, "eigenvalue -1"),
        ({"prior_precision": [["a", "b"], ["c", "d"]]}, "must hold numbers"),
        ({"prior_mean": [1.0, 2.0, 3.0]}, "prior_mean must be one number"),
        ({"prior_mean": np.inf}, "prior_mean must be finite"),
        ({"a0": np.nan}, "a0 must be finite"),
        ({"b0": -1.0}, "b0"),
        ({"noise_variance": 0.0}, "noise_variance"),
        ({"noise_variance": 1.0, "a0": 1.0}, "leave a0 and b0 out"),
        ({"evidence": "maximize"}, "evidence"),
        ({"evidence": "maximise", "a0": -50.0}, "a larger a0"),
    ],
)
def test_bad_parameters(options: dict[str, Any], message: str) -> None:
    X, y = make_rows(10, 2)
    model = BayesianLinearRegression(**options)
    with pytest.raises(ValueError, match=message):
        model.fit(X, y)
    assert not hasattr(model, "coef_")


def test_bad_rows_and_calls() -> None:
    X, y = make_rows(10, 2)
    model = BayesianLinearRegression()
    with pytest.raises(NotFittedError):
        model.credible_interval()
    with pytest.raises(NotFittedError):
        model.predict_interval(X)
    with pytest.raises(NotFittedError):
        model.sample()
    with pytest.raises(ValueError, match="1d array"):
        model.fit(X, np.column_stack([y, y]))
    with pytest.warns(DataConversionWarning):
        assert model.fit(X, y[:, None]).coef_.shape == (2,)
    with pytest.raises(ValueError, match="non-zero"):
        model.fit(X, y, sample_weight=np.zeros(10))
    for confidence in (0.0, 1.0, -2.0):
        with pytest.raises(ValueError, match="confidence must lie between 0 and 1"):
            model.predict_interval(X, confidence)
        with pytest.raises(ValueError, match="confidence must lie between 0 and 1"):
            model.credible_interval(confidence)


def test_several_targets_of_a_source_are_refused(tmp_path: Any) -> None:
    X, y = make_rows(10, 2)
    pd.DataFrame({"a": X[:, 0], "y": y, "z": y}).to_parquet(tmp_path / "rows.parquet")
    source = suffice.scan(tmp_path / "rows.parquet", target=["y", "z"])
    with pytest.raises(ValueError, match="learns one target, and here are 2"):
        BayesianLinearRegression().fit(source)


def test_too_many_columns_are_refused() -> None:
    X = sparse.csr_array((3, MOST_COLUMNS + 1))
    with pytest.raises(ValueError, match=f"{MOST_COLUMNS} or fewer are accepted"):
        BayesianLinearRegression().fit(X, [1.0, 2.0, 3.0])


def test_the_search_for_the_maximum_knows_its_ends() -> None:
    X, y = make_rows(20, 2)
    model = BayesianLinearRegression().fit(X, np.full(20, 2.0))
    found = maximise(
        model._equations(model.statistics_), CoefficientPrior.of(1.0, 0.0, 2), None, 0.0, 0.0
    )
    assert found.end == "prior"
    assert found.steps == []
    model.fit(X, y)
    found = maximise(
        model._equations(model.statistics_), CoefficientPrior.of(1.0, 0.0, 2), None, 0.0, 0.0
    )
    assert found.end == ""
    assert found.curvature < 0


def test_vague_noise_is_the_limit_of_its_priors() -> None:
    """log Γ and b₀^a₀ are all that a proper prior of the noise adds."""
    X, y = make_rows(12, 2)
    a0, b0 = 1e-7, 1e-9
    proper = BayesianLinearRegression(a0=a0, b0=b0).fit(X, y).log_evidence_
    improper = BayesianLinearRegression(a0=0.0, b0=0.0).fit(X, y).log_evidence_
    constant = a0 * np.log(b0) - special.gammaln(a0)
    assert proper - constant == pytest.approx(improper, abs=1e-5)
