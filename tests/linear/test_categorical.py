"""Generalised linear models of classes: statsmodels, plain formulas, streams, then bad input."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import StratifiedKFold, cross_val_score
from sklearn.utils.estimator_checks import check_estimator

import suffice
from suffice import GeneralizedLinearModel, LogisticRegression
from suffice.linear.responses import Categorical
from tests.linear.real_data import SETS

NAMES = np.array(["b", "ä", "ć", "δ"])


def made(n: int = 400, classes: int = 4, seed: int = 0) -> tuple[Any, Any]:
    """Rows of three columns, and text labels that depend on them."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    eta = X @ rng.normal(size=(3, classes)) + 0.3 * rng.normal(size=classes)
    return X, NAMES[np.argmax(eta + rng.gumbel(size=eta.shape), axis=1)]


def fitted(X: Any, y: Any, **params: Any) -> GeneralizedLinearModel:
    return GeneralizedLinearModel("categorical", **params).fit(X, y)


# --- the same as elsewhere -----------------------------------------------------------------


@pytest.mark.parametrize("name", ["anes96", "modechoice", "made"])
def test_equals_statsmodels(name: str) -> None:
    if name == "made":
        X, labels = made()
        codes = np.unique(labels, return_inverse=True)[1]
    else:
        X, labels = SETS[name]()
        codes = labels
    model = fitted(X, labels)
    assert model.certificate_.holds
    table = model.summary()
    theirs = sm.MNLogit(codes, sm.add_constant(X)).fit(
        disp=0, method="newton", tol=1e-14, maxiter=200
    )
    interval = np.asarray(theirs.conf_int(0.05)).transpose(1, 0, 2)
    for mine, other in (
        (table.coef, theirs.params),
        (table.std_err, theirs.bse),
        (table.z, theirs.tvalues),
        (table.p, theirs.pvalues),
        (table.lower, interval[..., 0]),
        (table.covariance, theirs.cov_params()),
        (model.predict(X), theirs.predict()),
    ):
        np.testing.assert_allclose(mine, other, rtol=1e-8, atol=1e-12)
    for mine, other in (
        (model.log_likelihood_, theirs.llf),
        (model.deviance_, -2 * theirs.llf),
        (model.aic_, theirs.aic),
        (model.bic_, theirs.bic),
        (model.df_residual_, theirs.df_resid),
        (table.df_model, theirs.df_model),
        (table.n, theirs.nobs),
    ):
        assert mine == pytest.approx(other, rel=1e-8)
    shares = np.bincount(codes) / len(codes)
    assert model.null_deviance_ == pytest.approx(-2 * np.log(shares[codes]).sum(), rel=1e-12)


@pytest.mark.parametrize("reference", [0, 3, 6])
def test_equals_logistic_regression(reference: int) -> None:
    X, y = SETS["anes96"]()
    model = fitted(X, y, reference_class=reference)
    other = LogisticRegression(C=np.inf, reference_class=reference).fit(X, y)
    np.testing.assert_allclose(model.coef_, other.coef_, rtol=1e-10)
    np.testing.assert_allclose(model.intercept_, other.intercept_, rtol=1e-10)
    np.testing.assert_allclose(model.predict(X), other.predict_proba(X), rtol=1e-10)
    groups = np.arange(len(y)) % 31
    for kind, more in (("HC0", {}), ("HC1", {}), ("cluster", {"clusters": groups})):
        mine = model.summary(cov=kind, X=X, y=y, **more)
        theirs = other.summary(cov=kind, X=X, y=y, **more)
        np.testing.assert_allclose(mine.covariance, theirs.covariance, rtol=1e-8, atol=1e-14)
        one, two = mine.wald_test("x1"), theirs.wald_test("x1")
        assert one.df == two.df == 6
        assert one.statistic == pytest.approx(two.statistic, rel=1e-9)
    for ours, theirs in zip(model.predictive(X[:9]), other.predictive(X[:9]), strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-8)


def test_penalty_is_that_of_logistic_regression() -> None:
    X, y = made()
    model = fitted(X, y, alpha=0.01, reference_class="δ")
    other = LogisticRegression(C=1 / (0.01 * len(y)), reference_class="δ").fit(X, y)
    np.testing.assert_allclose(model.coef_, other.coef_, rtol=1e-8)
    assert 3 < len(y) - model.df_residual_ < 12
    assert "penalised" in str(model.summary())


