"""Rows to grow a tree from, and the draws that are made for it."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import replace
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state

from suffice.fitting.requests import Request, Sweep
from suffice.sources import Source

Floats = NDArray[np.float64]
Answer = TypeVar("Answer")


class TreeSample(NamedTuple):
    """Rows as a tree grows from them.

    Attributes
    ----------
    cells : float array of shape (rows, columns)
        Categories as numbers; NaN where a cell is missing.
    y : array of shape (rows,)
        Numbers of classes, or targets.
    weight : float64 array of shape (rows,), or None
    """

    cells: Any
    y: NDArray[Any]
    weight: Floats | None


def seed_of(random_state: Any) -> int:
    """A seed, drawn in scikit-learn's way."""
    return int(check_random_state(random_state).randint(1 << 31))


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
