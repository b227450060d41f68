"""Many trees over the same columns: the nodes of all, tree by tree, and the sums of their leaves.

A row's answer is a mean over the trees.  How rows find their leaves is said in
`suffice.kernels.trees.forest_prediction`: cells become ranks among the thresholds of all trees.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from suffice.engines.passes import each
from suffice.engines.settings import resolve_threads
from suffice.fitting.files.registry import register
from suffice.kernels.trees.forest_prediction import (
    add_leaves,
    add_number_leaves,
    find_forest_leaves,
    make_forest_records,
    pack_records,
    rank_rows,
)
from suffice.numerics.cached import cached_property
from suffice.sources.finite import NotFinite
from suffice.trees.nodes.tree import SETS, TYPES, Floats, Tree

TOGETHER = 2048
"""Rows that a thread takes at once."""

MOST_PACKED = 1 << 15
"""Columns that a record of 8 bytes can tell apart."""

BY_NODE = tuple(name for name in TYPES if name not in SETS)


@dataclass(frozen=True, eq=False)
class Forest:
    """The nodes of many trees, in arrays as `suffice.trees.nodes.tree.Tree` has them.

    Attributes
    ----------
    n_features : int
    starts : int64 array of shape (trees + 1,)
        Where the nodes of each tree begin, and where all end.
    n_categories : int64 array of shape (columns,)
        Of each column; −1 for numbers.
    children_left, …, category_bits : arrays
        Children are counted from their tree's root, and sets of categories from the first of all.
    """

    n_features: int
    starts: NDArray[np.int64]
    n_categories: NDArray[np.int64]
    children_left: NDArray[np.int32]
    children_right: NDArray[np.int32]
    feature: NDArray[np.int32]
    threshold: Floats
    missing_go_to_left: NDArray[np.uint8]
    impurity: Floats
    n_node_samples: NDArray[np.int64]
    weighted_n_node_samples: Floats
    value: Floats
    category_start: NDArray[np.int64]
    category_bits: NDArray[np.uint32]

    @classmethod
    def of(cls, trees: list[Tree], n_categories: NDArray[np.int64]) -> Forest:
        """The forest of some trees; the list is emptied, lest its trees take memory twice."""
        n_features, starts = trees[0].n_features, [np.array([0, t.node_count]) for t in trees]
        return cls(n_features, ends_of(starts), n_categories, **nodes_of(trees))

    @classmethod
    def joined(cls, forests: list[Forest]) -> Forest:
        """All trees of some forests; the list is emptied, lest its trees take memory twice."""
        n_features, n_categories = forests[0].n_features, forests[0].n_categories
        starts = ends_of([one.starts for one in forests])
        return cls(n_features, starts, n_categories, **nodes_of(forests))

    def __len__(self) -> int:
        return len(self.starts) - 1

    def __getitem__(self, place: int) -> Tree:
        """A tree; its arrays are views."""
        here = slice(self.starts[place], self.starts[place + 1])
        columns = {name: getattr(self, name)[here] for name in BY_NODE}
        starts, bits = self.category_start[here], self.category_bits
        if len(starts):
            there = starts[starts >= 0]
            first = int(there.min(initial=len(bits)))
            later = self.category_start[self.starts[place + 1] :]
            end = int(later[later >= 0].min(initial=len(bits))) if len(there) else first
            starts, bits = np.where(starts >= 0, starts - first, starts), bits[first:end]
        return Tree(self.n_features, **columns, category_start=starts, category_bits=bits)

    def __iter__(self) -> Iterator[Tree]:
        return (self[place] for place in range(len(self)))

    @cached_property
    def votes(self) -> Floats:
        """1 for the class of most weight at each node, 0 for the others."""
        value = self.value[:, 0]
        votes = np.zeros(value.shape)
        votes[np.arange(len(value)), value.argmax(axis=1)] = 1.0
        return votes

    def importances(self) -> Floats:
        """What each column took from the impurity, as a share of what all did, tree by tree."""
        found = [tree.compute_feature_importances() for tree in self if tree.node_count > 1]
        if not found:
            return np.zeros(self.n_features)
        mean: Floats = np.mean(found, axis=0)
        return mean / mean.sum() if mean.sum() > 0 else mean

    # --- rows --------------------------------------------------------------------------------

    @cached_property
    def _tables(self) -> tuple[Ranks, NDArray[np.uint32]]:
        """How cells become ranks, and the records of all nodes."""
        ranks, of_nodes = Ranks.of(self)
        records = np.empty((len(self.feature), 4), np.uint32)
        make_forest_records(
            self.children_left, self.children_right, self.feature, of_nodes,
            self.missing_go_to_left, self.category_start, self.starts, ranks.missing, records,
        )  # fmt: skip
        return ranks, records

    @cached_property
    def _packed(self) -> tuple[NDArray[np.uint64], NDArray[np.int64]] | None:
        """Records of 8 bytes and the levels to go together, if no column is too much for these."""
        ranks, records = self._tables
        if ranks.dtype != np.uint16 or ranks.categorical.any() or self.n_features > MOST_PACKED:
            return None
        packed, levels = np.empty(len(records), np.uint64), np.empty(len(self), np.int64)
        pack_records(records, self.starts, self.n_node_samples, packed, levels)
        return packed, levels

    @property
    def ranks(self) -> Ranks:
        """How cells become ranks among thresholds."""
        return self._tables[0]

    def codes(self, X: Any) -> NDArray[Any]:
        """The ranks of cells; see `Ranks`.

        Raises
        ------
        NotFinite
            If a cell is infinite or beyond what models take.
        """
        return self.ranks.codes(X)

    def add_values(self, codes: NDArray[Any], values: Floats) -> Floats:
        """The sum over all trees of values of the leaves that rows come to.

        Parameters
        ----------
        codes : array of shape (rows, columns)
        values : float64 array of shape (nodes, values)
        """
        out = np.zeros((len(codes), values.shape[1]))
        ranks, records = self._tables
        if self._packed is not None:
            packed, levels = self._packed
            add_number_leaves(codes, packed, records, self.starts, levels, values, out)
        else:
            bits = self.category_bits
            add_leaves(ranks.missing, codes, records, self.starts, bits, values, out)
        return out

    def leaves(self, codes: NDArray[Any], first: int = 0, last: int | None = None) -> Any:
        """The leaf of each row in trees `first`, …, `last` − 1, of shape (rows, trees)."""
        last = len(self) if last is None else last
        ranks, records = self._tables
        out, bits = np.empty((len(codes), last - first), np.int32), self.category_bits
        find_forest_leaves(first, last, ranks.missing, codes, records, self.starts, bits, out)
        return out

    def mean(self, X: Any, votes: bool = False, n_jobs: int | None = None) -> Floats:
        """The mean over all trees of the values, or votes, at the leaves that rows come to.

        Parameters
        ----------
        X : float array of shape (rows, columns)
            Categories as numbers; NaN where a cell is missing.
        votes : bool
        n_jobs : int, optional

        Returns
        -------
        float64 array of shape (rows, classes) or (rows, 1)
        """
        values = self.votes if votes else self.value[:, 0]

        def some(rows: Any) -> Floats:
            return self.add_values(self.codes(rows), values) / len(self)

        if len(X) <= TOGETHER or resolve_threads(n_jobs) == 1:
            return some(X)
        parts = [X[start : start + TOGETHER] for start in range(0, len(X), TOGETHER)]
        self._packed  # noqa: B018 - made once, not by each thread
        return np.concatenate(each(parts, lambda rows, stopped: some(rows), n_jobs))

    def _check_loaded(self) -> None:
        """Raise ValueError unless a file holds a forest: compiled loops would not notice."""
        starts, n = self.starts, self.n_categories
        part: Any
        for name, part in (("starts", starts), ("n_categories", n)):
            if not isinstance(part, np.ndarray) or part.dtype != np.int64 or part.ndim != 1:
                raise ValueError(f"its {name} are not whole numbers")
        if len(n) != self.n_features or len(starts) < 2 or starts[0] != 0:
            raise ValueError("its trees do not fit its columns")
        if (np.diff(starts) < 1).any() or starts[-1] != len(self.feature):
            raise ValueError("its nodes do not fit its trees")
        begins = self.category_start
        if len(begins) not in (0, len(self.feature)):
            raise ValueError("its sets of categories do not fit its nodes")
        for name in BY_NODE:
            if len(getattr(self, name)) != len(self.feature):
                raise ValueError("its nodes are not of one number")
        for tree in self:
            tree._check_loaded()
        if len(begins):
            tested = begins >= 0
            words = -(-n[self.feature[tested]] // 32)
            if (words < 0).any() or (begins[tested] + words > len(self.category_bits)).any():
                raise ValueError("its sets of categories do not fit its columns")


def ends_of(starts: list[NDArray[np.int64]]) -> NDArray[np.int64]:
    """Where the nodes of all trees begin, and where they end, one part after the other."""
    places = np.cumsum([0, *(one[-1] for one in starts)])
    return np.concatenate([[0], *(one[1:] + p for one, p in zip(starts, places, strict=False))])


def nodes_of(parts: list[Any]) -> dict[str, NDArray[Any]]:
    """The arrays of trees or forests end to end; the list is emptied, and each array as it goes."""
    words = np.cumsum([0, *(len(part.category_bits) for part in parts)])
    arrays = [{name: getattr(part, name) for name in TYPES} for part in parts]
    parts.clear()
    for part, first in zip(arrays, words[:-1], strict=True):
        start = part["category_start"]
        part["category_start"] = np.where(start >= 0, start + first, start)
    return {name: np.concatenate([part.pop(name) for part in arrays]) for name in TYPES}


@dataclass(frozen=True, eq=False)
class Ranks:
    """The thresholds of a forest, column by column.

    Attributes
    ----------
    thresholds : float64 array
        Those of each column sorted, without repetitions.
    places : int64 array of shape (columns + 1,)
        Where those of each column begin.
    categorical : uint8 array of shape (columns,)
    dtype : type
        Of the codes.
    """

    thresholds: Floats
    places: NDArray[np.int64]
    categorical: NDArray[np.uint8]
    dtype: Any

    @classmethod
    def of(cls, forest: Forest) -> tuple[Ranks, NDArray[np.uint32]]:
        """Those of a forest, and the rank of each node's threshold."""
        rank, found = np.zeros(len(forest.feature), np.uint32), []
        order = np.argsort(forest.feature, kind="stable")
        ends = np.searchsorted(forest.feature[order], np.arange(forest.n_features + 1))
        for first, last, n in zip(ends[:-1], ends[1:], forest.n_categories, strict=True):
            here = order[first : last if n < 0 else first]
            thresholds, rank[here] = np.unique(forest.threshold[here], return_inverse=True)
            found.append(thresholds)
        places = np.cumsum([0, *map(len, found)])
        most = max(*map(len, found), forest.n_categories.max())
        dtype = np.uint16 if most < np.iinfo(np.uint16).max else np.uint32
        categorical = (forest.n_categories >= 0).astype(np.uint8)
        return cls(np.concatenate(found), places, categorical, dtype), rank

    @property
    def missing(self) -> int:
        """The code of a missing cell."""
        return int(np.iinfo(self.dtype).max)

    def codes(self, X: Any) -> NDArray[Any]:
        """The rank of each cell among the thresholds of its column; of a category its number."""
        X = np.ascontiguousarray(X, np.float32 if X.dtype == np.float32 else np.float64)
        codes = np.empty(X.shape, self.dtype)
        if rank_rows(X, self.thresholds, self.places, self.categorical, self.missing, codes):
            raise NotFinite("infinity or a value too large", 0, len(X))
        return codes


register(Forest)
