"""What all pairs owe a careless user: nothing to change from outside, the ends of every range."""

from __future__ import annotations

import copy
import itertools
import math
import pickle

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from scipy import stats

import suffice
from suffice.bayes import (
    BetaBernoulli,
    DirichletCategorical,
    GammaPoisson,
    NormalInverseGamma,
    NormalInverseWishart,
    NormalNormal,
)
from suffice.families import Gaussian, Poisson
from suffice.statistics.moments.full import Moments

ROWS = [1, 0, 1, 1]
TABLE = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 2.0], [1.0, 3.0]])
ONE = {
    "coin": BetaBernoulli(2.0, 3.0),
    "die": DirichletCategorical([1.0, 2.0, 3.0]),
    "events": GammaPoisson(2.0, 3.0),
    "mean": NormalNormal(1.0, 2.0, noise_variance=3.0),
    "variance": NormalInverseGamma(1.0, 2.0, 3.0, 4.0),
    "covariance": NormalInverseWishart([1.0, 2.0], 2.0, 7.0, 1.5),
}
MANY = {
    "coin": BetaBernoulli([2.0, 3.0], [1.0, 4.0]),
    "die": DirichletCategorical([[1.0, 2.0], [3.0, 4.0]]),
    "events": GammaPoisson([2.0, 3.0], [1.0, 4.0]),
    "mean": NormalNormal([1.0, 2.0], [1.0, 3.0], noise_variance=[2.0, 3.0]),
    "variance": NormalInverseGamma([1.0, 2.0], [1.0, 3.0], 3.0, [4.0, 5.0]),
    "covariance": NormalInverseWishart([[1.0, 2.0], [0.0, 1.0]], [1.0, 2.0], 7.0, 1.5),
}
NAMES = ("alpha", "beta", "shape", "rate", "mu", "kappa", "nu", "psi", "noise_variance")
pairs = pytest.mark.parametrize("name", ONE)


def rows_of(name):
    return TABLE if name == "covariance" else ROWS


def flat(value):
    """All arrays in nested tuples, one after the other."""
    if isinstance(value, tuple):
        return [x for part in value for x in flat(part)]
    return [np.asarray(value)]


# --- nothing can be changed from outside --------------------------------------------------------


@pairs
@pytest.mark.parametrize(
    "made", [lambda p: p, copy.deepcopy, lambda p: pickle.loads(pickle.dumps(p))]
)
def test_what_is_handed_out_changes_nothing(name, made):
    prior = made(MANY[name])
    rows = TABLE if name != "coin" else (TABLE > 0).astype(int)
    known = prior.posterior(rows if name != "die" else rows.astype(int) % 2)
    before = [flat(pair.mean()) for pair in (prior, known)]
    seen = 0
    for pair in (prior, known):
        parts = [pair, pair.prior, pair.predictive()]
        parts += [] if pair.statistics is None else [pair.statistics]
        for part in parts:
            for array in (getattr(part, key, None) for key in (*NAMES, *vars(part))):
                for one in (array, getattr(array, "hi", None), getattr(array, "lo", None)):
                    if isinstance(one, np.ndarray) and one.ndim:
                        seen += 1
                        if one.flags.writeable:
                            one[...] = 99.0
                        else:
                            with pytest.raises(ValueError, match="read-only"):
                                one[...] = 99.0
    assert seen >= 8
    for pair, means in zip((prior, known), before, strict=True):
        for a, b in zip(flat(pair.mean()), means, strict=True):
            np.testing.assert_array_equal(a, b)


def test_a_prior_stays_what_it_is():
    die = DirichletCategorical([1.0, 2.0, 3.0])
    with pytest.raises(ValueError, match="read-only"):
        die.alpha[0] = 5.0
    assert die.alpha.tolist() == [1.0, 2.0, 3.0]


