"""SimpleImputer: scikit-learn in memory, the same from sources, the verbs, bad input."""

import pickle
import warnings
from fractions import Fraction

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
import sklearn.impute as peer
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_matrix, issparse

import suffice
from suffice.preprocessing import SimpleImputer
from suffice.preprocessing.fill_values import median
from suffice.sources import as_source, scan
from tests.contract import contract

STRATEGIES = ["mean", "median", "most_frequent", "constant"]


@contract(
    [SimpleImputer(strategy="most_frequent")],
    switched=[SimpleImputer(strategy="median"), SimpleImputer(strategy="constant")],
)
def test_scikit_learns_contract(estimator, check):
    check(estimator)


def table(n_rows=301, seed=0):
    rng = np.random.default_rng(seed)
    X = np.column_stack(
        [rng.normal(size=n_rows), rng.integers(0, 5, n_rows), rng.random(n_rows), np.ones(n_rows)]
    )
    X[rng.random(X.shape) < 0.2] = np.nan
    X[:, 3] = 7.0
    return X


def dense(X):
    return X.toarray() if issparse(X) else np.asarray(X)


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize(
    "settings",
    [{}, {"add_indicator": True}, {"keep_empty_features": True}, {"fill_value": -3.5}],
    ids=str,
)
@pytest.mark.parametrize("empty", [False, True])
def test_results_of_scikit_learn(strategy, settings, empty):
    X = table()
    if empty:
        X[:, 1] = np.nan
    mine = SimpleImputer(strategy=strategy, **settings).fit(X)
    other = peer.SimpleImputer(strategy=strategy, **settings).fit(X)
    np.testing.assert_allclose(
        mine.statistics_.astype(float), other.statistics_.astype(float), rtol=1e-12
    )
    assert mine.statistics_.dtype == other.statistics_.dtype
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        a = mine.transform(X)
        n_warnings = len(caught)
        b = other.transform(X)
    assert len(caught) == 2 * n_warnings
    np.testing.assert_allclose(a, b, rtol=1e-12)
    assert mine.get_feature_names_out().tolist() == other.get_feature_names_out().tolist()
    if settings.get("add_indicator"):
        assert mine.indicator_.features_.tolist() == other.indicator_.features_.tolist()
        np.testing.assert_allclose(mine.inverse_transform(a), other.inverse_transform(b))
    else:
        assert mine.indicator_ is None


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_another_mark_for_what_is_missing(strategy):
    X = np.nan_to_num(table(), nan=-1.0)
    for rows in (X, X.astype(np.float32), (10 * X).astype(np.int64)):
        mark = -1 if rows.dtype.kind == "f" else -10
        mine = SimpleImputer(missing_values=mark, strategy=strategy).fit(rows)
        other = peer.SimpleImputer(missing_values=mark, strategy=strategy).fit(rows)
        a, b = mine.transform(rows), other.transform(rows)
        assert a.dtype == b.dtype
        # scikit-learn sums float32 in float32.
        np.testing.assert_allclose(a, b, rtol=1e-5 if rows.dtype == np.float32 else 1e-12)
    with pytest.raises(ValueError, match="NaN"):
        SimpleImputer(missing_values=-1, strategy=strategy).fit(as_source(table()))


@pytest.mark.parametrize("strategy", ["mean", "median", "most_frequent"])
@pytest.mark.parametrize("indicator", [False, True])
def test_csr_rows(strategy, indicator):
    rng = np.random.default_rng(0)
    X = np.where(rng.random((200, 5)) < 0.4, rng.integers(1, 4, (200, 5)), 0).astype(float)
    X[rng.random(X.shape) < 0.1] = np.nan
    settings = {"strategy": strategy, "add_indicator": indicator}
    mine, other = SimpleImputer(**settings).fit(csr_matrix(X)), peer.SimpleImputer(**settings)
    other.fit(csr_matrix(X))
    np.testing.assert_allclose(mine.statistics_, other.statistics_)
    a, b = mine.transform(csr_matrix(X)), other.transform(csr_matrix(X))
    assert issparse(a)
    np.testing.assert_allclose(dense(a), dense(b))
    with pytest.raises(ValueError, match="input is sparse"):
        SimpleImputer(missing_values=0, strategy=strategy).fit(csr_matrix(np.eye(3)))


