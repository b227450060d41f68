"""How many threads a pass may use."""

from __future__ import annotations

import os
import threading
from types import TracebackType
from typing import Any

_lock = threading.Lock()
_threads: int | None = None


def available_threads() -> int:
    """Cores that this process may run on."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def resolve_threads(n_jobs: int | None = None) -> int:
    """The number of threads to use: `n_jobs`, else what `config` set, else all cores.

    Negative numbers count from the number of cores, as joblib's do: −1 is all of them.
    """
    wanted = n_jobs if n_jobs is not None else _threads
    if wanted is None:
        return available_threads()
    if wanted == 0:
        raise ValueError("n_jobs must not be 0; use 1 for one thread, -1 for all cores")
    return int(wanted) if wanted > 0 else max(available_threads() + 1 + int(wanted), 1)


def _after_fork() -> None:
    """Another thread may have held the lock when the process was forked."""
    global _lock
    _lock = threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


class config:
    """Set options for the process, or for a `with` block.

    Parameters
    ----------
    threads : int or None
        Threads that a pass may use; None means one per core.  The number changes how
        long a fit takes, never a bit of its result.

    Examples
    --------
    >>> import suffice
    >>> with suffice.config(threads=1):
    ...     pass
    """

    def __init__(self, *, threads: int | None = None) -> None:
        whole: Any = threads
        if whole is not None and (type(whole) is not int or whole < 1):
            raise ValueError(f"threads must be a positive whole number or None, got {threads!r}")
        global _threads
        with _lock:
            self._mine, self._previous, _threads = threads, _threads, threads

    def __enter__(self) -> config:
        global _threads
        with _lock:
            _threads = self._mine
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        global _threads
        with _lock:
            _threads = self._previous

    def __repr__(self) -> str:
        return f"config(threads={_threads!r})"
