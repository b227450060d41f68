"""RidgeCV, LassoCV, ElasticNetCV, and searches over Lasso and ElasticNet, against scikit-learn."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from scipy import sparse
from sklearn import linear_model, model_selection
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import KFold, LeaveOneOut, ShuffleSplit
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import parametrize_with_checks

import suffice
from suffice import ElasticNet, ElasticNetCV, Lasso, LassoCV, RidgeCV
from suffice.preprocessing import StandardScaler

TIGHT = {"tol": 1e-13, "max_iter": 10**6}


def make(shape, targets=1, seed=0):
    rng = np.random.default_rng(seed)
    n, d = shape
    X = rng.normal(size=shape) + rng.normal(size=d)
    theta = rng.normal(size=(d, targets)) * (rng.random((d, 1)) < 0.4)
    Y = X @ theta + rng.normal(size=(n, targets)) * (1 + 4 * np.arange(targets)) + 3
    return X, Y[:, 0] if targets == 1 else Y


@parametrize_with_checks([RidgeCV(), LassoCV(alphas=3, cv=2)])
def test_scikit_learn_contract(estimator, check):
    check(estimator)


@pytest.mark.long
@parametrize_with_checks([LassoCV(alphas=10), ElasticNetCV(alphas=10)])
def test_scikit_learn_contract_of_long_paths(estimator, check):
    check(estimator)


# --- LassoCV and ElasticNetCV ------------------------------------------------------------------


@pytest.mark.parametrize("shape", [(300, 8), (1000, 12), (30, 110)])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(
    "options",
    [{}, {"alphas": [1.0, 0.01, 0.1]}, {"positive": True, "cv": 3}, {"fit_intercept": False},
     {"cv": KFold(4, shuffle=True, random_state=0)}, {"eps": 0.1, "alphas": 7}],
    ids=str,
)  # fmt: skip
def test_lasso_cv(shape, weighted, options):
    X, y = make(shape)
    weight = np.random.default_rng(1).uniform(0.5, 2, len(y)) if weighted else None
    ours = LassoCV(**{"alphas": 15, "eps": 0.02, **options}).fit(X, y, weight)
    theirs = linear_model.LassoCV(**{"alphas": 15, "eps": 0.02, **options}, **TIGHT)
    theirs.fit(X, y, weight)
    np.testing.assert_allclose(ours.alphas_, theirs.alphas_, rtol=1e-12)
    assert ours.mse_path_.shape == theirs.mse_path_.shape
    np.testing.assert_allclose(ours.mse_path_, theirs.mse_path_, rtol=1e-8)
    assert ours.alpha_ == pytest.approx(theirs.alpha_, rel=1e-12)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=1e-8)
    assert not hasattr(ours, "l1_ratio_")


def test_lasso_cv_equals_separate_fits():
    X, y = make((2000, 9))
    model = LassoCV(alphas=[0.3, 0.1, 0.01], cv=4).fit(X, y)
    for f, (train, test) in enumerate(KFold(4).split(X)):
        for a, alpha in enumerate(model.alphas_):
            one = Lasso(alpha).fit(X[train], y[train])
            error = np.mean(np.square(y[test] - one.predict(X[test])))
            assert model.mse_path_[a, f] == pytest.approx(error, rel=1e-10)
    assert model.passes_ == 1
    np.testing.assert_array_equal(model.best_estimator_.coef_, model.coef_)
    assert model.certificate_.holds
    assert model.best_estimator_.refit(alpha=0.2).certificate_.holds


@pytest.mark.parametrize("shape", [(400, 6), (50, 150)])
def test_elastic_net_cv(shape):
    X, y = make(shape)
    options = {"l1_ratio": [0.2, 0.7, 1.0], "alphas": 8, "eps": 0.02}
    ours = ElasticNetCV(**options).fit(X, y)
    theirs = linear_model.ElasticNetCV(**options, **TIGHT).fit(X, y)
    assert ours.l1_ratio_ == theirs.l1_ratio_
    np.testing.assert_allclose(ours.alphas_, theirs.alphas_, rtol=1e-12)
    np.testing.assert_allclose(ours.mse_path_, theirs.mse_path_, rtol=1e-8)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=1e-8)
    with pytest.raises(ValueError, match="pass the alphas"):
        ElasticNetCV(l1_ratio=0).fit(X, y)
    with pytest.raises(ValueError, match="l1_ratio"):
        ElasticNetCV(l1_ratio=[0.5, 2]).fit(X, y)


@pytest.mark.parametrize("shape", [(3000, 5), (40, 150)])
def test_lasso_cv_of_files_and_frames(tmp_path, shape):
    X, y = make(shape)
    frame = pd.DataFrame(X, columns=[f"x{j}" for j in range(shape[1])])
    pq.write_table(pa.table({**dict(frame.items()), "y": y}), tmp_path / "rows.parquet")
    source = suffice.scan(tmp_path / "rows.parquet", target="y")
    plain = LassoCV(alphas=10, cv=3, eps=0.05).fit(X, y)
    streamed = LassoCV(alphas=10, cv=3, eps=0.05).fit(source)
    framed = LassoCV(alphas=10, cv=3, eps=0.05).fit(frame, y)
    for other in (streamed, framed):
        np.testing.assert_array_equal(other.coef_, plain.coef_)
        np.testing.assert_allclose(other.mse_path_, plain.mse_path_, rtol=1e-12)
        assert list(other.feature_names_in_) == list(frame.columns)
    assert streamed.score(source) == pytest.approx(plain.score(X, y), rel=1e-12)
    np.testing.assert_allclose(streamed.predict(source), plain.predict(X), rtol=1e-12)


@pytest.mark.parametrize("shape", [(900, 30), (60, 300)])
def test_lasso_cv_of_sparse_rows(shape):
    rng = np.random.default_rng(0)
    X = sparse.random_array(shape, density=0.2, format="csr", rng=rng)
    y = X @ rng.normal(size=shape[1]) + rng.normal(size=shape[0])
    ours = LassoCV(alphas=10, eps=0.05).fit(X, y)
    dense = LassoCV(alphas=10, eps=0.05).fit(X.toarray(), y)
    np.testing.assert_allclose(ours.mse_path_, dense.mse_path_, rtol=1e-9)
    np.testing.assert_allclose(ours.coef_, dense.coef_, atol=1e-9)


def test_a_fold_that_is_fitted_almost_exactly():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2000, 4))
    y = X @ [1.0, 2.0, 3.0, 4.0]
    ours = LassoCV(alphas=[1e-6, 1e-2], cv=3).fit(X, y)
    assert ours.passes_ > 1
    for f, (train, test) in enumerate(KFold(3).split(X)):
        one = Lasso(1e-6).fit(X[train], y[train])
        error = np.mean(np.square(y[test] - one.predict(X[test])))
        assert ours.mse_path_[1, f] == pytest.approx(error, rel=1e-8)


@pytest.mark.parametrize("shape", [(300, 8), (40, 150)])
@pytest.mark.parametrize("targets", [1, 2])
def test_paths_under_scikit_learns_names(shape, targets):
    X, y = make(shape, targets)
    for l1_ratio in (1.0, 0.6):
        options = {"l1_ratio": l1_ratio, "eps": 0.05, "alphas": 8}
        alphas, coefs, gaps = suffice.enet_path(X, y, **options)
        assert gaps.max() < 1e-8
        for t in range(targets):
            y_t, coefs_t = (y, coefs) if targets == 1 else (y[:, t], coefs[t])
            theirs = linear_model.enet_path(
                X, y_t, l1_ratio=l1_ratio, alphas=alphas, tol=1e-14, max_iter=10**6
            )
            np.testing.assert_allclose(coefs_t, theirs[1], atol=1e-8)
    found = suffice.lasso_path(X, y, alphas=[0.1, 0.5], return_n_iter=True)
    np.testing.assert_array_equal(found[0], [0.5, 0.1])
    assert len(found) == 4
    with pytest.raises(TypeError, match="l1_ratio"):
        suffice.lasso_path(X, y, l1_ratio=0.5)


def test_what_cv_classes_refuse():
    X, y = make((40, 3), targets=2)
    with pytest.raises(ValueError, match="one target"):
        LassoCV().fit(X, y)
    with pytest.raises(ValueError, match="repeat rows"):
        LassoCV(cv=[([0, 0, 1, 2], [3, 4])]).fit(X, y[:, 0])
    with pytest.raises(ValueError, match="alphas"):
        LassoCV(alphas=[-1.0]).fit(X, y[:, 0])
    weight = np.ones(40)
    weight[:8] = 0
    with pytest.raises(ValueError, match="rows of weight 0 alone"):
        LassoCV().fit(X, y[:, 0], weight)
    with pytest.raises(ValueError, match="weight zero"):
        LassoCV().fit(X, y[:, 0], 1 - weight)
    with pytest.raises(ValueError, match="above 0"):
        RidgeCV(alphas=[0.0]).fit(X, y)
    for name in ("store_cv_results", "alpha_per_target"):
        with pytest.raises(ValueError, match=name):
            RidgeCV(cv=3, **{name: True}).fit(X, y)


def test_solutions_that_are_not_proved_are_told():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 200)) @ rng.normal(size=(200, 200))
    y = X @ rng.normal(size=200) + rng.normal(size=60)
    with pytest.warns(ConvergenceWarning, match=r"LassoCV|Lasso"):
        LassoCV(alphas=[1e-3], cv=3, max_iter=1).fit(X, y)


# --- RidgeCV -----------------------------------------------------------------------------------

ALPHAS = np.logspace(-2, 3, 6)


@pytest.mark.parametrize("shape", [(300, 8), (4000, 10), (40, 150)])
@pytest.mark.parametrize("targets", [1, 3])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(
    "options",
    [{}, {"fit_intercept": False}, {"store_cv_results": True}, {"cv": 3},
     {"scoring": "neg_mean_absolute_error", "store_cv_results": True}, {"scoring": "r2"},
     {"alpha_per_target": True}],
    ids=str,
)  # fmt: skip
def test_ridge_cv(shape, targets, weighted, options):
    X, y = make(shape, targets)
    weight = np.random.default_rng(1).uniform(0.5, 2, len(y)) if weighted else None
    ours = RidgeCV(ALPHAS, **options).fit(X, y, weight)
    theirs = linear_model.RidgeCV(ALPHAS, **options).fit(X, y, weight)
    np.testing.assert_array_equal(ours.alpha_, theirs.alpha_)
    np.testing.assert_allclose(ours.best_score_, theirs.best_score_, rtol=1e-10)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=1e-11)
    np.testing.assert_allclose(ours.intercept_, theirs.intercept_, atol=1e-10)
    if "store_cv_results" in options:
        assert ours.cv_results_.shape == theirs.cv_results_.shape
        np.testing.assert_allclose(ours.cv_results_, theirs.cv_results_, rtol=1e-8, atol=1e-10)


def test_ridge_cv_by_leaving_each_row_out():
    X, y = make((40, 4))
    model = RidgeCV([0.5, 5.0], store_cv_results=True).fit(X, y)
    for i in range(40):
        rest = np.delete(np.arange(40), i)
        for a, alpha in enumerate([0.5, 5.0]):
            one = suffice.Ridge(alpha).fit(X[rest], y[rest])
            error = (y[i] - one.predict(X[[i]])[0]) ** 2
            assert model.cv_results_[i, a] == pytest.approx(error, rel=1e-9)


def test_ridge_cv_of_files(tmp_path):
    X, y = make((3000, 5))
    columns = {f"x{j}": X[:, j] for j in range(5)}
    pq.write_table(pa.table({**columns, "y": y}), tmp_path / "rows.parquet")
    source = suffice.scan(tmp_path / "rows.parquet", target="y")
    for options in ({}, {"cv": 4}):
        plain, streamed = RidgeCV(**options).fit(X, y), RidgeCV(**options).fit(source)
        np.testing.assert_array_equal(streamed.coef_, plain.coef_)
        assert streamed.alpha_ == plain.alpha_
        assert streamed.best_score_ == pytest.approx(plain.best_score_, rel=1e-12)


# --- searches over Lasso and ElasticNet ----------------------------------------------------------


@pytest.mark.parametrize("scoring", [None, "neg_mean_squared_error", "neg_mean_absolute_error"])
@pytest.mark.parametrize("targets", [1, 2])
def test_grid_search(scoring, targets):
    X, y = make((300, 6), targets)
    grid = {"alpha": [0.5, 0.01], "l1_ratio": [0.3, 1.0], "positive": [False, True]}
    ours = suffice.GridSearchCV(ElasticNet(), grid, cv=3, scoring=scoring).fit(X, y)
    theirs = model_selection.GridSearchCV(ElasticNet(), grid, cv=3, scoring=scoring).fit(X, y)
    assert ours.best_params_ == theirs.best_params_
    assert ours.passes_ == (2 if scoring == "neg_mean_absolute_error" else 1)
    for name in ("mean_test_score", "std_test_score"):
        np.testing.assert_allclose(
            ours.cv_results_[name], theirs.cv_results_[name], rtol=1e-9, atol=1e-12
        )
    np.testing.assert_allclose(ours.best_estimator_.coef_, theirs.best_estimator_.coef_, atol=1e-12)


def test_grid_search_behind_a_scaler():
    X, y = make((1500, 6))
    pipeline = make_pipeline(StandardScaler(), Lasso())
    grid = {"lasso__alpha": [0.5, 0.1, 0.01]}
    ours = suffice.GridSearchCV(pipeline, grid).fit(X, y)
    theirs = model_selection.GridSearchCV(pipeline, grid).fit(X, y)
    assert ours.passes_ == 1
    np.testing.assert_allclose(
        ours.cv_results_["mean_test_score"], theirs.cv_results_["mean_test_score"], rtol=1e-10
    )


@pytest.mark.parametrize("cv", [5, ShuffleSplit(4, random_state=0), LeaveOneOut()], ids=str)
def test_cross_validate(cv):
    X, y = make((60, 4))
    scoring = "neg_mean_squared_error"
    ours = suffice.cross_validate(Lasso(0.1), X, y, cv=cv, scoring=scoring)
    theirs = model_selection.cross_validate(Lasso(0.1), X, y, cv=cv, scoring=scoring)
    np.testing.assert_allclose(ours["test_score"], theirs["test_score"], rtol=1e-9, atol=1e-14)


def test_clones():
    for model in (LassoCV(eps=0.1), ElasticNetCV(l1_ratio=[0.1]), RidgeCV(cv=3), Lasso(0.3)):
        assert str(clone(model).get_params()) == str(model.get_params())


def test_no_alphas_are_refused():
    X, y = np.ones((8, 2)) * np.arange(8)[:, None], np.arange(8.0)
    with pytest.raises(ValueError, match="at least one finite value"):
        LassoCV(alphas=[], cv=2).fit(X, y)
