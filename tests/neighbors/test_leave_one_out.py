"""Leaving one row out of a model of neighbours: exactly what a fit without the row says."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from scipy import sparse
from sklearn import model_selection
from sklearn.exceptions import UndefinedMetricWarning
from sklearn.model_selection import LeaveOneOut

import suffice
from suffice import KNeighborsClassifier, KNeighborsRegressor

METRICS = [
    {"metric": "euclidean"},
    {"metric": "manhattan"},
    {"metric": "chebyshev"},
    {"p": 1.5},
    {"p": 3, "metric_params": {"w": [1.0, 0.0, 2.5]}},
    {"metric": "cosine"},
]
NUMBERS = ["neg_mean_squared_error", "neg_mean_absolute_error", "neg_median_absolute_error"]


def tied(n=70, seed=0):
    """Rows of which many are alike, and nearly all distances occur more than once."""
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 3, size=(n, 3)).astype(float)
    X[-9:] = X[0]
    return X, rng.integers(0, 4, size=n), rng.normal(size=n)


def without_each(model, X, y):
    """The predictions of n fits."""
    found = []
    for i in range(len(y)):
        rest = np.arange(len(y)) != i
        found.append(model.fit(X[rest], y[rest]).predict(X[[i]])[0])
    return np.array(found)


def left_out(model, X, y=None, **options):
    found = suffice.cross_validate(model, X, y, cv=LeaveOneOut(), **options)
    assert found.passes_ == 1
    return found


@pytest.mark.parametrize("algorithm", ["brute", "kd_tree"])
@pytest.mark.parametrize("weights", ["uniform", "distance"])
@pytest.mark.parametrize("metric", METRICS, ids=str)
@pytest.mark.parametrize("k", [1, 4, 9, 12])
def test_every_row_without_itself(k, metric, weights, algorithm):
    if metric.get("metric") == "cosine":
        algorithm = "brute" if algorithm == "brute" else "auto"
    X, y, numbers = tied(30)
    options = {"weights": weights, "algorithm": algorithm, **metric}
    model = KNeighborsClassifier(k, **options)
    right = without_each(model, X, y) == y
    np.testing.assert_array_equal(left_out(model, X, y)["test_score"], right)
    model = KNeighborsRegressor(k, **options)
    errors = numbers - without_each(model, X, numbers)
    found = left_out(model, X, numbers, scoring=NUMBERS)
    np.testing.assert_array_equal(found[f"test_{NUMBERS[0]}"], -np.square(errors))
    np.testing.assert_array_equal(found[f"test_{NUMBERS[1]}"], -np.abs(errors))


def test_rows_at_distance_0_alone_decide():
    X = np.array([[0.0], [0.0], [0.0], [1.0], [5.0]])
    y = np.array([0.0, 10.0, 20.0, 100.0, 7.0])
    found = left_out(KNeighborsRegressor(3, weights="distance"), X, y, scoring=NUMBERS[1])
    # The last two have no twin: 1/distance.
    others = [(0 + 10 + 20) / 3, (100 / 4 + 0 / 5 + 10 / 5) / (1 / 4 + 2 / 5)]
    errors = [15 - 0, 10 - 10, 20 - 5, 100 - others[0], others[1] - 7]
    np.testing.assert_allclose(found["test_score"], -np.abs(errors), rtol=1e-14)


def test_a_class_leaves_with_its_only_row():
    X, y, _ = tied()
    names = np.array(["a", "b", "c", "d"])[y]
    names[5] = "only"
    for k in (1, 5):
        model = KNeighborsClassifier(k)
        expected = without_each(model, X, names) == names
        assert not expected[5]
        np.testing.assert_array_equal(left_out(model, X, names)["test_score"], expected)


def test_the_loop_of_scikit_learn_says_the_same():
    X, y, numbers = tied(40)
    for model, target, scoring in (
        (KNeighborsClassifier(3), y, None),
        (KNeighborsClassifier(3), y > 1, "accuracy"),
        (KNeighborsRegressor(3), numbers, NUMBERS),
        (KNeighborsRegressor(3), np.stack([numbers, y], axis=1), NUMBERS[:2]),
        # These need more than the prediction of a row: the loop itself.
        (KNeighborsClassifier(3), y > 1, "neg_brier_score"),
        (KNeighborsClassifier(3), np.stack([y, y], axis=1), "accuracy"),
    ):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            ours = suffice.cross_validate(model, X, target, cv=LeaveOneOut(), scoring=scoring)
            theirs = model_selection.cross_validate(
                model, X, target, cv=LeaveOneOut(), scoring=scoring
            )
        assert list(ours) == list(theirs)
        for key in theirs:
            if key.startswith("test"):
                np.testing.assert_array_equal(ours[key], theirs[key])
    with pytest.warns(UndefinedMetricWarning):
        assert np.isnan(left_out(KNeighborsRegressor(3), X, numbers)["test_score"]).all()


def test_frames_files_and_sparse_rows(tmp_path):
    X, y, _ = tied()
    model = KNeighborsClassifier(4)
    expected = left_out(model, X, y)["test_score"]
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    np.testing.assert_array_equal(left_out(model, frame, y)["test_score"], expected)
    np.testing.assert_array_equal(left_out(model, sparse.csr_array(X), y)["test_score"], expected)
    table = pa.table({"a": X[:, 0], "b": X[:, 1], "c": X[:, 2], "y": y, "w": np.ones(len(y))})
    pq.write_table(table, tmp_path / "rows.parquet", row_group_size=13)
    rows = suffice.scan(tmp_path / "rows.parquet", features=["a", "b", "c"], target="y")
    np.testing.assert_array_equal(left_out(model, rows)["test_score"], expected)
    # Rows that might not exist are for the fits to tell.
    weighted = suffice.scan(
        tmp_path / "rows.parquet", features=["a", "b", "c"], target="y", weight="w"
    )
    loop = suffice.cross_validate(model, weighted, cv=LeaveOneOut())
    assert loop.passes_ > len(y)
    np.testing.assert_array_equal(loop["test_score"], expected)


@pytest.mark.parametrize("kind", [KNeighborsClassifier, KNeighborsRegressor])
def test_too_few_rows_are_the_error_of_the_fits(kind):
    X, y, _ = tied(12)
    options = {"cv": LeaveOneOut(), "scoring": "accuracy" if "C" in kind.__name__ else NUMBERS[0]}
    assert np.isfinite(suffice.cross_validate(kind(11), X, y, **options)["test_score"]).all()
    with pytest.warns(UserWarning, match="n_neighbors = 12, n_samples_fit = 11, n_samples = 1"):
        found = suffice.cross_validate(kind(12), X, y, **options)
    assert np.isnan(found["test_score"]).all()
    with pytest.raises(ValueError, match="n_neighbors = 12, n_samples_fit = 11, n_samples = 1"):
        suffice.cross_validate(kind(12), X, y, error_score="raise", **options)


def test_weights_that_fail_for_some_rows():
    """A fit for each row tells which; the others keep their scores."""
    X = np.array([[0.0], [1.0], [2.0], [50.0]])
    model = KNeighborsClassifier(1, weights=lambda r: (r < 10).astype(float))
    with pytest.warns(UserWarning, match="zero weights"):
        found = suffice.cross_validate(model, X, [0, 0, 1, 1], cv=LeaveOneOut())
    np.testing.assert_array_equal(found["test_score"], [1.0, 1.0, 0.0, np.nan])


@pytest.mark.compiled
def test_bits_at_any_number_of_threads():
    rng = np.random.default_rng(3)
    X, y = np.round(rng.normal(size=(3000, 3)), 1), rng.normal(size=3000)
    found = [
        left_out(KNeighborsRegressor(6, n_jobs=n), X, y, scoring=NUMBERS[0])["test_score"]
        for n in (1, 2, 5)
    ]
    assert found[0].tobytes() == found[1].tobytes() == found[2].tobytes()
    for i in (0, 17, 2999):
        rest = np.arange(3000) != i
        model = KNeighborsRegressor(6).fit(X[rest], y[rest])
        assert -np.square(y[i] - model.predict(X[[i]])[0]) == found[0][i]
