"""Several fits over one reading of the rows.

Each fit is a method that asks for passes (`suffice.fitting.stepwise`).  Here the passes that
several fits ask for at the same time are made together: a block is read once and summarised for
each of them, with the rows that this fit trains on.  So the folds of a cross-validation, or the
candidates of a search, cost as many readings as the slowest of them.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from traceback import format_exc
from typing import Any

import numpy as np
from numpy.typing import NDArray

from suffice.engines.workers import one_blas_thread
from suffice.fitting.stepwise import Found, Pass, Passes, Stepwise, answered
from suffice.fitting.trace import Trace
from suffice.sources import Block, Source
from suffice.sources.subset import SubsetSource

MOST_AT_ONCE = 256
"""Fits that share a reading: each has a statistic for each block in flight."""


class RunningFit:
    """A fit that sees the rows in its own way, from pass to pass.

    Parameters
    ----------
    model : Stepwise
        Unfitted.
    part : Source
        The rows as it sees them.
    view : function of a block
        From a block of all rows to what it sees of it.

    Attributes
    ----------
    asked : Pass, or None
        What it waits for; None once it has ended.
    error : str, or None
        The traceback of a fit that failed.
    """

    def __init__(self, model: Stepwise, part: Source, view: Callable[[Block], Block]) -> None:
        self.model, self.part, self.view = model, part, view
        self.trace = Trace()
        self.error: str | None = None
        self.asked: Any = None
        self.failure: Exception | None = None
        self._method: Passes = model._passes(self.part)
        self._go_on(self._begun)

    def _begun(self) -> Any:
        self.model._validate_params()
        self.model._take_names(self.part)
        return next(self._method)

    def answer(self, statistic: Any, seconds: float) -> None:
        """Go on with a statistic, up to the next pass over all rows."""
        self._note(statistic, seconds)
        self._go_on(lambda: self._method.send(statistic))

    def fail(self, error: Exception) -> None:
        """End, because a pass could not be made."""
        self.asked, self.failure, self.error = None, error, format_exc()
        self._method.close()

    def summarize(self, block: Block) -> Any:
        """What a block contributes to the pass that it waits for."""
        return self.asked.summarize(self.view(block))

    def _note(self, statistic: Any, seconds: float) -> None:
        objective = self.asked.objective(statistic)
        self.trace = self.trace.extended(self.asked.step, objective, seconds)

    def _go_on(self, step: Any) -> None:
        try:
            self.asked = step()
            # What it has gathered for itself is its own to read.
            while not isinstance(self.asked, Pass) or self.asked.source is not None:
                began = time.perf_counter()
                answer = answered(self.model, self.asked, self.part)
                self._note(answer, time.perf_counter() - began)
                self.asked = self._method.send(answer)
        except StopIteration as end:
            found: Found = end.value
            self.asked = None
            self.model._adopt_found(found, self.trace)
        except Exception as error:  # noqa: BLE001
            self.fail(error)


def on_some_rows(model: Stepwise, source: Source, mask: NDArray[np.bool_]) -> RunningFit:
    """A fit on the rows that a mask chooses."""

    def view(block: Block) -> Block:
        there = mask[block.start : block.start + block.n_rows]
        if there.all():
            return block
        # Rows of weight 0 do not exist.
        weight = there.astype(np.float64) if block.weight is None else block.weight * there
        return replace(block, weight=weight)

    return RunningFit(model, SubsetSource(source, mask), view)


@dataclass(frozen=True)
class Together:
    """The statistics of several fits."""

    parts: tuple[Any, ...]

    @classmethod
    def merge(cls, every: Sequence[Together]) -> Together:
        """Those of each fit merged."""
        fits = zip(*(one.parts for one in every), strict=True)
        return cls(tuple(type(parts[0]).merge(list(parts)) for parts in fits))

    @property
    def nbytes(self) -> int:
        return sum(int(getattr(part, "nbytes", 0)) for part in self.parts)


def in_step(fits: Sequence[RunningFit], source: Source) -> int:
    """Run fits to their ends, together.

    Returns
    -------
    How often the rows were read.
    """
    readings = 0
    with one_blas_thread():
        while waiting := [fit for fit in fits if fit.asked is not None]:
            some = waiting[:MOST_AT_ONCE]
            began = time.perf_counter()

            def summarize(block: Block, some: list[RunningFit] = some) -> Together:
                return Together(tuple(fit.summarize(block) for fit in some))

            try:
                found: Together = some[0].model._pass(source, summarize)
            except ValueError as error:
                for fit in some:
                    fit.fail(error)
                continue
            readings += 1
            seconds = (time.perf_counter() - began) / len(some)
            for fit, statistic in zip(some, found.parts, strict=True):
                fit.answer(statistic, seconds)
    return readings
