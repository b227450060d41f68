"""The objective: dense, sparse and naive sums agree; products with the Hessian; the penalty."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from suffice.linear.solvers import objective as module
from suffice.linear.solvers.losses import Logistic, Softmax, Squared
from suffice.linear.solvers.objective import (
    KeptCurvatures,
    Objective,
    ScaledColumns,
    Target,
    present,
)
from suffice.sources import Block
from suffice.statistics.curvature import Curvature, weighted_gram

LOSSES = {"logistic": Logistic(), "softmax": Softmax(3), "reference": Softmax(3, 1)}
each_loss = pytest.mark.parametrize("loss", LOSSES.values(), ids=LOSSES)
N, D = 40, 3


def make(
    loss, seed=0, *, intercept=True, centred=True, weights="some zero", offset=False, kept=None
):
    """An objective over a few columns, a block of rows and a point."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(N, D)) * 3 + 1
    X[rng.random((N, D)) < 0.4] = 0.0
    y = rng.integers(0, getattr(loss, "n_classes", 2), N).astype(float)
    weight = {
        "none": None,
        "some zero": rng.integers(0, 3, N).astype(float),
        "real": rng.uniform(0.1, 4, N),
    }[weights]
    added = 0.7 * y - 0.3 if offset else None
    d = D if kept is None else len(kept)
    centre = rng.normal(size=d) if centred and intercept else np.zeros(d)
    columns = ScaledColumns(centre, rng.uniform(0.5, 3, d), intercept, kept, D)
    k, p = loss.n_predictors, columns.n_parameters

    def target(block):
        return Target(block.y, block.weight, 0.7 * block.y - 0.3 if offset else None)

    l2, l1 = rng.uniform(size=(2, k, p))
    at = rng.normal(size=(k, p))
    return Objective(loss, columns, l2, l1, target), Block(X, y, weight, 0), at, added


def naive(objective, block, at, added):
    """Loss, gradient and Hessian, row by row."""
    columns, (k, p) = objective.columns, at.shape
    value, gradient, hessian = 0.0, np.zeros((k, p)), np.zeros((k, p, k, p))
    for i in range(block.n_rows):
        w = 1.0 if block.weight is None else block.weight[i]
        x = block.X[i] if columns.kept is None else block.X[i, columns.kept]
        a = (x - columns.centre) / columns.scale
        a = np.append(a, 1.0) if columns.intercept else a
        eta = at @ a + (0.0 if added is None else added[i])
        found = objective.loss(block.y[[i]], eta[:, None], 2)
        value += w * found.value[0]
        gradient += w * np.outer(found.gradient[:, 0], a)
        hessian += w * np.einsum("kj,a,b->kajb", found.hessian[:, :, 0], a, a)
    return value, gradient, hessian


def assert_close(found, expected):
    np.testing.assert_allclose(found, expected, rtol=1e-11, atol=1e-11)


# --- sums over rows ----------------------------------------------------------------------------


@each_loss
@pytest.mark.parametrize("weights", ["none", "some zero", "real"])
@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("offset", [False, True])
def test_dense_is_naive(loss, weights, intercept, offset):
    objective, block, at, added = make(loss, 1, intercept=intercept, weights=weights, offset=offset)
    value, gradient, hessian = naive(objective, block, at, added)
    for order in (0, 1, 2):
        found = objective.summarize(block, at, order)
        assert found.loss == pytest.approx(value, rel=1e-13)
        assert found.weight == (N if block.weight is None else block.weight.sum())
        assert_close(found.gradient, gradient if order else np.zeros((len(at), 0)))
        if order == 2:
            assert_close(found.hessian, hessian)


@each_loss
@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("offset", [False, True])
def test_sparse_is_dense(loss, intercept, offset):
    options = {"intercept": intercept, "centred": False, "offset": offset}
    objective, block, at, _ = make(loss, 2, **options)
    thin = Block(sparse.csr_array(block.X), block.y, block.weight, 0)
    for order in (0, 1, 2):
        a, b = (objective.summarize(rows, at, order) for rows in (block, thin))
        assert a.loss == pytest.approx(b.loss, rel=1e-13)
        assert_close(b.gradient, a.gradient)
        assert_close(b.hessian, a.hessian)
    along = np.random.default_rng(5).normal(size=at.shape)
    assert_close(
        objective.hessian_product(thin, at, along, KeptCurvatures()).gradient,
        objective.hessian_product(block, at, along, KeptCurvatures()).gradient,
    )
    assert_close(objective.diagonal(thin, at).gradient, objective.diagonal(block, at).gradient)


