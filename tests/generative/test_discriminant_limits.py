"""Discriminants at the limits of float64: what cannot be known is not certified."""

from __future__ import annotations

import math
import warnings
from fractions import Fraction

import numpy as np
import pytest
from sklearn import discriminant_analysis
from sklearn.covariance import LedoitWolf
from sklearn.exceptions import ConvergenceWarning

import suffice
from suffice import LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis
from suffice.sources import Block
from tests.generative.exact_gaussians import exact_gaussians, fractions, inverse
from tests.numerics.rational import exactly

MODELS = [LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis]
each = pytest.mark.parametrize("cls", MODELS, ids=lambda cls: cls.__name__)


def two_classes(n=60, d=3, seed=0):
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 2
    return rng.normal(size=(n, d)) + y[:, None], y


@each
@pytest.mark.parametrize("n", [60, 4000])
@pytest.mark.parametrize("size", [1e9, 1e20])
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_a_column_that_forgetting_has_drowned_is_no_constant(cls, n, size):
    """Its variance cannot be told from zero, but that is the error's doing."""
    X, y = two_classes(n)
    large = np.random.default_rng(1).normal(size=(6, 3)) * [size, 1, 1]
    labels = np.arange(6) % 2
    model = cls().fit(np.vstack([X, large]), np.append(y, labels)).forget(large, labels, digits=0)
    expected = cls().fit(X, y).predict_proba(X)
    right = np.allclose(model.predict_proba(X), expected, rtol=0, atol=1e-8)
    assert right or not model.certificate_.holds
    assert model.certificate_.holds == (n == 60 and size == 1e9)


@each
def test_constant_columns_are_forgotten_as_such(cls):
    X, y = two_classes()
    X = np.column_stack([X, np.full(len(X), 0.1), y])
    other = X[:8] + np.array([0, 0, 0, 2.0, 0])
    model = cls(exact=True).fit(np.vstack([X, other]), np.append(y, y[:8])).forget(other, y[:8])
    assert model.certificate_.holds
    expected = cls(exact=True).fit(X, y).predict_proba(X)
    np.testing.assert_allclose(model.predict_proba(X), expected, atol=1e-10)


@each
@pytest.mark.parametrize("rows", [40, 4000])
@pytest.mark.filterwarnings("error::RuntimeWarning")
def test_squares_beyond_the_range_are_refused(cls, rows):
    X, y = two_classes(rows)
    with pytest.raises(ValueError, match="rescale the columns"):
        cls().fit(X * 1e150, y)
    with pytest.raises(ValueError, match="rescale the columns"):
        cls().fit(X, y, np.where(y, 1e300, 1e-300))
    expected = cls().fit(X, y).predict_proba(X)
    np.testing.assert_allclose(cls().fit(X * 1e140, y).predict_proba(X * 1e140), expected)


@each
@pytest.mark.parametrize("parameters", [{}, {"shrinkage": 0.1}, {"shrinkage": "auto"}], ids=str)
def test_squares_below_the_range_are_told(cls, parameters):
    X, y = two_classes()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", ConvergenceWarning)
        assert not cls(**parameters).fit(X * 1e-160, y).certificate_.holds


def test_rows_of_many_columns_below_the_range_are_told():
    X, y = two_classes(20, 1100)
    assert LinearDiscriminantAnalysis().fit(X * 1e-140, y).certificate_.holds
    with pytest.warns(ConvergenceWarning, match="not proved"):
        LinearDiscriminantAnalysis().fit(X * 1e-160, y)


@each
def test_an_amount_that_nobody_knows_is_told(cls):
    X, y = two_classes()
    with pytest.warns(ConvergenceWarning, match="not proved"):
        cls(shrinkage="auto").fit(X, y, np.full(len(X), 1e-300))


@each
@pytest.mark.filterwarnings("error")
def test_infinite_priors(cls):
    X, y = two_classes()
    with pytest.raises(ValueError, match="finite"):
        cls(priors=[np.inf, 1]).fit(X, y)


def test_a_class_that_varies_where_the_others_hardly_do():
    """Next to the second class, the first has no variance in directions that count."""
    rng = np.random.default_rng(0)
    a, b = rng.normal(size=(2, 50))
    X = np.vstack([1e-6 * np.column_stack([a, -a]), np.column_stack([b, b])])
    y = np.repeat([0, 1], 50)
    model = QuadraticDiscriminantAnalysis().fit(X, y)
    # Along (1, 1) all that is left of the first class is its mean: it has the common variance.
    along = X.sum(axis=1)
    means = [along[y == k].mean() for k in (0, 1)]
    own = along[50:].var()
    joint = np.column_stack(
        [
            -0.5 * ((along - m) ** 2 / v + np.log(v))
            for m, v in zip(means, (own / 2, own), strict=True)
        ]
    )
    expected = 1 / (1 + np.exp(joint[:, 1] - joint[:, 0]))
    np.testing.assert_allclose(model.predict_proba(X)[:, 0], expected, rtol=1e-5)


