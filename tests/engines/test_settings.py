"""How many threads: what `config` and `n_jobs` say, and what they refuse."""

from __future__ import annotations

import os
import threading

import numpy as np
import pytest

import suffice
from suffice.engines import settings
from suffice.engines.passes import reduce
from suffice.engines.settings import available_threads, config, resolve_threads
from suffice.statistics.sums import Sums


def test_all_cores_by_default():
    assert resolve_threads() == available_threads() >= 1


@pytest.mark.skipif(not hasattr(os, "sched_getaffinity"), reason="this system has no affinity")
def test_only_cores_that_the_process_may_use(monkeypatch):
    monkeypatch.setattr(os, "sched_getaffinity", lambda process: {1, 4, 6})
    assert resolve_threads() == 3


def test_cores_where_the_system_has_no_affinity(monkeypatch):
    monkeypatch.delattr(os, "sched_getaffinity", raising=False)
    monkeypatch.setattr(os, "cpu_count", lambda: 5)
    assert resolve_threads() == 5
    monkeypatch.setattr(os, "cpu_count", lambda: None)
    assert resolve_threads() == 1


def test_config_is_public():
    assert suffice.config is config


def test_config_sets():
    config(threads=3)
    assert resolve_threads() == 3
    config(threads=5)
    assert resolve_threads() == 5
    config(threads=None)
    assert resolve_threads() == available_threads()


def test_config_restores_after_a_block():
    config(threads=7)
    with config(threads=3) as inner:
        assert resolve_threads() == 3
        assert "3" in repr(inner)
        with config(threads=2):
            assert resolve_threads() == 2
        assert resolve_threads() == 3
        with config(threads=None):
            assert resolve_threads() == available_threads()
    assert resolve_threads() == 7


def test_config_restores_after_a_failure():
    with pytest.raises(KeyError), config(threads=3):
        raise KeyError
    assert resolve_threads() == available_threads()


@pytest.mark.parametrize("threads", [0, -1, 2.0, 1.5, "2", True, float("nan"), [2]])
def test_config_refuses(threads):
    config(threads=3)
    with pytest.raises(ValueError, match=r"threads must be a positive whole number.*got"):
        config(threads=threads)
    assert resolve_threads() == 3


def test_config_takes_options_by_name_only():
    with pytest.raises(TypeError):
        config(2)
    with pytest.raises(TypeError, match="processes"):
        config(processes=2)


@pytest.mark.parametrize(
    ("n_jobs", "threads"), [(1, 1), (6, 6), (-1, 4), (-2, 3), (-4, 1), (-100, 1), (None, 4)]
)
def test_n_jobs_counts_as_joblib_does(monkeypatch, n_jobs, threads):
    monkeypatch.setattr(settings, "available_threads", lambda: 4)
    assert resolve_threads(n_jobs) == threads


def test_n_jobs_overrides_config():
    config(threads=3)
    assert resolve_threads(2) == 2
    assert resolve_threads(-1) == available_threads()


def test_no_threads_at_all(numbers):
    with pytest.raises(ValueError, match=r"n_jobs must not be 0; use 1"):
        resolve_threads(0)
    with pytest.raises(ValueError, match=r"n_jobs must not be 0"):
        reduce(numbers(range(3)), lambda block: Sums(()), 0)
    with pytest.raises(ValueError, match=r"n_jobs must not be 0"):
        suffice.LinearRegression(n_jobs=0).fit([[1.0], [2.0], [4.0]], [1.0, 2.0, 3.0])


@pytest.mark.parametrize("threads", [1, 2, 3])
@pytest.mark.parametrize("way", ["n_jobs", "config"])
def test_no_more_threads_than_asked_for(numbers, threads, way):
    used = set()

    def summarize(block):
        used.add(threading.current_thread().name)
        return Sums((block.X[:, 0],))

    if way == "n_jobs":
        reduce(numbers(range(200)), summarize, threads)
    else:
        with config(threads=threads):
            reduce(numbers(range(200)), summarize)
    assert 1 <= len(used) <= threads
    if threads == 1:
        assert used == {threading.current_thread().name}


def test_threads_really_work_at_the_same_time(numbers):
    """Each block waits for three others: with fewer threads this would never end."""
    barrier = threading.Barrier(4, timeout=20)

    def summarize(block):
        if block.start % 4 == 0:
            barrier.wait()
        return Sums((block.X[:, 0],))

    assert reduce(numbers(np.ones(32)), summarize, 4).values[0] == [32]


def test_a_small_source_needs_no_thread(numbers):
    used = set()

    def summarize(block):
        used.add(threading.current_thread().name)
        return Sums((block.X[:, 0],))

    reduce(numbers(range(4)), summarize, 4)
    assert used == {threading.current_thread().name}
