"""What is checked of forests: that rows add up, that two fit together, that a file holds one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from suffice.fitting.certificate import Certificate
from suffice.trees.growing.bins import ColumnBins
from suffice.trees.nodes.forest import Forest


def path_of(bins: Sequence[ColumnBins], at_random: bool, max_bins: int) -> str:
    """How a forest was grown, for its certificate."""
    exact = all(one.categories is not None or one.values is not None for one in bins)
    cut = "values" if exact else f"bins, at most {max_bins} a column"
    how = "one cut at random" if at_random else "every cut"
    return f"in each column that is looked at, {how} between {cut}"


def certificate_of(forest: Forest, path: str, score: float | None) -> Certificate:
    """What is known of a forest that has grown."""
    leaf = forest.children_left < 0
    in_leaves = np.add.reduceat(np.where(leaf, forest.n_node_samples, 0), forest.starts[:-1])
    holds = bool((in_leaves == forest.n_node_samples[forest.starts[:-1]]).all())
    measures = {
        "trees": float(len(forest)),
        "leaves a tree": float(np.count_nonzero(leaf) / len(forest)),
    }
    if score is not None:
        measures["out-of-bag score"] = float(score)
    return Certificate(holds, "each row of a tree is counted in one of its leaves", path, measures)


def same_values(model: Any, categories: list[Any], classes: Any) -> bool:
    """Whether a forest has these categories, and these classes if some are given."""
    old = model.categories_
    same = len(old) == len(categories) and all(
        (one is None) == (other is None) and (one is None or np.array_equal(one, other))
        for one, other in zip(old, categories, strict=True)
    )
    return same and (classes is None or np.array_equal(classes, model.classes_))


def check_alike(one: Any, other: Any) -> None:
    """Raise ValueError unless two forests are of the same columns, classes and categories."""
    names = [getattr(model, "feature_names_in_", np.array([])).tolist() for model in (one, other)]
    if other.n_features_in_ != one.n_features_in_ or names[0] != names[1]:
        raise ValueError("the forests are of different columns")
    if getattr(one, "voting", None) != getattr(other, "voting", None):
        raise ValueError("one forest votes, the other averages: give both the same `voting`")
    if not same_values(one, other.categories_, getattr(other, "classes_", None)):
        raise ValueError(
            "the forests know different classes or categories: fit both with rows of each"
        )


def check_loaded(model: Any) -> None:
    """Raise ValueError unless what a file holds could be a fitted model."""
    if "forest_" not in vars(model):
        return
    forest, categories = vars(model)["forest_"], vars(model).get("categories_")
    width = len(getattr(model, "classes_", [0]))
    if not isinstance(forest, Forest) or forest.n_features != model.n_features_in_:
        raise ValueError("its trees do not fit its columns")
    if forest.value.shape[1:] != (1, width):
        raise ValueError("its trees do not fit its classes")
    if not isinstance(categories, list) or len(categories) != model.n_features_in_:
        raise ValueError("its categories do not fit its columns")
    n = [-1 if one is None else len(one) for one in categories]
    if not np.array_equal(forest.n_categories, n):
        raise ValueError("its categories do not fit its trees")
