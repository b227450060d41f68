"""Cross-validation against scikit-learn's own loop over the same estimators."""

from __future__ import annotations

import copy
import time
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse
from sklearn import config_context, model_selection
from sklearn.exceptions import ConvergenceWarning, FitFailedWarning
from sklearn.linear_model import Ridge as TheirRidge
from sklearn.metrics import make_scorer, mean_squared_error, r2_score
from sklearn.pipeline import make_pipeline

import suffice
from suffice import GaussianNB, LinearRegression, Ridge
from suffice.preprocessing import StandardScaler
from tests.selection.compare import LARGE, SMALL, both, make_rows

ESTIMATORS = {
    "ridge": Ridge(alpha=2.0),
    "least squares": LinearRegression(),
    "no intercept": Ridge(fit_intercept=False),
    "standardized": Ridge(standardize=True),
    "exact": Ridge(exact=True),
    "scaled": make_pipeline(StandardScaler(), Ridge(alpha=3.0)),
    "scaled twice": make_pipeline(StandardScaler(with_mean=False), "passthrough", StandardScaler(),
                                  LinearRegression()),
}  # fmt: skip

N = len(SMALL.y)
GROUPS = np.random.default_rng(3).integers(0, 6, N)


def bootstrap(n, times=3):
    rng = np.random.default_rng(2)
    for _ in range(times):
        rows = rng.integers(0, n, n)
        yield rows, np.setdiff1d(np.arange(n), rows)


def masks(n):
    for k in range(3):
        test = np.arange(n) % 3 == k
        yield ~test, test


def overlapping(n):
    yield np.arange(0, 80), np.arange(60, n)
    yield np.arange(40, n), np.arange(0, 50)


SPLITTERS = {
    "default": None,
    "number": 3,
    "folds": model_selection.KFold(4),
    "shuffled": model_selection.KFold(4, shuffle=True, random_state=0),
    "groups": model_selection.GroupKFold(3),
    "one group out": model_selection.LeaveOneGroupOut(),
    "two groups out": model_selection.LeavePGroupsOut(2),
    "predefined": model_selection.PredefinedSplit(np.arange(N) % 5 - 1),
    "random": model_selection.ShuffleSplit(4, random_state=1),
    "random few": model_selection.ShuffleSplit(4, train_size=0.3, test_size=0.2, random_state=1),
    "windows": model_selection.TimeSeriesSplit(3),
    "repeated": model_selection.RepeatedKFold(n_splits=3, n_repeats=2, random_state=0),
}

ITERABLES = {
    "overlapping": overlapping,
    "masks": masks,
    "bootstrap": bootstrap,
    "backwards": lambda n: [(np.arange(n)[:50:-1], np.arange(50, -1, -1))],
    "lists": lambda n: [(list(range(50)), list(range(50, n)))],
}

ONE_PASS = {
    "default": None,
    "r2": "r2",
    "mse": "neg_mean_squared_error",
    "several": ["r2", "explained_variance", "neg_root_mean_squared_error"],
    "dict": {"a": "r2", "b": make_scorer(mean_squared_error, greater_is_better=False)},
}


def own_score(model, X, y):
    return float(-np.abs(model.predict(X) - y).max())


def two_scores(model, X, y):
    residual = model.predict(X) - y
    return {"worst": float(np.abs(residual).max()), "mean": float(residual.mean())}


TWO_PASSES = {
    "mae": "neg_mean_absolute_error",
    "several": ("r2", "neg_median_absolute_error"),
    "set": {"r2", "neg_max_error"},
    "options": make_scorer(r2_score, multioutput="raw_values"),
    "weighted options": make_scorer(mean_squared_error, greater_is_better=False,
                                    multioutput=[1.0]),
    "function": own_score,
    "function of two": two_scores,
}  # fmt: skip


# --- the same scores -----------------------------------------------------------------------


# Splits know nothing of estimators: each of both is tried at least once, and all pairs if long.
PAIRS = [
    pytest.param(
        estimator,
        cv,
        id=f"{name}, {splitter}",
        marks=[] if i % len(ESTIMATORS) == j else pytest.mark.long,
    )
    for i, (splitter, cv) in enumerate(SPLITTERS.items())
    for j, (name, estimator) in enumerate(ESTIMATORS.items())
]


