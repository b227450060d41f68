"""Quadratic discriminants: closed forms, scikit-learn, singular covariances, algebra, bad input."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest
from sklearn import discriminant_analysis as peer
from sklearn.base import clone
from sklearn.covariance import OAS, LedoitWolf
from sklearn.datasets import load_iris, load_wine
from sklearn.pipeline import make_pipeline

import suffice
from suffice import LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis
from suffice.generative.discriminant import axes as principal_axes
from tests.generative.exact_gaussians import (
    close,
    determinant,
    exact_gaussians,
    floats,
    fractions,
    inverse,
)


def sample(n=400, d=4, classes=3, seed=0, offset=0.0):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, classes, size=n)
    mixing = rng.normal(size=(classes, d, d))
    rows = np.einsum("ij,ijk->ik", rng.normal(size=(n, d)), mixing[y])
    return rows + rng.normal(size=(classes, d))[y] + offset, y


def same_predictions(one, other, X, tolerance=1e-12):
    a, b = one.predict_proba(X), other.predict_proba(X)
    np.testing.assert_allclose(a, b, rtol=0, atol=tolerance)


# --- closed form ---------------------------------------------------------------------------


@pytest.mark.parametrize("offset", [0.0, 1e8])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("rows", [60, 4000])
def test_means_covariances_and_posteriors(offset, weighted, rows):
    X, y = sample(rows, 3, offset=offset)
    weight = np.random.default_rng(1).uniform(0.2, 3, size=rows) if weighted else None
    model = QuadraticDiscriminantAnalysis(store_covariance=True).fit(X, y, weight)
    true = exact_gaussians(X, y, weight)
    close(model.means_, true.means, 1e-15)
    close(model.priors_, true.weights / sum(true.weights), 1e-15)
    some = fractions(X[:30])
    joint = np.empty((30, 3))
    for k, C in enumerate(true.covariances):
        close(model.covariance_[k], C, 1e-12)
        P, away = inverse(C), some - true.means[k]
        squares = floats((away.dot(P) * away).sum(axis=1))
        joint[:, k] = -0.5 * (squares + np.log(float(determinant(C)))) + np.log(model.priors_[k])
    np.testing.assert_allclose(model.decision_function(X[:30]), joint, rtol=1e-12, atol=1e-12)
    expected = np.exp(joint - joint.max(axis=1, keepdims=True))
    expected /= expected.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(model.predict_proba(X[:30]), expected, atol=1e-12)
    assert model.certificate_.holds


def test_axes_and_variances():
    X, y = load_iris(return_X_y=True)
    model = QuadraticDiscriminantAnalysis(store_covariance=True).fit(X, y)
    for C, V, s in zip(model.covariance_, model.rotations_, model.scalings_, strict=True):
        np.testing.assert_allclose(V.T @ V, np.eye(4), atol=1e-14)
        np.testing.assert_allclose((V * s) @ V.T, C, atol=1e-14)
        assert (np.diff(s) < 0).all()


def test_axes_are_found_when_they_are_asked_for(tmp_path):
    X, y = load_iris(return_X_y=True)
    model = QuadraticDiscriminantAnalysis()
    assert not hasattr(model, "rotations_")
    model.fit(X, y)
    before = dict(vars(model))
    assert {"rotations_", "scalings_"} <= set(dir(model))
    first = model.rotations_
    assert all(a is b for a, b in zip(first, model.rotations_, strict=True))
    model.save(tmp_path / "model")
    others = suffice.load(tmp_path / "model"), pickle.loads(pickle.dumps(model)), copy.copy(model)
    for other in others:
        np.testing.assert_array_equal(other.rotations_, first)
        np.testing.assert_array_equal(other.scalings_, model.scalings_)
    assert not hasattr(clone(model), "scalings_")
    assert before.keys() <= vars(model).keys()
    model.refit(reg_param=0.5, store_covariance=True)
    for C, s in zip(model.covariance_, model.scalings_, strict=True):
        np.testing.assert_allclose(s, np.linalg.eigvalsh(C)[::-1], rtol=1e-12)
    np.testing.assert_array_equal(others[2].rotations_, first)


# --- scikit-learn --------------------------------------------------------------------------

WAYS = [
    {},
    {"solver": "eigen"},
    {"priors": [0.2, 0.3, 0.5]},
    {"reg_param": 0.2},
    {"reg_param": 1.0},
    {"solver": "eigen", "shrinkage": 0.3},
    {"solver": "eigen", "shrinkage": "auto"},
    {"solver": "eigen", "covariance_estimator": OAS()},
    {"solver": "eigen", "covariance_estimator": LedoitWolf()},
]


@pytest.mark.parametrize("parameters", WAYS, ids=str)
@pytest.mark.parametrize("rows", [150, 5000])
def test_scikit_learn(parameters, rows):
    X, y = sample(rows)
    X[:, 1] *= 10.0
    ours = QuadraticDiscriminantAnalysis(store_covariance=True, **parameters).fit(X, y)
    theirs = peer.QuadraticDiscriminantAnalysis(store_covariance=True, **parameters).fit(X, y)
    same_predictions(ours, theirs, X, 1e-10)
    close(ours.decision_function(X), theirs.decision_function(X), 1e-10)
    for name in ("means_", "priors_", "covariance_", "scalings_"):
        close(np.array(getattr(ours, name)), np.array(getattr(theirs, name)), 1e-10)
    if parameters.get("reg_param") != 1.0:  # else all directions are alike
        close(np.abs(ours.rotations_), np.abs(theirs.rotations_), 1e-9)


def test_two_classes_have_one_score():
    X, y = sample(classes=2)
    ours = QuadraticDiscriminantAnalysis().fit(X, y)
    theirs = peer.QuadraticDiscriminantAnalysis().fit(X, y)
    assert ours.decision_function(X).shape == (len(X),)
    close(ours.decision_function(X), theirs.decision_function(X), 1e-11)


# --- singular covariances ------------------------------------------------------------------


def test_a_class_with_one_row_has_the_shape_of_all():
    """With equal means apart, the linear model's boundary to it where the others are alike."""
    X, y = sample(200, 3, 2)
    X, y = np.vstack([X, X[0] + 3]), np.append(y, 9)
    model = QuadraticDiscriminantAnalysis(store_covariance=True).fit(X, y)
    linear = LinearDiscriminantAnalysis(store_covariance=True).fit(X, y)
    close(model.covariance_[2], linear.covariance_, 1e-12)
    assert "9 (0 of 3)" in model.certificate_.notes[0]
    assert model.certificate_.holds
    assert model.predict(X[-1:]) == 9


