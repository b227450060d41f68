"""OneHotEncoder: scikit-learn in memory, the same from sources, the verbs, bad input."""

import pickle
import warnings
from collections import Counter

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import sklearn.preprocessing as peer
from pyarrow import parquet
from scipy.sparse import csr_matrix, issparse
from sklearn.utils.estimator_checks import parametrize_with_checks

import suffice
from suffice.preprocessing import OneHotEncoder
from suffice.sources import as_source, scan


@parametrize_with_checks([OneHotEncoder(), OneHotEncoder(handle_unknown="ignore", drop="first")])
def test_scikit_learns_contract(estimator, check):
    check(estimator)


rng = np.random.default_rng(0)
N = 400
CITIES = rng.choice(["Ulm", "Köln", "東京", "Rome", "Oslo"], N, p=[0.5, 0.3, 0.1, 0.06, 0.04])
FLOORS = rng.integers(-1, 3, N)
SIZES = rng.choice([0.5, 1.5, np.nan], N)
BLANKS = np.where(rng.random(N) < 0.1, None, CITIES)

TABLES = {
    "whole numbers": FLOORS[:, None],
    "numbers": np.column_stack([FLOORS, SIZES]),
    "float32": np.column_stack([FLOORS, SIZES]).astype(np.float32),
    "booleans": (FLOORS > 0)[:, None],
    "strings": CITIES[:, None],
    "objects": np.column_stack([CITIES.astype(object), FLOORS.astype(object)]),
    "objects with None": np.column_stack([BLANKS, CITIES.astype(object)]),
    "objects with NaN": np.array([[np.nan if c is None else c] for c in BLANKS], dtype=object),
    "a list": [[str(c), int(f)] for c, f in zip(CITIES, FLOORS, strict=True)],
    "pandas": pd.DataFrame({"city": CITIES, "floor": FLOORS, "size": SIZES}),
    "pandas blanks": pd.DataFrame({"city": BLANKS, "flag": FLOORS > 0}),
    "pandas category": pd.DataFrame({"city": pd.Categorical(CITIES), "f": pd.Categorical(FLOORS)}),
    "polars": pl.DataFrame({"city": CITIES.tolist(), "size": SIZES}),
}
SETTINGS = [
    {},
    {"drop": "first"},
    {"drop": "if_binary"},
    {"min_frequency": 30},
    {"min_frequency": 0.2, "drop": "first"},
    {"max_categories": 2},
    {"max_categories": 3, "min_frequency": 10, "handle_unknown": "infrequent_if_exist"},
    {"max_categories": 1},
    {"sparse_output": False, "dtype": np.float32},
    {"handle_unknown": "ignore"},
]


def dense(X):
    return X.toarray() if issparse(X) else X


def same(a, b):
    """Equal, with NaN and None equal to themselves."""
    a, b = (np.asarray(v, dtype=object) for v in (a, b))
    assert a.shape == b.shape
    for x, y in zip(a.ravel(), b.ravel(), strict=True):
        assert x == y or (x != x and y != y)


@pytest.mark.parametrize("settings", SETTINGS, ids=str)
@pytest.mark.parametrize("X", TABLES.values(), ids=TABLES)
def test_results_of_scikit_learn(X, settings):
    mine, other = OneHotEncoder(**settings).fit(X), peer.OneHotEncoder(**settings).fit(X)
    for a, b in zip(mine.categories_, other.categories_, strict=True):
        # Of a Polars frame, scikit-learn makes one array of objects.
        assert a.dtype.kind == b.dtype.kind or isinstance(X, pl.DataFrame)
        same(a, b)
    a, b = mine.transform(X), other.transform(X)
    assert type(a) is type(b)
    assert a.dtype == b.dtype
    np.testing.assert_array_equal(dense(a), dense(b))
    assert mine.get_feature_names_out().tolist() == other.get_feature_names_out().tolist()
    assert (mine.drop_idx_ is None) == (other.drop_idx_ is None)
    if mine.drop_idx_ is not None:
        same(mine.drop_idx_, other.drop_idx_)
    if "min_frequency" in settings or "max_categories" in settings:
        for ours, theirs in zip(
            mine.infrequent_categories_, other.infrequent_categories_, strict=True
        ):
            assert (ours is None) == (theirs is None)
            if ours is not None:
                same(ours, theirs)
    if "handle_unknown" not in settings:
        same(mine.inverse_transform(a), other.inverse_transform(b))


def test_unknown_categories():
    X, new = [["Ulm"], ["Rome"], ["Rome"]], [["Oslo"], ["Rome"]]
    with pytest.raises(ValueError, match=r"Found unknown categories \['Oslo'\] in column 0 during"):
        OneHotEncoder().fit(X).transform(new)
    with pytest.raises(ValueError, match=r"unknown categories \[7\.0\] in column 0"):
        OneHotEncoder().fit([[1.0], [2.0]]).transform([[7.0]])
    for settings in (
        {"handle_unknown": "ignore"},
        {"handle_unknown": "infrequent_if_exist"},
        {"handle_unknown": "infrequent_if_exist", "min_frequency": 2},
        {"handle_unknown": "ignore", "min_frequency": 2},
    ):
        mine, other = OneHotEncoder(**settings).fit(X), peer.OneHotEncoder(**settings).fit(X)
        a, b = mine.transform(new), other.transform(new)
        np.testing.assert_array_equal(a.toarray(), b.toarray())
        same(mine.inverse_transform(a), other.inverse_transform(b))
    for settings in ({"handle_unknown": "warn"}, {"handle_unknown": "ignore", "drop": "first"}):
        encoder = OneHotEncoder(**settings).fit(X)
        with pytest.warns(UserWarning, match=r"unknown categories in columns \[0\]"):
            encoder.transform(new)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            encoder.transform(X)


