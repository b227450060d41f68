"""Losses of classes: derivatives by exact arithmetic and by differences, and no overflow."""

from __future__ import annotations

from decimal import Decimal, localcontext

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from suffice.linear.solvers.losses import Logistic, Softmax, Squared, of_classes

ETAS = [0.0, 1e-300, 1e-9, 0.3, 1.0, 5.0, 36.0, 37.0, 40.0, 100.0, 300.0, 700.0]
LOSSES = {
    "logistic": Logistic(),
    "softmax": Softmax(4),
    "reference first": Softmax(4, 0),
    "reference inside": Softmax(4, 2),
    "squares": Squared(3),
}


def targets(loss, n, rng):
    if isinstance(loss, Squared):
        return rng.normal(size=(n, loss.n_targets))
    return rng.integers(0, getattr(loss, "n_classes", 2), n).astype(float)


def decimal_softmax(eta, code):
    """Loss, probabilities less 1 for the class, and second derivatives, to 800 digits."""
    with localcontext() as context:
        context.prec, context.Emin, context.Emax = 800, -(10**8), 10**8
        powers = [Decimal(e).exp() for e in eta]
        total = sum(powers)
        p = [power / total for power in powers]
        value = total.ln() - Decimal(eta[code])
        first = [q - (k == code) for k, q in enumerate(p)]
        second = [[p[k] * ((k == j) - p[j]) for j in range(len(p))] for k in range(len(p))]
    return value, first, second


# --- exact ------------------------------------------------------------------------------------


@pytest.mark.parametrize("y", [0.0, 1.0])
@pytest.mark.parametrize("sign", [1.0, -1.0])
@pytest.mark.parametrize("size", ETAS)
def test_two_classes_to_the_last_digits(size, sign, y):
    """Relative errors: small losses and probabilities keep their digits."""
    eta = sign * size
    found = Logistic()(np.array([y]), np.array([[eta]]), 2)
    value, first, second = decimal_softmax([0.0, eta], int(y))
    # Where log(1 + e^η) and η cancel, what is left is as small as e^−η but its error is that of η.
    assert found.value[0] == pytest.approx(float(value), rel=4e-15, abs=2e-16 * size)
    assert found.gradient[0, 0] == pytest.approx(float(first[1]), rel=4e-15, abs=0)
    assert found.hessian[0, 0, 0] == pytest.approx(float(second[1][1]), rel=4e-15, abs=0)
    log_two = Logistic().probabilities(np.array([[eta]]))[:, 0]
    exact = [float(first[0] + (y == 0)), float(first[1] + (y == 1))]
    np.testing.assert_allclose(log_two, exact, rtol=4e-15, atol=0)


@pytest.mark.parametrize("code", range(3))
@pytest.mark.parametrize("size", ETAS)
def test_three_classes_against_exact_arithmetic(size, code):
    eta = [size, -0.5, -size / 2]
    value, first, second = decimal_softmax(eta, code)
    column, y = np.array(eta)[:, None], np.array([float(code)])
    found = Softmax(3)(y, column, 2)
    assert found.value[0] == pytest.approx(float(value), rel=4e-15, abs=4e-16 * (1 + size))
    np.testing.assert_allclose(found.gradient[:, 0], [float(v) for v in first], rtol=0, atol=4e-16)
    exact = [[float(v) for v in row] for row in second]
    np.testing.assert_allclose(found.hessian[:, :, 0], exact, rtol=0, atol=4e-16)
    np.testing.assert_allclose(
        Softmax(3).probabilities(column)[:, 0],
        [float(v + (k == code)) for k, v in enumerate(first)],
        rtol=4e-15,
        atol=1e-320,
    )


# --- differences ------------------------------------------------------------------------------


@pytest.mark.parametrize("loss", LOSSES.values(), ids=LOSSES)
@given(seed=st.integers(0, 2**32 - 1), size=st.sampled_from([0.1, 1.0, 5.0]))
@settings(max_examples=15)
def test_derivatives_are_those_of_the_loss(loss, seed, size):
    rng = np.random.default_rng(seed)
    y, eta = targets(loss, 5, rng), size * rng.normal(size=(loss.n_predictors, 5))
    found, h = loss(y, eta, 2), 1e-5
    for k in range(loss.n_predictors):
        shift = np.zeros_like(eta)
        shift[k] = h
        up, down = loss(y, eta + shift, 1), loss(y, eta - shift, 1)
        slope = (up.value - down.value) / (2 * h)
        np.testing.assert_allclose(found.gradient[k], slope, rtol=0, atol=1e-9)
        bend = (up.gradient - down.gradient) / (2 * h)
        np.testing.assert_allclose(found.hessian[k], bend, rtol=0, atol=1e-9)


