"""The threads that passes run on, and the hold on BLAS's own threads.

One pool of each size that was asked for serves the process.  While a fit runs, BLAS is held
at one thread: the passes use all cores already, and a factorisation's bits differ with BLAS's
thread count.  The hold is counted, so that concurrent fits do not release each other.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import contextmanager
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

T = TypeVar("T")


class GivenUp(Exception):
    """Raised in a worker whose result is no longer wanted."""


def never() -> bool:
    """That the caller has not given up: nobody could have, on its own thread."""
    return False


class _Inside(threading.local):
    """Whether this thread is one of the pool's, and whether what it does is no longer wanted."""

    worker = False
    stopped: Callable[[], bool] = staticmethod(never)


_inside = _Inside()


def inside_worker() -> bool:
    """Whether the calling thread belongs to the pool: a pass it starts must run inline."""
    return _inside.worker


def stopped_here() -> Callable[[], bool]:
    """Tells whether the work that the calling thread does for a pass has been given up."""
    return _inside.stopped


def unless_stopped(
    stopped: Callable[[], bool], function: Callable[[Any, Callable[[], bool]], T], item: Any
) -> T:
    """Work on a worker; what this starts in turn is told as well when it is given up."""
    if stopped():
        raise GivenUp
    _inside.stopped = stopped
    try:
        return function(item, stopped)
    finally:
        _inside.stopped = never


def stoppable(work: Callable[[], T], stop: NDArray[np.int64]) -> T:
    """What one long call returns that cannot be interrupted, but looks at a number as it goes.

    It runs on a thread of its own.  Where the caller is interrupted, or what it does is given up,
    the number becomes 1, and the call is expected to return soon.
    """
    here = stopped_here()
    with ThreadPoolExecutor(1, thread_name_prefix="suffice") as alone:
        future = alone.submit(work)
        try:
            while not wait([future], timeout=0.1).done:
                if here():
                    raise GivenUp
            return future.result()
        finally:
            stop[0] = 1


def _enter_worker() -> None:
    _inside.worker = True


_lock = threading.Lock()
_pools: dict[int, ThreadPoolExecutor] = {}


def pool(threads: int) -> ThreadPoolExecutor:
    """The process's pool of this many threads, made at first use."""
    with _lock:
        if threads not in _pools:
            _pools[threads] = ThreadPoolExecutor(
                threads, thread_name_prefix="suffice", initializer=_enter_worker
            )
        return _pools[threads]


# --- BLAS held at one thread -----------------------------------------------------------------


class _Hold:
    """Counts who needs BLAS at one thread; sets it for the first, restores it after the last."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.holders = 0
        self.libraries: list[Any] | None = None
        self.before: list[int] = []

    def acquire(self) -> None:
        with self.lock:
            if self.libraries is None:
                self.libraries = _blas_libraries()
            if self.holders == 0:
                self.before = [library.get_num_threads() for library in self.libraries]
            # Counted first: a process forked here restores what it finds counted.
            self.holders += 1
            if self.holders == 1:
                for library in self.libraries:
                    _set_threads(library, 1)

    def release(self) -> None:
        with self.lock:
            if self.holders == 1:
                self.restore()
            self.holders -= 1

    def restore(self) -> None:
        for library, threads in zip(self.libraries or [], self.before, strict=True):
            _set_threads(library, threads)


def _set_threads(library: Any, threads: int) -> None:
    # From threadpoolctl 3.8 on, one thread may set OpenBLAS's number and all others are silently
    # ignored; the hold is taken and released by any thread, so it goes past that.
    set_number = getattr(library, "_real_set_num_threads", library.set_num_threads)
    set_number(threads)


def _blas_libraries() -> list[Any]:
    # SciPy brings an OpenBLAS of its own: load it before looking.
    import scipy.linalg  # noqa: F401
    from threadpoolctl import ThreadpoolController

    controllers: list[Any] = ThreadpoolController().select(user_api="blas").lib_controllers
    return controllers


_hold = _Hold()


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Hold BLAS at one thread for the whole process until the last holder leaves."""
    hold = _hold
    hold.acquire()
    try:
        yield
    finally:
        hold.release()


def _after_fork() -> None:
    """A forked child has none of its parent's threads, and maybe its locks, taken."""
    global _lock, _hold
    if _hold.holders:
        _hold.restore()
    _lock, _hold = threading.Lock(), _Hold()
    _pools.clear()
    _inside.worker = False


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
