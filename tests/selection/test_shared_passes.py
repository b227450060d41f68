"""Cross-validation of iterative models: the same answers as separate fits, fewer readings."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn import model_selection
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_wine
from sklearn.linear_model import LogisticRegressionCV as TheirsCV
from sklearn.utils.estimator_checks import parametrize_with_checks

import suffice
from suffice.fitting.shared_passes import in_step, on_some_rows
from suffice.sources import as_source


def standardised(load):
    X, y = load(return_X_y=True)
    return (X - X.mean(axis=0)) / X.std(axis=0), y


@pytest.fixture(scope="module")
def cancer():
    return standardised(load_breast_cancer)


@pytest.fixture(scope="module")
def wine():
    return standardised(load_wine)


def parquet(folder, X, y, rows=None):
    path = folder / "rows.parquet"
    frame = pd.DataFrame(X, columns=[f"x{j}" for j in range(X.shape[1])]).assign(label=y)
    frame.to_parquet(path, row_group_size=rows)
    return suffice.scan(path, target="label")


MODELS = {
    "binary": suffice.LogisticRegression(),
    "absolute values": suffice.LogisticRegression(C=0.1, l1_ratio=1.0),
    "balanced": suffice.LogisticRegression(class_weight="balanced"),
    "reference class": suffice.LogisticRegression(reference_class=1),
}


@pytest.mark.parametrize("model", MODELS.values(), ids=MODELS)
@pytest.mark.parametrize("cv", [5, model_selection.ShuffleSplit(4, random_state=0)], ids=str)
def test_equal_to_a_fit_for_each_fold(model, cv, wine):
    X, y = wine
    options = {"cv": cv, "return_estimator": True, "return_train_score": True}
    ours = suffice.cross_validate(model, X, y, **options)
    theirs = model_selection.cross_validate(model, X, y, **options)
    for name in ("test_score", "train_score"):
        np.testing.assert_allclose(ours[name], theirs[name], rtol=1e-10)
    for one, other in zip(ours["estimator"], theirs["estimator"], strict=True):
        np.testing.assert_allclose(one.coef_, other.coef_, rtol=1e-8, atol=1e-10)
        np.testing.assert_allclose(one.intercept_, other.intercept_, rtol=1e-8, atol=1e-10)
        assert one.certificate_.holds
    longest = max(len(model.trace_) for model in ours["estimator"])
    assert ours.passes_ <= longest + 2  # scores of tested and of training rows


def test_weights(cancer):
    X, y = cancer
    weight = np.random.default_rng(0).integers(1, 4, size=len(y)).astype(float)
    options = {"cv": 3, "params": {"sample_weight": weight}, "return_estimator": True}
    ours = suffice.cross_validate(suffice.LogisticRegression(), X, y, **options)
    theirs = model_selection.cross_validate(suffice.LogisticRegression(), X, y, **options)
    np.testing.assert_allclose(ours["test_score"], theirs["test_score"], rtol=1e-12)
    for one, other in zip(ours["estimator"], theirs["estimator"], strict=True):
        np.testing.assert_allclose(one.coef_, other.coef_, rtol=1e-8)


@pytest.mark.parametrize("form", ["frame", "sparse"])
def test_other_forms_of_rows(form, cancer):
    X, y = cancer
    rows = pd.DataFrame(X, columns=[f"c{j}" for j in range(X.shape[1])])
    if form == "sparse":
        rows = sparse.csr_array(np.where(np.abs(X) > 1, X, 0.0))
    options = {"cv": 3, "return_estimator": True}
    ours = suffice.cross_validate(suffice.LogisticRegression(), rows, y, **options)
    theirs = model_selection.cross_validate(suffice.LogisticRegression(), rows, y, **options)
    np.testing.assert_allclose(ours["test_score"], theirs["test_score"], rtol=1e-12)
    names = getattr(ours["estimator"][0], "feature_names_in_", None)
    assert (names is not None) == (form == "frame")


def test_a_source_is_read_as_often_as_the_slowest_fit(cancer, tmp_path):
    X, y = cancer
    source = parquet(tmp_path, X, y, rows=100)
    ours = suffice.cross_validate(suffice.LogisticRegression(), source, cv=5, return_estimator=True)
    memory = suffice.cross_validate(suffice.LogisticRegression(), X, y, cv=5, return_estimator=True)
    np.testing.assert_allclose(ours["test_score"], memory["test_score"], rtol=1e-12)
    longest = max(len(model.trace_) for model in ours["estimator"])
    assert ours.passes_ <= longest + 2  # labels for the folds, scores


def test_a_search_shares_passes_too(cancer):
    X, y = cancer
    grid = {"C": [0.01, 1.0], "l1_ratio": [0.0, 1.0]}
    options = {"scoring": "neg_log_loss", "cv": 3}
    ours = suffice.GridSearchCV(suffice.LogisticRegression(), grid, **options).fit(X, y)
    theirs = model_selection.GridSearchCV(suffice.LogisticRegression(), grid, **options).fit(X, y)
    for name in ("mean_test_score", "std_test_score", "rank_test_score"):
        np.testing.assert_allclose(ours.cv_results_[name], theirs.cv_results_[name], rtol=1e-8)
    assert ours.best_params_ == theirs.best_params_
    np.testing.assert_allclose(ours.best_estimator_.coef_, theirs.best_estimator_.coef_, rtol=1e-8)
    assert ours.passes_ < 60


def test_a_fold_without_a_class_fails_alone(cancer):
    X, y = cancer
    order = np.argsort(y, kind="stable")
    cv = model_selection.KFold(2)
    with pytest.warns(Warning, match="fits failed"):
        found = suffice.cross_validate(suffice.LogisticRegression(), X[order], y[order], cv=cv)
    assert np.isnan(found["test_score"]).tolist() == [True, False]
    with pytest.raises(ValueError, match="two classes"):
        suffice.cross_validate(
            suffice.LogisticRegression(), X[order], y[order], cv=cv, error_score="raise"
        )


def test_bad_cells_are_named_by_scikit_learns_loop(cancer):
    X, y = cancer
    X = X.copy()
    X[17, 3] = np.nan
    with pytest.raises(ValueError, match="NaN"):
        suffice.cross_validate(suffice.LogisticRegression(), X, y, error_score="raise")


def test_a_method_that_fails_leaves_the_others(cancer):
    X, y = cancer
    source = as_source(X, y)
    everything = np.ones(len(y), dtype=bool)
    fits = [
        on_some_rows(suffice.LogisticRegression(), source, everything),
        on_some_rows(suffice.LogisticRegression(), source, y == 1),
        on_some_rows(suffice.LogisticRegression(max_iter=-1), source, everything),
    ]
    in_step(fits, source)
    assert fits[0].failure is None
    assert "two classes" in str(fits[1].failure)
    assert "max_iter" in str(fits[2].failure)
    alone = suffice.LogisticRegression().fit(X, y)
    np.testing.assert_array_equal(fits[0].model.coef_, alone.coef_)


# --- LogisticRegressionCV -------------------------------------------------------------------


@pytest.mark.parametrize(
    ("scoring", "load"),
    [
        (None, load_breast_cancer),
        ("neg_log_loss", load_wine),
        pytest.param(None, load_wine, marks=pytest.mark.long),
        pytest.param("neg_log_loss", load_breast_cancer, marks=pytest.mark.long),
    ],
)
def test_scikit_learns_choice(scoring, load):
    X, y = standardised(load)
    ours = suffice.LogisticRegressionCV(Cs=[0.01, 0.3, 10.0], cv=3, scoring=scoring).fit(X, y)
    theirs = TheirsCV(
        Cs=[0.01, 0.3, 10.0],
        cv=3,
        scoring=scoring or "accuracy",
        l1_ratios=(0,),
        tol=1e-10,
        max_iter=10_000,
        use_legacy_attributes=False,
    ).fit(X, y)
    assert ours.C_ == theirs.C_
    assert ours.coefs_paths_.shape == theirs.coefs_paths_.shape
    np.testing.assert_allclose(ours.scores_, theirs.scores_, rtol=1e-5)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=1e-4)
    np.testing.assert_allclose(ours.score(X, y), theirs.score(X, y), rtol=1e-6)


def test_cv_from_files_and_with_shares(cancer, tmp_path):
    X, y = cancer
    model = suffice.LogisticRegressionCV(Cs=[0.1, 1.0], l1_ratios=[0.0, 0.5], cv=3)
    memory, files = clone(model).fit(X, y), clone(model).fit(parquet(tmp_path, X, y))
    assert memory.scores_.shape == (3, 2, 2)
    assert (files.C_, files.l1_ratio_) == (memory.C_, memory.l1_ratio_)
    np.testing.assert_allclose(files.scores_, memory.scores_, rtol=1e-12)
    np.testing.assert_allclose(files.coef_, memory.coef_, rtol=1e-8)


def test_mean_of_the_best_of_each_fold(cancer):
    X, y = cancer
    model = suffice.LogisticRegressionCV(Cs=[0.01, 1.0], cv=3, refit=False).fit(X, y)
    best = model.scores_[:, 0].argmax(axis=1)
    expected = np.mean([model.coefs_paths_[fold, 0, c] for fold, c in enumerate(best)], axis=0)
    np.testing.assert_allclose(model.coef_, expected[:, :-1], rtol=1e-12)
    np.testing.assert_allclose(model.C_, np.mean([[0.01, 1.0][c] for c in best]))


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"Cs": [0.0]}, "Cs must be positive"),
        ({"l1_ratios": [2.0]}, "between 0 and 1"),
        ({"use_legacy_attributes": True}, "use_legacy_attributes"),
    ],
)
def test_bad_parameters(parameters, message, wine):
    with pytest.raises(ValueError, match=message):
        suffice.LogisticRegressionCV(**parameters).fit(*wine)


@parametrize_with_checks([suffice.LogisticRegressionCV(Cs=[1.0], cv=2)])
def test_scikit_learn_contract(estimator, check):
    check(estimator)
