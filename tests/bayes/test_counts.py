"""Coins, dice and events: closed forms in rational and decimal numbers, then scipy."""

from __future__ import annotations

import itertools
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from scipy import integrate, stats
from scipy.special import betainc

from suffice.bayes import (
    BetaBernoulli,
    DirichletCategorical,
    GammaPoisson,
    log_smoothed_share,
    smoothed_share,
)
from suffice.families import Bernoulli, Categorical, Poisson
from tests.families import exact

COINS = [(1.0, 1.0), (0.5, 0.25), (1e-3, 3.0), (7.0, 1e4)]
COUNTS = [(0, 0), (3, 1), (10**6, 0), (10**6, 10**6 + 3), (1, 0)]


def close(value, expected, rel=1e-12):
    assert value == pytest.approx(float(expected), rel=rel, abs=0)


# --- posterior = prior + counts -----------------------------------------------------------------


def test_coins_in_rational_numbers():
    for prior, counts in itertools.product(COINS, COUNTS):
        coin = BetaBernoulli(*prior).given(*counts)
        a, b = (Fraction(p) + k for p, k in zip(prior, counts, strict=True))
        close(coin.mean(), a / (a + b))
        close(coin.variance(), a * b / (a + b) ** 2 / (a + b + 1))
        if coin.alpha > 1 and coin.beta > 1:
            # α − 1 of a rounded α: the mode is that of the α that the posterior has.
            a, b = Fraction(coin.alpha), Fraction(coin.beta)
            close(coin.map(), (a - 1) / (a + b - 2))


def test_dice_in_rational_numbers():
    alpha, counts = [0.5, 2.0, 1e-9, 3.0], [10**9, 0, 2, 7]
    a = [Fraction(p) + k for p, k in zip(alpha, counts, strict=True)]
    die, total = DirichletCategorical(alpha) + np.array(counts), sum(a)
    for j, value in enumerate(a):
        close(die.mean()[j], value / total)
        close(die.variance()[j], value * (total - value) / total**2 / (total + 1))
        close(die.log_mean()[j], exact.precise(lambda v: v.ln())(_decimal(value / total)))


def test_rates_in_rational_numbers():
    rate = GammaPoisson(2.5, 1e-3).posterior([3, 0, 10**12], sample_weight=[2.0, 1.5, 1.0])
    a, b = Fraction(2.5) + 6 + 10**12, Fraction(1e-3) + Fraction(4.5)
    close(rate.mean(), a / b)
    close(rate.map(), (a - 1) / b)
    close(rate.variance(), a / b**2)


@exact.precise
def _decimal(fraction):
    return Decimal(fraction.numerator) / fraction.denominator


# --- evidence -----------------------------------------------------------------------------------


@exact.precise
def beta_evidence(alpha, counts):
    after = [Decimal(float(a)) + Decimal(float(n)) for a, n in zip(alpha, counts, strict=True)]
    before = [Decimal(float(a)) for a in alpha]
    return exact.dirichlet(after) - exact.dirichlet(before)


def test_evidence_of_coins():
    prior, counts = np.transpose(list(itertools.product(COINS, COUNTS[1:])), (1, 2, 0))
    found = BetaBernoulli(*prior).given(*counts).log_evidence()
    expected = [float(beta_evidence(*both)) for both in zip(prior.T, counts.T, strict=True)]
    np.testing.assert_allclose(found, expected, rtol=1e-10)


def test_evidence_of_dice():
    """Priors worth up to 10⁴ rows, up to 10⁶ counts, some of them as the prior expects them."""
    rng = np.random.default_rng(0)
    alpha = 10.0 ** rng.uniform(-3, 4, (40, 3))
    counts = np.floor(10.0 ** rng.uniform(0, 6, (40, 3))) * (rng.random((40, 3)) < 0.8)
    expectation = alpha / alpha.max(axis=1, keepdims=True) * 10.0 ** rng.uniform(0, 6, (40, 1))
    counts[::3] = 1.0 + np.floor(expectation[::3])
    found = (DirichletCategorical(alpha) + counts).log_evidence()
    expected = [float(beta_evidence(*both)) for both in zip(alpha, counts, strict=True)]
    np.testing.assert_allclose(found, expected, rtol=1e-9)


@exact.precise
def events_evidence(prior, y):
    a, b = (Decimal(p) for p in prior)
    x, n = a + sum(y), b + len(y)
    rows = exact.log_gamma(x) - exact.log_gamma(a) + a * b.ln() - x * n.ln()
    return rows - sum(exact.log_gamma(Decimal(k + 1)) for k in y)