TEXT = np.array([["a", 1.0], [None, 2.0], ["b", np.nan], ["b", 2.0]], dtype=object)


@pytest.mark.parametrize("settings", [{"strategy": "most_frequent"}, {"strategy": "constant"}])
def test_text(settings):
    filled = "b" if settings["strategy"] == "most_frequent" else "missing_value"
    number = 2.0 if settings["strategy"] == "most_frequent" else 0
    frame = pd.DataFrame({"c": TEXT[:, 0], "x": TEXT[:, 1].astype(float)})
    for X in (TEXT, frame, pa.table({"c": TEXT[:, 0].tolist(), "x": frame.x})):
        out = SimpleImputer(**settings).fit(X).transform(X)
        assert out.dtype == object
        assert out[:, 0].tolist() == ["a", filled, "b", "b"]
        assert out[:, 1].tolist() == [1.0, 2.0, number, 2.0]


def test_a_text_that_marks_what_is_missing():
    X = np.array([["a", "?"], ["?", "b"], ["c", "c"]], dtype=object)
    settings = {"missing_values": "?", "strategy": "constant", "fill_value": "none"}
    mine, other = SimpleImputer(**settings).fit(X), peer.SimpleImputer(**settings).fit(X)
    assert mine.transform(X).tolist() == other.transform(X.copy()).tolist()


def test_text_and_numbers_do_not_fill_each_other():
    with pytest.raises(ValueError, match="non-numeric data"):
        SimpleImputer().fit(TEXT)
    with pytest.raises(ValueError, match=r"Column 'c' has type .*OneHotEncoder"):
        SimpleImputer().fit(pd.DataFrame({"c": ["a"]}))
    with pytest.raises(ValueError, match="cannot be cast to the input data"):
        SimpleImputer(strategy="constant", fill_value="x").fit([[1.0]])
    with pytest.raises(ValueError, match="cannot be cast to the input data"):
        SimpleImputer(strategy="constant", fill_value=1).fit(np.array([["a"]], dtype=object))
    with pytest.raises(ValueError, match="'inverse_transform' works only"):
        SimpleImputer().fit([[1.0]]).inverse_transform([[1.0]])


@given(st.lists(st.tuples(st.integers(-50, 50), st.integers(1, 5)), min_size=1, max_size=12))
def test_a_weighted_median_is_that_of_repetitions(pairs):
    values, places = np.unique([float(v) for v, _ in pairs], return_inverse=True)
    weights = np.bincount(places, [w for _, w in pairs])
    repeated = np.repeat(values, weights.astype(int))
    assert median(values, weights) == np.median(repeated)


def test_the_mean_is_that_of_exact_arithmetic():
    X = table()
    imputer = SimpleImputer(exact=True).fit(X)
    for j in range(4):
        cells = [Fraction(x) for x in X[:, j] if x == x]
        assert imputer.statistics_[j] == float(sum(cells) / len(cells))
    assert imputer.certificate_.digits > 15


# --- sources -------------------------------------------------------------------------------


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_from_files(strategy, tmp_path):
    X = table(40_000)
    frame = pd.DataFrame(X, columns=list("abcd")).assign(y=1.0)
    frame[:25_000].to_parquet(tmp_path / "0.parquet")
    frame[25_000:].to_parquet(tmp_path / "1.parquet")
    source = scan(tmp_path, target="y")
    mine = SimpleImputer(strategy=strategy, add_indicator=True).fit(source)
    same = SimpleImputer(strategy=strategy, add_indicator=True).fit(X)
    np.testing.assert_array_equal(mine.statistics_, same.statistics_)
    out = pickle.loads(pickle.dumps(mine.transform(source)))
    found = np.concatenate([piece.load().X for piece in out.pieces()])
    np.testing.assert_array_equal(found, same.transform(X))
    assert out.column_label(4) == "column 'missingindicator_a'"


