"""What the transformers share: rows in, a statistic, rows out.

A family file says what a block contributes (`_summarize`), what is learned from the statistic
(`_solve`) and how rows are changed (`_map`).  Arrays and frames are changed at once; a source
becomes another source, whose blocks are changed when they are read.
"""

from __future__ import annotations

import copy
import time
from abc import abstractmethod
from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix, issparse
from sklearn import get_config
from sklearn.utils._set_output import _wrap_data_with_container
from sklearn.utils.validation import (
    _check_feature_names_in,
    check_is_fitted,
    validate_data,
)

from suffice.fitting.certificate import Certificate
from suffice.fitting.inputs import refuse_strangers
from suffice.fitting.one_pass import OnePass
from suffice.fitting.transforming import SourceTransformer
from suffice.sources import Columns, MappedSource, Source, as_source
from suffice.sources.memory.frames import is_frame

FLOATS = [np.float64, np.float32, np.float16]


class Transformer(SourceTransformer, OnePass):
    """Rows changed by what was learned from rows; the target is ignored."""

    @abstractmethod
    def _map(self, X: Any) -> Any:
        """Some rows, changed; called on several threads at once."""

    def _checked_rows(self, X: Any, reset: bool) -> Any:
        """Rows in memory as an array, a CSR array or `Columns`."""
        return self._checked_array(X, reset)

    def _checked_array(self, X: Any, reset: bool, **checks: Any) -> Any:
        """Rows in memory as scikit-learn's `validate_data` returns them."""
        # In a fit the pass itself finds infinity, and says where.
        usual = {"dtype": FLOATS, "ensure_all_finite": False if reset else "allow-nan"}
        return validate_data(
            self, X, reset=reset, accept_sparse=self._accepts_sparse(), **usual | checks
        )

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.target_tags.required = False
        tags.requires_fit = True
        return tags

    # --- fitting --------------------------------------------------------------------------

    def _training_source(self, X: Any, y: Any, sample_weight: Any, reset: bool = True) -> Source:
        if isinstance(X, Source):
            return super()._training_source(X, y, sample_weight, reset)
        refuse_strangers(X)
        return self._source_in_memory(X, self._checked_weight(sample_weight, X), reset)

    def _source_in_memory(self, X: Any, weight: Any, reset: bool) -> Source:
        """Rows in memory to learn from."""
        if not has_cells(X):
            return as_source(self._checked_rows(X, reset), None, weight)
        source = as_source(X, None, weight)
        self._take_names(source, reset)
        return source

    def _from(self, statistic: Any, source: Source) -> Self:
        """Fitted by a statistic of the rows of a source, which is not read."""
        self._validate_params()
        began = time.perf_counter()
        self._training_source(source, None, None)
        self._resolve("of all columns together", statistic, began)
        return self

    # --- transforming ---------------------------------------------------------------------

    def transform(self, X: Any) -> Any:
        """Change rows by what was learned.

        Parameters
        ----------
        X : array, data frame, CSR matrix or Source, of shape (rows, columns)

        Returns
        -------
        array, CSR matrix or data frame
            As `set_output` says; of a source, a source with its target and weights, whose
            blocks are changed when they are read.
        """
        check_is_fitted(self)
        if isinstance(X, Source):
            self._check_names(X)
            self._announce()
            return self._mapped(X)
        refuse_strangers(X)
        rows = self._checked_rows(X, reset=False)
        self._announce()
        changed = in_memory(self._map(rows))
        return _wrap_data_with_container("transform", changed, X, self)

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
        names = self._names_out(_check_feature_names_in(self, input_features))
        return np.array(names, dtype=object)

    def _names_out(self, inputs: Sequence[str]) -> list[str]:
        """From the names of the input columns to those of the output columns; here the same."""
        return list(inputs)

    def _check_width(self, X: Any) -> None:
        """Raise unless rows to change back have the columns of the fit."""
        width = X.n_columns if isinstance(X, Source) else X.shape[1]
        if width != self.n_features_in_:
            raise ValueError(
                f"X has {width} features, but {type(self).__name__} is expecting "
                f"{self.n_features_in_} features as input"
            )

    def _announce(self) -> None:
        """Warn of what a user should know before rows are changed."""

    def _mapped(self, source: Source) -> MappedSource:
        labels = [str(name) for name in self.get_feature_names_out()]
        return MappedSource(
            source,
            self._frozen_for(source)._map_block,
            len(labels),
            self._names_of_source(labels),
            sparse=self._gives_sparse(source.sparse),
            kinds=self._kinds_out(source),
            labels=labels,
        )

    def _map_block(self, X: Any) -> Any:
        """Rows of a source, changed."""
        return self._map(X)

    def _frozen_for(self, source: Source) -> Any:
        """What changes the rows of a source, block by block."""
        return self._frozen()

    def _frozen(self) -> Any:
        """This model as it is now, without its statistic."""
        frozen = copy.copy(self)
        frozen.__dict__.pop("statistics_", None)
        return frozen

    def _gives_sparse(self, sparse: bool) -> bool:
        """Whether rows come out as CSR."""
        return sparse

    def _kinds_out(self, source: Source) -> Sequence[str] | None:
        """What each column holds afterwards; None where all hold numbers."""
        return None


def has_cells(X: Any) -> bool:
    """Whether rows are a data frame; an empty one is scikit-learn's to refuse."""
    return is_frame(X) and 0 not in X.shape


def in_memory(rows: Any) -> Any:
    """Rows as scikit-learn hands them out: text among objects, CSR in the class configured."""
    if isinstance(rows, Columns):
        return rows.to_objects()
    if issparse(rows) and get_config().get("sparse_interface") != "sparray":
        return csr_matrix(rows)
    return rows


def exactly(claim: str, path: str, notes: Sequence[str] = ()) -> Certificate:
    """The certificate of what involves no rounding."""
    return Certificate(True, claim, path, {"digits": EXACT_DIGITS}, tuple(notes))


EXACT_DIGITS = float(-np.log10(2.0**-53))
"""Digits of a float64 that is the correctly rounded result."""
