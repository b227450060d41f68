"""What a split tells about the class, in bits.

With |D| the weight of the rows of a node, pₖ the share of class k among them, and Dᵛ the rows that
have value v of a column a:

    Ent(D)           = −Σₖ pₖ log₂ pₖ
    Gain(D, a)       = Ent(D) − Σᵥ |Dᵛ|/|D| Ent(Dᵛ)
    Split(D, a)      = −Σᵥ |Dᵛ|/|D| log₂ |Dᵛ|/|D|
    GainRatio(D, a)  = Gain(D, a) / Split(D, a)
    Gini(D)          = 1 − Σₖ pₖ²

All are functions of a table that has a row for each value of the column, and in it the weight of
each class.  Of many splits the tables are stacked, and `starts` says where each begins.  Rows whose
value is missing tell nothing: the gain is that of the other rows times their share, while in the
information of the split they are one more branch.

References: Quinlan, "Induction of decision trees" (1986); "C4.5: programs for machine learning"
(1993).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import xlogy

Floats = NDArray[np.float64]

TIE = 1e-10
"""Values no farther apart are the same but for rounding."""


def entropy(counts: ArrayLike) -> Any:
    """−Σ p log₂ p of the shares p of the classes.

    Parameters
    ----------
    counts : array of shape (..., classes)
        Weights of the classes.

    Examples
    --------
    >>> round(float(entropy([9, 5])), 6)
    0.940286
    """
    counts = np.asarray(counts, dtype=np.float64)
    return _bits(counts) / _over_classes(counts)


def gain(table: ArrayLike, starts: Any = (0,), missing: Any = 0.0) -> Floats:
    """How many bits about the class a split tells.

    Parameters
    ----------
    table : array of shape (values, classes)
        Weight of each class among the rows of each value; of several splits one table below
        the other.
    starts : sequence of int
        The first row of each split's table.
    missing : float or array of shape (splits,), default=0
        Weight of the rows whose value is missing.

    Returns
    -------
    array of shape (splits,)

    Examples
    --------
    On nine days of fourteen somebody played tennis: on all 4 that were overcast, on 3 of 5 with
    rain, and on 2 of 5 with sun.

    >>> outlook = [[0, 4], [2, 3], [3, 2]]
    >>> gain(outlook).round(6)
    array([0.24675])
    """
    table = np.asarray(table, dtype=np.float64)
    whole = np.add.reduceat(table, starts, axis=0)
    after = np.add.reduceat(_bits(table), starts)
    return (_bits(whole) - after) / (_over_classes(whole) + missing)


def split_information(table: ArrayLike, starts: Any = (0,), missing: Any = 0.0) -> Floats:
    """How many bits it takes to tell which branch a row takes.

    Parameters
    ----------
    table, starts, missing
        As of `gain`.

    Returns
    -------
    array of shape (splits,)

    Examples
    --------
    >>> split_information([[0, 4], [2, 3], [3, 2]]).round(6)
    array([1.577406])
    """
    sizes = _over_classes(np.asarray(table, dtype=np.float64))
    total = np.add.reduceat(sizes, starts) + missing
    inside = np.add.reduceat(xlog2x(sizes), starts) + xlog2x(missing)
    return np.asarray((xlog2x(total) - inside) / total)


def gain_ratio(table: ArrayLike, starts: Any = (0,), missing: Any = 0.0) -> Floats:
    """The gain by the information of the split; 0 where all rows take one branch.

    Parameters
    ----------
    table, starts, missing
        As of `gain`.

    Returns
    -------
    array of shape (splits,)

    Examples
    --------
    >>> gain_ratio([[0, 4], [2, 3], [3, 2]]).round(6)
    array([0.156428])
    """
    information = split_information(table, starts, missing)
    found = np.zeros(len(information))
    return np.divide(gain(table, starts, missing), information, out=found, where=information > 0)


def gini_decrease(table: ArrayLike, starts: Any = (0,)) -> Floats:
    """Gini(D) − Σ |Dᵛ|/|D| Gini(Dᵛ): how much purer a split makes the rows.

    Parameters
    ----------
    table, starts
        As of `gain`.

    Returns
    -------
    array of shape (splits,)

    Examples
    --------
    >>> gini_decrease([[0, 4], [2, 3], [3, 2]]).round(6)
    array([0.116327])
    """
    table = np.asarray(table, dtype=np.float64)
    whole = np.add.reduceat(table, starts, axis=0)
    after = np.add.reduceat(_impure(table), starts)
    return np.asarray((_impure(whole) - after) / _over_classes(whole))


def first_best(values: Floats) -> int:
    """The first of the largest values; sums that differ by rounding alone are a tie."""
    return int(np.argmax(values >= values.max() - TIE))


def _over_classes(counts: Floats) -> Floats:
    """Sums over the last axis; it is short, and NumPy's own sum slow along it."""
    return np.asarray(counts @ np.ones(counts.shape[-1]))


def xlog2x(x: Any) -> Any:
    """x log₂ x, 0 at 0."""
    return xlogy(x, x) / np.log(2)


def _bits(counts: Floats) -> Floats:
    """|D| Ent(D) of each row of counts."""
    return np.asarray(xlog2x(_over_classes(counts)) - _over_classes(xlog2x(counts)))


def _impure(counts: Floats) -> Floats:
    """|D| Gini(D) of each row of counts."""
    total = _over_classes(counts)
    return np.asarray(total - _over_classes(np.square(counts)) / total)
