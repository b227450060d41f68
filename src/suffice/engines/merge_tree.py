"""The tree in which statistics merge, the same for every engine.

Statistics of runs of `RUN` blocks come first, then `FAN_IN` of those are merged, `FAN_IN` of
these, and so on.  The shape of the tree depends on the number of blocks alone, so a result has
the same bits wherever its parts were made.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Generic, Protocol, Self, TypeVar

FAN_IN = 8
"""Statistics that merge at once."""

RUN = 4
"""Blocks that a worker takes at a time: what is in flight is a few runs."""

LARGE_STATISTIC = 1 << 22
"""Bytes from which statistics are added up one by one, not to hold several."""


class Statistic(Protocol):
    """What a pass merges."""

    @classmethod
    def merge(cls, parts: Sequence[Self]) -> Self: ...


S = TypeVar("S", bound=Statistic)


class MergeTree(Generic[S]):
    """Merges a sequence of statistics in a tree whose shape depends on their number alone."""

    def __init__(self) -> None:
        self.levels: list[list[S]] = []

    def add(self, statistic: S, level: int = 0) -> None:
        if level == len(self.levels):
            self.levels.append([])
        waiting = self.levels[level]
        waiting.append(statistic)
        if _bytes(statistic) > LARGE_STATISTIC:
            self.levels[level] = [_merge(waiting)]
        elif len(waiting) == FAN_IN:
            self.levels[level] = []
            self.add(_merge(waiting), level + 1)

    def result(self) -> S:
        carried: list[S] = []
        for waiting in self.levels:
            parts = waiting + carried
            carried = [_merge(parts)] if parts else []
        return carried[0]


def merged(statistics: Iterable[S]) -> S:
    """All of them, merged in a tree."""
    tree: MergeTree[S] = MergeTree()
    for statistic in statistics:
        tree.add(statistic)
    return tree.result()


def _merge(parts: list[Any]) -> Any:
    return parts[0] if len(parts) == 1 else type(parts[0]).merge(parts)


def _bytes(statistic: Any) -> int:
    return int(getattr(statistic, "nbytes", 0))
