"""Leave-one-out against n separate fits."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn import model_selection
from sklearn.exceptions import UndefinedMetricWarning
from sklearn.metrics import make_scorer, mean_absolute_error
from sklearn.model_selection import LeaveOneOut
from sklearn.pipeline import make_pipeline

import suffice
from suffice import GaussianNB, LinearRegression, Ridge
from suffice.preprocessing import StandardScaler
from suffice.sources import as_source
from tests.selection.compare import SMALL, both, make_rows
from tests.selection.test_cross_validate import labelled

SQUARES = "neg_mean_squared_error"
X, y, WEIGHT = SMALL.X[:20], SMALL.y[:20], SMALL.weight[:20]

MODELS = [
    Ridge(),
    Ridge(alpha=1e-6),
    Ridge(alpha=100.0, fit_intercept=False),
    Ridge(alpha=0.0),
    Ridge(exact=True),
    LinearRegression(),
    LinearRegression(fit_intercept=False),
]


def squared(estimator, X, y, **options):
    return both(estimator, X, y, cv=LeaveOneOut(), scoring=SQUARES, **options)


@pytest.mark.parametrize("model", MODELS, ids=str)
@pytest.mark.parametrize("weighted", [False, True])
def test_every_row_without_itself(model, weighted):
    weight = WEIGHT.copy()
    weight[::9] = 0
    params = {"sample_weight": weight} if weighted else None
    scoring = [SQUARES, "neg_mean_absolute_error", "neg_root_mean_squared_error",
               "neg_median_absolute_error"]  # fmt: skip
    found = both(model, X, y, cv=LeaveOneOut(), scoring=scoring, params=params)
    assert found.passes_ == 2
    one = suffice.cross_validate(model, X, y, cv=LeaveOneOut(), scoring=SQUARES, params=params)
    np.testing.assert_array_equal(one["test_score"], found[f"test_{SQUARES}"])


def test_many_rows():
    """Those of a sample are left out one by one."""
    rows = make_rows(44_000, 5)
    found = suffice.cross_validate(Ridge(), rows.X, rows.y, cv=LeaveOneOut(), scoring=SQUARES)
    assert found.passes_ == 2
    assert found["test_score"].shape == (44_000,)
    for row in (0, 17, 43_999):
        rest = np.arange(44_000) != row
        model = Ridge().fit(rows.X[rest], rows.y[rest])
        error = (model.predict(rows.X[[row]])[0] - rows.y[row]) ** 2
        np.testing.assert_allclose(-found["test_score"][row], error, rtol=1e-9, atol=1e-12)


def test_several_targets():
    rows = make_rows(20, 3, 2)
    for model in (Ridge(), Ridge([0.01, 100.0]), LinearRegression()):
        found = both(model, rows.X, rows.y, cv=LeaveOneOut(), scoring=[SQUARES,
                     "neg_mean_absolute_error", "neg_root_mean_squared_error"])  # fmt: skip
        assert found.passes_ == 2


def test_a_row_that_decides_a_direction():
    """Without it, a column is constant, or two columns are one: the model is fitted anew."""
    far = X.copy()
    far[:, 1] = 0.0
    far[7, 1] = 5.0
    for model in (LinearRegression(), Ridge(1e-9), Ridge(1e-3)):
        assert squared(model, far, y, tolerance=1e-9).passes_ > 2
    near = np.column_stack([X, X[:, 0]])
    near[11, 4] += 1e-3
    assert squared(LinearRegression(), near, y, tolerance=1e-8).passes_ > 2
    lonely = X.copy()
    lonely[3] *= 1e6
    squared(LinearRegression(), lonely, y, tolerance=1e-9)


def test_dependent_columns():
    both_ways = np.column_stack([X, X[:, 0] - X[:, 1], np.ones(len(X))])
    assert squared(LinearRegression(), both_ways, y, tolerance=1e-9).passes_ == 2
    assert squared(Ridge(), both_ways, y).passes_ == 2


def test_ill_conditioned_columns():
    powers = np.vander(np.linspace(0, 1, 20), 7)
    found = squared(LinearRegression(), powers, y, tolerance=1e-8)
    assert found.passes_ >= 2


def test_as_many_coefficients_as_rows():
    for model, n in ((LinearRegression(), 5), (Ridge(), 3), (LinearRegression(), 2)):
        found = squared(model, X[:n], y[:n], tolerance=1e-8)
        assert found["test_score"].shape == (n,)
        assert (found["test_score"] < 0).all()  # no row is predicted by a fit that knew it


def test_one_row_is_too_few():
    for cross_validate in (suffice.cross_validate, model_selection.cross_validate):
        with pytest.raises(ValueError, match="LeaveOneOut with n_samples=1"):
            cross_validate(Ridge(), X[:1], y[:1], cv=LeaveOneOut(), scoring=SQUARES)


def test_r2_of_one_row_is_undefined():
    with pytest.warns(UndefinedMetricWarning, match="less than two samples"):
        found = suffice.cross_validate(Ridge(), X, y, cv=LeaveOneOut())
    assert np.isnan(found["test_score"]).all()
    assert found.passes_ == 2


@pytest.mark.parametrize(
    "options",
    [
        {"return_train_score": True},
        {"return_estimator": True},
        {"return_indices": True},
        {"scoring": "neg_max_error"},
        {"scoring": make_scorer(mean_absolute_error, multioutput="uniform_average")},
        {"scoring": lambda model, X, y: float(model.predict(X)[0])},
    ],
)
def test_what_the_identity_does_not_give(options):
    options = {"scoring": SQUARES, **options}
    assert both(Ridge(), X, y, cv=LeaveOneOut(), **options).passes_ is not None


@pytest.mark.parametrize(
    "model",
    [Ridge(standardize=True), make_pipeline(StandardScaler(), Ridge()), make_pipeline(Ridge())],
    ids=str,
)
def test_other_models(model):
    assert squared(model, X, y).passes_ == 2


def test_sparse_rows_and_frames():
    assert squared(Ridge(), sparse.csr_array(X), y).passes_ == 2
    assert squared(Ridge(), pd.DataFrame(X, columns=list("abcd")), y).passes_ == 2


def test_failing_fits():
    with pytest.raises(ValueError, match="All the 20 fits failed"):
        suffice.cross_validate(Ridge(-1), X, y, cv=LeaveOneOut(), scoring=SQUARES)
    holed = X.copy()
    holed[3, 0] = np.nan
    squared(Ridge(), holed, y)
    weight = np.zeros(20)
    weight[5] = 1
    squared(Ridge(), X, y, params={"sample_weight": weight})


# --- naive Bayes ---------------------------------------------------------------------------


def test_naive_bayes():
    assert both(GaussianNB(), *labelled("int", 30), cv=LeaveOneOut()).passes_ == 2
    rows, labels = labelled("str", 30)
    for model, scoring in (
        (GaussianNB(tied_variance=True), "accuracy"),
        (GaussianNB(var_smoothing=0.1), None),
    ):
        assert both(model, rows, labels, cv=LeaveOneOut(), scoring=scoring).passes_ == 2
    both(GaussianNB(priors=[0.2, 0.3, 0.5]), rows, labels, cv=LeaveOneOut())
    weight = {"sample_weight": np.arange(30) % 4}
    both(GaussianNB(), rows, labels, cv=LeaveOneOut(), params=weight)


def test_a_class_of_one_row():
    rows, labels = labelled("int", 40)
    labels[labels == 2] = 1
    labels[4] = 2
    found = both(GaussianNB(), rows, labels, cv=LeaveOneOut())
    assert found["test_score"][4] == 0


# --- sources -------------------------------------------------------------------------------


def test_sources():
    found = suffice.cross_validate(Ridge(), as_source(X, y, WEIGHT), cv=LeaveOneOut(),
                                   scoring=SQUARES)  # fmt: skip
    plain = squared(Ridge(), X, y, params={"sample_weight": WEIGHT})
    np.testing.assert_array_equal(found["test_score"], plain["test_score"])
    far = X.copy()
    far[:, 1] = 0.0
    far[7, 1] = 5.0
    found = suffice.cross_validate(LinearRegression(), as_source(far, y), cv=LeaveOneOut(),
                                   scoring=SQUARES)  # fmt: skip
    np.testing.assert_allclose(
        found["test_score"], squared(LinearRegression(), far, y, tolerance=1e-9)["test_score"]
    )
