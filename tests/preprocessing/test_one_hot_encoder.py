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

import suffice
from suffice.preprocessing import ColumnTransformer, OneHotEncoder
from suffice.sources import as_source, scan
from tests.contract import contract


@contract([], switched=[OneHotEncoder(handle_unknown="ignore", drop="first")])
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
        ([[np.nan, "a", "b"]], "should be the last"),
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


def test_sparse_rows_of_a_source():
    X = np.array([[0.0, 2.0], [1.0, 0.0], [0.0, 3.0]])
    encoder = OneHotEncoder().fit(as_source(csr_matrix(X)))
    out = next(encoder.transform(as_source(csr_matrix(X))).pieces()).load().X
    np.testing.assert_array_equal(out.toarray(), peer.OneHotEncoder().fit_transform(X).toarray())


# --- large integers ------------------------------------------------------------------------

LARGE = [2**53, 2**53 + 1, 2**53 + 2]
WIDE = [2**63 - 1, 2**63, 2**64 - 1]


def frames_of(values, dtype):
    array = np.array(values, dtype)
    words = ["u", "v", "w"]
    yield "array", array[:, None]
    yield "pandas", pd.DataFrame({"x": array, "y": [0.5, 1.5, np.nan]})
    yield "pandas with text", pd.DataFrame({"x": array, "y": words})
    yield "category", pd.DataFrame({"x": pd.Categorical(array), "y": words})
    yield "polars", pl.DataFrame({"x": array, "y": [True, False, True]})
    yield "polars with text", pl.DataFrame({"x": array, "y": words})
    yield "pyarrow", pa.table({"x": array, "y": [1.0, 2.0, 3.0]})
    yield "pyarrow with text", pa.table({"x": array, "y": words})
    yield "record batch", pa.record_batch({"x": array, "y": words})
    yield "objects", np.array(values, dtype=object)[:, None]


@pytest.mark.parametrize(("values", "dtype"), [(LARGE, "int64"), (WIDE, "uint64")])
def test_large_integers_stay_apart(values, dtype, tmp_path):
    for name, X in frames_of(values, dtype):
        mine = OneHotEncoder().fit(X)
        assert mine.categories_[0].tolist() == values, name
        assert mine.categories_[0].dtype == (object if name == "objects" else dtype), name
        encoded = mine.transform(X).toarray()[:, :3]
        np.testing.assert_array_equal(encoded, np.eye(3), err_msg=name)
        if not isinstance(X, pa.RecordBatch | pa.Table):
            other = peer.OneHotEncoder().fit(X)
            same(mine.categories_[0], other.categories_[0])
            assert mine.get_feature_names_out()[:3].tolist() == (
                other.get_feature_names_out()[:3].tolist()
            )
        mine.save(tmp_path / "encoder")
        loaded = suffice.load(tmp_path / "encoder")
        np.testing.assert_array_equal(loaded.transform(X).toarray()[:, :3], np.eye(3))


def test_types_that_scikit_learn_rounds():
    for dtype in ("Int64", "int64[pyarrow]"):
        X = pd.DataFrame({"x": pd.array(LARGE, dtype=dtype)})
        assert OneHotEncoder().fit(X).categories_[0].tolist() == LARGE
        blank = pd.DataFrame({"x": pd.array([*LARGE, None], dtype=dtype)})
        with pytest.raises(ValueError, match=r"column 'x' holds integers of 2\^53 and more beside"):
            OneHotEncoder().fit(blank)
    for X in (pl.DataFrame({"x": [*LARGE, None]}), pa.table({"x": [*LARGE, None]})):
        with pytest.raises(ValueError, match=r"column 'x' holds integers of 2\^53 and more beside"):
            OneHotEncoder().fit(X)


def test_large_integers_among_the_verbs():
    encoder = OneHotEncoder().fit(np.array(LARGE[:1])[:, None])
    encoder.update(pl.DataFrame({"x": LARGE[1:]}).to_numpy())
    assert encoder.update([[1.0]]).categories_[0].tolist() == [1, *LARGE]
    with pytest.raises(ValueError, match=r"column 0 holds integers that float64 cannot tell apart"):
        encoder.update([[0.5]])
    both = OneHotEncoder().fit(np.array([[2**63]], np.uint64)) + OneHotEncoder().fit([[5]])
    assert both.categories_[0].tolist() == [5, 2**63]
    assert encoder.forget([[2**53 + 1]]).categories_[0].tolist() == [1, LARGE[0], LARGE[2]]
    with pytest.raises(ValueError, match=r"unknown categories \[9007199254740993\]"):
        encoder.transform([[2**53 + 1]])
    listed = OneHotEncoder(categories=[LARGE], drop=[LARGE[1]]).fit(np.array(LARGE)[:, None])
    assert listed.drop_idx_.tolist() == [1]
    assert listed.categories_[0].tolist() == LARGE