@pytest.mark.parametrize(("estimator", "cv"), PAIRS)
def test_every_estimator_with_every_splitter(estimator, cv):
    for scoring, passes in ((["r2", "neg_mean_squared_error"], 1), ("neg_mean_absolute_error", 2)):
        found = both(
            estimator, SMALL.X, SMALL.y, cv=cv, groups=GROUPS, scoring=scoring,
            return_train_score=True, return_indices=True,
        )  # fmt: skip
        assert found.passes_ == passes


@pytest.mark.parametrize("make", ITERABLES.values(), ids=ITERABLES)
def test_iterables_of_splits(make):
    splits = list(make(N))
    found = both(
        Ridge(),
        SMALL.X,
        SMALL.y,
        cv=splits,
        return_train_score=True,
        scoring=["r2", "neg_max_error"],
    )
    assert found.passes_ == (None if make is bootstrap else 2)
    # A generator can be read but once.
    once = suffice.cross_validate(Ridge(), SMALL.X, SMALL.y, cv=make(N), scoring="r2")
    np.testing.assert_allclose(once["test_score"], found["test_r2"], rtol=1e-10)


def test_leaving_two_out():
    X, y = SMALL.X[:9], SMALL.y[:9]
    for scoring in ("neg_mean_squared_error", "neg_mean_absolute_error"):
        both(Ridge(), X, y, cv=model_selection.LeavePOut(2), scoring=scoring)


def small_and_large(scorings, of_many):
    """All scorings of few rows; of many rows, those that are not like another of them."""
    few = [pytest.param(scoring, SMALL, id=f"{name}, small") for name, scoring in scorings.items()]
    return few + [
        pytest.param(
            scoring, LARGE, id=f"{name}, large", marks=[] if name in of_many else pytest.mark.long
        )
        for name, scoring in scorings.items()
    ]


@pytest.mark.parametrize(("scoring", "rows"), small_and_large(ONE_PASS, ["several"]))
def test_scores_from_moments(scoring, rows):
    for estimator in (Ridge(), make_pipeline(StandardScaler(), Ridge())):
        found = both(estimator, rows.X, rows.y, scoring=scoring, return_train_score=True)
        assert found.passes_ == 1


@pytest.mark.parametrize(
    ("scoring", "rows"), small_and_large(TWO_PASSES, ["several", "function of two"])
)
def test_scores_from_predictions(scoring, rows):
    if scoring == {"r2", "neg_max_error"}:
        scoring = sorted(scoring)
    found = both(Ridge(), rows.X, rows.y, scoring=scoring, return_train_score=True)
    assert found.passes_ == 2


@pytest.mark.parametrize(
    ("cv", "rows"),
    [
        (4, SMALL),
        (SPLITTERS["repeated"], SMALL),
        (SPLITTERS["random few"], LARGE),
        pytest.param(SPLITTERS["random few"], SMALL, marks=pytest.mark.long),
        pytest.param(4, LARGE, marks=pytest.mark.long),
        pytest.param(SPLITTERS["repeated"], LARGE, marks=pytest.mark.long),
    ],
)
def test_weights_enter_fits_and_not_scores(cv, rows):
    weight = rows.weight.copy()
    weight[::7] = 0
    for scoring, passes in (("r2", 1), (["neg_mean_squared_error", "neg_max_error"], 2)):
        found = both(
            Ridge(), rows.X, rows.y, cv=cv, scoring=scoring, return_train_score=True,
            params={"sample_weight": weight},
        )  # fmt: skip
        assert found.passes_ == passes


def test_a_fold_without_weight():
    weight = SMALL.weight.copy()
    weight[:24] = 0  # all of the first of five folds
    found = both(
        Ridge(), SMALL.X, SMALL.y, params={"sample_weight": weight}, return_train_score=True
    )
    assert found.passes_ is not None
    weight[:] = 0
    weight[:24] = 1  # now the first fold has nothing to train on
    both(Ridge(), SMALL.X, SMALL.y, params={"sample_weight": weight})


