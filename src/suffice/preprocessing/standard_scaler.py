"""Columns of mean 0 and variance 1.

    z = (x − m) / s,      m = Σ w x / W,      s² = Σ w (x − m)² / W

over the cells that are there: NaN stays NaN and counts for nothing.  The moments of each
column by itself are sufficient.
"""

from __future__ import annotations

import copy
from typing import Any, ClassVar, Self

import numpy as np
from scipy.sparse import issparse
from sklearn.utils.validation import check_array, check_is_fitted

from suffice.fitting.certificate import Certificate, rounded_down
from suffice.fitting.files.registry import register
from suffice.fitting.one_pass import Solved
from suffice.fitting.requests import Passes
from suffice.numerics.double_double import UNIT, Array, DoubleDouble
from suffice.preprocessing.transformer import FLOATS, Transformer, in_memory
from suffice.sources import Block, Source
from suffice.sources.derived.mapped import MappedSource
from suffice.sources.memory.sparse import csr_on
from suffice.statistics.base import present
from suffice.statistics.moments.columns import ColumnMoments
from suffice.statistics.moments.full import NOTHING, Precision

register(ColumnMoments)

PROVED_DIGITS = 6.0
"""Digits from which a certificate holds."""

ENOUGH_DIGITS = 10.0
"""Digits below which a second pass in double-double is made."""


def column_moments(X: Any, weight: Array | None, precision: Precision) -> ColumnMoments:
    """Moments of each column of an array or a CSR array, whose missing entries are zeros."""
    if not issparse(X):
        return ColumnMoments.summarize(X, weight, precision)
    weight, X = present(weight, X)
    n_rows, d = X.shape
    rows = np.repeat(np.arange(n_rows), np.diff(X.indptr))
    stored = ColumnMoments.summarize_groups(
        np.asarray(X.data, np.float64)[:, None],
        X.indices.astype(np.int64),
        d,
        None if weight is None else weight[rows],
        precision,
    ).at((slice(None), 0))
    # The zeros between the stored entries are rows of mean 0 and scatter 0.
    ones = np.ones(n_rows) if weight is None else weight
    taken = np.bincount(X.indices, ones[rows], minlength=d)
    zeros = ColumnMoments.zero(d, precision)
    count = n_rows - np.bincount(X.indices, minlength=d)
    rest = np.where(count > 0, ones.sum() - taken, 0.0)
    zeros = ColumnMoments(
        count, DoubleDouble.of(rest), zeros.mean, zeros.mean_rest, zeros.scatter, zeros.magnitude, 1
    )
    return ColumnMoments.merge([stored, zeros])


class Scaling:
    """Mean and standard deviation of each column, and how sure they are.

    Attributes
    ----------
    mean, variance, scale : float64 arrays of shape (columns,)
        NaN where a column has no value; the scale of a constant column is 1.
    mean_digits, digits : float
        Decimal digits guaranteed in the mean, relative to the larger of itself and the
        standard deviation; and in the variance too.
    constant, unknown : bool arrays of shape (columns,)
        Columns without spread, and those whose spread is lost to rounding.
    """

    def __init__(self, moments: ColumnMoments) -> None:
        empty = moments.count == 0
        weight = np.where(empty, 1.0, moments.weight.hi)
        scatter, error = moments.rounded_scatter, moments.error_unit
        lost = error * moments.magnitude
        # A constant column has nothing to round; where something was rounded, a spread that
        # rounding alone could have left is not known to be one.
        self.unknown = (scatter <= lost) & (lost > 0)
        constant = (scatter <= 0) | self.unknown
        scatter = np.where(constant, 0.0, scatter)
        mean = moments.mean.round()
        variance = scatter / weight
        deviation = np.sqrt(variance)
        size = np.maximum(np.abs(mean), np.maximum(deviation, np.sqrt(lost / weight)))
        size = np.where(size > 0, size, 1.0)
        mean_error = error * np.sqrt(moments.magnitude / weight) / size
        spread_error = np.where(self.unknown, 1.0, lost / np.where(constant, 1.0, scatter))
        self.mean_digits = _digits(mean_error)
        self.digits = min(self.mean_digits, _digits(spread_error))
        self.mean = np.where(empty, np.nan, mean)
        self.variance = np.where(empty, np.nan, variance)
        self.scale = np.where(empty, np.nan, np.where(constant, 1.0, deviation))
        self.constant = constant & ~empty & ~self.unknown


