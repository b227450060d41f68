"""Sandwich covariances and tests of hypotheses: exact sums, statsmodels, streams, errors."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm
from scipy import sparse

import suffice
from suffice import LinearRegression
from suffice.linear.inference.uncertainty import inverse_root
from suffice.statistics.counts.labelled import LabelledSums
from tests.linear.exact import solve

KINDS = ("HC0", "HC1", "HC2", "HC3")


def made(n: int = 120, d: int = 4, seed: int = 0) -> tuple[Any, Any, Any]:
    """Rows whose noise grows with a column, and clusters that share an error."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    groups = rng.integers(0, 17, size=n)
    y = X @ np.arange(1, d + 1) + 2 + (1 + np.abs(X[:, 0])) * rng.normal(size=n)
    return X, y + rng.normal(size=17)[groups], groups


def statsmodels_fit(X: Any, y: Any, kind: str, groups: Any = None, intercept: bool = True) -> Any:
    design = sm.add_constant(X, has_constant="add") if intercept else X
    extra = {"cov_kwds": {"groups": groups}} if kind == "cluster" else {}
    return sm.OLS(y, design).fit(cov_type=kind, use_t=True, **extra)


def assert_same(ours: Any, theirs: Any, rtol: float = 1e-9) -> None:
    interval = np.asarray(theirs.conf_int(0.05))
    for name, value in {
        "coef": theirs.params,
        "std_err": theirs.bse,
        "t": theirs.tvalues,
        "p": theirs.pvalues,
        "lower": interval[:, 0],
        "upper": interval[:, 1],
        "f": float(np.squeeze(theirs.fvalue)),
        "f_p": float(np.squeeze(theirs.f_pvalue)),
    }.items():
        np.testing.assert_allclose(getattr(ours, name), value, rtol=rtol, atol=1e-300, err_msg=name)
    covariance = np.asarray(theirs.cov_params())
    size = np.sqrt(np.outer(np.diag(covariance), np.diag(covariance)))
    np.testing.assert_allclose(ours.covariance / size, covariance / size, rtol=0, atol=rtol)


def exact_sandwich(X: Any, y: Any, kind: str, groups: Any = None) -> Any:
    """Variances of intercept and coefficients, without any rounding until the end."""
    A = [[Fraction(1), *(Fraction(float(v)) for v in row)] for row in X]
    n, p = len(A), len(A[0])
    target = [Fraction(float(v)) for v in y]
    gram = [[sum(a[i] * a[j] for a in A) for j in range(p)] for i in range(p)]
    cross = [sum(a[i] * t for a, t in zip(A, target, strict=True)) for i in range(p)]
    identity = [[Fraction(int(i == j)) for j in range(p)] for i in range(p)]
    theta, *inverse = solve(gram, [cross, *identity])
    influence = [[sum(inverse[j][i] * v for i, v in enumerate(a)) for j in range(p)] for a in A]
    leverage = [
        sum(u * v for u, v in zip(f, a, strict=True)) for f, a in zip(influence, A, strict=True)
    ]
    residual = [
        t - sum(c * v for c, v in zip(theta, a, strict=True))
        for a, t in zip(A, target, strict=True)
    ]
    power = {"HC2": 1, "HC3": 2}.get(kind, 0)
    if kind == "cluster":
        sums = [[Fraction(0)] * p for _ in range(max(groups) + 1)]
        for g, e, f in zip(groups, residual, influence, strict=True):
            sums[g] = [s + e * v for s, v in zip(sums[g], f, strict=True)]
        G = len(set(groups))
        factor = Fraction(G * (n - 1), (G - 1) * (n - p))
        return [float(factor * sum(s[j] ** 2 for s in sums)) for j in range(p)]
    weights = [e * e / (1 - h) ** power for e, h in zip(residual, leverage, strict=True)]
    factor = Fraction(n, n - p) if kind == "HC1" else Fraction(1)
    return [
        float(factor * sum(w * f[j] ** 2 for w, f in zip(weights, influence, strict=True)))
        for j in range(p)
    ]


# --- against oracles -----------------------------------------------------------------------