def test_a_statistic_that_changes_later_changes_no_posterior():
    moments = Moments.summarize(TABLE, precision="double-double")
    joint, each = NormalInverseWishart([0.0, 0.0]) + moments, NormalInverseGamma() + moments
    sums = Poisson().summarize([3, 4])
    events = GammaPoisson() + sums
    merged = [(known + known) for known in (joint, each, events)]
    before = joint.psi.copy(), each.mu.copy(), *(flat(known.mean()) for known in merged)
    for array in (moments.mean.hi, moments.mean.lo, moments.scatter.hi, sums.total.hi):
        array.flags.writeable = True
        array[...] = 77.0
    merged = [(known + known) for known in (joint, each, events)]
    again = joint.psi, each.mu, *(flat(known.mean()) for known in merged)
    for first, second in zip(before, again, strict=True):
        for a, b in zip(first, second, strict=True):
            np.testing.assert_array_equal(a, b)


# --- numbers that are asked for -----------------------------------------------------------------


@pairs
def test_draws(name):
    pair = ONE[name]
    for draw in (pair.sample, pair.predictive().sample):
        assert all(len(part) == 0 for part in flat(draw(0, 1)))
        assert all(len(part) == 3 for part in flat(draw(np.int64(3), 1)))
        for bad in (-1, 1.5, 3.0, "a", None, True):
            with pytest.raises(ValueError, match=r"n is .*; accepted are whole numbers"):
                draw(bad)


@pairs
def test_quantiles(name):
    pair = ONE[name]
    for low, middle, high in zip(*(flat(pair.quantile(q)) for q in (0, 0.5, 1)), strict=True):
        assert ((low < middle) & (middle < high)).all()
    for bad in (-0.1, 1.1, np.nan, "x"):
        with pytest.raises(ValueError, match=r"q (holds|must hold)"):
            pair.quantile(bad)
    for level in (0, 1, 0.0, 1.0, -1, True, np.nan, "most", None):
        with pytest.raises(ValueError, match="level is"):
            pair.interval(level)
    half = flat(pair.interval(np.float32(0.5)))
    for a, b in zip(half, flat(pair.interval(0.5)), strict=True):
        np.testing.assert_array_equal(a, b)


def test_quantiles_of_a_mean_reach_from_end_to_end():
    assert NormalInverseGamma().quantile(0).mu == -math.inf
    assert NormalInverseWishart([0.0]).quantile(0).mu.tolist() == [-math.inf]
    found = NormalInverseGamma(1.0, 2.0, 3.0, 4.0).quantile(1e-250).mu
    # Far out, log P(T < −t) = ½ν log ν − ν log t + log C: from SciPy's logarithm of it.
    law = stats.t(6.0, loc=1.0, scale=math.sqrt(4.0 / 3.0 / 2.0))
    assert law.logcdf(found) == pytest.approx(math.log(1e-250), rel=1e-12)


@pytest.mark.parametrize("level", [1e-300, 1e-12, 1e-9])
def test_the_narrowest_interval_is_at_the_mode(level):
    for pair in (BetaBernoulli(2.0, 3.0), GammaPoisson(4.0, 3.0)):
        lower, upper = pair.interval(level, "shortest")
        assert lower <= upper
        assert lower == pytest.approx(pair.map(), rel=1e-7)
    variance = NormalInverseGamma(1.0, 2.0, 3.0, 4.0).interval(level, "shortest").variance
    assert variance.lower == pytest.approx(4.0 / 4.0, rel=1e-7)  # β / (α + 1)


def test_a_single_category():
    certain = DirichletCategorical([2.0])
    assert certain.interval().lower.tolist() == certain.interval(0.5, "shortest").upper.tolist()
    assert certain.quantile([0.1, 0.9]).tolist() == [1.0, 1.0]
    assert certain.sample(3).tolist() == [[1.0]] * 3
    assert certain.mean().tolist() == certain.map().tolist() == [1.0]


# --- merging ------------------------------------------------------------------------------------