@pytest.mark.parametrize("loss", LOSSES.values(), ids=LOSSES)
def test_each_order_gives_the_same_and_no_more(loss):
    rng = np.random.default_rng(0)
    y, eta = targets(loss, 7, rng), rng.normal(size=(loss.n_predictors, 7))
    before = eta.copy()
    whole = loss(y, eta, 2)
    for order in (0, 1):
        part = loss(y, eta, order)
        np.testing.assert_array_equal(part.value, whole.value)
        assert part.hessian is None
        assert (part.gradient is None) == (order == 0)
        if order:
            np.testing.assert_array_equal(part.gradient, whole.gradient)
    np.testing.assert_array_equal(eta, before)
    assert whole.hessian.shape == (loss.n_predictors, loss.n_predictors, 7)
    np.testing.assert_array_equal(whole.hessian, whole.hessian.transpose(1, 0, 2))


@pytest.mark.parametrize("reference", range(4))
def test_a_reference_class_is_a_predictor_of_zero(reference):
    rng = np.random.default_rng(reference)
    eta, y = rng.normal(size=(4, 9)), rng.integers(0, 4, 9).astype(float)
    eta -= eta[reference]
    kept = np.delete(np.arange(4), reference)
    whole, part = Softmax(4)(y, eta, 2), Softmax(4, reference)(y, eta[kept], 2)
    np.testing.assert_array_equal(part.value, whole.value)
    np.testing.assert_array_equal(part.gradient, whole.gradient[kept])
    np.testing.assert_array_equal(part.hessian, whole.hessian[np.ix_(kept, kept)])
    p = Softmax(4, reference).probabilities(eta[kept])
    np.testing.assert_array_equal(p, Softmax(4).probabilities(eta))
    assert Softmax(4).symmetric
    assert not Softmax(4, reference).symmetric


def test_two_classes_are_a_softmax_with_a_reference():
    rng = np.random.default_rng(1)
    y, eta = rng.integers(0, 2, 20).astype(float), rng.normal(size=(1, 20))
    for a, b in zip(Logistic()(y, eta, 2), Softmax(2, 0)(y, eta, 2), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-13, atol=1e-15)


def test_a_share_of_successes_is_a_mixture_of_both():
    eta = np.linspace(-4, 4, 9)[None]
    ones, zeros = Logistic()(np.ones(9), eta, 2), Logistic()(np.zeros(9), eta, 2)
    mixed = Logistic()(np.full(9, 0.25), eta, 2)
    for m, one, zero in zip(mixed, ones, zeros, strict=True):
        np.testing.assert_allclose(m, 0.25 * one + 0.75 * zero, rtol=1e-14, atol=1e-16)


# --- no overflow ------------------------------------------------------------------------------


@pytest.mark.parametrize("size", [1e3, 1e16, 1e100, 1e300])
@pytest.mark.parametrize("loss", [Logistic(), Softmax(3), Softmax(3, 1)], ids=str)
def test_huge_predictors_do_not_overflow(loss, size):
    rng = np.random.default_rng(0)
    eta = size * rng.choice([-1.0, 1.0, 0.5], size=(loss.n_predictors, 50))
    y = targets(loss, 50, rng)
    with np.errstate(all="raise", under="ignore"):
        found = loss(y, eta, 2)
    for part in found:
        assert np.isfinite(part).all()
    everyone = loss.all_predictors(eta)
    lost = everyone.max(axis=0) - everyone[y.astype(int), np.arange(50)]
    ties = np.log((everyone == everyone.max(axis=0)).sum(axis=0))
    np.testing.assert_allclose(found.value, lost + ties, rtol=1e-15, atol=1e-200)
    assert np.abs(found.gradient).max() <= 1


def test_only_losses_of_classes_have_probabilities():
    assert of_classes(Logistic()) == Logistic()
    with pytest.raises(TypeError, match="loss of classes"):
        of_classes(Squared())
