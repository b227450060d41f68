"""Many at once: threads, forked processes, joblib's workers, each with the bits of one alone."""

from __future__ import annotations

import faulthandler
import os
import subprocess
import sys
import textwrap
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from threadpoolctl import threadpool_info

import suffice
from suffice.engines.workers import pool

PATIENCE = 120
"""Seconds after which something is taken to be stuck."""

THREADS, OPERATIONS = 16, 400


@pytest.fixture(autouse=True)
def _watched():
    """Where a deadlock stands is written before the test is given up; BLAS is left as it was."""
    before = sorted(one["num_threads"] for one in threadpool_info() if one["user_api"] == "blas")
    faulthandler.dump_traceback_later(PATIENCE, exit=True)
    yield
    faulthandler.cancel_dump_traceback_later()
    suffice.config(threads=None)
    after = sorted(one["num_threads"] for one in threadpool_info() if one["user_api"] == "blas")
    assert after == before


class Work:
    """Operations with known answers: each returns an array whose bits were computed alone."""

    def __init__(self, folder: Path) -> None:
        rng = np.random.default_rng(0)
        self.X = rng.normal(size=(1200, 6)) + 10
        self.y = self.X @ np.arange(6.0) + rng.normal(size=1200)
        self.long = rng.normal(size=(90_000, 3))
        near = rng.normal(size=600)
        self.near = np.column_stack([near, near + 1e-7 * rng.normal(size=600)])
        self.path = str(folder / "rows.parquet")
        pq.write_table(pa.table({"a": self.X[:, 0], "b": self.X[:, 1], "y": self.y}), self.path)
        self.shared = suffice.Ridge(alpha=2.0).fit(self.X, self.y)
        self.line = suffice.LinearRegression().fit(self.X, self.y)
        self.operations = [
            lambda: self.shared.predict(self.X),
            lambda: self.line.predict(self.X[:17]),
            lambda: self.shared.predict(pa.table(list(self.X.T), names=list("abcdef"))),
            lambda: np.array([self.shared.score(self.X, self.y)]),
            lambda: self.shared.path([0.1, 1.0]).coefs,
            lambda: suffice.Ridge(alpha=0.5).fit(self.X, self.y).coef_,
            lambda: suffice.LinearRegression().fit(self.X[:50], self.y[:50]).coef_,
            lambda: suffice.LinearRegression().fit(self.near, self.y[:600]).coef_,
            lambda: suffice.Ridge().fit(suffice.scan(self.path, target="y")).coef_,
            lambda: suffice.Ridge().fit(self.X[:300], self.y[:300]).update(
                self.X[300:], self.y[300:]
            ).coef_,
            lambda: suffice.merge(self.shared, self.shared).coef_,
        ]  # fmt: skip
        self.rare = [  # several runs of blocks: these really share the pool
            lambda: suffice.LinearRegression().fit(self.long[:, :2], self.long[:, 2]).coef_,
            lambda: suffice.Ridge(exact=True).fit(self.long[:, :1], self.long[:, 2]).coef_,
        ]

    def check(self, operation: Any, expected: Any) -> None:
        np.testing.assert_array_equal(operation(), expected)

    def everything(self) -> list[Any]:
        return [operation() for operation in (*self.operations, *self.rare)]


@pytest.fixture(scope="module")
def work(tmp_path_factory) -> Work:
    return Work(tmp_path_factory.mktemp("concurrency"))


@pytest.fixture(scope="module")
def answers(work) -> list[Any]:
    return work.everything()


