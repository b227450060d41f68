"""Files as a source: the same rows give the same blocks, whatever they are stored in."""

import os
import pickle
import time
from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal
from itertools import pairwise
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pyarrow import csv as arrow_csv
from pyarrow import feather, ipc, parquet

from suffice.sources import ArraySource, scan
from suffice.sources.files import arrow, csv
from suffice.sources.files import parquet as reader_of_parquet

N = 20_000


@pytest.fixture(scope="module")
def rides():
    rng = np.random.default_rng(0)
    return pd.DataFrame(
        {
            "miles": rng.standard_normal(N),
            "stops": rng.integers(-5, 5, N),
            "night": rng.random(N) < 0.3,
            "toll": rng.standard_normal(N).astype(np.float32),
            "fare": rng.standard_normal(N),
            "weight": rng.random(N),
            "class": rng.choice(["car", "van", "bus"], N),
        }
    )


FEATURES = ["miles", "stops", "night", "toll"]


def write_parquet(table, path):
    parquet.write_table(table, path, row_group_size=3000)


def write_csv(table, path):
    arrow_csv.write_csv(table, path)


def write_plain_csv(table, path):
    arrow_csv.write_csv(table, path, arrow_csv.WriteOptions(quoting_style="none"))


def write_file(table, path):
    with ipc.new_file(path, table.schema) as writer:
        writer.write_table(table, max_chunksize=3333)


def write_stream(table, path):
    with ipc.new_stream(path, table.schema) as writer:
        writer.write_table(table)


WRITERS = {
    "parquet": (".parquet", write_parquet),
    "csv": (".csv", write_csv),
    "plain_csv": (".csv", write_plain_csv),
    "arrow": (".arrow", write_file),
    "stream": (".ipc", write_stream),
    "feather": (".feather", feather.write_feather),
    "pandas_parquet": (".parquet", lambda t, path: t.to_pandas().to_parquet(path)),
    "pandas_csv": (".csv", lambda t, path: t.to_pandas().to_csv(path, index=False)),
    "pandas_gz": (".csv.gz", lambda t, path: t.to_pandas().to_csv(path, index=False)),
    "windows_csv": (
        ".csv",
        lambda t, path: t.to_pandas().to_csv(path, index=False, lineterminator="\r\n"),
    ),
    "tsv": (".tsv", lambda t, path: t.to_pandas().to_csv(path, index=False, sep="\t")),
    "polars_parquet": (".pq", lambda t, path: pl.from_arrow(t).write_parquet(path)),
    "polars_ipc": (".arrow", lambda t, path: pl.from_arrow(t).write_ipc(path)),
    "polars_zstd": (".arrow", lambda t, path: pl.from_arrow(t).write_ipc(path, compression="zstd")),
    "polars_csv": (".csv", lambda t, path: pl.from_arrow(t).write_csv(path)),
}


def write_parts(frame, folder, kind, cuts):
    """The rows of a frame in several files, cut at the given rows."""
    suffix, write = WRITERS[kind]
    table = pa.Table.from_pandas(frame, preserve_index=False)
    ends = [0, *sorted(cuts), len(frame)]
    for i, (start, stop) in enumerate(pairwise(ends)):
        write(table.slice(start, stop - start), str(folder / f"part-{i:03}{suffix}"))
    return folder


@pytest.mark.parametrize(
    ("n_files", "kind"),
    [
        pytest.param(
            n_files,
            kind,
            marks=() if n_files == 3 or kind in ("parquet", "csv", "arrow") else pytest.mark.long,
        )
        for n_files in (1, 3, 17)
        for kind in WRITERS
    ],
)
def test_any_format_and_number_of_files_give_the_blocks_of_the_array(
    read_whole, tmp_path, rides, kind, n_files
):
    cuts = np.random.default_rng(n_files).integers(0, N, n_files - 1)
    folder = write_parts(rides, tmp_path, kind, cuts)
    source = scan(folder, target="fare", weight="weight", features=FEATURES)
    whole = read_whole(source)

    X = rides[FEATURES].to_numpy(np.float64)
    if "csv" in kind or kind in ("tsv", "pandas_gz"):  # float32 is written with its own digits
        X[:, 3] = rides["toll"].astype(str).astype(float)
        np.testing.assert_allclose(whole.X[:, 3], X[:, 3], rtol=1e-6)
        X[:, 3] = whole.X[:, 3]
    expected = list(ArraySource(X, rides["fare"].to_numpy(), rides["weight"]).pieces())
    assert len(whole.blocks) == len(expected)
    for block, piece in zip(whole.blocks, expected, strict=True):
        reference = piece.load()
        np.testing.assert_array_equal(block.X, reference.X)
        np.testing.assert_array_equal(block.y, reference.y)
        np.testing.assert_array_equal(block.weight, reference.weight)
        assert block.X.dtype == block.weight.dtype == np.float64
        assert block.X.flags.c_contiguous


