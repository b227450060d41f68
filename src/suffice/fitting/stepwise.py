"""Fits that ask for passes: a method written as a generator, and who answers it.

An iterative method is a generator.  It yields a `Pass` (what each block contributes), is sent
the merged statistic, and returns what it `Found`.  It never sees the rows, so whoever drives
it decides where they are, and several fits can share one reading of them: `in_step` drives
the fits of all folds and candidates of a cross-validation at once.
"""

from __future__ import annotations

import time
from abc import abstractmethod
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeVar

from suffice.engines.fold import fold
from suffice.fitting.base import Estimator
from suffice.fitting.callbacks import FitTask
from suffice.fitting.certificate import Certificate
from suffice.fitting.trace import Trace
from suffice.sources import Block, Source

T = TypeVar("T")
Asked = TypeVar("Asked", bound="Pass | Fold")


@dataclass(frozen=True)
class Pass:
    """One pass over the rows.

    Attributes
    ----------
    step : str
        What it is for, in the trace.
    summarize : function of a block
    objective : function of the statistic, optional
        What the trace should show.
    source : Source, optional
        Rows that the method has gathered for itself, to be read instead of all rows.
    """

    step: str
    summarize: Callable[[Block], Any]
    objective: Callable[[Any], float] = lambda statistic: float("nan")
    source: Source | None = None


@dataclass(frozen=True)
class Fold:
    """One pass in steps that follow one another (`suffice.engines.fold`).

    Attributes
    ----------
    step : str
        What it is for, in the trace.
    take : function of a state and a block
        The next state.
    state : object
        Where the pass begins; a fresh one each time, for `take` may change it.
    seed : sequence of int, optional
        Of the order in which blocks and rows come; without, as in the source.
    objective : function of the last state, optional
        What the trace should show.
    source : Source, optional
        Rows to be read instead of all rows.
    """

    step: str
    take: Callable[[Any, Block], Any]
    state: Any
    seed: Sequence[int] | None = None
    objective: Callable[[Any], float] = lambda state: float("nan")
    source: Source | None = None


class Found(NamedTuple):
    """What a method found: the learned attributes and what is proved about them."""

    attributes: dict[str, Any]
    certificate: Certificate


Passes = Generator[Pass | Fold, Any, Found]
"""A method that asks for passes."""


class StopAsked(Exception):
    """Thrown into a method at a yield when a callback asks to stop; holds the pass's result."""

    @property
    def statistic(self) -> Any:
        return self.args[0]


def needed(asked: Asked) -> Generator[Asked, Any, Any]:
    """A pass that a method cannot do without: a wish to stop waits for the next."""
    try:
        return (yield asked)
    except StopAsked as stop:
        return stop.statistic


class Stepwise(Estimator):
    """A model found by a method that asks for passes."""

    max_iter: int | None
    n_iter_: Any

    @abstractmethod
    def _passes(self, source: Source) -> Passes:
        """The method, about to start on these rows."""

    def _so_far(self) -> dict[str, Any] | None:
        """What callbacks may see of a running fit."""
        return None

    def _learn(self, source: Source, task: FitTask) -> None:
        self._adopt_found(*driven(self, self._passes(source), source, task, self._so_far))

    def _adopt_found(self, found: Found, trace: Trace) -> None:
        self.__dict__.update(found.attributes)
        self.trace_, self.certificate_ = trace, found.certificate


def driven(
    model: Estimator,
    method: Generator[Pass | Fold, Any, T],
    source: Source,
    task: FitTask,
    so_far: Callable[[], dict[str, Any] | None] = lambda: None,
) -> tuple[T, Trace]:
    """Answer what a method asks for, until it returns.

    Parameters
    ----------
    model : Estimator
        Whose fit this is.
    method : generator of passes
    source : Source
    task : FitTask
    so_far : function, optional
        What callbacks may see of the running fit.

    Returns
    -------
    What the method returned, and the trace of its passes.
    """
    trace = Trace()
    try:
        asked = next(method)
        while True:
            began = time.perf_counter()
            with task.one_pass(so_far) as outcome:
                statistic = answered(model, asked, source)
            trace = _noted(trace, asked, statistic, began)
            asked = method.throw(StopAsked(statistic)) if outcome.stop else method.send(statistic)
    except StopIteration as end:
        return end.value, trace


def answered(model: Estimator, asked: Pass | Fold, source: Source) -> Any:
    """What a method has asked for, from these rows or from those that it has gathered."""
    source = asked.source or source
    if isinstance(asked, Pass):
        return model._pass(source, asked.summarize)
    return fold(source, asked.take, asked.state, seed=asked.seed, n_jobs=model._n_jobs())


def _noted(trace: Trace, asked: Pass | Fold, statistic: Any, began: float) -> Trace:
    return trace.extended(asked.step, asked.objective(statistic), time.perf_counter() - began)