def at_once(tasks: list[Any], threads: int = THREADS) -> None:
    """Run all tasks on some threads that start together; raise what any of them raises."""
    gate, errors, turn = threading.Barrier(threads), [], iter(tasks)
    lock = threading.Lock()

    def run() -> None:
        gate.wait(PATIENCE)
        while not errors:
            with lock:
                task = next(turn, None)
            if task is None:
                return
            try:
                task()
            except BaseException as error:  # noqa: BLE001
                errors.append(error)

    workers = [threading.Thread(target=run, daemon=True) for _ in range(threads)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(PATIENCE)
    assert not any(worker.is_alive() for worker in workers)
    if errors:
        raise errors[0]


def tasks_of(work: Work, answers: list[Any], count: int) -> list[Any]:
    """So many operations, mixed by a fixed seed; one in forty runs through many blocks."""
    rng = np.random.default_rng(1)
    common = len(work.operations)
    chosen = rng.integers(0, common, count)
    chosen[::40] = common + rng.integers(0, len(work.rare), len(chosen[::40]))
    everything = [*work.operations, *work.rare]
    return [lambda i=i: work.check(everything[i], answers[i]) for i in chosen]


# --- threads --------------------------------------------------------------------------------------


def test_sixteen_threads_predict_on_one_model_and_fit_their_own(work, answers):
    at_once(tasks_of(work, answers, OPERATIONS))


def test_while_the_number_of_threads_changes(work, answers):
    tasks = tasks_of(work, answers, 200)
    done = threading.Event()

    def change() -> None:
        numbers = iter(np.random.default_rng(2).integers(1, 5, 10**6).tolist())
        while not done.wait(0.001):
            with suffice.config(threads=next(numbers)):
                pass
            suffice.config(threads=next(numbers))

    changer = threading.Thread(target=change, daemon=True)
    changer.start()
    try:
        at_once(tasks)
    finally:
        done.set()
        changer.join(PATIENCE)
    assert not changer.is_alive()


@pytest.mark.parametrize("threads", [1, 2, 4])
def test_within_workers_of_the_librarys_own_pool(work, answers, threads):
    # More than it has threads: waiting for each other, none would ever be done.
    with suffice.config(threads=threads):
        futures = [pool(threads).submit(work.everything) for _ in range(2 * threads)]
        for future in futures:
            for found, expected in zip(future.result(PATIENCE), answers, strict=True):
                np.testing.assert_array_equal(found, expected)


def test_within_workers_of_another_pool(work, answers):
    with ThreadPoolExecutor(8) as others:
        for found in others.map(lambda _: work.everything(), range(8)):
            for one, expected in zip(found, answers, strict=True):
                np.testing.assert_array_equal(one, expected)


def test_a_failing_fit_among_others_disturbs_none(work, answers):
    bad = work.long.copy()
    bad[70_000, 1] = np.nan

    def fail() -> None:
        with pytest.raises(ValueError, match="NaN"):
            suffice.LinearRegression().fit(bad[:, :2], bad[:, 2])

    tasks = tasks_of(work, answers, 120)
    tasks[::6] = [fail] * len(tasks[::6])
    at_once(tasks)


# --- processes ------------------------------------------------------------------------------------

SETUP = f"""
import faulthandler
faulthandler.dump_traceback_later({PATIENCE}, exit=True)
import os, signal, sys, threading, warnings
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
import numpy as np
sys.path.insert(0, sys.argv[1])
import suffice
from tests.test_concurrency import Work

work = Work(Path(sys.argv[2]))
answers = work.everything()

def right():
    return all(np.array_equal(one, two) for one, two in zip(work.everything(), answers))
"""

posix = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")


def printed(code: str, folder: Path) -> str:
    """What a process of its own prints."""
    root = Path(__file__).resolve().parents[1]
    outcome = subprocess.run(
        [sys.executable, "-c", SETUP + textwrap.dedent(code), str(root), str(folder)],
        capture_output=True, text=True, timeout=2 * PATIENCE,
    )  # fmt: skip
    assert outcome.returncode == 0, outcome.stderr[-4000:]
    return outcome.stdout


@posix
def test_after_a_fork_in_the_middle_of_fits(tmp_path):
    code = """
    warnings.simplefilter("ignore", DeprecationWarning)  # that threads were forked is the point
    stop = threading.Event()

    def keep_fitting():
        while not stop.is_set():
            assert right()

    threads = [threading.Thread(target=keep_fitting, daemon=True) for _ in range(2)]
    for thread in threads:
        thread.start()
    codes = []
    for _ in range(2):
        child = os.fork()
        if child == 0:
            signal.alarm(60)  # the watchdog's thread is not among those that a fork keeps
            good = right()
            with ThreadPoolExecutor(2) as others:
                good = good and all(others.map(lambda _: right(), range(2)))
            os._exit(0 if good else 7)
        codes.append(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
    stop.set()
    for thread in threads:
        thread.join(60)
    print(codes, any(thread.is_alive() for thread in threads), right())
    """
    assert printed(code, tmp_path) == "[0, 0] False True\n"


def test_under_joblib(tmp_path):
    code = """
    from joblib import Parallel, delayed, parallel_config
    from sklearn.model_selection import GridSearchCV

    def fit(alpha, X, y):
        model = suffice.Ridge(alpha=alpha).fit(X, y)
        long = suffice.LinearRegression().fit(np.tile(X, (70, 1)), np.tile(y, 70))
        return model.coef_, long.coef_, model

    def search(n_jobs):
        found = GridSearchCV(suffice.Ridge(), {"alpha": [0.1, 10.0]}, cv=2, n_jobs=n_jobs)
        found.fit(work.X, work.y)
        best, scores = found.best_estimator_, found.cv_results_["mean_test_score"]
        assert not [name for name in vars(best) if name.startswith("_callback")]
        return np.r_[scores, best.coef_]

    alphas = np.linspace(0.1, 3, 4)
    alone = [fit(alpha, work.X, work.y) for alpha in alphas]
    searched = search(None)
    for backend in ("loky", "threading"):
        found = Parallel(n_jobs=2, backend=backend)(
            delayed(fit)(alpha, work.X, work.y) for alpha in alphas
        )
        good = all(np.array_equal(a, b) for one, two in zip(alone, found)
                   for a, b in zip(one[:2], two[:2]))
        # A model that comes back from a worker is whole.
        good = good and all(np.array_equal(one[2].predict(work.X), two[2].predict(work.X))
                            for one, two in zip(alone, found))
        with parallel_config(backend=backend):
            print(backend, good, np.array_equal(search(2), searched), right())
    """
    expected = "loky True True True\nthreading True True True\n"
    assert printed(code, tmp_path) == expected


def test_one_file_is_saved_and_loaded_by_many_threads(work, tmp_path):
    path = tmp_path / "model"
    models = [suffice.Ridge(alpha=float(a)).fit(work.X, work.y) for a in range(1, 5)]
    coefs = {model.alpha: model.coef_ for model in models}
    models[0].save(path)

    def save(model: Any) -> None:
        model.save(path)

    def load() -> None:
        found = suffice.load(path)
        np.testing.assert_array_equal(found.coef_, coefs[found.alpha])

    tasks = [lambda m=model: save(m) for model in models] * 10
    at_once([task for one in tasks for task in (one, load, load)], threads=8)
    assert os.listdir(tmp_path) == ["model"]
