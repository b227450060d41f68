"""Pictures of margins: what is drawn."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure
from sklearn.datasets import load_iris
from sklearn.svm import SVC

import suffice
from suffice import KernelRidge, LinearSVC
from suffice.svm import plot_gap, plot_margins

IRIS = load_iris()
ROWS, LABELS = IRIS.data[:100], IRIS.target_names[IRIS.target[:100]]
PLANE = ROWS[:, :2]


@pytest.fixture
def ax():
    return Figure().add_subplot()


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_boundary_margins_and_rings(ax, kernel):
    model = SVC(kernel=kernel).fit(PLANE, LABELS)
    drawn = plot_margins(model, PLANE, LABELS, ax=ax)
    assert drawn.ax is ax
    assert drawn.lines.levels.tolist() == [-1.0, 0.0, 1.0]
    for level, path in zip(drawn.lines.levels, drawn.lines.get_paths(), strict=True):
        # Between the points of a grid, a curved line is a chord.
        values = model.decision_function(path.vertices)
        np.testing.assert_allclose(values, level, atol=1e-2)
    np.testing.assert_array_equal(drawn.support.get_offsets(), PLANE[model.support_])
    assert drawn.support.get_facecolors().size == 0
    for label, points in zip(model.classes_, drawn.rows, strict=True):
        np.testing.assert_array_equal(points.get_offsets(), PLANE[LABELS == label])
    assert [text.get_text() for text in ax.get_legend().get_texts()] == [
        "setosa",
        "versicolor",
        "support vectors",
    ]


def test_a_section_of_more_columns(ax):
    frame = pd.DataFrame(ROWS, columns=IRIS.feature_names)
    model = SVC(kernel="linear").fit(frame, LABELS)
    drawn = plot_margins(model, frame, LABELS, columns=(2, 0), ax=ax)
    assert ax.get_xlabel() == "petal length (cm)"
    assert ax.get_ylabel() == "sepal length (cm)"
    queries = np.tile(np.median(ROWS, axis=0), (2, 1))
    boundary = drawn.lines.get_paths()[list(drawn.lines.levels).index(0.0)].vertices
    queries[:, 2], queries[:, 0] = boundary[[0, -1]].T
    frame = pd.DataFrame(queries, columns=IRIS.feature_names)
    np.testing.assert_allclose(model.decision_function(frame), 0, atol=1e-3)


def test_lines_outside_the_picture_are_not_drawn(ax):
    model = SVC(kernel="rbf", C=1e-3).fit(PLANE, LABELS)
    assert -1.0 not in plot_margins(model, PLANE, LABELS, ax=ax).lines.levels


def test_the_trace_of_the_gap(ax):
    model = LinearSVC().fit(PLANE, LABELS)
    line = plot_gap(model, ax=ax)
    objective = np.asarray(model.trace_.objective)
    objective = objective[np.isfinite(objective)]
    np.testing.assert_allclose(line.get_ydata(), np.maximum(objective - model.certificate_.dual, 0))
    assert ax.get_yscale() == "log"
    with pytest.raises(ValueError, match="no dual value"):
        plot_gap(KernelRidge().fit(PLANE, PLANE[:, 0]), ax=ax)


def test_rings_are_around_support_vectors_whatever_rows_weigh(ax):
    weight = np.ones(len(PLANE))
    weight[: len(PLANE) // 2 : 2] = 0
    model = suffice.SVC(kernel="linear").fit(PLANE, LABELS, sample_weight=weight)
    rings = plot_margins(model, PLANE, LABELS, ax=ax).support.get_offsets()
    np.testing.assert_array_equal(np.asarray(rings), model.support_vectors_)


def test_bad_input(ax):
    model = SVC().fit(ROWS, LABELS)
    with pytest.raises(ValueError, match="4 columns: say which two"):
        plot_margins(model, ROWS, LABELS, ax=ax)
    with pytest.raises(ValueError, match="two different ones of 0 to 3"):
        plot_margins(model, ROWS, LABELS, columns=(1, 1), ax=ax)
    with pytest.raises(ValueError, match="the support vectors"):
        plot_margins(model, PLANE, LABELS, ax=ax)
    with pytest.raises(ValueError, match="two classes, not of 3"):
        plot_margins(SVC().fit(*load_iris(return_X_y=True)), ROWS, LABELS, columns=(0, 1), ax=ax)
    with pytest.raises(ValueError, match="'decision_function'"):
        plot_margins(KernelRidge().fit(PLANE, PLANE[:, 0]), PLANE, LABELS, ax=ax)
