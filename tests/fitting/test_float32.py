"""Of float32 rows, numbers come out in float32: those of the same rows in float64, rounded."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy import sparse
from sklearn.base import clone

import suffice
from suffice import catalogue
from suffice.sources import as_source

rng = np.random.default_rng(0)
X = np.abs(rng.normal(size=(60, 3))).astype(np.float32)
y = (X[:, 0] > 0.6).astype(int)
NAMES = ["a", "b", "c"]
METHODS = ("predict", "predict_proba", "predict_log_proba", "decision_function", "transform")
SWITCHED = {"OneVsRest": {"estimator": suffice.LogisticRegression()}}
AS_THEY_ARE = {"BagOfWords", "OneHotEncoder", "ColumnTransformer"}


def entries():
    return [e for e in catalogue.models() if e.name not in AS_THEY_ARE]


@pytest.fixture(params=entries(), ids=lambda entry: entry.name)
def fitted(request):
    cls = catalogue.find(request.param.name)
    return clone(cls(**SWITCHED.get(request.param.name, {}))).fit(X, y)


def test_every_model(fitted):
    wide = X.astype(np.float64)
    for method in METHODS:
        if not hasattr(fitted, method):
            continue
        answer = getattr(fitted, method)
        single, double = answer(X), answer(wide)
        if double.dtype.kind in "iu":
            np.testing.assert_array_equal(single, double)
            continue
        assert (single.dtype, double.dtype) == (np.float32, np.float64)
        np.testing.assert_allclose(single, double, rtol=1e-6, atol=1e-6)
    coef = getattr(fitted, "coef_", np.zeros(1))
    assert coef.dtype == np.float64
    if hasattr(fitted, "score") and hasattr(fitted, "predict"):
        assert fitted.score(X, y) == pytest.approx(fitted.score(wide, y), rel=1e-13)


FRAMES = {
    "pandas": pd.DataFrame(X, columns=NAMES),
    "nullable": pd.DataFrame(X, columns=NAMES).astype("Float32"),
    "arrow in pandas": pd.DataFrame(X, columns=NAMES).astype("float[pyarrow]"),
    "polars": pl.DataFrame(X, schema=NAMES),
    "pyarrow": pa.table(dict(zip(NAMES, X.T, strict=True))),
    "sparse": sparse.csr_array(X),
}
OTHERS = {
    "half": X.astype(np.float16),
    "integers": (X * 10).astype(int),
    "mixed": pd.DataFrame(X, columns=NAMES).astype({"b": "float64"}),
    "list": X.tolist(),
    "source": as_source(X),
}


@pytest.mark.parametrize("rows", FRAMES.values(), ids=FRAMES)
def test_every_form_of_rows(rows):
    names = None if sparse.issparse(rows) else NAMES
    source = suffice.sources.ArraySource(X.astype(float), y, feature_names=names)
    model = suffice.Ridge().fit(source)
    found = model.predict(rows)
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, model.predict(source), rtol=1e-6)


@pytest.mark.parametrize("rows", OTHERS.values(), ids=OTHERS)
def test_other_rows_stay_in_float64(rows):
    assert suffice.Ridge().fit(X, y).predict(rows).dtype == np.float64


def test_models_of_models():
    searches = [
        suffice.RidgeCV(),
        suffice.LassoCV(cv=2),
        suffice.GridSearchCV(suffice.Ridge(), {"alpha": [1.0, 2.0]}, cv=2),
    ]
    for search in searches:
        search.fit(X, y)
        assert search.predict(X).dtype == np.float32
        wide = search.score(X.astype(float), y)
        assert search.score(X, y) == pytest.approx(wide, rel=1e-6)
    assert suffice.LogisticRegressionCV(Cs=2, cv=2).fit(X, y).predict_proba(X).dtype == np.float32


def test_labels_and_several_answers():
    labels = y + 0.0
    assert suffice.GaussianNB().fit(X, labels).predict(X).dtype == np.float64
    two = suffice.KNeighborsClassifier().fit(X, np.stack([y, 1 - y], axis=1))
    assert [share.dtype for share in two.predict_proba(X)] == [np.float32] * 2
    mean, deviation = suffice.BayesianLinearRegression().fit(X, y).predict(X, return_std=True)
    assert mean.dtype == deviation.dtype == np.float32
    pca = suffice.PCA(2).fit(X)
    assert pca.inverse_transform(pca.transform(X)).dtype == np.float32
    assert suffice.Ridge().fit(X, np.stack([y, y], axis=1)).predict(X).shape == (60, 2)


def test_certain_classes():
    """A probability that rounds to 1 has the logarithm 0."""
    sure = suffice.LogisticRegression(C=1e6).fit(X, y)
    far = (X * 50).astype(np.float32)
    shares, logs = sure.predict_proba(far), sure.predict_log_proba(far)
    assert (logs[shares == 1] == 0).all()
    assert (shares == 1).any()
    assert (logs[shares < 1] < 0).all()


def test_memory():
    """A copy of all rows in float64 is never made."""
    rows = np.ones((400_000, 20), dtype=np.float32)
    model = suffice.Ridge().fit(rows[:100] * rng.normal(size=20), y=np.arange(100.0))
    model.predict(rows[:10])
    tracemalloc.start()
    try:
        assert model.predict(rows).dtype == np.float32
        assert tracemalloc.get_traced_memory()[1] < rows.nbytes
    finally:
        tracemalloc.stop()
