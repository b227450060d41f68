"""Forests of regressions."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import r2_score
from sklearn.utils._param_validation import StrOptions

from suffice.ensembles.forests.growing import BinnedRows
from suffice.ensembles.forests.out_of_bag import score_of
from suffice.sources import Block
from suffice.trees.decision_tree_regressor import DecisionTreeRegressor
from suffice.trees.growing.overview import Overview
from suffice.trees.growing.overview import numbers_of as targets_of
from suffice.trees.growing.settings import PARAMETERS as TREE_PARAMETERS
from suffice.trees.nodes.tree import Floats

PARAMETERS = {
    "criterion": [StrOptions({"squared_error", "poisson"})],
    "max_bins": TREE_PARAMETERS["max_bins"],
}
TREE = DecisionTreeRegressor


def take_overview(model: Any, overview: Overview) -> tuple[int, Floats | None]:
    """No classes; counts that cannot be are refused."""
    if model.criterion == "poisson":
        if -overview.target[2] < 0:
            raise ValueError(
                "Some value(s) of y are negative which is not allowed for Poisson regression"
            )
        if not overview.target[0] > 0:
            raise ValueError(
                "Sum of y is not strictly positive which is necessary for Poisson regression"
            )
    return 0, None


def factors(model: Any, label: NDArray[np.uint32], weight: Floats) -> Floats:
    """The weights of a tree's rows."""
    return weight


def judged(model: Any, said: Floats, rows: BinnedRows) -> dict[str, Any]:
    """What out-of-bag answers tell, NaN for rows that no tree left out."""
    predicted = said[:, 0]
    known = ~np.isnan(predicted)
    score = float("nan")
    if np.count_nonzero(known) > 1:
        score = score_of(model.oob_score, r2_score, rows.target[known], predicted[known])
    return {"oob_prediction_": predicted, "oob_score_": score}


def numbers_of(model: Any, block: Block) -> Floats:
    """The targets of rows."""
    y = targets_of(block.y)
    there = slice(None) if block.weight is None else block.weight > 0
    if not np.isfinite(y[there]).all():
        raise ValueError("y holds NaN or infinity")
    return y
