"""The rows themselves: the statistic of models that compare queries with what they have seen.

Nothing is summed up.  Merging puts rows one after the other, in the order of the parts, without
copying them; `joined` makes one table of the parts.  Rows are taken away by value: each must be
there to the last bit, with its target, and of several alike the last one goes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse

from suffice.numerics.cached import cached_property
from suffice.sources.finite import within_range
from suffice.statistics.counts.labels import KINDS
from suffice.statistics.rows.sparse import SparseRows

Floats = NDArray[np.float64]
DenseOrSparse = Floats | SparseRows


@dataclass(frozen=True, eq=False)
class RowsAndTargets:
    """Rows and their targets, in parts.

    Attributes
    ----------
    X : tuple of float64 arrays of shape (rows, columns), or of SparseRows
    y : tuple of arrays of shape (rows,) or (rows, targets)
        As long as `X`, or empty if there is no target.
    n_columns : int

    Examples
    --------
    >>> import numpy as np
    >>> a, b = (RowsAndTargets.summarize(np.full((n, 1), float(n)), np.arange(n)) for n in (1, 2))
    >>> both = RowsAndTargets.merge([a, b]).joined()
    >>> both.X[0].ravel().tolist(), both.y[0].tolist()
    ([1.0, 2.0, 2.0], [0, 0, 1])
    """

    X: tuple[DenseOrSparse, ...]
    y: tuple[NDArray[Any], ...]
    n_columns: int

    def _check_loaded(self) -> None:
        """Raise ValueError unless what a file holds could be rows."""
        cells: list[Any] = [x.data if isinstance(x, SparseRows) else x for x in self.X]
        parts: tuple[Any, ...] = (*cells, *self.y)
        if not all(isinstance(part, np.ndarray) and part.ndim in (1, 2) for part in parts):
            raise ValueError("its rows and targets are no tables")
        shapes = all(x.shape[1:] == (self.n_columns,) for x in self.X)
        if not shapes or not all(x.dtype == np.float64 for x in cells):
            raise ValueError(f"its rows are no tables of {self.n_columns} columns")
        if not all(map(within_range, cells)):
            raise ValueError("its rows hold numbers that are not finite, or too large")
        if self.y and [len(part) for part in self.y] != [len(part) for part in self.X]:
            raise ValueError("its rows and targets do not belong together")

    @classmethod
    def zero(cls, n_columns: int) -> RowsAndTargets:
        """No rows."""
        return cls((), (), n_columns)

    @classmethod
    def summarize(cls, X: Any, y: NDArray[Any] | None = None) -> RowsAndTargets:
        """Keep a block of rows.

        Parameters
        ----------
        X : array of shape (rows, columns), or a sparse one
            Real numbers of any dtype and stride.
        y : array of shape (rows,) or (rows, targets), optional

        Raises
        ------
        FloatingPointError
            If a value is not finite, or too large.
        """
        rows: Any = SparseRows.of(X) if issparse(X) else np.array(X, np.float64, order="C")
        if not within_range(rows.data if issparse(X) else rows):
            raise FloatingPointError("values out of range")
        if not len(rows):
            return cls.zero(rows.shape[1])
        return cls((rows,), () if y is None else (np.array(y),), rows.shape[1])

    @classmethod
    def merge(cls, parts: Sequence[RowsAndTargets]) -> RowsAndTargets:
        """All rows, those of the first part first."""
        X = tuple(x for part in parts for x in part.X)
        y = tuple(one for part in parts for one in part.y)
        kinds = {one.dtype.kind for one in y}
        if len(kinds) > 1:
            names = " and ".join(sorted(KINDS.get(kind, kind) for kind in kinds))
            raise ValueError(f"targets must be of one kind, but these are {names}")
        return cls(X, y, parts[0].n_columns).joined()

    def joined(self) -> RowsAndTargets:
        """The same rows in one part: always the same object."""
        return self if len(self.X) <= 1 else self._whole

    @cached_property
    def _whole(self) -> RowsAndTargets:
        parts: Any = self.X
        X: DenseOrSparse = (
            SparseRows.concatenated([_sparse(x) for x in parts])
            if self.sparse
            else np.concatenate(parts)
        )
        y = (np.concatenate(self.y),) if self.y else ()
        return RowsAndTargets((X,), y, self.n_columns)

    @property
    def sparse(self) -> bool:
        """Whether rows are kept without their zeros: so are all where some are."""
        return any(isinstance(x, SparseRows) for x in self.X)

    def subtract(self, part: RowsAndTargets) -> RowsAndTargets:
        """The rows that stay when those of `part` are taken away."""
        whole, gone = self.joined(), part.joined()
        stay = np.ones(self.count, bool)
        if gone.X:
            stay[whole._places_of(gone)] = False
        if not stay.any():
            return RowsAndTargets.zero(self.n_columns)
        y = tuple(one[stay] for one in whole.y)
        return RowsAndTargets((_taken(whole.X[0], stay),), y, self.n_columns)

    def _places_of(self, part: RowsAndTargets) -> list[int]:
        """Where rows equal to those of a part are: the last ones, and none twice."""
        waiting: dict[tuple[Any, ...], list[int]] = {}
        gone = part.X[0]
        if self.X:
            gone = _sparse(gone) if self.sparse else _dense(gone)
            # Most rows differ in a number already.
            likely = np.flatnonzero(np.isin(_numbers(self.X[0]), _numbers(gone)))
            some = _taken(self.X[0], likely)
            keys = _keys(some, tuple(y[likely] for y in self.y))
            for place, key in zip(likely.tolist(), keys, strict=True):
                waiting.setdefault(key, []).append(place)
        found = []
        for i, key in enumerate(_keys(gone, part.y)):
            if not waiting.get(key):
                target = f" with the target {key[1]!r}" if self.y else ""
                raise ValueError(
                    f"cannot take row {i} (counted from 0){target} away: no row that is left "
                    "equals it; only rows that were learned can be forgotten"
                )
            found.append(waiting[key].pop())
        return found

    @cached_property
    def memo(self) -> dict[Any, Any]:
        """What was made of these rows, by name; it travels with no copy of them."""
        return {}

    def __reduce__(self) -> tuple[object, ...]:
        return RowsAndTargets, (self.X, self.y, self.n_columns)

    @property
    def count(self) -> int:
        """Number of rows."""
        return sum(map(len, self.X))

    @property
    def precision(self) -> str:
        """Rows are kept as they are."""
        return "float64"

    @property
    def nbytes(self) -> int:
        """Bytes that the arrays take."""
        return sum(one.nbytes for one in (*self.X, *self.y))


def as_table(rows: DenseOrSparse) -> Any:
    """Kept rows as arrays or as a matrix of SciPy's."""
    return rows.csr if isinstance(rows, SparseRows) else rows


