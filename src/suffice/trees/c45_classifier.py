"""C4.5, Release 8: gain ratios, cuts of numbers, missing values, and pruning.

    at a node with rows D:   a* = argmaxₐ Gain(D, a)/Split(D, a)

over tests a whose gain is not below the average of all.  Gain and Split are in
`suffice.trees.multiway.gain`.  A test is by

    a column of categories   a branch for each value; asked for once on a path
    a column of numbers      x ≤ θ or not, at the best cut (`suffice.trees.multiway.cuts`): θ is the
                             largest value of all rows that is not above the middle of the cut

and needs at least two branches with `min_samples_leaf` rows.  Columns that have three values in ten
rows, or more, do not count in the average, unless all are such.  A row whose cell is missing goes
down every branch, in parts as large as the branches are, both when the tree grows and when it
predicts.  What saves no error becomes a leaf again; then the tree is pruned by the errors to be
expected of unseen rows (`suffice.trees.multiway.pruning`).

References: Quinlan, "C4.5: programs for machine learning" (1993); "Improved use of continuous
attributes in C4.5" (1996).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from numbers import Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.utils._param_validation import Interval

from suffice.fitting.certificate import Certificate
from suffice.fitting.column_kinds import categorical_columns, with_named
from suffice.fitting.requests import Passes
from suffice.sources import Source
from suffice.trees.multiway.cuts import MultiwaySplit, best_cuts
from suffice.trees.multiway.gain import TIE, first_best, gain, split_information
from suffice.trees.multiway.growing import Cases, MultiwayNode, Recursion, result_of
from suffice.trees.multiway.model import MultiwayClassifier
from suffice.trees.multiway.pruning import PessimisticPruning, expected_errors
from suffice.trees.multiway.tree import Codes, Floats

EPSILON = 1e-3
"""Gains, informations and errors no farther apart are the same to C4.5."""

MANY_VALUES = 0.3
"""So many values a row make a gain that says little."""


class C45Classifier(MultiwayClassifier):
    """A decision tree of categories and numbers, with missing values and pruning.

    Parameters
    ----------
    confidence : float, default=0.25
        Pruning takes the error rate of a leaf to be the upper end of an interval of this
        confidence: the smaller, the more is pruned.
    min_samples_leaf : float, default=2
        Least weight, without row weights the number, of rows in two branches of each test.
    prune : bool, default=True
        Whether the tree is pruned.
    raising : bool, default=True
        Whether a node may be replaced by its largest branch, and not only by a leaf.
    categorical : sequence, optional
        Names or numbers of columns that hold categories whatever their type, or a boolean for
        each column.  By type, text, categories and booleans are categories, and numbers are cut.

    Attributes
    ----------
    classes_ : array of shape (classes,)
        The labels, sorted.
    is_categorical_ : boolean array of shape (columns,)
    categories_ : list of arrays
        The values of each column of categories, sorted; empty for a column of numbers.
    tree_ : MultiwayTree
        The nodes, in arrays.
    certificate_ : Certificate
        Its `expected_error` is C4.5's estimate for unseen rows.
    trace_ : Trace

    See Also
    --------
    ID3Classifier : the plain tree of categories that this one came from.

    Examples
    --------
    >>> import pandas as pd
    >>> from suffice import C45Classifier
    >>> days = pd.DataFrame({
    ...     "outlook": ["sunny"] * 5 + ["overcast"] * 4 + ["rain"] * 5,
    ...     "humidity": [70, 90, 85, 95, 70, 90, 78, 65, 75, 80, 70, 80, 80, 96],
    ...     "windy": [day in (0, 1, 5, 7, 9, 10) for day in range(14)],
    ... })
    >>> play = ["Stay" if day in (1, 2, 3, 9, 10) else "Play" for day in range(14)]
    >>> model = C45Classifier().fit(days, play)
    >>> print(model.export_text())
    outlook = overcast: Play (4.0)
    outlook = rain:
    |   windy = False: Play (3.0)
    |   windy = True: Stay (2.0)
    outlook = sunny:
    |   humidity <= 75: Play (2.0)
    |   humidity > 75: Stay (3.0)
    >>> model.rules_[-1]
    'if outlook = sunny and humidity > 75 then Stay (3.0)'
    >>> model.predict_proba(pd.DataFrame({"outlook": [None], "humidity": [70], "windy": [True]}))
    array([[0.64285714, 0.35714286]])
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "confidence": [Interval(Real, 0, 1, closed="right")],
        "min_samples_leaf": [Interval(Real, 0, None, closed="neither")],
        "prune": ["boolean"],
        "raising": ["boolean"],
        "categorical": ["array-like", None],
    }
    _missing_is_a_value = False

    is_categorical_: NDArray[np.bool_]

    def __init__(
        self,
        *,
        confidence: float = 0.25,
        min_samples_leaf: float = 2,
        prune: bool = True,
        raising: bool = True,
        categorical: Sequence[Any] | None = None,
    ) -> None:
        self.confidence = confidence
        self.min_samples_leaf = min_samples_leaf
        self.prune = prune
        self.raising = raising
        self.categorical = categorical

    # --- fitting --------------------------------------------------------------------------

    def _training_source(self, X: Any, y: Any, sample_weight: Any, reset: bool = True) -> Source:
        source = super()._training_source(X, y, sample_weight, reset)
        if not isinstance(X, Source):
            # For those who read the same rows again: numbers of a frame may be categories.
            source.categorical = categorical_columns(source, X)  # type: ignore[attr-defined]
        return source

    def _passes(self, source: Source) -> Passes:
        names = getattr(self, "feature_names_in_", None)
        by_type = categorical_columns(source)
        self.is_categorical_ = np.array(with_named(by_type, self.categorical, names))
        return (yield from super()._passes(source))

    def _is_categorical(self) -> NDArray[np.bool_]:
        return self.is_categorical_

    def _grown(self, cases: Cases) -> MultiwayNode:
        growth = C45Growth(cases, self.is_categorical_, self.min_samples_leaf)
        rows, weight = cases.all_rows, cases.weight
        root, _ = result_of(growth.grow(rows, weight, np.flatnonzero(self.is_categorical_)))
        if self.prune:
            pruning = PessimisticPruning(cases, self.confidence, self.raising)
            root, _ = result_of(pruning.pruned(root, rows, weight))
        grown: MultiwayNode = root
        return grown

    def _certified(self, cases: Cases) -> Certificate:
        path = "multi-way splits by gain ratio"
        if self.prune:
            path += f", pruned at confidence {self.confidence:g}"
        leaves = self.tree_.counts[self.tree_.is_leaf]
        total, most = leaves.sum(axis=1), leaves.max(axis=1)
        errors = map(expected_errors, total, total - most, np.full(len(total), self.confidence))
        return self._certificate(cases, path, expected_error=sum(errors) / total.sum())

    # --- predicting -----------------------------------------------------------------------

    def _shares(self) -> Floats:
        # A row ends above the leaves if its category is known, but came with none of the node's
        # rows: then their largest class is predicted.
        shares, inner = self.tree_.shares(), np.flatnonzero(~self.tree_.is_leaf)
        shares[inner] = 0.0
        shares[inner, self.tree_.counts[inner].argmax(axis=1)] = 1.0
        return shares

    def _check_loaded(self) -> None:
        super()._check_loaded()
        found: Any = vars(self).get("is_categorical_", np.empty(0))
        if "tree_" in vars(self) and (found.dtype != bool or found.shape != (self.n_features_in_,)):
            raise ValueError("it does not say which columns hold categories")