def test_two_classes_are_a_binomial_target() -> None:
    X, labels = made()
    y = labels == "b"
    for params in ({}, {"alpha": 0.1}, {"fit_intercept": False}):
        model = fitted(X, y, **params)
        other = GeneralizedLinearModel("binomial", **params).fit(X, y.astype(float))
        assert model.coef_.shape == (1, 3)
        np.testing.assert_allclose(model.coef_[0], other.coef_, rtol=1e-9)
        np.testing.assert_allclose(model.predict(X)[:, 1], other.predict(X), rtol=1e-9)
        for name in (
            "deviance_", "null_deviance_", "pearson_chi2_", "dispersion_", "df_residual_",
            "log_likelihood_", "aic_", "bic_",
        ):  # fmt: skip
            assert getattr(model, name) == pytest.approx(getattr(other, name), rel=1e-9), name
        assert model.score(X, y) == pytest.approx(other.score(X, y.astype(float)), rel=1e-9)
        for kind in ("HC2", "HC3"):
            mine = model.summary(cov=kind, X=X, y=y)
            theirs = other.summary(cov=kind, X=X, y=y.astype(float))
            np.testing.assert_allclose(mine.std_err[:, 0], theirs.std_err, rtol=1e-8)


# --- by the book ---------------------------------------------------------------------------


def test_goodness_by_the_book() -> None:
    X, y = made()
    model = fitted(X, y)
    p, codes = model.predict(X), np.searchsorted(NAMES, y)
    one = np.eye(4)[codes]
    np.testing.assert_allclose(p.sum(axis=1), 1, rtol=1e-14)
    assert model.deviance_ == pytest.approx(-2 * np.log(p[one == 1]).sum(), rel=1e-12)
    assert model.pearson_chi2_ == pytest.approx((np.square(one - p) / p).sum(), rel=1e-10)
    assert model.dispersion_ == 1
    assert model.score(X, y) == pytest.approx(1 - model.deviance_ / model.null_deviance_, rel=1e-12)
    # At the maximum the mean probabilities are the shares, and residuals are at right angles to X.
    np.testing.assert_allclose(p.mean(axis=0), one.mean(axis=0), rtol=1e-10)
    np.testing.assert_allclose(X.T @ (one - p), 0, atol=1e-9)


def test_an_intercept_alone_is_the_log_odds_of_the_shares() -> None:
    _, y = made()
    model = fitted(np.zeros((len(y), 1)), y)
    shares = np.unique(y, return_counts=True)[1]
    np.testing.assert_allclose(model.intercept_, np.log(shares[1:] / shares[0]), rtol=1e-12)
    assert model.coef_.tolist() == [[0.0]] * 3
    assert model.deviance_ == pytest.approx(model.null_deviance_, rel=1e-13)
    assert model.score(np.zeros((len(y), 1)), y) == pytest.approx(0, abs=1e-13)


def test_the_reference_class_moves_the_coefficients_alone() -> None:
    X, y = made()
    first, last = fitted(X, y), fitted(X, y, reference_class="δ")
    both = np.insert(first.coef_, 0, 0.0, axis=0)
    np.testing.assert_allclose(last.coef_, (both - both[3])[:3], rtol=1e-9)
    assert last.aic_ == pytest.approx(first.aic_, rel=1e-12)
    np.testing.assert_allclose(first.predict(X), last.predict(X), rtol=1e-9)
    assert first.summary().targets == ("ä", "ć", "δ")
    assert last.summary().targets == ("b", "ä", "ć")


def test_dependent_columns_get_the_smallest_coefficients() -> None:
    X, y = made()
    wide = np.column_stack([X, 2 * X[:, 0], np.full(len(y), 3.0)])
    model, alone = fitted(wide, y), fitted(X, y)
    assert model.certificate_.holds
    np.testing.assert_allclose(model.coef_[:, 0], alone.coef_[:, 0] / 5, rtol=1e-8)
    np.testing.assert_allclose(model.coef_[:, 3], alone.coef_[:, 0] * 2 / 5, rtol=1e-8)
    np.testing.assert_allclose(model.predict(wide), alone.predict(X), rtol=1e-8)
    assert model.df_residual_ == alone.df_residual_
    assert np.isnan(model.summary().std_err).all(axis=1).tolist() == [
        True, True, False, False, True, True,
    ]  # fmt: skip


# --- rows of every kind --------------------------------------------------------------------