def _digits(errors: Array) -> float:
    return max(-float(np.log10(np.max(errors, initial=0.0) + UNIT)), 0.0)


class StandardScaler(Transformer):
    """Centre columns and scale them to variance 1.

    Parameters
    ----------
    copy : bool, default=True
        Accepted for compatibility: the input is never overwritten.
    with_mean : bool, default=True
        Whether to centre.  A CSR matrix in memory is refused, since its zeros would fill; the
        blocks of a sparse source are filled one at a time.
    with_std : bool, default=True
        Whether to scale.  Constant columns are not scaled.
    exact : bool, default=False
        Keep the statistic in double-double, so that `forget` loses no digit.

    Attributes
    ----------
    mean_ : array of shape (columns,) or None
    var_ : array of shape (columns,) or None
    scale_ : array of shape (columns,) or None
    n_samples_seen_ : int, float or array of shape (columns,)
        Rows (or their weights together) with a value; one number where it is the same for all
        columns.
    statistics_ : ColumnMoments
    certificate_ : Certificate
    trace_ : Trace

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from suffice.preprocessing import StandardScaler
    >>> X = load_iris().data
    >>> scaler = StandardScaler().fit(X)
    >>> scaler.mean_.round(2).tolist()
    [5.84, 3.06, 3.76, 1.2]
    >>> scaler.transform(X).std(axis=0).round(12).tolist()
    [1.0, 1.0, 1.0, 1.0]
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "copy": ["boolean"],
        "with_mean": ["boolean"],
        "with_std": ["boolean"],
        "exact": ["boolean"],
    }
    _refit_parameters: ClassVar[tuple[str, ...]] = ("with_mean", "with_std")

    def __init__(
        self,
        *,
        copy: bool = True,
        with_mean: bool = True,
        with_std: bool = True,
        exact: bool = False,
    ) -> None:
        self.copy = copy
        self.with_mean = with_mean
        self.with_std = with_std
        self.exact = exact

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = not self.with_mean
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags

    def _checked_rows(self, X: Any, reset: bool) -> Any:
        if issparse(X) and self.with_mean:
            raise ValueError(
                "Cannot center sparse matrices: pass `with_mean=False` instead, or a source of "
                "sparse rows, whose blocks are filled one at a time."
            )
        return super()._checked_rows(X, reset)

    # --- fitting --------------------------------------------------------------------------

    def _passes(self, source: Source) -> Passes:
        found = yield from super()._passes(source)
        # Columns without a value may be columns of NaN; that no row counts, the weights tell.
        kept = found.attributes["statistics_"]
        if source.has_weight and not kept.count.any() and not _counts_any(source):
            raise ValueError(NOTHING)
        return found

    def _summarize(self, block: Block, precision: Precision) -> ColumnMoments:
        return column_moments(block.X, block.weight, precision)

    def _solve(self, moments: ColumnMoments, final: bool) -> Solved | None:
        scaling = Scaling(moments)
        few = scaling.digits < ENOUGH_DIGITS and moments.precision == "float64"
        return None if few and not final else self._set(moments, scaling)

    def _set(self, moments: ColumnMoments, scaling: Scaling) -> Solved:
        learns = self.with_mean or self.with_std
        self.mean_ = scaling.mean if learns else None
        self.var_ = scaling.variance if self.with_std else None
        self.scale_ = scaling.scale if self.with_std else None
        weight = moments.weight.hi
        seen = moments.count if np.array_equal(weight, moments.count) else weight
        self.n_samples_seen_ = seen[0] if len(seen) and (seen == seen[0]).all() else seen
        shown = rounded_down(scaling.digits)
        notes = []
        if scaling.constant.any():
            notes.append(f"{scaling.constant.sum()} columns are constant and are not scaled")
        if empty := int((moments.count == 0).sum()):
            notes.append(f"{empty} columns have no value in any row: they come out as NaN")
        if scaling.unknown.any():
            notes.append(
                f"the spread of {scaling.unknown.sum()} columns cannot be told from rounding: fit "
                "again on the rows, or rescale the columns"
            )
        if scaling.digits < PROVED_DIGITS:
            notes.append(
                "too few digits are determined: a column's values are too small or its offset is "
                "too large; rescale it, or fit again on the rows"
            )
        certificate = Certificate(
            not scaling.unknown.any() and scaling.digits >= PROVED_DIGITS,
            f"mean and variance of each column, to {shown} digits or more",
            f"moments in {moments.precision}",
            {"digits": scaling.digits},
            tuple(notes),
        )
        return Solved(certificate, float("nan"))

    # --- from the statistics of other models ----------------------------------------------

    def _from_columns(self, columns: ColumnMoments) -> Self:
        """A fitted copy."""
        fitted = copy.copy(self)
        fitted.n_features_in_ = columns.count.shape[-1]
        fitted.certificate_ = fitted._set(columns, Scaling(columns)).certificate
        fitted.statistics_ = columns
        return fitted

    def _centre_and_scale(self) -> tuple[Array, Array]:
        """What is taken from the columns, and what they are divided by."""
        # A column without a value has no mean and no scale, and no moments to be scaled.
        scale, centre = np.ones(self.n_features_in_), np.zeros(self.n_features_in_)
        if self.scale_ is not None:
            scale = np.where(np.isfinite(self.scale_), self.scale_, scale)
        if self.with_mean and self.mean_ is not None:
            centre = np.where(np.isfinite(self.mean_), self.mean_, centre)
        return centre, scale

    # --- transforming ---------------------------------------------------------------------

    def _map(self, X: Any) -> Any:
        if issparse(X):
            if self.with_mean:
                return self._map(X.toarray())
            return X if self.scale_ is None else _times(X, 1.0 / self.scale_)
        out = np.array(X, dtype=X.dtype if X.dtype.kind == "f" else np.float64, order="C")
        if self.with_mean:
            out -= self.mean_
        if self.with_std:
            out /= self.scale_
        return out

    def _gives_sparse(self, sparse: bool) -> bool:
        return sparse and not self.with_mean

    def transform(self, X: Any, copy: bool | None = None) -> Any:
        """Centre and scale rows by what was learned.

        Parameters
        ----------
        X : array, data frame, CSR matrix or Source, of shape (rows, columns)
        copy : bool, optional
            Accepted for compatibility: the input is never overwritten.

        Returns
        -------
        array, CSR matrix, data frame or Source
            As `set_output` says; of a source, a source.
        """
        return super().transform(X)

    def inverse_transform(self, X: Any, copy: bool | None = None) -> Any:
        """Undo `transform`.

        Parameters
        ----------
        X : array, CSR matrix or Source, of shape (rows, columns)
        copy : bool, optional
            Accepted for compatibility: the input is never overwritten.

        Returns
        -------
        array, CSR matrix or Source
        """
        check_is_fitted(self)
        if isinstance(X, Source):
            self._check_width(X)
            return MappedSource(X, self._frozen()._unmap, X.n_columns, sparse=X.sparse)
        X = check_array(X, accept_sparse="csr", dtype=FLOATS, ensure_all_finite="allow-nan")
        self._check_width(X)
        return in_memory(self._unmap(X))

    def _unmap(self, X: Any) -> Any:
        if issparse(X):
            if self.with_mean:
                raise ValueError("Cannot uncenter sparse matrices: pass `with_mean=False` instead.")
            return X if self.scale_ is None else _times(X, self.scale_)
        out = np.array(X)
        if self.with_std:
            out *= self.scale_
        if self.with_mean:
            out += self.mean_
        return out


def _counts_any(source: Source) -> bool:
    """Whether a row has a weight above 0."""
    weights = (piece.load().weight for piece in source.pieces())
    return any(weight is not None and bool(weight.any()) for weight in weights)


def _times(X: Any, factor: Array) -> Any:
    """A CSR matrix with each column multiplied."""
    data = (X.data * factor[X.indices]).astype(X.dtype if X.dtype.kind == "f" else np.float64)
    return csr_on(data, X.indices.copy(), X.indptr.copy(), X.shape)