@pytest.mark.parametrize("kind", [*KINDS, "cluster"])
def test_ill_scaled_columns_to_twelve_digits(kind: str) -> None:
    X, y, groups = made(40, 3)
    X = X * [1e8, 1.0, 1e-6] + [1e6, 1e6, 0.0]
    groups = np.unique(groups, return_inverse=True)[1]
    given = groups if kind == "cluster" else None
    ours = LinearRegression().fit(X, y).summary(cov=kind, X=X, y=y, clusters=given)
    exact = np.sqrt(exact_sandwich(X, y, kind, groups.tolist()))
    np.testing.assert_allclose(ours.std_err, exact, rtol=1e-12)


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("kind", [*KINDS, "cluster"])
def test_equals_statsmodels(kind: str, intercept: bool) -> None:
    X, y, groups = made()
    given = groups if kind == "cluster" else None
    model = LinearRegression(fit_intercept=intercept).fit(X, y)
    ours = model.summary(cov=kind, X=X, y=y, clusters=given)
    assert ours.cov == kind
    assert_same(ours, statsmodels_fit(X, y, kind, groups, intercept))
    assert ours.df_residual == len(y) - 4 - intercept
    assert ours.uncertainty.df == (len(set(groups)) - 1 if kind == "cluster" else ours.df_residual)


@pytest.mark.parametrize("kind", KINDS)
def test_real_data_equals_statsmodels(diabetes: Any, kind: str) -> None:
    X, y = diabetes
    ours = LinearRegression().fit(X, y).summary(cov=kind, X=X, y=y)
    theirs = sm.OLS(y, sm.add_constant(X)).fit(method="qr").get_robustcov_results(kind)
    assert_same(ours, theirs)


@pytest.mark.parametrize("kind", [*KINDS, "cluster"])
def test_weights_are_repetitions(kind: str) -> None:
    X, y, groups = made(60)
    copies = np.random.default_rng(1).integers(0, 4, size=60)
    model = LinearRegression().fit(X, y, sample_weight=copies)
    y_given = np.where(copies, y, np.nan)  # rows of weight 0 do not exist
    given = groups if kind == "cluster" else None
    ours = model.summary(cov=kind, X=X, y=y_given, sample_weight=copies, clusters=given)
    repeated = [np.repeat(values, copies, axis=0) for values in (X, y, groups)]
    assert_same(ours, statsmodels_fit(repeated[0], repeated[1], kind, repeated[2]))


@pytest.mark.parametrize("kind", [*KINDS, "cluster"])
def test_several_targets_are_each_their_own(kind: str) -> None:
    X, y, groups = made()
    Y = np.column_stack([y, np.cos(y)])
    given = groups if kind == "cluster" else None
    ours = LinearRegression().fit(X, Y).summary(cov=kind, X=X, y=Y, clusters=given)
    assert ours.covariance.shape == (2, 5, 5)
    for k in range(2):
        theirs = statsmodels_fit(X, Y[:, k], kind, groups)
        np.testing.assert_allclose(ours.std_err[:, k], theirs.bse, rtol=1e-9)
        assert ours.f[k] == pytest.approx(float(np.squeeze(theirs.fvalue)), rel=1e-9)


@pytest.mark.parametrize("kind", [*KINDS, "cluster"])
def test_dependent_columns_have_no_standard_error_and_hurt_no_other(kind: str) -> None:
    X, y, groups = made()
    given = groups if kind == "cluster" else None
    wide = np.column_stack([X, 2.0**20 * X[:, 3], np.full(len(y), 7.0)])
    ours = LinearRegression().fit(wide, y).summary(cov=kind, X=wide, y=y, clusters=given)
    alone = LinearRegression().fit(X, y).summary(cov=kind, X=X, y=y, clusters=given)
    assert np.isnan(ours.std_err).tolist() == [True, False, False, False, True, True, True]
    np.testing.assert_allclose(ours.std_err[1:4], alone.std_err[1:4], rtol=1e-10)
    assert ours.f == pytest.approx(alone.f, rel=1e-10)
    assert np.isnan(ours.covariance[0]).all()
    plain = LinearRegression().fit(wide, y).summary()
    assert np.isnan(plain.std_err).tolist() == np.isnan(ours.std_err).tolist()


def test_dummies_of_a_factor_leave_the_intercept_open_but_not_their_differences() -> None:
    X, y, groups = made()
    dummies = np.eye(3)[groups % 3]
    wide = np.column_stack([dummies, X])
    summary = LinearRegression().fit(wide, y).summary()
    assert np.isnan(summary.std_err).tolist() == [True] * 4 + [False] * 4
    difference = summary.wald_test([0, -1, 1, 0, 0, 0, 0, 0])
    design = sm.add_constant(np.column_stack([dummies[:, 1:], X]))
    theirs = sm.OLS(y, design).fit()
    np.testing.assert_allclose(difference.estimate[0], theirs.params[1], rtol=1e-10)
    np.testing.assert_allclose(difference.std_err[0], theirs.bse[1], rtol=1e-10)
    with pytest.raises(ValueError, match=r"leave row 0 .* undetermined"):
        summary.wald_test("x0")


