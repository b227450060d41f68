"""The model that the guide prints does all that the guide promises."""

import doctest
import importlib
import re
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from sklearn.datasets import load_diabetes
from sklearn.pipeline import make_pipeline

import suffice
from suffice.preprocessing import StandardScaler
from tests.contract import contract

ROOT = Path(__file__).resolve().parents[2]

sys.path.insert(0, str(ROOT / "examples"))
example = importlib.import_module("orthogonal_regression")
sys.path.pop(0)
OrthogonalRegression = example.OrthogonalRegression


@pytest.fixture
def rows():
    return load_diabetes(return_X_y=True, scaled=False)


def test_the_guide_prints_the_file_as_it_is():
    guide = (ROOT / "docs" / "adding-an-algorithm.md").read_text("utf-8")
    text = (ROOT / "examples" / "orthogonal_regression.py").read_text("utf-8")
    assert re.findall(r"```python\n(\"\"\".*?)```", guide, re.DOTALL) == [text]
    assert len(text.splitlines()) <= 80


def test_its_example_is_right():
    assert doctest.testmod(example).failed == 0


@pytest.mark.parametrize("ratio", [1.0, 0.01, 40.0])
def test_is_the_last_singular_vector_of_the_centred_rows(rows, ratio):
    X, y = rows
    model = OrthogonalRegression(ratio).fit(X, y)
    table = np.column_stack([X, y / np.sqrt(ratio)])
    *_, normal = np.linalg.svd(table - table.mean(axis=0))[2]
    exact = -np.sqrt(ratio) * normal[:-1] / normal[-1]
    np.testing.assert_allclose(model.coef_, exact, rtol=1e-9)
    assert model.certificate_.holds
    assert model.certificate_.digits > 8


def test_one_column_is_deming_regression(rows):
    x, y, ratio = rows[0][:, 2], rows[1], 300.0
    model = OrthogonalRegression(ratio).fit(x[:, None], y)
    (sxx, sxy), (_, syy) = np.cov(x, y)
    away = syy - ratio * sxx
    slope = (away + np.sqrt(away**2 + 4 * ratio * sxy**2)) / (2 * sxy)
    np.testing.assert_allclose(model.coef_, [slope], rtol=1e-12)
    np.testing.assert_allclose(model.intercept_, y.mean() - slope * x.mean(), rtol=1e-10)


def test_columns_of_very_different_sizes_are_summed_in_double_double(rows):
    X, y = rows
    X = X * np.append(1e7, np.ones(9))
    model = OrthogonalRegression().fit(X, y)
    assert model.certificate_.holds
    assert list(model.trace_.step) == ["moments in float64", "moments in double-double"]
    np.testing.assert_allclose(model.predict(X).mean(), y.mean(), rtol=1e-9)


def test_parts_weights_files_and_threads_do_not_matter(rows, tmp_path):
    X, y = rows
    whole = OrthogonalRegression().fit(X, y)
    joined = OrthogonalRegression().fit(X[:99], y[:99]) + OrthogonalRegression().fit(X[99:], y[99:])
    np.testing.assert_allclose(joined.coef_, whole.coef_, rtol=1e-9)
    joined.forget(X[99:], y[99:]).update(X[99:], y[99:])
    np.testing.assert_allclose(joined.coef_, whole.coef_, rtol=1e-9)
    weight = np.arange(len(X)) % 3
    weighted = OrthogonalRegression().fit(X, y, sample_weight=weight)
    repeated = OrthogonalRegression().fit(X.repeat(weight, axis=0), y.repeat(weight))
    np.testing.assert_allclose(weighted.coef_, repeated.coef_, rtol=1e-9)
    pq.write_table(
        pa.table({f"x{j}": X[:, j] for j in range(10)} | {"y": y}), tmp_path / "rows.parquet"
    )
    streamed = OrthogonalRegression().fit(suffice.scan(tmp_path / "rows.parquet", target="y"))
    np.testing.assert_array_equal(streamed.coef_, whole.coef_)
    whole.save(tmp_path / "model")
    np.testing.assert_array_equal(suffice.load(tmp_path / "model").predict(X), whole.predict(X))


def test_folds_and_candidates_share_two_passes(rows):
    model = make_pipeline(StandardScaler(), OrthogonalRegression())
    grid = {"orthogonalregression__variance_ratio": [1e5, 1e6, 1e7]}
    search = suffice.GridSearchCV(model, grid, cv=5).fit(*rows)
    assert search.passes_ == 2
    assert search.best_params_ == {"orthogonalregression__variance_ratio": 1e7}


def test_bad_rows_are_named(rows):
    X, y = rows
    X = X.copy()
    X[7, 2] = np.nan
    with pytest.raises(ValueError, match=r"NaN.*row 7"):
        OrthogonalRegression().fit(X, y)
    with pytest.raises(ValueError, match="all of them alike"):
        OrthogonalRegression().fit([[1.0], [1.0]], [2.0, 2.0])
    with pytest.raises(ValueError, match="no slope"):
        OrthogonalRegression().fit([[1.0], [1.0]], [2.0, 3.0])


# Rows on fewer planes than columns lie in several, and the certificate says so.
@pytest.mark.filterwarnings("ignore:OrthogonalRegression. not proved")
@contract([OrthogonalRegression()])
def test_is_an_estimator_of_scikit_learn(estimator, check):
    check(estimator)
