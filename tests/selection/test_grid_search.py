"""Grid search against scikit-learn's own class over the same estimators."""

from __future__ import annotations

import copy
import pickle
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse
from sklearn import config_context, model_selection
from sklearn.base import clone
from sklearn.exceptions import FitFailedWarning, NotFittedError
from sklearn.linear_model import Ridge as TheirRidge
from sklearn.metrics import make_scorer, mean_squared_error
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.utils.estimator_checks import parametrize_with_checks

import suffice
from suffice import GaussianNB, GridSearchCV, LinearRegression, Ridge
from suffice.preprocessing import StandardScaler
from tests.selection.compare import LARGE, SMALL, agree, both_searches, make_rows
from tests.selection.test_cross_validate import labelled, two_scores

ALPHAS = {"alpha": [0.1, 1.0, 50.0, 1000.0]}
SCALED = make_pipeline(StandardScaler(), Ridge())

GRIDS = {
    "penalties": (Ridge(), ALPHAS),
    "intercepts": (Ridge(), {**ALPHAS, "fit_intercept": [True, False]}),
    "units": (Ridge(), {**ALPHAS, "standardize": [False, True]}),
    "exact": (Ridge(), {"alpha": [0.1, 1.0], "exact": [True, False]}),
    "least squares": (LinearRegression(), {"fit_intercept": [True, False]}),
    "nothing to vary": (Ridge(), {}),
    "no penalty": (Ridge(), {"alpha": [0, 1e-3, 1e300]}),
    "list of grids": (Ridge(), [ALPHAS, {"fit_intercept": [False], "alpha": [2.0]}]),
    "pipeline": (SCALED, {"ridge__alpha": [0.1, 10.0], "standardscaler__with_mean": [True, False],
                          "standardscaler__with_std": [True, False]}),
    "scaler or none": (SCALED, {"standardscaler": ["passthrough", StandardScaler(), None],
                                "ridge__alpha": [1.0, 10.0]}),
    "models": (SCALED, {"ridge": [Ridge(5.0), Ridge(fit_intercept=False)]}),
}  # fmt: skip


OF_MANY_ROWS = ["intercepts", "no penalty", "pipeline"]


@pytest.mark.parametrize(
    ("estimator", "grid", "rows"),
    [pytest.param(*pair, SMALL, id=f"{name}, small") for name, pair in GRIDS.items()]
    + [
        pytest.param(
            *pair,
            LARGE,
            id=f"{name}, large",
            marks=[] if name in OF_MANY_ROWS else pytest.mark.long,
        )
        for name, pair in GRIDS.items()
    ],
)
def test_grids(estimator, grid, rows):
    both = {"cv": 4, "return_train_score": True}
    if rows is SMALL:
        found = both_searches(estimator, grid, rows.X, rows.y, scoring="neg_mean_absolute_error",
                              **both)  # fmt: skip
        assert found.passes_ == 2
    found = both_searches(estimator, grid, rows.X, rows.y, **both)
    assert found.passes_ == 1


@pytest.mark.parametrize(
    ("scoring", "refit", "passes"),
    [
        ("neg_mean_squared_error", True, 1),
        ("neg_max_error", True, 2),
        (make_scorer(mean_squared_error, greater_is_better=False), False, 1),
        (["r2", "neg_mean_squared_error"], "r2", 1),
        (("r2", "neg_max_error"), "neg_max_error", 2),
        ({"a": "r2", "b": "explained_variance"}, "b", 1),
        (["r2", "neg_max_error"], False, 2),
        (two_scores, "worst", 2),
        (two_scores, False, 2),
    ],
)
def test_scores_and_refits(scoring, refit, passes):
    found = both_searches(Ridge(), ALPHAS, SMALL.X, SMALL.y, scoring=scoring, refit=refit, cv=2)
    assert found.passes_ == passes


def test_a_function_chooses():
    def smallest(results):
        return int(np.argmin(results["mean_test_score"]))

    found = both_searches(Ridge(), ALPHAS, SMALL.X, SMALL.y, refit=smallest)
    assert found.best_params_ == {"alpha": 1000.0}
    assert not hasattr(found, "best_score_")


def test_several_targets():
    rows = make_rows(100, 3, 2)
    grid = {"alpha": [0.5, [0.1, 100.0], np.array([2.0, 3.0])]}
    found = suffice.GridSearchCV(Ridge(), grid).fit(rows.X, rows.y)
    assert found.passes_ == 1
    for scores, alpha in zip(found.cv_results_["mean_test_score"], grid["alpha"], strict=True):
        theirs = model_selection.cross_val_score(Ridge(alpha), rows.X, rows.y)
        agree(scores, theirs.mean())


