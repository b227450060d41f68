"""Which of scikit-learn's tests for bagging are left out here, and which fail, with the reasons.

What is on neither list passes.  A star stands for anything.
"""

from __future__ import annotations

from peers.lines import Line

LEFT_OUT = (
    Line(
        "about a private attribute of scikit-learn's alone",
        ("test_bagging.py::test_max_samples_consistency",),
    ),
)

DIFFERENT = (
    Line(
        "members are given sparse rows as csr_array, whatever they came as; the answers agree",
        (
            "test_bagging.py::test_sparse_classification[csr_matrix*",
            "test_bagging.py::test_sparse_classification[csc_*",
            "test_bagging.py::test_sparse_regression[csr_matrix*",
            "test_bagging.py::test_sparse_regression[csc_*",
        ),
        says=r"where False = all\(",
    ),
    Line(
        "members must say that they are classifiers or regressors",
        (
            "test_bagging.py::test_bootstrap_samples",
            "test_bagging.py::test_draw_indices_using_sample_weight*",
        ),
        says="is no (classifier|regressor)",
    ),
    Line(
        "other words for the same warning",
        (
            "test_bagging.py::test_oob_score_classification",
            "test_bagging.py::test_oob_score_regression",
            "test_bagging.py::test_invalid_sample_weight_max_samples_bootstrap_combinations",
        ),
        says="Regex pattern did not match",
    ),
    Line(
        "the usual member is our tree, not the one that stands for scikit-learn's in these tests",
        ("test_bagging.py::test_estimator",),
        says="^assert False",
    ),
    Line(
        "members are added to those of the same rows alone",
        ("test_bagging.py::test_warm_start_equal_n_estimators",),
        says="DID NOT WARN",
    ),
    Line(
        "warm_start and oob_score go together",
        ("test_bagging.py::test_warm_start_with_oob_score_fails",),
        says="DID NOT RAISE",
    ),
    Line(
        "weights of a member that takes them are its weights: there is nothing to warn of",
        ("test_bagging.py::test_warning_bootstrap_sample_weight",),
        says="DID NOT WARN",
    ),
    Line(
        "rows that were drawn twice have the weight 2: the same fit up to rounding",
        ("test_bagging.py::test_estimators_samples_deterministic",),
        says="Max absolute difference among violations: .*e-",
    ),
    Line(
        "members are given their rows in the order of the table",
        ("test_bagging.py::test_bagging_get_estimators_indices*",),
        says="Arrays are not equal",
    ),
    Line(
        "NaN goes to members only if the estimator says it takes NaN, which a pipeline does not",
        (
            "test_bagging.py::test_bagging_classifier_with_missing_inputs",
            "test_bagging.py::test_bagging_regressor_with_missing_inputs",
        ),
        says="Input X contains NaN",
    ),
    Line(
        "rows that were not drawn are not given with weight 0, so a member may see one class",
        ("test_bagging.py::test_bagging_small_max_features",),
        says="rows of one class alone",
    ),
    Line(
        "`predict` takes no metadata to pass on",
        ("test_bagging.py::test_metadata_routing_with_dynamic_method_selection*",),
        says="unexpected keyword argument",
    ),
)