def test_sparse_rows_give_what_dense_rows_give() -> None:
    X, y, _ = made(300)
    X = np.where(np.abs(X) > 0.7, X, 0.0)
    model = LinearRegression().fit(X, y)
    for kind in KINDS:
        dense = model.summary(cov=kind, X=X, y=y)
        ours = model.summary(cov=kind, X=sparse.csr_array(X), y=y)
        np.testing.assert_allclose(ours.std_err, dense.std_err, rtol=1e-12)


# --- clusters ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "label",
    [
        lambda g: g.astype(np.float64) / 3,
        lambda g: np.array([f"Straße {i}" for i in g]),
        lambda g: np.array([f"東京 {i}" for i in g], dtype=object),
        lambda g: pd.Series(g).astype("category"),
        lambda g: np.datetime64("2020-01-01") + g,
        lambda g: (10**12 * (g - 5)).tolist(),
    ],
)
def test_labels_of_any_kind(label: Any) -> None:
    X, y, groups = made()
    model = LinearRegression().fit(X, y)
    plain = model.summary(cov="cluster", X=X, y=y, clusters=groups)
    ours = model.summary(cov="cluster", X=X, y=y, clusters=label(groups))
    np.testing.assert_allclose(ours.std_err, plain.std_err, rtol=1e-13)


def test_every_row_its_own_cluster_is_hc0_with_the_factor_of_clusters() -> None:
    X, y, _ = made()
    model, n = LinearRegression().fit(X, y), len(y)
    ours = model.summary(cov="cluster", X=X, y=y, clusters=np.arange(n))
    plain = model.summary(cov="HC0", X=X, y=y)
    np.testing.assert_allclose(ours.std_err, plain.std_err * np.sqrt(n / (n - 5)), rtol=1e-12)


def test_fewer_clusters_than_coefficients_test_nothing_at_once() -> None:
    X, y, groups = made()
    summary = LinearRegression().fit(X, y).summary(cov="cluster", X=X, y=y, clusters=groups % 3)
    assert np.isfinite(summary.std_err).all()
    assert np.isnan(summary.f)
    assert np.isnan(summary.wald_test(np.eye(5)).statistic)
    assert summary.wald_test("x1").p == pytest.approx(summary.p[2], rel=1e-10)


def test_files_frames_and_threads_give_the_same_bits(tmp_path: Any) -> None:
    X, y, groups = made(60_000, 4)
    frame = pd.DataFrame(X, columns=list("abcd")).assign(y=y, firm=groups.astype(str))
    frame["district"] = groups % 5
    paths = [tmp_path / "1.parquet", tmp_path / "2.parquet"]
    for path, part in zip(paths, (frame[:35_000], frame[35_000:]), strict=True):
        part.to_parquet(path)
    names = ["a", "b", "c", "d", "district"]
    source = suffice.scan(paths, target="y", features=names)
    firms = suffice.scan(paths, target="firm", features=["a"])
    model = LinearRegression(n_jobs=1).fit(source)
    two = LinearRegression(n_jobs=2).fit(frame[names], y)
    for kind, given, named in (
        ("HC3", None, None),
        ("cluster", frame["firm"], firms),
        ("cluster", groups % 5, "district"),
    ):
        ours = model.summary(cov=kind, X=source, clusters=named)
        same = two.summary(cov=kind, X=frame[names], y=y, clusters=given)
        assert ours.std_err.tobytes() == same.std_err.tobytes()


def test_labels_merge_as_they_come() -> None:
    rng = np.random.default_rng(0)
    labels, rows = rng.integers(0, 9, 50).astype(str), rng.integers(-9, 9, (50, 2)).astype(float)
    parts = [LabelledSums.summarize(labels[i : i + 7], rows[i : i + 7]) for i in range(0, 50, 7)]
    merged = LabelledSums.merge([LabelledSums.zero(2), *parts])
    assert merged.labels.tolist() == sorted(set(labels))
    for label, found in zip(merged.labels, merged.sums, strict=True):
        assert found.tolist() == rows[labels == label].sum(axis=0).tolist()
    assert len(LabelledSums.merge([LabelledSums.zero(2)] * 2).labels) == 0


