import pathlib
import subprocess
import sys

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy import sparse

from suffice.sources import ArraySource, FileSource, FrameSource, SparseSource, as_source, scan


@pytest.mark.parametrize(
    ("X", "kind"),
    [
        (np.ones((3, 2)), ArraySource),
        ([[1, 2], [3, 4], [5, 6]], ArraySource),
        (np.array([[1, 2.5], [True, None], [3, 4]], dtype=object), ArraySource),
        (sparse.eye_array(3, 2), SparseSource),
        (sparse.csc_matrix(np.ones((3, 2))), SparseSource),
        (pd.DataFrame(np.ones((3, 2))), FrameSource),
        (pl.DataFrame({"a": [1, 2, 3], "b": [1, 2, 3]}), FrameSource),
        (pa.table({"a": [1, 2, 3], "b": [1, 2, 3]}), FrameSource),
        (pa.RecordBatch.from_pydict({"a": [1, 2, 3], "b": [1, 2, 3]}), FrameSource),
    ],
)
def test_each_kind_of_data_finds_its_source(read_whole, X, kind):
    source = as_source(X, [1, 2, 3], [0.5, 1, 2])
    assert type(source) is kind
    assert (source.n_rows, source.n_columns) == (3, 2)
    whole = read_whole(source)
    assert whole.y.tolist() == [1, 2, 3]
    assert whole.weight.tolist() == [0.5, 1, 2]


def test_subclasses_of_frames_are_frames():
    class Survey(pd.DataFrame):
        pass

    assert type(as_source(Survey({"a": [1]}))) is FrameSource


def test_objects_with_none_hold_nan(read_whole):
    X = np.array([[1, None]], dtype=object)
    np.testing.assert_array_equal(read_whole(as_source(X)).X, [[1, np.nan]])


def test_masked_values_are_missing(read_whole):
    X = np.ma.masked_array([[1, 2], [3, 4]], mask=[[0, 1], [0, 0]])
    np.testing.assert_array_equal(read_whole(as_source(X)).X, [[1, np.nan], [3, 4]])


def test_other_arrays_are_seen_through_views(tmp_path):
    X = np.memmap(tmp_path / "x.bin", mode="w+", shape=(10, 3))
    block = next(as_source(X).pieces()).load()
    assert type(block.X) is np.ndarray
    assert np.shares_memory(block.X, X)


def test_a_source_is_passed_through(tmp_path):
    pathlib.Path(tmp_path / "a.csv").write_text("x,y\n1,2\n")
    source = scan(tmp_path, target="y")
    assert type(source) is FileSource
    assert as_source(source) is source
    for arguments in ({"y": [1]}, {"weight": [1]}):
        with pytest.raises(ValueError, match=r"must be None when X is a FileSource.*scan\("):
            as_source(source, **arguments)


@pytest.mark.parametrize("X", ["a.parquet", pathlib.Path("a.parquet"), None, b"a"])
def test_what_is_no_data(X):
    with pytest.raises(TypeError, match=r"scan\(path\)"):
        as_source(X)


def test_a_collection_that_would_be_gathered_is_refused():
    collection = type("Array", (), {"__module__": "dask.array.core"})()
    with pytest.raises(TypeError, match="of type Array"):
        as_source(collection)


@pytest.mark.parametrize(
    ("X", "words"),
    [
        (np.array([["a", 1]], dtype=object), "does not hold numbers only"),
        ([["a", "b"]], "dtype <U1"),
        ([1, 2, 3], "Expected 2D array"),
        (pd.Series([1, 2, 3]), "Expected 2D array"),
        (pl.LazyFrame({"a": [1]}), "collect"),
    ],
)
def test_what_is_no_table_of_numbers(X, words):
    with pytest.raises(ValueError, match=words):
        as_source(X)


def test_importing_sources_imports_nothing_heavy():
    code = (
        "import sys, suffice.sources\n"
        "print([m for m in ('pyarrow', 'pandas', 'polars', 'numba') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_arrays_never_import_a_frame_library():
    code = (
        "import sys, numpy as np; from suffice.sources import as_source\n"
        "next(as_source(np.ones((3, 2)), [1, 2, 3], [1, 1, 1]).pieces()).load()\n"
        "print([m for m in ('pyarrow', 'pandas', 'polars', 'numba') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
