"""Pictures of mixtures: ellipses against eigenvalues, paths and likelihoods against the fit."""

import sys

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.exceptions import ConvergenceWarning, NotFittedError

from suffice import GaussianMixture
from suffice.mixtures import MeansPath, plot_ellipses, plot_likelihood, plot_path

matplotlib = pytest.importorskip("matplotlib")

KINDS = ("full", "tied", "diag", "spherical")


@pytest.fixture
def ax():
    from matplotlib.figure import Figure

    return Figure().add_subplot()


@pytest.fixture(scope="module")
def flowers():
    return load_iris(as_frame=True).data


def as_matrix(model, component):
    """Σ of a component, whatever the kind."""
    found = model.covariances_
    return {
        "full": lambda: found[component],
        "tied": lambda: found,
        "diag": lambda: np.diag(found[component]),
        "spherical": lambda: found[component] * np.eye(model.means_.shape[1]),
    }[model.covariance_type]()


# --- ellipses --------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("columns", [(2, 3), (3, 0)])
def test_points_of_an_ellipse_have_its_mahalanobis_distance(ax, flowers, kind, columns):
    model = GaussianMixture(3, covariance_type=kind, random_state=0).fit(flowers)
    drawn = plot_ellipses(model, flowers, columns, deviations=(1, 2.5), ax=ax)
    assert len(drawn) == 6
    for number, ellipse in enumerate(drawn):
        component, r = number // 2, (1, 2.5)[number % 2]
        mean = model.means_[component, list(columns)]
        covariance = as_matrix(model, component)[np.ix_(columns, columns)]
        angles = np.linspace(0, 2 * np.pi, 7)
        circle = np.column_stack([np.cos(angles), np.sin(angles)])
        away = ellipse.get_patch_transform().transform(circle) - mean
        squares = np.einsum("ij,jk,ik->i", away, np.linalg.inv(covariance), away)
        np.testing.assert_allclose(squares, r**2, rtol=1e-9)


def test_axes_are_the_roots_of_eigenvalues(ax, flowers):
    model = GaussianMixture(2, random_state=0).fit(flowers)
    for component, ellipse in enumerate(plot_ellipses(model, deviations=(2,), ax=ax)):
        small, large = np.linalg.eigvalsh(model.covariances_[component][:2, :2])
        assert ellipse.width == pytest.approx(4 * np.sqrt(large), rel=1e-12)
        assert ellipse.height == pytest.approx(4 * np.sqrt(small), rel=1e-12)


def test_an_upright_ellipse_by_hand(ax):
    X = np.array([[1.0, 0], [-1, 0], [0, 3], [0, -3]])  # variances 1/2 and 9/2
    (ellipse,) = plot_ellipses(GaussianMixture(reg_covar=0).fit(X), deviations=(1,), ax=ax)
    assert ellipse.width == pytest.approx(2 * np.sqrt(4.5))
    assert ellipse.height == pytest.approx(2 * np.sqrt(0.5))
    assert abs(ellipse.angle) == pytest.approx(90)


def test_rows_have_the_colour_of_their_component(ax, flowers):
    model = GaussianMixture(3, random_state=0).fit(flowers)
    plot_ellipses(model, flowers, (2, 3), ax=ax)
    component = model.predict(flowers)
    *rows, means = ax.collections
    for c, drawn in enumerate(rows):
        np.testing.assert_array_equal(
            drawn.get_offsets(), flowers.to_numpy()[component == c][:, [2, 3]]
        )
    np.testing.assert_array_equal(means.get_offsets(), model.means_[:, [2, 3]])
    np.testing.assert_array_equal(
        [tuple(drawn.get_facecolor()[0][:3]) for drawn in rows], means.get_edgecolor()[:, :3]
    )
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("petal length (cm)", "petal width (cm)")
    left, right = ax.get_xlim()
    assert left < flowers.iloc[:, 2].min()
    assert right > flowers.iloc[:, 2].max()


def test_rows_with_missing_cells_and_many_components(ax):
    X = load_iris().data.copy()
    X[::7, 0] = np.nan
    model = GaussianMixture(12, covariance_type="diag", random_state=0, reg_covar=1e-2).fit(X)
    drawn = plot_ellipses(model, X, ax=ax)
    assert len({ellipse.get_edgecolor() for ellipse in drawn}) == 12
    assert ax.get_xlabel() == "column 0"


# --- paths and likelihoods -------------------------------------------------------------------


def test_a_path_has_every_step_and_ends_at_the_means(ax, flowers):
    path = MeansPath()
    model = GaussianMixture(3, random_state=0).set_callbacks(path)
    for _ in range(2):  # the second fit begins anew
        model.fit(flowers)
        assert len(path.means) == model.n_iter_
    np.testing.assert_array_equal(path.means[-1], model.means_)
    lines = plot_path(path, (3, 1), ax=ax)
    for component, line in enumerate(lines):
        expected = np.array(path.means)[:, component, [3, 1]]
        np.testing.assert_array_equal(line.get_xydata(), expected)


def test_a_step_of_the_path_is_the_mean_by_responsibilities(flowers):
    X, path = flowers.to_numpy(), MeansPath()
    short = GaussianMixture(3, random_state=0, tol=0)
    with pytest.warns(ConvergenceWarning, match="EM stopped"):
        short.set_params(max_iter=5).set_callbacks(path).fit(X)
    with pytest.warns(ConvergenceWarning, match="EM stopped"):
        before = GaussianMixture(3, random_state=0, tol=0, max_iter=4).fit(X)
    shares = before.predict_proba(X)
    np.testing.assert_allclose(path.means[4], shares.T @ X / shares.sum(axis=0)[:, None])


def test_the_likelihood_is_that_of_the_steps(ax, flowers):
    model = GaussianMixture(3, random_state=0).fit(flowers)
    line = plot_likelihood(model, ax=ax)
    np.testing.assert_array_equal(line.get_xdata(), np.arange(1, model.n_iter_ + 1))
    np.testing.assert_array_equal(line.get_ydata(), model.lower_bounds_)
    assert model.lower_bounds_[-1] <= model.score(flowers) <= model.lower_bounds_[-1] + model.tol


# --- doors -----------------------------------------------------------------------------------


def test_without_axes_a_figure_is_made(flowers):
    matplotlib.use("Agg")
    from matplotlib import pyplot

    before = len(pyplot.get_fignums())
    plot_ellipses(GaussianMixture(2, random_state=0).fit(flowers))
    assert len(pyplot.get_fignums()) == before + 1
    pyplot.close("all")


def test_bad_input(ax, flowers):
    model = GaussianMixture(2, random_state=0)
    with pytest.raises(NotFittedError):
        plot_ellipses(model, ax=ax)
    model.fit(flowers)
    for columns in [(0,), (1, 1), (0, 4), (0, 1, 2)]:
        with pytest.raises(ValueError, match="two different ones of the 4 columns"):
            plot_ellipses(model, columns=columns, ax=ax)
    for deviations in [(), (1, 0)]:
        with pytest.raises(ValueError, match="must be positive"):
            plot_ellipses(model, deviations=deviations, ax=ax)
    with pytest.raises(ValueError, match="the path is empty"):
        plot_path(MeansPath(), ax=ax)


def test_without_matplotlib(monkeypatch, flowers):
    model = GaussianMixture(random_state=0).fit(flowers)
    for name in [name for name in sys.modules if name.partition(".")[0] == "matplotlib"]:
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(ImportError, match=r"suffice\[plot\]"):
        plot_ellipses(model)
