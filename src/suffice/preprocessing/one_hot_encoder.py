"""Categories as columns of zeros and ones.

A column with the categories c₁ < c₂ < … becomes the columns [x = c₁], [x = c₂], ….  The distinct
values and how often each occurs are sufficient: rare categories can share a column
(`min_frequency`, `max_categories`), and one can be left out (`drop`).
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils._set_output import _get_output_config
from sklearn.utils.validation import check_array, check_is_fitted, validate_data

from suffice.fitting.categories import aligned, common_form, shown
from suffice.fitting.files.registry import register
from suffice.fitting.one_pass import Solved
from suffice.fitting.rounded_integers import refuse_rounded, rounds_integers
from suffice.fitting.tables import Table, has_large, table_of
from suffice.preprocessing.grouping import CategoryGroups, Codes, grouped, listed, rare, with_drop
from suffice.preprocessing.transformer import Transformer, exactly, has_cells
from suffice.sources import Block, Columns, Source, as_source
from suffice.sources.memory.sparse import csr_on
from suffice.statistics.counts.distinct import distinct, locate
from suffice.statistics.counts.values import ValueCounts, refuse_infinity
from suffice.statistics.moments.full import NOTHING, Precision

register(ValueCounts)


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
    _saved_private = ("_forms", "_known", "_groups")
    _refit_parameters: ClassVar[tuple[str, ...]] = (
        "drop",
        "sparse_output",
        "handle_unknown",
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
    _groups: tuple[CategoryGroups, ...]
    """The group of each category: itself, or the rare ones together."""
    _rounded: Sequence[str] | None = None
    """Of a model that changes a source in which integers may be rounded: its columns' names."""
    _may_warn: list[bool] | None = None
    """Of a model that changes a source: emptied by the block that warns of unknown categories."""

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

    def _check_loaded(self) -> None:
        """Raise ValueError unless what a file holds could be a fitted encoder."""
        if "n_features_in_" not in vars(self):
            return
        learned = (self._forms, self._known, self.categories_, self._groups)
        lengths = {len(each) for each in learned}
        if lengths != {self.n_features_in_} or set(map(type, self._forms)) != {str}:
            raise ValueError(f"its categories are not those of {self.n_features_in_} columns")
        for _, *known, groups in zip(*learned, strict=True):
            if [np.shape(categories) for categories in known] != [groups.of_category.shape] * 2:
                raise ValueError("its categories do not fit its groups")

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
        source = super()._training_source(X, y, sample_weight, reset)
        if reset and isinstance(X, Source):
            self._forms = _forms_of(X)
        return source

    def _source_in_memory(self, X: Any, weight: Any, reset: bool) -> Source:
        table = self._table(X, reset)
        if reset:
            self._forms = table.forms
        return as_source(table.rows if reset else self._aligned(table), None, weight)

    def _table(self, X: Any, reset: bool) -> Table:
        """Rows in memory, and the form of each column."""
        if has_cells(X):
            validate_data(self, X, reset=reset, skip_check_array=True)
            return table_of(X)
        checked = self._checked_array(X, reset, dtype=None)
        if not hasattr(X, "dtype") and checked.dtype.kind == "U":  # a list of numbers and text
            checked = self._checked_array(X, reset, dtype=object, ensure_all_finite=False)
        return table_of(checked)

    def _aligned(self, table: Table) -> Any:
        """Rows whose missing cells are marked as those of the fit are."""
        return aligned(table.rows, table.forms, self._known, self._forms)

    def _pass(self, source: Source, summarize: Callable[[Block], Any]) -> ValueCounts:
        counts: ValueCounts = super()._pass(source, summarize)
        if rounds_integers(source):
            refuse_rounded(counts.values, [source.column_label(j) for j in range(source.n_columns)])
        return counts

    def _join(self, models: Sequence[Self]) -> None:
        columns = zip(*(model._forms for model in models), strict=True)
        self._forms = tuple(common_form(forms) for forms in columns)

    def _checked_rows(self, X: Any, reset: bool) -> Any:
        if _get_output_config("transform", self)["dense"] != "default" and self.sparse_output:
            raise ValueError(
                "data frames cannot hold sparse output: set sparse_output=False, or "
                'set_output(transform="default")'
            )
        return self._aligned(self._table(X, reset))

    def _summarize(self, block: Block, precision: Precision) -> ValueCounts:
        counts = ValueCounts.summarize(block.X, block.weight)
        refuse_infinity(counts)
        return counts

    def _solve(self, counts: ValueCounts, final: bool) -> Solved:
        if not counts.count:
            raise ValueError(NOTHING)
        self._set_categories(counts)
        groups = [self._grouped(counts, j) for j in range(len(self._known))]
        self._groups = tuple(with_drop(groups, self._known, self._forms, self.drop))
        self.drop_idx_ = None
        if self.drop is not None:
            self.drop_idx_ = np.array([g.first_dropped() for g in self._groups], dtype=object)
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
            strict = self.handle_unknown == "error"
            self._known = tuple(
                listed(self.categories[j], j, values, forms[j], strict)
                for j, values in enumerate(counts.values)
            )
            forms = tuple("text" if form == "str" else form for form in forms)
        self.categories_ = [shown(k, form) for k, form in zip(self._known, forms, strict=True)]

    def _grouped(self, counts: ValueCounts, j: int) -> CategoryGroups:
        weights = np.zeros(len(self._known[j]))
        places = locate(counts.values[j], self._known[j])
        weights[places[places >= 0]] = counts.weights[j][places >= 0]
        total = float(counts.weights[j].sum())
        return grouped(len(weights), rare(weights, total, self.min_frequency, self.max_categories))

    @property
    def infrequent_categories_(self) -> list[Any]:
        """Rare categories of each column; None where there are none."""
        if self.min_frequency is None and self.max_categories is None:
            raise AttributeError("neither min_frequency nor max_categories is set")
        return [
            self.categories_[j][groups.rare] if len(groups.rare) else None
            for j, groups in enumerate(self._groups)
        ]

    # --- transforming ---------------------------------------------------------------------

    def _map(self, X: Any) -> Any:
        n_rows, offset = X.shape[0], 0
        columns = np.empty((n_rows, len(self._known)), np.int64)
        unknown_is_rare = self.handle_unknown in ("infrequent_if_exist", "warn")
        strange = []
        for j, groups in enumerate(self._groups):
            codes = self._codes(X.column(j) if isinstance(X, Columns) else X[:, j], j)
            if (codes < 0).any():
                strange.append(j)
            # The last entry is for what is unknown.
            out = groups.outputs(unknown_is_rare)[codes]
            columns[:, j] = np.where(out < 0, -1, out + offset)
            offset += groups.width
        if strange:
            self._warn(strange)
        is_there = columns >= 0
        indptr = np.concatenate([[0], np.cumsum(is_there.sum(axis=1))]).astype(np.int32)
        data = np.ones(indptr[-1], dtype=self.dtype)
        encoded = csr_on(data, columns[is_there].astype(np.int32), indptr, (n_rows, offset))
        return encoded if self.sparse_output else encoded.toarray()

    def _codes(self, column: NDArray[Any], j: int) -> Codes:
        """The category of each row in column `j`; −1 for what the fit did not see."""
        codes = locate(column, self._known[j])
        if self.handle_unknown == "error" and (codes < 0).any():
            values = distinct(column[codes < 0]).values.tolist()
            raise ValueError(f"Found unknown categories {values} in column {j} during transform")
        return codes

    def _warn(self, columns: list[int]) -> None:
        """Say that there were unknown categories, where they are not told from others."""
        if self.drop is None and self.handle_unknown != "warn":
            return
        if self._may_warn is not None:
            try:
                self._may_warn.pop()  # only one of several threads succeeds
            except IndexError:
                return
        become = "all zeros" if self.handle_unknown == "ignore" else "the infrequent category."
        warnings.warn(
            f"Found unknown categories in columns {columns} during transform. These unknown "
            f"categories will be encoded as {become}",
            UserWarning,
            stacklevel=2,
        )

    def _frozen_for(self, source: Source) -> Any:
        frozen = super()._frozen_for(source)
        frozen._may_warn = [True]
        if rounds_integers(source):
            frozen._rounded = [source.column_label(j) for j in range(source.n_columns)]
        return frozen

    def _map_block(self, X: Any) -> Any:
        X = X.toarray() if issparse(X) else X
        columns = X.columns if isinstance(X, Columns) else X.T
        if self._rounded is not None and any(map(has_large, self._known)):
            refuse_rounded(columns, self._rounded)
        forms = tuple("text" if column.dtype == object else "float64" for column in columns)
        return self._map(self._aligned(Table(X, forms)))

    def _gives_sparse(self, sparse: bool) -> bool:
        return bool(self.sparse_output)

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
        widths = [groups.width for groups in self._groups]
        if X.shape[1] != sum(widths):
            raise ValueError(
                f"Shape of the passed X data is not correct. Expected {sum(widths)} columns, got "
                f"{X.shape[1]}."
            )
        tolerant = self.handle_unknown == "ignore"
        decoded, offset = [], 0
        for groups, categories, width in zip(self._groups, self.categories_, widths, strict=True):
            forgiving = tolerant or (self.handle_unknown != "error" and not len(groups.rare))
            part = X[:, offset : offset + width]
            decoded.append(groups.decoded(part, categories, forgiving))
            offset += width
        out = np.empty(
            (X.shape[0], len(widths)), dtype=np.result_type(*(part.dtype for part in decoded))
        )
        for j, part in enumerate(decoded):
            out[:, j] = part
        return out

    def _names_out(self, inputs: Sequence[str]) -> list[str]:
        combine: Any = self.feature_name_combiner
        if isinstance(combine, str):
            combine = "{}_{}".format
        elif not isinstance(combine("feature", "category"), str):
            raise TypeError(
                "When `feature_name_combiner` is a callable, it should return a Python string. "
                f"Got {type(combine('feature', 'category'))} instead."
            )
        return [
            combine(name, category)
            for name, groups, known in zip(inputs, self._groups, self.categories_, strict=True)
            for group, category in enumerate(groups.names(known))
            if group != groups.dropped
        ]


def _forms_of(source: Source) -> tuple[str, ...]:
    kinds = source.kinds or ("number",) * source.n_columns
    return tuple("text" if kind == "text" else "float64" for kind in kinds)