@pytest.mark.parametrize("kind", WRITERS)
def test_labels_stay_text(read_whole, tmp_path, rides, kind):
    folder = write_parts(rides, tmp_path, kind, [7000])
    whole = read_whole(scan(folder, target="class", features=["miles"]))
    assert whole.y.dtype == object
    np.testing.assert_array_equal(whole.y, rides["class"].to_numpy(object))


@pytest.mark.parametrize("kind", ["parquet", "csv", "plain_csv", "arrow"])
def test_kinds_of_targets(read_whole, tmp_path, rides, kind):
    folder = write_parts(rides, tmp_path, kind, [7000])
    for name, dtype in (("stops", "int64"), ("night", "bool"), ("fare", "float64")):
        whole = read_whole(scan(folder, target=name, features=["miles"]))
        assert whole.y.dtype == dtype
        np.testing.assert_array_equal(whole.y, rides[name])
    several = scan(folder, target=["fare", "stops"], features=["miles"])
    whole = read_whole(several)
    assert several.target_names == ("fare", "stops")
    np.testing.assert_array_equal(whole.y, rides[["fare", "stops"]].to_numpy(float))
    one = read_whole(scan(folder, target=["stops"], features=["miles"]))
    assert one.y.shape == (N, 1)
    assert one.y.dtype == np.int64
    none = scan(folder, features=["miles"])
    assert not none.has_target
    assert none.target_names is None
    assert next(none.pieces()).load().y is None


@pytest.mark.parametrize("kind", ["parquet", "csv", "plain_csv", "arrow", "feather"])
def test_features_by_default_and_by_name(read_whole, tmp_path, rides, kind):
    numeric = rides.drop(columns="class")
    folder = write_parts(numeric, tmp_path, kind, [])
    source = scan(folder, target="stops", weight="weight")
    assert source.feature_names == ("miles", "night", "toll", "fare")
    source = scan(folder, features=["fare", "miles"])
    assert source.feature_names == ("fare", "miles")
    np.testing.assert_array_equal(read_whole(source).X, rides[["fare", "miles"]])
    assert scan(folder, features=("weight",), weight="weight").n_columns == 1


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    cuts=st.lists(st.integers(0, 700), max_size=6),
    row_group=st.integers(1, 700),
    n_columns=st.sampled_from([1, 2, 1500]),
)
def test_blocks_do_not_depend_on_files_or_row_groups(tmp_path_factory, cuts, row_group, n_columns):
    folder = tmp_path_factory.mktemp("cut")
    X = np.arange(700.0 * n_columns).reshape(700, n_columns)
    table = pa.table({f"x{j}": X[:, j] for j in range(min(n_columns, 40))})
    ends = [0, *sorted(cuts), 700]
    for i, (start, stop) in enumerate(pairwise(ends)):
        part = table.slice(start, stop - start)
        parquet.write_table(part, folder / f"{i}.parquet", row_group_size=row_group)
    pieces = [piece.load() for piece in scan(folder).pieces()]
    expected = [piece.load() for piece in ArraySource(X[:, :40]).pieces()]
    assert [piece.start for piece in pieces] == [piece.start for piece in expected]
    for block, reference in zip(pieces, expected, strict=True):
        np.testing.assert_array_equal(block.X, reference.X)


