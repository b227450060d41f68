"""What ID3 and C4.5 share as models: rows of any kind, predictions, the tree in words.

A model says how a tree grows (`_grown`) and what is proved of it (`_certified`).
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from sklearn.utils.validation import check_is_fitted

from suffice.engines.gather import Rows
from suffice.fitting.certificate import Certificate
from suffice.fitting.classification import Classifier
from suffice.fitting.estimator import Estimator
from suffice.fitting.requests import Found, Gather, Passes, needed
from suffice.fitting.text_columns import (
    any_large,
    is_table,
    text_queries,
    text_source,
    unless_rounded,
)
from suffice.sources import Block, Source
from suffice.statistics.counts.labels import coded
from suffice.trees.multiway.growing import Cases, MultiwayNode, in_arrays
from suffice.trees.multiway.text import TreeInWords
from suffice.trees.multiway.tree import Floats, MultiwayTree
from suffice.trees.nodes.cells import categories_of, cells_of

CLOSE = 1e-9
"""Weights of classes that differ by no more of the total are the same but for rounding."""


class MultiwayClassifier(Classifier, Estimator):
    """Base of trees that have a branch for every value of a column.

    Attributes
    ----------
    tree_ : MultiwayTree
    categories_ : list of arrays
        The values of each column of categories; empty for a column of numbers.
    """

    tree_: MultiwayTree
    categories_: list[NDArray[Any]]

    _takes_text = True
    _missing_is_a_value: ClassVar[bool]
    """Whether a missing cell is one category more, or unknown."""

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.categorical = tags.input_tags.string = True
        return tags

    # --- what a model provides ------------------------------------------------------------

    @abstractmethod
    def _grown(self, cases: Cases) -> MultiwayNode:
        """The root of the tree."""

    @abstractmethod
    def _certified(self, cases: Cases) -> Certificate:
        """What is proved of the tree."""

    def _is_categorical(self) -> NDArray[np.bool_]:
        """Which columns hold categories."""
        return np.ones(self.n_features_in_, dtype=bool)

    def _shares(self) -> Floats:
        """The shares of the classes for a row that ends at each node."""
        return self.tree_.shares()

    # --- fitting --------------------------------------------------------------------------

    def _training_source(self, X: Any, y: Any, sample_weight: Any, reset: bool = True) -> Source:
        if not is_table(X) or 0 in getattr(X, "shape", ())[:1]:
            return super()._training_source(X, y, sample_weight, reset)
        source = text_source(self, X, y, sample_weight, reset)
        self._take_target_names(source, y, reset)
        return source

    def _passes(self, source: Source) -> Passes:
        rows: Rows = yield from needed(Gather("rows"))
        learn = unless_rounded(
            source, np.flatnonzero(self._is_categorical()).tolist(), self._learned
        )
        cases = learn(Block(rows.X, rows.y, rows.weight, 0))
        self.tree_ = in_arrays(self._grown(cases))
        return Found({}, self._certified(cases))

    def _learned(self, block: Block) -> Cases:
        """Rows as a tree grows from them; their classes and categories become known."""
        self.classes_, labels = coded(self._labels(block))
        self.categories_ = categories_of(block.X, self._is_categorical())
        weight = np.ones(block.n_rows) if block.weight is None else block.weight
        if weight.sum() < block.n_rows:  # such as shares of 1: else no node would hold two rows
            weight = weight * (block.n_rows / weight.sum())
        n_values = np.array([len(values) for values in self.categories_], dtype=np.int64)
        if self._missing_is_a_value:
            n_values += 1
        return Cases(self._cells(block.X), labels, weight, n_values, len(self.classes_))

    def _certificate(self, cases: Cases, path: str, **measures: float) -> Certificate:
        """The claim that rows come to leaves with the counts that these have."""
        tree = self.tree_
        found = np.zeros(tree.counts.shape)
        rows = cases.all_rows
        weights = csr_array((cases.weight, (rows, cases.labels)), (len(rows), cases.n_classes))
        for which, parts in tree.ends(cases.cells):
            found += (parts.T @ weights[which]).toarray()
        ends = np.where(tree.is_leaf[:, None], tree.counts, 0.0)
        off = np.abs(found - ends).max() / cases.weight.sum()
        wrong = (ends.sum() - ends.max(axis=1).sum()) / cases.weight.sum()
        return Certificate(
            bool(off <= CLOSE),
            "the rows of the fit come to leaves with the weights of classes that these have",
            path,
            {"leaves": tree.n_leaves, "depth": self.get_depth(), "training_error": wrong}
            | measures,
        )

    def _check_loaded(self) -> None:
        """Raise ValueError unless what a file holds could be a fitted model."""
        if "tree_" not in vars(self):
            return
        tree, categories = vars(self)["tree_"], vars(self).get("categories_")
        if not isinstance(tree, MultiwayTree) or tree.counts.shape[1] != len(self.classes_):
            raise ValueError("its tree does not fit its classes")
        if tree.column.max() >= self.n_features_in_:
            raise ValueError("its tree tests columns that there are not")
        if not isinstance(categories, list) or len(categories) != self.n_features_in_:
            raise ValueError("its categories do not fit its columns")
        if not all(isinstance(one, np.ndarray) and one.ndim == 1 for one in categories):
            raise ValueError("its categories are no arrays")

    # --- predicting -----------------------------------------------------------------------

    def _cells(self, rows: Any) -> Floats:
        names = getattr(self, "feature_names_in_", None)
        return cells_of(
            rows, self.categories_, self._is_categorical(), self._missing_is_a_value, names
        )

    def _apply(self, X: Any, function: Callable[[Any], NDArray[Any]]) -> NDArray[Any]:
        if is_table(X):
            return function(text_queries(self, X))
        if isinstance(X, Source) and any_large(getattr(self, "categories_", ())):
            columns = np.flatnonzero(self._is_categorical()).tolist()
            function = unless_rounded(X, columns, function)
        return super()._apply(X, function)

    def _probabilities(self, rows: Any) -> Floats:
        cells, shares = self._cells(rows), self._shares()
        found = [parts @ shares for _, parts in self.tree_.ends(cells)]
        return np.concatenate([np.empty((0, len(self.classes_))), *found])

    def _log_probabilities(self, rows: Any) -> Floats:
        with np.errstate(divide="ignore"):
            return np.log(self._probabilities(rows))

    def _predicted(self, rows: Any) -> NDArray[Any]:
        return self.classes_[np.argmax(self._probabilities(rows), axis=1)]

    # --- the tree -------------------------------------------------------------------------

    def get_depth(self) -> int:
        """Tests on the way to the farthest leaf."""
        check_is_fitted(self)
        return int(self.tree_.depth.max())

    def get_n_leaves(self) -> int:
        """How many leaves there are."""
        check_is_fitted(self)
        return self.tree_.n_leaves

    def export_text(self) -> str:
        """The tree, one line a branch: ``humidity <= 75: Play (2.0)``.

        In brackets is the weight of the rows of the fit that came there, and after a stroke that
        of those which are of another class.

        Returns
        -------
        str
        """
        return self._in_words().text()

    @property
    def rules_(self) -> list[str]:
        """One rule a leaf: ``if outlook = sunny and humidity <= 75 then Play (2.0)``."""
        return self._in_words().rules()

    def _in_words(self) -> TreeInWords:
        check_is_fitted(self)
        names = getattr(self, "feature_names_in_", None)
        if names is None:
            names = [f"x{j}" for j in range(self.n_features_in_)]
        return TreeInWords(self.tree_, names, self.categories_, self.classes_)