def test_evidence_of_events():
    priors = [(1.0, 1.0), (1e-3, 1e-3), (5e4, 1e3), (3.0, 1e-6), (1e-6, 1e6)]
    for prior, y in itertools.product(priors, ([0], [2, 0, 1, 3], [10**4, 10**4 + 5], [0] * 50)):
        close(GammaPoisson(*prior).log_evidence(y), events_evidence(prior, y), 1e-10)


@pytest.mark.parametrize(
    ("prior", "rows"),
    [
        (BetaBernoulli(0.7, 2.0), [1, 0, 0, 1, 0]),
        (DirichletCategorical([0.5, 1.0, 2.0]), [2, 0, 1, 1, 2]),
        (GammaPoisson(1.5, 0.3), [3, 0, 2, 7, 1]),
    ],
    ids=["coin", "die", "events"],
)
def test_evidence_is_the_product_of_predictions(prior, rows):
    known, total = prior, 0.0
    for row in rows:
        total += known.predictive().log_density(row)
        known = known.posterior([row])
    assert prior.log_evidence(rows) == pytest.approx(total, rel=1e-13)
    assert known.log_evidence() == pytest.approx(total, rel=1e-13)
    later = prior.posterior(rows[:2]).log_evidence(rows[2:])
    assert prior.log_evidence(rows[:2]) + later == pytest.approx(total, rel=1e-13)


def test_evidence_is_an_integral():
    prior, rows = BetaBernoulli(2.0, 3.0), [1, 1, 0, 1]
    area, _ = integrate.quad(lambda p: p**3 * (1 - p) * np.exp(prior.log_density(p)), 0, 1)
    assert np.exp(prior.log_evidence(rows)) == pytest.approx(area, rel=1e-10)


# --- scipy --------------------------------------------------------------------------------------


def test_intervals_and_densities():
    coin = BetaBernoulli(3.0, 8.0)
    assert coin.interval(0.9) == pytest.approx(stats.beta(3, 8).interval(0.9), rel=1e-12)
    assert coin.log_density(0.3) == pytest.approx(stats.beta(3, 8).logpdf(0.3), rel=1e-12)
    rate = GammaPoisson(3.0, 8.0)
    law = stats.gamma(3, scale=1 / 8)
    assert rate.interval(0.9) == pytest.approx(law.interval(0.9), rel=1e-12)
    assert rate.log_density(0.3) == pytest.approx(law.logpdf(0.3), rel=1e-12)
    die = DirichletCategorical([1.0, 2.0, 4.0])
    p = np.array([0.2, 0.3, 0.5])
    assert die.log_density(p) == pytest.approx(stats.dirichlet([1, 2, 4]).logpdf(p), rel=1e-12)
    for j, (a, b) in enumerate([(1, 6), (2, 5), (4, 3)]):
        ends = [end[j] for end in die.interval(0.5)]
        assert ends == pytest.approx(stats.beta(a, b).interval(0.5), rel=1e-12)


@pytest.mark.parametrize("n", [1, 2, 30])
def test_beta_binomial(n):
    coins = BetaBernoulli(0.4, 2.5).predictive(n)
    law, k = stats.betabinom(n, 0.4, 2.5), np.arange(n + 1)
    np.testing.assert_allclose(coins.log_density(k), law.logpmf(k), rtol=1e-11)
    assert np.exp(coins.log_density(k)).sum() == pytest.approx(1.0, rel=1e-13)
    assert coins.mean() == pytest.approx(law.mean(), rel=1e-13)
    assert coins.variance() == pytest.approx(law.var(), rel=1e-13)
    assert coins.log_density([-1, 0.5, n + 1]).tolist() == [-np.inf] * 3


@pytest.mark.parametrize("exposure", [1.0, 0.01, 40.0])
def test_negative_binomial(exposure):
    events = GammaPoisson(2.5, 3.0).predictive(exposure)
    law, k = stats.nbinom(2.5, 3.0 / (3.0 + exposure)), np.arange(40)
    np.testing.assert_allclose(events.log_density(k), law.logpmf(k), rtol=1e-11)
    assert events.mean() == pytest.approx(law.mean(), rel=1e-13)
    assert events.variance() == pytest.approx(law.var(), rel=1e-13)
    assert events.log_density([-1, 0.5]).tolist() == [-np.inf] * 2


