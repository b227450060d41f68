"""Inference about logistic regression: statsmodels and plain formulas, streams, then bad input."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm
from scipy import integrate, sparse, special, stats

import suffice
from suffice import LogisticRegression

COLUMNS = ("coef", "std_err", "z", "p", "lower", "upper")


def made(n: int = 400, classes: int = 2, seed: int = 0) -> tuple[Any, Any, Any]:
    """Rows of three columns, labels that depend on them, and clusters."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    eta = X @ rng.normal(size=(3, classes)) + 0.3 * rng.normal(size=classes)
    y = np.argmax(eta + rng.gumbel(size=eta.shape), axis=1)
    return X, y, rng.integers(0, 23, size=n)


def unpenalised(**params: Any) -> LogisticRegression:
    return LogisticRegression(C=np.inf, tol=1e-12, **params)


def logit(X: Any, y: Any, intercept: bool = True, **options: Any) -> Any:
    design = sm.add_constant(X) if intercept else X
    return sm.Logit(y, design).fit(disp=0, method="newton", tol=1e-14, **options)


def assert_same(ours: Any, theirs: Any, rtol: float = 1e-8) -> None:
    interval = np.asarray(theirs.conf_int(0.05))
    if interval.ndim == 3:  # a block a class
        interval = interval.transpose(1, 0, 2)
    for name, value in {
        "coef": theirs.params,
        "std_err": theirs.bse,
        "z": theirs.tvalues,
        "p": theirs.pvalues,
        "lower": interval[..., 0],
        "upper": interval[..., 1],
    }.items():
        np.testing.assert_allclose(getattr(ours, name), value, rtol=rtol, atol=0, err_msg=name)
    for name, value in {
        "log_likelihood": theirs.llf,
        "aic": theirs.aic,
        "bic": theirs.bic,
        "df_residual": theirs.df_resid,
        "df_model": theirs.df_model,
        "n": theirs.nobs,
    }.items():
        assert getattr(ours, name) == pytest.approx(value, rel=rtol), name


# --- against statsmodels -------------------------------------------------------------------


@pytest.mark.parametrize("intercept", [True, False])
def test_two_classes_equal_statsmodels(intercept: bool) -> None:
    X, y, _ = made()
    ours = unpenalised(fit_intercept=intercept).fit(X, y).summary()
    theirs = logit(X, y, intercept)
    if not intercept:  # which statsmodels miscounts without a constant
        theirs.df_model, theirs.df_resid = 3, len(y) - 3
    assert_same(ours, theirs)
    shares = np.bincount(y) / len(y)
    null = len(y) * np.sum(special.xlogy(shares, shares))
    assert ours.null_log_likelihood == pytest.approx(null, rel=1e-13)
    assert ours.r2_mcfadden == pytest.approx(1 - theirs.llf / null, rel=1e-9)
    assert ours.deviance == pytest.approx(-2 * theirs.llf, rel=1e-12)
    if intercept:
        assert ours.lr == pytest.approx(theirs.llr, rel=1e-8)
        assert ours.lr_p == pytest.approx(theirs.llr_pvalue, rel=1e-6)
        np.testing.assert_allclose(ours.covariance, theirs.cov_params(), rtol=1e-8)


def test_several_classes_equal_statsmodels() -> None:
    X, y, _ = made(classes=4)
    names = np.array(["a", "b", "c", "δ"])[y]
    ours = unpenalised(reference_class="a").fit(X, names).summary()
    theirs = sm.MNLogit(y, sm.add_constant(X)).fit(disp=0, method="newton", tol=1e-14)
    assert ours.targets == ("b", "c", "δ")
    assert_same(ours, theirs)
    np.testing.assert_allclose(ours.covariance, theirs.cov_params(), rtol=1e-8, atol=1e-14)
    assert ours.lr == pytest.approx(theirs.llr, rel=1e-8)