def test_formats_can_be_mixed_in_a_list_which_keeps_its_order(read_whole, tmp_path, rides):
    part = rides[["miles", "fare"]]
    for name, kind in (("z", "parquet"), ("y", "plain_csv"), ("x", "arrow")):
        (tmp_path / name).mkdir()
        write_parts(part, tmp_path / name, kind, [500])
    source = scan([tmp_path / "z", tmp_path / "y" / "*.csv", str(tmp_path / "x")], target="fare")
    assert source.n_rows is None
    assert source.count_rows() == 3 * N
    np.testing.assert_array_equal(read_whole(source).X[:, 0], np.tile(part["miles"], 3))


def test_columns_are_matched_by_name_and_extra_ones_are_left_alone(read_whole, tmp_path):
    a = pd.DataFrame({"x": [1.0, 2.0], "z": [3, 4], "y": [0.5, 1.5]})
    b = pd.DataFrame({"y": [2.5], "note": ["hi"], "z": [True], "x": [7]})
    a.to_parquet(tmp_path / "a.parquet")
    b.to_parquet(tmp_path / "b.parquet")
    whole = read_whole(scan(tmp_path, target="y"))
    np.testing.assert_array_equal(whole.X, [[1, 3], [2, 4], [7, 1]])
    assert whole.y.tolist() == [0.5, 1.5, 2.5]


def test_integers_floats_and_booleans_do_not_disagree(read_whole, tmp_path):
    for i, values in enumerate(([True, False], [2, 3], [0.5, None])):
        pd.DataFrame({"x": values, "y": values}).to_parquet(tmp_path / f"{i}.parquet")
    whole = read_whole(scan(tmp_path, target="y"))
    np.testing.assert_array_equal(whole.X[:, 0], [1, 0, 2, 3, 0.5, np.nan])
    assert whole.y.dtype == np.float64
    np.testing.assert_array_equal(whole.y, whole.X[:, 0])
    whole = read_whole(scan([tmp_path / "0.parquet", tmp_path / "1.parquet"], target="y"))
    assert whole.y.dtype == np.int64
    assert whole.y.tolist() == [1, 0, 2, 3]


def test_types_of_features(read_whole, tmp_path):
    table = pa.table(
        {
            "decimal": pa.array([Decimal("1.25"), None, Decimal("-3")]),
            "half": pa.array(np.array([1.5, 2, -3], dtype=np.float16)),
            "unsigned": pa.array([1, None, 3], pa.uint64()),
            "flag": pa.array([True, None, False]),
            "category": pa.array([1.5, 1.5, 2]).dictionary_encode(),
            "nothing": pa.nulls(3),
        }
    )
    nan = np.nan
    expected = np.array(
        [[1.25, 1.5, 1, 1, 1.5, nan], [nan, 2, nan, nan, 1.5, nan], [-3, -3, 3, 0, 2, nan]]
    )
    parquet.write_table(table, tmp_path / "a.parquet")
    write_file(table, tmp_path / "a.arrow")
    for name in ("a.parquet", "a.arrow"):
        np.testing.assert_array_equal(read_whole(scan(tmp_path / name)).X, expected)


def test_missing_labels(read_whole, tmp_path):
    table = pa.table({"x": [1, 2, 3], "text": ["a", None, ""], "whole": [1, None, 3]})
    parquet.write_table(table, tmp_path / "a.parquet")
    assert read_whole(scan(tmp_path, target="text", features=["x"])).y.tolist() == ["a", None, ""]
    y = read_whole(scan(tmp_path, target="whole", features=["x"])).y
    np.testing.assert_array_equal(y, [1, np.nan, 3])


def test_categorical_labels(read_whole, tmp_path):
    names = [f"label {i}" for i in range(300)]
    frame = pd.DataFrame({"x": range(300), "y": pd.Categorical(names)})
    frame.loc[7, "y"] = None
    frame.to_parquet(tmp_path / "a.parquet")
    expected = [*names[:7], None, *names[8:]]
    assert read_whole(scan(tmp_path, target="y")).y.tolist() == expected


def test_a_pandas_index_is_no_feature(read_whole, tmp_path):
    frame = pd.DataFrame({"x": [1.0, 2.0, 3.0]}, index=pd.Index([7, 8, 9], name="id"))
    frame.to_parquet(tmp_path / "a.parquet")
    assert scan(tmp_path).feature_names == ("x",)
    source = scan(tmp_path, features=["x", "id"])
    np.testing.assert_array_equal(read_whole(source).X, [[1, 7], [2, 8], [3, 9]])


