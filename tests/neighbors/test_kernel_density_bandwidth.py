"""Bandwidths chosen by the likelihood of rows left out, against fits without those rows."""

from __future__ import annotations

import math
import warnings

import numpy as np
import pytest
from scipy.optimize import minimize_scalar
from sklearn.exceptions import ConvergenceWarning
from sklearn.neighbors import KernelDensity as Peer
from sklearn.utils.estimator_checks import check_estimator

import suffice
from suffice import KernelDensity
from suffice.neighbors.density.bandwidth import (
    hashed,
    left_out_likelihoods,
    reference_bandwidth,
    weight_of_others,
)
from suffice.neighbors.density.kernels import KERNELS
from suffice.statistics.rows.weighted import WeightedRows

NAMES = list(KERNELS)
RULES = ["leave-one-out", "held-out"]
BANDWIDTHS = np.array([0.6, 1.1, 3.0])


def rows(n=120, d=2, seed=0):
    rng = np.random.default_rng(seed)
    return rng, rng.normal(size=(n, d))


def by_fits(X, groups, name, bandwidths, weight=None):
    """A fit without each group of rows."""
    weight = np.ones(len(X)) if weight is None else weight
    out = []
    for h in bandwidths:
        total = 0.0
        for g in np.unique(groups):
            here = groups == g
            model = KernelDensity(kernel=name, bandwidth=h)
            model.fit(X[~here], sample_weight=weight[~here])
            total += weight[here] @ model.score_samples(X[here])
        out.append(total / weight.sum())
    return np.array(out)


# --- the likelihood ------------------------------------------------------------------------


@pytest.mark.parametrize("name", NAMES)
def test_leaving_out_one_row_after_the_other(name):
    _, X = rows(40)
    found = left_out_likelihoods(
        WeightedRows.summarize(X), KERNELS[name], BANDWIDTHS, np.arange(40), single=True
    )
    np.testing.assert_allclose(
        found, by_fits(X, np.arange(40), name, BANDWIDTHS), rtol=1e-12, atol=1e-13
    )


@pytest.mark.parametrize("name", NAMES)
def test_leaving_out_folds(name):
    rng, X = rows()
    weight, groups = rng.uniform(0.2, 3, size=120), rng.integers(0, 4, size=120)
    kept = WeightedRows.summarize(X, weight)
    found = left_out_likelihoods(kept, KERNELS[name], BANDWIDTHS, groups, single=False)
    expected = by_fits(X, groups, name, BANDWIDTHS, weight)
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-13)


LOPSIDED = [
    np.append(1.0, np.full(19, 1e-20)),
    np.append(1e-3, np.full(19, 3e-20)),
    np.append(np.full(19, 1e-310), 1.0),
    np.append([1e-300, 1e-310], np.full(18, 1.0)),
]


@pytest.mark.parametrize("weight", LOPSIDED, ids=["heavy", "light", "last", "two"])
@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("name", ["gaussian", "exponential"])
def test_one_row_may_outweigh_all_others(name, rule, weight):
    """What stays is added up, not left over."""
    X = np.random.default_rng(0).normal(size=(20, 1))
    model = KernelDensity(bandwidth=rule, kernel=name).fit(X, sample_weight=weight)
    assert model.certificate_.holds
    groups = np.arange(20) if rule == "leave-one-out" else hashed(X) % 5
    expected = by_fits(X, groups, name, [model.bandwidth_], weight)
    assert model.certificate_.log_likelihood == pytest.approx(expected[0], rel=1e-12)


def test_weight_of_others():
    rng = np.random.default_rng(0)
    groups = rng.integers(0, 6, size=500)
    for weight in (rng.uniform(size=500), np.append(np.full(499, 1e-30), 1e30), np.ones(500)):
        found = weight_of_others(weight, groups)
        for g, one in enumerate(found):
            assert one == pytest.approx(math.fsum(weight[groups != g]), rel=1e-14)


