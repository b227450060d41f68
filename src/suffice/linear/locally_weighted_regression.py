"""Locally weighted regression.

    minimise over b, β:   Σ sᵢ exp(−‖xᵢ − q‖² / 2τ²) (b + β·(xᵢ − q) − yᵢ)² + α ‖β‖²

for every query q anew; the prediction at q is b.  There is nothing to learn beforehand: the model
keeps its rows.  A small bandwidth τ follows the data closely, a large one tends to one plane
for all.  With `degree=0` there is no β, and b is the weighted mean of the targets (Nadaraya and
Watson).  How the many small systems are solved is told in `suffice.linear.local.solution`.

References: Cleveland and Devlin, "Locally weighted regression" (1988); Fan and Gijbels, "Local
polynomial modelling and its applications" (1996).
"""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from sklearn.base import MultiOutputMixin
from sklearn.utils._param_validation import Interval, StrOptions

from suffice.engines.gather import Rows
from suffice.engines.passes import map_rows
from suffice.fitting.certificate import Certificate
from suffice.fitting.estimator import Estimator
from suffice.fitting.regression import Regressor, as_columns
from suffice.fitting.requests import Found, Gather, Passes
from suffice.linear.local.rows import (
    FARTHEST,
    LEAF,
    Floats,
    LocalRows,
    column_deviations,
)
from suffice.linear.local.solution import LocalModel, predict_block
from suffice.numerics.spatial import spatial_order
from suffice.sources import Source, block_rows
from suffice.sources.memory.query_blocks import QueryBlocks

TOGETHER = 256
"""Queries that are solved together."""


