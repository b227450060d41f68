"""What forests of classifiers and of regressors share: how trees are grown, joined and asked.

The rows are read twice: for the bounds of the bins of each column, and to be kept as bins.  Then
trees grow side by side, each from what its own seed draws.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from numbers import Integral, Real
from types import ModuleType
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix, hstack
from sklearn.base import clone, is_classifier
from sklearn.utils import Bunch
from sklearn.utils._param_validation import Interval, RealNotInt, StrOptions
from sklearn.utils.validation import check_is_fitted

from suffice.engines.engine import Stopped
from suffice.engines.passes import each, map_rows
from suffice.ensembles.bagging.draws import n_samples
from suffice.ensembles.bagging.members import warn_of_none_added
from suffice.ensembles.bagging.out_of_bag import warn_of_seen
from suffice.ensembles.forests.checks import (
    certificate_of,
    check_alike,
    check_loaded,
    path_of,
    same_values,
)
from suffice.ensembles.forests.draws import Bootstrap
from suffice.ensembles.forests.growing import BinnedRows, drawn_columns, grow_tree
from suffice.ensembles.forests.out_of_bag import permutation_importances, ranked, sums_out_of_bag
from suffice.fitting.requests import Found, Keep, Passes, needed
from suffice.sources import Source
from suffice.trees.growing.binned import overview_of
from suffice.trees.growing.bins import Coding, bins_of
from suffice.trees.growing.overview import MOST_BINS
from suffice.trees.growing.sample import seed_of
from suffice.trees.growing.settings import PARAMETERS, Settings, columns_drawn, settings_of
from suffice.trees.nodes.forest import Forest
from suffice.trees.nodes.model import CellsModel, in_parts
from suffice.trees.nodes.tree import Floats, Tree
from suffice.trees.pruning import cost_complexity

OF_TREES = (
    "max_depth", "min_samples_split", "min_samples_leaf", "min_weight_fraction_leaf",
    "max_features", "max_leaf_nodes", "min_impurity_decrease", "ccp_alpha", "categorical",
    "monotonic_cst", "random_state", "n_jobs",
)  # fmt: skip
"""Parameters that are those of a tree."""

LEARNED = (
    "categories_", "classes_", "n_classes_", "n_features_in_", "feature_names_in_", "n_outputs_",
    "max_features_",
)  # fmt: skip
"""What a model of one tree has of its forest."""

EVERY_VALUE = int(np.iinfo(np.int32).max)
"""Bins of a column if each of its values has one."""

MOST_EXACT = 1 << 14
"""Rows up to which `max_bins="auto"` takes all values as bins: growth takes up to half as long
again, and twice as long at 50,000."""


class ForestModel(CellsModel):
    """Base of forests.

    Attributes
    ----------
    forest_ : Forest
        The nodes of all trees.
    seed_ : int
        From which all draws follow.
    draws_ : Bootstrap, or None
        How often each tree draws each row.
    """

    forest_: Forest
    seed_: int
    draws_: Bootstrap | None

    n_estimators: int
    criterion: str
    bootstrap: bool
    oob_score: Any
    max_features: Any
    max_samples: Any
    max_bins: Any
    feature_sampling: str
    class_weight: Any
    ccp_alpha: float
    warm_start: bool
    random_state: Any
    min_weight_fraction_leaf: float

    _shares_passes = False
    _task: ClassVar[ModuleType]
    """What is special to classes or to targets: `classification` or `regression`."""
    _at_random: ClassVar[bool] = False
    """Whether columns are cut at random."""

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **{name: PARAMETERS[name] for name in OF_TREES},
        "n_estimators": [Interval(Integral, 1, None, closed="left")],
        "bootstrap": ["boolean"],
        "oob_score": ["boolean", callable],
        "verbose": ["verbose"],
        "warm_start": ["boolean"],
        "max_samples": [
            None,
            Interval(RealNotInt, 0.0, None, closed="neither"),
            Interval(Integral, 1, None, closed="left"),
        ],
        "max_bins": [Interval(Integral, 2, 255, closed="both"), None],
        "feature_sampling": [StrOptions({"split", "tree"})],
        "min_weight_fraction_leaf": [Interval(Real, 0.0, 0.5, closed="both")],
    }

    def __init__(self, **parameters: Any) -> None:
        for name, value in parameters.items():
            setattr(self, name, value)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    # --- fitting --------------------------------------------------------------------------

    def _training_source(self, X: Any, y: Any, sample_weight: Any, reset: bool = True) -> Source:
        if self.oob_score and not self.bootstrap:
            raise ValueError("oob_score needs bootstrap=True: else no tree leaves rows out")
        if self.max_samples is not None and not self.bootstrap:
            raise ValueError("max_samples needs bootstrap=True: else each tree has all rows")
        return super()._training_source(X, y, sample_weight, reset)

    def _passes(self, source: Source) -> Passes:
        categorical = self._categorical(source)
        usual = MOST_BINS if self.max_bins == "auto" else self.max_bins
        most = EVERY_VALUE if usual is None else int(usual)
        overview = yield from overview_of(source, categorical.tolist(), is_classifier(self), most)
        before = vars(self).get("forest_") if self.warm_start else None
        known = getattr(self, "classes_", None) if before is not None else None
        n_classes, factor = self._task.take_overview(self, overview)
        limit = MOST_EXACT if self.max_bins == "auto" else 0
        coding = Coding(bins_of(overview, self._n_jobs(), limit), overview.labels, 0.0)
        del overview  # its sample of rows is as large as these
        shards = yield from needed(Keep("bins", coding))
        rows = BinnedRows.of(shards, coding.bins, coding.is_wide)
        shards.close()
        if factor is not None:
            each_one = np.ones(rows.n_rows) if rows.weight is None else rows.weight
            rows = replace(rows, weight=each_one * factor[rows.label])
        categories = [one.categories for one in coding.bins]
        if before is not None and not same_values(self, categories, known):
            raise ValueError(
                "warm_start goes on with the same columns, classes and categories; these are others"
            )
        self.categories_, self.n_outputs_ = categories, 1
        self.max_features_ = columns_drawn(self.max_features, self.n_features_in_)
        if self.max_features_ > self.n_features_in_:
            self.max_features_ = self.n_features_in_
        if before is None:
            self.seed_ = seed_of(self.random_state)
        old, self.draws_ = vars(self).get("draws_"), None
        if self.bootstrap:
            size = n_samples(self.max_samples, rows.n_rows, rows.weight, replace=True)
            self.draws_ = Bootstrap.of(rows, self.seed_, size)
        strange = before is not None and not (old and self.draws_ and old.are(self.draws_))
        if strange and self.oob_score:
            raise ValueError(
                "the trees that there are drew other rows, or draw none: which rows they left out "
                "is not known; fit anew, or with oob_score=False"
            )
        settings = settings_of(self, n_classes, rows.n_rows, 1.0, self.n_features_in_, self.seed_)
        settings = replace(settings, max_features=self.max_features_)
        forest = self._grown(rows, settings, before)
        self.draws_ = None if strange else self.draws_
        attributes: dict[str, Any] = {"forest_": forest}
        for name in ("oob_score_", "oob_decision_function_", "oob_prediction_"):
            self.__dict__.pop(name, None)
        if self.oob_score:
            attributes |= self._out_of_bag(forest, rows)
        path = path_of(coding.bins, self._at_random, most)
        return Found(attributes, certificate_of(forest, path, attributes.get("oob_score_")))

    def _grown(self, rows: BinnedRows, settings: Settings, before: Forest | None) -> Forest:
        first = 0 if before is None else len(before)
        if first > self.n_estimators:
            raise ValueError(
                f"n_estimators={self.n_estimators} must be larger or equal to the {first} trees "
                "that there are, with warm_start=True"
            )
        if before is not None and first == self.n_estimators:
            warn_of_none_added(first)
            return before
        for name in ("by_row", "columns", "points", "bounds", "all_known"):
            getattr(rows, name)  # made once, not by each thread
        grow = partial(self._grown_tree, rows, settings)
        n_categories = np.array([-1 if one is None else len(one) for one in self.categories_])
        new = Forest.of(each(range(first, self.n_estimators), grow, self._n_jobs()), n_categories)
        return new if before is None else Forest.joined([before, new])

    def _grown_tree(
        self, rows: BinnedRows, settings: Settings, tree: int, stopped: Stopped
    ) -> Tree:
        weight = rows.weight
        if self.draws_ is not None:
            weight = self.draws_.counts(tree).astype(np.float64)
        if weight is not None:
            weight = self._task.factors(self, rows.label, weight)
        total = rows.n_rows if weight is None else weight.sum()
        least = self.min_weight_fraction_leaf * total
        columns = np.arange(self.n_features_in_)
        if self.feature_sampling == "tree":
            columns = drawn_columns(self.n_features_in_, self.max_features_, self.seed_, tree)
        settings = replace(settings, min_weight_leaf=least)
        grown = grow_tree(rows, weight, settings, self._at_random, columns, tree)
        return cost_complexity.pruned(grown, self.ccp_alpha) if self.ccp_alpha > 0 else grown

    def _out_of_bag(self, forest: Forest, rows: BinnedRows) -> dict[str, Any]:
        assert self.draws_ is not None
        hard = getattr(self, "voting", "soft") == "hard"
        values = forest.votes if hard else forest.value[:, 0]
        codes = ranked(rows, forest)
        sums, counts = sums_out_of_bag(forest, self.draws_, codes, values, self._n_jobs())
        warn_of_seen(int(np.count_nonzero(counts == 0)), rows.n_rows)
        with np.errstate(invalid="ignore"):
            found = self._task.judged(self, sums / counts[:, None], rows)
        return {
            name: self.draws_.spread(one) if isinstance(one, np.ndarray) else one
            for name, one in found.items()
        }

    def _check_loaded(self) -> None:
        check_loaded(self)

    # --- two forests ----------------------------------------------------------------------

    def __add__(self, other: Any) -> Self:
        if type(other) is not type(self):
            return NotImplemented
        check_is_fitted(self)
        check_is_fitted(other)
        check_alike(self, other)
        both: Self = clone(self)
        for name, value in vars(self).items():
            if name.endswith("_") and not name.startswith(("_", "oob_")):
                setattr(both, name, value)
        both.forest_ = Forest.joined([self.forest_, other.forest_])
        both.n_estimators, both.draws_ = len(both.forest_), None
        paths = dict.fromkeys(one.certificate_.path for one in (self, other))
        both.certificate_ = certificate_of(both.forest_, "; ".join(paths), None)
        return both

    def __radd__(self, other: Any) -> Self:
        return self if isinstance(other, int) and other == 0 else NotImplemented

    # --- rows to answer for ---------------------------------------------------------------

    def _mean(self, rows: Any) -> Floats:
        """The mean of what all trees say, or vote."""
        votes = getattr(self, "voting", "soft") == "hard"
        mean = partial(self.forest_.mean, votes=votes, n_jobs=self._n_jobs())
        return in_parts(lambda some: mean(self._cells(some)), rows)

    def _predicted(self, rows: Any) -> NDArray[Any]:
        mean = self._mean(rows)
        return self.classes_[mean.argmax(axis=1)] if is_classifier(self) else mean[:, 0]

    def apply(self, X: Any) -> NDArray[np.int64]:
        """The number of the leaf that each row comes to in each tree.

        Parameters
        ----------
        X : array, data frame, CSR matrix or Source, of shape (rows, columns)

        Returns
        -------
        int64 array of shape (rows, trees)
        """

        def leaves(rows: Any) -> NDArray[np.int64]:
            forest = self.forest_
            found: NDArray[np.int64] = forest.leaves(forest.codes(self._cells(rows)))
            return found.astype(np.int64)

        return self._apply(X, leaves)

    def decision_path(self, X: Any) -> tuple[csr_matrix, NDArray[np.int64]]:
        """The nodes that each row comes by, those of all trees side by side.

        Parameters
        ----------
        X : array, data frame, CSR matrix or Source, of shape (rows, columns)

        Returns
        -------
        paths : CSR matrix of shape (rows, nodes)
            1 where a row comes by a node.
        starts : int64 array of shape (trees + 1,)
            Where the nodes of each tree begin.
        """
        leaves = self.apply(X)
        paths = [tree.paths_to(leaves[:, i]) for i, tree in enumerate(self.forest_)]
        return hstack(paths).tocsr(), self.forest_.starts

    # --- the trees ------------------------------------------------------------------------

    def _tree_model(self, tree: Tree | None) -> Any:
        """A model of one tree, which knows what the forest has learned."""
        given = {name: getattr(self, name) for name in OF_TREES}
        model = self._task.TREE(criterion=self.criterion, **given)
        if tree is not None:
            model.tree_ = tree
            for name in LEARNED:
                if name in vars(self):
                    setattr(model, name, getattr(self, name))
        return model

    @property
    def estimators_(self) -> list[Any]:
        """A model of each tree; made when asked for."""
        check_is_fitted(self)
        return [self._tree_model(tree) for tree in self.forest_]

    @property
    def estimator_(self) -> Any:
        """A model of one tree, not fitted."""
        return self._tree_model(None)

    def __len__(self) -> int:
        check_is_fitted(self)
        return len(self.forest_)

    def __getitem__(self, place: int | slice) -> Any:
        chosen = range(len(self))[place]
        if isinstance(chosen, int):
            return self._tree_model(self.forest_[chosen])
        return [self._tree_model(self.forest_[one]) for one in chosen]

    @property
    def estimators_samples_(self) -> list[NDArray[np.int64]]:
        """The rows that each tree has drawn, as often as it has."""
        check_is_fitted(self)
        if self.draws_ is None:
            raise AttributeError("rows were not drawn: bootstrap is False, or forests were joined")
        return [self.draws_.samples(tree) for tree in range(len(self.forest_))]

    @property
    def feature_importances_(self) -> Floats:
        """What each column took from the impurity, as a share of what all did, tree by tree.

        Columns of many values come out high where they tell nothing; see
        `oob_permutation_importance`.
        """
        check_is_fitted(self)
        return self.forest_.importances()

    def oob_permutation_importance(self, X: Any, y: Any = None) -> Bunch:
        """By how much errors grow if a column is shuffled, on rows that trees did not draw.

        Errors are wrong classes, or squares.  A column that tells nothing comes out at about 0,
        however many values it has.

        Parameters
        ----------
        X, y
            The rows of the fit, in their order; `y` is None if `X` is a source.

        Returns
        -------
        Bunch
            `importances` of shape (columns, trees), and their mean and standard deviation over
            the trees, `importances_mean` and `importances_std`.
        """
        check_is_fitted(self)
        if self.draws_ is None:
            raise ValueError("no tree leaves rows out: fit with bootstrap=True, one forest alone")
        source = self._training_source(X, y, None, reset=False)
        target = map_rows(source, partial(self._task.numbers_of, self), self._n_jobs())
        codes = self.forest_.codes(self._apply(X, self._cells))
        found = permutation_importances(
            self.forest_, self.draws_, codes, target, is_classifier(self), self._n_jobs()
        )
        return Bunch(
            importances=found,
            importances_mean=found.mean(axis=1),
            importances_std=found.std(axis=1),
        )
