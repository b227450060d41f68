"""What an engine is: where passes run, and the two ways in which it is given work.

Passes, gathered rows and sweeps are made of these (`suffice.engines.passes`, `gather`, `sweep`),
so a result does not depend on the engine; a `fold` takes its steps on the calling thread.  A
source says which engine reads it; its default, None, stands for the threads of this process.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Generator, Sequence
from typing import TypeVar

from suffice.engines.merge_tree import RUN
from suffice.sources.base import Piece, Source

T = TypeVar("T")
Item = TypeVar("Item")

Stopped = Callable[[], bool]
"""Tells long work whether its result is still wanted: not after an error elsewhere, or Ctrl-C."""


class Engine(ABC):
    """Where passes run.

    Wherever it calls `work` or `function`, it holds BLAS at one thread
    (`suffice.engines.workers.one_blas_thread`), on which bits may depend.  To another process
    these go by pickle, and so do pieces: those of files as paths and ranges, those of data in
    memory as their rows.
    """

    @abstractmethod
    def in_order(
        self,
        source: Source,
        work: Callable[[list[Piece]], T],
        n_jobs: int | None = None,
        size: int = RUN,
    ) -> Generator[T, None, None]:
        """Results of `work` on each run of `size` blocks, in the rows' order.

        An exception in a block, in the reading, or in the caller (Ctrl-C) stops the pass:
        what was not started is dropped, what runs is waited for, a block each.

        Raises
        ------
        ValueError
            If the source has no rows.
        """

    @abstractmethod
    def each(
        self,
        items: Sequence[Item],
        function: Callable[[Item, Stopped], T],
        n_jobs: int | None = None,
    ) -> list[T]:
        """What a function makes of every item, in their order: trees, columns, restarts.

        Parameters
        ----------
        items : sequence
        function : function of an item and of `stopped`
            Items run at the same time.  Work of more than a second asks `stopped()` now and
            then, and returns at once where that is true.
        n_jobs : int, optional
        """
