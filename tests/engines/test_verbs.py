"""Work on items side by side, all rows in memory, and what is kept beside rows."""

from __future__ import annotations

import gc
import os
import threading
import time
import weakref
from concurrent.futures import CancelledError

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from scipy import sparse

import suffice
from suffice.engines import gather as gathering
from suffice.engines.fold import fold
from suffice.engines.gather import gather
from suffice.engines.passes import each, each_chunk, reduce
from suffice.engines.sweep import MOST_SHARDS, blocks_of_a_shard, keep, sweep
from suffice.engines.workers import GivenUp, inside_worker
from suffice.sources import ArraySource, Columns, ColumnsSource, SparseSource
from suffice.sources.derived.mapped import MappedSource
from suffice.sources.derived.subset import SubsetSource
from suffice.statistics.sums import Sums

THREADS = (1, 2, 4)


# --- each -------------------------------------------------------------------------------------


@pytest.mark.parametrize("n_jobs", THREADS)
def test_results_come_in_the_order_of_the_items(n_jobs):
    def square(item, stopped):
        time.sleep(0.002 * (item % 3))
        assert not stopped()
        return item**2

    assert each(range(40), square, n_jobs) == [item**2 for item in range(40)]
    assert each([], square, n_jobs) == []


def test_items_run_at_the_same_time(within):
    meeting = threading.Barrier(3, timeout=20)
    within(lambda: each(range(3), lambda item, stopped: meeting.wait(), 3))


@pytest.mark.parametrize("n_jobs", THREADS)
def test_the_first_item_that_fails_ends_all(within, n_jobs):
    begun = []

    def work(item, stopped):
        begun.append(item)
        if item in (3, 5):
            raise KeyError(item)
        while item > 5 and not stopped():
            time.sleep(0.001)

    with pytest.raises(KeyError, match="3"):
        within(lambda: each(range(100), work, n_jobs))
    assert len(begun) <= 6 + n_jobs
    assert each([2], lambda item, stopped: item, n_jobs) == [2]


@pytest.mark.parametrize("n_jobs", THREADS)
@pytest.mark.parametrize("error", [StopIteration, GeneratorExit, CancelledError])
def test_any_exception_comes_through(within, n_jobs, error):
    def work(item, stopped):
        raise error("as it is")

    with pytest.raises(error, match="as it is"):
        within(lambda: each(range(5), work, n_jobs))


@pytest.mark.parametrize("n_jobs", THREADS)
def test_a_failure_keeps_no_result(n_jobs):
    made = []

    def work(item, stopped):
        if item == 20:
            raise KeyError
        result = np.zeros(10)
        made.append(weakref.ref(result))
        return result

    with pytest.raises(KeyError):
        each(range(21), work, n_jobs)
    gc.collect()
    assert all(result() is None for result in made)


def test_inside_a_worker_items_run_inline(within):
    def inner(item, stopped):
        return item, threading.get_ident(), inside_worker()

    def outer(item, stopped):
        return [(threading.get_ident(), each(range(3), inner, 4)) for _ in range(2)]

    for results in within(lambda: each(range(8), outer, 2)):
        for mine, found in results:
            assert found == [(item, mine, True) for item in range(3)]


def test_work_within_work_is_told_that_it_was_given_up(within, numbers):
    """Items, and passes, that a worker starts by itself end when its own result is unwanted."""
    ended = []

    def endless(item, stopped):
        while not stopped():
            time.sleep(0.001)
        ended.append("item")

    def slow(block):
        time.sleep(0.001)
        return Sums((block.X[:, 0],))

    def work(item, stopped):
        if item == 0:
            time.sleep(0.1)
            raise KeyError(item)
        try:
            if item == 1:
                each(range(2), endless, 3)
            elif item == 2:
                fold(numbers(range(10**6)), lambda state, block: slow(block), None, n_jobs=3)
            else:
                reduce(numbers(range(10**6)), slow, 3)
        except GivenUp:
            ended.append("given up")
            raise

    with pytest.raises(KeyError):
        within(lambda: each(range(4), work, 4))
    assert sorted(ended) == ["given up", "given up", "given up", "item"]


@pytest.mark.skipif(os.name != "posix", reason="sends signals as POSIX does")
def test_ctrl_c_ends_a_long_item(child):
    answers = child(
        """
from suffice.engines.passes import each
ended = []

def endless(item, stopped):
    until = time.monotonic() + 50
    while not stopped() and time.monotonic() < until:
        time.sleep(0.01)
    ended.append(item)

def interrupted(n_jobs):
    ended.clear()
    sent = []
    def send():
        sent.append(time.monotonic())
        os.kill(os.getpid(), signal.SIGINT)
    threading.Timer(0.3, send).start()
    try:
        each(range(100), endless, n_jobs)
    except KeyboardInterrupt:
        return [time.monotonic() - sent[0] < 1, len(ended), sorted(blas_threads()), is_right(2)]

print(json.dumps([interrupted(n) for n in (1, 2, 4)]))
"""
    )
    assert answers == [[True, 0, [3], True], [True, 2, [3], True], [True, 4, [3], True]]