class C45Growth:
    """How C4.5 grows a tree.

    Parameters
    ----------
    cases : Cases
    categorical : boolean array of shape (columns,)
    minimum : float
        Least weight of two branches of each test.
    """

    def __init__(self, cases: Cases, categorical: NDArray[np.bool_], minimum: float) -> None:
        self.cases = cases
        self.minimum = minimum
        self.numbers = np.flatnonzero(~categorical)
        self.seen = {
            int(j): np.unique(cases.cells[~np.isnan(cases.cells[:, j]), j]) for j in self.numbers
        }
        many = cases.n_values >= MANY_VALUES * cases.weight.sum()
        self.averaged = ~many | many.all()

    def grow(self, rows: Codes, weight: Floats, untested: Codes) -> Recursion:
        """A tree for some rows, and its errors on them.

        Parameters
        ----------
        rows, weight : arrays
        untested : int array
            Columns of categories that were not asked for on the way here.
        """
        leaf = self.cases.node(rows, weight)
        if leaf.is_pure or leaf.weight < 2 * self.minimum - TIE:
            return leaf, leaf.errors
        best = self.best_split(rows, weight, untested)
        if best is None:
            return leaf, leaf.errors
        node = MultiwayNode(leaf.counts, best.column, self.threshold(best))
        others = untested[untested != best.column]
        errors = 0.0
        for value, part, part_weight, _ in self.cases.branches(node, rows, weight):
            node.branches[value], wrong = yield self.grow(part, part_weight, others)
            errors += wrong
        return (leaf, leaf.errors) if errors >= leaf.errors - EPSILON else (node, errors)

    def best_split(self, rows: Codes, weight: Floats, untested: Codes) -> MultiwaySplit | None:
        """The test of the best gain ratio among those whose gain is not below average."""
        splits = [
            *self.splits_by_category(rows, weight, untested),
            *best_cuts(self.cases, rows, weight, self.numbers, self.minimum),
        ]
        splits.sort(key=lambda split: split.column)
        counted = [split.gain for split in splits if self.averaged[split.column]]
        if not counted:
            return None
        average = sum(counted) / len(counted)
        fair = [s for s in splits if s.gain >= average - EPSILON and s.information > EPSILON]
        if not fair:
            return None
        return fair[first_best(np.array([split.gain / split.information for split in fair]))]

    def splits_by_category(
        self, rows: Codes, weight: Floats, untested: Codes
    ) -> Iterator[MultiwaySplit]:
        """The splits by columns of categories that have two branches of enough rows."""
        if not len(untested):
            return
        columns, table, starts, missing = tables = self.cases.tables(rows, weight, untested)
        if not len(columns):
            return
        enough = tables.number(table.sum(axis=1) >= self.minimum - TIE) >= 2
        gains, informations = (
            gain(table, starts, missing),
            split_information(table, starts, missing),
        )
        for i in np.flatnonzero(enough):
            yield MultiwaySplit(int(columns[i]), float(gains[i]), float(informations[i]), np.nan)

    def threshold(self, split: MultiwaySplit) -> float:
        """The largest value of all rows not above the middle of a cut; NaN for categories."""
        if np.isnan(split.between):
            return np.nan
        seen = self.seen[split.column]
        return float(seen[np.searchsorted(seen, split.between, side="right") - 1])
