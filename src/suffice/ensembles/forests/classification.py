"""Forests of classifiers: shares of classes, or votes."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import accuracy_score
from sklearn.utils._param_validation import StrOptions

from suffice.ensembles.forests.growing import BinnedRows
from suffice.ensembles.forests.out_of_bag import score_of
from suffice.fitting.class_weights import class_factors
from suffice.sources import Block
from suffice.statistics.counts.distinct import locate
from suffice.statistics.counts.labels import coded
from suffice.trees.decision_tree_classifier import MOST_CLASSES, DecisionTreeClassifier
from suffice.trees.growing.overview import Overview
from suffice.trees.nodes.tree import Floats

PARAMETERS = {
    "criterion": [StrOptions({"gini", "entropy", "log_loss"})],
    "class_weight": [dict, StrOptions({"balanced", "balanced_subsample"}), None],
    "voting": [StrOptions({"soft", "hard"})],
}
TREE = DecisionTreeClassifier


def take_overview(model: Any, overview: Overview) -> tuple[int, Floats | None]:
    """How many classes there are, and a factor for the weight of each."""
    labels = overview.labels
    assert labels is not None
    if len(labels) > MOST_CLASSES:
        raise ValueError(f"{len(labels):,} classes; at most {MOST_CLASSES:,} are taken")
    model.classes_, model.n_classes_ = labels, len(labels)
    weight = model.class_weight
    if by_tree(model):
        weight = None
    elif weight == "balanced_subsample":  # without draws, the rows of each tree are all rows
        weight = "balanced"
    return len(labels), class_factors(weight, labels, overview.class_weight)


def by_tree(model: Any) -> bool:
    """Whether classes are balanced among the rows of each tree."""
    weight = model.class_weight
    return isinstance(weight, str) and weight == "balanced_subsample" and bool(model.bootstrap)


def factors(model: Any, label: NDArray[np.uint32], weight: Floats) -> Floats:
    """The weights of a tree's rows, after what the classes among these count."""
    if not by_tree(model):
        return weight
    of_class = np.bincount(label, weight, len(model.classes_))
    factor = weight.sum() / (np.count_nonzero(of_class) * np.maximum(of_class, 1e-300))
    return weight * factor[label]


def judged(model: Any, said: Floats, rows: BinnedRows) -> dict[str, Any]:
    """What out-of-bag answers tell, NaN for rows that no tree left out."""
    known = ~np.isnan(said[:, 0])
    if not known.any():
        return {"oob_decision_function_": said, "oob_score_": float("nan")}
    true = model.classes_[rows.label[known]]
    predicted = model.classes_[said[known].argmax(axis=1)]
    score = score_of(model.oob_score, accuracy_score, true, predicted)
    return {"oob_decision_function_": said, "oob_score_": score}


def numbers_of(model: Any, block: Block) -> NDArray[np.int64]:
    """The numbers of the classes of rows; −1 where a row of weight 0 has no label of the fit."""
    found, codes = coded(model._labels(block))
    numbers = locate(found, model.classes_)[codes]
    strange = numbers < 0 if block.weight is None else (numbers < 0) & (block.weight > 0)
    if strange.any():
        label = found[codes[strange]].tolist()[0]
        raise ValueError(f"y holds the label {label!r}, which the rows of the fit had not")
    return numbers