@pytest.mark.parametrize("kind", [bool, int, float, str, object])
def test_labels_of_every_kind(kind: Any) -> None:
    X, labels = made(classes=2 if kind is bool else 4)
    y = np.searchsorted(NAMES, labels).astype(kind)
    model = fitted(X, y)
    assert model.classes_.tolist() == np.unique(y).tolist()
    np.testing.assert_allclose(model.coef_, fitted(X, labels).coef_, rtol=1e-12)
    assert model.predict(X).shape == (len(y), len(model.classes_))


def test_weights_are_repetitions() -> None:
    X, y = made()
    copies = np.random.default_rng(1).integers(0, 4, size=len(y))
    model = fitted(X, y).fit(X, y, sample_weight=copies)
    longer = np.repeat(X, copies, axis=0), np.repeat(y, copies)
    other = fitted(*longer)
    np.testing.assert_allclose(model.covariance_, other.covariance_, rtol=1e-9)
    assert model.bic_ == pytest.approx(other.bic_, rel=1e-12)
    assert model.score(X, y, copies) == pytest.approx(other.score(*longer), rel=1e-12)
    mine = model.summary(cov="HC1", X=X, y=y, sample_weight=copies)
    theirs = other.summary(cov="HC1", X=longer[0], y=longer[1])
    np.testing.assert_allclose(mine.std_err, theirs.std_err, rtol=1e-8)
    # A class all of whose rows weigh nothing does not exist.
    assert fitted(X, y).fit(X, y, sample_weight=(y != "ć") * 1.0).classes_.tolist() == [
        "b", "ä", "δ",
    ]  # fmt: skip


def test_files_and_threads_give_the_same_bits(tmp_path: Any) -> None:
    X, y = made(30_000)
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    frame.assign(label=y).to_parquet(tmp_path / "rows.parquet", row_group_size=7000)
    source = suffice.scan(tmp_path / "rows.parquet", target="label")
    one = fitted(frame, y, n_jobs=1)
    for other in (fitted(frame, y, n_jobs=2), GeneralizedLinearModel("categorical").fit(source)):
        np.testing.assert_array_equal(one.coef_, other.coef_)
        np.testing.assert_array_equal(one.covariance_, other.covariance_)
        assert one.deviance_ == other.deviance_
    np.testing.assert_allclose(one.predict(source), one.predict(frame), rtol=1e-14)
    assert one.score(source) == pytest.approx(one.score(frame, y), rel=1e-13)
    assert one.summary(cov="HC0", X=source).cov == "HC0"


def test_sparse_rows() -> None:
    X, y = made()
    X = np.where(np.abs(X) > 0.5, X, 0.0)
    thin, full = fitted(sparse.csr_matrix(X), y), fitted(X, y)
    np.testing.assert_allclose(thin.coef_, full.coef_, rtol=1e-9)
    np.testing.assert_allclose(thin.summary().std_err, full.summary().std_err, rtol=1e-8)
    assert thin.score(sparse.csr_matrix(X), y) == pytest.approx(full.score(X, y), rel=1e-12)


@pytest.mark.parametrize("solver", ["newton", "newton-cg", "lbfgs", "gd"])
def test_methods_agree(solver: str) -> None:
    X, y = made()
    model = fitted(X, y, solver=solver, max_iter=1000, tol=1e-9)
    assert model.certificate_.holds
    np.testing.assert_allclose(model.coef_, fitted(X, y).coef_, rtol=1e-6)


def test_storing(tmp_path: Any) -> None:
    X, y = made()
    model = GeneralizedLinearModel(Categorical(), reference_class="ć").fit(X, y)
    model.save(tmp_path / "model")
    for again in (suffice.load(tmp_path / "model"), pickle.loads(pickle.dumps(model))):
        assert str(again.summary()) == str(model.summary())
        np.testing.assert_array_equal(again.predict(X), model.predict(X))
        np.testing.assert_array_equal(again.predictive(X).upper, model.predictive(X).upper)


def test_another_family_forgets_the_classes() -> None:
    X, y = made()
    model = fitted(X, y)
    model.set_params(family="gaussian").fit(X, X[:, 0])
    assert not hasattr(model, "classes_")
    assert model.predict(X).shape == (len(X),)


def test_warm_starts_take_fewer_passes() -> None:
    X, y = made()
    model = fitted(X, y, warm_start=True)
    cold = model.n_iter_
    assert model.fit(X, y).n_iter_ < cold


def test_the_table_in_words() -> None:
    X, y = made()
    text = str(fitted(pd.DataFrame(X, columns=["u", "v", "w"]), y).summary())
    assert "Generalised linear model: categorical, against b: log odds of ć" in text
    assert text.count("intercept") == 3
    assert text.count("deviance") == 2
    frame = fitted(X, y).summary().to_frame()
    assert frame.index.names == ["class", None]
    assert len(frame) == 12


