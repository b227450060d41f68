"""Covariances and tests of generalised linear models: statsmodels, then plain formulas."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import statsmodels.api as sm
from scipy import stats

from suffice import GeneralizedLinearModel

LINKS = sm.families.links
CASES = {
    ("poisson", "log"): sm.families.Poisson(),
    ("poisson", "sqrt"): sm.families.Poisson(LINKS.Sqrt()),
    ("gamma", "log"): sm.families.Gamma(LINKS.Log()),
    ("gaussian", "identity"): sm.families.Gaussian(),
    ("gaussian", "log"): sm.families.Gaussian(LINKS.Log()),
    ("binomial", "logit"): sm.families.Binomial(),
    ("binomial", "probit"): sm.families.Binomial(LINKS.Probit()),
    ("binomial", "cloglog"): sm.families.Binomial(LINKS.CLogLog()),
    ("inverse_gaussian", "log"): sm.families.InverseGaussian(LINKS.Log()),
}


def made(family: str, link: str) -> tuple[Any, Any, Any]:
    rng = np.random.default_rng(0)
    X, groups = rng.normal(size=(300, 3)) / 3, rng.integers(0, 19, size=300)
    mu = CASES[family, link].link.inverse(X @ [0.4, -0.3, 0.2] + 1.3 * (family != "binomial"))
    draw = {
        "poisson": rng.poisson,
        "gamma": lambda m: rng.gamma(2.0, m / 2),
        "gaussian": lambda m: np.abs(m + 0.3 * rng.normal(size=len(m))) + 0.1,
        "binomial": lambda m: (rng.random(len(m)) < m).astype(float),
        "inverse_gaussian": lambda m: rng.wald(m, 3.0),
    }
    return X, draw[family](mu).astype(float), groups


@pytest.mark.filterwarnings("ignore::statsmodels.tools.sm_exceptions.DomainWarning")
@pytest.mark.parametrize("kind", ["nonrobust", "HC0", "cluster"])
@pytest.mark.parametrize(("family", "link"), CASES)
def test_equals_statsmodels(family: str, link: str, kind: str) -> None:
    X, y, groups = made(family, link)
    rows: dict[str, Any] = {} if kind == "nonrobust" else {"X": X, "y": y}
    options: dict[str, Any] = {"cov_type": kind}
    if kind == "cluster":
        rows["clusters"], options["cov_kwds"] = groups, {"groups": groups}
    model = GeneralizedLinearModel(family, link, tol=1e-12).fit(X, y)
    ours = model.summary(cov=kind, **rows)
    theirs = sm.GLM(y, sm.add_constant(X), family=CASES[family, link]).fit(tol=1e-14, **options)
    np.testing.assert_allclose(ours.coef, theirs.params, rtol=1e-8)
    np.testing.assert_allclose(ours.std_err, theirs.bse, rtol=1e-8)
    np.testing.assert_allclose(ours.p, theirs.pvalues, rtol=1e-6)
    test = theirs.wald_test(np.eye(4)[1:3], scalar=True)
    assert ours.wald_test(["x0", "x1"]).statistic == pytest.approx(test.statistic, rel=1e-8)
    assert ours.wald_test(["x0", "x1"]).p == pytest.approx(float(test.pvalue), rel=1e-6)


@pytest.mark.parametrize("kind", ["HC0", "HC1", "HC2", "HC3", "cluster"])
@pytest.mark.parametrize("link", ["log", "sqrt"])
def test_weights_are_repetitions(link: str, kind: str) -> None:
    X, y, groups = made("poisson", link)
    copies = np.random.default_rng(1).integers(0, 4, size=len(y))
    repeated = [np.repeat(values, copies, axis=0) for values in (X, y, groups)]
    rows: dict[str, Any] = {"X": X, "y": y, "sample_weight": copies}
    plain: dict[str, Any] = {"X": repeated[0], "y": repeated[1]}
    if kind == "cluster":
        rows["clusters"], plain["clusters"] = groups, repeated[2]
    model = GeneralizedLinearModel("poisson", link, tol=1e-12)
    ours = model.fit(X, y, sample_weight=copies).summary(cov=kind, **rows)
    theirs = model.fit(*repeated[:2]).summary(cov=kind, **plain)
    np.testing.assert_allclose(ours.std_err, theirs.std_err, rtol=1e-8)


def test_a_gaussian_model_has_the_sandwiches_of_least_squares() -> None:
    X, y, groups = made("gaussian", "identity")
    model, design = GeneralizedLinearModel("gaussian").fit(X, y), sm.add_constant(X)
    for kind in ("HC0", "HC1", "HC2", "HC3"):
        theirs = sm.OLS(y, design).fit(cov_type=kind)
        np.testing.assert_allclose(model.summary(cov=kind, X=X, y=y).std_err, theirs.bse, rtol=1e-9)
    theirs = sm.OLS(y, design).fit(cov_type="cluster", cov_kwds={"groups": groups})
    ours = model.summary(cov="cluster", X=X, y=y, clusters=groups)
    np.testing.assert_allclose(ours.std_err, theirs.bse, rtol=1e-9)


def test_likelihood_ratio_of_nested_models() -> None:
    X, y, _ = made("poisson", "log")
    large = GeneralizedLinearModel("poisson").fit(X, y)
    small = GeneralizedLinearModel("poisson").fit(X[:, :1], y)
    larger, smaller = (
        sm.GLM(y, sm.add_constant(x), family=sm.families.Poisson()).fit() for x in (X, X[:, :1])
    )
    test = large.summary().likelihood_ratio_test(small)
    assert test.statistic == pytest.approx(2 * (larger.llf - smaller.llf), rel=1e-8)
    assert test.df == 2
    penalised = GeneralizedLinearModel("poisson", alpha=0.1).fit(X[:, :1], y)
    with pytest.raises(ValueError, match="a penalised fit is none"):
        large.summary().likelihood_ratio_test(penalised)


# --- by the book ---------------------------------------------------------------------------


def slope(function: Any, eta: Any, h: float = 1e-3) -> Any:
    """The derivative of a smooth function, to about h⁴."""
    near, far = (function(eta + k * h) - function(eta - k * h) for k in (1, 2))
    return (8 * near - far) / (12 * h)


def sandwich(case: Any, A: Any, y: Any, eta: Any, kind: str, groups: Any, trials: Any = 1) -> Any:
    """H⁻¹ (Σ c s sᵀ) H⁻¹ with the observed H, and leverages by the expected one."""

    def score(eta: Any) -> Any:
        mu = case.link.inverse(eta)
        return trials * (y - mu) * case.link.inverse_deriv(eta) / case.variance(mu)

    n, p = A.shape
    S = score(eta)[:, None] * A
    bread = np.linalg.inv(-(A.T * slope(score, eta)) @ A)
    mu = case.link.inverse(eta)
    expected = trials * case.link.inverse_deriv(eta) ** 2 / case.variance(mu)
    H = (A.T * expected) @ A
    left = 1 - expected * np.sum(A @ np.linalg.inv(H) * A, axis=1)
    if kind == "cluster":
        G = len(set(groups))
        S = np.stack([S[groups == g].sum(axis=0) for g in set(groups)])
        meat = S.T @ S * G / (G - 1) * (n - 1) / (n - p)
    else:
        c = {"HC0": 1.0, "HC1": n / (n - p), "HC2": 1 / left, "HC3": 1 / left**2}[kind]
        meat = (S.T * c) @ S
    return bread @ meat @ bread


@pytest.mark.filterwarnings("ignore::statsmodels.tools.sm_exceptions.DomainWarning")
@pytest.mark.parametrize("kind", ["HC0", "HC1", "HC2", "HC3", "cluster"])
@pytest.mark.parametrize(("family", "link"), CASES)
def test_sandwiches_by_the_book(family: str, link: str, kind: str) -> None:
    X, y, groups = made(family, link)
    model = GeneralizedLinearModel(family, link, tol=1e-12).fit(X, y)
    A, given = sm.add_constant(X), {"clusters": groups} if kind == "cluster" else {}
    table = model.summary(cov=kind, X=X, y=y, **given)
    eta = A @ table.coef
    V = sandwich(CASES[family, link], A, y, eta, kind, groups)
    np.testing.assert_allclose(table.covariance, V, rtol=1e-8, atol=1e-8 * np.abs(V).max())
    np.testing.assert_allclose(table.std_err, np.sqrt(np.diag(V)), rtol=1e-8)
    # Wald: two coefficients, a contrast with a value, and one that is the square of z.
    for R, value in (
        (np.eye(4)[1:3], 0.0),
        (np.array([[0.0, 1, 1, 0], [0, 0, 1, -1]]), np.array([0.1, -0.2])),
        (np.eye(4)[[3]], 0.0),
    ):
        test, away = table.wald_test(R, value), R @ table.coef - value
        Q = away @ np.linalg.solve(R @ V @ R.T, away)
        assert test.statistic == pytest.approx(Q, rel=1e-7)
        assert test.df == len(R)
        assert test.distribution == "chi2"
        assert test.p == pytest.approx(stats.chi2.sf(Q, len(R)), rel=1e-6)
        np.testing.assert_allclose(test.std_err, np.sqrt(np.diag(R @ V @ R.T)), rtol=1e-8)
    assert table.wald_test("x2").statistic == pytest.approx(table.z[3] ** 2, rel=1e-12)


@pytest.mark.parametrize("kind", ["HC0", "HC1", "HC2", "HC3", "cluster"])
@pytest.mark.parametrize("link", ["logit", "probit"])
def test_sandwiches_of_counts_by_the_book(link: str, kind: str) -> None:
    X, _, groups = made("binomial", link)
    rng = np.random.default_rng(2)
    trials = rng.integers(1, 9, size=len(X))
    successes = rng.binomial(trials, 1 / (1 + np.exp(-X @ [1.0, -1, 0.5])))
    counts = np.column_stack([successes, trials - successes])
    model = GeneralizedLinearModel("binomial", link, tol=1e-12).fit(X, counts)
    given = {"clusters": groups} if kind == "cluster" else {}
    table, A = model.summary(cov=kind, X=X, y=counts, **given), sm.add_constant(X)
    case = CASES["binomial", link]
    V = sandwich(case, A, successes / trials, A @ table.coef, kind, groups, trials)
    np.testing.assert_allclose(table.covariance, V, rtol=1e-8, atol=1e-8 * np.abs(V).max())


def test_a_row_that_decides_alone_has_no_leverage_correction() -> None:
    X, y, _ = made("poisson", "log")
    X = np.column_stack([X, np.arange(len(y)) == 7])
    y[7] = 3.0
    model = GeneralizedLinearModel("poisson").fit(X, y)
    with pytest.raises(ValueError, match=r"row 7 .*decides a coefficient alone"):
        model.summary(cov="HC3", X=X, y=y)
    assert np.isfinite(model.summary(cov="HC1", X=X, y=y).std_err).all()


def test_errors_say_what_is_needed() -> None:
    X, y, groups = made("poisson", "log")
    model = GeneralizedLinearModel("poisson").fit(X, y)
    for ask, message in (
        (lambda: model.summary(cov="HC4", X=X, y=y), "cov must be one of"),
        (lambda: model.summary(cov="HC0"), "needs one more pass over the rows"),
        (lambda: model.summary(cov="cluster", X=X, y=y), "go together"),
        (lambda: model.summary(clusters=groups), "go together"),
        (lambda: model.summary(cov="HC0", X=X[:9], y=y[:9]), "not the rows of the fit"),
        (lambda: model.summary(cov="cluster", X=X, y=y, clusters=0 * groups), "two clusters"),
        (lambda: model.summary().wald_test("x9"), "'x9' is not among the coefficients"),
        (lambda: model.summary().wald_test(np.eye(3)), "rows of 4"),
    ):
        with pytest.raises(ValueError, match=message):
            ask()
