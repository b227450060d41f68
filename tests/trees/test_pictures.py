"""Pictures of trees: scikit-learn's words, boxes that keep apart, and a tidy layout."""

import inspect
import sys

import numpy as np
import pytest
from sklearn.datasets import load_diabetes, load_iris
from sklearn.tree import plot_tree as theirs

from suffice.trees import plot_tree
from suffice.trees.showing.layout import tidy_positions
from tests.trees.shown_trees import (
    a_chain,
    by_hand,
    classifier,
    fitted,
    ours,
    regressor,
    with_categories,
)

matplotlib = pytest.importorskip("matplotlib")


@pytest.fixture
def plt():
    matplotlib.use("Agg")
    from matplotlib import pyplot

    pyplot.close("all")
    yield pyplot
    pyplot.close("all")


@pytest.fixture(scope="module")
def flowers():
    X, y = load_iris(return_X_y=True)
    return classifier(X, y, max_depth=4)


@pytest.fixture(scope="module")
def patients():
    X, y = load_diabetes(return_X_y=True)
    return regressor(X, y, max_depth=3)


def boxes_of(drawn):
    """Where the boxes are on the screen; the answers at the root have none."""
    drawn[0].figure.canvas.draw()
    found = [one.get_bbox_patch() for one in drawn if one.get_bbox_patch() is not None]
    return np.array([patch.get_window_extent().extents for patch in found])


def assert_apart(drawn):
    """No two boxes overlap, and the axes hold all of them."""
    left, bottom, right, top = boxes_of(drawn).T
    across = (left[:, None] < right) & (left < right[:, None])
    along = (bottom[:, None] < top) & (bottom < top[:, None])
    assert (across & along).sum() == len(left)
    edge = drawn[0].axes.get_window_extent().padded(2)  # text stands at whole pixels
    assert edge.x0 < left.min()
    assert right.max() < edge.x1
    assert edge.y0 < bottom.min()
    assert top.max() < edge.y1


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"label": "root", "node_ids": True},
        {"label": "none", "impurity": False, "proportion": True},
        {"class_names": ["a", "b", "c"], "precision": 1, "filled": False, "rounded": False},
        {"feature_names": ["k", "l", "m", "n"], "node_ids": True, "proportion": True},
        {"fontsize": 7},
    ],
    ids=str,
)
@pytest.mark.parametrize("kind", ["classes", "weights", "values"])
def test_words_are_those_of_scikit_learn(plt, options, kind):
    X, y = load_iris(return_X_y=True)
    if kind == "values":
        model = regressor(X, X[:, 3] * 7.3, max_depth=3)
    else:
        weight = None if kind == "classes" else np.linspace(0.1, 2.0, len(y))
        model = classifier(X, y, max_depth=3, criterion="entropy").fit(X, y, weight)
    drawn = plot_tree(ours(model), **options)
    assert [one.get_text() for one in drawn] == [one.get_text() for one in theirs(model, **options)]
    if "fontsize" in options:
        assert {one.get_fontsize() for one in drawn} == {7}


@pytest.mark.parametrize("size", [(4, 3), (30, 5)], ids=str)
@pytest.mark.parametrize("which", ["flowers", "patients", "colours", "chain"])
def test_boxes_keep_apart(plt, size, which, request):
    model = {
        "colours": with_categories,
        "chain": lambda: fitted(a_chain(12), classes=["a", "b"]),
    }.get(which, lambda: ours(request.getfixturevalue(which)))()
    _, axes = plt.subplots(figsize=size)
    assert_apart(plot_tree(model, ax=axes, class_names=True, missing=True))


def test_a_new_figure_has_the_size_that_the_tree_needs(plt, patients):
    drawn = plot_tree(ours(patients))
    assert drawn[0].get_fontsize() > 8
    assert_apart(drawn)
    axes = drawn[0].axes
    assert plot_tree(ours(patients))[0].axes is axes  # the current ones, then


def test_answers_at_the_root_are_free_of_boxes(plt, flowers):
    drawn = plot_tree(ours(flowers))
    boxes = boxes_of(drawn)
    for answer in (one for one in drawn if one.get_bbox_patch() is None):
        x0, y0, x1, y1 = answer.get_window_extent().extents
        left, bottom, right, top = boxes.T
        assert not ((left < x1) & (x0 < right) & (bottom < y1) & (y0 < top)).any()


def test_what_is_left_out_is_counted(plt, patients):
    model = ours(patients)
    drawn = plot_tree(model, max_depth=1)
    texts = [one.get_text() for one in drawn]
    counted = [int(t.split()[1]) for t in texts if t.endswith("more leaves")]
    whole = sum(t.count("<=") == 0 and "samples" in t for t in texts)
    assert sum(counted) + whole == model.tree_.n_leaves
    assert_apart(drawn)
    alone = [one.get_text() for one in plot_tree(model, max_depth=0)]
    assert alone[1:] == [f"… {model.tree_.n_leaves} more leaves"]