def test_without_a_reference_class_coefficients_are_relative_to_their_mean() -> None:
    X, y, groups = made(classes=3)
    around = unpenalised().fit(X, y)
    against = unpenalised(reference_class=1).fit(X, y)
    shift = np.kron(np.eye(3)[:, [0, 2]] - np.full((3, 2), 1 / 3), np.eye(4))
    rows = {"X": X, "y": y}
    for kind, more in (("nonrobust", {}), ("HC1", {}), ("cluster", {"clusters": groups})):
        ours = around.summary(cov=kind, **rows, **more)
        theirs = against.summary(cov=kind, **rows, **more)
        expected = shift @ theirs.covariance @ shift.T
        np.testing.assert_allclose(ours.covariance, expected, rtol=1e-9, atol=1e-12)
        assert ours.n_parameters == theirs.n_parameters == 8
        assert ours.aic == pytest.approx(theirs.aic, rel=1e-12)
        for name in ("x0", ["x0", "x2"]):
            one, other = ours.wald_test(name), theirs.wald_test(name)
            assert one.df == other.df
            assert one.statistic == pytest.approx(other.statistic, rel=1e-8)


@pytest.mark.parametrize("kind", ["HC0", "cluster"])
@pytest.mark.filterwarnings("ignore:Keyword arguments:FutureWarning")
def test_sandwiches_equal_statsmodels(kind: str) -> None:
    X, y, groups = made()
    options: dict[str, Any] = {"cov_type": kind}
    rows: dict[str, Any] = {"X": X, "y": y}
    if kind == "cluster":
        options["cov_kwds"], rows["clusters"] = {"groups": groups}, groups
    ours = unpenalised().fit(X, y).summary(cov=kind, **rows)
    theirs = logit(X, y, **options)
    assert_same(ours, theirs)
    test = theirs.wald_test(np.eye(4)[1:3], scalar=True)
    assert ours.wald_test(["x0", "x1"]).statistic == pytest.approx(test.statistic, rel=1e-8)
    assert ours.wald_test(["x0", "x1"]).p == pytest.approx(float(test.pvalue), rel=1e-7)
    assert ours.wald_test("x0").distribution == "chi2"


@pytest.mark.parametrize("kind", ["HC0", "HC1", "HC2", "HC3", "cluster"])
@pytest.mark.parametrize("classes", [2, 3])
def test_sandwiches_by_the_book(kind: str, classes: int) -> None:
    X, y, groups = made(classes=classes)
    model = unpenalised(reference_class=0).fit(X, y)
    given = {"clusters": groups} if kind == "cluster" else {}
    if classes > 2 and kind in ("HC2", "HC3"):
        with pytest.raises(ValueError, match="one leverage for each row"):
            model.summary(cov=kind, X=X, y=y)
        return
    A = sm.add_constant(X)
    p = model.predict_proba(X)[:, 1:]
    n, k = len(y), A.shape[1] * (classes - 1)
    curve = np.einsum("ij,jk->ijk", p, np.eye(classes - 1)) - p[:, :, None] * p[:, None]
    H = np.einsum("ijk,ia,ib->jakb", curve, A, A).reshape(k, k)
    S = ((np.eye(classes)[y][:, 1:] - p)[:, :, None] * A[:, None]).reshape(n, k)
    C = np.linalg.inv(H)
    if kind == "cluster":
        G = len(set(groups))
        S = np.stack([S[groups == g].sum(axis=0) for g in set(groups)])
        C = C @ S.T @ S @ C * G / (G - 1) * (n - 1) / (n - k)
    else:
        left = np.ones(n)
        if kind in ("HC2", "HC3"):
            left = 1 - curve[:, 0, 0] * np.einsum("ia,ab,ib->i", A, C, A)
        S = S / left[:, None] ** {"HC2": 0.5, "HC3": 1.0}.get(kind, 0.0)
        C = C @ S.T @ S @ C * (n / (n - k) if kind == "HC1" else 1.0)
    ours = model.summary(cov=kind, X=X, y=y, **given)
    np.testing.assert_allclose(ours.covariance, C, rtol=1e-8, atol=1e-12)


