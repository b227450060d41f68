"""Which of scikit-learn's tests for trees are left out here, and which fail, with the reasons.

What is on neither list passes.  A star stands for anything.
"""

from __future__ import annotations

from peers.lines import Line

LEFT_OUT = (
    Line(
        "about scikit-learn's other estimators",
        (
            "*ExtraTree*",
            "*extra_tree*",
            "*RandomForest*",
            "test_tree.py::test_missing_values_random_splitter_*",
            "test_tree.py::test_random_splitter_*",
            "test_tree.py::test_missing_value_errors[tree1-*",
        ),
    ),
    Line(
        "about scikit-learn's private functions and compiled classes alone",
        (
            "test_fenwick.py::*",
            "test_swap.py::*",
            "test_reingold_tilford.py::*",
            "test_export.py::test_rgb_to_hexstring",
            "test_monotonic_tree.py::test_assert_*",
            "test_tree.py::test_realloc",
            "test_tree.py::test_check_*",
            "test_tree.py::test_criterion_copy",
            "test_tree.py::test_splitter_serializable*",
            "test_tree.py::test_absolute_errors_precomputation_function*",
            "test_tree.py::test_build_pruned_tree_*",
        ),
    ),
)

DIFFERENT = (
    Line(
        "friedman_mse is deprecated there, and not offered here",
        ("*friedman_mse*",),
        says="friedman_mse|FutureWarning",
    ),
    Line(
        "monotone constraints are not offered yet",
        ("test_monotonic_tree.py::*",),
        says="monoton|[Ss]parse",
    ),
    Line(
        "several targets are not offered yet",
        (
            "test_export.py::test_graphviz_toy",
            "test_tree.py::test_class_weight_errors*",
            "test_tree.py::test_class_weights*",
            "test_tree.py::test_classes_shape",
            "test_tree.py::test_multioutput*",
            "test_tree.py::test_prune_tree_*_are_subtrees*multilabel*",
            "test_tree.py::test_min_weight_fraction_leaf*on_sparse_input*",
            "test_tree.py::test_sparse_input[multilabel-*",
        ),
        says="y should be a 1d array|'class_weight' parameter .* must be an instance of 'dict'",
    ),
    Line(
        "rows of float64 are compared as they are, sparse ones of float32 as these are",
        ("test_tree.py::test_sparse_input_reg_trees[diabetes*",),
        says="Arrays are not almost equal",
    ),
    Line(
        "missing cells of sparse rows are taken",
        ("test_tree.py::test_missing_value_errors*",),
        says="DID NOT RAISE",
    ),
    Line(
        "the arrays of `tree_` take dense rows alone",
        (
            "test_tree.py::test_explicit_sparse_zeros*",
            "test_tree.py::test_public_apply_sparse_trees*",
        ),
        says="setting an array element with a sequence",
    ),
    Line(
        "of columns that split equally well the way to the node decides, there a random draw",
        (
            "test_export.py::test_export_text",
            "test_export.py::test_export_text_feature_class_names_array_support*",
        ),
        says="- \\|--- (feature_1|b) <= 0.00",
    ),
    Line(
        "a class whose rows all have weight 0 is none of `classes_`",
        ("test_split.py::*DecisionTreeClassifier*",),
        says=r"\(shapes \(\d,\), \(\d,\) mismatch\)",
    ),
    Line(
        "cells are float64: differences below 1e-7 split, and 1e40 is a number",
        ("test_tree.py::test_almost_constant_feature*", "test_tree.py::test_big_input"),
        says=r"assert np.float64\(0.428\d+\) == 0|DID NOT RAISE",
    ),
    Line(
        "the numbers of rows and targets are compared before their values are looked at",
        ("test_tree.py::test_error",),
        says="inconsistent numbers of samples",
    ),
    Line(
        "memory is taken for nodes that are there, not for `max_leaf_nodes`",
        ("test_tree.py::test_huge_allocations",),
        says="DID NOT RAISE",
    ),
    Line(
        "`tree_` has no spare capacity, and so none to tell",
        ("test_tree.py::test_pickle",),
        says="no attribute 'capacity'",
    ),
    Line(
        "a fitted model keeps the seconds of its passes, which differ",
        ("test_tree.py::test_deterministic_pickle",),
        says="pickle1|At index|assert b'",
    ),
)
