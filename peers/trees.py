"""Which of scikit-learn's tests for trees are left out here, and which fail, with the reasons.

What is on neither list passes.  A star stands for anything.
"""

from __future__ import annotations

from typing import NamedTuple


class Line(NamedTuple):
    """Tests that have one reason; a failing one must end in an error that `says` this."""

    reason: str
    tests: tuple[str, ...]
    says: str = ""


LEFT_OUT = (
    Line(
        "about scikit-learn's other estimators",
        (
            "*ExtraTree*",
            "*extra_tree*",
            "*RandomForest*",
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
        ),
    ),
)

DIFFERENT = (
    Line(
        "monotone constraints are not offered yet",
        ("test_monotonic_tree.py::*",),
        says="monoton",
    ),
    Line(
        "several targets are not offered yet",
        (
            "test_export.py::test_export_text",
            "test_export.py::test_graphviz_toy",
            "test_tree.py::test_class_weight_errors*",
            "test_tree.py::test_class_weights*",
            "test_tree.py::test_classes_shape",
            "test_tree.py::test_multioutput*",
            "test_tree.py::test_prune_tree_*_are_subtrees*multilabel*",
        ),
        says="target",
    ),
    Line(
        "sparse matrices are refused",
        (
            "*sparse_zeros*",
            "*sparse_criteria*",
            "*sparse_input*",
            "*sparse_parameters*",
            "*sparse_trees*",
            "test_split.py::*sparse*",
            "test_tree.py::test_apply_path_readonly_all_trees[cs*",
            "test_tree.py::test_empty_leaf_infinite_threshold[cs*",
            "test_tree.py::test_memory_layout",
            "test_tree.py::test_min_weight_leaf_split_level[cs*",
            "test_tree.py::test_missing_value_errors*",
            "test_tree.py::test_no_sparse_y_support*",
        ),
        says="sparse",
    ),
    Line(
        "friedman_mse is deprecated there, and not offered here",
        ("*friedman_mse*",),
        says="friedman_mse",
    ),
)
