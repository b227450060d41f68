"""Steps that follow one another: every row once, in the order promised, whatever fails."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from scipy import sparse

import suffice
from suffice.engines.fold import MOST_IN_WINDOW, fold, window
from suffice.engines.workers import inside_worker, pool
from suffice.sources import Source, as_source
from suffice.sources.base import block_rows

THREADS = (1, 2, 4)


def visited(source: Source, seed=None, n_jobs=None) -> list[float]:
    """The first column, in the order of the steps."""

    def step(seen, block):
        assert not inside_worker()
        X = block.X.toarray() if sparse.issparse(block.X) else block.X
        return [*seen, *X[:, 0].tolist()]

    return fold(source, step, [], seed=seed, n_jobs=n_jobs)


def table(n_rows: int, n_columns: int = 3000) -> np.ndarray:
    """Rows whose first column is their number, in blocks of 256."""
    X = np.zeros((n_rows, n_columns))
    X[:, 0] = np.arange(n_rows)
    return X


# --- the order --------------------------------------------------------------------------------


@pytest.mark.parametrize("n_jobs", THREADS)
def test_steps_follow_the_rows(numbers, n_jobs):
    values = np.random.default_rng(0).normal(size=100)
    assert visited(numbers(values), n_jobs=n_jobs) == values.tolist()
    # Subtraction is neither associative nor commutative.
    expected = 0.0
    for value in values:
        expected = value - expected
    found = fold(numbers(values), lambda s, b: float(b.X[0, 0]) - s, 0.0, n_jobs=n_jobs)
    assert found == expected


def test_shuffled_rows_are_each_visited_once_in_one_order():
    source = as_source(table(256 * 9 + 7))
    orders = [visited(source, seed=5, n_jobs=n) for n in THREADS]
    assert orders[0] == orders[1] == orders[2]
    assert orders[0] != sorted(orders[0])
    assert sorted(orders[0]) == list(range(256 * 9 + 7))
    assert visited(source, seed=6) != orders[0]
    assert visited(source, seed=[5, 0]) == visited(source, seed=[5, 0]) != visited(source, [5, 1])


def test_blocks_are_shuffled_and_rows_within_them():
    order = np.array(visited(as_source(table(256 * 10)), seed=1))
    blocks = order.reshape(10, 256) // 256
    assert (blocks == blocks[:, :1]).all()
    assert (blocks[:, 0] != np.arange(10)).any()
    assert all((row != np.sort(row)).any() for row in order.reshape(10, 256))


def test_blocks_come_from_a_window_that_the_columns_decide(numbers):
    order = visited(numbers(np.arange(500.0)), seed=3)
    # The k-th step draws from the blocks up to k + window.
    assert all(value < k + MOST_IN_WINDOW for k, value in enumerate(order))
    assert sorted(order) == list(range(500))
    assert window(1) == window(60) == MOST_IN_WINDOW
    assert window(1 << 20) == 2  # blocks of 256 rows of a million columns are large
    assert all(window(d) * block_rows(d) * d <= 1 << 25 for d in (1, 7, 100, 5000, 60_000))


def test_one_block_is_shuffled_like_a_hat_full_of_rows():
    X = np.arange(2000.0)[:, None]
    firsts = [visited(as_source(X), seed=s)[0] for s in range(60)]
    assert len(set(firsts)) > 50
    assert 600 < np.mean(firsts) < 1400


def test_files_frames_and_sparse_rows_come_in_the_same_order(tmp_path):
    rng = np.random.default_rng(2)
    X = rng.normal(size=(40_000, 3))
    columns = {"a": X[:, 0], "b": X[:, 1], "c": X[:, 2]}
    for i, part in enumerate((slice(0, 11_111), slice(11_111, None))):
        rows = pa.table({name: column[part] for name, column in columns.items()})
        pq.write_table(rows, tmp_path / f"{i}.parquet", row_group_size=3000)
    scanned = suffice.scan(tmp_path / "*.parquet")
    frame = as_source(pa.table(columns).to_pandas())
    for seed in (None, 4):
        expected = visited(as_source(X), seed)
        for n_jobs in THREADS:
            assert visited(scanned, seed, n_jobs) == expected
        assert visited(frame, seed) == expected
        assert visited(as_source(sparse.csr_array(X)), seed) == expected


def test_target_and_weight_follow_their_rows():
    n = 700
    X, w = table(n), np.arange(n) + 1.0
    source = as_source(X, np.arange(n) * 2, w)

    def step(seen, block):
        np.testing.assert_array_equal(block.y, 2 * block.X[:, 0])
        np.testing.assert_array_equal(block.weight, block.X[:, 0] + 1)
        return seen + block.n_rows

    assert fold(source, step, 0, seed=1) == n


# --- reading ahead ----------------------------------------------------------------------------


class Counted(Source):
    """Blocks of a number each, which counts how many are read and loaded before they are used."""

    n_columns = 1
    n_rows = None

    def __init__(self, n: int) -> None:
        self.n, self.read, self.used, self.most, self.closed = n, 0, 0, 0, 0

    def pieces(self):
        try:
            for i in range(self.n):
                self.read += 1
                self.most = max(self.most, self.read - self.used)
                yield next(suffice.sources.ArraySource(np.array([[float(i)]])).pieces())
        finally:
            self.closed += 1


@pytest.mark.parametrize("n_jobs", THREADS)
@pytest.mark.parametrize("seed", [None, 0])
def test_few_blocks_are_in_flight(n_jobs, seed):
    source = Counted(200)

    def step(state, block):
        source.used += 1
        return state + 1

    assert fold(source, step, 0, seed=seed, n_jobs=n_jobs) == 200
    assert source.most <= (n_jobs if seed is None else MOST_IN_WINDOW) + 1
    assert source.closed == 1


# --- failures ---------------------------------------------------------------------------------


def test_no_rows(numbers):
    with pytest.raises(ValueError, match="no rows"):
        fold(numbers([]), lambda s, b: s, 0)


class Broken(Counted):
    def pieces(self):
        yield from super().pieces()
        raise OSError("the disk is gone")


@pytest.mark.parametrize("n_jobs", THREADS)
def test_what_cannot_be_read_fails_after_the_steps_before_it(n_jobs):
    source, seen = Broken(5), []
    with pytest.raises(OSError, match="disk"):
        fold(source, lambda s, b: seen.append(b), None, n_jobs=n_jobs)
    assert len(seen) == 5
    assert source.closed == 1


@pytest.mark.parametrize("n_jobs", THREADS)
@pytest.mark.parametrize("error", [ZeroDivisionError, KeyboardInterrupt, StopIteration])
def test_a_step_that_fails_stops_the_pass(n_jobs, error):
    source = Counted(100)

    def step(state, block):
        if state == 3:
            raise error("here")
        return state + 1

    with pytest.raises(error, match="here"):
        fold(source, step, 0, n_jobs=n_jobs)
    assert source.closed == 1
    assert source.read <= 3 + n_jobs + 1
    assert visited(as_source(table(300)), n_jobs=n_jobs) == list(range(300))


@pytest.mark.parametrize("n_jobs", THREADS)
def test_a_block_that_cannot_be_loaded(n_jobs):
    class Bad:
        start, n_rows = 2, 1

        def load(self):
            raise OverflowError("too much")

    class Source2(Counted):
        def pieces(self):
            yield from super().pieces()
            yield Bad()
            yield Bad()

    seen = []
    with pytest.raises(OverflowError, match="too much"):
        fold(Source2(2), lambda s, b: seen.append(b), None, n_jobs=n_jobs)
    assert len(seen) == 2


def test_inside_a_worker_it_runs_inline(within):
    source = as_source(table(2000))
    future = pool(2).submit(lambda: fold(source, lambda s, b: s + b.n_rows, 0, seed=1, n_jobs=2))
    assert within(lambda: future.result()) == 2000


def test_several_at_once(within):
    source = as_source(table(256 * 20))
    expected = visited(source, seed=1)

    def both():
        from concurrent.futures import ThreadPoolExecutor

        with ThreadPoolExecutor(3) as own:
            return list(own.map(lambda _: visited(source, seed=1, n_jobs=2), range(6)))

    assert all(order == expected for order in within(both))


def test_ctrl_c(child):
    answers = child(
        """
from suffice.engines.fold import fold

def step(state, block):
    time.sleep(0.001)
    return state + 1

answers = []
for n_jobs in (1, 2):
    for seed in (None, 1):
        timer = threading.Timer(0.3, lambda: os.kill(os.getpid(), signal.SIGINT))
        timer.start()
        try:
            fold(Count(None), step, 0, seed=seed, n_jobs=n_jobs)
        except KeyboardInterrupt:
            timer.join()
            answers.append([sorted(blas_threads()), is_right(n_jobs)])
print(json.dumps(answers))
"""
    )
    assert answers == [[[3], True]] * 4


def test_each_block_is_shuffled_in_an_order_of_its_own():
    source = suffice.sources.ArraySource(np.arange(3 * 16384.0)[:, None])
    orders = {}

    def take(state, block):
        orders[block.start] = (block.X[:, 0] - block.start).tolist()
        return state

    fold(source, take, None, seed=0)
    assert len(orders) == 3
    assert all(sorted(order) == list(range(16384)) for order in orders.values())
    assert len({tuple(order) for order in orders.values()}) == 3