@pytest.mark.parametrize("kind", ["nonrobust", "HC0", "HC1", "HC3", "cluster"])
def test_weights_are_repetitions(kind: str) -> None:
    X, y, groups = made()
    copies = np.random.default_rng(1).integers(0, 4, size=len(y))
    repeated = [np.repeat(values, copies, axis=0) for values in (X, y, groups)]
    rows: dict[str, Any] = {"X": X, "y": y, "sample_weight": copies}
    plain: dict[str, Any] = {"X": repeated[0], "y": repeated[1]}
    if kind == "cluster":
        rows["clusters"], plain["clusters"] = groups, repeated[2]
    ours = unpenalised().fit(X, y, sample_weight=copies).summary(cov=kind, **rows)
    theirs = unpenalised().fit(*repeated[:2]).summary(cov=kind, **plain)
    for name in (*COLUMNS, "log_likelihood", "null_log_likelihood", "aic", "bic", "n", "lr"):
        np.testing.assert_allclose(getattr(ours, name), getattr(theirs, name), rtol=1e-9)


def test_class_weights_count_as_rows() -> None:
    X, y, _ = made()
    balanced = unpenalised(class_weight={0: 1, 1: 3}).fit(X, y)
    weight = np.where(y == 1, 3.0, 1.0)
    alike = unpenalised().fit(X, y, sample_weight=weight)
    rows = {"X": X, "y": y}
    for kind in ("nonrobust", "HC2"):
        ours = balanced.summary(cov=kind, **rows)
        theirs = alike.summary(cov=kind, sample_weight=weight, **rows)
        np.testing.assert_allclose(ours.std_err, theirs.std_err, rtol=1e-9)
    assert "class weights" in str(ours)
    assert "class weights" not in str(theirs)


def test_units_and_offsets_cost_no_digits() -> None:
    X, y, groups = made()
    unit, offset = np.array([1e8, 1.0, 1e-5]), np.array([1e6, 1e6, 0.0])
    far = X * unit + offset
    for kind, more in (("nonrobust", {}), ("HC3", {}), ("cluster", {"clusters": groups})):
        plain = unpenalised().fit(X, y).summary(cov=kind, X=X, y=y, **more)
        ours = unpenalised().fit(far, y).summary(cov=kind, X=far, y=y, **more)
        np.testing.assert_allclose(ours.std_err[1:] * unit, plain.std_err[1:], rtol=1e-8)
        T = np.eye(4)
        T[1:, 1:] /= unit[:, None]
        T[0, 1:] = -offset / unit
        expected = np.sqrt(np.diag(T @ plain.covariance @ T.T))
        np.testing.assert_allclose(ours.std_err, expected, rtol=1e-8)


def test_dependent_columns_have_no_standard_error_and_hurt_no_other() -> None:
    X, y, _ = made()
    wide = np.column_stack([X, 2 * X[:, 2], np.full(len(y), 3.0)])
    for kind in ("nonrobust", "HC1"):
        ours = unpenalised().fit(wide, y).summary(cov=kind, X=wide, y=y)
        alone = unpenalised().fit(X, y).summary(cov=kind, X=X, y=y)
        assert np.isnan(ours.std_err).tolist() == [True, False, False, True, True, True]
        np.testing.assert_allclose(ours.std_err[1:3], alone.std_err[1:3], rtol=1e-8)
        assert ours.n_parameters == 4
        assert ours.aic == pytest.approx(alone.aic, rel=1e-10)


def test_likelihood_ratio_of_nested_models() -> None:
    X, y, _ = made()
    large, small = unpenalised().fit(X, y), unpenalised().fit(X[:, :1], y)
    test = large.summary().likelihood_ratio_test(small)
    statistic = 2 * (logit(X, y).llf - logit(X[:, :1], y).llf)
    assert test.statistic == pytest.approx(statistic, rel=1e-9)
    assert test.df == 2
    assert test.p == pytest.approx(stats.chi2.sf(statistic, 2), rel=1e-8)
    line = suffice.LinearRegression().fit(X[:, :1], y)
    with pytest.raises(TypeError, match=r"a linear regression: .* different models"):
        large.summary().likelihood_ratio_test(line)


# --- penalties -----------------------------------------------------------------------------