@each_loss
@pytest.mark.parametrize("offset", [False, True])
@pytest.mark.parametrize("weights", ["none", "some zero"])
def test_products_with_the_hessian_without_a_hessian(loss, weights, offset):
    objective, block, at, added = make(loss, 3, weights=weights, offset=offset)
    hessian = naive(objective, block, at, added)[2]
    kept = KeptCurvatures()
    for seed in range(3):
        along = np.random.default_rng(seed).normal(size=at.shape)
        bent = objective.hessian_product(block, at, along, kept).gradient
        assert_close(bent, np.einsum("kajb,jb->ka", hessian, along))
    assert len(kept) == 1  # what depends on the point alone is computed once
    diagonal = np.diagonal(hessian.reshape(at.size, at.size)).reshape(at.shape)
    assert_close(objective.diagonal(block, at).gradient, diagonal)


def test_what_is_kept_between_products_is_bounded(monkeypatch):
    monkeypatch.setattr(module, "MOST_KEPT", 0)
    objective, block, at, added = make(Softmax(3), 3)
    kept, along = KeptCurvatures(), np.ones_like(at)
    hessian = naive(objective, block, at, added)[2]
    for _ in range(2):
        bent = objective.hessian_product(block, at, along, kept).gradient
        assert_close(bent, np.einsum("kajb,jb->ka", hessian, along))
    assert not kept


@pytest.mark.parametrize("make_rows", [np.asarray, sparse.csr_array], ids=["dense", "sparse"])
@each_loss
def test_chunks_are_one_block(loss, make_rows, monkeypatch):
    objective, block, at, _ = make(loss, 4, centred=False)
    block = Block(
        make_rows(np.tile(block.X, (10, 1))), np.tile(block.y, 10), np.tile(block.weight, 10), 0
    )
    whole = objective.summarize(block, at, 2)
    monkeypatch.setattr(module, "CHUNK_CELLS", 1)
    parts = objective.summarize(block, at, 2)
    assert parts.loss == pytest.approx(whole.loss, rel=1e-13)
    assert_close(parts.gradient, whole.gradient)
    assert_close(parts.hessian, whole.hessian)


@given(seed=st.integers(0, 2**32 - 1), cut=st.integers(0, N))
def test_blocks_merge_into_the_whole(seed, cut):
    objective, block, at, _ = make(Softmax(3), seed)
    parts = [
        Block(block.X[rows], block.y[rows], block.weight[rows], start)
        for rows, start in ((slice(0, cut), 0), (slice(cut, None), cut))
    ]
    merged = Curvature.merge([objective.summarize(part, at, 2) for part in parts])
    whole = objective.summarize(block, at, 2)
    assert merged.loss == pytest.approx(whole.loss, rel=1e-12)
    assert_close(merged.gradient, whole.gradient)
    assert_close(merged.hessian, whole.hessian)
    undone = merged.subtract(objective.summarize(parts[0], at, 2))
    assert_close(undone.gradient, objective.summarize(parts[1], at, 2).gradient)


@each_loss
def test_rows_of_weight_zero_may_hold_anything(loss):
    objective, block, at, _ = make(loss, 5)
    X = block.X.copy()
    X[block.weight == 0] = np.nan
    holes = Block(X, block.y, block.weight, 0)
    along = np.ones_like(at)
    for function in (
        lambda rows: objective.summarize(rows, at, 2).hessian,
        lambda rows: objective.hessian_product(rows, at, along, KeptCurvatures()).gradient,
        lambda rows: objective.diagonal(rows, at).gradient,
    ):
        np.testing.assert_array_equal(function(holes), function(block))
    assert present(block).n_rows == (block.weight > 0).sum()
    unweighted = Block(block.X, block.y, None, 0)
    assert present(unweighted) is unweighted


def test_some_columns_only():
    objective, block, at, added = make(Logistic(), 6, kept=np.array([2, 0]))
    value, gradient, _ = naive(objective, block, at, added)
    found = objective.summarize(block, at, 1)
    assert found.loss == pytest.approx(value)
    assert_close(found.gradient, gradient)
    coef, _ = objective.columns.to_user(at)
    assert coef.shape == (1, D)
    assert coef[0, 1] == 0


# --- points out of reach ---------------------------------------------------------------------


