"""Scikit-learn's own checks: all for a model as it comes, a few for its other settings.

Most checks are about the door of a model (what it accepts, refuses and names), which a switch of
its algorithm does not move.  The chosen ones are about what it computes.
"""

from collections.abc import Sequence
from typing import Any

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

CHOSEN = {
    "check_methods_subset_invariance",
    "check_sample_weight_equivalence_on_dense_data",
    "check_fit2d_1sample",
    "check_estimators_pickle",
}


def contract(models: Sequence[Any], *, switched: Sequence[Any] = ()) -> pytest.MarkDecorator:
    """Parametrise over each model with every check, and each switched one with the chosen."""
    every = parametrize_with_checks(list(models))
    few = parametrize_with_checks(list(switched))
    cases = list(every.args[1]) + [
        (model, check)
        for model, check in few.args[1]
        if check.func.__name__ in CHOSEN and not check.keywords
    ]
    return pytest.mark.parametrize(("estimator", "check"), cases, ids=every.kwargs["ids"])