def test_a_squared_penalty_gives_the_posterior_and_says_so() -> None:
    X, y, _ = made()
    model = LogisticRegression(C=0.05, tol=1e-12).fit(X, y)
    A, p = sm.add_constant(X), model.predict_proba(X)[:, 1]
    H = (A.T * (p * (1 - p))) @ A + np.diag([0, 20, 20, 20])
    summary = model.summary()
    np.testing.assert_allclose(summary.covariance, np.linalg.inv(H), rtol=1e-9, atol=1e-12)
    assert "penalised: the standard errors are deviations of the posterior" in str(summary)
    assert np.isnan([summary.aic, summary.bic, summary.lr]).all()
    log_p = np.log(model.predict_proba(X))[np.arange(len(y)), y]
    assert summary.log_likelihood == pytest.approx(log_p.sum(), rel=1e-12)
    smaller = LogisticRegression(C=0.05).fit(X[:, :2], y)
    with pytest.raises(ValueError, match="a penalised fit is none"):
        summary.likelihood_ratio_test(smaller)


def test_fits_without_a_bowl_are_refused() -> None:
    X, y, _ = made()
    sparse_fit = LogisticRegression(l1_ratio=1.0, C=0.1).fit(X, y)
    with pytest.raises(ValueError, match="absolute values"):
        sparse_fit.summary()
    with pytest.raises(ValueError, match="absolute values"):
        sparse_fit.predictive(X)
    with pytest.warns(Warning, match="separated"):
        apart = unpenalised().fit(X, X[:, 0] > 0)
    with pytest.raises(ValueError, match="the classes are separated"):
        apart.summary()


def test_a_fit_that_did_not_converge_says_so() -> None:
    X, y, _ = made()
    with pytest.warns(Warning, match="not proved"):
        model = unpenalised(max_iter=1).fit(X, y)
    assert "not proved" in str(model.summary())
    assert "not proved" not in str(unpenalised().fit(X, y).summary())


# --- many rows, streams, files -------------------------------------------------------------


def test_large_fits_keep_no_information_until_they_see_the_rows(monkeypatch: Any) -> None:
    X, y, _ = made(classes=3)
    kept = unpenalised(solver="lbfgs").fit(X, y)
    np.testing.assert_allclose(
        kept.summary().std_err, unpenalised(solver="newton").fit(X, y).summary().std_err, rtol=1e-8
    )
    monkeypatch.setattr("suffice.linear.inference.logistic_likelihood.CHEAP_INFORMATION", 0)
    model = unpenalised(solver="lbfgs").fit(X, y)
    assert len(model.trace_) == len(kept.trace_) - 1
    for asked in (model.summary, lambda: model.predictive(X)):
        with pytest.raises(ValueError, match="give its rows once"):
            asked()
    ours, theirs = model.summary(X=X, y=y), kept.summary()
    for name in (*COLUMNS, "log_likelihood", "null_log_likelihood", "aic"):
        np.testing.assert_allclose(getattr(ours, name), getattr(theirs, name), rtol=1e-9)
    np.testing.assert_allclose(model.predictive(X).proba, kept.predictive(X).proba, rtol=1e-10)
    with pytest.raises(ValueError, match="other classes"):
        unpenalised(solver="lbfgs").fit(X, y).summary(X=X, y=np.where(y == 2, 5, y))


def test_files_and_threads_give_the_same_bits(tmp_path: Any) -> None:
    X, y, groups = made(50_000)
    frame = pd.DataFrame(X, columns=list("abc")).assign(y=y)
    frame.to_parquet(tmp_path / "rows.parquet")
    source = suffice.scan(tmp_path / "rows.parquet", target="y")
    one = unpenalised(n_jobs=1).fit(source)
    two = unpenalised(n_jobs=2).fit(frame[["a", "b", "c"]], y)
    for kind, more in (("nonrobust", {}), ("HC3", {}), ("cluster", {"clusters": groups})):
        ours = one.summary(cov=kind, X=source, **more)
        same = two.summary(cov=kind, X=frame[["a", "b", "c"]], y=y, **more)
        assert ours.std_err.tobytes() == same.std_err.tobytes()
    found = one.predictive(source).proba
    np.testing.assert_allclose(found, two.predictive(frame[["a", "b", "c"]]).proba, rtol=1e-12)