@pytest.mark.parametrize("rows", [make_rows(100, 3, 2), make_rows(40_000, 3, 2)])
def test_several_targets(rows):
    for estimator in (Ridge(alpha=[0.1, 100.0]), LinearRegression(), ESTIMATORS["scaled"]):
        assert both(estimator, rows.X, rows.y, scoring=ONE_PASS["several"]).passes_ == 1
        both(estimator, rows.X, rows.y, scoring="neg_mean_absolute_error")
    column = rows.y[:, :1]
    assert both(Ridge(), rows.X, column, scoring=ONE_PASS["several"]).passes_ == 1


def test_estimators_are_kept():
    options = {"cv": 3, "return_estimator": True}
    found = both(Ridge(), SMALL.X, SMALL.y, **options)
    theirs = model_selection.cross_validate(Ridge(), SMALL.X, SMALL.y, **options)
    for ours, other in zip(found["estimator"], theirs["estimator"], strict=True):
        np.testing.assert_allclose(ours.coef_, other.coef_, rtol=1e-13)
        np.testing.assert_allclose(ours.intercept_, other.intercept_, rtol=1e-12)
        assert ours.certificate_.holds
        assert vars(ours).keys() == vars(other).keys()
        assert ours.statistics_.count == other.statistics_.count
    pipeline = make_pipeline("passthrough", StandardScaler(), Ridge())
    frame = pd.DataFrame(SMALL.X, columns=list("abcd"))
    found = both(pipeline, frame, SMALL.y, **options)
    theirs = model_selection.cross_validate(pipeline, frame, SMALL.y, **options)
    for ours, other in zip(found["estimator"], theirs["estimator"], strict=True):
        np.testing.assert_allclose(ours.predict(frame), other.predict(frame), rtol=1e-11)
        assert ours.steps[0] == ("passthrough", "passthrough")
        for a, b in zip(ours[1:], other[1:], strict=True):
            assert vars(a).keys() == vars(b).keys()


# --- kinds of rows -------------------------------------------------------------------------


@pytest.mark.parametrize("estimator", [ESTIMATORS["ridge"], ESTIMATORS["scaled"]])
def test_frames_and_matrices(estimator):
    names = list("abcd")
    plain = suffice.cross_validate(estimator, SMALL.X, SMALL.y, scoring=["r2", "neg_max_error"])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for X, y in (
            (pd.DataFrame(SMALL.X, columns=names), pd.Series(SMALL.y)),
            (pl.DataFrame(SMALL.X, schema=names), pl.Series(SMALL.y)),
            (SMALL.X.tolist(), SMALL.y.tolist()),
            (SMALL.X.astype(np.float32).astype(float).astype(object), SMALL.y),
        ):
            found = suffice.cross_validate(
                estimator, X, y, scoring=["r2", "neg_max_error"], return_estimator=True
            )
            assert found.passes_ == 2
            tolerance = 1e-4 if getattr(X, "dtype", None) == object else 1e-10
            np.testing.assert_allclose(found["test_r2"], plain["test_r2"], rtol=tolerance)
            if hasattr(X, "columns"):
                assert found["estimator"][0].feature_names_in_.tolist() == names


def test_named_columns_behind_a_scaler():
    frame = pd.DataFrame(SMALL.X, columns=list("abcd"))
    named = make_pipeline(StandardScaler(), Ridge()).set_output(transform="pandas")
    assert both(named, frame, SMALL.y, scoring=["r2", "neg_max_error"]).passes_ is None
    with config_context(transform_output="polars"):
        assert both(ESTIMATORS["scaled"], frame, SMALL.y).passes_ is None


def test_sparse_rows():
    X = sparse.random_array((300, 8), density=0.2, rng=0, format="coo")
    y = X @ np.arange(8.0) + np.random.default_rng(0).normal(size=300)
    for form in (sparse.csr_array(X), sparse.csc_matrix(X), X):
        assert both(Ridge(), form, y).passes_ == 1
        assert both(Ridge(), form, y, scoring="neg_max_error").passes_ == 2
    scaled = make_pipeline(StandardScaler(with_mean=False), Ridge())
    assert both(scaled, sparse.csr_array(X), y).passes_ is None


def test_more_columns_than_rows():
    rows = make_rows(60, 200)
    assert both(Ridge(), rows.X, rows.y, tolerance=1e-9).passes_ is None


