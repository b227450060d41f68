"""A table whose columns are members of exponential families: T(x) of all its cells side by side.

    log p(x; η) = Σⱼ log b(xⱼ) + ηⱼ·T(xⱼ) − a(ηⱼ)

so that the log densities of many rows under many components are one matrix product.  Columns of
the same family are worked on together.  A coin is kept as a category of two, whose parameters do
not reach +∞, and Gaussian columns from their middle, in units of their spread, so that squares
lose nothing.  A missing cell has T = 0 and counts for nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

from suffice.families import (
    Bernoulli,
    Beta,
    Categorical,
    Exponential,
    Family,
    Gamma,
    Gaussian,
    GaussianKnownVariance,
    Poisson,
)
from suffice.families.gaussian import LOG_2PI
from suffice.sources import Columns

Floats = NDArray[np.float64]

NAMED: dict[str, type[Any]] = {
    "bernoulli": Bernoulli,
    "beta": Beta,
    "exponential": Exponential,
    "gamma": Gamma,
    "gaussian": Gaussian,
    "poisson": Poisson,
}
"""Families that are told by their names alone."""


class FamilyColumns(NamedTuple):
    """Columns of one family.

    Attributes
    ----------
    stated : Family
        As a user gave it.
    family : Family
        As it is computed with.
    columns : tuple of int
    slots : slice
        Where T of these columns is among that of all.
    """

    stated: Family
    family: Family
    columns: tuple[int, ...]
    slots: slice

    @property
    def units(self) -> int:
        """Observations in a row: one a column, or one of all for a family of vectors."""
        return 1 if self.family.observed_axes else len(self.columns)

    def allowed(self, values: Floats) -> NDArray[np.bool_]:
        """Which cells are possible, or missing; of a family of vectors, which rows."""
        with np.errstate(invalid="ignore"):
            if self.family.observed_axes:
                return self.family._in_support(values)[:, None]
            return self.family._in_support(values) | np.isnan(values)

    def statistic(self, values: Floats) -> tuple[Floats, Floats | float]:
        """T of shape (rows, units × p), and log b: of each observation (rows, units), or of all.

        The usual families are spared their own checks, which took half the time of a pass.
        """
        n, kind, p = len(values), type(self.family), self.family.dimension
        if kind is Categorical:
            T = values[..., None] == np.arange(p) if p > 2 else np.stack([1 - values, values], -1)
            return T.reshape(n, -1).astype(np.float64, copy=False), 0.0
        if kind is Gaussian:
            return np.stack([values, values * values], axis=-1).reshape(n, -1), -0.5 * LOG_2PI
        if kind is Exponential:
            return values, 0.0
        if kind is Poisson:
            return values, -gammaln(values + 1.0)
        cells = values if self.family.observed_axes else values.ravel()
        T = self.family.sufficient_statistic(cells).reshape(n, -1)
        return T, self.family.log_base_measure(cells).reshape(n, self.units)


class Design(NamedTuple):
    """What rows are to an exponential family.

    Attributes
    ----------
    T : float64 array of shape (rows, slots)
    log_base : float64 array of shape (rows,)
    there : float64 array of shape (rows, units), or None
        0 where a cell is missing; None where none is.
    """

    T: Floats
    log_base: Floats
    there: Floats | None


@dataclass(frozen=True, eq=False)
class TableLayout:
    """Which columns are of which family.

    Attributes
    ----------
    groups : tuple of FamilyColumns
    shift, scale : float64 arrays of shape (columns,)
        What is taken from a cell, and what the rest is divided by: 0 and 1 but for Gaussians.
    is_one : bool
        Whether all columns are of one family, as a user gave it.
    mean : float64 array of shape (slots,), optional
        Of T over all rows, once it is known.
    trusts : bool
        Whether all rows have been seen, and found possible.
    """

    groups: tuple[FamilyColumns, ...]
    shift: Floats
    scale: Floats
    is_one: bool
    mean: Floats | None = None
    trusts: bool = False

    @property
    def n_columns(self) -> int:
        return len(self.shift)

    @property
    def n_slots(self) -> int:
        """How many numbers T of a row has."""
        return int(self.groups[-1].slots.stop)

    def unit_of_slot(self) -> NDArray[np.intp]:
        """To which unit each number of T belongs."""
        sizes = [np.full(g.units, g.family.dimension) for g in self.groups]
        every = np.concatenate(sizes)
        return np.repeat(np.arange(len(every)), every)

    def column_of_unit(self) -> list[int]:
        """The first column of each unit."""
        return [j for g in self.groups for j in g.columns[: g.units]]

    def log_scales(self) -> Floats:
        """log of the scale of each unit, by which its density is to be divided."""
        return np.log(self.scale[self.column_of_unit()])

    def moved(self, shift: Floats, scale: Floats) -> TableLayout:
        """The same, with Gaussian columns from these middles, in these units."""
        new = TableLayout(self.groups, np.zeros(len(shift)), np.ones(len(scale)), self.is_one)
        for group in self.groups:
            if isinstance(group.family, Gaussian | GaussianKnownVariance):
                new.shift[list(group.columns)] = shift[list(group.columns)]
            if isinstance(group.family, Gaussian):
                new.scale[list(group.columns)] = scale[list(group.columns)]
        return new

    def values(self, X: Any, row: Any = None, lenient: bool = False) -> Floats:
        """Cells as float64, categories by their place, NaN where missing; impossible ones raise.

        Parameters
        ----------
        X : array of shape (rows, columns), or Columns
        row : function, optional
            From the number of a row to what a message calls it.
        lenient : bool
            Whether impossible cells are taken for missing: for rows that may have no weight.
        """
        is_array = isinstance(X, np.ndarray)
        out = np.array(X, np.float64) if is_array and not self.has_labels else np.empty(X.shape)
        for group in self.groups:
            for j in group.columns:
                given = X[:, j] if is_array else X.column(j)
                if has_labels(group.stated):
                    out[:, j] = places(group.stated, given)
                elif isinstance(X, Columns) and given.dtype == object:
                    raise ValueError(f"column {j} holds text: {group.stated!r} has no such values")
                elif self.has_labels:
                    out[:, j] = given
        if self.trusts and not lenient:
            return out
        if not lenient and is_array and np.isinf(out).any():
            raise FloatingPointError("infinity")
        for group in self.groups:
            fine = group.allowed(out[:, list(group.columns)])
            if fine.all():
                continue
            if not lenient:
                self._refuse(group, X, fine, row)
            filler = 1.0 / self.n_columns if group.family.observed_axes else np.nan
            out[:, list(group.columns)] = np.where(fine, out[:, list(group.columns)], filler)
        return out

    def _refuse(self, group: FamilyColumns, X: Any, fine: NDArray[np.bool_], row: Any) -> None:
        i, at = map(int, np.unravel_index(np.argmin(fine), fine.shape))
        j = group.columns[at]
        bad = X[i, j].item() if isinstance(X, np.ndarray) else X.column(j)[i]
        found = f"{bad!r} in column {j}"
        if group.family.observed_axes:
            found = "a missing cell" if np.isnan(X[i]).any() else f"{X[i].tolist()}"
        raise ValueError(
            f"{type(group.stated).__name__} models {group.stated.support}; found {found}"
            + ("" if row is None else f", {row(i)}")
        )

    @property
    def has_labels(self) -> bool:
        """Whether categories of a column have names of their own."""
        return any(has_labels(group.stated) for group in self.groups)

    def design(self, X: Any, lenient: bool = False) -> Design:
        """T and log b of rows; see `values`."""
        values = self.values(X, lenient=lenient)
        missing = np.isnan(values)
        has_gaps = bool(missing.any())
        log_base, parts, present = np.zeros(len(values)), [], []
        for group in self.groups:
            columns = list(group.columns)
            cells, gaps = values[:, columns], missing[:, columns]
            if isinstance(group.family, Gaussian | GaussianKnownVariance):
                cells = (cells - self.shift[columns]) / self.scale[columns]
            if has_gaps and not group.family.observed_axes:
                cells = np.where(gaps, possible(group.family), cells)
            T, base = group.statistic(cells)
            if has_gaps and not group.family.observed_axes:
                T = np.where(np.repeat(gaps, group.family.dimension, axis=1), 0.0, T)
                base = np.where(gaps, 0.0, base)
            log_base += base * group.units if isinstance(base, float) else base.sum(axis=1)
            parts.append(T)
            present.append(~gaps[:, : group.units])
        there = np.concatenate(present, axis=1).astype(np.float64) if has_gaps else None
        return Design(np.concatenate(parts, axis=1), log_base, there)


def layout_of(family: Any, n_columns: int) -> TableLayout:
    """The layout of so many columns, of what a user says they are."""
    is_one = isinstance(family, str | Family)
    stated = [family_of(family)] * n_columns if is_one else [family_of(one) for one in family]
    if len(stated) != n_columns:
        raise ValueError(f"family names {len(stated)} columns, the rows have {n_columns}")
    if not is_one and any(one.observed_axes for one in stated):
        raise ValueError("family: one of vectors is given alone, for the whole row")
    if stated[0].observed_axes and stated[0].dimension != n_columns:
        raise ValueError(f"the rows have {n_columns} columns: {stated[0]!r} is of other rows")
    groups: list[FamilyColumns] = []
    start = 0
    for one in dict.fromkeys(stated):
        columns = tuple(j for j, other in enumerate(stated) if other == one)
        inner = computed_with(one)
        units = 1 if one.observed_axes else len(columns)
        stop = start + units * inner.dimension
        groups.append(FamilyColumns(one, inner, columns, slice(start, stop)))
        start = stop
    return TableLayout(tuple(groups), np.zeros(n_columns), np.ones(n_columns), is_one)


def family_of(given: Any) -> Family:
    """A family, or the one of a name."""
    if isinstance(given, Family):
        return given
    if isinstance(given, str) and given in NAMED:
        found: Family = NAMED[given]()
        return found
    raise ValueError(
        f"family={given!r}: accepted are families such as suffice.families.Categorical(3), the "
        f"names {sorted(NAMED)}, and lists with one for each column"
    )


def computed_with(family: Family) -> Family:
    """A coin as a category of two, labels as their places; any other family as it is."""
    if isinstance(family, Bernoulli):
        return Categorical(2)
    return Categorical(family.dimension) if isinstance(family, Categorical) else family


def has_labels(family: Family) -> bool:
    """Whether the values of a family are labels, and not their places."""
    return isinstance(family, Categorical) and not isinstance(family.categories, int)


def places(family: Any, given: NDArray[Any]) -> Floats:
    """The place of each label among the categories; NaN where it is missing, −1 if unknown."""
    labels: Sequence[Any] = family.categories
    place = {label: float(j) for j, label in enumerate(labels)} | {None: np.nan}
    known = (place.get(one, -1.0) if one == one else np.nan for one in given.tolist())
    return np.fromiter(known, np.float64, len(given))


def possible(family: Family) -> float:
    """A value that the family allows, to stand in a missing cell until its T is cleared."""
    for value in (0.0, 1.0, 0.5):
        if family._in_support(np.array(value)).all():
            return value
    raise ValueError(f"missing cells have no place in {family!r}")
