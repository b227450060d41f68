"""Missing cells under full and tied covariances: naive EM, exact arithmetic, threads, collapse."""

from __future__ import annotations

import math
import warnings
from fractions import Fraction
from itertools import pairwise, product

import numpy as np
import pandas as pd
import pytest
from scipy.special import logsumexp
from scipy.stats import multivariate_normal
from sklearn.exceptions import ConvergenceWarning

import suffice
from suffice import GaussianMixture
from suffice.mixtures.gaussian.components import GaussianComponents
from suffice.mixtures.gaussian.missing import by_pattern

KINDS = ["full", "tied"]
each_kind = pytest.mark.parametrize("kind", KINDS)


def settled(model, *args):
    """A fit that need not come to its end."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return model.fit(*args)


def holed(rng, n, d, share=0.2):
    """Rows of two correlated clusters, with gaps; some are whole, and one has no cell."""
    X = rng.normal(size=(n, d)) @ rng.normal(size=(d, d)) + 3.0 * (rng.random(n) < 0.4)[:, None]
    X[rng.random(X.shape) < share] = np.nan
    X[0] = np.nan
    return X


def naive_step(X, weight, weights, means, matrices, kind):
    """One step of EM with gaps, row by row, and the mean log-likelihood before it."""
    k, d = means.shape
    N, first, second, total = np.zeros(k), np.zeros((k, d)), np.zeros((k, d, d)), 0.0
    for row, w in zip(X, weight, strict=True):
        o = ~np.isnan(row)
        logs, filled, spread = np.log(weights), means.copy(), np.array(matrices)
        for c in range(k if o.any() else 0):
            C, m = matrices[c], means[c]
            gain = C[:, o] @ np.linalg.inv(C[np.ix_(o, o)])
            filled[c] += gain @ (row[o] - m[o])
            spread[c] -= gain @ C[o]
            logs[c] += multivariate_normal(m[o], C[np.ix_(o, o)]).logpdf(row[o])
        r = w * np.exp(logs - logsumexp(logs))
        total += w * logsumexp(logs)
        N += r
        first += r[:, None] * filled
        second += r[:, None, None] * (filled[:, :, None] * filled[:, None, :] + spread)
    means = first / N[:, None]
    scatter = second - N[:, None, None] * means[:, :, None] * means[:, None, :]
    tied = np.broadcast_to(scatter.sum(axis=0) / N.sum(), scatter.shape)
    new = tied if kind == "tied" else scatter / N[:, None, None]
    return N / N.sum(), means, new, total / weight.sum()


@each_kind
@pytest.mark.compiled
def test_many_patterns_are_those_of_the_textbook(kind):
    """Two steps at 500 × 12, with hundreds of patterns, of which some occur more than once."""
    rng = np.random.default_rng(7)
    X, weight = holed(rng, 500, 12), rng.uniform(0.2, 3.0, 500)
    assert len(by_pattern(np.isnan(X))[1]) > 250
    root = np.eye(12) + 0.3 * rng.normal(size=(2, 12, 12))
    precisions = root @ np.swapaxes(root, 1, 2)
    if kind == "tied":
        precisions[1] = precisions[0]
    begin = {
        "weights_init": np.array([0.3, 0.7]),
        "means_init": np.asfortranarray(np.stack([np.nanmean(X, axis=0), np.zeros(12)])),
        "precisions_init": precisions[0] if kind == "tied" else precisions,
    }
    options = {"covariance_type": kind, "reg_covar": 0, "tol": 0, "max_iter": 2}
    model = settled(GaussianMixture(2, **begin, **options), np.asfortranarray(X), None, weight)
    found = (begin["weights_init"], begin["means_init"], np.linalg.inv(precisions))
    for step in range(2):
        *found, bound = naive_step(X, weight, *found, kind)
        assert model.lower_bounds_[step] == pytest.approx(bound, rel=1e-10)
    np.testing.assert_allclose(model.weights_, found[0], rtol=1e-9)
    np.testing.assert_allclose(model.means_, found[1], rtol=1e-8, atol=1e-10)
    expected = found[2][0] if kind == "tied" else found[2]
    np.testing.assert_allclose(model.covariances_, expected, rtol=1e-8, atol=1e-9)


def exact_inverse(A):
    """The inverse and the determinant of a matrix of fractions, by elimination."""
    n = len(A)
    A, det = [[*row, *(Fraction(i == j) for j in range(n))] for i, row in enumerate(A)], Fraction(1)
    for i in range(n):
        det *= A[i][i]
        A[i] = [value / A[i][i] for value in A[i]]
        for j in range(n):
            if j != i:
                A[j] = [a - A[j][i] * b for a, b in zip(A[j], A[i], strict=True)]
    return np.array([row[n:] for row in A]).reshape(n, n), det


@pytest.mark.parametrize("narrow", [1.0, 1e-5, 1e-9])
def test_columns_that_nearly_depend_keep_their_digits(narrow):
    """All patterns of four columns, against fractions: Σ itself is singular to float64."""
    L = np.array([[2.0, 0, 0, 0], [1, 1, 0, 0], [3, 1, 1, 0], [-1, 2, 0.5, 0.5]])
    L[2, 2] *= narrow
    x = L @ np.array([0.5, -1.0, 2.0, 0.3])
    near = GaussianComponents("full", np.zeros((1, 4)), L[None], np.zeros(4), np.ones(4))
    exact = np.vectorize(Fraction)(L)
    whitening, _ = exact_inverse(exact)
    covariance = exact @ exact.T
    for pattern in product([False, True], repeat=4):
        o = np.array(pattern)
        if o.all():
            continue
        logs, summarize = near.expected(np.where(o, x, np.nan)[None])
        moments = summarize(np.ones((1, 1)))
        inverse, det = exact_inverse(covariance[np.ix_(o, o)])
        b = np.vectorize(Fraction, otypes=[object])(x[o])
        gain = covariance[:, o] @ inverse
        y = whitening @ (gain @ b) if o.any() else np.full(4, Fraction(0))
        left = covariance - gain @ covariance[o] if o.any() else covariance
        second = y[:, None] * y[None, :] + whitening @ left @ whitening.T
        square = float(b @ inverse @ b) if o.any() else 0.0
        density = -0.5 * (square + math.log(det) + o.sum() * math.log(2 * math.pi))
        allowed = 50 * np.finfo(float).eps / narrow
        np.testing.assert_allclose(logs[0, 0], density, rtol=allowed, atol=allowed)
        np.testing.assert_allclose(moments.first[0], y.astype(float), atol=allowed)
        np.testing.assert_allclose(moments.second[0], second.astype(float), atol=2 * allowed)


@each_kind
@pytest.mark.compiled
def test_threads_and_files_give_the_same_bits_with_gaps(kind, tmp_path):
    X = holed(np.random.default_rng(0), 30_000, 5)
    pd.DataFrame(X, columns=list("abcde")).to_parquet(tmp_path / "a.parquet", row_group_size=7000)
    options = {"covariance_type": kind, "max_iter": 3, "tol": 0, "random_state": 0}
    models = [
        settled(GaussianMixture(2, n_jobs=jobs, **options), rows)
        for jobs, rows in ((1, X), (2, X), (4, X), (2, suffice.scan(tmp_path / "*.parquet")))
    ]
    for other in models[1:]:
        for name in ("weights_", "means_", "covariances_"):
            assert getattr(models[0], name).tobytes() == getattr(other, name).tobytes()


@each_kind
@pytest.mark.parametrize("noise", [0.0, 1e-12])
def test_a_column_that_others_determine_is_refused(kind, noise):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 4))
    X[:, 2] = X[:, 0] + X[:, 1] + noise * rng.normal(size=300)
    X[rng.random(X.shape) < 0.1] = np.nan
    model = GaussianMixture(2, covariance_type=kind, reg_covar=0, random_state=0)
    with pytest.raises(ValueError, match=r"covariance.* is singular"):
        settled(model, X)


def test_patterns_stand_together():
    missing = np.random.default_rng(0).random((400, 11)) < 0.15
    order, starts = by_pattern(missing)
    assert sorted(order) == list(range(400))
    groups = [missing[order[a:b]] for a, b in pairwise(starts)]
    assert all((group == group[0]).all() for group in groups)
    assert len(groups) == len(np.unique(missing, axis=0))
    assert not groups[0].any()