def test_text_from_files_stays_text(tmp_path):
    path = tmp_path / "a.parquet"
    pd.DataFrame({"c": ["a", None, "b", "b"], "x": [1.0, 2.0, None, 2.0]}).to_parquet(path)
    imputer = SimpleImputer(strategy="most_frequent").fit(scan(path))
    out = imputer.transform(scan(path))
    assert out.kinds == ("text", "number")
    block = next(out.pieces()).load()
    assert block.X.column(0).tolist() == ["a", "b", "b", "b"]
    assert block.X.column(1).tolist() == [1.0, 2.0, 2.0, 2.0]


# --- update, merge, forget, refit, save ----------------------------------------------------


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_the_verbs(strategy, tmp_path):
    X = table(900)
    whole = SimpleImputer(strategy=strategy).fit(X)
    updated = SimpleImputer(strategy=strategy).partial_fit(X[:300]).update(X[300:])
    merged = suffice.merge(*(SimpleImputer(strategy=strategy).fit(X[i::3]) for i in range(3)))
    updated.save(tmp_path / "imputer")
    for model in (updated, merged, suffice.load(tmp_path / "imputer")):
        np.testing.assert_allclose(
            model.statistics_.astype(float), whole.statistics_.astype(float), rtol=1e-12
        )
        np.testing.assert_allclose(model.transform(X), whole.transform(X), rtol=1e-12)
    updated.forget(X[:300])
    expected = SimpleImputer(strategy=strategy).fit(X[300:]).statistics_.astype(float)
    np.testing.assert_allclose(updated.statistics_.astype(float), expected, rtol=1e-9)
    updated.set_params(add_indicator=True)
    assert updated.transform(X).shape == (900, 7)


def test_frames_come_out_where_asked_for():
    X = pd.DataFrame(table(20), columns=list("abcd"))
    out = SimpleImputer(add_indicator=True).set_output(transform="pandas").fit_transform(X)
    assert list(out.columns) == [*"abcd", *(f"missingindicator_{c}" for c in "abc")]


def test_exact_comes_before_the_fit():
    X = np.random.default_rng(0).normal(size=(20_000, 2))
    imputer = SimpleImputer().fit(X).set_params(exact=True)
    with pytest.raises(ValueError, match="exact=True was set after a fit in float64"):
        imputer.update(X)
    # Counts are exact anyway.
    middle = SimpleImputer(strategy="median").fit(X[:9]).set_params(exact=True)
    assert middle.update(X[:9])._kept().count == 18


def test_rows_of_another_width_are_not_changed_back():
    imputer = SimpleImputer(add_indicator=True).fit([[1.0, 2.0], [np.nan, 3.0]])
    with pytest.raises(ValueError, match=r"shape \(1, 2\).* have 3 columns"):
        imputer.inverse_transform(np.ones((1, 2)))


# --- a function as strategy ----------------------------------------------------------------


def third_quartile(values):
    assert type(values) is np.ndarray
    assert values.ndim == 1
    return np.quantile(values, 0.75)


@pytest.mark.parametrize(
    "settings", [{}, {"add_indicator": True}, {"missing_values": 7.0}], ids=str
)
@pytest.mark.parametrize("strategy", [third_quartile, np.ptp, np.mean])
def test_a_function_is_that_of_scikit_learn(strategy, settings):
    X = table(40_000) if not settings else table()
    if "missing_values" in settings:
        X = np.nan_to_num(X, nan=-1.0)[:, :3].round()
        X[::5, 1] = 7.0
    for rows in (X, X.astype(np.float32), pd.DataFrame(X), csr_matrix(np.nan_to_num(X, nan=2.5))):
        mine = SimpleImputer(strategy=strategy, **settings).fit(rows)
        other = peer.SimpleImputer(strategy=strategy, **settings).fit(rows)
        np.testing.assert_array_equal(mine.statistics_, other.statistics_)
        np.testing.assert_array_equal(dense(mine.transform(rows)), dense(other.transform(rows)))


