"""What becomes of a cluster without rows.

It is given the row that lies farthest from its own centre, the lower number first where several
do; the next empty cluster the next such row.  The row leaves its old cluster's mean.  Where every
row lies on its centre there is none to give, and the centre stays where it was.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse

from suffice.clustering.lloyd.centres import Floats, Labels, squares_to


@dataclass(frozen=True, eq=False)
class FarthestRows:
    """The rows farthest from their centres, the farthest first.

    Attributes
    ----------
    most : int
        How many are wanted.
    squares : array of shape (rows,)
    numbers : int64 array of shape (rows,)
    rows : array of shape (rows, columns)
    weight : array of shape (rows,)
    labels : int32 array of shape (rows,)
        The clusters that they are in.
    """

    most: int
    squares: Floats
    numbers: NDArray[np.int64]
    rows: Floats
    weight: Floats
    labels: Labels

    @classmethod
    def of(
        cls, X: Any, weight: Floats | None, labels: Labels, centres: Floats, start: int, most: int
    ) -> FarthestRows:
        """Those of some rows, of which `start` is the first one's number."""
        each = np.ones(X.shape[0]) if weight is None else weight
        squares = np.where(each > 0, squares_to(X, centres, labels), 0.0)
        chosen = np.argsort(-squares, kind="stable")[:most]
        chosen = chosen[squares[chosen] > 0]
        rows = X[chosen].toarray() if issparse(X) else X[chosen]
        return cls(most, squares[chosen], chosen + start, rows, each[chosen], labels[chosen])

    @classmethod
    def merge(cls, parts: Sequence[FarthestRows]) -> FarthestRows:
        """Those of all parts together."""
        columns = [
            np.concatenate([getattr(part, name) for part in parts])
            for name in ("squares", "numbers", "rows", "weight", "labels")
        ]
        order = np.lexsort((columns[1], -columns[0]))[: parts[0].most]
        return cls(parts[0].most, *(column[order] for column in columns))

    def given(self, sums: Floats) -> Floats:
        """Sums over clusters in which empty ones have got these rows.

        Parameters
        ----------
        sums : array of shape (clusters, columns + 2)
            Of rows, of weights and of ones.
        """
        sums = sums.copy()
        empty = np.flatnonzero(~(sums[:, -1] > 0))
        for to, row, weight, label in zip(empty, self.rows, self.weight, self.labels, strict=False):
            moved = np.concatenate([weight * row, [weight, 1.0]])
            if sums[label, -1] > 1:
                sums[label] -= moved
            sums[to] = moved
        return sums