def test_sources_refuse_integers_that_they_round(tmp_path):
    table = pa.table({"id": LARGE, "city": ["a", "b", "c"]})
    parquet.write_table(table, tmp_path / "a.parquet")
    table.to_pandas().to_csv(tmp_path / "a.csv", index=False)
    words = r"column 'id' holds numbers of 2\^53 and more.* store the column as text"
    sources = [scan(tmp_path / "a.parquet"), scan(tmp_path / "a.csv"), as_source(table)]
    encoder = OneHotEncoder(handle_unknown="ignore").fit(table)
    for source in sources:
        with pytest.raises(ValueError, match=words):
            OneHotEncoder().fit(source)
        with pytest.raises(ValueError, match=words):
            ColumnTransformer([("all", OneHotEncoder(), ["id"])]).fit(source)
        with pytest.raises(ValueError, match=words):
            next(encoder.transform(source).pieces()).load()
        # Where no category is that large, nothing can be mistaken for one.
        small = OneHotEncoder(handle_unknown="ignore").fit(pa.table({"id": [1], "city": ["a"]}))
        assert next(small.transform(source).pieces()).load().X.toarray()[:, 0].sum() == 0
    exact = OneHotEncoder().fit(as_source(np.array(LARGE)[:, None]))
    assert exact.categories_[0].tolist() == LARGE


# --- None and NaN --------------------------------------------------------------------------

BOTH = np.array([["b"], [None], ["a"], [np.nan], ["b"], [float("nan")]], dtype=object)
NUMBERS = np.array([[2], [None], [1], [np.nan], [2], [float("nan")]], dtype=object)


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"drop": "first"},
        {"drop": np.array([None], dtype=object)},
        {"drop": np.array([np.nan], dtype=object)},
        {"min_frequency": 2},
        {"max_categories": 2, "handle_unknown": "infrequent_if_exist"},
    ],
    ids=str,
)
@pytest.mark.parametrize("X", [BOTH, NUMBERS, pd.DataFrame({"x": BOTH[:, 0]}, dtype=object)])
def test_none_and_nan_are_two_categories(X, settings, tmp_path):
    mine, other = OneHotEncoder(**settings).fit(X), peer.OneHotEncoder(**settings).fit(X)
    parts = [X[:2], X[2:4], X[4:]]
    plain = {**settings, "drop": None}
    merged = suffice.merge(*(OneHotEncoder(**plain).fit(part) for part in parts))
    merged.refit(drop=settings.get("drop"))
    updated = OneHotEncoder(**plain).fit(parts[0]).update(parts[1]).update(parts[2])
    updated.refit(drop=settings.get("drop"))
    merged.save(tmp_path / "encoder")
    loaded = suffice.load(tmp_path / "encoder")
    for model in (mine, merged, updated, loaded):
        same(model.categories_[0], other.categories_[0])
        assert model.categories_[0].dtype == other.categories_[0].dtype
        encoded = model.transform(X)
        np.testing.assert_array_equal(encoded.toarray(), other.transform(X).toarray())
        same(model.inverse_transform(encoded), other.inverse_transform(encoded))
        assert model.get_feature_names_out().tolist() == other.get_feature_names_out().tolist()
        if "drop" in settings:
            assert model.drop_idx_.tolist() == other.drop_idx_.tolist()
    updated.refit(drop=None).forget(parts[2])
    fresh = peer.OneHotEncoder().fit(X[:4])
    same(updated.categories_[0], fresh.categories_[0])


@pytest.mark.parametrize("seen", [[0, 1], [0, 3], [0, 1, 3]])
def test_none_is_not_nan_to_what_saw_only_one(seen):
    X = BOTH[seen]
    mine = OneHotEncoder(handle_unknown="ignore").fit(X)
    other = peer.OneHotEncoder(handle_unknown="ignore").fit(X)
    a, b = mine.transform(BOTH), other.transform(BOTH)
    np.testing.assert_array_equal(a.toarray(), b.toarray())
    same(mine.inverse_transform(a), other.inverse_transform(b))
    if len(seen) < 3:
        with pytest.raises(ValueError, match="Found unknown categories"):
            OneHotEncoder().fit(X).transform(BOTH[[1, 3]])