def test_a_function_of_files_sees_all_rows(tmp_path):
    X = table(40_000)
    pd.DataFrame(X, columns=list("abcd")).to_parquet(tmp_path / "a.parquet")
    mine = SimpleImputer(strategy=third_quartile).fit(scan(tmp_path / "a.parquet"))
    np.testing.assert_array_equal(mine.statistics_, np.nanquantile(X, 0.75, axis=0))


def test_what_a_function_cannot_do():
    X = table()
    imputer = SimpleImputer(strategy=third_quartile).fit(X)
    before = imputer.statistics_
    for verb in (
        lambda: imputer.update(X),
        lambda: imputer.forget(X[:3]),
        lambda: imputer + imputer,
        lambda: imputer.refit(add_indicator=True),
    ):
        with pytest.raises(ValueError, match="a function as strategy sees the values of all rows"):
            verb()
    np.testing.assert_array_equal(imputer.statistics_, before)
    with pytest.raises(ValueError, match="does not see weights"):
        SimpleImputer(strategy=third_quartile).fit(X, sample_weight=np.ones(len(X)))
    with pytest.raises(ValueError, match="infinity"):
        SimpleImputer(strategy=third_quartile).fit(as_source(np.array([[np.inf]])))
    with pytest.raises(ZeroDivisionError):
        imputer.set_params(strategy=lambda values: 1 // 0).fit(X)
    np.testing.assert_array_equal(imputer.statistics_, before)
    with pytest.raises(ValueError, match=r"Cannot use .* strategy with non-numeric data"):
        SimpleImputer(strategy=third_quartile).fit(TEXT)
    # Of a column without values there is nothing to ask.
    X[:, 2] = np.nan
    assert np.isnan(SimpleImputer(strategy=np.max).fit(X).statistics_[2])
    assert SimpleImputer(strategy=np.max, keep_empty_features=True).fit(X).statistics_[2] == 0
    imputer = SimpleImputer(strategy=np.max).fit(X)
    assert len(pickle.loads(pickle.dumps(imputer)).statistics_) == 4


# --- refit ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("first", "changed"),
    [
        ({"strategy": "median"}, {"strategy": "most_frequent"}),
        ({"strategy": "most_frequent"}, {"strategy": "median", "add_indicator": True}),
        ({}, {"keep_empty_features": True}),
        ({}, {"add_indicator": True}),
        ({"strategy": "constant"}, {"fill_value": 2.5}),
        ({"strategy": "constant"}, {"fill_value": 2.5, "keep_empty_features": True}),
    ],
)
def test_refits_are_the_fits_of_scikit_learn(first, changed):
    X = table()
    X[:, 1] = np.nan
    mine = SimpleImputer(**first).fit(X).refit(**changed)
    other = peer.SimpleImputer(**first).set_params(**changed).fit(X)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        np.testing.assert_allclose(mine.transform(X), other.transform(X), rtol=1e-12)
        mine.update(X)
        np.testing.assert_allclose(mine.transform(X), other.transform(X), rtol=1e-12)


def test_refits_that_need_the_rows():
    X = table()
    for first in STRATEGIES:
        for second in {*STRATEGIES, third_quartile} - {first}:
            if {first, second} == {"median", "most_frequent"}:
                continue
            imputer = SimpleImputer(strategy=first).fit(X)
            with pytest.raises(ValueError, match=r"needs .*, but what was kept is .*: fit again"):
                imputer.refit(strategy=second)
            assert imputer.strategy == first
    with pytest.raises(ValueError, match="column 0 holds text, which has no median"):
        SimpleImputer(strategy="most_frequent").fit(TEXT).refit(strategy="median")
