"""Principal component analysis.

    minimise over V with V Vᵀ = I (k × d):   Σ wᵢ ‖(xᵢ − m) − Vᵀ V (xᵢ − m)‖²

The rows of V are the directions of largest variance: the eigenvectors of the scatter
S = Σ wᵢ (xᵢ − m)(xᵢ − m)ᵀ that belong to its k largest values, and what is minimised is the sum of
the values left out.  The moments are therefore sufficient: k, whitening and the scaling of the
columns can be chosen anew without the data.

Squaring the data squares the ratio of the largest to the smallest deviation, so small values lose
digits in float64 moments.  How many are left follows from the moments' own error bound
(`suffice.decomposition.spectrum`): six digits of the largest value are enough, or with whitening,
which divides by them, six of each.  Only where these are not there, the moments are accumulated
once more in double-double.  Directions that float64 cannot tell apart, and a number of components
that it cannot decide, are named in the certificate (`suffice.decomposition.certificate`).  Many
columns, and fewer rows: `suffice.decomposition.more_columns_than_rows`.

Reference: Tipping and Bishop, "Probabilistic principal component analysis" (1999).
"""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from sklearn.utils._param_validation import Interval, RealNotInt, StrOptions

from suffice.decomposition.certificate import PROVED_ERROR, Errors
from suffice.decomposition.more_columns_than_rows import ProductsOfRows
from suffice.decomposition.projection import Projection
from suffice.decomposition.scaling import UnitColumns, scaled_scatter
from suffice.decomposition.spectrum import (
    Spectrum,
    completed,
    kept_for,
    most_probable,
    signed,
    spectrum,
)
from suffice.fitting.one_pass import Solved
from suffice.fitting.requests import Found, Gather, Passes
from suffice.numerics.double_double import DoubleDouble
from suffice.sources import Block, Source
from suffice.statistics.moments.full import NOTHING, Moments, Precision

SHARE_REACHED = (
    "the share of variance asked for is reached to within the error: one component more or less "
    "would do"
)
EQUALLY_PROBABLE = (
    "the errors of the variances leave open which number of components is the most probable: the "
    "one that is so without errors was taken"
)

FEW_COLUMNS = 128
"""Columns up to which moments are formed even of fewer rows."""