def test_directions_without_variance_borrow_it():
    """A column constant in one class has there the variance given the others, of all classes."""
    X, y = sample(600, 3, 2)
    X[y == 1, 2] = 0.25
    model = QuadraticDiscriminantAnalysis(store_covariance=True).fit(X, y)
    true = exact_gaussians(X, y)
    own, pooled = floats(true.covariances[1]), floats(true.within)
    found = model.covariance_[1]
    # In directions of its own variance nothing changes: the inverse there is that of the block.
    span = np.linalg.inv(pooled)
    L = np.linalg.cholesky(pooled)
    whitened = np.linalg.solve(L, np.linalg.solve(L, found - own).T)
    values = np.linalg.eigvalsh(whitened)
    np.testing.assert_allclose(values, [0, 0, 1], atol=1e-10)  # what was added, in pooled units
    np.testing.assert_allclose(own @ span @ (found - own), 0.0, atol=1e-10)
    sign, logs = np.linalg.slogdet(found)
    assert sign > 0
    square = np.einsum(
        "ij,jk,ik->i", X - model.means_[1], np.linalg.inv(found), X - model.means_[1]
    )
    expected = -0.5 * (square + logs) + np.log(model.priors_[1])
    np.testing.assert_allclose(model._joint(X)[:, 1], expected, rtol=1e-9)
    assert "1 (2 of 3)" in model.certificate_.notes[0]


def test_columns_that_tell_nothing_are_left_out():
    X, y = sample(500)
    rows = np.column_stack([X, X[:, 0] - 2 * X[:, 1], np.full(len(X), 1e8 / 3)])
    model = QuadraticDiscriminantAnalysis().fit(rows, y)
    plain = QuadraticDiscriminantAnalysis().fit(X, y)
    np.testing.assert_allclose(model.predict_proba(rows), plain.predict_proba(X), atol=1e-9)
    assert "rank 4 of 6" in model.certificate_.notes[0]
    assert [s.shape for s in model.scalings_] == [(4,)] * 3


def test_more_columns_than_rows():
    X, y = sample(40, 100)
    model = QuadraticDiscriminantAnalysis().fit(X, y)
    assert model.score(X, y) == 1.0
    assert model.certificate_.holds
    assert len(model.certificate_.notes) == 2


@pytest.mark.parametrize("cls", [LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis])
def test_few_rows_of_many_columns(cls, monkeypatch):
    """Fewer axes are looked for, and the same are found; after forgetting too."""
    X, y = sample(45, 200)
    X, y = np.vstack([X, X[:1] + 1]), np.append(y, 9)
    model = cls().fit(X, y).forget(X[:15], y[:15])
    monkeypatch.setattr(principal_axes, "MANY", 10**6)
    full = cls().fit(X, y).forget(X[:15], y[:15])
    fresh, _ = sample(30, 200, seed=3)
    close(model._joint(fresh), full._joint(fresh), 1e-10)
    assert model.certificate_.holds
    assert model.certificate_.notes == full.certificate_.notes
    assert abs(model.certificate_.digits - full.certificate_.digits) < 0.5


def test_a_narrow_class_is_not_a_singular_one():
    X, y = sample(300, 3, 2)
    X[y == 1] *= 1e-9
    model = QuadraticDiscriminantAnalysis().fit(X, y)
    assert not model.certificate_.notes
    away = X[y == 1] / 1e-9
    assert model.predict(away).tolist() == [0] * len(away)
    assert model.score(X, y) > 0.99


