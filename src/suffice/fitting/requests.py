"""What a fit may ask for: every fit is a generator of these requests.

A method yields a request, is sent the answer, and returns what it `Found`.  It never sees the
rows, so whoever drives it (`suffice.fitting.driver`) decides where they are, and several fits can
share one reading of them (`suffice.fitting.shared_passes`).

    Pass      every block summarised, the statistics merged
    Fold      one step a block, each from the state that the last one left
    Gather    all rows in memory
    Keep      state beside the rows, in shards that live until the fit ends
    Sweep     every shard changed and summarised, the statistics merged
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, TypeVar

from suffice.engines.sweep import Columns, Shard, Shards
from suffice.fitting.certificate import Certificate
from suffice.fitting.trace import Trace
from suffice.sources import Block, Source


def nothing(answer: Any) -> float:
    """The objective of a step that has none."""
    return float("nan")


class Verdict:
    """What became of a pass: a method says so before it asks for the next thing.

    Attributes
    ----------
    rejected : bool
        Whether the method turned back from the point that it had tried.
    """

    rejected = False


@dataclass(frozen=True)
class Pass:
    """One pass over the rows; the answer is the merged statistic.

    Attributes
    ----------
    step : str, function of the statistic, or None
        What it is for, in the trace; None leaves it out there, and tells no callback.
    summarize : function of a block
    objective : function of the statistic, optional
        What the trace should show.
    source : Source, optional
        Rows that the method has gathered for itself, to be read instead of all rows.
    learned : function, optional
        What callbacks may see of the model, once the method asks for the next thing.
    verdict : Verdict
        For the method to write on.
    """

    step: str | Callable[[Any], str] | None
    summarize: Callable[[Block], Any]
    objective: Callable[[Any], float] = nothing
    source: Source | None = None
    learned: Callable[[], dict[str, Any] | None] | None = None
    verdict: Verdict = field(default_factory=Verdict, repr=False, compare=False)


@dataclass(frozen=True)
class Fold:
    """One pass in steps that follow one another; the answer is the last state.

    Attributes
    ----------
    step : str, or None
    take : function of a state and a block
        The next state.
    state : object
        Where the pass begins; a fresh one each time, for `take` may change it.
    seed : sequence of int, optional
        Of the order in which blocks and rows come; without, as in the source.
    objective : function of the last state, optional
    source : Source, optional
        Rows to be read instead of all rows.
    learned : function, optional
        As of a `Pass`.
    """

    step: str | None
    take: Callable[[Any, Block], Any]
    state: Any
    seed: Sequence[int] | None = None
    objective: Callable[[Any], float] = nothing
    source: Source | None = None
    learned: Callable[[], dict[str, Any] | None] | None = None


@dataclass(frozen=True)
class Gather:
    """All rows that have a weight; the answer is `suffice.engines.gather.Rows`.

    Attributes
    ----------
    step : str, or None
    source : Source, optional
        Rows to be read instead of all rows.
    learned : function, optional
        As of a `Pass`.
    """

    step: str | None
    source: Source | None = None
    learned: Callable[[], dict[str, Any] | None] | None = None


@dataclass(frozen=True)
class Keep:
    """State beside the rows; the answer is `Shards`, closed when the fit ends.

    Attributes
    ----------
    step : str, or None
    prepare : function of a block
        Read-only columns, by their names.  Fits to different folds share them if their
        functions are equal (functions of a module, or frozen records that can be compared);
        so they must not depend on the weights.
    source : Source, optional
        Rows to be read instead of all rows.
    """

    step: str | None
    prepare: Callable[[Block], Columns]
    source: Source | None = None


@dataclass(frozen=True)
class Sweep:
    """All shards changed and summarised; the answer is the merged statistic.

    Attributes
    ----------
    step : str, or None
    shards : Shards
    function : function of a shard
        What the fit keeps there from now on, and a statistic.
    objective : function of the statistic, optional
    """

    step: str | None
    shards: Shards
    function: Callable[[Shard], tuple[Any, Any]]
    objective: Callable[[Any], float] = nothing


Request = Pass | Fold | Gather | Keep | Sweep
Asked = TypeVar("Asked", bound=Request)
Answer = TypeVar("Answer")


class Found(NamedTuple):
    """What a method found.

    Attributes
    ----------
    attributes : dict
        What is learned, by the names of the attributes.
    certificate : Certificate
    objective : float, optional
        Of the last step, where only solving told it.
    more : Trace
        Steps that needed no rows, after those that did.
    """

    attributes: dict[str, Any]
    certificate: Certificate
    objective: float | None = None
    more: Trace = Trace()


Passes = Generator[Request, Any, Found]
"""A fit: a method that asks for passes."""


class StopAsked(Exception):
    """Thrown into a method that asks for more when a callback wants the fit to stop."""


def at_will(asked: Asked) -> Generator[Asked, Any, Any]:
    """A request that a wish to stop makes void: it raises `StopAsked`."""
    return (yield asked)


def needed(asked: Asked) -> Generator[Asked, Any, Any]:
    """A request that a method cannot do without: a wish to stop waits until it is answered."""
    try:
        return (yield asked)
    except StopAsked:
        return (yield asked)


def reading(
    requests: Generator[Request, Any, Answer], source: Source
) -> Generator[Request, Any, Answer]:
    """A method whose requests are answered from some of the rows."""
    answer: Any = None
    try:
        request = next(requests)
        while True:
            if not isinstance(request, Sweep):
                request = replace(request, source=source)
            answer = yield request
            request = requests.send(answer)
    except StopIteration as end:
        return end.value