def test_sparse_rows_give_what_dense_rows_give() -> None:
    X, y, _ = made()
    X = np.where(np.abs(X) > 0.5, X, 0.0)
    for kind in ("nonrobust", "HC3"):
        dense = unpenalised().fit(X, y).summary(cov=kind, X=X, y=y)
        ours = unpenalised().fit(sparse.csr_array(X), y)
        found = ours.summary(cov=kind, X=sparse.csr_array(X), y=y)
        np.testing.assert_allclose(found.std_err, dense.std_err, rtol=1e-8)
    np.testing.assert_allclose(
        ours.predictive(sparse.csr_array(X)).proba, ours.predictive(X).proba, rtol=1e-12
    )


def test_a_stored_model_keeps_its_summary(tmp_path: Any) -> None:
    X, y, _ = made(classes=3)
    model = unpenalised().fit(X, y)
    model.save(tmp_path / "model.suffice")
    for again in (suffice.load(tmp_path / "model.suffice"), pickle.loads(pickle.dumps(model))):
        assert str(again.summary()) == str(model.summary())
        assert again.summary().covariance.tobytes() == model.summary().covariance.tobytes()


# --- given the rows ------------------------------------------------------------------------


def many(classes: int = 2) -> tuple[Any, Any, Any]:
    """So many rows that a fit starts on a sample, and labels that are not well told apart."""
    X, y, _ = made(120_000, classes, seed=3)
    return X + np.array([0.0, 1.0, 5.0]), y, np.arange(len(y)) // 50


@pytest.mark.compiled
@pytest.mark.parametrize(
    "kind", ["nonrobust", pytest.param("HC0", marks=pytest.mark.long), "HC1", "cluster"]
)
@pytest.mark.filterwarnings("ignore:Keyword arguments:FutureWarning")
def test_the_information_is_that_of_the_fit_itself(kind: str) -> None:
    X, y, groups = many()
    rows: dict[str, Any] = {"X": X, "y": y}
    options: dict[str, Any] = {"cov_type": "HC0" if kind == "HC1" else kind}
    if kind == "cluster":
        options["cov_kwds"], rows["clusters"] = {"groups": groups}, groups
    model = LogisticRegression(C=np.inf).fit(X, y)
    theirs = logit(X, y, **options)
    covariance = theirs.cov_params() * (len(y) / (len(y) - 4) if kind == "HC1" else 1.0)
    before = model.summary()
    ours = model.summary(cov=kind, **rows)
    np.testing.assert_allclose(ours.std_err, np.sqrt(np.diag(covariance)), rtol=1e-9)
    np.testing.assert_allclose(ours.covariance, covariance, rtol=1e-8)
    assert ours.log_likelihood == pytest.approx(theirs.llf, rel=1e-12)
    # The fit did start on a sample, and what it kept is that of a point nearby.
    steps = model.trace_.to_frame()["step"].tolist()
    assert any(step.startswith("sample") for step in steps)
    off = np.abs(before.std_err / logit(X, y).bse - 1).max()
    assert 1e-8 < off < 3e-5
    assert model.summary().covariance.tobytes() == before.covariance.tobytes()


@pytest.mark.compiled
@pytest.mark.parametrize("reference", [None, 1])
@pytest.mark.parametrize("C", [np.inf, 1e-3])
def test_the_information_of_several_classes_by_the_book(reference: Any, C: float) -> None:
    X, y, _ = many(3)
    weight = np.random.default_rng(0).integers(0, 3, size=len(y)) / 2
    factors = {0: 1.0, 1: 0.5, 2: 2.0}
    model = LogisticRegression(C=C, class_weight=factors, reference_class=reference)
    ours = model.fit(X, y, sample_weight=weight).summary(X=X, y=y, sample_weight=weight)
    fitted = [k for k in range(3) if k != reference]
    A, p = sm.add_constant(X), model.predict_proba(X)[:, fitted]
    k, w = len(fitted), weight * np.array([1.0, 0.5, 2.0])[y]
    H = np.zeros((k, 4, k, 4))
    for a in range(k):
        for b in range(k):
            H[a, :, b] = (A.T * (w * p[:, a] * ((a == b) - p[:, b]))) @ A
    H = H.reshape(4 * k, 4 * k) + np.diag(np.tile([0.0, 1, 1, 1], k)) / C
    mean = 0.0 if reference is not None else np.kron(np.full((3, 3), 1 / 3), np.eye(4))
    inverse = np.linalg.pinv(H, rcond=1e-13, hermitian=True)
    exact = (np.eye(4 * k) - mean) @ inverse @ (np.eye(4 * k) - mean)
    np.testing.assert_allclose(ours.std_err.ravel(order="F"), np.sqrt(np.diag(exact)), rtol=1e-9)


