"""How a splitter divides the rows, in the form that one pass needs.

Most splitters partition the rows: each row is tested in one fold and trains all others, so
one number a row says everything.  Others (random ones, growing windows, repetitions) are told by
several such numberings: in a *layer* every row has a group, and each split of the layer trains
on some of the groups and tests some.  A statistic of every group then serves all its splits.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import KFold, LeaveOneOut

Rows = NDArray[np.intp]

TRAINS, TESTED = 1, 2
"""What a row does in a split, added up if it does both."""

MOST_SPLITS = 64
"""Splits that share a layer, unless they partition the rows."""


@dataclass(frozen=True)
class Split:
    """Groups of a layer.

    Attributes
    ----------
    layer : int
    test : int array
        Groups that are tested.
    train : int array or None
        Groups that are trained on; None if these are all others.
    """

    layer: int
    test: Rows
    train: Rows | None = None


@dataclass(frozen=True)
class Folds:
    """All splits.

    Attributes
    ----------
    layers : tuple of int32 arrays of shape (rows,)
        The group of each row.
    sizes : tuple of int
        Number of groups of each layer.
    splits : tuple of Split
    listed : tuple of pairs, optional
        The rows that each split trains on and tests, in the splitter's own order.
    """

    layers: tuple[NDArray[np.int32], ...]
    sizes: tuple[int, ...]
    splits: tuple[Split, ...]
    listed: tuple[tuple[Any, Any], ...] | None = None

    @property
    def n_splits(self) -> int:
        return len(self.splits)

    @property
    def fewest_trained(self) -> int:
        """Rows that the smallest of the training sets has."""
        lengths = [
            np.bincount(g, minlength=m) for g, m in zip(self.layers, self.sizes, strict=True)
        ]
        trained = [
            lengths[s.layer].sum() - lengths[s.layer][s.test].sum()
            if s.train is None
            else lengths[s.layer][s.train].sum()
            for s in self.splits
        ]
        return int(min(trained))

    def test(self, number: int) -> Rows:
        """Numbers of the rows that a split tests, in order."""
        split = self.splits[number]
        return self._rows(split.layer, split.test, False)

    def train(self, number: int) -> Rows:
        """Numbers of the rows that a split trains on, in order."""
        split = self.splits[number]
        if split.train is None:
            return self._rows(split.layer, split.test, True)
        return self._rows(split.layer, split.train, False)

    def _rows(self, layer: int, groups: Rows, others: bool) -> Rows:
        group = self.layers[layer]
        if len(groups) == 1:
            return np.flatnonzero((group == groups[0]) != others)
        chosen = np.full(self.sizes[layer], others)
        chosen[groups] = not others
        return np.flatnonzero(chosen[group])


def folds_of(cv: Any, X: Any, y: Any, groups: Any, n_rows: int) -> Folds | None:
    """What a splitter does with these rows; None if it repeats rows, or has splits without any.

    Parameters
    ----------
    cv : splitter
        As scikit-learn's `check_cv` returns it.
    X, y, groups : as the splitter's `split` takes them
    n_rows : int
    """
    if type(cv) is KFold and not cv.shuffle and cv.n_splits <= n_rows and groups is None:
        # What its `split` says, without listing the rows: the first folds are one row longer.
        lengths = np.full(cv.n_splits, n_rows // cv.n_splits)
        lengths[: n_rows % cv.n_splits] += 1
        return _partition(np.repeat(np.arange(cv.n_splits, dtype=np.int32), lengths), cv.n_splits)
    if type(cv) is LeaveOneOut and n_rows > 1 and groups is None:
        return _partition(np.arange(n_rows, dtype=np.int32), n_rows)
    splits = list(cv.split(X, y, groups))
    if len(splits) != cv.get_n_splits(X, y, groups):
        raise ValueError(
            "cv.split and cv.get_n_splits return inconsistent results. "
            f"Expected {cv.get_n_splits(X, y, groups)} splits, got {len(splits)}"
        )
    if not splits:
        raise ValueError("No fits were performed. Was the CV iterator empty?")
    found = _as_partition(splits, n_rows) or _in_layers(splits, n_rows)
    return None if found is None else replace(found, listed=tuple(splits))


def _partition(fold: NDArray[np.int32], n_splits: int) -> Folds:
    """From the fold in which each row is tested; `n_splits` means in none."""
    splits = tuple(Split(0, np.array([f])) for f in range(n_splits))
    return Folds((fold,), (n_splits + 1,), splits)


def _as_partition(splits: Sequence[tuple[Any, Any]], n_rows: int) -> Folds | None:
    fold = np.full(n_rows, len(splits), dtype=np.int32)
    for number, (train, test) in enumerate(splits):
        role = _role(train, test, n_rows)
        if role is None or not _are_apart(role):
            return None
        tested = role == TESTED
        if (fold[tested] < len(splits)).any():
            return None
        fold[tested] = number
    return _partition(fold, len(splits))


def _in_layers(splits: Sequence[tuple[Any, Any]], n_rows: int) -> Folds | None:
    """Splits one after the other, in one layer as long as its groups remain few."""
    layers: list[_Layer] = []
    for train, test in splits:
        role = _role(train, test, n_rows)
        if role is None:
            return None
        if not layers or not layers[-1].takes(role):
            layers.append(_Layer(role))
    return Folds(
        tuple(layer.group for layer in layers),
        tuple(layer.roles.shape[1] for layer in layers),
        tuple(split for number, layer in enumerate(layers) for split in layer.splits(number)),
    )


def _role(train: Any, test: Any, n_rows: int) -> NDArray[np.int8] | None:
    """What each row does in a split; None if it does so twice, or no row does."""
    role = np.zeros(n_rows, dtype=np.int8)
    for part, chosen in ((TRAINS, np.asarray(train)), (TESTED, np.asarray(test))):
        if chosen.dtype == bool and len(chosen) == n_rows:
            role[chosen] |= part
            count = int(chosen.sum())
        else:
            role[chosen.astype(np.intp, copy=False)] |= part
            count = len(chosen)
        if count == 0 or np.count_nonzero(role & part) != count:
            return None
    return role


def _are_apart(role: NDArray[np.int8]) -> bool:
    """Whether all that is not tested trains."""
    return bool(((role == TRAINS) | (role == TESTED)).all())


class _Layer:
    """Some splits, and the groups of rows that do the same in each of them.

    Attributes
    ----------
    group : int32 array of shape (rows,)
    roles : int8 array of shape (splits, groups)
    """

    def __init__(self, role: NDArray[np.int8]) -> None:
        present = np.flatnonzero(np.bincount(role, minlength=4))
        self.group = _numbered(present, 4)[role]
        self.roles = present.astype(np.int8)[None]

    def takes(self, role: NDArray[np.int8]) -> bool:
        """Add a split, unless that makes too many groups."""
        n_splits, n_groups = self.roles.shape
        if n_splits == MOST_SPLITS:
            return False
        both = 4 * self.group + role
        present = np.flatnonzero(np.bincount(both, minlength=4 * n_groups))
        if len(present) > n_splits + 3:
            return False
        self.group = _numbered(present, 4 * n_groups)[both]
        self.roles = np.vstack([self.roles[:, present // 4], (present % 4).astype(np.int8)])
        return True

    def splits(self, layer: int) -> list[Split]:
        found = []
        for role in self.roles:
            train = None if _are_apart(role) else np.flatnonzero(role & TRAINS)
            found.append(Split(layer, np.flatnonzero(role & TESTED), train))
        return found


def _numbered(present: Rows, size: int) -> NDArray[np.int32]:
    """A table from codes to the numbers of those that are there."""
    table = np.zeros(size, dtype=np.int32)
    table[present] = np.arange(len(present), dtype=np.int32)
    return table
