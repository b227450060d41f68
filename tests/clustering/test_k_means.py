"""K-means against a naive float64 version, and scikit-learn's."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from scipy import sparse
from sklearn.cluster import KMeans as Theirs
from sklearn.exceptions import ConvergenceWarning

from suffice import KMeans
from suffice.clustering.lloyd.centres import CentreTable
from tests.clustering.tables import squares, table_of

FEWER = "Number of distinct clusters"


def naive(X, centres, max_iter=300, weight=None):
    """Lloyd's algorithm as the notes have it, until labels repeat."""
    weight = np.ones(len(X)) if weight is None else weight
    middle, labels = X.mean(axis=0), None
    for n_iter in range(1, max_iter + 1):  # noqa: B007
        table = squares(X, centres)
        before, labels = labels, table.argmin(axis=1)
        if not len(np.setdiff1d(np.arange(len(centres)), labels)):
            means = [
                np.average(X[labels == c] - middle, axis=0, weights=weight[labels == c])
                for c in range(len(centres))
            ]
            centres = middle + np.array(means)
        else:
            return None  # what becomes of empty clusters has a test of its own
        if before is not None and (before == labels).all():
            break
    return centres, labels, n_iter


# --- the definition ------------------------------------------------------------------------


@pytest.mark.compiled
def test_labels_are_those_of_float64():
    compared = 0
    for seed in range(200):
        X, start = table_of(seed)
        expected = naive(X, start)
        if expected is None:
            continue
        compared += 1
        centres, labels, n_iter = expected
        model = KMeans(len(start), init=start, tol=0).fit(X)
        np.testing.assert_array_equal(model.labels_, labels, str(seed))
        assert model.n_iter_ == n_iter
        spread = X.std(axis=0).max()
        np.testing.assert_allclose(model.cluster_centers_, centres, atol=1e-9 * spread)
        inertia = np.square(X - centres[labels]).sum()
        np.testing.assert_allclose(model.inertia_, inertia, rtol=1e-9)
        assert model.certificate_.holds
        assert model.certificate_.shift <= 1e-9 * spread
    assert compared > 150


@pytest.mark.compiled
def test_bounds_change_no_label():
    """Many rows, of which bounds let most alone; measured distances too."""
    rng = np.random.default_rng(3)
    for d, k, apart in ((4, 30, 1.5), (40, 30, 1.0), (12, 100, 0.0)):
        middles = rng.normal(size=(k, d)) * apart
        X = middles[rng.integers(k, size=6000)] + rng.normal(size=(6000, d))
        start = X[rng.choice(6000, k, replace=False)]
        centres, _, n_iter = naive(X, start, 60)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            model = KMeans(k, init=start, tol=0, max_iter=60).fit(X)
        np.testing.assert_allclose(model.cluster_centers_, centres, atol=1e-10)
        np.testing.assert_array_equal(model.labels_, squares(X, centres).argmin(axis=1))
        assert model.n_iter_ == n_iter


@pytest.mark.parametrize("d", [1, 6, 60, 600])
def test_the_margin_is_not_exceeded(d):
    """Scores in float32 against extended precision: v − κX/2 ≤ S ≤ v + κQ + κX/2."""
    rng = np.random.default_rng(d)
    X = rng.standard_t(2, size=(400, d)) + 1e5
    centres = X[:30] + rng.normal(size=(30, d)) * rng.choice([0, 1e-3, 10], size=(30, 1))
    table = CentreTable.of(centres, X.mean(axis=0), 0.5)
    packed = (X - table.centre) * table.scale
    found = table.offsets[:, None] - np.dot(table.table, packed.T.astype(np.float32))
    x, c = (
        (rows.astype(np.longdouble) - table.centre) * np.longdouble(table.scale)
        for rows in (X, centres)
    )
    row, own = np.square(x).sum(axis=1), np.square(c).sum(axis=1)[:, None]
    exact = own / 2 - c @ x.T
    assert (found - table.slack * row / 2 <= exact).all()
    assert (exact <= found + table.slack * (own + row / 2)).all()


def test_margins_send_near_ties_to_float64():
    """Rows halfway between centres, off by much less than float32 can tell."""
    rng = np.random.default_rng(0)
    centres = rng.normal(size=(6, 9))
    pairs = rng.choice(6, size=(3000, 2))
    middle = (centres[pairs[:, 0]] + centres[pairs[:, 1]]) / 2
    X = middle + 10.0 ** rng.uniform(-13, -5, size=(3000, 1)) * rng.normal(size=(3000, 9))
    for offset in (0.0, 1e6):
        table = squares(X + offset, centres + offset)
        found = CentreTable.alone(centres + offset).nearest(X + offset)
        chosen = table[np.arange(len(X)), found]
        # Both add in float64, in other orders: at equal sums either may be first.
        assert (chosen <= table.min(axis=1) * (1 + 1e-14)).all()
        sure = np.partition(table, 1, axis=1)
        sure = sure[:, 1] > sure[:, 0] * (1 + 1e-13)
        np.testing.assert_array_equal(found[sure], table.argmin(axis=1)[sure])


@pytest.mark.parametrize("far", [1e8, 1e30, 1e120])
def test_rows_beyond_float32(far):
    X = np.r_[np.random.default_rng(0).normal(size=(50, 3)), [[far, 0, 0]]]
    model = KMeans(3, init=X[[0, 1, 50]]).fit(X)
    assert (model.labels_[:50] < 2).all()
    assert model.labels_[50] == 2
    np.testing.assert_array_equal(model.predict(X), model.labels_)
    assert np.isfinite(model.inertia_)