def test_listed_none_and_nan():
    settings = {"categories": [["b", "a", None, np.nan]]}
    mine, other = OneHotEncoder(**settings).fit(BOTH), peer.OneHotEncoder(**settings).fit(BOTH)
    same(mine.categories_[0], other.categories_[0])
    np.testing.assert_array_equal(mine.transform(BOTH).toarray(), other.transform(BOTH).toarray())


def test_columns_of_text_have_one_missing_value(tmp_path):
    """A type for text has one; which, differs between libraries, and between fit and transform."""
    words = ["b", None, "a"]
    table = pa.table({"x": words})
    parquet.write_table(table, tmp_path / "a.parquet")
    forms = {
        "pandas": pd.DataFrame({"x": words}),
        "category": pd.DataFrame({"x": pd.Categorical(words)}),
        "polars": pl.DataFrame({"x": words}),
        "pyarrow": table,
        "objects": pd.DataFrame({"x": np.array(["b", np.nan, "a"], dtype=object)}, dtype=object),
        "source": scan(tmp_path / "a.parquet"),
    }
    expected = [[0, 1, 0], [0, 0, 1], [1, 0, 0]]
    for first in forms.values():
        for second in forms.values():
            out = OneHotEncoder(sparse_output=False).fit(first).transform(second)
            if not isinstance(out, np.ndarray):
                out = next(out.pieces()).load().X
            assert out.tolist() == expected


# --- dates, warnings, refits ---------------------------------------------------------------


def test_dates_are_refused_in_clear_words(tmp_path):
    days = np.array(["2020-01-01", "2021-02-01"], dtype="datetime64[ns]")
    frame = pd.DataFrame({"day": days, "city": ["a", "b"]})
    table = pa.table({"day": days})
    for X, where in (
        (days[:, None], "X has type datetime64"),
        (frame, r"column 'day' has type datetime64"),
        (pl.DataFrame({"day": days}), r"column 'day' has type Datetime"),
        (table, r"column 'day' has type timestamp"),
    ):
        with pytest.raises(TypeError, match=f"{where}.*numbers, booleans and text. Convert dates"):
            OneHotEncoder().fit(X)
    with pytest.raises(ValueError, match=r"'day' has type.*Convert dates to numbers"):
        OneHotEncoder().fit(as_source(table))
    with pytest.raises(TypeError, match="column 0 holds bytes; accepted are numbers"):
        OneHotEncoder().fit(np.array([[b"a"], [b"b"]], dtype=object))
    with pytest.raises(TypeError, match="column 0 holds date; accepted are numbers"):
        OneHotEncoder().fit(np.array([[days[0].astype("datetime64[D]").item()]], dtype=object))


@pytest.mark.parametrize("threads", [1, 2])
def test_one_warning_for_a_source_of_many_blocks(threads):
    rows = np.arange(100_000.0)[:, None] % 3
    encoder = OneHotEncoder(handle_unknown="ignore", drop="first").fit([[0.0], [1.0]])
    for _ in range(2):
        out = encoder.transform(as_source(rows))
        with suffice.config(threads=threads), warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            suffice.preprocessing.StandardScaler(with_mean=False).fit(out)
        assert [str(w.message)[:43] for w in caught] == [
            "Found unknown categories in columns [0] dur"
        ]


def test_refits_are_the_fits_of_scikit_learn():
    X, new = np.array([["a"], ["b"], ["b"]]), np.array([["b"], ["c"]])
    encoder = OneHotEncoder().fit(X)
    for changed in (
        {"handle_unknown": "ignore"},
        {"sparse_output": False},
        {"min_frequency": 2, "handle_unknown": "infrequent_if_exist"},
        {"drop": ["b"], "min_frequency": None, "handle_unknown": "ignore"},
    ):
        encoder.refit(**changed)
        other = peer.OneHotEncoder(**encoder.get_params()).fit(X)
        rows = X if encoder.handle_unknown == "error" else new
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            a, b = encoder.transform(rows), other.transform(rows)
        assert issparse(a) == issparse(b)
        np.testing.assert_array_equal(dense(a), dense(b))
