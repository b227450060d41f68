"""Scikit-learn's own checks: all for a model as it comes, a few for its other settings.

Most checks are about the door of a model (what it accepts, refuses and names), which a switch of
its algorithm does not move.  The chosen ones are about what it computes.  Models that share their
door with another are kin: at theirs only a few knock, the others with `make long`.
"""

from collections.abc import Callable, Sequence
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


def nothing(model: Any) -> dict[str, str]:
    return {}


def contract(
    models: Sequence[Any],
    *,
    kin: Sequence[Any] = (),
    switched: Sequence[Any] = (),
    excused: Callable[[Any], dict[str, str]] = nothing,
) -> pytest.MarkDecorator:
    """Parametrise over each model with every check, and each switched one with the chosen.

    `excused` says which checks a model fails, and why it should.
    """

    def checks(some: Sequence[Any]) -> Any:
        return parametrize_with_checks(list(some), expected_failed_checks=excused)

    every = checks(models)
    cases = list(every.args[1])
    for case in map(as_case, checks(kin).args[1]):
        now = name_of(case) in CHOSEN | DOOR
        marks = case.marks if now else (*case.marks, pytest.mark.long)
        cases.append(pytest.param(*case.values, marks=marks))
    few = map(as_case, checks(switched).args[1])
    cases += [case for case in few if name_of(case) in CHOSEN and not case.values[1].keywords]
    return pytest.mark.parametrize(("estimator", "check"), cases, ids=every.kwargs["ids"])


def as_case(case: Any) -> Any:
    """A model and a check; those that are excused come with a mark already."""
    return case if hasattr(case, "marks") else pytest.param(*case)


def name_of(case: Any) -> str:
    name: str = case.values[1].func.__name__
    return name
