"""ID3: a branch for every value of the column that tells most about the class.

    at a node with rows D:   a* = argmaxₐ Gain(D, a)   over the columns not yet asked for,

a branch for each value of a* in D, and so on below, until the rows of a node are of one class, or
no column is left in which they differ.  Every distinct value is a category, and a missing cell one
more.  The gain and what may stand in its place, the gain ratio and the decrease of Gini's index,
are in `suffice.trees.multiway.gain`.

The gain favours columns of many values: one that numbers the rows has the largest of all, and
predicts nothing.  The gain ratio divides by the information of the split itself.

Reference: Quinlan, "Induction of decision trees" (1986).
"""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from sklearn.utils._param_validation import Interval, StrOptions

from suffice.fitting.certificate import Certificate
from suffice.trees.multiway.gain import first_best, gain, gain_ratio, gini_decrease
from suffice.trees.multiway.growing import Cases, MultiwayNode, Recursion, result_of
from suffice.trees.multiway.model import MultiwayClassifier
from suffice.trees.multiway.tree import Codes, Floats

CRITERIA: dict[str, Any] = {"gain": gain, "gain_ratio": gain_ratio, "gini": gini_decrease}
"""What a split is worth."""


class ID3Classifier(MultiwayClassifier):
    """A decision tree with a branch for every value of a column.

    Parameters
    ----------
    criterion : {"gain", "gain_ratio", "gini"}, default="gain"
        What the best column has most of: the gain of information, this by the information of
        the split, or the decrease of Gini's index.  Of equally good columns the first is taken.
    max_depth : int, optional
        Most columns that are asked for on the way to a leaf.
    min_samples_split : float, default=2
        Least weight of the rows of a node that is divided; without row weights, their number.

    Attributes
    ----------
    classes_ : array of shape (classes,)
        The labels, sorted.
    categories_ : list of arrays
        The values of each column, sorted; missing cells are a category of their own beyond.
    tree_ : MultiwayTree
        The nodes, in arrays.
    certificate_ : Certificate
    trace_ : Trace

    See Also
    --------
    C45Classifier : cuts numbers, treats missing cells as unknown, and prunes.

    Examples
    --------
    >>> from suffice import ID3Classifier
    >>> days = [["sunny", "high"], ["sunny", "normal"], ["rain", "high"], ["overcast", "high"]]
    >>> model = ID3Classifier().fit(days, ["stay", "play", "stay", "play"])
    >>> print(model.export_text())
    x0 = overcast: play (1.0)
    x0 = rain: stay (1.0)
    x0 = sunny:
    |   x1 = high: stay (1.0)
    |   x1 = normal: play (1.0)
    >>> model.predict([["sunny", "normal"], ["rain", "normal"]]).tolist()
    ['play', 'stay']

    A value that no row of a node had ends there, with the classes of its rows.

    >>> model.predict_proba([["hail", "high"]])
    array([[0.5, 0.5]])
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "criterion": [StrOptions(set(CRITERIA))],
        "max_depth": [Interval(Integral, 0, None, closed="left"), None],
        "min_samples_split": [Interval(Real, 0, None, closed="left")],
    }
    _missing_is_a_value = True

    def __init__(
        self, criterion: str = "gain", *, max_depth: int | None = None, min_samples_split: float = 2
    ) -> None:
        self.criterion = criterion
        self.max_depth = max_depth
        self.min_samples_split = min_samples_split

    def _grown(self, cases: Cases) -> MultiwayNode:
        columns = np.arange(cases.cells.shape[1])
        root: MultiwayNode = result_of(self._grow(cases, cases.all_rows, cases.weight, columns, 0))
        return root

    def _grow(
        self, cases: Cases, rows: Codes, weight: Floats, columns: Codes, depth: int
    ) -> Recursion:
        node = cases.node(rows, weight)
        if node.is_pure or depth == self.max_depth or node.weight < self.min_samples_split:
            return node
        best = best_column(cases, rows, weight, columns, self.criterion)
        if best is None:
            return node
        node.column = best
        others = columns[columns != best]
        for value, part, part_weight, _ in cases.branches(node, rows, weight):
            node.branches[value] = yield self._grow(cases, part, part_weight, others, depth + 1)
        return node

    def _certified(self, cases: Cases) -> Certificate:
        return self._certificate(cases, f"multi-way splits by {self.criterion}")


def best_column(
    cases: Cases, rows: Codes, weight: Floats, columns: Codes, criterion: str
) -> int | None:
    """The first column by which splitting is worth most; None where rows differ in none."""
    if not len(columns):
        return None
    tables = cases.tables(rows, weight, columns)
    several = np.diff(tables.starts, append=len(tables.table)) > 1
    if not several.any():
        return None
    worth = CRITERIA[criterion](tables.table, tables.starts)
    return int(tables.columns[first_best(np.where(several, worth, -np.inf))])
