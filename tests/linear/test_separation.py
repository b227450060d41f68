"""Separated classes: found whenever there is a direction, and never claimed otherwise."""

from __future__ import annotations

import itertools
import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import optimize, sparse
from sklearn.exceptions import ConvergenceWarning

from suffice import LogisticRegression
from suffice.linear.solvers import separation

CLAIM = "the classes are separated: the likelihood has no maximum"


def fit(X, y, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return LogisticRegression(C=np.inf, **options).fit(X, y)


def margins(model, X, y):
    """(v_y − vₖ)·a of every row and other class, from the direction in the user's columns."""
    V = model.separating_direction_
    X = X.toarray() if sparse.issparse(X) else X
    eta = X @ V[:, :-1].T + V[:, -1]
    n = len(model.classes_)
    codes = np.searchsorted(model.classes_, y)
    if len(V) < n:
        reference = getattr(model, "reference_class", None)
        place = 0 if reference is None else int(np.flatnonzero(model.classes_ == reference)[0])
        eta = np.insert(eta, place, 0.0, axis=1)
    own = eta[np.arange(len(y)), codes]
    return np.array([own - eta[:, k] for k in range(n)])


def is_separated(X, y, intercept=True):
    """A linear programme of its own: minimise Σ t with margins ≥ t ≥ −1, margins ≥ 0."""
    A = np.hstack([X, np.ones((len(X), 1))]) if intercept else X
    classes = np.unique(y)
    k, p = len(classes), A.shape[1]
    rows = []
    for a, label in zip(A, y, strict=True):
        own = int(np.flatnonzero(classes == label)[0])
        for other in range(k):
            if other != own:
                row = np.zeros((k, p))
                row[own], row[other] = a, -a
                rows.append(row.ravel())
    rows = np.array(rows)
    # Margins lie in [0, 1]; any direction that is not all zero can be scaled into that.
    best = optimize.linprog(
        -rows.sum(axis=0),
        A_ub=np.vstack([-rows, rows]),
        b_ub=np.concatenate([np.zeros(len(rows)), np.ones(len(rows))]),
        bounds=(None, None),
    )
    return -best.fun > 1e-7


# --- the three cases -----------------------------------------------------------------------------

COMPLETE = np.array([[-2.0], [-1.0], [1.0], [2.0]]), np.array([0, 0, 1, 1])
QUASI = np.array([[-2.0], [-1.0], [0.0], [0.0], [1.0], [2.0]]), np.array([0, 0, 0, 1, 1, 1])
NONE = np.array([[-2.0], [-1.0], [1.0], [2.0], [-1.5]]), np.array([0, 1, 0, 1, 1])


@pytest.mark.parametrize("options", [{}, {"reference_class": 0}, {"reference_class": 1}], ids=str)
@pytest.mark.parametrize("solver", ["auto", "lbfgs", "newton-cg"])
@pytest.mark.parametrize("data", [COMPLETE, QUASI], ids=["complete", "quasi-complete"])
def test_two_separated_classes(data, solver, options):
    X, y = data
    with pytest.warns(ConvergenceWarning, match="a penalty makes the answer finite"):
        model = LogisticRegression(C=np.inf, solver=solver, **options).fit(X, y)
    assert not model.certificate_.holds
    assert model.certificate_.claim == CLAIM
    found = margins(model, X, y)
    assert found.min() >= -1e-9
    assert found.max() > 0
    assert np.isfinite(model.predict_proba(X)).all()


@pytest.mark.parametrize("solver", ["auto", "lbfgs", "newton-cg"])
def test_classes_that_overlap(solver):
    model = fit(*NONE, solver=solver)
    assert model.certificate_.holds
    assert not hasattr(model, "separating_direction_")


def test_a_later_fit_forgets_the_direction():
    model = fit(*COMPLETE)
    assert hasattr(model, "separating_direction_")
    assert not hasattr(model.fit(*NONE), "separating_direction_")


@pytest.mark.parametrize("options", [{}, {"reference_class": 1}], ids=str)
def test_one_class_of_three_is_apart(options):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(90, 2))
    y = np.repeat([0, 1, 2], 30)
    X[y == 2] += 20.0
    model = fit(X, y, **options)
    assert model.certificate_.claim == CLAIM
    found = margins(model, X, y)
    assert found.min() >= -1e-9 * found.max()
    assert found.max() > 0
    X[60] = 0.0  # one row among the others
    again = fit(X, y, **options)
    assert is_separated(X, y) == (again.certificate_.claim == CLAIM)