def test_categorical_predictive():
    die = DirichletCategorical(1.0, categories=["a", "b", "c"]).posterior(["a", "a", "c"])
    p = die.predictive()
    np.testing.assert_allclose(p.mean(), [3 / 6, 1 / 6, 2 / 6])
    np.testing.assert_allclose(p.variance(), p.mean() * (1 - p.mean()), rtol=1e-14)
    np.testing.assert_allclose(p.log_density(["b", "c"]), np.log([1 / 6, 1 / 3]))
    draws = p.sample(20_000, random_state=0)
    assert np.mean(draws == "a") == pytest.approx(0.5, abs=0.02)


def test_samples():
    coin, rate = BetaBernoulli([2.0, 1.0], 3.0), GammaPoisson(4.0, [2.0, 0.5])
    die = DirichletCategorical(np.array([[1.0, 2.0, 3.0], [5.0, 5.0, 1.0]]))
    for pair in (coin, rate, die):
        draws = pair.sample(40_000, random_state=1)
        assert draws.shape == (40_000, *np.shape(pair.mean()))
        np.testing.assert_allclose(draws.mean(axis=0), pair.mean(), rtol=0.02)
        np.testing.assert_allclose(draws.var(axis=0), pair.variance(), rtol=0.05)
        np.testing.assert_array_equal(draws, pair.sample(40_000, random_state=1))
    for law in (coin.predictive(7), rate.predictive(3.0)):
        draws = law.sample(40_000, random_state=1)
        np.testing.assert_allclose(draws.mean(axis=0), law.mean(), rtol=0.03)
        np.testing.assert_allclose(draws.var(axis=0), law.variance(), rtol=0.05)


# --- where there is no mode, and no posterior ---------------------------------------------------


def test_flat_priors_give_the_most_likely():
    assert (
        BetaBernoulli.flat().posterior([1, 0, 1, 1]).map()
        == Bernoulli().fit([1, 0, 1, 1]).probability
    )
    assert GammaPoisson.flat().posterior([1, 5, 3]).map() == Poisson().fit([1, 5, 3]).rate
    y = [0, 2, 2, 1]
    likely = Categorical(3).fit(y).probabilities
    np.testing.assert_allclose(DirichletCategorical.flat(3).posterior(y).map(), likely, rtol=1e-15)


@pytest.mark.parametrize(
    ("a", "b", "mode"), [(0.5, 2.0, 0.0), (0.5, 1.0, 0.0), (1.0, 2.0, 0.0), (3.0, 0.1, 1.0)]
)
def test_modes_at_the_ends(a, b, mode):
    assert BetaBernoulli(a, b).map() == mode
    np.testing.assert_array_equal(DirichletCategorical([a, b]).map(), [mode, 1 - mode])


def test_no_single_mode():
    for a, b in [(1.0, 1.0), (0.5, 0.5)]:
        with pytest.raises(ValueError, match="no single mode"):
            BetaBernoulli(a, b).map()
    with pytest.raises(ValueError, match=r"no single mode at \(1,\)"):
        BetaBernoulli([3.0, 1.0], [2.0, 1.0]).map()
    with pytest.raises(ValueError, match="no single mode"):
        DirichletCategorical([0.5, 2.0, 2.0]).map()
    assert GammaPoisson(0.5, 2.0).map() == 0.0
    with pytest.raises(ValueError, match="no mode: its rate"):
        GammaPoisson(3.0, 0.0).map()


def test_improper_priors():
    nothing = BetaBernoulli(0.0, 0.0)
    assert np.isnan(nothing.mean())
    assert nothing.given(3, 1).mean() == 0.75
    for ask in ("interval", "log_evidence", "predictive", "sample", "log_density"):
        args = {"sample": (1,), "log_density": (0.5,), "log_evidence": ([1],)}.get(ask, ())
        with pytest.raises(ValueError, match="improper"):
            getattr(nothing, ask)(*args)
    counts = np.array([[2, 0], [0, 0]])
    shares = DirichletCategorical(0.0) + counts
    np.testing.assert_array_equal(shares.mean(), [[1.0, 0.0], [np.nan, np.nan]])
    with pytest.raises(ValueError, match=r"improper at \(0,\)"):
        shares.interval()
    np.testing.assert_array_equal(shares.log_mean()[0], [0.0, -np.inf])


# --- arrays of pairs ----------------------------------------------------------------------------


