"""Pictures of a mixture of Gaussians: its ellipses, the way of its means, its likelihood."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from suffice.mixtures.showing.paths import MeansPath

Floats = NDArray[np.float64]

ROW_SIZE = 9.0
"""Of the marker of a row, in square points."""


class Axes2D(NamedTuple):
    """The principal axes of a covariance of two columns.

    Attributes
    ----------
    deviations : float64 array of shape (2,)
        Standard deviations along them, the larger one first.
    angle : float
        From the first column to the first axis, in degrees from −90 to 90.
    """

    deviations: Floats
    angle: float


def principal_axes(covariance: Floats) -> Axes2D:
    """The axes of Σ = V diag(λ) Vᵀ: directions V, deviations √λ."""
    values, vectors = np.linalg.eigh(covariance)
    across, up = vectors[:, 1] * (1.0 if vectors[0, 1] >= 0 else -1.0)
    deviations = np.sqrt(np.maximum(values[::-1], 0.0))
    return Axes2D(deviations, float(np.degrees(np.arctan2(up, across))))


def marginal_covariances(model: Any, columns: tuple[int, int]) -> Floats:
    """Covariances of two columns in each component, of shape (components, 2, 2)."""
    k, found, chosen = len(model.means_), np.asarray(model.covariances_), list(columns)
    kind = model.covariance_type
    if kind == "full":
        return found[:, chosen][:, :, chosen]
    if kind == "tied":
        return np.broadcast_to(found[chosen][:, chosen], (k, 2, 2))
    variances = found[:, chosen] if kind == "diag" else np.repeat(found[:, None], 2, axis=1)
    return variances[:, :, None] * np.eye(2)


def plot_ellipses(
    model: Any,
    X: Any = None,
    columns: tuple[int, int] = (0, 1),
    *,
    deviations: Sequence[float] = (1.0, 2.0),
    ax: Any = None,
) -> list[Any]:
    """Draw the components of a mixture as ellipses, over rows (needs `suffice[plot]`).

    An ellipse of r standard deviations is where (x − μ)ᵀ Σ⁻¹ (x − μ) = r², with μ and Σ of the two
    columns: it holds 1 − exp(−r²/2) of the component, 39% for r = 1 and 86% for r = 2.

    Parameters
    ----------
    model : fitted GaussianMixture
    X : array or data frame of shape (rows, columns), optional
        Rows to draw, each in the colour of its likeliest component.
    columns : pair of int, default=(0, 1)
        What goes to the right and what goes up.
    deviations : sequence of float, default=(1, 2)
        Sizes of the ellipses of each component.
    ax : matplotlib axes, default=None
        Where to draw; None makes a new figure.

    Returns
    -------
    list of matplotlib ellipses
        Those of the first component first.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from sklearn.datasets import load_iris
    >>> from suffice import GaussianMixture
    >>> from suffice.mixtures import plot_ellipses
    >>> X = load_iris().data
    >>> model = GaussianMixture(3, random_state=0).fit(X)
    >>> ellipses = plot_ellipses(model, X, (2, 3), ax=Figure().add_subplot())
    >>> len(ellipses), [round(float(at), 1) for at in ellipses[0].center]
    (6, [4.2, 1.3])
    """
    check_is_fitted(model)
    columns = _two_columns(model, columns)
    if not len(deviations) or not min(deviations) > 0:
        raise ValueError(f"deviations={deviations!r} must be positive numbers")
    ax = _axes(ax)
    from matplotlib.patches import Ellipse

    colours = _colours(len(model.means_))
    if X is not None:
        component, cells = model.predict(X), np.asarray(X, np.float64)[:, list(columns)]
        for c, colour in enumerate(colours):
            ax.scatter(*cells[component == c].T, s=ROW_SIZE, color=colour, alpha=0.6, linewidths=0)
    means = model.means_[:, list(columns)]
    ax.scatter(*means.T, marker="+", color=colours)
    drawn = []
    for mean, covariance, colour in zip(
        means, marginal_covariances(model, columns), colours, strict=True
    ):
        axes = principal_axes(covariance)
        for r in deviations:
            width, height = 2 * r * axes.deviations
            shape = Ellipse(mean, width, height, angle=axes.angle, fill=False, edgecolor=colour)
            drawn.append(ax.add_patch(shape))
    ax.autoscale_view()
    _name_columns(ax, model, columns)
    return drawn


def plot_path(path: MeansPath, columns: tuple[int, int] = (0, 1), *, ax: Any = None) -> list[Any]:
    """Draw the way of each mean through the steps of EM (needs `suffice[plot]`).

    Parameters
    ----------
    path : MeansPath
        Which has followed a fit.
    columns : pair of int, default=(0, 1)
        What goes to the right and what goes up.
    ax : matplotlib axes, default=None
        Where to draw, over the rows for example; None makes a new figure.

    Returns
    -------
    list of matplotlib lines
        One a component; a circle is where it ends.
    """
    if not path.means:
        raise ValueError("the path is empty: model.set_callbacks(path).fit(X) fills it")
    means = np.array(path.means)
    columns = _pair(columns, means.shape[2])
    ax = _axes(ax)
    drawn = []
    for c in range(means.shape[1]):
        points = means[:, c, list(columns)]
        (line,) = ax.plot(*points.T, color="black", linewidth=1.0, marker=".", markersize=4)
        ax.plot(*points[-1], color="black", marker="o", fillstyle="none")
        drawn.append(line)
    return drawn


def plot_likelihood(model: Any, *, ax: Any = None) -> Any:
    """Draw the mean log-likelihood by steps of EM (needs `suffice[plot]`).

    Parameters
    ----------
    model : fitted mixture
        What is drawn is `lower_bounds_`, with the prior's share where there is a prior.
    ax : matplotlib axes, default=None
        Where to draw; None makes a new figure.

    Returns
    -------
    matplotlib line
    """
    check_is_fitted(model)
    ax = _axes(ax)
    bounds = model.lower_bounds_
    (line,) = ax.plot(range(1, len(bounds) + 1), bounds, marker=".")
    ax.set(xlabel="step", ylabel="mean log-likelihood")
    ax.locator_params("x", integer=True)
    return line


def _axes(ax: Any) -> Any:
    """Those given, or of a new figure."""
    try:
        import matplotlib.pyplot as plt
    except ImportError:
        raise ImportError(
            "pictures of mixtures are drawn by matplotlib: install suffice[plot]"
        ) from None
    return plt.subplots(layout="constrained")[1] if ax is None else ax


def _pair(columns: Any, d: int) -> tuple[int, int]:
    """Two different columns out of d."""
    found = tuple(columns)
    if len(found) != 2 or len(set(found)) != 2 or not all(c in range(d) for c in found):
        raise ValueError(f"columns={columns!r} must be two different ones of the {d} columns")
    return int(found[0]), int(found[1])


def _two_columns(model: Any, columns: Any) -> tuple[int, int]:
    return _pair(columns, model.means_.shape[1])


def _colours(k: int) -> Floats:
    """A colour for each component."""
    from matplotlib import colormaps

    many = colormaps["tab10" if k <= 10 else "turbo"]
    found: Floats = many(np.arange(k) if k <= 10 else np.linspace(0.05, 0.95, k))
    return found


def _name_columns(ax: Any, model: Any, columns: tuple[int, int]) -> None:
    names = getattr(model, "feature_names_in_", None)
    across, up = (f"column {c}" if names is None else str(names[c]) for c in columns)
    ax.set(xlabel=across, ylabel=up)
