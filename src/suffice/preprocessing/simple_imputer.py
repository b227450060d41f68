"""Missing cells filled with one value a column.

The value is the mean, the median or the most frequent one of the cells that are there, or a
constant.  The mean comes from the moments of each column; median and most frequent value come,
exactly, from how often each distinct value occurs, which takes memory for every distinct value.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, hstack, issparse
from sklearn.impute import MissingIndicator
from sklearn.utils._param_validation import MissingValues, StrOptions
from sklearn.utils.validation import _check_feature_names_in, check_is_fitted, validate_data

from suffice.fitting.base import Solved
from suffice.fitting.certificate import Certificate
from suffice.fitting.registry import register
from suffice.numerics.double_double import Array
from suffice.preprocessing.categories import is_missing, table_of
from suffice.preprocessing.one_hot_encoder import refuse_infinity
from suffice.preprocessing.standard_scaler import Scaling, column_moments
from suffice.preprocessing.transformer import FLOATS, Transformer, exactly
from suffice.sources import Block, Columns, Source
from suffice.sources.frames import is_frame
from suffice.sources.mixed import NUMBER, TEXT
from suffice.sources.sparse import canonical_csr, csr_on
from suffice.statistics.column_moments import ColumnMoments
from suffice.statistics.moments import NOTHING, Precision
from suffice.statistics.observed import Observed
from suffice.statistics.value_counts import ValueCounts

register(Observed)

Mask = NDArray[np.bool_]


def median(values: Array, weights: Array) -> float:
    """The middle of values in ascending order, each as often as its weight says."""
    reached = np.cumsum(weights)
    half = reached[-1] / 2
    i = int(np.searchsorted(reached, half, side="left"))
    if reached[i] == half and i + 1 < len(values):
        return float(values[i] + (values[i + 1] - values[i]) / 2)
    return float(values[i])


class SimpleImputer(Transformer):
    """Fill missing cells with one value a column.

    Parameters
    ----------
    missing_values : int, float, str, None or NaN, default=NaN
        What stands for a missing cell.  NaN, None and pandas.NA are one and the same.
    strategy : {"mean", "median", "most_frequent", "constant"}, default="mean"
        What is filled in.  Text takes the last two.  "median" and "most_frequent" keep every
        distinct value of a column in memory.
    fill_value : str or number, optional
        The constant; by default 0 for numbers, and "missing_value" for text.
    copy : bool, default=True
        Accepted for compatibility: the input is never overwritten.
    add_indicator : bool, default=False
        Append a column of zeros and ones for each column that had missing cells in the fit.
    keep_empty_features : bool, default=False
        Whether columns without any value stay (filled with 0, or the constant) or are left out.
    exact : bool, default=False
        Keep the moments in double-double, so that `forget` loses no digit.

    Attributes
    ----------
    statistics_ : array of shape (columns,)
        What is filled in; NaN for columns that are left out.
    indicator_ : MissingIndicator or None
    certificate_ : Certificate
    trace_ : Trace

    Examples
    --------
    >>> import numpy as np
    >>> from suffice.preprocessing import SimpleImputer
    >>> imputer = SimpleImputer().fit([[7.0, 2.0], [4.0, np.nan], [10.0, 5.0]])
    >>> imputer.transform([[np.nan, 2.0], [6.0, np.nan]])
    array([[7. , 2. ],
           [6. , 3.5]])
    """

    _saved_private = ("_statistic", "_fill", "_with_missing")
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "missing_values": [MissingValues()],
        "strategy": [StrOptions({"mean", "median", "most_frequent", "constant"}), callable],
        "fill_value": "no_validation",  # type: ignore[dict-item]
        "copy": ["boolean"],
        "add_indicator": ["boolean"],
        "keep_empty_features": ["boolean"],
        "exact": ["boolean"],
    }

    _statistic: Observed
    _fill: tuple[Any, ...]
    """What each column is filled with; NaN if it is left out."""
    _with_missing: tuple[int, ...]
    """Columns with missing cells."""

    def __init__(
        self,
        *,
        missing_values: Any = np.nan,
        strategy: Any = "mean",
        fill_value: Any = None,
        copy: bool = True,
        add_indicator: bool = False,
        keep_empty_features: bool = False,
        exact: bool = False,
    ) -> None:
        self.missing_values = missing_values
        self.strategy = strategy
        self.fill_value = fill_value
        self.copy = copy
        self.add_indicator = add_indicator
        self.keep_empty_features = keep_empty_features
        self.exact = exact

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.allow_nan = is_missing(self.missing_values)
        return tags

    # scikit-learn's name for what is filled in; the statistic of the rows has another here.
    @property
    def statistics_(self) -> NDArray[Any]:
        """What is filled in, one value a column."""
        if "_fill" not in vars(self):
            raise AttributeError("this SimpleImputer is not fitted yet")
        is_text = any(isinstance(value, str) for value in self._fill)
        objects = is_text or self.strategy == "constant"
        return np.array(self._fill, dtype=object if objects else np.float64)

    @statistics_.setter
    def statistics_(self, statistic: Observed) -> None:
        self._statistic = statistic

    def _statistic_of_rows(self) -> Observed:
        return self._statistic

    def _kept(self) -> Any:
        # Counts are exact in float64.
        rounds = isinstance(self._statistic.values, ColumnMoments)
        return super()._kept() if rounds else self._statistic

    def _frozen(self) -> Any:
        frozen = super()._frozen()
        frozen.__dict__.pop("_statistic", None)
        return frozen

    @property
    def _takes_text(self) -> bool:  # type: ignore[override]
        return self.strategy in ("most_frequent", "constant")

    # --- fitting --------------------------------------------------------------------------

    def _checked_rows(self, X: Any, reset: bool) -> Any:
        finite: Any = "allow-nan" if is_missing(self.missing_values) else True
        if reset and self.strategy != "constant":
            finite = False  # the pass itself finds what is not finite, and says where
        if self._takes_text:
            if is_frame(X) and 0 not in X.shape:
                validate_data(self, X, reset=reset, skip_check_array=True)
                return table_of(X).rows
            checks: dict[str, Any] = {"dtype": None, "ensure_all_finite": finite}
            if isinstance(X, list) and any(isinstance(v, str) for row in X for v in row):
                checks = {"dtype": object, "ensure_all_finite": False}
            rows = validate_data(self, X, reset=reset, accept_sparse="csr", **checks)
            if rows.dtype.kind not in "iufO":
                raise ValueError(
                    f"SimpleImputer does not support data with dtype {rows.dtype}. Please provide "
                    "either a numeric array (with a floating point or integer dtype) or text as an "
                    "array of objects."
                )
            rows = table_of(rows).rows
        else:
            try:
                rows = validate_data(
                    self,
                    X,
                    reset=reset,
                    accept_sparse="csr",
                    dtype=FLOATS,
                    ensure_all_finite=finite,
                )
            except ValueError as error:
                if "could not convert" in str(error):
                    raise ValueError(
                        f"Cannot use {self.strategy} strategy with non-numeric data:\n{error}"
                    ) from None
                raise
        return canonical_csr(rows) if issparse(rows) else rows

    def _training_source(self, X: Any, y: Any, sample_weight: Any, reset: bool = True) -> Source:
        if callable(self.strategy):
            raise ValueError(
                "strategy must be 'mean', 'median', 'most_frequent' or 'constant': a function "
                "would need all rows at once"
            )
        source = super()._training_source(X, y, sample_weight, reset)
        if source.sparse and not is_missing(self.missing_values) and self.missing_values == 0:
            raise ValueError(
                "Imputation not possible when missing_values == 0 and input is sparse. Provide a "
                "dense array instead."
            )
        return source

    def _summarize(self, block: Block, precision: Precision) -> Observed:
        X, weight = block.X, block.weight
        if weight is not None and not weight.all():
            X, weight = X[weight > 0], weight[weight > 0]
        blank, missing = self._blanked(X)
        if not is_missing(self.missing_values):
            _refuse_nan(X)
        values: ColumnMoments | ValueCounts | None
        if self.strategy == "mean":
            values = column_moments(blank, weight, precision)
        elif self.strategy == "constant":
            kinds = blank.kinds if isinstance(blank, Columns) else (NUMBER,) * blank.shape[1]
            values = _kinds_only(kinds)
        else:
            values = ValueCounts.summarize(blank, weight)
            refuse_infinity(values)
        return Observed(X.shape[0], missing, values)

    def _blanked(self, X: Any) -> tuple[Any, NDArray[np.int64]]:
        """Rows with NaN or None in missing cells, and how many cells of each column these are."""
        if issparse(X):
            mask = self._mask(X.data)
            data = np.where(mask, np.nan, X.data)
            missing = np.bincount(X.indices[mask], minlength=X.shape[1])
            return csr_on(data, X.indices, X.indptr, X.shape), missing
        if isinstance(X, Columns):
            masks = [self._mask(column) for column in X.columns]
            blanks = [
                _filled(column, mask, None if column.dtype == object else np.nan)
                for mask, column in zip(masks, X.columns, strict=True)
            ]
            return Columns(blanks), np.array([mask.sum() for mask in masks], np.int64)
        mask = self._mask(X)
        return np.where(mask, np.nan, X), mask.sum(axis=0)

    def _mask(self, values: NDArray[Any]) -> Mask:
        """Where cells are missing."""
        if is_missing(self.missing_values):
            if values.dtype == object:
                return np.array([value is None for value in values.tolist()], dtype=bool)
            return np.isnan(values) if values.dtype.kind == "f" else np.zeros(values.shape, bool)
        if isinstance(self.missing_values, str) != (values.dtype == object):
            return np.zeros(values.shape, bool)
        return np.asarray(values == self.missing_values, dtype=bool)

    def _solve(self, observed: Observed) -> Solved | None:
        return self._solved(observed, anyway=False)

    def _solve_anyway(self, observed: Observed) -> Solved:
        solved = self._solved(observed, anyway=True)
        assert solved is not None
        return solved

    def _solved(self, observed: Observed, anyway: bool) -> Solved | None:
        if not observed.count:
            raise ValueError(NOTHING)
        values = observed.values
        if isinstance(values, ColumnMoments):
            scaling = Scaling(values)
            if scaling.mean_digits < 10 and values.precision == "float64" and not anyway:
                return None
            fill: list[Any] = scaling.mean.tolist()
            shown = np.floor(10 * scaling.mean_digits) / 10
            proof = Certificate(
                True,
                f"the mean of each column, to {shown:.1f} digits or more",
                f"moments in {values.precision}",
                {"digits": scaling.mean_digits},
            )
        else:
            assert isinstance(values, ValueCounts)
            fill = [self._value(values, j) for j in range(len(values.values))]
            proof = exactly("what is filled in follows from the counts exactly", "counts")
        empty = observed.missing == observed.count
        for j in np.flatnonzero(empty):
            if not self.keep_empty_features:
                fill[j] = np.nan
            elif self.strategy != "constant":
                fill[j] = 0
        self._fill = tuple(fill)
        self._with_missing = tuple(np.flatnonzero(observed.missing).tolist())
        return Solved(proof, float("nan"))

    def _value(self, counts: ValueCounts, j: int) -> Any:
        """What column `j` is filled with."""
        values, weights = counts.values[j], counts.weights[j]
        is_text = values.dtype == object
        if self.strategy == "constant":
            return self._constant(is_text)
        there = np.array([not is_missing(value) for value in values.tolist()], dtype=bool)
        values, weights = values[there], weights[there]
        if not len(values):
            return np.nan
        if self.strategy == "median":
            return median(values, weights)
        best = values[int(np.argmax(weights))]  # the first, and smallest, of equals
        return best if is_text else float(best)

    def _constant(self, is_text: bool) -> Any:
        value = self.fill_value
        if value is None:
            return "missing_value" if is_text else 0
        if isinstance(value, str) != is_text:
            kind = "text" if is_text else "dtype('float64')"
            raise ValueError(
                f"fill_value={value!r} (of type {type(value)!r}) cannot be cast to the input data "
                f"that is {kind}. Make sure that both are text or both are numbers."
            )
        return value

    # --- transforming ---------------------------------------------------------------------

    def _valid(self) -> list[int]:
        """Columns that are not left out."""
        return [j for j, value in enumerate(self._fill) if not is_missing(value)]

    def _announce(self) -> None:
        skipped: Any = np.setdiff1d(np.arange(len(self._fill)), self._valid())
        if len(skipped):
            if hasattr(self, "feature_names_in_"):
                skipped = self.feature_names_in_[skipped]
            warnings.warn(
                f"Skipping features without any observed values: {skipped}. At least one "
                f"non-missing value is needed for imputation with strategy='{self.strategy}'.",
                stacklevel=3,
            )

    def _map(self, X: Any) -> Any:
        valid = self._valid()
        if issparse(X):
            return self._map_sparse(X, valid)
        if isinstance(X, Columns):
            return self._map_columns(X, valid)
        mask = self._mask(X)
        fill = np.array([self._fill[j] for j in valid])
        out = X[:, valid]  # a copy
        if fill.dtype.kind == "f" and out.dtype.kind in "iu" and mask.any():
            fill = fill.astype(out.dtype)
        np.copyto(out, fill, where=mask[:, valid], casting="unsafe")
        if not self.add_indicator:
            return np.ascontiguousarray(out)
        return np.hstack([out, mask[:, list(self._with_missing)].astype(out.dtype)])

    def _map_columns(self, X: Columns, valid: Sequence[int]) -> Columns:
        columns = []
        for j in valid:
            column = X.column(j)
            columns.append(_filled(column, self._mask(column), self._fill[j]))
        if self.add_indicator:
            columns += [self._mask(X.column(j)).astype(np.float64) for j in self._with_missing]
        return Columns(columns)

    def _map_sparse(self, X: Any, valid: Sequence[int]) -> Any:
        mask = self._mask(X.data)
        fill = np.array([0.0 if is_missing(value) else value for value in self._fill])
        data = np.where(mask, fill[X.indices], X.data)
        out = csr_on(data, X.indices, X.indptr, X.shape)
        if len(valid) < X.shape[1]:
            out = out[:, valid]
        if self.add_indicator:
            ones = (mask.astype(data.dtype), X.indices, X.indptr)
            marks = csr_array(ones, shape=X.shape, copy=True)
            marks.eliminate_zeros()
            out = hstack([out, marks[:, list(self._with_missing)]], format="csr")
        return canonical_csr(out)

    def _kinds_out(self, source: Source) -> Sequence[str] | None:
        if source.kinds is None:
            return None
        marks = len(self._with_missing) if self.add_indicator else 0
        return [*(source.kinds[j] for j in self._valid()), *[NUMBER] * marks]

    @property
    def indicator_(self) -> MissingIndicator | None:
        """A MissingIndicator of the columns that had missing cells; None without one."""
        if not self.add_indicator:
            return None
        check_is_fitted(self)
        # Two rows with the same missing cells: one with a value in each column, one without.
        marker = self.missing_values
        rows = np.full((2, len(self._fill)), 1, dtype=object if isinstance(marker, str) else float)
        rows[1, list(self._with_missing)] = np.nan if is_missing(marker) else marker
        indicator = MissingIndicator(missing_values=marker, error_on_new=False)
        return indicator.fit(rows)

    def inverse_transform(self, X: Any) -> NDArray[Any]:
        """Put missing cells back where the indicator columns say that there were any.

        Parameters
        ----------
        X : array of shape (rows, columns + indicators)

        Returns
        -------
        array of shape (rows, columns)
        """
        check_is_fitted(self)
        if not self.add_indicator:
            raise ValueError(
                "'inverse_transform' works only when 'SimpleImputer' is instantiated with "
                "'add_indicator=True'. Got 'add_indicator=False' instead."
            )
        X, valid = np.asarray(X), self._valid()
        expected = len(valid) + len(self._with_missing)
        if X.ndim != 2 or X.shape[1] != expected:
            raise ValueError(
                f"X has shape {X.shape}, but the rows of this SimpleImputer have {expected} "
                f"columns: {len(valid)} that were filled, {len(self._with_missing)} indicators"
            )
        out = np.zeros((len(X), len(self._fill)), dtype=X.dtype if X.dtype == object else float)
        out[:, valid] = X[:, : len(valid)]
        mask = np.zeros(out.shape, bool)
        mask[:, list(self._with_missing)] = X[:, len(valid) :].astype(bool)
        out[mask] = self.missing_values
        return out

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[np.object_]:
        """Names of the columns that come out.

        Parameters
        ----------
        input_features : array of str, optional
            Names of the columns, where the fit saw none.

        Returns
        -------
        array of str
        """
        check_is_fitted(self)
        names = _check_feature_names_in(self, input_features)
        out = [names[j] for j in self._valid()]
        if self.add_indicator:
            out += [f"missingindicator_{names[j]}" for j in self._with_missing]
        return np.array(out, dtype=object)


def _kinds_only(kinds: Sequence[str]) -> ValueCounts:
    """Counts of nothing that tell the columns of text from those of numbers."""
    values = tuple(np.empty(0, object if kind == TEXT else np.float64) for kind in kinds)
    nothing = tuple(np.zeros(0) for _ in kinds)
    return ValueCounts(0, values, tuple(n.astype(np.int64) for n in nothing), nothing)


def _filled(column: NDArray[Any], mask: Mask, value: Any) -> NDArray[Any]:
    """A copy of a column with a value where the mask is."""
    out = column.copy()
    out[mask] = value
    return out


def _refuse_nan(X: Any) -> None:
    values = X.data if issparse(X) else X
    columns = values.columns if isinstance(values, Columns) else (values,)
    for column in columns:
        if column.dtype.kind == "f" and np.isnan(column).any():
            raise FloatingPointError("NaN")
