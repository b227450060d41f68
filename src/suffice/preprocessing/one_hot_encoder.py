"""Categories as columns of zeros and ones.

A column with the categories c₁ < c₂ < … becomes the columns [x = c₁], [x = c₂], ….  The distinct
values and how often each occurs are sufficient: rare categories can share a column
(`min_frequency`, `max_categories`), and one can be left out (`drop`).
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils._set_output import _get_output_config
from sklearn.utils.validation import (
    _check_feature_names_in,
    check_array,
    check_is_fitted,
    validate_data,
)

from suffice.fitting.base import Solved, refuse_strangers
from suffice.fitting.registry import register
from suffice.numerics.double_double import Array
from suffice.preprocessing.categories import inner, is_missing, shown, table_of
from suffice.preprocessing.transformer import Transformer, exactly
from suffice.sources import Block, Columns, Source, as_source
from suffice.sources.frames import is_frame
from suffice.sources.sparse import csr_on
from suffice.statistics.moments import NOTHING, Precision
from suffice.statistics.value_counts import ValueCounts, distinct, locate

register(ValueCounts)

RARE = "infrequent_sklearn"
"""What the common column of rare categories is called, as in scikit-learn."""

Codes = NDArray[np.int64]


def refuse_infinity(counts: ValueCounts) -> None:
    """Raise if a number is infinite; the pass says where."""
    for values in counts.values:
        if values.dtype.kind == "f" and np.isinf(values).any():
            raise FloatingPointError("infinity or a value too large")


def rare(weights: Array, total: float, min_frequency: Any, max_categories: Any) -> Codes:
    """Which categories are rare enough to share a column.

    Those below `min_frequency` (a weight, or a share of `total`), and then the rarest until at
    most `max_categories` columns are left, the common one included.
    """
    is_rare = np.zeros(len(weights), dtype=bool)
    if min_frequency is not None:
        whole = isinstance(min_frequency, Integral)
        is_rare = weights < (min_frequency if whole else total * min_frequency)
    left = len(weights) - int(is_rare.sum()) + 1
    if max_categories is not None and max_categories < left:
        order = np.argsort(weights, kind="stable")
        is_rare[order[: len(weights) - (max_categories - 1)]] = True
    return np.flatnonzero(is_rare)


def grouped(n_categories: int, rare_ones: Codes) -> Codes:
    """The group of each category: the others in their order, then the rare ones together."""
    groups = np.empty(n_categories, np.int64)
    others = np.setdiff1d(np.arange(n_categories), rare_ones)
    groups[others] = np.arange(len(others))
    groups[rare_ones] = len(others)
    return groups


class OneHotEncoder(Transformer):
    """Encode categories, text or numbers, as columns of zeros and ones.

    The statistic holds every distinct value: it grows with them, not with the rows.

    Parameters
    ----------
    categories : "auto" or list of arrays, default="auto"
        The categories of each column; by default, all that occur.  Numbers must be in
        ascending order, and a missing value comes last.
    drop : {"first", "if_binary"} or array of shape (columns,), optional
        The category of each column that gets no column: the first, the first of two, or the
        one given.
    sparse_output : bool, default=True
        Whether rows come out as CSR.
    dtype : number type, default=float64
        Of the output.
    handle_unknown : {"error", "ignore", "infrequent_if_exist", "warn"}, default="error"
        What a category becomes that the fit did not see: an error, zeros, or the column of
        rare categories where there is one ("warn": the same with a warning).
    min_frequency : int or float, optional
        Categories that occur less often are rare; a float is a share of the rows.
    max_categories : int, optional
        Most columns that a column may become; the rarest categories share one of them.
    feature_name_combiner : "concat" or callable, default="concat"
        From a column's name and a category to the name of its column.

    Attributes
    ----------
    categories_ : list of arrays
    drop_idx_ : array of objects of shape (columns,) or None
        Which category is dropped; None for none.
    infrequent_categories_ : list of arrays
        Rare categories of each column, None where there are none.
    statistics_ : ValueCounts
    certificate_ : Certificate
    trace_ : Trace

    Examples
    --------
    >>> from suffice.preprocessing import OneHotEncoder
    >>> rows = [["Ulm", 1], ["Rome", 3], ["Rome", 2]]
    >>> encoder = OneHotEncoder(handle_unknown="ignore").fit(rows)
    >>> encoder.get_feature_names_out(["city", "floor"]).tolist()
    ['city_Rome', 'city_Ulm', 'floor_1', 'floor_2', 'floor_3']
    >>> encoder.transform([["Rome", 1], ["Oslo", 4]]).toarray()
    array([[1., 0., 1., 0., 0.],
           [0., 0., 0., 0., 0.]])
    """

    _takes_text = True
    _saved_private = ("_forms", "_known", "_rare", "_groups", "_drop_group")
    _refit_parameters: ClassVar[tuple[str, ...]] = (
        "drop",
        "min_frequency",
        "max_categories",
    )
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "categories": [StrOptions({"auto"}), list],
        "drop": [StrOptions({"first", "if_binary"}), "array-like", None],
        "sparse_output": ["boolean"],
        "dtype": "no_validation",  # type: ignore[dict-item]
        "handle_unknown": [StrOptions({"error", "ignore", "infrequent_if_exist", "warn"})],
        "min_frequency": [
            Interval(Integral, 1, None, closed="left"),
            Interval(Real, 0, 1, closed="neither"),
            None,
        ],
        "max_categories": [Interval(Integral, 1, None, closed="left"), None],
        "feature_name_combiner": [StrOptions({"concat"}), callable],
    }

    _forms: tuple[str, ...]
    """How each column came (see `categories`)."""
    _known: tuple[NDArray[Any], ...]
    """The categories as the statistic knows them."""
    _rare: tuple[Codes, ...]
    _groups: tuple[Codes, ...]
    """The group of each category: itself, or the rare ones together."""
    _drop_group: tuple[int | None, ...]

    def __init__(
        self,
        *,
        categories: Any = "auto",
        drop: Any = None,
        sparse_output: bool = True,
        dtype: Any = np.float64,
        handle_unknown: str = "error",
        min_frequency: float | None = None,
        max_categories: int | None = None,
        feature_name_combiner: str | Callable[[str, Any], str] = "concat",
    ) -> None:
        self.categories = categories
        self.drop = drop
        self.sparse_output = sparse_output
        self.dtype = dtype
        self.handle_unknown = handle_unknown
        self.min_frequency = min_frequency
        self.max_categories = max_categories
        self.feature_name_combiner = feature_name_combiner

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.categorical = True
        return tags

    # --- fitting --------------------------------------------------------------------------

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn the categories of each column.

        Parameters
        ----------
        X : array, data frame or Source, of shape (rows, columns)
            A source's weights count as repetitions.
        y : ignored

        Returns
        -------
        self
        """
        return super().fit(X, y)

    def update(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Learn more categories; see `OnePass.update`."""
        if not hasattr(self, "certificate_"):
            return super().fit(X, y, sample_weight)
        return super().update(X, y, sample_weight)

    def _training_source(self, X: Any, y: Any, sample_weight: Any, reset: bool = True) -> Source:
        if isinstance(X, Source):
            source = super()._training_source(X, y, sample_weight, reset)
            kinds = source.kinds or ("number",) * source.n_columns
            forms = tuple("text" if kind == "text" else "float64" for kind in kinds)
        else:
            weight = self._checked_weight(sample_weight, X)
            rows, forms = self._table(X, reset)
            source = as_source(rows, None, weight)
        if reset:
            self._forms = forms
        return source

    def _table(self, X: Any, reset: bool) -> Any:
        """Rows in memory, and the form of each column."""
        refuse_strangers(X)
        if is_frame(X) and 0 not in X.shape:
            validate_data(self, X, reset=reset, skip_check_array=True)
            return table_of(X)
        listed = not hasattr(X, "dtype")
        checked = validate_data(
            self,
            X,
            reset=reset,
            dtype=None,
            # In a fit the pass itself finds infinity, and says where.
            ensure_all_finite=False if reset else "allow-nan",
        )
        if listed and checked.dtype.kind == "U":  # a list of numbers and text
            checked = validate_data(self, X, reset=reset, dtype=object, ensure_all_finite=False)
        return table_of(checked)

    def _checked_rows(self, X: Any, reset: bool) -> Any:
        if _get_output_config("transform", self)["dense"] != "default" and self.sparse_output:
            raise ValueError(
                "data frames cannot hold sparse output: set sparse_output=False, or "
                'set_output(transform="default")'
            )
        return self._table(X, reset)[0]

    def _summarize(self, block: Block, precision: Precision) -> ValueCounts:
        counts = ValueCounts.summarize(block.X, block.weight)
        refuse_infinity(counts)
        return counts

    def _solve(self, counts: ValueCounts) -> Solved:
        if not counts.count:
            raise ValueError(NOTHING)
        self._set_categories(counts)
        self._set_groups(counts)
        self._set_drop()
        number = sum(map(len, self._known))
        return Solved(exactly(f"all {number} categories of the rows", "counts"), float("nan"))

    def _set_categories(self, counts: ValueCounts) -> None:
        forms = self._forms
        if isinstance(self.categories, str):
            self._known = counts.values
        else:
            if len(self.categories) != len(counts.values):
                raise ValueError(
                    "Shape mismatch: if categories is an array, it has to be of shape "
                    f"(n_features,): there are {len(counts.values)} columns, and "
                    f"{len(self.categories)} lists of categories."
                )
            self._known = tuple(self._listed(j, values) for j, values in enumerate(counts.values))
            forms = tuple("text" if form == "str" else form for form in forms)
        self.categories_ = [shown(k, form) for k, form in zip(self._known, forms, strict=True)]

    def _listed(self, j: int, values: NDArray[Any]) -> NDArray[Any]:
        """The categories that the user gives for column `j`."""
        is_text = values.dtype == object
        try:
            known = inner(self.categories[j], is_text)
        except (TypeError, ValueError) as error:
            raise ValueError(
                f"the categories of column {j} must be numbers, as its values are: {error}"
            ) from None
        if any(is_missing(value) for value in known[:-1].tolist()):
            raise ValueError(
                f"Nan should be the last element in user provided categories, see categories "
                f"{known} in column #{j}"
            )
        if len(known) != len(distinct(known).values):
            raise ValueError(
                f"In column {j}, the predefined categories contain duplicate elements."
            )
        if not is_text and (np.diff(known[~np.isnan(known)]) < 0).any():
            raise ValueError("Unsorted categories are not supported for numerical categories")
        if self.handle_unknown == "error":
            strange = values[locate(values, known) < 0]
            if len(strange):
                raise ValueError(
                    f"Found unknown categories {strange.tolist()} in column {j} during fit"
                )
        return known

    def _set_groups(self, counts: ValueCounts) -> None:
        groups, rare_ones = [], []
        for j, known in enumerate(self._known):
            weights = np.zeros(len(known))
            places = locate(counts.values[j], known)
            weights[places[places >= 0]] = counts.weights[j][places >= 0]
            total = float(counts.weights[j].sum())
            found = rare(weights, total, self.min_frequency, self.max_categories)
            rare_ones.append(found)
            groups.append(grouped(len(known), found))
        self._rare, self._groups = tuple(rare_ones), tuple(groups)

    def _n_groups(self, j: int) -> int:
        return int(self._groups[j].max(initial=-1)) + 1

    def _set_drop(self) -> None:
        n = len(self._known)
        if self.drop is None:
            self._drop_group = (None,) * n
            self.drop_idx_ = None
            return
        if isinstance(self.drop, str):
            first = self.drop == "first"
            self._drop_group = tuple(
                0 if first or self._n_groups(j) == 2 else None for j in range(n)
            )
        else:
            self._drop_group = self._dropped(list(np.asarray(self.drop, dtype=object)))
        index = [
            None if group is None else int(np.argmax(self._groups[j] == group))
            for j, group in enumerate(self._drop_group)
        ]
        self.drop_idx_ = np.array(index, dtype=object)

    def _dropped(self, drop: list[Any]) -> tuple[int | None, ...]:
        if len(drop) != len(self._known):
            raise ValueError(
                f"`drop` should have length equal to the number of features ({len(self._known)}), "
                f"got {len(drop)}"
            )
        found, absent = [], []
        for j, value in enumerate(drop):
            known = self._known[j]
            try:
                place = int(locate(inner([value], known.dtype == object), known)[0])
            except (TypeError, ValueError):
                place = -1
            if place < 0:
                absent.append(f"Category: {value}, Feature: {j}")
            elif place in self._rare[j]:
                raise ValueError(
                    f"Unable to drop category {value!r} from feature {j} because it is infrequent"
                )
            else:
                found.append(int(self._groups[j][place]))
        if absent:
            raise ValueError(
                "The following categories were supposed to be dropped, but were not found in the "
                "training data.\n" + "\n".join(absent)
            )
        return tuple(found)

    @property
    def infrequent_categories_(self) -> list[Any]:
        """Rare categories of each column; None where there are none."""
        if self.min_frequency is None and self.max_categories is None:
            raise AttributeError("neither min_frequency nor max_categories is set")
        return [
            self.categories_[j][rare_ones] if len(rare_ones) else None
            for j, rare_ones in enumerate(self._rare)
        ]

    # --- transforming ---------------------------------------------------------------------

    def _outputs(self, j: int) -> Codes:
        """The output column of each category of column `j`, then of an unknown one; −1 for none."""
        groups, drop = self._groups[j], self._drop_group[j]
        out = groups.copy()
        if drop is not None:
            out = np.where(groups == drop, -1, groups - (groups > drop))
        unknown = -1
        if self.handle_unknown in ("infrequent_if_exist", "warn") and len(self._rare[j]):
            unknown = int(out[self._rare[j][0]])
        return np.append(out, unknown)

    def _widths(self) -> list[int]:
        dropped = (group is not None for group in self._drop_group)
        return [self._n_groups(j) - int(drop) for j, drop in enumerate(dropped)]

    def _map(self, X: Any) -> Any:
        n_rows, offset = X.shape[0], 0
        columns = np.empty((n_rows, len(self._known)), np.int64)
        strange = []
        for j, width in enumerate(self._widths()):
            codes = self._codes(X, j)
            if (codes < 0).any():
                strange.append(j)
            out = self._outputs(j)[codes]  # the last entry is for what is unknown
            columns[:, j] = np.where(out < 0, -1, out + offset)
            offset += width
        if strange:
            self._warn(strange)
        is_there = columns >= 0
        indptr = np.concatenate([[0], np.cumsum(is_there.sum(axis=1))]).astype(np.int32)
        data = np.ones(indptr[-1], dtype=self.dtype)
        encoded = csr_on(data, columns[is_there].astype(np.int32), indptr, (n_rows, offset))
        return encoded if self.sparse_output else encoded.toarray()

    def _codes(self, X: Any, j: int) -> Codes:
        """The category of each row in column `j`; −1 for what the fit did not see."""
        column, known = X.column(j) if isinstance(X, Columns) else X[:, j], self._known[j]
        if (known.dtype == object) != (column.dtype == object):
            # A column in which nothing is there fits to numbers and to text.
            blank = np.full(len(column), None) if known.dtype == object else np.nan
            missing = np.array([is_missing(value) for value in column.tolist()], dtype=bool)
            if missing.all():
                column = np.broadcast_to(blank, len(column))
        codes = locate(column, known)
        if self.handle_unknown == "error" and (codes < 0).any():
            values = distinct(column[codes < 0]).values.tolist()
            raise ValueError(f"Found unknown categories {values} in column {j} during transform")
        return codes

    def _warn(self, columns: list[int]) -> None:
        """Say that there were unknown categories, where they are not told from others."""
        if self.handle_unknown == "ignore" and self.drop is None:
            return
        if self.handle_unknown == "infrequent_if_exist" and self.drop is None:
            return
        become = "all zeros" if self.handle_unknown == "ignore" else "the infrequent category."
        warnings.warn(
            f"Found unknown categories in columns {columns} during transform. These unknown "
            f"categories will be encoded as {become}",
            UserWarning,
            stacklevel=2,
        )

    def _gives_sparse(self, sparse: bool) -> bool:
        return bool(self.sparse_output)

    def _names_of(self, j: int) -> list[Any]:
        """Categories of column `j` after grouping, in the order of their columns."""
        kept = np.delete(self.categories_[j], self._rare[j]).tolist()
        return [*kept, RARE] if len(self._rare[j]) else kept

    def inverse_transform(self, X: Any) -> NDArray[Any]:
        """The categories that encoded rows stand for.

        Parameters
        ----------
        X : array or CSR matrix of shape (rows, encoded columns)

        Returns
        -------
        array of shape (rows, columns)
            None where a row has no category, because it was unknown.
        """
        check_is_fitted(self)
        X = check_array(X, accept_sparse="csr")
        widths = self._widths()
        if X.shape[1] != sum(widths):
            raise ValueError(
                f"Shape of the passed X data is not correct. Expected {sum(widths)} columns, got "
                f"{X.shape[1]}."
            )
        decoded, offset = [], 0
        for j, width in enumerate(widths):
            decoded.append(self._decoded(X[:, offset : offset + width], j))
            offset += width
        out = np.empty(
            (X.shape[0], len(widths)), dtype=np.result_type(*(part.dtype for part in decoded))
        )
        for j, part in enumerate(decoded):
            out[:, j] = part
        return out

    def _decoded(self, part: Any, j: int) -> NDArray[Any]:
        drop = self._drop_group[j]
        dtype = object if len(self._rare[j]) else self.categories_[j].dtype
        names = np.empty(self._n_groups(j), dtype=dtype)
        names[:] = self._names_of(j)
        left = names if drop is None else np.delete(names, drop)
        if not len(left):
            return np.full(part.shape[0], names[drop], dtype=dtype)
        values = left[np.asarray(part.argmax(axis=1)).ravel()]
        nothing = np.asarray(part.sum(axis=1)).ravel() == 0
        if not nothing.any():
            return values
        if drop is not None:
            values[nothing] = names[drop]
            return values
        tolerant = self.handle_unknown == "ignore" or (
            self.handle_unknown != "error" and not len(self._rare[j])
        )
        if not tolerant:
            raise ValueError(
                f"Samples {np.flatnonzero(nothing)} can not be inverted when drop=None and "
                "handle_unknown='error' because they contain all zeros"
            )
        values = values.astype(object)
        values[nothing] = None
        return values

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[np.object_]:
        """Names of the encoded columns.

        Parameters
        ----------
        input_features : array of str, optional
            Names of the columns, where the fit saw none.

        Returns
        -------
        array of str
        """
        check_is_fitted(self)
        inputs = _check_feature_names_in(self, input_features)
        combine: Any = self.feature_name_combiner
        if isinstance(combine, str):
            combine = _joined
        elif not isinstance(combine("feature", "category"), str):
            raise TypeError(
                "When `feature_name_combiner` is a callable, it should return a Python string. "
                f"Got {type(combine('feature', 'category'))} instead."
            )
        names = []
        for j, name in enumerate(inputs):
            of_column = self._names_of(j)
            drop = self._drop_group[j]
            names += [combine(name, c) for g, c in enumerate(of_column) if g != drop]
        return np.array(names, dtype=object)


def _joined(feature: str, category: Any) -> str:
    return f"{feature}_{category}"
