"""Different columns to different transformers, the results side by side.

In memory this is scikit-learn's ColumnTransformer.  From a source, each transformer is fitted
on a source of its own columns, and the rows that come out are joined block by block.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, Self

import numpy as np
from scipy.sparse import csr_array, hstack, issparse
from sklearn import compose, config_context
from sklearn.base import clone
from sklearn.compose import make_column_selector
from sklearn.frozen import FrozenEstimator
from sklearn.utils.validation import check_is_fitted

from suffice.fitting.all_or_nothing import all_or_nothing
from suffice.fitting.estimator import Estimator
from suffice.fitting.transforming import SourceTransformer
from suffice.preprocessing.chosen_columns import as_cells, positions
from suffice.sources import Columns, MappedSource, Source
from suffice.sources.memory.mixed import NUMBER, TEXT, kinds_of

__all__ = ["ColumnTransformer", "make_column_selector", "make_column_transformer"]


class Taken:
    """Some columns of rows of any kind; can be pickled."""

    def __init__(self, indices: Sequence[int]) -> None:
        self.indices = list(indices)

    def __call__(self, X: Any) -> Any:
        return X.take(self.indices) if isinstance(X, Columns) else X[:, self.indices]


class Part(NamedTuple):
    """What some columns become: functions applied one after the other."""

    functions: tuple[Callable[[Any], Any], ...]
    n_columns: int
    sparse: bool
    kinds: tuple[str, ...] | None

    def __call__(self, X: Any) -> Any:
        for function in self.functions:
            X = function(X)
        return X


class Joined:
    """The parts of rows side by side; can be pickled."""

    def __init__(self, parts: Sequence[Part], sparse: bool) -> None:
        self.parts, self.sparse = list(parts), sparse

    def __call__(self, X: Any) -> Any:
        results = [part(X) for part in self.parts]
        if self.sparse:
            # Stored as CSR first: joining arrays would keep no zero of theirs.
            return hstack([csr_array(r) for r in results], format="csr")
        dense = [r.toarray() if issparse(r) else r for r in results]
        if not any(isinstance(r, Columns) for r in dense):
            return np.hstack(dense)
        columns: list[Any] = []
        for r in dense:
            columns += r.columns if isinstance(r, Columns) else list(np.asarray(r, np.float64).T)
        return Columns(columns)


class ColumnTransformer(SourceTransformer, compose.ColumnTransformer):
    """Apply transformers to columns of arrays, frames and sources.

    Parameters
    ----------
    transformers : list of (name, transformer, columns)
        The transformer is an estimator, "drop" or "passthrough".  Columns are names, positions,
        a slice, a mask, or a function such as `make_column_selector` returns.  From a source, the
        transformers must be those of this library, or pipelines of them.
    remainder : {"drop", "passthrough"} or estimator, default="drop"
        What becomes of columns that no transformer takes.
    sparse_threshold : float, default=0.3
        Rows come out as CSR if some part does, and fewer of the cells are stored.
    n_jobs : int, optional
        For arrays and frames, as in scikit-learn; a source uses the threads of
        `suffice.config`.
    transformer_weights : dict, optional
        Factors of the transformers' outputs, by name.
    verbose : bool, default=False
    verbose_feature_names_out : bool, str or callable, default=True
        Whether names of output columns begin with that of their transformer.

    Attributes
    ----------
    transformers_ : list of (name, fitted transformer, columns)
    named_transformers_ : Bunch
    sparse_output_ : bool
    output_indices_ : dict of slices
    n_features_in_ : int
    feature_names_in_ : array of str
        Only where the columns have names.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from suffice.sources import as_source
    >>> from suffice.preprocessing import ColumnTransformer, OneHotEncoder, StandardScaler
    >>> rides = as_source(pa.table({"miles": [1.0, 2.0, 3.0], "city": ["Ulm", "Rome", "Ulm"]}))
    >>> ready = ColumnTransformer(
    ...     [("number", StandardScaler(), ["miles"]), ("text", OneHotEncoder(), ["city"])]
    ... )
    >>> rows = ready.fit_transform(rides)
    >>> next(rows.pieces()).load().X.round(2).tolist()
    [[-1.22, 0.0, 1.0], [0.0, 1.0, 0.0], [1.22, 0.0, 1.0]]
    >>> ready.get_feature_names_out().tolist()
    ['number__miles', 'text__city_Rome', 'text__city_Ulm']
    """

    transformers: list[Any]
    remainder: Any
    transformers_: list[Any]

    def fit(self, X: Any, y: Any = None, **params: Any) -> Self:
        """Fit the transformers, each on its columns.

        Parameters
        ----------
        X : array, data frame or Source, of shape (rows, columns)
        y : array of shape (rows,), optional
            None if `X` is a source.
        **params
            Passed on to the transformers where metadata routing is on; not with a source.

        Returns
        -------
        self
        """
        if not isinstance(X, Source):
            fitted: Self = super().fit(X, y, **params)
            return fitted
        return self._fit_source(X, y, params)

    def transform(self, X: Any, **params: Any) -> Any:
        """Transform each group of columns, and put the results side by side.

        Parameters
        ----------
        X : array, data frame or Source, of shape (rows, columns)
        **params
            As for `fit`.

        Returns
        -------
        array, CSR matrix, data frame or Source
        """
        if not isinstance(X, Source):
            return super().transform(X, **params)
        check_is_fitted(self)
        source = self._in_order(X)
        parts = self._parts(source)
        labels = [str(name) for name in self.get_feature_names_out()]
        kinds = [kind for part in parts for kind in part.kinds or (NUMBER,) * part.n_columns]
        return MappedSource(
            source,
            Joined(parts, self.sparse_output_),
            sum(part.n_columns for part in parts),
            self._names_of_source(labels),
            sparse=self.sparse_output_,
            kinds=kinds_of(kind == TEXT for kind in kinds),
            labels=labels,
        )

    @all_or_nothing
    def _fit_source(
        self,
        source: Source,
        y: Any = None,
        params: dict[str, Any] | None = None,
        statistics: dict[str, Any] | None = None,
    ) -> Self:
        """Fit the transformers on a source, or solve them from `statistics` of their columns."""
        if y is not None or params:
            raise ValueError(
                "a source brings its own target and weights: name them in scan(target=…, "
                "weight=…), and pass neither y nor other parameters"
            )
        first = next(iter(source.pieces()), None)
        if first is None:
            raise ValueError(f"there are no rows in {source!r}; at least one is needed")
        rows = first.load().X
        own, remainder = self.transformers, self.remainder
        output = self.__dict__.pop("_sklearn_output_config", {})
        places = [positions(columns, source, rows) for _, _, columns in own]
        left = [j for j in range(source.n_columns) if not any(j in taken for taken in places)]
        known = statistics or {}
        try:
            self.transformers = [
                (name, fitted(step, taken, source, known.get(name)), taken)
                for (name, step, _), taken in zip(own, places, strict=True)
            ]
            if not isinstance(remainder, str):
                self.remainder = fitted(remainder, left, source)
            # The transformers are fitted: scikit-learn only notes positions and widths.
            with warnings.catch_warnings(), config_context(transform_output="default"):
                warnings.filterwarnings("ignore", message="X does not have valid feature names")
                super().fit_transform(as_cells(rows))
        finally:
            self.transformers, self.remainder = own, remainder
            self.__dict__.update({"_sklearn_output_config": output} if output else {})
        meant = {name: columns for name, _, columns in own if not callable(columns)}
        names = source.feature_names
        self.transformers_ = [
            (
                name,
                step.estimator if isinstance(step, FrozenEstimator) else step,
                meant.get(name, taken if names is None else [names[j] for j in taken]),
            )
            for name, step, taken in self.transformers_
        ]
        self.__dict__.pop("feature_names_in_", None)
        if names is not None:
            self.feature_names_in_ = np.asarray(names, dtype=object)
        return self

    def _parts(self, source: Source) -> list[Part]:
        parts = []
        weights = self.transformer_weights or {}
        for name, step, _ in self.transformers_:
            indices = self._transformer_to_input_indices[name]
            if step == "drop" or not len(indices):
                continue
            base = selected(source, indices)
            out = base if step == "passthrough" else step.transform(base)
            functions: list[Callable[[Any], Any]] = [Taken(indices)]
            functions += functions_between(out, base, name)
            if name in weights:
                functions.append(Times(weights[name]))
            parts.append(Part(tuple(functions), out.n_columns, out.sparse, out.kinds))
        return parts

    def _in_order(self, source: Source) -> Source:
        """The columns of the fit in their order, where the source has names and more or others."""
        expected = getattr(self, "feature_names_in_", None)
        found = source.feature_names
        if expected is not None and found is not None and tuple(expected) != found:
            missing = sorted(str(name) for name in set(expected) - set(found))
            if missing:
                raise ValueError(f"columns are missing: {missing}")
            return selected(source, [found.index(name) for name in expected])
        if source.n_columns != self.n_features_in_:
            raise ValueError(
                f"X has {source.n_columns} features, but {type(self).__name__} is expecting "
                f"{self.n_features_in_} features as input"
            )
        return source


class Times:
    """Rows multiplied by a factor; can be pickled."""

    def __init__(self, factor: float) -> None:
        self.factor = factor

    def __call__(self, X: Any) -> Any:
        return X * self.factor


def refuse_foreign(step: Any) -> None:
    """Raise unless a transformer, or each of a pipeline, can learn from a source."""
    if hasattr(step, "steps"):
        for _, inner in step.steps:
            refuse_foreign(inner)
    elif step not in (None, "passthrough") and not isinstance(step, (Estimator, ColumnTransformer)):
        raise TypeError(
            f"{type(step).__module__}.{type(step).__name__} cannot learn from a source; from "
            "files, use the transformers of suffice.preprocessing, or load the rows"
        )


def functions_between(out: Any, base: Source, name: str) -> list[Callable[[Any], Any]]:
    """The functions that turn the rows of `base` into those of `out`."""
    functions: list[Callable[[Any], Any]] = []
    while out is not base:
        if not isinstance(out, MappedSource):
            raise TypeError(
                f"the transformer {name!r} does not turn a source into a source; from files, use "
                "the transformers of suffice.preprocessing, or load the rows"
            )
        functions.insert(0, out.function)
        out = out.base
    return functions


def selected(source: Source, indices: Sequence[int]) -> MappedSource:
    """Some columns of a source."""
    names, kinds = source.feature_names, source.kinds
    return MappedSource(
        source,
        Taken(indices),
        len(indices),
        None if names is None else [names[i] for i in indices],
        sparse=source.sparse,
        kinds=None if kinds is None else [kinds[i] for i in indices],
    )


def fitted(step: Any, columns: Sequence[int], source: Source, statistic: Any = None) -> Any:
    """A transformer fitted on its columns of a source, and frozen."""
    if isinstance(step, str) or not columns:
        return step
    refuse_foreign(step)
    rows, step = selected(source, columns), clone(step)
    return FrozenEstimator(step.fit(rows) if statistic is None else step._from(statistic, rows))


def make_column_transformer(*transformers: Any, **params: Any) -> ColumnTransformer:
    """A ColumnTransformer whose transformers are named by their types.

    Parameters
    ----------
    *transformers : tuples (transformer, columns)
    **params
        Other parameters of ColumnTransformer.

    Returns
    -------
    ColumnTransformer

    Examples
    --------
    >>> from suffice.preprocessing import OneHotEncoder, StandardScaler, make_column_transformer
    >>> made = make_column_transformer((StandardScaler(), ["miles"]), (OneHotEncoder(), ["city"]))
    >>> [name for name, _, _ in made.transformers]
    ['standardscaler', 'onehotencoder']
    """
    named = compose.make_column_transformer(*transformers).transformers
    return ColumnTransformer(named, **params)
