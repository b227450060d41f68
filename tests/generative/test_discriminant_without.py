"""One row left out of a discriminant: as if fitted to the others."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import load_wine
from sklearn.model_selection import LeaveOneOut

import suffice
from suffice import LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis
from suffice.generative.leave_one_out import discriminants as discriminant_without
from suffice.numerics.log_posterior import log_posterior
from suffice.sources import Block

MODELS = [LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis]
each = pytest.mark.parametrize("cls", MODELS, ids=lambda cls: cls.__name__)


def sample(n=120, d=3, classes=3, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, classes, size=n)
    return rng.normal(size=(n, d)) @ rng.normal(size=(d, d)) + rng.normal(size=(classes, d))[y], y


def brute_force(make, X, y, weight):
    """Posteriors of every row by a fit to the others, 0 for a class that is gone."""
    labels = np.unique(y)
    out = np.zeros((len(X), len(labels)))
    for i in range(len(X)):
        rest = np.arange(len(X)) != i
        model = make().fit(X[rest], y[rest], None if weight is None else weight[rest])
        place = np.searchsorted(labels, model.classes_)
        out[i, place] = model.predict_proba(X[i : i + 1])[0]
    return out


def left_out(make, X, y, weight):
    model = make().fit(X, y, weight)
    return np.exp(log_posterior(model._leave_one_out(Block(X, y, weight, 0))))


@each
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("parameters", [{}, {"shrinkage": 0.2}, {"shrinkage": "auto"}], ids=str)
def test_as_if_fitted_to_the_others(cls, weighted, parameters):
    X, y = sample(24)
    weight = np.random.default_rng(1).uniform(0.2, 3, size=len(X)) if weighted else None
    make = lambda: cls(**parameters)  # noqa: E731
    found, expected = left_out(make, X, y, weight), brute_force(make, X, y, weight)
    np.testing.assert_allclose(found, expected, atol=1e-10)


@each
def test_rows_that_alone_span_a_direction(cls):
    X, y = sample(24)
    X = np.column_stack([X, np.zeros(24), np.full(24, 3.0)])
    X[5, 3] = 1.0  # without row 5, the column is constant
    found, expected = left_out(cls, X, y, None), brute_force(cls, X, y, None)
    np.testing.assert_allclose(found, expected, atol=1e-9)


@each
def test_a_class_whose_only_row_leaves(cls):
    X, y = sample(25)
    y[7] = 9
    found, expected = left_out(cls, X, y, None), brute_force(cls, X, y, None)
    np.testing.assert_allclose(found, expected, atol=1e-9)
    assert found[7, 3] == 0


@each
def test_rows_of_no_weight_change_nothing(cls):
    X, y = sample(80)
    weight = np.ones(80)
    weight[:9] = 0
    found = left_out(cls, X, y, weight)
    model = cls().fit(X[9:], y[9:])
    np.testing.assert_allclose(found[:9], model.predict_proba(X[:9]), atol=1e-12)


@each
def test_most_rows_take_the_short_way(cls, monkeypatch):
    X, y = sample(300)
    asked = []
    slow = discriminant_without._one_by_one

    def counted(model, statistic, left, out, index):
        asked.append(len(index))
        return slow(model, statistic, left, out, index)

    monkeypatch.setattr(discriminant_without, "_one_by_one", counted)
    left_out(cls, X, y, None)
    assert asked == [0]


@each
def test_cross_validation(cls):
    X, y = (rows[::3] for rows in load_wine(return_X_y=True))
    X = X[:, :6]
    scores = suffice.cross_validate(cls(), X, y, cv=LeaveOneOut())["test_score"]
    expected = brute_force(cls, X, y, None).argmax(axis=1) == y
    np.testing.assert_array_equal(scores, expected)


@pytest.mark.parametrize("cls", [LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis])
@pytest.mark.parametrize("size", [1e3, 1e5, 1e7])
def test_a_row_that_makes_most_of_a_variance(cls, size):
    """Next to nothing is left of a column without it: the shortcut would have no digits there."""
    rng = np.random.default_rng(0)
    y = np.arange(40) % 2
    X = rng.normal(size=(40, 2)) + 0.3 * y[:, None]
    X[6, 1] = size
    found = cls().fit(X, y)._leave_one_out(Block(X, y, None, 0))[6]
    rest = np.arange(40) != 6
    one = cls().fit(X[rest], y[rest])
    expected = one.decision_function(X[6:7])[0]
    assert found[1] - found[0] == pytest.approx(expected, rel=1e-10)