def test_without_an_intercept():
    X = np.array([[1.0], [2.0], [3.0], [4.0]])
    y = np.array([0, 0, 1, 1])
    assert fit(X, y).certificate_.claim == CLAIM
    alone = fit(X, y, fit_intercept=False)
    assert alone.certificate_.holds
    assert fit(X - 2.5, y, fit_intercept=False).certificate_.claim == CLAIM


def test_with_a_penalty_nothing_is_said():
    X, y = COMPLETE
    for options in ({}, {"C": 1e6}, {"l1_ratio": 1.0}):
        model = LogisticRegression(**options).fit(X, y)
        assert model.certificate_.holds
        assert not hasattr(model, "separating_direction_")


# --- against a programme of the test's own -----------------------------------------------------


@given(
    seed=st.integers(0, 2**32 - 1),
    n=st.integers(4, 14),
    d=st.integers(1, 3),
    k=st.integers(2, 3),
    intercept=st.booleans(),
    reference=st.booleans(),
)
def test_found_exactly_when_it_is_there(seed, n, d, k, intercept, reference):
    """Small whole numbers, so that ties and rows on the boundary are common."""
    rng = np.random.default_rng(seed)
    X = rng.integers(-2, 3, size=(n, d)).astype(float)
    y = rng.integers(0, k, n)
    y[:k] = np.arange(k)
    options = {"fit_intercept": intercept}
    if reference:
        options["reference_class"] = k - 1
    model = fit(X, y, **options)
    truth = is_separated(X, y, intercept)
    assert (model.certificate_.claim == CLAIM) == truth
    assert model.certificate_.holds == (not truth)
    if truth:
        found = margins(model, X, y)
        assert found.min() >= -1e-8 * found.max()


def test_every_labelling_of_four_points():
    X = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])
    for labels in itertools.product([0, 1], repeat=4):
        if len(set(labels)) == 2:
            model = fit(X, np.array(labels))
            # Only the two diagonals are not separated.
            assert (model.certificate_.claim == CLAIM) == (
                labels not in [(0, 1, 1, 0), (1, 0, 0, 1)]
            )


# --- many rows, sparse rows ------------------------------------------------------------------


def test_rows_beyond_the_programme(monkeypatch):
    monkeypatch.setattr(separation, "MOST_CELLS", 10)
    rng = np.random.default_rng(0)
    X = rng.normal(size=(500, 3))
    model = fit(X, X @ [1.0, 2.0, -1.0] + 0.3 > 0)
    assert model.certificate_.claim == CLAIM
    assert margins(model, X, X @ [1.0, 2.0, -1.0] + 0.3 > 0).min() >= -1e-9


def test_many_rows():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(100_000, 3))
    y = X @ [1.0, 2.0, -1.0] + 0.3 > 0
    model = fit(X, y)
    assert model.certificate_.claim == CLAIM
    found = margins(model, X, y)
    assert found.min() >= -1e-9 * found.max()
    y[7] = ~y[7]
    once = fit(X, y)
    assert once.certificate_.claim != CLAIM or margins(once, X, y).min() >= -1e-9


def test_sparse_rows_and_weights():
    rng = np.random.default_rng(2)
    dense = rng.normal(size=(200, 5)) * (rng.random((200, 5)) < 0.4)
    y = dense @ [1.0, -1.0, 2.0, 0.0, 0.5] > 0.01
    model = fit(sparse.csr_array(dense), y)
    assert model.certificate_.claim == CLAIM
    assert margins(model, dense, y).min() >= -1e-9
    wrong, weight = y.copy(), np.ones(200)
    wrong[:3], weight[:3] = ~y[:3], 0.0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = LogisticRegression(C=np.inf).fit(dense, wrong, sample_weight=weight)
    assert model.certificate_.claim == CLAIM


def test_units_do_not_matter():
    rng = np.random.default_rng(3)
    X = rng.normal(size=(60, 2))
    y = X @ [1.0, 1.0] > 0.2
    for scale, shift in ((1e8, 1e6), (1e-8, 0.0), (1.0, 1e6)):
        moved = X * [scale, 1.0] + [shift * scale, 0.0]
        assert fit(moved, y).certificate_.claim == CLAIM