# --- scikit-learn --------------------------------------------------------------------------

# Where scikit-learn gives a regressor numbers that measure something, which are no labels.
MEASURED = dict.fromkeys(
    (
        "check_n_features_in_after_fitting",
        "check_estimator_sparse_array",
        "check_estimator_sparse_matrix",
        "check_regressors_train",
        "check_regressor_data_not_an_array",
        "check_regressors_no_decision_function",
        "check_fit_idempotent",
        "check_fit_check_is_fitted",
        "check_n_features_in",
    ),
    "the target is not made of labels",
)


def test_scikit_learn_contract() -> None:
    model = GeneralizedLinearModel("categorical", alpha=0.1)
    results = check_estimator(model, expected_failed_checks=MEASURED, on_skip=None)
    assert sum(result["status"] == "passed" for result in results) > 40
    for result in results:
        if result["status"] == "xfail" and "sparse" not in result["check_name"]:
            assert "Unknown label type: continuous" in str(result["exception"])
    assert GeneralizedLinearModel("categorical").__sklearn_tags__().estimator_type == "regressor"


def test_cross_validation() -> None:
    X, y = made()
    folds = StratifiedKFold(4)
    scores = cross_val_score(GeneralizedLinearModel("categorical"), X, y, cv=folds)
    for score, (train, test) in zip(scores, folds.split(X, y), strict=True):
        assert score == pytest.approx(fitted(X[train], y[train]).score(X[test], y[test]))
    ours = suffice.cross_validate(GeneralizedLinearModel("categorical"), X, y, cv=folds)
    np.testing.assert_allclose(ours["test_score"], scores, rtol=1e-9)


# --- where there is no answer, and bad input -------------------------------------------------


@pytest.mark.parametrize("solver", ["auto", "lbfgs"])
def test_separated_classes_are_reported(solver: str) -> None:
    X = np.random.default_rng(0).normal(size=(90, 2))
    with pytest.warns(ConvergenceWarning, match="no maximum"):
        model = fitted(X, np.digitize(X[:, 0], [-0.5, 0.5]), solver=solver)
    assert not model.certificate_.holds
    assert np.isfinite(model.predict(X)).all()
    assert fitted(X, np.digitize(X[:, 0], [-0.5, 0.5]), alpha=0.1).certificate_.holds


def test_without_information_there_are_no_standard_errors(monkeypatch: Any) -> None:
    X, y = made()
    monkeypatch.setattr("suffice.linear.categorical.MOST_INFORMATION", 11)
    model = fitted(X, y)
    np.testing.assert_allclose(model.aic_, fitted(X, y).aic_, rtol=1e-12)
    for ask in (model.summary, lambda: model.predictive(X), lambda: model.covariance_):
        with pytest.raises(ValueError, match="no information"):
            ask()


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"link": "probit"}, "which is link='logit'"),
        ({"offset": 0}, "offset is for targets of one mean"),
        ({"exposure": 0}, "exposure is for targets of one mean"),
        ({"reference_class": "z"}, "reference_class='z' is not among the classes 'b', 'ä'"),
        ({"alpha": -1.0}, "alpha"),
    ],
)
def test_bad_parameters(params: Any, message: str) -> None:
    model = GeneralizedLinearModel("categorical", **params)
    with pytest.raises(ValueError, match=message):
        model.fit(*made())
    assert vars(model).keys() == model.get_params().keys()


def test_bad_targets() -> None:
    X, y = made()
    model = GeneralizedLinearModel("multinomial")
    for target, message in (
        (np.full(len(y), "a"), "at least two classes, .* only one class: 'a'"),
        (X[:, 0], "Unknown label type: continuous"),
        (np.column_stack([y, y]), "1d array"),
        (np.array([*y[:-1], None], dtype=object), "row 399"),
        (np.array([*y[:-1], 3], dtype=object), "labels"),
    ):
        with pytest.raises(ValueError, match=message):
            model.fit(X, target)
    model.fit(X, y)
    with pytest.raises(ValueError, match="'q', which is no class of the fit; those are 'b', 'ä'"):
        model.score(X, np.full(len(y), "q"))
    with pytest.raises(ValueError, match="one leverage for each row"):
        model.summary(cov="HC3", X=X, y=y)
    with pytest.raises(ValueError, match="must hold numbers"):
        GeneralizedLinearModel("poisson").fit(X, y)
