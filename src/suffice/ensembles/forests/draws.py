"""The rows that each tree of a forest draws, told by its seed and its number alone."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from suffice.fitting.files.registry import register
from suffice.kernels.trees.random_numbers import draw_rows

Floats = NDArray[np.float64]
STEPS = (0xD1342543DE82EF95, 0xF1357AEA2E62A9C5, 0x9FB21C651E98DF25)
"""Odd numbers that keep apart what is mixed from seeds, trees and purposes."""


def key_of(*numbers: int) -> int:
    """A key of 64 bits from a seed, the number of a tree and what it is for."""
    return sum(step * (one + 1) for step, one in zip(STEPS, numbers, strict=False)) % (1 << 64)


@dataclass(frozen=True, eq=False)
class Bootstrap:
    """How often each tree draws each row.

    Attributes
    ----------
    seed, n_rows, n_draws : int
    cumulative : float64 array of shape (rows,), or (0,)
        Sums of weights, in whose proportion rows are drawn; empty if all are alike.
    place : int64 array of shape (rows,), or (0,)
        Which rows of the fit these are, if some others had no weight.
    n_given : int
        Rows of the fit.
    digest : str
        Of their cells and targets: other rows were left out by nobody.
    """

    seed: int
    n_rows: int
    n_draws: int
    cumulative: Floats
    place: NDArray[np.int64]
    n_given: int
    digest: str

    @classmethod
    def of(cls, rows: Any, seed: int, n_draws: int) -> Bootstrap:
        """The draws from rows in bins."""
        cumulative = np.empty(0) if rows.weight is None else np.cumsum(rows.weight)
        return cls(seed, rows.n_rows, n_draws, cumulative, rows.place, rows.n_given, rows.digest)

    def counts(self, tree: int) -> NDArray[np.int32]:
        """How often a tree draws each row."""
        counts = np.empty(self.n_rows, np.int32)
        draw_rows(key_of(self.seed, tree, 0), self.n_draws, self.cumulative, counts)
        return counts

    def out_of_bag(self, tree: int) -> NDArray[np.int64]:
        """The rows that a tree does not draw."""
        return np.flatnonzero(self.counts(tree) == 0)

    def samples(self, tree: int) -> NDArray[np.int64]:
        """The rows of the fit that a tree draws, as often as it does."""
        rows = np.repeat(np.arange(self.n_rows), self.counts(tree))
        return self.place[rows] if len(self.place) else rows

    def spread(self, answers: Floats) -> Floats:
        """Answers for all rows of the fit, NaN for those without weight."""
        if not len(self.place):
            return answers
        out = np.full((self.n_given, *answers.shape[1:]), np.nan)
        out[self.place] = answers
        return out

    def are(self, other: Bootstrap) -> bool:
        """Whether others draw the same from the same rows."""
        ours, theirs = ((one.seed, one.n_rows, one.n_draws, one.digest) for one in (self, other))
        return ours == theirs and np.array_equal(self.cumulative, other.cumulative)

    def _check_loaded(self) -> None:
        """Raise ValueError unless what a file holds could have drawn rows."""
        numbers = (self.seed, self.n_rows, self.n_draws, self.n_given)
        if any(type(one) is not int or one < 0 for one in numbers) or self.n_rows < 1:
            raise ValueError("its draws are not of so many rows")
        if not isinstance(self.digest, str):
            raise ValueError("its draws are of rows that are not known")
        parts: tuple[tuple[Any, type], ...] = (
            (self.cumulative, np.float64),
            (self.place, np.int64),
        )
        for part, dtype in parts:
            if not isinstance(part, np.ndarray) or part.dtype != dtype:
                raise ValueError("its draws are not of numbers")
            if part.ndim != 1 or len(part) not in (0, self.n_rows):
                raise ValueError("its draws do not fit its rows")
        if ((self.place < 0) | (self.place >= self.n_given)).any():
            raise ValueError("its draws are of rows that there were not")


register(Bootstrap)
