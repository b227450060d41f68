"""Who answers what a fit asks for (`suffice.fitting.requests`)."""

from __future__ import annotations

import time
from collections.abc import Generator
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from suffice.engines.fold import fold
from suffice.engines.gather import gather
from suffice.engines.sweep import Shards, keep, sweep
from suffice.fitting.callbacks import FitTask
from suffice.fitting.requests import (
    Fold,
    Found,
    Gather,
    Keep,
    Pass,
    Request,
    StopAsked,
    Sweep,
    nothing,
)
from suffice.fitting.trace import Trace
from suffice.sources import Source

if TYPE_CHECKING:
    from suffice.fitting.estimator import Estimator

T = TypeVar("T")


class Running(Generic[T]):
    """A method on its way: what it waits for, what it has kept, and the trace of its steps.

    Attributes
    ----------
    asked : Request, or None
        What it waits for; None once it has returned.
    result : object
        What it returned.
    """

    def __init__(self, method: Generator[Request, Any, T]) -> None:
        self.method = method
        self.kept: list[Shards] = []
        self.result: T
        self.asked: Any = None
        self._steps: list[tuple[str, float, float, bool]] = []

    def start(self) -> None:
        """Up to the first request."""
        self._resume(lambda: next(self.method))

    def send(self, answer: Any) -> None:
        """Go on with an answer, up to the next request."""
        self._resume(lambda: self.method.send(answer))

    def ask_to_stop(self) -> None:
        """Tell the method, at its request, that a callback wants it to stop."""
        if self.asked is not None:
            self._resume(lambda: self.method.throw(StopAsked()))

    def _resume(self, step: Any) -> None:
        try:
            self.asked = step()
        except StopIteration as end:
            self.asked, self.result = None, end.value

    def note(self, asked: Request, answer: Any, objective: float, seconds: float) -> None:
        """Add a step to the trace, if it has a name."""
        name = asked.step(answer) if callable(asked.step) else asked.step
        if name is not None:
            accepted = not (isinstance(asked, Pass) and asked.verdict.rejected)
            self._steps.append((name, float(objective), seconds, accepted))

    @property
    def trace(self) -> Trace:
        return Trace(*(tuple(column) for column in zip(*self._steps, strict=True)))

    def close(self) -> None:
        """Let go of what was kept beside the rows."""
        try:
            self.method.close()
        finally:
            while self.kept:
                self.kept.pop().close()


def driven(
    model: Estimator, method: Generator[Request, Any, T], source: Source, task: FitTask
) -> tuple[T, Trace]:
    """Answer what a method asks for, until it returns.

    The context of a step, as callbacks see it, ends when the method asks for the next: by then it
    has solved what the step is for.

    Parameters
    ----------
    model : Estimator
        Whose fit this is.
    method : generator of requests
    source : Source
    task : FitTask
        Who is told about the steps.

    Returns
    -------
    What the method returned, and the trace of its steps.
    """
    running, stop = Running(method), False
    try:
        running.start()
        while running.asked is not None:
            if stop:
                running.ask_to_stop()
            asked = running.asked
            if asked is None:
                break
            began = time.perf_counter()
            with task.one_pass(asked) as outcome:
                answer = answered(model, asked, source, running.kept)
                objective = objective_of(asked, answer)
                running.send(answer)
            running.note(asked, answer, objective, time.perf_counter() - began)
            stop = stop or outcome.stop
        return running.result, running.trace
    finally:
        running.close()


def delegated(model: Estimator, source: Source, label: str | None) -> Generator[Request, Any, None]:
    """A model's fit on rows of its own, as a part of another model's fit: who drives that answers.

    Parameters
    ----------
    model : Estimator
        Unfitted.
    source : Source
    label : str, or None
        What is put before the names of its steps; None leaves them to the model's own trace.
    """
    model._validate_params()
    source = model._training_source(source, None, None)
    running = Running(model._passes(source))
    try:
        running.start()
        while (asked := running.asked) is not None:
            began = time.perf_counter()
            try:
                answer = yield part_of(asked, source, label)
            except StopAsked:
                running.ask_to_stop()
                continue
            if isinstance(asked, Keep):
                running.kept.append(answer)  # one of many parts: it lets go of its own
            objective = objective_of(asked, answer)
            running.send(answer)
            running.note(asked, answer, objective, time.perf_counter() - began)
        model._adopt_found(running.result, running.trace)
    finally:
        running.close()


def part_of(asked: Request, source: Source, label: str | None) -> Request:
    """A request of a part, as one of the whole."""
    name = asked.step
    changes: dict[str, Any] = {"step": None}
    if label is not None and name is not None:
        changes["step"] = (lambda answer: label + name(answer)) if callable(name) else label + name
    if not isinstance(asked, Sweep):
        changes["source"] = asked.source or source
    if isinstance(asked, Pass | Fold | Gather):
        changes["learned"] = None  # what a part has learned are no attributes of the whole
    return replace(asked, **changes)


def answered(model: Estimator, asked: Request, source: Source, kept: list[Shards]) -> Any:
    """What a method has asked for; shards are added to `kept`, whose owner closes them."""
    n_jobs = model._n_jobs()
    source = getattr(asked, "source", None) or source
    if isinstance(asked, Pass):
        return model._pass(source, asked.summarize)
    if isinstance(asked, Fold):
        return fold(source, asked.take, asked.state, seed=asked.seed, n_jobs=n_jobs)
    if isinstance(asked, Gather):
        return gather(source, type(model).__name__, model._takes_missing(), n_jobs)
    if isinstance(asked, Keep):
        kept.append(keep(source, asked.prepare, n_jobs))
        return kept[-1]
    return sweep(asked.shards, asked.function, n_jobs)


def objective_of(asked: Request, answer: Any) -> float:
    """What the trace shows of a step."""
    return getattr(asked, "objective", nothing)(answer)


def completed(found: Found, trace: Trace) -> Trace:
    """The trace of a fit with what only solving told."""
    if found.objective is not None and len(trace):
        trace = replace(trace, objective=(*trace.objective[:-1], found.objective))
    return trace + found.more
