"""Threads beside threads: the hold on BLAS, many fits at once, and forked processes."""

from __future__ import annotations

import os
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import scipy.linalg  # noqa: F401  (its BLAS must be there when threads are counted)
from threadpoolctl import threadpool_info, threadpool_limits

from suffice import LinearRegression, Ridge
from suffice.engines.passes import reduce
from suffice.engines.workers import inside_worker, one_blas_thread, pool
from suffice.statistics.sums import Sums

forks = pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")


def blas_threads() -> list[int]:
    return [lib["num_threads"] for lib in threadpool_info() if lib["user_api"] == "blas"]


@pytest.fixture
def three():
    """Let BLAS have three threads, on any machine."""
    with threadpool_limits(3, user_api="blas"):
        before = blas_threads()
        assert before
        assert set(before) == {3}
        yield before
        assert blas_threads() == before


# --- BLAS held at one thread ---------------------------------------------------------------


def test_blas_is_held_and_released(three):
    with one_blas_thread():
        assert set(blas_threads()) == {1}
    assert blas_threads() == three


def test_blas_is_released_after_a_failure(three):
    with pytest.raises(KeyError), one_blas_thread():
        raise KeyError
    assert blas_threads() == three


def test_holds_nest(three):
    with one_blas_thread():
        with one_blas_thread():
            assert set(blas_threads()) == {1}
        assert set(blas_threads()) == {1}
    assert blas_threads() == three


@pytest.mark.parametrize("order", [(0, 1, 2), (2, 1, 0), (1, 2, 0)])
def test_holders_do_not_release_each_other(three, order):
    """Three threads take the hold and leave it in some order: it lasts until the last leaves."""
    leave = [threading.Event() for _ in order]
    entered = threading.Barrier(4, timeout=20)

    def hold(number: int) -> None:
        with one_blas_thread():
            entered.wait()
            leave[number].wait(20)

    threads = [threading.Thread(target=hold, args=(number,)) for number in range(3)]
    for thread in threads:
        thread.start()
    entered.wait()
    for number in order:
        assert set(blas_threads()) == {1}
        leave[number].set()
        threads[number].join()
    assert blas_threads() == three


def test_many_short_holds_at_once(three):
    def hold(_: int) -> bool:
        with one_blas_thread():
            return set(blas_threads()) == {1}

    with ThreadPoolExecutor(8) as executor:
        assert all(executor.map(hold, range(200)))
    assert blas_threads() == three


@pytest.mark.parametrize("threads", [1, 2])
def test_a_pass_holds_blas(numbers, three, threads):
    seen = set()

    def summarize(block):
        seen.update(blas_threads())
        if block.start == 30:
            raise KeyError
        return Sums((block.X[:, 0],))

    reduce(numbers(range(20)), summarize, threads)
    assert seen == {1}
    assert blas_threads() == three
    with pytest.raises(KeyError):
        reduce(numbers(range(50)), summarize, threads)
    assert blas_threads() == three


def test_the_hold_follows_a_changed_number():
    """What is restored is what was there before this hold, not before the first one."""
    for number in (2, 4, 3):
        with threadpool_limits(number, user_api="blas"):
            with one_blas_thread():
                assert set(blas_threads()) == {1}
            assert set(blas_threads()) == {number}


# --- many fits at once ---------------------------------------------------------------------


def test_sixteen_threads_fit_at_the_same_time(within, three):
    rng = np.random.default_rng(0)
    tasks = []
    for i in range(16):
        X = rng.normal(size=(40_000, 6)) + i
        y = X @ rng.normal(size=6) + rng.normal(size=40_000)
        model = LinearRegression(n_jobs=1 + i % 4) if i % 2 else Ridge(alpha=float(i))
        tasks.append((model, X, y))
    start = threading.Barrier(16, timeout=20)

    def fit(task):
        model, X, y = task
        start.wait()
        return model.fit(X, y)

    def fit_all():
        with ThreadPoolExecutor(16) as executor:
            return list(executor.map(fit, tasks))

    fitted = within(fit_all)
    assert blas_threads() == three
    for model, (_, X, y) in zip(fitted, tasks, strict=True):
        alpha = getattr(model, "alpha", 0.0)
        centred = X - X.mean(axis=0)
        A = centred.T @ centred + alpha * np.eye(6)
        np.testing.assert_allclose(
            model.coef_, np.linalg.solve(A, centred.T @ (y - y.mean())), rtol=1e-9
        )
        alone = type(model)(**model.get_params()).fit(X, y)
        assert alone.coef_.tobytes() == model.coef_.tobytes()
        assert alone.intercept_ == model.intercept_


