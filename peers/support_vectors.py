"""Which of scikit-learn's tests for support vector machines are left out here, and which fail.

What is on neither list passes.  A star stands for anything.
"""

from __future__ import annotations

from peers import linear_svm
from peers.lines import Line

LEFT_OUT = (
    Line(
        "about scikit-learn's private attributes and functions alone",
        (
            "test_svm.py::test_tweak_params",
            "test_svm.py::test_svc_raises_error_internal_representation",
        ),
    ),
)

DIFFERENT = (
    *linear_svm.DIFFERENT,
    Line(
        "of sparse rows, too, dual_coef_ is an array",
        (
            "test_sparse.py::test_svc[*-X_train0-*",
            "test_sparse.py::test_svc[*-X_train2-*",
            "test_sparse.py::test_svc[*-X_train3-*",
            "test_sparse.py::test_svc_iris*",
            "test_sparse.py::test_sparse_realdata*",
            "test_svm.py::test_sparse_fit_support_vectors_empty*",
        ),
        says="issparse|no attribute 'toarray'|no attribute 'size'",
    ),
    Line(
        "probabilities are those of rows held out: a class of one row has none",
        ("test_sparse.py::test_svc[*-X_train1-*",),
        says="two rows of each class",
    ),
    Line(
        "solutions are equal to within the tolerance, not to six decimals of each multiplier",
        ("test_svm.py::test_precomputed", "test_svm.py::test_svc_clone_with_callable_kernel"),
        says="not almost equal",
    ),
    Line(
        "a kernel that gives too small a matrix is refused at the fit",
        ("test_svm.py::test_svr_errors",),
        says="the kernel gave an array of shape",
    ),
    Line(
        "negative weights are refused, and there are other words for weights of 0",
        (
            "test_svm.py::test_negative_sample_weights_mask_all_samples*-SVC]",
            "test_svm.py::test_negative_sample_weights_mask_all_samples*-SVR]",
            "test_svm.py::test_negative_weights_svc_leave_just_one_label*-SVC]",
            "test_svm.py::test_negative_weights_svc_leave_two_labels*-1-SVC]",
            "test_svm.py::test_negative_weight_equal_coeffs*-1-SVC]",
        ),
        says="Sample weights must contain|Negative values in data",
    ),
    Line(
        "a machine of dense rows answers for sparse ones too",
        ("test_svm.py::test_bad_input*",),
        says="DID NOT RAISE",
    ),
    Line(
        "cells beyond 1e150 are refused",
        ("test_svm.py::test_svc_nonfinite_params*",),
        says="Values beyond 1e",
    ),
    Line(
        "the solution is there after the steps that are allowed",
        ("test_svm.py::test_libsvm_convergence_warnings*", "test_sparse.py::test_timeout*"),
        says="DID NOT WARN",
    ),
    Line(
        "a value of exactly 0 is the same class's vote in predict and in decision_function",
        ("test_svm.py::test_svc_ovr_tie_breaking*-SVC]",),
        says="assert not",
    ),
    Line(
        "rows are numbers, for a function as well",
        (
            "test_svm.py::test_custom_kernel_not_array_input[SVC]",
            "test_svm.py::test_custom_kernel_not_array_input[SVR]",
        ),
        says="Expected 2D array",
    ),
    Line(
        "regression has no hard margin",
        ("test_svm.py::test_svm_with_infinite_C*-SVR-*",),
        says="'C' parameter of SVR",
    ),
    Line(
        "probability=True is not deprecated: it calibrates on rows held out",
        (
            "test_svm.py::test_probability_raises_futurewarning*-SVC-SVC]",
            "test_svm.py::test_svc_nusvc_probA_probB_deprecated[SVC]",
        ),
        says="DID NOT WARN",
    ),
)