def test_colours_tell_the_class_and_the_value(plt, flowers, patients):
    def fills(model, **options):
        drawn = plot_tree(ours(model), **options)
        patches = (one.get_bbox_patch() for one in drawn)
        return np.array([patch.get_facecolor()[:3] for patch in patches if patch is not None])

    pure, classes = flowers.tree_.impurity == 0, flowers.tree_.value[:, 0].argmax(axis=1)
    colours = fills(flowers)
    assert len({tuple(colour) for colour in colours[pure]}) == len(set(classes[pure])) == 3
    np.testing.assert_allclose(colours[0], 1.0)  # as many rows of each class: white
    # Ink of black is read on every colour: a contrast of 4.5 as for print on screens.
    linear = np.where(colours <= 0.04045, colours / 12.92, ((colours + 0.055) / 1.055) ** 2.4)
    assert ((linear @ [0.2126, 0.7152, 0.0722] + 0.05) / 0.05 > 4.5).all()
    values = patients.tree_.value[:, 0, 0]
    by_value = fills(patients).sum(axis=1)[np.argsort(values)]
    assert (np.diff(by_value) < 1e-12).all()
    assert (fills(flowers, filled=False) == 1.0).all()


def test_one_leaf_one_class_many_classes_and_odd_names(plt):
    alone = fitted(by_hand([(-1, -1, -2, -2.0, 0, [1.0])]), classes=["only"])
    assert plot_tree(alone, class_names=True)[0].get_text().endswith("class = only")
    same = fitted(by_hand([(-1, -1, -2, -2.0, 0, [3.0])]), "squared_error")
    assert_apart(plot_tree(same))
    many = fitted(by_hand([(-1, -1, -2, -2.0, 0, np.arange(20) / 190)]), classes=range(20))
    assert "value = [19: 1.0, 18: 0.947, 17: 0.895, … 17 more]" in plot_tree(many)[0].get_text()
    money = with_categories()
    drawn = plot_tree(money, feature_names=["$ a", "b_$^{"])  # no formulas of TeX
    assert drawn[0].get_text().startswith("$ a in {blue, red} or missing\n")
    assert_apart(drawn)


def test_too_small_axes_are_told(plt, patients):
    _, axes = plt.subplots(figsize=(1, 1))
    with pytest.warns(UserWarning, match="do not fit the axes"):
        plot_tree(ours(patients), ax=axes)


def test_deep_trees_need_no_recursion(plt):
    model = fitted(a_chain(120), classes=["a", "b"])
    plot_tree(model, max_depth=1)  # what matplotlib loads lazily is there
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(len(inspect.stack()) + 90)
    try:
        drawn = plot_tree(model, fontsize=1)
    finally:
        sys.setrecursionlimit(limit)
    assert len(drawn) == 241 + 2


def test_without_matplotlib(monkeypatch, flowers):
    for name in [name for name in sys.modules if name.partition(".")[0] == "matplotlib"]:
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(ImportError, match=r"suffice\[plot\]"):
        plot_tree(ours(flowers))


# --- layout ----------------------------------------------------------------------------------


def random_tree(rng, n):
    """Children of nodes that come after their parents, in the order of a walk to the left first."""
    left, right = [-1], [-1]
    for _ in range(n):
        leaf = rng.choice([i for i, child in enumerate(left) if child < 0])
        left[leaf], right[leaf] = len(left), len(left) + 1
        left += [-1, -1]
        right += [-1, -1]
    return [[a, b] if a >= 0 else [] for a, b in zip(left, right, strict=True)]


@pytest.mark.parametrize("seed", range(5))
def test_layout_is_tidy(seed):
    rng = np.random.default_rng(seed)
    children = random_tree(rng, 40)
    widths, gap = rng.uniform(0.5, 3.0, len(children)), 0.3
    x = tidy_positions(children, widths, gap)
    depth = np.zeros(len(children), int)
    below = {}
    for node, kids in enumerate(children):
        depth[kids] = depth[node] + 1
        if kids:
            assert x[node] == pytest.approx(x[kids].mean())
    for node in reversed(range(len(children))):
        below[node] = [node, *(one for kid in children[node] for one in below[kid])]
    for kids in filter(None, children):
        # Two subtrees are one gap apart on the level where they are nearest, all others further.
        apart = [
            x[b] - widths[b] / 2 - x[a] - widths[a] / 2
            for a in below[kids[0]]
            for b in below[kids[1]]
            if depth[a] == depth[b]
        ]
        assert min(apart) == pytest.approx(gap)


def test_layout_of_a_node_over_one_other():
    np.testing.assert_allclose(tidy_positions([[1], []], [1.0, 5.0], 1.0), [0.0, 0.0])


def test_layout_of_a_deep_tree():
    tree = a_chain(10_000)
    sides = zip(tree.children_left.tolist(), tree.children_right.tolist(), strict=True)
    x = tidy_positions([[a, b] if a >= 0 else [] for a, b in sides], [1.0] * tree.node_count, 1.0)
    np.testing.assert_allclose(x[::2], np.arange(10_001))


def test_sets_of_categories_are_short_in_boxes(plt):
    many = np.array([f"category {i}" for i in range(1000)], dtype=object)
    tree = by_hand(
        [
            (1, 2, 0, set(range(400)), 0, [0.5, 0.5]),
            (-1, -1, -2, -2.0, 0, [1.0, 0.0]),
            (-1, -1, -2, -2.0, 0, [0.0, 1.0]),
        ],
        categories=[many],
    )
    text = plot_tree(fitted(tree, classes=["a", "b"], categories=[many]))[0].get_text()
    assert text.splitlines()[0].endswith(", … 395 more}")