# --- hypotheses ----------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["nonrobust", "HC3", "cluster"])
def test_wald_tests_equal_statsmodels(kind: str) -> None:
    X, y, groups = made()
    rows = {} if kind == "nonrobust" else {"X": X, "y": y}
    given = groups if kind == "cluster" else None
    ours = LinearRegression().fit(X, y).summary(cov=kind, clusters=given, **rows)
    theirs = statsmodels_fit(X, y, kind, groups)
    R = np.array([[0, 1, -1, 0, 0], [1, 0, 0, 2, 0], [0, 1, 0, 0, -0.25]])
    for matrix, value in ((R, 0.0), (R, [-1.0, 8.0, 0.1]), (R[:1], 0.5), (R[0], 0.0)):
        test = ours.wald_test(matrix, value)
        pair = np.atleast_2d(matrix), np.broadcast_to(value, len(np.atleast_2d(matrix)))
        f_test = theirs.f_test(pair)
        assert test.distribution == "F"
        assert test.statistic == pytest.approx(float(np.squeeze(f_test.fvalue)), rel=1e-9)
        assert test.p == pytest.approx(float(f_test.pvalue), rel=1e-8)
        assert (test.df, test.df_residual) == (f_test.df_num, f_test.df_denom)
        t_test = theirs.t_test(pair)
        np.testing.assert_allclose(test.t, np.ravel(t_test.tvalue), rtol=1e-9)
        np.testing.assert_allclose(test.t_p, np.ravel(t_test.pvalue), rtol=1e-8)
        np.testing.assert_allclose(test.std_err, np.ravel(t_test.sd), rtol=1e-9)


def test_coefficients_are_tested_by_name(diabetes: Any) -> None:
    X, y = diabetes
    frame = pd.DataFrame(X[:, :4], columns=["age", "sex", "bmi", "bp"])
    summary = LinearRegression().fit(frame, y).summary()
    both = summary.wald_test(["age", "bp"])
    matrix = np.zeros((2, 5))
    matrix[0, 1] = matrix[1, 4] = 1
    assert both.statistic == summary.wald_test(matrix).statistic
    assert str(both).startswith("F(2, 437) ")
    assert repr(both) == str(both)
    everything = summary.wald_test(["age", "sex", "bmi", "bp"])
    assert everything.statistic == pytest.approx(summary.f, rel=1e-10)
    repeated = summary.wald_test(["age", "bp", "age"])  # says the same twice
    assert repeated.df == 2
    assert repeated.statistic == pytest.approx(both.statistic, rel=1e-10)
    with pytest.raises(ValueError, match="'height' is not among the coefficients"):
        summary.wald_test(["age", "height"])


def test_wald_tests_of_several_targets() -> None:
    X, y, _ = made()
    Y = np.column_stack([y, np.cos(y)])
    test = LinearRegression().fit(X, Y).summary().wald_test(["x0", "x1"])
    for k in range(2):
        alone = LinearRegression().fit(X, Y[:, k]).summary().wald_test(["x0", "x1"])
        assert test.statistic[k] == pytest.approx(alone.statistic, rel=1e-10)
        np.testing.assert_allclose(test.t[:, k], alone.t, rtol=1e-10)
    assert len(str(test).splitlines()) == 2


def test_likelihood_ratio_equals_statsmodels() -> None:
    X, y, _ = made()
    large, small = LinearRegression().fit(X, y), LinearRegression().fit(X[:, :2], y)
    test = large.summary().likelihood_ratio_test(small)
    larger, smaller = (sm.OLS(y, sm.add_constant(x)).fit() for x in (X, X[:, :2]))
    expected = larger.compare_lr_test(smaller)
    np.testing.assert_allclose((test.statistic, test.p, test.df), expected, rtol=1e-9)
    assert str(test).startswith("chi2(2) ")
    assert large.summary().likelihood_ratio_test(small.summary()).p == test.p


def test_models_that_are_not_nested_are_refused() -> None:
    X, y, _ = made()
    large, small = LinearRegression().fit(X, y), LinearRegression().fit(X[:, :2], y)
    with pytest.raises(ValueError, match="call the test on the larger"):
        small.summary().likelihood_ratio_test(large)
    with pytest.raises(ValueError, match="different rows"):
        large.summary().likelihood_ratio_test(LinearRegression().fit(X[:90, :2], y[:90]))
    other = LinearRegression().fit(np.cos(y)[:, None], y).summary()
    better = LinearRegression().fit(y[:, None] + 1e-3 * X[:, :1], y).summary()
    assert better.log_likelihood > other.log_likelihood
    with pytest.raises(ValueError, match="not nested"):
        LinearRegression().fit(X, y).summary().likelihood_ratio_test(better)


@pytest.mark.parametrize(
    "R", [np.zeros((0, 5)), np.eye(4), [[1, 0, np.nan, 0, 0]], np.zeros((2, 2, 5)), []]
)
def test_odd_hypotheses_are_refused(R: Any) -> None:
    X, y, _ = made()
    with pytest.raises(ValueError, match="R must hold names"):
        LinearRegression().fit(X, y).summary().wald_test(R)


