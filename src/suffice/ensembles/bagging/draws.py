"""Which rows and columns each member of an ensemble is given.

Member m draws from generators seeded by (seed, m), so that its draws are the same whoever makes
them and whenever: they need not be stored, and more members can be added later.

A bootstrap draws row i with probability wᵢ/W each time.  The draw is u ∈ [0, 1), and the row the
one in which uW falls if rows are laid end to end, each as long as its weight; so a row of weight 2
is drawn just as the same row twice is.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import blake2b
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse

from suffice.fitting.estimator import callers_level
from suffice.fitting.files.registry import storable
from suffice.sources import Block, Columns

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

COLUMNS, ROWS, MODEL = range(3)
"""What a generator is for: each kind of draw has its own, so that none depends on another."""

FEW_SAMPLES = 10
"""Draws that are suspiciously few where a share of the weight was asked for."""


@dataclass(frozen=True, eq=False)
class Present:
    """The numbers of the rows that have a weight.

    Attributes
    ----------
    numbers : int64 array
    n_rows : int
        Of all rows.
    """

    numbers: Integers
    n_rows: int

    @classmethod
    def summarize(cls, block: Block) -> Present:
        """Those of a block."""
        there = np.ones(block.n_rows, bool) if block.weight is None else block.weight > 0
        return cls(block.start + np.flatnonzero(there), block.n_rows)

    @classmethod
    def merge(cls, parts: Sequence[Present]) -> Present:
        """Those of all parts."""
        numbers = np.concatenate([part.numbers for part in parts])
        return cls(numbers, sum(part.n_rows for part in parts))


@storable("MemberDraws")
@dataclass(frozen=True, eq=False)
class MemberDraws:
    """How rows and columns are drawn.

    Attributes
    ----------
    seed : int
    n_rows, n_columns : int
        To draw from; rows of weight 0 are not among them.
    n_samples, n_features : int
        How many of them a member is given.
    replace_rows, replace_columns : bool
        Whether the same may be drawn again.
    weight : float64 array of shape (rows,), or None
        To which the probability of a row is proportional; equal ones by default.
    numbers : int64 array of shape (rows,), or None
        What number each row has where some have no weight.
    digest : str
        Of the rows.

    Examples
    --------
    >>> draws = MemberDraws(0, 5, 3, 5, 2, True, False)
    >>> draws.rows(1).tolist() == draws.rows(1).tolist(), len(draws.columns(1))
    (True, 2)
    """

    seed: int
    n_rows: int
    n_columns: int
    n_samples: int
    n_features: int
    replace_rows: bool
    replace_columns: bool
    weight: Floats | None = None
    numbers: Integers | None = None
    digest: str = ""

    def __post_init__(self) -> None:
        counts = (self.seed, self.n_rows, self.n_columns, self.n_samples, self.n_features)
        if any(type(count) is not int or count < 0 for count in counts):
            raise ValueError("its draws are not counted by whole numbers")
        if type(self.digest) is not str:
            raise ValueError("its draws are of rows that are not known")
        for one, kind in ((self.weight, "f"), (self.numbers, "i")):
            if one is not None and (one.shape != (self.n_rows,) or one.dtype.kind != kind):
                raise ValueError("its draws do not fit its rows")

    def generator(self, member: int, purpose: int) -> np.random.Generator:
        """The random numbers of a member."""
        return np.random.default_rng((self.seed, member, purpose))

    def columns(self, member: int) -> Integers:
        """The columns that a member sees, in order."""
        n, size = self.n_columns, self.n_features
        if size == n and not self.replace_columns:
            return np.arange(n)
        draw = self.generator(member, COLUMNS)
        return np.sort(draw.choice(n, size, replace=self.replace_columns)).astype(np.int64)

    def rows(self, member: int) -> Integers:
        """The rows that a member is given, one after the other."""
        n, size, draw = self.n_rows, self.n_samples, self.generator(member, ROWS)
        if not self.replace_rows:
            chances = None if self.weight is None else self.weight / self.weight.sum()
            return draw.choice(n, size, replace=False, p=chances).astype(np.int64)
        if self.weight is None:
            found = (draw.random(size) * n).astype(np.int64)
        else:
            ends = np.cumsum(self.weight)
            found = np.searchsorted(ends, draw.random(size) * ends[-1], side="right")
        return np.minimum(found, n - 1)

    def multiplicities(self, member: int) -> Integers:
        """How often each row is drawn."""
        return np.bincount(self.rows(member), minlength=self.n_rows)

    def numbered(self, rows: Integers) -> Integers:
        """What numbers rows have among all, with and without weight."""
        return rows if self.numbers is None else self.numbers[rows]

    def is_like(self, other: MemberDraws) -> bool:
        """Whether two make the same draws from the same rows."""
        ours, theirs = vars(self), vars(other)
        return all(_equal(value, theirs[name]) for name, value in ours.items())


def _equal(one: Any, other: Any) -> bool:
    return (one is None) == (other is None) and np.array_equal(one, other)


def digest_of(*tables: Any) -> str:
    """What tells arrays, CSR arrays and Columns from others, by what they hold."""
    found = blake2b(digest_size=16)
    for table in tables:
        parts = [table]
        if isinstance(table, Columns):
            parts = list(table.columns)
        elif issparse(table):
            parts = [table.data, table.indices, table.indptr]
        for part in map(np.asarray, parts):
            text = part.dtype == object
            found.update(repr((part.shape, part.tolist() if text else part.dtype.kind)).encode())
            if not text:
                found.update(np.ascontiguousarray(part).data)
    return found.hexdigest()


def n_samples(asked: Any, n_rows: int, weight: Floats | None, replace: bool) -> int:
    """How many rows a member is given: all, a number, or a share of the rows or their weight."""
    if asked is None:
        return n_rows
    weight = weight if replace else None
    if isinstance(asked, Integral):
        size = int(asked)
    else:
        total = n_rows if weight is None else float(weight.sum())
        size = max(int(asked * total), 1)
        if weight is not None and size < min(max(FEW_SAMPLES, n_rows ** (1 / 3)), n_rows):
            warnings.warn(
                f"max_samples={asked} of a total weight of {total:g} makes {size} draws for each "
                "member: few; give max_samples as an integer",
                stacklevel=callers_level(),
            )
    if not replace and size > n_rows:
        raise ValueError(f"max_samples={size} is more than the {n_rows} rows, drawn once each")
    return size


def n_features(asked: Any, n_columns: int) -> int:
    """How many columns a member sees: a number, or a share."""
    if not isinstance(asked, Integral):
        return max(int(asked * n_columns), 1)
    if int(asked) > n_columns:
        raise ValueError(f"max_features={asked} is more than the {n_columns} columns")
    return int(asked)