def test_listed_categories():
    X = np.array([["b"], ["a"], ["b"]], dtype=object)
    settings = {"categories": [["c", "b", "a"]]}
    mine, other = OneHotEncoder(**settings).fit(X), peer.OneHotEncoder(**settings).fit(X)
    same(mine.categories_[0], other.categories_[0])
    np.testing.assert_array_equal(mine.transform(X).toarray(), other.transform(X).toarray())
    for bad, words in (
        ([["a"]], r"Found unknown categories \['b'\] in column 0 during fit"),
        ([["a", "a", "b"]], "duplicate"),
        ([["a"], ["b"]], "Shape mismatch"),
        ([[None, "a", "b"]], "should be the last"),
    ):
        with pytest.raises(ValueError, match=words):
            OneHotEncoder(categories=bad).fit(X)
    with pytest.raises(ValueError, match="Unsorted categories"):
        OneHotEncoder(categories=[[2, 1]]).fit([[1], [2]])
    with pytest.raises(ValueError, match="must be numbers"):
        OneHotEncoder(categories=[["a"]]).fit([[1], [2]])


def test_dropped_categories():
    X = np.array([["a", 1], ["b", 2], ["b", 3]], dtype=object)
    settings = {"drop": ["b", 1]}
    mine, other = OneHotEncoder(**settings).fit(X), peer.OneHotEncoder(**settings).fit(X)
    np.testing.assert_array_equal(mine.transform(X).toarray(), other.transform(X).toarray())
    same(mine.inverse_transform(mine.transform(X)), X)
    for bad, words in (
        (["c", 1], "supposed to be dropped"),
        (["a", "x"], "supposed to be dropped"),
        (["a"], "length equal to the number"),
    ):
        with pytest.raises(ValueError, match=words):
            OneHotEncoder(drop=bad).fit(X)
    with pytest.raises(ValueError, match="because it is infrequent"):
        OneHotEncoder(drop=["a", 1], min_frequency=2).fit(X)


def test_names_by_a_function():
    encoder = OneHotEncoder(feature_name_combiner=lambda name, value: f"{name}={value}")
    encoder.fit([["a"], ["b"]])
    assert encoder.get_feature_names_out(["x"]).tolist() == ["x=a", "x=b"]
    with pytest.raises(TypeError, match="should return a Python string"):
        OneHotEncoder(feature_name_combiner=lambda *_: 1).fit([[1]]).get_feature_names_out()


def test_frames_come_out_where_asked_for():
    frame = pd.DataFrame({"city": ["Ulm", "Rome"]})
    encoder = OneHotEncoder(sparse_output=False).set_output(transform="pandas").fit(frame)
    assert list(encoder.transform(frame).columns) == ["city_Rome", "city_Ulm"]
    with pytest.raises(ValueError, match="set sparse_output=False"):
        OneHotEncoder().set_output(transform="pandas").fit_transform(frame)


# --- sources -------------------------------------------------------------------------------


@pytest.fixture
def files(tmp_path):
    count = 50_000
    rng = np.random.default_rng(3)
    city = rng.choice(["Ulm", "Köln", "東京", None], count)
    frame = pd.DataFrame({"floor": rng.integers(0, 5, count).astype(float), "y": rng.random(count)})
    table = pa.Table.from_pandas(frame).append_column("city", pa.array(city, pa.string()))
    for i in range(3):
        parquet.write_table(table.slice(i * 20_000, 20_000), tmp_path / f"{i}.parquet")
    X = np.column_stack([frame.floor.astype(object), city])
    return scan(tmp_path, target="y", features=["floor", "city"]), X, frame.y


@pytest.mark.parametrize("sparse", [True, False])
@pytest.mark.parametrize("threads", [1, 2])
def test_from_files(files, sparse, threads):
    source, X, y = files
    with suffice.config(threads=threads):
        mine = OneHotEncoder(sparse_output=sparse).fit(source)
        other = peer.OneHotEncoder(sparse_output=sparse).fit(X)
        for a, b in zip(mine.categories_, other.categories_, strict=True):
            same(a, b)
        counted = Counter(X[:, 1])
        assert mine.statistics_.counts[1].tolist() == [counted[c] for c in mine.categories_[1]]
        out = pickle.loads(pickle.dumps(mine.transform(source)))
        assert (out.sparse, out.has_target, out.kinds) == (sparse, True, None)
        blocks = [piece.load() for piece in out.pieces()]
        found = np.concatenate([dense(block.X) for block in blocks])
        np.testing.assert_array_equal(found, dense(other.transform(X)))
        np.testing.assert_array_equal(np.concatenate([b.y for b in blocks]), y)
    assert out.column_label(5) == "column 'city_Köln'"


