"""An engine of other processes, which get what they work on by pickle."""

from __future__ import annotations

import pickle
from collections import deque
from concurrent.futures import ProcessPoolExecutor
from contextlib import closing
from itertools import islice
from typing import Any

import numpy as np

from suffice.engines.engine import Engine
from suffice.engines.merge_tree import RUN
from suffice.engines.workers import never, one_blas_thread
from suffice.statistics.sums import Sums


class Processes(Engine):
    """Runs of blocks are sent to processes; `sent` are the pickled runs."""

    def __init__(self, executor: ProcessPoolExecutor) -> None:
        self.executor, self.sent = executor, []

    def in_order(self, source, work, n_jobs=None, size=RUN):
        waiting: Any = deque()
        with closing(source.pieces()) as pieces:
            while run := list(islice(pieces, size)):
                self.sent.append(pickle.dumps(run))
                waiting.append(self.executor.submit(called, pickle.dumps((work, run))))
                if len(waiting) > 4:
                    yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()

    def each(self, items, function, n_jobs=None):
        sent = [pickle.dumps((function, item, never)) for item in items]
        return [future.result() for future in [self.executor.submit(called, s) for s in sent]]


def called(pickled: bytes) -> Any:
    """What a function makes of its arguments, with BLAS at one thread as an engine owes it."""
    function, *arguments = pickle.loads(pickled)
    with one_blas_thread():
        return function(*arguments)


def first_and_target(block: Any) -> dict[str, Any]:
    """Columns to keep."""
    return {"first": np.array(block.X[:, 0]), "y": np.array(block.y)}


def counted(shard: Any) -> tuple[int, Sums]:
    """How often a shard was swept."""
    own = 1 if shard.own is None else shard.own + 1
    return own, Sums((np.array([own * shard.n_rows, shard.columns["y"].sum()]),))