@pytest.mark.parametrize("seed", [2, 18, 20])
def test_leaving_out_the_last_but_one_row_of_a_class(seed):
    """What remains of its covariance is r I, and rounding must not tilt it."""
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(6, 2)) * 100, np.array([0, 0, 0, 0, 1, 1])
    weight = rng.choice([1, 2, 0.5, 0.3], size=6)
    model = QuadraticDiscriminantAnalysis(shrinkage=0.3, reg_param=0.1).fit(X, y, weight)
    found = model._leave_one_out(Block(X, y, weight, 0))
    for i in (4, 5):
        rest = np.arange(6) != i
        one = QuadraticDiscriminantAnalysis(shrinkage=0.3, reg_param=0.1)
        one.fit(X[rest], y[rest], weight[rest])
        expected = one.decision_function(X[i : i + 1])[0]
        np.testing.assert_allclose(found[i, 1] - found[i, 0], expected, rtol=1e-12)


@pytest.mark.parametrize("scale", [1.0, 100.0, 1e3, 1e6, 1e7, 1e9])
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_variance_that_was_added_and_lost_is_told(scale):
    """r I keeps every direction; where squares of the columns drown it, nothing is proved."""
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1], 5)
    X = rng.normal(size=(10, 12)) * scale
    model = QuadraticDiscriminantAnalysis(reg_param=0.1).fit(X, y)
    expected = -0.5 * np.diff([exact_distances(X, X[y == k], 0.1) for k in (0, 1)], axis=0)[0]
    right = np.allclose(model.decision_function(X), expected, rtol=1e-6)
    assert right or not model.certificate_.holds
    assert model.certificate_.holds == (scale <= 1e7)


def exact_distances(X, rows, r):
    """(x − μ)ᵀ Σ⁻¹ (x − μ) + log |Σ|, Σ = (1 − r) C + r I, in fractions."""
    X, rows, r = exactly(X), exactly(rows), Fraction(r)
    away = rows - rows.sum(axis=0) / len(rows)
    C = away.T.dot(away) / len(rows) * (1 - r) + r * exactly(np.eye(rows.shape[1]))
    distance = X - rows.sum(axis=0) / len(rows)
    solved, pivots = eliminated(C, distance.T)
    log_determinant = sum(math.log(pivot) for pivot in pivots)
    return [float((a * b).sum()) + log_determinant for a, b in zip(distance, solved.T, strict=True)]


def eliminated(A, B):
    """A⁻¹ B for a positive definite A, and the pivots, in fractions."""
    A, B = A.copy(), B.copy()
    pivots = []
    for i in range(len(A)):
        pivots.append(A[i, i])
        A[i], B[i] = A[i] / pivots[-1], B[i] / pivots[-1]
        for j in range(len(A)):
            if j != i:
                B[j] = B[j] - A[j, i] * B[i]
                A[j] = A[j] - A[j, i] * A[i]
    return B, pivots


@pytest.mark.parametrize("seed", range(4))
def test_an_amount_that_moves_one_small_class_moves_little(seed):
    """The amount of two rows is 0 but for rounding, and a column constant in them has none else."""
    rng = np.random.default_rng(seed)
    y = np.r_[0, 0, rng.integers(1, 3, 58)]
    X = rng.normal(size=(60, 4)) + y[:, None]
    X[:, 0] = 0.1
    parameters = {"solver": "lsqr", "covariance_estimator": LedoitWolf()}
    model = LinearDiscriminantAnalysis(**parameters).fit(X, y)
    assert model.certificate_.holds
    theirs = discriminant_analysis.LinearDiscriminantAnalysis(**parameters).fit(X, y)
    np.testing.assert_allclose(model.predict_proba(X), theirs.predict_proba(X), atol=1e-9)


@pytest.mark.parametrize("power", [480, 490, 500, 508, 509, 510])
@pytest.mark.parametrize(
    ("cls", "parameters"),
    [
        (QuadraticDiscriminantAnalysis, {}),
        (QuadraticDiscriminantAnalysis, {"shrinkage": 0.3}),
        (LinearDiscriminantAnalysis, {}),
        (LinearDiscriminantAnalysis, {"solver": "eigen", "shrinkage": "auto"}),
    ],
)
def test_many_columns_of_large_values(cls, parameters, power):
    """Fewer rows than columns: right in any units, or refused."""
    X = np.random.default_rng(0).normal(size=(12, 1030))
    y = np.arange(12) % 2
    large = X * 2.0**power
    if power > 480:
        with pytest.raises(ValueError, match="rescale the columns"):
            cls(**parameters).fit(large, y)
        return
    model, plain = (cls(**parameters).fit(rows, y) for rows in (large, X))
    assert model.certificate_.holds
    expected = plain.decision_function(X)
    np.testing.assert_allclose(model.decision_function(large), expected, rtol=1e-11)