def test_an_overflow_at_a_point_is_an_infinite_loss():
    objective, block, at, _ = make(Squared(1), 7)
    block = Block(block.X, block.y[:, None], block.weight, 0)
    with np.errstate(all="raise", over="ignore", invalid="ignore"):
        assert objective.summarize(block, at * 1e250, 1).loss == np.inf


def test_a_hessian_that_overflows_is_an_infinite_loss():
    objective, block, at, _ = make(Logistic(), 7, centred=False)
    block = Block(block.X * 1e200, block.y, block.weight, 0)
    assert objective.summarize(block, 0 * at, 2).loss == np.inf


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("make_rows", [np.asarray, sparse.csr_array], ids=["dense", "sparse"])
def test_rows_that_are_not_finite_are_refused(bad, make_rows):
    objective, block, at, _ = make(Logistic(), 8, weights="none", centred=False)
    X = block.X.copy()
    X[3, 1] = bad
    with pytest.raises(FloatingPointError, match="not finite"):
        objective.summarize(Block(make_rows(X), block.y, None, 0), at, 1)


# --- parameters and penalties ------------------------------------------------------------------


@pytest.mark.parametrize("intercept", [True, False])
def test_parameters_there_and_back(intercept):
    objective, block, at, _ = make(Softmax(3), 9, intercept=intercept)
    coef, constant = objective.columns.to_user(at)
    assert_close(objective.columns.from_user(coef, constant), at)
    centred = (block.X - objective.columns.centre) / objective.columns.scale
    eta = centred @ at[:, :D].T + (at[:, -1] if intercept else 0.0)
    assert_close(block.X @ coef.T + constant, eta)


def test_value_gradient_and_hessian_with_the_penalty():
    objective, block, at, added = make(Softmax(3, 0), 10)
    value, gradient, hessian = naive(objective, block, at, added)
    found = objective.summarize(block, at, 2)
    penalty = (objective.l2 * at**2).sum() / 2 + (objective.l1 * np.abs(at)).sum()
    assert objective.value(found, at) == pytest.approx(value + penalty)
    assert_close(objective.gradient(found, at), gradient + objective.l2 * at)
    expected = hessian.reshape(at.size, at.size) + np.diag(objective.l2.ravel())
    assert_close(objective.hessian(found), expected)
    half = objective.scaled(0.5)
    assert half.penalty(at) == pytest.approx(penalty / 2)


def test_violations_of_the_conditions_of_a_minimum():
    objective = make(Logistic(), 11)[0]
    l1 = objective.l1
    zero, point = np.zeros_like(l1), np.ones_like(l1)
    np.testing.assert_array_equal(objective.violation(0.9 * l1, zero), zero)
    assert_close(objective.violation(1.5 * l1, zero), 0.5 * l1)
    assert_close(objective.violation(-l1, point), zero)
    assert_close(objective.violation(l1, point), 2 * l1)


def test_the_mean_over_classes_is_held_where_nothing_else_holds_it():
    objective, block, at, _ = make(Softmax(3), 12)
    bare = Objective(
        objective.loss, objective.columns, 0 * objective.l2, 0 * objective.l1, objective.target
    )
    hessian = bare.hessian(bare.summarize(block, at, 2))
    assert np.linalg.eigvalsh(hessian).min() > 1e-6
    gradient = bare.summarize(block, at, 1).gradient
    step = np.linalg.solve(hessian, gradient.ravel()).reshape(at.shape)
    assert_close(step.sum(axis=0), np.zeros(at.shape[1]))
    assert_close(bare.balanced(at).sum(axis=0), np.zeros(at.shape[1]))
    assert make(Softmax(3, 1))[0].balanced(at[:2]) is not None


@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("h", ["equal", "equal and negative", "positive", "of both signs"])
def test_weighted_products_of_columns(h, intercept):
    rng = np.random.default_rng(0)
    X, some = rng.normal(size=(N, D)), rng.normal(size=N)
    each = {
        "equal": np.full(N, 0.3),
        "equal and negative": np.full(N, -0.3),
        "positive": np.abs(some),
        "of both signs": some,
    }[h]
    rows = np.column_stack([X, np.ones(N)]) if intercept else X
    np.testing.assert_allclose(
        weighted_gram(X, intercept, each), (rows.T * each) @ rows, rtol=1e-13, atol=1e-13
    )
    assert not weighted_gram(X[:0], intercept, each[:0]).any()
