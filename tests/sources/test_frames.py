import datetime
import pickle
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from suffice import Ridge
from suffice.sources import FrameSource

N = 20_000


def mixed_columns():
    rng = np.random.default_rng(0)
    return {
        "f64": rng.standard_normal(N),
        "f32": rng.standard_normal(N).astype(np.float32),
        "i8": rng.integers(-100, 100, N).astype(np.int8),
        "u64": rng.integers(0, 1000, N).astype(np.uint64),
        "flag": rng.random(N) < 0.5,
    }


def as_matrix(columns):
    return np.stack([np.asarray(column, dtype=np.float64) for column in columns.values()], axis=1)


FRAMES = {
    "pandas": pd.DataFrame,
    "pandas_nullable": lambda columns: pd.DataFrame(columns).convert_dtypes(),
    "pandas_arrow": lambda columns: pd.DataFrame(columns).convert_dtypes(dtype_backend="pyarrow"),
    "polars": pl.DataFrame,
    "polars_chunks": lambda columns: pl.concat(
        [pl.DataFrame(columns)[:777], pl.DataFrame(columns)[777:]], rechunk=False
    ),
    "arrow": pa.table,
    "arrow_chunks": lambda columns: pa.concat_tables(
        [pa.table(columns).slice(0, 5000), pa.table(columns).slice(5000)]
    ),
    "record_batch": pa.RecordBatch.from_pydict,
}


@pytest.mark.parametrize("make", FRAMES.values(), ids=FRAMES)
def test_mixed_numbers_become_float64_in_c_order(read_whole, make):
    columns = mixed_columns()
    source = FrameSource(make(columns), columns["f64"], np.ones(N))
    whole = read_whole(source)
    np.testing.assert_array_equal(whole.X, as_matrix(columns))
    assert source.feature_names == tuple(columns)
    assert source.column_label(2) == "column 'i8'"
    for block in whole.blocks:
        assert block.X.dtype == np.float64
        assert block.X.flags.c_contiguous


MISSING = {"a": [1.5, None, 3.0], "b": [1, None, 3], "c": [True, None, False], "d": [None] * 3}
MISSING_MATRIX = np.array([[1.5, 1, 1, np.nan], [np.nan] * 4, [3, 3, 0, np.nan]])


@pytest.mark.parametrize(
    "frame",
    [
        pd.DataFrame(MISSING),
        pd.DataFrame(MISSING).convert_dtypes(),
        pd.DataFrame(MISSING).convert_dtypes(dtype_backend="pyarrow"),
        pd.DataFrame(MISSING, dtype=object),
        pd.DataFrame({k: pd.Series(v, dtype="Float64") for k, v in MISSING.items()}),
        pl.DataFrame(MISSING),
        pa.table(MISSING),
        pa.RecordBatch.from_pydict(MISSING),
    ],
    ids=["pandas", "nullable", "arrow", "object", "Float64", "polars", "table", "batch"],
)
def test_missing_values_become_nan(read_whole, frame):
    np.testing.assert_array_equal(read_whole(FrameSource(frame)).X, MISSING_MATRIX)


@pytest.mark.parametrize("dtype", ["float64", "float32", "int32", "bool"])
def test_a_pandas_frame_of_one_array_is_seen_through_views(read_whole, dtype):
    X = (np.arange(N * 3).reshape(N, 3) % 2).astype(dtype)
    frame = pd.DataFrame(X, columns=list("abc"))
    whole = read_whole(FrameSource(frame))
    np.testing.assert_array_equal(whole.X, X)
    assert np.shares_memory(whole.blocks[1].X, frame["b"].to_numpy())


def test_a_pandas_frame_of_many_arrays_is_never_copied_whole(read_whole):
    frame = pd.DataFrame(np.ones((N, 2)), columns=["a", "b"])
    frame["c"] = np.arange(N, dtype=float)
    source = FrameSource(frame)
    assert source._reader.whole is None
    np.testing.assert_array_equal(read_whole(source).X, frame.to_numpy())


def test_arrow_columns_without_missing_values_are_read_in_place(monkeypatch):
    from suffice.sources.files import columns

    array = pa.array(np.arange(100.0)).slice(7, 50)
    assert columns.numbers(array).__array_interface__["data"][0] == array.buffers()[1].address + 56
    chunked = pa.chunked_array([[1, 2], [], [3]])
    out = np.empty(3)
    columns.fill(out, chunked)
    assert out.tolist() == [1.0, 2.0, 3.0]