def exact_joint(X, y, queries):
    """log πₖ − ½ (x − μₖ)ᵀ Σ⁻¹ (x − μₖ) of a linear model, less that of the first class."""
    true = exact_gaussians(X, y)
    inverted, half = inverse(true.within), Fraction(1, 2)
    out = []
    for query in fractions(queries):
        squares = [(a := query - mean).dot(inverted).dot(a) for mean in true.means]
        logs = [math.log(w / true.weights[0]) for w in true.weights]
        out.append(
            [log - float(half * (s - squares[0])) for log, s in zip(logs, squares, strict=True)]
        )
    return np.array(out)


@pytest.mark.parametrize("distance", [1e2, 1e5, 1e8, 1e12])
@pytest.mark.parametrize("n", [60, 3000])
def test_a_class_far_away_costs_the_others_no_digits(distance, n, tmp_path):
    rng = np.random.default_rng(0)
    y = np.arange(n) % 3
    X = rng.normal(size=(n, 2)) + np.array([[0, 0], [1, 0], [distance, distance]])[y]
    model = LinearDiscriminantAnalysis().fit(X, y)
    assert model.certificate_.holds
    some = X[:24]
    expected = exact_joint(X, y, some)
    expected -= expected.max(axis=1, keepdims=True)
    expected = np.exp(expected) / np.exp(expected).sum(axis=1, keepdims=True)
    model.save(tmp_path / "model")
    for one in (model, suffice.load(tmp_path / "model")):
        np.testing.assert_allclose(one.predict_proba(some), expected, atol=1e-12)


def test_leaving_out_beside_a_class_far_away():
    rng = np.random.default_rng(0)
    y = np.arange(45) % 3
    X = rng.normal(size=(45, 2)) + np.array([[0, 0], [1, 0], [1e7, 1e7]])[y]
    joint = LinearDiscriminantAnalysis().fit(X, y)._leave_one_out(Block(X, y, None, 0))
    for i in range(0, 45, 4):
        rest = np.arange(45) != i
        expected = exact_joint(X[rest], y[rest], X[i : i + 1])[0]
        found = joint[i] - joint[i, 0]
        np.testing.assert_allclose(found[:2], expected[:2], atol=1e-11)
        assert joint[i].argmax() == expected.argmax()


def test_means_that_cannot_be_told_apart_have_no_direction():
    rows = np.random.default_rng(0).normal(size=(40, 3))
    labels = np.repeat([0, 1], 40)
    model = LinearDiscriminantAnalysis().fit(np.vstack([rows, rows]), labels)
    assert model.transform(rows).shape == (40, 0)
    assert model.explained_variance_ratio_.tolist() == [0.0]
    assert "cannot be told apart" in model.certificate_.notes[-1]
    for shift in (1e-9, 1e-17):  # of the latter, the smallest values take notice
        model.fit(np.vstack([rows, rows + shift]), labels)
        assert model.transform(rows).shape == (40, 1)
        assert model.explained_variance_ratio_.tolist() == [1.0]


@each
def test_little_variance_that_forgetting_hides_is_not_called_none(cls):
    rng = np.random.default_rng(3)
    X = 1e6 + 1e-7 * rng.normal(size=(12, 1))
    X[8:] = 1e6 + 1e8 * rng.normal(size=(4, 1))
    y = np.arange(12) % 2
    model = cls().fit(X, y)
    with pytest.raises(ValueError, match="digits could be guaranteed"):
        model.forget(X[8:], y[8:])


@each
def test_columns_that_count_as_constant_after_forgetting_are_named(cls):
    X, y = two_classes()
    X = np.column_stack([X, np.full(len(X), 0.1)])
    other = X[:8] + np.array([0, 0, 0, 2.0])
    model = cls(exact=True).fit(np.vstack([X, other]), np.append(y, y[:8])).forget(other, y[:8])
    assert any(
        "columns 3 (counted from 0) count as constant" in n for n in model.certificate_.notes
    )
    plain = cls(exact=True).fit(X, y)
    assert not any("count as constant" in note for note in plain.certificate_.notes)


@each
@pytest.mark.filterwarnings("error::RuntimeWarning")
def test_priors_beyond_the_range_are_refused(cls):
    X, y = two_classes()
    with pytest.raises(ValueError, match="finite number above 0"):
        cls(priors=[1e308, 1e308]).fit(X, y)