def test_concurrent_predictions_of_one_model():
    X = np.random.default_rng(0).normal(size=(30_000, 4))
    model = Ridge().fit(X, X @ [1.0, 2.0, 3.0, 4.0])
    expected = model.predict(X)
    with ThreadPoolExecutor(8) as executor:
        for predicted in executor.map(model.predict, [X] * 24):
            np.testing.assert_array_equal(predicted, expected)


def test_workers_know_that_they_are():
    assert not inside_worker()
    assert pool(2).submit(inside_worker).result()
    assert not inside_worker()


def test_one_pool_for_a_number_of_threads():
    assert pool(2) is pool(2)
    assert pool(3) is not pool(2)
    with ThreadPoolExecutor(8) as executor:
        assert len(set(executor.map(pool, [5] * 50))) == 1


# --- forked processes ----------------------------------------------------------------------

IN_A_FORK = """
def in_a_fork(work, seconds=20):
    # Runs `work` in a forked process; what hangs is ended by the alarm.
    reading, writing = os.pipe()
    process = os.fork()
    if not process:
        try:
            signal.alarm(seconds)
            os.write(writing, json.dumps(work()).encode())
        finally:
            os._exit(0)
    os.close(writing)
    with open(reading) as answer:
        text = answer.read()
    os.waitpid(process, 0)
    return json.loads(text) if text else "no answer"
"""


@forks
def test_passes_after_a_fork(child):
    answers = child(
        IN_A_FORK
        + """
def work():
    return [is_right(1), is_right(2), is_right(4), sorted(blas_threads())]

answers = [in_a_fork(work)]
answers += [work(), in_a_fork(work)]   # now there is a pool, whose threads a fork lacks
answers += [in_a_fork(lambda: in_a_fork(work)), work()]
print(json.dumps(answers))
"""
    )
    assert answers == [[True, True, True, [3]]] * 5


@forks
def test_a_fork_while_passes_run_in_other_threads(child):
    answers = child(
        IN_A_FORK
        + """
from suffice import LinearRegression

done = threading.Event()
X = np.random.default_rng(0).normal(size=(20_000, 4))
y = X @ [1.0, 2.0, 3.0, 4.0]

def keep_fitting():
    while not done.is_set():
        LinearRegression(n_jobs=2).fit(X, y)

def work():
    close = np.abs(LinearRegression(n_jobs=2).fit(X, y).coef_ - [1, 2, 3, 4]).max() < 1e-12
    return [is_right(2), bool(close), sorted(blas_threads())]

work()   # a fork amid an import, here of the compiler, would hang by Python's own locks
others = [threading.Thread(target=keep_fitting) for _ in range(2)]
for thread in others:
    thread.start()
time.sleep(0.1)
answers = [in_a_fork(work) for _ in range(2)]
done.set()
for thread in others:
    thread.join()
answers.append(work())
print(json.dumps(answers))
"""
    )
    assert answers == [[True, True, [3]]] * 3


@forks
def test_a_fork_while_every_lock_is_taken(child):
    """Another thread, which the fork does not have, will never release them."""
    answers = child(
        IN_A_FORK
        + """
from suffice.engines import settings, workers

is_right(2)
taken, done = threading.Event(), threading.Event()

def take():
    with workers._lock, workers._hold.lock, settings._lock:
        taken.set()
        done.wait()

thread = threading.Thread(target=take)
thread.start()
taken.wait()

def work():
    with config(threads=2):
        return is_right()

answer = in_a_fork(work)
done.set()
thread.join()
print(json.dumps([answer, work()]))
"""
    )
    assert answers == [True, True]


@forks
def test_a_fork_within_a_pass(child):
    """Forked from a worker while BLAS is held: the new process is a worker no more."""
    answers = child(
        IN_A_FORK
        + """
from suffice.engines.workers import inside_worker
answers = []

def work():
    return [inside_worker(), is_right(2), sorted(blas_threads())]

def forking(block):
    if block.start == 30:
        answers.append(in_a_fork(work))
    return total(block)

reduce(Count(100), forking, 2)
answers.append(work())
print(json.dumps(answers))
"""
    )
    assert answers == [[False, True, [3]]] * 2


@forks
@pytest.mark.skipif(sys.platform != "linux", reason="processes are not forked there by habit")
def test_pools_of_forked_processes(child):
    answers = child(
        """
import multiprocessing

def fit(seed):
    from suffice import Ridge
    X = np.random.default_rng(seed).normal(size=(30_000, 3))
    return Ridge(alpha=0).fit(X, X @ [1.0, 2.0, 3.0]).coef_.round(9).tolist()

fit(0)
with multiprocessing.get_context("fork").Pool(2) as processes:
    print(json.dumps(processes.map(fit, range(3))))
"""
    )
    assert answers == [[1.0, 2.0, 3.0]] * 3
