"""Scikit-learn's own checks: all for a model as it comes, a few for its other settings.

Most checks are about the door of a model (what it accepts, refuses and names), which a switch of
its algorithm does not move.  The chosen ones are about what it computes.  Models that share their
door with another are kin: at theirs only a few knock, the others with `make long`.
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
DOOR = {
    "check_dict_unchanged",
    "check_do_not_raise_errors_in_init_or_set_param",
    "check_dont_overwrite_attributes",
    "check_estimators_dtypes",
    "check_estimators_nan_inf",
    "check_fit_check_is_fitted",
    "check_n_features_in",
    "check_n_features_in_after_fitting",
    "check_parameters_default_constructible",
    "check_regressors_train",
    "check_classifiers_train",
    "check_transformer_general",
}


def contract(
    models: Sequence[Any], *, kin: Sequence[Any] = (), switched: Sequence[Any] = ()
) -> pytest.MarkDecorator:
    """Parametrise over each model with every check, and each switched one with the chosen."""
    every = parametrize_with_checks(list(models))
    some = parametrize_with_checks(list(kin))
    few = parametrize_with_checks(list(switched))
    cases = list(every.args[1])
    for model, check in some.args[1]:
        now = check.func.__name__ in CHOSEN | DOOR
        cases.append(pytest.param(model, check, marks=() if now else pytest.mark.long))
    cases += [
        (model, check)
        for model, check in few.args[1]
        if check.func.__name__ in CHOSEN and not check.keywords
    ]
    return pytest.mark.parametrize(("estimator", "check"), cases, ids=every.kwargs["ids"])
