"""Sources whose blocks are numbers, and fresh processes for what must not harm this one."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from suffice.engines.settings import config
from suffice.sources import Block, Source

IN_CHILDREN = """
import json, os, signal, sys, threading, time
import numpy as np
from suffice.engines.passes import map_rows, reduce
from suffice.engines.settings import config
from suffice.engines.workers import one_blas_thread
from suffice.sources import Block, Source, as_source
from suffice.statistics.sums import Sums

class Piece:
    n_rows = 1
    def __init__(self, number):
        self.start = number
    def load(self):
        return Block(np.array([[float(self.start)]]), None, None, self.start)

class Count(Source):
    n_columns = 1
    def __init__(self, n_rows, read=lambda: None):
        self.n_rows, self.read = n_rows, read
    def pieces(self):
        number = 0
        while self.n_rows is None or number < self.n_rows:
            self.read()
            yield Piece(number)
            number += 1

def total(block):
    return Sums((block.X.sum(axis=0),))

def is_right(n_jobs=None):
    return reduce(Count(100), total, n_jobs).values[0].tolist() == [4950.0]

def blas_threads():
    import scipy.linalg
    from threadpoolctl import threadpool_info
    return {lib["num_threads"] for lib in threadpool_info() if lib["user_api"] == "blas"}

def three_blas_threads():
    import scipy.linalg
    from threadpoolctl import threadpool_limits
    threadpool_limits(3, user_api="blas")
    assert blas_threads() == {3}

three_blas_threads()
"""


@dataclass(frozen=True)
class Number:
    """A piece that is a single number."""

    start: int
    value: float
    n_rows: int = 1

    def load(self) -> Block:
        return Block(np.array([[self.value]]), None, None, self.start)


class Numbers(Source):
    """One block for each number."""

    n_columns = 1

    def __init__(self, values: Any) -> None:
        self.values = values
        self.n_rows = len(values)

    def pieces(self) -> Iterator[Number]:
        for i, value in enumerate(self.values):
            yield Number(i, float(value))


@pytest.fixture
def numbers() -> type[Numbers]:
    """Make a source with one block for each number."""
    return Numbers


@pytest.fixture(autouse=True)
def _same_settings() -> Iterator[None]:
    """Leave the number of threads as it was, whatever a test sets."""
    with config(threads=None):
        yield


@pytest.fixture
def within() -> Callable[..., Any]:
    """Call a function on another thread: what hangs fails the test instead of stopping it."""

    def call(function: Callable[[], Any], seconds: float = 30) -> Any:
        outcome: dict[str, Any] = {}

        def work() -> None:
            try:
                outcome["result"] = function()
            except BaseException as error:  # noqa: BLE001
                outcome["error"] = error

        thread = threading.Thread(target=work, daemon=True)
        thread.start()
        thread.join(seconds)
        assert not thread.is_alive(), f"still running after {seconds} seconds"
        if "error" in outcome:
            raise outcome.pop("error")
        return outcome["result"]

    return call


@pytest.fixture
def child() -> Callable[..., Any]:
    """Run code in a fresh process and return the JSON that it prints last."""

    def run(code: str, seconds: float = 60) -> Any:
        result = subprocess.run(
            [sys.executable, "-W", "ignore::DeprecationWarning", "-c", IN_CHILDREN + code],
            capture_output=True,
            text=True,
            timeout=seconds,
        )
        assert result.returncode == 0, result.stderr
        assert result.stderr == ""
        return json.loads(result.stdout.splitlines()[-1])

    return run