def test_arrays_of_pairs_are_pairs():
    rng = np.random.default_rng(0)
    ones, zeros = rng.integers(0, 9, size=(2, 3, 4))
    alpha = rng.uniform(1, 2, size=4)
    many = BetaBernoulli(alpha, 2.0).given(ones, zeros)
    for i, j in itertools.product(range(3), range(4)):
        one = BetaBernoulli(alpha[j], 2.0).given(ones[i, j], zeros[i, j])
        for ask in ("mean", "map", "variance", "log_evidence"):
            assert getattr(many, ask)()[i, j] == getattr(one, ask)()
        assert many.predictive().log_density(1)[i, j] == one.predictive().log_density(1)
        assert many.interval().lower[i, j] == one.interval().lower


def test_columns_of_rows():
    X = np.array([[1, 0, 1], [0, 0, 1], [1, 0, 0], [1, 1, 1]])
    weight = [1.0, 2.0, 0.0, 3.0]
    many = BetaBernoulli().posterior(X, sample_weight=weight)
    for j in range(3):
        assert many.mean()[j] == BetaBernoulli().posterior(X[:, j], weight).mean()
    counts = GammaPoisson([1.0, 2.0, 3.0]).posterior(X)
    np.testing.assert_array_equal(counts.shape, [1 + 3, 2 + 1, 3 + 3])


def test_smoothing():
    counts = np.array([[3.0, 0.0, 1.0], [0.0, 0.0, 0.0], [10.0**15, 1.0, 0.0]])
    n = counts.sum(axis=1, keepdims=True)
    for alpha in (1.0, 1e-10, 0.3):
        die = DirichletCategorical(alpha) + counts
        np.testing.assert_allclose(
            smoothed_share(counts, n, alpha, 3 * alpha), die.mean(), rtol=1e-15
        )
        logs = log_smoothed_share(counts, n, alpha, 3 * alpha)
        np.testing.assert_allclose(logs, die.log_mean(), rtol=1e-14)
    logs = log_smoothed_share([0.0, 0.0, 2.0], [2.0, 0.0, 2.0], 0.0, 0.0)
    np.testing.assert_array_equal(logs, [-np.inf, np.nan, 0.0])


# --- statistics, merging ------------------------------------------------------------------------


def test_statistics_of_families():
    y = [1, 0, 0, 1, 1]
    assert (BetaBernoulli(2, 1) + Bernoulli().summarize(y)).mean() == BetaBernoulli(2, 1).posterior(
        y
    ).mean()
    die = DirichletCategorical([1.0, 1.0, 2.0])
    sums = Categorical(3).summarize([2, 2, 0])
    np.testing.assert_array_equal(die.posterior(sums).alpha, [2.0, 1.0, 4.0])
    events = GammaPoisson(1, 1).posterior(Poisson().summarize([4, 2]))
    assert (events.shape, events.rate) == (7.0, 3.0)
    assert events.log_evidence() == GammaPoisson(1, 1).log_evidence([4, 2])


@pytest.mark.parametrize(
    ("prior", "rows"),
    [
        (BetaBernoulli(0.7, 2.0), [1, 0, 0, 1, 0]),
        (DirichletCategorical(0.5, 3), [2, 0, 1, 1, 2]),
        (GammaPoisson(1.5, 0.3), [3, 0, 2, 7, 1]),
    ],
    ids=["coin", "die", "events"],
)
def test_merging_counts_the_prior_once(prior, rows):
    parts = [prior.posterior(rows[:2]), prior.posterior(rows[2:3]), prior.posterior(rows[3:])]
    whole = prior.posterior(rows)
    for merged in (sum(parts), type(prior).merge(parts), parts[0].posterior(rows[2:])):
        np.testing.assert_array_equal(merged.mean(), whole.mean())
        close(merged.log_evidence(), whole.log_evidence(), 1e-14)
    with pytest.raises(ValueError, match="priors differ"):
        whole + BetaBernoulli(0.3, 2.0)
    with pytest.raises(ValueError, match="priors differ"):
        whole + type(prior)(*([9.0] if isinstance(prior, DirichletCategorical) else [9.0, 9.0]))


# --- bad input ----------------------------------------------------------------------------------


