"""An order of rows in which neighbours stand together, and the boxes around them.

Rows are split at the median of the column that spreads most until at most so many are left as a
*leaf* holds.  The bounding box of a leaf says how near to a point any of its rows can be.
"""

from __future__ import annotations

from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Number = TypeVar("Number", np.float64, np.int64)


def spatial_order(values: Floats, size: int) -> NDArray[np.int64]:
    """An order of rows in which every run of `size` rows lies together.

    Parameters
    ----------
    values : array of shape (rows, columns)
        In units in which distances along columns compare.
    size : int

    Returns
    -------
    array of shape (rows,)
        Row numbers; those of a run ascend.

    Examples
    --------
    >>> spatial_order(np.array([[0.0], [9.0], [1.0], [8.0]]), 2)
    array([0, 2, 1, 3])
    """
    done: list[NDArray[np.int64]] = []
    waiting = [(np.arange(len(values)), np.ascontiguousarray(values.T))]
    while waiting:
        rows, here = waiting.pop()
        if len(rows) <= size or not len(here):
            done.append(np.sort(rows))
            continue
        widest = int(np.argmax(here.max(axis=1) - here.min(axis=1)))
        # A whole number of runs goes to the left.
        left = size * (-(-len(rows) // size) // 2)
        parted = np.argpartition(here[widest], left - 1)
        halves = parted[left:], parted[:left]
        waiting += [(rows[half], np.take(here, half, axis=1)) for half in halves]
    return np.concatenate(done)


class Leaves(NamedTuple):
    """Rows in runs of equal length, which lie together.

    Attributes
    ----------
    order : int array of shape (rows,)
        The rows' numbers, leaf after leaf.
    X : array of shape (leaves, columns, size)
        The rows, each column of a leaf in one run; zeros after the last row.
    low, high : arrays of shape (columns, leaves)
        Corners of the leaves' bounding boxes.
    """

    order: NDArray[np.int64]
    X: Floats
    low: Floats
    high: Floats

    def place(self, values: NDArray[Number], after: float) -> NDArray[Number]:
        """A value for each row, in the leaves' order, with `after` where there is no row.

        Parameters
        ----------
        values : array of shape (rows,)
        after : float

        Returns
        -------
        array of shape (leaves, size)
        """
        out = np.full(self.X.shape[0] * self.X.shape[2], after, dtype=values.dtype)
        out[: len(self.order)] = values[self.order]
        return out.reshape(self.X.shape[0], self.X.shape[2])


def make_leaves(X: Floats, size: int) -> Leaves:
    """Put rows into leaves.

    Parameters
    ----------
    X : array of shape (rows, columns)
        At least one row of finite numbers.
    size : int
        Rows of a leaf; the last may hold fewer.

    Returns
    -------
    Leaves
    """
    rows, columns = X.shape
    order = spatial_order(X, size)
    ordered = X[order]
    starts = np.arange(0, rows, size)
    padded = np.zeros((len(starts) * size, columns))
    padded[:rows] = ordered
    return Leaves(
        order,
        np.ascontiguousarray(padded.reshape(len(starts), size, columns).transpose(0, 2, 1)),
        np.ascontiguousarray(np.minimum.reduceat(ordered, starts).T),
        np.ascontiguousarray(np.maximum.reduceat(ordered, starts).T),
    )