def test_weights_of_a_source_are_repetitions(tmp_path):
    pd.DataFrame({"x": ["a", "b", "c", "d"], "w": [5, 1, 2, 0]}).to_parquet(tmp_path / "a.parquet")
    encoder = OneHotEncoder(min_frequency=2).fit(scan(tmp_path, weight="w"))
    assert encoder.categories_[0].tolist() == ["a", "b", "c"]
    assert encoder.infrequent_categories_[0].tolist() == ["b"]


def test_a_block_in_which_nothing_is_there():
    encoder = OneHotEncoder().fit(as_source(pa.table({"c": pa.array(["a", None])})))
    nothing = pa.table({"c": pa.array([None, None])})
    assert encoder.transform(nothing).toarray().tolist() == [[0, 1], [0, 1]]


# --- update, merge, forget, refit, save ----------------------------------------------------


@pytest.mark.parametrize("name", ["strings", "objects with None", "pandas", "polars", "numbers"])
def test_the_verbs(name, tmp_path):
    X = TABLES[name]
    parts = [X[:100], X[100:250], X[250:]]
    whole = OneHotEncoder(min_frequency=20).fit(X)
    updated = OneHotEncoder(min_frequency=20).partial_fit(parts[0]).update(parts[1])
    updated.update(parts[2])
    merged = suffice.merge(*(OneHotEncoder(min_frequency=20).fit(part) for part in parts))
    updated.save(tmp_path / "encoder")
    for model in (updated, merged, suffice.load(tmp_path / "encoder")):
        for a, b in zip(model.categories_, whole.categories_, strict=True):
            same(a, b)
        np.testing.assert_array_equal(model.transform(X).toarray(), whole.transform(X).toarray())
    first = OneHotEncoder(min_frequency=20).fit(X[:250])
    forgot = updated.forget(parts[2])
    for a, b in zip(forgot.statistics_.values, first.statistics_.values, strict=True):
        same(a, b)
    for a, b in zip(forgot.statistics_.counts, first.statistics_.counts, strict=True):
        np.testing.assert_array_equal(a, b)


def test_a_forgotten_category_is_gone_and_a_stranger_cannot_be_forgotten():
    encoder = OneHotEncoder().fit([["a"], ["b"], ["b"]])
    with pytest.raises(ValueError, match="cannot take away values of column 0"):
        encoder.forget([["c"]])
    assert encoder.forget([["a"]]).categories_[0].tolist() == ["b"]
    with pytest.raises(ValueError, match="no row would stay"):
        encoder.forget([["b"], ["b"]])


def test_refit_needs_no_rows():
    X = TABLES["strings"]
    encoder = OneHotEncoder(sparse_output=False).fit(X).refit(min_frequency=30, drop="first")
    other = peer.OneHotEncoder(min_frequency=30, drop="first", sparse_output=False).fit(X)
    np.testing.assert_array_equal(encoder.transform(X), other.transform(X))


# --- bad input -----------------------------------------------------------------------------


def test_bad_input():
    with pytest.raises(TypeError, match="uniformly strings or numbers"):
        OneHotEncoder().fit(np.array([["a"], [1]], dtype=object))
    with pytest.raises(TypeError, match="argument must be a string or a real number"):
        OneHotEncoder().fit(np.array([[{}], [1]], dtype=object))
    with pytest.raises(TypeError, match=r"(?i)sparse"):
        OneHotEncoder().fit(csr_matrix(np.eye(2)))
    with pytest.raises(ValueError, match="text in some rows and numbers in others"):
        OneHotEncoder().fit([["a"]]).update([[1.0]])
    with pytest.raises(ValueError, match="feature names should match"):
        OneHotEncoder().fit(TABLES["pandas"]).transform(TABLES["polars"])
    with pytest.raises(ValueError, match="Expected 1 columns, got 2"):
        OneHotEncoder().fit([[1.0]]).inverse_transform(np.eye(2))
    with pytest.raises(ValueError, match="can not be inverted"):
        OneHotEncoder().fit([[1.0], [2.0]]).inverse_transform(np.zeros((1, 2)))
    with pytest.raises(AttributeError, match="min_frequency"):
        _ = OneHotEncoder().fit([[1.0]]).infrequent_categories_


def test_encoders_of_listed_categories_merge():
    def fitted(first, rows):
        return OneHotEncoder(categories=[first, ["c"]]).fit(np.array(rows, dtype=object))

    # Lists of different lengths, equal but not the same.
    both = suffice.merge(fitted(["a", "b"], [["a", "c"]]), fitted(["a", "b"], [["b", "c"]]))
    assert [known.tolist() for known in both.categories_] == [["a", "b"], ["c"]]
    with pytest.raises(ValueError, match="cannot merge models with categories="):
        suffice.merge(fitted(["a", "b"], [["a", "c"]]), fitted(["a", "d"], [["a", "c"]]))
