"""Which of scikit-learn's tests for trees are left out here, and which fail, with the reasons.

A star stands for anything.  What is on neither list passes.
"""

LEFT_OUT: dict[str, tuple[str, ...]] = {
    "it is about ExtraTreeClassifier or ExtraTreeRegressor": (
        "*ExtraTree*",
        "test_tree.py::test_regression_extra_tree_missing_values_toy",
    ),
    "it tests scikit-learn's private parts alone": (
        "test_fenwick.py::*",
        "test_swap.py::*",
        "test_reingold_tilford.py::*",
    ),
}

DIFFERENT: dict[str, tuple[str, ...]] = {}
