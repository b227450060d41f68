"""Which of scikit-learn's tests for linear machines are left out here, and which fail, and why.

What is on neither list passes.  A star stands for anything.
"""

from __future__ import annotations

from peers.lines import Line

DIFFERENT: tuple[Line, ...] = (
    Line(
        "a penalty on absolute values is not offered",
        (
            "test_svm.py::test_linearsvc_parameters[*-l1-*",
            "test_sparse.py::test_sparse_liblinear_intercept_handling",
            "test_svm.py::test_dense_liblinear_intercept_handling",
            "test_svm.py::test_linearsvc[*",
            "test_svm.py::test_linearsvm_liblinear_sample_weight[*LinearSVC-params0]",
        ),
        says="penalty='l1' is not offered",
    ),
    Line(
        "Crammer and Singer's machine of several classes is not offered",
        (
            "test_svm.py::test_linearsvc_crammer_singer*",
            "test_svm.py::test_crammer_singer_binary*",
        ),
        says="'crammer_singer' is not offered",
    ),
    Line(
        "hinges have a primal method here, so that dual=False is no contradiction",
        ("test_svm.py::test_linearsvc_parameters[*False-l2-hinge]",),
        says="DID NOT RAISE",
    ),
    Line(
        "other words for the same warning",
        ("test_svm.py::test_linear_svm_convergence_warnings*",),
        says="raise max_iter",
    ),
    Line(
        "coefficients stay dense: without a penalty on absolute values few are 0",
        ("test_sparse.py::test_linearsvc_iris*",),
        says="has no attribute 'sparsify'",
    ),
)
