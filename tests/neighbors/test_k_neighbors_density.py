"""Densities by the k-th neighbour: volumes, the definition, consistency."""

from __future__ import annotations

import math

import numpy as np
import pytest

import suffice
from suffice import KNeighborsDensity
from suffice.neighbors.search.metrics import Metric


@pytest.mark.parametrize("d", [1, 2, 3, 8])
def test_volumes_of_unit_balls(d):
    known = {
        "euclidean": math.pi ** (d / 2) / math.gamma(1 + d / 2),
        "manhattan": 2**d / math.factorial(d),
        "chebyshev": 2.0**d,
    }
    for name, volume in known.items():
        assert math.isclose(math.exp(Metric(name).log_unit_ball(d)), volume, rel_tol=1e-13)
    for p in (1.0, 2.0, 1e9):
        name = {1.0: "manhattan", 2.0: "euclidean", 1e9: "chebyshev"}[p]
        volume = math.exp(Metric("minkowski", p).log_unit_ball(d))
        assert math.isclose(volume, known[name], rel_tol=1e-7)


@pytest.mark.parametrize(("metric", "p"), [("euclidean", 2), ("minkowski", 3), ("l1", 2)])
def test_volumes_by_counting(metric, p):
    points = np.random.default_rng(0).uniform(-1, 1, size=(200_000, 3))
    power = {"euclidean": 2, "l1": 1}.get(metric, p)
    share = ((np.abs(points) ** power).sum(axis=1) <= 1).mean()
    model = KNeighborsDensity(1, metric=metric, p=p).fit(np.zeros((2, 3)))
    volume = np.exp(model._fitted_metric.log_unit_ball(3))
    assert abs(volume - 8 * share) < 5 * 8 * np.sqrt(0.25 / 200_000)


def test_the_definition():
    rng = np.random.default_rng(1)
    X, queries = rng.normal(size=(50, 2)), rng.normal(size=(7, 2))
    r = np.sort(np.linalg.norm(queries[:, None] - X, axis=2), axis=1)[:, 3]
    expected = 4 / (50 * np.pi * r**2)
    for algorithm in ("brute", "kd_tree"):
        model = KNeighborsDensity(4, algorithm=algorithm).fit(X)
        np.testing.assert_allclose(model.density(queries), expected, rtol=1e-13)
        np.testing.assert_allclose(model.score_samples(queries), np.log(expected), rtol=1e-13)
        assert math.isclose(model.score(queries), np.log(expected).sum(), rel_tol=1e-13)
    away = np.linalg.norm(X[:, None] - X, axis=2)
    r = np.sort(away, axis=1)[:, 4]  # the first is the row itself
    np.testing.assert_allclose(
        np.exp(model.score_samples(None)), 4 / (49 * np.pi * r**2), rtol=1e-12
    )


def test_weights_of_columns_stretch_the_ball():
    X = np.random.default_rng(2).normal(size=(60, 2))
    w = np.array([4.0, 0.25])
    model = KNeighborsDensity(p=2, metric_params={"w": w}).fit(X)
    stretched = KNeighborsDensity().fit(X * np.sqrt(w))
    np.testing.assert_allclose(
        model.density(X + 0.1), stretched.density((X + 0.1) * np.sqrt(w)) * np.sqrt(w.prod())
    )


@pytest.mark.compiled
def test_it_tends_to_the_density():
    """k → ∞ and k/n → 0: the relative error falls like k^(−1/2)."""
    rng = np.random.default_rng(3)
    at = np.linspace(-1.5, 1.5, 200)[:, None]
    true = np.exp(-(at[:, 0] ** 2) / 2) / np.sqrt(2 * np.pi)
    errors = []
    for n, k in ((1000, 20), (30_000, 200), (300_000, 1000)):
        found = KNeighborsDensity(k).fit(rng.normal(size=(n, 1))).density(at)
        errors.append(np.sqrt(np.mean((found / true - 1) ** 2)))
        assert errors[-1] < 2 / np.sqrt(k)
    assert errors[0] > errors[1] > errors[2]


def test_far_away_and_on_the_spot():
    X = np.zeros((10, 3))
    X[5:] = np.eye(5, 3) + 1
    model = KNeighborsDensity(5).fit(X)
    assert model.score_samples([[0.0, 0.0, 0.0]]).tolist() == [np.inf]
    assert np.isfinite(model.score_samples([[1e150, 0.0, 0.0]])).all()
    assert model.density([[1e150, 0.0, 0.0]]).tolist() == [0.0]


def test_rows_come_and_go(tmp_path):
    X = np.random.default_rng(4).normal(size=(200, 2))
    whole = KNeighborsDensity().fit(X)
    merged = KNeighborsDensity().fit(X[:90]) + KNeighborsDensity().fit(X[90:])
    grown = KNeighborsDensity().fit(X[:150]).update(X[150:]).update(X[:9]).forget(X[:9])
    whole.save(tmp_path / "model")
    for model in (merged, grown, suffice.load(tmp_path / "model")):
        np.testing.assert_array_equal(model.score_samples(X), whole.score_samples(X))
    assert whole.refit(n_neighbors=9).kneighbors(X[:2])[1].shape == (2, 9)


def test_bad_input():
    X = np.random.default_rng(5).normal(size=(20, 2))
    with pytest.raises(ValueError, match="cosine distances have no volume"):
        KNeighborsDensity(metric="cosine").fit(X)
    with pytest.raises(ValueError, match="no densities"):
        KNeighborsDensity(metric_params={"w": [0.0, 1.0]}).fit(X)
    with pytest.raises(ValueError, match="Expected n_neighbors <= n_samples_fit"):
        KNeighborsDensity(21).fit(X).score_samples(X)
    with pytest.raises(ValueError, match="Expected n_neighbors < n_samples_fit"):
        KNeighborsDensity(20).fit(X).score_samples(None)
    with pytest.raises(TypeError, match="sample_weight"):
        KNeighborsDensity().fit(X, sample_weight=np.ones(20))
