"""Several methods of one fit, such as restarts, over the same readings of the rows."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from suffice.fitting.driver import Running
from suffice.fitting.requests import Pass, Request, StopAsked
from suffice.fitting.shared_passes import Together
from suffice.sources import Block

T = TypeVar("T")


@dataclass(frozen=True, eq=False)
class Summaries:
    """What several methods make of a block."""

    functions: tuple[Any, ...]

    def __call__(self, block: Block) -> Together:
        return Together(tuple(summarize(block) for summarize in self.functions))


def side_by_side(
    methods: Sequence[Generator[Request, Any, T]],
) -> Generator[Request, Any, list[T]]:
    """Run methods that ask for passes alone together; what each returned.

    A pass of all shows in the trace as that of the first that still waits, with the least objective
    of all.
    """
    if len(methods) == 1:
        return [(yield from methods[0])]
    running = [Running(method) for method in methods]
    for one in running:
        one.start()
    while waiting := [one for one in running if one.asked is not None]:
        asked: list[Pass] = [one.asked for one in waiting]

        def least(found: Together, asked: Sequence[Pass] = tuple(asked)) -> float:
            pairs = zip(asked, found.parts, strict=True)
            return min(one.objective(part) for one, part in pairs)

        try:
            found = yield Pass(
                asked[0].step,
                Summaries(tuple(one.summarize for one in asked)),
                least,
                learned=asked[0].learned,
            )
        except StopAsked:
            for one in waiting:
                one.ask_to_stop()
            continue
        for one, part in zip(waiting, found.parts, strict=True):
            one.send(part)
    return [one.result for one in running]