FITS: dict[str, dict[str, Any]] = {
    "penalised": {"C": 0.01},
    "stopped early": {"C": np.inf, "max_iter": 1},
    "stopped early, penalised": {"C": 0.01, "max_iter": 2},
    "loose": {"C": np.inf, "tol": 0.3},
    "loose, penalised": {"C": 0.1, "tol": 0.5},
    "balanced": {"class_weight": "balanced"},
    "one class counts little": {"class_weight": {0: 1e-6}},
    "no intercept": {"fit_intercept": False, "C": np.inf},
    "reference": {"reference_class": 0},
    "lbfgs": {"solver": "lbfgs", "C": np.inf},
    "loose lbfgs": {"solver": "lbfgs", "tol": 0.1},
    "newton-cg": {"solver": "newton-cg", "C": np.inf},
    "loose newton-cg": {"solver": "newton-cg", "tol": 0.1},
    "gd": {"solver": "gd", "tol": 1e-3},
    "gd, stopped early": {"solver": "gd", "max_iter": 3},
    "sgd": {"solver": "sgd", "max_iter": 3, "batch_size": 100, "random_state": 0},
}


@pytest.mark.parametrize("name", FITS)
@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("rows", ["plain", "far", "sparse"])
@pytest.mark.parametrize("weight", ["none", "counts", "light", "heavy"])
@pytest.mark.filterwarnings("ignore")
def test_the_rows_of_a_fit_are_never_refused(
    name: str, classes: int, rows: str, weight: str
) -> None:
    never_refused(300, name, classes, rows, weight)


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=() if name in ("penalised", "loose lbfgs") else pytest.mark.long)
        for name in FITS
    ],
)
@pytest.mark.filterwarnings("ignore")
def test_the_many_rows_of_a_fit_are_never_refused(name: str) -> None:
    for rows in ("plain", "far", "sparse"):
        never_refused(40_000, name, 2, rows, "counts")


def never_refused(n: int, name: str, classes: int, kind: str, weights: str) -> None:
    X, y, _ = made(n, classes)
    X[:, 1] = np.where(np.abs(X[:, 1]) > 1, X[:, 1], 0.0)
    rng = np.random.default_rng(1)
    rows: Any = X
    if kind == "far":
        rows = X * [1e-6, 1.0, 1e6] + [1.0, 0.0, 1e8]
    elif kind == "sparse":
        rows = sparse.csr_array(X)
    weight: Any = {
        "none": None,
        "counts": rng.integers(0, 3, size=n),
        "light": 1e-9 * rng.random(n),
        "heavy": 1e12 * rng.random(n),
    }[weights]
    model = LogisticRegression(**FITS[name]).fit(rows, y, sample_weight=weight)
    for _ in ("with the likelihood that the fit kept", "and without it"):
        found = model.summary(cov="HC0", X=rows, y=y, sample_weight=weight)
        assert found.std_err.shape == found.coef.shape
        model._likelihood = None