def test_files_without_rows_among_others(read_whole, tmp_path):
    for kind in ("parquet", "arrow", "csv"):
        folder = tmp_path / kind
        folder.mkdir()
        write_parts(pd.DataFrame({"x": [1.0, 2.0]}), folder, kind, [0, 1, 1])
        assert len(scan(folder).files) == 4
        assert read_whole(scan(folder)).X[:, 0].tolist() == [1.0, 2.0]


def test_rows_are_known_where_files_tell_them(tmp_path, rides):
    for kind, known in (("parquet", N), ("arrow", N), ("stream", N), ("csv", None)):
        folder = tmp_path / kind
        folder.mkdir()
        write_parts(rides, folder, kind, [100])
        source = scan(folder, features=["miles"])
        assert source.n_rows == known
        assert source.count_rows() == source.n_rows == N


def test_reading_csv_once_tells_its_rows(tmp_path, rides):
    source = scan(write_parts(rides, tmp_path, "csv", [9]), features=["miles"])
    assert sum(piece.n_rows for piece in source.pieces()) == source.n_rows == N


def test_a_row_of_csv_files_is_named_by_its_line_before_they_are_read(tmp_path, rides):
    source = scan(write_parts(rides, tmp_path, "csv", [9]), features=["miles"])
    assert source.row_label(2) == f"line 4 of {source.files[0].path!r}"
    assert source.row_label(12) == f"line 5 of {source.files[1].path!r}"


def test_only_needed_columns_are_read(tmp_path, rides, monkeypatch):
    seen = []
    for module in (reader_of_parquet, csv):
        original = module.batches

        def spy(*arguments, original=original):
            for row, batch in original(*arguments):
                seen.append((batch.read() if isinstance(batch, csv.Lines) else batch).schema.names)
                yield row, batch

        monkeypatch.setattr(module, "batches", spy)
    for kind in ("parquet", "plain_csv"):
        folder = tmp_path / kind
        folder.mkdir()
        write_parts(rides, folder, kind, [])
        for _ in scan(folder, target="fare", features=["toll"]).pieces():
            pass
    assert {frozenset(names) for names in seen} == {frozenset({"toll", "fare"})}


def open_files():
    return [os.readlink(f"/proc/self/fd/{fd}") for fd in os.listdir("/proc/self/fd") if _exists(fd)]


def _exists(fd):
    return os.path.lexists(f"/proc/self/fd/{fd}")


@pytest.mark.skipif(not os.path.isdir("/proc/self/fd"), reason="needs /proc")
@pytest.mark.parametrize("kind", ["parquet", "csv", "plain_csv", "arrow", "stream"])
def test_a_pass_given_up_closes_its_file(tmp_path, rides, kind, monkeypatch):
    monkeypatch.setattr(arrow, "_MAPPED_FROM", 0)
    source = scan(write_parts(rides, tmp_path, kind, [5000]), features=["miles"])
    pieces = source.pieces()
    piece = next(pieces)
    assert any(str(tmp_path) in name for name in open_files())
    pieces.close()
    del piece
    assert not any(str(tmp_path) in name for name in open_files())


@pytest.mark.skipif(not os.path.isdir("/proc/self/fd"), reason="needs /proc")
@pytest.mark.parametrize(
    "kind",
    ["parquet", *(pytest.param(kind, marks=pytest.mark.long) for kind in ("plain_csv", "arrow"))],
)
def test_a_thousand_files_need_few_handles(tmp_path, kind):
    suffix, write = WRITERS[kind]
    table = pa.table({"x": np.arange(20.0)})
    for i in range(1000):
        write(table, str(tmp_path / f"{i:04}{suffix}"))
    source = scan(tmp_path)
    most, total = 0, 0.0
    for piece in source.pieces():
        most = max(most, sum(str(tmp_path) in name for name in open_files()))
        total += piece.load().X.sum()
    assert total == 190.0 * 1000
    assert most <= 2


