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
from scipy.sparse import issparse
from sklearn.impute import MissingIndicator
from sklearn.utils._param_validation import MissingValues, StrOptions
from sklearn.utils.validation import check_is_fitted, validate_data

from suffice.fitting.categories import is_missing
from suffice.fitting.certificate import Certificate, rounded_down
from suffice.fitting.files.registry import register
from suffice.fitting.one_pass import Solved
from suffice.fitting.requests import Passes
from suffice.numerics.double_double import Array
from suffice.preprocessing.fill_values import Gathered, check_kept, constant, kinds_only, typical
from suffice.preprocessing.missing_cells import blanked, fill, refuse_nan, rows_of
from suffice.preprocessing.standard_scaler import Scaling, column_moments
from suffice.preprocessing.transformer import Transformer, exactly, has_cells
from suffice.sources import Block, Columns, Source
from suffice.sources.memory.mixed import NUMBER
from suffice.sources.memory.sparse import canonical_csr
from suffice.statistics.base import present
from suffice.statistics.counts.values import ValueCounts, refuse_infinity
from suffice.statistics.moments.columns import ColumnMoments
from suffice.statistics.moments.full import NOTHING, Precision
from suffice.statistics.observed import Observed

register(Observed)


class SimpleImputer(Transformer):
    """Fill missing cells with one value a column.

    Parameters
    ----------
    missing_values : int, float, str, None or NaN, default=NaN
        What stands for a missing cell.  NaN, None and pandas.NA are one and the same.
    strategy : {"mean", "median", "most_frequent", "constant"} or callable, default="mean"
        What is filled in.  Text takes the last two.  "median" and "most_frequent" keep every
        distinct value of a column in memory.  A function gets the values of a column as a 1-D
        array (of a CSR matrix, those that are not zero) and returns a number; all rows are
        gathered for it, and no statistic is kept: such a model cannot be updated or merged.
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
    _refit_parameters: ClassVar[tuple[str, ...]] = (
        "strategy",
        "fill_value",
        "add_indicator",
        "keep_empty_features",
    )
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
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        tags.input_tags.allow_nan = is_missing(self.missing_values)
        return tags

    def _check_loaded(self) -> None:
        """Raise ValueError unless what a file holds could be a fitted imputer."""
        if "n_features_in_" not in vars(self):
            return
        columns = range(self.n_features_in_)
        if len(self._fill) != len(columns) or not all(map(np.isscalar, self._fill)):
            raise ValueError(f"what it fills in is not a value for each of {len(columns)} columns")
        if not set(self._with_missing) <= set(columns):
            raise ValueError("its columns with missing cells are not among its columns")

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
        if not isinstance(statistic.values, Gathered):
            self._statistic = statistic

    def _kept(self) -> Any:
        if "_statistic" not in vars(self):
            raise ValueError(
                "a function as strategy sees the values of all rows, of which no statistic is "
                "kept: fit again on all rows"
            )
        if isinstance(self._statistic.values, ColumnMoments):
            self._check_exact(self._statistic)
        return self._statistic  # counts are exact in float64

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
            if has_cells(X):
                validate_data(self, X, reset=reset, skip_check_array=True)
                return rows_of(X)
            checks: dict[str, Any] = {"dtype": None, "ensure_all_finite": finite}
            if isinstance(X, list) and any(isinstance(v, str) for row in X for v in row):
                checks = {"dtype": object, "ensure_all_finite": False}
            rows = self._checked_array(X, reset, **checks)
            if rows.dtype.kind not in "iufO":
                raise ValueError(
                    f"SimpleImputer does not support data with dtype {rows.dtype}. Please provide "
                    "either a numeric array (with a floating point or integer dtype) or text as an "
                    "array of objects."
                )
            rows = rows_of(rows)
        else:
            try:
                rows = self._checked_array(X, reset, ensure_all_finite=finite)
            except ValueError as error:
                if "could not convert" in str(error):
                    raise ValueError(
                        f"Cannot use {self.strategy} strategy with non-numeric data:\n{error}"
                    ) from None
                raise
        return canonical_csr(rows) if issparse(rows) else rows

    def _training_source(self, X: Any, y: Any, sample_weight: Any, reset: bool = True) -> Source:
        source = super()._training_source(X, y, sample_weight, reset)
        if source.sparse and not is_missing(self.missing_values) and self.missing_values == 0:
            raise ValueError(
                "Imputation not possible when missing_values == 0 and input is sparse. Provide a "
                "dense array instead."
            )
        return source

    def _passes(self, source: Source) -> Passes:
        self.__dict__.pop("_statistic", None)
        if callable(self.strategy) and source.has_weight:
            raise ValueError(
                "a function as strategy does not see weights: fit without them, or with strategy "
                "'mean', 'median' or 'most_frequent'"
            )
        return super()._passes(source)

    def _summarize(self, block: Block, precision: Precision) -> Observed:
        weight, X = present(block.weight, block.X)
        blank, missing = blanked(X, self.missing_values)
        if not is_missing(self.missing_values):
            refuse_nan(X)
        return Observed(X.shape[0], missing, self._values(blank, weight, precision))

    def _values(self, blank: Any, weight: Array | None, precision: Precision) -> Any:
        """What is known about the values that are there."""
        if callable(self.strategy):
            return Gathered.summarize(blank)
        if self.strategy == "mean":
            return column_moments(blank, weight, precision)
        if self.strategy == "constant":
            kinds = blank.kinds if isinstance(blank, Columns) else (NUMBER,) * blank.shape[1]
            return kinds_only(kinds)
        values = ValueCounts.summarize(blank, weight)
        refuse_infinity(values)
        return values

    def _solve(self, observed: Observed, final: bool) -> Solved | None:
        if not observed.count:
            raise ValueError(NOTHING)
        values: Any = observed.values
        check_kept(values, self.strategy)
        if isinstance(values, ColumnMoments):
            scaling = Scaling(values)
            if scaling.mean_digits < 10 and values.precision == "float64" and not final:
                return None
            fills: list[Any] = scaling.mean.tolist()
            shown = rounded_down(scaling.mean_digits)
            proof = Certificate(
                True,
                f"the mean of each column, to {shown} digits or more",
                f"moments in {values.precision}",
                {"digits": scaling.mean_digits},
            )
        elif isinstance(values, Gathered):
            nothing = 0.0 if self.keep_empty_features else np.nan
            fills = [float(self.strategy(c)) if len(c) else nothing for c in values.columns]
            proof = exactly("what is filled in is what the function returned", "all rows")
        else:
            fills = self._from_counts(values)
            proof = exactly("what is filled in follows from the counts exactly", "counts")
        empty = observed.missing == observed.count
        for j in np.flatnonzero(empty):
            if not self.keep_empty_features:
                fills[j] = np.nan
            elif self.strategy != "constant":
                fills[j] = 0
        self._fill = tuple(fills)
        self._with_missing = tuple(np.flatnonzero(observed.missing).tolist())
        return Solved(proof, float("nan"))

    def _from_counts(self, counts: ValueCounts) -> list[Any]:
        if self.strategy == "constant":
            return [constant(self.fill_value, v.dtype == object) for v in counts.values]
        return [typical(counts, j, self.strategy) for j in range(len(counts.values))]

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
        marked = self._with_missing if self.add_indicator else ()
        return fill(X, self._fill, self.missing_values, marked)

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

    def _names_out(self, inputs: Sequence[str]) -> list[str]:
        marked = self._with_missing if self.add_indicator else ()
        marks = [f"missingindicator_{inputs[j]}" for j in marked]
        return [*(inputs[j] for j in self._valid()), *marks]