@pytest.mark.parametrize(
    "array",
    [
        pa.array([Decimal("1.5"), None, Decimal("-2.25")]),
        pa.array([1.5, None, -2.25], pa.float32()),
        pa.array(np.array([1.5, np.nan, -2.25], dtype=np.float16)),
        pa.array([1.5, None, -2.25]).dictionary_encode(),
        pa.array([1.5, None, -2.25]),
    ],
    ids=str,
)
def test_arrow_types(read_whole, array):
    whole = read_whole(FrameSource(pa.table({"a": array})))
    np.testing.assert_array_equal(whole.X[:, 0], [1.5, np.nan, -2.25])


def test_large_integers_round_to_the_nearest_float():
    table = pa.table({"a": [2**60 + 1, None], "b": [2**60 + 1, 3]})
    X = next(FrameSource(table).pieces()).load().X
    np.testing.assert_array_equal(X, [[2.0**60, 2.0**60], [np.nan, 3]])


@given(
    values=arrays(np.float64, st.tuples(st.integers(1, 30), st.integers(1, 4))),
    cut=st.integers(0, 30),
    make=st.sampled_from(["pandas", "polars", "arrow"]),
)
def test_values_survive_bit_for_bit(values, cut, make):
    names = [f"x{j}" for j in range(values.shape[1])]
    columns = dict(zip(names, values.T.copy(), strict=True))
    frame = FRAMES[make](columns)
    if make == "arrow":
        frame = pa.concat_tables([frame.slice(0, cut), frame.slice(cut)])
    np.testing.assert_array_equal(next(FrameSource(frame).pieces()).load().X, values)


TODAY = datetime.date(2024, 2, 29)
TEXTS = [
    (pd.DataFrame({"a": [1], "city": ["Rome"]}), "'city' has type str"),
    (pd.DataFrame({"a": [1], "city": pd.Categorical(["Rome"])}), "'city' has type category"),
    (pd.DataFrame({"a": [1], "odd": pd.Series(["1"], dtype=object)}), "'odd' has type object"),
    (pd.DataFrame({"a": pd.Series(["x"], dtype=pd.ArrowDtype(pa.string()))}), "'a' has type str"),
    (pd.DataFrame({"a": pd.Series(["x"], dtype="string")}), "'a' has type string"),
    (pl.DataFrame({"a": [1], "city": ["Rome"]}), "'city' has type String"),
    (pl.DataFrame({"c": ["x"]}, schema={"c": pl.Categorical}), "'c' has type Categorical"),
    (pl.DataFrame({"c": ["x"]}, schema={"c": pl.Enum(["x"])}), "'c' has type Enum"),
    (pa.table({"a": [1], "city": ["Rome"]}), "'city' has type string"),
    (pa.table({"c": pa.array(["x"]).dictionary_encode()}), "'c' has type dictionary"),
]


@pytest.mark.parametrize(("frame", "words"), TEXTS, ids=[words for _, words in TEXTS])
def test_text_columns_are_named_where_numbers_are_needed(frame, words):
    source = FrameSource(frame)
    with pytest.raises(ValueError, match=words) as caught:
        source.refuse_text()
    assert "accepted are numbers" in str(caught.value)
    assert "OneHotEncoder" in str(caught.value)
    assert "\n" not in str(caught.value)
    with pytest.raises(ValueError, match=words):
        Ridge().fit(frame, [1.0])