# --- numerically hard ----------------------------------------------------------------------


def test_dependent_columns():
    for rows in (SMALL, LARGE):
        X = np.column_stack([rows.X, rows.X[:, 0], np.ones(len(rows.X))])
        found = both(LinearRegression(), X, rows.y, scoring=["r2", "neg_max_error"])
        # float64 is tried first where there are many rows, as in a single fit.
        assert found.passes_ == (2 if rows is SMALL else 3)
        assert both(Ridge(alpha=100.0), X, rows.y).passes_ == 1
        assert both(Ridge(alpha=1e5), X, rows.y).passes_ == 1
        both(make_pipeline(StandardScaler(), LinearRegression()), X, rows.y, tolerance=1e-9)


def test_ill_conditioned_rows_are_read_again():
    rows = make_rows(40_000, 6)
    X = rows.X.copy()
    X[:, 5] = X[:, 0] + 1e-7 * X[:, 5]
    assert both(LinearRegression(), X, rows.y).passes_ == 2
    assert both(Ridge(alpha=1e5), X, rows.y).passes_ == 1


@pytest.mark.parametrize("rows", [SMALL, LARGE], ids=["small", "large"])
@pytest.mark.parametrize("noise", [0.0, 1e-14, 1e-9, 1e-5])
def test_targets_almost_without_noise(rows, noise):
    """What is left of the squares is too small for moments to tell."""
    y = rows.X @ np.arange(1.0, rows.X.shape[1] + 1) + noise * rows.y
    found = suffice.cross_validate(
        LinearRegression(), rows.X, y, scoring=["neg_mean_squared_error", "r2"]
    )
    theirs = model_selection.cross_validate(
        LinearRegression(), rows.X, y, scoring=["neg_mean_squared_error", "r2"]
    )
    assert found.passes_ == 2
    # Predictions in float64 are themselves known to some bits only.
    left = np.abs(theirs["test_neg_mean_squared_error"])
    floor = 4e-16 * np.abs(y).max()
    np.testing.assert_array_less(
        np.abs(found["test_neg_mean_squared_error"] + left),
        1e-10 * left + 20 * floor * np.sqrt(left) + 100 * floor**2,
    )
    np.testing.assert_allclose(found["test_r2"], theirs["test_r2"], rtol=1e-12)


def test_large_offsets_cost_no_digits():
    """Shifted rows give the scores of the rows that were not; predictions in float64 would not."""
    rng = np.random.default_rng(0)
    for n in (200, 40_000):
        X = rng.integers(-1000, 1000, (n, 3)).astype(float)
        y = np.rint(X @ [1.0, -2.0, 0.5] + 100 * rng.normal(size=n))
        scoring = ["r2", "neg_mean_squared_error"]
        near, far = (
            suffice.cross_validate(LinearRegression(), X + offset, y - offset, scoring=scoring)
            for offset in (0.0, 2.0**20)
        )
        for name in ("test_r2", "test_neg_mean_squared_error"):
            np.testing.assert_allclose(far[name], near[name], rtol=1e-10)
        assert far.passes_ == near.passes_ == 1


def test_offsets_of_a_hundred_million():
    for rows in (SMALL, LARGE):
        X, y = rows.X + 1e8, rows.y - 1e8
        # scikit-learn's score rounds predictions of that size to 1e-8 each.
        both(Ridge(), X, y, tolerance=1e-7, scoring=["r2", "neg_mean_squared_error"])
        both(make_pipeline(StandardScaler(), Ridge()), X, y, tolerance=1e-7)


@pytest.mark.parametrize("value", [0.0, 3.0, 0.1])
def test_a_constant_target(value):
    y = np.full(N, value)
    both(Ridge(), SMALL.X, y, scoring=["r2", "explained_variance"])
    y[-30:] = SMALL.y[-30:]
    both(Ridge(), SMALL.X, y, scoring=["r2", "explained_variance", "neg_mean_squared_error"])


def test_folds_of_one_row():
    X, y = SMALL.X[:12], SMALL.y[:12]
    for scoring in (None, "neg_mean_squared_error", ["r2", "neg_max_error"]):
        both(Ridge(), X, y, cv=12, scoring=scoring)