@pairs
def test_merging_priors_without_rows(name):
    prior = ONE[name]
    known = prior.posterior(rows_of(name))
    for merged in (prior + prior, sum([prior, prior]), type(prior).merge([prior])):
        assert repr(merged) == repr(prior)
        with pytest.raises(ValueError, match="no rows were seen"):
            merged.log_evidence()
    for merged in (prior + known, known + prior, type(prior).merge([prior, known, prior])):
        assert repr(merged) == repr(known)
        assert merged.log_evidence() == known.log_evidence()
    with pytest.raises(ValueError, match="nothing to merge"):
        type(prior).merge([])
    with pytest.raises(TypeError, match="accepted are posteriors of"):
        type(prior).merge([known, 3])


def test_other_categories_are_another_prior():
    letters = DirichletCategorical(1.0, ["a", "b"]).posterior(["a"])
    with pytest.raises(ValueError, match="priors differ"):
        letters + DirichletCategorical(1.0, ["x", "y"]).posterior(["x"])
    both = letters + DirichletCategorical(1.0, ["a", "b"]).posterior(["b"])
    assert both.alpha.tolist() == [2.0, 2.0]


def test_sums_of_other_families():
    with pytest.raises(ValueError, match="not the sums of zeros and ones"):
        BetaBernoulli() + Poisson().summarize([5, 7])
    with pytest.raises(ValueError, match="not the sums of zeros and ones"):
        BetaBernoulli() + Gaussian().summarize([1.0, 0.0])
    with pytest.raises(ValueError, match="not the sums of counts"):
        GammaPoisson() + Gaussian().summarize([1.0, 0.0])
    with pytest.raises(ValueError, match="not sums of numbers and their squares"):
        NormalNormal() + suffice.families.Beta().summarize([0.25, 0.5])


# --- rows ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["coin", "die", "events", "mean", "variance"])
def test_rows_of_any_library(name, tmp_path):
    prior, expected = ONE[name], repr(ONE[name].posterior(ROWS))
    path = tmp_path / "rows.parquet"
    pq.write_table(pa.table({"y": ROWS, "x": ROWS}), path)
    for rows in (
        pd.Series(ROWS),
        pl.Series(ROWS),
        pa.array(ROWS),
        np.array(ROWS, np.int8),
        np.array(ROWS, bool),
        np.array(ROWS, object),
        np.ma.masked_array(ROWS, [0, 0, 0, 0]),
        suffice.scan(path, target="y"),
    ):
        assert repr(prior.posterior(rows)) == expected
    for gap in (pd.Series([1, None, 0], dtype="Int64"), np.ma.masked_array([1, 0, 1], [0, 1, 0])):
        with pytest.raises(ValueError, match="found nan in row 1"):
            prior.posterior(gap)
    for weight in (pd.Series([1, 2, 0, 3]), pl.Series([1, 2, 0, 3])):
        repeated = prior.posterior([1, 0, 0, 1, 1, 1])
        assert prior.posterior(ROWS, weight).mean() == pytest.approx(repeated.mean(), rel=1e-14)


def test_small_integers_do_not_wrap_around():
    assert GammaPoisson(1.0, 1.0).posterior(np.full(300, 100, np.int8)).shape == 30_001.0
    assert (DirichletCategorical([1.0]) + np.array([255], np.uint8)).alpha.tolist() == [256.0]
    assert BetaBernoulli().given(np.uint8(255), np.uint8(255)).alpha == 256.0


# --- the ends of the range ----------------------------------------------------------------------


@pytest.mark.parametrize(
    "make",
    [
        lambda: BetaBernoulli(1e308, 1e308),
        lambda: DirichletCategorical([1e308, 1e308]),
        lambda: GammaPoisson(1e308, 1.0),
        lambda: NormalNormal(mu=1e200),
        lambda: NormalInverseGamma(mu=1e200),
        lambda: NormalInverseGamma(alpha=1e308),
        lambda: NormalInverseGamma(beta=10**400),
        lambda: NormalInverseWishart([1e200]),
    ],
)
def test_numbers_beyond_the_range_are_refused(make):
    with pytest.raises(ValueError, match=r"accepted are|must hold numbers"):
        make()