CITIES = ["Ulm", None, "Köln", "Ulm"]
NUMBERS = [1.5, np.nan, 3.0, 4.0]
MIXED = {
    "pandas": pd.DataFrame({"x": NUMBERS, "city": CITIES}),
    "pandas object": pd.DataFrame({"x": NUMBERS, "city": pd.Series(CITIES, dtype=object)}),
    "pandas category": pd.DataFrame({"x": NUMBERS, "city": pd.Categorical(CITIES)}),
    "pandas arrow": pd.DataFrame(
        {"x": NUMBERS, "city": pd.Series(CITIES, dtype=pd.ArrowDtype(pa.string()))}
    ),
    "pandas string": pd.DataFrame({"x": NUMBERS, "city": pd.Series(CITIES, dtype="string")}),
    "polars": pl.DataFrame({"x": NUMBERS, "city": CITIES}),
    "polars categorical": pl.DataFrame(
        {"x": NUMBERS, "city": CITIES}, schema={"x": pl.Float64, "city": pl.Categorical}
    ),
    "arrow": pa.table({"x": NUMBERS, "city": CITIES}),
    "arrow dictionary": pa.table({"x": NUMBERS, "city": pa.array(CITIES).dictionary_encode()}),
    "arrow chunks": pa.concat_tables(
        [
            pa.table({"x": [x], "city": pa.array([c], pa.string())})
            for x, c in zip(NUMBERS, CITIES, strict=True)
        ]
    ),
}


@pytest.mark.parametrize("frame", MIXED.values(), ids=MIXED)
def test_numbers_and_text_side_by_side(frame):
    source = FrameSource(frame, y=[1, 2, 3, 4], weight=[1, 2, 0, 1])
    assert source.kinds == ("number", "text")
    for copy in (source, pickle.loads(pickle.dumps(source))):
        block = next(copy.pieces()).load()
        assert block.X.shape == (4, 2)
        np.testing.assert_array_equal(block.X.column(0), NUMBERS)
        assert block.X.column(0).dtype == np.float64
        assert block.X.column(1).tolist() == CITIES
        assert block.y.tolist() == [1, 2, 3, 4]
    part = source.rows(2, 4)
    assert part.X.column(1).tolist() == CITIES[2:]


def test_categories_of_numbers_are_numbers(read_whole):
    frame = pd.DataFrame({"a": [1, 2, 3], "floor": pd.Categorical([3, None, 1])})
    source = FrameSource(frame)
    assert source.kinds is None
    np.testing.assert_array_equal(read_whole(source).X, [[1, 3], [2, np.nan], [3, 1]])


REFUSED = [
    (pd.DataFrame({"a": [1], "when": pd.to_datetime(["2024"])}), r"'when' has type datetime64"),
    (pd.DataFrame({"a": [1], "odd": pd.Series([[1]], dtype=object)}), "'odd' has type object"),
    (pd.DataFrame({"a": [1, 2], "odd": pd.Series(["1", 2], dtype=object)}), "'odd' has type obj"),
    (pd.DataFrame({"c": pd.Categorical(pd.to_datetime(["2024"]))}), "'c' has type category"),
    (pd.DataFrame({"a": [1], "z": [1j]}), "'z' has type complex128"),
    (pd.DataFrame({"a": [1], "gone": pd.to_timedelta([1], unit="s")}), "'gone' has type timedelta"),
    (pl.DataFrame({"a": [1], "when": [TODAY]}), "'when' has type Date"),
    (pl.DataFrame({"a": [1], "list": [[1, 2]]}), "'list' has type List"),
    (pa.table({"a": [1], "when": [TODAY]}), "'when' has type date32"),
    (pa.table({"a": [1], "nested": [{"b": 1}]}), "'nested' has type struct"),
]


@pytest.mark.parametrize(("frame", "words"), REFUSED, ids=[words for _, words in REFUSED])
def test_columns_of_another_kind_are_named(frame, words):
    with pytest.raises(ValueError, match=words) as caught:
        FrameSource(frame)
    assert "accepted are numbers" in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_lazy_frame_is_told_to_collect():
    with pytest.raises(ValueError, match=r"\.collect\(\)"):
        FrameSource(pl.LazyFrame({"a": [1]}))


def test_something_else_is_no_frame():
    with pytest.raises(TypeError, match="dict is not a data frame"):
        FrameSource({"a": [1]})