def test_bits_do_not_depend_on_threads():
    found, cv, scoring = [], SPLITTERS["shuffled"], ["r2", "neg_max_error"]
    for threads in (1, 2, 4):
        with suffice.config(threads=threads):
            found.append(suffice.cross_validate(Ridge(), LARGE.X, LARGE.y, cv=cv, scoring=scoring))
    for other in found[1:]:
        for name in ("test_r2", "test_neg_max_error"):
            assert other[name].tobytes() == found[0][name].tobytes()


# --- classifiers ---------------------------------------------------------------------------


def labelled(kind="str", n=300):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 3))
    codes = (X[:, 0] + 0.5 * rng.normal(size=n) > 0).astype(int) + (X[:, 1] > 1)
    return X, np.array(["α", "b", "long name"])[codes] if kind == "str" else codes


@pytest.mark.parametrize("kind", ["str", "int"])
def test_naive_bayes(kind):
    X, y = labelled(kind)
    for scoring in (None, ["accuracy", "neg_log_loss", "balanced_accuracy", "roc_auc_ovr"]):
        found = both(GaussianNB(), X, y, scoring=scoring, return_train_score=True)
        assert found.passes_ == 2
    both(GaussianNB(), X, y, cv=model_selection.StratifiedKFold(4, shuffle=True, random_state=0))
    both(GaussianNB(), X, y, params={"sample_weight": np.linspace(0, 2, len(y))})
    binary = y == y[0]
    both(GaussianNB(), X, binary, scoring=["roc_auc", "average_precision", "f1"])
    X = X.copy()
    X[::5, 1] = np.nan
    assert both(GaussianNB(), X, y).passes_ == 2


@pytest.mark.parametrize("options", [{}, {"with_mean": False}, {"with_std": False}])
def test_naive_bayes_behind_a_scaler(options):
    """The scaler learns from the moments of all classes together, missing cells left out."""
    X, y = labelled()
    X = X * [1e-3, 1.0, 1e4] + [5.0, 0.0, 1e6]
    pipeline = make_pipeline(StandardScaler(**options), GaussianNB(var_smoothing=1e-3))
    for rows in (X, np.where(np.arange(X.size).reshape(X.shape) % 7 == 0, np.nan, X)):
        found = both(pipeline, rows, y, scoring=["accuracy", "neg_log_loss"])
        assert found.passes_ == 2


def test_classes_missing_in_a_fold():
    X, y = labelled("int", 60)
    y = np.sort(y)
    for cv in (model_selection.KFold(3), model_selection.KFold(2)):
        both(GaussianNB(), X, y, cv=cv, scoring=["accuracy", "neg_log_loss"])
    two = np.repeat([0, 1], 30)  # each half trains on one class only
    both(GaussianNB(), X, two, cv=model_selection.KFold(2), scoring=["accuracy", "neg_log_loss"])
    both(GaussianNB(), X, two, cv=model_selection.KFold(2), scoring="roc_auc")


# --- failures ------------------------------------------------------------------------------


@pytest.mark.parametrize("error_score", [np.nan, -7.0])
def test_failing_fits(error_score):
    for estimator in (Ridge(alpha=-1), make_pipeline(StandardScaler(), Ridge(alpha="x"))):
        for cross_validate in (suffice.cross_validate, model_selection.cross_validate):
            with pytest.raises(ValueError, match="All the 5 fits failed"):
                cross_validate(estimator, SMALL.X, SMALL.y, error_score=error_score)
    with pytest.raises(ValueError, match="The 'alpha' parameter"):
        suffice.cross_validate(Ridge(alpha=-1), SMALL.X, SMALL.y, error_score="raise")


def test_a_missing_cell():
    X = SMALL.X.copy()
    X[3, 1] = np.nan
    found = both(Ridge(), X, SMALL.y)
    assert np.isnan(found["test_score"]).all()
    with pytest.raises(ValueError, match="column 1, row 3"):
        suffice.cross_validate(
            Ridge(), X, SMALL.y, error_score="raise", cv=[(range(50), range(50, N))]
        )