def test_weights_and_rows_beyond_the_range():
    for prior in (NormalNormal(), NormalInverseGamma()):
        with pytest.raises(ValueError, match="too large"):
            prior.posterior(ROWS, [1e300] * 4)
        with pytest.raises(ValueError, match="too large"):
            prior.posterior([1e200, -1e200])
    with pytest.raises(ValueError, match=r"evidence under .* beyond float64's range"):
        NormalNormal(noise_variance=1e-300).log_evidence([1e5])
    with pytest.raises(ValueError, match="draws are int64"):
        GammaPoisson(1e30, 1.0).predictive().sample(2, 0)


# --- shapes -------------------------------------------------------------------------------------


def test_a_variance_for_each_pair():
    noise, rows = np.array([[1.0], [2.0], [5.0]]), TABLE
    many = NormalNormal(1.0, 2.0, noise_variance=noise).posterior(rows)
    assert many.mean().shape == many.sample(5).shape[1:] == (3, 2)
    for i, j in itertools.product(range(3), range(2)):
        one = NormalNormal(1.0, 2.0, noise_variance=noise[i, 0]).posterior(rows[:, j])
        for ask in ("mean", "map", "variance", "log_evidence"):
            assert getattr(many, ask)()[i, j] == getattr(one, ask)()


def test_densities_are_asked_at_pairs_of_parameters():
    joint, one = ONE["covariance"], ONE["variance"]
    for bad in (1.0, None, (1.0,), (1.0, 2.0, 3.0)):
        with pytest.raises(ValueError, match=r"a pair \(mu, variance\)"):
            one.log_density(bad)
    with pytest.raises(ValueError, match=r"accepted are \(…, 2\) and \(…, 2, 2\)"):
        joint.log_density((np.zeros(3), np.eye(2)))
    with pytest.raises(ValueError, match="covariance must be symmetric"):
        joint.log_density((np.zeros(2), [[1.0, 0.5], [0.0, 1.0]]))
    with pytest.raises(ValueError, match="singular"):
        joint.log_density((np.zeros(2), np.ones((2, 2))))


def test_what_is_refused():
    for categories in (0, -2, 2.5, True, "ab", ["a", "a"]):
        with pytest.raises(ValueError, match="categories is"):
            DirichletCategorical(1.0, categories)
    assert DirichletCategorical(1.0, np.int64(3)).alpha.tolist() == [1.0] * 3
    for columns in (0, -1, 1.5, True):
        with pytest.raises(ValueError, match="columns is"):
            NormalInverseWishart.flat(columns)
    with pytest.raises(ValueError, match="one number for each column"):
        NormalInverseWishart([])
    for trials in ("a", 10**20, None):
        with pytest.raises(ValueError, match="trials is"):
            BetaBernoulli().predictive(trials)
    with pytest.raises(ValueError, match="exposure is"):
        GammaPoisson().predictive([1.0, 2.0])
    with pytest.raises(ValueError, match="scatter must be symmetric"):
        NormalInverseWishart([0.0, 0.0]).given(2.0, [1.0, 2.0], [[1.0, 2.0], [3.0, 4.0]])
    with pytest.raises(ValueError, match="scatter must be positive semi-definite"):
        NormalInverseWishart([0.0, 0.0]).given(2.0, [1.0, 2.0], [[1.0, 2.0], [2.0, 1.0]])
    with pytest.raises(ValueError, match="weight is 0"):
        NormalInverseGamma().given(0.0, 5.0, 7.0)
    # A matrix that is not symmetric is not excused by a larger one beside it.
    with pytest.raises(ValueError, match="psi must be symmetric"):
        NormalInverseWishart(np.zeros((2, 2)), psi=[1e15 * np.eye(2), [[1.0, 0.1], [0.0, 1.0]]])
    with pytest.raises(ValueError, match="no quantiles"):
        GammaPoisson(0.0, 0.0).quantile(0.5)
