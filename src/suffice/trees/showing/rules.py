"""A tree as rules: one for each leaf, all tests of a column on the way to it made one condition.

A row comes to a leaf if every test of a column on the way sends it there.  Those of a number x
leave an interval, the largest threshold that is passed on the right and the smallest on the left,

    max θ  <  x  ≤  min θ ;

those of a category leave the sets' intersection; and a missing cell comes to the leaf if all of
them let it pass.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import floor, inf, log10, sqrt
from typing import Any

import numpy as np
from sklearn.utils._param_validation import StrOptions, validate_parameter_constraints

from suffice.trees.showing.wording import (
    OR_MISSING,
    Mask,
    Wording,
    membership,
    sends_missing_apart,
    wording,
)


@dataclass(frozen=True, eq=False)
class ColumnCondition:
    """What is asked of the cells of one column.

    Attributes
    ----------
    column : int
    name : str
    above, up_to : float
        The interval of a number: above < x ≤ up_to.
    categories : array, or None for numbers
        All categories of the column.
    allowed : bool array of shape (categories,), or None
        Those among them that pass.
    missing : bool
        Whether missing cells pass.
    """

    column: int
    name: str
    above: float = -inf
    up_to: float = inf
    categories: Any = None
    allowed: Mask | None = None
    missing: bool = True

    def narrowed(self, above: float, up_to: float, allowed: Any, missing: bool) -> ColumnCondition:
        """This and another condition on the same column."""
        return replace(
            self,
            above=max(self.above, above),
            up_to=min(self.up_to, up_to),
            allowed=allowed if self.allowed is None else self.allowed & allowed,
            missing=self.missing and missing,
        )

    def text(self, shown: dict[float, str], missing: bool) -> str:
        """The condition in words.

        Parameters
        ----------
        shown : dict of float to str
            How to write the interval's ends.
        missing : bool
            Whether to say that missing cells pass.
        """
        if self.allowed is not None:
            anything, nothing = bool(self.allowed.all()), not self.allowed.any()
            words = f"{self.name} {membership(self.categories, self.allowed)}"
        else:
            anything, nothing = self.above == -inf and self.up_to == inf, self.above == inf
            words = self.name
            if self.up_to < inf:
                words += f" ≤ {shown[self.up_to]}"
            if self.above > -inf:
                above = shown.get(self.above, "")
                words = f"{above} < {words}" if self.up_to < inf else f"{words} > {above}"
        if nothing:
            return f"{self.name} is missing"
        if anything:
            return f"{self.name} is not missing"
        return f"({words}{OR_MISSING})" if self.missing and missing else words


@dataclass(frozen=True, eq=False)
class LeafRule:
    """A leaf: what is asked on the way to it, and what it says.

    Attributes
    ----------
    leaf : int
        Its number among the nodes.
    conditions : tuple of ColumnCondition
        One for each column that is tested, in the order of the tests.  None in a tree of one
        leaf.
    prediction
        The class, or the value.
    share : float, or None in regression
        Part of the leaf's weight that is of that class.
    rows : int
        Rows of the fit that came to it.
    impurity : float
        By the tree's criterion.
    """

    leaf: int
    conditions: tuple[ColumnCondition, ...]
    prediction: Any
    share: float | None
    rows: int
    impurity: float


def rules_of(model: Any, *, feature_names: Any = None, class_names: Any = None) -> list[LeafRule]:
    """The rules of a tree as records, in the order of its leaves from the left to the right.

    Parameters
    ----------
    model : fitted DecisionTreeClassifier or DecisionTreeRegressor
    feature_names : sequence of str, default=None
        Names of the columns; None takes those of the fit, or "feature_0", "feature_1", …
    class_names : sequence of str, default=None
        Names of the classes in the order of `classes_`, which None takes.

    Returns
    -------
    list of LeafRule

    Examples
    --------
    >>> from suffice import DecisionTreeRegressor
    >>> from suffice.trees import rules_of
    >>> model = DecisionTreeRegressor().fit([[1.0], [2.0], [4.0]], [10.0, 10.0, 20.0])
    >>> [(rule.conditions[0].up_to, rule.prediction, rule.rows) for rule in rules_of(model)]
    [(3.0, 10.0, 2), (inf, 20.0, 1)]
    """
    words = wording(model, feature_names, class_names, missing=True)
    tree, found = words.tree, []
    # Each node that waits, with what is asked on the way to it.
    waiting: list[tuple[int, dict[int, ColumnCondition]]] = [(0, {})]
    while waiting:
        node, asked = waiting.pop()
        if tree.children_left[node] < 0:
            found.append(_rule(words, node, tuple(asked.values())))
        else:
            left, right = _sides(words, node, asked)
            waiting.append((int(tree.children_right[node]), {**asked, right.column: right}))
            waiting.append((int(tree.children_left[node]), {**asked, left.column: left}))
    return found


def _sides(
    words: Wording, node: int, asked: dict[int, ColumnCondition]
) -> tuple[ColumnCondition, ColumnCondition]:
    """What is asked of the tested column by the end of a node's test, to its left and right."""
    tree, column = words.tree, int(words.tree.feature[node])
    before = asked.get(column)
    if before is None:
        before = ColumnCondition(column, words.columns[column], categories=words.categories[column])
    missing_left = bool(tree.missing_go_to_left[node])
    if tree.tests_categories(node):
        allowed = tree.categories_left(node, len(words.categories[column]))
        return (
            before.narrowed(-inf, inf, allowed, missing_left),
            before.narrowed(-inf, inf, ~allowed, not missing_left),
        )
    threshold = float(tree.threshold[node])
    return (
        before.narrowed(-inf, threshold, None, missing_left),
        before.narrowed(threshold, inf, None, not missing_left),
    )