@pytest.mark.parametrize("n", [400, 40_000])
def test_rows_of_no_fit_are_refused_and_leave_no_trace(n: int) -> None:
    X, y, groups = made(n)
    model = unpenalised().fit(X, y)
    before, none = model.summary(), unpenalised().fit(X, y)
    none._likelihood = None
    other = np.random.default_rng(2).permutation(n)
    for cov in ("nonrobust", "HC1"):
        for one in (model, none):
            for rows in ({"X": X[other], "y": y}, {"X": X, "y": 1 - y}, {"X": X + 1e-2, "y": y}):
                with pytest.raises(ValueError, match="not the rows of the fit: at its coeff"):
                    one.summary(cov=cov, **rows)
        with pytest.raises(ValueError, match="not the rows of the fit: their weights add up to"):
            model.summary(cov=cov, X=X, y=y, sample_weight=np.full(n, 2.0))
        with pytest.raises(ValueError, match="there is no class 7"):
            model.summary(cov=cov, X=X, y=np.where(groups == 3, 7, y))
        with pytest.raises(ValueError, match="not the rows of the fit"):
            model.summary(cov=cov, X=X, y=np.zeros(n, dtype=int))
    assert model.summary().covariance.tobytes() == before.covariance.tobytes()
    with pytest.raises(ValueError, match="give its rows once"):
        none.summary()
    penalised = LogisticRegression(C=0.1).fit(X, y).set_params(C=1e-3)
    with pytest.raises(ValueError, match="leave the model's parameters as they were"):
        penalised.summary(X=X, y=y)


def test_the_order_of_the_rows_does_not_matter() -> None:
    X, y, _ = made(40_000)
    model, order = unpenalised().fit(X, y), np.random.default_rng(2).permutation(len(y))
    ours, same = (model.summary(cov="HC3", X=X[i], y=y[i]) for i in (slice(None), order))
    np.testing.assert_allclose(ours.std_err, same.std_err, rtol=1e-12)


# --- the table -----------------------------------------------------------------------------


def test_the_table_and_the_frame() -> None:
    X, y, _ = made()
    summary = unpenalised().fit(pd.DataFrame(X, columns=["a", "b", "c"]), y == 1).summary(0.9)
    lines = str(summary).splitlines()
    assert lines[0] == "Logistic regression of True"
    assert lines[2].split() == ["coef", "std", "err", "z", "p", "0.05", "0.95"]
    assert [line.split()[0] for line in lines[3:7]] == ["intercept", "a", "b", "c"]
    assert "McFadden's R²" in str(summary)
    assert list(summary.to_frame().columns) == list(COLUMNS)
    X, y, _ = made(classes=3)
    frame = unpenalised(reference_class=2).fit(X, y).summary().to_frame()
    assert frame.index.names == ["class", None]
    assert frame.index.get_level_values(0).unique().tolist() == ["0", "1"]


# --- predictions that widen ----------------------------------------------------------------


def test_the_mean_probability_is_near_the_integral() -> None:
    X, y, _ = made(60)
    model = unpenalised().fit(X, y)
    far = X[:20] * np.linspace(0, 6, 20)[:, None]
    found = model.predictive(far)
    A = sm.add_constant(far, has_constant="add")
    std = np.sqrt(np.einsum("ia,ab,ib->i", A, model.summary().covariance, A))
    np.testing.assert_allclose(found.log_odds[:, 1], model.decision_function(far), rtol=1e-10)
    np.testing.assert_allclose(found.log_odds_std, np.column_stack([std, std]), rtol=1e-9)
    for i in range(20):
        at = found.log_odds[i, 1]
        exact = integrate.quad(
            lambda z, at=at, s=std[i]: special.expit(at + s * z) * stats.norm.pdf(z), -9, 9
        )[0]
        assert found.proba[i, 1] == pytest.approx(exact, abs=0.02)
    z = stats.norm.ppf(0.975)
    np.testing.assert_allclose(
        found.lower[:, 1], special.expit(found.log_odds[:, 1] - z * std), rtol=1e-9
    )
    np.testing.assert_allclose(found.upper[:, 0], 1 - found.lower[:, 1], rtol=1e-9)


@pytest.mark.parametrize("classes", [2, 3])
def test_probabilities_widen_away_from_the_rows(classes: int) -> None:
    X, y, _ = made(80, classes)
    model = unpenalised().fit(X, y)
    away = X[:1] * np.array([[1.0], [10.0], [100.0], [1e6]])
    found = model.predictive(away)
    np.testing.assert_allclose(found.proba.sum(axis=1), 1.0, rtol=1e-14)
    plain = model.predict_proba(away)
    assert (found.proba.max(axis=1) < plain.max(axis=1)).all()
    assert (np.diff(found.log_odds_std, axis=0) > 0).all()
    assert found.proba[-1].max() < 0.999  # where the plain probability is 1


