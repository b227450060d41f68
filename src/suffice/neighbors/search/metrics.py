"""Distances between rows, and the ranks by which neighbours are compared.

    euclidean   √Σ (xⱼ − qⱼ)²           manhattan   Σ |xⱼ − qⱼ|
    chebyshev   max |xⱼ − qⱼ|           minkowski   (Σ wⱼ |xⱼ − qⱼ|ᵖ)^(1/p)
    cosine      1 − x·q / ‖x‖‖q‖ = ½ ‖x/‖x‖ − q/‖q‖‖²

A rank grows with the distance and takes no root (`suffice.kernels.neighbors.distances`).  The
cosine distance is half the squared distance of rows of length 1: 0 for equal rows, and at a small
angle φ wrong by a few 1e-16/φ of itself, where 1 − cos is by 1e-16/φ².  From a row of zeros it is
taken to be 1: such a row gets a column of its own, one for queries and one for the data.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

from suffice.kernels.neighbors.distances import CHEBYSHEV, MANHATTAN, POWER, SQUARED
from suffice.statistics.rows.sparse import SparseRows

Floats = NDArray[np.float64]

ALIASES = {
    "l1": "manhattan",
    "cityblock": "manhattan",
    "l2": "euclidean",
    "p": "minkowski",
    "infinity": "chebyshev",
}
RANKS = {"euclidean": SQUARED, "cosine": SQUARED, "manhattan": MANHATTAN, "chebyshev": CHEBYSHEV}
MOST_POWER = 32
"""Differences between 1e-9 and 1e9 have powers up to this."""

NAMES = ("euclidean", "manhattan", "chebyshev", "minkowski", "cosine")


@dataclass(frozen=True)
class Metric:
    """A distance.

    Attributes
    ----------
    name : str
        One of NAMES; a Minkowski distance that has a name of its own goes by that.
    p : float
        The power of a Minkowski distance.
    w : tuple of float, or None
        Its weights, one for each column.
    """

    name: str
    p: float = 2.0
    w: tuple[float, ...] | None = None

    @property
    def kind(self) -> int:
        """How the kernels rank rows."""
        return RANKS.get(self.name, POWER)

    def described(self) -> tuple[str, dict[str, Any]]:
        """Its name and its parameters, as scikit-learn's attributes tell them."""
        return self.name, {"p": self.p, "w": self.w} if self.name == "minkowski" else {}

    @property
    def fits_trees(self) -> bool:
        """Whether a row in a box is no nearer than the box: so it is but for cosines."""
        return self.name != "cosine" and self.p >= 1

    def prepared(self, X: Floats, queries: bool = False) -> Floats:
        """The rows whose ranks are to be compared, in C order.

        Parameters
        ----------
        X : array of shape (rows, columns)
        queries : bool
            Whether they are queries, or the data.
        """
        if self.name != "cosine":
            return np.ascontiguousarray(X)
        n, d = X.shape
        out = np.zeros((n, d + 2))
        largest = np.abs(X).max(axis=1, initial=0.0)
        zero = largest == 0
        # First by the largest, so that squares neither overflow nor vanish.
        np.divide(X, np.where(zero, 1.0, largest)[:, None], out=out[:, :d])
        # Squares are added one after the other, so that zeros among them make no difference.
        length = np.sqrt(np.cumsum(np.square(out[:, :d]), axis=1)[:, -1])
        out[:, :d] /= np.where(zero, 1.0, length)[:, None]
        out[zero, d + int(queries)] = 1.0
        return out

    def prepared_entries(self, X: SparseRows, queries: bool = False) -> SparseRows:
        """What `prepared` makes of the same rows, to the last bit.

        Parameters
        ----------
        X : SparseRows
        queries : bool
            Whether they are queries, or the data.
        """
        if self.name != "cosine":
            return X
        of = X.rows_of_entries()
        largest = np.zeros(len(X))
        np.maximum.at(largest, of, np.abs(X.data))
        data = X.data / largest[of]
        data /= np.sqrt(X.sums(np.square(data)))[of]
        empty = np.diff(X.indptr) == 0
        places = X.indptr[:-1][empty]
        return SparseRows(
            np.insert(data, places, 1.0),
            np.insert(X.indices, places, X.n_columns + int(queries)),
            X.indptr + np.concatenate([[0], np.cumsum(empty)]),
            X.n_columns + 2,
        )

    @property
    def weights(self) -> Floats:
        """The weights of the columns; an empty array where there are none."""
        return np.array(self.w or (), dtype=np.float64)

    def distance(self, ranks: Floats) -> Floats:
        """Distances from ranks.

        Raises
        ------
        ValueError
            If a rank is infinite.
        """
        if self.name == "euclidean":
            return np.sqrt(ranks)
        if self.name == "cosine":
            return 0.5 * ranks
        if self.kind == POWER:
            if np.isinf(ranks).any():
                raise ValueError(
                    f"differences to the power p={self.p:g} exceed the numbers of float64: take a "
                    'smaller p or smaller weights w, rescale the columns, or take "chebyshev"'
                )
            return ranks ** (1 / self.p)
        return ranks

    def rank(self, distance: float) -> float:
        """At least the rank of every row within a distance."""
        with np.errstate(over="ignore", under="ignore"):
            if self.name == "euclidean":
                rank = np.float64(distance) ** 2
            elif self.name == "cosine":
                rank = np.float64(2 * distance)
            else:
                rank = np.float64(distance) ** (self.p if self.kind == POWER else 1.0)
        # A p-th root forgets what is far behind the point, the more the larger p is.
        spare = 1e-12 * (self.p if self.kind == POWER and self.p > 1 else 1.0)
        return float(rank * (1 + spare) + 1e-300)

    def log_unit_ball(self, d: int) -> float:
        """Logarithm of the volume within distance 1 of a point of d columns."""
        if self.name == "cosine":
            raise ValueError("cosine distances have no volume: take another metric for densities")
        if self.name == "chebyshev":
            return d * np.log(2.0)
        if self.w is not None and not all(self.w):
            raise ValueError(
                "with a weight w of 0 balls have no end in that column, and there are no "
                "densities: leave the column out, or give it a positive weight"
            )
        p = {"euclidean": 2.0, "manhattan": 1.0}.get(self.name, self.p)
        shrunk = 0.0 if self.w is None else float(np.log(self.w).sum()) / p
        volume = d * (np.log(2.0) + gammaln(1 + 1 / p)) - gammaln(1 + d / p)
        return float(volume - shrunk)


