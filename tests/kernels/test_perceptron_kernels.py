"""The perceptron's steps, against the rule as the notes state it, in exact and plain arithmetic."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from suffice.kernels.linear.perceptron import online_steps, shrunk, towards_zero

LAYOUTS = ("dense", "sparse")


def state(k, d):
    return {
        "v": np.zeros((k, d)),
        "intercept": np.zeros(k),
        "scale": np.ones(k),
        "done": np.zeros((k, d)),
        "due": np.zeros(k),
        "sizes": np.zeros((k, 2)),
        "mistakes": np.zeros(k, np.int64),
        "loss": np.zeros(k),
    }


def run(
    layout, X, codes, positive, rates=None, active=None, shrink=1.0, push=0.0, b=True, at=None,
    kernel=online_steps,
):  # fmt: skip
    k = len(positive)
    at = at or state(k, X.shape[1])
    rates = np.ones((k, 2)) if rates is None else rates
    active = np.ones(k, np.bool_) if active is None else active
    if layout == "sparse":
        X = sparse.csr_array(X)
        rows = X.data.astype(float), X.indices.astype(np.int64), X.indptr.astype(np.int64)
    else:
        data = np.ascontiguousarray(X, dtype=float).ravel()
        rows = data, np.zeros(0, np.int64), X.shape[1] * np.arange(len(X) + 1)
    costs = np.array([(1 - shrink) / 2, push])
    kernel(*rows, codes, np.asarray(positive), rates, active, shrink, push, costs, b, *at.values())
    return at


def naive(X, codes, positive, rates, exact=float):
    """θ ← θ + η (y − g(θ·x)) x on rows with a 1 appended, y and g in {0, 1}."""
    found = []
    for k, own in enumerate(positive):
        theta, mistakes = [exact(0)] * (X.shape[1] + 1), 0
        for x, code in zip(X.tolist(), codes.tolist(), strict=True):
            row = [exact(value) for value in (*x, 1)]
            z = sum((t * value for t, value in zip(theta, row, strict=True)), exact(0))
            y = 1 if code == own else 0
            g = (1 if z > 0 else 0) if y else (0 if z < 0 else 1)  # the boundary is wrong for both
            step = exact(rates[k][y]) * (y - g)
            theta = [t + step * value for t, value in zip(theta, row, strict=True)]
            mistakes += y != g
        found.append((theta, mistakes))
    return found


@given(seed=st.integers(0, 2**32 - 1), n=st.integers(0, 30), d=st.integers(0, 4))
def test_weights_and_mistakes_of_integers_are_exact(seed, n, d):
    rng = np.random.default_rng(seed)
    X = rng.integers(-3, 4, (n, d)).astype(float)
    codes = rng.integers(0, 3, n)
    rates = rng.integers(1, 4, (3, 2)).astype(float)
    expected = naive(X, codes, range(3), rates, Fraction)
    for layout in LAYOUTS:
        found = run(layout, X, codes, [0, 1, 2], rates)
        for k, (theta, mistakes) in enumerate(expected):
            assert [*found["v"][k], found["intercept"][k]] == theta
            assert found["mistakes"][k] == mistakes


@pytest.mark.parametrize("layout", LAYOUTS)
def test_the_loss_is_how_far_rows_were_on_the_wrong_side(layout):
    X = np.array([[1.0], [3.0], [-2.0], [5.0]])
    found = run(layout, X, np.array([1, 0, 0, 0]), [1])
    # (0, 0) → (1, 1) → wrong by 4 → (−2, 0) → wrong by 4 → (0, −1) → right
    assert found["v"].tolist() == [[0.0]]
    assert found["intercept"].tolist() == [-1.0]
    assert found["loss"].tolist() == [0.0 + 4.0 + 4.0]
    assert found["mistakes"].tolist() == [3]


def test_predictors_that_have_stopped_stay():
    X, codes = np.ones((5, 2)), np.array([0, 1, 0, 1, 0])
    found = run("dense", X, codes, [0, 1], active=np.array([True, False]), shrink=0.5, push=0.1)
    assert found["mistakes"][0] > 0
    assert found["mistakes"][1] == 0
    assert (found["v"][1] == 0).all()
    assert found["scale"][1] == 1
    assert run("dense", X, codes, [0], b=False)["intercept"] == [0.0]


def test_penalties_without_the_scale_trick():
    """w ← c w at every row, and the cumulative penalty on absolute values."""
    rng = np.random.default_rng(3)
    X, codes = rng.normal(size=(400, 3)), rng.integers(0, 2, 400)
    shrink, push = 0.9, 0.003
    w, b, u, q, loss = np.zeros(3), 0.0, 0.0, np.zeros(3), 0.0
    for x, code in zip(X, codes, strict=True):
        y = 1 if code == 1 else -1
        wrong = y * (x @ w + b) <= 0
        loss += max(0.0, -y * (x @ w + b)) + 0.05 * w @ w + push * np.abs(w).sum()
        w *= shrink
        if wrong:
            w += y * x
            b += y
        u += push
        before = w.copy()
        w = np.where(w > 0, np.maximum(0, w - (u + q)), np.minimum(0, w + (u - q)))
        q += w - before
    for layout in LAYOUTS:
        found = run(layout, X, codes, [1], shrink=shrink, push=push)
        assert found["scale"][0] > 1e-9  # was taken over by v on the way: 0.9^400 is far below
        np.testing.assert_allclose(found["v"][0] * found["scale"][0], w, rtol=1e-9)
        assert found["intercept"] == [b]
        np.testing.assert_allclose(found["loss"], [loss], rtol=1e-9)


def test_small_scales_are_taken_over():
    v = np.array([2.0, 4.0])
    sizes = np.array([20.0, 6.0])
    assert shrunk(v, 1.0, 0.5, sizes) == 0.5
    assert v.tolist() == [2.0, 4.0]
    assert sizes.tolist() == [20.0, 6.0]
    assert shrunk(v, 1.0, 0.0, sizes) == 1.0
    assert v.tolist() == sizes.tolist() == [0.0, 0.0]


def test_no_weight_crosses_zero():
    assert towards_zero(1.0, 1.0, 3.0, 0.0) == 0.0
    assert towards_zero(-1.0, 1.0, 3.0, 0.0) == 0.0
    assert towards_zero(1.0, 1.0, 0.25, 0.0) == 0.75
    assert towards_zero(-1.0, 0.5, 0.25, 0.0) == -0.5
    assert towards_zero(0.0, 1.0, 3.0, 0.0) == 0.0


@pytest.mark.compiled
@pytest.mark.parametrize("layout", LAYOUTS)
def test_compiled_bits_are_those_of_python(layout):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 5)) * (rng.random((200, 5)) < 0.6)
    codes = rng.integers(0, 3, 200)
    options = {"shrink": 0.99, "push": 1e-3}
    fast = run(layout, X, codes, [0, 1, 2], **options)
    slow = run(layout, X, codes, [0, 1, 2], **options, kernel=online_steps.python)
    assert all(fast[name].tobytes() == slow[name].tobytes() for name in fast)


def test_zeros_of_dense_rows_change_no_bit():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(300, 8)) * (rng.random((300, 8)) < 0.4)
    codes = rng.integers(0, 2, 300)
    dense, few = (run(layout, X, codes, [1]) for layout in LAYOUTS)
    assert all(dense[name].tobytes() == few[name].tobytes() for name in dense)
