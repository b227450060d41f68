"""The variance of an average: known parts, the identity with what is measured, bad input."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from suffice.theory import ensemble_parts, ensemble_variance


@pytest.mark.parametrize("n", [1, 2, 5])
@pytest.mark.parametrize("rho", [0.0, 0.3, 1.0, "least"])
def test_formula_is_the_quadratic_form(rho, n):
    """1ᵀ Σ 1 / n², with the members' covariance matrix written out."""
    rho = -1 / max(n - 1, 1) if rho == "least" else rho
    covariance = 2.5 * (rho * np.ones((n, n)) + (1 - rho) * np.eye(n))
    expected = covariance.sum() / n**2
    found = ensemble_variance(rho, 2.5, n)
    assert isinstance(found, float)
    assert found >= 0
    assert found == pytest.approx(expected, abs=1e-15)


def test_arrays_broadcast():
    rho, n = np.array([[0.0], [0.5]]), np.array([1, 4, 100, np.inf])
    found = ensemble_variance(rho, 8.0, n)
    assert found.shape == (2, 4)
    assert found[0].tolist() == pytest.approx([8.0, 2.0, 0.08, 0.0])
    assert found[1].tolist() == pytest.approx([8.0, 5.0, 4.04, 4.0])


def test_identity_and_pairs():
    """For all members it is the mean's variance; the correlation is that of all pairs, pooled."""
    rng = np.random.default_rng(0)
    f = 1e6 + rng.normal(size=(7, 4, 3)) + rng.normal(size=(7, 1, 3)) * [1.0, 2.0, 3.0]
    rho, variance = ensemble_parts(f)
    assert variance == pytest.approx(f.var(axis=0, ddof=1).mean(), rel=1e-9)
    pairs = [
        np.cov(f[:, i, p], f[:, j, p])[0, 1] for i, j in combinations(range(4), 2) for p in range(3)
    ]
    assert rho * variance == pytest.approx(np.mean(pairs), rel=1e-9)
    measured = f.mean(axis=1).var(axis=0, ddof=1).mean()
    assert ensemble_variance(rho, variance, 4) == pytest.approx(measured, rel=1e-9)


@pytest.mark.parametrize("rho", [0.0, 0.2, 0.8])
def test_known_parts(rho):
    """Bias and spread over 400 experiments, small enough for biased estimators to be seen."""
    rng, (R, m, P), sigma2, E = np.random.default_rng(1), (4, 3, 5), 2.0, 400
    found = []
    for _ in range(E):
        shared, own = rng.normal(size=(R, 1, P)), rng.normal(size=(R, m, P))
        f = np.sqrt(sigma2) * (np.sqrt(rho) * shared + np.sqrt(1 - rho) * own)
        found.append(ensemble_parts(f))
    correlation, variance = np.array(found).T
    for values, truth in ((variance, sigma2), (correlation * variance, rho * sigma2)):
        assert abs(values.mean() - truth) < 4 * values.std() / np.sqrt(E)


def test_extremes():
    same = np.repeat(np.random.default_rng(2).normal(size=(5, 1, 2)), 3, axis=1)
    assert ensemble_parts(same).correlation == pytest.approx(1.0)
    assert ensemble_parts(same).correlation <= 1.0
    opposite = same[:, :2] * np.array([[1.0], [-1.0]])
    assert ensemble_parts(opposite).correlation == -1.0
    assert ensemble_variance(*ensemble_parts(opposite), 2) == 0.0
    constant = np.broadcast_to([[0.1], [0.7]], (3, 2, 1))
    assert ensemble_parts(constant) == (0.0, 0.0)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((0.5, -1.0, 3), "variance"),
        ((0.5, np.nan, 3), "variance"),
        ((0.5, 1.0, 0), "n is 0"),
        ((0.5, 1.0, [1, 2.5]), "n is"),
        ((1.1, 1.0, 3), "correlation"),
        ((np.nan, 1.0, 3), "correlation"),
        ((-0.6, 1.0, 3), "correlation"),
        ((-0.1, 1.0, np.inf), "correlation"),
    ],
)
def test_bad_formula(arguments, message):
    with pytest.raises(ValueError, match=message):
        ensemble_variance(*arguments)


@pytest.mark.parametrize(
    ("predictions", "message"),
    [
        (np.zeros((4, 3)), "repetitions, members, points"),
        (np.zeros((1, 3, 2)), "at least"),
        (np.zeros((4, 1, 2)), "at least"),
        (np.zeros((4, 3, 0)), "at least"),
        (np.full((4, 3, 2), np.nan), "finite"),
    ],
)
def test_bad_predictions(predictions, message):
    with pytest.raises(ValueError, match=message):
        ensemble_parts(predictions)