def _sparse(rows: DenseOrSparse) -> SparseRows:
    return rows if isinstance(rows, SparseRows) else SparseRows.of(rows)


def _dense(rows: DenseOrSparse) -> Floats:
    return np.asarray(rows.csr.toarray()) if isinstance(rows, SparseRows) else rows


def _taken(rows: DenseOrSparse, chosen: Any) -> DenseOrSparse:
    return rows.taken(chosen) if isinstance(rows, SparseRows) else rows[chosen]


def _numbers(rows: DenseOrSparse) -> Floats:
    """A number for each row, the same for equal rows and mostly another for others."""
    return rows.sums(rows.data) if isinstance(rows, SparseRows) else rows[:, 0]


def _keys(rows: DenseOrSparse, targets: tuple[NDArray[Any], ...]) -> list[tuple[Any, ...]]:
    """What makes rows equal: all cells, as bytes, and the target."""
    if isinstance(rows, SparseRows):
        parts = [np.split(one, rows.indptr[1:-1]) for one in (rows.indices, rows.data)]
        cells = [i.tobytes() + x.tobytes() for i, x in zip(*parts, strict=True)]
    else:
        cells = [row.tobytes() for row in rows + 0.0]  # −0 is 0
    values = targets[0].tolist() if targets else [None] * len(cells)
    return [
        (row, tuple(y) if isinstance(y, list) else y) for row, y in zip(cells, values, strict=True)
    ]
