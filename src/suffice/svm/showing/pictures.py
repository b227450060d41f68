"""The boundary of a support vector machine in the plane, and how its fit went, as pictures."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse
from sklearn.utils.validation import check_array, check_consistent_length, check_is_fitted

Floats = NDArray[np.float64]

LEVELS = {-1.0: "--", 0.0: "-", 1.0: "--"}
"""The margins and the boundary, and the line that each of them is drawn with."""

GRID, ROOM = 200, 0.08
"""Points along each side where f is evaluated; room around the rows, of their span."""

RING, DOT = 90, 18
"""Areas of the rings around support vectors and of the rows, in square points."""


class MarginsDrawn(NamedTuple):
    """What `plot_margins` has drawn.

    Attributes
    ----------
    ax : matplotlib axes
    rows : list of matplotlib collections
        The rows of each class, in the order of `classes_`.
    lines : matplotlib contour set, or None
        The boundary and the margins: those of −1, 0 and 1 that are within the picture.
    support : matplotlib collection
        The rings.
    """

    ax: Any
    rows: list[Any]
    lines: Any
    support: Any


def plot_margins(
    model: Any, X: Any, y: Any, columns: tuple[int, int] | None = None, *, ax: Any = None
) -> MarginsDrawn:
    """Draw rows, the boundary f = 0, the margins f = ±1 and the support vectors (needs
    `suffice[plot]`).

    Parameters
    ----------
    model : fitted classifier of two classes with `decision_function` and `support_vectors_`
    X : array of shape (rows, columns)
    y : array of shape (rows,)
    columns : pair of int, default=None
        Which columns are drawn, to the right and up; the others are held at their medians, so that
        lines show a section of the boundary.  None draws the only two that there are.
    ax : matplotlib axes, default=None
        Where to draw; None takes the current ones.

    Returns
    -------
    MarginsDrawn

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.svm import SVC
    >>> from suffice.svm import plot_margins
    >>> X, y = load_iris(return_X_y=True)
    >>> X, y = X[:100, :2], y[:100]
    >>> drawn = plot_margins(SVC().fit(X, y), X, y, ax=Figure().add_subplot())
    >>> drawn.lines.levels.tolist(), len(drawn.support.get_offsets())
    ([-1.0, 0.0, 1.0], 25)
    """
    ax = ax if ax is not None else _current_axes("margins")
    rows, labels = _checked(model, X, y)
    across, up = _pair(columns, rows.shape[1])
    sides = []
    for column in (across, up):
        low, high = rows[:, column].min(), rows[:, column].max()
        room = ROOM * (high - low) or 1.0
        sides.append(np.linspace(low - room, high + room, GRID))
    values = _surface(model, rows, (across, up), sides)
    seen = [level for level in LEVELS if values.min() <= level <= values.max()]
    lines = None
    if seen:
        styles = [LEVELS[level] for level in seen]
        lines = ax.contour(*sides, values, levels=seen, linestyles=styles, colors="0.3")
    drawn = [
        ax.scatter(rows[labels == c, across], rows[labels == c, up], s=DOT, label=str(c))
        for c in model.classes_
    ]
    support = model.support_vectors_
    support = support.toarray() if issparse(support) else np.asarray(support)
    rings = ax.scatter(
        support[:, across], support[:, up], s=RING, facecolors="none", edgecolors="0.2",
        label="support vectors",
    )  # fmt: skip
    names = getattr(model, "feature_names_in_", None)
    ax.set_xlabel(f"x[{across}]" if names is None else str(names[across]))
    ax.set_ylabel(f"x[{up}]" if names is None else str(names[up]))
    ax.legend()
    return MarginsDrawn(ax, drawn, lines, rings)


def plot_gap(model: Any, *, ax: Any = None) -> Any:
    """Draw how far each step of a fit was from the least objective there can be.

    The dual value of the fit is a lower bound of all objectives: what a step's objective exceeds it
    by is no less than its distance from the minimum (needs `suffice[plot]`).

    Parameters
    ----------
    model : fitted model with a trace of its objective, and a dual value in its certificate
        Such as `LinearSVC` of two classes.
    ax : matplotlib axes, default=None
        Where to draw; None takes the current ones.

    Returns
    -------
    matplotlib line

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from sklearn.datasets import load_iris
    >>> from suffice import LinearSVC
    >>> from suffice.svm import plot_gap
    >>> X, y = load_iris(return_X_y=True)
    >>> line = plot_gap(LinearSVC().fit(X[50:], y[50:]), ax=Figure().add_subplot())
    >>> line.axes.get_yscale()
    'log'
    """
    check_is_fitted(model)
    objective = np.asarray(model.trace_.objective, np.float64)
    dual = model.certificate_.measures.get("dual")
    steps = np.flatnonzero(np.isfinite(objective))
    if dual is None or not len(steps):
        raise ValueError(f"this {type(model).__name__} has no dual value, or no traced objective")
    ax = ax if ax is not None else _current_axes("gaps")
    (line,) = ax.plot(steps + 1, np.maximum(objective[steps] - dual, 0.0), marker=".")
    ax.set_yscale("log")
    ax.set_xlabel("step")
    ax.set_ylabel("objective − dual")
    return line


def _current_axes(what: str) -> Any:
    try:
        import matplotlib.pyplot as plt
    except ImportError:
        raise ImportError(
            f"pictures of {what} are drawn by matplotlib: install suffice[plot]"
        ) from None
    return plt.gca()


def _checked(model: Any, X: Any, y: Any) -> tuple[Floats, NDArray[Any]]:
    """The rows and their labels, or raise ValueError where there is nothing to draw."""
    check_is_fitted(model)
    for name in ("decision_function", "support_vectors_", "classes_"):
        if not hasattr(model, name):
            raise ValueError(f"margins are those of a fitted classifier with {name!r}")
    if len(model.classes_) != 2:
        raise ValueError(f"margins are drawn of two classes, not of {len(model.classes_)}")
    dense = X.toarray() if issparse(X) else X
    rows, labels = check_array(dense, dtype=np.float64, input_name="X"), np.asarray(y)
    check_consistent_length(rows, labels)
    if model.support_vectors_.shape[1] != rows.shape[1]:
        raise ValueError(
            f"the rows have {rows.shape[1]} columns, the support vectors "
            f"{model.support_vectors_.shape[1]}"
        )
    return rows, labels


def _pair(columns: tuple[int, int] | None, n_columns: int) -> tuple[int, int]:
    if columns is None:
        if n_columns != 2:
            raise ValueError(
                f"the rows have {n_columns} columns: say which two to draw, columns=(0, 1)"
            )
        return 0, 1
    pair = tuple(int(column) for column in columns)
    if len(pair) != 2 or len(set(pair)) != 2 or not all(0 <= c < n_columns for c in pair):
        raise ValueError(f"columns must be two different ones of 0 to {n_columns - 1}: {columns}")
    return pair[0], pair[1]


def _surface(model: Any, rows: Floats, pair: tuple[int, int], sides: list[Floats]) -> Floats:
    """f at the points of the picture, of shape (up, across)."""
    points = np.tile(np.median(rows, axis=0), (GRID * GRID, 1))
    grid = np.meshgrid(*sides)
    for column, values in zip(pair, grid, strict=True):
        points[:, column] = values.ravel()
    names = getattr(model, "feature_names_in_", None)
    queries: Any = points
    if names is not None:
        import pandas as pd  # names were learned from a frame

        queries = pd.DataFrame(points, columns=names)
    return np.asarray(model.decision_function(queries), np.float64).reshape(GRID, GRID)