def test_weights():
    several = ["neg_max_error", "neg_mean_absolute_error"]
    for rows, scorings in ((SMALL, ("neg_max_error", several, two_scores)), (LARGE, (several,))):
        fit = {"sample_weight": rows.weight}
        assert both_searches(Ridge(), ALPHAS, rows.X, rows.y, fit).passes_ == 1
        for scoring in scorings:
            options = {"scoring": scoring, "refit": False, "return_train_score": True, "cv": 3}
            assert both_searches(Ridge(), ALPHAS, rows.X, rows.y, fit, **options).passes_ == 2
    found = both_searches(SCALED, {"ridge__alpha": [0.1, 1]}, *SMALL[:2],
                          {"ridge__sample_weight": SMALL.weight})  # fmt: skip
    assert found.passes_ is None


def test_groups():
    fit = {"groups": np.arange(len(SMALL.y)) % 7}
    cv = model_selection.GroupKFold(3)
    assert both_searches(Ridge(), ALPHAS, SMALL.X, SMALL.y, fit, cv=cv).passes_ == 1


def test_splits_that_can_be_read_once():
    splits = [(np.arange(60), np.arange(60, 120)), (np.arange(60, 120), np.arange(60))]
    given = (split for split in splits)
    search = suffice.GridSearchCV(Ridge(), ALPHAS, cv=given).fit(SMALL.X, SMALL.y)
    assert search.cv is given
    again = suffice.GridSearchCV(Ridge(), ALPHAS, cv=splits).fit(SMALL.X, SMALL.y)
    np.testing.assert_array_equal(
        search.cv_results_["mean_test_score"], again.cv_results_["mean_test_score"]
    )
    repeated = ((np.r_[train, train], test) for train, test in splits)
    assert suffice.GridSearchCV(Ridge(), ALPHAS, cv=repeated).fit(*SMALL[:2]).passes_ is None


def test_naive_bayes():
    X, y = labelled()
    grid = {"var_smoothing": [1e-9, 0.1, 10.0], "tied_variance": [True, False]}
    for scoring in (None, "neg_log_loss"):
        theirs = model_selection.GridSearchCV(GaussianNB(), grid, scoring=scoring).fit(X, y)
        ours = GridSearchCV(GaussianNB(), grid, scoring=scoring).fit(X, y)
        assert ours.passes_ == 2
        agree(ours.cv_results_["mean_test_score"], theirs.cv_results_["mean_test_score"])
        assert ours.best_params_ == theirs.best_params_
        np.testing.assert_array_equal(ours.predict(X), theirs.predict(X))
        assert ours.classes_.tolist() == theirs.classes_.tolist()


def test_the_best_naive_bayes_is_a_whole_model(tmp_path):
    X, y = labelled()
    best = GridSearchCV(GaussianNB(), {"var_smoothing": [1e-9]}).fit(X[:150], y[:150])
    rest = GaussianNB(var_smoothing=1e-9).fit(X[150:], y[150:])
    whole = GaussianNB(var_smoothing=1e-9).fit(X, y)
    merged = suffice.merge(best.best_estimator_, rest)
    np.testing.assert_allclose(merged.theta_, whole.theta_, rtol=1e-11)
    best.best_estimator_.save(tmp_path / "best")
    loaded = suffice.load(tmp_path / "best")
    np.testing.assert_array_equal(loaded.predict(X), best.predict(X))


def test_searches_at_once():
    def run(_):
        search = GridSearchCV(Ridge(), ALPHAS, scoring="neg_max_error", cv=3)
        search.fit(LARGE.X, LARGE.y)
        return search.cv_results_["mean_test_score"]

    with ThreadPoolExecutor(4) as pool:
        first, *others = pool.map(run, range(4))
    for other in others:
        np.testing.assert_array_equal(other, first)


# --- kinds of rows -------------------------------------------------------------------------


@pytest.mark.filterwarnings("error")
def test_frames():
    names = ["ä", "b", "c", "d"]
    for frame in (pd.DataFrame(SMALL.X, columns=names), pl.DataFrame(SMALL.X, schema=names)):
        for estimator, grid in (GRIDS["penalties"], GRIDS["pipeline"]):
            search = GridSearchCV(estimator, grid).fit(frame, SMALL.y)
            assert search.feature_names_in_.tolist() == names
            assert search.best_estimator_.feature_names_in_.tolist() == names
            assert np.isfinite(search.predict(frame)).all()
            with pytest.raises(ValueError, match="feature names"):
                search.predict(frame[names[::-1]])


def test_sparse_rows():
    X = sparse.random_array((300, 8), density=0.2, rng=0, format="csr")
    y = X @ np.arange(8.0) + np.random.default_rng(0).normal(size=300)
    grid = {"alpha": [0.1, 50.0]}
    for form in (X, sparse.coo_array(X), sparse.csc_matrix(X)):
        assert both_searches(Ridge(), grid, form, y, cv=3).passes_ == 1
    both_searches(Ridge(), grid, X, y, scoring="neg_max_error", cv=3)


