"""Pieces for other processes: places in files, or their own rows, never a source or all data."""

from __future__ import annotations

import pickle
from functools import partial

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from pyarrow import csv, feather, ipc
from pyarrow import parquet as pq
from scipy import sparse

from suffice.sources import MappedSource, as_source, scan
from suffice.sources.derived.relabelled import RelabelledSource
from suffice.sources.derived.subset import SubsetSource
from suffice.sources.files import parquet as reader

N = 50_000


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(0)
    return pa.table(
        {
            "a": rng.normal(size=N),
            "b": rng.integers(-9, 9, N),
            "city": rng.choice(["Ulm", "Rome"], N),
            "flag": rng.random(N) < 0.5,
            "y": rng.normal(size=N),
            "w": rng.random(N),
        }
    )


def write_stream(table, path):
    with ipc.new_stream(path, table.schema) as stream:
        stream.write_table(table, max_chunksize=777)


def write_quoted(table, path):
    """Quotes, from some row on: lines can then not be told by their ends alone."""
    frame = table.to_pandas()
    text = frame[:30_000].to_csv(index=False) + frame[30_000:].to_csv(
        index=False, header=False, quoting=2
    )
    path.write_text(text)


WRITERS = {
    "small groups.parquet": partial(pq.write_table, row_group_size=701),
    "one group.parquet": partial(pq.write_table, row_group_size=N),
    "plain.csv": csv.write_csv,
    "quoted.csv": write_quoted,
    "batches.arrow": partial(feather.write_feather, chunksize=3001),
    "uncompressed.feather": partial(feather.write_feather, compression="uncompressed"),
    "stream.arrow": write_stream,
}


def same(one, other):
    assert one.start == other.start
    if hasattr(one.X, "columns"):
        for mine, theirs in zip(one.X.columns, other.X.columns, strict=True):
            np.testing.assert_array_equal(mine, theirs)
    else:
        both = [part.toarray() if sparse.issparse(part) else part for part in (one.X, other.X)]
        np.testing.assert_array_equal(*both)
    for mine, theirs in ((one.y, other.y), (one.weight, other.weight)):
        assert (mine is None) == (theirs is None)
        if mine is not None:
            np.testing.assert_array_equal(mine, theirs)
            assert mine.dtype == theirs.dtype


def check(source, most_bytes):
    """Pickled pieces give the same blocks, alone and in any order."""
    pieces = list(source.pieces())
    sent = [pickle.dumps(piece) for piece in pieces]
    assert max(map(len, sent)) < most_bytes
    for piece, one in reversed(list(zip(pieces, sent, strict=True))):
        again = pickle.loads(one)
        assert (again.start, again.n_rows) == (piece.start, piece.n_rows)
        same(piece.load(), again.load())
        assert pickle.dumps(again) == pickle.dumps(pickle.loads(pickle.dumps(again)))


@pytest.mark.parametrize("name", WRITERS)
@pytest.mark.parametrize(
    "columns",
    [
        {"features": ["flag", "a"], "target": "y", "weight": "w"},
        {"features": ["a", "city"], "target": ["b", "y"]},
        {"features": ["b"], "target": "city"},
    ],
    ids=["numbers", "text", "labels"],
)
def test_files(tmp_path, table, name, columns):
    for i, (start, length) in enumerate([(0, 20_011), (20_011, 3), (20_014, N)]):
        (tmp_path / str(i)).mkdir()
        WRITERS[name](table.slice(start, length), tmp_path / str(i) / name)
    check(scan(tmp_path, **columns), most_bytes=2000)


def test_a_file_that_is_read_twice(tmp_path, table):
    path = tmp_path / "rows.parquet"
    pq.write_table(table.slice(0, 5000), path)
    check(scan([path] * 7, features=["a"], target="y"), most_bytes=2000)


def test_only_the_row_groups_of_a_piece_are_read(tmp_path, table, monkeypatch):
    path = tmp_path / "rows.parquet"
    pq.write_table(table, path, row_group_size=1000)
    pieces = list(scan(path, features=["a"], target="y").pieces())
    sent = pickle.dumps(pieces[1])
    rows = []
    original = reader._numbered

    def noted(row, batches):
        rows.extend((row, batch.num_rows) for batch in batches)
        return original(row, batches)

    monkeypatch.setattr(reader, "_numbered", noted)
    block = pickle.loads(sent).load()
    assert rows[0][0] == 16_000
    assert sum(n for _, n in rows) == 17_000  # rows 16,384 to 32,768
    same(block, pieces[1].load())


def test_a_file_that_has_changed(tmp_path, table):
    path = tmp_path / "rows.parquet"
    pq.write_table(table, path)
    sent = [pickle.dumps(piece) for piece in scan(path, features=["a"], target="y").pieces()]
    pq.write_table(table.slice(0, 40_000), path)
    assert pickle.loads(sent[0]).load().n_rows == 16384
    with pytest.raises(ValueError, match="was scanned: rows 49152 to 49999 are gone"):
        pickle.loads(sent[-1]).load()
    path.unlink()
    with pytest.raises(ValueError, match="is gone"):
        pickle.loads(sent[0]).load()


def square(X):
    return X**2


def positive(y):
    return y > 0


@pytest.mark.parametrize("kind", ["array", "sparse", "pandas", "arrow"])
def test_rows_in_memory(table, kind):
    frame = table.select(["a", "b"])
    X = np.asfortranarray(frame.to_pandas().to_numpy(dtype=float))
    rows = {"array": X, "sparse": sparse.csr_array(X), "pandas": pd.DataFrame(X), "arrow": frame}
    source = as_source(rows[kind], table["y"], table["w"])
    check(source, most_bytes=16384 * 8 * 7)


def test_rows_of_other_sources(tmp_path, table):
    path = tmp_path / "rows.parquet"
    pq.write_table(table, path, row_group_size=4321)
    base = scan(path, features=["a", "b"], target="y", weight="w")
    check(RelabelledSource(base, positive), most_bytes=2000)
    check(MappedSource(base, square, 2), most_bytes=2000)
    few = np.arange(N) % 1000 == 0
    check(SubsetSource(base, few), most_bytes=2000)
    check(MappedSource(SubsetSource(base, few), square, 2), most_bytes=9000)