def test_units_do_not_matter():
    X, y = sample()
    model = QuadraticDiscriminantAnalysis().fit(X, y)
    scale = np.array([1e-120, 1.0, 1e120, 1e8])
    scaled = QuadraticDiscriminantAnalysis().fit(X * scale, y)
    np.testing.assert_allclose(scaled.predict_proba(X * scale), model.predict_proba(X), atol=1e-10)


def test_one_class():
    X, _ = sample()
    model = QuadraticDiscriminantAnalysis().fit(X, np.full(len(X), "only"))
    assert set(model.predict(X)) == {"only"}


# --- statistics ----------------------------------------------------------------------------


@pytest.mark.parametrize("parameters", [{}, {"shrinkage": "auto"}, {"reg_param": 0.1}], ids=str)
def test_parts_merge_and_rows_are_forgotten(parameters):
    X, y = sample(900)
    make = lambda: QuadraticDiscriminantAnalysis(**parameters)  # noqa: E731
    whole = make().fit(X, y)
    cuts = [slice(0, 200), slice(200, 500), slice(500, 900)]
    same_predictions(sum(make().fit(X[c], y[c]) for c in cuts), whole, X, 1e-11)
    model = make().fit(X[:500], y[:500])
    model.update(X[500:], y[500:])
    same_predictions(model, whole, X, 1e-11)
    same_predictions(model.forget(X[500:], y[500:]), make().fit(X[:500], y[:500]), X, 1e-11)


def test_classes_come_and_go():
    X, y = sample(300)
    names = np.array(["straße", "Ärger", "猫"])[y]
    model = QuadraticDiscriminantAnalysis().fit(X[y < 2], names[y < 2])
    model.update(X[y == 2], names[y == 2])
    same_predictions(model, QuadraticDiscriminantAnalysis().fit(X, names), X)
    model.update(X[y == 0], names[y == 0]).forget(X[y == 0], names[y == 0])
    model.forget(X[y == 0], names[y == 0])
    assert model.classes_.tolist() == ["Ärger", "猫"]
    with pytest.raises(ValueError, match="cannot take rows of class 'straße' away"):
        model.forget(X[y == 0], names[y == 0])
    with pytest.raises(ValueError, match="not part of the statistic"):
        model.forget(X[y == 1][:20] * 50, names[y == 1][:20])


def test_parameters_change_without_the_rows():
    X, y = sample()
    model = QuadraticDiscriminantAnalysis(shrinkage="auto").fit(X, y)
    for changed in ({"shrinkage": 0.4}, {"reg_param": 0.3}, {"shrinkage": "auto"}):
        model.refit(**changed)
        fresh = QuadraticDiscriminantAnalysis(**model.get_params()).fit(X, y)
        np.testing.assert_allclose(model.predict_proba(X), fresh.predict_proba(X), atol=1e-13)
    plain = QuadraticDiscriminantAnalysis().fit(X, y)
    with pytest.raises(ValueError, match="fit it anew"):
        plain.refit(shrinkage="auto")


def test_threads_and_precision_leave_no_trace():
    X, y = sample(60_000)
    fits = []
    for threads in (1, 2):
        with suffice.config(threads=threads):
            fits.append(QuadraticDiscriminantAnalysis().fit(X, y))
    np.testing.assert_array_equal(fits[0].predict_proba(X), fits[1].predict_proba(X))
    exact = QuadraticDiscriminantAnalysis(exact=True).fit(X, y)
    assert exact.statistics_.precision == "double-double"
    same_predictions(fits[0], exact, X)


@pytest.mark.parametrize("shrinkage", [None, "auto"])
def test_behind_a_scaler(shrinkage):
    X, y = load_wine(return_X_y=True)
    ours = make_pipeline(
        suffice.preprocessing.StandardScaler(),
        QuadraticDiscriminantAnalysis(solver="eigen", shrinkage=shrinkage),
    )
    theirs = make_pipeline(
        suffice.preprocessing.StandardScaler(),
        peer.QuadraticDiscriminantAnalysis(solver="eigen", shrinkage=shrinkage),
    )
    scores = [
        suffice.cross_validate(one, X, y, scoring="neg_log_loss")["test_score"]
        for one in (ours, theirs)
    ]
    np.testing.assert_allclose(scores[0], scores[1], rtol=1e-9)


# --- bad input -----------------------------------------------------------------------------


def test_bad_input(tmp_path):
    X, y = sample()
    refused = {"solver": "lsqr", "shrinkage": -0.1, "reg_param": 1.1, "tol": -1.0, "priors": 3}
    for name, value in refused.items():
        with pytest.raises(ValueError, match=name):
            QuadraticDiscriminantAnalysis(**{name: value}).fit(X, y)
    holed = X.copy()
    holed[7, 2] = np.inf
    with pytest.raises(ValueError, match="infinity or a value too large: column 2, row 7 "):
        QuadraticDiscriminantAnalysis().fit(holed, y)
    model = QuadraticDiscriminantAnalysis().fit(X, y)
    with pytest.raises(ValueError, match="4 features"):
        model.predict(X[:, :2])
    model._whitenings = [M[:2] for M in model._whitenings]
    model.save(tmp_path / "model")
    with pytest.raises(ValueError, match="covariances do not fit"):
        suffice.load(tmp_path / "model")
