"""Which categories share a column, and which get none.

Categories are numbered in their order.  The rare ones of a column form one *group*, which comes
last; every other category is a group by itself; and one group may be dropped.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import NDArray

from suffice.fitting.categories import inner, is_nan
from suffice.fitting.files.registry import register
from suffice.numerics.double_double import Array
from suffice.statistics.counts.distinct import distinct, locate

Codes = NDArray[np.int64]

RARE = "infrequent_sklearn"
"""What the common column of rare categories is called, as in scikit-learn."""


@dataclass(frozen=True, eq=False)
class CategoryGroups:
    """The groups of a column's categories.

    Attributes
    ----------
    of_category : int64 array of shape (categories,)
    rare : int64 array
        The rare categories.
    dropped : int or None
        The group that gets no column.
    """

    _shapes = "of_category(categories) rare(rare)"

    of_category: Codes
    rare: Codes
    dropped: int | None = None

    def _check_loaded(self) -> None:
        """Raise ValueError unless what a file holds could be groups."""
        n = len(self.of_category)
        for codes in (self.of_category, self.rare):
            if ((codes < 0) | (codes >= n)).any():
                raise ValueError(f"there are only {n} categories")
        if self.dropped is not None and self.dropped not in range(self.count):
            raise ValueError(f"there are only {self.count} groups")

    @property
    def count(self) -> int:
        """Number of groups."""
        return int(self.of_category.max(initial=-1)) + 1

    @property
    def width(self) -> int:
        """Columns that they become."""
        return self.count - (self.dropped is not None)

    def outputs(self, unknown_is_rare: bool) -> Codes:
        """The output column of each category, then of an unknown one; −1 for none."""
        out = self.of_category
        if self.dropped is not None:
            out = np.where(out == self.dropped, -1, out - (out > self.dropped))
        unknown = int(out[self.rare[0]]) if unknown_is_rare and len(self.rare) else -1
        return np.append(out, unknown)

    def first_dropped(self) -> int | None:
        """The first category of the group that is dropped."""
        if self.dropped is None:
            return None
        return int(np.argmax(self.of_category == self.dropped))

    def names(self, categories: NDArray[Any]) -> list[Any]:
        """What each group is called: as its category, or `RARE`."""
        kept = np.delete(categories, self.rare).tolist()
        return [*kept, RARE] if len(self.rare) else kept

    def decoded(self, encoded: Any, categories: NDArray[Any], tolerant: bool) -> NDArray[Any]:
        """The category that each row of zeros and ones stands for.

        Parameters
        ----------
        encoded : array or CSR matrix of shape (rows, width)
        categories : array of shape (categories,)
        tolerant : bool
            Whether a row without a one is None, where no group is dropped.
        """
        dtype = object if len(self.rare) else categories.dtype
        names = np.empty(self.count, dtype=dtype)
        names[:] = self.names(categories)
        left = names if self.dropped is None else np.delete(names, self.dropped)
        if not len(left):
            return np.full(encoded.shape[0], names[self.dropped], dtype=dtype)
        values = left[np.asarray(encoded.argmax(axis=1)).ravel()]
        nothing = np.asarray(encoded.sum(axis=1)).ravel() == 0
        if not nothing.any():
            return values
        if self.dropped is not None:
            values[nothing] = names[self.dropped]
            return values
        if not tolerant:
            raise ValueError(
                f"Samples {np.flatnonzero(nothing)} can not be inverted when drop=None and "
                "handle_unknown='error' because they contain all zeros"
            )
        values = values.astype(object)
        values[nothing] = None
        return values


register(CategoryGroups)


def rare(weights: Array, total: float, min_frequency: Any, max_categories: Any) -> Codes:
    """Which categories are rare enough to share a column.

    Those below `min_frequency` (a weight, or a share of `total`), and then the rarest until at
    most `max_categories` columns are left, the common one included.
    """
    is_rare = np.zeros(len(weights), dtype=bool)
    if min_frequency is not None:
        whole = isinstance(min_frequency, Integral)
        is_rare = weights < (min_frequency if whole else total * min_frequency)
    left = len(weights) - int(is_rare.sum()) + 1
    if max_categories is not None and max_categories < left:
        order = np.argsort(weights, kind="stable")
        is_rare[order[: len(weights) - (max_categories - 1)]] = True
    return np.flatnonzero(is_rare)


def grouped(n_categories: int, rare_ones: Codes) -> CategoryGroups:
    """The others in their order, then the rare ones together."""
    groups = np.empty(n_categories, np.int64)
    others = np.setdiff1d(np.arange(n_categories), rare_ones)
    groups[others] = np.arange(len(others))
    groups[rare_ones] = len(others)
    return CategoryGroups(groups, rare_ones)


def listed(categories: Any, j: int, values: NDArray[Any], form: str, strict: bool) -> NDArray[Any]:
    """The categories that a user gives for column `j`, as the statistic knows them.

    Parameters
    ----------
    categories : sequence
    j : int
    values : array
        What occurs in the column.
    form : str
    strict : bool
        Whether all that occurs must be listed.
    """
    as_objects = values.dtype == object
    try:
        known = inner(categories, form, as_objects)
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"the categories of column {j} must be numbers, as its values are: {error}"
        ) from None
    if any(map(is_nan, known[:-1].tolist())):
        raise ValueError(
            f"Nan should be the last element in user provided categories, see categories "
            f"{known} in column #{j}"
        )
    if len(known) != len(distinct(known).values):
        raise ValueError(f"In column {j}, the predefined categories contain duplicate elements.")
    if not as_objects and (known[1:] < known[:-1]).any():
        raise ValueError("Unsorted categories are not supported for numerical categories")
    strange = values[locate(values, known) < 0]
    if strict and len(strange):
        raise ValueError(f"Found unknown categories {strange.tolist()} in column {j} during fit")
    return known


def with_drop(
    groups: Sequence[CategoryGroups], known: Sequence[NDArray[Any]], forms: Sequence[str], drop: Any
) -> list[CategoryGroups]:
    """The groups with those that the parameter `drop` leaves out."""
    if drop is None:
        return list(groups)
    if isinstance(drop, str):
        first = drop == "first"
        return [replace(g, dropped=0 if first or g.count == 2 else None) for g in groups]
    drop = list(np.asarray(drop, dtype=object))
    if len(drop) != len(known):
        raise ValueError(
            f"`drop` should have length equal to the number of features ({len(known)}), "
            f"got {len(drop)}"
        )
    places = [_place(value, k, form) for value, k, form in zip(drop, known, forms, strict=True)]
    absent = [f"Category: {drop[j]}, Feature: {j}" for j, place in enumerate(places) if place < 0]
    if absent:
        raise ValueError(
            "The following categories were supposed to be dropped, but were not found in the "
            "training data.\n" + "\n".join(absent)
        )
    for j, place in enumerate(places):
        if place in groups[j].rare:
            raise ValueError(
                f"Unable to drop category {drop[j]!r} from feature {j} because it is infrequent"
            )
    pairs = zip(groups, places, strict=True)
    return [replace(g, dropped=int(g.of_category[place])) for g, place in pairs]


def _place(value: Any, known: NDArray[Any], form: str) -> int:
    try:
        return int(locate(inner([value], form, known.dtype == object), known)[0])
    except (TypeError, ValueError):
        return -1
