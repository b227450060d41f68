"""The E step of a mixture: the responsibilities of its components for rows.

    r_c(x) = π_c p_c(x) / Σ_b π_b p_b(x)      soft
    r_c(x) = 1 for the c of the largest π_c p_c(x), 0 for the others      hard

A row with a label belongs to the component of that label.  What is summed over rows is the
observed-data log-likelihood, log Σ_c π_c p_c(x), and log π_c p_c(x) where c is known; for hard EM
it is the largest of these, the classification likelihood.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from suffice.fitting.em import Expected
from suffice.sources import Block
from suffice.statistics.base import present

Floats = NDArray[np.float64]
UNKNOWN = -1
"""The component of a row without a label."""


class Components(Protocol):
    """The distributions of a mixture.

    Attributes
    ----------
    rows_at_once : int
        Rows that are best worked on together.
    """

    @property
    def rows_at_once(self) -> int: ...

    def expected(self, X: Any) -> tuple[Floats, Callable[[Floats], Any]]:
        """Log densities of shape (components, rows), and a function from shares to a statistic."""


def posterior(joint: Floats) -> tuple[Floats, Floats]:
    """Responsibilities, and log Σ_c exp of each row, from log π_c p_c(x) in shape (c, rows).

    Where no component allows a row, all are as responsible.
    """
    top = joint.max(axis=0)
    never = np.isneginf(top)
    if never.any():
        joint, top = np.where(never, 0.0, joint), np.where(never, 0.0, top)
    shares = np.exp(joint - top)
    total = shares.sum(axis=0)
    shares /= total
    found = top + np.log(total)
    return shares, np.where(never, -np.inf, found) if never.any() else found


def classified(joint: Floats, component: NDArray[np.intp]) -> tuple[Floats, Floats]:
    """The same for rows whose component is known."""
    shares, rows = np.zeros(joint.shape), np.arange(joint.shape[1])
    shares[component, rows] = 1.0
    return shares, joint[component, rows]


def shared(joint: Floats, label: NDArray[np.intp] | None, hard: bool) -> tuple[Floats, Floats]:
    """Responsibilities and log-likelihoods of rows, of which some may have labels."""
    if hard:
        component = joint.argmax(axis=0)
        if label is not None:
            component = np.where(label == UNKNOWN, component, label)
        return classified(joint, component)
    shares, found = posterior(joint)
    if label is not None and (known := label != UNKNOWN).any():
        shares[:, known], found[known] = classified(joint[:, known], label[known])
    return shares, found


@dataclass(frozen=True, eq=False)
class Expectation:
    """The E step as the summary of a block.

    Attributes
    ----------
    components : Components
    log_weights : array of shape (components,)
    hard : bool
    label : function of a block, optional
        The component of each row, `UNKNOWN` for most.
    """

    components: Components
    log_weights: Floats
    hard: bool = False
    label: Callable[[Block], NDArray[np.intp]] | None = None

    def __call__(self, block: Block) -> Expected:
        """The statistic of a block's rows, and their log-likelihood."""
        label = None if self.label is None else self.label(block)
        weight, X, label = present(block.weight, block.X, label)
        X, step, total = as_float64(X), self.components.rows_at_once, 0.0
        statistic: Any = None
        for start in range(0, len(X), step):
            rows = slice(start, start + step)
            logs, summarize = self.components.expected(X[rows])
            joint = logs + self.log_weights[:, None]
            shares, found = shared(joint, None if label is None else label[rows], self.hard)
            if weight is not None:
                shares, found = shares * weight[rows], found * weight[rows]
            total += float(found.sum())
            part = summarize(shares)
            statistic = part if statistic is None else type(part).merge([statistic, part])
        return Expected(statistic, total)


def as_float64(X: Any) -> Any:
    """Cells of a table of numbers as float64; that they are finite was seen at the start."""
    return np.asarray(X, np.float64) if isinstance(X, np.ndarray) else X