def test_failing_scores():
    def scoring(model, X, y):
        if y[0] == SMALL.y[0]:
            raise RuntimeError("no")
        return 1.0

    found = both(Ridge(), SMALL.X, SMALL.y, scoring=scoring)
    assert np.isnan(found["test_score"][0])
    with pytest.raises(RuntimeError, match="no"):
        suffice.cross_validate(Ridge(), SMALL.X, SMALL.y, scoring=scoring, error_score="raise")


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_what_is_not_proved_is_warned_of():
    X = np.vander(1 + np.arange(120) / 1e5, 9)
    with pytest.warns(ConvergenceWarning, match="nearly dependent"):
        model_selection.cross_validate(LinearRegression(), X, SMALL.y, cv=3)
    with pytest.warns(ConvergenceWarning, match="nearly dependent"):
        suffice.cross_validate(LinearRegression(), X, SMALL.y, cv=3)


def test_what_scikit_learn_refuses():
    for cross_validate in (suffice.cross_validate, model_selection.cross_validate):
        with pytest.raises(ValueError, match="greater than the number of samples"):
            cross_validate(Ridge(), SMALL.X[:3], SMALL.y[:3], cv=5)
        with pytest.raises(ValueError, match="inconsistent numbers of samples"):
            cross_validate(Ridge(), SMALL.X, SMALL.y[:-1])
        with pytest.raises(ValueError, match="scoring"):
            cross_validate(Ridge(), SMALL.X, SMALL.y, scoring="no such score")
        with pytest.raises(ValueError, match="groups"):
            cross_validate(Ridge(), SMALL.X, SMALL.y, cv=model_selection.GroupKFold(2))
        with pytest.raises(ValueError, match="sample_weight"):
            cross_validate(ESTIMATORS["scaled"], SMALL.X, SMALL.y, error_score="raise",
                           params={"sample_weight": SMALL.weight})  # fmt: skip
    with pytest.raises(ValueError, match="No fits were performed"):
        suffice.cross_validate(Ridge(), SMALL.X, SMALL.y, cv=[])
    first_empty = [(np.arange(100), np.array([], int)), (np.arange(50), np.arange(50, 60))]
    with pytest.warns(UserWarning, match="Scoring failed"):
        found = suffice.cross_validate(Ridge(), SMALL.X, SMALL.y, cv=first_empty)
    assert np.isnan(found["test_score"][0])


def test_nothing_of_the_users_changes():
    estimator, X, y = Ridge(alpha=2.0), SMALL.X.copy(), SMALL.y.copy()
    before = copy.deepcopy(vars(estimator))
    suffice.cross_validate(estimator, X, y, scoring="neg_max_error", return_estimator=True)
    assert vars(estimator) == before
    np.testing.assert_array_equal(X, SMALL.X)
    np.testing.assert_array_equal(y, SMALL.y)


# --- what is not ours ----------------------------------------------------------------------


def test_other_estimators_are_scikit_learns():
    class Twice(Ridge):
        def predict(self, X):
            return 2 * super().predict(X)

    for estimator in (
        TheirRidge(),
        Twice(),
        make_pipeline(StandardScaler(), TheirRidge()),
    ):
        assert both(estimator, SMALL.X, SMALL.y).passes_ is None


def test_weights_of_a_step():
    weight = {"ridge__sample_weight": SMALL.weight}
    assert both(ESTIMATORS["scaled"], SMALL.X, SMALL.y, params=weight).passes_ is None


def test_metadata_routing():
    with config_context(enable_metadata_routing=True):
        model = Ridge().set_fit_request(sample_weight=True).set_score_request(sample_weight=True)
        params = {"sample_weight": SMALL.weight}
        assert both(model, SMALL.X, SMALL.y, params=params).passes_ is None


def test_times_are_sensible():
    began = time.perf_counter()
    found = suffice.cross_validate(Ridge(), LARGE.X, LARGE.y, scoring="neg_max_error")
    took = time.perf_counter() - began
    assert 0 < found["fit_time"].sum() + found["score_time"].sum() <= took
    assert (found["score_time"] > 0).all()


def test_fit_failures_are_counted():
    weight = np.zeros(N)
    weight[:24] = 1
    with pytest.warns(FitFailedWarning, match="1 fits failed out of a total of 5"):
        suffice.cross_validate(Ridge(), SMALL.X, SMALL.y, params={"sample_weight": weight})
