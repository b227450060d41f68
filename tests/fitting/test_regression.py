"""R² of rows that come from a source: scikit-learn's of the same rows in memory."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.metrics import r2_score

from suffice import KNeighborsRegressor, LinearRegression, LocallyWeightedRegression
from suffice.fitting.regression import as_columns, explained
from suffice.sources import as_source

MODELS = [LinearRegression(), KNeighborsRegressor(3), LocallyWeightedRegression()]
each_model = pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model).__name__)


def rows(n_targets=None):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 2))
    y = X @ rng.normal(size=(2, n_targets or 1)) + rng.normal(size=(200, n_targets or 1))
    return X, y if n_targets else y[:, 0], rng.integers(0, 3, size=200).astype(float)


@each_model
@pytest.mark.parametrize("n_targets", [None, 1, 3])
def test_as_scikit_learn(model, n_targets):
    X, y, weight = rows(n_targets)
    model.fit(X[:100], y[:100])
    for w in (None, weight):
        expected = r2_score(y, model.predict(X), sample_weight=w)
        np.testing.assert_allclose(model.score(as_source(X, y, w)), expected, rtol=1e-12)
        np.testing.assert_allclose(model.score(X, y, w), expected, rtol=1e-12)


@each_model
def test_targets_that_do_not_vary(model):
    X, _, _ = rows()
    model.fit(X, np.ones(200))
    assert model.score(as_source(X, np.full(200, 2.0))) == 0.0
    y = np.stack([np.ones(200), X[:, 0]], axis=1)
    model.fit(X, y)
    expected = r2_score(y, model.predict(X))
    np.testing.assert_allclose(model.score(as_source(X, y)), expected, rtol=1e-9)


@each_model
def test_what_cannot_be_scored(model):
    X, y, _ = rows()
    model.fit(X, y)
    holed = X.copy()
    holed[7, 1] = np.nan
    with pytest.raises(ValueError, match="NaN: column 1, row 7 "):
        model.score(as_source(holed, y))
    with pytest.raises(ValueError, match="score needs a target"):
        model.score(as_source(X))
    with pytest.raises(ValueError, match="brings its own target"):
        model.score(as_source(X, y), y)
    with pytest.raises(ValueError, match="must hold numbers"):
        model.score(as_source(X, np.array(["a"] * 200, dtype=object)))


def test_parts():
    shares = explained(np.array([0.0, 1.0, 2.0]), np.array([0.0, 0.0, 8.0]))
    assert shares.tolist() == [1.0, 0.0, 0.75]
    assert as_columns([1, 2]).tolist() == [[1.0], [2.0]]