class PCA(Projection):
    """The directions in which rows vary most.

    Parameters
    ----------
    n_components : int, float, "mle" or None, default=None
        How many to keep: a number; between 0 and 1, as many as it takes to keep more than
        this share of the variance; "mle", the most probable number by Minka's evidence;
        None, all: the lesser of rows and columns.
    copy : bool, default=True
        Accepted for compatibility: the input is never overwritten.
    whiten : bool, default=False
        Whether `transform` divides each coordinate by its standard deviation.
    svd_solver : str, default="auto"
        Any of scikit-learn's names is accepted; the result does not depend on it.
    tol, iterated_power, n_oversamples, power_iteration_normalizer, random_state
        Accepted for compatibility: they steer solvers that are not needed here.
    standardize : bool, default=False
        Divide each column by its standard deviation first (columns without any are left as
        they are): the principal components of the correlation matrix.
    exact : bool, default=False
        Accumulate in double-double from the start, so that forgetting rows loses nothing.
    n_jobs : int, optional
        Threads; by default what `suffice.config` says.

    Attributes
    ----------
    components_ : array of shape (components, columns)
        Orthonormal directions, by descending variance; the largest entry of each is positive.
    explained_variance_ : array of shape (components,)
        Variance along each, for W − 1 degrees of freedom.
    explained_variance_ratio_ : array of shape (components,)
        Its share of the variance of all columns together.
    singular_values_ : array of shape (components,)
        Length of the centred data along each direction.
    mean_ : array of shape (columns,)
    scale_ : array of shape (columns,)
        What the columns are divided by; only with `standardize`.
    noise_variance_ : float
        Mean of the variances that were left out.
    n_components_ : int
    n_samples_ : int or float
        Total weight W of the rows.
    statistics_ : Moments
    certificate_ : Certificate
    trace_ : Trace

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from suffice import PCA
    >>> X = load_iris().data
    >>> model = PCA(n_components=2).fit(X)
    >>> model.explained_variance_ratio_.round(4)
    array([0.9246, 0.0531])
    >>> model.transform(X[:1]).round(3)
    array([[-2.684,  0.319]])
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "n_components": [
            Interval(Integral, 0, None, closed="left"),
            Interval(RealNotInt, 0, 1, closed="neither"),
            StrOptions({"mle"}),
            None,
        ],
        "copy": ["boolean"],
        "whiten": ["boolean"],
        "svd_solver": [StrOptions({"auto", "full", "covariance_eigh", "arpack", "randomized"})],
        "tol": [Interval(Real, 0, None, closed="left")],
        "iterated_power": [StrOptions({"auto"}), Interval(Integral, 0, None, closed="left")],
        "n_oversamples": [Interval(Integral, 1, None, closed="left")],
        "power_iteration_normalizer": [StrOptions({"auto", "QR", "LU", "none"})],
        "random_state": ["random_state"],
        "standardize": ["boolean"],
        "exact": ["boolean"],
        "n_jobs": [Integral, None],
    }
    _refit_parameters: ClassVar[tuple[str, ...]] = ("n_components", "whiten", "standardize")

    def __init__(
        self,
        n_components: float | str | None = None,
        *,
        copy: bool = True,
        whiten: bool = False,
        svd_solver: str = "auto",
        tol: float = 0.0,
        iterated_power: int | str = "auto",
        n_oversamples: int = 10,
        power_iteration_normalizer: str = "auto",
        random_state: Any = None,
        standardize: bool = False,
        exact: bool = False,
        n_jobs: int | None = None,
    ) -> None:
        self.n_components = n_components
        self.copy = copy
        self.whiten = whiten
        self.svd_solver = svd_solver
        self.tol = tol
        self.iterated_power = iterated_power
        self.n_oversamples = n_oversamples
        self.power_iteration_normalizer = power_iteration_normalizer
        self.random_state = random_state
        self.standardize = standardize
        self.exact = exact
        self.n_jobs = n_jobs

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags

    _cheap_exact = (1 << 20, 32)

    # --- fitting --------------------------------------------------------------------------

    def _training_source(self, X: Any, y: Any, sample_weight: Any, reset: bool = True) -> Source:
        return super()._training_source(X, None, sample_weight, reset)  # there is no target

    def _passes(self, source: Source) -> Passes:
        few = source.n_columns > FEW_COLUMNS and source.count_rows() < source.n_columns
        return self._on_rows(source) if few else super()._passes(source)

    def _summarize(self, block: Block, precision: Precision) -> Moments:
        return Moments.summarize(block.X, None, block.weight, precision)

    def _solve(self, moments: Moments, final: bool) -> Solved | None:
        if not final and self._wants_more_digits(moments):
            return None
        if not moments.count:
            raise ValueError(NOTHING)
        accepted = np.inf if final or moments.precision == "double-double" else PROVED_ERROR
        columns = scaled_scatter(moments, self.standardize)
        found = spectrum(columns.scatter, columns.unit, columns.g, moments.count - 1)
        return self._set(found, columns, moments.weight, moments.count, accepted)

    def _on_rows(self, source: Source) -> Passes:
        # The statistic of an earlier fit must not outlive it.
        self.__dict__.pop("statistics_", None)
        gathered = yield Gather("rows' side", learned=self._fitted_attributes)
        rows = ProductsOfRows(gathered, source, self.standardize, self._n_jobs())
        columns = UnitColumns(
            rows.mean, rows.mean_error, rows.deviation, rows.scale, rows.scale_error
        )
        weight = DoubleDouble.of(rows.weight).sum()
        solved = None
        if not self.exact:
            found = rows.spectrum("float64")
            solved = self._set(found, columns, weight, rows.n_rows, PROVED_ERROR)
        if solved is None:
            found = rows.spectrum("double-double")
            solved = self._set(found, columns, weight, rows.n_rows, np.inf)
        assert solved is not None  # double-double is the last resort
        return Found({}, solved.certificate, solved.objective)

    def _set(
        self,
        found: Spectrum,
        columns: UnitColumns,
        weight: DoubleDouble,
        count: int,
        accepted: float,
    ) -> Solved | None:
        """Adopt what was found if its error is accepted."""
        d = len(columns.mean)
        freedom = weight - 1.0
        if not freedom.hi > 0:
            raise ValueError(
                f"{type(self).__name__} needs rows of a total weight above 1, got "
                f"n_samples={_number(weight)}: the variance divides by the weight less 1; weights "
                "count repetitions of a row"
            )
        n = max(count, int(np.floor(weight.hi)))
        found = found.cut(min(n, d))
        k, doubt = self._count(found, float(weight.hi), n, d)
        left = found.values[k:].sum()
        left_error = min(
            float(found.errors[k:].sum()), found.total_error + float(found.errors[:k].sum())
        )
        errors = Errors(found, k, columns, left, left_error, self.whiten)
        if not errors.numbers <= accepted:
            return None
        vectors = signed(completed(found.vectors, k) if k > found.rank else found.vectors[:k])
        variances = found.values / freedom
        total = float(found.total.hi)
        self.components_ = vectors
        self.explained_variance_ = variances.round()[:k]
        self.explained_variance_ratio_ = (
            (found.values / found.total).round()[:k] if total > 0 else np.zeros(k)
        )
        self.singular_values_ = np.sqrt(found.values.round()[:k])
        self.noise_variance_ = float((left / freedom).round()) / max(min(n, d) - k, 1)
        self.mean_ = columns.mean
        self.__dict__.pop("scale_", None)
        if self.standardize:
            self.scale_ = columns.scale
        self.n_components_ = k
        self.n_samples_ = _number(weight)
        self._fitted_whiten = self.whiten
        return Solved(errors.certificate(doubt), float(left.round()))

    def _count(self, found: Spectrum, weight: float, n: int, d: int) -> tuple[int, str]:
        """How many components, and in what way errors leave that in doubt."""
        wanted = self.n_components
        if wanted is None:
            return min(n, d), ""
        if wanted == "mle":
            if n < d:
                raise ValueError(
                    "n_components='mle' is only supported if n_samples >= n_features, got "
                    f"n_samples={n} and n_features={d}; give a number of components instead"
                )
            count, doubt = most_probable(found.values.round(), found.errors, weight)
            return count, EQUALLY_PROBABLE if doubt else ""
        if not isinstance(wanted, Integral):
            count, doubt = kept_for(float(wanted), found)
            return count, SHARE_REACHED if doubt else ""
        if int(wanted) > min(n, d):
            raise ValueError(
                f"n_components={wanted} must be between 0 and min(n_samples, n_features)="
                f"{min(n, d)}"
            )
        return int(wanted), ""


def _number(weight: DoubleDouble) -> int | float:
    """A weight as an int where it is one."""
    value = float(weight.round())
    return int(value) if value.is_integer() and abs(value) < 2**53 else value
