"""A tree as indented text, in scikit-learn's form."""

from __future__ import annotations

from numbers import Integral
from typing import Any

import numpy as np
from sklearn.utils._param_validation import Interval, validate_parameter_constraints

from suffice.trees.showing.wording import Wording, below, wording

_CONSTRAINTS: dict[str, list[Any]] = {
    "feature_names": ["array-like", None],
    "class_names": ["array-like", None],
    "max_depth": [Interval(Integral, 0, None, closed="left"), None],
    "spacing": [Interval(Integral, 1, None, closed="left")],
    "decimals": [Interval(Integral, 0, None, closed="left")],
    "show_weights": ["boolean"],
    "missing": ["boolean", None],
}


def export_text(
    model: Any,
    *,
    feature_names: Any = None,
    class_names: Any = None,
    max_depth: int | None = 10,
    spacing: int = 3,
    decimals: int = 2,
    show_weights: bool = False,
    missing: bool | None = None,
) -> str:
    """The tests of a tree as indented text, a line for each side of a test and for each leaf.

    For columns of numbers, the text is that of scikit-learn's function of this name.  A set of
    categories is told by its members or by the others, whichever are fewer, and at most five of
    them by name.

    Parameters
    ----------
    model : fitted DecisionTreeClassifier or DecisionTreeRegressor
    feature_names : sequence of str, default=None
        Names of the columns; None takes those of the fit, or "feature_0", "feature_1", …
    class_names : sequence of str, default=None
        Names of the classes in the order of `classes_`, which None takes.
    max_depth : int or None, default=10
        Levels that are shown; of what is below, the depth alone is told.  None shows all.
    spacing : int, default=3
        Width of a level.
    decimals : int, default=2
        Digits after the point.
    show_weights : bool, default=False
        Whether leaves of a classifier tell the weight of each class.
    missing : bool, default=None
        Whether each test says where missing cells go.  None says so if it was learned: if some
        test sends them elsewhere than with most of its rows, which is where they go unlearned.

    Returns
    -------
    str

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from suffice import DecisionTreeClassifier
    >>> from suffice.trees import export_text
    >>> iris = load_iris(as_frame=True)
    >>> model = DecisionTreeClassifier(max_depth=2).fit(iris.data, iris.target_names[iris.target])
    >>> print(export_text(model))
    |--- petal length (cm) <= 2.45
    |   |--- class: setosa
    |--- petal length (cm) >  2.45
    |   |--- petal width (cm) <= 1.75
    |   |   |--- class: versicolor
    |   |--- petal width (cm) >  1.75
    |   |   |--- class: virginica
    <BLANKLINE>
    """
    parameters = {name: value for name, value in locals().items() if name in _CONSTRAINTS}
    validate_parameter_constraints(_CONSTRAINTS, parameters, caller_name="export_text")
    words = wording(model, feature_names, class_names, missing)
    tree, (levels, _) = words.tree, below(words.tree)
    lines = []
    # What is still to be written, the next on top: a node, or the right side of its parent's test.
    waiting: list[tuple[int | str, int]] = [(0, 0)]
    while waiting:
        next_one, depth = waiting.pop()
        indent = ("|" + " " * spacing) * depth + "|" + "-" * spacing
        if isinstance(next_one, str):
            lines.append(f"{indent} {next_one}")
        elif levels[next_one] == 1:
            lines.append(f"{indent} {_leaf(words, next_one, decimals, show_weights)}")
        elif max_depth is not None and depth > max_depth:
            lines.append(f"{indent} truncated branch of depth {levels[next_one]}")
        else:
            left, right = words.answers(next_one, lambda cut: f"{cut:.{decimals}f}")
            lines.append(f"{indent} {left}")
            waiting.append((int(tree.children_right[next_one]), depth + 1))
            waiting.append((right, depth))
            waiting.append((int(tree.children_left[next_one]), depth + 1))
    return "\n".join(lines) + "\n"


def _leaf(words: Wording, node: int, decimals: int, show_weights: bool) -> str:
    """What a leaf predicts."""
    values = words.tree.value[node, 0]
    if words.classes is None:
        return f"value: [{values[0]:.{decimals}f}]"
    name = f"class: {words.classes[int(np.argmax(values))]}"
    if not show_weights:
        return name
    weights = values * words.tree.weighted_n_node_samples[node]
    return f"weights: [{', '.join(f'{weight:.{decimals}f}' for weight in weights)}] {name}"