def test_predictions_do_not_depend_on_the_reference_class() -> None:
    X, y, _ = made(classes=3)
    far = 5 * X[:30]
    around = unpenalised().fit(X, y).predictive(far)
    for label in range(3):
        against = unpenalised(reference_class=label).fit(X, y).predictive(far)
        for one, other in zip(around, against, strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-7, atol=1e-10)


def test_the_variance_of_log_odds_by_the_book() -> None:
    X, y, _ = made(classes=3)
    model = unpenalised(reference_class=0).fit(X, y)
    V, x = model.summary().covariance, sm.add_constant(X)[7]
    theta = np.column_stack([model.intercept_, model.coef_]).ravel()

    def log_odds(theta: Any, k: int) -> float:
        eta = np.append(0.0, theta.reshape(2, 4) @ x)
        return float(eta[k] - special.logsumexp(np.delete(eta, k)))

    found = model.predictive(X[7:8])
    for k in range(3):
        steps = 1e-6 * np.eye(8)
        slope = [(log_odds(theta + s, k) - log_odds(theta - s, k)) / 2e-6 for s in steps]
        assert found.log_odds[0, k] == pytest.approx(log_odds(theta, k), rel=1e-10)
        assert found.log_odds_std[0, k] == pytest.approx(np.sqrt(slope @ V @ slope), rel=1e-7)


def test_a_direction_without_rows_leaves_the_classes_equal() -> None:
    X, y, _ = made()
    wide = np.column_stack([X, X[:, 0]])
    model = unpenalised().fit(wide, y)
    found = model.predictive(np.array([[1.0, 0, 0, 1.0], [1.0, 0, 0, 2.0]]))
    assert np.isfinite(found.log_odds_std[0]).all()
    assert np.isinf(found.log_odds_std[1]).all()
    assert found.proba[1].tolist() == [0.5, 0.5]
    assert found.lower[1].tolist() == [0.0, 0.0]
    assert found.upper[1].tolist() == [1.0, 1.0]


# --- bad input -----------------------------------------------------------------------------


def test_errors_say_what_is_needed() -> None:
    X, y, groups = made()
    model = unpenalised().fit(X, y)
    with pytest.raises(ValueError, match="one more pass over the rows"):
        model.summary(cov="HC1")
    with pytest.raises(ValueError, match="go together"):
        model.summary(cov="cluster", X=X, y=y)
    with pytest.raises(ValueError, match="not the rows of the fit"):
        model.summary(cov="HC0", X=X[1:], y=y[1:])
    with pytest.raises(ValueError, match="there is no class 7"):
        model.summary(cov="HC0", X=X, y=np.where(groups == 3, 7, y))
    with pytest.raises(ValueError, match="level must lie between 0 and 1"):
        model.summary(1.0)
    with pytest.raises(ValueError, match="level must lie between 0 and 1"):
        model.predictive(X, level=0)
    with pytest.raises(ValueError, match="expecting 3 features"):
        model.predictive(X[:, :2])


@pytest.mark.compiled
def test_standard_errors_of_many_rows():
    """A fit that starts on a sample takes a Hessian only close to the maximum."""
    rng = np.random.default_rng(5)
    X = rng.standard_normal((60_000, 6)) * np.logspace(-3, 3, 6) + 3
    eta = (X - 3) @ (rng.standard_normal(6) / np.logspace(-3, 3, 6))
    y = (rng.random(len(X)) < 1 / (1 + np.exp(-eta))).astype(int)
    model = LogisticRegression(C=np.inf).fit(X, y)
    A = np.column_stack([np.ones(len(X)), X])
    p = 1 / (1 + np.exp(-(A @ np.append(model.intercept_, model.coef_))))
    scale = np.linalg.norm(A, axis=0)
    H = (A / scale).T @ (A / scale * (p * (1 - p))[:, None])
    exact = np.sqrt(np.diag(np.linalg.inv(H))) / scale
    np.testing.assert_allclose(model.summary().std_err, exact, rtol=3e-5)
    steps = model.trace_.to_frame()["step"].tolist()
    assert steps.count("newton: gradient") > steps.count("newton: gradient and Hessian")
