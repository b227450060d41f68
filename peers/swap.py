"""A plugin for pytest: scikit-learn's test files for models that we have too, on ours.

The files are those of the installed scikit-learn, as they are.  Before they are imported, the
names of its classes become ours, so that whatever a file makes of them (dictionaries, parameters of
tests) is ours as well.  The modules in `LISTS` list the tests that are left out and those that
fail, with the reason for each; a test that is listed as failing and passes is reported as a
failure.
"""

from __future__ import annotations

import functools
import importlib
import re
from collections.abc import Generator, Sequence
from typing import Any

import pytest
import sklearn.ensemble  # before the swap: what it makes itself grows scikit-learn's own trees
import sklearn.tree
from sklearn.tree import _export as exporters

import suffice
from peers import (
    bagging,
    decomposition,
    forests,
    k_means,
    kernel_methods,
    mixtures,
    support_vectors,
    trees,
)
from peers.lines import Line

TREES = ("DecisionTreeClassifier", "DecisionTreeRegressor")
OTHERS = {
    "sklearn.cluster": ("KMeans",),
    "sklearn.decomposition": ("FactorAnalysis", "KernelPCA"),
    "sklearn.ensemble": (
        "RandomForestClassifier",
        "RandomForestRegressor",
        "ExtraTreesClassifier",
        "ExtraTreesRegressor",
        "BaggingClassifier",
        "BaggingRegressor",
    ),
    "sklearn.kernel_ridge": ("KernelRidge",),
    "sklearn.mixture": ("GaussianMixture",),
    "sklearn.svm": ("LinearSVC", "SVC", "SVR"),
}
LISTS = {
    "test_forest.py": forests,
    "test_bagging.py": bagging,
    "test_factor_analysis.py": decomposition,
    "test_gaussian_mixture.py": mixtures,
    "test_k_means.py": k_means,
    "test_kernel_pca.py": kernel_methods,
    "test_kernel_ridge.py": kernel_methods,
    "test_mixture.py": mixtures,
    "test_sparse.py": support_vectors,
    "test_svm.py": support_vectors,
}
"""By the name of the test file; the others are about trees."""


def with_splitter(ours: type) -> type:
    """Our class with scikit-learn's parameter `splitter`, of which "best" is all that ours do."""

    class Swapped(ours):  # type: ignore[misc, valid-type]
        @functools.wraps(ours.__init__)  # the parameters that `get_params` reads
        def __init__(self, *, splitter: str = "best", **parameters: Any) -> None:
            if splitter != "best":
                pytest.skip(f"splitter={splitter!r}: our thresholds are the best ones")
            super().__init__(**parameters)

    Swapped.__name__ = Swapped.__qualname__ = ours.__name__
    return Swapped


def swap() -> None:
    """Ours in place of scikit-learn's, and its exporters made to take them."""
    for module, names in OTHERS.items():
        for name in names:
            setattr(importlib.import_module(module), name, getattr(suffice, name))
    for name in TREES:
        theirs = getattr(sklearn.tree, name)
        swapped = with_splitter(getattr(suffice, name))
        # Under its own name at module level, a class can be pickled.
        swapped.__module__ = __name__
        globals()[name] = swapped
        setattr(sklearn.tree, name, swapped)
        setattr(exporters, name, swapped)
        for export in (exporters.plot_tree, exporters.export_text):
            taken = export._skl_parameter_constraints["decision_tree"]
            taken[taken.index(theirs)] = swapped


def pytest_configure(config: pytest.Config) -> None:
    swap()


def line_of(test: str, lines: Sequence[Line]) -> Line | None:
    """The first line that lists a test."""
    for line in lines:
        for pattern in line.tests:
            if re.fullmatch(re.escape(pattern).replace(r"\*", ".*"), test):
                return line
    return None


def identity(item: pytest.Item) -> str:
    """`test_split.py::test_split_impurity[…]`, wherever scikit-learn is installed."""
    return f"{item.path.name}::{item.name}"


def lists(item: pytest.Item) -> Any:
    """The module that lists the tests of a file."""
    return LISTS.get(item.path.name, trees)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for module in {item.module for item in items if isinstance(item, pytest.Function)}:
        for name in ("CLF_TREES", "REG_TREES", "ALL_TREES"):
            for extra in ("ExtraTreeClassifier", "ExtraTreeRegressor"):
                getattr(module, name, {}).pop(extra, None)  # tests that loop over all trees
    for item in items:
        if left_out := line_of(identity(item), lists(item).LEFT_OUT):
            item.add_marker(pytest.mark.skip(reason=left_out.reason))
        elif different := line_of(identity(item), lists(item).DIFFERENT):
            item.add_marker(pytest.mark.xfail(reason=different.reason, strict=True))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """A listed test has failed as it was told to, or for a reason that the list does not know."""
    report = yield
    line = line_of(identity(item), lists(item).DIFFERENT)
    if line and call.excinfo and hasattr(report, "wasxfail"):
        told = re.search(line.says, str(call.excinfo.value))
        if not told:
            del report.wasxfail
            report.outcome = "failed"
            report.longrepr = item.repr_failure(call.excinfo)
    return report
