"""What a tree is grown by, with shares of rows resolved to numbers of them."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil
from numbers import Integral, Real
from typing import Any

import numpy as np
from sklearn.utils._param_validation import Interval, RealNotInt, StrOptions

from suffice.kernels.trees import criteria

CRITERIA = {
    "gini": criteria.GINI,
    "entropy": criteria.ENTROPY,
    "log_loss": criteria.ENTROPY,
    "misclassification": criteria.MISCLASSIFICATION,
    "squared_error": criteria.SQUARED_ERROR,
    "poisson": criteria.POISSON,
    "absolute_error": criteria.ABSOLUTE_ERROR,
}
"""The criteria by their names."""

WITHOUT_LIMIT = np.iinfo(np.int32).max


PARAMETERS: dict[str, list[Any]] = {
    "splitter": [StrOptions({"best"})],
    "max_depth": [Interval(Integral, 1, None, closed="left"), None],
    "min_samples_split": [
        Interval(Integral, 2, None, closed="left"),
        Interval(RealNotInt, 0.0, 1.0, closed="right"),
    ],
    "min_samples_leaf": [
        Interval(Integral, 1, None, closed="left"),
        Interval(RealNotInt, 0.0, 1.0, closed="neither"),
    ],
    "min_weight_fraction_leaf": [Interval(Real, 0.0, 0.5, closed="both")],
    "max_features": [
        Interval(Integral, 1, None, closed="left"),
        Interval(RealNotInt, 0.0, 1.0, closed="right"),
        StrOptions({"sqrt", "log2"}),
        None,
    ],
    "random_state": ["random_state"],
    "max_leaf_nodes": [Interval(Integral, 2, None, closed="left"), None],
    "min_impurity_decrease": [Interval(Real, 0.0, None, closed="left")],
    "ccp_alpha": [Interval(Real, 0.0, None, closed="left")],
    "prune": [StrOptions({"reduced_error"}), None],
    "validation_fraction": [Interval(Real, 0.0, 1.0, closed="neither")],
    "categorical": ["array-like", None],
    "max_bins": [Interval(Integral, 2, 255, closed="both"), StrOptions({"auto"}), None],
    "monotonic_cst": ["array-like", None],
    "n_jobs": [Integral, None],
}
"""What the parameters that all such trees have may be."""


@dataclass(frozen=True)
class Settings:
    """When nodes are split, and by what.

    Attributes
    ----------
    criterion : int
        As `suffice.kernels.trees.criteria` numbers them.
    n_classes : int
        0 in regression.
    max_depth, max_leaf_nodes : int
        `WITHOUT_LIMIT` for none.
    min_samples_split, min_samples_leaf : int
    min_weight_leaf : float
        Of a share of all weight.
    min_impurity_decrease : float
        Relative to the weight of all rows.
    max_features : int
        Columns that are looked at in a node, drawn anew in each.
    seed : int
        Of these draws.
    """

    criterion: int
    n_classes: int
    max_depth: int
    max_leaf_nodes: int
    min_samples_split: int
    min_samples_leaf: int
    min_weight_leaf: float
    min_impurity_decrease: float
    max_features: int
    seed: int

    @property
    def is_regression(self) -> bool:
        """Whether the target is a number."""
        return self.n_classes == 0


def settings_of(
    model: Any, n_classes: int, n_rows: int, weight: float, n_columns: int, seed: int
) -> Settings:
    """The settings of a model for so many rows of such a weight in all."""
    return Settings(
        criterion=CRITERIA[model.criterion],
        n_classes=n_classes,
        max_depth=WITHOUT_LIMIT if model.max_depth is None else int(model.max_depth),
        max_leaf_nodes=WITHOUT_LIMIT if model.max_leaf_nodes is None else int(model.max_leaf_nodes),
        min_samples_split=max(2, _number(model.min_samples_split, n_rows)),
        min_samples_leaf=_number(model.min_samples_leaf, n_rows),
        min_weight_leaf=model.min_weight_fraction_leaf * weight,
        min_impurity_decrease=float(model.min_impurity_decrease),
        max_features=columns_drawn(model.max_features, n_columns),
        seed=seed,
    )


def columns_drawn(max_features: Any, n_columns: int) -> int:
    """How many columns a node looks at, in scikit-learn's reading of `max_features`."""
    if max_features is None:
        return n_columns
    if isinstance(max_features, str):
        found = np.sqrt(n_columns) if max_features == "sqrt" else np.log2(n_columns)
        return max(1, int(found))
    if isinstance(max_features, Integral):
        return int(max_features)
    return max(1, int(max_features * n_columns))


def _number(of: Any, n_rows: int) -> int:
    """A number of rows that is given as such or as a share."""
    return int(of) if isinstance(of, Integral) else ceil(of * n_rows)