@pytest.mark.parametrize("far", [1e10, 1e60, 1e140])
def test_a_start_far_away(far):
    X = np.random.default_rng(0).normal(size=(50, 3))
    start = np.array([X[0], np.full(3, far), np.full(3, -far)])
    model = KMeans(3, init=start, tol=0).fit(X)
    assert sorted(np.unique(model.labels_)) == [0, 1, 2]
    table = squares(X, model.cluster_centers_)
    np.testing.assert_array_equal(model.labels_, table.argmin(axis=1))


# --- scikit-learn --------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("tol", [0.0, 1e-4, 1e-2])
def test_the_same_as_scikit_learn_from_the_same_start(seed, tol):
    X, start = table_of(1000 + seed)
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    start = X[: len(start)]
    ours = KMeans(len(start), init=start, tol=tol).fit(X)
    theirs = Theirs(len(start), init=start, n_init=1, tol=tol).fit(X)
    assert ours.inertia_ <= theirs.inertia_ * (1 + 1e-12)
    assert ours.n_iter_ == theirs.n_iter_
    np.testing.assert_array_equal(ours.labels_, theirs.labels_)
    np.testing.assert_allclose(ours.transform(X), theirs.transform(X), atol=1e-7)
    np.testing.assert_allclose(ours.score(X), theirs.score(X))


def test_starts_are_as_good():
    rng = np.random.default_rng(5)
    X = (3 * rng.normal(size=(15, 4)))[rng.integers(15, size=2000)] + rng.normal(size=(2000, 4))
    ours = [KMeans(15, random_state=seed).fit(X).inertia_ for seed in range(8)]
    theirs = [Theirs(15, random_state=seed).fit(X).inertia_ for seed in range(8)]
    assert np.mean(ours) < 1.03 * np.mean(theirs)
    several = KMeans(15, init="random", n_init=4, random_state=0).fit(X).inertia_
    assert several <= KMeans(15, init="random", n_init=1, random_state=0).fit(X).inertia_


def test_a_function_may_start():
    X, _ = table_of(3)

    def first(rows, k, random_state):
        assert isinstance(random_state, np.random.RandomState)
        return rows[:k]

    found = KMeans(3, init=first, n_init=1).fit(X)
    np.testing.assert_array_equal(found.labels_, KMeans(3, init=X[:3]).fit(X).labels_)


# --- empty clusters, degenerate rows -------------------------------------------------------


def test_an_empty_cluster_gets_the_farthest_row():
    X = np.array([[0.0], [1.0], [2.0], [9.0], [-7.0]])
    model = KMeans(3, init=[[1.0], [50.0], [60.0]], tol=0).fit(X)
    # After the first pass all rows are in cluster 0: rows 3 and 4 (8 away each) start the others.
    assert model.labels_.tolist() == [0, 0, 0, 1, 2]
    assert model.cluster_centers_.ravel().tolist() == [1.0, 9.0, -7.0]
    stream = KMeans(3, init=[[1.0], [50.0], [60.0]], tol=0).fit(sparse.csr_array(X))
    assert stream.labels_.tolist() == [0, 0, 0, 1, 2]


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_fewer_different_rows_than_clusters(form):
    X = np.repeat([[1.0, 2.0], [3.0, 4.0]], 10, axis=0)
    with pytest.warns(ConvergenceWarning, match=FEWER):
        model = KMeans(4, random_state=0).fit(form(X))
    assert np.isfinite(model.cluster_centers_).all()
    assert model.inertia_ == 0
    assert model.certificate_.clusters == 2
    np.testing.assert_array_equal(model.predict(form(X)), model.labels_)
    with pytest.warns(ConvergenceWarning, match=FEWER):
        model = KMeans(2, random_state=0).fit(form(np.ones((5, 2))))
    assert (model.cluster_centers_ == 1).all()


def test_constant_columns_and_single_clusters():
    X = np.c_[np.full(40, 1e9), np.arange(40.0)]
    model = KMeans(2, init=X[[0, 39]]).fit(X)
    assert sorted(model.cluster_centers_[:, 1]) == [9.5, 29.5]
    one = KMeans(1).fit(X)
    np.testing.assert_array_equal(one.cluster_centers_, [[1e9, 19.5]])
    assert one.certificate_.holds


def test_too_few_passes_are_told():
    X, _ = table_of(11)
    X = np.random.default_rng(0).normal(size=(500, 5))
    with pytest.warns(ConvergenceWarning, match="increase max_iter"):
        model = KMeans(8, init=X[:8], max_iter=2).fit(X)
    assert not model.certificate_.holds
    assert model.certificate_.shift > 0
    np.testing.assert_array_equal(model.predict(X), model.labels_)


# --- cosine --------------------------------------------------------------------------------


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_spherical(form):
    rng = np.random.default_rng(2)
    X = np.abs(rng.normal(size=(300, 6))) * rng.uniform(0.1, 100, size=(300, 1))
    X[rng.random(X.shape) < 0.4] = 0
    X = X[X.any(axis=1)]
    unit = X / np.linalg.norm(X, axis=1, keepdims=True)
    centres = start = unit[:4]
    for _ in range(100):
        labels = (unit @ centres.T).argmax(axis=1)
        sums = np.array([unit[labels == c].sum(axis=0) for c in range(4)])
        centres = sums / np.linalg.norm(sums, axis=1, keepdims=True)
    model = KMeans(4, init=start, metric="cosine", tol=0).fit(form(X))
    np.testing.assert_array_equal(model.labels_, labels)
    np.testing.assert_allclose(model.cluster_centers_, centres, atol=1e-12)
    cosines = unit @ centres.T
    np.testing.assert_allclose(model.inertia_, (1 - cosines.max(axis=1)).sum())
    np.testing.assert_allclose(model.transform(form(X)), 1 - cosines, atol=1e-12)
    np.testing.assert_allclose(model.score(form(X)), -model.inertia_)