def _rule(words: Wording, node: int, conditions: tuple[ColumnCondition, ...]) -> LeafRule:
    values = words.tree.value[node, 0]
    rows, impurity = int(words.tree.n_node_samples[node]), float(words.tree.impurity[node])
    if words.classes is None:
        return LeafRule(node, conditions, float(values[0]), None, rows, impurity)
    best = int(np.argmax(values))
    return LeafRule(node, conditions, words.classes[best], float(values[best]), rows, impurity)


# --- words -----------------------------------------------------------------------------------


def rules(
    model: Any,
    *,
    feature_names: Any = None,
    class_names: Any = None,
    order: str = "support",
    missing: bool | None = None,
) -> str:
    """A tree as rules that a person can read, one line for each leaf.

    All that is asked of a column is one condition: an interval, or a set of categories (told by
    its members or by the others, whichever are fewer, and at most five of them by name).  After
    it stands what is predicted and for how many rows of the fit; for classes their share in the
    weight, for squared errors the standard deviation.

    A threshold is written in full where 12 digits are enough, as for cells with few decimals.
    One that lies halfway between long numbers is rounded: to six digits, or up to 12 if it takes
    them to have two decimals, and at any rate so that it stays within a hundredth of the gap to
    the column's next threshold.  Only rows that are as near to it as that can differ; `rules_of`
    has the exact numbers.

    Parameters
    ----------
    model : fitted DecisionTreeClassifier or DecisionTreeRegressor
    feature_names : sequence of str, default=None
        Names of the columns; None takes those of the fit, or "feature_0", "feature_1", …
    class_names : sequence of str, default=None
        Names of the classes in the order of `classes_`, which None takes.
    order : {"support", "leaves"}, default="support"
        Most rows first, or as leaves stand from the left to the right.
    missing : bool, default=None
        Whether conditions that missing cells meet say so.  None says so if it was learned: if
        some test sends them elsewhere than with most of its rows, which is where they go
        unlearned.

    Returns
    -------
    str

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from suffice import DecisionTreeClassifier
    >>> from suffice.trees import rules
    >>> iris = load_iris(as_frame=True)
    >>> model = DecisionTreeClassifier(max_depth=2).fit(iris.data, iris.target_names[iris.target])
    >>> print(rules(model))
    if petal length (cm) > 2.45 and petal width (cm) ≤ 1.75 then versicolor (90.7% of 54 rows)
    if petal length (cm) ≤ 2.45 then setosa (100% of 50 rows)
    if petal length (cm) > 2.45 and petal width (cm) > 1.75 then virginica (97.8% of 46 rows)
    """
    constraints: dict[str, list[Any]] = {
        "order": [StrOptions({"support", "leaves"})],
        "missing": ["boolean", None],
    }
    chosen = {"order": order, "missing": missing}
    validate_parameter_constraints(constraints, chosen, caller_name="rules")
    found = rules_of(model, feature_names=feature_names, class_names=class_names)
    shown = _thresholds(found)
    if order == "support":
        found.sort(key=lambda rule: -rule.rows)
    spread = model.get_params()["criterion"] == "squared_error"
    if missing is None:
        missing = sends_missing_apart(model.tree_)
    return "\n".join(_line(rule, shown, missing, spread) for rule in found)


def _line(rule: LeafRule, shown: dict[int, dict[float, str]], missing: bool, spread: bool) -> str:
    asked = " and ".join(c.text(shown.get(c.column, {}), missing) for c in rule.conditions)
    rows = f"{rule.rows:,} row" + "s" * (rule.rows != 1)
    if rule.share is not None:
        says = f"{rule.prediction} ({_percent(rule.share)} of {rows})"
    else:
        about = f" ± {sqrt(max(rule.impurity, 0.0)):.3g}" if spread else ""
        says = f"{rule.prediction:.6g}{about} ({rows})"
    return f"if {asked} then {says}" if asked else f"always {says}"


def _percent(share: float) -> str:
    """A share that is called whole only if it is."""
    if share > 1 - 1e-12:
        return "100%"
    return ">99.9%" if share > 0.9995 else f"{share:.1%}"


def _thresholds(found: list[LeafRule]) -> dict[int, dict[float, str]]:
    """How the ends of the intervals of each column are written."""
    ends: dict[int, set[float]] = {}
    for rule in found:
        for asked in rule.conditions:
            ends.setdefault(asked.column, set()).update((asked.above, asked.up_to))
    shown: dict[int, dict[float, str]] = {}
    for column, cuts in ends.items():
        # −∞ and ∞ at the ends: a lone threshold has no neighbour to keep away from.
        ordered = sorted(cuts | {-inf, inf})
        gaps = np.diff(ordered)
        shown[column] = {
            cut: written(cut, min(before, after))
            for cut, before, after in zip(ordered[1:-1], gaps[:-1], gaps[1:], strict=True)
        }
    return shown


def written(threshold: float, gap: float) -> str:
    """A threshold in as few digits as can be defended: see `rules`.

    Parameters
    ----------
    threshold : float
    gap : float
        To the nearest other threshold.
    """
    if threshold == 0:
        return "0"
    full = f"{threshold:.12g}"
    if abs(float(full) - threshold) <= 1e-15 * abs(threshold):
        return full
    digits = min(max(6, floor(log10(abs(threshold))) + 3), 12)
    while digits < 17 and abs(float(f"{threshold:.{digits}g}") - threshold) > gap / 100:
        digits += 1
    return f"{threshold:.{digits}g}"