class LocallyWeightedRegression(MultiOutputMixin, Regressor, Estimator):
    """A weighted least-squares model of its own around every query.

    Parameters
    ----------
    bandwidth : float or "auto", default="auto"
        τ, the standard deviation of the Gaussian weights.  "auto" is D n^(−1/(d + 4)): D the
        root mean square distance of the rows from their mean, n their total weight, d the number
        of columns that vary.
    degree : {0, 1}, default=1
        What is fitted around a query: a constant or a plane.
    alpha : float, default=0.0
        Penalty on the squares of the plane's slopes.  Far from the data, where the weights
        vanish, any penalty turns the prediction into the weighted mean.
    standardize : bool, default=False
        Measure distances, and the slopes that `alpha` penalises, in standard deviations of
        the columns.
    tol : float, default=1e-10
        Distant rows are left out of a prediction where their weights together are at most
        `tol` squared of all.  0 leaves none out.
    n_jobs : int, optional
        Threads for predictions; by default what `suffice.config` says.

    Attributes
    ----------
    bandwidth_ : float
        The bandwidth in use.
    certificate_ : Certificate
    trace_ : Trace

    Notes
    -----
    Rows left out with a share ρ of the weights change a weighted mean (`degree=0`) by at most ρ
    times the target's range.  A plane may multiply that by its leverage at the query, hence the
    square of `tol`.

    Directions in which the weighted standard deviation around a query is at most 1e-6 of the
    bandwidth (or of the column's standard deviation, if that is less) get no slope.  A query far
    from all rows is thus predicted by the plane through the nearest ones, and where a single one
    has any weight by its target.  The rows that are looked at decide which directions these are.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import load_diabetes
    >>> from suffice import LocallyWeightedRegression
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = LocallyWeightedRegression().fit(X[:300], y[:300])
    >>> round(model.score(X[300:], y[300:]), 2)
    0.52
    >>> bool(np.isfinite(model.predict(X[:1] + 1e6)).all())
    True
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "bandwidth": [Interval(Real, 0, None, closed="neither"), StrOptions({"auto"})],
        "degree": [Interval(Integral, 0, 1, closed="both")],
        "alpha": [Interval(Real, 0, None, closed="left")],
        "standardize": ["boolean"],
        "tol": [Interval(Real, 0, 1, closed="left")],
        "n_jobs": [Integral, None],
    }
    _saved_private = ("_rows", "_target_shape")
    _rows: LocalRows
    _target_shape: tuple[int, ...]

    bandwidth_: float

    def __init__(
        self,
        bandwidth: float | str = "auto",
        *,
        degree: int = 1,
        alpha: float = 0.0,
        standardize: bool = False,
        tol: float = 1e-10,
        n_jobs: int | None = None,
    ) -> None:
        self.bandwidth = bandwidth
        self.degree = degree
        self.alpha = alpha
        self.standardize = standardize
        self.tol = tol
        self.n_jobs = n_jobs

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        # A mean with a bandwidth made for planes explains little of many columns.
        tags.regressor_tags.poor_score = self.degree == 0
        return tags

    # --- fitting --------------------------------------------------------------------------

    def _passes(self, source: Source) -> Passes:
        self._target_shape = source.target_shape
        rows = yield Gather("rows gathered", learned=lambda: {"bandwidth_": self.bandwidth_})
        self._keep(rows)
        return Found({}, self._certify())

    def _keep(self, rows: Rows) -> None:
        """Set the bandwidth and store the rows in spatial order."""
        X, y = np.asarray(rows.X, dtype=np.float64), as_columns(rows.y)
        weight = np.ones(len(X)) if rows.weight is None else rows.weight
        deviations = column_deviations(X, weight)
        columns = np.flatnonzero(deviations > 0)
        deviations = deviations[columns]
        scales = deviations if self.standardize else np.ones(len(columns))
        if isinstance(self.bandwidth, str):
            total = float(weight.sum())
            spread = float(np.linalg.norm(deviations / scales))
            self.bandwidth_ = (spread or 1.0) * total ** (-1 / (len(columns) + 4))
        else:
            self.bandwidth_ = float(self.bandwidth)
        bandwidths = self.bandwidth_ * scales
        values = X[:, columns]
        with np.errstate(over="ignore", divide="ignore"):
            spans = np.ptp(values, axis=0) / bandwidths
        if not (spans < FARTHEST).all():
            raise ValueError(
                f"bandwidth={self.bandwidth_!r} is too small: column "
                f"{columns[int(np.argmax(spans))]} spans more than {FARTHEST:.0e} bandwidths"
            )
        order = spatial_order(values / bandwidths, LEAF)
        X, y = (np.ascontiguousarray(table[order].T) for table in (values, y))
        self._rows = LocalRows(X, y, weight[order], columns, bandwidths, deviations)

    def _certify(self) -> Certificate:
        constant = self.n_features_in_ - len(self._rows.columns)
        return Certificate(
            True,
            "every prediction is that of all rows, but for some whose weights together are at most "
            f"{self.tol**2:g} of all",
            "rows kept in spatial order",
            {"rows": float(self._rows.n_rows), "bandwidth": self.bandwidth_},
            (f"{constant} constant columns have no influence",) if constant else (),
        )

    # --- predicting -----------------------------------------------------------------------

    def _predicted(self, queries: Any) -> Floats:
        """Predictions of rows, a source's block at a time: the same bits from files."""
        step = block_rows(self.n_features_in_)
        parts = [
            self._predict_together(np.asarray(queries[at : at + step], dtype=np.float64))
            for at in range(0, len(queries), step)
        ]
        return np.concatenate(parts).reshape(len(queries), *self._target_shape)

    def _predict_together(self, queries: Floats) -> Floats:
        rows = self._rows
        # So many weights below e⁻ᴸ of the largest make up no more than `tol` squared.
        depth = np.log(rows.n_rows) - 2 * np.log(self.tol) if self.tol else np.inf
        scales = rows.bandwidths / self.bandwidth_
        model = LocalModel(self.degree, self.alpha * (scales / rows.units) ** 2, depth)
        queries = queries[:, rows.columns]
        order = spatial_order(rows.within_reach(queries) / rows.bandwidths, TOGETHER)
        out = np.empty((len(queries), len(rows.y)))
        out[order] = map_rows(
            QueryBlocks(queries[order], TOGETHER),
            lambda block: predict_block(rows, block.X, model),
            self._n_jobs(),
        )
        return out