def test_scikit_learn_agrees():
    _, X = rows(60, 1)
    found = left_out_likelihoods(
        WeightedRows.summarize(X), KERNELS["gaussian"], np.array([0.4]), np.arange(60), single=True
    )
    expected = np.mean(
        [
            Peer(bandwidth=0.4).fit(np.delete(X, i, axis=0)).score_samples(X[i : i + 1])[0]
            for i in range(60)
        ]
    )
    assert found[0] == pytest.approx(expected, rel=1e-11)


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("name", ["gaussian", "epanechnikov"])
def test_a_weight_is_a_number_of_repetitions(rule, name):
    rng, X = rows(80)
    weight = rng.integers(1, 4, size=80)
    weighted = KernelDensity(bandwidth=rule, kernel=name).fit(X, sample_weight=weight)
    repeated = KernelDensity(bandwidth=rule, kernel=name).fit(np.repeat(X, weight, axis=0))
    assert weighted.bandwidth_ == pytest.approx(repeated.bandwidth_, rel=1e-10)
    ours, theirs = weighted.certificate_, repeated.certificate_
    assert ours.log_likelihood == pytest.approx(theirs.log_likelihood, rel=1e-11)


def test_folds_do_not_depend_on_the_order_of_rows():
    rng, X = rows(300, 3)
    X = X.round(1)
    codes = hashed(X)
    order = rng.permutation(300)
    np.testing.assert_array_equal(hashed(X[order]), codes[order])
    assert len(np.unique(codes)) == len(np.unique(X, axis=0))
    np.testing.assert_array_equal(hashed(np.array([[0.0, 1.0], [-0.0, 1.0]])), [0, 0])
    shares = np.bincount(hashed(rows(5000, 1)[1]) % 5)
    assert (shares == 1000).all()


# --- the choice ----------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["gaussian", "exponential"])
def test_the_maximum_is_found(name):
    _, X = rows(200, 1)
    kept, groups = WeightedRows.summarize(X), np.arange(200)

    def loss(log_h):
        h = np.exp([log_h])
        return -left_out_likelihoods(kept, KERNELS[name], h, groups, single=True)[0]

    best = minimize_scalar(loss, bounds=(np.log(0.01), np.log(10)), method="bounded")
    model = KernelDensity(bandwidth="leave-one-out", kernel=name).fit(X)
    assert model.certificate_.holds
    assert model.certificate_.log_likelihood == pytest.approx(-best.fun, abs=1e-4)
    assert model.bandwidth_ == pytest.approx(np.exp(best.x), rel=0.02)


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("name", NAMES)
def test_no_bandwidth_that_was_tried_is_better(rule, name):
    _, X = rows(150, 2)
    model = KernelDensity(bandwidth=rule, kernel=name).fit(X)
    assert model.trace_.step[0] == "weightedrows in float64"
    tried = np.array([float(step.removeprefix("bandwidth ")) for step in model.trace_.step[1:]])
    found = np.array(model.trace_.objective[1:])
    assert found.max() == model.certificate_.log_likelihood == model.trace_.objective[0]
    assert tried[found.argmax()] == pytest.approx(model.bandwidth_, rel=1e-5)
    assert tried.min() < model.bandwidth_ < tried.max()
    assert len(tried) >= 11
    assert model.certificate_.holds