def metric_of(
    metric: Any, p: float | None, params: Mapping[str, Any] | None, n_columns: int
) -> Metric:
    """The distance that constructor parameters name.

    Parameters
    ----------
    metric : str
    p : float
        The power of a Minkowski distance.
    params : mapping, optional
        `p`, which then counts, and `w`, the weights of its columns.
    n_columns : int
    """
    name = ALIASES.get(metric, metric) if isinstance(metric, str) else metric
    if not isinstance(name, str) or name not in NAMES:
        known = ", ".join(sorted({*NAMES, *ALIASES}))
        raise ValueError(f"metric={metric!r} is not supported; metrics are {known}")
    params = dict(params or {})
    power = params.pop("p", p)
    w = params.pop("w", None)
    if params or (w is not None and name != "minkowski"):
        extra = ", ".join(map(repr, params)) or "'w'"
        raise ValueError(
            f"metric_params holds {extra}; metric={metric!r} takes "
            + ("'p' and 'w'" if name == "minkowski" else "none")
        )
    if name != "minkowski":
        return Metric(name)
    p = 2.0 if power is None else float(power) if isinstance(power, Real) else np.nan
    if not p > 0:
        raise ValueError(f"p={power!r} of a Minkowski distance must be a positive number")
    if MOST_POWER < p < np.inf:
        raise ValueError(
            f"p={power!r} of a Minkowski distance is more than {MOST_POWER}, where powers of "
            "ordinary differences leave the range of float64: metric='chebyshev' is nearly the same"
        )
    if w is not None:
        return Metric(name, p, _weights(w, p, n_columns))
    named = {1.0: "manhattan", 2.0: "euclidean", np.inf: "chebyshev"}.get(p)
    return Metric(name, p) if named is None else Metric(named)


def _weights(w: Any, p: float, n_columns: int) -> tuple[float, ...]:
    try:
        values = np.asarray(w, dtype=np.float64)
    except (TypeError, ValueError):
        values = np.full(n_columns, np.nan)
    if values.shape != (n_columns,) or not np.isfinite(values).all() or (values < 0).any():
        raise ValueError(
            f"the weights w of a Minkowski distance must be {n_columns} numbers that are not "
            "negative, one for each column"
        )
    if np.isinf(p):
        raise ValueError("weights w need a Minkowski distance with finite p")
    return tuple(values.tolist())
