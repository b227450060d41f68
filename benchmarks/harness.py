"""Side by side: contenders take turns on the same data, and their answers are compared.

A race warms every contender up once, keeps its answer, and then times them in turns (A B C,
A B C, …), so that a slow spell of the machine hits all alike.  A ratio is ours over the fastest
peer's; a peer whose answer is further from the reference than the tolerance does not count.
"""

from __future__ import annotations

import multiprocessing
import os
import resource
import statistics
import sys
import time
from collections.abc import Callable, Mapping
from concurrent.futures import Future, ProcessPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

Answer = NDArray[np.float64]
"""Intercept and coefficients."""

OURS = "suffice"

T = TypeVar("T")


@dataclass(frozen=True)
class Options:
    """How to run: on a tenth of the data, and whether to leave files behind."""

    quick: bool = False
    keep_data: bool = False


@dataclass(frozen=True)
class Figures:
    """One quantity, in seconds or bytes, measured several times."""

    values: tuple[float, ...]

    @property
    def best(self) -> float:
        return min(self.values)

    @property
    def median(self) -> float:
        return statistics.median(self.values)

    @property
    def worst(self) -> float:
        return max(self.values)


@dataclass(frozen=True)
class Bar:
    """What a ratio, or with a unit a figure of ours, is held to."""

    limit: float
    strict: bool = True
    aim: float | None = None
    unit: Literal["", "B"] = ""

    def met(self, value: float) -> bool:
        return value < self.limit or (not self.strict and value == self.limit)


@dataclass(frozen=True)
class Line:
    """A line of the main table.

    `differences` holds, for each contender with an answer, the largest difference from the
    reference relative to the largest coefficient.
    """

    work: str
    figures: Mapping[str, Figures]
    bar: Bar
    judged_by: Literal["best", "median", "worst"] = "best"
    unit: Literal["s", "B"] = "s"
    differences: Mapping[str, float] = field(default_factory=dict)
    reference: str = ""
    tolerance: float = 0.0
    note: str = ""

    def figure(self, name: str) -> float:
        return float(getattr(self.figures[name], self.judged_by))

    @property
    def peers(self) -> list[str]:
        return [name for name in self.figures if name != OURS]

    def counts(self, name: str) -> bool:
        return self.differences.get(name, 0.0) <= self.tolerance

    @property
    def ratio(self) -> float | None:
        rivals = [self.figure(name) for name in self.peers if self.counts(name)]
        return self.figure(OURS) / min(rivals) if rivals else None

    @property
    def met(self) -> bool:
        value = self.figure(OURS) if self.bar.unit else self.ratio
        return value is not None and self.bar.met(value)

    @property
    def agrees(self) -> bool:
        return self.counts(OURS)


@dataclass(frozen=True)
class Table:
    """A table of its own, for what is no race."""

    title: str
    introduction: str
    heads: tuple[str, ...]
    cells: tuple[tuple[str, ...], ...]
    agrees: bool = True


@dataclass(frozen=True)
class Failure:
    """A row that could not run; `broken` if that is a fault, not a lack of means."""

    work: str
    reason: str
    broken: bool = True

    @property
    def agrees(self) -> bool:
        return not self.broken


Result = Line | Table | Failure


class Row(Protocol):
    """What the list of benchmarks holds."""

    @property
    def work(self) -> str: ...

    def run(self, options: Options) -> list[Result]: ...


Fit = Callable[[Any, Any], Any]
"""Fits X and y and returns a fitted estimator, or an answer."""