@pytest.mark.parametrize("rule", RULES)
def test_far_from_the_reference_the_grid_grows(rule):
    """Tight groups far apart: the right bandwidth is a small part of the spread."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 1)) * 1e-5 + 1000 * rng.integers(0, 3, size=(200, 1))
    model = KernelDensity(bandwidth=rule).fit(X)
    assert model.certificate_.holds
    assert 1e-6 < model.bandwidth_ < 1e-5
    assert model.bandwidth_ < 1e-4 * reference_bandwidth(
        WeightedRows.summarize(X), KERNELS["gaussian"]
    )
    # An outlier needs windows that reach it.
    X = np.append(rng.normal(size=(50, 1)), [[1e4]], axis=0)
    model = KernelDensity(bandwidth=rule, kernel="epanechnikov").fit(X)
    assert np.isfinite(model.certificate_.log_likelihood)
    assert model.bandwidth_ > 9e3


@pytest.mark.parametrize("rule", RULES)
def test_candidates(rule):
    _, X = rows()
    model = KernelDensity(bandwidth=rule, bandwidths=[4.0, 0.5, 0.05]).fit(X)
    assert model.bandwidth_ == 0.5
    assert len(model.trace_) == 4
    assert model.certificate_.holds
    assert "3 bandwidths" in model.certificate_.claim
    best = KernelDensity(bandwidth=rule, bandwidths=[0.5]).fit(X)
    assert best.certificate_.log_likelihood == model.certificate_.log_likelihood


def test_folds():
    _, X = rows()
    scores = {
        k: KernelDensity(bandwidth="held-out", bandwidths=[0.5], folds=k).fit(X).certificate_
        for k in (2, 5, 120)
    }
    assert len({c.log_likelihood for c in scores.values()}) == 3
    one_each = KernelDensity(bandwidth="leave-one-out", bandwidths=[0.5]).fit(X).certificate_
    assert scores[120].log_likelihood == pytest.approx(one_each.log_likelihood, rel=1e-13)


@pytest.mark.parametrize("rule", RULES)
def test_any_number_of_threads(rule):
    _, X = rows(700, 3)
    fits = []
    for threads in (1, 2, 5):
        with suffice.config(threads=threads):
            fits.append(KernelDensity(bandwidth=rule).fit(X))
    assert len({fit.bandwidth_ for fit in fits}) == 1
    assert len({fit.trace_.objective for fit in fits}) == 1


@pytest.mark.parametrize("rule", RULES)
def test_updates_choose_again(rule, tmp_path):
    _, X = rows(200)
    whole = KernelDensity(bandwidth=rule).fit(X)
    grown = KernelDensity(bandwidth=rule).fit(X[:100]).update(X[100:])
    assert grown.bandwidth_ == whole.bandwidth_
    assert "update" in grown.trace_.step
    assert grown.trace_.objective[-1:] == whole.trace_.objective[-1:]
    halves = KernelDensity(bandwidth=rule).fit(X[::2]) + KernelDensity(bandwidth=rule).fit(X[1::2])
    assert halves.bandwidth_ == pytest.approx(whole.bandwidth_, rel=1e-9)
    assert KernelDensity().fit(X).refit(bandwidth=rule).bandwidth_ == whole.bandwidth_
    whole.save(tmp_path / "model")
    assert vars(suffice.load(tmp_path / "model")).keys() == vars(whole).keys()


# --- where there is no maximum -------------------------------------------------------------


def test_every_row_twice():
    _, X = rows(60)
    twice = np.concatenate([X, X])
    with pytest.warns(ConvergenceWarning, match=r"rises without bound.*held-out"):
        model = KernelDensity(bandwidth="leave-one-out").fit(twice)
    assert not model.certificate_.holds
    assert len(model.trace_) == 12  # the grid stays as it was
    assert model.bandwidth_ == pytest.approx(
        reference_bandwidth(WeightedRows.summarize(twice), KERNELS["gaussian"]) / 8
    )
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        held_out = KernelDensity(bandwidth="held-out").fit(twice)
    assert held_out.certificate_.holds
    # A single row that occurs once sets a bound.
    once = KernelDensity(bandwidth="leave-one-out").fit(twice[1:])
    assert once.certificate_.holds


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("X", [np.ones((1, 2)), np.ones((9, 2))])
def test_rows_without_a_difference(rule, X):
    with pytest.raises(ValueError, match="only one sample, or all are equal"):
        KernelDensity(bandwidth=rule).fit(X)


@pytest.mark.parametrize("rule", RULES)
def test_two_rows_and_constant_columns(rule):
    model = KernelDensity(bandwidth=rule).fit([[0.0, 5.0], [2.0, 5.0]])
    # log N(2; 0, h²) twice over two columns is highest at h² = 2.
    assert model.bandwidth_ == pytest.approx(np.sqrt(2), rel=2e-3)


@pytest.mark.parametrize("factor", [1e-100, 1e100])
def test_units_do_not_matter(factor):
    _, X = rows(100)
    plain = KernelDensity(bandwidth="leave-one-out").fit(X)
    scaled = KernelDensity(bandwidth="leave-one-out").fit(X * factor)
    assert scaled.bandwidth_ / factor == pytest.approx(plain.bandwidth_, rel=1e-6)


@pytest.mark.parametrize("rule", RULES)
def test_chosen_bandwidths_keep_scikit_learns_contract(rule):
    with warnings.catch_warnings():
        # Its rows are few and alike: the density has no best bandwidth, which a warning says.
        warnings.simplefilter("ignore", ConvergenceWarning)
        found = check_estimator(KernelDensity(bandwidth=rule), on_fail=None)
    assert not [one["check_name"] for one in found if one["status"] == "failed"]