def test_values_must_fit_the_hypotheses() -> None:
    X, y, _ = made()
    summary = LinearRegression().fit(X, y).summary()
    with pytest.raises(ValueError, match="value must be one number, or one for each of the 2 rows"):
        summary.wald_test(["x0", "x1"], [1, 2, 3])
    with pytest.raises(ValueError, match="finite"):
        summary.wald_test("x0", np.inf)


# --- bad input -----------------------------------------------------------------------------


def test_errors_say_what_is_needed() -> None:
    X, y, groups = made()
    model = LinearRegression().fit(X, y)
    with pytest.raises(ValueError, match="cov must be one of 'nonrobust', 'HC0'"):
        model.summary(cov="HC4")
    with pytest.raises(ValueError, match="one more pass over the rows"):
        model.summary(cov="HC1")
    with pytest.raises(ValueError, match="go together"):
        model.summary(cov="cluster", X=X, y=y)
    with pytest.raises(ValueError, match="go together"):
        model.summary(cov="HC1", X=X, y=y, clusters=groups)
    with pytest.raises(ValueError, match="not the rows of the fit"):
        model.summary(cov="HC1", X=X[1:], y=y[1:])
    with pytest.raises(ValueError, match="expecting 4 features"):
        model.summary(cov="HC1", X=X[:, 1:], y=y)
    with pytest.raises(ValueError, match="shape"):
        model.summary(cov="HC1", X=X, y=np.column_stack([y, y]))
    with pytest.raises(ValueError, match="NaN"):
        model.summary(cov="HC1", X=np.where(X > 2, np.nan, X), y=y)
    with pytest.raises(ValueError, match="go together"):
        model.summary(X=X, y=y, clusters=groups)


def test_errors_about_clusters() -> None:
    X, y, groups = made()
    model = LinearRegression().fit(X, y)
    for clusters, message in (
        (groups[1:], "one label for each is needed"),
        (np.zeros(len(y)), "at least two clusters"),
        (np.where(groups == 3, np.nan, groups), "a label is missing"),
        ("firm", "not among the columns"),
        (suffice.sources.as_source(X), "without a target"),
        (np.array([1, "a"] * (len(y) // 2), dtype=object), "labels must be of one kind"),
    ):
        with pytest.raises(ValueError, match=message):
            model.summary(cov="cluster", X=X, y=y, clusters=clusters)


def test_too_many_clusters_are_refused(monkeypatch: Any) -> None:
    X, y, groups = made()
    monkeypatch.setattr("suffice.linear.inference.sandwich.MOST_CLUSTER_CELLS", 60)
    with pytest.raises(ValueError, match="17 clusters of 5 parameters"):
        LinearRegression().fit(X, y).summary(cov="cluster", X=X, y=y, clusters=groups)


def test_a_row_that_decides_a_coefficient_alone() -> None:
    X, y, _ = made(30, 2)
    X = np.column_stack([X, np.arange(30) == 4])
    model = LinearRegression().fit(X, y)
    for kind in ("HC2", "HC3"):
        with pytest.raises(ValueError, match=r"row 4 .* decides a coefficient alone"):
            model.summary(cov=kind, X=X, y=y)
        weight = np.arange(30) > 1  # which leaves the rows their numbers
        some = LinearRegression().fit(X, y, sample_weight=weight)
        with pytest.raises(ValueError, match=r"row 4 .* decides a coefficient alone"):
            some.summary(cov=kind, X=X, y=y, sample_weight=weight)
    assert np.isfinite(model.summary(cov="HC1", X=X, y=y).std_err).all()


def test_the_table_says_where_its_standard_errors_come_from() -> None:
    X, y, groups = made()
    model = LinearRegression().fit(X, y)
    assert "covariance" not in str(model.summary())
    assert "covariance: heteroscedasticity-consistent (HC3)" in str(
        model.summary(cov="HC3", X=X, y=y)
    )
    text = str(model.summary(cov="cluster", X=X, y=y, clusters=groups))
    assert "covariance: 17 clusters" in text
    assert "F(4, 16)" in text


def test_an_inverse_root_leaves_out_what_is_open() -> None:
    rng = np.random.default_rng(0)
    A = rng.normal(size=(50, 3)) * [1e8, 1.0, 1e-8]
    A = np.column_stack([A, A[:, 0]])
    root, null_space = inverse_root(A.T @ A)
    assert root.shape == (4, 3)
    assert null_space.any(axis=1).tolist() == [True, False, False, True]
    exact = np.linalg.inv((A.T @ A)[:3, :3])
    np.testing.assert_allclose((root @ root.T)[1, 1], exact[1, 1], rtol=1e-9)
