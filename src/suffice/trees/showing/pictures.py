"""A tree as a picture."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils._param_validation import Interval, StrOptions, validate_parameter_constraints

from suffice.trees.showing.boxes import Box, BoxText, boxes_of
from suffice.trees.showing.layout import tidy_positions
from suffice.trees.showing.wording import Wording, wording

SMALLEST_FONT, LARGEST_FONT = 1.0, 12.0
"""Points: matplotlib has no smaller one; where there is room for more."""

NEW_FONT, LARGEST_FIGURE = 10.0, 40.0
"""Points, in a figure that is made for the tree; inches that it may have."""

PAD, GAP_ACROSS, GAP_DOWN = 0.4, 0.8, 2.4
"""Around the text in a box, between boxes and between levels, in heights of the font."""

FIRST_HUE = 25 / 360
"""Orange."""

Floats = NDArray[np.float64]

_CONSTRAINTS: dict[str, list[Any]] = {
    "max_depth": [Interval(Integral, 0, None, closed="left"), None],
    "feature_names": ["array-like", None],
    "class_names": ["array-like", "boolean", None],
    "label": [StrOptions({"all", "root", "none"})],
    "filled": ["boolean"],
    "impurity": ["boolean"],
    "node_ids": ["boolean"],
    "proportion": ["boolean"],
    "rounded": ["boolean"],
    "precision": [Interval(Integral, 0, None, closed="left")],
    "missing": ["boolean", None],
    "fontsize": [Interval(Integral, 1, None, closed="left"), None],
}


def plot_tree(
    model: Any,
    *,
    max_depth: int | None = None,
    feature_names: Any = None,
    class_names: Any = None,
    label: str = "all",
    filled: bool = True,
    impurity: bool = True,
    node_ids: bool = False,
    proportion: bool = False,
    rounded: bool = True,
    precision: int = 3,
    missing: bool | None = None,
    ax: Any = None,
    fontsize: int | None = None,
) -> list[Any]:
    """Draw a tree with matplotlib (needs `suffice[plot]`).

    Boxes do not overlap: the font is as large as the axes allow, up to 12 points.  Colours tell
    the class and how pure a node is, or how large its value.

    Parameters
    ----------
    model : fitted DecisionTreeClassifier or DecisionTreeRegressor
    max_depth : int, default=None
        Levels below the root that are drawn; of what is below, the leaves are counted.  None
        draws all.
    feature_names : sequence of str, default=None
        Names of the columns; None takes those of the fit, or "x[0]", "x[1]", …
    class_names : sequence of str or bool, default=None
        Names of the classes in the order of `classes_`; True takes those.  None and False name
        no class.
    label : {"all", "root", "none"}, default="all"
        Which boxes say what their numbers are.
    filled : bool, default=True
        Whether boxes are coloured.
    impurity : bool, default=True
        Whether to show the impurity.
    node_ids : bool, default=False
        Whether to show the numbers of the nodes.
    proportion : bool, default=False
        Whether to show shares instead of rows and weights.
    rounded : bool, default=True
        Whether boxes have round corners.
    precision : int, default=3
        Digits after the point.
    missing : bool, default=None
        Whether each test says where missing cells go.  None says so if it was learned: if some
        test sends them elsewhere than with most of its rows, which is where they go unlearned.
    ax : matplotlib axes, default=None
        Where to draw; what was there is cleared.  None takes the current ones, or a new figure of
        the size that the tree needs.
    fontsize : int, default=None
        Points; None finds the largest that fits.

    Returns
    -------
    list of matplotlib annotations
        The boxes, from the root on and to the left first, and "True" and "False" at the root's
        arrows.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from sklearn.datasets import load_iris
    >>> from suffice import DecisionTreeClassifier
    >>> from suffice.trees import plot_tree
    >>> iris = load_iris(as_frame=True)
    >>> model = DecisionTreeClassifier(max_depth=4).fit(iris.data, iris.target)
    >>> figure = Figure(figsize=(8, 4))
    >>> boxes = plot_tree(model, max_depth=1, ax=figure.add_subplot())
    >>> print(boxes[0].get_text())
    petal length (cm) <= 2.45
    gini = 0.667
    samples = 150
    value = [50, 50, 50]
    """
    parameters = {name: value for name, value in locals().items() if name in _CONSTRAINTS}
    validate_parameter_constraints(_CONSTRAINTS, parameters, caller_name="plot_tree")
    try:
        import matplotlib.pyplot as plt
    except ImportError:
        raise ImportError(
            "pictures of trees are drawn by matplotlib: install suffice[plot]"
        ) from None

    named = None if isinstance(class_names, bool) else class_names
    words = wording(model, feature_names, named, missing, unnamed="x[{}]")
    text = BoxText(
        words, str(model.get_params()["criterion"]), label, impurity, node_ids, proportion,
        precision, class_names is not None and class_names is not False,
    )  # fmt: skip
    figure_is_ours = ax is None and not plt.get_fignums()
    if figure_is_ours:
        ax = plt.figure().add_axes((0.01, 0.01, 0.98, 0.98))
    elif ax is None:
        ax = plt.gca()
    ax.clear()
    ax.set_axis_off()
    boxes = boxes_of(words, max_depth)
    corners = f"{'round' if rounded else 'square'},pad={PAD}"
    colours = _colours(words) if filled else None
    drawn = [_drawn(ax, box, text.of(box), corners, colours) for box in boxes]
    places = _places(boxes, drawn)
    if figure_is_ours:
        ax.figure.set_size_inches(np.minimum(places.size * NEW_FONT / 72, LARGEST_FIGURE))
    if fontsize is None:
        # Letters are not quite in proportion to their size: look again at the one they have.
        _set_size(drawn, min(LARGEST_FONT, (_points(ax) / places.size).min()))
        places = _places(boxes, drawn)
        best = (_points(ax) / places.size).min()
        if best < SMALLEST_FONT:
            warnings.warn(
                f"{len(boxes):,} boxes do not fit the axes without overlaps: draw fewer levels "
                "(max_depth), or a larger figure",
                stacklevel=2,
            )
        fontsize = min(LARGEST_FONT, best)
    _set_size(drawn, fontsize)
    return _put(ax, boxes, drawn, places, fontsize)


def _drawn(ax: Any, box: Box, text: str, corners: str, colours: Floats | None) -> Any:
    """A box with its text, and an arrow to it: anywhere as yet."""
    from matplotlib import rcParams

    fill, edge, ink = ax.get_facecolor(), rcParams["text.color"], rcParams["text.color"]
    frame = edge
    if box.leaves:
        frame = "none"
    elif colours is not None:
        # Fills are light, whatever the style's colour of text.
        fill, ink = colours[box.node], "black"
    arrow = {"arrowstyle": "<-", "color": edge, "relpos": (0.5, 1.0), "shrinkA": 0, "shrinkB": 0}
    return ax.annotate(
        text, (0.0, 0.0), (0.0, 0.0), xycoords="axes fraction", textcoords="axes fraction",
        ha="center", va="center", fontsize=NEW_FONT, color=ink, parse_math=False,
        bbox={"boxstyle": corners, "fc": fill, "ec": frame},
        arrowprops=None if box.parent < 0 else arrow,
    )  # fmt: skip


def _set_size(drawn: list[Any], fontsize: float) -> None:
    """Text of a size, in points, with lines that go with it."""
    for one in drawn:
        one.set_fontsize(fontsize)
        one.get_bbox_patch().set_linewidth(min(1.0, fontsize / 8))
        if one.arrow_patch is not None:
            one.arrow_patch.set_linewidth(min(1.0, fontsize / 8))


def _points(ax: Any) -> Floats:
    """Width and height of the axes."""
    extent = ax.get_window_extent()
    return np.array([extent.width, extent.height]) * 72 / ax.figure.dpi


@dataclass
class _Places:
    """Where boxes stand, in heights of the font."""

    middle: Floats
    """From the left."""
    top: Floats
    """Of each box, from the top of the picture down: one height for all of a level."""
    height: Floats
    """Of each box."""
    size: Floats
    """Of the whole picture."""


def _places(boxes: list[Box], drawn: list[Any]) -> _Places:
    from matplotlib.text import Text

    # An annotation's own extent has its arrow in it.
    extents = [Text.get_window_extent(one) for one in drawn]
    em = drawn[0].get_fontsize() / 72 * drawn[0].figure.dpi
    width = np.array([extent.width for extent in extents]) / em + 2 * PAD
    height = np.array([extent.height for extent in extents]) / em + 2 * PAD
    children: list[list[int]] = [[] for _ in boxes]
    for here, box in enumerate(boxes[1:], start=1):
        children[box.parent].append(here)
    x = tidy_positions(children, width, GAP_ACROSS)
    start = (x - width / 2).min()
    depth = np.array([box.depth for box in boxes])
    tallest = np.zeros(depth.max() + 1)
    np.maximum.at(tallest, depth, height)
    top = np.append(0.0, np.cumsum(tallest + GAP_DOWN))
    size = np.array([(x + width / 2).max() - start, top[-1] - GAP_DOWN])
    return _Places(x - start, top[depth], height, size)


def _put(
    ax: Any, boxes: list[Box], drawn: list[Any], places: _Places, fontsize: float
) -> list[Any]:
    """Move boxes to their places, over the whole of the axes; those and the root's answers."""
    x, top = places.middle / places.size[0], 1 - places.top / places.size[1]
    height = places.height * fontsize / _points(ax)[1]
    put: list[Any] = []
    for here, (box, one) in enumerate(zip(boxes, drawn, strict=True)):
        one.set_position((x[here], top[here] - height[here] / 2))
        put.append(one)
        if box.parent >= 0:
            one.xy = x[box.parent], top[box.parent] - height[box.parent]
        if box.parent == 0 and not box.leaves:
            to_left = put[-2] is drawn[0]
            put.append(
                ax.annotate(
                    "True  " if to_left else "  False",
                    ((one.xy[0] + x[here]) / 2, (one.xy[1] + top[here]) / 2),
                    xycoords="axes fraction", fontsize=fontsize,
                    ha="right" if to_left else "left", va="bottom",
                )
            )  # fmt: skip
    return put


def _colours(words: Wording) -> Floats:
    """The colour of each node.

    A class has a hue, which is the stronger the further its share is ahead of the next one's.
    In regression, the largest value has the strongest colour.
    """
    from matplotlib.colors import hsv_to_rgb

    values = words.tree.value[:, 0]
    if words.classes is None:
        hue = np.full(len(values), FIRST_HUE)
        spread = np.ptp(values)
        strength = (values[:, 0] - values.min()) / (spread if spread > 0 else 1.0)
    else:
        hue = (FIRST_HUE + values.argmax(axis=1) / values.shape[1]) % 1
        most, next_most = np.sort(np.column_stack([values, np.zeros(len(values))]))[:, :-3:-1].T
        strength = (most - next_most) / np.maximum(1 - next_most, 1e-300)
    # Light enough for black text.
    full = hsv_to_rgb(np.column_stack([hue, np.full_like(hue, 0.5), np.full_like(hue, 0.95)]))
    strength = np.clip(strength, 0, 1)[:, None]
    return strength * full + (1 - strength)