X3 = pd.DataFrame({"a": [1.0, 2.0, 3.0]})
TARGETS = [
    (pd.Series([1, 2, 3], name="t"), [1, 2, 3], "i", ("t",)),
    (pd.Series([1, None, 3], dtype="Int64"), [1, np.nan, 3], "f", None),
    (pd.Series([1, 2, 3], dtype="Int64"), [1, 2, 3], "i", None),
    (pd.Series([True, False, None], dtype="boolean"), [1, 0, np.nan], "f", None),
    (pd.Series([1, 2, 3], dtype="int64[pyarrow]"), [1, 2, 3], "i", None),
    (pd.Series(["a", "b", "a"]), ["a", "b", "a"], "O", None),
    (pd.Series(["a", "b", "a"], dtype="category"), ["a", "b", "a"], "O", None),
    (pd.array([1, 2, 3], dtype="Int64"), [1, 2, 3], "i", None),
    (pd.Index([1, 2, 3]), [1, 2, 3], "i", None),
    (pd.DataFrame({"u": [1, 2, 3], "v": [4, 5, 6]}), [[1, 4], [2, 5], [3, 6]], "i", ("u", "v")),
    (pl.Series("t", [1.5, None, 3]), [1.5, np.nan, 3], "f", ("t",)),
    (pl.Series([True, None, False]), [1, np.nan, 0], "f", None),
    (pl.Series(["a", "b", "a"]), ["a", "b", "a"], "O", None),
    (pl.DataFrame({"u": [1, 2, 3]}), [[1], [2], [3]], "i", ("u",)),
    (pa.array([1, 2, 3]), [1, 2, 3], "i", None),
    (pa.array([True, False, True]), [True, False, True], "b", None),
    (pa.chunked_array([["a"], ["b", "a"]]), ["a", "b", "a"], "O", None),
    (pa.chunked_array([[1], [None, 3]]), [1, np.nan, 3], "f", None),
    (pa.array(["a", None, "b"]).dictionary_encode(), ["a", None, "b"], "O", None),
    (pa.table({"u": [1, 2, 3], "v": [0.5, 1, 2]}), [[1, 0.5], [2, 1], [3, 2]], "f", ("u", "v")),
    ([1, 2, 3], [1, 2, 3], "i", None),
    (np.array(["a", "b", "c"]), ["a", "b", "c"], "U", None),
]


@pytest.mark.parametrize(("y", "expected", "kind", "names"), TARGETS)
def test_targets_of_every_library(read_whole, y, expected, kind, names):
    source = FrameSource(X3, y)
    whole = read_whole(source)
    np.testing.assert_array_equal(whole.y, np.asarray(expected, dtype=whole.y.dtype))
    assert whole.y.dtype.kind == kind
    assert source.target_names == names


@pytest.mark.parametrize(
    "weight", [pd.Series([1, 2, 3]), pl.Series([1, 2, 3]), pa.array([1, 2, 3]), [1, 2, 3]], ids=type
)
def test_weights_of_every_library(read_whole, weight):
    whole = read_whole(FrameSource(X3, weight=weight))
    assert whole.weight.tolist() == [1.0, 2.0, 3.0]


def test_targets_that_are_no_labels():
    with pytest.raises(ValueError, match=r"target has type date32.*accepted"):
        FrameSource(X3, pa.array([TODAY] * 3))
    with pytest.raises(ValueError, match="no column"):
        FrameSource(X3, pd.DataFrame(index=range(3)))
    with pytest.raises(ValueError, match=r"2\^63"):
        FrameSource(X3, pa.array([2**63, 1, 2], pa.uint64()))


def test_names_that_are_no_text_are_left_out_and_may_repeat(read_whole):
    assert FrameSource(pd.DataFrame(np.ones((2, 2)))).feature_names is None
    frame = pd.DataFrame([[1.0, 2, True]], columns=["a", "a", "b"])
    np.testing.assert_array_equal(read_whole(FrameSource(frame)).X, [[1, 2, 1]])


def test_sparse_pandas_columns(read_whole):
    frame = pd.DataFrame({"a": pd.arrays.SparseArray([0.0, 2.0, np.nan]), "b": [1, 2, 3]})
    np.testing.assert_array_equal(read_whole(FrameSource(frame)).X, [[0, 1], [2, 2], [np.nan, 3]])


@pytest.mark.parametrize("make", FRAMES.values(), ids=FRAMES)
def test_repr_and_pickle(read_whole, make):
    source = FrameSource(make(mixed_columns()))
    assert repr(source).startswith("FrameSource(20,000 rows x 5 columns of p")
    copy = read_whole(pickle.loads(pickle.dumps(source)))
    np.testing.assert_array_equal(copy.X, as_matrix(mixed_columns()))
