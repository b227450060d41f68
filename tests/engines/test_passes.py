"""A pass: one tree at any number of threads, errors in the order of the rows, little in flight."""

from __future__ import annotations

import gc
import os
import threading
import time
from collections.abc import Iterator
from contextlib import closing, suppress
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import suffice
from suffice.engines.merge_tree import FAN_IN, LARGE_STATISTIC
from suffice.engines.passes import in_order, map_rows, reduce
from suffice.sources import Block, Source, as_source
from suffice.statistics.moments.full import Moments
from suffice.statistics.sums import Sums

THREADS = [1, 2, 4]


@dataclass(frozen=True)
class Tree:
    """Remembers who was merged with whom: a number, or a tuple of what was merged at once."""

    shape: Any
    nbytes: int = 0

    @classmethod
    def merge(cls, parts):
        return cls(tuple(part.shape for part in parts), max(part.nbytes for part in parts))


def leaf(block: Block) -> Tree:
    return Tree(block.start)


def leaves(shape: Any) -> list[int]:
    return [shape] if isinstance(shape, int) else [n for part in shape for n in leaves(part)]


def total(block: Block) -> Sums:
    return Sums((block.X[:, 0],))


def later_blocks_first(block: Block) -> None:
    """Sleep so that neighbouring blocks finish in the wrong order."""
    time.sleep(0.0005 * (7 - block.start % 8) + 0.001 * (block.start // 8 % 3 == 0))


# --- the tree ------------------------------------------------------------------------------

FOUR = tuple(tuple(range(i, i + 4)) for i in range(0, 32, 4))


@pytest.mark.parametrize(
    ("n_blocks", "shape"),
    [
        (1, 0),
        (2, (0, 1)),
        (4, FOUR[0]),
        (5, (FOUR[0], 4)),
        (6, (FOUR[0], (4, 5))),
        (32, FOUR),
        (33, (FOUR, 32)),
    ],
)
def test_merges_runs_of_four_and_then_eight_at_a_time(numbers, n_blocks, shape):
    assert reduce(numbers(range(n_blocks)), leaf, 1).shape == shape


@pytest.mark.parametrize("n_blocks", [1, 7, 8, 9, 16, 17, 63, 64, 65, 100, 511, 512, 513, 700])
def test_same_tree_at_any_number_of_threads(numbers, n_blocks):
    source = numbers(range(n_blocks))
    trees = [reduce(source, leaf, threads).shape for threads in THREADS]
    assert trees[1:] == trees[:-1]
    assert leaves(trees[0]) == list(range(n_blocks))


@pytest.mark.parametrize("threads", THREADS)
def test_same_tree_however_long_the_blocks_take(numbers, threads):
    def slow(block: Block) -> Tree:
        later_blocks_first(block)
        return leaf(block)

    source = numbers(range(75))
    assert reduce(source, slow, threads).shape == reduce(source, leaf, 1).shape


@pytest.mark.parametrize("n_blocks", [1, 8, 9, 30, 200])
def test_large_statistics_are_added_up_one_by_one(numbers, n_blocks):
    """No more than two of them at a time, and still one order at any number of threads."""

    def large(block: Block) -> Tree:
        return Tree(block.start, LARGE_STATISTIC + 1)

    trees = [reduce(numbers(range(n_blocks)), large, threads).shape for threads in THREADS]
    assert trees[1:] == trees[:-1]
    assert leaves(trees[0]) == list(range(n_blocks))

    def widest(shape: Any) -> int:
        return 0 if isinstance(shape, int) else max(len(shape), *(widest(part) for part in shape))

    assert widest(trees[0]) <= 2


@pytest.mark.parametrize("seed", range(3))
def test_sums_whose_order_matters_have_the_same_bits(numbers, seed):
    rng = np.random.default_rng(seed)
    values = rng.normal(size=1000) * 10.0 ** rng.integers(-12, 12, size=1000)
    fits = [reduce(numbers(values), total, threads).values[0] for threads in THREADS]
    assert fits[0].tobytes() == fits[1].tobytes() == fits[2].tobytes()
    # In another order these numbers do have another sum: equal bits are no accident.
    others = {reduce(numbers(rng.permutation(values)), total, 1).values[0][0] for _ in range(5)}
    assert len(others) > 1


def test_moments_have_the_same_bits(numbers):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(100_000, 5)) * 10.0 ** np.arange(5) + 1e3
    fits = [reduce(as_source(X), lambda b: Moments.summarize(b.X), n) for n in THREADS]
    for fit in fits[1:]:
        assert fit.scatter.tobytes() == fits[0].scatter.tobytes()
        assert fit.mean.hi.tobytes() == fits[0].mean.hi.tobytes()
        assert fit.mean.lo.tobytes() == fits[0].mean.lo.tobytes()


# --- rows in order -------------------------------------------------------------------------


@pytest.mark.parametrize("threads", THREADS)
def test_map_rows_keeps_the_order(numbers, threads):
    def slow(block: Block) -> Any:
        later_blocks_first(block)
        return block.X[:, 0] * 2

    np.testing.assert_array_equal(map_rows(numbers(range(75)), slow, threads), 2 * np.arange(75))


@pytest.mark.parametrize("threads", THREADS)
def test_map_rows_joins_blocks_of_several_rows(threads):
    X = np.random.default_rng(0).normal(size=(100_001, 3))
    np.testing.assert_array_equal(map_rows(as_source(X), lambda b: -b.X, threads), -X)
    np.testing.assert_array_equal(map_rows(as_source(X), lambda b: b.X[:, 1], threads), X[:, 1])


@pytest.mark.parametrize("threads", THREADS)
@pytest.mark.parametrize("verb", [reduce, map_rows])
def test_no_rows(numbers, verb, threads):
    with pytest.raises(ValueError, match=r"no rows in .*Numbers.*at least one"):
        verb(numbers([]), total, threads)
    with pytest.raises(ValueError, match=r"no rows in ArraySource\(0 rows x 3"):
        verb(as_source(np.empty((0, 3))), total, threads)


# --- failures ------------------------------------------------------------------------------


class Boom(Exception):
    pass


@pytest.mark.parametrize("threads", THREADS)
@pytest.mark.parametrize("failing", [[0], [7], [8], [40], [99], [50, 3, 77], [9, 8], range(100)])
def test_the_first_failing_block_raises_its_own_exception(numbers, within, threads, failing):
    running, lock = [], threading.Lock()

    def summarize(block: Block) -> Sums:
        with lock:
            running.append(block.start)
        later_blocks_first(block)
        with lock:
            running.remove(block.start)
        if block.start in failing:
            raise Boom(block.start)
        return total(block)

    with pytest.raises(Boom) as caught:
        within(lambda: reduce(numbers(range(100)), summarize, threads))
    assert caught.value.args == (min(failing),)
    assert running == []  # nothing works on after the pass has ended
    assert within(lambda: reduce(numbers(range(100)), total, threads)).values[0] == [4950]


class Unreadable(Source):
    """Numbers that cannot be read from some block on."""

    n_columns, n_rows = 1, None

    def __init__(self, numbers: Source, end: int) -> None:
        self.numbers, self.end, self.closed = numbers, end, 0

    def pieces(self) -> Iterator[Any]:
        try:
            for piece in self.numbers.pieces():
                if piece.start == self.end:
                    raise OSError("the disk is gone")
                yield piece
        finally:
            self.closed += 1


@pytest.mark.parametrize("threads", THREADS)
@pytest.mark.parametrize("end", [0, 5, 8, 15, 16, 60])
def test_a_failure_to_read(numbers, within, threads, end):
    source = Unreadable(numbers(range(100)), end)
    with pytest.raises(OSError, match="the disk is gone"):
        within(lambda: reduce(source, total, threads))
    assert source.closed == 1


@pytest.mark.parametrize("threads", THREADS)
@pytest.mark.parametrize("end", [8, 16, 24, 40])
def test_a_bad_block_comes_before_an_unreadable_later_one(numbers, within, threads, end):
    """Else the error that a user sees would depend on how far the reading was ahead."""

    def summarize(block: Block) -> Sums:
        if block.start == 4:
            time.sleep(0.05)
            raise Boom
        return total(block)

    with pytest.raises(Boom) as caught:
        within(lambda: reduce(Unreadable(numbers(range(100)), end), summarize, threads))
    assert caught.value.__context__ is None


@pytest.mark.parametrize("threads", THREADS)
@pytest.mark.parametrize("error", [KeyboardInterrupt, SystemExit, MemoryError, StopIteration])
def test_exceptions_of_every_kind_come_through(numbers, within, threads, error):
    def summarize(block: Block) -> Sums:
        if block.start == 30:
            raise error
        return total(block)

    # A StopIteration must not pass for the end of the rows.
    with pytest.raises(RuntimeError if error is StopIteration else error):
        within(lambda: reduce(numbers(range(100)), summarize, threads))


@pytest.mark.parametrize("threads", THREADS)
def test_a_failed_merge(numbers, within, threads):
    class Unmergeable:
        @classmethod
        def merge(cls, parts):
            raise Boom

    with pytest.raises(Boom):
        within(lambda: reduce(numbers(range(100)), lambda block: Unmergeable(), threads))


# --- what is in flight ---------------------------------------------------------------------


class CountedPiece:
    n_rows = 1

    def __init__(self, source: CountedPieces, start: int) -> None:
        self.source, self.start = source, start

    def load(self) -> Block:
        return Block(np.ones((1, 1)), None, None, self.start)

    def __del__(self) -> None:
        with self.source.lock:
            self.source.alive -= 1


class CountedPieces(Source):
    """Counts the pieces that somebody holds."""

    n_columns = 1

    def __init__(self, n_rows: int) -> None:
        self.n_rows, self.lock, self.alive, self.most = n_rows, threading.Lock(), 0, 0

    def pieces(self) -> Iterator[CountedPiece]:
        for start in range(self.n_rows):
            with self.lock:
                self.alive += 1
                self.most = max(self.most, self.alive)
            yield CountedPiece(self, start)


@pytest.mark.parametrize("threads", THREADS)
def test_memory_does_not_grow_with_the_rows(threads):
    source = CountedPieces(10_000)

    def summarize(block: Block) -> Sums:
        if block.start in (3, 5000):
            time.sleep(0.2)  # the reading gets as far ahead as it may
        return total(block)

    assert reduce(source, summarize, threads).values[0] == [10_000]
    # The first two runs, one for each thread and two more waiting, and the one being read.
    assert source.most <= FAN_IN * (threads + 5)
    assert source.alive == 0


@pytest.mark.parametrize("threads", THREADS)
def test_a_failed_pass_leaves_no_garbage(threads):
    """Only the exception holds the pieces: dropping it frees them, without a collector."""
    source = CountedPieces(1000)

    def summarize(block: Block) -> Sums:
        if block.start == 40:
            raise Boom
        return total(block)

    gc.collect()
    gc.disable()
    try:
        with suppress(Boom):
            reduce(source, summarize, threads)
        deadline = time.monotonic() + 5
        while source.alive and time.monotonic() < deadline:
            time.sleep(0.01)  # a worker drops its last exception when it waits again
        assert source.alive == 0
    finally:
        gc.enable()


class Closing(Source):
    """Says when its reading was given up."""

    n_columns, n_rows = 1, 1000

    def __init__(self, numbers: type[Any]) -> None:
        self.numbers, self.open = numbers, 0

    def pieces(self) -> Iterator[Any]:
        self.open += 1
        try:
            yield from self.numbers(range(1000)).pieces()
        finally:
            self.open -= 1


@pytest.mark.parametrize("threads", THREADS)
def test_a_pass_given_up_closes_its_source(numbers, threads):
    source = Closing(numbers)
    with closing(in_order(source, lambda run: [p.start for p in run], threads)) as results:
        assert next(results) == list(range(4))
        assert source.open == 1
    assert source.open == 0


@pytest.mark.parametrize("threads", THREADS)
def test_a_failed_pass_closes_its_source(numbers, threads):
    source = Closing(numbers)

    def summarize(block: Block) -> Sums:
        if block.start == 30:
            raise Boom
        return total(block)

    with pytest.raises(Boom) as caught:
        reduce(source, summarize, threads)
    assert source.open == 0
    assert caught.value is not None  # its traceback, which holds the pass, is still there


@pytest.mark.skipif(not os.path.isdir("/proc/self/fd"), reason="lists open files as Linux does")
@pytest.mark.parametrize("threads", THREADS)
def test_a_failed_pass_closes_its_files(tmp_path, threads):
    table = pa.table({"a": np.arange(200_000.0), "b": np.ones(200_000)})
    paths = [tmp_path / f"{i}.parquet" for i in range(3)]
    for path in paths:
        pq.write_table(table, path)

    def open_files() -> list[str]:
        held = []
        for number in os.listdir("/proc/self/fd"):
            try:
                held.append(os.readlink(f"/proc/self/fd/{number}"))
            except FileNotFoundError:
                continue
        return [path for path in held if path.startswith(str(tmp_path))]

    during = []

    def summarize(block: Block) -> Sums:
        during.extend(open_files())
        if block.start > 250_000:
            raise Boom
        return total(block)

    with pytest.raises(Boom) as caught:
        reduce(suffice.scan(paths), summarize, threads)
    assert during
    assert open_files() == []
    assert caught.value is not None


# --- passes within passes ------------------------------------------------------------------


@pytest.mark.parametrize("threads", THREADS)
def test_a_pass_within_a_pass(numbers, within, threads):
    """As many at once as there are threads would wait for each other for ever."""

    def outer(block: Block) -> Sums:
        inner = reduce(numbers(range(20)), innermost, threads)
        return Sums((inner.values[0] + block.X[:, 0],))

    def innermost(block: Block) -> Sums:
        deepest = reduce(numbers(np.ones(10)), total, threads)
        return Sums((block.X[:, 0] + 0 * deepest.values[0],))

    assert within(lambda: reduce(numbers(range(50)), outer, threads)).values[0] == [50 * 190 + 1225]


def test_a_pass_within_a_worker_stays_on_its_thread(numbers, within):
    strays = []

    def outer(block: Block) -> Sums:
        here = threading.current_thread()

        def inner(block: Block) -> Sums:
            if threading.current_thread() is not here:
                strays.append(block.start)
            return total(block)

        return reduce(numbers(range(20)), inner, 4)

    within(lambda: reduce(numbers(range(50)), outer, 2))
    assert strays == []
