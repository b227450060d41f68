"""Responsibilities at random, each row's from its own number."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from suffice.fitting.em import Expected
from suffice.mixtures.latent.responsibilities import UNKNOWN, Components, as_float64
from suffice.sources import Block
from suffice.sources.derived.subset import bits_of_rows
from suffice.statistics.base import present


@dataclass(frozen=True, eq=False)
class RandomResponsibilities:
    """A first E step as the summary of a block.

    Attributes
    ----------
    components : Components
        Who summarises rows by shares.
    n_components : int
    seed : int
    label : function of a block, optional
        The component of each row that has a label.
    """

    components: Components
    n_components: int
    seed: int
    label: Any = None

    def __call__(self, block: Block) -> Expected:
        """The statistic of the rows."""
        stop = block.start + block.n_rows
        bits = [bits_of_rows(block.start, stop, self.seed + c) for c in range(self.n_components)]
        shares = np.array(bits, np.float64) + 1.0
        shares /= shares.sum(axis=0)
        if self.label is not None:
            label = self.label(block)
            known = np.flatnonzero(label != UNKNOWN)
            shares[:, known] = 0.0
            shares[label[known], known] = 1.0
        if block.weight is not None:
            shares *= block.weight
        _, X, by_row = present(block.weight, block.X, shares.T)
        X, step, statistic = as_float64(X), self.components.rows_at_once, None
        for i in range(0, len(X), step):
            shares = np.ascontiguousarray(by_row[i : i + step].T)
            part = self.components.expected(X[i : i + step])[1](shares)
            statistic = part if statistic is None else type(part).merge([statistic, part])
        return Expected(statistic, 0.0)