# --- chunks of columns ------------------------------------------------------------------------


@pytest.mark.parametrize("n_jobs", THREADS)
def test_chunks_of_columns(n_jobs):
    X = np.arange(3 * 1000.0).reshape(3, 1000)
    parts = each_chunk(1000, 64, lambda columns: X[:, columns].sum(axis=0), n_jobs)
    np.testing.assert_array_equal(np.concatenate(list(parts)), X.sum(axis=0))
    assert list(each_chunk(0, 64, lambda columns: columns, n_jobs)) == []


def test_few_chunks_are_at_work_at_once():
    begun = []
    chunks = each_chunk(100, 10, lambda columns: begun.append(columns.start), 2)
    next(chunks)
    assert sorted(begun) == [0, 10]


def test_a_chunk_that_fails():
    def work(columns):
        if columns.start == 30:
            raise KeyError(columns.start)
        return columns.start

    chunks = each_chunk(100, 10, work, 2)
    assert [next(chunks), next(chunks)] == [0, 10]
    with pytest.raises(KeyError, match="30"):
        next(chunks)


# --- all rows in memory -----------------------------------------------------------------------


@pytest.fixture
def table():
    rng = np.random.default_rng(0)
    return rng.normal(size=(40_000, 3)), rng.normal(size=40_000), rng.integers(0, 3, 40_000) / 2


def on_disk(folder, X, y, weight):
    columns = {f"x{j}": X[:, j] for j in range(X.shape[1])} | {"y": y, "w": weight}
    pq.write_table(pa.table(columns), folder / "rows.parquet", row_group_size=701)
    return suffice.scan(folder / "rows.parquet", target="y", weight="w")


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_arrays_are_handed_over_as_they_are(table, n_jobs):
    X, y, weight = table
    source = ArraySource(X, y, weight + 1)
    rows = gather(source, "Anyone", n_jobs=n_jobs)
    assert rows.X is X
    assert rows.y is y
    assert rows.weight is source.weight
    matrix = SparseSource(sparse.random_array((500, 20), density=0.1, rng=0, format="csr"))
    rows = gather(matrix, "Anyone", n_jobs=n_jobs)
    assert rows.X is matrix.X
    assert rows.y is rows.weight is None


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_rows_without_weight_are_left_out(table, tmp_path, n_jobs):
    X, y, weight = table
    X[weight == 0] = np.nan  # rows that do not exist may hold anything
    y[weight == 0] = np.inf
    there = weight > 0
    weight[:16384] = there[:16384] = 0  # nor need a block have any
    for source in (ArraySource(X, y, weight), on_disk(tmp_path, X, y, weight)):
        rows = gather(source, "Anyone", n_jobs=n_jobs)
        np.testing.assert_array_equal(rows.X, X[there])
        np.testing.assert_array_equal(rows.y, y[there])
        np.testing.assert_array_equal(rows.weight, weight[there])
    matrix = sparse.csr_array(np.nan_to_num(X))
    rows = gather(SparseSource(matrix, weight=weight), "Anyone", n_jobs=n_jobs)
    assert rows.X.format == "csr"
    np.testing.assert_array_equal(rows.X.toarray(), matrix.toarray()[there])


def test_files_frames_and_derived_rows(table, tmp_path):
    X, y, weight = table
    weight += 1
    files = on_disk(tmp_path, X, y, weight)
    for source in (files, suffice.sources.as_source(pa.table({"a": X[:, 0], "b": X[:, 1]}))):
        rows = gather(source, "Anyone")
        np.testing.assert_array_equal(rows.X, X[:, : source.n_columns])
    mask = np.arange(len(X)) % 3 == 0
    rows = gather(SubsetSource(files, mask), "Anyone")
    np.testing.assert_array_equal(rows.X, X[mask])
    np.testing.assert_array_equal(rows.weight, weight[mask])
    doubled = MappedSource(files, sparse.csr_array, 3, sparse=True)
    np.testing.assert_array_equal(gather(doubled, "Anyone").X.toarray(), X)


def test_text_beside_numbers():
    size = np.arange(30_000.0)
    size[7] = np.nan
    city = np.array(["Ulm", None, "Rome"] * 10_000, dtype=object)
    rows = gather(ColumnsSource(Columns([size, city]), weight=size > 2), "Anyone", missing=True)
    assert isinstance(rows.X, Columns)
    np.testing.assert_array_equal(rows.X.column(0), size[3:][size[3:] > 2])
    assert rows.X.column(1)[:3].tolist() == ["Ulm", None, "Rome"]