def test_wide_rows_and_other_estimators_are_scikit_learns():
    rows = make_rows(40, 150)
    found = both_searches(Ridge(), ALPHAS, rows.X, rows.y, tolerance=1e-8)
    assert found.passes_ is None
    assert both_searches(TheirRidge(), ALPHAS, SMALL.X, SMALL.y).passes_ is None
    mixed = {"ridge": [Ridge(), LinearRegression()]}
    assert both_searches(SCALED, mixed, SMALL.X, SMALL.y).passes_ is None


def test_dependent_columns():
    for rows in (SMALL, LARGE):
        X = np.column_stack([rows.X, rows.X[:, 0] - rows.X[:, 1], np.ones(len(rows.X))])
        found = both_searches(Ridge(), {"alpha": [0.0, 1e-3, 100.0]}, X, rows.y)
        assert found.passes_ == (1 if rows is SMALL else 2)
        assert found.best_estimator_.certificate_.holds


def test_all_rows_may_need_more_digits_than_each_fold():
    """The last row makes a column depend on another, up to 1e-9."""
    rng = np.random.default_rng(0)
    n = 100_000
    x = rng.normal(size=n)
    X = np.column_stack([x, x + np.where(np.arange(n) < n // 2, 1e-6, 0) * rng.normal(size=n)])
    y = x + rng.normal(size=n)
    cv = [(np.arange(n // 4), np.arange(n // 4, n // 2))]
    search = GridSearchCV(LinearRegression(), {}, cv=cv).fit(X, y)
    alone = LinearRegression().fit(X, y)
    np.testing.assert_allclose(search.best_estimator_.coef_, alone.coef_, rtol=1e-9)
    assert search.best_estimator_.certificate_.digits >= 8


# --- failures ------------------------------------------------------------------------------


@pytest.mark.parametrize("error_score", [np.nan, -1e6])
@pytest.mark.parametrize("scoring", ["r2", "neg_max_error", ["r2", "neg_max_error"], two_scores])
def test_candidates_that_fail(error_score, scoring):
    grid = {"alpha": [1.0, -1.0, "text", 10.0]}
    refit = "r2" if isinstance(scoring, list) else "mean" if callable(scoring) else True
    found = both_searches(
        Ridge(), grid, SMALL.X, SMALL.y, scoring=scoring, refit=refit, error_score=error_score,
        return_train_score=True, cv=3,
    )  # fmt: skip
    assert found.passes_ == (1 if scoring == "r2" else 2)


def test_candidates_that_fail_when_solved():
    rows = make_rows(100, 3, 2)
    grid = {"alpha": [[1.0, 2.0], [1.0, 2.0, 3.0]]}
    with (
        pytest.warns(UserWarning, match="non-finite"),
        pytest.warns(FitFailedWarning, match="5 fits failed out of a total of 10"),
    ):
        found = GridSearchCV(Ridge(), grid).fit(rows.X, rows.y)
    assert np.isnan(found.cv_results_["mean_test_score"]).tolist() == [False, True]


def test_all_fail_or_one_is_raised():
    for search in (GridSearchCV, model_selection.GridSearchCV):
        with pytest.raises(ValueError, match="All the 10 fits failed"):
            search(Ridge(), {"alpha": [-1, -2]}).fit(SMALL.X, SMALL.y)
        with pytest.raises(ValueError, match="'alpha' parameter"):
            search(Ridge(), {"alpha": [1, -2]}, error_score="raise").fit(SMALL.X, SMALL.y)
        with pytest.raises(ValueError, match="Invalid parameter 'beta'"):
            search(Ridge(), {"beta": [1]}).fit(SMALL.X, SMALL.y)
        with pytest.raises(ValueError, match="No fits were performed"):
            search(Ridge(), []).fit(SMALL.X, SMALL.y)
        with pytest.raises(ValueError, match="greater than the number of samples"):
            search(Ridge(), ALPHAS).fit(SMALL.X[:4], SMALL.y[:4])
        with pytest.raises(ValueError, match="refit"):
            search(Ridge(), ALPHAS, scoring=["r2"]).fit(SMALL.X, SMALL.y)


def test_a_failed_search_is_as_it_was():
    search = GridSearchCV(Ridge(), ALPHAS, error_score="raise").fit(SMALL.X, SMALL.y)
    before = copy.copy(vars(search))
    X = SMALL.X.copy()
    X[5, 1] = np.inf
    for bad_X, y in ((X, SMALL.y), (SMALL.X, SMALL.y[:-1]), (SMALL.X[:2], SMALL.y[:2])):
        with pytest.raises(ValueError, match=r"."):
            search.fit(bad_X, y)
        assert vars(search) == before
    fresh = GridSearchCV(Ridge(), {"alpha": [-1]})
    with pytest.raises(ValueError, match="All the 5 fits"):
        fresh.fit(SMALL.X, SMALL.y)
    assert vars(fresh).keys() == fresh.get_params(deep=False).keys()


# --- an estimator like any other -----------------------------------------------------------


@pytest.mark.filterwarnings("ignore")
@parametrize_with_checks(
    [GridSearchCV(Ridge(), {"alpha": [0.1, 1.0]}, cv=2)],
    expected_failed_checks=lambda search: {
        "check_supervised_y_2d": "several targets are no error; nor in scikit-learn's own search"
    },
    xfail_strict=True,
)
def test_scikit_learn_contract(estimator, check):
    check(estimator)


def test_parameters_copies_and_pickles():
    search = GridSearchCV(SCALED, {"ridge__alpha": [0.1, 1.0]}, cv=3)
    theirs = model_selection.GridSearchCV(SCALED, {"ridge__alpha": [0.1, 1.0]}, cv=3)
    assert search.get_params().keys() == theirs.get_params().keys()
    search.set_params(estimator__ridge__fit_intercept=False, cv=4)
    copied = clone(search)
    assert copied.estimator.named_steps["ridge"].fit_intercept is False
    fitted = copied.fit(SMALL.X, SMALL.y)
    loaded = pickle.loads(pickle.dumps(fitted))
    np.testing.assert_array_equal(loaded.predict(SMALL.X), fitted.predict(SMALL.X))
    assert loaded.passes_ == fitted.passes_ == 1
    assert loaded.best_params_ == fitted.best_params_
    with pytest.raises(NotFittedError):
        clone(fitted).predict(SMALL.X)


def test_inside_others():
    search = GridSearchCV(Ridge(), ALPHAS, cv=3)
    theirs = model_selection.GridSearchCV(Ridge(), ALPHAS, cv=3)
    for ours, other in (
        (search, theirs),
        (Pipeline([("s", StandardScaler()), ("g", search)]),
         Pipeline([("s", StandardScaler()), ("g", theirs)])),
    ):  # fmt: skip
        agree(
            model_selection.cross_val_score(ours, SMALL.X, SMALL.y, cv=3),
            model_selection.cross_val_score(other, SMALL.X, SMALL.y, cv=3),
        )
        found = suffice.cross_validate(ours, SMALL.X, SMALL.y, cv=3)
        assert found.passes_ is None


def test_the_best_model_is_a_whole_model(tmp_path):
    search = GridSearchCV(Ridge(), ALPHAS).fit(LARGE.X, LARGE.y)
    best, alone = search.best_estimator_, Ridge(**search.best_params_).fit(LARGE.X, LARGE.y)
    assert vars(best).keys() == vars(alone).keys()
    np.testing.assert_allclose(best.coef_, alone.coef_, rtol=1e-12)
    best.save(tmp_path / "best")
    np.testing.assert_array_equal(suffice.load(tmp_path / "best").coef_, best.coef_)
    best.update(SMALL.X[:, [0, 1, 2, 3, 3]], SMALL.y)
    best.forget(SMALL.X[:, [0, 1, 2, 3, 3]], SMALL.y)
    np.testing.assert_allclose(best.coef_, alone.coef_, rtol=1e-9)
    assert search.refit_time_ >= 0
    assert search.n_features_in_ == 5
    assert abs(search.score(LARGE.X, LARGE.y) - alone.score(LARGE.X, LARGE.y)) < 1e-12


def test_metadata_routing():
    with config_context(enable_metadata_routing=True):
        model = Ridge().set_fit_request(sample_weight=True).set_score_request(sample_weight=False)
        fit = {"sample_weight": SMALL.weight}
        assert both_searches(model, ALPHAS, SMALL.X, SMALL.y, fit).passes_ is None


def test_verbose(capsys):
    for search in (GridSearchCV, model_selection.GridSearchCV):
        search(Ridge(), ALPHAS, cv=3, verbose=1).fit(SMALL.X, SMALL.y)
        assert capsys.readouterr().out == (
            "Fitting 3 folds for each of 4 candidates, totalling 12 fits\n"
        )


def test_one_pass_and_no_fit(monkeypatch):
    """A search is not a loop in disguise."""

    def never(*args, **options):
        raise AssertionError("a model was fitted")

    monkeypatch.setattr(Ridge, "fit", never)
    search = GridSearchCV(Ridge(), {"alpha": np.logspace(-3, 3, 50)}, cv=10).fit(LARGE.X, LARGE.y)
    assert search.passes_ == 1
    assert search.cv_results_["mean_test_score"].shape == (50,)
