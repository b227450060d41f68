"""Several fits over one reading of the rows.

Each fit is a method that asks for passes (`suffice.fitting.requests`).  Here the passes that
several fits ask for at the same time are made together: a block is read once and summarised for
each of them, with the rows that this fit trains on.  So the folds of a cross-validation, or the
candidates of a search, cost as many readings as the slowest of them.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from traceback import clear_frames, format_exc
from typing import Any

import numpy as np
from numpy.typing import NDArray

from suffice.engines.sweep import Columns, Shards, keep
from suffice.engines.workers import one_blas_thread
from suffice.fitting.driver import Running, answered, objective_of
from suffice.fitting.estimator import Estimator
from suffice.fitting.requests import Keep, Pass
from suffice.sources import Block, Source
from suffice.sources.derived.subset import SubsetSource

MOST_AT_ONCE = 256
"""Fits that share a reading: each has a statistic for each block in flight."""


class SharedColumns:
    """Columns that fits keep beside all rows of a source: those asked for alike are made once."""

    def __init__(self, source: Source, n_jobs: int | None = None) -> None:
        self.source, self.n_jobs = source, n_jobs
        self._kept: list[tuple[Callable[[Block], Columns], Shards]] = []

    def of(self, prepare: Callable[[Block], Columns]) -> Shards:
        """What a function makes of the rows."""
        for known, shards in self._kept:
            if known == prepare:
                return shards
        self._kept.append((prepare, keep(self.source, prepare, self.n_jobs)))
        return self._kept[-1][1]

    def close(self) -> None:
        """Let go of them."""
        while self._kept:
            self._kept.pop()[1].close()


class RunningFit:
    """A fit that sees the rows in its own way, from pass to pass.

    Parameters
    ----------
    model : Estimator
        Unfitted.
    part : Source
        The rows as it sees them.
    view : function of a block
        From a block of all rows to what it sees of it.
    keep : function of a request, optional
        Shards from which it goes on when it asks to keep something beside its rows; by
        default it reads its part for them.

    Attributes
    ----------
    asked : Pass, or None
        What it waits for; None once it has ended.
    error : str, or None
        The traceback of a fit that failed.
    """

    def __init__(
        self,
        model: Estimator,
        part: Source,
        view: Callable[[Block], Block],
        keep: Callable[[Keep], Shards] | None = None,
    ) -> None:
        self.model, self.part, self.view, self.keep = model, part, view, keep
        self.error: str | None = None
        self.failure: Exception | None = None
        self._before, self._ended = dict(vars(model)), False
        self._running = Running(model._passes(part))
        self._go_on(self._begin)

    @property
    def asked(self) -> Any:
        return self._running.asked

    def _begin(self) -> None:
        self.model._validate_params()
        self.model._take_names(self.part)
        self.model._take_target_names(self.part, None, reset=True)
        self.model._take_target(self.part, reset=True)
        self._running.start()

    def answer(self, statistic: Any, seconds: float) -> None:
        """Go on with a statistic, up to the next pass over all rows."""
        self._go_on(lambda: self._answer(statistic, seconds))

    def fail(self, error: Exception) -> None:
        """End, because a pass could not be made."""
        self.failure, self.error = error, format_exc()
        clear_frames(error.__traceback__)  # what they hold of the rows
        self.close()

    def close(self) -> None:
        """Give up, where it has not ended: the model is then as it was."""
        if not self._ended:
            self.model.__dict__ = self._before
        self._running.asked = None
        self._running.close()

    def _answer(self, answer: Any, seconds: float) -> None:
        asked, objective = self.asked, objective_of(self.asked, answer)
        began = time.perf_counter()
        self._running.send(answer)
        self._running.note(asked, answer, objective, seconds + time.perf_counter() - began)

    def _go_on(self, step: Callable[[], None]) -> None:
        try:
            step()
            # What it has gathered for itself, or keeps beside its rows, is its own to read.
            while self.asked is not None and not self._shares(self.asked):
                began = time.perf_counter()
                answer = self._own_answer(self.asked)
                self._answer(answer, time.perf_counter() - began)
            if self.asked is None:
                self.model._adopt_found(self._running.result, self._running.trace)
                self._ended = True
                self.close()
        except Exception as error:  # noqa: BLE001
            self.fail(error)
        except BaseException:
            self.close()
            raise

    @staticmethod
    def _shares(asked: Any) -> bool:
        return isinstance(asked, Pass) and asked.source is None

    def _own_answer(self, asked: Any) -> Any:
        if isinstance(asked, Keep) and asked.source is None and self.keep is not None:
            self._running.kept.append(self.keep(asked))
            return self._running.kept[-1]
        return answered(self.model, asked, self.part, self._running.kept)


def on_some_rows(
    model: Estimator,
    source: Source,
    mask: NDArray[np.bool_],
    columns: SharedColumns | None = None,
) -> RunningFit:
    """A fit on the rows that a mask chooses; what it keeps beside them, other fits may share."""

    def among(asked: Keep) -> Shards:
        assert columns is not None
        return columns.of(asked.prepare).among(mask)

    view = partial(_among, mask=mask)
    return RunningFit(model, SubsetSource(source, mask), view, None if columns is None else among)


def _among(block: Block, mask: NDArray[np.bool_]) -> Block:
    """A block in which the other rows have weight 0, which is to say that they do not exist."""
    there = mask[block.start : block.start + block.n_rows]
    if there.all():
        return block
    weight = there.astype(np.float64) if block.weight is None else block.weight * there
    return replace(block, weight=weight)


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
    try:
        with one_blas_thread():
            while waiting := [fit for fit in fits if fit.asked is not None]:
                readings += _answer(waiting[:MOST_AT_ONCE], source)
    finally:
        for fit in fits:
            fit.close()
    return readings


def _answer(fits: Sequence[RunningFit], source: Source) -> int:
    """Make the passes that fits wait for in one, and go on with each; how often rows were read."""
    began = time.perf_counter()
    try:
        asked = [(fit.view, fit.asked.summarize) for fit in fits]
        found: Together = fits[0].model._pass(source, partial(_together, asked=asked))
    except Exception as error:  # noqa: BLE001
        if len(fits) == 1:
            fits[0].fail(error)
            return 0
        # The rows, or the loss, of one of them may be to blame: the others can end.
        return sum(_answer([fit], source) for fit in fits)
    seconds = (time.perf_counter() - began) / len(fits)
    for fit, statistic in zip(fits, found.parts, strict=True):
        fit.answer(statistic, seconds)
    return 1


def _together(block: Block, asked: Sequence[tuple[Any, Any]]) -> Together:
    return Together(tuple(summarize(view(block)) for view, summarize in asked))