def test_passes_can_be_repeated_and_run_at_the_same_time(read_whole, tmp_path, rides):
    source = scan(write_parts(rides, tmp_path, "parquet", [5000, 5001]), features=FEATURES)
    first, second = source.pieces(), source.pieces()
    for a, b in zip(first, second, strict=True):
        np.testing.assert_array_equal(a.load().X, b.load().X)
    with ThreadPoolExecutor(4) as pool:
        wholes = list(pool.map(lambda _: read_whole(source).X, range(8)))
    for X in wholes:
        np.testing.assert_array_equal(X, rides[FEATURES].to_numpy(float))


@pytest.mark.parametrize("kind", ["parquet", "plain_csv", "csv", "arrow"])
def test_pieces_can_be_loaded_in_any_order_on_any_thread(tmp_path, rides, kind):
    source = scan(write_parts(rides, tmp_path, kind, [5000]), target="fare", features=["miles"])
    pieces = list(source.pieces())[::-1]
    with ThreadPoolExecutor(4) as pool:
        blocks = sorted(pool.map(lambda piece: piece.load(), pieces), key=lambda b: b.start)
    np.testing.assert_array_equal(np.concatenate([b.y for b in blocks]), rides["fare"])


def test_pickle_and_repr(read_whole, tmp_path, rides, monkeypatch):
    write_parts(rides, tmp_path, "parquet", [5000])
    monkeypatch.chdir(tmp_path)
    source = scan("*.parquet", target="fare", weight="weight", features=FEATURES)
    first = str(tmp_path / "part-000.parquet")
    assert repr(source) == (
        f"FileSource({first!r} and 1 more: 20,000 rows x 4 features, target='fare', "
        "weight='weight')"
    )
    monkeypatch.chdir("/")
    copy = pickle.loads(pickle.dumps(source))
    assert repr(copy) == repr(source)
    np.testing.assert_array_equal(read_whole(copy).X, rides[FEATURES].to_numpy(float))
    one = tmp_path / "one.csv"
    one.write_text("a,b,c\n1,2,3\n")
    source = scan(one, target=["b", "c"])
    assert repr(source) == f"FileSource({str(one)!r}: unknown rows x 1 features, target=('b', 'c'))"
    assert repr(scan(one)) == f"FileSource({str(one)!r}: unknown rows x 3 features)"


@pytest.mark.parametrize("kind", ["arrow", "stream", "polars_ipc", "feather"])
def test_large_arrow_files_are_mapped(read_whole, tmp_path, rides, kind, monkeypatch):
    monkeypatch.setattr(arrow, "_MAPPED_FROM", 0)
    source = scan(write_parts(rides, tmp_path, kind, [777]), target="class", features=FEATURES)
    whole = read_whole(source)
    np.testing.assert_array_equal(whole.X, rides[FEATURES].to_numpy(float))
    np.testing.assert_array_equal(whole.y, rides["class"].to_numpy(object))


def test_memory_does_not_grow_with_the_row_group(tmp_path):
    rng = np.random.default_rng(0)
    table = pa.table({f"x{j}": rng.standard_normal(1_000_000) for j in range(12)})
    parquet.write_table(table, tmp_path / "a.parquet", row_group_size=1_000_000)
    del table
    before = pa.total_allocated_bytes()
    most = 0
    for piece in scan(tmp_path).pieces():
        piece.load()
        most = max(most, pa.total_allocated_bytes() - before)
    assert most < 70e6  # the row group is 96 MB


def test_a_block_keeps_no_batch_alive(tmp_path):
    table = pa.table({"x": np.arange(200_000.0), "y": np.arange(200_000.0)})
    for name in ("a.parquet", "a.arrow"):
        (write_parquet if name == "a.parquet" else write_file)(table, tmp_path / name)
        before = pa.total_allocated_bytes()
        blocks = [piece.load() for piece in scan(tmp_path / name, target="y").pieces()]
        assert all(block.y.base is None for block in blocks)
        deadline = time.monotonic() + 10  # Arrow's own threads may still hold a buffer
        while pa.total_allocated_bytes() > before and time.monotonic() < deadline:
            time.sleep(0.01)
        assert pa.total_allocated_bytes() <= before


def test_path_objects(read_whole, tmp_path, rides):
    write_parts(rides, tmp_path, "parquet", [])
    assert read_whole(scan(Path(tmp_path) / "*.parquet", features=["miles"])).X.shape == (N, 1)
