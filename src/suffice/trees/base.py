"""What CART's classifier and regressor share: how a tree is grown and pruned, and asked.

Rows in memory, and files that fit in there, are gathered, and every cut between two values is
tried.  Larger streams are kept in bins of one byte a value, and cuts between bins are tried.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Generator
from dataclasses import replace
from functools import partial
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix, issparse
from sklearn.base import clone, is_classifier
from sklearn.utils import Bunch
from sklearn.utils.validation import check_is_fitted

from suffice.engines.gather import Rows
from suffice.fitting.certificate import Certificate
from suffice.fitting.requests import Found, Gather, Passes, Request, needed, reading
from suffice.fitting.text_columns import unless_rounded
from suffice.sources import Block, FileSource, Source
from suffice.sources.derived.subset import SubsetSource
from suffice.trees.growing.binned import grow_from_stream, overview_of
from suffice.trees.growing.columns import MOST_CATEGORIES
from suffice.trees.growing.exact import grow_in_memory
from suffice.trees.growing.overview import MOST_BINS, written_out
from suffice.trees.growing.sample import TreeSample, seed_of
from suffice.trees.growing.settings import PARAMETERS, Settings, columns_drawn, settings_of
from suffice.trees.nodes.cells import categories_of
from suffice.trees.nodes.model import CellsModel, in_parts
from suffice.trees.nodes.tree import Floats, Tree
from suffice.trees.pruning import cost_complexity, reduced_error

MOST_CELLS = 1 << 27
"""Cells of a stream up to which its rows are gathered: a gigabyte."""


class TreeModel(CellsModel):
    """Base of CART's trees.

    Attributes
    ----------
    tree_ : Tree
        The nodes, in arrays that have scikit-learn's names.
    categories_ : list
        For each column of categories, these in the order of their numbers; None for others.
    max_features_ : int
        Columns that a node looks at.
    n_outputs_ : int
        Targets: one.
    """

    tree_: Tree

    criterion: str
    ccp_alpha: float
    prune: str | None
    validation_fraction: float
    max_bins: Any
    max_features: Any
    random_state: Any

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = PARAMETERS

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    # --- what a model provides ------------------------------------------------------------

    @abstractmethod
    def _target_of(self, block: Block, reset: bool) -> NDArray[Any]:
        """Targets as a tree takes them; with `reset`, their classes become known."""

    @abstractmethod
    def _class_weights(self, weight: Floats) -> Floats | None:
        """A factor for the weight of each class, from the weight that its rows have."""

    @abstractmethod
    def _n_classes(self) -> int:
        """Classes of the target; 0 in regression."""

    @property
    @abstractmethod
    def _validation_loss(self) -> str:
        """What errors on validation rows cost."""

    # --- fitting --------------------------------------------------------------------------

    def fit(
        self, X: Any, y: Any = None, sample_weight: Any = None, X_val: Any = None, y_val: Any = None
    ) -> Self:
        """Grow a tree, and prune it if so asked.

        Parameters
        ----------
        X : array, data frame or Source
            Rows of shape (rows, columns), NaN or None where a cell is missing; or a source such
            as `suffice.scan` makes, which brings its own target and weights.
        y : array of shape (rows,)
            The target.  None if `X` is a source.
        sample_weight : array of shape (rows,), optional
            Weights; rows of weight 0 do not exist.
        X_val, y_val : array, data frame or Source, and array of shape (rows,), optional
            Rows that `prune="reduced_error"` decides by, instead of some that are split off.

        Returns
        -------
        self
        """
        if X_val is not None and self.prune is None:
            raise ValueError("X_val is of use for prune='reduced_error' alone")
        self._validation = (X_val, y_val) if X_val is not None else None
        try:
            return super().fit(X, y, sample_weight)
        finally:
            self.__dict__.pop("_validation", None)

    def _passes(self, source: Source) -> Passes:
        categorical = self._categorical(source)
        self.n_outputs_ = 1
        self.max_features_ = columns_drawn(self.max_features, self.n_features_in_)
        validation = None
        if self.prune is not None:
            source, validation = self._split(source)
        grow = self._grown_in_bins if self._takes_bins(source) else self._grown_exactly
        if validation is None:
            tree, certificate = yield from grow(source, categorical)
        else:
            tree, certificate = yield from reading(grow(source, categorical), source)
            tree = self._reduced(tree, (yield from needed(Gather("validation", validation))))
        if self.ccp_alpha > 0:
            tree = cost_complexity.pruned(tree, self.ccp_alpha)
        loss = tree.weighted_n_node_samples * tree.impurity / tree.weighted_n_node_samples[0]
        objective = float(loss[tree.is_leaf].sum())
        measures = {"leaves": tree.n_leaves, "depth": tree.max_depth, "impurity": objective}
        certificate = replace(certificate, measures={**certificate.measures, **measures})
        return Found({"tree_": tree}, certificate, objective)

    def _split(self, source: Source) -> tuple[Source, Source]:
        """Rows to grow from, and rows to prune by."""
        given = vars(self).get("_validation")
        if given is None:
            return source.split(self.validation_fraction, seed_of(self.random_state))
        X, y = given
        return source, self._training_source(X, y, None, reset=False)

    def _takes_bins(self, source: Source) -> bool:
        """Whether a tree is grown from bins instead of the values themselves."""
        if self.max_bins != "auto":
            return self.max_bins is not None
        base = source
        while isinstance(base, SubsetSource):
            base = base.source
        large = isinstance(base, FileSource) and self.criterion != "absolute_error"
        return large and source.count_rows() * source.n_columns > MOST_CELLS

    def _settings(self, n_rows: int, weight: float) -> Settings:
        # Without columns to draw, a tree is the same whatever the seed.
        draws = self.max_features_ < self.n_features_in_
        seed = seed_of(self.random_state) if draws else 0
        return settings_of(self, self._n_classes(), n_rows, weight, self.n_features_in_, seed)

    def _grown_exactly(
        self, source: Source, categorical: NDArray[np.bool_]
    ) -> Generator[Request, Any, tuple[Tree, Certificate]]:
        rows: Rows = yield from needed(Gather("rows"))
        first = partial(self._first_sample, categorical=categorical)
        learn = unless_rounded(source, np.flatnonzero(categorical).tolist(), first)
        X = written_out(rows.X) if issparse(rows.X) else rows.X
        sample = self._weighted(learn(Block(X, rows.y, rows.weight, 0)))
        n = len(sample.y)
        settings = self._settings(n, float(n if sample.weight is None else sample.weight.sum()))
        n_categories = np.array([-1 if one is None else len(one) for one in self.categories_])
        tree = grow_in_memory(*sample, settings, n_categories, self._n_jobs())
        count = np.bincount(tree.apply(sample.cells), minlength=tree.node_count)
        holds = bool((count == np.where(tree.is_leaf, tree.n_node_samples, 0)).all())
        claim = "as many rows of the fit come to each leaf as it grew from"
        return tree, Certificate(holds, claim, "exact: every cut between two values was tried")

    def _first_sample(self, block: Block, categorical: NDArray[np.bool_]) -> TreeSample:
        found = categories_of(block.X, categorical)
        self.categories_ = [
            one if is_one else None for one, is_one in zip(found, categorical, strict=True)
        ]
        for j, one in enumerate(self.categories_):
            if one is not None and len(one) > MOST_CATEGORIES:
                raise ValueError(
                    f"column {self._label(j)!r} holds {len(one):,} categories; at most "
                    f"{MOST_CATEGORIES:,} are taken: leave it out, or group them"
                )
        return TreeSample(self._cells(block.X), self._target_of(block, reset=True), block.weight)

    def _weighted(self, sample: TreeSample) -> TreeSample:
        """Rows with the weights of their classes; those of weight 0 are left out."""
        cells, y, weight = sample
        each = np.ones(len(y)) if weight is None else weight
        n_classes = self._n_classes()
        total = np.bincount(y, each, n_classes).astype(np.float64) if n_classes else each
        factor = self._class_weights(total)
        if factor is None:
            # Weights of 1 are none: the same formulas make the same choice between equal splits.
            return sample if (each != 1).any() else TreeSample(cells, y, None)
        weight = each * factor[y]
        there = weight > 0
        return TreeSample(cells[there], y[there], weight[there])

    def _grown_in_bins(
        self, source: Source, categorical: NDArray[np.bool_]
    ) -> Generator[Request, Any, tuple[Tree, Certificate]]:
        bins = MOST_BINS if self.max_bins == "auto" else int(self.max_bins)
        classify = is_classifier(self)
        overview = yield from overview_of(source, categorical.tolist(), classify, bins)
        if classify:
            self._adopt_classes(overview.labels)
        factor = self._class_weights(overview.class_weight)
        total = overview.weight if factor is None else float(factor @ overview.class_weight)
        settings = self._settings(overview.count, total)
        grown = yield from grow_from_stream(overview, settings, factor)
        self.categories_ = list(grown.categories)
        tree = grown.tree
        holds = int(tree.n_node_samples[tree.is_leaf].sum()) == overview.count
        claim = "each row of the stream is counted in one leaf"
        what = "two values" if grown.exact else f"two bins, at most {bins} a column,"
        return tree, Certificate(holds, claim, f"histograms: every cut between {what} was tried")

    def _reduced(self, tree: Tree, rows: Rows) -> Tree:
        """The tree without what does not help with validation rows."""
        block = Block(rows.X, rows.y, rows.weight, 0)
        leaves, y = tree.apply(self._cells(rows.X)), self._target_of(block, reset=False)
        return reduced_error.pruned(tree, leaves, y, rows.weight, self._validation_loss)

    def cost_complexity_pruning_path(
        self, X: Any, y: Any = None, sample_weight: Any = None
    ) -> Bunch:
        """The subtrees that cost-complexity pruning goes through, the whole one first.

        Parameters
        ----------
        X, y, sample_weight
            As for `fit`.

        Returns
        -------
        Bunch
            `ccp_alphas`, from which value of `ccp_alpha` on each subtree is best, and
            `impurities`, the impurity of its leaves.
        """
        whole = clone(self).set_params(ccp_alpha=0.0, prune=None)
        path = cost_complexity.pruning_path(whole.fit(X, y, sample_weight).tree_)
        return Bunch(ccp_alphas=path.ccp_alphas, impurities=path.impurities)

    def _check_loaded(self) -> None:
        """Raise ValueError unless what a file holds could be a fitted model."""
        if "tree_" not in vars(self):
            return
        tree, categories = vars(self)["tree_"], vars(self).get("categories_")
        width = self._n_classes() or 1
        if not isinstance(tree, Tree) or tree.n_features != self.n_features_in_:
            raise ValueError("its tree does not fit its columns")
        if tree.value.shape[1:] != (1, width):
            raise ValueError("its tree does not fit its classes")
        if not isinstance(categories, list) or len(categories) != self.n_features_in_:
            raise ValueError("its categories do not fit its columns")

    # --- rows to answer for ---------------------------------------------------------------

    def _values(self, rows: Any) -> Floats:
        """The values of the leaves that rows come to."""
        return in_parts(lambda some: self.tree_.predict(self._cells(some)), rows)

    def apply(self, X: Any, check_input: bool = True) -> NDArray[np.int64]:
        """The number of the leaf that each row comes to.

        Parameters
        ----------
        X : array, data frame or Source, of shape (rows, columns)
        check_input : bool, default=True
            Rows are checked whatever it says; scikit-learn's trees have it.

        Returns
        -------
        int64 array of shape (rows,)
        """
        return self._apply(X, lambda rows: self.tree_.apply(self._cells(rows)))

    def decision_path(self, X: Any, check_input: bool = True) -> csr_matrix:
        """The nodes that each row comes by.

        Parameters
        ----------
        X : array, data frame or Source, of shape (rows, columns)
        check_input : bool, default=True
            As for `apply`.

        Returns
        -------
        CSR matrix of shape (rows, nodes)
            1 where a row comes by a node.
        """
        return self.tree_.paths_to(self.apply(X))

    # --- the tree -------------------------------------------------------------------------

    def get_depth(self) -> int:
        """Tests on the way to the farthest leaf."""
        check_is_fitted(self)
        return self.tree_.max_depth

    def get_n_leaves(self) -> int:
        """How many leaves there are."""
        check_is_fitted(self)
        return self.tree_.n_leaves

    @property
    def feature_importances_(self) -> Floats:
        """What each column took from the impurity, as a share of what all did.

        Columns of many values come out high where they tell nothing; permutation of a column on
        rows that were held out tells more.
        """
        check_is_fitted(self)
        return self.tree_.compute_feature_importances()