def test_what_is_refused():
    for make in (BetaBernoulli, GammaPoisson, DirichletCategorical):
        for bad in (-1.0, np.nan, np.inf, "many"):
            with pytest.raises(ValueError, match=r"accepted are|must hold numbers"):
                make(bad)
    with pytest.raises(TypeError, match=r"given\(ones, zeros\)"):
        BetaBernoulli() + np.array([3.0, 1.0])
    with pytest.raises(ValueError, match=r"ones holds -1\.0"):
        BetaBernoulli().given(-1, 2)
    with pytest.raises(ValueError, match="Bernoulli models 0 and 1"):
        BetaBernoulli().posterior([0, 1, 2])
    with pytest.raises(ValueError, match=r"accepted is \(…, 3\)"):
        DirichletCategorical([1, 1, 1]) + np.ones(4)
    with pytest.raises(ValueError, match="prior \\+ counts"):
        DirichletCategorical(1.0).posterior([1, 2, 0])
    with pytest.raises(ValueError, match="number of categories"):
        DirichletCategorical(1.0).mean()
    with pytest.raises(ValueError, match="has 3 categories"):
        DirichletCategorical([1, 1, 1], categories=2)
    with pytest.raises(TypeError, match=r"given\(events, rows\)"):
        GammaPoisson() + 3
    with pytest.raises(ValueError, match="Σ log y!"):
        GammaPoisson().given(3, 1).log_evidence()
    with pytest.raises(ValueError, match="no rows were seen"):
        GammaPoisson().log_evidence()
    with pytest.raises(ValueError, match="pass no sample_weight"):
        BetaBernoulli().posterior(Bernoulli().summarize([1]), sample_weight=[1.0])
    for level in (0, 1, 1.5):
        with pytest.raises(ValueError, match="level is"):
            BetaBernoulli().interval(level)
    for trials in (0, 1.5):
        with pytest.raises(ValueError, match="trials is"):
            BetaBernoulli().predictive(trials)
    with pytest.raises(ValueError, match="random_state"):
        BetaBernoulli().sample(2, random_state="seed")


# --- shortest intervals -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("pair", "law"),
    [
        (BetaBernoulli(3.0, 8.0), stats.beta(3, 8)),
        (BetaBernoulli(0.5, 8.0), stats.beta(0.5, 8)),
        (BetaBernoulli(8.0, 1.0), stats.beta(8, 1)),
        (GammaPoisson(3.0, 2.0), stats.gamma(3, scale=0.5)),
        (GammaPoisson(1.0, 2.0), stats.gamma(1, scale=0.5)),
    ],
)
def test_shortest_intervals(pair, law):
    found = pair.interval(0.8, "shortest")
    assert law.cdf(found.upper) - law.cdf(found.lower) == pytest.approx(0.8, rel=1e-12)
    starts = np.linspace(0, 0.2, 2001)
    lengths = law.ppf(starts + 0.8) - law.ppf(starts)
    length = found.upper - found.lower
    assert length <= lengths.min() * (1 + 1e-12)
    assert length == pytest.approx(lengths.min(), rel=1e-4)
    inside = 1e-3 < law.cdf(found.lower) < 0.199
    if inside:
        assert law.logpdf(found.lower) == pytest.approx(law.logpdf(found.upper), abs=1e-10)
    assert length <= np.diff(pair.interval(0.8))[0]


def test_shortest_intervals_of_arrays():
    alpha = np.array([[2.0, 3.0, 4.0], [9.0, 1.0, 2.0]])
    found = DirichletCategorical(alpha).interval(0.9, "shortest")
    for i, j in itertools.product(range(2), range(3)):
        one = BetaBernoulli(alpha[i, j], alpha[i].sum() - alpha[i, j]).interval(0.9, "shortest")
        np.testing.assert_allclose([found.lower[i, j], found.upper[i, j]], one, atol=1e-14)
    with pytest.raises(ValueError, match="peak at either end"):
        BetaBernoulli(0.5, 0.5).interval(0.9, "shortest")
    with pytest.raises(ValueError, match="kind is"):
        BetaBernoulli(2, 2).interval(0.9, "highest")


def test_pairs_and_rows_that_do_not_fit():
    pairs = BetaBernoulli([1.0, 1.0, 1.0])
    with pytest.raises(ValueError, match="not of as many pairs"):
        pairs.posterior(np.ones((4, 2)))
    with pytest.raises(ValueError, match="not of as many pairs"):
        pairs.given([1, 2], [3, 4])
    with pytest.raises(ValueError, match="level is 'most'"):
        pairs.interval("most")


# --- small shares -------------------------------------------------------------------------------


def test_shortest_intervals_of_small_shares():
    a, b = np.array([0.0030757, 0.01, 0.2]), np.array([178.39, 1.0, 5.0])
    lower, upper = BetaBernoulli(a, b).interval(0.95, "shortest")
    np.testing.assert_allclose(lower, 0.0, atol=1e-80)
    np.testing.assert_allclose(betainc(a, b, upper), 0.95, rtol=1e-12)