@dataclass(frozen=True)
class Race:
    """Fits of the same data by us and by peers.

    Attributes
    ----------
    work : str
    data : function of Options
        Makes X and y.
    ours : Fit
    peers : mapping of names to Fit
    bar : Bar
    reference : function of X and y, or the name of a peer
        Whose answer counts as true.
    truth : str
        What to call the answer of a function.
    tolerance : float
        Difference from the reference up to which an answer counts.
    rounds : int
        Turns.
    once : frozenset of str
        Peers too slow for more than one turn, which is then also their first.
    units : function of X, optional
        What the numbers of an answer are multiplied with before they are compared.
    """

    work: str
    data: Callable[[Options], tuple[Any, Any]]
    ours: Fit
    peers: Mapping[str, Fit]
    bar: Bar
    reference: Callable[[Any, Any], Any] | str
    truth: str = "the exact solution"
    tolerance: float = 1e-10
    judged_by: Literal["best", "median"] = "best"
    rounds: int = 9
    once: frozenset[str] = frozenset()
    units: Callable[[Any], Answer] | None = None

    def run(self, options: Options) -> list[Result]:
        X, y = self.data(options)
        contenders = {OURS: self.ours, **self.peers}
        seconds: dict[str, list[float]] = {name: [] for name in contenders}
        answers, slowest = {}, 0.0
        for name, fit in contenders.items():
            model, first = timed(fit, X, y)
            slowest = max(slowest, timed(fit, X, y)[1] if name not in self.once else 0.0)
            answers[name] = answer_of(model)
            del model
            if name in self.once:
                seconds[name].append(first)
        regular = {name: fit for name, fit in contenders.items() if name not in self.once}
        measure = rested if slowest > 0.02 else timed
        for _ in range(max(self.rounds // 3, 3) if options.quick else self.rounds):
            for name, fit in regular.items():
                seconds[name].append(measure(fit, X, y)[1])
        if isinstance(self.reference, str):
            truth, reference = answers[self.reference], self.reference
        else:
            truth, reference = answer_of(self.reference(X, y)), self.truth
        unit = 1.0 if self.units is None else self.units(X)
        return [
            Line(
                work=shape(self.work, X),
                figures={name: Figures(tuple(values)) for name, values in seconds.items()},
                bar=self.bar,
                judged_by=self.judged_by,
                differences={n: difference(a * unit, truth * unit) for n, a in answers.items()},
                reference=reference,
                tolerance=self.tolerance,
            )
        ]


def shape(work: str, X: Any) -> str:
    rows, columns = X.shape
    return f"{work}, {rows:,} × {columns:,}"


def rested(function: Callable[..., Any], *args: Any) -> tuple[Any, float]:
    """`timed`, after a pause: the idle threads of the run before must not spin into this one."""
    time.sleep(0.1)
    return timed(function, *args)


def timed(function: Callable[..., Any], *args: Any) -> tuple[Any, float]:
    """What a function returns, and the seconds it took."""
    start = time.perf_counter()
    value = function(*args)
    return value, time.perf_counter() - start


def answer_of(model: Any) -> Answer:
    """Intercept and coefficients of a fitted estimator, or the answer itself.

    Of several targets, one row each.
    """
    if isinstance(model, np.ndarray):
        return model
    if np.ndim(model.coef_) == 2 and np.ndim(model.intercept_) == 1:
        return np.column_stack([model.intercept_, model.coef_])
    return np.append(model.intercept_, model.coef_)


def difference(answer: Answer, truth: Answer) -> float:
    """The largest difference, relative to the largest coefficient; not finite is infinite."""
    value = float(np.abs(answer - truth).max() / np.abs(truth).max())
    return value if np.isfinite(value) else float("inf")


def in_fresh_process(function: Callable[..., T], *args: Any) -> Future[T]:
    """Call a function in a process that has done nothing before, and wait for its end."""
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as pool:
        return pool.submit(function, *args)


def peak_memory() -> float:
    """The most bytes that this process has had resident so far."""
    status = Path("/proc/self/status")
    if status.exists():
        # Unlike ru_maxrss, which a child takes over from the process that started it.
        line = next(line for line in status.read_text().splitlines() if line.startswith("VmHWM"))
        return float(line.split()[1]) * 1024
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return float(peak if sys.platform == "darwin" else peak * 1024)


def cores() -> int:
    """Cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