@pytest.mark.parametrize("n_jobs", [1, 2])
@pytest.mark.parametrize(
    ("value", "what"),
    [(np.nan, "NaN"), (-np.inf, "infinity"), (1e200, "a value too large, 1e")],
)
def test_values_out_of_range_are_named(table, tmp_path, value, what, n_jobs):
    X, y, weight = table
    X[30_000, 1], weight[30_000] = value, 1.0
    where = rf"Input X contains {what}.*column 'x1', row 30000 .*, which is row 30000 of "
    files = on_disk(tmp_path, X, y, weight)
    with pytest.raises(ValueError, match=where):
        gather(files, "Anyone", n_jobs=n_jobs)
    with pytest.raises(ValueError, match="column 1, row 30000"):
        gather(ArraySource(X), "Anyone", n_jobs=n_jobs)
    with pytest.raises(ValueError, match=where):
        gather(SubsetSource(files, weight > 0), "Anyone", n_jobs=n_jobs)
    if np.isnan(value):
        assert np.isnan(gather(files, "Anyone", missing=True).X).sum() == 1
    X[30_000, 1], y[30_000] = 0.0, value
    with pytest.raises(ValueError, match=f"Input y contains {what}.*row 30000"):
        gather(ArraySource(X, y), "Anyone", n_jobs=n_jobs)


def test_too_many_rows(table, tmp_path, monkeypatch):
    monkeypatch.setattr(gathering, "MOST_BYTES", 1 << 20)
    X, y, weight = table
    with pytest.raises(ValueError, match=r"Anyone keeps its rows: at least [\d,]+ of 40 bytes "):
        gather(on_disk(tmp_path, X, y, weight), "Anyone")
    assert gather(ArraySource(X, y), "Anyone").X is X  # in memory already


def test_no_row_has_weight(table):
    X, y, weight = table
    with pytest.raises(ValueError, match="every row has weight zero"):
        gather(ArraySource(X, y, 0 * weight), "Anyone")
    with pytest.raises(ValueError, match="there are no rows"):
        gather(ArraySource(np.empty((0, 2))), "Anyone")


# --- beside the rows --------------------------------------------------------------------------


class Shape:
    """A source of a shape alone."""

    n_columns, sparse = 1, False

    def __init__(self, n_rows):
        self.n_rows = n_rows

    def count_rows(self):
        return self.n_rows


@pytest.mark.parametrize(
    ("blocks", "each_has"),
    [(1, 1), (16, 1), (17, 2), (32, 2), (33, 4), (64, 4), (65, 8), (1000, 64)],
)
def test_few_shards(blocks, each_has):
    for rows in (blocks * 16384, (blocks - 1) * 16384 + 1):
        assert blocks_of_a_shard(Shape(rows)) == each_has
        assert -(-blocks // each_has) <= MOST_SHARDS


@pytest.mark.parametrize("n_jobs", THREADS)
def test_sweeps_change_what_is_kept(table, n_jobs):
    X, y, weight = table

    def prepare(block):
        return {"first": block.X[:, 0], "y": block.y}

    shards = keep(ArraySource(X, y, weight), prepare, n_jobs)
    assert len(shards) == 3

    def count(shard):
        own = np.zeros(shard.n_rows, int) if shard.own is None else shard.own
        own += 1
        return own, Sums((np.array([shard.weight @ shard.columns["y"], own.sum()]),))

    for times in (1, 2, 3):
        total, marks = sweep(shards, count, n_jobs).values[0]
        assert total == pytest.approx(weight @ y)
        assert marks == times * len(X)
    for shard in shards:
        rows = slice(shard.start, shard.start + shard.n_rows)
        np.testing.assert_array_equal(shard.columns["first"], X[rows, 0])
        np.testing.assert_array_equal(shard.weight, weight[rows])
        with pytest.raises(ValueError, match="read-only"):
            shard.columns["first"][0] = 1.0
    X[0, 0] = 5.0  # the user's own array stays writeable, and is not what is kept
    assert next(iter(shards)).columns["first"][0] != 5.0
    shards.close()
    with pytest.raises(RuntimeError, match="closed"):
        sweep(shards, count, n_jobs)


def test_keeping_and_sweeping_inside_a_worker(within, table):
    def work(item, stopped):
        shards = keep(ArraySource(*table), lambda block: {"y": block.y}, 4)
        here = threading.get_ident()

        def inline(shard):
            assert threading.get_ident() == here
            return None, Sums((shard.columns["y"].sum(keepdims=True),))

        return float(sweep(shards, inline, 4).values[0][0])

    totals = within(lambda: each(range(4), work, 2))
    assert totals == [pytest.approx(table[1].sum())] * 4
